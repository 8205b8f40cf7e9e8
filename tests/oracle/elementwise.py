"""How ours is called for torch's elementwise ops, casts and creation; no torch, no Adjoint here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Call = Callable[..., Any]


class Missing(Exception):  # noqa: N818
    """The sample uses an option that ours does not have; named as in conventions.MISSING."""


def method(name: str) -> Call:
    """The tensor's method of that name, with the same arguments."""
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


def each(names: str, call: Callable[[str], Call] = method, prefix: str = "") -> dict[str, Call]:
    """The same kind of call for several names, of which torch's begin with the prefix."""
    return {prefix + name: call(name) for name in names.split()}


SAME = """
    abs acos acosh asin asinh atan atanh ceil clone contiguous cos cosh deg2rad digamma erf erfinv
    exp exp2 expm1 floor frac isfinite isinf isnan lgamma log log10 log1p log2 logical_not logit
    nan_to_num neg positive rad2deg reciprocal round rsqrt sigmoid sign signbit sin sinc sinh sqrt
    square tan tanh trunc bitwise_not real imag conj
    mul atan2 copysign eq ne lt le gt ge fmod heaviside hypot ldexp logaddexp logical_and
    logical_or logical_xor bitwise_and bitwise_or bitwise_xor maximum minimum nextafter pow
    float_power xlogy isclose complex masked_fill lerp addcmul addcdiv allclose
    bfloat16 bool char double float half int long short zeros_like ones_like full_like
"""

RENAMED = {
    "conj_physical": "conj",
    "sgn": "sign",
    "resolve_conj": "clone",
    "true_divide": "div",
    "div.no_rounding_mode": "div",
    "div.trunc_rounding": "div",
    "div.floor_rounding": "div",
    "floor_divide": "floordiv",
    "remainder": "mod",
    "max.binary": "maximum",
    "min.binary": "minimum",
    "bitwise_left_shift": "lshift",
    "bitwise_right_shift": "rshift",
    "byte": "uchar",
}


def _where(x: Any, condition: Any, other: Any) -> Any:
    return condition.where(x, other)


def _clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    return x.clamp(min, max)


def _polygamma(x: Any, n: int) -> Any:
    return x.polygamma(n)


ELEMENTWISE: dict[str, Call] = {
    **each(SAME),
    **{name: method(ours) for name, ours in RENAMED.items()},
    **{f"polygamma.polygamma_n_{n}": _polygamma for n in range(5)},
    "add": lambda x, other, alpha=1: x + other * alpha,
    "sub": lambda x, other, alpha=1: x - other * alpha,
    "rsub": lambda x, other, alpha=1: other - x * alpha,
    "__radd__": lambda x, other: x.__radd__(other),
    "__rsub__": lambda x, other: x.__rsub__(other),
    "__rmul__": lambda x, other: x.__rmul__(other),
    "__rdiv__": lambda x, other: x.__rtruediv__(other),
    "__rmod__": lambda x, other: x.__rmod__(other),
    "__rpow__": lambda x, other: x.__rpow__(other),
    "__rand__": lambda x, other: x.__rand__(other),
    "__ror__": lambda x, other: x.__ror__(other),
    "__rxor__": lambda x, other: x.__rxor__(other),
    "clamp": _clamp,
    "clamp_min": lambda x, bound: x.clamp(bound, None),
    "clamp_max": lambda x, bound: x.clamp(None, bound),
    "where": _where,
}


def _arange(cls: Any, start: Any, end: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    return cls.arange(start, end, step, dtype=dtype)


# Called with the class of tensors first.
CREATION: dict[str, Call] = {
    "arange": _arange,
    "eye": lambda cls, *args, dtype=None: cls.eye(*args, dtype=dtype),
    "linspace": lambda cls, start, end, steps, dtype=None: cls.linspace(
        start, end, steps, dtype=dtype
    ),
    "ones": lambda cls, shape, dtype=None: cls.ones(*shape, dtype=dtype),
    "zeros": lambda cls, shape, dtype=None: cls.zeros(*shape, dtype=dtype),
    "full": lambda cls, shape, value, dtype=None: cls.full(shape, value, dtype=dtype),
}
