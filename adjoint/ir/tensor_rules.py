"""Simplifications of tensor graphs that change no value, not even a NaN or a zero's sign.

Movement that undoes or repeats itself, choices between equal values, and arithmetic with the
neutral element of floats: `x * 1` and `x + -0.0`, but never `x + 0.0` (-0.0 would change), `x * 0`,
`x - x` or `x / x` (infinities and NaN would). Integers have more rules (`integer_rules.py`).
"""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.dtype import DType
from adjoint.ir.integer_rules import choice_rules, fold_rules, folded, folds, identity_rules
from adjoint.ir.pattern import Attr, Var, any_const, template
from adjoint.ir.rewrite import Rule, RuleSet, condition, dtype_condition
from adjoint.ir.sizes import alike
from adjoint.ir.uop import UOp

x, y = Var("x"), Var("y")
c = any_const("c")
a, b = Attr("a"), Attr("b")


@dtype_condition
def is_real(dtype: DType) -> bool:
    """Whether x is neither bool nor complex: (inf + 0j) * 1 has a NaN."""
    return dtype.kind in "iuf"


@dtype_condition
def has_sign(dtype: DType) -> bool:
    """Whether x holds floats or signed integers: of an unsigned 1, -x is the largest number."""
    return dtype.kind in "if"


@dtype_condition
def is_float(dtype: DType) -> bool:
    """Whether x holds floats."""
    return dtype.is_float


@condition
def has_shape(x: UOp, shape: Any) -> bool:
    """Whether x has that shape already."""
    return alike(x.shape, shape)


@condition
def keeps_values(x: UOp, middle: DType, last: DType) -> bool:
    """Whether a cast through the middle dtype gives what a direct one does."""
    return cast_is_lossless(x.dtype, middle) and not _saturates(x.dtype, middle, last)


def cast_is_lossless(source: DType, target: DType) -> bool:
    """Whether every value of the source is a value of the target."""
    if source is target or source.is_bool:
        return True
    if source.is_int:
        if target.is_int:
            return bool(target.min <= source.min and source.max <= target.max)
        digits = source.bits - (source.kind == "i")
        return target.is_inexact and digits <= _digits(target)
    if source.is_float and target.is_inexact:
        return _digits(source) <= _digits(target) and _exponent(source) <= _exponent(target)
    return source.is_complex and target.is_complex and source.itemsize <= target.itemsize


_SIGNIFICAND = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_SIGNIFICAND |= {"complex64": 24, "complex128": 53, "float8_e4m3fn": 4, "float8_e5m2": 3}


def _digits(dtype: DType) -> int:
    return _SIGNIFICAND[dtype.name]


def _exponent(dtype: DType) -> int:
    return {3: 5, 4: 4, 11: 5, 8: 8, 24: 8, 53: 11}[_digits(dtype)]


def _saturates(source: DType, middle: DType, last: DType) -> bool:
    """An integer that comes through a float saturates into a narrow integer; directly it wraps."""
    through = source.is_int and middle.is_inexact and last.is_int
    return through and not cast_is_lossless(source, last)


@template
def as_dtype(x: UOp, dtype: DType) -> UOp:
    """x as that dtype."""
    return UOp._apply("cast", x, dtype)


@template
def full(c: UOp, shape: Any) -> UOp:
    """The constant under another shape."""
    return UOp._apply("const", c.arg.value, c.dtype, shape, c.device)


@template
def permuted(x: UOp, first: Any, second: Any) -> UOp:
    """Two permutations as one."""
    return UOp._apply("permute", x, tuple(first[axis] for axis in second))


@template
def permuted_const(c: UOp, order: Any) -> UOp:
    """The constant with its axes in another order."""
    shape = tuple(c.shape[axis] for axis in order)
    return UOp._apply("const", c.arg.value, c.dtype, shape, c.device)


