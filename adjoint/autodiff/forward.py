"""Forward mode: tangents of leaves, pushed to roots, from the same declarations as reverse mode.

A tangent that is None is zero; integers and bools have no other. An op without a derivative on the
path raises E5001, never a silent zero.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from adjoint.autodiff.reverse import (
    _scaled,
    carries,
    no_derivative,
    results,
    spread_tangents,
    zeros_of,
)
from adjoint.ir.derivative import (
    Bilinear,
    Diagonal,
    Jvp,
    Linear,
    Partials,
    Stop,
    ThroughBody,
    Vjp,
    ZeroGradient,
)
from adjoint.ir.kernel_kind import PART
from adjoint.ir.opdef import attributes, expand_composite
from adjoint.ir.origin import enter_origin, leave_origin
from adjoint.ir.uop import UOp, toposort

Tangents = Sequence[UOp | None]


def push_forward(
    roots: Sequence[UOp], tangents: Mapping[UOp, UOp], leaves: Collection[UOp] = ()
) -> list[UOp | None]:
    """The tangent of each root, given the tangents of some nodes below."""
    known: dict[UOp, Any] = dict(tangents)
    ends = {*tangents, *leaves}
    for node in toposort(roots, stop=ends.__contains__):
        if node not in known:
            below = () if node in ends or not carries(node) else [known[s] for s in node.src]
            known[node] = _pushed(node, below) if any(t is not None for t in below) else None
    return [known[root] for root in roots]


def _pushed(node: UOp, t: Tangents) -> Any:
    if node.op.kernel is PART:
        return t[0][node.arg.index]  # type: ignore[index]
    if isinstance(node.op.ad, (Stop, ZeroGradient)):
        return None
    rule = _RULES.get(type(node.op.ad))
    if rule is None:
        raise no_derivative(node)
    token = enter_origin(node.raw_origin)
    try:
        return rule(node, t)
    finally:
        leave_origin(token)


def _sum(terms: list[UOp | None]) -> UOp | None:
    total: UOp | None = None
    for term in terms:
        if term is not None:
            total = term if total is None else total + term
    return total


def _partials(node: UOp, t: Tangents) -> UOp | None:
    partials = node.op.ad.fn(node, *node.src)
    return _sum([None if d is None else _scaled(d, p) for d, p in zip(t, partials, strict=True)])


def _diagonal(node: UOp, t: Tangents) -> UOp | None:
    fn = node.op.ad.fn
    return _sum([None if d is None else fn(d, node, *node.src)[i] for i, d in enumerate(t)])


def _linear(node: UOp, t: Tangents) -> Any:
    declared = node.op.ad
    assert isinstance(declared, Linear)
    if declared.tangent is not None:
        return declared.tangent(tuple(t), node, *node.src, **attributes(node))
    return UOp(node.op, tuple(map(_or_zero, t, node.src)), node.arg)


def _or_zero(t: UOp | None, x: UOp) -> UOp:
    if t is None:
        return zeros_of(x) if x.dtype.is_inexact else x
    return t


def _bilinear(node: UOp, t: Tangents) -> UOp | None:
    a, b = node.src
    left = None if t[0] is None else UOp(node.op, (t[0], b), node.arg)
    right = None if t[1] is None else UOp(node.op, (a, t[1]), node.arg)
    return _sum([left, right])


def _jvp(node: UOp, t: Tangents) -> Any:
    result = results(node)
    tangent = node.op.ad.fn(tuple(t), result, *node.src, **attributes(node))
    return spread_tangents(tangent, result)


def _vjp(node: UOp, t: Tangents) -> Any:
    declared = node.op.ad
    assert isinstance(declared, Vjp)
    if declared.tangent is None:
        raise no_derivative(node)
    return declared.tangent(tuple(t), results(node), *node.src, **attributes(node))


def _through_body(node: UOp, t: Tangents) -> Any:
    given = {s: d for s, d in zip(node.src, t, strict=True) if d is not None}
    return push_forward([expand_composite(node)], given, node.src)[0]


_RULES: dict[type, Callable[[UOp, Tangents], Any]] = {
    Partials: _partials,
    Diagonal: _diagonal,
    Linear: _linear,
    Bilinear: _bilinear,
    Jvp: _jvp,
    Vjp: _vjp,
    ThroughBody: _through_body,
}
