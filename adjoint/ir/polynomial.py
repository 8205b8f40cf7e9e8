"""Polynomials with whole coefficients over named numbers, and their bounds.

Elsewhere: what the numbers are (`sizes.py`).
"""

from __future__ import annotations

from functools import lru_cache, total_ordering
from typing import Any


@total_ordering
class Atom:
    """A number with bounds. Equal keys are equal atoms."""

    __slots__ = ()

    @property
    def key(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def bounds(self) -> tuple[int, int]:
        """The least and the largest value."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and self.key == other.key

    def __lt__(self, other: Atom) -> bool:
        return repr(self.key) < repr(other.key)

    def __hash__(self) -> int:
        return hash(self.key)


Term = tuple[tuple[Atom, ...], int]  # a product of atoms, and how often


class Form:
    """A sum of products of atoms; the terms are in order, and none is 0."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: dict[tuple[Atom, ...], int]):
        self.terms: tuple[Term, ...] = tuple(sorted((t, c) for t, c in terms.items() if c))
        self._hash = hash(self.terms)

    @staticmethod
    def of(atom: Atom) -> Form:
        return Form({(atom,): 1})

    @property
    def is_constant(self) -> bool:
        return not self.terms or (len(self.terms) == 1 and not self.terms[0][0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: Form) -> Form:
        total = dict(self.terms)
        for term, count in other.terms:
            total[term] = total.get(term, 0) + count
        return Form(total)

    def __mul__(self, other: Form) -> Form:
        total: dict[tuple[Atom, ...], int] = {}
        for a, i in self.terms:
            for b, j in other.terms:
                term = tuple(sorted(a + b))
                total[term] = total.get(term, 0) + i * j
        return Form(total)

    def __repr__(self) -> str:
        return " + ".join("*".join([str(c), *map(str, t)]) for t, c in self.terms) or "0"


class _Divided(Atom):
    """One form divided by another, which is always positive."""

    __slots__ = ("by", "of")
    sign = ""

    def __init__(self, of: Form, by: Form):
        self.of, self.by = of, by

    @property
    def key(self) -> tuple[Any, ...]:
        return self.sign, self.of, self.by

    def __repr__(self) -> str:
        return f"(({self.of}) {self.sign} ({self.by}))"


class SizeQuotient(_Divided):
    """Rounded down."""

    __slots__ = ()
    sign = "//"

    def bounds(self) -> tuple[int, int]:
        (lo, hi), (least, most) = bounds(self.of), bounds(self.by)
        return lo // (most if lo >= 0 else least), hi // (least if hi >= 0 else most)


class SizeRest(_Divided):
    """The remainder of a quotient that is rounded down."""

    __slots__ = ()
    sign = "%"

    def bounds(self) -> tuple[int, int]:
        return 0, bounds(self.by)[1] - 1


@lru_cache(maxsize=1024)
def constant(value: int) -> Form:
    """A number as a form."""
    return Form({(): int(value)})


@lru_cache(maxsize=4096)
def bounds(form: Form) -> tuple[int, int]:
    """Between which numbers the form is, whatever its atoms are."""
    low = high = 0
    for atoms, count in form.terms:
        ends = (count, count)
        for atom in atoms:
            products = [x * y for x in ends for y in atom.bounds()]
            ends = min(products), max(products)
        low, high = low + ends[0], high + ends[1]
    return low, high


def quotient(a: Form, b: Form) -> Form | None:
    """The form that b times it is a; None if there is none."""
    result, rest = constant(0), a
    if not b.terms:
        return None
    lead, unit = _leading(b)
    while rest.terms:
        atoms, count = _leading(rest)
        left = _without(atoms, lead)
        if left is None or count % unit:
            return None
        part = Form({left: count // unit})
        result, rest = result + part, rest + part * b * constant(-1)
    return result


def _leading(form: Form) -> Term:
    return max(form.terms, key=lambda term: (len(term[0]), term[0]))


def _without(atoms: tuple[Atom, ...], some: tuple[Atom, ...]) -> tuple[Atom, ...] | None:
    left = list(atoms)
    for atom in some:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)
