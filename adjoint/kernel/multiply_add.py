"""Adds one more product to a sum: of two numbers, or of two words of bfloat16 numbers."""

from __future__ import annotations

from adjoint.ir.dtype import dtypes
from adjoint.ir.uop import UOp
from adjoint.ops.mathematics.nodes import apply, bits, fma, masked, shifted_left, shifted_right
from adjoint.target import Tile


def multiply_add(tile: Tile, left: UOp, right: UOp, total: UOp) -> UOp:
    """A sum with one more product, rounded once where the processor does that at once."""
    if tile.fused:
        return fma(left, right, total)
    return apply("add", apply("mul", left, right), total)


def lower_number(word: UOp) -> UOp:
    """The first of the two numbers of a word, as a float32."""
    return bits(shifted_left(word, 16), dtypes.float32)


def upper_number(word: UOp) -> UOp:
    """The second one."""
    return bits(masked(word, 0xFFFF0000), dtypes.float32)


def halves_exchanged(word: UOp) -> UOp:
    """The word with its halves exchanged."""
    return apply("bitwise_or", shifted_left(word, 16), shifted_right(word, 16))
