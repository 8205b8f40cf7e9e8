"""Elementwise ops as basic ops: the one place where a kernel's arithmetic gets its meaning.

Renderers know only basic ops (see docs/math.md), so every target computes the same bits. Operands
and results are scalar kernel nodes. A float16 or bfloat16 value is held as a float32 that the
narrow dtype holds exactly; an op on such values is computed in float32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.errors import InternalError
from adjoint.ir.dtype import DType
from adjoint.ir.opdef import OpDef
from adjoint.ir.uop import UOp
from adjoint.kernel.mathematics import (
    arc,
    division,
    error,
    exact,
    exp,
    gamma,
    log,
    power,
    trig,
)
from adjoint.kernel.mathematics.nodes import (
    NARROW,
    apply,
    held,
    negated,
    over,
    rounded,
    test,
    where,
)

Rule = Callable[..., UOp]


def decompose(
    op: OpDef, src: tuple[UOp, ...], arg: Any, dtype: DType, source: DType | None = None
) -> UOp:
    """The op of result dtype `dtype` on scalar held operands, in basic ops.

    `source` is the dtype of the first operand, if it is not the dtype that the operand is held in.
    """
    name = op.name
    kind = source or src[0].dtype
    if name == "cast":
        return exact.convert(src[0], kind, dtype)
    if name == "bitcast":
        return exact.reinterpret(src[0], kind, dtype)
    if name == "nextafter" and dtype in NARROW:
        return exact.nextafter_narrow(src[0], src[1], dtype)
    value = _rule(name, src[-1].dtype)(*src)
    return value if name in _UNROUNDED else rounded(value, dtype)


def decompose_node(node: UOp, src: tuple[UOp, ...]) -> UOp:
    """A node of any shape as one element of it: `src` are the elements of its sources."""
    return decompose(node.op, src, node.arg, node.dtype, node.src[0].dtype)


def decomposes(op: OpDef) -> bool:
    """Whether `decompose` knows the op."""
    return op.name in KERNEL_OPS


def _rule(name: str, dtype: DType) -> Rule:
    tables = (_ON_BOOL,) if dtype.is_bool else (_ON_INT,) if dtype.is_int else (_ON_FLOAT,)
    for table in (*tables, _ON_ALL):
        if name in table:
            return table[name]
    raise InternalError(f"no way is known to compute {name!r} of {dtype.name} in a kernel")


def _plain(name: str) -> Rule:
    """The op itself, which is basic."""
    return lambda *src: apply(name, *src)


def _comparison(name: str) -> Rule:
    return lambda a, b: test(name, a, b)


def _same(x: UOp) -> UOp:
    return x


def _first_and_not(a: UOp, b: UOp) -> UOp:
    return apply("logical_and", negated(a), b)


_ON_BOOL: dict[str, Rule] = {
    "add": _plain("logical_or"),
    "mul": _plain("logical_and"),
    "maximum": _plain("logical_or"),
    "minimum": _plain("logical_and"),
    "lt": _first_and_not,
    "le": lambda a, b: apply("logical_or", negated(a), b),
    "eq": lambda a, b: negated(apply("logical_xor", a, b)),
    "ne": _plain("logical_xor"),
    "bitwise_and": _plain("logical_and"),
    "bitwise_or": _plain("logical_or"),
    "bitwise_xor": _plain("logical_xor"),
    "bitwise_not": negated,
    "logical_not": negated,
    **dict.fromkeys(("abs", "floor", "ceil", "trunc", "round"), _same),
    **{name: _plain(name) for name in ("logical_and", "logical_or", "logical_xor")},
}
_ON_INT: dict[str, Rule] = {
    **dict.fromkeys(("floor", "ceil", "trunc", "round"), _same),
    **{name: _plain(name) for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not")},
    "abs": lambda x: x if x.dtype.kind == "u" else apply("abs", x),
    "idiv": exact.idiv,
    "fmod": exact.fmod,
    "floordiv": exact.floordiv,
    "mod": exact.mod,
    "lshift": exact.lshift,
    "rshift": exact.rshift,
    "threefry": exact.threefry,
}
_ON_FLOAT: dict[str, Rule] = {
    **{name: _plain(name) for name in ("abs", "true_div", "sqrt", "copysign")},
    **{name: _plain(name) for name in ("floor", "ceil", "trunc", "round")},
    "reciprocal": lambda x: over(1.0, x),
    "idiv": lambda a, b: apply("trunc", over(a, b)),
    "fmod": division.fmod,
    "floordiv": division.floordiv,
    "mod": division.mod,
    "nextafter": exact.nextafter,
    "rsqrt": power.rsqrt,
    "hypot": power.hypot,
    **{name: getattr(exp, name) for name in ("exp", "exp2", "expm1", "sigmoid")},
    **{name: getattr(exp, name) for name in ("tanh", "sinh", "cosh")},
    **{name: getattr(log, name) for name in ("log", "log2", "log10", "log1p")},
    **{name: getattr(log, name) for name in ("asinh", "acosh", "atanh", "logaddexp")},
    **{name: getattr(trig, name) for name in ("sin", "cos", "tan")},
    **{name: getattr(arc, name) for name in ("asin", "acos", "atan", "atan2")},
    **{name: getattr(error, name) for name in ("erf", "erfinv")},
    "lgamma": gamma.lgamma,
}
_ON_ALL: dict[str, Rule] = {
    **{name: _plain(name) for name in ("add", "sub", "mul", "neg", "maximum", "minimum")},
    **{name: _comparison(name) for name in ("lt", "le", "eq", "ne")},
    "pow": power.pow_,
    "relu": exact.relu,
    "sign": exact.sign,
    "isnan": exact.isnan,
    "isinf": exact.isinf,
    "isfinite": exact.isfinite,
    "logical_not": lambda x: test("eq", x, 0),
    "where": where,
}
_UNROUNDED = frozenset(  # of narrow values these are narrow values, or no floats
    (
        *("neg", "abs", "maximum", "minimum", "relu", "sign", "copysign", "where"),
        *("floor", "ceil", "trunc", "round"),
        *("lt", "le", "eq", "ne", "isnan", "isinf", "isfinite", "logical_not"),
    )
)
KERNEL_OPS = frozenset({*_ON_BOOL, *_ON_INT, *_ON_FLOAT, *_ON_ALL, "cast", "bitcast"})

__all__ = ["KERNEL_OPS", "decompose", "decompose_node", "decomposes", "held", "rounded"]
