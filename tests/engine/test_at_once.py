"""Small graphs computed at once, op by op: which they are, and that nothing else can be told."""

import contextlib
import gc
import hashlib
import sys
import threading
import warnings
import weakref

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, Variable, config, counters, jit, vmap
from adjoint.engine import at_once as ways
from adjoint.engine import op_kernels, program_cache
from adjoint.engine.later import LATER, Later
from adjoint.engine.program_cache import PROGRAMS
from adjoint.errors import BoundsError, DeviceError
from adjoint.ir.dtype import dtypes
from adjoint.ir.kernel_kind import Pointwise
from adjoint.ir.opdef import OPS, Sample
from adjoint.target import TARGETS
from tests.agreement.bits import canonical
from tests.agreement.records import values
from tests.ops.cases import RECORDS, adapted, call, dtypes_of, outputs
from tests.support.at_once import at_once
from tests.support.devices import on
from tests.support.processes import printed
from tests.support.threads import in_threads

RUNS = TARGETS["CPU"].limits.at_once_runs


@pytest.fixture(autouse=True)
def _cpu():
    with on("CPU"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def programs(monkeypatch):
    """The graphs that were compiled, in order, and how many were not."""
    made, real = [], program_cache.make

    def make(key, roots, lifted):
        made.append(key)
        return real(key, roots, lifted)

    monkeypatch.setattr(program_cache, "make", make)
    return made


def bits(array):
    return canonical(np.atleast_1d(np.ascontiguousarray(array))).tobytes()


def x_of(*shape, seed=0, dtype=np.float64):
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


# ---- the same bits


def both_ways(make):
    """What is made, compiled and at once, as bits."""
    found = []
    for way in (False, True):
        with at_once(way):
            found.append({name: bits(array) for name, array in make().items()})
    return found


def _in_part(record, dtype):
    name = f"{record.name}-{dtype.short}"
    return hashlib.sha256(name.encode()).digest()[1] % 12 == 0


EVERY = [
    pytest.param(r, d, id=f"{r.name}-{d.short}", marks=[] if _in_part(r, d) else pytest.mark.slow)
    for r in RECORDS
    for d in dtypes_of(r)
]


@pytest.mark.parametrize(("record", "dtype"), EVERY)
def test_a_record_has_the_bits_of_its_program(record, dtype):
    compiled, found = both_ways(lambda: values(record, dtype))
    assert compiled == found


_ENDS = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 1e-310, 3e38, 1e300, 2.0**31, 2.0**63)
SPECIAL = np.array([*_ENDS, 1, -1, 0.5, 1.5, 2.5, -0.5, 65504, 1e-8, 2.0**24 + 1, -7.25, 3])


