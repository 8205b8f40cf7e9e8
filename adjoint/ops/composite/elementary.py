"""Elementwise functions made of primitives: clamp, lerp, square, sinc, logit and their kin.

Activation functions live in `activation.py`. Real functions of integers are computed as floats.
"""

from __future__ import annotations

import math
from functools import reduce
from operator import add
from typing import Any

import ml_dtypes
import numpy as np

from adjoint.errors import ArgumentError
from adjoint.ir.broadcast import align, common_dtype
from adjoint.ir.derivative import Jvp, ZeroGradient
from adjoint.ir.dtype import accumulator, dtypes, to_float
from adjoint.ir.opdef import Bad, OpDef, Sample, alias, composite, derived
from adjoint.ir.precision import widest
from adjoint.ir.uop import UOp
from adjoint.ops.arithmetic import abs_, maximum, minimum, neg, trunc
from adjoint.ops.mathematics.gamma import polygamma
from adjoint.ops.samples import SPECIAL, binary, given, real, rough, unary, whole

Array = np.ndarray[Any, Any]
_MISMATCH = (Bad("E3001", (real(2, 3), real(2, 4)), match="dimension 1"),)
_TRUTH = ZeroGradient("a truth value is piecewise constant")


def in_float(x: Any) -> Array:
    """For references: integers as float64, so that NumPy does not choose float16 for int8."""
    x = np.asarray(x)
    return x.astype(np.float64) if x.dtype.kind in "biu" else x


def widened(x: UOp) -> UOp:
    """As a float of at least 32 bits, in which sums are kept and small tolerances exist."""
    return x.cast(accumulator(to_float(x.dtype)))


def tangent(t: tuple[UOp | None, ...], *partials: UOp | float) -> UOp:
    """Σ tᵢ ∂ᵢ over the operands that have a tangent."""
    return reduce(add, (d * p for d, p in zip(t, partials, strict=True) if d is not None))


def _in_one_float(op: str, *operands: UOp) -> tuple[UOp, ...]:
    return align(op, operands, to_float(common_dtype(op, operands)))


alias(trunc, "fix")
alias(abs_, "absolute")
alias(neg, "negative")


@derived(reference=np.positive, samples=unary(), kinds="iufc")
def positive(x: UOp) -> UOp:
    """`+x`: the tensor itself."""
    return x


@composite(
    reference=np.square,
    samples=unary(),
    ad=Jvp(lambda t, y, x: t[0] * (2 * x)),
    kinds="iufc",
)
def square(x: UOp) -> UOp:
    """`x * x`."""
    return x * x


def _clamp_samples() -> list[Sample]:
    x = real(2, 3)
    bounds: list[tuple[Any, ...]] = [(-1.03, 1.02), (None, 0.51), (0.49,), (real(3, seed=1), 2.6)]
    smooth = [Sample((x, *b)) for b in bounds]
    crossed = Sample((x, 1.02, -1.03))
    ints = [rough(whole(2, 3), 1, 3), rough(whole(), 2)]
    nan = rough(SPECIAL, np.array(np.nan), 1.0)
    edges = [rough(SPECIAL, -1.0, 1.0), rough(SPECIAL, 0.0), nan]
    return [*smooth, crossed, *ints, *edges, Sample((real(0, 3), -1.0))]


def _kept(x: UOp, inside: UOp) -> UOp:
    """Where x stays: inside the bound, and where it is NaN."""
    return inside | x.isnan() if x.dtype.is_float else inside


@composite(
    reference=lambda x, min_=None, max_=None: np.clip(x, min_, max_),
    samples=_clamp_samples,
    errors=(
        Bad("E2007", (real(2),), match="min_ or max_"),
        Bad("E3001", (real(2, 3), real(2, 4)), match="dimension 1"),
        Bad("E2001", (real(2), "low"), match="number"),
    ),
    kinds="iuf",
)
def clamp(x: UOp, min_: UOp | None = None, max_: UOp | None = None) -> UOp:
    """x limited to [min_, max_]; NaN stays NaN, and at a bound the gradient goes to x."""
    if min_ is None and max_ is None:
        raise ArgumentError("E2007", "min_ or max_ must be given", op="clamp", x=x)
    if min_ is not None:
        x = _kept(x, x >= min_).where(x, min_)
    return x if max_ is None else _kept(x, x <= max_).where(x, max_)


alias(clamp, "clip")


