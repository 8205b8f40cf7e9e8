"""Products of matrices in tiles: every shape, what is fused around them, and the order of sums."""

from dataclasses import replace
from fractions import Fraction
from textwrap import dedent

import numpy as np
import pytest

from adjoint import DeviceError, Tensor, Variable, grad, jit, lower
from adjoint.backends.cpu import BACKEND
from adjoint.ir.opdef import OPS
from adjoint.kernel.tiles import BLOCK
from adjoint.runtime.processor import features, machine_kind
from adjoint.schedule.strategy import choose
from adjoint.target import PROCESSORS, TARGETS, known_processor, tile_of
from tests.support.processes import printed

pytestmark = [
    pytest.mark.usefixtures("cpu"),
    pytest.mark.skipif(BACKEND.target.tile is None, reason="no fused multiply-adds"),
]


def whole(*shape, seed=0, dtype=np.float32):
    """Small whole numbers: no sum of their products is rounded."""
    values = np.random.default_rng([seed, *shape]).integers(-4, 5, shape)
    return Tensor(values.astype(dtype)).realize()


def tiled(fn, *args):
    """The result, which tiles compute."""
    assert "tiles: " in lower(fn)(*args).explain()
    return fn(*args)


def exactly(fn, *args):
    """The function gives what it gives of NumPy's arrays."""
    wanted = fn(*[arg.numpy().astype(np.float64) for arg in args])
    np.testing.assert_array_equal(tiled(fn, *args).numpy(), wanted)


# ---- shapes