def _special(array, rng):
    kind = array.dtype.kind
    if kind in "fV" or array.dtype.name == "bfloat16":
        wide = rng.standard_normal(array.shape) * 10.0 ** rng.integers(-6, 7, array.shape)
        with np.errstate(all="ignore"):
            chosen = np.where(rng.random(array.shape) < 0.5, rng.choice(SPECIAL, array.shape), wide)
            return chosen.astype(array.dtype)
    if kind in "iu":
        info = np.iinfo(array.dtype)
        ends = [0, 1, 2, 3, 7, info.max, info.min, info.max - 1, info.max // 2]
        return rng.choice(np.array(ends, array.dtype), array.shape)
    return array


ONE_ANSWER = [
    pytest.param(r, d, id=f"{r.name}-{d.short}")
    for r in OPS.values()
    if r.public and type(r.kernel) is Pointwise and r.kernel.has_one_answer
    for d in dtypes_of(r)
    if not d.is_complex
]


@pytest.mark.parametrize(("record", "dtype"), ONE_ANSWER)
def test_what_has_one_answer_has_it_at_the_ends_of_its_range(record, dtype):
    rng = np.random.default_rng(3)
    plain = [adapted(s, dtype) for s in record.samples()]
    hard = [_changed(s, rng) for s in plain for _ in range(3)]

    def results():
        found = [t for s in hard for t in outputs(call(record, s)) if isinstance(t, Tensor)]
        return {i: t.numpy() for i, t in enumerate(found)}

    compiled, found = both_ways(results)
    assert compiled == found


def _changed(sample, rng):
    change = lambda v: _special(v, rng) if isinstance(v, np.ndarray) else v  # noqa: E731
    return Sample(tuple(map(change, sample.args)), sample.kwargs, sample.smooth)


def test_mathematics_has_none():
    named = {n for n, r in OPS.items() if type(r.kernel) is Pointwise and r.kernel.has_one_answer}
    assert not named & {"exp", "log", "pow", "sin", "tanh", "erf", "lgamma", "relu", "fmod", "mod"}


GRAPHS = {
    "softmax": lambda x: (x * 3).softmax(-1),
    "layer norm": lambda x: (
        (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt()
    ),
    "square": lambda x: (x**2).sum(0) + x**3.0,
    "root": lambda x: x.abs() ** 0.5,
    "root of a constant that is computed": lambda x: (
        x.abs() ** (adjoint.full(x.shape, 1.0, dtype="float64") / 2)
    ),
    "power of an array": lambda x: x.abs() ** x,
    "angle with a zero": lambda x: x.atan2(adjoint.full(x.shape, -0.0, dtype="float64")),
    "cumsum": lambda x: x.cumsum(-1).exp(),
    "sort": lambda x: x.sort(-1)[0].tanh(),
    "gather": lambda x: x.flip(0)[Tensor([0, -1, 0])].log1p(),
    "mask": lambda x: (x > 0).where(x.log(), -x),
    "joined": lambda x: x.cat(x.sin()).max(0),
    "padded": lambda x: x.pad(((1, 2), (0, 1))).exp2(),
    "random": lambda x: x * 0 + Tensor.rand(*x.shape, dtype="float64"),
}


@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (17, 33), (5, 1)], ids=str)
@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_has_the_bits_of_its_program(name, shape):
    def result():
        Tensor.manual_seed(5)
        return {"": GRAPHS[name](x_of(*shape)).numpy()}

    compiled, found = both_ways(result)
    assert compiled == found


@pytest.mark.parametrize("size", [0, 1, 2, 255, 256, 257, 1000, (1 << 14) - 1, 1 << 14])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_an_op_s_kernel_takes_every_length(size, dtype):
    make = lambda: {"": (x_of(size, dtype=np.float64).cast(dtype).sin() + 1).numpy()}  # noqa: E731
    compiled, found = both_ways(make)
    assert compiled == found


# ---- nothing is compiled, and then it is


def test_a_new_graph_of_known_ops_compiles_nothing(programs):
    with at_once():
        (x_of(3, 5).abs() + 1).numpy()
        assert float((x_of(7) * 2 - 1).sum()) == float((x_of(7).numpy() * 2 - 1).sum())
        assert not programs


def test_mathematics_is_compiled_once_for_all_shapes():
    with at_once():
        x_of(9).cosh().numpy()
        before = op_kernels._program.cache_info().misses
        for shape in [(3,), (2, 5), (1, 1, 4), (256,)]:
            x_of(*shape).cosh().numpy()
        assert op_kernels._program.cache_info().misses == before


def test_a_graph_that_comes_often_gets_a_program():
    with at_once():
        run = lambda: (x_of(4, 4) * 1.25 + 2).sum(0).numpy()  # noqa: E731
        wanted = [bits(run()) for _ in range(RUNS)]
        LATER.finish()
        assert [bound for f in PROGRAMS._families.values() for bound in f.exact.values()]
        assert {*wanted, bits(run())} == {wanted[0]}


def test_the_second_time_a_program_on_disk_is_read(own_cache, stored):
    with at_once():
        run = lambda: (x_of(4, 6) * 1.375 + 2).sum(0).numpy()  # noqa: E731
        wanted = [bits(run()) for _ in range(RUNS)]
        LATER.finish()
        PROGRAMS.clear()
        assert bits(run()) == wanted[0]
        assert not any(f.exact for f in PROGRAMS._families.values())
        assert bits(run()) == wanted[0]
        assert any(f.exact for f in PROGRAMS._families.values())


