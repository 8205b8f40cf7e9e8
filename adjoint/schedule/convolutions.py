"""Recognises products with windows as convolutions, for targets with a library that computes those.

Before: contract(window(pad(x)), w, "bcuvij,ocij->bouv"), a convolution;
contract(window(pad(x)), g, "bcuvij,bouv->ocij"), its gradient by the weights;
shrink(fold(contract(g, w, "bouv,ocij->bcuvij"))), its gradient by the picture.
After: a CONVOLVE each, between views.

Letters that picture and weights share with the result are groups. What may live here: which nodes
are a convolution. What may not: the layout of their memory (`channels.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from math import prod
from typing import NamedTuple

from adjoint.ir import axes
from adjoint.ir.pattern import AnyNode
from adjoint.ir.rewrite import Rule, RuleSet
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.ops.contract import contract
from adjoint.ops.convolve import (
    FORWARD,
    PICTURE,
    WEIGHTS,
    ConvolveArg,
    convolve,
    product_count,
)
from adjoint.ops.movement import pad_constant, padded, reshape, shrink
from adjoint.ops.window import fold, window, window_count
from adjoint.target import Target

Shape = tuple[int, ...]
_MOST_AXES = 3  # of places
_FEWEST = 1 << 16  # products; fewer are sooner added up by loops
LARGEST = 1 << 31  # elements: the library counts in 32 bits


class Windows(NamedTuple):
    """Windows of a picture in a margin of zeros; `axis` are its places, one for each size."""

    picture: UOp
    axis: Shape
    size: Shape
    stride: Shape
    dilation: Shape
    padding: Shape

    def values(self, wanted: str, size: Sequence[int], groups: int) -> ConvolveArg:
        """The attributes of a convolution with these windows."""
        return ConvolveArg(wanted, tuple(size), self.stride, self.padding, self.dilation, groups)


@cache
def convolution_rules(target: Target) -> RuleSet:
    """The rules for a target."""

    def product(node: UOp) -> UOp | None:
        """contract(window(pad(x)), w) = convolve(x, w)"""
        return convolution_of(node) if target.computes("convolve", node.dtype) else None

    def folded(node: UOp) -> UOp | None:
        """fold(contract(g, w)) = convolve(g, w), by the picture"""
        return gradient_of_fold(node) if target.computes("convolve", node.dtype) else None

    return RuleSet(
        (
            Rule("convolution", AnyNode("node", (contract.name,)), product),
            Rule("convolution_of_fold", AnyNode("node", (fold.name,)), folded),
            Rule("convolution_in_part", AnyNode("node", (shrink.name,)), in_part),
        )
    )


# ---- contractions with windows


def convolution_of(node: UOp) -> UOp | None:
    """The convolution, or gradient by the weights, that a contraction is, between views."""
    spec = axes.parse(node.arg.spec)
    for which in (0, 1):
        windows = _windows(node.src[which])
        if windows is None or len(windows.axis) > _MOST_AXES:
            continue
        term = spec.terms[which]
        places = [term[a] for a in windows.axis]
        taps = term[len(windows.picture.shape) :]
        kept, summed = set(spec.out), set(spec.summed)
        if kept.issuperset(places) and summed.issuperset(taps):
            return _forward(windows, _Letters(node, which, places, taps))
        if kept.issuperset(taps) and summed.issuperset(places):
            return _weights(windows, _Letters(node, which, places, taps))
    return None


def _forward(windows: Windows, letters: _Letters) -> UOp | None:
    places, taps, sizes = letters.places, letters.taps, letters.sizes
    if not letters.are_apart(places):
        return None
    batch, groups, channels, results = letters.parts(of_result=True)
    x = _gathered(windows.picture, letters.mine, batch, groups + channels, places)
    w = _gathered(letters.operand, letters.other, groups + results, channels, taps)
    arg = windows.values(FORWARD, [sizes[c] for c in places], _count(sizes, groups))
    found = _made(x, w, arg)
    order = [*batch, *groups, *results, *places]
    return None if found is None else _spread(found, order, letters.out, sizes)


def _weights(windows: Windows, letters: _Letters) -> UOp | None:
    places, taps, sizes = letters.places, letters.taps, letters.sizes
    if not letters.are_apart(taps):
        return None
    batch, groups, channels, results = letters.parts(of_result=False)
    x = _gathered(windows.picture, letters.mine, batch, groups + channels, places)
    g = _gathered(letters.operand, letters.other, batch, groups + results, places)
    found = _made(x, g, windows.values(WEIGHTS, windows.size, _count(sizes, groups)))
    order = [*groups, *results, *channels, *taps]
    return None if found is None else _spread(found, order, letters.out, sizes)


class _Letters:
    """The letters of a contraction, seen from the operand that has the places; `operand` is the
    other one."""

    def __init__(self, node: UOp, which: int, places: list[str], taps: str):
        spec = axes.parse(node.arg.spec)
        self.mine, self.other, self.out = spec.terms[which], spec.terms[1 - which], spec.out
        self.places, self.taps, self.operand = places, taps, node.src[1 - which]
        pairs = zip(spec.terms, node.src, strict=True)
        self.sizes = {c: int(n) for t, x in pairs for c, n in zip(t, x.shape, strict=True)}

    def are_apart(self, letters: Iterable[str]) -> bool:
        """Whether the other operand has none of them."""
        return set(letters).isdisjoint(self.other)

    def parts(self, of_result: bool) -> tuple[list[str], list[str], list[str], list[str]]:
        """Batch, groups, channels and the other's own, where places are kept in the result; where
        they are summed, batch and channels have changed sides."""
        known = {*self.places, *self.taps}
        rest = [c for c in self.mine if c not in known]
        shared = [c for c in rest if c in self.other]
        groups = [c for c in shared if c in self.out]
        summed = [c for c in shared if c not in self.out]
        own = [c for c in rest if c not in self.other]
        results = [c for c in self.other if c not in known.union(self.mine)]
        return (own, groups, summed, results) if of_result else (summed, groups, own, results)


def _count(sizes: dict[str, int], letters: Iterable[str]) -> int:
    return prod(sizes[c] for c in letters)


def _gathered(
    x: UOp, letters: str, first: Sequence[str], second: Sequence[str], rest: Sequence[str]
) -> UOp:
    """An operand with some axes merged into one, others into the next, and the rest unchanged."""
    at = [[letters.index(c) for c in some] for some in (first, second, rest)]
    sizes = [[x.shape[a] for a in some] for some in at]
    turned = _in_order(x, at[0] + at[1] + at[2])
    while turned.op is reshape:
        turned = turned.src[0]
    return turned.reshape(prod(sizes[0]), prod(sizes[1]), *sizes[2])


def _spread(found: UOp, order: Sequence[str], out: Sequence[str], sizes: dict[str, int]) -> UOp:
    """The result with an axis for each letter again."""
    return _in_order(found.reshape([sizes[c] for c in order]), [order.index(c) for c in out])


def _in_order(x: UOp, order: list[int]) -> UOp:
    return x if order == list(range(len(order))) else x.permute(order)


def _made(a: UOp, b: UOp, arg: ConvolveArg) -> UOp | None:
    """The node, if a library is the right one for it."""
    if varies(*a.shape, *b.shape) or max(a.size, b.size) >= LARGEST or not a.size * b.size:
        return None
    found = UOp(convolve, (a, b), arg)
    many = product_count(arg, a.shape, b.shape, found.shape) >= _FEWEST
    return found if many and found.size < LARGEST else None


# ---- windows in a margin


def _windows(x: UOp) -> Windows | None:
    """The windows that an operand is; axes before the places may be cut in others."""
    node = x.src[0] if x.op is reshape and x.src[0].op is window else x
    if node.op is not window or varies(*x.shape):
        return None
    arg, first = node.arg, min(node.arg.axis)
    picture, padding = _without_margin(node)
    if node is not x:
        kept = len(node.shape) - first
        if x.shape[-kept:] != node.shape[-kept:]:
            return None
        picture = picture.reshape(*x.shape[:-kept], *picture.shape[first:])
    moved = len(x.shape) - len(node.shape)
    return Windows(
        picture, tuple(a + moved for a in arg.axis), arg.size, arg.stride, arg.dilation, padding
    )


def _without_margin(node: UOp) -> tuple[UOp, Shape]:
    """The picture below windows without its margin, and how wide that is, along each axis where it
    is as wide on both sides, or no window sees the difference."""
    x, dims = node.src[0], node.arg.axis
    if x.op is not pad_constant or not _is_margin(x, dims):
        return x, (0,) * len(dims)
    pad, (inner,) = x.arg, x.src
    padding = [
        pad.before[a] if window_count(inner.shape[a] + 2 * pad.before[a], *rest) == count else 0
        for a, count, *rest in zip(dims, [node.shape[a] for a in dims], *node.arg[1:], strict=True)
    ]
    taken = {a for a, p in zip(dims, padding, strict=True) if p}
    before, after = ([0 if a in taken else n for a, n in enumerate(s)] for s in pad[:2])
    return padded(inner, before, after), tuple(padding)


def _is_margin(x: UOp, dims: Shape) -> bool:
    """Whether padding is zeros around the places alone."""
    arg = x.arg
    inside = [a for a in range(len(x.shape)) if arg.before[a] or arg.after[a]]
    plain = not any(arg.interior) and min((*arg.before, *arg.after)) >= 0
    return float(arg.value) == 0.0 and plain and set(inside) <= set(dims)


# ---- folds


def gradient_of_fold(node: UOp) -> UOp | None:
    """The gradient by the picture that a fold is, between views."""
    arg, windows = node.arg, node.src[0]
    product = windows.src[0] if windows.op is reshape else windows
    kept = len(windows.shape) - min(arg.axis)  # axes from the first place on
    if product.op is not contract or len(arg.axis) > _MOST_AXES or varies(*node.shape):
        return None
    if product.shape[-kept:] != windows.shape[-kept:]:
        return None
    moved = len(product.shape) - len(windows.shape)
    out = axes.parse(product.arg.spec).out
    places, taps = [out[a + moved] for a in arg.axis], out[len(node.shape) + moved :]
    for which in (0, 1):
        letters = _Letters(product, which, places, taps)
        fits = set(places) <= set(letters.mine) and set(taps) <= set(letters.other)
        if fits and letters.are_apart(places) and set(taps).isdisjoint(letters.mine):
            return _folded(node, product.src[which], letters)
    return None


def _folded(node: UOp, given: UOp, letters: _Letters) -> UOp | None:
    arg, places, taps, sizes = node.arg, letters.places, letters.taps, dict(letters.sizes)
    batch, groups, results, channels = letters.parts(of_result=True)
    g = _gathered(given, letters.mine, batch, groups + results, places)
    w = _gathered(letters.operand, letters.other, groups + results, channels, taps)
    size = tuple(arg.shape[a] for a in arg.axis)
    none = (0,) * len(size)
    values = ConvolveArg(PICTURE, size, arg.stride, none, arg.dilation, _count(sizes, groups))
    found = _made(g, w, values)
    if found is None:
        return None
    sizes |= dict(zip(places, size, strict=True))
    out = [c for c in letters.out if c not in taps]
    return _spread(found, [*batch, *groups, *channels, *places], out, sizes).reshape(node.shape)


def in_part(node: UOp) -> UOp | None:
    """shrink(convolve(g, w)), by the picture = the one by the picture in a margin of zeros"""
    found, (start, stop, step) = node.src[0], node.arg
    while found.op is reshape:
        found = found.src[0]
    if found.op is not convolve or found.arg.wanted != PICTURE or any(found.arg.padding):
        return None
    arg, count = found.arg, len(found.arg.size)
    lead = len(node.shape) - count
    whole = list(zip(start, stop, strict=True))[:lead] == [(0, n) for n in node.src[0].shape[:lead]]
    if not whole or set(step) != {1} or node.src[0].shape[lead:] != arg.size:
        return None
    bounds = list(zip(start, stop, strict=True))[lead:]
    places, taps = found.src[0].shape[2:], found.src[1].shape[2:]
    rows = zip(bounds, places, taps, arg.stride, arg.dilation, strict=True)
    if not all(window_count(b + a, k, s, d) == n for (a, b), n, k, s, d in rows):
        return None
    size, padding = tuple(b - a for a, b in bounds), tuple(a for a, _ in bounds)
    part = UOp(convolve, found.src, ConvolveArg(arg.wanted, size, arg.stride, padding, *arg[4:]))
    return part.reshape(node.shape)
