"""A graph as text: one line per node, sources first.

    %0 = input() {name: "x", device: "REF"} : Tensor<f32, [2, 3]>
    %1 = softmax(%0) {axis: -1} : Tensor<f32, [2, 3]>
    outputs: %1

Functions, of loops and branches, are attributes by name, and follow the graph, each with the lines
of its own:

    %2 = loop(%0, %1) {body: @f0, length: 4, reverse: false} : (Tensor<f32, []>)
    outputs: %2
    @f0:
      %0 = input() {name: "a0"} : Tensor<f32, []>
      ...

The same graph gives the same text in every process. Attributes are those of the op's record; null
ones are left out, and so are a leaf's shape and dtype, which its type says. A buffer is printed as
an input, without its contents. The text is for people: only the text of modules (`module/text.py`)
can be parsed.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import isnan
from typing import Any

from adjoint.errors import InternalError
from adjoint.ir.dtype import VOID, DType, PtrDType
from adjoint.ir.function import Function, functions_in
from adjoint.ir.kernel_kind import PARAMETER, STORED
from adjoint.ir.uop import UOp, toposort

ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", '"': '\\"'}
_PLAIN_NAN = struct.pack(">d", float("nan"))


def text(*roots: UOp, origins: bool = False) -> str:
    """The graph of these nodes; `origins` adds to each line the user's line it comes from."""
    functions: dict[Function, str] = {}
    lines = _lines(roots, origins, functions)
    written = 0
    while written < len(functions):  # more are met in those that are written
        function = list(functions)[written]
        lines.append(f"{functions[function]}:")
        lines += [f"  {line}" for line in _lines(function.outputs, origins, functions)]
        written += 1
    return "\n".join([*lines, ""])


def _lines(roots: Sequence[UOp], origins: bool, functions: dict[Function, str]) -> list[str]:
    nodes = toposort(roots)
    number = {node: f"%{i}" for i, node in enumerate(nodes)}
    names = _buffer_names(nodes)
    for function in (f for node in nodes for f in functions_in(node)):
        functions.setdefault(function, f"@f{len(functions)}")
    lines = [_line(node, number, names, functions) for node in nodes]
    if origins:
        lines = [f"{line}{_comment(node)}" for line, node in zip(lines, nodes, strict=True)]
    return [*lines, f"outputs: {', '.join(number[r] for r in roots)}"]


def _comment(node: UOp) -> str:
    origin = node.origin
    return "" if origin is None else f"  # {origin}"


def _buffer_names(nodes: list[UOp]) -> dict[UOp, str]:
    """b0, b1, … for buffers, past the names that inputs have taken."""
    taken = {node.arg.name for node in nodes if node.op.kernel is PARAMETER}
    free = (name for i in range(len(nodes)) if (name := f"b{i}") not in taken)
    return {node: next(free) for node in nodes if node.op.kernel is STORED}


def _line(
    node: UOp,
    number: dict[UOp, str],
    names: dict[UOp, str],
    functions: dict[Function, str],
) -> str:
    if node.op.kernel is STORED:
        op, attrs = "input", {"name": names[node], "device": node.device}
    else:
        op, attrs = node.op.name, _attributes(node)
    operands = ", ".join(number[s] for s in node.src)
    words = {
        name: functions[value] if type(value) is Function else value_text(value)
        for name, value in attrs.items()
    }
    inner = ", ".join(f"{name}: {word}" for name, word in words.items())
    braces = f" {{{inner}}}" if inner else ""
    return f"{number[node]} = {op}({operands}){braces} : {type_text(node.shape, node.dtype)}"


def _attributes(node: UOp) -> dict[str, Any]:
    if node.arg is None:
        return {}
    defaults = node.arg.defaults
    return {
        name: value
        for name, value in node.arg.items()
        if not (value is None and defaults.get(name) is None)
        and not (not node.src and _is_in_type(name, value, node))
    }


def _is_in_type(name: str, value: Any, node: UOp) -> bool:
    return (name == "shape" and value == node.shape) or (name == "dtype" and value is node.dtype)


def type_text(shape: Any, dtype: Any) -> str:
    """`Tensor<f32, [2, 3]>`; several results in parentheses; `Ptr<f32, mutable>`; `Void`."""
    if isinstance(dtype, tuple):
        parts = (type_text(s, d) for s, d in zip(shape, dtype, strict=True))
        return f"({', '.join(parts)})"
    if isinstance(dtype, PtrDType):
        return dtype.short
    return "Void" if dtype is VOID else f"Tensor<{dtype.short}, {list(shape)}>"


def short_type(shape: Any, dtype: Any) -> str:
    """`f32[3, 4]`, as errors and displays say it; of several results, all of them."""
    if isinstance(dtype, tuple):
        return ", ".join(map(short_type, shape, dtype))
    return f"{dtype.short}{list(shape)}"


def value_text(value: Any) -> str:
    """An attribute."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return _float_text(value)
        case complex():
            return f"complex({_float_text(value.real)}, {_float_text(value.imag)})"
        case str():
            return '"' + "".join(ESCAPES.get(ch, ch) for ch in value) + '"'
        case tuple():
            return f"[{', '.join(map(value_text, value))}]"
        case DType():
            return value.short
        case _ if hasattr(value, "__name__"):  # a function that a user wrote in Python
            return f"@{value.__name__}"
        case _:
            raise InternalError(f"{value!r} has no text form: attributes are plain values")


def _float_text(value: float) -> str:
    bits = struct.pack(">d", value)
    if isnan(value) and bits != _PLAIN_NAN:
        return f"nan({int.from_bytes(bits, 'big')})"
    return float.__repr__(value)
