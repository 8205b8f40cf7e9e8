"""The pass `optimise`: what it takes out of kernels, and what stays: registers, memory, loops."""

from dataclasses import replace

import numpy as np
import pytest

from adjoint import Tensor, grad, lower
from adjoint.backends.cpu import BACKEND
from adjoint.engine import verify_passes
from adjoint.engine.compilation import MAIN, Compilation
from adjoint.engine.pipeline import run_passes
from adjoint.errors import AdjointError
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.kernel.algorithms.loops import Loops, number
from adjoint.kernel.optimise import optimised
from adjoint.stages import Graph

X = OPS["input"]("x", (100,), "float32", "CPU")


def names(program):
    return [node.op.name for node in program.body]


def programs(until, *roots, inputs=(X,)):
    unit = run_passes(Compilation(BACKEND, {MAIN: Graph(tuple(roots), inputs)}), until)
    return list(unit.main.programs())


def written(write, *, mutable=True):
    """A program of one loop of 8 turns: `write(loops, memory, counter)`."""
    loops = Loops()
    memory = loops.buffer("b0", dtypes.float32, 64, mutable)
    with loops.loop(8) as i:
        write(loops, memory, i)
    return loops.program(X.exp(), "hand", 1)


# ---- what it takes out


def test_arithmetic_that_undoes_itself_in_a_kernel_is_gone():
    (before,), (after,) = (programs(p, X.logsigmoid()) for p in ("lower", "optimise"))
    assert "neg" in names(before)
    assert len(names(after)) < len(names(before))


GATES = {"load_always": 8, "load_never": 0}  # rule → what the counter, below 8, is compared with


@pytest.mark.parametrize("name", GATES)
def test_a_gate_that_is_known_is_none(name):
    def write(loops, memory, i):
        gated = OPS["load"](memory, i, i < GATES[name], number(3, dtypes.float32))
        loops.store(memory, i + 8, loops.here(gated))

    program = optimised(written(write))
    loads = [node for node in program.body if node.op.name == "load"]
    assert [len(node.src) for node in loads] == ([2] if name == "load_always" else [])
    stored = next(node.src[2] for node in program.body if node.op.name == "store")
    assert stored is loads[0] if loads else stored.arg.value == 3.0


def test_what_no_longer_depends_on_a_loop_stands_outside_of_it():
    def write(loops, memory, i):
        with loops.loop(4) as j:
            inside = j.maximum(0).minimum(3) * 0 + i
            loops.store(memory, i * 4 + j, (inside * 3).cast(dtypes.float32))

    body = names(optimised(written(write)))
    assert body.index("cast") < body.index("range", 1)


def test_kernels_that_differ_in_a_number_still_have_one_source():
    def source(value):
        return {BACKEND.render(p).text for p in programs("optimise", X**value)}

    assert source(2.7) == source(2.9)
    assert source(2.0) != source(2.7)


# ---- what must stay


@pytest.mark.parametrize("size", [1, 5, 16, 17, 255, 4096, 4097, 40_000, 70_000, 70_001])
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
def test_a_register_that_starts_from_anothers_total_is_updated_once(reduce, size):
    values = np.random.default_rng(size).uniform(-1, 1, size).astype(np.float32)
    ours, wanted = (getattr(Tensor(values, device=d), reduce)() for d in ("CPU", "REF"))
    assert ours.numpy().tobytes() == wanted.numpy().tobytes()


NEGATED = {
    "sum": lambda x: (-x).sum(),
    "sum of products": lambda x: (-x * x).sum(),
    "max": lambda x: (-x).max(),
    "min": lambda x: (-x).abs().min(),
    "prod": lambda x: (-(-x)).prod(),
    "logical or": lambda x: (x < 2).logical_not().any(),
    "logical and": lambda x: (x < 2).logical_and(True).all(),
    "rows": lambda x: (-x.reshape(4, -1)).sum(1),
    "columns": lambda x: (-x.reshape(4, -1)).sum(0),
    "integers": lambda x: (-(x * 100).int()).sum(),
    "running": lambda x: (-x).cumsum(0),
}


@pytest.mark.parametrize("name", NEGATED)
def test_the_op_that_joins_lanes_stays(name):
    """`acc + -y` is `acc - y` everywhere but here."""
    values = np.random.default_rng(3).uniform(-1, 1, 420).astype(np.float32)
    ours, wanted = (NEGATED[name](Tensor(values, device=d)).numpy() for d in ("CPU", "REF"))
    assert ours.tobytes() == wanted.tobytes()


def test_a_value_of_a_register_is_taken_before_its_update():
    def write(loops, memory, i):
        acc = loops.register(number(0.0, dtypes.float32))
        with loops.loop(4) as j:
            before = -acc
            loops.place(before)
            loops.update(acc, acc + 1.0, j)
            loops.store(memory, i * 4 + j, -before)

    program = written(write)
    assert names(optimised(program)).count("neg") == 2


def test_loads_between_which_memory_changes_stay_two():
    def write(loops, memory, i):
        first = loops.load(memory, i)
        loops.store(memory, i, first + 1.0)
        loops.store(memory, i + 8, loops.load(memory, i + 0))

    program = written(write)
    assert names(program).count("load") == 2
    assert optimised(program) is program


def test_a_load_in_a_loop_that_may_not_run_stays_in_it():
    def write(loops, memory, i):
        with loops.loop(4, count=i) as j:
            value = loops.load(memory, j * 0 + 60)
            loops.store(memory, i * 4 + j, value)

    body = names(optimised(written(write)))
    assert body.index("load") > body.index("range", 1)


def test_every_node_stands_behind_its_sources(monkeypatch):
    monkeypatch.setenv("ADJOINT_VERIFY", "1")
    x = Tensor(np.linspace(-2, 2, 600, dtype=np.float32).reshape(20, 30), device="CPU")
    for fn in (Tensor.softmax, Tensor.layernorm, Tensor.logsigmoid, Tensor.gelu, Tensor.sort):
        fn(x)
        found = grad(lambda x, fn=fn: (fn(x)[0] if fn is Tensor.sort else fn(x)).sum())(x)
        assert np.isfinite(found.numpy()).all()


def test_a_node_before_its_source_is_found():
    unit = run_passes(Compilation(BACKEND, {MAIN: Graph((X.exp(),), (X,))}), "optimise")
    (step,) = unit.main.steps
    verify_passes.check("optimise", unit, unit)
    first, second, *rest = step.program.body
    wrong = replace(step, program=replace(step.program, body=(second, first, *rest)))
    broken = replace(unit, parts={MAIN: replace(unit.main, steps=(wrong,))})
    with pytest.raises(AdjointError):
        verify_passes.check("optimise", unit, broken)


def test_the_loops_that_are_shown_are_those_that_run(capfd, monkeypatch):
    monkeypatch.setenv("ADJOINT_SHOW", "loops")
    x = Tensor(np.ones(37, np.float32), device="CPU")
    x.logsigmoid().realize()
    arithmetic = [s for s in lower(Tensor.logsigmoid)(x).kernels()[0].splitlines() if " = " in s]
    assert "\n".join(arithmetic[-9:]) in capfd.readouterr().err
