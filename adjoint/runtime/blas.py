"""Matrix products by OpenBLAS, called from native code one panel at a time.

The library computes with one thread; a product is cut into panels, which depend on its sizes only,
so that the bits of a result do not depend on the number of threads.

The argument cells of a kernel are three addresses (result, left, right), then `GemmKernel.cells`.
"""

from __future__ import annotations

import ctypes
import importlib.util
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from adjoint.errors import InternalError
from adjoint.ir.dtype import DType, dtypes
from adjoint.runtime.compiler import Code, compile_source
from adjoint.runtime.launch import chunk_of
from adjoint.stages import Gemm, Source, matrix_order

ROW_MAJOR, COLUMN_MAJOR, PLAIN, TRANSPOSED = 101, 102, 111, 112  # as CBLAS numbers them
_MAX_EXTENT = 2**31 - 1  # the library counts in 32 bits
_SIDE = 32  # rows or columns of a panel at least
_TYPES = {dtypes.float32: ("s", "float", 4), dtypes.float64: ("d", "double", 8)}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GemmKernel:
    """What runs a product: hold it while `address` is used."""

    code: Code
    address: int
    cells: tuple[int, ...]
    extent: int
    chunk: int
    cost: int  # of one panel, in scalar operations


def supported(gemm: Gemm) -> bool:
    """Whether the library can do it: float32 or float64, and one stride of each matrix is 1."""
    if gemm.dtype not in _TYPES or max(gemm.m, gemm.n, gemm.k) > _MAX_EXTENT:
        return False
    if _without_products(gemm):
        return True
    parts = _matrices(gemm)
    right = _vector_form(gemm)
    used = parts if right is None else parts[:1] if right else parts[1:2]
    return all(_layout(*part) is not None for part in used)


def _without_products(gemm: Gemm) -> bool:
    return 0 in (gemm.batch, gemm.m, gemm.n, gemm.k)


def _matrices(gemm: Gemm) -> list[tuple[int, int, int, int]]:
    """(row stride, column stride, rows, columns) of left, right and result."""
    return [
        (*gemm.lhs[1:], gemm.m, gemm.k),
        (*gemm.rhs[1:], gemm.k, gemm.n),
        (*gemm.out[1:], gemm.m, gemm.n),
    ]


