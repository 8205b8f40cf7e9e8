"""Elementwise arithmetic: sums, products, quotients, powers, extremes, roundings."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError
from adjoint.ir.broadcast import elementwise
from adjoint.ir.derivative import Diagonal, Partials, ZeroGradient
from adjoint.ir.dtype import real_of, to_float
from adjoint.ir.kernel_kind import BASIC, EXPENSIVE
from adjoint.ir.opdef import Bad, OpDef, Sample, derived
from adjoint.ir.precision import full
from adjoint.ir.uop import UOp
from adjoint.ops.mathematics import division, exact, power
from adjoint.ops.mathematics.nodes import all_of, any_of, apply, itself, over
from adjoint.ops.roots import ABS, constant_value
from adjoint.ops.samples import binary, given, real, rough, unary, whole

Array = np.ndarray[Any, Any]

add = elementwise(
    "add",
    "Sum `x + y`.",
    partials=lambda y, a, b: (1, 1),
    body=BASIC,
    on_bool=any_of,
    reference=lambda a, b: np.logical_or(a, b) if _both_bool(a, b) else np.add(a, b),
    samples=binary(),
    bounds=lambda a, b: (a[0] + b[0], a[1] + b[1]),
    commutative=True,
)
sub = elementwise(
    "sub",
    "Difference `x - y`.",
    kinds="iufc",
    partials=lambda y, a, b: (1, -1),
    body=BASIC,
    reference=np.subtract,
    samples=binary(),
    errors=(
        Bad("E3001", (real(2, 3), real(2, 4)), match="dimension 1"),
        Bad("E2005", (np.array([True]), np.array([True])), match="bool"),
    ),
    bounds=lambda a, b: (a[0] - b[1], a[1] - b[0]),
)
mul = elementwise(
    "mul",
    "Product `x * y`.",
    partials=lambda y, a, b: (b, a),
    body=BASIC,
    on_bool=all_of,
    reference=lambda a, b: np.logical_and(a, b) if _both_bool(a, b) else np.multiply(a, b),
    samples=binary(),
    bounds=lambda a, b: _corners(a, b, lambda p, q: p * q),
    commutative=True,
)


def _both_bool(a: Any, b: Any) -> bool:
    return bool(np.result_type(a, b) == np.bool_)


def _corners(a: tuple[int, int], b: tuple[int, int], fn: Any) -> tuple[int, int]:
    values = [fn(p, q) for p in a for q in b]
    return min(values), max(values)


neg = elementwise(
    "neg",
    "Negation `-x`.",
    arity=1,
    kinds="iufc",
    partials=lambda y, x: (-1,),
    body=BASIC,
    rounds=False,
    reference=np.negative,
    samples=unary(),
    errors=(Bad("E2005", (np.array([True]),), match="bool"),),
    bounds=lambda x: (-x[1], -x[0]),
)
true_div = elementwise(
    "true_div",
    "Quotient `x / y`; integers are divided as floats.",
    kinds="fc",
    cast=to_float,
    partials=lambda y, a, b: (1 / b, -y / b),
    cost=3,
    body=BASIC,
    reference=lambda a, b: np.true_divide(*_floats(a, b)),
    samples=binary(),
)


def _floats(*arrays: Any) -> tuple[Any, ...]:
    """NumPy divides int8 as float16; ours are float32, as every real function of an integer."""
    if any(np.asarray(a).dtype.kind in "fcV" for a in arrays):
        return arrays
    return tuple(np.asarray(a).astype(np.float32) for a in arrays)


reciprocal = elementwise(
    "reciprocal",
    "Reciprocal `1 / x`.",
    arity=1,
    kinds="fc",
    cast=to_float,
    partials=lambda y, x: (-y * y,),
    cost=3,
    body=lambda x: over(1.0, x),
    exact=True,
    reference=lambda x: np.reciprocal(*_floats(x)),
    samples=unary(0.5, 3),
    precision=full,
)


def _pair(a: Any, b: Any) -> list[Array]:
    """Both as arrays of one shape and dtype; a Python scalar takes the other's dtype."""
    dtype = np.result_type(a, b)
    return list(np.broadcast_arrays(np.asarray(a, dtype), np.asarray(b, dtype)))


def _division(of_floats: Any, of_ints: Any) -> Any:
    """A quotient or remainder; of integers divided by zero it is 0."""

    def reference(a: Any, b: Any) -> Any:
        a, b = _pair(a, b)
        if a.dtype.kind == "f":
            return of_floats(a, b)
        return np.where(b == 0, 0, of_ints(a, np.where(b == 0, np.ones_like(b), b)))

    return reference


def _truncated(a: Array, b: Array) -> Array:
    quotient = np.floor_divide(a, b)
    return quotient + ((quotient * b != a) & (quotient < 0))


