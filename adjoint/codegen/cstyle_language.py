"""What a language that reads like C is: how it writes types, numbers, memory, loops and kernels.

`Language` writes what C, OpenCL, CUDA and Metal share; each of them is a subclass that changes
tables and a few lines (`cstyle_languages`). What may live here: text of single things. What may
not: the walk over a program, which is the same for all of them (`cstyle`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from adjoint.codegen.cstyle_ops import FUNCTIONS, HALVES, OPERANDS, OPERATIONS, WIDENING, Table
from adjoint.errors import DeviceError, InternalError
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.uop import UOp

Needs = dict[str, str]  # what stands in front of the kernels: its text by its name

F32 = dtypes.float32
_ENDINGS = {"float32": "f", "float16": "h", "bfloat16": "bf"}  # of numbers


class Buffer(NamedTuple):
    """Memory that a kernel is given."""

    name: str
    dtype: DType
    mutable: bool


class Scalar(NamedTuple):
    """A number that a kernel is given."""

    name: str
    dtype: DType


class Head(NamedTuple):
    """What a kernel is called, what it is given, and how its threads are laid out."""

    name: str
    buffers: Sequence[Buffer]
    scalars: Sequence[Scalar]
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
    has_halves: ClassVar[bool] = False  # whether 16-bit floats are types, not bits
    threads: ClassVar[bool] = True  # whether SPECIAL is a thread, and a grid has one per iteration
    one_file: ClassVar[bool] = True  # whether several kernels may stand in one text
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
        if math.isinf(size):
            return self.infinity(dtype, needs)
        if math.isnan(size):
            return self.nan(dtype, needs)
        self.type(dtype)
        return str(abs(rounded)) + _ENDINGS.get(dtype.name, "")

    def infinity(self, dtype: DType, needs: Needs) -> str:
        return "INFINITY"

    def nan(self, dtype: DType, needs: Needs) -> str:
        return "NAN"

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
        raise NotImplementedError

    def thread(self, special: str, size: int) -> str:
        """The position of a thread: `gidx0` of its group, `lidx0` in it."""
        raise NotImplementedError

    def iteration(self) -> str:
        """The position of a thread among all: the iteration of the grid's loop that it does."""
        raise NotImplementedError

    def barrier(self) -> str:
        raise NotImplementedError

    def preamble(self, text: str, needs: Needs) -> list[str]:
        """The lines in front of our functions, for a text that needs them."""
        return []


def _lines(changes: Table) -> dict[tuple[str, str], str]:
    """The table with those changes, by op and kind."""
    return {
        (op, kind): text
        for table in (OPERATIONS, changes)
        for op, row in table.items()
        for kinds, text in row.items()
        for kind in kinds
    }
