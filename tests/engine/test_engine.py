"""The engine: keys and programs, frames and threads, steps of every kind, what it shows."""

import numpy as np
import pytest

from adjoint import (
    Device,
    Tensor,
    cond,
    config,
    counters,
    jit,
    lower,
    scan,
    tree_leaves,
    while_loop,
)
from adjoint.backends.cpu import BACKEND
from adjoint.engine import explain
from adjoint.engine import realize as engine
from adjoint.engine.graph_key import close_over_parameters, graph_key
from adjoint.engine.pipeline import build
from adjoint.engine.program import Program
from adjoint.engine.program_cache import PROGRAMS, VALUES, Programs
from adjoint.engine.step_facts import peak_bytes
from adjoint.errors import AdjointError, BoundsError, DeviceError
from adjoint.ir.dtype import dtypes
from adjoint.ir.expand import expand
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import toposort
from adjoint.ir.values import is_known, known_value, storage
from adjoint.runtime.buffer import Buffer
from adjoint.stages import ControlStep, HostStep, Schedule, Slot
from tests.support.tensors import vector
from tests.support.threads import in_threads

pytestmark = pytest.mark.usefixtures("cpu")


def key_of(*tensors):
    key = graph_key([t.uop for t in tensors])
    assert key is not None
    return key


# ---- keys


def test_buffers_are_not_part_of_the_key():
    a, b = vector(1, 2), vector(3, 4)
    assert key_of(a + b).structure == key_of(b + vector(5, 6)).structure


def test_who_is_who_is_part_of_the_key():
    a, b = vector(1, 2), vector(3, 4)
    assert key_of(a + b * a).structure != key_of(a + b * b).structure
    assert key_of(a + a).structure != key_of(a + b).structure


def test_shapes_dtypes_ops_and_attributes_are_part_of_the_key():
    a = vector(1, 2)
    keys = [key_of(t) for t in (a + a, a * a, vector(1) + vector(2), Tensor([1]) + Tensor([2]))]
    keys += [key_of(Tensor.ones(2, 3).contiguous().realize().sum(axis)) for axis in (0, 1)]
    assert len({k.structure for k in keys}) == len(keys)


def test_identities_do_not_make_keys_differ():
    a = vector(1, 2)
    own = OPS["unique_identity"]
    assert graph_key([own(own(a.uop)).exp()]).structure == graph_key([a.uop.exp()]).structure


def test_constants_are_beside_the_key():
    a = vector(1, 2)
    one, two = key_of(a * 1.5), key_of(a * 2.5)
    assert one.structure == two.structure
    assert one.values != two.values
    assert key_of(a * 0.0).values != key_of(a * -0.0).values


def test_a_computed_node_is_a_leaf():
    a = vector(1, 2)
    b = (a + 1).requires_grad_()
    b.realize()
    assert key_of(b * 2).structure == key_of(a * 2).structure


def test_functions_are_compared_by_what_they_compute():
    def looped(x):
        return scan(lambda c, v: (c + v * Tensor(2.0), c), Tensor(0.0), x)[0]

    assert key_of(looped(vector(1, 2))).structure == key_of(looped(vector(3, 4))).structure


def test_the_root_may_be_a_leaf_or_stand_twice():
    a = vector(1, 2)
    own = OPS["unique_identity"](a.uop)
    twice = (a + 1).uop
    engine.realize(own, twice, OPS["unique_identity"](twice))
    assert known_value(own).tolist() == [1, 2]
    assert known_value(twice).tolist() == [2, 3]


# ---- programs


def test_the_same_graph_on_other_buffers_is_a_look_up():
    (vector(1, 2) * 3 + 1).realize()
    count = len(PROGRAMS)
    for i in range(5):
        assert (vector(i, 2) * 3 + 1).tolist() == [3 * i + 1, 7]
    assert len(PROGRAMS) == count


def test_a_number_that_changes_becomes_an_argument():
    programs = Programs()
    found = []
    for i in range(VALUES + 4):
        y = vector(1, 2) * (i + 7.0) + 0.5
        key = key_of(y)
        bound = programs.find(key, [y.uop])
        buffers = [storage(n) for n in key.leaves]
        value = bound.run(key, buffers, ["CPU"])[0].array()
        assert value.tolist() == [i + 7.5, 2 * i + 14.5]
        found.append(bound)
    assert len({id(b) for b in found}) == VALUES + 1
    assert len(found[-1].lifted) == 1