def test_constants_that_change_become_arguments_of_the_program():
    with at_once():
        for step in range(RUNS + 4):
            (x_of(6) * float(step) + 1.5).numpy()
        LATER.finish()
        family = next(f for f in PROGRAMS._families.values() if f.generic is not None)
        bound, fixed = family.generic
        assert len(bound.lifted) == 1
        assert fixed == (1.5,)
        wanted = x_of(6).numpy() * 99.0 + 1.5
        np.testing.assert_array_equal((x_of(6) * 99.0 + 1.5).numpy(), wanted)


def test_an_exponent_that_changes_makes_no_kernel_for_each(programs):
    with at_once():
        before = op_kernels._program.cache_info().misses
        for step in range(12):
            (x_of(6).abs() ** (1.1 + step)).numpy()
        assert op_kernels._program.cache_info().misses - before <= 3


# ---- graphs that are compiled as before


@pytest.mark.parametrize(
    "make",
    [
        lambda: x_of(4, 9) @ x_of(9, 4),
        lambda: x_of(129, 128).exp(),
        lambda: (x_of(3) + 1j * x_of(3)).exp(),
        lambda: adjoint.linalg.inv(x_of(3, 3)) + 1,
        lambda: x_of(9)[: Variable("n", 1, 9).bind(5)] * 2,
        lambda: sum((x_of(3) * i for i in range(400)), x_of(3)),
    ],
    ids=["product", "large", "complex", "host", "varying", "many nodes"],
)
def test_other_graphs_are_compiled(programs, make):
    with at_once():
        make().numpy()
        assert len(programs) >= 1


def test_inside_transforms_nothing_is_different(programs):
    with at_once():
        assert jit(lambda x: x + 1)(x_of(3)).shape == (3,)
        assert programs or PROGRAMS
        np.testing.assert_array_equal(vmap(lambda x: x * 2)(x_of(3)).numpy(), x_of(3).numpy() * 2)


def test_what_is_counted_is_compiled_and_counted_alike(monkeypatch):
    monkeypatch.setenv("ADJOINT_CACHE", "0")

    def counted():
        with counters() as found:
            (x_of(5, 5) * 3 + 1).sum(0).exp().numpy()
        return found.runs, found.kernels, found.compiles

    for before in (0, 3, RUNS + 2):
        with at_once():
            for _ in range(before):
                (x_of(5, 5) * 3 + 1).sum(0).exp().numpy()
            once = counted()
        assert once[:2] == (1, 1)
        assert once[2] == (0 if before >= RUNS else 1)


def test_the_other_thread_counts_nowhere():
    with at_once():
        for _ in range(RUNS):
            (x_of(5, 4) * 3 + 7).numpy()
        with counters() as found:
            LATER.finish()
        assert found.compiles == 0


@pytest.mark.parametrize("variable", ["VERIFY", "SHOW"])
def test_passes_that_are_looked_at_run(programs, variable, monkeypatch, capsys):
    with at_once():
        monkeypatch.setenv(f"ADJOINT_{variable}", {"VERIFY": "1", "SHOW": "fuse"}[variable])
        (x_of(3, 2) * 3.5).numpy()
        assert programs


def test_the_switch_turns_it_off(programs):
    with at_once(False):
        (x_of(3, 2) * 3.25).numpy()
    assert len(programs) == 1
    assert config.AT_ONCE.default is True


# ---- errors, memory, threads


def test_an_index_out_of_range_is_the_same_error():
    said = []
    for way in (False, True):
        with at_once(way), pytest.raises(BoundsError) as error:
            (x_of(4)[Tensor([0, 9])] + 1).numpy()
        said.append((error.value.code, str(error.value)))
    assert said[0] == said[1]


def test_no_result_shows_the_memory_of_another_value():
    with at_once():
        x = x_of(4, 3)
        results = [x * 1, x + 0, x.abs() * 1, x.abs(), (x.T * 1).T * 1, x.contiguous() * 1]
        results[0].realize(*results[1:])
        arrays = [x.numpy(), *(r.numpy() for r in results)]
        pairs = [(i, j) for i in range(len(arrays)) for j in range(i)]
        assert not any(np.shares_memory(arrays[i], arrays[j]) for i, j in pairs)
        kept = arrays[1].copy()
        x += 1
        np.testing.assert_array_equal(results[0].numpy(), kept)


