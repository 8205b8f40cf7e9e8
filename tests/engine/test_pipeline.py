"""The pipeline: a list that every graph goes down once, shown, verified, timed and counted."""

from dataclasses import replace

import numpy as np
import pytest

from adjoint import Tensor, config, jit, lower, scan
from adjoint.backends.cpu import BACKEND
from adjoint.engine import pipeline, verify_passes
from adjoint.engine.compilation import MAIN, Compilation
from adjoint.engine.pipeline import PASSES, build, compile_graph, run_passes, statistics
from adjoint.errors import InternalError
from adjoint.ir.opdef import OPS
from adjoint.runtime import compiler
from adjoint.schedule import strategy
from adjoint.schedule.groups import Fused
from adjoint.stages import Graph, KernelStep, Schedule
from adjoint.target import TARGETS, MatrixLibrary

NAMES = [row.name for row in PASSES]


pytestmark = pytest.mark.usefixtures("cpu")


def graph():
    x = OPS["input"]("x", (4, 6), "float32")
    return Graph(((x * 2 + 1).exp().reduce_sum((1,)), x.softmax(-1)), (x,))


def after(name, given=None):
    return run_passes(Compilation(BACKEND, {MAIN: given or graph()}), until=name)


def test_the_switch_names_every_pass():
    assert set(NAMES) <= set(config._STAGES)


def test_a_graph_goes_down_the_list_once_and_in_order(monkeypatch):
    went = []
    rows = [replace(r, run=lambda u, r=r: (went.append(r.name), r.run(u))[1]) for r in PASSES]
    monkeypatch.setattr(pipeline, "PASSES", tuple(rows))
    given = graph()
    build(given.roots, given.inputs, BACKEND)
    assert went == NAMES


def test_every_pass_says_what_comes_before_and_after():
    for row in PASSES:
        inside = [row.run, *(c.cell_contents for c in row.run.__closure__ or ())]
        said = [f.__doc__ or "" for f in inside if callable(f)]
        assert any("Before:" in text and "After:" in text for text in said), row.name


def test_passes_are_counted_and_timed():
    before = {name: (count.runs, count.seconds) for name, count in statistics.items()}
    after("plan")
    for name, (runs, seconds) in before.items():
        done = NAMES.index(name) <= NAMES.index("plan")
        assert statistics[name].runs == runs + done, name
        assert (statistics[name].seconds > seconds) == done, name


def test_code_is_compiled_in_its_pass_and_nowhere_else(monkeypatch):
    asked = []
    own = compiler.compile_sources
    monkeypatch.setattr(
        "adjoint.backends.cpu.backend.compile_sources",
        lambda sources: (asked.extend(s.name for s, _ in sources), own(sources))[1],
    )
    after("render")
    assert asked == []
    program = after("bind").program
    count = len(asked)
    assert count > 0
    program.run_arrays([np.ones((4, 6), np.float32)])
    assert len(asked) == count


def test_functions_of_loops_are_parts_inner_ones_first():
    x = Tensor(np.ones((3, 4), np.float32))
    inner = lambda c, v: (c + v, c)  # noqa: E731
    fn = jit(lambda x: scan(lambda c, v: (scan(inner, c, x)[0] + v, c), x[0], x)[0])
    function = fn.function(x)
    unit = after("expand", Graph(tuple(function.outputs), tuple(function.inputs)))
    assert len(unit.parts) == 3
    assert list(unit.parts)[-1] is MAIN
    assert all(isinstance(part, Graph) for part in unit.parts.values())


@pytest.mark.parametrize("name", NAMES)
def test_every_pass_can_be_shown(name, monkeypatch, capsys):
    monkeypatch.setenv(config.SHOW.variable, name)
    after("bind")
    printed = capsys.readouterr().err
    assert f"---- {name}\n" in printed
    assert printed.count("----") == 1
    assert len(printed.splitlines()) > 1


def test_a_pass_that_changes_nothing_says_so(monkeypatch, capsys):
    x = OPS["input"]("x", (4,), "float32")
    monkeypatch.setenv(config.SHOW.variable, "legalise")
    after("legalise", Graph((x + 1,), (x,)))
    assert "(unchanged)" in capsys.readouterr().err


# ---- verifying: each broken invariant is found


def checked(name, unit, before=None):
    with pytest.raises(InternalError) as caught:
        verify_passes.check(name, before or unit, unit)
    return str(caught.value)


def test_right_compilations_pass_the_checks():
    unit = Compilation(BACKEND, {MAIN: graph()})
    for row in PASSES:
        before, unit = unit, row.run(unit)
        verify_passes.check(row.name, before, unit)


def test_a_root_that_changes_its_type_is_found():
    unit = after("legalise")
    wrong = replace(unit.main, roots=(unit.main.roots[0].cast("float64"), unit.main.roots[1]))
    assert "root 0 was" in checked("legalise", replace(unit, parts={MAIN: wrong}), unit)


