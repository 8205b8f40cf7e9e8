"""Which elements an index of a hand-built kernel meets: it as a sum of counters times numbers."""

from __future__ import annotations

from collections.abc import Collection

from adjoint.ir.affine import Affine, Counter
from adjoint.ir.bounds import bounds
from adjoint.ir.uop import UOp, toposort
from adjoint.kernel.index_maps import LINEAR_OPS

_ARITHMETIC = ("cast", "neg", "add", "sub", "mul")


def linear(node: UOp) -> Affine | None:
    """The index as counters times numbers plus a number, if it is that and cannot wrap around."""
    known: dict[UOp, Affine | None] = {}
    for part in toposort([node], stop=lambda n: n.op.name not in _ARITHMETIC):
        known[part] = _linear(part, [known.get(s) for s in part.src])
    found = known[node]
    return found if found is not None and found.bounds() == bounds(node) else None


def _linear(node: UOp, operands: list[Affine | None]) -> Affine | None:
    match node.op.name, operands:
        case "const", _:
            return Affine(int(node.arg.value))
        case "range", []:
            return Affine(0, ((Counter(node), 1),))
        case "cast", [Affine() as x] if node.src[0].dtype.is_int and node.dtype.is_int:
            return x
        case "neg", [Affine() as x]:
            return x * -1
        case (("add" | "sub" | "mul"), [Affine() as left, Affine() as right]):
            return LINEAR_OPS[node.op](left, right)
        case _:
            return None


def steps_of(index: Affine) -> dict[UOp, int]:
    """How much one step of each counter moves the index."""
    return {atom.node: factor for atom, factor in index.terms}


def without(index: Affine, counters: Collection[UOp]) -> Affine:
    """The index where these counters are 0."""
    return Affine(index.const, tuple(t for t in index.terms if t[0].node not in counters))


def covers(index: UOp, size: int) -> bool:
    """Whether an index reaches every element: its counters are the digits of the place."""
    found = linear(index)
    if found is None or found.bounds() != (0, size - 1):
        return False
    reach = 1
    for by, extent in sorted((c, n.arg.size) for n, c in steps_of(found).items() if n.arg.size > 1):
        if by != reach:
            return False
        reach *= extent
    return reach == size
