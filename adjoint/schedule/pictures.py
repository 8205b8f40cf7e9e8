"""Pictures with channels last in memory, where tiled convolutions read them that way.

Before: batch norm and relu of contract(w, window(pad(x))), channels second.
After: the same of contract(window(m), w), with places as rows and channels as columns, where m is x
with its zero padding, channels last, in memory once. Batch norm, relu, sums and pools between
convolutions follow in that order, and one permute is left where something needs the other: an
input, a result of the program.

The order of summation does not change, so no bit changes. What may live here: which convolutions
are reordered, and what products they become. What may not: how other nodes look in another order
(`channels.py`), and how a product is computed (`kernel/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from math import prod

from adjoint.ir.kernel_kind import View, is_constant
from adjoint.ir.pattern import AnyNode
from adjoint.ir.rewrite import Rule, RuleSet, rewrite_once
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp, toposort
from adjoint.kernel.places import MOST_LISTED, place_tile
from adjoint.ops.contract import contract
from adjoint.ops.convolve import (
    FORWARD,
    PICTURE,
    WEIGHTS,
    ConvolveArg,
    convolve,
    last_order,
    product_count,
    three_shapes,
)
from adjoint.ops.logic import copied
from adjoint.ops.movement import expand, padded, permute, reshape, shrink
from adjoint.ops.window import FoldArg, WindowArg, fold, window
from adjoint.schedule.channels import Turned, Walk, below_reshapes
from adjoint.schedule.convolutions import convolution_of, gradient_of_fold, in_part
from adjoint.schedule.margins import inside
from adjoint.target import Target

Shape = tuple[int, ...]
_FEW_CHANNELS = 4  # of a first picture
_MOST_ZEROS = 1 / 4  # of all products, that tiles of whole batches leave out (`margins.py`)


def pictures_last(roots: Sequence[UOp], target: Target) -> list[UOp]:
    """The roots over convolutions of pictures with channels last."""
    made = rewrite_once(roots, _rules(target))
    nodes = toposort(made)
    found = [node for node in nodes if node.op is convolve]
    if not found:
        return list(roots)
    walk = _Pictures(found, nodes)
    for node in nodes:
        walk.visit(node)
    turned = [walk.plain(root) for root in made]
    counts = (product_count(n.arg, n.src[0].shape, n.src[1].shape, n.shape) for n in found)
    return turned if sum(counts) > target.limits.turned_products * walk.moved else list(roots)


@cache
def _rules(target: Target) -> RuleSet:
    def product(node: UOp) -> UOp | None:
        """contract(window(pad(x)), w) = convolve(x, w)"""
        return _if_worth(convolution_of(node), target)

    def folded(node: UOp) -> UOp | None:
        """fold(contract(g, w)) = convolve(g, w), by the picture"""
        return _if_worth(gradient_of_fold(node), target)

    return RuleSet(
        (
            Rule("turned_convolution", AnyNode("node", (contract.name,)), product),
            Rule("turned_fold", AnyNode("node", (fold.name,)), folded),
            Rule("turned_in_part", AnyNode("node", (shrink.name,)), in_part),
        )
    )


def _if_worth(found: UOp | None, target: Target) -> UOp | None:
    node = found
    while node is not None and node.op in (permute, reshape):
        node = node.src[0]
    if node is None or node.op is not convolve:
        return None
    return found if _is_worth(node, target) else None


def _is_worth(node: UOp, target: Target) -> bool:
    """Whether tiles of places are faster, and have the same order of summation as other tiles."""
    arg, tile, operands = node.arg, target.tile, [s.shape for s in node.src]
    if tile is None or node.dtype.name not in tile.dtypes or arg.groups != 1:
        return False
    if varies(*node.shape, *operands[0], *operands[1]):
        return False
    picture, weights, out = three_shapes(arg, operands[0], operands[1], node.shape)
    many = product_count(arg, operands[0], operands[1], node.shape) >= target.limits.tiled_products
    listed = max(weights[:2]) * prod(weights[2:]) <= MOST_LISTED
    if not many or not listed or out[0] * prod(out[2:]) < target.limits.tiled_columns:
        return False
    each = target.limits.turned_channels
    wide = weights[0] % each == 0 and _are_wide(weights[1], arg, each)
    return wide and place_tile(out[-1], tile) is not None and _few_zeros(arg, picture, weights, out)


def _are_wide(channels: int, arg: ConvolveArg, each: int) -> bool:
    """Whether panels of channels are filled; those of a first picture are read as rows alone."""
    few = channels <= _FEW_CHANNELS and arg.wanted != PICTURE
    return few or channels % each == 0


def _few_zeros(arg: ConvolveArg, picture: Shape, weights: Shape, out: Shape) -> bool:
    """Whether few products are with zeros around a picture. The gradient by a picture is made as
    that by one with its margin at first."""
    margin = arg.padding
    if arg.wanted == PICTURE and not any(margin) and set(arg.stride) == {1}:
        margin = tuple((k - 1) * d // 2 for k, d in zip(weights[2:], arg.dilation, strict=True))
        picture = (*picture[:2], *out[2:])
    rows = zip(picture[2:], margin, out[2:], arg.stride, weights[2:], arg.dilation, strict=True)
    kept = prod(inside(n, -p, (count, s), (k, d)) for n, p, count, s, k, d in rows)
    return 1 - kept < _MOST_ZEROS


# ---- in another order


class _Pictures(Walk):
    """A walk that knows which pictures are read by windows, and how wide their margins are."""

    def __init__(self, found: Iterable[UOp], nodes: Iterable[UOp]):
        super().__init__()
        self.moved = 0  # bytes of what comes in one order and is wanted in the other
        self.stays = {x for node in nodes if node.op is contract for x in _views_below(node)}
        self.margins: dict[UOp, Shape] = {}
        for node in found:
            picture, margin = below_reshapes(node.src[0]), _margin(node)
            known = self.margins.get(picture, (0,) * len(margin))
            self.margins[picture] = tuple(map(max, known, margin))

    def follows(self, node: UOp) -> bool:
        return node not in self.stays

    def _elements(self, node: UOp) -> Turned | None:
        """In the order of most of its operands: one of them is put in another."""
        large = [s for s in node.src if s.dtype is node.dtype and not _is_spread(s)]
        mine = sum(s in self.turned for s in large)
        return None if large and 2 * mine <= len(large) else super()._elements(node)

    def is_sooner(self, node: UOp) -> bool:
        return True

    def visit(self, node: UOp) -> None:
        super().visit(node)
        margin = self.margins.get(node)
        if margin is not None and any(margin) and len(margin) + 2 == len(node.shape):
            self.turned[node] = self._in_margin(node, margin)

    def _in_margin(self, node: UOp, margin: Shape) -> Turned:
        """The node as the inside of memory that includes its padding."""
        order = (0, *range(2, len(node.shape)), 1)
        before = (0, *margin, 0)
        held = copied(padded(self.in_order(node, order), before, before))
        bounds = [(n, size - n) for n, size in zip(before, held.shape, strict=True)]
        self.same.pop(node, None)
        return Turned(held.shrink(bounds), order)

    def plain(self, node: UOp) -> UOp:
        if node not in self.same:
            found = self.turned[node].back()
            self.moved += _bytes_of(found)
            self.same[node] = copied(found) if _is_product(found) else found
        return self.same[node]

    def in_order(self, node: UOp, order: Shape) -> UOp:
        found = super().in_order(node, order)
        known = self.turned.get(node)
        if (known is None or known.order != order) and not _is_spread(node):
            self.moved += _bytes_of(found)
        return found

    def operands_of(self, node: UOp) -> tuple[UOp, UOp]:
        a, b = node.src
        order = last_order(len(b.shape))
        picture = self.in_order(a, last_order(len(a.shape)))
        if node.arg.wanted == WEIGHTS:
            return picture, self.in_order(b, order)
        return picture, self.plain(b).permute(order)

    def convolution(self, node: UOp, operands: tuple[UOp, UOp]) -> UOp:
        return _PRODUCTS[node.arg.wanted](node, *operands)


def _bytes_of(node: UOp) -> int:
    return 0 if is_constant(node) else int(node.size) * node.dtype.itemsize


def _is_spread(node: UOp) -> bool:
    """Whether a node has few numbers, each many times, or comes from such."""
    return is_constant(node) or node.op is expand


def _is_product(node: UOp) -> bool:
    """Whether a product is below views: its stored result would be strided across its tiles."""
    while isinstance(node.op.kernel, View) and len(node.src) == 1:
        node = node.src[0]
    return node.op is contract


def _views_below(node: UOp) -> Iterator[UOp]:
    """The views that other products read through, which are seen there as they are."""
    stack = list(node.src)
    while stack:
        x = stack.pop()
        if isinstance(x.op.kernel, View) and x.op is not reshape:
            yield x
        if isinstance(x.op.kernel, View):
            stack += x.src


def _margin(node: UOp) -> Shape:
    """How wide a margin the windows of the first operand see."""
    arg, taps = node.arg, node.src[1].shape[2:]
    if arg.wanted != PICTURE:
        return arg.padding
    if set(arg.stride) != {1}:
        return (0,) * len(arg.padding)
    rows = zip(taps, arg.dilation, arg.padding, strict=True)
    return tuple((k - 1) * d - p for k, d, p in rows)


def _bordered(x: UOp, margin: Shape) -> UOp:
    """A picture with a margin, from memory that has it."""
    before = (0, *margin, 0)
    if x.op is shrink and set(x.arg.step) == {1}:
        held = x.src[0]
        bounds = [(a - n, b + n) for a, b, n in zip(x.arg.start, x.arg.stop, before, strict=True)]
        if all(a >= 0 and b <= n for (a, b), n in zip(bounds, held.shape, strict=True)):
            return held if bounds == [(0, n) for n in held.shape] else held.shrink(bounds)
    return padded(x, before, before) if any(margin) else x


def _windows(x: UOp, node: UOp, taps: Shape, stride: Shape) -> UOp:
    """Windows of a picture, its taps last."""
    along = tuple(range(1, len(taps) + 1))
    found = _bordered(x, _margin(node))
    return UOp(window, (found,), WindowArg(along, tuple(taps), stride, node.arg.dilation))


def _letters(count: int) -> tuple[str, str]:
    return "uvwxyz"[:count], "ijklmn"[:count]


def _forward(node: UOp, x: UOp, w: UOp) -> UOp:
    places, taps = _letters(len(node.arg.size))
    windows = _windows(x, node, w.shape[1:-1], node.arg.stride)
    return windows.contract(w, f"b{places}c{taps},o{taps}c->b{places}o")


def _weights(node: UOp, x: UOp, g: UOp) -> UOp:
    places, taps = _letters(len(node.arg.size))
    windows = _windows(x, node, node.arg.size, node.arg.stride)
    return g.contract(windows, f"b{places}o,b{places}c{taps}->o{taps}c")


def _picture(node: UOp, g: UOp, w: UOp) -> UOp:
    places, taps = _letters(len(node.arg.size))
    if set(node.arg.stride) != {1}:
        return _folded(node, g, w)
    turned = copied(w.flip(*range(1, len(taps) + 1)))
    windows = _windows(g, node, w.shape[1:-1], node.arg.stride)
    found = windows.contract(turned, f"b{places}o{taps},o{taps}c->b{places}c")
    bounds = [(0, n) for n in (found.shape[0], *node.arg.size, found.shape[-1])]
    return found if [b for _, b in bounds] == list(found.shape) else found.shrink(bounds)


def _folded(node: UOp, g: UOp, w: UOp) -> UOp:
    """The windows of the gradient, added where they overlap."""
    arg, (places, taps) = node.arg, _letters(len(node.arg.size))
    count = len(places)
    made = g.contract(copied(w), f"b{places}o,o{taps}c->b{places}{taps}c")
    order = (*range(count + 1), 2 * count + 1, *range(count + 1, 2 * count + 1))
    sizes = [n + 2 * p for n, p in zip(arg.size, arg.padding, strict=True)]
    shape, along = (g.shape[0], *sizes, w.shape[-1]), tuple(range(1, count + 1))
    values = FoldArg(shape, along, tuple(w.shape[1:-1]), arg.stride, arg.dilation)
    found = UOp(fold, (made.permute(order),), values)
    inside_ = [(p, p + n) for n, p in zip(arg.size, arg.padding, strict=True)]
    return found.shrink([(0, shape[0]), *inside_, (0, shape[-1])])


_PRODUCTS = {FORWARD: _forward, WEIGHTS: _weights, PICTURE: _picture}
