"""Elementwise real functions: exponentials, logarithms, trigonometry, error and gamma functions.

Integers are computed as the default float. References are NumPy or, where NumPy has none, the
standard library's `math` or a series worked out here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.errors import ShapeError
from adjoint.ir.arg import Arg
from adjoint.ir.batch import same_op
from adjoint.ir.broadcast import elementwise
from adjoint.ir.derivative import Jvp
from adjoint.ir.dtype import to_float
from adjoint.ir.kernel_kind import EXPENSIVE
from adjoint.ir.opdef import Bad, OpDef, Sample, define
from adjoint.ir.uop import UOp
from adjoint.ops.samples import binary, given, real, unary

Array = np.ndarray[Any, Any]


def _float(x: Any) -> Array:
    x = np.asarray(x)
    return x.astype(np.float32) if x.dtype.kind in "biu" else x


def _function(
    name: str, doc: str, reference: Any, partial: Any, lo: float = -3, hi: float = 3, **rest: Any
) -> OpDef:
    """A smooth function of one real variable; `partial(y, x)` is its derivative."""
    options: dict[str, Any] = {"kinds": "f", "cost": EXPENSIVE} | rest
    return elementwise(
        name,
        doc,
        arity=1,
        cast=to_float,
        partials=lambda y, x: (partial(y, x),),
        reference=lambda x: reference(_float(x)),
        samples=unary(lo, hi),
        **options,
    )


def _mapped(fn: Any) -> Any:
    """A NumPy function from one of the standard library's, NaN and infinity passed through."""

    def one(x: float) -> float:
        try:
            return fn(x)
        except (ValueError, OverflowError):
            return math.inf if fn is math.lgamma else math.nan

    wide = np.frompyfunc(one, 1, 1)
    return lambda x: np.asarray(wide(np.asarray(x, np.float64))).astype(np.asarray(x).dtype)


_HALF_ROOT_PI = math.sqrt(math.pi) / 2
exp = _function("exp", "Exponential.", np.exp, lambda y, x: y, kinds="fc")
exp2 = _function("exp2", "Power of two.", np.exp2, lambda y, x: y * math.log(2))
expm1 = _function("expm1", "`exp(x) - 1`, exact near 0.", np.expm1, lambda y, x: y + 1, kinds="fc")
log = _function("log", "Natural logarithm.", np.log, lambda y, x: 1 / x, 0.1, 4, kinds="fc")
log2 = _function(
    "log2", "Base-2 logarithm.", np.log2, lambda y, x: 1 / (x * math.log(2)), 0.1, 4, kinds="fc"
)
log10 = _function(
    "log10", "Base-10 logarithm.", np.log10, lambda y, x: 1 / (x * math.log(10)), 0.1, 4, kinds="fc"
)
log1p = _function(
    "log1p", "`log(1 + x)`, exact near 0.", np.log1p, lambda y, x: 1 / (x + 1), -0.9, kinds="fc"
)
sqrt = _function(
    "sqrt", "Square root; √'(0) = inf.", np.sqrt, lambda y, x: 0.5 / y, 0.1, 4, kinds="fc", cost=3
)
rsqrt = _function(
    "rsqrt",
    "`1 / sqrt(x)`.",
    lambda x: 1 / np.sqrt(x),
    lambda y, x: -0.5 * y / x,
    0.1,
    4,
    kinds="fc",
    cost=4,
)
sin = _function("sin", "Sine.", np.sin, lambda y, x: x.cos(), kinds="fc")
cos = _function("cos", "Cosine.", np.cos, lambda y, x: -x.sin(), kinds="fc")
tan = _function("tan", "Tangent.", np.tan, lambda y, x: 1 + y * y, -1.4, 1.4, kinds="fc")
asin = _function(
    "asin", "Arc sine.", np.arcsin, lambda y, x: (1 - x * x).rsqrt(), -0.9, 0.9, kinds="fc"
)
acos = _function(
    "acos", "Arc cosine.", np.arccos, lambda y, x: -(1 - x * x).rsqrt(), -0.9, 0.9, kinds="fc"
)
atan = _function("atan", "Arc tangent.", np.arctan, lambda y, x: 1 / (1 + x * x), kinds="fc")
sinh = _function("sinh", "Hyperbolic sine.", np.sinh, lambda y, x: x.cosh(), kinds="fc")
cosh = _function("cosh", "Hyperbolic cosine.", np.cosh, lambda y, x: x.sinh(), kinds="fc")
tanh = _function("tanh", "Hyperbolic tangent.", np.tanh, lambda y, x: 1 - y * y, kinds="fc")
asinh = _function(
    "asinh", "Inverse of sinh.", np.arcsinh, lambda y, x: (x * x + 1).rsqrt(), kinds="fc"
)
acosh = _function(
    "acosh",
    "Inverse of cosh.",
    np.arccosh,
    lambda y, x: ((x - 1) * (x + 1)).rsqrt(),
    1.1,
    4,
    kinds="fc",
)
atanh = _function(
    "atanh", "Inverse of tanh.", np.arctanh, lambda y, x: 1 / (1 - x * x), -0.9, 0.9, kinds="fc"
)
sigmoid = _function(
    "sigmoid",
    "Logistic function `1 / (1 + exp(-x))`.",
    lambda x: np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), _small_sigmoid(x)),
    lambda y, x: y * (1 - y),
)


