"""Programs on disk: what a later process finds there is what it would have compiled."""

import os
import pickle
import subprocess
import sys
import textwrap
import time
import zlib
from dataclasses import replace

import numpy as np
import pytest

from adjoint import Tensor, cond, debug, grad, jit, scan, while_loop
from adjoint.backends.cpu import BACKEND
from adjoint.engine import pipeline, stored_programs
from adjoint.engine.graph_key import graph_key
from adjoint.engine.program_cache import PROGRAMS
from adjoint.engine.step_facts import lines_of
from adjoint.errors import AdjointError
from adjoint.ir.arg import frozen
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.runtime import cache, compiler

pytestmark = pytest.mark.usefixtures("cpu", "stored")


@pytest.fixture
def folder(own_cache):
    forget()
    return own_cache


def forget():
    """As if the process had just begun."""
    PROGRAMS.clear()
    compiler.forget()
    cache._sizes.forget()


@pytest.fixture
def no_compiler(monkeypatch):
    """From the call on, whoever wants to compile fails."""

    def refuse(*args):
        raise AssertionError("this graph should have come from the disk")

    return lambda: monkeypatch.setattr(pipeline, "build", refuse)


rng = np.random.default_rng(3)
A = rng.standard_normal((6, 6)).astype(np.float32)
B = rng.standard_normal((6, 6)).astype(np.float32)
I = np.array([5, 0, 3, 3])


def gradient(a, b):
    x = Tensor(a, requires_grad=True)
    ((x @ Tensor(b)).tanh().softmax(-1) * x).sum().backward()
    return x.grad


def step(carry, row):
    new = (carry @ Tensor(B)).tanh() + row
    return new, new.sum()


def inverse_step(carry, row):
    return (carry + row).inv(), carry.sum()


PROGRAMS_TO_KEEP = {
    "kernel": lambda: Tensor(A).exp() + 1.5,
    "product": lambda: Tensor(A) @ Tensor(B) + Tensor(A),
    "gradient": lambda: gradient(A, B),
    "host": lambda: Tensor(A).inv() @ Tensor(B),
    "several results": lambda: Tensor(A).sort(-1)[1],
    "eigenvalues": lambda: Tensor(A @ A.T).eigh()[0],
    "indices": lambda: Tensor(A)[Tensor(I)] * 2,
    "scatter": lambda: Tensor(A).scatter_add(0, Tensor(np.array([[0, 1, 2, 3, 4, 5]])), Tensor(B)),
    "loop": lambda: scan(step, Tensor(A), Tensor(B))[0],
    "loop on the host": lambda: scan(inverse_step, Tensor(np.eye(3)), Tensor(np.eye(3)))[0],
    "while": lambda: while_loop(lambda v: v.sum() < 100, lambda v: v * 2 + 1, Tensor(A)),
    "branch": lambda: cond(Tensor(A).sum() > 0, lambda v: v * 2, lambda v: v - 1, Tensor(A)),
    "complex": lambda: (Tensor(A) + 1j * Tensor(B)) * (2 - 1j),
    "halves": lambda: (Tensor(A).cast("float16") * 3).cast("bfloat16").sum(0),
    "booleans": lambda: (Tensor(A) > 0) & (Tensor(B) > 0),
    "an input": lambda: Tensor(A).reshape(36),
    "a constant": lambda: Tensor.full((3, 2), -0.0),
    "nothing": lambda: Tensor(np.zeros((0, 3))) + 1,
    "jitted": lambda: jit(lambda x: (x * 3).cumsum(0))(Tensor(A)),
    "long sum": lambda: Tensor(np.tile(A, (900, 40))).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS_TO_KEEP)
def test_a_program_from_the_disk_gives_the_same_bits(folder, no_compiler, name):
    make = PROGRAMS_TO_KEEP[name]
    first = make().numpy()
    forget()
    no_compiler()
    again = make().numpy()
    assert again.dtype == first.dtype
    assert again.tobytes() == first.tobytes()
    assert make().numpy().tobytes() == first.tobytes()


SCRIPT = """
import sys
import numpy as np
from adjoint import Tensor
w = Tensor(np.ones((3, 2), np.float32), requires_grad=True)
(Tensor(np.full((4, 3), 0.1, np.float32)) @ w).exp().sum().backward()
value = w.grad.numpy()
loaded = [name in sys.modules for name in ("adjoint.kernel.lower", "llvmlite")]
print(value.tobytes().hex(), *loaded)
"""


def test_a_second_process_loads_no_compiler(folder):
    run = lambda: subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)  # noqa: E731
    first, second = run().stdout.split(), run().stdout.split()
    assert first[1:] == ["True", "True"]
    assert second == [first[0], "False", "False"]


