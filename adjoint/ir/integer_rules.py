"""Rules about integers and bools, of tensors and of loop counters.

Every rule holds in the dtype's modular arithmetic, whatever wraps around. An integer divided by
zero is 0, and so is its remainder. `affine.py` simplifies the index arithmetic of views. Elsewhere:
anything about floats (`tensor_rules.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.ir.bounds import bounds, is_discrete
from adjoint.ir.dtype import DType
from adjoint.ir.opdef import attributes
from adjoint.ir.pattern import Apply, Number, Var, any_const, bind, template
from adjoint.ir.rewrite import Rule, RuleSet, condition, dtype_condition, is_integer
from adjoint.ir.uop import UOp

x, y, p = Var("x"), Var("y"), Var("p")
Rules = tuple[Rule, ...]
whole = "whole"  # names the node that a pattern matches


# ---- templates


@template
def zeros_like(x: UOp) -> UOp:
    """0 with the shape, dtype and device of x."""
    return UOp._apply("const", 0, x.dtype, x.shape, x.device)


@template
def truth(value: bool, x: UOp) -> UOp:
    """The bool with the shape and device of x."""
    return UOp._apply("const", value, "bool", x.shape, x.device)


@template
def only_value(node: UOp) -> UOp:
    """The one value the node's range leaves."""
    value = bounds(node)[0]
    typed = bool(value) if node.dtype.is_bool else value
    return UOp._apply("const", typed, node.dtype, node.shape, node.device)


# ---- conditions


@dtype_condition
def is_bool(dtype: DType) -> bool:
    """Whether x holds bools."""
    return dtype.is_bool


@dtype_condition
def has_range(dtype: DType) -> bool:
    """Whether x holds integers or bools."""
    return dtype.kind in "biu"


@condition
def one_value(node: UOp) -> bool:
    """Whether the range leaves one value."""
    least, most = bounds(node)
    return least == most


@condition
def at_least(x: UOp, y: UOp) -> bool:
    """Whether x is never less than y."""
    return bounds(x)[0] >= bounds(y)[1]


# ---- folding: an op on constants is a constant, worked out by the op's own reference


def folded(whole: UOp) -> UOp:
    """The value of an op on constants, as a constant."""
    arrays = [np.full((), s.arg.value, s.dtype.np) for s in whole.src]
    with np.errstate(all="ignore"):
        value = np.asarray(whole.op.reference(*arrays, **attributes(whole)))
        value = value.astype(whole.dtype.np)
    return UOp._apply("const", value.item(), whole.dtype, whole.shape, whole.device)


def folds(prefix: str, arity: int, ops: Sequence[str], rewrite: Callable[..., Any]) -> Rules:
    """The rule about constants, for each of these ops."""
    consts = tuple(any_const(f"c{i}") for i in range(arity))
    return tuple(Rule(f"{prefix}_{op}", bind(whole, Apply(op, consts)), rewrite) for op in ops)


def _fold_integers(whole: UOp, **operands: UOp) -> UOp | None:
    """an op on integer constants = its value"""
    return folded(whole) if is_discrete(whole) and all(map(is_discrete, whole.src)) else None


_UNARY = ("neg", "abs", "sign", "bitwise_not", "logical_not", "cast")
_BINARY = (
    *("add", "sub", "mul", "floordiv", "mod", "idiv", "fmod", "maximum", "minimum"),
    *("lt", "le", "eq", "ne", "bitwise_and", "bitwise_or", "bitwise_xor", "lshift", "rshift"),
    *("logical_and", "logical_or", "logical_xor"),
)
fold_rules = RuleSet(
    folds("fold", 1, _UNARY, _fold_integers)
    + folds("fold", 2, _BINARY, _fold_integers)
    + folds("fold", 3, ("where",), _fold_integers)
)

# ---- identities: what is left is less than what was there

identity_rules = RuleSet(
    (
        Rule("add_zero", x + 0, x, when=is_integer(x)),
        Rule("sub_zero", x - 0, x, when=is_integer(x)),
        Rule("sub_self", x - x, zeros_like(x), when=is_integer(x)),  # floats: inf - inf is nan
        Rule("mul_one", x * 1, x, when=is_integer(x)),
        Rule("mul_zero", x * 0, zeros_like(x), when=is_integer(x)),  # floats: 0 * inf is nan
        Rule("div_one", x // 1, x, when=is_integer(x)),
        Rule("div_zero", x // 0, zeros_like(x), when=is_integer(x)),
        Rule("mod_zero", x % 0, zeros_like(x), when=is_integer(x)),
        Rule("mod_one", x % 1, zeros_like(x), when=is_integer(x)),
        Rule("mod_self", x % x, zeros_like(x), when=is_integer(x)),
        Rule("xor_self", x ^ x, zeros_like(x), when=is_integer(x)),
        Rule("lt_self", x < x, truth(False, x)),
        Rule("le_self", x <= x, truth(True, x), when=is_integer(x)),  # floats: nan <= nan is false
        Rule("eq_self", x.eq(x), truth(True, x), when=is_integer(x)),
        Rule("ne_self", x.ne(x), truth(False, x), when=is_integer(x)),
        Rule("max_self", x.maximum(x), x),
        Rule("min_self", x.minimum(x), x),
    )
)

# ---- what the ranges decide

_DECIDED = ("floordiv", "mod", "idiv", "bitwise_and", "lt", "le", "eq", "ne", "maximum", "minimum")


def _decided(op: str) -> Rule:
    node = Var(whole)
    decided = has_range(x) & one_value(node)
    return Rule(f"decided_{op}", bind(whole, Apply(op, (x, y))), only_value(node), when=decided)


range_rules = RuleSet(
    (
        *map(_decided, _DECIDED),
        Rule("max_in_range", x.maximum(y), x, when=has_range(x) & at_least(x, y)),
        Rule("min_in_range", x.minimum(y), y, when=has_range(x) & at_least(x, y)),
    )
)

# ---- choices


def _where(choose: Any, a: Any, b: Any) -> Apply:
    return Apply("where", tuple(Number(v) if isinstance(v, bool) else v for v in (choose, a, b)))


def _logic(kind: str) -> Rules:
    both: Callable[..., Apply] = getattr(x, f"{kind}_and")
    either: Callable[..., Apply] = getattr(x, f"{kind}_or")
    return (
        Rule(f"{kind}_and_true", both(True), x),
        Rule(f"{kind}_and_false", both(False), truth(False, x)),
        Rule(f"{kind}_and_self", both(x), x),
        Rule(f"{kind}_or_true", either(True), truth(True, x)),
        Rule(f"{kind}_or_false", either(False), x),
        Rule(f"{kind}_or_self", either(x), x),
    )


choice_rules = RuleSet(
    (
        Rule("where_true", _where(True, x, y), x),
        Rule("where_false", _where(False, x, y), y),
        Rule("where_same", p.where(x, x), x),
        Rule("where_truth", _where(p, True, False), p),
        Rule("where_not", p.logical_not().where(x, y), p.where(y, x), when=is_bool(p)),
        Rule("not_not", x.logical_not().logical_not(), x, when=is_bool(x)),
        Rule("bits_not_not", ~~x, x),
        *_logic("logical"),
        *_logic("bitwise"),
    )
)

integer_rules = fold_rules + range_rules + identity_rules + choice_rules
