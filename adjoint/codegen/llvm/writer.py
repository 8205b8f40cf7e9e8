"""Writes lines of LLVM IR: fresh names, open scopes, and one value as scalar or vector.

Inside a loop with lanes an integer that grows evenly from lane to lane is kept as the scalar of
lane 0 and its stride, so that indices cost scalar arithmetic and the stride of an access is known.
A scalar becomes a vector once, where it is defined: the line goes before the inner loops.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from adjoint.codegen.llvm import types as ty
from adjoint.ir.dtype import DType
from adjoint.ir.uop import UOp
from adjoint.target import Processor

Lines = list["str | Lines"]


class Value(NamedTuple):
    """A register: its name, its stride from lane to lane (0: the same in all, None: a vector of
    values, else the name is that of lane 0), and how many scopes are open where it is defined."""

    name: str
    stride: int | None = 0
    level: int = 0
    constant: bool = False


class Writer:
    """The text of one function as it grows."""

    def __init__(self, processor: Processor) -> None:
        self.processor = processor
        self.lacking = lacking(processor)
        self.entry: Lines = []
        self.lines: Lines = []
        self.front: list[Lines] = []  # per open scope, the lines just in front of it
        self.level = 0  # how many scopes are open
        self.label = "start"  # of the basic block being written
        self.lanes = 1  # of the loop with lanes that is open
        self.mask: str | None = None  # the lanes that run, if not all do
        self.values: dict[UOp, Value] = {}
        self.declared: dict[str, str] = {}
        self.loops = 0
        self.streams = False  # whether a store goes past the caches
        # stores past the caches, and their alignment, that are written together, by their test
        self.held: dict[str, list[tuple[str, int]]] | None = None
        self.spare = 0  # bytes of memory to access where a gate is closed
        self.diverts = True  # whether masked loads that touch nothing go there, too
        self._count = 0
        self._vectors: dict[tuple[str, int, int], str] = {}
        self._aligned: dict[tuple[str, int], str] = {}

    # ---- lines and names

    def fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def emit(self, text: str) -> str:
        """A line that computes something; its name."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def is_aligned(self, pointer: str, alignment: int) -> str:
        """Whether an address is a multiple of this."""
        address = self.emit(f"ptrtoint ptr {pointer} to i64")
        rest = self.emit(f"and i64 {address}, {alignment - 1}")
        return self.emit(f"icmp eq i64 {rest}, 0")

    def begins_aligned(self, buffer: str, alignment: int) -> str:
        """The same of a buffer, which is found out once."""
        key = (buffer, alignment)
        if key not in self._aligned:
            lines, self.lines = self.lines, self.entry
            self._aligned[key] = self.is_aligned(buffer, alignment)
            self.lines = lines
        return self._aligned[key]

    def effect(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def new_label(self) -> str:
        self._count += 1
        return f"b{self._count}"

    def start_block(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def open_scope(self) -> None:
        """From here on lines are inside a loop or a branch; `front` stays outside of it."""
        front: Lines = []
        self.lines.append(front)
        self.front.append(front)
        self.level += 1

    def close_scope(self) -> None:
        self.front.pop()
        self.level -= 1

    def call(self, result: str, name: str, *operands: str) -> str:
        """The text of a call; every operand is written with its type in front."""
        if name not in self.declared:
            kinds = ", ".join(_type_part(o) for o in operands)
            self.declared[name] = f"declare {result} @{name}({kinds})"
        return f"call {result} @{name}({', '.join(operands)})"

    # ---- scalars and vectors

    def vector(self, value: Value, dtype: DType) -> str:
        """The value as a vector register (or a vector constant)."""
        return self.spread(value, ty.scalar_type(dtype))

    def spread(self, value: Value, scalar: str) -> str:
        """The value as a vector of this scalar type."""
        name, stride, level, constant = value
        if stride is None or self.lanes == 1:
            return name
        if constant and not stride:
            return f"splat ({scalar} {name})"
        key = (name, stride, self.lanes)
        found = self._vectors.get(key)
        if found is None:
            found = self._vectors[key] = self._spread(value, scalar, level)
        return found

    def _spread(self, value: Value, scalar: str, level: int) -> str:
        vector, lanes = ty.vector_of(scalar, self.lanes), self.lanes
        here = self.lines
        if level < self.level:
            self.lines = self.front[level]
        if value.constant:
            name = f"splat ({scalar} {value.name})"
        else:
            one = self.emit(f"insertelement {vector} poison, {scalar} {value.name}, i64 0")
            pick = f"<{lanes} x i32> zeroinitializer"
            name = self.emit(f"shufflevector {vector} {one}, {vector} poison, {pick}")
        if value.stride:
            name = self.emit(f"add {vector} {name}, {ty.steps(scalar, lanes, value.stride)}")
        self.lines = here
        return name

    def spare_memory(self, nbytes: int) -> str:
        """Memory that may be read and written where a bounds check fails."""
        self.spare = max(self.spare, nbytes)
        return "%spare"


@cache
def lacking(processor: Processor) -> frozenset[str]:
    """The ops on floats that the processor has no instruction for."""
    whole = () if processor.rounding else ("floor", "ceil", "trunc", "round")
    return frozenset(whole if processor.fused else (*whole, "fma"))


def _type_part(operand: str) -> str:
    """The type in front of an operand: `<8 x float> %v1`, `i32 4`, `ptr %v2`."""
    if operand[0] == "<":
        return operand[: operand.index(">") + 1]
    return operand[: operand.index(" ")]


def flatten(lines: Lines, out: list[str]) -> list[str]:
    """The lines in order, those written in front of scopes at their places."""
    for line in lines:
        if isinstance(line, str):
            out.append(line)
        else:
            flatten(line, out)
    return out
