"""An opcode for every further op of the library, derived from its record.

The type rule is the record's own, found once per op, attributes and types; `derived_pull.py`
writes the gradient. What may live here: the derivation of types. What may not: any particular op.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from adjoint.errors import AdjointError, did_you_mean
from adjoint.ir.derivative import NotDifferentiable, Stop, ZeroGradient
from adjoint.ir.dtype import DType
from adjoint.ir.function import Function, function_of
from adjoint.ir.opdef import OPS, OpDef
from adjoint.ir.spec import verify as verify_nodes
from adjoint.ir.uop import UOp
from adjoint.module import extension
from adjoint.module.derived_pull import placeholders, scalar_only
from adjoint.module.from_graph import TOTAL, generic_name
from adjoint.module.functions import FORMS, check_functions
from adjoint.module.instruction import Block, TensorType, fault
from adjoint.module.opcode import OPCODES, Literal, Opcode, Types
from adjoint.module.shapes import check_extents
from adjoint.module.to_graph import lowered

assert extension  # Core's names are taken before the others are given
_GENERIC: dict[str, Opcode] = {}
_types: dict[Any, TensorType] = {}
_MOST_CACHED = 4096
_MOST_OUTPUTS = 2**16
_MOST_OPERANDS = 5  # of an op that takes a fixed number of them


def opcode_named(name: str) -> Opcode | None:
    """The record of an opcode, of Core or derived; None if there is none of that name."""
    found = OPCODES.get(name)
    if found is None:
        found = _GENERIC.get(name)
    if found is None:
        _derive_all()
        found = _GENERIC.get(name)
    return found


def generic_opcodes() -> dict[str, Opcode]:
    """All derived opcodes by name."""
    _derive_all()
    return dict(_GENERIC)


def near_opcode(name: str) -> str:
    """`did you mean 'Softmax'?`, or nothing."""
    _derive_all()
    return did_you_mean(name, [*OPCODES, *_GENERIC])


def _derive_all() -> None:
    """Records come in as packages are imported, so look again whenever a name is not known."""
    for record in list(OPS.values()):  # another thread may be importing some
        named = record.kind != "derived" and record.level != "kernel"
        if named and record.opcode and record.name not in TOTAL:
            name = generic_name(record)
            known = _GENERIC.get(name)
            if known is None or known.record is not record:
                _GENERIC[name] = _derived(name, record)


def _derived(name: str, record: OpDef) -> Opcode:
    reason = record.ad.reason if isinstance(record.ad, (ZeroGradient, Stop)) else ""
    rule = f"none: {reason}" if reason else f"from the record {record.name}"
    if isinstance(record.ad, NotDifferentiable) and record.name != "part":
        rule = f"E5001: {record.ad.reason}"

    def infer(attrs: Any, types: Types, declared: TensorType) -> TensorType:
        return (
            _part_type(attrs, types) if record.name == "part" else _known_type(record, attrs, types)
        )

    return Opcode(
        name,
        record.doc.strip(),
        ("values",),
        infer,
        lambda x, attrs, kind, literal: _lowered(record, x, attrs),
        strict=False,
        stops=bool(reason),
        record=record,
        braces=True,
        rule=rule,
    )


def _lowered(record: OpDef, x: list[UOp], attrs: Any) -> UOp:
    opened = _opened(attrs)
    if record.name in FORMS:
        return record.call(*x, **opened.asdict())
    return UOp(record, tuple(x), opened)


def _opened(attrs: Any) -> Any:
    """Attributes with their blocks as functions, which is what records know."""
    if attrs is None or not any(type(value) is Block for value in attrs):
        return attrs
    return type(attrs)(*(_function(v) if type(v) is Block else v for v in attrs))


@lru_cache(maxsize=256)
def _function(block: Block) -> Function:
    kinds = [ins.type for ins in block.instructions if ins.opcode == "Input"]
    inputs = placeholders(kinds, "p")
    nodes = lowered(block.instructions, block.outputs, inputs, scalar_only, opcode_named)
    return function_of(inputs, nodes)


# ---- types


def _part_type(attrs: Any, types: Types) -> TensorType:
    if len(types) != 1 or not isinstance(types[0].dtype, tuple):
        raise fault("E2001", "Part: picks a result of an op with several results")
    ((dtypes, shapes),) = types
    if type(attrs.index) is not int or not 0 <= attrs.index < len(dtypes):
        raise fault("E2001", f"Part: there are {len(dtypes)} results")
    return TensorType(dtypes[attrs.index], shapes[attrs.index])


def _known_type(record: OpDef, attrs: Any, types: Types) -> TensorType:
    key = (record.name, repr(attrs), *types)
    found = _types.get(key)
    if found is None:
        if len(_types) > _MOST_CACHED:
            _types.clear()
        found = _types[key] = _found_type(record, attrs, types)
    return found


def _found_type(record: OpDef, attrs: Any, types: Types) -> TensorType:
    """What the record says about placeholders of these types. Its attributes may hold anything,
    and then so may the errors of the functions that meet them: all are the module's fault."""
    name = generic_name(record)
    _check_attributes(name, record, attrs)
    if record.takes_functions:
        check_functions(name, record.name, attrs, types)
    elif record.kind == "primitive" and attrs is not None:
        _check_axes(name, attrs, types)
    try:
        node = _lowered(record, placeholders(types, "x"), attrs)
        verify_nodes([node])
        if record.kind == "primitive" and not record.takes_functions:
            _check_call(record, attrs, types)
        return _checked_type(name, node)
    except AdjointError as error:
        raise fault(error.code, f"{name}: {error.problem}", error.help) from None
    except Exception as error:
        problem = f"{name}: its operands or attributes do not fit: {type(error).__name__}: {error}"
        raise fault("E2001", problem) from None