def test_a_power_has_the_same_bits_whatever_exponents_came_before():
    array = np.random.default_rng(0).standard_normal(50_000).astype(np.float32)
    x = Tensor(array, device="CPU").realize()
    for exponent in [2.25, 2.75, 3.25, 3.75][: VALUES + 1]:
        (x**exponent).realize()
    wanted = (array.astype(np.float64) ** 3).astype(np.float32)
    assert np.array_equal((x**3).numpy(), wanted)


def test_few_programs_are_kept():
    programs = Programs(kept=4)
    for n in range(1, 9):
        y = Tensor(np.ones(n, np.float32)) + 1
        programs.find(key_of(y), [y.uop])
    assert len(programs) == 4


def test_eight_threads_do_not_meet():
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(30):
            x = rng.normal(size=(5, 7)).astype(np.float32)
            got = (Tensor(x).exp().sum(1, keepdim=True) * 2).softmax(0).numpy()
            e = np.exp(x).sum(1, keepdims=True) * 2
            p = np.exp(e - e.max(0))
            if not np.allclose(got, p / p.sum(0), rtol=1e-4):
                wrong.append(seed)

    in_threads(8, work)
    assert wrong == []


def test_results_are_fresh_buffers():
    x = vector(1, 2)
    a, b = (x + 1).realize(), (x + 1).realize()
    first = a.numpy()
    (x + 1).realize()
    assert storage(a.uop) is not storage(b.uop)
    assert first.tolist() == [2, 3]


def test_a_donated_input_gives_its_memory():
    x, y = vector(1, 2) + 0, vector(3, 4)
    x.realize()
    z = ((x.uop + y.uop).contiguous(), None)[0].exp().reduce_sum((0,)).expand((2,)).contiguous()
    roots, parameters = close_over_parameters([z], [x.uop, y.uop])
    program = build(roots, parameters, BACKEND).program
    want = program.run([storage(t.uop) for t in (x, y)])[0].array().tolist()
    buffer = storage(x.uop)
    got = program.run([buffer, storage(y.uop)], ("CPU",), donated=(0,))[0].array().tolist()
    assert got == want


DONATED = {  # and whether the kernel that reads the input may write over it
    "step": (lambda p, g: p - 0.1 * g, True),
    "two": (lambda p, g: (p - 0.1 * g, p * 2), True),
    "flip": (lambda p, g: p.flip(0) + g, False),
    "both": (lambda p, g: p + p.flip(0), False),
    "sum": (lambda p, g: p + p.sum(), False),
    "product": (lambda p, g: p.T @ g, False),
    "sort": (lambda p, g: p.sort(0)[0], False),
    "roll": (lambda p, g: p.roll(1, 0) * 2, False),
}


@pytest.mark.parametrize("name", DONATED)
def test_a_donated_argument_is_written_over_where_that_is_safe(name):
    fn, over = DONATED[name]
    p, g = (Tensor(np.sin(np.arange(4096.0) * i).reshape(64, 64), "CPU") for i in (1, 2))
    want = [t.tolist() for t in tree_leaves(fn(p + 0.5, g))]
    donated = (p + 0.5).realize()
    address = storage(donated.uop).address
    got = tree_leaves(jit(fn, donate_argnums=0)(donated, g))
    assert [t.tolist() for t in got] == want
    assert any(t.uop.arg.buffer.address == address for t in got) is over


def test_using_a_donated_buffer_is_an_error():
    buffer = Buffer.empty(dtypes.float32, (2,), "CPU")
    assert buffer.give_up() is not None
    with pytest.raises(DeviceError, match="donated"):
        buffer.array()
    seen = Buffer.empty(dtypes.float32, (2,), "CPU")
    view = seen.array()
    assert seen.give_up() is None
    assert view.shape == (2,)


def test_steps_of_the_host_between_native_ones():
    x = np.arange(9, dtype=np.float64).reshape(3, 3) + 4 * np.eye(3)
    t = Tensor(x)
    y = ((t * 2).inv() @ t + 1).sum()
    np.testing.assert_allclose(y.item(), (np.linalg.inv(x * 2) @ x + 1).sum(), rtol=1e-10)


