"""The GPU's backend over a fake GPU: lowering, memory, launches and copies, on any machine.

The CPU's code of each kernel computes it: a loop program means the same everywhere.
"""

import gc
import re
from collections import Counter

import numpy as np
import pytest

from adjoint import Tensor, cond, grad, jit, lower, memory, profile, scan
from adjoint.errors import DeviceError
from adjoint.ir.values import storage
from adjoint.runtime.device import has_tools
from adjoint.runtime.memory import memory_of
from adjoint.target import TARGETS
from tests.agreement.records import VALUES
from tests.anew import compiled_anew
from tests.backends.cuda.agreement import compared, program, values
from tests.backends.cuda.programs import LENGTHS, ROWS, programs
from tests.handbuilt.building import saxpy
from tests.support.fake_gpu import fake_gpu

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
SOME = [VALUES[i] for i in range(0, len(VALUES), max(1, len(VALUES) // 24))]
ODD = [case for case in programs() if case[2][-1] in (33, 257, 4097) or len(case[2]) != 2]
SHARED = ("scans 1x16385", "long sorts 600x2", "sorts of many rows 65x700", "scatters 70x100")
SHARED += ("sums by index 500x70",)
ODD += [case for case in programs() if case[0] in SHARED]


@pytest.fixture(scope="module")
def shared():
    with compiled_anew(), fake_gpu() as found:
        yield found


@pytest.fixture
def gpu(shared):
    """A fake GPU; programs are not kept, nor taken from the disk."""
    del shared.calls[:]
    return shared


def floats(*shape, device="GPU", seed=0):
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32), device)


@pytest.mark.parametrize(("record", "dtype"), SOME)
def test_a_record_has_the_bits_of_the_cpu(gpu, record, dtype):
    assert compared(values, record, dtype) in ("equal", "library")


@pytest.mark.parametrize(("name", "fn", "shape"), ODD, ids=[case[0] for case in ODD])
def test_a_program_has_the_bits_of_the_cpu(gpu, name, fn, shape):
    assert compared(program, fn, shape) == "equal"


@pytest.mark.slow
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", ROWS)
def test_rows_of_every_length_have_the_bits_of_the_cpu(gpu, name, length):
    assert compared(program, ROWS[name], (3, length)) == "equal"


@pytest.mark.parametrize("kind", ["set", "sum", "prod", "amax"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
@pytest.mark.parametrize(("shape", "axis", "count"), [((3, 20, 8), 1, 2), ((4, 7), 1, 9)])
def test_few_updates_have_the_bits_of_the_cpu_by_one_kernel(gpu, shape, axis, count, dtype, kind):
    places = np.random.default_rng(1).integers(0, shape[axis], count)  # some come twice
    updates = (*shape[:axis], count, *shape[axis + 1 :])

    def written(x, index, given):
        if kind == "set":
            kept = +x
            kept[(slice(None),) * axis + (index,)] = given
            return kept
        spread = index.reshape(*(-1 if a == axis else 1 for a in range(len(shape))))
        return x.scatter_reduce(axis, spread.expand(updates), given, kind)

    found = {}
    for device in ("CPU", "GPU"):
        x, given = floats(*shape, device=device), floats(*updates, device=device, seed=2)
        index = Tensor(places, device)
        operands = (3 * x).cast(dtype).realize(), index, (3 * given).cast(dtype).realize()
        found[device] = written(*operands).cast("float32").numpy()
        if device == "GPU" and kind == "set":
            assert "scatter_few" in lower(written)(*operands).schedule()
    assert np.array_equal(found["CPU"], found["GPU"])


def test_a_jitted_call_is_launches_and_nothing_else(gpu):
    f = jit(lambda x: [(x * 3).softmax(-1), x.sum(0)])
    x = (floats(40, 64) + 0).realize()
    f(x)
    del gpu.calls[:]
    f(x)
    kinds = Counter(call.split()[0] for call in gpu.calls)
    assert set(kinds) <= {"allocate", "launch"}
    assert kinds["launch"] == 2


def test_the_host_waits_only_when_it_reads(gpu):
    y = (floats(8) * 2 + 1).realize()
    assert "read" not in gpu.calls
    y.numpy()
    assert gpu.calls.count("read") == 1
    y.numpy()
    assert gpu.calls.count("read") == 1


LOOPS = [case for case in programs() if " loop" in case[0]]


@pytest.mark.parametrize(("name", "fn", "shape"), LOOPS, ids=[case[0] for case in LOOPS])
def test_rows_of_a_loop_that_begin_anywhere_are_read_whole(gpu, name, fn, shape):
    assert compared(program, fn, shape) in ("equal", "library")


def test_a_loop_waits_for_nothing(gpu):
    f = jit(lambda x: scan(lambda c, row: ((c + row).tanh(), c.sum()), x[0], x))
    x = (floats(9, 5) + 0).realize()
    f(x)
    del gpu.calls[:]
    f(x)
    assert not {"read", "write", "synchronise"} & set(gpu.calls)


def test_an_index_out_of_range_in_a_loop_is_an_error(gpu):
    x = floats(4, 3)
    for places, bad in (([0, 1, 7], True), ([0, 1, 3], False)):
        i = Tensor(np.array(places, np.int32), device="GPU")
        run = lambda i=i: scan(lambda c, k: (c + x[k], c), x[0], i)[0].numpy()  # noqa: E731
        if bad:
            with pytest.raises(IndexError, match="7"):
                run()
        else:
            assert np.array_equal(run(), 2 * x.numpy()[0] + x.numpy()[1] + x.numpy()[3])


def test_memory_goes_back_when_tensors_do(gpu):
    gc.collect()
    before = memory_of("GPU").counted()["in use"]
    x = (floats(1000) + 1).realize()
    assert memory_of("GPU").counted()["in use"] >= before + 4000
    del x
    gc.collect()
    assert memory_of("GPU").counted()["in use"] == before


def test_a_donated_argument_gives_its_memory(gpu):
    f = jit(lambda x: x * 2, donate_argnums=0)
    y = (floats(8) + 0).realize()
    address = storage(y.uop).address
    assert storage(f(y).uop).address == address


def test_kernels_built_by_hand_run_on_a_gpu(gpu):
    kernel, out = saxpy(3).g.compile("GPU"), np.zeros(3, np.float32)
    x = Tensor([1.0, 2.0, 3.0], device="GPU")
    kernel(out, x, np.ones(3, np.float32), np.full(1, 2, np.float32))
    assert out.tolist() == [3, 5, 7]


def test_gradients_go_through_copies_to_the_host(gpu):
    x = Tensor([1.0, 2.0], device="CPU", requires_grad=True)
    ((x.to("GPU") * 3).to("CPU") * x).sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]


def test_an_index_out_of_range_is_an_error(gpu):
    x, i = floats(5), Tensor(np.array([1, 7], np.int32), device="GPU")
    with pytest.raises(IndexError, match="7"):
        x[i].numpy()


@pytest.mark.parametrize("write", [False, True])
def test_an_index_out_of_range_behind_a_branch_is_an_error(gpu, write):
    """The branch waits for its truth value, before the kernel behind it has looked at indices."""
    x, i = floats(5), Tensor(np.array([1, 7], np.int32), device="GPU")

    def fn():
        y = cond(x.sum() < 1e9, lambda v: v * 2, lambda v: v, x)
        if write:
            y[i] += 1
            return y
        return y[i]

    for _ in range(2):
        with pytest.raises(IndexError, match="7"):
            fn().numpy()


def test_a_grid_without_iterations_is_not_launched(gpu):
    assert (floats(0, 5) + 1).numpy().shape == (0, 5)
    assert not any(call.startswith("launch") for call in gpu.calls)


def test_second_derivatives_have_the_bits_of_the_cpu(gpu):
    def third(x):
        return grad(grad(lambda v: (v**4).sin().sum().tanh()))(x[0] * 0.5)

    assert compared(program, lambda x: third(x.sum(-1)), (3, 40)) == "equal"


def test_memory_that_is_out_is_an_error_and_then_there_is_some_again():
    with compiled_anew(), fake_gpu(total_bytes=1 << 20) as small:
        x = (floats(1000) + 1).realize()
        with pytest.raises(DeviceError, match=r"E6004.*GPU") as told:
            (floats(1 << 20) + 1).realize()
        assert "trim" in small.calls
        assert re.search(r"3.9 KiB +f32\[1000\] +test_fake.py:\d+ +x = ", str(told.value))
        assert np.array_equal((x * 2).numpy(), x.numpy() * 2)


def test_programs_at_rest_give_their_memory_up_when_it_is_out():
    with compiled_anew(), fake_gpu(total_bytes=6 << 20):
        f = jit(lambda x: (x.sin().cumsum(1).T + 1).cumsum(1))
        x = (floats(500, 500) + 0).realize()  # a megabyte, and one in the arena
        f(x)
        held = memory_of("GPU").counted()["in use"]
        y = Tensor.ones(1 << 20, device="GPU").realize()
        assert memory_of("GPU").counted()["in use"] < held + (4 << 20)
        assert y.shape == (1 << 20,)
        del y
        assert np.array_equal(f(x).numpy(), f(x).numpy())


def test_old_state_is_given_up_when_memory_is_out():
    with compiled_anew(), fake_gpu(total_bytes=9 << 20):
        state = Tensor.zeros(1 << 18, device="GPU").realize()

        @jit
        def step():
            state.assign(state + 1)

        for _ in range(4):
            step()
        other = Tensor.zeros(5 << 18, device="GPU").realize()  # fits beside one generation
        assert state.numpy()[0] == 4
        assert other.numpy()[-1] == 0


def test_the_report_of_memory_says_what_a_gpu_keeps(gpu):
    x = (floats(1 << 16) + 1).realize()
    del x
    gc.collect()
    y = (floats(1 << 16) * 2).realize()
    found = memory()
    assert found.devices["GPU"] >= y.nbytes()
    assert found.kept["GPU"]["in use"] >= y.nbytes()
    assert "GPU: in use" in repr(found)


def test_steps_are_timed_by_events(gpu):
    x = (floats(40, 64) + 0).realize()
    lowered = lower(lambda x: x.softmax(-1))(x)
    assert lowered.seconds(0.001) == [1e-3]  # of every two moments of a fake GPU
    with profile() as p:
        x.softmax(-1).realize()
    (step,) = [s for s in p.spans if s.kind == "kernel"]
    assert step.end - step.start == 10**6


def test_a_profile_has_lanes_for_the_gpu_and_for_copies(gpu):
    with profile() as p:
        x = floats(8, 16)
        y = (x.exp() + 1).realize()
        y.numpy()
    lanes = {s.lane for s in p.spans if s.kind == "kernel"}
    assert lanes == {"GPU"}
    copies = [(s.name, s.details["bytes"]) for s in p.spans if s.lane == "copies"]
    assert copies == [("NumPy → host", 512), ("host → GPU", 512), ("GPU → host", 512)]
    names = list(p.lanes.names.values())
    assert names[-2:] == ["GPU", "copies"]