def _floordiv_bounds(a: tuple[int, int], b: tuple[int, int]) -> tuple[Any, Any]:
    if b[0] <= 0 <= b[1]:
        return -max(map(abs, a)), max(map(abs, a))  # a division by zero gives zero
    return _corners(a, b, lambda p, q: p // q)


def _idiv_bounds(a: tuple[int, int], b: tuple[int, int]) -> tuple[Any, Any]:
    most = max(map(abs, a))
    return (0 if a[0] >= 0 and b[0] >= 0 else -most), (most if a[1] > 0 or b[0] < 0 else 0)


def _fmod_bounds(a: tuple[int, int], b: tuple[int, int]) -> tuple[Any, Any]:
    most = max(max(map(abs, b)) - 1, 0)
    return max(min(a[0], 0), -most), min(max(a[1], 0), most)


def _mod_bounds(a: tuple[int, int], b: tuple[int, int]) -> tuple[Any, Any]:
    if 0 <= a[0] and a[1] < b[0]:
        return a
    return (min(b[0] + 1, 0), max(b[1] - 1, 0))


_STEPS = "piecewise constant: zero wherever it is defined"
_WHOLE: dict[str, Any] = {
    "kinds": "iuf",
    "samples": binary(0.6, 5, special=False),
}
floordiv = elementwise(
    "floordiv",
    "Quotient rounded down, `x // y`. An integer divided by zero gives 0.",
    ad=ZeroGradient(_STEPS),
    cost=EXPENSIVE,
    body=division.floordiv,
    on_int=exact.floordiv,
    reference=_division(np.floor_divide, np.floor_divide),
    bounds=_floordiv_bounds,
    **_WHOLE,
)
mod = elementwise(
    "mod",
    "Remainder with the sign of the divisor, `x % y`. An integer modulo zero gives 0.",
    ad=Partials(lambda y, a, b: (1, -(a / b).floor())),
    cost=EXPENSIVE,
    body=division.mod,
    on_int=exact.mod,
    reference=_division(np.mod, np.mod),
    bounds=_mod_bounds,
    **_WHOLE,
)
idiv = elementwise(
    "idiv",
    "Quotient rounded towards zero. An integer divided by zero gives 0.",
    ad=ZeroGradient(_STEPS),
    body=lambda a, b: apply("trunc", over(a, b)),
    on_int=exact.idiv,
    reference=_division(lambda a, b: np.trunc(np.true_divide(a, b)), _truncated),
    bounds=_idiv_bounds,
    **_WHOLE,
)
fmod = elementwise(
    "fmod",
    "Remainder with the sign of the dividend. An integer modulo zero gives 0.",
    ad=Partials(lambda y, a, b: (1, -(a / b).trunc())),
    cost=EXPENSIVE,
    body=division.fmod,
    on_int=exact.fmod,
    reference=_division(np.fmod, np.fmod),
    bounds=_fmod_bounds,
    **_WHOLE,
)


_ROUNDED = {None: true_div, "floor": floordiv, "trunc": idiv}


@derived(
    reference=lambda a, b, rounding_mode=None: _ROUNDED[rounding_mode].reference(a, b),
    samples=given(
        (real(2, 3), real(3, lo=0.5, seed=1)),
        rough(real(2, 3), real(3, lo=0.5, seed=1), {"rounding_mode": "floor"}),
        rough(real(2, 3), real(3, lo=0.5, seed=1), {"rounding_mode": "trunc"}),
    ),
    errors=(Bad("E2008", (real(2), real(2)), {"rounding_mode": "up"}, match="rounding_mode"),),
    kinds="iuf",
)
def div(x: UOp, other: Any, rounding_mode: str | None = None) -> UOp:
    """Quotient `x / y`, rounded as `rounding_mode` says: None, "floor" or "trunc"."""
    if rounding_mode not in _ROUNDED:
        problem = f'rounding_mode {rounding_mode!r} is not None, "floor" or "trunc"'
        raise ArgumentError("E2008", problem, op="div")
    return _ROUNDED[rounding_mode](x, other)


def _power_reference(a: Any, b: Any) -> Any:
    a, b = _pair(a, b)
    if np.result_type(a, b).kind in "fc":
        return np.power(a, b)
    base = np.where(b < 0, np.where(np.abs(a) == 1, a, 0), a)  # truncated 1 / a**|b|
    return np.power(base, np.where(b < 0, 2 - (b & 1), b))  # the least integer has no abs


def _has_log(base: UOp) -> UOp:
    """Where the exponent has a gradient: a base > 0, and any complex base but 0."""
    return base.ne(0) if base.dtype.is_complex else base > 0


def _pow_partials(y: UOp, a: UOp, b: UOp) -> tuple[Any, UOp]:
    """By the base `b a**(b - 1)`, by the exponent `y log a`, where there is a logarithm.

    Elsewhere the exponent counts as fixed, in the first partial too: mixed derivatives agree.
    """
    logarithm = _has_log(a)
    by_exponent = logarithm.where(y * logarithm.where(a, 1).log(), 0)
    value = constant_value(b)
    if value is not None:
        return _power_rule(a, value, b), by_exponent
    fixed = logarithm.where(b, b.detach())
    at_one = a.eq(0) & b.eq(0)  # 0 ** 0 is 1, with the derivative 0
    by_base = at_one.where(0, fixed * at_one.where(1, a) ** (fixed - 1))
    return by_base, by_exponent


def _power_rule(a: UOp, value: Any, b: UOp) -> UOp | None:
    if value == 0:
        return None
    return b * (a if value == 2 else a ** (value - 1))


def _direct_exponent(node: UOp) -> float | None:
    """The exponent, where it has arithmetic of its own: a program for any exponent has not."""
    value = constant_value(node.src[1]) if node.dtype.is_float else None
    return value if value is not None and power.is_direct(value) else None


pow_ = elementwise(
    "pow",
    "Power `x ** y`. A negative integer power of an integer is truncated towards zero.",
    kinds="iufc",
    partials=_pow_partials,
    cost=EXPENSIVE,
    body=power.pow_of,
    told_by=_direct_exponent,
    reference=_power_reference,
    samples=lambda: [
        *binary(0.3, 3)(),
        Sample((real(2, 3), 2)),
        Sample((real(2, 3), 3.0)),
        Sample((2, real(2, 3))),
        rough(whole(4, lo=-2, hi=3), whole(4, lo=0, hi=4)),
    ],
    precision=full,
)


def _extreme(name: str, word: str, wins: Any, choose: Any, on_bool: Any, reference: Any) -> OpDef:
    def partials(d: UOp, y: UOp, a: UOp, b: UOp) -> tuple[UOp, UOp]:
        tied = a.eq(b).where(d * 0.5, 0)
        return wins(a, b).where(d, tied), wins(b, a).where(d, tied)

    return elementwise(
        name,
        f"The {word} of two elements; NaN if either is. At a tie the gradient is halved.",
        kinds="biuf",
        ad=Diagonal(partials),
        body=BASIC,
        on_bool=on_bool,
        rounds=False,
        reference=reference,
        samples=binary(),
        bounds=lambda a, b: (choose(a[0], b[0]), choose(a[1], b[1])),
        commutative=True,
    )


maximum = _extreme("maximum", "larger", operator.gt, max, any_of, np.maximum)
minimum = _extreme("minimum", "smaller", operator.lt, min, all_of, np.minimum)
relu = elementwise(
    "relu",
    "`max(x, 0)` as its own op: the gradient at 0 is 0.",
    arity=1,
    kinds="iuf",
    ad=Diagonal(lambda d, y, x: ((y > 0).where(d, 0),)),  # of the result: x need not be kept
    body=exact.relu,
    rounds=False,
    reference=lambda x: np.where(x < 0, np.zeros_like(x), x),  # -0.0 and NaN stay what they are
    samples=unary(),
    bounds=lambda x: (max(x[0], 0), max(x[1], 0)),
)


abs_ = elementwise(
    "abs",
    "Absolute value; the gradient at 0 is 0.",
    arity=1,
    kinds="biufc",
    result=real_of,
    ad=ABS,
    body=BASIC,
    on_int=lambda x: x if x.dtype.kind == "u" else apply("abs", x),
    on_bool=itself,
    rounds=False,
    reference=np.abs,
    samples=unary(),
    bounds=lambda x: (0 if x[0] <= 0 <= x[1] else min(map(abs, x)), max(map(abs, x))),
)
sign = elementwise(
    "sign",
    "-1, 0 or 1 by the sign of x; NaN stays NaN.",
    arity=1,
    kinds="iuf",
    ad=ZeroGradient(_STEPS),
    body=exact.sign,
    rounds=False,
    exact=True,
    reference=np.sign,
    samples=unary(),
    bounds=lambda x: tuple((v > 0) - (v < 0) for v in x),
)


def _rounding(name: str, doc: str, reference: Any) -> Any:
    return elementwise(
        name,
        doc,
        arity=1,
        kinds="biuf",
        ad=ZeroGradient(_STEPS),
        body=BASIC,
        on_int=itself,
        on_bool=itself,
        rounds=False,
        reference=lambda x: x if np.asarray(x).dtype.kind in "biu" else reference(x),
        samples=unary(),
    )


ceil = _rounding("ceil", "The least integer ≥ x.", np.ceil)
floor = _rounding("floor", "The greatest integer ≤ x.", np.floor)
trunc = _rounding("trunc", "x without its fraction.", np.trunc)
round_ = _rounding("round", "The nearest integer; halves go to the even one.", np.round)
copysign = elementwise(
    "copysign",
    "The magnitude of x with the sign of y (the sign of -0.0 counts).",
    kinds="f",
    cast=to_float,
    partials=lambda y, a, b: (a.sign() * y.sign(), None),
    body=BASIC,
    rounds=False,
    reference=lambda a, b: np.copysign(*_floats(a, b)),
    samples=binary(),
)


def _nextafter(a: Array, b: Array) -> Array:
    """The second where they are equal, as C has it: NumPy's versions differ for 0.0 and -0.0."""
    return np.where(a == b, b, np.nextafter(a, b))


nextafter = elementwise(
    "nextafter",
    "The next float after x towards y.",
    kinds="f",
    cast=to_float,
    partials=lambda y, a, b: (1, None),
    of_types=exact.nextafter_of,
    reference=lambda a, b: _nextafter(*_floats(a, b)),
    samples=given((real(2, 3), real(3, seed=1))),
    computes_in_f32=False,
)
