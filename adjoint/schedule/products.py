"""Rules about products with windows, before they become products of matrices.

Before: fold(contract(g, w, "bouv,ocij->bcuvij")), the gradient of a convolution by its picture,
whose product is as large as all windows of the picture.
After: contract(window(pad(g)), flip(w)), a convolution too.

Before: contract(g, window(x), "bouv,bcuvij->ocij"), the gradient by the weights.
After: the same of a picture with channels last, which are the columns then. For pictures with few
places, the windows of all pictures are the columns of one product, instead of one product per
picture.

What may live here: rules. What may not: matrices (`legalise.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod

from adjoint.ir import axes
from adjoint.ir.pattern import AnyNode
from adjoint.ir.rewrite import Rule, RuleSet
from adjoint.ir.uop import UOp
from adjoint.ops.contract import contract
from adjoint.ops.logic import copied
from adjoint.ops.movement import flip, pad_constant, padded, shrink
from adjoint.ops.window import fold, window
from adjoint.schedule.classify import summed_size
from adjoint.schedule.margins import are_many_around
from adjoint.schedule.strategy import are_many
from adjoint.target import Target


def _of_windows(node: UOp, target: Target) -> UOp | None:
    product = node.src[0]
    if set(node.arg.stride) != {1}:
        return _with_places_last(node)
    spec, rank = axes.parse(product.arg.spec), len(node.shape)
    places, taps = {spec.out[a] for a in node.arg.axis}, spec.out[rank:]
    for which in (0, 1):
        picture, weights = spec.terms[which], spec.terms[1 - which]
        apart = places.isdisjoint(weights) and set(taps).isdisjoint(picture)
        rows = prod(
            n
            for c, n in zip(weights, product.src[1 - which].shape, strict=True)
            if c in spec.out[:rank] and c not in picture
        )
        fits = places.issubset(picture) and set(taps).issubset(weights)
        few = max(rows, summed_size(product)) < target.limits.windowed_rows  # of loops
        if apart and fits and (rows >= target.limits.windowed_rows or few):
            return _product(node, spec, which)
    return None


def _with_places_last(node: UOp) -> UOp | None:
    """The same fold of a product whose places, not its taps, are contiguous."""
    product = node.src[0]
    spec, rank = axes.parse(product.arg.spec), len(node.shape)
    places, taps = {spec.out[a] for a in node.arg.axis}, set(spec.out[rank:])
    for which in (0, 1):
        picture, weights = spec.terms[which], spec.terms[1 - which]
        if places.issubset(picture) and taps.isdisjoint(picture):
            out = "".join(sorted(spec.out, key=picture.__contains__))
            turned = product.src[1 - which].contract(
                product.src[which], f"{weights},{picture}->{out}"
            )
            return UOp(fold, (turned.permute([out.index(c) for c in spec.out]),), node.arg)
    return None


def _product(node: UOp, spec: axes.Letters, which: int) -> UOp:
    """The product of all windows of one operand with the other, whose taps are flipped."""
    x, y = (node.src[0].src[i] for i in (which, 1 - which))
    letters, others = spec.terms[which], spec.terms[1 - which]
    rank = len(node.shape)
    taps, along = spec.out[rank:], [letters.index(spec.out[a]) for a in node.arg.axis]
    reach = [0] * len(letters)
    for d, size, gap in zip(along, node.arg.size, node.arg.dilation, strict=True):
        reach[d] = (size - 1) * gap
    windows = padded(x, reach, reach).window(along, node.arg.size, 1, node.arg.dilation)
    turned = y.flip(*[others.index(c) for c in taps])
    terms = [f"{letters}{taps}", others]
    operands = [windows, turned]
    if which:
        terms, operands = terms[::-1], operands[::-1]
    return operands[0].contract(operands[1], f"{','.join(terms)}->{spec.out[:rank]}")


def _part_of_windows(node: UOp) -> UOp | None:
    """shrink(contract(window(pad(g)), flip(w))) = the product of those windows alone"""
    product, (start, stop, step) = node.src[0], node.arg
    if product.op is not contract or set(step) != {1} or not _is_made_here(product.src):
        return None
    spec = axes.parse(product.arg.spec)
    bounds = dict(zip(spec.out, zip(start, stop, strict=True), strict=True))
    parts = [
        _part(x, [bounds.get(c, (0, n)) for c, n in zip(term, x.shape, strict=True)])
        for x, term in zip(product.src, spec.terms, strict=True)
    ]
    return parts[0].contract(parts[1], product.arg.spec)


def _part(x: UOp, bounds: list[tuple[int, int]]) -> UOp:
    """Some of the elements; of windows one step apart, those of some of the picture."""
    if x.op is not window:
        return x.shrink(bounds)
    arg, picture = x.arg, x.src[0]
    kept = bounds[: len(picture.shape)]
    for axis, size, gap in zip(arg.axis, arg.size, arg.dilation, strict=True):
        start, stop = kept[axis]
        kept[axis] = start, stop + (size - 1) * gap
    return UOp(window, (picture.shrink(kept),), arg)


def _is_made_here(operands: Sequence[UOp]) -> bool:
    """Whether the operands are those of a fold that has become a product: it has no other use."""
    ops = {node.op for node in operands}
    return ops == {window, flip}


# ---- channels side by side

_FEWEST = 8  # channels that are worth it
_FULL = 16  # a multiple of which is read where it lies, with the zeros around


def _by_channels(node: UOp, target: Target) -> UOp | None:
    for which in (0, 1):
        spec, windows = axes.parse(node.arg.spec), node.src[which]
        if windows.op is window:
            rank, term = len(windows.src[0].shape), spec.terms[which]
            own = [c for c in term[:rank] if c in spec.out and c not in spec.terms[1 - which]]
            kept = set(term[rank:]).issubset(spec.out) and len(own) == 1
            rows = prod(n for c, n in zip(spec.out, node.shape, strict=True) if c not in term)
            wide = kept and windows.shape[term.index(own[0])] >= _FEWEST
            if wide and rows >= target.limits.windowed_rows:
                return _with_channels_last(node, spec, which, own[0])
    return None


def _with_channels_last(node: UOp, spec: axes.Letters, which: int, channels: str) -> UOp:
    windows, axis = node.src[which], spec.terms[which].index(channels)
    count = windows.shape[axis]
    margin = count % _FULL == 0 and not are_many_around(windows, count)
    picture = _side_by_side(windows.src[0], axis, margin)
    operands = list(node.src)
    operands[which] = UOp(window, (picture,), windows.arg)
    taps = spec.terms[which][len(picture.shape) :]
    out = "".join(c for c in spec.out if c not in taps and c != channels) + taps + channels
    product = operands[0].contract(operands[1], f"{','.join(spec.terms)}->{out}")
    return product.permute([out.index(c) for c in spec.out])


def _side_by_side(x: UOp, axis: int, margin: bool = False) -> UOp:
    """A copy with an axis last in memory; the padding of a picture is copied if products do not
    skip it: then no kernel tests for it.
    """
    if x.op is shrink or (x.op is pad_constant and not margin):
        return UOp(x.op, (_side_by_side(x.src[0], axis, margin),), x.arg)
    if axis == len(x.shape) - 1:
        return x
    order = [d for d in range(len(x.shape)) if d != axis] + [axis]
    return copied(x.permute(order)).permute([order.index(d) for d in range(len(order))])


# ---- small pictures

_MOST_PLACES = 128  # of a picture whose columns are those of a place,
_FEWEST_ROWS = 128  # if so many meet them: products that count are listed for each panel


def _in_one(node: UOp, target: Target) -> UOp | None:
    spec = axes.parse(node.arg.spec)
    sizes = dict(zip(spec.out, node.shape, strict=True))
    for which in (0, 1):
        own, other = (spec.terms[i] for i in (which, 1 - which))
        rows = "".join(c for c in spec.out if c not in own)
        batch, _, places = spec.out.partition(rows) if rows else ("", "", "")
        apart = batch and places and set(own).issuperset(batch + places)
        if apart and set(other).isdisjoint(batch + places) and _are_windows(node.src[which]):
            count = prod(sizes[c] for c in places)
            small = count <= _MOST_PLACES and prod(sizes[c] for c in rows) >= _FEWEST_ROWS
            alike = small and target.team is None
            if alike and are_many_around(node.src[which], sizes[batch[-1]]):
                return _place_by_place(node, which, rows, places, batch)
            if count < target.limits.tiled_columns <= count * prod(sizes[c] for c in batch):
                out = rows + batch + places
                product = node.src[0].contract(node.src[1], f"{','.join(spec.terms)}->{out}")
                return product.permute([out.index(c) for c in spec.out])
    return None


def _place_by_place(node: UOp, which: int, rows: str, places: str, batch: str) -> UOp:
    """One product for all pictures whose columns are those of a place, then those of the next: they
    have the same taps in the padding (`margins.py`).
    """
    spec, operands = axes.parse(node.arg.spec), list(node.src)
    windows = operands[which]
    picture = _side_by_side(windows.src[0], spec.terms[which].index(batch[-1]))
    operands[which] = UOp(window, (picture,), windows.arg)
    made, out = rows + places + batch, rows + batch + places
    product = operands[0].contract(operands[1], f"{','.join(spec.terms)}->{made}")
    result = copied(product.permute([made.index(c) for c in out]))
    return result.permute([out.index(c) for c in spec.out])


def _are_windows(node: UOp) -> bool:
    """Whether a node is windows, or some of them."""
    return node.op is window or (node.op is shrink and node.src[0].op is window)


@cache
def product_rules(target: Target) -> RuleSet:
    """The rules for a target: about products that are large enough for its tiles."""

    def windows(node: UOp) -> UOp | None:
        """fold(contract(g, w)) = contract(window(pad(g)), flip(w)), windows one step apart"""
        return _of_windows(node, target) if _is_product(node.src[0], target) else None

    def channels(node: UOp) -> UOp | None:
        """contract(g, window(x)) = the same with the channels of x last in memory, taps kept"""
        return _by_channels(node, target) if _is_product(node, target) else None

    return RuleSet(
        (
            Rule("fold_of_product", AnyNode("node", (fold.name,)), windows),
            Rule("part_of_windows", AnyNode("node", (shrink.name,)), _part_of_windows),
            Rule("channels_last", AnyNode("node", (contract.name,)), channels),
        )
    )


@cache
def picture_rules(target: Target) -> RuleSet:
    """The rules for what these have made, and for what was there."""

    def pictures(node: UOp) -> UOp | None:
        """contract(w, window(x)) of pictures smaller than a tile = one product for all pictures"""
        return _in_one(node, target) if _is_product(node, target) else None

    return RuleSet((Rule("pictures_in_one", AnyNode("node", (contract.name,)), pictures),))


def _is_product(node: UOp, target: Target) -> bool:
    """Whether a node is a product that tiles may compute."""
    return node.op is contract and are_many(node, target)


def has_windows(nodes: Sequence[UOp]) -> bool:
    """Whether there is anything that these rules are about."""
    return any(node.op is fold or node.op is window for node in nodes)
