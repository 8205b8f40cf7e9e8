"""From a node and an index to the computation of that element: movement becomes index arithmetic.

A walk goes from a result to the memory below it. Every view only changes the index; PAD and CAT add
a condition under which the element exists. `Probe` and `Lowering` decide what happens to the
elements that the walk finds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.ir.affine import LINEAR, ZERO, Affine, flattened
from adjoint.ir.kernel_kind import (
    CONSTANT,
    Counting,
    Gather,
    Read,
    View,
    filled_value,
    is_reduction,
    kernel_of,
    reduce_of,
)
from adjoint.ir.opdef import OpDef
from adjoint.ir.sizes import highest, less, lowest
from adjoint.ir.uop import UOp
from adjoint.ops.arithmetic import add, mul, sub
from adjoint.ops.casts import cast
from adjoint.ops.logic import lt, where

At = tuple[Affine, ...]  # an index: one expression per axis
Condition = tuple[str, Affine, int]  # ("in", x, n): 0 ≤ x < n; ("step", x, n): n divides x
Gate = tuple[Condition, ...]


def within(x: Affine, extent: int) -> Gate:
    """The condition 0 ≤ x < extent, if it is one."""
    lo, hi = x.bounds()
    return () if less(-1, lo) and less(hi, extent) else (("in", x, extent),)


def is_never(gate: Gate) -> bool:
    """Whether a condition cannot hold."""
    return any(kind == "in" and _is_outside(*x.bounds(), extent) for kind, x, extent in gate)


def _is_outside(lo: int, hi: int, extent: int) -> bool:
    return less(hi, 0) or less(extent, lo + 1)


def joined(gate: Gate, more: Gate) -> Gate:
    """Both conditions."""
    return gate + tuple(c for c in more if c not in gate)


class ElementWalk:
    """Visits elements. Subclasses define a load, a constant, and an op on elements."""

    def __init__(self, inputs: Sequence[UOp]):
        self.inputs = {node: i for i, node in enumerate(inputs)}
        self._memo: dict[tuple[UOp, At, Gate], Any] = {}
        self._lins: dict[tuple[UOp, At], Affine | None] = {}

    # what subclasses do

    def load(self, node: UOp, place: Affine, gate: Gate) -> Any:
        raise NotImplementedError

    def constant(self, node: UOp, value: Any) -> Any:
        raise NotImplementedError

    def counted(self, node: UOp, x: Affine) -> Any:
        """An index expression as a number of the node's dtype."""
        raise NotImplementedError

    def apply(self, node: UOp, operands: list[Any], at: At, gate: Gate) -> Any:
        """An op on elements; under a bounds check the value is right only where the check holds."""
        raise NotImplementedError

    def select(self, gate: Gate, value: Any, other: Any) -> Any:
        raise NotImplementedError

    def loaded(self, node: UOp, axis: int, index: UOp, at: At, gate: Gate, size: int) -> Affine:
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
        kernel = kernel_of(node)
        if kernel is CONSTANT:
            return self.constant(node, node.arg.value)
        if type(kernel) is View:
            return self._viewed(node, kernel, at, gate)
        if is_reduction(node):
            return self.reduction(node, at)
        if type(kernel) is Counting:
            return self.counted(node, self._counting(node, at))
        found = self.kept(node, at, gate)
        if found is not None:
            return found
        if type(kernel) is Gather:
            return self._gathered(node, at, gate)
        return self.apply(node, [self.value(s, at, gate) for s in node.src], at, gate)

    def _viewed(self, node: UOp, kernel: View, at: At, gate: Gate) -> Any:
        """The element of the operand that has one at the index, else what fills the view.

        Reads are in the order of the operands; a later one is taken where it exists.
        """
        reads = kernel.index_map(node, at, LINEAR)
        first = reads[0]
        if first.steps is None:
            return self.value(first.source, first.place, gate)
        result = None
        for read in reads:
            place, inside = placed(read)
            if inside and kernel.fill is not None and result is None:
                result = self.constant(read.source, kernel.fill(node))
            if is_never(inside) and (result is not None or read is not reads[-1]):
                continue
            inner = self.value(read.source, place, joined(gate, inside))
            sure = result is None or not inside
            result = inner if sure else self.select(inside, inner, result)
        return result

    def _gathered(self, node: UOp, at: At, gate: Gate) -> Any:
        data, indices = node.src[0], node.src[1:]
        rank = len(indices[0].shape)
        rest = iter(at[rank:])
        found: dict[int, Affine] = {}
        for axis, index in zip(node.arg.axes, indices, strict=True):
            size = data.shape[axis]
            place = self.affine(index, at[:rank])
            if place is None or within(place, size):
                place = self.loaded(node, axis, index, at[:rank], gate, size)
            found[axis] = place
        full = tuple(found[d] if d in found else next(rest) for d in range(len(data.shape)))
        return self.value(data, full, gate)

    def _counting(self, node: UOp, at: At) -> Affine:
        """A running sum of one integer: the integer times how many there are so far."""
        axis, reverse = node.arg
        steps = at[axis] * -1 + node.shape[axis] if reverse else at[axis] + 1
        return steps * int(filled_value(node.src[0]))

    def affine(self, node: UOp, at: At) -> Affine | None:
        """The element as an index expression, if it is one: counting, shifted and scaled."""
        key = (node, at)
        if key not in self._lins:
            self._lins[key] = self._affine(node, at)
        return self._lins[key]

    def _affine(self, node: UOp, at: At) -> Affine | None:
        kernel = node.op.kernel
        if node in self.inputs or not node.dtype.is_int:
            return None
        if kernel is CONSTANT:
            return Affine(node.arg.value)
        if type(kernel) is View:
            return self._affine_view(node, kernel, at)
        if node.op is where:
            return self._affine_where(node, at)
        found = self._affine_value(node, at)
        return found if found is not None and _fits(found, node) else None

    def _affine_view(self, node: UOp, kernel: View, at: At) -> Affine | None:
        """Through a view all of whose elements are elements of its operand."""
        read, *others = kernel.index_map(node, at, LINEAR)
        return None if others or read.steps else self.affine(read.source, read.place)

    def _affine_value(self, node: UOp, at: At) -> Affine | None:
        """The value of the op if its dtype had no bounds."""
        if type(kernel_of(node)) is Counting:
            return self._counting(node, at)
        if node.op is cast:
            return self.affine(node.src[0], at)
        if node.op not in LINEAR_OPS:
            return None
        a, b = (self.affine(s, at) for s in node.src)
        return None if a is None or b is None else LINEAR_OPS[node.op](a, b)

    def _affine_where(self, node: UOp, at: At) -> Affine | None:
        """`where(x < 0, x + n, x)` of an index that is never negative."""
        condition = node.src[0]
        if condition.op is not lt:
            return None
        a, b = (self.affine(s, at) for s in condition.src)
        if a is None or b is None:
            return None
        lo, hi = (a + b * -1).bounds()
        below = less(hi, 0)
        return self.affine(node.src[1 if below else 2], at) if below or less(-1, lo) else None


