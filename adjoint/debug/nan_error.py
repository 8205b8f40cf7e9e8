"""The text of a NaN error: the op, its operands, the values around it, the user's line.

Elsewhere: the search for it (`nan_search.py`).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from adjoint.debug.nan_search import Array, NanFinding, mask_of
from adjoint.errors import NumericError
from adjoint.ir.derivative import Diagonal, Partials
from adjoint.ir.dtype import plain
from adjoint.ir.kernel_kind import CONSTANT, PARAMETER
from adjoint.ir.uop import UOp

_AROUND = 3  # elements shown on each side
_HELP = {
    "log": "the log of a negative number is NaN, of zero -inf; clamp the operand",
    "sqrt": "the square root of a negative number is NaN; its derivative at zero is inf",
    "rsqrt": "rsqrt of a negative number is NaN, of zero inf; add a small number",
    "true_div": "0 / 0 and inf / inf are NaN; keep the divisor away from zero",
    "reciprocal": "1 / 0 is inf; keep the operand away from zero",
    "sub": "inf - inf is NaN; look for what made the infinities",
    "add": "inf + -inf is NaN; look for what made the infinities",
    "mul": "0 * inf is NaN; in a gradient, make the operand safe before .where() chooses",
    "pow": "a negative base with a fractional exponent is NaN",
    "exp": "exp overflows above 88 in float32; subtract the maximum first",
}


def error(finding: NanFinding, inf: bool) -> NumericError:
    """E6006 about a finding."""
    return _given(finding, inf) if finding.given else _made(finding, inf)


def _made(finding: NanFinding, inf: bool) -> NumericError:
    node, (value, number) = finding.node, _one(finding, inf)
    index = _first(value, inf)
    what = _what(value, index)
    problem = f"{what} at {_place(index)} of the result{_count(value, inf)}, and in no operand"
    which = "" if number is None else f" {number}"
    shown: Any = node if number is None else node.part(number)
    operands = [(f"result{which}", shown), *_sources(node)]
    notes = [*_origin(node), *(f"in {where}" for where in finding.inside)]
    notes += _values(finding, value, index)
    if finding.infinite is not None and what == "NaN":
        maker = finding.infinite
        notes.append(f"the infinities among the operands come from {maker.origin or maker.op.name}")
    fix = _HELP.get(node.op.name, "")
    op = node.op.name
    return NumericError("E6006", problem, op=op, operands=operands, notes=notes, help=fix)


def _given(finding: NanFinding, inf: bool) -> NumericError:
    index = _first(finding.value, inf)
    what = _what(finding.value, index)
    name = "a constant" if finding.node.op.kernel is CONSTANT else "an input"
    problem = f"{name} has {what} already, at {_place(index)}{_count(finding.value, inf)}"
    notes = [*_origin(finding.node), *(f"in {where}" for where in finding.inside)]
    notes.append(_window("input", finding.value, index))
    fix = "the program was given it: look at where the value comes from"
    operands = [("input", _shown(finding.node))]
    return NumericError("E6006", problem, operands=operands, notes=notes, help=fix)


def unexplained(node: UOp, value: Any, inf: bool) -> NumericError:
    """A bad result that the ops one by one do not give."""
    index = _first(value, inf)
    problem = (
        f"{_what(value, index)} at {_place(index)} of a result{_count(value, inf)}; "
        "its ops one by one, by the interpreter, do not give it"
    )
    notes = [*_origin(node), _window("result", value, index)]
    fix = 'compare device="CPU" with device="REF"'
    operands = [("result", node), *_sources(node)]
    return NumericError("E6006", problem, op=node.op.name, operands=operands, notes=notes, help=fix)


def _sources(node: UOp) -> list[tuple[str, Any]]:
    single = [s for s in node.src if not isinstance(s.dtype, tuple)]
    return [(f"operand {i}", _shown(s)) for i, s in enumerate(single[:8])]


def _shown(node: UOp) -> Any:
    """The node; without its line where that is another's: an argument of a traced function has the
    trace's, and equal constants are one node, made by the line that needed it first."""
    if node.op.kernel is not PARAMETER and not _is_constant(node):
        return node
    return SimpleNamespace(shape=node.shape, dtype=node.dtype, origin=None)


