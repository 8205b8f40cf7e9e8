"""The common base of C-like languages: types, numbers, memory, loops and kernels as text.

`Language` writes what C, OpenCL, CUDA and Metal share; each of them is a subclass that changes
tables and a few lines (`languages.py`). The walk over a program is the same for all of them
(`walk.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from adjoint.codegen.c.ops import FUNCTIONS, HALVES, OPERANDS, OPERATIONS, WIDENING, Table
from adjoint.errors import DeviceError, InternalError
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.uop import UOp

Needs = dict[str, str]  # what stands in front of the kernels: its text by its name
AXES = "xyz"

F32 = dtypes.float32
_ENDINGS = {"float32": "f", "float16": "h", "bfloat16": "bf"}  # of numbers


class BufferParameter(NamedTuple):
    """Memory that a kernel is given."""

    name: str
    dtype: DType
    mutable: bool


class ScalarParameter(NamedTuple):
    """A number that a kernel is given."""

    name: str
    dtype: DType


class Head(NamedTuple):
    """What a kernel is called, what it is given, and how its threads are laid out."""

    name: str
    buffers: Sequence[BufferParameter]
    scalars: Sequence[ScalarParameter]
    grid: bool  # whether a thread does one iteration of a loop
    group: tuple[int, int, int]  # threads of a group


class Language:
    """How C and its relatives write things."""

    name: ClassVar[str]
    types: ClassVar[Mapping[str, str]]  # by the name of the dtype
    changes: ClassVar[Table] = {}  # lines of the table from op to text that are different
    bodies: ClassVar[Table] = FUNCTIONS
    single: ClassVar[str] = ""  # what the name of a function of float32 ends with
    long: ClassVar[str] = "L"  # what a 64-bit number ends with
    inline: ClassVar[str] = "static inline "  # in front of our functions
    start: ClassVar[str]  # in front of the name of a kernel
    nothing: ClassVar[str] = ""  # between the parentheses of a kernel without parameters
    group: ClassVar[str] = "gid.{axis}"  # the position of the group that a thread is in
    in_group: ClassVar[str] = "lid.{axis}"  # its position there
    iteration: ClassVar[str]  # its position among all, which is the iteration of a grid
    barrier: ClassVar[str]  # wait for the group, and see what it has written to any memory
    has_halves: ClassVar[bool] = False  # whether 16-bit floats are types, not bits
    threads: ClassVar[bool] = True  # whether SPECIAL is a thread, and a grid has one per iteration
    one_file: ClassVar[bool] = True  # whether several kernels may stand in one text
    overflows: ClassVar[bool] = True  # whether a sum that is no value of its type is undefined
    lines: ClassVar[Mapping[tuple[str, str], str]]  # the table, by op and kind
    cells = False  # whether a kernel is given cells, and the part of the grid to do

    def __init_subclass__(cls) -> None:
        cls.lines = _lines(cls.changes)

    # ---- types and numbers

    def type(self, dtype: DType) -> str:
        """The type of a value."""
        if dtype.name not in self.types:
            problem = f"{self.name} has no {dtype.name}"
            raise DeviceError("E6003", problem, op="source", help="cast it to a dtype it has")
        return self.types[dtype.name]

    def memory(self, dtype: DType) -> str:
        """The type of an element in memory."""
        return self.type(dtype)

    def as_bits(self, dtype: DType) -> bool:
        """Whether values of the dtype are held as the bits of a 16-bit float."""
        return dtype.is_float and dtype.itemsize == 2 and not self.has_halves

    def literal(self, value: Any, dtype: DType, needs: Needs, exact: bool = True) -> str:
        """A constant; `exact`: it has the dtype, not only the value."""
        if dtype.is_bool:
            return "true" if value else "false"
        if dtype.is_int:
            return self.integer(int(value), dtype, exact)
        if self.as_bits(dtype):
            return self.cast(self.literal(value, F32, needs), F32, dtype, needs)
        with np.errstate(all="ignore"):
            rounded = np.array(value, np.float64).astype(dtype.np)[()]
        text = self.real(float(abs(rounded)), rounded, dtype, needs)
        return f"(-{text})" if math.copysign(1.0, float(rounded)) < 0 else text

    def integer(self, value: int, dtype: DType, exact: bool) -> str:
        value = (value - int(dtype.min)) % (1 << dtype.bits) + int(dtype.min)
        unsigned = "u" if dtype.kind == "u" else ""
        size = self.long if dtype.bits == 64 and (exact or unsigned or value >> 31) else ""
        if dtype.bits >= 32 and value == dtype.min and value < 0:
            return f"({value + 1}{size}-1)"
        return f"(-{-value}{size})" if value < 0 else f"{value}{unsigned}{size}"

    def real(self, size: float, rounded: Any, dtype: DType, needs: Needs) -> str:
        """A float that is not negative."""
        if not math.isfinite(size):
            return self.not_finite("NAN" if math.isnan(size) else "INFINITY", dtype, needs)
        self.type(dtype)
        return str(abs(rounded)) + _ENDINGS.get(dtype.name, "")

    def not_finite(self, word: str, dtype: DType, needs: Needs) -> str:
        """`INFINITY` or `NAN`, which is a float32: where functions have overloads, that matters."""
        return word if dtype is F32 else self.converted(word, dtype)

    def opaque(self, literal: str, dtype: DType, needs: Needs) -> str:
        """A constant among constants only, for languages that compute with those and complain."""
        return literal

    # ---- arithmetic

    def apply(self, op: str, dtype: DType, texts: Sequence[str], needs: Needs) -> str:
        """The op on operands of a dtype, which for WHERE is bool."""
        line = self.lines.get((op, dtype.kind))
        if line is None:
            raise InternalError(f"{op} on {dtype} is not an op of kernels")
        if self.as_bits(dtype) and op != "where":
            return self.in_float(op, dtype, texts, needs)
        if "{s}" in line:
            self.need_function(line.split("_{s}")[0], dtype, needs)
        suffix = self.single if dtype is F32 else ""
        text = line.format(*texts, f=suffix, s=dtype.short)
        narrow = dtype.is_int and dtype.bits < 32 and op in WIDENING
        return f"({self.type(dtype)}){text}" if narrow else text

    def may_overflow(self, op: str, dtype: DType) -> bool:
        """Whether the op on integers may have no defined result, which it does not in unsigned
        arithmetic. Integers narrower than int are computed in int."""
        signed = dtype.kind == "i" and dtype.bits >= 32 and op in ("add", "sub", "mul", "neg")
        shifted = dtype.kind == "i" and op == "lshift"  # a negative integer, by any amount
        return self.overflows and (signed or shifted or (op == "mul" and dtype is dtypes.uint16))

    def in_float(self, op: str, dtype: DType, texts: Sequence[str], needs: Needs) -> str:
        """An op on 16-bit floats: in float32, rounded after it."""
        wide = self.apply(op, F32, [self.cast(t, dtype, F32, needs) for t in texts], needs)
        truth = op in ("lt", "le", "eq", "ne", "logical_not")
        return wide if truth else self.cast(wide, F32, dtype, needs)

    def need_function(self, name: str, dtype: DType, needs: Needs) -> None:
        """Have our function in front of the kernels."""
        kind = self.type(dtype)
        body = next(b for kinds, b in self.bodies[name].items() if dtype.kind in kinds)
        operands = ", ".join(f"{kind} {n}" for n in "ab"[: OPERANDS.get(name, 2)])
        body = body.format(t=kind, u=self.type(unsigned_of(dtype)) if dtype.is_int else kind)
        text = f"{self.inline}{kind} {name}_{dtype.short}({operands}) {{ {body} }}"
        needs[f"{name}_{dtype.short}"] = text

    def cast(self, x: str, before: DType, after: DType, needs: Needs) -> str:
        """The value as another dtype."""
        if before is after:
            return x
        if self.as_bits(before):
            return self.cast(self.halved(f"{before.short}_to_f32", x, needs), F32, after, needs)
        if self.as_bits(after):
            wide = self.cast(x, before, F32, needs)
            return self.halved(f"f32_to_{after.short}", wide, needs)
        return f"({x}!=0)" if after.is_bool else self.converted(x, after)

    def converted(self, x: str, after: DType) -> str:
        return f"({self.type(after)}){x}"

    def halved(self, name: str, x: str, needs: Needs) -> str:
        """A call of a conversion of 16-bit floats."""
        u, h = dtypes.uint32, dtypes.uint16
        words = {"float": self.reinterpret("", u, F32, needs)[:-2], "u": self.type(u)}
        words |= {"bits": self.reinterpret("", F32, u, needs)[:-2], "h": self.type(h)}
        needs[name] = self.inline + HALVES[name].format(**words)
        return f"{name}({x})"

    def bitcast(self, x: str, before: DType, after: DType, needs: Needs) -> str:
        """The same bits as another dtype of that width."""
        if before.itemsize != after.itemsize:
            raise InternalError(f"bits of {before} are not bits of {after}")
        if before.is_bool or after.is_bool:
            return self.cast(x, before, after, needs)
        whole = [d.is_int or self.as_bits(d) for d in (before, after)]
        if all(whole) or before is after:
            same = self.type(before) == self.type(after)
            return x if same else self.converted(x, after)
        return self.reinterpret(x, before, after, needs)

    def reinterpret(self, x: str, before: DType, after: DType, needs: Needs) -> str:
        """A call that takes the bits of a float for an integer, or the other way round."""
        raise NotImplementedError

    # ---- statements

    def constant(self, dtype: DType, name: str, value: str) -> str:
        """A name for a value."""
        return f"{self.type(dtype)} {name} = {value};"

    def variable(self, dtype: DType, name: str, value: str) -> str:
        """A name for a value that changes."""
        return self.constant(dtype, name, value)

    def array(self, dtype: DType, name: str, size: int) -> str:
        """Memory of this thread."""
        return f"{self.memory(dtype)} {name}[{size}];"

    def registers(self, dtype: DType, name: str, size: int) -> str:
        """Several values of this thread."""
        return f"{self.type(dtype)} {name}[{size}];"

    def shared(self, dtype: DType, name: str, size: int, needs: Needs) -> str:
        """Memory of a group of threads."""
        return self.array(dtype, name, size)

    def element(self, buffer: str, index: str) -> str:
        return f"*({buffer}+{index})"

    def loaded(self, dtype: DType, element: str) -> str:
        """What memory holds, as a value."""
        return element

    def load_or(self, gate: str, found: str, other: str) -> str:
        """What memory holds where a gate is open."""
        return f"({gate}?{found}:{other})"

    def stored(self, value: UOp, text: str, needs: Needs) -> str:
        """A value as memory holds it."""
        return text

    def loop(self, dtype: DType, name: str, first: str, stop: str) -> str:
        return f"for ({self.type(dtype)} {name} = {first}; {name} < {stop}; {name}++) {{"

    def small_loop(self, name: str, first: str, test: str, step: str) -> str:
        """A loop over lanes."""
        return f"for (int {name} = {first}; {test}; {step}) {{"

    def check(self, node: UOp) -> None:
        """Refuse what the language cannot do, although it has the types."""

    # ---- kernels

    def opening(self, head: Head, needs: Needs) -> list[str]:
        """The lines a kernel starts with; those after the `{` are indented."""
        given = [*map(self.buffer, head.buffers), *map(self.scalar, head.scalars)]
        given += self.positions(head)
        return [f"{self.start} {head.name}({', '.join(given) or self.nothing}) {{"]

    def buffer(self, buffer: BufferParameter) -> str:
        """A parameter that is memory."""
        const = "" if buffer.mutable else "const "
        return f"{const}{self.memory(buffer.dtype)}* {buffer.name}"

    def scalar(self, scalar: ScalarParameter) -> str:
        """A parameter that is a number."""
        return f"{self.memory(scalar.dtype)} {scalar.name}"

    def positions(self, head: Head) -> list[str]:
        """The parameters that say which thread this is, where they are parameters."""
        return []

    def thread(self, special: str, dtype: DType) -> str:
        """The position of a thread: `gidx0` of its group, `lidx0` in it."""
        number = axis_of(special)
        text = self.in_group if special.startswith("l") else self.group
        return text.format(axis=AXES[number], number=number, type=self.type(dtype))

    def preamble(self, text: str, needs: Needs) -> list[str]:
        """The lines in front of our functions, for a text that needs them."""
        return []


def unsigned_of(dtype: DType) -> DType:
    """The unsigned type in which integers of a dtype are added and multiplied."""
    return dtypes.uint64 if dtype.bits == 64 else dtypes.uint32


def axis_of(special: str) -> int:
    """What the number at the end of `gidx0` says: 0, 1 or 2."""
    number = special.lstrip("abcdefghijklmnopqrstuvwxyz_")
    if number not in ("0", "1", "2"):
        problem = f"{special} is no position of a thread"
        raise DeviceError("E6003", problem, op="special", help="gidx0, gidx1, gidx2, lidx0, …")
    return int(number)


def _lines(changes: Table) -> dict[tuple[str, str], str]:
    """The table with those changes, by op and kind."""
    return {
        (op, kind): text
        for table in (OPERATIONS, changes)
        for op, row in table.items()
        for kinds, text in row.items()
        for kind in kinds
    }
