"""Axes as letters: `"mk,kn->mn"`.

A spec names the axes of every operand and of the result. From it follow the result's shape, which
axes are summed, and the specs of the two transposes. What may live here: parsing and algebra of
specs. What may not: nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from adjoint.errors import AxisError, ShapeError

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Spec:
    """The letters of two operands and of the result."""

    lhs: str
    rhs: str
    out: str

    def __str__(self) -> str:
        return f"{self.lhs},{self.rhs}->{self.out}"

    @property
    def terms(self) -> tuple[str, str]:
        """The letters of the operands."""
        return self.lhs, self.rhs

    @property
    def summed(self) -> str:
        """Letters in both operands and not in the result."""
        return "".join(c for c in self.lhs if c in self.rhs and c not in self.out)

    @property
    def batch(self) -> str:
        """Letters in both operands and in the result."""
        return "".join(c for c in self.lhs if c in self.rhs and c in self.out)

    def solve(self, side: str) -> str:
        """The spec that maps (cotangent, other operand) to the gradient of one side."""
        if side == "lhs":
            return f"{self.out},{self.rhs}->{self.lhs}"
        return f"{self.lhs},{self.out}->{self.rhs}"


@lru_cache(maxsize=4096)
def parse(text: str) -> Spec:
    """`"mk,kn->mn"` as a Spec; every letter once per term, a dropped letter in both operands."""
    sides, arrow, out = text.partition("->")
    terms = sides.split(",")
    if not arrow or len(terms) != 2:
        raise ShapeError("E3002", f"{text!r} is not of the form 'mk,kn->mn'", op="contract")
    spec = Spec(terms[0], terms[1], out)
    _check(text, spec)
    return spec


@lru_cache(maxsize=4096)
def solved(text: str, side: str) -> str:
    """`parse(text).solve(side)`."""
    return parse(text).solve(side)


def _check(text: str, spec: Spec) -> None:
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