def test_a_result_can_be_donated():
    with at_once():
        x = (x_of(4) + 1).realize()
        jit(lambda x: x * 2, donate_argnums=(0,))(x).realize()
        with pytest.raises(DeviceError, match="donated"):
            float(x[1])


def test_history_is_kept():
    with at_once():
        x = Tensor(np.arange(3.0), requires_grad=True)
        y = (x * x).sum()
        assert y.item() == 5.0
        y.backward()
        np.testing.assert_array_equal(x.grad.numpy(), 2 * np.arange(3.0))


def test_work_for_later_holds_nothing_of_the_user_s(monkeypatch):
    go, asked = threading.Event(), []
    monkeypatch.setattr(LATER, "ask", lambda name, work: asked.append(work))
    with at_once():
        x = x_of(11)
        for _ in range(RUNS):
            y = x * 1.75 - 2
            y.numpy()
        buffer = weakref.ref(x.uop.arg.buffer if x.uop.realized is None else x.uop.realized)
        assert asked
        del x, y
        gc.collect()
        assert buffer() is None
        go.set()


def test_an_error_in_the_other_thread_is_raised_where_the_value_is_asked_for(monkeypatch):
    real = program_cache._compiled

    def fail(*args):
        raise MemoryError("no room")

    with at_once():
        run = lambda: (x_of(13) * 1.125 - 2).numpy()  # noqa: E731
        monkeypatch.setattr(program_cache, "_compiled", fail)
        for _ in range(RUNS - 4):
            run()
        with contextlib.suppress(MemoryError):  # the other thread may have tried already
            for _ in range(4):
                run()
        LATER.finish()
        with pytest.raises(MemoryError, match="no room"):
            run()
        monkeypatch.setattr(program_cache, "_compiled", real)
        np.testing.assert_array_equal(run(), x_of(13).numpy() * 1.125 - 2)


def test_threads_compute_the_same_new_graphs():
    found = {}

    def work(thread):
        for i in range(RUNS + 8):
            found[thread, i] = (x_of(3 + i % 3) * 2.5 + 1).exp().numpy().tobytes()

    with at_once():
        in_threads(6, work)
    assert len(set(found.values())) == 3


def test_ways_are_chosen_by_kinds_and_not_by_names():
    assert ways._needs_kernel(x_of(3).exp().uop)
    assert not ways._needs_kernel(x_of(3).abs().uop)
    assert dtypes.float64 is x_of(3).dtype


# ---- another thread


def test_work_is_done_in_order_by_another_thread():
    later, done = Later(), []
    for number in range(5):
        later.ask(number, lambda n=number: done.append((n, threading.current_thread().name)))
    later.finish()
    assert [n for n, _ in done] == list(range(5))
    assert later.has_room_for(0)


def test_the_one_who_needs_it_takes_work_over():
    later, go, done = Later(), threading.Event(), []
    later.ask("first", lambda: (go.wait(60), done.append("first")))
    later.ask("second", lambda: done.append(threading.current_thread()))
    later.settle("second")
    assert done == [threading.current_thread()]
    assert not later.has_room_for("first")
    go.set()
    later.finish()
    assert done[1:] == ["first"]


def test_work_that_fails_is_done():
    later = Later()

    def fail():
        raise ValueError

    later.ask("bad", fail)
    later.settle("bad")
    assert later.has_room_for("bad")


OFTEN = f"""
import os
import numpy as np
from adjoint import Tensor
for _ in range({RUNS}):
    y = (Tensor(np.ones(5)) * 3 + 1).softmax(0).sum()
    y.numpy()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
@pytest.mark.parametrize(
    "then",
    [
        "print(1.0)",
        "print(y.item())",
        "pid = os.fork()\nprint(round((Tensor(np.ones(5)) * 3 + 1).softmax(0).sum().item(), 6))"
        " if pid == 0 else os.waitpid(pid, 0)",
    ],
    ids=["ends", "asks", "forks"],
)
def test_a_process_ends_asks_or_forks_while_the_other_thread_compiles(then, tmp_path):
    settings = {"ADJOINT_CACHE_DIR": str(tmp_path), "ADJOINT_AT_ONCE": "1"}
    assert printed("-c", OFTEN + then, **settings) == "1.0\n"
