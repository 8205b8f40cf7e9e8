"""`verify`: is a module well-formed?

Per instruction, in list order: operands, duplicate definition, attributes, dtypes, shapes, declared
type; then the outputs. The first error wins and reads the same in every run. What may live here:
the walk. What may not: the rule of any opcode.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from adjoint.errors import AdjointError, VerificationError
from adjoint.ir.text import type_text
from adjoint.module.generic import near_opcode, opcode_named
from adjoint.module.instruction import (
    MAX_LITERAL,
    PROFILES,
    STRICT_DTYPES,
    Instruction,
    TensorType,
    fault,
    placed,
    size_of,
)
from adjoint.module.module import Module, check_module
from adjoint.module.opcode import OPCODES, Opcode
from adjoint.module.shapes import check_extents

Names = Mapping[int, str]


def verify(module: Module, profile: str = "core+g") -> None:
    """Raise the first error of the module; return nothing if it has none."""
    check_module("verify", module)
    check(module.instructions, module.outputs, is_strict(profile), module.names)


def is_strict(profile: str) -> bool:
    """Whether the profile is core-v1."""
    if profile not in PROFILES:
        fix = f"profiles: {', '.join(PROFILES)}"
        raise fault("E2002", f"no profile is called {profile!r}", fix)
    return profile == "core-v1"


def check(
    instructions: Sequence[Instruction], outputs: Iterable[int], strict: bool, names: Names
) -> None:
    """`verify` for the parts of a module."""
    types: dict[int, TensorType] = {}
    several: set[int] = set()  # values of more than one result, which only Part takes
    leaves = _Leaves()
    known = OPCODES.get
    try:
        for ins in instructions:
            number, opcode, operands, attrs, declared, _ = ins
            record = known(opcode) or _generic(opcode)
            try:
                given = [types[o] for o in operands]
            except KeyError:
                raise _undefined(ins, types, names) from None
            if number in types:
                raise fault("E4002", f"%{names.get(number, number)} is defined twice")
            if strict:
                _check_strict(record, attrs, declared)
            if len(given) != record.arity and record.arity >= 0:
                raise fault("E2007", f"{opcode}: {len(given)} operands, it takes {record.arity}")
            if several and opcode != "Part" and not several.isdisjoint(operands):
                raise fault("E2001", f"{opcode}: an operand has several results", "use Part")
            found = record.infer(attrs, given, declared)
            if found is not declared and found != declared:
                raise _mistyped(opcode, found, declared)
            if strict:
                _check_strict_type(opcode, declared)
            if not operands:
                leaves.check(ins)
            elif type(found[0]) is tuple:
                several.add(number)
            types[number] = declared
    except AdjointError as error:
        name = names.get(ins.id, ins.id)
        raise placed(error, ins.span, f"in the definition of %{name} ({ins.opcode})") from None
    _check_outputs(outputs, types, names)


def check_strict(instructions: Iterable[Instruction]) -> None:
    """That core-v1 has every opcode, attribute and dtype; nothing else is looked at."""
    for ins in instructions:
        try:
            _check_strict(OPCODES.get(ins.opcode) or _generic(ins.opcode), ins.attrs, ins.type)
            _check_strict_type(ins.opcode, ins.type)
        except AdjointError as error:
            note = f"in the definition of %{ins.id} ({ins.opcode})"
            raise placed(error, ins.span, note) from None


class _Leaves:
    """What is counted over a whole module: the names of inputs, the numbers in literals."""

    __slots__ = ("names", "numbers")

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.numbers = 0

    def check(self, ins: Instruction) -> None:
        if ins.opcode == "Input":
            if ins.attrs[0] in self.names:
                raise fault("E4004", f"Input: two inputs are called {ins.attrs[0]!r}")
            self.names.add(ins.attrs[0])
        elif ins.opcode == "ConstTensor":
            self.numbers += size_of(tuple(n for n in ins.type.shape if n))
            if self.numbers > MAX_LITERAL:
                raise fault("E2006", f"the literals have more than {MAX_LITERAL} numbers")


def _generic(opcode: str) -> Opcode:
    record = opcode_named(opcode)
    if record is None:
        raise fault("E2002", f"no opcode is called {opcode!r}", near_opcode(opcode))
    return record


def _undefined(ins: Instruction, types: dict[int, TensorType], names: Names) -> AdjointError:
    missing = next(o for o in ins.operands if o not in types)
    name = names.get(missing, missing)
    return fault("E4001", f"{ins.opcode}: %{name} is used before its definition")


def _mistyped(opcode: str, found: TensorType, declared: TensorType) -> AdjointError:
    says = f"{opcode} gives {_shown(found)}, declared is {_shown(declared)}"
    return fault("E2001", says, f"declare {_shown(found)}")


def _shown(kind: TensorType) -> str:
    return type_text(kind.shape, kind.dtype)


def _check_strict(record: Opcode, attrs: Any, declared: TensorType) -> None:
    """What core-v1 does not have."""
    if not record.strict:
        raise fault("E2002", f"{record.name} is not in core-v1", 'use profile "core+g"')
    if record.check_strict is not None:
        record.check_strict(attrs, declared)


def _check_strict_type(opcode: str, declared: TensorType) -> None:
    """Four dtypes, and no empty dimensions."""
    dtype, shape = declared
    if dtype not in STRICT_DTYPES:
        code = "E4004" if opcode == "Input" else "E2005"
        fix = "i32, i64, f32 or f64"
        raise fault(code, f"{opcode}: dtype {dtype.short} is not in core-v1", fix)
    if 0 in shape:
        check_extents(opcode, shape, least=1)


def _check_outputs(outputs: Iterable[int], types: Mapping[int, Any], names: Names) -> None:
    count = 0
    for output in outputs:
        count += 1
        if output not in types:
            name = names.get(output, output)
            raise VerificationError("E4003", f"the output %{name} is not defined")
        if isinstance(types[output].dtype, tuple):
            raise fault("E2001", f"the output %{output} has several results", "use Part")
    if not count:
        fix = "end it with outputs: %0"
        raise VerificationError("E4003", "the module has no outputs", help=fix)
