"""Which elements an index of a hand-built kernel meets: it as a sum of counters times numbers.

What may live here: that sum, and what follows from it alone. What may not: what is done about it.
"""

from __future__ import annotations

from adjoint.ir.bounds import bounds
from adjoint.ir.uop import UOp, toposort

Terms = dict[UOp, int]
Linear = tuple[Terms, int]
_ARITHMETIC = ("cast", "neg", "add", "sub", "mul")


def linear(node: UOp) -> Linear | None:
    """The index as counters times numbers plus a number, if it is that and cannot wrap around."""
    known: dict[UOp, Linear | None] = {}
    for part in toposort([node], stop=lambda n: n.op.name not in _ARITHMETIC):
        known[part] = _linear(part, [known.get(s) for s in part.src])
    found = known[node]
    if found is None or span(*found) != bounds(node):
        return None
    return dict(found[0]), found[1]


def _linear(node: UOp, operands: list[Linear | None]) -> Linear | None:
    match node.op.name, operands:
        case "const", _:
            return {}, int(node.arg.value)
        case "range", []:
            return {node: 1}, 0
        case "cast", [x] if node.src[0].dtype.is_int and node.dtype.is_int:
            return x
        case "neg", [x]:
            return _scaled(x, -1)
        case "add", [left, right]:
            return _sum(left, right)
        case "sub", [left, right]:
            return _sum(left, _scaled(right, -1))
        case "mul", [left, right]:
            return _product(left, right)
        case _:
            return None


def _scaled(value: Linear | None, by: int) -> Linear | None:
    return value and ({n: c * by for n, c in value[0].items()}, value[1] * by)


def _product(a: Linear | None, b: Linear | None) -> Linear | None:
    """One of them must be a number."""
    if a is not None and not a[0]:
        return _scaled(b, a[1])
    return _scaled(a, b[1]) if b is not None and not b[0] else None


def _sum(a: Linear | None, b: Linear | None) -> Linear | None:
    if a is None or b is None:
        return None
    terms = dict(a[0])
    for node, by in b[0].items():
        terms[node] = terms.get(node, 0) + by
    return {n: c for n, c in terms.items() if c}, a[1] + b[1]


def span(terms: Terms, constant: int) -> tuple[int, int]:
    """The least and the greatest such sum."""
    lo = hi = constant
    for counter, by in terms.items():
        ends = sorted(by * end for end in counter.arg.bounds)
        lo, hi = lo + ends[0], hi + ends[1]
    return lo, hi


def covers(index: UOp, size: int) -> bool:
    """Whether an index meets every element: its counters are the digits of the place."""
    found = linear(index)
    if found is None or span(*found) != (0, size - 1):
        return False
    reach = 1
    for by, extent in sorted((c, n.arg.size) for n, c in found[0].items() if n.arg.size > 1):
        if by != reach:
            return False
        reach *= extent
    return reach == size


__all__ = ["Terms", "covers", "linear", "span"]
