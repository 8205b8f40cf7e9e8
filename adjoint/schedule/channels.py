"""Pictures keep channels last from one convolution to the next.

Tensor cores read the channels of a place as neighbours.

Before: convolve(x, w) of 16-bit floats, batch norm, relu, pooling and a convolution again, all with
their channels before the places.
After: convolve of permute(x) and permute(w), and the same work on its result; one permute where
something needs the other order: an input, a result of the program. No element is copied between.

What may live here: how each kind of node looks in another order of its axes. Sums keep the order of
their elements, so no bit changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from adjoint.ir.kernel_kind import Pointwise, Reduce, is_constant, kernel_of
from adjoint.ir.opdef import OPS, OpDef
from adjoint.ir.uop import UOp, rebuild, toposort
from adjoint.ops.convolve import WEIGHTS, ConvolveArg, convolve, last_order
from adjoint.ops.movement import (
    PadArg,
    ShrinkArg,
    expand,
    flip,
    inverse,
    pad_constant,
    reshape,
    shrink,
)
from adjoint.ops.window import FoldArg, WindowArg, fold, window
from adjoint.schedule.few_channels import with_rows

Shape = tuple[int, ...]
_NARROW = ("float16", "bfloat16")


class Turned(NamedTuple):
    """A node with its axes in another order: axis i of `node` was axis order[i]."""

    node: UOp
    order: Shape

    def back(self) -> UOp:
        """The node in its original order."""
        return self.node.permute(inverse(self.order))


def channels_last(roots: Sequence[UOp]) -> list[UOp]:
    """The roots over convolutions with channels last, where that is faster."""
    nodes = toposort(roots)
    if not any(node.op is convolve and _is_sooner(node) for node in nodes):
        return list(roots)
    walk = Walk()
    for node in nodes:
        walk.visit(node)
    return [walk.plain(root) for root in roots]


def below_reshapes(node: UOp) -> UOp:
    """The node below reshapes."""
    while node.op is reshape:
        node = node.src[0]
    return node


def _is_sooner(node: UOp) -> bool:
    return node.dtype.name in _NARROW and not node.arg.channels_last


class Walk:
    """What has become of each node: itself over new operands, or another order of its axes."""

    def __init__(self) -> None:
        self.same: dict[UOp, UOp] = {}
        self.turned: dict[UOp, Turned] = {}

    def follows(self, node: UOp) -> bool:
        """Whether a node takes the order of its operand."""
        return True

    def is_sooner(self, node: UOp) -> bool:
        """Whether a convolution is reordered."""
        return _is_sooner(node)

    def operands_of(self, node: UOp) -> tuple[UOp, UOp]:
        """Its operands with their channels last."""
        a, b = (self.in_order(s, last_order(len(s.shape))) for s in node.src)
        return a, b

    def convolution(self, node: UOp, operands: tuple[UOp, UOp]) -> UOp:
        """The convolution of operands with channels last."""
        *values, _ = node.arg
        return with_rows(UOp(convolve, operands, ConvolveArg(*values, True)))

    def visit(self, node: UOp) -> None:
        """The node, sources first."""
        base = below_reshapes(node)
        if base is not node and base.shape == node.shape:
            self._is(node, base)
        elif node.op is convolve and self.is_sooner(node):
            self._convolve(node)
        else:
            found = self._turned(node) if self.follows(node) else None
            if found is not None:
                self.turned[node] = found
            else:
                src = tuple([self.plain(s) for s in node.src])
                self.same[node] = node if src == node.src else rebuild(node, src)

    def plain(self, node: UOp) -> UOp:
        """The node in the order that it had."""
        if node not in self.same:
            self.same[node] = self.turned[node].back()
        return self.same[node]

    def _is(self, node: UOp, other: UOp) -> None:
        if other in self.turned:
            self.turned[node] = self.turned[other]
        else:
            self.same[node] = self.same[other]

    def _convolve(self, node: UOp) -> None:
        made = Turned(self.convolution(node, self.operands_of(node)), last_order(node.ndim))
        if node.arg.wanted == WEIGHTS:  # what meets it has the order of the weights
            self.same[node] = made.back()
        else:
            self.turned[node] = made

    def in_order(self, node: UOp, order: Shape) -> UOp:
        """A node with its axes in an order."""
        found = self.turned.get(node)
        if found is not None and found.order == order:
            return found.node
        if is_constant(node):
            shape = _of_each(node.shape, order)
            made: UOp = OPS["const"](node.arg.value, node.dtype, shape, node.device)
            return made
        return self.plain(node).permute(order)

    def _turned(self, node: UOp) -> Turned | None:
        if not any(s in self.turned for s in node.src):
            return None
        kernel = kernel_of(node)
        if type(kernel) is Pointwise:
            return self._elements(node)
        known = self.turned.get(node.src[0])
        if known is None or len(node.src) != 1:
            return None
        if type(kernel) is Reduce and kernel.index_map is None:
            return self._reduced(node, known)
        move = _MOVES.get(node.op)
        return None if move is None else move(node, known)

    def _elements(self, node: UOp) -> Turned | None:
        if any(s.shape != node.shape for s in node.src):
            return None
        order = next(self.turned[s].order for s in node.src if s in self.turned)
        made = rebuild(node, tuple([self.in_order(s, order) for s in node.src]))
        return Turned(made, order)

    def _reduced(self, node: UOp, known: Turned) -> Turned | None:
        dims, keepdim = node.arg
        places = [known.order.index(d) for d in dims]
        if places != sorted(places):
            return None  # other elements would meet first
        made: UOp = node.op(known.node, tuple(places), keepdim)
        kept = known.order if keepdim else tuple(d for d in known.order if d not in dims)
        left = sorted(kept)
        return Turned(made, tuple(left.index(d) for d in kept))


# ---- moves: a node of which one operand has its axes in another order


def _of_each(values: Sequence[int], order: Shape) -> Shape:
    return tuple(values[d] for d in order)


def _padded(node: UOp, known: Turned) -> Turned:
    *each, value = node.arg
    arg = PadArg(*[_of_each(values, known.order) for values in each], value)
    return Turned(UOp(pad_constant, (known.node,), arg), known.order)


def _shrunk(node: UOp, known: Turned) -> Turned:
    arg = ShrinkArg(*[_of_each(values, known.order) for values in node.arg])
    return Turned(UOp(shrink, (known.node,), arg), known.order)


def _expanded(node: UOp, known: Turned) -> Turned | None:
    if len(node.shape) != len(known.order):
        return None
    return Turned(known.node.expand(_of_each(node.shape, known.order)), known.order)


def _flipped(node: UOp, known: Turned) -> Turned:
    dims = [known.order.index(d) for d in node.arg.axis]
    return Turned(known.node.flip(*dims), known.order)


def _windows(node: UOp, known: Turned) -> Turned:
    """Taps go before contiguous axes, which are read and written in one access."""
    dims, *rest = node.arg
    arg = WindowArg(tuple(known.order.index(d) for d in dims), *rest)
    rank, count = len(known.order), len(node.shape)
    lying = UOp(window, (known.node,), arg).permute(*range(rank - 1), *range(rank, count), rank - 1)
    return Turned(lying, (*known.order[:-1], *range(rank, count), known.order[-1]))


def _folded(node: UOp, known: Turned) -> Turned:
    rank, order = len(node.shape), known.order
    places = [i for i, d in enumerate(order) if d < rank]
    taps = [order.index(d) for d in range(rank, len(order))]
    kept = tuple(order[i] for i in places)
    shape, dims, *rest = node.arg
    arg = FoldArg(_of_each(shape, kept), tuple(kept.index(d) for d in dims), *rest)
    return Turned(UOp(fold, (known.node.permute(*places, *taps),), arg), kept)


_MOVES: dict[OpDef, Callable[[UOp, Turned], Turned | None]] = {
    pad_constant: _padded,
    shrink: _shrunk,
    expand: _expanded,
    flip: _flipped,
    window: _windows,
    fold: _folded,
}
