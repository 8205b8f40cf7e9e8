"""Activation functions.

All keep NaN and take their limits at ±inf. A product such as `x * sigmoid(x)` would be inf * 0
there; `_within` bounds the factor x where the other factor is exactly 0 already, so nothing else
changes. A derivative is `t * coefficient`, the coefficient finite everywhere, so that neither mode
multiplies 0 by an infinity. At a kink the gradient is that of the side named in the comment.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, ShapeError
from adjoint.ir.derivative import Jvp
from adjoint.ir.opdef import Bad, Sample, alias, composite
from adjoint.ir.precision import full, low
from adjoint.ir.uop import UOp
from adjoint.ops.composite.concatenate import part_of
from adjoint.ops.composite.elementary import in_float
from adjoint.ops.mathematics.error import erf
from adjoint.ops.mathematics.exp import sigmoid
from adjoint.ops.movement import checked_axis
from adjoint.ops.samples import SPECIAL, Maker, given, real, rough, unary

Array = np.ndarray[Any, Any]
_SIGMOID_IS_ZERO = 1000.0  # sigmoid(-1000) is 0 in float64
_NEAR = 40.0  # the tails of the normal distribution are 0 in float64; 40³ is finite in float16


def _within(x: UOp, limit: float) -> UOp:
    """x limited to ±limit; NaN passes."""
    return x.maximum(-limit).minimum(limit)


def _off_kinks(*kinks: float, **attrs: Any) -> list[Sample]:
    """Samples that stay away from the kinks, and one that sits on them."""
    plain = [s for s in unary()() if not s.smooth or _clear(s.args[0], kinks)]
    wide = real(3, 4, lo=-8, hi=8)
    on = Sample((np.array([*kinks, 0.0]),), attrs, smooth=False)
    return [*(Sample(s.args, attrs, s.smooth) for s in [*plain, Sample((wide,))]), on]


def _clear(x: Array, kinks: tuple[float, ...]) -> bool:
    return all(bool(np.all(np.abs(x - k) > 1e-3)) for k in kinks)


def _reals(**attrs: Any) -> Maker:
    return lambda: (
        [Sample(s.args, attrs, s.smooth) for s in unary()()]
        + [Sample((np.array([-200.0, -90.0, -12.0, 12.0, 90.0, 200.0]),), attrs, smooth=False)]
    )


@composite(
    reference=lambda x: np.clip(x, 0, 6),
    samples=lambda: _off_kinks(0, 6),
    ad=Jvp(lambda t, y, x: ((x > 0) & (x < 6)).where(t[0], 0)),  # flat sides at 0 and 6
    kinds="iuf",
)
def relu6(x: UOp) -> UOp:
    """x limited to [0, 6]."""
    return x.clamp(0, 6)


@composite(
    reference=lambda x, min_val=-1, max_val=1: np.clip(x, min_val, max_val),
    samples=lambda: _off_kinks(-1, 1) + _off_kinks(-2.5, 0.5, min_val=-2.5, max_val=0.5),
    # the flat side at both kinks
    ad=Jvp(lambda t, y, x, min_val, max_val: ((x > min_val) & (x < max_val)).where(t[0], 0)),
    errors=(Bad("E2008", (real(2), 1, -1), match="min_val"),),
    kinds="f",
)
def hardtanh(x: UOp, min_val: float = -1, max_val: float = 1) -> UOp:
    """x limited to [min_val, max_val]."""
    if min_val > max_val:
        problem = f"min_val {min_val} is above max_val {max_val}"
        raise ArgumentError("E2008", problem, op="hardtanh", x=x)
    return x.clamp(min_val, max_val)


@composite(
    reference=lambda x, alpha=1 / 6, beta=0.5: np.clip(alpha * x + beta, 0, 1),
    samples=lambda: _off_kinks(-3, 3) + _off_kinks(-1.5, 3.5, alpha=0.2, beta=0.3),
    # the flat side at both kinks
    ad=Jvp(lambda t, y, x, alpha, beta: ((y > 0) & (y < 1)).where(t[0] * alpha, 0)),
    kinds="iuf",
)
def hardsigmoid(x: UOp, alpha: float = 1 / 6, beta: float = 0.5) -> UOp:
    """`alpha * x + beta` limited to [0, 1]."""
    return (alpha * x + beta).clamp(0, 1)


def _hardswish_reference(x: Any) -> Array:
    x = in_float(x)
    return np.where(x <= -3, 0 * np.maximum(x, -3), np.where(x >= 3, x, x * (x + 3) / 6))


def _hardswish_jvp(t: Any, y: UOp, x: UOp) -> UOp:
    inner = _within(x, 3.0) / 3 + 0.5
    return t[0] * (x <= -3).where(0, (x >= 3).where(1, inner))  # the straight sides at ±3


@composite(
    reference=_hardswish_reference,
    samples=lambda: _off_kinks(-3, 3),
    ad=Jvp(_hardswish_jvp),
    kinds="iuf",
)
def hardswish(x: UOp) -> UOp:
    """`x * hardsigmoid(x)`; 0 at -inf."""
    return x.maximum(-3.0) * ((x + 3).clamp(0, 6) / 6)


@composite(
    reference=lambda x, neg_slope=0.01: np.where(x > 0, x, neg_slope * np.asarray(x)),
    samples=lambda: _off_kinks(0) + _off_kinks(0, neg_slope=0.3),
    kinds="iuf",
)
def leaky_relu(x: UOp, neg_slope: float = 0.01) -> UOp:
    """x where it is positive, else `neg_slope * x`; the gradient at 0 is neg_slope."""
    return (x > 0).where(x, neg_slope * x)


def _prelu_reference(x: Array, weight: Array) -> Array:
    shape = [1] * x.ndim
    if weight.size > 1:
        shape[1] = weight.size
    return np.where(x > 0, x, x * weight.reshape(shape or ()))


@composite(
    reference=_prelu_reference,
    samples=given(
        (real(2, 3, 4), real(3, seed=1)),
        (real(2, 3), real(1, seed=1)),
        (real(), real(seed=1)),
        (real(0, 3), real(3)),
        rough(SPECIAL, np.array([0.25])),
    ),
    errors=(
        Bad("E3003", (real(2, 3), real(2)), match="one weight"),
        Bad("E3003", (real(3), real(3)), match="one weight"),
    ),
    kinds="f",
    precision=low,
)
def prelu(x: UOp, weight: UOp) -> UOp:
    """x where it is positive, else `weight * x`, with one weight for all or one per channel."""
    shape = [1] * len(x.shape)
    if weight.size != 1:
        if len(x.shape) < 2 or weight.shape != (x.shape[1],):
            problem = "takes one weight, or one per channel (axis 1)"
            raise ShapeError("E3003", problem, op="prelu", x=x, weight=weight)
        shape[1] = weight.size
    positive = x > 0
    return positive.where(x, positive.where(0, x) * weight.reshape(shape))


def _below(x: UOp) -> UOp:
    """x where it is not positive, else 0: its exp is finite."""
    return (x > 0).where(0, x)


def _elu_reference(x: Any, alpha: float = 1.0) -> Array:
    return np.where(x > 0, x, alpha * np.expm1(in_float(x)))


@composite(
    reference=_elu_reference,
    samples=lambda: _off_kinks(0) + _off_kinks(0, alpha=0.7),
    ad=Jvp(lambda t, y, x, alpha: t[0] * (x > 0).where(1, alpha * _below(x).exp())),
    kinds="iuf",
)
def elu(x: UOp, alpha: float = 1.0) -> UOp:
    """x where it is positive, else `alpha * (exp(x) - 1)`."""
    return (x > 0).where(x, alpha * x.expm1())


@composite(
    reference=lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(in_float(x) / alpha)),
    samples=lambda: _off_kinks(0) + _off_kinks(0, alpha=0.7),
    ad=Jvp(lambda t, y, x, alpha: t[0] * (x > 0).where(1, (_below(x) / alpha).exp())),
    errors=(Bad("E2008", (real(2), 0.0), match="alpha"),),
    kinds="iuf",
)
def celu(x: UOp, alpha: float = 1.0) -> UOp:
    """x where it is positive, else `alpha * (exp(x / alpha) - 1)`."""
    if not alpha:
        raise ArgumentError("E2008", "alpha must not be 0", op="celu", x=x)
    return (x > 0).where(x, alpha * (x / alpha).expm1())


@composite(
    reference=lambda x, alpha=1.67326, gamma=1.0507: gamma * _elu_reference(x, alpha),
    samples=lambda: _off_kinks(0) + _off_kinks(0, alpha=1.5, gamma=0.9),
    kinds="iuf",
)
def selu(x: UOp, alpha: float = 1.67326, gamma: float = 1.0507) -> UOp:
    """`gamma * elu(x, alpha)`."""
    return gamma * x.elu(alpha)


def _gate_reference(x: Any, gate: Any) -> Array:
    """x * gate with the limit 0 at -inf."""
    x = in_float(x)
    return np.where(np.isneginf(x), -0.0, x * gate(x))


def _sigmoid(x: Array) -> Any:
    return sigmoid.reference(x)


def _sigmoid_gate(t: UOp, x: UOp, slope: float) -> UOp:
    """The tangent of x sigmoid(slope x)."""
    inner = slope * x
    s = inner.sigmoid()
    return t * (s * (1 + _within(inner, _SIGMOID_IS_ZERO) * (-inner).sigmoid()))


@composite(
    reference=lambda x: _gate_reference(x, _sigmoid),
    samples=_reals(),
    ad=Jvp(lambda t, y, x: _sigmoid_gate(t[0], x, 1)),
    kinds="iuf",
)
def silu(x: UOp) -> UOp:
    """`x * sigmoid(x)`; 0 at -inf."""
    return x.maximum(-_SIGMOID_IS_ZERO) * x.sigmoid()


alias(silu, "swish")


@composite(
    reference=lambda x: _gate_reference(x, lambda v: _sigmoid(1.702 * v)),
    samples=_reals(),
    ad=Jvp(lambda t, y, x: _sigmoid_gate(t[0], x, 1.702)),
    kinds="iuf",
)
def quick_gelu(x: UOp) -> UOp:
    """`x * sigmoid(1.702 * x)`; 0 at -inf."""
    return x.maximum(-_SIGMOID_IS_ZERO) * (1.702 * x).sigmoid()


def _gelu_reference(x: Any, approximate: str = "tanh") -> Array:
    def normal(v: Array) -> Array:
        if approximate == "none":
            return 0.5 * (1 + erf.reference(v / math.sqrt(2)))
        return 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))

    return _gate_reference(x, normal)


_TWICE_ROOT = 2 * math.sqrt(2 / math.pi)
_CUBIC = 0.044715


def gelu_gradient(g: UOp, x: UOp) -> UOp:
    """What comes to x if g comes to its gelu by way of tanh, as the record's derivative says."""
    return _gelu_jvp((g,), x, x, "tanh")


