"""Sums and products of floats follow one tree: CPU and REF agree in every bit, and nothing but the
length decides about them."""

import numpy as np
import pytest

from adjoint import BoundsError, Tensor, grad, jit
from tests.support.devices import on

LENGTHS = [1, 2, 3, 5, 8, 13, 15, 16, 17, 31, 33, 100, 255, 256, 257, 273, 1000, 4095, 4096, 4097]
LONG = [4111, 4352, 8192, 8200, 32769, 65536, 65537, 65541, 100003, 300 * 4096 + 17]
DTYPES = ["float16", "float32", "float64"]
EPS = 2.0**-24


def values(*shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def by_hand(x):
    """The sum of a list, element by element as the tree says."""
    while len(x) > 4096:
        x = [by_hand(x[i : i + 4096]) for i in range(0, len(x), 4096)]
    zero = x[0] * 0
    lanes = []
    for lane in range(16):
        own, groups = x[lane::16], zero
        for start in range(0, len(own), 16):
            total = zero
            for value in own[start : start + 16]:
                total = total + value
            groups = groups + total
        lanes.append(groups)
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [a + b for a, b in zip(lanes[:half], lanes[half:], strict=True)]
    return lanes[0]


def bits(x):
    return np.asarray(x).tobytes()


@pytest.mark.parametrize("length", [*LENGTHS, *LONG[:-1]])
def test_a_sum_is_what_the_tree_says(length):
    x = values(length)
    wanted = by_hand(list(x))
    assert bits(Tensor(x).sum().numpy()) == bits(wanted)
    with on("REF"):
        assert bits(Tensor(x).sum().numpy()) == bits(wanted)


USES = {
    "sum": lambda x, axis: x.sum(axis),
    "product": lambda x, axis: (x * 0.1 + 1).prod(axis),
    "mean": lambda x, axis: x.mean(axis),
    "variance": lambda x, axis: x.var(axis),
    "norm": lambda x, axis: (x * x).sum(axis).sqrt(),
    "sum and what was summed": lambda x, axis: x - x.sum(axis, keepdim=True),
    "beside a maximum and a count": lambda x, axis: x.max(axis) + x.sum(axis) + (x > 0).sum(axis),
    "of a view": lambda x, axis: x.flip(0).pad(((1, 2), (0, 0))).sum(axis),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("length", LENGTHS)
def test_the_cpu_gives_the_bits_of_the_reference(length, use):
    for number, shape in enumerate([(3, length), (length, 9)]):
        for dtype in DTYPES if length in (5, 273) else DTYPES[1:2]:
            found = []
            for device in ("REF", "CPU"):
                with on(device), np.errstate(all="ignore"):
                    x = Tensor(values(*shape, dtype=dtype))
                    found.append(bits(USES[use](x, 1 - number).numpy()))
            assert found[0] == found[1], (shape, dtype)


@pytest.mark.parametrize("length", LONG)
def test_a_long_sum_has_the_bits_of_the_reference(length):
    x = values(length)
    with on("REF"):
        wanted = bits(Tensor(x).sum().numpy())
    assert bits(Tensor(x).sum().numpy()) == wanted


@pytest.mark.parametrize("rest", [1, 2, 16, 17])
@pytest.mark.parametrize("blocks", [1, 2, 7, 8, 9, 15, 16, 17, 40])
def test_a_sum_may_end_with_a_block_of_any_length(blocks, rest):
    length = 4096 * blocks + rest
    for shape, axis in (((length,), 0), ((2, length), 1), ((length, 3), 0), ((length, 1), None)):
        x, found = values(*shape), []
        for device in ("REF", "CPU"):
            given = Tensor(x, device=device)
            results = (given.sum(axis), given.mean(axis), given.var(axis))
            found.append([bits(result.numpy()) for result in results])
        assert found[0] == found[1], shape


@pytest.mark.parametrize("shape", [(3, 7, 9), (4, 16, 49), (4, 3, 784), (9, 4, 17), (40, 2, 130)])
@pytest.mark.parametrize("axis", [(0, 2), (1, 2), (0, 1), (0, 1, 2), 0, 1])
def test_several_axes_are_summed_in_row_major_order(shape, axis):
    x = values(*shape)
    with on("REF"):
        wanted = Tensor(x).sum(axis).numpy()
    np.testing.assert_array_equal(Tensor(x).sum(axis).numpy(), wanted)
    order = np.argsort([a in np.atleast_1d(axis) for a in range(3)], kind="stable")
    kept = [n for a, n in enumerate(shape) if a not in np.atleast_1d(axis)]
    rows = np.ascontiguousarray(x.transpose(order)).reshape(*kept, -1)
    np.testing.assert_array_equal(Tensor(rows).sum(-1).numpy(), wanted)


LINES = [
    2,
    3,
    9,
    15,
    16,
    17,
    25,
    48,
    49,
    63,
    64,
    65,
    100,
    144,
    196,
    256,
    257,
    784,
    1000,
    4096,
    5000,
]
SEPARATED = {
    **USES,
    "of a view": lambda x, axis: x.flip(0).pad(((1, 2), (0, 0), (3, 1))).sum(axis),
    "of an exponential, and that": lambda x, axis: x.abs().sqrt() / x.abs().sqrt().sum(axis, True),
    "of two, one with the other": lambda x, axis: (x - x.mean(axis, True)).square().sum(axis) * 2,
    "gradient": lambda x, axis: grad(lambda x: (x.var(axis) * x.mean(axis)).sum())(x),
}


PARTS = [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("use", SEPARATED)
@pytest.mark.parametrize("length", LINES)
def test_lines_of_any_length_are_summed_by_the_tree(length, use, part):
    """Axes with another between them: memory goes on elsewhere after each line."""
    turn = LINES.index(length) + list(SEPARATED).index(use)
    counts = sorted({2, 5, 17, -(-4100 // length), -(-9000 // length)} - {1})
    for number, count in enumerate(counts):
        if (number + turn) % len(PARTS) != part:
            continue
        found = []
        for device in ("REF", "CPU"):
            with on(device), np.errstate(all="ignore"):
                x = Tensor(values(count, 3, length))
                found.append(SEPARATED[use](x, (0, 2)).numpy())
        assert bits(found[0]) == bits(found[1]), count


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(6, 2, 7, 3, 7), (40, 2, 3, 3, 50), (3, 2, 5, 2, 784)])
@pytest.mark.parametrize("axis", [(0, 2, 4), (0, 4), (0, 3, 4), (2, 4), (0, 1, 4), (0, 2)])
def test_lines_under_several_axes_are_summed_by_the_tree(shape, axis, dtype):
    for move in (lambda x: x, lambda x: x.transpose(0, 4), lambda x: x.flip(4)[:, :, ::2]):
        found = []
        for device in ("REF", "CPU"):
            with on(device), np.errstate(all="ignore"):
                x = move(Tensor(values(*shape, dtype=dtype)))
                found.append(bits(x.sum(axis).numpy()))
        assert found[0] == found[1]


def test_what_lies_behind_a_line_is_not_read():
    """A row across the end of the last line stops there: beyond it is memory of another."""
    x = values(40, 3, 49)
    x[:, 1:] = np.nan
    assert np.isfinite(Tensor(x).sum((0, 2)).numpy()).tolist() == [True, False, False]
    for length in (49, 100, 196):
        x = values(21, 3, length)
        x[:, 2] = np.inf
        assert np.isfinite(Tensor(x).sum((0, 2)).numpy()).tolist() == [True, True, False]


@pytest.mark.parametrize("length", [7, 40, 130, 1000, 5000])
def test_the_length_alone_decides(length):
    """Not how many other rows there are, nor the layout, nor the fusion."""
    row = values(length)
    wanted = bits(Tensor(row).sum().numpy())
    for others in (1, 2, 7, 16, 33):
        rows = np.stack([row, *values(others, length, seed=others)])
        along, down = Tensor(rows), Tensor(np.ascontiguousarray(rows.T))
        assert bits(along.sum(1).numpy()[0]) == wanted
        assert bits(down.sum(0).numpy()[0]) == wanted
        assert bits(along.T.sum(0).numpy()[0]) == wanted
        assert bits(down.T.sum(1).numpy()[0]) == wanted
        assert bits((along - along.sum(1, keepdim=True) * 0).sum(1).numpy()[0]) == wanted
        assert bits(jit(lambda x: x.sum(1))(along).numpy()[0]) == wanted


def test_a_mean_over_one_axis_does_not_change_with_the_size_of_another():
    x = values(50, 37)
    whole = Tensor(x).mean(0).numpy()
    for columns in (1, 2, 3, 8, 20):
        np.testing.assert_array_equal(
            Tensor(x[:, :columns].copy()).mean(0).numpy(), whole[:columns]
        )


def test_gradients_with_sums_in_them_have_the_bits_of_the_reference():
    found = []
    for device in ("REF", "CPU"):
        with on(device):
            x = Tensor(values(40, 130))
            found.append(grad(lambda x: (x.var(0) * x.mean(0)).sum())(x).numpy())
    np.testing.assert_array_equal(*found)


ROWS = {
    "0.1": lambda n: np.full(n, 0.1, np.float32),
    "uniform": lambda n: np.random.default_rng(1).random(n, dtype=np.float32),
    "with an offset": lambda n: values(n) + np.float32(1000),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("length", [2**20, 2**22 - 3])
def test_a_long_sum_is_as_exact_as_numpy_s(name, length):
    x = ROWS[name](length)
    exact = x.astype(np.float64).sum()
    error = abs(float(Tensor(x).sum().item()) - exact) / exact
    assert error <= max(2 * abs(float(x.sum()) - exact) / exact, 4 * EPS)


def test_column_sums_are_exact_too():
    x = np.full((2**18, 3), 0.1, np.float32)
    exact = x.astype(np.float64).sum(0)
    assert (np.abs(Tensor(x).sum(0).numpy() - exact) <= 4 * EPS * exact).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(1000,), (7, 300), (300, 9)])
def test_running_sums_and_products_have_the_bits_of_the_reference(shape, dtype):
    x = values(*shape, dtype=dtype) * np.asarray(0.1, dtype) + np.asarray(1, dtype)
    for axis in range(len(shape)):
        for use in (lambda x: x.cumsum(axis), lambda x: x.cumprod(axis)):  # noqa: B023
            with on("REF"):
                wanted = use(Tensor(x)).numpy()
            np.testing.assert_array_equal(use(Tensor(x)).numpy(), wanted)


def test_a_running_sum_is_rounded_once():
    x = ROWS["uniform"](10**6)
    exact = np.cumsum(x.astype(np.float64))
    assert (np.abs(Tensor(x).cumsum(0).numpy() - exact) <= 1.01 * EPS * exact).all()


@pytest.mark.parametrize("count", [1, 3, 20, 5000])
def test_a_sum_of_negative_zeros_is_zero(count):
    for device in ("REF", "CPU"):
        total = Tensor(np.full(count, -0.0, np.float32), device=device).sum().numpy()
        assert not np.signbit(total), device


@pytest.mark.parametrize("columns", [3, 40])
@pytest.mark.parametrize("count", [1, 3, 5, 16, 19, 40, 300])
def test_indices_inside_a_sum_are_checked_and_no_others(count, columns):
    """Loops that do not run, and lanes beyond the rest of a row, read no index."""
    table = values(60, columns)
    places = np.arange(count) % 60
    wanted = Tensor(table[places]).sum(0).numpy()
    np.testing.assert_array_equal(Tensor(table)[Tensor(places)].sum(0).numpy(), wanted)
    places[-1] = 60
    with pytest.raises(BoundsError, match="index 60"):
        Tensor(table)[Tensor(places)].sum(0).numpy()
