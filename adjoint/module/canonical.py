"""`canonicalise`: the one form in which modules are differentiated, lowered, printed and compared.

C0 verify. C1 attributes in normal form. C2 inputs first, stable. C3 fold scalar constants. C4 prune
what no output needs; inputs stay. C5 renumber densely. C6 sort the operands of Add and Mul. Doing
it twice changes nothing. No algebra happens here. What may live here: these passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from adjoint.ir.dtype import DType, dtypes
from adjoint.module import extension
from adjoint.module.instruction import Instruction, TensorType, make
from adjoint.module.module import Module, check_module
from adjoint.module.numbers import literal_bytes, scalar
from adjoint.module.opcode import OPCODES
from adjoint.module.tape import COMMUTING, CONSTANTS
from adjoint.module.verify import verify

assert extension  # its opcodes have normal forms too
_NORMAL = {name: op.normal for name, op in OPCODES.items() if op.normal is not None}
_SCALARS = frozenset(CONSTANTS.values())


class Canonical(NamedTuple):
    """Instructions with dense ids, outputs, and where each old id went (None: nowhere)."""

    rows: list[Instruction]
    outputs: tuple[int, ...]
    ids: dict[int, int]


def canonicalise(module: Module) -> Module:
    """The canonical form of a module; E4 if it is not well-formed."""
    check_module("canonicalise", module)
    verify(module)
    found = canonical(module.instructions, module.outputs)
    return Module(tuple(found.rows), found.outputs)


def canonical(instructions: Sequence[Instruction], outputs: Iterable[int]) -> Canonical:
    """C1 to C6 of a well-formed module."""
    rows = _normalised(instructions)
    rows = fold(rows, 0)
    return numbered(rows, tuple(outputs))


def _normalised(instructions: Sequence[Instruction]) -> list[Instruction]:
    """C1 and C2."""
    types: dict[int, TensorType] = {}
    inputs, rest = [], []
    normal_of = _NORMAL.get
    for ins in instructions:
        number, opcode, operands, attrs, kind, span = ins
        types[number] = kind
        if opcode == "Input":
            inputs.append(ins)
            continue
        normal = normal_of(opcode)
        if normal is not None:
            better = normal(attrs, [types[o] for o in operands])
            if better != attrs:
                ins = make((number, opcode, operands, better, kind, span))
        rest.append(ins)
    return inputs + rest


def fold(rows: list[Instruction], start: int) -> list[Instruction]:
    """C3 from a position on, in place."""
    known: dict[int, Any] = {}
    for position, ins in enumerate(rows):
        number, opcode, operands, attrs, kind, span = ins
        if kind[1] != ():
            continue
        if opcode in _SCALARS:
            known[number] = attrs[0]
        elif opcode == "ConstTensor":
            known[number] = scalar(attrs[0], kind.dtype)
        elif position >= start and (opcode == "BinOp" or opcode == "Neg"):
            values = [known.get(o) for o in operands]
            value = None if None in values else _folded(opcode, attrs, values, kind.dtype)
            if value is not None:
                known[number] = value
                rows[position] = _constant(number, value, kind, span)
    return rows


def _constant(number: int, value: Any, kind: TensorType, span: Any) -> Instruction:
    opcode = CONSTANTS.get(kind.dtype)
    if opcode is not None:
        return make((number, opcode, (), (value,), kind, span))
    data = literal_bytes(value, kind.dtype)
    return make((number, "ConstTensor", (), (data,), kind, span))


def _folded(opcode: str, attrs: Any, values: list[Any], dtype: DType) -> Any:
    """The value the runtime would compute; None where it must be left to the runtime."""
    name = "Neg" if opcode == "Neg" else attrs[0]
    if dtype.is_float:
        return _folded_float(name, values, dtype)
    return _folded_int(name, values, dtype) if dtype.is_int else None


def _folded_float(name: str, values: list[Any], dtype: DType) -> float | None:
    if name == "Neg":
        return -float(values[0]) if isfinite(values[0]) else None
    wide = np.float64 if dtype is dtypes.float64 else np.float32
    a, b = (wide(v) for v in values)
    if name == "Div" and b == 0:
        return None
    with np.errstate(all="ignore"):
        value = float(dtype.np.type(_FLOATS[name](a, b)))
    return value if isfinite(value) else None


_FLOATS = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.true_divide}


def _folded_int(name: str, values: list[int], dtype: DType) -> int | None:
    if name == "Neg":
        value = -values[0]
    else:
        a, b = values
        if name == "Div" and b == 0:
            return None
        value = _INTS[name](a, b)
    return value if dtype.min <= value <= dtype.max else None


def _divided(a: int, b: int) -> int:
    """Towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_INTS = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": _divided,
}


def numbered(rows: list[Instruction], outputs: tuple[int, ...]) -> Canonical:
    """C4, C5 and C6."""
    live = set(outputs)
    add = live.update
    for ins in reversed(rows):
        if ins[0] in live:
            add(ins[2])
    ids: dict[int, int] = {}
    result: list[Instruction] = []
    for ins in rows:
        number, opcode, operands, attrs, kind, span = ins
        if number not in live and opcode != "Input":
            continue
        new = ids[number] = len(result)
        if operands:
            moved = tuple([ids[o] for o in operands])
            if opcode == "BinOp" and moved[0] > moved[1] and attrs[0] in COMMUTING:
                moved = (moved[1], moved[0])
            if new == number and moved == operands:
                result.append(ins)
                continue
            ins = make((new, opcode, moved, attrs, kind, span))
        elif new != number:
            ins = make((new, opcode, operands, attrs, kind, span))
        result.append(ins)
    return Canonical(result, tuple([ids[o] for o in outputs]), ids)
