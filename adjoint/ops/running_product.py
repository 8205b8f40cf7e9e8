"""Derivatives of the cumulative product y[i] = x[0] … x[i]: its tangent, its cotangent, and theirs.

With e the product before each element, the tangent is the recurrence d[i] = x[i] d[i-1] + e[i] t[i]
and the cotangent e[j] q[j] with q[j] = g[j] + x[j+1] q[j+1]. Each is computed by cumulative sums
that know where the first zero is. Their own derivatives come from the recurrences, which are
polynomials and so are right at zeros, to any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.errors import ShapeError
from adjoint.ir.batch import Flags, Sources, broadcast_batches
from adjoint.ir.derivative import Linear
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import Bad, composite
from adjoint.ir.uop import UOp
from adjoint.ops.movement import checked_axis
from adjoint.ops.samples import given, real

Array = np.ndarray[Any, Any]


def _later(x: UOp, axis: int, by: int = 1, fill: int = 0) -> UOp:
    """Element i of the result is element i - by; `fill` where there is none."""
    n = x.shape[axis]
    step = min(abs(by), n)
    bounds = [(0, size) for size in x.shape]
    bounds[axis] = (0, n - step) if by > 0 else (step, n)
    pad = [step if a == axis else 0 for a in range(len(x.shape))]
    none = [0] * len(pad)
    before, after = (pad, none) if by > 0 else (none, pad)
    return x.shrink(bounds).pad_constant(before, after, None, fill)


def recurrence(a: UOp, b: UOp, axis: int) -> UOp:
    """r[i] = a[i] r[i-1] + b[i], by doubling the length that each element knows of."""
    step = 1
    while step < a.shape[axis]:
        b = (b + a * _later(b, axis, step)).contiguous()
        a = (a * _later(a, axis, step, 1)).contiguous()
        step *= 2
    return b


def _recurrence_back(x: UOp, g: UOp, axis: int) -> UOp:
    """q[j] = g[j] + x[j+1] q[j+1]: the transpose of `recurrence` in b."""
    coefficients = _later(x, axis, -1).flip(axis)
    return recurrence(coefficients, g.flip(axis), axis).flip(axis)


def _first_zero(x: UOp, axis: int) -> UOp:
    zero = x.eq(0)
    return zero & zero.cast(dtypes.int32).scan_sum(axis).eq(1)


def _divided(t: UOp, x: UOp) -> UOp:
    """t / x, 0 where x is."""
    zero = x.eq(0)
    return zero.where(0, t / zero.where(1, x))


def _before(x: UOp, axis: int) -> UOp:
    """The product of all that comes before each element."""
    return _later(x.scan_prod(axis), axis, 1, 1)


def _batched(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
    axis = node.arg.axis % len(node.shape) + 1
    return UOp(node.op, broadcast_batches(src, batched, size), node.arg.replace(axis=axis))


# ---- the tangent


def _tangent_reference(x: Any, t: Any, axis: int = 0) -> Array:
    x, t = np.moveaxis(np.asarray(x), axis, 0), np.moveaxis(np.asarray(t), axis, 0)
    out, before, last = np.zeros_like(x * t), np.ones(x.shape[1:]), np.zeros(x.shape[1:])
    for i in range(len(x)):
        last = out[i] = x[i] * last + before * t[i]
        before = before * x[i]
    return np.moveaxis(out, 0, axis)


def _tangent_moved(t: Any, y: UOp, x: UOp, d: UOp, axis: int) -> UOp:
    """Its own tangent: linear in d; in x, that of the recurrence."""
    axis %= len(x.shape)
    total = None if t[1] is None else cumprod_tangent(x, t[1], axis)
    if t[0] is not None:
        source = t[0] * _later(y, axis) + _later(cumprod_tangent(x, t[0], axis), axis) * d
        moved = recurrence(x, source, axis)
        total = moved if total is None else total + moved
    assert total is not None
    return total


def _tangent_back(g: UOp, x: UOp, d: UOp, axis: int) -> tuple[UOp, UOp]:
    axis %= len(x.shape)
    source = _recurrence_back(x, g, axis)
    direct = source * _later(cumprod_tangent(x, d, axis), axis)
    through = cumprod_cotangent(x, _later(source * d, axis, -1), axis)
    return direct + through, cumprod_cotangent(x, g, axis)


_SAMPLES = given(
    (real(2, 3), real(2, 3, seed=1), 1),
    (real(4), real(4, seed=1), 0),
    (np.array([2.0, 0.0, 3.0, 1.5]), real(4, seed=1), 0),
    (np.array([[0.5, 0.0], [0.0, 2.0], [0.0, 1.0]]), real(3, 2, seed=1), 0),
    (np.zeros(3), real(3, seed=1), -1),
    (real(0, 3), real(0, 3), 0),
)
_ERRORS = (
    Bad("E3004", (real(2, 3), real(2, 3), 2), match="axis 2"),
    Bad("E3003", (real(2, 3), real(3), 1), match="shapes differ"),
    Bad("E3002", (real(), real(), 0), match="scalar"),
)


def _checked(op: str, x: UOp, d: UOp, axis: int) -> int:
    if x.shape != d.shape:
        raise ShapeError("E3003", "shapes differ", op=op, x=x, change=d)
    if not x.shape:
        raise ShapeError("E3002", "a scalar has no axis to run along", op=op, x=x, change=d)
    return checked_axis(op, axis, len(x.shape), x)


@composite(
    name="cumprod_tangent",
    reference=_tangent_reference,
    samples=_SAMPLES,
    ad=Linear(_tangent_back, tangent=_tangent_moved),
    batch=_batched,
    errors=_ERRORS,
    kinds="fc",
)
def cumprod_tangent(x: UOp, t: UOp, axis: int = 0) -> UOp:
    """The change of `x.cumprod(axis)` along t, right where x has zeros."""
    axis = _checked("cumprod_tangent", x, t, axis)
    first = _first_zero(x, axis)
    whole = x.scan_prod(axis) * _divided(t, x).scan_sum(axis)
    others = first.where(1, x).scan_prod(axis)
    return whole + others * first.where(t, 0).scan_sum(axis)


# ---- the cotangent


def _cotangent_reference(x: Any, g: Any, axis: int = 0) -> Array:
    x, g = np.moveaxis(np.asarray(x), axis, 0), np.moveaxis(np.asarray(g), axis, 0)
    out, last = np.zeros_like(x * g), np.zeros(x.shape[1:])
    before = np.concatenate([np.ones((1, *x.shape[1:])), np.cumprod(x, 0)])
    for j in reversed(range(len(x))):
        last = g[j] + (x[j + 1] * last if j + 1 < len(x) else 0)
        out[j] = before[j] * last
    return np.moveaxis(out, 0, axis)


def _cotangent_moved(t: Any, y: UOp, x: UOp, g: UOp, axis: int) -> UOp:
    axis %= len(x.shape)
    total = None if t[1] is None else cumprod_cotangent(x, t[1], axis)
    if t[0] is not None:
        after = _recurrence_back(x, g, axis)
        moved = _later(cumprod_tangent(x, t[0], axis), axis) * after
        source = _later(t[0] * after, axis, -1)
        moved = moved + _before(x, axis) * _recurrence_back(x, source, axis)
        total = moved if total is None else total + moved
    assert total is not None
    return total


def _cotangent_back(h: UOp, x: UOp, g: UOp, axis: int) -> tuple[UOp, UOp]:
    axis %= len(x.shape)
    after = _recurrence_back(x, g, axis)
    through = cumprod_cotangent(x, _later(h * after, axis, -1), axis)
    direct = _later(recurrence(x, h * _before(x, axis), axis), axis) * after
    return through + direct, cumprod_tangent(x, h, axis)


@composite(
    name="cumprod_cotangent",
    reference=_cotangent_reference,
    samples=_SAMPLES,
    ad=Linear(_cotangent_back, tangent=_cotangent_moved),
    batch=_batched,
    errors=_ERRORS,
    kinds="fc",
)
def cumprod_cotangent(x: UOp, g: UOp, axis: int = 0) -> UOp:
    """The gradient of ⟨g, x.cumprod(axis)⟩, right where x has zeros."""
    axis = _checked("cumprod_cotangent", x, g, axis)
    first = _first_zero(x, axis)
    whole = _divided((g * x.scan_prod(axis)).scan_sum(axis, True), x)
    others = (g * first.where(1, x).scan_prod(axis)).scan_sum(axis, True)
    return whole + first.where(others, 0)
