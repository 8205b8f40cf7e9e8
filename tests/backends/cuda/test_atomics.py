"""Sums and extremes by index in any order, over a fake GPU: which scatters, and their results."""

import numpy as np
import pytest

from adjoint import Tensor, deterministic, grad, jit, lower
from adjoint.runtime.device import has_tools
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.support.fake_gpu import fake_gpu

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
FLOATS, INTEGERS = ("float32", "float64", "float16", "bfloat16"), ("int8", "uint16", "int32")
WIDE = ("int64", "uint64")
COUNT = 5003


@pytest.fixture(scope="module", autouse=True)
def gpu():
    with compiled_anew(), fake_gpu() as found:
        yield found


def added(x, i, g, axis=0):
    return x.index_add(axis, i, g)


def schedule(*operands, fn=added):
    return lower(fn)(*operands).schedule()


def operands(shape, axis, dtype, device, count=COUNT):
    """What lies there, indices from both ends, and updates: whole numbers, whose sums are exact."""
    rng = np.random.default_rng(1)
    x = np.arange(np.prod(shape)).reshape(shape) % 7
    index = rng.integers(-shape[axis], shape[axis], count).astype(np.int32)
    rows = [*shape[:axis], count, *shape[axis + 1 :]]
    given = rng.integers(0, 8, rows)
    numbers = [Tensor(a, device).cast(dtype).realize() for a in (x, given)]
    return numbers[0], Tensor(index, device), numbers[1]


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, *WIDE])
@pytest.mark.parametrize(
    ("shape", "axis"), [((1000,), 0), ((70, 3), 0), ((3, 70), 1), ((2, 500, 2), 1)]
)
def test_numbers_and_short_rows_go_to_their_places(dtype, shape, axis):
    fn = lambda x, i, g: added(x, i, g, axis)  # noqa: E731
    wanted = fn(*operands(shape, axis, dtype, "CPU")).cast("float64").numpy()
    given = operands(shape, axis, dtype, "GPU")
    with deterministic(False):
        assert "scatter_add_atomic" in schedule(*given, fn=fn)
        assert np.array_equal(fn(*given).cast("float64").numpy(), wanted)


@pytest.mark.parametrize("dtype", FLOATS)
def test_by_default_sums_of_floats_have_one_order(dtype):
    given = operands((1 << 15,), 0, dtype, "GPU", 1 << 15)
    assert "atomic" not in schedule(*given)
    with deterministic(False):
        assert "atomic" in schedule(*given)
    assert "atomic" not in schedule(*given)


@pytest.mark.parametrize("dtype", [*INTEGERS, *WIDE])
@pytest.mark.parametrize("reduce", ["sum", "amax", "amin"])
def test_integers_are_joined_in_any_order_always(dtype, reduce):
    fn = lambda x, i, g: x.scatter_reduce(0, i, g, reduce)  # noqa: E731
    found = []
    for device in ("CPU", "GPU"):
        rng = np.random.default_rng(2)
        x, g = (Tensor(rng.integers(0, 200, n), device).cast(dtype) for n in (100, COUNT))
        i = Tensor(rng.integers(0, 100, COUNT).astype(np.int32), device)
        found.append(fn(x.realize(), i, g.realize()).numpy())
        if device == "GPU":
            assert "atomic" in schedule(x, i, g, fn=fn)
    assert np.array_equal(*found)


@pytest.mark.parametrize("reduce", ["amax", "amin", "prod"])
def test_extremes_and_products_of_floats_keep_their_order(reduce):
    x, i, g = operands((1000,), 0, "float32", "GPU")
    fn = lambda x, i, g: x.scatter_reduce(0, i, g, reduce)  # noqa: E731
    with deterministic(False):
        assert "atomic" not in schedule(x, i, g, fn=fn)


def test_writes_keep_their_order():
    x, i, g = operands((1000,), 0, "int32", "GPU")
    assert "atomic" not in schedule(x, i, g, fn=lambda x, i, g: x.scatter(0, i, g))


@pytest.mark.parametrize(("columns", "goes"), [(8, True), (9, False), (768, False)])
def test_long_rows_are_sorted(columns, goes):
    given = operands((100, columns), 0, "float32", "GPU", 200)
    with deterministic(False):
        assert ("atomic" in schedule(*given)) is goes


def test_narrow_floats_are_rounded_once():
    """In float16 a sum of ones would stay at 2,048."""
    ones, i = Tensor.ones(3000, dtype="float16", device="GPU"), np.zeros(3000, np.int32)
    with deterministic(False):
        zeros = Tensor.zeros(64, dtype="float16", device="GPU")
        assert zeros.index_add(0, Tensor(i, "GPU"), ones)[0].item() == 3000


def test_the_gradient_of_a_gather_is_atomic_too():
    index, found = np.random.default_rng(0).integers(-50, 50, 900).astype(np.int32), []
    with deterministic(False):
        for device in ("CPU", "GPU"):
            x, i = Tensor.arange(50, device=device).cast("float32"), Tensor(index, device)
            fn = grad(lambda v, i=i: (v[i] * v[i]).sum())
            found.append(fn(x.realize()).numpy())
            assert ("atomic" in lower(fn)(x).schedule()) is (device == "GPU")
    assert np.array_equal(*found)


def test_an_index_of_every_axis_goes_to_one_number():
    rng, found = np.random.default_rng(0), []
    rows, given = rng.integers(-20, 20, (15, 13)), rng.integers(0, 9, (15, 13)).astype(np.float32)
    with deterministic(False):
        for device in ("CPU", "GPU"):
            x = Tensor.zeros(20, 13, device=device)
            found.append(x.scatter_add(0, Tensor(rows, device), Tensor(given, device)).numpy())
    assert np.array_equal(*found)


@pytest.mark.parametrize("bad", [-1001, 1000, 1 << 40])
def test_an_index_out_of_range_is_told_as_it_was_given(bad):
    index = np.zeros(300, np.int64)
    index[77] = bad
    g = Tensor.ones(300, device="GPU")
    with deterministic(False), pytest.raises(IndexError, match=f"index {bad} is out of range"):
        Tensor.zeros(1000, device="GPU").index_add(0, Tensor(index, "GPU"), g).numpy()


def test_programs_of_both_settings_are_kept_apart(gpu):
    x, i, g = operands((1000,), 0, "float32", "GPU")
    fn = jit(added)
    for ordered in (True, False, True, False):
        gpu.calls.clear()
        with deterministic(ordered):
            fn(x, i, g).numpy()
        assert any("atomic" in call for call in gpu.calls) is not ordered


def test_the_cpu_has_one_order_under_both_settings():
    given = operands((1000,), 0, "float32", "CPU")
    with deterministic(False):
        text = schedule(*given)
    assert text == schedule(*given)
    assert "atomic" not in text
