"""Matrix products as calls of cuBLASLt: rows of memory are columns to it, so it is given bᵀ and aᵀ.

Before: out = a @ b, each matrix with strides. After: outᵀ = bᵀ @ aᵀ, whose columns are out's rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from adjoint.errors import InternalError
from adjoint.runtime.cublaslt import Matrix, Product
from adjoint.runtime.cuda import Driver
from adjoint.runtime.launch import Cells
from adjoint.stages import Gemm, matrix_order


@lru_cache(maxsize=4096)
def _product(dtype: str, batch: int, a: Matrix, b: Matrix, out: Matrix) -> Product:
    return Product(dtype, batch, a, b, out)


def _turned(strides: tuple[int, int, int], rows: int, columns: int) -> Matrix:
    """The transposed matrix, as columns."""
    step, row, column = strides
    found = matrix_order(row, column, rows, columns)
    if found is None:
        raise InternalError(f"no library takes a matrix with strides {row} and {column}")
    by_rows, lead = found
    return Matrix(columns, rows, lead, step) if by_rows else Matrix(rows, columns, lead, step, True)


def product_call(
    gemm: Gemm, slots: tuple[int, ...], cells: Cells, gpu: Driver, workspace: Any
) -> Callable[[], None]:
    """What launches a product on the slots of a run: its result, then its operands."""
    out, a, b = slots
    values = cells.values
    size = gemm.dtype.itemsize * gemm.batch * gemm.m * gemm.n
    if not gemm.k:
        return lambda: gpu.clear(values[out], size)
    left = _turned(gemm.lhs, gemm.m, gemm.k)
    right = _turned(gemm.rhs, gemm.k, gemm.n)
    result = _turned(gemm.out, gemm.m, gemm.n)
    product = _product(gemm.dtype.name, gemm.batch, right, left, result)
    launch = product.launcher(workspace.address, gpu.stream)

    def run() -> None:
        gpu.enter()
        launch(values[out], values[b], values[a])

    return run
