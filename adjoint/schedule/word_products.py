"""Products for instructions that multiply several numbers of a word at once, and add them up.

Before: contract(cast(a), cast(b)), a and b int8, sums in int32.
After: contract_words(words(a), words(b) ^ 0x80808080) - 128 * sum(a): the instruction takes bytes
without a sign from one operand and bytes with a sign from the other, so where both have the same
kind the columns are moved by 128, and the rows' sums put it right. Integers wrap around on the way
as they do in any order: the bits are those of the integers.

Before: contract(a, b) of bfloat16. After, where other bits are allowed: the same of words of two.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from adjoint.ir import axes
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.exactness import native_bfloat16
from adjoint.ir.kernel_kind import View
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.ops.movement import permute
from adjoint.ops.window import window
from adjoint.ops.words import WORD, contract_words, kept_in_memory, words_in_memory, words_of_lines
from adjoint.schedule.exact_products import largest_number, narrow_operands
from adjoint.schedule.layout import below_windows
from adjoint.schedule.matrix_form import as_matrices, is_swapped
from adjoint.target import MatrixUnit, Target

_SUMS = (dtypes.float32, dtypes.bfloat16)  # of bfloat16, the second rounded once
_MOVED = 0x80808080  # turns bytes with a sign into bytes without one, 128 higher, and back


@dataclass(frozen=True, slots=True, eq=False)
class _Product:
    """A contraction of two operands that lie in words: which gives the rows, what is put in words,
    along which letter."""

    node: UOp
    operands: tuple[UOp, UOp]
    letter: str
    swapped: bool

    @property
    def spec(self) -> axes.Letters:
        return axes.parse(self.node.arg.spec)

    @property
    def rows(self) -> UOp:
        return self.operands[self.swapped]

    @property
    def columns(self) -> UOp:
        return self.operands[not self.swapped]


def by_words(node: UOp, target: Target) -> UOp | None:
    """The same product by an instruction of the target, if it has one for the operands."""
    unit = _unit_of(node, target)
    if unit is None:
        return None
    product = _product_of(node, unit)
    if product is None or not _fills(product, target):
        return None
    if unit.dtype == "int8":
        return _of_bytes(product)
    return _sums(product, dtypes.bfloat16).cast(node.dtype)


def _unit_of(node: UOp, target: Target) -> MatrixUnit | None:
    wanted = "int8" if node.dtype.is_int else "bfloat16"
    exact = node.dtype.is_int
    if not exact and (node.dtype not in _SUMS or not native_bfloat16.allowed()):
        return None
    return next((u for u in target.matrix_units if u.packed > 1 and u.dtype == wanted), None)


def _product_of(node: UOp, unit: MatrixUnit) -> _Product | None:
    kinds = (dtypes.int8, dtypes.uint8) if unit.dtype == "int8" else (dtypes.bfloat16,)
    operands = narrow_operands(node, kinds)
    if operands is None or not _holds(node, operands):
        return None
    letter = _letter(node, operands, unit.packed)
    if letter is None:
        return None
    a, b = (_packed_shape(x, letter, i, node, unit) for i, x in enumerate(operands))
    return _Product(node, operands, letter, is_swapped(node.arg.spec, a, b))


def _letter(node: UOp, operands: tuple[UOp, UOp], packed: int) -> str | None:
    """The letter that is summed along which numbers lie in words: one that divides, and is long.
    Places in windows are none: words would be as many as all windows."""
    spec = axes.parse(node.arg.spec)
    sizes = dict(zip(spec.lhs, node.src[0].shape, strict=True))
    moving = {c for x, term in zip(operands, spec.terms, strict=True) for c in _moving(x, term)}
    known = [c for c in spec.summed if not varies(sizes[c]) and sizes[c] > 1 and c not in moving]
    return max(known, key=lambda c: (sizes[c] % packed == 0, sizes[c]), default=None)


def _moving(x: UOp, term: str) -> str:
    """The letters of an operand that say where a window is, and where in the window."""
    if below_windows(x) is None:
        return ""
    if x.op is not window:
        return term
    return "".join(c for d, c in enumerate(term) if d >= x.src[0].ndim or d in x.arg.axis)


def _packed_shape(x: UOp, letter: str, which: int, node: UOp, unit: MatrixUnit) -> tuple[int, ...]:
    term = axes.parse(node.arg.spec).terms[which]
    return tuple(
        -(-n // unit.packed) if c == letter else n for c, n in zip(term, x.shape, strict=True)
    )


def _holds(node: UOp, operands: tuple[UOp, UOp]) -> bool:
    """Whether sums that wrap around in 32 bits are those of the dtype: it has no more bits, or
    none is so large."""
    if not node.dtype.is_int or node.dtype.bits <= 32:
        return True
    spec = axes.parse(node.arg.spec)
    sizes = dict(zip(spec.lhs, node.src[0].shape, strict=True))
    count = prod(sizes[c] for c in spec.summed)
    largest = prod(map(largest_number, operands))
    return not varies(count) and count * largest < 1 << 31


def _fills(product: _Product, target: Target) -> bool:
    """Whether there are rows and columns enough for tiles, and rows that can lie in memory."""
    spec, limits = product.spec, target.limits
    sizes = dict(zip(spec.out, product.node.shape, strict=True))
    own, other = spec.terms[product.swapped], spec.terms[not product.swapped]
    rows = prod(sizes[c] for c in spec.out if c in own and c not in other)
    columns = prod(sizes[c] for c in spec.out if c in other and c not in own)
    few = rows < limits.windowed_rows or columns < limits.tiled_columns
    return not few and below_windows(product.rows) is None


# ---- bytes


def _of_bytes(product: _Product) -> UOp:
    unsigned = [x.dtype is dtypes.uint8 for x in (product.rows, product.columns)]
    if unsigned[0] != unsigned[1]:
        found = _sums(product, dtypes.int8, unsigned.index(True))
    else:
        found = _sums(product, dtypes.int8, 0 if unsigned[0] else 1, moved=True)
        sums = _row_sums(product) * 128
        found = found + sums if unsigned[0] else found - sums
    return found.cast(product.node.dtype)


def _row_sums(product: _Product) -> UOp:
    """The sums of the numbers of each row, spread over the result."""
    spec, node = product.spec, product.node
    term = spec.terms[product.swapped]
    summed = tuple(d for d, c in enumerate(term) if c in spec.summed)
    left = [c for c in term if c not in spec.summed]
    sums = OPS["reduce_sum"](product.rows.cast(dtypes.int32), summed, False)
    order = kept_in_memory(sums).permute([left.index(c) for c in spec.out if c in left])
    sizes = [n if c in left else 1 for c, n in zip(spec.out, node.shape, strict=True)]
    spread: UOp = order.reshape(sizes).expand(node.shape)
    return spread


def _sums(product: _Product, dtype: DType, unsigned: int = 0, moved: bool = False) -> UOp:
    """The product of the words; operand `unsigned` of rows and columns has bytes without a sign."""
    spec, node = product.spec, product.node
    rows, columns = (
        _words(x, spec.terms[i].index(product.letter), x is product.rows)
        for x, i in ((product.rows, product.swapped), (product.columns, not product.swapped))
    )
    if moved:
        columns = _with_moved(columns)
    pair = (columns, rows) if product.swapped else (rows, columns)
    return as_matrices(
        node.arg.spec, pair, lambda a, b, text: contract_words(a, b, text, dtype, unsigned)
    )


def _words(x: UOp, axis: int, rows: bool) -> UOp:
    """An operand as words along an axis. Rows are read again and again: theirs are in memory."""
    if x.op is permute:
        order = tuple(x.arg.order)
        return _words(x.src[0], order[axis], rows).permute(order)
    if x.op is window and axis < x.src[0].ndim and axis not in x.arg.axis:
        return UOp(window, (_words(x.src[0], axis, rows),), x.arg)
    return (words_in_memory if rows or axis == x.ndim - 1 else words_of_lines)(x, axis)


def _with_moved(words: UOp) -> UOp:
    """The same with every byte moved by 128, below the views."""
    if type(words.op.kernel) is View and len(words.src) == 1 and words.op.kernel.fill is None:
        return UOp(words.op, (_with_moved(words.src[0]),), words.arg)
    mask = OPS["const"](_MOVED, WORD, words.shape, words.device)
    return words.bitwise_xor(mask)
