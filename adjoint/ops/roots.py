"""Roots and norms at zero, where they have a kink: the derivative is 0 there, by declaration.

A convention for a first derivative does not define the second: at 0 that is NaN, unless the kink
cancels. In `vector_norm(x) ** 2` the factor y of the cotangent and the y that it is divided by
cancel, and `quotient` finds the factor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.batch import same_op
from adjoint.ir.derivative import Partials, Vjp
from adjoint.ir.opdef import Sample, composite, expand_composite
from adjoint.ir.uop import UOp
from adjoint.ops.samples import given, real, rough

_DEEPEST = 6  # products of products that are looked through


def quotient(g: UOp, y: UOp, depth: int = _DEEPEST) -> UOp | None:
    """g / y where g has y as a factor, in its graph; None where that is not seen."""
    if _is(g, y):
        return UOp._apply("const", 1, y.dtype, y.shape, y.device)
    if not depth or g.dtype is not y.dtype:
        return None
    match g.op.name:
        case "mul":
            return _of_product(g, y, depth - 1)
        case "add" | "sub":
            sides = [quotient(s, y, depth - 1) for s in g.src]
            return None if None in sides else UOp(g.op, tuple(s for s in sides if s is not None))
        case "neg":
            inner = quotient(g.src[0], y, depth - 1)
            return None if inner is None else -inner
        case "pow":
            return _of_power(g, y)
        case _:
            return None


def _is(node: UOp, y: UOp) -> bool:
    """Whether a node is y, or a composite whose body is."""
    while node is not y and node.op.kind == "composite" and node.op.body is not None:
        body = expand_composite(node)
        if body.op.kind != "composite" and body is not y:
            return False
        node = body
    return node is y


def _of_product(g: UOp, y: UOp, depth: int) -> UOp | None:
    a, b = g.src
    left = quotient(a, y, depth)
    if left is not None:
        return left * b
    right = quotient(b, y, depth)
    return None if right is None else a * right


def _of_power(g: UOp, y: UOp) -> UOp | None:
    base, exponent = g.src
    value = constant_value(exponent)
    if value is None or not _is(base, y) or isinstance(value, complex) or value < 2:
        return None
    return base if value == 2 else base ** (value - 1)


def constant_value(node: UOp) -> Any:
    """The one value that all elements have; None if the graph does not say so."""
    while node.op.name in ("expand", "reshape"):
        node = node.src[0]
    return +node.arg.value if node.op.name == "const" else None  # compared as numbers, not by bits


_CORNERS = given(
    (real(2, 3, lo=0.3, hi=3),),
    (real(lo=0.5, hi=2),),
    (real(0, 3),),
    rough(np.array([0.0, 1.0, np.inf, np.nan])),
)


def _reciprocal_reference(x: Any) -> Any:
    x = np.asarray(x)
    return np.where(x == 0, 0, 1 / np.where(x == 0, 1, x)).astype(x.dtype)


@composite(
    reference=_reciprocal_reference,
    samples=_CORNERS,
    # At 0 there is a jump: no number is right.
    ad=Partials(lambda y, x: (x.eq(0).where(float("nan"), -y * y),)),
    batch=same_op,
    kinds="f",
)
def reciprocal_or_zero(x: UOp) -> UOp:
    """1 / x, and 0 where x is 0."""
    zero = x.eq(0)
    return zero.where(0, 1 / zero.where(1, x))


def _slope(y: UOp, p: float) -> UOp:
    """dy/dx = y ** (1 - p) / p."""
    return reciprocal_or_zero(y if p == 2 else y ** (p - 1)) * (1 / p)


def _root_back(g: UOp, y: UOp, x: UOp, p: float) -> tuple[UOp]:
    whole = quotient(g, y) if p == 2 else None
    return (g * _slope(y, p) if whole is None else whole * 0.5,)


@composite(
    reference=lambda x, p=2.0: np.sqrt(x) if p == 2 else np.asarray(x) ** (1 / p),
    samples=lambda: [*_CORNERS(), Sample((real(2, 3, lo=0.3, hi=3), 3.0))],
    ad=Vjp(_root_back, tangent=lambda t, y, x, p: t[0] * _slope(y, p)),
    batch=same_op,
    kinds="f",
)
def smooth_root(x: UOp, p: float = 2.0) -> UOp:
    """The p-th root, with derivative 0 at 0, where the true derivative is infinite."""
    zero = x.eq(0)
    safe = zero.where(1, x)
    return zero.where(0, safe.sqrt() if p == 2 else safe ** (1 / p))


def _abs_back(g: UOp, y: UOp, x: UOp) -> tuple[UOp]:
    whole = quotient(g, y)
    if x.dtype.is_complex:
        factor = g * reciprocal_or_zero(y) if whole is None else whole
        return (factor.cast(x.dtype) * x.conj(),)
    return (g * x.sign() if whole is None else whole * x,)


def _abs_tangent(t: Any, y: UOp, x: UOp) -> UOp:
    if not x.dtype.is_complex:
        return t[0] * x.sign()
    return (x.conj() * t[0]).real() * reciprocal_or_zero(y)


ABS = Vjp(_abs_back, tangent=_abs_tangent)
