"""CONTRACT of numbers packed several to a word, as instructions of matrix units read them.

What may live here: the op, and how words are made of numbers. `schedule/word_products.py` alone
creates its nodes.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from adjoint.ir import axes
from adjoint.ir.arg import Arg
from adjoint.ir.derivative import NotDifferentiable
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.kernel_kind import Library, Pointwise, Reduce
from adjoint.ir.opdef import OpDef, internal
from adjoint.ir.uop import UOp
from adjoint.ops.casts import bitcast
from adjoint.ops.contract import contract_map, contract_sizes, contracted_shape
from adjoint.ops.mathematics.nodes import apply, bits, cast, shifted_left, shifted_right
from adjoint.ops.movement import padded

WORD = dtypes.uint32


class WordsArg(Arg):
    spec: str
    dtype: DType  # of the numbers: int8, where those of operand `unsigned` are uint8; or bfloat16
    unsigned: int = 0
    exact: bool = False  # bfloat16 added up in the order of float32: columns have the first of two
    # in the upper half of a word, which the instruction adds first, and rows come with a question


def numbers_in(node: UOp) -> int:
    """How many products a contraction adds up for each pair of what it reads."""
    return int(WORD.itemsize // node.arg.dtype.itemsize) if node.op is contract_words else 1


def sums_dtype(dtype: DType) -> DType:
    """The dtype in which products of such numbers are added up."""
    return dtypes.int32 if dtype is dtypes.int8 else dtypes.float32


def _words_type(src: tuple[UOp, ...], arg: WordsArg) -> tuple[tuple[int, ...], DType]:
    return contracted_shape(arg.spec, src[0].shape, src[1].shape), sums_dtype(arg.dtype)


def _words_reference(
    a: Any, b: Any, spec: str, dtype: DType, unsigned: int, exact: bool = False
) -> Any:
    kinds = [dtype.np] * 2
    if dtype is dtypes.int8:
        kinds[unsigned] = np.dtype(np.uint8)
    terms, out = axes.parse(spec).terms, axes.parse(spec).out
    pairs = zip((a, b), kinds, strict=True)
    numbers: list[Any] = [_numbers(x, kind).astype(np.float64) for x, kind in pairs]
    if exact:
        numbers[1] = numbers[1][..., ::-1]
    total = np.einsum(f"{terms[0]}Z,{terms[1]}Z->{out}", *numbers)
    whole = total.astype(np.int64) if dtype is dtypes.int8 else total
    return whole.astype(sums_dtype(dtype).np)


def _numbers(words: Any, kind: Any) -> Any:
    return np.ascontiguousarray(words)[..., None].view(kind)


def _made(a: UOp, b: UOp, spec: str, dtype: DType, unsigned: int = 0, exact: bool = False) -> UOp:
    return UOp(contract_words, (a, b), WordsArg(spec, dtype, unsigned, exact))


contract_words: OpDef = internal(
    "contract_words",
    "CONTRACT of words, each of four bytes, or two bfloat16, that are multiplied one by one.",
    "primitive",
    call=_made,
    infer=_words_type,
    arg=WordsArg,
    ad=NotDifferentiable("made of products when a program is compiled, behind all derivatives"),
    reference=_words_reference,
    opcode=False,
    kernel=Library(
        "product",
        Reduce("add", lambda dtype: 0, sizes=contract_sizes, index_map=contract_map),
    ),
)


# ---- words


def _joined_type(src: tuple[UOp, ...], arg: None) -> tuple[tuple[int, ...], DType]:
    return src[0].shape, WORD


def _joined_reference(*numbers: Any) -> Any:
    rows = np.stack([np.asarray(x) for x in numbers], -1)
    return np.ascontiguousarray(rows).view(np.uint32)[..., 0]


def _joined(*given: Any) -> UOp:
    """A word of the elements, the first in its lowest bits."""
    *numbers, source, _ = given
    parts = [_bits_of(x, source) for x in numbers]
    moved = [shifted_left(part, i * source.bits) if i else part for i, part in enumerate(parts)]
    return reduce(lambda a, b: apply("bitwise_or", a, b), moved)


def _bits_of(x: UOp, source: DType) -> UOp:
    """A number as the lowest bits of a word; a narrow float is held as a float32."""
    if source.is_float:
        return shifted_right(bits(x, WORD), WORD.bits - source.bits)
    return cast(bits(x, dtypes.uint8), WORD)


join_words: OpDef = internal(
    "join_words",
    "Four bytes, or two bfloat16, as a word.",
    "primitive",
    call=lambda *numbers: UOp(join_words, numbers),
    infer=_joined_type,
    ad=NotDifferentiable("made when a program is compiled, behind all derivatives"),
    reference=_joined_reference,
    opcode=False,
    kernel=Pointwise(of_types=_joined),
)


def words_in_memory(x: UOp, axis: int) -> UOp:
    """Numbers next to one another along an axis as words, by the memory that they lie in."""
    last = x.ndim - 1
    order = [d for d in range(x.ndim) if d != axis] + [axis]
    lying = x if axis == last else x.permute(order)
    found: UOp = bitcast(_filled_up(lying, last), WORD)
    return found if axis == last else found.permute([order.index(d) for d in range(x.ndim)])


def kept_in_memory(x: UOp) -> UOp:
    """The same values, which no kernel that reads them makes for itself."""
    held: UOp = bitcast(bitcast(x.reshape(*x.shape, 1), dtypes.uint8), x.dtype)
    return held.reshape(x.shape)


def turned(words: UOp) -> UOp:
    """Words with their halves exchanged."""
    half = WORD.bits // 2
    found: UOp = words.lshift(half).bitwise_or(words.rshift(half))
    return found


def words_of_lines(x: UOp, axis: int, last_first: bool = False) -> UOp:
    """The same where other numbers lie between these: computed from several lines of memory."""
    count = WORD.itemsize // x.dtype.itemsize
    whole = _filled_up(x, axis)
    shape = [*x.shape[:axis], whole.shape[axis] // count, count, *x.shape[axis + 1 :]]
    lines = whole.reshape(shape)
    order = range(count - 1, -1, -1) if last_first else range(count)
    return UOp(join_words, tuple(_line(lines, axis, i) for i in order))


def _line(lines: UOp, axis: int, number: int) -> UOp:
    bounds = [(number, number + 1) if d == axis + 1 else (0, n) for d, n in enumerate(lines.shape)]
    return lines.shrink(bounds).reshape([n for d, n in enumerate(lines.shape) if d != axis + 1])


def _filled_up(x: UOp, axis: int) -> UOp:
    """With zeros, up to whole words."""
    missing = -int(x.shape[axis]) % (WORD.itemsize // x.dtype.itemsize)
    more = [missing if d == axis else 0 for d in range(x.ndim)]
    return padded(x, [0] * x.ndim, more) if missing else x