@template
def flipped(x: UOp, first: Any, second: Any) -> UOp:
    """Two reversals as one: an axis in both is not reversed."""
    axes = tuple(axis for axis in range(len(x.shape)) if (axis in first) != (axis in second))
    return UOp._apply("flip", x, axes)


@template
def reciprocal(c: UOp) -> UOp:
    """One over a constant."""
    return UOp._apply("const", 1 / c.arg.value, c.dtype, c.shape, c.device)


@condition
def is_power_of_two(c: UOp) -> bool:
    """Whether a constant is 2**k or -2**k, and its reciprocal a normal number of the dtype."""
    mantissa, exponent = math.frexp(c.arg.value)
    greatest = (1 << (_exponent(c.dtype) - 1)) - 1
    return abs(mantissa) == 0.5 and 1 - greatest <= 1 - exponent <= greatest


# ---- folding floats: arithmetic that IEEE 754 leaves no choice in


def _fold_floats(whole: UOp, **operands: UOp) -> UOp | None:
    """an op of one rounding on float constants = its value"""
    return folded(whole) if all(s.dtype.is_float for s in whole.src) else None


_BINARY = ("add", "sub", "mul", "true_div", "lt", "le", "eq", "ne")
float_fold_rules = RuleSet(
    folds("fold_float", 1, ("neg", "abs"), _fold_floats)
    + folds("fold_float", 2, _BINARY, _fold_floats)
)


def _idempotent(name: str) -> Rule:
    once = getattr(x, name)()
    return Rule(f"{name}_twice", getattr(once, name)(), once)


movement_rules = RuleSet(
    (
        Rule("reshape_twice", x.reshape(shape=a).reshape(shape=b), x.reshape(shape=b)),
        Rule("reshape_same", x.reshape(shape=a), x, when=has_shape(x, a)),
        Rule("reshape_const", c.reshape(shape=a), full(c, a)),
        Rule("expand_twice", x.expand(shape=a).expand(shape=b), x.expand(shape=b)),
        Rule("expand_same", x.expand(shape=a), x, when=has_shape(x, a)),
        Rule("expand_const", c.expand(shape=a), full(c, a)),
        Rule("permute_twice", x.permute(order=a).permute(order=b), permuted(x, a, b)),
        Rule("permute_const", c.permute(order=a), permuted_const(c, a)),
        Rule("flip_twice", x.flip(axis=a).flip(axis=b), flipped(x, a, b)),
        Rule("flip_const", c.flip(axis=a), c),
        Rule(
            "cast_twice_exact",
            x.cast(dtype=a).cast(dtype=b),
            as_dtype(x, b),
            when=keeps_values(x, a, b),
        ),
        *map(_idempotent, ("contiguous", "detach")),
    )
)

arithmetic_rules = RuleSet(
    (
        Rule("neg_twice", x.neg().neg(), x),
        Rule("times_one", x * 1, x, when=is_float(x)),
        Rule("times_minus_one", x * -1, x.neg(), when=is_float(x)),
        Rule("over_one", x / 1, x, when=is_float(x)),
        Rule("over_power_of_two", x / c, x * reciprocal(c), when=is_float(x) & is_power_of_two(c)),
        Rule("minus_zero", x - 0, x, when=is_float(x)),
        Rule("plus_negative_zero", x + -0.0, x, when=is_float(x)),
        Rule("plus_negated", x + y.neg(), x - y, when=is_real(x)),
        Rule("minus_negated", x - y.neg(), x + y, when=is_real(x)),
        Rule("product_of_negated", x.neg() * y.neg(), x * y, when=is_real(x)),
        Rule("abs_of_negated", x.neg().abs(), x.abs(), when=has_sign(x)),
        *map(_idempotent, ("abs", "floor", "ceil", "trunc", "round")),
    )
)

tensor_rules = (
    movement_rules
    + arithmetic_rules
    + float_fold_rules
    + fold_rules
    + identity_rules
    + choice_rules
)