def _is_constant(node: UOp) -> bool:
    while node.op.name in ("expand", "reshape"):
        (node,) = node.src
    return node.op.kernel is CONSTANT


def _one(finding: NanFinding, inf: bool) -> tuple[Array, int | None]:
    """The bad one of several results, and its number."""
    if not isinstance(finding.value, tuple):
        return np.asarray(finding.value), None
    number = next(i for i, v in enumerate(finding.value) if mask_of(v, inf).any())
    return np.asarray(finding.value[number]), number


def _first(value: Any, inf: bool) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(mask_of(value, inf))[0])


def _what(value: Any, index: tuple[int, ...]) -> str:
    element = np.asarray(value)[index]
    return "NaN" if np.isnan(element) else "inf" if np.real(element) > 0 else "-inf"


def _place(index: tuple[int, ...]) -> str:
    return str(list(index)) if index else "the one element"


def _count(value: Any, inf: bool) -> str:
    bad, size = int(mask_of(value, inf).sum()), np.size(value)
    return "" if size == 1 else f" ({bad} of {size} elements)"


def _origin(node: UOp) -> list[str]:
    origin = node.origin
    if origin is None or node.op.kernel is PARAMETER:
        return []
    place = f"{origin.method} at {origin.file}:{origin.line}"
    return [f"in the backward pass of {place}" if origin.backward else f"built by {place}"]


# ---- values


def _values(finding: NanFinding, value: Array, index: tuple[int, ...]) -> list[str]:
    """The result around the bad element, and its operands."""
    node, lines = finding.node, []
    pairs = [(i, np.asarray(x)) for i, x in enumerate(finding.operands) if not isinstance(x, tuple)]
    pointwise = isinstance(node.op.ad, (Partials, Diagonal)) or node.op.name in ("where", "cast")
    if pointwise and all(x.shape == value.shape for _, x in pairs):
        inner = ", ".join(_number(x[index]) for _, x in pairs)
        lines.append(f"{node.op.name}({inner}) = {_number(value[index])}")
        lines += [_window(f"operand {i}", x, index) for i, x in pairs if x.ndim]
    else:
        lines += [_range(f"operand {i}", x) for i, x in pairs]
    return [*lines, _window("result", value, index)] if value.ndim else lines


def _number(element: Any) -> str:
    known = plain(element)
    return f"{known.item():.6g}" if known.dtype.kind == "f" else str(known.item())


def _window(name: str, value: Any, index: tuple[int, ...]) -> str:
    """`result[1, 0:5] = 0.1 0.2 [nan] 0.4 0.5`"""
    array = np.asarray(value)
    if not index:
        return f"{name} = {_number(array[()])}"
    *lead, last = index
    low, high = max(0, last - _AROUND), min(array.shape[-1], last + _AROUND + 1)
    row = array[tuple(lead)]
    shown = [f"[{_number(row[i])}]" if i == last else _number(row[i]) for i in range(low, high)]
    place = ", ".join([*map(str, lead), f"{low}:{high}"])
    return f"{name}[{place}] = {' '.join(shown)}"


def _range(name: str, value: Array) -> str:
    """The range of an operand whose elements do not correspond to the result's."""
    if value.dtype.kind in "bOc" or not value.size:
        return f"{name}: {value.size} elements"
    wide = value.astype(np.float64)
    counts = [(int(np.isinf(wide).sum()), "infinite"), (int(np.isnan(wide).sum()), "NaN")]
    extra = "".join(f", {count} {word}" for count, word in counts if count)
    known = wide[~np.isnan(wide)]
    if not known.size:
        return f"{name}: {value.size} elements{extra}"
    return f"{name}: {value.size} elements from {known.min():.6g} to {known.max():.6g}{extra}"