def as_host(schedule, roots, inputs):
    """A schedule of the host alone for the same roots, one step per node."""
    slots, steps, places = [], [], {}
    for node in toposort(expand(roots)):
        places[node] = len(slots)
        slots.append(Slot(node.dtype, node.shape))
        if node not in inputs:
            operands = tuple(places[s] for s in node.src)
            steps.append(HostStep(node, (places[node],), operands))
    outputs = tuple(places[r] for r in expand(roots))
    return Schedule(tuple(steps), tuple(slots), tuple(places[i] for i in inputs), outputs, 0)


def test_a_program_of_host_steps_alone():
    x = OPS["input"]("x", (2, 3), "float32", "CPU")
    roots = [(x + 1).exp().reduce_sum((1,)), x.permute((1, 0))]
    program = Program(as_host(None, roots, [x]), {}, BACKEND)
    value = np.ones((2, 3), np.float32)
    total, turned = program.run_arrays([value])
    np.testing.assert_allclose(total, np.exp(value + 1).sum(1), rtol=1e-6)
    assert turned.shape == (3, 2)


# ---- control flow


def both(fn, *args):
    """The result by the compiled path and by the interpreter."""
    results = []
    for device in ("CPU", "REF"):
        Device.DEFAULT = device
        results.append([t.numpy() for t in fn(*(Tensor(a, device=device) for a in args))])
    for ours, reference in zip(*results, strict=True):
        np.testing.assert_allclose(ours, reference, rtol=1e-6)
    return results[0]


X = np.arange(1, 7, dtype=np.float32).reshape(3, 2)


def test_a_scan_with_carries_rows_and_constants():
    def f(xs, k):
        last, rows = scan(lambda c, x: ((c[0] + x, c[1] * k), (c[0] * x, c[1])),
                          (xs[0] * 0, k), xs)  # fmt: skip
        return *last, *rows

    both(f, X, np.float32(2))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_whose_rows_are_its_carries_and_its_elements(reverse):
    def f(xs):
        last, rows = scan(lambda c, x: (c + x, (c + x, c, x)), xs[0], xs, reverse=reverse)
        return last, *rows

    both(f, X)


def test_carries_that_change_places():
    def f(xs):
        last, rows = scan(lambda c, x: ((c[1], c[0]), c[0] + x), (xs[0], xs[1]), xs)
        return *last, rows

    both(f, X)


def test_a_scan_of_length_zero():
    def f(xs):
        last, rows = scan(lambda c, x: (c + x, c * 2), xs.sum(0), xs)
        return last, rows

    both(f, X[:0])


def test_a_while_loop_and_nested_loops():
    def f(x):
        def outer(s):
            inner = while_loop(lambda v: v.sum() < 50, lambda v: v * 2, s[1])
            return s[0] + 1, inner / 3

        return while_loop(lambda s: s[0] < 4, outer, (x.sum() * 0, x))

    both(f, X)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_branch_with_outputs_that_are_inputs(sign):
    def f(x):
        return cond(x.sum() > 0, lambda v: (v, v * 2, v), lambda v: (v + 1, v, v * 3), x)

    both(f, sign * X)


def test_a_loop_around_a_host_step():
    m = np.eye(2, dtype=np.float32) * 2 + 0.5

    def f(x, m):
        return (scan(lambda c, v: (c @ m.inv() + v, None), x[0], x)[0],)

    both(f, X, m)


def test_control_flow_is_a_step_and_not_unrolled():
    y = scan(lambda c, x: (c + x, c), Tensor(0.0), Tensor(np.ones(1000, np.float32)))[0]
    kinds = [type(step) for step in y.schedule()]
    assert kinds.count(ControlStep) == 1
    assert len(kinds) < 10


# ---- devices


def test_a_graph_on_two_sides_is_cut():
    a = Tensor(np.array([1.0, 2.0], np.float32), device="REF")
    b = (a + 1).to("CPU") * 2
    c = (b + 1).to("REF") * 3
    d = c.to("CPU") - b
    assert d.tolist() == [5 * 3 - 4, 7 * 3 - 6]
    assert d.device == "CPU"
    assert c.tolist() == [15, 21]


def test_simulated_devices_and_shards():
    a = Tensor(np.arange(4, dtype=np.float32), device="CPU:1")
    assert (a + 1).realize().device == "CPU:1"
    s = Tensor(np.arange(4, dtype=np.float32)).shard(("CPU", "CPU:1"), 0)
    assert (s * 2).realize().device == ("CPU", "CPU:1")
    assert (s * 2).tolist() == [0, 2, 4, 6]


