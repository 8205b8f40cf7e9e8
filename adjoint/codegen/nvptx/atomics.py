"""ATOMIC: values are joined with what lies in memory, while other threads do the same.

The instruction is a reduction without a result, so a thread does not wait for memory. Lanes of a
thread each have one.
"""

from __future__ import annotations

from functools import partial

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.memory import to_memory, wide
from adjoint.codegen.llvm.writer import Value, Writer
from adjoint.codegen.nvptx.memory import Place, both, index_of, lane_mask, lane_of, when
from adjoint.ir.dtype import DType
from adjoint.ir.kernel_kind import gate_of
from adjoint.ir.uop import UOp

_OPS = {"add": "add", "maximum": "max", "minimum": "min"}
_REGISTERS = {"float": "f", "double": "d", "i32": "r", "i64": "l"}


def join(w: Writer, node: UOp, value_of: dict[UOp, Value], place: Place) -> None:
    """An ATOMIC, where the bounds check holds."""
    value, dtype = value_of[node.src[2]], node.src[2].dtype
    given = gate_of(node)
    gate = None if given is None else value_of[given]
    place = place._replace(at=wide(w, place.at, node.src[1].dtype))
    put = partial(_joined, w, dtype, node.arg.join, place.pointer)
    if w.lanes == 1:
        held = both(w, None if gate is None else gate.name, w.mask)
        when(w, held, partial(put, place.at.name, to_memory(w, value.name, dtype, 1)))
        return
    held = lane_mask(w, gate)
    vector = to_memory(w, w.vector(value, dtype), dtype, w.lanes)
    for lane in range(w.lanes):
        opened = None if held is None else lane_of(w, "i1", held, lane)
        own = lane_of(w, ty.memory_type(dtype), vector, lane)
        when(w, opened, partial(put, index_of(w, place.at, lane), own))


def _joined(w: Writer, dtype: DType, op: str, pointer: str, index: str, value: str) -> None:
    kind = ty.memory_type(dtype)
    at = w.emit(f"getelementptr {kind}, {pointer}, i64 {index}")
    text = f"red.global.{_OPS[op]}.{_type_of(dtype, op)} [$0], $1;"
    given = f"{pointer.rpartition(' ')[0]} {at}, {kind} {value}"
    marks = f"l,{_REGISTERS[kind]},~{{memory}}"
    w.effect(f'call void asm sideeffect "{text}", "{marks}"({given})')


def _type_of(dtype: DType, op: str) -> str:
    """As PTX names it; sums of integers wrap around alike, and of 64 bits have one name."""
    kind = "u" if dtype.is_int and op == "add" else {"i": "s"}.get(dtype.kind, dtype.kind)
    return f"{kind}{dtype.bits}"