def _small_sigmoid(x: Array) -> Array:
    """exp(x) / (1 + exp(x)) for negative x, where the plain form would overflow."""
    grown = np.exp(-np.abs(x))
    return np.where(np.isnan(x), x, grown / (1 + grown))


erf = _function(
    "erf",
    "Error function.",
    _mapped(math.erf),
    lambda y, x: (-x * x).exp() * (1 / _HALF_ROOT_PI),
)


def _erfinv(x: Array) -> Array:
    """Newton steps on erf from Winitzki's approximation, in float64."""
    wide = np.asarray(x, np.float64)
    inner = np.clip(wide, -1 + 1e-16, 1 - 1e-16)
    lead = np.log1p(-inner * inner)
    part = 2 / (math.pi * 0.147) + lead / 2
    y = np.copysign(np.sqrt(np.sqrt(part * part - lead / 0.147) - part), inner)
    errorf = _mapped(math.erf)
    for _ in range(4):
        y = y - (errorf(y) - inner) * _HALF_ROOT_PI * np.exp(y * y)
    y = np.where(np.abs(wide) == 1, np.copysign(np.inf, wide), y)
    return np.where(np.abs(wide) > 1, np.nan, y).astype(np.asarray(x).dtype)


erfinv = _function(
    "erfinv",
    "Inverse of the error function on (-1, 1).",
    _erfinv,
    lambda y, x: _HALF_ROOT_PI * (y * y).exp(),
    -0.9,
    0.9,
)
lgamma = _function(
    "lgamma",
    "Logarithm of |Γ(x)|.",
    _mapped(math.lgamma),
    lambda y, x: x.polygamma(0),
    0.3,
    4,
)


class PolygammaArg(Arg):
    n: int


def _polygamma(x: UOp, n: int) -> UOp:
    if not isinstance(n, int) or n < 0:
        raise ShapeError("E3006", f"the order is an int ≥ 0, got {n!r}", op="polygamma")
    operand = x if x.dtype.is_float else x.cast(to_float(x.dtype))
    return UOp(polygamma, (operand,), PolygammaArg(n))