def test_the_number_of_cpu_devices_can_be_limited(monkeypatch):
    monkeypatch.setenv(config.CPU_DEVICES.variable, "2")
    Tensor([1.0], device="CPU:1")
    with pytest.raises(DeviceError, match="2 CPU devices"):
        Tensor([1.0], device="CPU:2")


# ---- errors


def test_an_index_out_of_range_names_op_and_line():
    x, i = vector(1, 2, 3), Tensor([0, 5])
    with pytest.raises(BoundsError, match=r"5.*test_engine\.py") as caught:
        x.gather(0, i).realize()
    assert caught.value.code == "E6001"
    assert x.gather(0, Tensor([0, 2])).tolist() == [1, 3]


def test_a_node_with_several_results_has_no_value():
    node = OPS["bundle"](vector(1).uop + 1, vector(2).uop)
    with pytest.raises(AdjointError, match="several results"):
        engine.realize(node)


# ---- what it shows


def test_schedule_lists_steps_and_run_schedule_runs_them():
    x = (vector(1, 2) + 1).exp()
    steps = x.schedule()
    assert len(steps) >= 1
    assert all(str(step) for step in steps)
    assert not is_known(x.uop)
    engine.run_schedule(steps)
    assert is_known(x.uop)
    with pytest.raises(DeviceError, match="run together"):
        engine.run_schedule(list((vector(1) + 1).schedule()))


def test_peak_bytes_of_a_compiled_schedule():
    x = Tensor(np.ones((64, 64), np.float32))
    plan = (x @ x @ x).schedule().plan
    assert peak_bytes(plan) == plan.arena + 64 * 64 * 4
    assert plan.arena >= 64 * 64 * 4


def test_lower_shows_every_stage():
    x, w = Tensor.ones(4, 3), Tensor.ones(3, 2)
    shown = lower(lambda x, w: (x @ w).tanh().sum())(x, w)
    assert "MatMul" in shown.module()
    assert "matmul" in shown.graph()
    assert "arena" in shown.schedule()
    assert any("for " in text for text in shown.kernels())
    assert "define" in shown.source()
    assert shown.counts["kernels"] + shown.counts["library"] >= 1
    with pytest.raises(AdjointError, match="llvm"):
        shown.source("fortran")


def test_lower_changes_nothing():
    w, state = vector(1), {"n": 0}

    def f(x):
        w.assign(w + x)
        state["n"] += 1
        return Tensor.rand(1) + x

    Tensor.manual_seed(3)
    jit(f).lower(vector(2))
    assert (w.item(), state["n"]) == (1, 0)
    drawn = Tensor.rand(1).item()
    Tensor.manual_seed(3)
    assert Tensor.rand(1).item() == drawn


def test_counters_count_what_runs_inside():
    x = Tensor.ones(32, 32).contiguous().realize()
    with counters() as inside:
        (x @ x + 1).realize()
    assert inside.runs == 1
    assert inside.kernels + inside.library >= 1
    assert inside.flops >= 2 * 32**3
    assert inside.bytes > 0
    assert inside.seconds > 0
    before = inside.runs
    (x + 1).realize()
    assert inside.runs == before
    inside.reset()
    assert inside.runs == 0


@pytest.mark.parametrize("run", ["realize", "run_schedule"])
def test_what_runs_without_statistics_is_not_counted(run):
    x = Tensor.ones(32, 32).contiguous().realize()
    y = x @ x + 2
    with counters() as inside:
        if run == "realize":
            y.realize(x * 5, do_update_stats=False)
        else:
            engine.run_schedule(*y.schedule_with_vars(), do_update_stats=False)
        assert (inside.runs, inside.kernels, inside.library, inside.compiles) == (0, 0, 0, 0)
        (x + 3).realize()
    assert inside.runs == 1
    assert y.numpy()[0, 0] == 34


def test_show_prints_the_stages_that_are_asked_for(monkeypatch, capsys):
    monkeypatch.setenv(config.SHOW.variable, "schedule|loops")
    (vector(1, 2, 3, 4, 5) * 2 + 7).exp().realize()
    printed = capsys.readouterr().err
    assert "---- schedule" in printed
    assert "---- loops" in printed
    assert "---- source" not in printed
    monkeypatch.setenv(config.SHOW.variable, "nonsense")
    with pytest.raises(ValueError, match="nonsense"):
        config.SHOW.value()


def test_an_unknown_stage_is_an_error():
    with pytest.raises(ValueError, match="no stage"):
        explain.stage_text("nothing", [], Schedule((), (), (), (), 0))