def test_a_read_before_the_write_is_found_among_groups():
    x = OPS["input"]("x", (40, 30), "float32")
    y = OPS["input"]("y", (30, 20), "float32")
    unit = after("fuse", Graph((x.contract(y, "mk,kn->mn").exp().argsort(0),), (x, y)))
    assert isinstance(unit.main, Fused)
    assert len(unit.main.work) == 2
    wrong = replace(unit.main, work=unit.main.work[::-1])
    assert "before it is made" in checked("fuse", replace(unit, parts={MAIN: wrong}))


def planned():
    x = OPS["input"]("x", (40, 30), "float32")
    y = OPS["input"]("y", (30, 30), "float32")
    a = x.contract(y, "mk,kn->mn").exp()
    b = a.contract(y, "mk,kn->mn").exp()
    return after("plan", Graph((b.contract(a, "mk,nk->mn"),), (x, y)))


def test_a_read_before_the_write_is_found_among_steps():
    unit = planned()
    wrong = replace(unit.main, steps=unit.main.steps[::-1])
    assert "before it is made" in checked("plan", replace(unit, parts={MAIN: wrong}))


def test_values_alive_in_one_place_are_found():
    unit = planned()
    inside = [s for s in unit.main.slots if s.offset is not None]
    assert len({s.offset for s in inside}) > 1
    slots = tuple(s if s.offset is None else replace(s, offset=0) for s in unit.main.slots)
    wrong = replace(unit.main, slots=slots)
    assert "alive together" in checked("plan", replace(unit, parts={MAIN: wrong}))


def test_a_kernel_without_code_is_found():
    unit = after("compile")
    (first, *_), rest = unit.kernels, dict(unit.kernels)
    rest.pop(first)
    rest["another"] = None
    assert "has no code" in checked("compile", replace(unit, kernels=rest))


def test_the_switch_verifies_what_passes_make(monkeypatch):
    seen = []
    monkeypatch.setattr(verify_passes, "check", lambda name, *_: seen.append(name))
    after("bind")
    assert seen == []
    monkeypatch.setenv(config.VERIFY.variable, "1")
    after("bind")
    assert seen == NAMES


# ---- strategies


def product(m, k, n, dtype="float32"):
    a, b = OPS["input"]("a", (m, k), dtype), OPS["input"]("b", (k, n), dtype)
    return Graph((a.contract(b, "mk,kn->mn"),), (a, b))


CASES = {
    "tiles": product(16, 9, 16),
    "short product": product(16, 8, 16),
    "plain product": product(16, 9, 16, "int32"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_contraction_is_computed_by_the_first_row_that_holds(name):
    (step,) = after("lower", CASES[name]).main.steps
    assert isinstance(step, KernelStep)
    assert step.strategy.name == name
    assert {"matrix product", *CASES} - {name} <= set(step.strategy.others)


def test_a_library_of_the_target_takes_products_from_tiles():
    able = replace(BACKEND.target, libraries=(MatrixLibrary("new", ("float32",)),))
    node = after("legalise", product(64, 64, 64)).main.roots[0].src[0]
    assert strategy.choose(node, able).name == "matrix product"
    assert strategy.choose(node, BACKEND.target).name == "tiles"


def test_a_library_that_takes_16_bit_floats_gets_them_as_they_are():
    able = replace(TARGETS["CPU"], libraries=(MatrixLibrary("new", ("bfloat16",)),))
    node = product(16, 16, 16, "bfloat16").roots[0]
    assert strategy.product_dtype(node, able).name == "bfloat16"
    assert strategy.product_dtype(node, TARGETS["CPU"]).name == "float32"


def test_every_row_says_why_and_the_last_always_holds():
    assert all(row.why for row in strategy.ROWS)
    assert strategy.ROWS[-1].when(OPS["input"]("x", (2,), "float32"), TARGETS["CPU"])


def test_explain_says_why_every_step_is_computed_as_it_is():
    x = Tensor(np.ones((16, 32), np.float32))
    text = lower(lambda x: (x @ x.T).softmax(-1).sort(0)[0])(x).explain()
    assert "tiles: its sums" in text
    assert "loops: an element" in text
    assert "sort: values" in text


def test_limits_of_a_target_are_those_of_its_kernels():
    x = OPS["input"]("x", (8,), "float32")
    y = x
    for _ in range(40):
        y = y.tanh() * 0.5 + 1
    few = replace(TARGETS["CPU"], limits=replace(TARGETS["CPU"].limits, kernel_nodes=10))
    counts = {}
    for target in (TARGETS["CPU"], few):
        backend = type(BACKEND)()
        backend.target = target
        counts[target.limits.kernel_nodes] = len(compile_graph([y], [x], backend).steps)
    assert counts[10] > counts[120]


def test_an_empty_schedule_is_a_program():
    program = build([], [], BACKEND).program
    assert program.run([]) == []
    assert isinstance(program.schedule, Schedule)
