"""The range of an integer node, from the ranges of its sources.

The records say how an op maps ranges (`OpDef.bounds`), leaves of the kernel level carry theirs in
their attributes, and everything else may be any value of its dtype. If a range exceeds the dtype,
the value may wrap around, so then too it may be anything.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import ref

from adjoint.errors import DTypeError
from adjoint.ir.arg import Arg
from adjoint.ir.kernel_kind import CONSTANT
from adjoint.ir.sizes import highest, lowest
from adjoint.ir.uop import UOp, toposort

Range = tuple[int, int]


class Bounds(NamedTuple):
    """Least and greatest value, and whether the op's own arithmetic cannot have wrapped around."""

    lo: int
    hi: int
    exact: bool


class Ranged(Arg):
    """Attributes of a leaf that say its range."""

    __slots__ = ()

    @property
    def bounds(self) -> Range:
        raise NotImplementedError


# Weak, so that knowing a node's range does not keep it alive. A range depends on the node alone.
_known: dict[ref[UOp], Bounds] = {}
_forget = _known.__delitem__  # a C function, see `ir/weak.py`


def bounds(node: UOp) -> Range:
    """The least and the greatest value an integer or bool node may have."""
    return _bounds(node)[:2]


def no_wrap(node: UOp) -> bool:
    """Whether the node's value is that of its op in unlimited integers."""
    return _bounds(node).exact


def _bounds(node: UOp) -> Bounds:
    found = _known.get(ref(node))
    if found is not None:
        return found
    if not is_discrete(node):
        problem = f"only integers and bools have a range, not {node.dtype}"
        raise DTypeError("E2005", problem, op="bounds", operands=[("x", node)])
    for part in toposort([node], stop=lambda n: ref(n) in _known or not is_discrete(n)):
        if ref(part) not in _known and is_discrete(part):
            _known[ref(part, _forget)] = _derived(part)
    return _known[ref(node)]


def is_discrete(node: UOp) -> bool:
    """Whether the node holds integers or bools."""
    return getattr(node.dtype, "kind", "") in ("b", "i", "u")


def _derived(node: UOp) -> Bounds:
    dtype, record = node.dtype, node.op
    least, most = int(dtype.min), int(dtype.max)
    if record.kernel is CONSTANT:
        value = node.arg.value
        return Bounds(int(lowest(value)), int(highest(value)), True)
    if isinstance(node.arg, Ranged):
        lo, hi = node.arg.bounds
        return Bounds(lowest(lo), highest(hi), True)
    if record.bounds is None or not all(map(is_discrete, node.src)):
        return Bounds(least, most, True)
    lo, hi = record.bounds(*(_known[ref(s)][:2] for s in node.src))
    if least <= lo and hi <= most:
        return Bounds(int(lo), int(hi), True)
    return Bounds(least, most, False)