def test_a_warm_start_may_still_have_to_compile_a_kernel(folder, no_compiler):
    """Programs and the code of kernels are files of their own, and either may be gone."""
    first = gradient(A, B).numpy()
    names = {name_of(gradient(A, B))}
    for file in folder.glob("*.obj"):
        if file.stem not in names:
            file.unlink()
    forget()
    no_compiler()
    before = compiler.compiled
    assert gradient(A, B).numpy().tobytes() == first.tobytes()
    assert compiler.compiled > before


def name_of(tensor):
    key = graph_key([tensor.uop])
    return stored_programs.name_of(key.structure, key.values, (), BACKEND)


@pytest.mark.parametrize("contents", [b"", b"x", b"\x78\x01", "a pickle of something else"])
def test_a_file_that_is_no_program_is_made_again(folder, contents):
    value = Tensor(A).abs() * 3
    name = name_of(value)
    data = zlib.compress(pickle.dumps(7)) if isinstance(contents, str) else contents
    cache.write(name, data)
    assert np.array_equal(value.numpy(), abs(A) * 3)
    assert cache.read(name) not in (None, data)


# ---- what a name says


def test_the_same_graph_has_the_same_name():
    assert name_of(Tensor(A) + 1.5) == name_of(Tensor(B) + 1.5)


@pytest.mark.parametrize("ask", [Tensor.realize, Tensor.numpy, Tensor.tolist, repr, str])
@pytest.mark.parametrize("shape", [(), (1,), (6,), (6, 6)])
def test_a_name_does_not_follow_from_which_constants_are_known(shape, ask):
    name = name_of(gradient(A, B))
    x = Tensor(np.ones(shape, np.float32), requires_grad=True)
    x.sum().backward()
    ones = x.grad.uop  # where the gradient of any sum of that shape begins
    ask(x.grad)
    assert ones.realized is None
    assert name_of(gradient(A, B)) == name
    assert x.grad.tolist() == np.ones(shape).tolist()
    assert (Tensor(ones) + x.grad).tolist() == np.full(shape, 2.0).tolist()


def test_a_constant_of_several_tensors_is_each_ones_own():
    x = Tensor(A, requires_grad=True)
    x.sum().backward()
    first, second = x.grad, Tensor(x.grad.uop)
    first.realize(second)
    first += 1
    assert (first.numpy() == 2).all()
    assert (second.numpy() == 1).all()


DIFFERENT = [
    lambda: Tensor(A) + 1.5,
    lambda: Tensor(A) + 1.25,
    lambda: Tensor(A) - 1.5,
    lambda: Tensor(A) + 0.0,
    lambda: Tensor(A) + (-0.0),
    lambda: Tensor(A) + float("nan"),
    lambda: Tensor(A.astype(np.float64)) + 1.5,
    lambda: Tensor(A[:3]) + 1.5,
    lambda: Tensor(A).reshape(36) + 1.5,
    lambda: (lambda x: x + x)(Tensor(A)),
    lambda: Tensor(A) + Tensor(B),
    lambda: Tensor(A).sum(0),
    lambda: Tensor(A).sum(1),
    lambda: Tensor(A).sum(),
    lambda: Tensor(A).sum(0, keepdim=True),
    lambda: (Tensor(A) + 1.5).exp(),
]


def test_graphs_that_differ_have_names_that_differ():
    names = [name_of(make()) for make in DIFFERENT]
    assert None not in names
    assert [names.index(name) for name in names] == [*range(len(names))]


PARTS = [1, True, 1.0, frozen(1.0), "1", 1 + 0j, 0.0, -0.0, (1,), (1, 1), ((1,), 1), (), None]


def test_parts_of_keys_that_differ_are_written_differently():
    distinct = [p for p in PARTS if p is not PARTS[3]]  # a float, and the same one frozen
    texts = [repr(stored_programs._plain(part)) for part in distinct]
    assert len(set(texts)) == len(texts)


def test_what_a_program_depends_on_is_in_its_name(monkeypatch):
    value = Tensor(A) + 1.5
    names = [name_of(value)]
    monkeypatch.setattr(stored_programs, "_version", lambda: b"another")
    names.append(name_of(value))
    monkeypatch.setattr(BACKEND, "machine", lambda: b"another", raising=False)
    names.append(name_of(value))
    key = graph_key([value.uop])
    names.append(stored_programs.name_of(key.structure, key.values, (0,), BACKEND))
    for mode in ("1", "shapes"):
        monkeypatch.setenv("ADJOINT_TUNE", mode)
        names.append(name_of(value))
    assert len(set(names)) == 6


@pytest.fixture
def package(monkeypatch, tmp_path):
    """A folder in place of the package's, whose files count as older than the process."""
    monkeypatch.setattr(stored_programs, "PACKAGE", str(tmp_path))
    monkeypatch.setattr(stored_programs, "LOADED", time.time_ns() + 3600 * 10**9)
    return tmp_path