def _polygamma_reference(x: Any, n: int) -> Array:
    """Reflection for x < 0, recurrence up to x ≥ 12, then the asymptotic series."""
    source = _float(x)
    wide = np.array(source, np.float64)
    poles = (wide <= 0) & (wide == np.floor(wide))
    finite = np.where(np.isfinite(wide) & ~poles, wide, 1.0)
    total, shifted = np.zeros_like(wide), np.where(finite < 0, 1 - finite, finite)
    sign = (-1.0) ** (n + 1) * math.factorial(n)
    while np.any(shifted < 12):
        low = shifted < 12
        step = -1 / shifted if n == 0 else sign / shifted ** (n + 1)
        total, shifted = total + np.where(low, step, 0), np.where(low, shifted + 1, shifted)
    result = total + _polygamma_series(shifted, n)
    result = np.where(finite < 0, (-1.0) ** n * result - math.pi * _cotangent(finite, n), result)
    at_infinity = np.inf if n == 0 else 0.0
    result = np.where(np.isposinf(wide), at_infinity, result)
    result = np.where(np.isneginf(wide) | np.isnan(wide), np.nan, result)
    # For odd n both sides of a pole rise; for even n only a signed zero tells them apart.
    sided = np.where(wide == 0, -np.copysign(np.inf, wide), np.nan)
    result = np.where(poles & np.isfinite(wide), np.inf if n % 2 else sided, result)
    return result.astype(source.dtype)


def _cotangent(x: Array, n: int) -> Array:
    """The n-th derivative of cot(πx), which is a polynomial of the cotangent."""
    value = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(n):
        value = value.deriv() * np.polynomial.Polynomial([-math.pi, 0.0, -math.pi])
    turn = np.pi * (x - np.rint(x))  # exact for any x, where tan(πx) would see a rounded angle
    return np.asarray(value(1 / np.tan(np.where(turn == 0, 1.0, turn))))


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def _polygamma_series(x: Array, n: int) -> Array:
    if n == 0:
        terms = [b / (2 * k * x ** (2 * k)) for k, b in enumerate(_BERNOULLI, 1)]
        return np.log(x) - 0.5 / x - sum(terms)
    head = math.factorial(n - 1) / x**n + math.factorial(n) / (2 * x ** (n + 1))
    for k, b in enumerate(_BERNOULLI, 1):
        scale = math.factorial(2 * k + n - 1) / math.factorial(2 * k)
        head = head + b * scale / x ** (2 * k + n)
    return (-1.0) ** (n + 1) * head


polygamma = define(
    "polygamma",
    "The n-th derivative of the digamma function.",
    arg=PolygammaArg,
    call=_polygamma,
    infer=lambda src, arg: (src[0].shape, src[0].dtype),
    ad=Jvp(lambda t, y, x, n: t[0] * x.polygamma(n + 1)),
    reference=_polygamma_reference,
    samples=given(
        (real(2, 3, lo=0.3), 0),
        (real(3, lo=0.3), 1),
        (real(lo=0.3, hi=20), 2),
        (np.array([-0.25, -7.5, -20000.5]), 0),
        (np.array([-0.25, -7.5]), 3),
        Sample((np.array([0.0, -0.0, -3.0, np.inf, -np.inf, np.nan]), 0), smooth=False),
        Sample((np.array([0.0, -0.0, -3.0, np.inf, -np.inf, np.nan]), 1), smooth=False),
    ),
    errors=(Bad("E3006", (real(2), -1), match="order"),),
    kinds="f",
    batch=same_op,
)
atan2 = elementwise(
    "atan2",
    "The angle of the point (y, x): `x.atan2(y)` reads x as the ordinate, as NumPy does.",
    cost=EXPENSIVE,
    kinds="f",
    cast=to_float,
    partials=lambda y, a, b: (b / (a * a + b * b), -a / (a * a + b * b)),
    reference=lambda a, b: np.arctan2(_float(a), _float(b)),
    samples=binary(),
)
hypot = elementwise(
    "hypot",
    "`sqrt(x² + y²)` without overflow.",
    cost=EXPENSIVE,
    kinds="f",
    cast=to_float,
    partials=lambda y, a, b: (a / y, b / y),
    reference=lambda a, b: np.hypot(_float(a), _float(b)),
    samples=binary(0.3, 3),
)
logaddexp = elementwise(
    "logaddexp",
    "`log(exp(x) + exp(y))` without overflow.",
    cost=EXPENSIVE,
    kinds="f",
    cast=to_float,
    partials=lambda y, a, b: ((a - b).sigmoid(), (b - a).sigmoid()),
    reference=lambda a, b: np.logaddexp(_float(a), _float(b)),
    samples=binary(),
)
