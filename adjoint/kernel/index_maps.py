"""From a node and an index to what is computed there: movement becomes index arithmetic.

A walk goes from a result to the memory below it. Every view only changes the index, PAD and CAT add
a condition under which the element exists. What may live here: how each op maps an index. What may
not: what is done with the elements found; `Probe` and `Lowering` say that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.errors import InternalError
from adjoint.ir import axes
from adjoint.ir.affine import ZERO, Lin, Loaded, flattened, reshaped, var
from adjoint.ir.uop import UOp

At = tuple[Lin, ...]  # an index: one expression per axis
Condition = tuple[str, Lin, int]  # ("in", x, n): 0 ≤ x < n; ("step", x, n): n divides x
Gate = tuple[Condition, ...]


def within(x: Lin, extent: int) -> Gate:
    """The condition 0 ≤ x < extent, if it is one."""
    lo, hi = x.bounds()
    return () if lo >= 0 and hi < extent else (("in", x, extent),)


def joined(gate: Gate, more: Gate) -> Gate:
    """Both conditions."""
    return gate + tuple(c for c in more if c not in gate)


class Walk:
    """Visits elements. Subclasses say what a load, a constant, an op on elements is."""

    def __init__(self, inputs: Sequence[UOp]):
        self.inputs = {node: i for i, node in enumerate(inputs)}
        self._memo: dict[tuple[UOp, At, Gate], Any] = {}
        self._lins: dict[tuple[UOp, At], Lin | None] = {}

    # what subclasses do

    def load(self, node: UOp, place: Lin, gate: Gate) -> Any:
        raise NotImplementedError

    def constant(self, node: UOp, value: Any) -> Any:
        raise NotImplementedError

    def counted(self, node: UOp, x: Lin) -> Any:
        """An index expression as a number of the node's dtype."""
        raise NotImplementedError

    def apply(self, node: UOp, operands: list[Any], at: At, gate: Gate) -> Any:
        """An op on elements; under a gate the value is right only where the gate is true."""
        raise NotImplementedError

    def select(self, gate: Gate, value: Any, other: Any) -> Any:
        raise NotImplementedError

    def loaded(self, node: UOp, axis: int, index: UOp, at: At, gate: Gate, size: int) -> Lin:
        """An index that is itself an element, checked against the size of its axis."""
        raise NotImplementedError

    def reduction(self, node: UOp, at: At) -> Any:
        raise NotImplementedError

    def kept(self, node: UOp, at: At, gate: Gate) -> Any:
        """A value that was kept earlier, if there is one."""
        return None

    # the walk

    def value(self, node: UOp, at: At, gate: Gate = ()) -> Any:
        """The element of a node at an index."""
        key = (node, at, gate)
        if key not in self._memo:
            self._memo[key] = self._value(node, at, gate)
        return self._memo[key]

    def _value(self, node: UOp, at: At, gate: Gate) -> Any:
        if node in self.inputs:
            return self.load(node, flattened(at, node.shape), gate)
        name = node.op.name
        if name == "const":
            return self.constant(node, node.arg.value)
        if name in ("pad_constant", "cat"):
            return self._pieces(node, at, gate)
        if name in _VIEWS:
            return self.value(node.src[0], moved(node, at), gate)
        if name in REDUCTIONS:
            return self.reduction(node, at)
        if name == "scan_sum":
            return self.counted(node, self._counting(node, at))
        found = self.kept(node, at, gate)
        if found is not None:
            return found
        if name == "gather":
            return self._gathered(node, at, gate)
        return self.apply(node, [self.value(s, at, gate) for s in node.src], at, gate)

    def _pieces(self, node: UOp, at: At, gate: Gate) -> Any:
        """PAD and CAT: the piece that the index falls into."""
        if node.op.name == "pad_constant":
            place, inside = padded(node, at)
            inner = self.value(node.src[0], place, joined(gate, inside))
            if not inside:
                return inner
            return self.select(inside, inner, self.constant(node.src[0], node.arg.value))
        axis, start, result = node.arg.axis, 0, None
        for source in node.src:
            extent = source.shape[axis]
            if extent == 0:
                continue
            place = (*at[:axis], at[axis] + -start, *at[axis + 1 :])
            inside = within(place[axis], extent)
            inner = self.value(source, place, joined(gate, inside))
            result = inner if result is None else self.select(inside, inner, result)
            start += extent
        return result

    def _gathered(self, node: UOp, at: At, gate: Gate) -> Any:
        data, indices = node.src[0], node.src[1:]
        rank = len(indices[0].shape)
        rest = iter(at[rank:])
        found: dict[int, Lin] = {}
        for axis, index in zip(node.arg.axes, indices, strict=True):
            size = data.shape[axis]
            place = self.affine(index, at[:rank])
            if place is None or within(place, size):
                place = self.loaded(node, axis, index, at[:rank], gate, size)
            found[axis] = place
        full = tuple(found[d] if d in found else next(rest) for d in range(len(data.shape)))
        return self.value(data, full, gate)

    def _counting(self, node: UOp, at: At) -> Lin:
        """A running sum of one integer: the integer times how many there are so far."""
        below = node.src[0]
        while below.op.name != "const":
            below = below.src[0]
        axis, reverse = node.arg
        steps = at[axis] * -1 + node.shape[axis] if reverse else at[axis] + 1
        return steps * int(below.arg.value)

    def affine(self, node: UOp, at: At) -> Lin | None:
        """The element as an index expression, if it is one: counting, shifted and scaled."""
        key = (node, at)
        if key not in self._lins:
            self._lins[key] = self._affine(node, at)
        return self._lins[key]

    def _affine(self, node: UOp, at: At) -> Lin | None:
        name = node.op.name
        if node in self.inputs or not node.dtype.is_int:
            return None
        if name == "const":
            return Lin(int(node.arg.value))
        if name in _VIEWS:
            return self.affine(node.src[0], moved(node, at))
        if name == "where":
            return self._affine_where(node, at)
        found = self._affine_value(node, at)
        return found if found is not None and _fits(found, node) else None

    def _affine_value(self, node: UOp, at: At) -> Lin | None:
        """What the op would give if its dtype had no bounds."""
        name = node.op.name
        if name == "scan_sum":
            return self._counting(node, at)
        if name == "cast":
            return self.affine(node.src[0], at)
        if name not in ("add", "sub", "mul"):
            return None
        a, b = (self.affine(s, at) for s in node.src)
        return None if a is None or b is None else _combined(name, a, b)

    def _affine_where(self, node: UOp, at: At) -> Lin | None:
        """`where(x < 0, x + n, x)` of an index that is never negative."""
        condition = node.src[0]
        if condition.op.name != "lt":
            return None
        a, b = (self.affine(s, at) for s in condition.src)
        if a is None or b is None:
            return None
        lo, hi = (a + b * -1).bounds()
        return self.affine(node.src[1 if hi < 0 else 2], at) if hi < 0 or lo >= 0 else None


