"""DOT_WORDS as instructions: the numbers of two words are multiplied pairwise, and added to a sum.

A register holds one sum per word, so a vector of more words is cut into registers. Four bytes
(VPDPBUSD) wrap around and never saturate. Two bfloat16 (VDPBF16PS) are added by one fused
multiply-add after the other, the upper half first, with zeros for subnormals.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.writer import Writer
from adjoint.errors import InternalError
from adjoint.ir.dtype import DType

_WORD = 32  # bits
_CALLS = {"int8": "llvm.x86.avx512.vpdpbusd", "bfloat16": "llvm.x86.avx512bf16.dpbf16ps"}
_NUMBERS = {"int8": "i8", "bfloat16": "bfloat"}


def dot_words(w: Writer, dtype: DType, sums: DType, names: Sequence[str], lanes: int) -> str:
    """The sums of the third operand with the products of the words of the first two."""
    if dtype.name not in w.processor.dots:
        raise InternalError(f"{w.processor.name} multiplies no words of {dtype}")
    most = w.processor.width // _WORD
    if lanes == most:
        return _dot(w, dtype, sums, names, most)
    kinds = ("i32", "i32", ty.scalar_type(sums))
    parts = [_cut(w, x, kind, lanes, most) for x, kind in zip(names, kinds, strict=True)]
    found = [_dot(w, dtype, sums, part, most) for part in zip(*parts, strict=True)]
    return _joined(w, kinds[2], found, most, lanes)


def _dot(w: Writer, dtype: DType, sums: DType, names: Sequence[str], lanes: int) -> str:
    a, b, c = names
    words, total = ty.vector_of("i32", lanes), ty.type_of(sums, lanes)
    numbers = ty.vector_of(_NUMBERS[dtype.name], lanes * _WORD // dtype.bits)
    left, right = (w.emit(f"bitcast {words} {x} to {numbers}") for x in (a, b))
    name = f"{_CALLS[dtype.name]}.{lanes * _WORD}"
    return w.emit(w.call(total, name, f"{total} {c}", f"{numbers} {left}", f"{numbers} {right}"))


def _cut(w: Writer, name: str, scalar: str, lanes: int, most: int) -> list[str]:
    """A vector in registers; one of fewer lanes than a register has is filled up."""
    if lanes == 1:
        return [
            w.emit(f"insertelement {ty.vector_of(scalar, most)} poison, {scalar} {name}, i64 0")
        ]
    kind = ty.vector_of(scalar, lanes)
    orders = (_order(at, most, lanes) for at in range(0, lanes, most))
    both = f"shufflevector {kind} {name}, {kind} zeroinitializer"
    return [w.emit(f"{both}, {order}") for order in orders]


def _joined(w: Writer, scalar: str, parts: list[str], most: int, lanes: int) -> str:
    """Registers as one vector again."""
    kind = ty.vector_of(scalar, most)
    if lanes == 1:
        return w.emit(f"extractelement {kind} {parts[0]}, i64 0")
    size = most
    while len(parts) > 1:
        kind, size = ty.vector_of(scalar, size), 2 * size
        both = zip(parts[::2], parts[1::2], strict=True)
        parts = [
            w.emit(f"shufflevector {kind} {a}, {kind} {b}, {ty.picked(0, size)}") for a, b in both
        ]
    if size == lanes:
        return parts[0]
    kind = ty.vector_of(scalar, size)
    return w.emit(f"shufflevector {kind} {parts[0]}, {kind} poison, {ty.picked(0, lanes)}")


def _order(at: int, count: int, lanes: int) -> str:
    """The shuffle that takes so many lanes from one on; behind the last there are zeros."""
    picks = [f"i32 {min(i, lanes)}" for i in range(at, at + count)]
    return f"<{count} x i32> <{', '.join(picks)}>"
