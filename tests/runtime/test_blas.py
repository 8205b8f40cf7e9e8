"""Matrix products by the library against NumPy: sizes, layouts, batches, values."""

import itertools

import numpy as np
import pytest

from adjoint.errors import InternalError
from adjoint.ir.dtype import as_dtype, dtypes
from adjoint.runtime import blas
from adjoint.runtime.blas import gemm_kernel, supported
from adjoint.runtime.launch import Cells, NativeProgram
from adjoint.runtime.pool_ir import KERNEL
from adjoint.stages import Gemm

RANDOM = np.random.default_rng(5)
LAYOUTS = ["rows", "columns", "padded rows", "padded columns"]


def gemm_of(out: np.ndarray, lhs: np.ndarray, rhs: np.ndarray) -> Gemm:
    batch, m, n = out.shape
    steps = [tuple(s // a.itemsize for s in a.strides) for a in (lhs, rhs, out)]
    return Gemm(as_dtype(out.dtype), batch, m, n, lhs.shape[2], *steps)


def multiply(out: np.ndarray, lhs: np.ndarray, rhs: np.ndarray, chunk: int | None = None) -> None:
    kernel = gemm_kernel(gemm_of(out, lhs, rhs))
    pointers = [a.__array_interface__["data"][0] for a in (out, lhs, rhs)]
    cells = Cells([*pointers, *kernel.cells])
    step = (KERNEL, kernel.address, cells.address, kernel.extent, chunk or kernel.chunk)
    assert NativeProgram([step], 1, 10, (kernel, cells)).run() == 0


def laid_out(values: np.ndarray, layout: str) -> np.ndarray:
    """The same values, each matrix by rows or by columns, with gaps or without."""
    batch, rows, columns = values.shape
    gap = 3 if "padded" in layout else 0
    if "rows" in layout:
        view = np.full((batch, rows, columns + gap), np.nan, values.dtype)[:, :, :columns]
    else:
        view = np.full((batch, columns, rows + gap), np.nan, values.dtype)[:, :, :rows]
        view = view.transpose(0, 2, 1)
    view[...] = values
    return view


def check(batch: int, m: int, k: int, n: int, dtype: type, layouts: tuple[str, str, str]) -> None:
    lhs = RANDOM.standard_normal((batch, m, k)).astype(dtype)
    rhs = RANDOM.standard_normal((batch, k, n)).astype(dtype)
    out = laid_out(np.full((batch, m, n), np.nan, dtype), layouts[2])
    multiply(out, laid_out(lhs, layouts[0]), laid_out(rhs, layouts[1]))
    expected = lhs.astype(np.float64) @ rhs.astype(np.float64)
    limit = (k + 1) * float(np.finfo(dtype).eps)
    scale = np.abs(lhs).astype(np.float64) @ np.abs(rhs).astype(np.float64)
    assert (np.abs(out - expected) <= limit * scale).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layouts", list(itertools.product(LAYOUTS, repeat=3)), ids="-".join)
def test_every_layout(layouts, dtype):
    for m, k, n in ((5, 7, 6), (33, 20, 47), (1, 9, 8), (9, 8, 1), (8, 1, 9), (1, 1, 1), (1, 6, 1)):
        check(2, m, k, n, dtype, layouts)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", list(itertools.product([0, 1, 2, 17], repeat=3)), ids=str)
def test_sizes_down_to_nothing(size, dtype):
    for batch in (0, 1, 3):
        check(batch, *size, dtype, ("rows", "rows", "rows"))


@pytest.mark.parametrize(
    "size",
    [
        (1, 300, 200, 250),
        (1, 1000, 64, 3),
        (1, 3, 64, 1000),
        (1, 20_000, 40, 1),
        (1, 1, 40, 20_000),
        (1, 64, 5000, 64),
        (7, 130, 70, 129),
        (200, 8, 8, 8),
        (50, 300, 40, 1),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sizes_that_are_cut_into_panels(size, dtype):
    check(*size, dtype, ("rows", "rows", "rows"))
    check(*size, dtype, ("columns", "columns", "rows"))


def test_an_operand_may_be_the_same_for_every_batch():
    lhs = np.broadcast_to(RANDOM.standard_normal((4, 5)), (6, 4, 5))
    rhs = RANDOM.standard_normal((6, 5, 3))
    out = np.empty((6, 4, 3))
    multiply(out, lhs, rhs)
    np.testing.assert_allclose(out, lhs @ rhs, rtol=1e-13)


@pytest.mark.parametrize("shape", [(3, 4, 5), (3, 4, 1), (1, 4, 5), (1, 40, 1)])
def test_nan_and_infinity_get_through_and_what_was_there_does_not(shape):
    m, k, n = shape
    lhs, rhs = np.ones((1, m, k)), np.ones((1, k, n))
    lhs[0, 0, 1] = np.nan
    rhs[0, 2, 0] = np.inf
    for rubbish in (np.nan, np.inf, 1e300):
        out = np.full((1, m, n), rubbish)
        multiply(out, lhs, rhs)
        np.testing.assert_array_equal(out, lhs @ rhs)


def test_zero_times_infinity_is_nan():
    for shape in ((2, 2, 2), (2, 2, 1), (1, 2, 2)):
        m, k, n = shape
        lhs, rhs, out = np.zeros((1, m, k)), np.full((1, k, n), np.inf), np.ones((1, m, n))
        multiply(out, lhs, rhs)
        assert np.isnan(out).all()


def test_the_bits_do_not_depend_on_how_panels_are_shared():
    lhs = RANDOM.standard_normal((1, 700, 300)).astype(np.float32)
    rhs = RANDOM.standard_normal((1, 300, 500)).astype(np.float32)
    one, two = np.empty((2, 1, 700, 500), np.float32)
    multiply(one, lhs, rhs, chunk=1)
    multiply(two, lhs, rhs, chunk=1000)
    assert one.tobytes() == two.tobytes()


def test_large_products_have_several_panels_and_small_ones_one():
    def panels(m: int, k: int, n: int, batch: int = 1) -> int:
        steps = ((m * k, k, 1), (k * n, n, 1), (m * n, n, 1))
        return gemm_kernel(Gemm(dtypes.float32, batch, m, n, k, *steps)).extent

    assert panels(16, 16, 16) == 1
    assert panels(256, 256, 256) >= 2
    assert panels(1024, 1024, 1024) >= 4
    assert panels(100_000, 64, 1) >= 4
    assert panels(1, 64, 100_000) >= 4
    assert panels(32, 32, 32, batch=64) == 64


@pytest.mark.parametrize(
    ("dtype", "lhs"),
    [
        (dtypes.int32, (0, 4, 1)),
        (dtypes.float16, (0, 4, 1)),
        (dtypes.float32, (0, 8, 2)),
        (dtypes.float32, (0, 0, 1)),
        (dtypes.float32, (0, 1, 1)),
    ],
)
def test_what_the_library_cannot_do_is_known(dtype, lhs):
    gemm = Gemm(dtype, 1, 4, 4, 4, lhs, (0, 4, 1), (0, 4, 1))
    assert not supported(gemm)
    with pytest.raises(InternalError, match="cannot do"):
        gemm_kernel(gemm)


def test_the_library_uses_one_thread():
    assert blas._library().scipy_openblas_get_num_threads() == 1
