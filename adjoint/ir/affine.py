"""Index expressions: a constant plus multiples of atoms, as movement ops make them.

An atom is a loop's counter, a quotient or remainder that could not be simplified away, or an index
that is loaded from memory. Two expressions are equal when they look equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import gcd
from typing import Any

from adjoint.ir.sizes import Size, alike, cached, divides, highest, is_one, less, same, varies

Shape = tuple[int, ...]
_orders = count()
_SHARED = 8


class IndexVar:
    """A counter from 0 to size - 1. Compared by identity; created earlier sorts first."""

    __slots__ = ("order", "size")

    def __init__(self, size: int):
        self.size = size
        self.order = next(_orders)

    def bounds(self) -> tuple[int, int]:
        return 0, _last(self.size)

    def __repr__(self) -> str:
        return f"i{self.order}"


class Loaded:
    """An index that a node computes; it is between 0 and size - 1."""

    __slots__ = ("node", "order", "size")

    def __init__(self, node: Any, size: int):
        self.node, self.size = node, size
        self.order = next(_orders)

    def bounds(self) -> tuple[int, int]:
        return 0, _last(self.size)


def _last(size: int) -> int:
    return max(size - 1, 0) if size > 0 or type(size) is not Size else size - 1


@dataclass(frozen=True, slots=True)
class Counter:
    """The counter of a loop that is written already: a RANGE. The same loop is the same counter."""

    node: Any

    @property
    def order(self) -> int:
        found: int = self.node.arg.id
        return found

    def bounds(self) -> tuple[int, int]:
        found: tuple[int, int] = self.node.arg.bounds
        return found


@dataclass(frozen=True, slots=True)
class Division:
    """The quotient of an index and a number, which cannot be expressed without the division."""

    of: Affine
    by: int

    @property
    def order(self) -> int:
        return self.of.terms[0][0].order


class Quotient(Division):
    """`of // by`, rounded down."""

    __slots__ = ()

    def bounds(self) -> tuple[int, int]:
        lo, hi = self.of.bounds()
        return lo // self.by, hi // self.by


class Remainder(Division):
    """`of % by`, never negative."""

    __slots__ = ()

    def bounds(self) -> tuple[int, int]:
        return 0, self.by - 1


Atom = IndexVar | Loaded | Counter | Quotient | Remainder
_KINDS: dict[type, int] = {IndexVar: 0, Loaded: 1, Counter: 1, Quotient: 2, Remainder: 3}


@dataclass(frozen=True, slots=True)
class Affine:
    """`const + Σ factor · atom`; no factor is 0 and no atom occurs twice."""

    const: int
    terms: tuple[tuple[Any, int], ...] = ()

    def bounds(self) -> tuple[int, int]:
        lo = hi = self.const
        for atom, factor in self.terms:
            a, b = atom.bounds()
            lo += factor * (a if factor > 0 else b)
            hi += factor * (b if factor > 0 else a)
        return lo, hi

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return self if same(other, 0) else Affine(self.const + other, self.terms)
        assert isinstance(other, Affine)
        if not other.terms:
            return self + other.const
        if not self.terms:
            return other + self.const
        return _sum(self, other)

    def __mul__(self, factor: int) -> Affine:
        if is_one(factor):
            return self
        if same(factor, 0):
            return ZERO
        return Affine(self.const * factor, tuple([(a, f * factor) for a, f in self.terms]))

    def __floordiv__(self, by: int) -> Affine:
        return divided(self, by)[0]

    def __mod__(self, by: int) -> Affine:
        return divided(self, by)[1]

    def factor(self, atom: Any) -> int | None:
        """How much one step of the atom moves the index; None if it is no multiple."""
        found = 0
        for other, factor in self.terms:
            if other is atom:
                found = factor
            elif depends(other, atom):
                return None
        return found

    def atoms(self) -> set[Any]:
        """The counters and loaded indices it is made of."""
        found: set[Any] = set()
        for atom, _ in self.terms:
            found |= atom.of.atoms() if isinstance(atom, Division) else {atom}
        return found


ZERO = Affine(0)


def var(atom: IndexVar | Loaded) -> Affine:
    """The atom itself."""
    return _term(atom) if not is_one(atom.size) or isinstance(atom, Loaded) else ZERO


def _term(atom: Any) -> Affine:
    return Affine(0, ((atom, 1),))


def depends(atom: Any, on: Any) -> bool:
    """Whether one atom is computed from another."""
    if atom is on:
        return True
    return isinstance(atom, Division) and on in atom.of.atoms()


def _sort_key(term: tuple[Any, int]) -> tuple[Any, ...]:
    atom = term[0]
    return atom.order, _KINDS[type(atom)], getattr(atom, "by", 0)


def _sum(a: Affine, b: Affine) -> Affine:
    factors = dict(a.terms)
    for atom, factor in b.terms:
        total = factors.get(atom, 0) + factor
        if not same(total, 0):
            factors[atom] = total
        else:
            del factors[atom]
    total = Affine(a.const + b.const, tuple(sorted(factors.items(), key=_sort_key)))
    return _rejoined(total, factors)


def _rejoined(x: Affine, factors: dict[Any, int]) -> Affine:
    """(y // d) · d + y % d is y."""
    for atom, factor in x.terms:
        if type(atom) is not Remainder:
            continue
        quotient = divided(atom.of, atom.by)[0].terms
        if len(quotient) == 1 and same(factors.get(quotient[0][0], 0), factor * atom.by):
            gone = (atom, quotient[0][0])
            rest = Affine(x.const, tuple([t for t in x.terms if t[0] not in gone]))
            return rest + atom.of * factor
    return x


def divided(x: Affine, by: int) -> tuple[Affine, Affine]:
    """Quotient and remainder, simplified as far as bounds and divisible factors allow."""
    if is_one(by):
        return x, ZERO
    whole = tuple([(a, f // by) for a, f in x.terms if divides(by, f)])
    rest = Affine(x.const % by, tuple([(a, f) for a, f in x.terms if not divides(by, f)]))
    quotient = Affine(x.const // by, whole)
    lo, hi = rest.bounds()
    if same(lo // by, hi // by):  # also when there is nothing left
        return quotient + lo // by, rest + -(lo // by) * by
    shared = _shared_factor(rest, by)
    if not is_one(shared):  # (g·y + z) // (g·b) is y // b where 0 ≤ z < g
        above = Affine(0, tuple([(a, f // shared) for a, f in rest.terms if divides(shared, f)]))
        small = Affine(rest.const, tuple([t for t in rest.terms if not divides(shared, t[1])]))
        found, left = divided(above, by // shared)
        return quotient + found, left * shared + small
    if len(rest.terms) == 1 and same(rest.const, 0) and is_one(rest.terms[0][1]):
        atom = rest.terms[0][0]
        if type(atom) is Quotient:  # (y // a) // b is y // ab
            return quotient + divided(atom.of, atom.by * by)[0], _term(Remainder(rest, by))
    negative = lo if less(lo, 0) or varies(lo) else 0
    turns = -(negative // by)  # kernels divide what is not negative
    rest, quotient = rest + turns * by, quotient + -turns
    return quotient + _term(Quotient(rest, by)), _term(Remainder(rest, by))


def _shared_factor(x: Affine, by: int) -> int:
    """A divisor of `by` and of the large factors such that the other terms stay below it.

    A small one is not worth it: the parts of an index would not be found to belong together.
    """
    shared = by
    for _, factor in sorted(x.terms, key=lambda term: -abs(highest(term[1]))):
        shared = _common(shared, factor)
        small = Affine(x.const, tuple([t for t in x.terms if not divides(shared, t[1])]))
        lo, hi = small.bounds()
        inside = less(-1, lo) and less(hi, shared)
        if len(small.terms) < len(x.terms) and inside and highest(shared) >= _SHARED:
            return shared
    return 1


def _common(a: int, b: int) -> int:
    """A number that divides both; of numbers that vary one of the two, or 1."""
    if not varies(a, b):
        return gcd(a, b)
    return next((x for x in (a, b, abs(b)) if divides(x, a) and divides(x, b)), 1)


@cached(4096)
def strides_of(shape: Shape) -> Shape:
    """Row-major strides in elements."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    return tuple(strides)


def flattened(index: Sequence[Affine], shape: Shape) -> Affine:
    """The row-major position of an index."""
    total = ZERO
    for at, stride in zip(index, strides_of(shape), strict=True):
        total = total + at * stride
    return total


def unflattened(position: Affine, shape: Shape) -> tuple[Affine, ...]:
    """The index of a row-major position inside the shape: the first axis takes the remainder."""
    index: list[Affine] = []
    first = next((d for d, extent in enumerate(shape) if not is_one(extent)), 0)
    for d in range(len(shape) - 1, -1, -1):
        at = position if d == first else ZERO
        if d > first and not is_one(shape[d]):
            position, at = divided(position, shape[d])
        index.append(at if not is_one(shape[d]) else ZERO)
    return tuple(reversed(index))


def reshaped(index: Sequence[Affine], old: Shape, new: Shape) -> tuple[Affine, ...]:
    """An index into shape `old` as one into shape `new` of the same elements.

    Axes are merged no further than necessary: an index that a bounds check keeps inside (`i - 8`
    where 8 ≤ i) borrows nothing from the axes before it.
    """
    if alike(*(tuple([n for n in shape if not is_one(n)]) for shape in (old, new))):
        kept = iter([at for at, n in zip(index, old, strict=True) if not is_one(n)])
        return tuple([ZERO if is_one(n) else next(kept) for n in new])
    parts = [(flattened(index[olds], old[olds]), new[news]) for olds, news in _runs(old, new)]
    return tuple([at for position, shape in parts for at in unflattened(position, shape)])


class _Linear:
    """Index expressions, as the domain over which an index map is evaluated."""

    zero = ZERO
    reshaped = staticmethod(reshaped)


LINEAR = _Linear()


@cached(4096)
def _runs(old: Shape, new: Shape) -> tuple[tuple[slice, slice], ...]:
    """Runs of axes that hold the same elements in both shapes, as short as they can be."""
    if 0 in old:
        return ((slice(None), slice(None)),)
    found: list[tuple[slice, slice]] = []
    start, first, place, have, wanted = 0, 0, 0, 1, 1
    for end, extent in enumerate(new, 1):
        wanted *= extent
        while have <= wanted and not same(have, wanted) and place < len(old):
            have, place = have * old[place], place + 1
        if same(have, wanted):
            found.append((slice(start, place), slice(first, end)))
            start, first, have, wanted = place, end, 1, 1
    if first < len(new):  # as many elements, but not always
        found.append((slice(start, None), slice(first, None)))
    return tuple(found)