def _product(a: Affine, b: Affine) -> Affine | None:
    if a.terms and b.terms:
        return None
    return a * b.const if not b.terms else b * a.const


LINEAR_OPS: dict[OpDef, Callable[[Affine, Affine], Affine | None]] = {
    add: lambda a, b: a + b,
    sub: lambda a, b: a + b * -1,
    mul: _product,
}


def _fits(x: Affine, node: UOp) -> bool:
    """Whether the dtype holds every value, so that nothing wraps around."""
    lo, hi = x.bounds()
    return bool(node.dtype.min <= lowest(lo) and highest(hi) <= node.dtype.max)


# ---- reads


def placed(read: Read) -> tuple[At, Gate]:
    """The index of a read in its operand, and the condition under which the element exists."""
    if read.steps is None:
        return read.place, ()
    place = list(read.place)
    inside: Gate = ()
    for d, step in enumerate(read.steps):
        if step:
            place[d], conditions = stepped(place[d], step, read.source.shape[d])
            inside = joined(inside, conditions)
    return tuple(place), inside


def stepped(x: Affine, step: int, extent: int) -> tuple[Affine, Gate]:
    """`x / step` for an x that must be a multiple of the step and below `extent` steps."""
    if step == 1:
        return x, within(x, extent)
    quotient, rest = x // step, x % step
    lo, hi = x.bounds()
    sure = less(-1, lo) and less(hi, extent * step)
    inside: Gate = () if sure else (("in", x, extent * step),)
    return quotient, inside if rest == ZERO else (*inside, ("step", x, step))


# ---- reductions


def reduced_operands(node: UOp, at: At, loops: At) -> tuple[list[At], Gate]:
    """The indices at which a reduction reads its operands in one iteration of its loops, and the
    bounds check.
    """
    places: list[At] = []
    gate: Gate = ()
    for read in reduce_of(node).reads(node, at, loops):
        place, inside = placed(read)
        places.append(place)
        gate = joined(gate, inside)
    return places, gate
