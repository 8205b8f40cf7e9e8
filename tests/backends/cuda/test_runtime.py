"""Graphs, flags, memory and threads of the GPU's backend: over a fake GPU, and on a real one."""

from collections import Counter

import numpy as np
import pytest

from adjoint import Tensor, cond, counters, grad, jit, scan, while_loop
from adjoint.backends import cuda
from adjoint.backends.cuda import graphs, pinned
from adjoint.errors import BoundsError, DeviceError
from adjoint.nn import Linear
from adjoint.nn.optim import Adam
from adjoint.runtime.cuda import problem
from adjoint.runtime.device import has_tools
from adjoint.runtime.memory import memory_of
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.support.devices import on
from tests.support.fake_gpu import fake_gpu
from tests.support.threads import in_threads

_FAKE = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
_REAL = [pytest.mark.gpu, pytest.mark.skipif(bool(problem()), reason=problem() or "a GPU")]


class _NoCalls:
    """A real GPU does not say what it was asked for."""

    calls = None


@pytest.fixture(
    scope="module", params=[pytest.param("fake", marks=_FAKE), pytest.param("real", marks=_REAL)]
)
def either(request):
    if request.param == "real":
        yield _NoCalls()
    else:
        with compiled_anew(), fake_gpu() as found:
            yield found


@pytest.fixture
def gpu(either):
    if either.calls:
        del either.calls[:]
    return either


def calls(gpu, run):
    """What the fake GPU was asked for, by kind; None where there is a real one."""
    if gpu.calls is None:
        run()
        return None
    del gpu.calls[:]
    run()
    return Counter(call.split()[0] for call in gpu.calls)


def floats(*shape, device="GPU", seed=0):
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return (Tensor(values, device=device) + 0).realize()


def steps(x):
    """Five kernels on the GPU, in a row."""
    y = x.sin().sum(0)
    z = (x * y).cumsum(1)
    return [y, z, z.T.sin() + 0, x.sort(1)[0], z.max(0)]


def same_as_cpu(fn, *shapes):
    made = [
        [f.numpy() for f in fn(*[floats(*s, device=device, seed=i) for i, s in enumerate(shapes)])]
        for device in ("CPU", "GPU")
    ]
    for cpu, found in zip(*made, strict=True):
        assert np.array_equal(cpu, found, equal_nan=True)


# ---- graphs


def test_a_jitted_call_is_one_graph_from_its_third_run_on(gpu):
    f, x = jit(steps), floats(40, 33)
    want = [v.numpy() for v in f(x)]
    f(x)
    kinds = calls(gpu, lambda: f(x))
    assert kinds is None or (kinds["graph"], kinds["launch"]) == (1, 0)
    assert all(np.array_equal(a, b.numpy()) for a, b in zip(want, f(x), strict=True))


def test_results_that_are_kept_get_memory_of_their_own(gpu):
    f, x = jit(steps), floats(40, 33)
    kept = [f(x * k) for k in range(24)]
    for k, found in enumerate(kept):
        want = steps(x.to("CPU") * k)
        for a, b in zip(want, found, strict=True):
            assert np.array_equal(a.numpy(), b.numpy())


def test_another_operand_is_written_into_the_graph_where_few_kernels_read_it(gpu):
    f = jit(lambda x, w: [((x + 1) * w).sum(0), *steps(w)])
    w, many = floats(40, 33), [floats(40, 33, seed=i) for i in range(40)]
    for x in many[:20]:
        f(x, w)
    kinds = calls(gpu, lambda: [f(x, w) and None for x in many[20:]])
    assert kinds is None or (kinds["graph"] == 20 and kinds["record"] == 0 and kinds["set"] >= 20)
    want = ((many[-1].to("CPU") + 1) * w.to("CPU")).sum(0)
    assert np.array_equal(f(many[-1], w)[0].numpy(), want.numpy())


def test_graphs_are_recorded_a_limited_number_of_times(gpu):
    f, many = jit(steps), [floats(40, 33, seed=i) for i in range(100)]
    kinds = calls(gpu, lambda: [f(x) for x in many])
    assert kinds is None or kinds["record"] <= graphs.KEPT + 2
    same_as_cpu(f, (40, 33))


def test_a_loop_is_part_of_the_graph(gpu):
    f = jit(lambda x: scan(lambda c, row: ((c + row).tanh(), c.sum()), x[0], x))
    x = floats(9, 5)
    for _ in range(3):
        f(x)
    kinds = calls(gpu, lambda: f(x))
    assert kinds is None or kinds == {"graph": 1}
    same_as_cpu(f, (9, 5))


