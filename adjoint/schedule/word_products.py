"""Products for instructions that multiply the numbers of a word pairwise and add them.

Before: contract(cast(a), cast(b)), a and b int8, sums in int32.
After: contract_words(words(a), words(b) ^ 0x80808080) - 128 * sum(a): the instruction takes
unsigned bytes from one operand and signed bytes from the other. If both operands are signed, or
both unsigned, the columns are shifted by 128, and the sums of the rows correct that. Integers wrap
around in any order: the bits are those of the integers.

Before: contract(a, b) of bfloat16.
After, if other bits are allowed: the same with words of two. If they are not: the same, if it is
added in the order of float32 (`_in_order`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from adjoint.ir import axes
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.exactness import native_bfloat16
from adjoint.ir.kernel_kind import Library, Reduce, View
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.ops.casts import bitcast
from adjoint.ops.logic import with_question
from adjoint.ops.movement import permute, reshape
from adjoint.ops.window import window
from adjoint.ops.words import (
    WORD,
    contract_words,
    kept_in_memory,
    turned,
    words_in_memory,
    words_of_lines,
)
from adjoint.schedule.exact_products import largest_number, narrow_operands
from adjoint.schedule.layout import below_windows
from adjoint.schedule.matrix_form import as_matrices, is_swapped
from adjoint.schedule.strategy import is_tiled
from adjoint.target import MatrixUnit, Target

_SUMS = (dtypes.float32, dtypes.bfloat16)  # of bfloat16, the second rounded once
_MOVED = 0x80808080  # turns bytes with a sign into bytes without one, 128 higher, and back


@dataclass(frozen=True, slots=True, eq=False)
class _Product:
    """A contraction of two operands packed in words: which gives the rows, which operand is packed,
    along which letter.
    """

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
    if native_bfloat16.allowed():
        return _sums(product, dtypes.bfloat16).cast(node.dtype)
    return _in_order(product, target)


def _unit_of(node: UOp, target: Target) -> MatrixUnit | None:
    wanted = "int8" if node.dtype.is_int else "bfloat16"
    if not node.dtype.is_int and node.dtype not in _SUMS:
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
    """The summed letter along which numbers are packed in words: a divisible, long one. Places in
    windows do not qualify: there would be as many words as all windows have.
    """
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
    """Whether there are enough rows and columns for tiles, and rows that can be in memory."""
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


# ---- bfloat16 in the order of float32

_LEAST_LENGTH = 256  # of a sum: below, looking at the operands and breaking up chains cost more
_MANTISSA, _INFINITE, _ZERO = 7, 0x7F80, 255  # of bfloat16; what counts as the exponent of zero
_NORMAL = 142  # exponents of two numbers, below which a sum of products may be subnormal


def _in_order(product: _Product, target: Target) -> UOp | None:
    """The same product in the order of float32, if tiles of float32 would compute it.

    The instruction does two fused multiply-adds, one after the other, first of the upper halves;
    but it treats subnormals as zeros, and a NaN has other bits. All sums are multiples of the
    product of the smallest steps of both operands: if that is no subnormal, no sum is. So the
    kernel tests whether the exponents of all numbers are large enough, and otherwise adds in
    float32.
    """
    node, spec = product.node, product.spec
    length = product.rows.shape[spec.terms[product.swapped].index(product.letter)]
    if varies(*node.shape, *node.src[0].shape) or len(spec.summed) > 1:
        return None
    if length < _LEAST_LENGTH or length % 2 or not _is_plain(product, target):
        return None
    least = [_least_exponent(x) for x in product.operands]
    safe = least[0].ge(1) & least[1].ge(1) & (least[0] + least[1]).ge(_NORMAL)

    def made(a: UOp, b: UOp, text: str) -> UOp:
        return contract_words(with_question(a, safe), b, text, dtypes.bfloat16, 0, True)

    return as_matrices(node.arg.spec, _pair(product, last_first=True), made).cast(node.dtype)


def _is_plain(product: _Product, target: Target) -> bool:
    """Whether tiles would compute the product of the same numbers in float32, with rows that are
    not rows of another kernel between products.
    """
    windows = any(below_windows(x) is not None for x in product.operands)
    if windows or _reduces(product.rows):
        return False
    made: list[UOp] = []

    def note(a: UOp, b: UOp, text: str) -> UOp:
        made.append(a.contract(b, text))
        return made[-1]

    a, b = (x.cast(dtypes.float32) for x in product.operands)
    as_matrices(product.node.arg.spec, (a, b), note)
    return is_tiled(made[0], target)


def _reduces(x: UOp) -> bool:
    """Whether elements are computed from rows, above any product."""
    found = x.toposort(lambda node: type(node.op.kernel) is Library or node.realized is not None)
    return any(type(node.op.kernel) is Reduce for node in found)


def _least_exponent(x: UOp) -> UOp:
    """The least exponent of the numbers of an operand that are not zero; 0 if one is subnormal,
    infinite or none."""
    while x.op in (permute, reshape):
        x = x.src[0]
    lying = bitcast(bitcast(x.reshape(*x.shape, 1), dtypes.uint8), dtypes.uint16).reshape(x.shape)
    size = lying.bitwise_and((1 << 15) - 1)
    exponent = size.ge(_INFINITE).where(0, size.rshift(_MANTISSA))
    rows = kept_in_memory(size.eq(0).where(_ZERO, exponent).min(-1))
    found: UOp = rows.min()
    return found


def _pair(product: _Product, last_first: bool = False) -> tuple[UOp, UOp]:
    """The operands as words, in their order."""
    spec, which = product.spec, product.swapped
    rows = _words(product.rows, spec.terms[which].index(product.letter), True)
    columns = _words(
        product.columns, spec.terms[not which].index(product.letter), False, last_first
    )
    return (columns, rows) if which else (rows, columns)


def _sums(product: _Product, dtype: DType, unsigned: int = 0, moved: bool = False) -> UOp:
    """The product of the words; operand `unsigned` of rows and columns has bytes without a sign."""
    pair = _pair(product)
    if moved:
        rows, columns = pair[product.swapped], _with_moved(pair[not product.swapped])
        pair = (columns, rows) if product.swapped else (rows, columns)
    return as_matrices(
        product.node.arg.spec,
        pair,
        lambda a, b, text: contract_words(a, b, text, dtype, unsigned),
    )


def _words(x: UOp, axis: int, rows: bool, last_first: bool = False) -> UOp:
    """An operand as words along an axis, the first number in the lower bits or in the upper ones.
    Rows are read again and again: theirs are in memory."""
    if x.op is permute:
        order = tuple(x.arg.order)
        return _words(x.src[0], order[axis], rows, last_first).permute(order)
    if x.op is window and axis < x.src[0].ndim and axis not in x.arg.axis:
        return UOp(window, (_words(x.src[0], axis, rows, last_first),), x.arg)
    if not rows and axis != x.ndim - 1:
        return words_of_lines(x, axis, last_first)
    return turned(words_in_memory(x, axis)) if last_first else words_in_memory(x, axis)


def _with_moved(words: UOp) -> UOp:
    """The same with every byte moved by 128, below the views."""
    if type(words.op.kernel) is View and len(words.src) == 1 and words.op.kernel.fill is None:
        return UOp(words.op, (_with_moved(words.src[0]),), words.arg)
    mask = OPS["const"](_MOVED, WORD, words.shape, words.device)
    return words.bitwise_xor(mask)