def _gelu_jvp(t: Any, y: UOp, x: UOp, approximate: str) -> UOp:
    c = _within(x, _NEAR)
    if approximate == "none":
        below = 0.5 * ((x * math.sqrt(0.5)).erf() + 1)
        return t[0] * (below + c * (-0.5 * c * c).exp() * (1 / math.sqrt(2 * math.pi)))
    u = _TWICE_ROOT * (c + _CUBIC * c * c * c)
    s = u.sigmoid()
    return t[0] * (s + c * s * (-u).sigmoid() * (_TWICE_ROOT * (1 + 3 * _CUBIC * c * c)))


@composite(
    reference=_gelu_reference,
    samples=lambda: [*_reals()(), *_reals(approximate="none")(), Sample((real(2, 3), "tanh"))],
    ad=Jvp(_gelu_jvp),
    errors=(Bad("E2008", (real(2), "erf"), match="approximate"),),
    kinds="iuf",
)
def gelu(x: UOp, approximate: str = "tanh") -> UOp:
    """`x * P(X <= x)` for a normal X: by tanh, or exactly with `approximate="none"`; 0 at -inf."""
    if approximate not in ("tanh", "none"):
        problem = f'approximate {approximate!r} is not "tanh" or "none"'
        raise ArgumentError("E2008", problem, op="gelu", x=x)
    bounded = x.maximum(-_NEAR)
    if approximate == "none":
        return bounded * (0.5 * ((x * math.sqrt(0.5)).erf() + 1))
    return bounded * (_TWICE_ROOT * (x + _CUBIC * x * x * x)).sigmoid()  # (1 + tanh u) / 2 = σ(2u)


