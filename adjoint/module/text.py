"""Module → text: one instruction a line.

    %0 = Input() {name: "x"} : Tensor<f32, [2, 3]>
    %1 = Sum(%0, [], false) : Tensor<f32, []>
    outputs: %1

The same module gives the same bytes in every process. What may live here: printing. `parse.py`
reads the text back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from adjoint.ir.text import type_text, value_text
from adjoint.module.generic import opcode_named
from adjoint.module.instruction import Block, Instruction, TensorType
from adjoint.module.numbers import literal_text, number_text
from adjoint.module.opcode import Opcode


def module_text(instructions: Iterable[Instruction], outputs: Sequence[int]) -> str:
    """The whole module, with a newline at its end."""
    lines = lines_of(instructions)
    lines.append(outputs_text(outputs))
    lines.append("")
    return "\n".join(lines)


def outputs_text(outputs: Sequence[int]) -> str:
    """The last line."""
    return f"outputs: {', '.join([f'%{o}' for o in outputs])}"


def lines_of(instructions: Iterable[Instruction]) -> list[str]:
    """A line per instruction."""
    types: dict[TensorType, str] = {}
    lines = []
    for ins in instructions:
        number, opcode, operands, attrs, kind, _ = ins
        shown = types.get(kind)
        if shown is None:
            shown = types[kind] = type_text(kind.shape, kind.dtype)
        if opcode == "BinOp":
            a, b = operands
            inner = f"{attrs[0]}, %{a}, %{b})"
        else:
            inner = _inner(ins)
        lines.append(f"%{number} = {opcode}({inner} : {shown}")
    return lines


def _inner(ins: Instruction) -> str:
    record = opcode_named(ins.opcode)
    if record is None or record.braces:
        operands = ", ".join([f"%{o}" for o in ins.operands])
        return f"{operands}){_braces(ins)}"
    return f"{', '.join(_arguments(record, ins))})"


def _arguments(record: Opcode, ins: Instruction) -> list[str]:
    operands, attrs = iter(ins.operands), iter(ins.attrs)
    return [
        f"%{next(operands)}" if kind == "value" else _SHOWN[kind](next(attrs), ins.type)
        for kind in record.args
    ]


def _braces(ins: Instruction) -> str:
    if ins.opcode == "Input":
        named: Any = {"name": ins.attrs[0]}
    elif ins.attrs is None:
        return ""
    else:
        defaults = ins.attrs.defaults
        named = {k: v for k, v in ins.attrs.items() if not (v is None and defaults.get(k) is None)}
    inner = ", ".join([f"{name}: {attribute_text(value)}" for name, value in named.items()])
    return f" {{{inner}}}" if inner else ""


def attribute_text(value: Any) -> str:
    """A value in braces; a function is a module of its own in braces."""
    if type(value) is not Block:
        return value_text(value)
    return f"{{{'; '.join([*lines_of(value.instructions), outputs_text(value.outputs)])}}}"


def _slices(slices: Any, kind: TensorType) -> str:
    each = [
        f"{start}:{end}" if step is None else f"{start}:{end}:{step}"
        for start, end, step in zip(*slices, strict=True)
    ]
    return f"[{', '.join(each)}]"


def _padding(padding: Any, kind: TensorType) -> str:
    if isinstance(padding, str):
        return padding
    (top, bottom), (left, right) = padding
    return f"Custom([[{top}, {bottom}], [{left}, {right}]])"


_SHOWN: dict[str, Callable[[Any, TensorType], str]] = {
    "name": lambda value, kind: str(value),
    "ints": lambda values, kind: f"[{', '.join(map(str, values))}]",
    "flag": lambda value, kind: "true" if value else "false",
    "number": lambda value, kind: number_text(value, kind.dtype),
    "literal": lambda value, kind: literal_text(value, kind.dtype, kind.shape),
    "slices": _slices,
    "padding": _padding,
}
