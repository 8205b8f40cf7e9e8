"""The kernels that the compiler makes for the samples of the records, with what they ran on.

While a graph runs, every kernel is called through Python: the memory it gets is copied before and
after LLVM's code has run. A renderer for another language is right when its code makes the same of
the copies. What may live here: collecting kernels. What may not: any one language.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np

from adjoint import Device, Tensor, grad
from adjoint.codegen.llvm.render import render
from adjoint.errors import AdjointError
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.opdef import OpDef
from adjoint.ir.uop import UOp
from adjoint.runtime.compiler import compile_source
from adjoint.runtime.processor import processor
from adjoint.stages import LoopProgram
from tests.codegen.c.stand_in import compiling
from tests.ops.cases import adapted, call, dtypes_of, outputs
from tests.ops.coverage import reason_for
from tests.ops.points import points

Array = np.ndarray[Any, Any]
Kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
RUNS = 2  # of one kernel that are kept: they differ in sizes and strides
GRADIENTS = (dtypes.float64, dtypes.float32)
NAME = "kernel"  # what is compared is code, not names
_ONE_AT_A_TIME = Lock()  # threads that do parts of one grid write the same memory


@dataclass(frozen=True)
class Run:
    """One call: its buffers, memory before and after, which piece of it each buffer is, further
    cells, the part of the grid. Two buffers are the same piece when a result lies in the memory of
    an operand."""

    buffers: tuple[UOp, ...]
    before: list[Array]
    after: list[Array]
    pieces: list[int]
    cells: list[int]
    begin: int
    end: int


@dataclass
class Sample:
    """A kernel, where it was first met, and some of its calls."""

    program: LoopProgram
    where: str
    runs: list[Run] = field(default_factory=list)


class _Recorded:
    """Stands in for compiled code; every call is recorded and then done by LLVM's."""

    def __init__(self, program: LoopProgram, note: Callable[[LoopProgram, Run], None]):
        self.program, self.note = program, note
        self.code = compile_source(render(program, processor()))
        self.real = Kernel(self.code.address)
        self.own = Kernel(self.call)
        self.address = ctypes.cast(self.own, ctypes.c_void_p).value

    def call(self, address: int, begin: int, end: int) -> None:
        program = self.program
        count = len(program.buffers)
        total = count + len(program.variables) + len(program.parameters)
        cells = list((ctypes.c_int64 * max(1, total)).from_address(address))[:total]
        places = list(dict.fromkeys(cells[:count]))
        spaces = [_space(at, program, cells) for at in places]
        pieces = [places.index(at) for at in cells[:count]]
        with _ONE_AT_A_TIME:
            before = [s.copy() for s in spaces]
            self.real(address, begin, end)
            after = [s.copy() for s in spaces]
            run = Run(program.buffers, before, after, pieces, cells[count:], begin, end)
            self.note(program, run)


def _space(address: int, program: LoopProgram, cells: list[int]) -> Array:
    """The memory at an address, as bytes: as much as the largest buffer there has."""
    sizes = [
        b.arg.size * b.arg.dtype.itemsize
        for b, at in zip(program.buffers, cells, strict=False)
        if at == address
    ]
    return np.ctypeslib.as_array((ctypes.c_uint8 * max(sizes)).from_address(address))


class Corpus:
    """Distinct kernels: those with the same code are one, whatever their names and numbers."""

    def __init__(self) -> None:
        self.found: dict[str, Sample] = {}
        self.where = ""

    def note(self, program: LoopProgram, run: Run) -> None:
        text = render(program, processor()).text
        kinds = [f"{b.arg.dtype.short}{b.arg.mutable:d}" for b in program.buffers]
        key = f"{' '.join(kinds)}\n" + re.sub(rf"\b{re.escape(program.name)}\b", NAME, _code(text))
        sample = self.found.setdefault(key, Sample(program, self.where))
        if len(sample.runs) < RUNS:
            sample.runs.append(run)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Every kernel that a graph runs here is noted. Programs made before are given up, and
        those made here as well."""
        device = Device.DEFAULT
        Device.DEFAULT = "CPU"
        try:
            with compiling(self._recorded), np.errstate(all="ignore"):
                yield
        finally:
            Device.DEFAULT = device

    def _recorded(self, sources: Iterable[LoopProgram]) -> dict[LoopProgram, _Recorded]:
        return {program: _Recorded(program, self.note) for program in sources}

    def add(self, record: OpDef, dtype: DType, gradients: bool = True) -> None:
        """The kernels of all samples of a record in a dtype, and those of their gradients."""
        self.where = f"{record.name} {dtype.short}"
        _run(_values(record, dtype))
        differentiable = reason_for(record.name, "first order") is None
        if gradients and dtype in GRADIENTS and differentiable and dtype in dtypes_of(record):
            self.where += " gradient"
            _run(_gradients(record, dtype))


def _code(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not line.startswith(";"))


def _values(record: OpDef, dtype: DType) -> Iterator[list[Any]]:
    for raw in record.samples():
        yield outputs(call(record, adapted(raw, dtype)))


def _gradients(record: OpDef, dtype: DType) -> Iterator[list[Any]]:
    for _, point in points(record, dtype):
        yield list(grad(point.at, point.argnums)(*point.tensors))


def _run(results: Iterable[list[Any]]) -> None:
    for tensors in results:
        found = [t for t in tensors if isinstance(t, Tensor)]
        try:
            if found:
                found[0].realize(*found[1:])
        except AdjointError as error:
            if error.code != "E6001":  # an index out of range; the kernel ran all the same
                raise


def corpus_of(pairs: Iterable[tuple[OpDef, DType]], gradients: bool = True) -> list[Sample]:
    """The distinct kernels of these records in these dtypes."""
    corpus = Corpus()
    with corpus.recording():
        for record, dtype in pairs:
            corpus.add(record, dtype, gradients)
    return list(corpus.found.values())