def test_a_loop_that_is_too_long_for_a_graph_is_run_turn_by_turn(gpu, monkeypatch):
    monkeypatch.setattr(graphs, "LONGEST", 20)
    f = jit(lambda x: scan(lambda c, row: ((c * 0.9 + row).tanh(), c.sum()), x[0], x))
    kinds = calls(gpu, lambda: [f(floats(90, 7)) for _ in range(4)])
    assert kinds is None or kinds["launch"] >= 90 * 4
    same_as_cpu(f, (90, 7))


def test_bodies_of_while_loops_and_branches_are_graphs(gpu):
    def f(x):
        y = while_loop(lambda v: v.abs().sum() < 900, lambda v: (v * 2).cumsum(1).sort(0)[0] + 1, x)
        return [cond(y.sum() > 0, lambda v: v.cumsum(0).sort(1)[0] * 2, lambda v: -v, y)]

    compiled, x = jit(f), floats(6, 5)
    for _ in range(4):
        compiled(x)
    same_as_cpu(compiled, (6, 5))
    same_as_cpu(compiled, (6, 5))


def test_a_step_that_trains_is_one_graph_and_nothing_else(gpu):
    losses = {}
    for device in ("CPU", "GPU"):
        with on(device):
            Tensor.manual_seed(0)
            layers = [Linear(2, 16), Linear(16, 1)]
            adam = Adam([p for layer in layers for p in layer.parameters()], lr=0.01)
            x, y = floats(20, 2, device=device), floats(20, 1, device=device, seed=1)

            @jit
            def step(x, y, layers=layers, adam=adam):
                adam.zero_grad()
                loss = ((layers[1](layers[0](x).tanh()) - y) ** 2).mean()
                loss.backward()
                adam.step()
                return loss

            losses[device] = [step(x, y).item() for _ in range(12)]
    for _ in range(6):
        step(x, y)
    kinds = calls(gpu, lambda: [step(x, y) is None for _ in range(10)])
    assert kinds is None or kinds == {"graph": 10}
    assert np.allclose(losses["CPU"], losses["GPU"], rtol=1e-5)


def test_large_state_lies_in_two_places_in_turn(gpu):
    """Freed blocks of one size go round among several tensors: more sets of addresses than graphs
    are kept, were not each tensor to get its old memory back."""
    with on("GPU"):
        rows = [Tensor.zeros(1024, 512).realize() for _ in range(6)]  # too large to wait
        held = [Tensor.zeros(1024, 512).realize() for _ in range(3)]

        @jit
        def step(number):
            for row in rows:
                row.assign(row * 0.5 + number)
            return rows[0] * 2 + number

        def advance():
            held.append(step(held.pop(0)))

        for _ in range(8):
            advance()
        counted = [calls(gpu, advance) for _ in range(12)]
    assert gpu.calls is None or all(c == {"graph": 1} for c in counted)


def test_a_step_that_cannot_be_recorded_is_launched_as_it_is(gpu, monkeypatch):
    driver = cuda.BACKEND._gpu()

    def refused(steps):
        raise DeviceError("E6001", "no graph of this")

    monkeypatch.setattr(driver, "record", refused)
    same_as_cpu(jit(lambda x: [v for _ in range(4) for v in steps(x)]), (40, 33))


def test_ctrl_c_while_a_graph_is_recorded_leaves_the_gpu_usable(gpu):
    driver = cuda.BACKEND._gpu()

    def interrupted():
        raise KeyboardInterrupt

    with driver.lock, pytest.raises(KeyboardInterrupt):
        driver.record([interrupted])
    assert not driver.recording
    f = jit(steps)
    for _ in range(3):
        same_as_cpu(f, (40, 33))


# ---- flags


def bad_rows(count=5):
    x, places = floats(count), Tensor(np.array([1, 7], np.int32), device="GPU")
    return x, x[places]


def test_a_bad_index_waits_for_the_host_to_wait(gpu):
    _, found = bad_rows()
    kinds = calls(gpu, found.realize)
    assert kinds is None or not kinds["wait"] + kinds["read"]
    with pytest.raises(IndexError, match=r"index 7 is out of range for axis 0 of size 5.*built by"):
        found.numpy()


def test_what_a_bad_index_has_spoilt_is_never_read(gpu):
    x, found = bad_rows()
    found.realize()
    with pytest.raises(IndexError, match="7"):
        x.sum().item()  # the next that waits
    for _ in range(2):
        with pytest.raises(IndexError, match="7"):
            found.numpy()
    with pytest.raises(IndexError, match="7"):
        (found * 2).numpy()
    assert x.sum().item() == pytest.approx(float(x.numpy().sum()), abs=1e-5)


