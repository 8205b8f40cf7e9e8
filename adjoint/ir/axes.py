"""Axes as letters: `"mk,kn->mn"`.

Letters name the axes of every operand and of the result. From those of a contraction follow its
shape, which axes are summed, and the letters of the two transposes; a record's `axes` gives those
of a node of its op.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from adjoint.errors import AxisError, ShapeError

if TYPE_CHECKING:
    from adjoint.ir.uop import UOp

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MORE = "αβγδεζηθικλμ"  # NumPy's arrays have up to 64 axes


@dataclass(frozen=True, slots=True)
class Letters:
    """The letters of the operands and of the result.

    A letter that only operands have is reduced, one that only the result has is repeated. "1" is an
    axis of one element that corresponds to no other axis. "." is an axis whose elements are read or
    computed in ways that letters do not express: all of it is needed.
    """

    terms: tuple[str, ...]
    out: str

    def __str__(self) -> str:
        return f"{','.join(self.terms)}->{self.out}"

    @property
    def lhs(self) -> str:
        """The letters of the first operand."""
        return self.terms[0]

    @property
    def rhs(self) -> str:
        """The letters of the second operand."""
        return self.terms[1]

    @property
    def summed(self) -> str:
        """Letters of operands that the result does not have."""
        gone = [c for term in self.terms for c in term if c not in self.out and c not in "1."]
        return "".join(dict.fromkeys(gone))

    @property
    def batch(self) -> str:
        """Letters of two operands that the result has too."""
        return "".join(c for c in self.lhs if c in self.rhs and c in self.out)

    def solve(self, side: str) -> str:
        """The spec that maps (cotangent, other operand) to the gradient of one side."""
        if side == "lhs":
            return f"{self.out},{self.rhs}->{self.lhs}"
        return f"{self.lhs},{self.out}->{self.rhs}"


@lru_cache(maxsize=4096)
def parse(text: str) -> Letters:
    """`"mk,kn->mn"` as Letters; every letter once per term, a dropped letter in both operands."""
    sides, arrow, out = text.partition("->")
    terms = sides.split(",")
    if not arrow or len(terms) != 2:
        raise ShapeError("E3002", f"{text!r} is not of the form 'mk,kn->mn'", op="contract")
    spec = Letters((terms[0], terms[1]), out)
    _check(text, spec)
    return spec


@lru_cache(maxsize=4096)
def solved(text: str, side: str) -> str:
    """`parse(text).solve(side)`."""
    return parse(text).solve(side)


def letters(rank: int) -> str:
    """A letter for each of so many axes."""
    return (LETTERS + _MORE)[:rank]


def same_axes(node: UOp) -> Letters:
    """Those of an op that computes an element from the elements at the same place."""
    term = letters(len(node.shape))
    return Letters((term,) * len(node.src), term)


def axes_but(field: str) -> Callable[[UOp], Letters]:
    """Those of an op that keeps the shape and works along the axes that an attribute names."""

    def axes(node: UOp) -> Letters:
        named = getattr(node.arg, field)
        term = _without(letters(len(node.shape)), named if isinstance(named, tuple) else (named,))
        return Letters((term,) * len(node.src), term)

    return axes


def touched_axes(node: UOp) -> Letters:
    """Those of an op that changes the extents of some axes of its operand, and leaves others."""
    (x,) = node.src
    pairs = enumerate(zip(x.shape, node.shape, strict=True))
    term = _without(letters(len(x.shape)), tuple(d for d, (old, new) in pairs if old != new))
    return Letters((term,), term)


def last_two(node: UOp) -> Letters:
    """Those of an op on matrices: all axes in front are examples."""
    ranks = [len(s.shape) for s in node.src]
    alone = type(node.dtype) is not tuple and len(set(ranks)) == 1
    batch = letters(max(ranks[0] - 2, 0))
    if not alone or any(s.shape[:-2] != node.src[0].shape[:-2] for s in node.src):
        return Letters(tuple("." * rank for rank in ranks), "." * len(node.shape))
    return Letters((batch + "..",) * len(ranks), batch + "." * (len(node.shape) - len(batch)))


def _without(term: str, axes: tuple[int, ...]) -> str:
    return "".join("." if d in axes else c for d, c in enumerate(term))


def _check(text: str, spec: Letters) -> None:
    for term in (spec.lhs, spec.rhs, spec.out):
        if len(set(term)) != len(term) or any(c not in LETTERS for c in term):
            problem = f"{text!r}: each term is made of distinct letters"
            raise AxisError("E3005", problem, op="contract")
    for letter in spec.out:
        if letter not in spec.lhs and letter not in spec.rhs:
            problem = f"{text!r}: {letter!r} is in the result and in no operand"
            raise ShapeError("E3002", problem, op="contract")
    for letter in spec.lhs + spec.rhs:
        if letter not in spec.out and not (letter in spec.lhs and letter in spec.rhs):
            problem = f"{text!r}: {letter!r} is summed, so both operands must have it"
            raise ShapeError("E3002", problem, op="contract", help="sum that axis beforehand")
