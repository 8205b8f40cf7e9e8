"""Products of bytes by instructions that add up four of them at once: the bits of integers."""

from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest

from adjoint import Tensor, Variable, jit, lower, vmap
from adjoint.backends.cpu import BACKEND
from adjoint.engine.program_cache import PROGRAMS
from tests.support.levels import levels_with_tiles
from tests.support.processes import printed

UNITS = any(unit.packed > 1 for unit in BACKEND.target.matrix_units)
pytestmark = pytest.mark.usefixtures("cpu")
has_units = pytest.mark.skipif(not UNITS, reason="this processor has no instructions for bytes")
KINDS = {"int8": (-128, 127), "uint8": (0, 255)}


def drawn(shape, dtype="int8", how="any", seed=0):
    low, high = KINDS[dtype]
    if how != "any":
        return np.full(shape, low if how == "least" else high, dtype)
    return np.random.default_rng([seed, *shape]).integers(low, high + 1, shape).astype(dtype)


def in_words(fn, *args):
    """The result, which has been computed by such an instruction where there is one."""
    report = lower(fn)(*args).explain(measure=False)
    assert "matrix unit" in report or not UNITS
    return fn(*args).numpy()


def exact(a, b, dtype="int32"):
    return (a.astype(np.int64) @ b.astype(np.int64)).astype(dtype)


def product(dtype):
    return lambda a, b: a.dot(b, dtype=dtype)


@pytest.mark.parametrize("left", KINDS)
@pytest.mark.parametrize("right", KINDS)
@pytest.mark.parametrize("how", ["any", "least", "most"])
@pytest.mark.parametrize("k", [255, 256, 257, 2051])
def test_sums_are_those_of_integers(left, right, how, k):
    a, b = drawn((50, k), left, how, 1), drawn((k, 90), right, how, 2)
    np.testing.assert_array_equal(in_words(product("int32"), Tensor(a), Tensor(b)), exact(a, b))


@pytest.mark.parametrize("m", [8, 13, 24, 97])
@pytest.mark.parametrize("n", [32, 33, 65, 130])
@pytest.mark.parametrize("k", [1 << 12, 4099])
def test_odd_numbers_of_rows_and_columns_are_whole(m, n, k):
    a, b = drawn((m, k), seed=1), drawn((k, n), seed=2)
    np.testing.assert_array_equal(in_words(product("int32"), Tensor(a), Tensor(b)), exact(a, b))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_product_of_bytes_wraps_around_as_bytes_do(dtype):
    a, b = drawn((64, 700), dtype, seed=1), drawn((700, 64), dtype, seed=2)
    found = in_words(lambda a, b: a @ b, Tensor(a), Tensor(b))
    np.testing.assert_array_equal(found, exact(a, b, dtype))
    assert found.dtype == dtype


@pytest.mark.parametrize("dtype", ["int16", "uint16", "uint32", "int64", "uint64"])
def test_sums_of_every_dtype_wrap_around_as_it_does(dtype):
    a, b = drawn((64, 700), "uint8", "most"), drawn((700, 64), "uint8", "most")
    np.testing.assert_array_equal(product(dtype)(Tensor(a), Tensor(b)).numpy(), exact(a, b, dtype))


@pytest.mark.parametrize("kinds", [("uint8", "uint8"), ("int8", "int8"), ("uint8", "int8")])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_sums_beyond_32_bits_wrap_around_only_where_the_dtype_does(kinds, dtype):
    hows = ["most", "least" if kinds[1] == "int8" else "most"]
    shapes = [(32, 140_000), (140_000, 32)]
    a, b = (drawn(s, kind, how) for s, kind, how in zip(shapes, kinds, hows, strict=True))
    assert abs(exact(a, b, "int64")[0, 0]) > 2**31
    found = product(dtype)(Tensor(a), Tensor(b)).numpy()
    np.testing.assert_array_equal(found, exact(a, b, dtype))


