"""Pieces of a formula: numbers, signs, products, and how each op is written.

What may live here: text of one node from the text of its operands. What may not: which nodes are
shown, named or shared; that is `formula.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from adjoint.ir.dtype import DType
from adjoint.ir.uop import UOp

OR, AND, COMPARE, SUM, PRODUCT, POWER, ATOM = range(7)
_SUPER = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_HIDDEN = ("token", "present")  # attributes that say nothing about the value
_NEUTRAL = {"interior": 0, "step": 1, "stride": 1, "dilation": 1}  # not shown if all are this
_CONSTANTS = {
    math.pi: "π",
    math.pi / 2: "π/2",
    2 * math.pi: "2π",
    math.e: "e",
    math.log(2): "ln 2",
    math.log(10): "ln 10",
    1 / math.log(2): "1/ln 2",
    math.sqrt(2): "√2",
    math.sqrt(0.5): "1/√2",
    math.sqrt(math.pi) / 2: "√π/2",
    2 * math.sqrt(2 / math.pi): "2√(2/π)",
    math.log(2 * math.pi) / 2: "ln(2π)/2",
    2 / math.sqrt(math.pi): "2/√π",
    1 / (math.sqrt(math.pi) / 2): "2/√π",
    math.sqrt(2 / math.pi): "√(2/π)",
    1 / math.sqrt(2 * math.pi): "1/√(2π)",
    math.pi / 180: "π/180",
    180 / math.pi: "180/π",
    1 / 3: "1/3",
    2 / 3: "2/3",
    1 / 6: "1/6",
}
_CALLS = {"maximum": "max", "minimum": "min", "scan_sum": "cumsum", "scan_prod": "cumprod"} | {
    "scan_max": "cummax",
    "scan_min": "cummin",
    "pad_constant": "pad",
}
_COMPARISONS = {"lt": ("<", ">"), "le": ("≤", "≥"), "eq": ("=", "="), "ne": ("≠", "≠")}
_LOGIC = {"bitwise_and": ("∧", AND), "logical_and": ("∧", AND)} | {
    "bitwise_or": ("∨", OR),
    "logical_or": ("∨", OR),
}
_REDUCTIONS = {"reduce_sum": "Σ", "reduce_prod": "Π", "max": "max", "min": "min"} | {
    "any": "any",
    "all": "all",
}
_AROUND = {"abs": "||", "floor": "⌊⌋", "ceil": "⌈⌉"}


class Term(NamedTuple):
    """A piece of text, how tightly it holds together, and whether a minus stands before it."""

    text: str
    level: int = ATOM
    negative: bool = False
    number: bool = False


def is_light(node: UOp) -> bool:
    """Casts between numbers of one kind or to a richer one; axes of size 1 that come or go."""
    if node.op.name == "cast":
        before, after = node.src[0].dtype.kind, node.dtype.kind
        return before != "b" and (before == after or (after in "fc" and before != "c"))
    if node.op.name == "reshape":
        return [n for n in node.shape if n != 1] == [n for n in node.src[0].shape if n != 1]
    return False


def counted_axis(node: UOp) -> int | None:
    """The axis along which the node counts 0, 1, 2 …, if that is what it does."""
    if node.op.name == "reshape" and is_light(node) and counted_axis(node.src[0]) is not None:
        return next((axis for axis, n in enumerate(node.shape) if n != 1), 0)
    if node.op.name != "sub" or not _is_const(node.src[1], 1):
        return None
    ones = node.src[0]
    running = ones.op.name == "scan_sum" and _is_const(ones.src[0], 1) and ones.dtype.is_int
    return ones.arg.axis if running else None


def _is_const(node: UOp, value: Any) -> bool:
    return node.op.name == "const" and node.arg.value == value


def whole_power(exponent: UOp) -> bool:
    """Whether the exponent is 1, 2, … 9, and can be written as a superscript."""
    value = exponent.arg.value if exponent.op.name == "const" else 0
    return not isinstance(value, complex) and float(value) in map(float, range(1, 10))


def whole(term: Term) -> str:
    """The term where nothing stands beside it."""
    return f"−{_at(term._replace(negative=False), PRODUCT)}" if term.negative else term.text


def _at(term: Term, level: int) -> str:
    """The term beside an operator of this level, in parentheses if it would come apart."""
    if term.negative:
        return f"({whole(term)})" if level > SUM else whole(term)
    return f"({term.text})" if term.level < level else term.text


def total(terms: list[Term]) -> Term:
    """A sum; equal terms are counted and zeros left out."""
    counted: dict[Term, int] = {}
    for term in terms:
        counted[term] = counted.get(term, 0) + 1
    kept = [t for t in counted if t.text != "0"] or list(counted)[:1]
    first, *rest = (_times(term, counted[term]) for term in kept)
    text = whole(first)
    for term in rest:
        text += f" {'−' if term.negative else '+'} {_at(term._replace(negative=False), SUM)}"
    return Term(text, SUM) if rest else first


def _times(term: Term, count: int) -> Term:
    return Term(f"{count} · {_at(term, PRODUCT)}", PRODUCT, term.negative) if count > 1 else term


def quotient(powers: dict[Term, int], negative: bool) -> Term:
    """A product of powers, negative ones under a line, numbers in front."""
    factors = [(t, n) for t, n in powers.items() if n and t.text != "1"]
    above = [(t, n) for t, n in factors if n > 0]
    below = [(t, -n) for t, n in factors if n < 0]
    above.sort(key=lambda factor: not factor[0].number)
    if not below and len(above) == 1 and above[0][1] == 1:
        return above[0][0]._replace(negative=negative)
    text = " · ".join(_raised(*factor) for factor in above) or "1"
    if len(above) > 1 and above[0][0].number and above[0][1] == 1:
        text = text.replace(_raised(*above[0]), above[0][0].text, 1)  # 2/√π · x needs no brackets
    if below:
        under = " · ".join(_raised(*factor) for factor in below)
        text += f" / ({under})" if len(below) > 1 else f" / {under}"
    single = not below and len(above) <= 1
    return Term(text, POWER if single else PRODUCT, negative)


def _raised(term: Term, power: int) -> str:
    if power == 1:
        return _at(term, POWER)
    return _at(term, ATOM) + str(power).translate(_SUPER)


def _const(node: UOp, terms: list[Term]) -> Term:
    value = node.arg.value
    if isinstance(value, complex) and not value.imag:
        value = value.real
    if isinstance(value, (bool, complex)):
        return Term(_number(value))
    negative = math.copysign(1, value) < 0
    text = _number(abs(value))
    level = PRODUCT if "/" in text and not text.startswith("√(") else ATOM
    return Term(text, level, negative, number=True)


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, complex):
        return f"({value.real:g} {'−' if value.imag < 0 else '+'} {abs(value.imag):g}i)"
    if isinstance(value, int):
        return str(value)
    plain = float(value)
    if not math.isfinite(plain):
        return "NaN" if math.isnan(plain) else "∞"
    return _CONSTANTS.get(plain) or f"{plain:.6g}"


def root(node: UOp, terms: list[Term]) -> Term:
    """√x."""
    (x,) = terms
    single = x.level == ATOM and not x.negative and x.text.isalnum()
    return Term(f"√{x.text}" if single else f"√({whole(x)})")


def _power(node: UOp, terms: list[Term]) -> Term:
    base, exponent = terms
    if whole_power(node.src[1]):
        value = int(node.src[1].arg.value)
        return Term(_raised(base, value), POWER)
    return Term(f"{_at(base, ATOM)}^{_at(exponent, ATOM)}", POWER)


def _comparison(node: UOp, terms: list[Term]) -> Term:
    """A number comes last: 0 < x reads x > 0."""
    sign, turned = _COMPARISONS[node.op.name]
    left, right = terms
    if left.number and right.number and sign == "=":
        return Term("true" if left == right else "false")
    if left.number and not right.number:
        left, right, sign = right, left, turned
    return Term(f"{_at(left, SUM)} {sign} {_at(right, SUM)}", COMPARE)


def _logic(node: UOp, terms: list[Term]) -> Term:
    if not node.dtype.is_bool:
        return _call(node, terms)
    sign, level = _LOGIC[node.op.name]
    return Term(f" {sign} ".join(_at(t, level) for t in terms), level)


def _not(node: UOp, terms: list[Term]) -> Term:
    return Term(f"¬{_at(terms[0], ATOM)}") if node.dtype.is_bool else _call(node, terms)


def _reduction(node: UOp, terms: list[Term]) -> Term:
    x, axes = node.src[0], node.arg.axis
    some = len(axes) < sum(n != 1 for n in x.shape) or any(x.shape[a] == 1 for a in axes)
    under = ",".join(map(str, axes)).translate(SUBSCRIPTS) if some else ""
    term, negative = terms[0], False
    if node.op.name == "reduce_sum" and term.negative:
        term, negative = term._replace(negative=False), True
    return Term(f"{_REDUCTIONS[node.op.name]}{under}({whole(term)})", ATOM, negative)


def _around(node: UOp, terms: list[Term]) -> Term:
    marks = _AROUND[node.op.name]
    return Term(f"{marks[0]}{whole(terms[0])}{marks[1]}")


def _cast(node: UOp, terms: list[Term]) -> Term:
    """Only the casts that change what the value means come here."""
    if node.src[0].dtype.is_bool:
        return Term(f"[{whole(terms[0])}]")
    return Term(f"{node.dtype.name}({whole(terms[0])})")


def _permute(node: UOp, terms: list[Term]) -> Term:
    if node.arg.order == (1, 0):
        return Term(f"{_at(terms[0], ATOM)}ᵀ")
    return _call(node, terms)


def _reshape(node: UOp, terms: list[Term]) -> Term:
    if not is_light(node):
        return _call(node, terms)
    axes = ", ".join("None" if n == 1 else ":" for n in node.shape)
    return Term(f"{_at(terms[0], ATOM)}[{axes}]")


def _shrink(node: UOp, terms: list[Term]) -> Term:
    bounds = zip(*node.arg, node.src[0].shape, strict=True)
    slices = [_slice(*bound) for bound in bounds]
    return Term(f"{_at(terms[0], ATOM)}[{', '.join(slices)}]")


def _slice(start: int, stop: int, step: int, n: int) -> str:
    left, right = str(start) if start else "", str(stop) if stop != n else ""
    return f"{left}:{right}" + (f":{step}" if step != 1 else "")


def _gather(node: UOp, terms: list[Term]) -> Term:
    x, *indices = terms
    if node.arg.axes != tuple(range(len(indices))):
        return _call(node, terms)
    return Term(f"{_at(x, ATOM)}[{', '.join(map(whole, indices))}]")


def _part(node: UOp, terms: list[Term]) -> Term:
    return Term(f"{_at(terms[0], ATOM)}[{node.arg.index}]")


def _spread(node: UOp, terms: list[Term]) -> Term:
    return Term(f"expand({whole(terms[0])}, {_attribute(node.shape)})")


def _leaf(node: UOp, terms: list[Term]) -> Term:
    return Term(node.arg.name if node.op.name in ("input", "spent") else node.op.name)


def _call(node: UOp, terms: list[Term]) -> Term:
    """Any other op: its name, its operands, and the attributes that are not the usual ones."""
    attributes = [] if node.arg is None else node.arg.items()
    usual = {} if node.arg is None else node.arg.defaults
    shown = [
        f"{name}={_attribute(value)}"
        for name, value in attributes
        if name not in _HIDDEN and not _is_usual(name, value, usual)
    ]
    name = _CALLS.get(node.op.name, node.op.name)
    return Term(f"{name}({', '.join([*map(whole, terms), *shown])})")


def _is_usual(name: str, value: Any, usual: Mapping[str, Any]) -> bool:
    if name in _NEUTRAL and isinstance(value, tuple):
        return all(v == _NEUTRAL[name] for v in value)
    if isinstance(value, float) and isinstance(usual.get(name), (int, float)):
        return float(usual[name]) == float(value)
    return name in usual and usual[name] == value


def _contract(node: UOp, terms: list[Term]) -> Term:
    a, b = map(whole, terms)
    return Term(f'contract({a}, {b}, "{node.arg.spec}")')


def _attribute(value: Any) -> str:
    match value:
        case str():
            return f'"{value}"'
        case tuple():
            return f"[{', '.join(map(_attribute, value))}]"
        case DType():
            return value.name
        case float():
            return f"−{_number(-value)}" if value < 0 else _number(value)
        case _:
            return str(value)


_RULES: dict[str, Callable[[UOp, list[Term]], Term]] = {
    "const": _const,
    "input": _leaf,
    "spent": _leaf,
    "buffer": _leaf,
    "sqrt": root,
    "pow": _power,
    "bitwise_not": _not,
    "logical_not": _not,
    "cast": _cast,
    "permute": _permute,
    "reshape": _reshape,
    "shrink": _shrink,
    "gather": _gather,
    "part": _part,
    "expand": _spread,
    "contract": _contract,
    **dict.fromkeys(_COMPARISONS, _comparison),
    **dict.fromkeys(_LOGIC, _logic),
    **dict.fromkeys(_REDUCTIONS, _reduction),
    **dict.fromkeys(_AROUND, _around),
}


def write(node: UOp, operands: list[Term]) -> Term:
    """The node as text, given that of its operands."""
    return _RULES.get(node.op.name, _call)(node, operands)
