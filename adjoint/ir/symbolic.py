"""Integer index arithmetic: the rules that make it small, and `simplify`.

Every rule holds in the dtype's modular arithmetic, or its condition excludes that anything wraps
around. An integer divided by zero is 0, and so is its remainder. What may live here: rules about
integers and bools. What may not: anything about floats (`tensor_rules.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

import numpy as np

from adjoint.ir.bounds import bounds, is_discrete, no_wrap
from adjoint.ir.opdef import attributes
from adjoint.ir.pattern import Apply, Attr, Number, Var, any_const, bind, in_order, template
from adjoint.ir.rewrite import Rule, RuleSet, condition, is_integer, rewrite
from adjoint.ir.sums import Sum, const_like, joined, plain_sum, sum_of
from adjoint.ir.uop import UOp

x, y, z, p = Var("x"), Var("y"), Var("z"), Var("p")
c, c1, c2 = any_const("c"), any_const("c1"), any_const("c2")
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
    return const_like(node, bounds(node)[0])


@template
def power_of_two(n: UOp) -> UOp:
    """2 to a constant."""
    return const_like(n, 1 << n.arg.value)


@template
def successor(n: UOp) -> UOp:
    """One more than a constant."""
    return const_like(n, n.arg.value + 1)


@template
def quotient_up(a: UOp, b: UOp) -> UOp:
    """The quotient of two constants, rounded up."""
    return const_like(a, -(-a.arg.value // b.arg.value))


# ---- conditions


@condition
def is_signed(x: UOp) -> bool:
    """Whether x holds signed integers."""
    return x.dtype.kind == "i"


@condition
def is_bool(x: UOp) -> bool:
    """Whether x holds bools."""
    return x.dtype.is_bool


@condition
def not_const(x: UOp) -> bool:
    """Whether x is no constant."""
    return x.op.name != "const"


@condition
def one_value(node: UOp) -> bool:
    """Whether the range leaves one value."""
    return is_discrete(node) and len(set(bounds(node))) == 1


@condition
def positive(c: UOp) -> bool:
    """Whether a constant is greater than 0."""
    return c.dtype.is_int and c.arg.value > 0


@condition
def nonzero(c: UOp) -> bool:
    """Whether a constant is not 0."""
    return c.dtype.is_int and c.arg.value != 0


@condition
def divides(a: UOp, b: UOp) -> bool:
    """Whether a positive constant divides another."""
    return bool(b.arg.value % a.arg.value == 0)


@condition
def no_overflow(node: UOp) -> bool:
    """Whether the node cannot wrap around."""
    return node.dtype.is_int and no_wrap(node)


@condition
def nonnegative(x: UOp) -> bool:
    """Whether x is never below 0."""
    return x.dtype.is_int and bounds(x)[0] >= 0


@condition
def at_least(x: UOp, y: UOp) -> bool:
    """Whether x is never less than y."""
    return is_discrete(x) and bounds(x)[0] >= bounds(y)[1]


@condition
def same_quotient(x: UOp, c: UOp) -> bool:
    """Whether x // c has one value."""
    lo, hi = bounds(x)
    return bool(lo // c.arg.value == hi // c.arg.value)


@condition
def is_shift(n: UOp) -> bool:
    """Whether a constant shifts 1 to a positive value of the dtype."""
    return bool(0 <= n.arg.value < n.dtype.bits - (n.dtype.kind == "i"))


@condition
def is_mask(c: UOp) -> bool:
    """Whether a constant is 2**k - 1, and 2**k is a value of the dtype."""
    value = c.arg.value
    fits = c.dtype.is_int and 0 <= value < c.dtype.max
    return bool(fits and value & (value + 1) == 0)


# ---- folding: an op on constants is a constant, worked out by the op's own reference


def _folded(whole: UOp, **operands: UOp) -> UOp | None:
    """an op on integer constants = its value"""
    if not is_discrete(whole) or not all(map(is_discrete, whole.src)):
        return None
    arrays = [np.full((), s.arg.value, s.dtype.np) for s in whole.src]
    with np.errstate(all="ignore"):
        value = np.asarray(whole.op.reference(*arrays, **attributes(whole)))
        value = value.astype(whole.dtype.np)
    return UOp._apply("const", value.item(), whole.dtype, whole.shape, whole.device)


def _fold(op: str, arity: int) -> Rule:
    consts = tuple(any_const(f"c{i}") for i in range(arity))
    return Rule(f"fold_{op}", bind(whole, Apply(op, consts)), _folded)


_UNARY = ("neg", "abs", "sign", "bitwise_not", "logical_not", "cast")
_BINARY = (
    *("add", "sub", "mul", "floordiv", "mod", "idiv", "fmod", "maximum", "minimum"),
    *("lt", "le", "eq", "ne", "bitwise_and", "bitwise_or", "bitwise_xor", "lshift", "rshift"),
    *("logical_and", "logical_or", "logical_xor"),
)
fold_rules = RuleSet(
    tuple(_fold(op, 1) for op in _UNARY)
    + tuple(_fold(op, 2) for op in _BINARY)
    + (_fold("where", 3),)
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

# ---- one form of sums and products: true in modular arithmetic whatever the values

ring_rules = RuleSet(
    (
        Rule("neg_as_mul", -x, x * -1, when=is_signed(x)),
        Rule("sub_as_add", x - y, x + y * -1, when=is_signed(x)),
        Rule("add_const_last", in_order(c + x), x + c, when=is_integer(x) & not_const(x)),
        Rule("mul_const_last", in_order(c * x), x * c, when=is_integer(x) & not_const(x)),
        Rule("add_consts", (x + c1) + c2, x + (c1 + c2), when=is_integer(x)),
        Rule("mul_consts", (x * c1) * c2, x * (c1 * c2), when=is_integer(x)),
        Rule("add_const_out", (x + c) + y, (x + y) + c, when=is_integer(x) & not_const(y)),
        Rule("mul_const_out", (x * c) * y, (x * y) * c, when=is_integer(x) & not_const(y)),
        Rule("distribute", (x + c1) * c2, x * c2 + c1 * c2, when=is_integer(x)),
    )
)


def _collected(whole: UOp, x: UOp, y: UOp) -> UOp | None:
    """x*c1 + … + x*c2 = x*(c1 + c2) + …"""
    total = sum_of(whole) if whole.dtype.is_int else None
    return joined(total, whole) if total is not None and total.merged else None


def _recombined(whole: UOp, x: UOp, y: UOp) -> UOp | None:
    """(x//a)*(a*d) + (x%a)*d + … = x*d + …, where a*d is not 0"""
    total = sum_of(whole) if whole.dtype.is_int else None
    if total is None:
        return None
    for quotient, factor in total.terms:
        found = _remainder_of(quotient, factor, total)
        if found is not None:
            gone = (quotient, found[0])
            rest = tuple(t for t in total.terms if t[0] not in gone)
            merged = Sum(((quotient.src[0], found[1]), *rest), total.constant, False)
            return joined(merged, whole)
    return None


def _remainder_of(quotient: UOp, factor: int, total: Sum) -> tuple[UOp, int] | None:
    """The term (x % a)*d that goes with (x // a)*factor."""
    if quotient.op.name != "floordiv" or quotient.src[1].op.name != "const":
        return None
    divisor = quotient.src[1].arg.value
    for node, d in total.terms:
        if node.op.name == "mod" and node.src == quotient.src and factor == divisor * d != 0:
            return node, d
    return None


sum_rules = RuleSet(
    (
        Rule("collect_terms", bind(whole, x + y), _collected),
        Rule("recombine_division", bind(whole, x + y), _recombined),
    )
)

# ---- division and remainder


def _div_of_sum(whole: UOp, x: UOp, c: UOp) -> UOp | None:
    """(c*x + r) // c = x + r // c"""
    split = _split(x, c)
    if split is None:
        return None
    multiple, rest = split
    quotient = joined(multiple.over(c.arg.value), x)
    if not rest.terms:  # 0 ≤ constant < c
        return quotient
    return quotient + joined(rest, x) // c


def _mod_of_sum(whole: UOp, x: UOp, c: UOp) -> UOp | None:
    """(c*x + r) % c = r % c"""
    split = _split(x, c)
    return None if split is None else joined(split[1], x) % c


def _split(x: UOp, c: UOp) -> tuple[Sum, Sum] | None:
    """A sum as a multiple of c and the rest, if both can be built without overflow."""
    by, total = c.arg.value, plain_sum(x)
    if total is None:
        return None
    multiple, rest = total.divisible(by), total.rest(by)
    nothing = not multiple.terms and multiple.constant == 0
    if nothing or not (multiple.over(by).within(x.dtype) and rest.within(x.dtype)):
        return None
    return multiple, rest


def _div_by_factor(whole: UOp, x: UOp, c: UOp) -> UOp | None:
    """(g*x + r) // (g*k) = x // k, where 0 ≤ r < g"""
    found = _common(x, c)
    if found is None:
        return None
    g, quotient, _ = found
    return joined(quotient, x) // const_like(c, c.arg.value // g)


def _mod_by_factor(whole: UOp, x: UOp, c: UOp) -> UOp | None:
    """(g*x + r) % (g*k) = (x % k)*g + r, where 0 ≤ r < g"""
    found = _common(x, c)
    if found is None:
        return None
    g, quotient, rest = found
    high = (joined(quotient, x) % const_like(c, c.arg.value // g)) * const_like(c, g)
    return high + joined(rest, x) if rest.terms or rest.constant else high


def _common(x: UOp, c: UOp) -> tuple[int, Sum, Sum] | None:
    """The greatest g > 1 that divides c, with x = g*quotient + rest and 0 ≤ rest < g."""
    total = plain_sum(x)
    if total is None:
        return None
    for g in sorted({gcd(f, c.arg.value) for _, f in total.terms}, reverse=True):
        quotient, rest = total.divisible(g).over(g) if g else total, total.rest(g)
        lo, hi = rest.range()
        if g > 1 and 0 <= lo and hi < g and quotient.within(x.dtype) and rest.within(x.dtype):
            return g, quotient, rest
    return None


@condition
def product_fits(a: UOp, b: UOp) -> bool:
    """Whether the product of two constants is a value of their dtype."""
    return bool(a.arg.value * b.arg.value <= a.dtype.max)


_div, _mod = bind(whole, x // c), bind(whole, x % c)
division_rules = RuleSet(
    (
        Rule("div_of_sum", _div, _div_of_sum, when=positive(c)),
        Rule("mod_of_sum", _mod, _mod_of_sum, when=positive(c)),
        Rule("div_by_factor", _div, _div_by_factor, when=positive(c)),
        Rule("mod_by_factor", _mod, _mod_by_factor, when=positive(c)),
        Rule("mod_in_range", x % c, x - x // c * c, when=positive(c) & same_quotient(x, c)),
        Rule(
            "div_div",
            (x // c1) // c2,
            x // (c1 * c2),
            when=positive(c1) & positive(c2) & product_fits(c1, c2),
        ),
        Rule(
            "mod_mod",
            (x % c1) % c2,
            x % c2,
            when=positive(c1) & positive(c2) & divides(c2, c1),
        ),
        Rule(
            "mod_div",
            (x % c1) // c2,
            (x // c2) % (c1 // c2),
            when=positive(c1) & positive(c2) & divides(c2, c1),
        ),
        Rule("idiv_nonnegative", x.idiv(y), x // y, when=nonnegative(x) & nonnegative(y)),
        Rule("fmod_nonnegative", x.fmod(y), x % y, when=nonnegative(x) & nonnegative(y)),
        Rule("shift_left", x << c, x * power_of_two(c), when=is_shift(c)),
        Rule("shift_right", x >> c, x // power_of_two(c), when=is_shift(c)),
        Rule("mask", x & c, x % successor(c), when=is_mask(c)),
    )
)

# ---- what the ranges decide

_DECIDED = ("floordiv", "mod", "idiv", "bitwise_and", "lt", "le", "eq", "ne", "maximum", "minimum")


def _decided(op: str) -> Rule:
    node = bind(whole, Apply(op, (x, y)))
    return Rule(f"decided_{op}", node, only_value(Var(whole)), when=one_value(Var(whole)))


range_rules = RuleSet(
    (
        *map(_decided, _DECIDED),
        Rule("max_in_range", x.maximum(y), x, when=at_least(x, y)),
        Rule("min_in_range", x.minimum(y), y, when=at_least(x, y)),
    )
)

# ---- comparisons and choices

compare_rules = RuleSet(
    (
        Rule(
            "lt_add_right",
            (x + c1) < c2,
            x < c2 - c1,
            when=no_overflow(x + c1) & no_overflow(c2 - c1),
        ),
        Rule(
            "lt_add_left",
            c2 < (x + c1),
            c2 - c1 < x,
            when=no_overflow(x + c1) & no_overflow(c2 - c1),
        ),
        Rule(
            "lt_mul_right",
            (x * c1) < c2,
            x < quotient_up(c2, c1),
            when=positive(c1) & no_overflow(x * c1),
        ),
        Rule(
            "lt_mul_left",
            c2 < (x * c1),
            c2 // c1 < x,
            when=positive(c1) & no_overflow(x * c1),
        ),
        Rule(
            "lt_div_right",
            (x // c1) < c2,
            x < c1 * c2,
            when=positive(c1) & no_overflow(c1 * c2),
        ),
        Rule("le_const_right", x <= c, x < c + 1, when=not_const(x) & no_overflow(c + 1)),
        Rule("le_const_left", c <= x, c - 1 < x, when=not_const(x) & no_overflow(c - 1)),
        Rule("eq_add", (x + c1).eq(c2), x.eq(c2 - c1), when=is_integer(x)),
        Rule("ne_add", (x + c1).ne(c2), x.ne(c2 - c1), when=is_integer(x)),
    )
)


def _where(choose: Any, a: Any, b: Any) -> Apply:
    return Apply("where", tuple(Number(v) if isinstance(v, bool) else v for v in (choose, a, b)))


def _logic(kind: str) -> tuple[Rule, ...]:
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


@condition
def lossless(x: UOp, middle: Any, last: Any) -> bool:
    """Whether an integer passes through the middle dtype unchanged."""
    ends = is_discrete(x) and middle.kind in "iu" and last.kind in "biu"
    return bool(ends and middle.min <= x.dtype.min and x.dtype.max <= middle.max)


@template
def as_dtype(x: UOp, dtype: Any) -> UOp:
    """x as that dtype."""
    return UOp._apply("cast", x, dtype)


cast_rules = RuleSet(
    (
        Rule(
            "cast_twice",
            x.cast(dtype=Attr("d1")).cast(dtype=Attr("d2")),
            as_dtype(x, Attr("d2")),
            when=lossless(x, Attr("d1"), Attr("d2")),
        ),
    )
)

index_rules = (
    fold_rules
    + range_rules
    + identity_rules
    + ring_rules
    + division_rules
    + compare_rules
    + choice_rules
    + cast_rules
    + sum_rules
)


def simplify(node: UOp) -> UOp:
    """The node with every rule of index arithmetic applied."""
    return rewrite([node], index_rules)[0]


__all__ = [
    "bounds",
    "choice_rules",
    "fold_rules",
    "identity_rules",
    "index_rules",
    "is_bool",
    "is_signed",
    "simplify",
]
