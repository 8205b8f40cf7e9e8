"""The C backend, whole: text, compiler, memory, launches.

What may live here: what the protocol asks. What may not: anything another backend needs too.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.backends.protocol import Flag
from adjoint.codegen.c.render import LANGUAGES, render
from adjoint.errors import DeviceError, InternalError
from adjoint.ir.uop import UOp
from adjoint.runtime.cores import available_cores
from adjoint.runtime.launch import Cells
from adjoint.runtime.memory import register_memory
from adjoint.runtime.spans import by_the_clock
from adjoint.stages import KernelStep, LoopProgram, Source, Step
from adjoint.target import TARGETS

Array = np.ndarray[Any, Any]
Function = Any  # void (*)(cells, begin, end)
_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
# gcc takes 0.0 - (double)b of a bool for -(double)b, which is -0.0 where b is false; with
# -frounding-math it does not.
_FLAGS = ("-std=c11", "-O2", "-ffp-contract=off", "-frounding-math", "-fPIC", "-shared", "-w")

# ---- memory

_libc = ctypes.CDLL(None)
_libc.malloc.restype, _libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
_libc.free.restype, _libc.free.argtypes = None, [ctypes.c_void_p]


class CBlock:
    """Memory of the device; freed when its last holder drops it."""

    __slots__ = ("__weakref__", "_free", "_memory", "address", "size")

    def __init__(self, memory: CMemory, address: int, size: int):
        self._memory, self.address, self.size = memory, address, size
        self._free = _libc.free  # a name of the module may be gone when Python ends
        memory.in_use += size

    def read(self, nbytes: int) -> Array:
        """A copy of its first bytes."""
        return self._memory.read(self.address, nbytes)

    def __del__(self) -> None:
        self._free(self.address)
        self._memory.in_use -= self.size


class CNumber:
    """A 64-bit number in the memory of the device."""

    __slots__ = ("_address", "_memory")

    def __init__(self, memory: CMemory, address: int):
        self._memory, self._address = memory, address

    @property
    def value(self) -> int:
        return int(self._memory.read(self._address, 8).view(np.int64)[0])

    @value.setter
    def value(self, number: int) -> None:
        self._memory.write(self._address, np.array([number], np.int64))


class CMemory:
    """Memory that the host reads and writes by copies alone, as that of a card."""

    addressable = False

    def __init__(self) -> None:
        self.in_use = 0

    def allocate(self, nbytes: int) -> CBlock:
        """A block of at least one byte."""
        address = _libc.malloc(max(nbytes, 1))
        if not address:
            problem = f"no memory for {nbytes} bytes ({self.in_use} bytes are in use)"
            fix = "use a smaller shape or dtype, or drop tensors that are not needed"
            raise DeviceError("E6004", problem, help=fix)
        return CBlock(self, address, nbytes)

    @staticmethod
    def block_bytes(nbytes: int) -> int:
        """As many as are asked for."""
        return max(nbytes, 1)

    def read(self, address: int, nbytes: int) -> Array:
        """A copy."""
        found = np.empty(nbytes, np.uint8)
        ctypes.memmove(found.ctypes.data, address, nbytes)
        return found

    def write(self, address: int, array: Array) -> None:
        """A copy."""
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    def copy(self, target: int, source: int, nbytes: int, home: Any) -> bool:
        """From this memory alone."""
        if home is self:
            ctypes.memmove(target, source, nbytes)
        return home is self

    def number(self, address: int) -> CNumber:
        """The number there."""
        return CNumber(self, address)

    def counted(self) -> dict[str, int]:
        """Bytes in use; none are kept."""
        return {"in use": self.in_use, "kept": 0}


# ---- launches


class CLaunch:
    """Kernels one after another: each gets the addresses of its slots, then its constants."""

    flags: Sequence[Flag] = ()

    def __init__(self, steps: Sequence[KernelStep], kernels: Mapping[Any, Function], slots: Cells):
        self._slots = slots
        self._calls = [(kernels[s.program], s.slots, *_arguments(s)) for s in steps]

    def run(self) -> int:
        """All of them. Ctrl-C gets through between two kernels."""
        for function, numbers, cells, extent in self._calls:
            for place, number in enumerate(numbers):
                cells[place] = self._slots[number]
            function(cells.address, 0, extent)
        return 0


def _arguments(step: KernelStep) -> tuple[Cells, int]:
    program = step.program
    extent = 1 if program.grid is None else int(program.grid.arg.size)
    return Cells([*([0] * len(step.slots)), *map(_bits, program.parameters)]), extent


def _bits(node: UOp) -> int:
    """A constant as the 64 bits of a cell."""
    return int.from_bytes(np.array(node.arg.value, node.dtype.np).tobytes(), "little", signed=True)


# ---- the backend


class CBackend:
    """See `Backend`."""

    target = TARGETS["C"]
    device, language, watch = "C", "c", None

    def __init__(self) -> None:
        self.memory = CMemory()
        self._functions: dict[str, Function] = {}  # by source

    def machine(self) -> bytes:
        """Nothing: C says it the same way everywhere."""
        return b""

    def about(self) -> str:
        """One core, by a compiler that every system has another one of."""
        return "C"

    def prepare(self) -> None:
        """Nothing: the compiler is a program of the system."""

    def render(self, program: LoopProgram) -> Source:
        """One file of C."""
        return render(program, LANGUAGES["c"])

    def compile(self, sources: Mapping[LoopProgram, Source]) -> dict[LoopProgram, Function]:
        """Functions of shared libraries, by a process per core of this machine."""
        wanted = {s.text: s for s in sources.values() if s.text not in self._functions}
        if wanted:
            self._functions |= zip(wanted, _side_by_side(_function, wanted.values()), strict=True)
        return {program: self._functions[source.text] for program, source in sources.items()}

    def lowest(self, source: Source) -> Source:
        """The source itself: what the compiler makes of it is its own."""
        return source

    def runs(self, step: Step) -> bool:
        """Kernels; the host does all else."""
        return isinstance(step, KernelStep)

    def bind(
        self, steps: Sequence[Step], kernels: Mapping[LoopProgram, Function], cells: Cells
    ) -> CLaunch:
        """The calls of all steps."""
        own = [step for step in steps if isinstance(step, KernelStep)]
        if len(own) != len(steps):
            raise InternalError("the C backend was given a step that is no kernel")
        return CLaunch(own, kernels, cells)

    def synchronise(self) -> None:
        """A call returns when the kernel is done: there is nothing to wait for."""

    timed = staticmethod(by_the_clock)


def _side_by_side(work: Callable[[Source], Function], sources: Collection[Source]) -> list[Any]:
    """Each is a process that Python waits for, so threads do. Ctrl-C leaves those not yet begun."""
    if len(sources) == 1:
        return [work(source) for source in sources]
    pool = ThreadPoolExecutor(min(len(sources), available_cores()), "adjoint-cc")
    try:
        return list(pool.map(work, sources))
    finally:
        pool.shutdown(cancel_futures=True)


def _function(source: Source) -> Function:
    """A function of a shared library; the files are gone when it is loaded."""
    with tempfile.TemporaryDirectory(prefix="adjoint-c-") as folder:
        library = ctypes.CDLL(str(_built(source, Path(folder))))
    return _SIGNATURE((source.name, library))


def _built(source: Source, folder: Path) -> Path:
    text, target = folder / "kernel.c", folder / "kernel.so"
    text.write_text(source.text, encoding="utf-8")
    command = [_compiler(), *_FLAGS, "-o", str(target), str(text), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InternalError(
            f"kernel {source.name}: the C compiler refuses it: {done.stderr[:2000]}"
        )
    return target


def _compiler() -> str:
    found = next((path for name in CBackend.target.tools if (path := shutil.which(name))), None)
    if found is None:
        problem = "no C compiler is installed"
        fix = f"install one of {', '.join(CBackend.target.tools)}, or use device='CPU'"
        raise DeviceError("E6002", problem, op="device", help=fix)
    return found


BACKEND = CBackend()
register_memory("C", BACKEND.memory)