def gemm_kernel(gemm: Gemm) -> GemmKernel:
    """The native kernel of a product and everything it needs to be told."""
    if not supported(gemm):
        raise InternalError(f"the library cannot do {gemm}")
    letter = _TYPES[gemm.dtype][0]
    code = _native(gemm.dtype)
    if _without_products(gemm):
        name, cells, extent, each = f"{letter}zero", *_zero_cells(gemm)
    elif _vector_form(gemm) is not None:
        name, cells, extent, each = f"{letter}vector", *_vector_cells(gemm)
    else:
        name, cells, extent, each = f"{letter}matrix", *_matrix_cells(gemm)
    cost = max(1, each // 16)  # the library does many multiplications in the time of an operation
    chunk = chunk_of(extent, cost)
    return GemmKernel(code, code.symbol(name), cells, extent, chunk, cost)


# ---- layouts and panels


def _layout(row: int, column: int, rows: int, columns: int) -> tuple[int, int] | None:
    """(order, leading dimension) of a matrix, or None if the library does not know such a one."""
    found = matrix_order(row, column, rows, columns)
    return None if found is None else (ROW_MAJOR if found[0] else COLUMN_MAJOR, found[1])


def _panels(rows: int, columns: int, depth: int) -> tuple[int, int]:
    """Rows and columns of a panel: cut the longer side until a panel is small enough.

    Each panel packs its operands anew, so panels are large: some eight to a product, more only when
    each still has hundreds of rows; two when the product is barely worth sharing (some 20 µs each).
    """
    total = rows * columns * depth
    most = max(1_200_000, min(total // 2, 4_200_000), min(total // 8, 1 << 28))
    while rows * columns * depth > most and max(rows, columns) >= 2 * _SIDE:
        if rows >= columns:
            rows = _halved(rows)
        else:
            columns = _halved(columns)
    return max(1, rows), max(1, columns)


def _halved(extent: int) -> int:
    """Half of it, rounded up to whole vectors."""
    return -(-extent // 32) * 16


def _matrix_cells(gemm: Gemm) -> tuple[tuple[int, ...], int, int]:
    size = _TYPES[gemm.dtype][2]
    layouts = [_known(_layout(*part)) for part in _matrices(gemm)]
    (left, lda), (right, ldb), (order, ldc) = layouts
    rows, columns = _panels(gemm.m, gemm.n, gemm.k)
    down, across = -(-gemm.m // rows), -(-gemm.n // columns)
    steps = (gemm.out[1], gemm.out[2], gemm.lhs[1], gemm.rhs[2])
    batches = (gemm.out[0], gemm.lhs[0], gemm.rhs[0])
    cells = (
        *(gemm.m, gemm.n, gemm.k, rows, columns, down, across, order),
        *(PLAIN if left == order else TRANSPOSED, PLAIN if right == order else TRANSPOSED),
        *(lda, ldb, ldc, *(size * step for step in (*batches, *steps))),
    )
    return cells, gemm.batch * down * across, rows * columns * gemm.k


def _known(layout: tuple[int, int] | None) -> tuple[int, int]:
    assert layout is not None
    return layout


def _vector_form(gemm: Gemm) -> bool | None:
    """Whether the vector is on the right; None if both operands are matrices.

    Steps of a vector are what they are, but the library refuses one of zero.
    """
    if gemm.n == 1 and gemm.rhs[1] > 0 and gemm.out[1] > 0:
        return True
    if gemm.m == 1 and gemm.lhs[2] > 0 and gemm.out[2] > 0:
        return False
    return None


def _vector_cells(gemm: Gemm) -> tuple[tuple[int, ...], int, int]:
    """A row on the left is a column on the right of the transposed matrix."""
    size = _TYPES[gemm.dtype][2]
    right = _vector_form(gemm)
    if right:
        extent, matrix, vector, out = gemm.m, gemm.lhs[1:], gemm.rhs[1], gemm.out[1]
    else:
        extent, matrix, vector, out = gemm.n, gemm.rhs[:0:-1], gemm.lhs[2], gemm.out[2]
    order, lead = _known(_layout(*matrix, extent, gemm.k))
    rows = _vector_panel(extent, gemm.k, order)
    count = -(-extent // rows)
    batches = (gemm.out[0], gemm.lhs[0], gemm.rhs[0])
    which = (0, 1) if right else (1, 0)
    cells = (
        *(extent, gemm.k, rows, count, order, lead, vector, out, *which),
        *(size * step for step in (*batches, matrix[0], out)),
    )
    return cells, gemm.batch * count, 8 * rows * gemm.k


def _vector_panel(extent: int, depth: int, order: int) -> int:
    """Rows of a panel: reading the matrix is all the work, so a panel is 64 Ki elements of it,
    or at least long runs of them where rows lie side by side."""
    least = 16 if order == ROW_MAJOR else 512
    rows = max(least, 65536 // max(1, depth) // 16 * 16)
    return max(1, min(extent, rows))


def _zero_cells(gemm: Gemm) -> tuple[tuple[int, ...], int, int]:
    size = _TYPES[gemm.dtype][2]
    cells = (gemm.m, gemm.n, *(size * step for step in gemm.out))
    return cells, gemm.batch if gemm.m and gemm.n else 0, gemm.m * gemm.n


# ---- the library


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    """OpenBLAS, found beside its package without running that; loaded when first needed."""
    spec = importlib.util.find_spec("scipy_openblas32")
    if spec is None or spec.origin is None:
        raise InternalError(
            "scipy-openblas32 is not installed; it is one of Adjoint's dependencies"
        )
    folder = Path(spec.origin).with_name("lib")
    library = ctypes.CDLL(str(sorted(folder.glob("libscipy_openblas*"))[0]))
    library.scipy_openblas_set_num_threads(1)
    return library


@cache
def _native(dtype: DType) -> Code:
    letter, kind, _ = _TYPES[dtype]
    library = _library()
    given = {}
    for routine in ("gemm", "gemv"):
        function = getattr(library, f"scipy_cblas_{letter}{routine}")
        given[f"cblas_{letter}{routine}"] = ctypes.cast(function, ctypes.c_void_p).value or 0
    text = _TEXT.replace("%LETTER%", letter).replace("%KIND%", kind)
    return compile_source(Source("llvm", f"{letter}matrix", text), given, quick=True)


def _cells(first: int, names: str) -> str:
    """Instructions that read cells of the arguments into values of those names."""
    return "".join(
        f"  %p.{name} = getelementptr i64, ptr %args, i64 {first + i}\n"
        f"  %{name} = load i64, ptr %p.{name}\n"
        for i, name in enumerate(names.split())
    )


def _narrow(names: str) -> str:
    return "".join(f"  %{name}.i = trunc i64 %{name} to i32\n" for name in names.split())


def _offset(result: str, base: str, *terms: tuple[str, str]) -> str:
    """`result` = base + the sum of the products, in bytes."""
    lines, at = "", base
    for i, (count, step) in enumerate(terms):
        lines += f"  %{result}.o{i} = mul i64 %{count}, %{step}\n"
        lines += f"  %{result}.a{i} = getelementptr i8, ptr %{at}, i64 %{result}.o{i}\n"
        at = f"{result}.a{i}"
    return lines + f"  %{result} = getelementptr i8, ptr %{at}, i64 0\n"


_POINTERS = """
  %c = load ptr, ptr %args
  %p.a = getelementptr i64, ptr %args, i64 1
  %a = load ptr, ptr %p.a
  %p.b = getelementptr i64, ptr %args, i64 2
  %b = load ptr, ptr %p.b
"""
_HEAD = """
  br label %next
next:
  %piece = phi i64 [%begin, %entry], [%following, %did]
  %more = icmp slt i64 %piece, %end
  br i1 %more, label %work, label %done
work:
"""
_TAIL = """
  br label %did
did:
  %following = add i64 %piece, 1
  br label %next
done:
  ret void
}
"""

_MATRIX = f"""
declare void @cblas_%LETTER%gemm(
  i32, i32, i32, i32, i32, i32, %KIND%, ptr, i32, ptr, i32, %KIND%, ptr, i32)
declare i64 @llvm.smin.i64(i64, i64)
; panels of c = a @ b
define void @%LETTER%matrix(ptr %args, i64 %begin, i64 %end) {{
entry:
{_POINTERS}
{_cells(3, "m n k rows columns down across order left right lda ldb ldc cb ab bb cr cc ar bc")}
{_narrow("k order left right lda ldb ldc")}
{_HEAD}
  %column = srem i64 %piece, %across
  %rest = sdiv i64 %piece, %across
  %row = srem i64 %rest, %down
  %batch = sdiv i64 %rest, %down
  %i = mul i64 %row, %rows
  %j = mul i64 %column, %columns
  %i.left = sub i64 %m, %i
  %j.left = sub i64 %n, %j
  %height = call i64 @llvm.smin.i64(i64 %i.left, i64 %rows)
  %width = call i64 @llvm.smin.i64(i64 %j.left, i64 %columns)
{_narrow("height width")}
{_offset("pc", "c", ("batch", "cb"), ("i", "cr"), ("j", "cc"))}
{_offset("pa", "a", ("batch", "ab"), ("i", "ar"))}
{_offset("pb", "b", ("batch", "bb"), ("j", "bc"))}
  call void @cblas_%LETTER%gemm(
    i32 %order.i, i32 %left.i, i32 %right.i, i32 %height.i, i32 %width.i, i32 %k.i,
    %KIND% 1.0, ptr %pa, i32 %lda.i, ptr %pb, i32 %ldb.i, %KIND% 0.0, ptr %pc, i32 %ldc.i)
{_TAIL}"""

_VECTOR = f"""
declare void @cblas_%LETTER%gemv(i32, i32, i32, i32, %KIND%, ptr, i32, ptr, i32, %KIND%, ptr, i32)
; panels of c = a @ b where b, or a if `flipped`, is a vector
define void @%LETTER%vector(ptr %args, i64 %begin, i64 %end) {{
entry:
{_POINTERS}
{_cells(3, "m k rows count order lead vector out flipped straight cb ab bb xr cr")}
{_narrow("k order lead vector out")}
  %swap = icmp ne i64 %flipped, 0
  %x = select i1 %swap, ptr %b, ptr %a
  %y = select i1 %swap, ptr %a, ptr %b
  %xb = select i1 %swap, i64 %bb, i64 %ab
  %yb = select i1 %swap, i64 %ab, i64 %bb
{_HEAD}
  %row = srem i64 %piece, %count
  %batch = sdiv i64 %piece, %count
  %i = mul i64 %row, %rows
  %i.left = sub i64 %m, %i
  %height = call i64 @llvm.smin.i64(i64 %i.left, i64 %rows)
{_narrow("height")}
{_offset("pc", "c", ("batch", "cb"), ("i", "cr"))}
{_offset("px", "x", ("batch", "xb"), ("i", "xr"))}
{_offset("py", "y", ("batch", "yb"))}
  call void @cblas_%LETTER%gemv(
    i32 %order.i, i32 111, i32 %height.i, i32 %k.i,
    %KIND% 1.0, ptr %px, i32 %lead.i, ptr %py, i32 %vector.i, %KIND% 0.0, ptr %pc, i32 %out.i)
{_TAIL}"""

_ZERO = f"""
; a sum of no products
define void @%LETTER%zero(ptr %args, i64 %begin, i64 %end) {{
entry:
  %c = load ptr, ptr %args
{_cells(3, "m n cb cr cc")}
{_HEAD}
  br label %rows
rows:
  %i = phi i64 [0, %work], [%i.next, %row.done]
  %rows.more = icmp slt i64 %i, %m
  br i1 %rows.more, label %columns, label %all
columns:
  %j = phi i64 [0, %rows], [%j.next, %store]
  %columns.more = icmp slt i64 %j, %n
  br i1 %columns.more, label %store, label %row.done
store:
{_offset("pc", "c", ("piece", "cb"), ("i", "cr"), ("j", "cc"))}
  store %KIND% 0.0, ptr %pc, align 1
  %j.next = add i64 %j, 1
  br label %columns
row.done:
  %i.next = add i64 %i, 1
  br label %rows
all:
{_TAIL}"""

_TEXT = _MATRIX + _VECTOR + _ZERO