@composite(
    reference=lambda x, beta=1.0: np.logaddexp(beta * in_float(x), 0) / beta,
    samples=lambda: [*_reals()(), Sample((real(2, 3), 2.5)), Sample((real(2, 3), -0.5))],
    ad=Jvp(lambda t, y, x, beta: t[0] * (beta * x).sigmoid()),
    errors=(Bad("E2008", (real(2), 0.0), match="beta"),),
    kinds="iuf",
    precision=full,
)
def softplus(x: UOp, beta: float = 1.0) -> UOp:
    """`log(1 + exp(beta * x)) / beta`, without overflow."""
    if not beta:
        raise ArgumentError("E2008", "beta must not be 0", op="softplus", x=x)
    return (beta * x).logaddexp(0) / beta


@composite(
    reference=lambda x: -np.logaddexp(-in_float(x), 0),
    samples=_reals(),
    ad=Jvp(lambda t, y, x: t[0] * (-x).sigmoid()),
    kinds="if",
)
def logsigmoid(x: UOp) -> UOp:
    """`log(sigmoid(x))`, without overflow."""
    return -(-x).logaddexp(0)


def _mish_jvp(t: Any, y: UOp, x: UOp) -> UOp:
    w = x.logaddexp(0).tanh()
    return t[0] * (w + _within(x, _SIGMOID_IS_ZERO) * (1 - w * w) * x.sigmoid())


