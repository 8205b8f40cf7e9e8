"""The C backend: another memory, another compiler, no library; the same engine and bits."""

import gc
from threading import Barrier

import numpy as np
import pytest

from adjoint import Device, Tensor, cond, counters, jit, lower, scan, while_loop
from adjoint.backends.c import backend as c_backend
from adjoint.errors import AdjointError, BoundsError, DeviceError
from adjoint.ir.values import storage
from adjoint.runtime.device import has_tools
from adjoint.runtime.memory import memory_of
from adjoint.stages import Source
from adjoint.target import TARGETS
from tests.agreement.records import LATE, VALUES, values
from tests.ops.cases import call, outputs
from tests.support.devices import on, same, together
from tests.support.threads import in_threads

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
QUICK = [VALUES[i] for i in range(0, len(VALUES), max(1, len(VALUES) // 12))]


def floats(*shape, device="C", seed=0):
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32), device)


def agree(fn, *shapes):
    """Both devices give the same bits."""
    found = [
        [t.numpy() for t in fn(*(floats(*s, device=d, seed=i) for i, s in enumerate(shapes)))]
        for d in ("CPU", "C")
    ]
    for cpu, c in zip(*found, strict=True):
        assert c.dtype == cpu.dtype
        assert c.tobytes() == cpu.tobytes()


PROGRAMS = {
    "chain": (lambda x: [(x * 2 + 1).tanh().relu()], [(5, 7)]),
    "rows": (lambda x: [x.softmax(-1), x.layernorm(-1)], [(6, 33)]),
    "long sum": (lambda x: [x.sum(), x.var(0)], [(4099, 3)]),
    "sort and scan": (lambda x: [*x.sort(0), x.cumsum(1)], [(17, 5)]),
    "views": (lambda x: [x.T.flip(0)[1:, ::2].reshape(-1)], [(6, 8)]),
    "views of views": (lambda x: [x[1:].T[2:].T.expand(2, 4, 6)], [(5, 8)]),
    "empty": (lambda x: [x[:0].sum(0), x[:0] + 1], [(4, 3)]),
    "0-d": (lambda x: [x[0, 0].exp(), x.max()], [(2, 2)]),
    "an output twice": (lambda x: [(y := x + 1), y, y.reshape(-1), x], [(2, 3)]),
    "a step of the host between kernels": (
        lambda x: [(x @ x.T * 0 + Tensor.eye(3, device=x.device) * 2).inv() + 1],
        [(3, 3)],
    ),
    "a loop": (
        lambda x: [*scan(lambda c, v: (c * 0.5 + v.sin(), c.sum()), x[0] * 0, x)],
        [(6, 4)],
    ),
    "a while-loop": (
        lambda x: [while_loop(lambda v: v.sum() < 50, lambda v: v.abs() + 1, x)],
        [(3, 2)],
    ),
    "a branch": (lambda x: [cond(x.sum() > 0, lambda v: v * 2, lambda v: -v, x)], [(3, 2)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_the_bits_of_the_cpu(name):
    fn, shapes = PROGRAMS[name]
    agree(fn, *shapes)


def test_a_gradient_under_jit_has_the_bits_of_the_cpu():
    def step(x, w):
        w = w.detach().requires_grad_()
        (x[:, :8] @ w[:8]).tanh().sum().backward()  # 8 products: loops on both
        return [w.grad]

    agree(lambda x, w: jit(step)(x, w), (5, 9), (9, 4))


def test_a_second_call_compiles_nothing_and_reads_other_memory():
    f = jit(lambda x: (x * 3).exp())
    f(floats(4))
    with counters() as counted:
        got = f(floats(4, seed=7)).numpy()
    assert counted.compiles == 0
    assert got.tobytes() == (floats(4, seed=7, device="CPU") * 3).exp().numpy().tobytes()


def test_memory_is_that_of_the_device():
    x = (floats(3) + 1).realize()
    buffer = storage(x.uop)
    assert buffer.device == "C"
    assert not memory_of("C").addressable
    before = buffer.array().copy()
    buffer.array()  # a copy: what the host holds is not the memory of the device
    assert buffer.array().ctypes.data != buffer.address
    assert np.array_equal(before, buffer.array())


def test_memory_goes_back_when_tensors_do():
    gc.collect()
    before = memory_of("C").counted()["in use"]
    x = (floats(1000) + 1).realize()
    assert memory_of("C").counted()["in use"] >= before + 4000
    del x
    gc.collect()
    assert memory_of("C").counted()["in use"] < before + 4000


def test_a_donated_argument_gives_its_memory():
    f = jit(lambda x: x * 2, donate_argnums=0)
    x = (floats(8) + 0).realize()
    want, address = x.numpy() * 2, storage((x + 0).realize().uop).address
    y = (floats(8) + 0).realize()
    address = storage(y.uop).address
    z = f(y)
    assert storage(z.uop).address == address
    assert np.array_equal(z.numpy(), want)
    with pytest.raises(DeviceError, match="donated"):
        y.numpy()


def test_a_view_of_a_result_stays_on_the_device(monkeypatch):
    f = jit(lambda x: [(y := x * 2), y.reshape(-1), y.reshape(3, 2)])
    f(floats(2, 3))
    x = (floats(2, 3, seed=5) + 0).realize()
    want = x.numpy() * 2
    with monkeypatch.context() as patched:
        patched.setattr(type(memory_of("C")), "read", None)
        found = f(x)
    assert len({storage(y.uop).address for y in found}) == 1
    for y, shape in zip(found, [(2, 3), (6,), (3, 2)], strict=True):
        assert y.numpy().tobytes() == want.tobytes()
        assert y.shape == shape


def test_memory_that_two_results_share_is_not_given_up():
    first, second = jit(lambda x: [(y := x * 2), y.reshape(-1)])(floats(2, 3))
    want = second.numpy().copy()
    f = jit(lambda x: x + 100, donate_argnums=0)
    other = f(first)
    assert storage(other.uop).address != storage(second.uop).address
    assert second.numpy().tobytes() == want.tobytes()


def test_copies_between_memories_keep_values_and_gradients():
    x = Tensor([1.0, 2.0], device="CPU", requires_grad=True)
    y = (x.to("C") * 3).to("CPU") * x
    y.sum().backward()
    assert y.numpy().tolist() == [3, 12]
    assert x.grad.numpy().tolist() == [6, 12]
    assert x.grad.device == "CPU"


# ---- two memories in one jitted function


def there_and_back(x):
    return (x.to("C") * 2).tanh().to("CPU") + x


def on_both(x, y):
    far = x.to("C")
    return x.exp(), far * y, (far + y).sum().to("CPU") * x, y


def used_twice(x):
    far = (x * 3).to("C")
    return far + far.to("CPU").exp().to("C"), far


def a_leaf_on_the_way(x):
    return (x.to("C").to("CPU") + 1, x.to("C"), x)


def constants_of_both(x):
    near, far = Tensor.arange(3, device="CPU"), Tensor([1.0, 2.0, 4.0], device="C")
    return (x.to("C") * far).to("CPU") + near


OVER_BOTH = [there_and_back, used_twice, a_leaf_on_the_way, constants_of_both]


def listed(found):
    return [(t.numpy().tolist(), t.device) for t in (found if type(found) is tuple else (found,))]


@pytest.mark.parametrize("fn", OVER_BOTH, ids=lambda fn: fn.__name__)
def test_a_jitted_function_over_two_memories_gives_what_the_function_gives(fn):
    f = jit(fn)
    for seed in range(3):
        x = floats(3, device="CPU", seed=seed)
        assert listed(f(x)) == listed(fn(x))


def test_a_jitted_function_takes_arguments_of_both_memories():
    f = jit(on_both)
    for seed in range(3):
        x, y = floats(4, device="CPU", seed=seed), floats(4, device="C", seed=seed + 9)
        assert listed(f(x, y)) == listed(on_both(x, y))


def test_its_pieces_are_compiled_once(monkeypatch):
    f = jit(there_and_back)
    with counters() as first:
        f(floats(5, device="CPU"))
    monkeypatch.setattr("adjoint.engine.interpreter._computed", None)
    with counters() as second:
        f(floats(5, device="CPU", seed=3)).numpy()
    assert first.compiles == 2
    assert (second.compiles, second.kernels) == (0, 2)


def test_a_gradient_over_two_memories_under_jit():
    def step(x, w):
        w = w.detach().requires_grad_()
        ((x.to("C") * w.to("C")).tanh().to("CPU") * x).sum().backward()
        return w.grad

    x, w = floats(4, device="CPU"), floats(4, device="CPU", seed=1)
    f = jit(step)
    for scale in (1.0, 2.0):
        got = f(x * scale, w)
        assert got.device == "CPU"
        assert got.numpy().tobytes() == step(x * scale, w).numpy().tobytes()


def test_a_bad_index_on_the_far_side_is_found():
    f = jit(lambda x, i: (x.to("C")[i.to("C")]).to("CPU") + 1)
    x = floats(4, device="CPU")
    assert f(x, Tensor([3], device="CPU")).item() == x.numpy()[3] + 1
    with pytest.raises(BoundsError, match="index 9"):
        f(x, Tensor([9], device="CPU")).numpy()


def test_a_part_on_the_interpreter_keeps_the_whole_there():
    f = jit(lambda x: (x.to("REF") * 2).to("CPU") + 1)
    assert f(Tensor([3.0], device="CPU")).item() == 7


def test_an_index_out_of_range_is_found():
    index = Tensor([0, 9], device="C")
    with pytest.raises(BoundsError, match="index 9"):
        floats(4)[index].numpy()
    with pytest.raises(BoundsError, match="index 9"):
        jit(lambda x, i: x[i])(floats(4), index).numpy()


def test_products_are_loops_where_there_is_no_library():
    lowered = lower(lambda x, w: x @ w)(floats(20, 30), floats(30, 40))
    assert (lowered.counts["library"], lowered.counts["kernels"]) == (0, 1)
    assert "plain product: no library of the target takes the dtype" in lowered.explain()
    assert "#include" in lowered.source()
    assert "define" in lowered.source("llvm")


def test_the_default_device_can_be_c():
    with on("C"):
        assert (Tensor([1.0, 2.0]) + Tensor.ones(2)).device == "C"
        assert Tensor.zeros(3).numpy().tolist() == [0, 0, 0]
        assert Tensor.manual_seed(3) is None
        drawn = Tensor.rand(5).numpy()
    with on("CPU"):
        Tensor.manual_seed(3)
        assert drawn.tobytes() == Tensor.rand(5).numpy().tobytes()


def test_threads_do_not_meet():
    f, wrong = jit(lambda x: (x * 2 + 1).sum()), []

    def work(n):
        for i in range(5):
            x = Tensor(np.full(100, n * 10.0 + i, np.float32), device="C")
            if f(x).item() != 100 * (2 * (n * 10.0 + i) + 1):
                wrong.append(n)

    in_threads(4, work)
    assert wrong == []


def test_without_a_compiler_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert "C" not in Device.available()
    with pytest.raises(AdjointError, match="no C compiler") as caught:
        (floats(11) * 1.25).realize()
    assert caught.value.code == "E6002"


def test_kernels_are_compiled_side_by_side_as_many_as_there_are_cores(monkeypatch):
    monkeypatch.setattr(c_backend, "available_cores", lambda: 2)
    met = Barrier(2, timeout=600)

    def work(source):
        met.wait()  # until two are under way
        return source.name

    sources = [Source("c", name, name) for name in "abcd"]
    assert c_backend._side_by_side(work, sources) == list("abcd")


def test_a_source_that_fails_is_an_error_and_one_that_is_known_is_not_compiled(monkeypatch):
    sources, built = [Source("c", name, name) for name in "ab"], []

    def function(source):
        built.append(source.name)
        if source.name in bad:
            raise DeviceError("E6002", f"no compiler for {source.name}")
        return source.name.upper()

    monkeypatch.setattr(c_backend, "_function", function)
    backend, bad = c_backend.CBackend(), {"b"}
    with pytest.raises(DeviceError, match="for b"):
        backend.compile(dict(enumerate(sources)))
    bad.clear()
    assert backend.compile({"p": sources[0], "q": sources[0], "r": sources[1]}) == {
        "p": "A",
        "q": "A",
        "r": "B",
    }
    built.clear()
    assert backend.compile({"s": sources[1]}) == {"s": "B"}
    assert built == []


# ---- the records


def check(record, dtype):
    found = []
    for device in ("REF", "C"):
        with on(device), np.errstate(all="ignore"):
            found.append(values(record, dtype))
    for name, wanted in found[0].items():
        where = f"{record.name} as {dtype}, {name}"
        same(wanted, found[1][name], where, summed=record.level != "both")


@pytest.mark.parametrize(("record", "dtype"), QUICK)
def test_values_of_some_records_are_those_of_the_reference(record, dtype):
    check(record, dtype)


@pytest.mark.targets
@pytest.mark.parametrize(("record", "dtype"), VALUES)
def test_values_of_every_record_are_those_of_the_reference(record, dtype):
    check(record, dtype)


@pytest.mark.targets
@pytest.mark.parametrize(("record", "bad"), LATE)
def test_an_index_out_of_range_is_an_error_for_every_record(record, bad):
    with on("C"), pytest.raises(AdjointError) as caught:
        together(dict(enumerate(outputs(call(record, bad)))))
    assert caught.value.code == bad.code


def test_a_jitted_function_with_history_may_make_tensors_from_the_host():
    table = np.arange(4, dtype=np.float32)
    with on("C"):
        f = jit(lambda w: (Tensor(table) * w).sum())
        w = Tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        f(w).backward()
        assert w.grad.tolist() == table.tolist()
