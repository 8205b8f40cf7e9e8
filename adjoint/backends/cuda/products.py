"""Matrix products as calls of cuBLASLt. The library is column-major, so it gets bᵀ and aᵀ.

Before: out = a @ b, each matrix with strides. After: outᵀ = bᵀ @ aᵀ, whose columns are out's rows.
What may live here: how a product is described to the library, and what the library supports. What
may not: its constants (`runtime/cublaslt.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from adjoint.backends.cuda.product_times import chosen
from adjoint.errors import InternalError
from adjoint.ir.dtype import dtypes
from adjoint.runtime.cublaslt import ALIGNED, Matrix, Product, candidates, launcher
from adjoint.runtime.cuda import Driver
from adjoint.runtime.launch import Cells
from adjoint.stages import Gemm, matrix_order
from adjoint.target import MatrixLibrary

_WIDE = ("factor", "matrix", "bias", "relu")
_NARROW = (*_WIDE, "gelu", "gelu gradient", "kept")
# By dtype of the operands and of the result.
_FINISHES = (
    ("bfloat16", "bfloat16", _NARROW),
    ("bfloat16", "float32", _WIDE),
    ("float16", "float16", _NARROW),
    ("float16", "float32", _WIDE),
    ("float32", "float32", _WIDE),
    ("float64", "float64", _WIDE),
)
# Measured on an H200: a product of 16384 by 4096 elements with the gradient of gelu takes 0.91 of
# the time of both apart for 2048 products each, 1.05 for 4096.
_LONGEST = (("gelu gradient", 2048),)
CUBLASLT = MatrixLibrary(
    "cublaslt",
    ("float16", "bfloat16", "float32", "float64", "int8"),
    _FINISHES,
    _LONGEST,
    ALIGNED,
)


def _turned(strides: tuple[int, int, int], rows: int, columns: int) -> Matrix:
    """The transposed matrix, as columns."""
    step, row, column = strides
    found = matrix_order(row, column, rows, columns)
    if found is None:
        raise InternalError(f"no library takes a matrix with strides {row} and {column}")
    by_rows, lead = found
    return Matrix(columns, rows, lead, step) if by_rows else Matrix(rows, columns, lead, step, True)


def product_of(gemm: Gemm) -> Product:
    """A product as the library knows it."""
    left = _turned(gemm.lhs, gemm.m, gemm.k)
    right = _turned(gemm.rhs, gemm.k, gemm.n)
    if gemm.dtype is dtypes.int8 and not right.turned:  # one column, which lies either way
        right = Matrix(gemm.k, gemm.n, gemm.k, right.step, True)
    out, finish = _turned(gemm.out, gemm.m, gemm.n), gemm.finish
    starts = [start * gemm.dtype.itemsize for start in gemm.starts]
    return Product(
        gemm.dtype.name,
        gemm.made.name,
        gemm.batch,
        right,
        left,
        out,
        finish.steps,
        out if finish.adds else None,
        finish.factor,
        gemm.tf32,
        gemm.ordered,
        gcd(ALIGNED, *starts),
    )


def product_call(
    gemm: Gemm, slots: tuple[int, ...], cells: Cells, gpu: Driver, workspace: Any
) -> Callable[[], None]:
    """What launches a product on the slots of a run: its results, then its operands."""
    if not gemm.k:
        return _cleared(gemm, slots[0], cells, gpu)
    gpu.enter()  # the library asks which GPU is meant
    product = product_of(gemm)
    found = candidates(product)
    if not found:
        raise InternalError(f"cuBLASLt knows no way to compute {product}")
    way = chosen(product, found, gpu, workspace.address)
    launch = launcher(product, way, workspace.address, gpu.stream)
    values, (out, a, b, *rest) = cells.values, _in_order(gemm, slots)
    left, right = (start * gemm.dtype.itemsize for start in gemm.starts)

    def run() -> None:
        gpu.enter()
        launch(values[out], values[b] + right, values[a] + left, *[values[i] for i in rest])

    return run


def _in_order(gemm: Gemm, slots: tuple[int, ...]) -> tuple[int, ...]:
    """Result, operands, the added matrix, a second result: the arguments of a launch."""
    if "kept" not in gemm.finish.steps:
        return slots
    out, kept, *operands = slots
    return (out, *operands, kept)


def _cleared(gemm: Gemm, out: int, cells: Cells, gpu: Driver) -> Callable[[], None]:
    """A sum of nothing."""
    size = gemm.made.itemsize * gemm.batch * gemm.m * gemm.n
    return lambda: gpu.clear(cells.values[out], size)