@composite(
    reference=lambda x: _gate_reference(x, lambda v: np.tanh(np.logaddexp(v, 0))),
    samples=_reals(),
    ad=Jvp(_mish_jvp),
    kinds="iuf",
)
def mish(x: UOp) -> UOp:
    """`x * tanh(softplus(x))`; 0 at -inf."""
    return x.maximum(-_SIGMOID_IS_ZERO) * x.logaddexp(0).tanh()


def _softsign_reference(x: Any) -> Array:
    x = in_float(x)
    return np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x)))


def _softsign_jvp(t: Any, y: UOp, x: UOp) -> UOp:
    root = 1 / (1 + x.abs())
    return t[0] * (root * root)


@composite(reference=_softsign_reference, samples=_reals(), ad=Jvp(_softsign_jvp), kinds="iuf")
def softsign(x: UOp) -> UOp:
    """`x / (1 + |x|)`; ±1 at ±inf."""
    return x.isinf().where(x.sign(), x / (1 + x.abs()))


@composite(
    reference=lambda x, lambd=0.5: np.where(np.abs(x) <= lambd, 0, x),
    samples=lambda: _off_kinks(-0.5, 0.5) + _off_kinks(-1.25, 1.25, lambd=1.25),
    kinds="f",
)
def hardshrink(x: UOp, lambd: float = 0.5) -> UOp:
    """x, or 0 where `|x| <= lambd`."""
    return (x.abs() <= lambd).where(0, x)


@composite(
    reference=lambda x, lambd=0.5: x - np.clip(x, -lambd, lambd) if lambd >= 0 else x,
    samples=lambda: _off_kinks(-0.5, 0.5) + _off_kinks(-1.25, 1.25, lambd=1.25),
    errors=(Bad("E2008", (real(2), -1.0), match="lambd"),),
    kinds="f",
)
def softshrink(x: UOp, lambd: float = 0.5) -> UOp:
    """x moved towards 0 by `lambd`, and 0 where it would cross it."""
    if lambd < 0:
        raise ArgumentError("E2008", f"lambd must be ≥ 0, got {lambd}", op="softshrink", x=x)
    return (x.abs() <= lambd).where(0, x - x.sign() * lambd)


@composite(
    reference=lambda x: x - np.tanh(in_float(x)),
    samples=_reals(),
    ad=Jvp(lambda t, y, x: t[0] * x.tanh().square()),
    kinds="iuf",
)
def tanhshrink(x: UOp) -> UOp:
    """`x - tanh(x)`."""
    return x - x.tanh()


@composite(
    reference=lambda x, threshold, value: np.where(np.asarray(x) <= threshold, value, x),
    samples=given(
        (real(2, 3), 0.5, -2.0),
        (real(), 0.1, 1.5),
        (real(0, 3), 0.1, 1.5),
        rough(SPECIAL, 0.0, 5.0),
    ),
    kinds="f",
)
def threshold(x: UOp, threshold: float, value: float) -> UOp:
    """x where it is above `threshold`, else `value`."""
    return (x <= threshold).where(value, x)


def _glu_reference(x: Any, dim: int = -1) -> Array:
    a, b = np.split(in_float(x), 2, dim)
    return a * _sigmoid(b)


@composite(
    reference=_glu_reference,
    samples=given(
        (real(2, 4),), (real(4, 3), 0), (real(0, 4), 1), (real(3, 0),), (real(2, 2, 2), -2)
    ),
    errors=(
        Bad("E3006", (real(2, 3),), match="even"),
        Bad("E3004", (real(2, 4), 2), match="axis 2"),
        Bad("E3002", (real(),), match="scalar"),
    ),
    kinds="iuf",
)
def glu(x: UOp, dim: int = -1) -> UOp:
    """`a * sigmoid(b)` for the halves a and b of x along `dim`."""
    axis = checked_axis("glu", dim, len(x.shape), x)
    if not x.shape:
        raise ShapeError("E3002", "a scalar has no halves", op="glu", x=x)
    n = x.shape[axis]
    if n % 2:
        raise ShapeError("E3006", f"axis {axis} must have an even size, not {n}", op="glu", x=x)
    return part_of(x, axis, 0, n // 2) * part_of(x, axis, n // 2, n).sigmoid()
