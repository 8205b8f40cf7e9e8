"""Products of matrices in tiles: every shape, what is fused around them, and the order of sums."""

import ctypes
import ctypes.util
import platform
from dataclasses import replace
from fractions import Fraction
from textwrap import dedent

import numpy as np
import pytest

from adjoint import Tensor, Variable, counters, grad, jit, lower
from adjoint.backends.cpu import BACKEND
from adjoint.engine.program_cache import PROGRAMS
from adjoint.ir.opdef import OPS
from adjoint.kernel import panel_packing, tile_choice
from adjoint.kernel.tiles import BLOCK
from adjoint.schedule.strategy import choose
from adjoint.target import PROCESSORS, TARGETS, tile_of
from tests.support.covering import covering
from tests.support.levels import levels_with_tiles
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


@pytest.mark.parametrize(
    ("m", "n", "k"),
    covering([24, 25, 47, 128, 1500], [32, 33, 95, 300], [16, 511, 512, 513, 1537, 5000]),
)
def test_a_product_of_any_shape(m, n, k):
    k = max(k, -(-(1 << 20) // (m * n)))  # enough to be worth tiles
    exactly(lambda a, b: a @ b, whole(m, k), whole(k, n))


def denormals_met(work):
    """Whether the processor met numbers below the normal ones, in this thread."""
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    environment = (ctypes.c_uint32 * 8)()  # the last is the word of the vector unit
    libm.fegetenv(environment)
    environment[7] &= ~0x3F
    libm.fesetenv(environment)
    work()
    libm.fegetenv(environment)
    return bool(environment[7] & 2)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads a register of x86-64")
def test_lanes_without_a_column_multiply_nothing_that_lies_there_by_chance():
    tiny = Tensor(np.full((32, 512), 1e-40, np.float32)).realize()
    few, many = (Tensor(np.ones((n, 512), np.float32)).realize() for n in (10, 12))
    product = jit(lambda a, b: a @ b.T)
    for columns in (tiny, few):
        product(many, columns)
    assert denormals_met(lambda: product(many, tiny))  # and leaves them on the stack
    assert not denormals_met(lambda: product(many, few))


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


@pytest.mark.parametrize(
    ("size", "dilation", "padding"), covering([(19, 40), (17, 18), (33, 14)], [1, 2], [0, 1, 2])
)
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
    settings = [*settings, *({"ADJOINT_CPU": name} for name in levels_with_tiles())]
    assert len({printed("-c", SCRIPT, **setting) for setting in settings}) == 1


# What is computed, the operands at the largest size, the axes that vary, and sizes that are tiles.
VARYING = {
    "rows": (lambda a, b: (a @ b).relu(), [(256, 784), (784, 512)], [0, None], (24, 30, 128, 256)),
    "columns": (lambda a, b: (a @ b) * 2, [(128, 300), (300, 200)], [None, 1], (33, 64, 150, 200)),
    "columns in a batch": (lambda a, b: a @ b, [(3, 64, 80), (3, 80, 70)], [None, 2], (70, 69)),
    "short sums": (lambda a, b: a @ b + 1, [(64, 512), (512, 256)], [1, 0], (100, 511, 512, 65)),
    "sums of blocks": (
        lambda a, b: (a @ b).tanh(),
        [(40, 5000), (5000, 33)],
        [1, 0],
        (800, 1023, 1024, 1025, 4097, 5000),
    ),
    "a batch": (lambda a, b: a @ b, [(9, 64, 64), (9, 64, 96)], [0, 0], (3, 4, 7, 9)),
    "rows and sums": (
        lambda a, b: a.exp() @ (b + 1),
        [(700, 700), (700, 64)],
        [(0, 1), 0],
        (160, 512, 513, 700),
    ),
    "everything": (lambda a: a @ a, [(600, 600)], [(0, 1)], (102, 107, 512, 600)),
    "the gradient of a layer": (
        lambda x, w: grad(lambda w: ((x @ w).relu() ** 2).sum())(w),
        [(300, 128), (128, 256)],
        [0, None],
        (64, 100, 256, 300),
    ),
    "pictures": (
        lambda x, w: x.conv2d(w, padding=1).relu(),
        [(9, 16, 20, 20), (32, 16, 3, 3)],
        [0, None],
        (2, 3, 8, 9),
    ),
    "the gradient by pictures": (
        lambda x, w: grad(lambda x: (x.conv2d(w, padding=1) ** 2).sum())(x),
        [(9, 32, 20, 20), (32, 32, 3, 3)],
        [0, None],
        (2, 3, 8, 9),
    ),
    "the gradient by weights": (
        lambda x, w: grad(lambda w: (x.conv2d(w, padding=1) ** 2).sum())(w),
        [(9, 16, 20, 20), (32, 16, 3, 3)],
        [0, None],
        (2, 3, 8, 9),
    ),
    "lines of a picture": (
        lambda x, w: x.conv2d(w, padding=1),
        [(2, 16, 40, 20), (32, 16, 3, 3)],
        [2, None],
        (17, 20, 39, 40),
    ),
    "the width of a picture": (
        lambda x, w: x.conv2d(w, padding=1),
        [(2, 16, 20, 60), (32, 16, 3, 3)],
        [3, None],
        (16, 33, 40, 59, 60),
    ),
}


def varying_operands(shapes, axes, size, bind=int):
    """The operands as numbers, and the shapes they are given, at a size of what varies."""
    generator = np.random.default_rng(5)
    for shape, axis in zip(shapes, axes, strict=True):
        where = () if axis is None else axis if isinstance(axis, tuple) else (axis,)
        number = generator.standard_normal(shape).astype(np.float32)
        number = number[tuple(slice(size if d in where else None) for d in range(len(shape)))]
        sizes = [bind(n) if d in where else n for d, n in enumerate(number.shape)]
        yield Tensor(np.ascontiguousarray(number)).reshape(*sizes)


@pytest.mark.parametrize("name", VARYING)
def test_a_size_that_varies_changes_no_bit_and_tiles_are_compiled_once_for_all(name):
    fn, shapes, axes, values = VARYING[name]
    bind = Variable("n", 1, max(values)).bind
    new = []
    for size in (*values, 1, 3, 20, 23):
        with counters() as counted:
            found = fn(*varying_operands(shapes, axes, size, bind)).numpy()
        new.append(counted.sources)
        assert size not in values or not counted.library, size
        assert found.tobytes() == fn(*varying_operands(shapes, axes, size)).numpy().tobytes(), size
    assert sum(new[1 : len(values)]) == 0, new


def test_which_products_are_tiles_does_not_follow_from_the_registers():
    tiles = {tile_of(p) for known in PROCESSORS.values() for p in known.values()}
    for m, n, k in ((6, 16, 20000), (12, 100, 2000), (2, 2, 9), (23, 64, 2000), (9, 9, 8)):
        product = OPS["input"]("a", (1, m, k), "float32").contract(
            OPS["input"]("b", (1, k, n), "float32"), "bmk,bkn->bmn"
        )
        rows = {choose(product, replace(TARGETS["CPU"], tile=tile)).name for tile in tiles}
        assert rows == {"tiles" if k > 8 else "short product"}


def test_tiles_fit_the_registers():
    for known in PROCESSORS.values():
        for processor in known.values():
            tile = tile_of(processor)
            assert tile.fused == processor.fused
            count = 16 if processor.width == 256 or not processor.fused else 32
            wide = tile.row_bytes * 8 // processor.width
            assert (tile.rows + 1) * wide < count


def test_a_sum_beside_a_product_in_tiles_is_a_kernel_of_its_own(monkeypatch):
    """The gradient by weights that a convolution and a pooling share: a product and a fold."""
    limits = replace(BACKEND.target.limits, tiled_products=1, tiled_columns=1)
    limits = replace(limits, windowed_rows=1, loop_products=0, panel_rows=1)
    generator = np.random.default_rng(1)
    x, w = (generator.integers(-4, 5, n) / 8 for n in ((1, 2, 2, 2), (2, 2, 2, 1)))

    def gradient(dtype):
        parts = grad(
            lambda x, w: (x.conv2d(w) ** 2).sum() + (w.max_pool2d((2, 1), stride=2) ** 2).sum(),
            argnums=(0, 1),
        )(*(Tensor(v.astype(dtype)).realize() for v in (x, w)))
        return [part.numpy() for part in parts]

    wanted = gradient("float32")
    monkeypatch.setattr(BACKEND, "target", replace(BACKEND.target, limits=limits))
    PROGRAMS.clear()
    try:
        for dtype in ("float16", "float32", "float64"):
            for found, part in zip(gradient(dtype), wanted, strict=True):
                np.testing.assert_allclose(found, part, rtol=1e-2, atol=1e-2)
    finally:
        PROGRAMS.clear()


LONG = {
    "whole": ((96, 300), (300, 128)),
    "left over": ((67, 530), (530, 321)),
    "one column more": ((40, 1100), (1100, 257)),
    "batches": ((3, 30, 200), (3, 200, 192)),
}


@pytest.mark.parametrize(
    ("case", "dtype"), covering(list(LONG), ["float32", "float64", "bfloat16"], together=1)
)
def test_tiles_of_long_rows_and_lines_that_are_asked_for_change_no_bit(monkeypatch, case, dtype):
    random = np.random.default_rng(0)
    x, w = (Tensor(random.standard_normal(s) * 9).cast(dtype).realize() for s in LONG[case])

    def products():
        PROGRAMS.clear()
        made = lower(lambda x, w: (x @ w, x @ w[..., ::-1]))(x, w)
        return str(made.kernels()), [(x @ w).numpy(), (x @ w[..., ::-1]).numpy()]

    wide = 2 * BACKEND.target.tile.row_bytes // x.dtype.itemsize
    tile = replace(BACKEND.target.tile, long_rows=False, lines_ahead=0)
    monkeypatch.setattr(BACKEND, "target", replace(BACKEND.target, tile=tile))
    text, wanted = products()
    assert "ask(" not in text
    tile = replace(tile, long_rows=True, lines_ahead=16)
    monkeypatch.setattr(BACKEND, "target", replace(BACKEND.target, tile=tile))
    monkeypatch.setattr(panel_packing, "_FAR_BYTES", 1)
    monkeypatch.setattr(tile_choice, "_NEAR_BYTES", 0)
    monkeypatch.setattr(tile_choice, "_FEW_TILES", 0)
    text, found = products()
    PROGRAMS.clear()
    words = dtype == "bfloat16"  # where there is an instruction for them: of two lines each
    assert "ask(" in text or words
    assert f"{wide} side by side" in text or words
    for a, b in zip(found, wanted, strict=True):
        assert a.tobytes() == b.tobytes()


NEAR = {
    "one tile": ((5, 40), (40, 64)),
    "few tiles of a far operand": ((10, 700), (700, 2048)),
    "some of a near one": ((131, 300), (300, 128)),
    "blocks of k": ((70, 1100), (1100, 64)),
    "batches": ((3, 30, 200), (3, 200, 192)),
    "one for all batches": ((3, 50, 200), (200, 64)),
}


@pytest.mark.parametrize(
    ("case", "dtype"), covering(list(NEAR), ["float32", "float64"], together=1)
)
def test_a_right_operand_that_is_near_is_read_where_it_lies_with_the_same_bits(
    monkeypatch, case, dtype
):
    random = np.random.default_rng(1)
    x, w = (Tensor(random.standard_normal(s) * 9).cast(dtype).realize() for s in NEAR[case])

    plain, scaled = lambda x, w: (x @ w).relu(), lambda x, w: x @ (w * 2)

    def products():
        PROGRAMS.clear()
        return [lower(fn)(x, w).kernels()[-1].count(": Ptr<f") for fn in (plain, scaled)]

    assert products() == [4, 5]  # three arrays, sums, and a panel where numbers are made first
    found = [fn(x, w).numpy() for fn in (plain, scaled)]
    monkeypatch.setattr(tile_choice, "_NEAR_BYTES", 0)
    monkeypatch.setattr(tile_choice, "_FEW_TILES", 0)
    assert products() == [5, 5]
    for a, b in zip(found, [fn(x, w).numpy() for fn in (plain, scaled)], strict=True):
        assert a.tobytes() == b.tobytes()
    PROGRAMS.clear()


# ---- lines of pictures

LINES = {
    **{f"width {n}": ((2, 24, 30, n), (24, 24, 3, 3), {"padding": 1}) for n in (13, 15, 16, 17)},
    **{f"a width of {n}": ((2, 24, 30, n), (24, 24, 3, 3), {}) for n in (28, 31, 33, 40, 57, 66)},
    "groups": ((2, 64, 28, 28), (64, 16, 3, 3), {"padding": 1, "groups": 4}),
    "gaps": ((2, 24, 32, 32), (30, 24, 3, 3), {"padding": 2, "dilation": 2}),
    "steps": ((2, 24, 57, 61), (30, 24, 3, 3), {"padding": 1, "stride": 2}),
    "many taps": ((2, 8, 40, 37), (24, 8, 7, 5), {"padding": 3}),
    "long sums": ((2, 300, 14, 14), (40, 300, 3, 3), {"padding": 1}),
    "wide margins": ((2, 16, 20, 20), (24, 16, 3, 3), {"padding": 9}),
    "points": ((3, 96, 19, 19), (48, 96, 1, 1), {}),
}


def with_tiles(monkeypatch, narrow_rows, runs, fn, *args):
    """What a function gives with narrow tiles or without, and lines read side by side or not."""
    tile = replace(BACKEND.target.tile, narrow_rows=narrow_rows)
    monkeypatch.setattr(BACKEND, "target", replace(BACKEND.target, tile=tile))
    monkeypatch.setattr(panel_packing, "_FEW_RUNS", runs)
    PROGRAMS.clear()
    try:
        return [found.numpy() for found in fn(*args)]
    finally:
        PROGRAMS.clear()


WAYS = (((0, 4), (16, 4)), ((16, 0), (5, 9)))  # rows of narrow tiles, runs of lines


@pytest.mark.parametrize(
    ("case", "dtype", "ways"),
    covering(list(LINES), ["float32", "float64", "bfloat16"], WAYS, together=1),
)
def test_how_lines_of_a_picture_are_packed_changes_no_bit(monkeypatch, case, dtype, ways):
    picture, weights, how = LINES[case]
    random = np.random.default_rng(0)
    x, w = (Tensor(random.standard_normal(s)).cast(dtype).realize() for s in (picture, weights))

    def both(x, w):
        y = x.conv2d(w, **how)
        return [y, *grad(lambda x, w: (x.conv2d(w, **how) ** 2).sum(), argnums=(0, 1))(x, w)]

    wanted, *others = (
        with_tiles(monkeypatch, narrow, runs, both, x, w) for narrow, runs in ((0, 0), *ways)
    )
    for found in others:
        assert all(a.tobytes() == b.tobytes() for a, b in zip(found, wanted, strict=True))


def test_places_in_lines_are_those_of_the_picture():
    x, w = whole(2, 24, 21, 27), whole(40, 24, 3, 3, seed=1)
    fn = lambda x, w: x.conv2d(w, padding=1)  # noqa: E731
    wanted = fn(Tensor(x.numpy(), device="REF"), Tensor(w.numpy(), device="REF")).numpy()
    np.testing.assert_array_equal(tiled(fn, x, w).numpy(), wanted)