def _lerp_reference(x: Any, end: Any, weight: Any) -> Any:
    x, end, weight = (in_float(v) for v in (x, end, weight))
    return np.where(weight < 0.5, x + weight * (end - x), end - (end - x) * (1 - weight))


@composite(
    reference=_lerp_reference,
    samples=given(
        (real(2, 3), real(3, seed=1), 0.3),
        (real(2, 3), real(2, 1, seed=1), real(3, lo=0.6, hi=1, seed=2)),
        (real(), 1.0, real(lo=0.1, hi=0.4)),
        (real(0, 3), real(3), 0.5),
        rough(real(3), real(3, seed=1), np.array([0.0, 0.5, 1.0])),
    ),
    ad=Jvp(lambda t, y, x, end, weight: tangent(t, 1 - weight, weight, end - x)),
    errors=(Bad("E3001", (real(2, 3), real(2, 4), 0.5), match="dimension 1"),),
    kinds="iuf",
    precision=widest,
)
def lerp(x: UOp, end: UOp, weight: UOp) -> UOp:
    """`x + weight * (end - x)`, exact at both ends."""
    x, end, weight = _in_one_float("lerp", x, end, weight)
    step = end - x
    return (weight < 0.5).where(x + weight * step, end - step * (1 - weight))


def _close_samples() -> list[Sample]:
    near = real(2, 3)
    return [
        Sample((near, near + 1e-9)),
        Sample((near, np.array([near[0, 0], 0.0, 1.0]))),
        Sample((near, near * 1.2), {"rtol": 0.5}),
        Sample((near, near + 0.2, 0.0, 0.5)),
        Sample((near, 1)),
        Sample((real(), real())),
        Sample((real(0, 3), real(3))),
        rough(SPECIAL, SPECIAL),
        rough(SPECIAL, SPECIAL[::-1].copy()),
        rough(SPECIAL, SPECIAL, {"equal_nan": True}),
    ]