def test_a_bad_index_under_jit_is_told_when_a_result_is_read(gpu):
    f, x = jit(lambda x, i: [x[i] * 2, x + 1]), floats(5)
    good, bad = (Tensor(np.array([0, k], np.int32), device="GPU") for k in (4, -9))
    for _ in range(3):
        assert np.array_equal(f(x, good)[0].numpy(), x.numpy()[[0, 4]] * 2)
    rows, _ = f(x, bad)
    with pytest.raises(BoundsError, match="index -9 is out of range"):
        rows.numpy()
    assert np.array_equal(f(x, good)[0].numpy(), x.numpy()[[0, 4]] * 2)


def test_a_bad_index_in_a_loop_is_told(gpu):
    x, places = floats(4, 3), Tensor(np.array([0, 1, 7], np.int32), device="GPU")
    with pytest.raises(IndexError, match="7"):
        scan(lambda c, k: (c + x[k], c), x[0], places)[0].numpy()


def test_good_indices_wait_for_nothing(gpu):
    f, x = jit(lambda x, i: x[i] * 2), floats(5)
    i = (Tensor(np.array([0, 3], np.int32), device="GPU") + 0).realize()
    f(x, i)
    kinds = calls(gpu, lambda: [f(x, i) for _ in range(5)])
    assert kinds is None or set(kinds) <= {"launch", "graph", "allocate"}


# ---- memory and copies


@pytest.mark.parametrize("size", [0, 1, 1000, pinned._SMALL // 4 + 3, 3 * pinned._PIECE // 4 + 5])
def test_what_is_written_is_read_back(gpu, size):
    values = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    mine = values.copy()
    x = (Tensor(mine, device="GPU") + 0).realize()
    mine[...] = 0
    assert np.array_equal(x.numpy(), values)


def test_large_values_are_read_piece_by_piece(gpu, monkeypatch):
    monkeypatch.setattr(pinned, "_LARGE", 1 << 16)
    x = floats(5 * pinned._PIECE // 4 + 7)
    assert np.array_equal((x * 2).numpy(), x.to("CPU").numpy() * 2)


def test_arrays_have_a_limited_amount_of_pinned_memory(gpu, monkeypatch):
    monkeypatch.setattr(pinned, "_MOST", 0)
    kept = [floats(500, seed=i).numpy() for i in range(4)]
    for i, found in enumerate(kept):
        assert np.array_equal(found, floats(500, device="CPU", seed=i).numpy())


def test_gradients_go_through_copies(gpu):
    x = Tensor([1.0, 2.0], device="CPU", requires_grad=True)
    f = grad(lambda v: ((v.to("GPU") * 3).to("CPU") * v).sum())
    assert f(x).tolist() == [6.0, 12.0]


def test_memory_is_flat_over_many_steps(gpu):
    step, x = jit(lambda x: [x * 0.5 + 1, x.sum(0), x.cumsum(0).max(1)]), floats(64, 40)
    for _ in range(4):
        x = step(x)[0]
    before = memory_of("GPU").counted()
    for _ in range(300):
        x = step(x)[0]
    assert memory_of("GPU").counted() == before


# ---- slices


def test_batches_of_a_value_are_copied_on_the_gpu_and_compiled_once(gpu):
    data, f = floats(640, 33), jit(lambda x: x.exp().sum(1))
    whole = data.to("CPU").numpy()
    for turn, start in enumerate(range(0, 640, 64)):
        run = lambda i=start: f(data[i : i + 64])  # noqa: E731
        kinds = calls(gpu, run)
        assert kinds is None or not turn or set(kinds) <= {"copy", "launch", "graph", "allocate"}
        want = Tensor(whole[start : start + 64], device="CPU").exp().sum(1).numpy()
        assert np.array_equal(run().numpy(), want)


def test_slices_inside_of_a_graph_are_arguments_of_one_program(gpu):
    data = floats(64, 9)
    for start in range(8):
        found = (data[start : start + 5] * 2).cumsum(1)
        with counters() as counted:
            found.realize()
        assert start < 3 or counted.compiles == 0
        assert np.array_equal(
            found.numpy(), (data.to("CPU")[start : start + 5] * 2).cumsum(1).numpy()
        )


# ---- threads


def test_threads_run_programs_and_hand_values_over(gpu):
    f, w = jit(steps), floats(30, 17)
    want = [[v.numpy() for v in steps(w.to("CPU") * k)] for k in range(4)]
    made = {}

    def work(number):
        for turn in range(15):
            made[number] = f(w * number)
            other = made.get((number + turn) % 4)
            if other is not None:
                k = (number + turn) % 4
                assert all(
                    np.array_equal(a, b.numpy()) for a, b in zip(want[k], other, strict=True)
                )

    in_threads(4, work)