@pytest.mark.parametrize("m", [24, 25, 47, 128, 1500])
@pytest.mark.parametrize("n", [32, 33, 95, 300])
@pytest.mark.parametrize("k", [16, 511, 512, 513, 1537, 5000])
def test_a_product_of_any_shape(m, n, k):
    k = max(k, -(-(1 << 20) // (m * n)))  # enough to be worth tiles
    exactly(lambda a, b: a @ b, whole(m, k), whole(k, n))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_batches_and_types(dtype, batch):
    a, b = whole(*batch, 70, 300, dtype=dtype), whole(*batch, 300, 90, dtype=dtype)
    exactly(lambda a, b: a @ b, a, b)


def test_an_operand_that_is_used_by_the_whole_batch():
    exactly(lambda a, b: a @ b, whole(3, 70, 300), whole(300, 90))


def test_operands_that_are_views():
    a, b = whole(300, 75), whole(302, 200)
    exactly(lambda a, b: a.T[3:] @ b[2:, ::-1][:, 5:], a, b)


def test_an_operand_with_itself():
    exactly(lambda a: a.T @ a, whole(300, 128))


# ---- what is around a product


def relu(x):
    return x.relu() if isinstance(x, Tensor) else np.maximum(x, 0)


A, B = whole(100, 200), whole(200, 130)
ROW, COLUMN, ALL = whole(130, seed=1), whole(100, 1, seed=2), whole(100, 130, seed=3)


@pytest.mark.parametrize(
    "fn",
    [
        lambda a, b, row, column, rest: relu(a @ b + row),
        lambda a, b, row, column, rest: (a @ b + column) * rest - 3.0,
        lambda a, b, row, column, rest: relu(a) @ (b * 2.0 + 1.0) + rest,
        lambda a, b, row, column, rest: (a @ b).T + 1.0,
        lambda a, b, row, column, rest: (a @ b)[3:50, 7:] * 2.0,
        lambda a, b, row, column, rest: (a @ b).sum(0) + row,
        lambda a, b, row, column, rest: relu(a @ b) @ rest.T,
        lambda a, b, row, column, rest: a @ b + rest @ (rest.T @ (a @ b)),
    ],
)
def test_what_is_done_to_operands_and_results(fn):
    exactly(fn, A, B, ROW, COLUMN, ALL)


def test_bias_and_activation_are_one_kernel_with_the_product():
    counts = lower(lambda a, b, row: (a @ b + row).relu())(A, B, ROW).counts
    assert (counts["kernels"], counts["library"]) == (1, 0)


def test_a_product_that_is_wanted_and_used():
    both = lambda a, b: (a @ b, (a @ b).relu())  # noqa: E731
    for _ in range(2):
        first, second = jit(both)(A, B)
        np.testing.assert_array_equal(first.numpy(), A.numpy() @ B.numpy())
        np.testing.assert_array_equal(second.numpy(), relu(A.numpy() @ B.numpy()))


def test_places_that_are_looked_up_are_checked_outside_of_tiles():
    places = Tensor(np.arange(199, -1, -1))
    fn = lambda a, b: a @ b[places]  # noqa: E731
    np.testing.assert_array_equal(tiled(fn, A, B).numpy(), A.numpy() @ B.numpy()[::-1])


def test_rows_that_are_summed_stay_apart():
    result = tiled(lambda a, b: (a @ b / 64).softmax(-1), A, B).numpy()
    np.testing.assert_allclose(result.sum(-1), 1, rtol=1e-5)


def test_gradients_are_products_too():
    def loss(a, b):
        return ((a @ b) * ALL).sum()

    by_a, by_b = grad(loss, argnums=(0, 1))(A, B)
    np.testing.assert_array_equal(by_a.numpy(), ALL.numpy() @ B.numpy().T)
    np.testing.assert_array_equal(by_b.numpy(), A.numpy().T @ ALL.numpy())


def test_nothing_is_skipped():
    a, b = np.zeros((100, 200), np.float32), B.numpy().copy()
    b[7, 3], b[9, 129] = np.inf, np.nan
    result = tiled(lambda a, b: a @ b, Tensor(a).realize(), Tensor(b).realize()).numpy()
    assert np.isnan(result[:, [3, 129]]).all()
    assert not np.signbit(np.delete(result, [3, 129], 1)).any()  # a sum starts from 0.0


# ---- convolutions


@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("size", [(19, 40), (17, 18), (33, 14)])
def test_a_convolution_and_its_gradients(size, dilation, padding):
    x, w = whole(2, 24, *size), whole(32, 24, 3, 3)
    options = {"padding": padding, "dilation": dilation}
    y = tiled(lambda x, w: x.conv2d(w, **options), x, w)
    g = whole(*y.shape, seed=5)
    found = grad(lambda x, w: (x.conv2d(w, **options) * g).sum(), argnums=(0, 1))(x, w)
    wanted = grad(lambda x, w: (x.conv2d(w, **options) * g.to("REF")).sum(), argnums=(0, 1))(
        x.to("REF"), w.to("REF")
    )
    np.testing.assert_array_equal(y.numpy(), x.to("REF").conv2d(w.to("REF"), **options).numpy())
    for mine, reference in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(mine.numpy(), reference.numpy())


# ---- bits


def rounded(value):
    return np.float32(float(value))


def in_order(row, column):
    """The sum of products as the tiles add it: exact products, rounded after each addition."""
    total = None
    for start in range(0, len(row), BLOCK):
        part = Fraction(0)
        for x, y in zip(row[start : start + BLOCK], column[start : start + BLOCK], strict=True):
            part = Fraction(float(rounded(Fraction(float(x)) * Fraction(float(y)) + part)))
        total = rounded(part) if total is None else np.float32(total + rounded(part))
    return total


@pytest.mark.parametrize("k", [300, 1100])
def test_products_are_added_in_the_order_of_k(k):
    generator = np.random.default_rng(k)
    a, b = (generator.standard_normal(s).astype(np.float32) for s in ((64, k), (k, 64)))
    found = tiled(lambda a, b: a @ b, Tensor(a).realize(), Tensor(b).realize()).numpy()
    for i, j in ((0, 0), (5, 17), (63, 63), (11, 33)):
        assert found[i, j] == in_order(a[i], b[:, j])


SCRIPT = dedent("""
    import hashlib, numpy as np
    from adjoint import Tensor
    found = hashlib.sha256()
    for dtype in (np.float32, np.float64):
        for m, k, n in ((70, 300, 100), (64, 1300, 33)):
            generator = np.random.default_rng(k)
            a, b = (Tensor(generator.standard_normal(s).astype(dtype)) for s in ((m, k), (k, n)))
            found.update((a @ b).numpy().tobytes())
    print(found.hexdigest())
""")


def test_neither_threads_nor_the_width_of_registers_change_a_bit():
    settings = [{"ADJOINT_THREADS": "1"}, {"ADJOINT_THREADS": "5"}]
    for name in ("x86-64-v3", "x86-64-v4") if machine_kind() == "x86_64" else ():
        try:
            known_processor(name, "x86_64", features())
        except DeviceError:
            continue
        settings.append({"ADJOINT_CPU": name})
    assert len({printed("-c", SCRIPT, **setting) for setting in settings}) == 1


@pytest.mark.parametrize("m", [3, 30, 100, 128])
def test_a_size_that_varies_changes_no_bit(m):
    generator = np.random.default_rng(m)
    a, b = (generator.standard_normal(s).astype(np.float32) for s in ((m, 784), (784, 512)))
    a, b = Tensor(a).realize(), Tensor(b).realize()
    varying = jit(lambda a, b: (a @ b).relu(), dynamic={"a": {0: Variable("rows", 1, 256)}})
    assert varying(a, b).numpy().tobytes() == (a @ b).relu().numpy().tobytes()


def test_which_products_are_tiles_does_not_follow_from_the_registers():
    tiles = {tile_of(p) for known in PROCESSORS.values() for p in known.values()} - {None}
    for m, n, k in (
        (6, 16, 20000),
        (12, 100, 2000),
        (24, 32, 2000),
        (23, 64, 2000),
        (30, 31, 4000),
    ):
        product = OPS["input"]("a", (1, m, k), "float32").contract(
            OPS["input"]("b", (1, k, n), "float32"), "bmk,bkn->bmn"
        )
        rows = {choose(product, replace(TARGETS["CPU"], tile=tile)).name for tile in tiles}
        assert rows == {"tiles" if m >= 24 and n >= 32 else "matrix product"}


def test_tiles_fit_the_registers():
    for known in PROCESSORS.values():
        for processor in known.values():
            tile = tile_of(processor)
            assert (tile is None) == (not processor.fused)
            if tile is not None:
                count = 16 if processor.width == 256 else 32
                wide = tile.row_bytes * 8 // processor.width
                assert (tile.rows + 1) * wide < count
