"""`ADJOINT_CPU` and `ADJOINT_LOADER`: which code is made, and who places it."""

from pathlib import Path

import pytest

import adjoint
from adjoint.runtime.processor import features, machine_kind
from adjoint.target import PROCESSORS, known_processor, native_processor
from tests.support.processes import python

ROOT = Path(__file__).parents[2]
X86 = PROCESSORS["x86_64"]
on_x86 = pytest.mark.skipif(machine_kind() != "x86_64", reason="names of x86-64 processors")


def alone(text, **switches):
    """A program in a process of its own with these switches."""
    return python("-c", text, **{f"ADJOINT_{name}": value for name, value in switches.items()})


SUM = "import adjoint; print(adjoint.Tensor([1.0, 2.5]).exp().sum().item())"


@on_x86
def test_an_unknown_processor_is_a_coded_error_that_names_a_near_one():
    done = alone(SUM, CPU="x86-64-v33")
    assert "DeviceError: E6002" in done.stderr
    assert "x86-64-v3" in done.stderr


def test_an_unknown_loader_says_what_is_known():
    done = alone(SUM, LOADER="dlopen")
    assert done.returncode
    assert "expected auto, elf or llvm" in done.stderr


@pytest.mark.parametrize("name", X86)
def test_a_processor_beyond_the_machine_is_refused_and_says_what_is_missing(name):
    needs = X86[name].needs
    if not needs:
        assert known_processor(name, "x86_64", set()) is X86[name]
        return
    with pytest.raises(adjoint.DeviceError, match=needs[-1]) as caught:
        known_processor(name, "x86_64", set(needs[:-1]))
    assert caught.value.code == "E6002"
    assert known_processor(name, "x86_64", set(needs)) is X86[name]


@pytest.mark.parametrize("level", ["x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_a_machine_of_a_level_uses_all_of_it(level):
    wanted, found = X86[level], native_processor("x86_64", set(X86[level].needs) | {"sse2"})
    assert (found.width, found.half, found.fused) == (wanted.width, wanted.half, wanted.fused)
    assert found.rounding == wanted.rounding


def test_every_name_is_one_that_llvm_knows():
    """LLVM only prints a word about a name that it does not know."""
    text = """
import sys, llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
triple, *names = sys.argv[1:]
for name in names:
    llvm.Target.from_triple(triple).create_target_machine(cpu=name)
"""
    for kind, known in PROCESSORS.items():
        names = [processor.name for processor in known.values()]
        done = python("-c", text, f"{kind}-unknown-linux-gnu", *names)
        assert (done.returncode, done.stderr) == (0, "")


@on_x86
def test_processors_do_not_share_compiled_code(tmp_path):
    counted = SUM + "; from adjoint.runtime import compiler; print(compiler.compiled)"
    folder = str(tmp_path)
    for name in ("x86-64-v1", "native"):
        first, again = (alone(counted, CPU=name, CACHE_DIR=folder).stdout.split() for _ in range(2))
        assert int(first[1]) > 0, name
        assert (again[0], again[1]) == (first[0], "0"), name


@on_x86
def test_llvms_loader_runs_what_ours_runs(tmp_path):
    """Kernels, the pool, a library product, a loop, and the cache between two processes."""
    text = """
import numpy as np
from adjoint import Tensor, jit
from adjoint.runtime import compiler
x = Tensor(np.linspace(-1, 1, 120_000, dtype=np.float32).reshape(300, 400))
print((x.exp().sum() + (x @ x.T).tanh().mean() + x.sort()[0].cumsum(0).max()).item())
print(jit(lambda a: (a.softmax(-1) * a).sum(0))(x).numpy()[:5].tobytes().hex())
print(compiler.own_loader())
"""
    ours = alone(text, LOADER="elf", CACHE_DIR=str(tmp_path))
    for _ in range(2):
        theirs = alone(text, LOADER="llvm", CACHE_DIR=str(tmp_path))
        assert theirs.stderr == ours.stderr == ""
        assert theirs.stdout.split()[:2] == ours.stdout.split()[:2]
    assert (ours.stdout.split()[2], theirs.stdout.split()[2]) == ("True", "False")


def test_features_of_this_machine_are_words():
    assert all(word and not word.isspace() for word in features())


@pytest.mark.parametrize("device", ["CPU", "REF"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_float_after_a_zero_does_not_depend_on_the_version_of_numpy(dtype, device):
    pairs = [(0.0, -0.0), (-0.0, 0.0), (0.0, 0.0), (-0.0, -0.0), (1.0, 1.0)]
    x, y = (adjoint.Tensor(list(v), dtype=dtype, device=device) for v in zip(*pairs, strict=True))
    found = x.nextafter(y).cast("float64").tolist()
    assert list(map(str, found)) == [str(second) for _, second in pairs]