def test_a_change_of_the_package_is_another_version(package):
    (package / "a.py").write_text("x = 1\n")
    versions = [stored_programs._version.__wrapped__()]
    (package / "a.py").write_text("x = 12\n")
    versions.append(stored_programs._version.__wrapped__())
    (package / "a.py").unlink()
    versions.append(stored_programs._version.__wrapped__())
    assert len(set(versions)) == 3
    assert versions[2] == b""


def test_a_package_that_has_changed_since_it_was_loaded_keeps_nothing(package, monkeypatch):
    """What runs is the old text, what the files say is the new one."""
    (package / "a.py").write_text("x = 1\n")
    os.utime(package / "a.py", (0, 0))  # a time that is put back does not hide the change
    assert stored_programs._version.__wrapped__()
    monkeypatch.setattr(stored_programs, "LOADED", time.time_ns() - 3600 * 10**9)
    assert not stored_programs._version.__wrapped__()


def test_what_is_compared_by_identity_has_no_name():
    stranger = replace(OPS["add"], name="mine")
    for part in (stranger, object(), lambda: 1, np.float32(1), [1]):
        with pytest.raises(stored_programs.UnnamedError):
            stored_programs._plain(part)


@pytest.mark.parametrize("switch", ["ADJOINT_SHOW", "ADJOINT_VERIFY"])
def test_who_wants_to_see_the_passes_sees_them(folder, monkeypatch, capsys, switch):
    (Tensor(A) * 7.5).numpy()
    forget()
    monkeypatch.setenv(switch, "schedule" if switch == "ADJOINT_SHOW" else "1")
    built = []
    compile_it = pipeline.build
    monkeypatch.setattr(pipeline, "build", lambda *a: (built.append(1), compile_it(*a))[1])
    (Tensor(A) * 7.5).numpy()
    assert built


def test_a_program_that_calls_python_is_not_kept(folder, capsys):
    def f(x):
        debug.print("x is {}", x.sum())
        return x * 2.75

    for _ in range(2):
        forget()
        assert np.array_equal(jit(f)(Tensor(A)).numpy(), A * 2.75)
        assert capsys.readouterr().out.startswith("x is ")


def test_the_values_of_arguments_are_not_in_the_name(folder, no_compiler):
    """A number that changes all the time is an argument of the third program."""
    for rate in (0.5, 0.25, 0.125, 0.75):
        (Tensor(A) * rate).numpy()
    forget()
    (Tensor(A) * 0.5).numpy()
    (Tensor(A) * 0.25).numpy()
    no_compiler()
    for rate in (3.5, -1.0, 7.0):
        assert np.array_equal((Tensor(A) * rate).numpy(), A * np.float32(rate))


def test_a_name_holds_while_files_of_one_time_are_as_they_are(package):
    versions = []
    for text in ("x = 1", "x = 2", "x = 1"):
        (package / "a.py").write_text(text)
        os.utime(package / "a.py", (0, 0))
        versions.append(stored_programs._version.__wrapped__())
    assert versions[0] == versions[2] != versions[1]


# ---- the user's lines


def test_lines_are_those_of_the_graph_that_asks(folder, no_compiler):
    def made(text):
        space = {"Tensor": Tensor, "A": A}
        exec(compile(textwrap.dedent(text), "lines.py", "exec"), space)
        return space["y"]

    def lines(tensor):
        bound = PROGRAMS.find(graph_key([tensor.uop]), [tensor.uop])
        return [lines_of(s) for s in bound.program.schedule.steps]

    first = made("x = Tensor(A)\ny = (x.exp() * 3.25).sum()")
    assert any("exp at lines.py:2" in line for found in lines(first) for line in found)
    forget()
    no_compiler()
    del first  # with what the two have in common: a node is where it was built first
    second = made("x = Tensor(A)\n\n\n\ny = (x.exp() * 3.25).sum()")
    found = [line for some in lines(second) for line in some]
    assert any("exp at lines.py:5" in line for line in found)
    assert not any("lines.py:2" in line for line in found)


def test_a_bad_index_is_told_of_from_the_disk_too(folder, no_compiler):
    def message():
        with pytest.raises(AdjointError) as caught:
            (Tensor(A)[Tensor(np.array([0, 6]))] * 2.5).numpy()
        return str(caught.value)

    first = message()
    forget()
    no_compiler()
    assert message().split("(built")[0] == first.split("(built")[0]


def test_gradients_from_the_disk_are_gradients(folder, no_compiler):
    f = grad(lambda x: (x.sin() * x).sum())
    first = f(Tensor(A)).numpy()
    forget()
    no_compiler()
    assert f(Tensor(A)).numpy().tobytes() == first.tobytes()
    assert np.allclose(first, np.cos(A) * A + np.sin(A), atol=1e-6)
    assert dtypes.float32.np == first.dtype