def _checked_type(name: str, node: UOp) -> TensorType:
    several = isinstance(node.dtype, tuple)
    shapes, kinds = (node.shape, node.dtype) if several else ((node.shape,), (node.dtype,))
    for shape, dtype in zip(shapes, kinds, strict=True):
        if not isinstance(dtype, DType) or not all(type(n) is int for n in shape):
            raise fault("E2001", f"{name}: its attributes give no type")
        check_extents(name, shape)
    return TensorType(node.dtype, node.shape)


def _check_attributes(name: str, record: OpDef, attrs: Any) -> None:
    """true is not 1: Python's caches cannot tell them apart, so this does. And what a body counts
    through, output by output, is bounded."""
    if attrs is None:
        return
    notes = inspect.get_annotations(type(attrs))
    if record.kind == "composite" and record.body is not None:
        notes = notes | inspect.get_annotations(record.body)
    if record.kind == "primitive":
        _check_kinds(name, attrs, notes)
    for field, value in attrs.items():
        if field == "output_size" and any(
            type(v) is int and v > _MOST_OUTPUTS for v in _leaves(value)
        ):
            raise fault("E2006", f"{name}: attribute {field!r} is more than {_MOST_OUTPUTS}")
        note = str(notes.get(field, "Any"))
        if field == "present" or "Any" in note:
            continue
        truth = "bool" in note
        if any((type(v) is bool) != truth for v in _leaves(value) if type(v) in (bool, int)):
            wanted = "true or false" if truth else "a number"
            raise fault("E2001", f"{name}: attribute {field!r} is {wanted}")


def _is_shape(value: Any) -> bool:
    return type(value) is tuple and all(type(n) is int for n in value)


_WRITABLE: dict[str, Callable[[Any], bool]] = {  # what a text can say, by the record's annotation
    "int": lambda value: type(value) is int,
    "str": lambda value: type(value) is str,
    "bool": lambda value: type(value) is bool,
    "float": lambda value: isinstance(value, (int, float)),
    "DType": lambda value: isinstance(value, DType),
    "Shape": _is_shape,
    "tuple[int, ...]": _is_shape,
    "tuple[str, ...]": lambda value: type(value) is tuple and all(type(s) is str for s in value),
    "tuple[tuple[int, int], ...]": lambda value: (
        type(value) is tuple and all(_is_shape(pair) and len(pair) == 2 for pair in value)
    ),
    "Function": lambda value: type(value) is Block,
    "None": lambda value: value is None,
}


def _check_kinds(name: str, attrs: Any, notes: dict[str, Any]) -> None:
    """Every attribute of a primitive is there and is what its record says; `infer` trusts that."""
    for field, value in attrs.items():
        kinds = str(getattr(notes[field], "__name__", notes[field])).split(" | ")
        if kinds == ["Any"]:
            continue
        if not all(kind in _WRITABLE for kind in kinds):
            raise fault("E6003", f"{name}: its attribute {field!r} cannot be written in a module")
        if not any(_WRITABLE[kind](value) for kind in kinds):
            problem = "is missing" if value is None else f"is not {' or '.join(kinds)}"
            raise fault("E2007" if value is None else "E2001", f"{name}: {field!r} {problem}")


def _check_call(record: OpDef, attrs: Any, types: Types) -> None:
    """What the op's own call refuses, a module may not hold either: calls check operands that
    nodes, once built, are trusted to have."""
    named = {} if attrs is None else attrs.asdict()
    signature = inspect.signature(record.call)
    counts = [n for n in range(_MOST_OPERANDS) if _binds(signature, n, named)]
    if not counts:  # an op whose call has other parameters than its node
        return
    if len(types) not in counts and len(types) < _MOST_OPERANDS:
        raise fault("E2007", f"takes {counts[0]} operands, got {len(types)}")
    record.call(*placeholders(types, "x"), **named)


def _binds(signature: inspect.Signature, operands: int, named: dict[str, Any]) -> bool:
    try:
        signature.bind(*range(operands), **named)
    except TypeError:
        return False
    return True


def _check_axes(name: str, attrs: Any, types: Types) -> None:
    """The axes of a node count from the front; its record leaves that to the op's call."""
    axes = getattr(attrs, "axis", None)
    if axes is None or not types:
        return
    rank = max(1, len(getattr(attrs, "shape", types[0].shape)))
    listed = _leaves(axes)
    for axis in listed:
        if type(axis) is not int or not 0 <= axis < rank:
            raise fault("E3004", f"{name}: axis {axis} is out of range for rank {rank}")
    if len(set(listed)) != len(listed):
        raise fault("E3005", f"{name}: an axis is named twice")


def _leaves(value: Any) -> list[Any]:
    if type(value) is tuple:
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


__all__ = ["Literal", "generic_opcodes", "near_opcode", "opcode_named"]