def _combined(name: str, a: Lin, b: Lin) -> Lin | None:
    if name == "mul":
        if a.terms and b.terms:
            return None
        return a * b.const if not b.terms else b * a.const
    return a + (b if name == "add" else b * -1)


def _fits(x: Lin, node: UOp) -> bool:
    """Whether the dtype holds every value, so that nothing wraps around."""
    lo, hi = x.bounds()
    return bool(node.dtype.min <= lo and hi <= node.dtype.max)


# ---- views

_VIEWS = frozenset({"reshape", "permute", "expand", "flip", "shrink", "window", "wait"})
REDUCTIONS = frozenset(
    {"reduce_sum", "reduce_prod", "max", "min", "any", "all", "fold", "contract"}
)


def moved(node: UOp, at: At) -> At:
    """The index into a view's operand."""
    name, x = node.op.name, node.src[0]
    if name == "reshape":
        return reshaped(at, node.shape, x.shape)
    if name == "permute":
        back = dict(zip(node.arg.order, at, strict=True))
        return tuple([back[a] for a in range(len(at))])
    if name == "expand":
        lead = len(node.shape) - len(x.shape)
        return tuple([ZERO if n == 1 else at[lead + i] for i, n in enumerate(x.shape)])
    if name == "flip":
        sides = enumerate(zip(at, x.shape, strict=True))
        return tuple([i * -1 + (n - 1) if d in node.arg.axis else i for d, (i, n) in sides])
    if name == "shrink":
        start, _, step = node.arg
        return tuple([i * s + a for i, a, s in zip(at, start, step, strict=True)])
    if name == "window":
        return _windowed(node, at)
    if name == "wait":
        return at
    raise InternalError(f"{name} is no view")


def _windowed(node: UOp, at: At) -> At:
    base = len(node.src[0].shape)
    result = list(at[:base])
    for i, (axis, _, stride, dilation) in enumerate(zip(*node.arg, strict=True)):
        result[axis] = at[axis] * stride + at[base + i] * dilation
    return tuple(result)


def padded(node: UOp, at: At) -> tuple[At, Gate]:
    """The index into what is padded, and where it is inside."""
    place: list[Lin] = []
    inside: Gate = ()
    fields = zip(at, node.src[0].shape, node.arg.before, node.arg.interior, strict=True)
    for i, extent, before, interior in fields:
        at_source, conditions = stepped(i + -before, interior + 1, extent)
        place.append(at_source)
        inside = joined(inside, conditions)
    return tuple(place), inside


def stepped(x: Lin, step: int, extent: int) -> tuple[Lin, Gate]:
    """`x / step` for an x that must be a multiple of the step and below `extent` steps."""
    if step == 1:
        return x, within(x, extent)
    quotient, rest = x // step, x % step
    lo, hi = x.bounds()
    inside: Gate = () if lo >= 0 and hi < extent * step else (("in", x, extent * step),)
    return quotient, inside if rest == ZERO else (*inside, ("step", x, step))


# ---- reductions


def reduced_operands(node: UOp, at: At, loops: Sequence[Lin]) -> tuple[list[At], Gate]:
    """Where a reduction at an index reads its operands in one turn of its loops, and if it does."""
    name = node.op.name
    if name == "contract":
        spec = axes.parse(node.arg.spec)
        place = dict(zip(spec.out, at, strict=True)) | dict(zip(spec.summed, loops, strict=True))
        return [tuple(place[c] for c in term) for term in spec.terms], ()
    if name == "fold":
        return _folded(node, at, loops)
    x, (dims, keepdim) = node.src[0], node.arg
    kept, inner = iter(at), iter(loops)
    result = []
    for d in range(len(x.shape)):
        if d not in dims:
            result.append(next(kept))
            continue
        if keepdim:
            next(kept)
        result.append(next(inner))
    return [tuple(result)], ()


def _folded(node: UOp, at: At, loops: Sequence[Lin]) -> tuple[list[At], Gate]:
    arg, result = node.arg, list(at)
    gate: Gate = ()
    for d, stride, dilation, offset in zip(arg.axis, arg.stride, arg.dilation, loops, strict=True):
        place = at[d] + offset * -dilation
        result[d], inside = stepped(place, stride, node.src[0].shape[d])
        gate = joined(gate, inside)
    return [(*result, *loops)], gate


__all__ = ["At", "Gate", "Loaded", "Walk", "reduced_operands", "var", "within"]