VIEWS = {
    "transposed rows": (lambda a, b: a.T, lambda a, b: b, (300, 70), (300, 90)),
    "transposed columns": (lambda a, b: a, lambda a, b: b.T, (70, 300), (90, 300)),
    "both transposed": (lambda a, b: a.T, lambda a, b: b.T, (300, 70), (90, 300)),
    "slices": (lambda a, b: a[3:73, 1:302], lambda a, b: b[2:303, 5:95], (80, 305), (305, 99)),
    "steps": (lambda a, b: a[::2, ::3], lambda a, b: b[::3, ::2], (140, 900), (900, 180)),
    "turned around": (lambda a, b: a.flip(1), lambda a, b: b.flip(0, 1), (70, 301), (301, 90)),
    "spread": (lambda a, b: a.expand(70, 300), lambda a, b: b, (1, 300), (300, 90)),
    "margins": (lambda a, b: a.pad((2, 3)), lambda a, b: b.pad((0, 0, 1, 4)), (70, 296), (296, 90)),
    "computed": (lambda a, b: a.maximum(-5) + 3, lambda a, b: b ^ 1, (70, 300), (300, 90)),
}


@pytest.mark.parametrize("case", VIEWS)
def test_operands_are_seen_through_views_and_what_is_computed(case):
    left, right, first, second = VIEWS[case]
    a, b = Tensor(drawn(first, seed=1)), Tensor(drawn(second, seed=2))
    found = in_words(lambda a, b: product("int32")(left(a, b), right(a, b)), a, b)
    np.testing.assert_array_equal(found, exact(left(a, b).numpy(), right(a, b).numpy()))


@pytest.mark.parametrize("kinds", [("int8", "int8"), ("uint8", "int8"), ("uint8", "uint8")])
@pytest.mark.parametrize("batch", [((5,), (5,)), ((5,), ()), ((), (5,)), ((2, 1), (1, 3))])
def test_batches_are_products_side_by_side(kinds, batch):
    a = drawn((*batch[0], 40, 333), kinds[0], seed=1)
    b = drawn((*batch[1], 333, 70), kinds[1], seed=2)
    fn = lambda a, b: a.cast("int32") @ b.cast("int32")  # noqa: E731
    np.testing.assert_array_equal(in_words(fn, Tensor(a), Tensor(b)), exact(a, b))


def test_a_batch_by_vmap_is_the_same():
    a, b = drawn((5, 40, 333), seed=1), drawn((333, 70), seed=2)
    fn = vmap(product("int32"), in_axes=(0, None))
    np.testing.assert_array_equal(fn(Tensor(a), Tensor(b)).numpy(), exact(a, b))


def test_what_is_done_to_sums_is_done_in_the_kernel():
    a, b = drawn((60, 500), seed=1), drawn((500, 100), seed=2)
    scale, bias = np.float32(0.01), np.arange(100, dtype=np.float32)

    def fn(a, b, bias):
        return (product("int32")(a, b).cast("float32") * scale + bias).relu()

    args = Tensor(a), Tensor(b), Tensor(bias)
    wanted = np.maximum(exact(a, b).astype(np.float32) * scale + bias, 0)
    np.testing.assert_array_equal(in_words(fn, *args), wanted)
    if UNITS:
        (kernel,) = [k for k in lower(fn)(*args).kernels() if "dot_words" in k]
        assert "maximum" in kernel or "relu" in kernel


CONVOLUTIONS = {
    "plain": ((2, 24, 20, 20), (40, 24, 3, 3), {}),
    "margins": ((2, 24, 20, 20), (40, 24, 3, 3), {"padding": 1}),
    "odd channels": ((3, 7, 23, 19), (33, 7, 5, 3), {"padding": 2}),
    "three channels": ((2, 3, 64, 64), (32, 3, 7, 7), {"padding": 3, "stride": 2}),
    "one channel": ((2, 1, 64, 64), (32, 1, 7, 7), {}),
    "steps and gaps": ((2, 16, 40, 40), (32, 16, 3, 3), {"stride": 2, "dilation": 2}),
    "groups": ((2, 64, 24, 24), (64, 16, 3, 3), {"groups": 4, "padding": 1}),
    "points": ((2, 96, 14, 14), (64, 96, 1, 1), {}),
}


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize("kinds", [("int8", "int8"), ("uint8", "int8"), ("uint8", "uint8")])
def test_convolutions_are_those_of_integers(case, kinds):
    picture, weights, how = CONVOLUTIONS[case]
    x, w = drawn(picture, kinds[0], seed=1), drawn(weights, kinds[1], seed=2)

    def fn(x, w):
        return x.cast("int32").conv2d(w.cast("int32"), **how)

    found = fn(Tensor(x), Tensor(w)).numpy()
    wanted = fn(Tensor(x, device="REF"), Tensor(w, device="REF")).numpy()
    np.testing.assert_array_equal(found, wanted)