@composite(reference=np.isclose, samples=_close_samples, ad=_TRUTH, errors=_MISMATCH, kinds="biufc")
def isclose(
    x: UOp, other: UOp, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> UOp:
    """Whether `|x - other| <= atol + rtol * |other|`; equal infinities are close."""
    kind = common_dtype("isclose", (x, other))
    a, b = align("isclose", (x, other), accumulator(kind) if kind.is_inexact else dtypes.float64)
    close = ((a - b).abs() <= b.abs() * rtol + atol) & b.isfinite() | a.eq(b)
    return close | (a.isnan() & b.isnan()) if equal_nan else close


@derived(reference=np.allclose, samples=_close_samples, ad=_TRUTH, errors=_MISMATCH, kinds="biufc")
def allclose(
    x: UOp, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> UOp:
    """Whether all elements are close in the sense of `isclose`."""
    return x.isclose(other, rtol, atol, equal_nan).all()


@composite(
    reference=lambda x, nan=0.0, posinf=None, neginf=None: np.nan_to_num(
        x, nan=nan, posinf=posinf, neginf=neginf
    ),
    samples=given(
        (real(2, 3),),
        rough(np.array([1.5, np.nan, -0.0])),
        rough(SPECIAL, 2.0, 7.0, -7.0),
        rough(SPECIAL, {"nan": -1.0, "neginf": 3.0, "posinf": 0.0}),
        (real(0, 3),),
        (whole(),),
    ),
    kinds="biuf",
)
def nan_to_num(
    x: UOp, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> UOp:
    """NaN and infinities replaced; an infinity becomes by default the largest finite number."""
    if not x.dtype.is_float:
        return x
    largest = float(ml_dtypes.finfo(x.dtype.np).max)
    high = largest if posinf is None else posinf
    low = -largest if neginf is None else neginf
    finite = x.eq(math.inf).where(high, x.eq(-math.inf).where(low, x))
    return x.isnan().where(nan, finite)


def _logit_reference(x: Any, eps: float | None = None) -> Any:
    x = in_float(x)
    z = x if eps is None else np.clip(x, eps, 1 - eps)
    return np.log(z / (1 - z))


def _logit_jvp(t: Any, y: UOp, x: UOp, eps: float | None) -> UOp:
    if eps is None:
        return t[0] / (x * (1 - x))
    outside = (x < eps) | (x > 1 - eps)
    return t[0] * outside.where(0, 1 / outside.where(0.5, x * (1 - x)))


@composite(
    reference=_logit_reference,
    samples=given(
        (real(2, 3, lo=0.1, hi=0.9),),
        (real(lo=0.1, hi=0.9),),
        (real(2, 4, lo=-0.5, hi=1.5), 0.2),
        (real(0, 3),),
        rough(SPECIAL),
        rough(SPECIAL, {"eps": 0.25}),
    ),
    ad=Jvp(_logit_jvp),
    kinds="biuf",
)
def logit(x: UOp, eps: float | None = None) -> UOp:
    """`log(x / (1 - x))`, the inverse of sigmoid; x is first limited to [eps, 1 - eps] if given."""
    z = x.cast(to_float(x.dtype))
    z = z if eps is None else z.clamp(eps, 1 - eps)
    return (z / (1 - z)).log()


def _sinc_jvp(t: Any, y: UOp, x: UOp) -> UOp:
    """π (cos u - sin u / u) / u with u = πx; near 0 its series, as the difference cancels there."""
    wide = widened(x)
    u, turn = wide * math.pi, wide.fmod(2) * math.pi
    small = u.abs() < 0.3
    near = small.where(u, 0)  # far from 0 the series overflows, and its derivative would be NaN
    u2 = near * near
    series = u2 * (-10 / math.factorial(11)) + 8 / math.factorial(9)
    for k in (3, 2, 1):
        series = u2 * series + (-1) ** k * 2 * k / math.factorial(2 * k + 1)
    safe = small.where(1, u)
    slope = small.where(near * series, (turn.cos() - turn.sin() / safe) / safe) * math.pi
    return t[0] * slope.cast(y.dtype)


@composite(
    reference=lambda x: np.sinc(in_float(x)),
    samples=lambda: [*unary()(), Sample((np.array([0.0, 1e-3, -0.02, 0.09, 0.1, 5.3]),))],
    ad=Jvp(_sinc_jvp),
    kinds="biuf",
)
def sinc(x: UOp) -> UOp:
    """`sin(πx) / (πx)`, 1 at 0."""
    wide = widened(x)
    zero = wide.eq(0)
    turn = wide.fmod(2) * math.pi  # exact for any x, where sin(πx) would see a rounded angle
    return zero.where(1, turn.sin() / zero.where(1, wide * math.pi)).cast(to_float(x.dtype))


@derived(
    reference=lambda x: polygamma.reference(in_float(x), 0),
    samples=given((real(2, 3, lo=0.3),), (real(lo=0.3, hi=20),), (whole(0, 3),)),
    kinds="iuf",
)
def digamma(x: UOp) -> UOp:
    """The derivative of lgamma: `polygamma(0)`."""
    return x.polygamma(0)


def _xlogy_reference(x: Any, other: Any) -> Any:
    x, other = np.broadcast_arrays(in_float(x), in_float(other))
    return np.where((x == 0) & ~np.isnan(other), 0.0, x * np.log(other))


def _xlogy_jvp(t: Any, y: UOp, x: UOp, other: UOp) -> UOp:
    nothing = x.eq(0) & (other <= 0)
    return tangent(t, nothing.where(0, nothing.where(1, other).log()), x / other)


@composite(
    reference=_xlogy_reference,
    samples=lambda: [
        *binary(0.3, 3)(),
        Sample((real(2, 3), real(3, lo=0.2))),
        Sample((0.0, real(3, lo=0.2))),
    ],
    ad=Jvp(_xlogy_jvp),
    errors=_MISMATCH,
    kinds="biuf",
)
def xlogy(x: UOp, other: UOp) -> UOp:
    """`x * log(other)`, 0 where x is 0 unless the other is NaN."""
    x, other = _in_one_float("xlogy", x, other)
    return (x.eq(0) & ~other.isnan()).where(0, x * other.log())


_THREE = given(
    (real(2, 3), real(3, seed=1), real(2, 1, lo=0.5, seed=2)),
    (real(2, 3), real(3, seed=1), real(lo=0.5, seed=2), {"value": 0.5}),
    (real(), real(seed=1), real(lo=0.5, seed=2), 2),
    (real(0, 3), real(3, seed=1), real(3, lo=0.5, seed=2)),
)
_THREE_MISMATCH = (Bad("E3001", (real(2, 3), real(2, 4), real(2, 4)), match="dimension 1"),)


@composite(
    reference=lambda x, a, b, value=1: x + value * a * b,
    samples=_THREE,
    errors=_THREE_MISMATCH,
    kinds="iufc",
    precision=widest,
)
def addcmul(x: UOp, tensor1: UOp, tensor2: UOp, value: float = 1) -> UOp:
    """`x + value * tensor1 * tensor2`."""
    return x + value * tensor1 * tensor2


@composite(
    reference=lambda x, a, b, value=1: x + in_float(value * a) / b,
    samples=_THREE,
    errors=_THREE_MISMATCH,
    kinds="fc",
    precision=widest,
)
def addcdiv(x: UOp, tensor1: UOp, tensor2: UOp, value: float = 1) -> UOp:
    """`x + value * tensor1 / tensor2`."""
    return x + value * tensor1 / tensor2


@composite(reference=lambda x: np.signbit(in_float(x)), samples=unary(), ad=_TRUTH, kinds="biuf")
def signbit(x: UOp) -> UOp:
    """Whether the sign is negative; that of -0.0 is."""
    if not x.dtype.is_float:
        return x < 0
    return UOp._apply("const", 1, x.dtype, x.shape, x.device).copysign(x) < 0


@derived(
    reference=np.float_power,
    samples=given((whole(2, 3, lo=1), whole(3, lo=1, seed=1)), (whole(), 2), (whole(3), -0.5)),
    kinds="biu",
)
def float_power(x: UOp, other: Any) -> UOp:
    """`x ** other` in float64."""
    wide = dtypes.complex128 if common_dtype("float_power", (x, other)).is_complex else None
    target = wide or dtypes.float64
    return x.cast(target) ** (other.cast(target) if isinstance(other, UOp) else other)


@derived(reference=lambda x: np.deg2rad(in_float(x)), samples=unary(), kinds="iuf")
def deg2rad(x: UOp) -> UOp:
    """Degrees as radians."""
    return x * (math.pi / 180)


@derived(reference=lambda x: np.rad2deg(in_float(x)), samples=unary(), kinds="iuf")
def rad2deg(x: UOp) -> UOp:
    """Radians as degrees."""
    return x * (180 / math.pi)


@derived(reference=lambda x: x - np.trunc(x), samples=unary(), kinds="iuf")
def frac(x: UOp) -> UOp:
    """The fraction of x, with its sign."""
    return x - x.trunc()


@composite(
    reference=np.heaviside,
    samples=given(
        (real(2, 3), real(3, seed=1)),
        (real(2, 3), 0.5),
        (real(0, 3), real(3)),
        rough(SPECIAL, 0.5),
        rough(np.zeros((2, 3)), real(2, 1)),
    ),
    errors=_MISMATCH,
    kinds="f",
)
def heaviside(x: UOp, values: UOp) -> UOp:
    """0 below zero, 1 above, `values` at zero; NaN stays."""
    x, values = _in_one_float("heaviside", x, values)
    steps = x.eq(0).where(values, (x > 0).cast(x.dtype))
    return x.isnan().where(x.detach(), steps)


@composite(
    reference=lambda x, other: in_float(x) * 2.0 ** in_float(other),
    samples=given(
        (real(2, 3), whole(3, lo=-3)),
        (real(), 3),
        (real(0, 3), whole(3)),
        rough(SPECIAL, whole(9, lo=-3)),
        rough(SPECIAL, np.array([[np.inf], [-np.inf]])),
    ),
    errors=(Bad("E3001", (real(2, 3), whole(2, 4)), match="dimension 1"),),
    kinds="iuf",
)
def ldexp(x: UOp, other: UOp) -> UOp:
    """`x * 2 ** other`, in two steps so that the power alone does not overflow."""
    x = x.cast(to_float(x.dtype))
    power = other.cast(x.dtype)
    half = (power * 0.5).floor()
    rest = half.isfinite().where(power - half, 0)  # inf - inf would be NaN
    return x * half.exp2() * rest.exp2()


def _ignoring_nan(name: str, word: str, choose: OpDef, reference: Any) -> OpDef:
    def call(x: UOp, other: UOp) -> UOp:
        x, other = align(name, (x, other), common_dtype(name, (x, other)))
        y = choose(x, other)
        return x.isnan().where(other, other.isnan().where(x, y)) if x.dtype.is_float else y

    call.__doc__ = (
        f"The {word} of two elements; where one is NaN the other, which gets the gradient."
    )
    return composite(
        name=name,
        reference=reference,
        samples=binary(),
        errors=_MISMATCH,
        kinds="biuf",
    )(call)


fmax = _ignoring_nan("fmax", "larger", maximum, np.fmax)
fmin = _ignoring_nan("fmin", "smaller", minimum, np.fmin)
