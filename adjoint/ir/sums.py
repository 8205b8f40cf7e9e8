"""Integer sums as terms: `3*i + j + 7` is {i: 3, j: 1} and 7.

What may live here: taking sums apart and putting them together. Taking apart is exact in the
dtype's modular arithmetic; `plain_sum` says when it is exact in unlimited integers too, which
division and comparison need.
"""

from __future__ import annotations

from dataclasses import dataclass

from adjoint.ir.bounds import bounds, no_wrap
from adjoint.ir.dtype import DType
from adjoint.ir.uop import UOp, toposort

_MOST_TERMS = 64  # longer sums are left alone: looking at all terms of every prefix is quadratic


@dataclass(frozen=True, slots=True)
class Sum:
    """Nodes with their factors, in the order of first use, and a constant."""

    terms: tuple[tuple[UOp, int], ...]
    constant: int
    merged: bool  # some node occurred twice

    def divisible(self, by: int) -> Sum:
        """The part whose factors are multiples; the constant's multiple below it with it."""
        terms = tuple(t for t in self.terms if t[1] % by == 0)
        return Sum(terms, self.constant - self.constant % by, False)

    def rest(self, by: int) -> Sum:
        """What `divisible` leaves."""
        terms = tuple(t for t in self.terms if t[1] % by)
        return Sum(terms, self.constant % by, False)

    def over(self, by: int) -> Sum:
        """Every factor divided, exactly."""
        return Sum(tuple((n, f // by) for n, f in self.terms), self.constant // by, False)

    def range(self) -> tuple[int, int]:
        """The least and the greatest value in unlimited integers."""
        lo = hi = self.constant
        for node, factor in self.terms:
            ends = [factor * b for b in bounds(node)]
            lo, hi = lo + min(ends), hi + max(ends)
        return lo, hi

    def within(self, dtype: DType) -> bool:
        """Whether the dtype holds it, and every sum and product on the way, whatever the order."""
        low = high = 0
        for node, factor in (*self.terms, (None, self.constant)):
            ends = (0, *(factor * b for b in (bounds(node) if node is not None else (1,))))
            low, high = low + min(ends), high + max(ends)
            if not dtype.min <= factor <= dtype.max:
                return False
        return bool(dtype.min <= low and high <= dtype.max)


def sum_of(node: UOp) -> Sum | None:
    """The terms of a sum; None if there are too many."""
    factors: dict[UOp, int] = {}
    constant, merged, stack, count = 0, False, [(node, 1)], 0
    while stack:
        part, factor = stack.pop()
        count += 1
        if count > _MOST_TERMS:
            return None
        name = part.op.name
        if name == "add":
            stack.extend((s, factor) for s in reversed(part.src))
        elif name == "const":
            constant += factor * part.arg.value
        elif name == "mul" and part.src[1].op.name == "const":
            stack.append((part.src[0], factor * part.src[1].arg.value))
        else:
            merged = merged or part in factors
            factors[part] = factors.get(part, 0) + factor
    return Sum(tuple(factors.items()), constant, merged)


def plain_sum(node: UOp) -> Sum | None:
    """The terms of a sum that cannot wrap around anywhere inside."""
    total = sum_of(node)
    if total is None:
        return None
    inside = toposort([node], stop=lambda n: n.op.name not in ("add", "mul"))
    return total if all(map(no_wrap, inside)) else None


def wrapped(value: int, dtype: DType) -> int:
    """The integer as the dtype holds it."""
    span = 1 << dtype.bits
    return (value - dtype.min) % span + dtype.min


def const_like(node: UOp, value: int) -> UOp:
    """A constant with the node's shape, dtype and device, wrapped around if need be."""
    value = bool(value) if node.dtype.is_bool else wrapped(value, node.dtype)
    return UOp._apply("const", value, node.dtype, node.shape, node.device)


def joined(total: Sum, like: UOp) -> UOp:
    """The sum as nodes, its constant last."""
    result: UOp | None = None
    for node, factor in total.terms:
        factor = wrapped(factor, like.dtype)
        if factor:
            part = node if factor == 1 else node * const_like(like, factor)
            result = part if result is None else result + part
    constant = wrapped(total.constant, like.dtype)
    if result is None:
        return const_like(like, constant)
    return result + const_like(like, constant) if constant else result