@has_units
def test_a_convolution_of_channels_in_fours_is_in_words():
    x, w = Tensor(drawn((2, 24, 20, 20))), Tensor(drawn((40, 24, 3, 3)))
    in_words(lambda x, w: x.conv2d(w, padding=1, dtype="int32"), x, w)


VARYING = {"rows": [0, None], "columns": [None, 1], "sums": [1, 0], "all": [(0, 1), (0, 1)]}


@pytest.mark.parametrize("case", VARYING)
def test_sizes_that_vary_give_the_bits_of_plain_ones(case):
    axes, n = VARYING[case], Variable("n", 1, 400)
    step = jit(product("int32"))
    for size in (200, 399, 130, 255):
        a, b = (_cut(drawn((400, 400), seed=s), size, axis) for s, axis in enumerate(axes))
        x, y = (_bound(v, n, size, axis) for v, axis in zip((a, b), axes, strict=True))
        np.testing.assert_array_equal(step(x, y).numpy(), exact(a, b))


def _axes(axis):
    return () if axis is None else (axis,) if isinstance(axis, int) else axis


def _cut(array, size, axis):
    return array[tuple(slice(size if d in _axes(axis) else None) for d in range(2))].copy()


def _bound(array, n, size, axis):
    shape = [n.bind(size) if d in _axes(axis) else int(s) for d, s in enumerate(array.shape)]
    return Tensor(array).reshape(*shape)


SCRIPT = dedent("""
    import hashlib
    import numpy as np
    from adjoint import Tensor
    found = hashlib.sha256()
    random = np.random.default_rng(0)
    for kind, low, high in (("int8", -128, 128), ("uint8", 0, 256)):
        for m, k, n in ((100, 300, 100), (33, 1025, 77), (8, 5000, 64), (300, 70, 300)):
            a, b = (random.integers(low, high, s).astype(kind) for s in ((m, k), (k, n)))
            found.update(Tensor(a).dot(Tensor(b), dtype="int32").numpy().tobytes())
            found.update((Tensor(a) @ Tensor(b)).numpy().tobytes())
        shapes = (2, 16, 20, 20), (32, 16, 3, 3)
        x, w = (random.integers(low, high, s).astype(kind) for s in shapes)
        found.update(Tensor(x).conv2d(Tensor(w), padding=1, dtype="int32").numpy().tobytes())
    print(found.hexdigest())
""")


def test_neither_threads_nor_the_processor_change_a_bit():
    settings = [{"ADJOINT_THREADS": count} for count in ("1", "2", "4")]
    settings += [{"ADJOINT_CPU": name} for name in levels_with_tiles()]
    assert len({printed("-c", SCRIPT, **setting) for setting in settings}) == 1


def test_without_the_instruction_the_bits_are_the_same(monkeypatch):
    a, b = drawn((50, 1025), seed=1), drawn((1025, 90), seed=2)
    first = product("int32")(Tensor(a), Tensor(b)).numpy()
    monkeypatch.setattr(BACKEND, "target", replace(BACKEND.target, matrix_units=()))
    PROGRAMS.clear()
    assert "dot_words" not in "".join(lower(product("int32"))(Tensor(a), Tensor(b)).kernels())
    assert product("int32")(Tensor(a), Tensor(b)).numpy().tobytes() == first.tobytes()
    PROGRAMS.clear()


def test_few_rows_are_left_to_others():
    a, b = drawn((4, 4096), seed=1), drawn((4096, 90), seed=2)
    assert "dot_words" not in "".join(lower(product("int32"))(Tensor(a), Tensor(b)).kernels())
    np.testing.assert_array_equal(product("int32")(Tensor(a), Tensor(b)).numpy(), exact(a, b))
