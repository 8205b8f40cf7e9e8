"""Kernels written by hand for tests, compiled and run on memory with guards around it."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from typing import Any

import llvmlite.binding as llvm
import numpy as np

import adjoint  # noqa: F401  # registers the ops
from adjoint.codegen.llvm.render import render
from adjoint.ir.dtype import as_dtype, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, toposort
from adjoint.stages import LoopProgram
from adjoint.target import PROCESSORS

Array = np.ndarray[Any, Any]
LEAVES = ("const", "define_global", "variable")


def const(value: Any, dtype: Any = dtypes.int64) -> UOp:
    return OPS["const"](value, as_dtype(dtype))


def as_index(index: Any) -> UOp:
    return index if isinstance(index, UOp) else const(index)


class Kernel:
    """A loop program while it is written.

    A value is placed when it is first used, as far out as what it depends on allows.
    """

    def __init__(self, name: str = "kernel") -> None:
        self.name = name
        self.depth: dict[UOp, int] = {}  # of every node that is placed
        self.opened: list[list[Any]] = [[]]  # the lines of every open scope, nested
        self.fronts: list[list[Any]] = []  # what was found to belong in front of each of them
        self.lines = self.opened[0]
        self.buffers: list[UOp] = []
        self.variables: list[UOp] = []
        self.grid: UOp | None = None
        self.count = 0

    def number(self) -> int:
        self.count += 1
        return self.count

    def do(self, node: UOp) -> UOp:
        for part in toposort([node]):
            if part.op.name not in LEAVES and part not in self.depth:
                self.place(part)
        return node

    def place(self, node: UOp) -> None:
        here = len(self.opened) - 1
        movable = node.op.level == "both" or (node.op.name == "load" and not self.changes(node))
        outer = max((self.depth.get(s, 0) for s in node.src), default=0)
        self.depth[node] = outer if movable else here
        if self.depth[node] < here:
            self.fronts[self.depth[node]].append(node)
        else:
            self.opened[-1].append(node)

    def changes(self, load: UOp) -> bool:
        gated = any(s.op.name == "if" for s in load.src)
        return gated or bool(load.src[0].dtype.mutable)

    def open(self, node: UOp) -> UOp:
        front: list[Any] = []
        inside: list[Any] = []
        self.opened[-1].extend((front, node, inside))
        self.fronts.append(front)
        self.opened.append(inside)
        self.depth[node] = len(self.opened) - 1
        return node

    def close(self, node: UOp) -> None:
        self.opened.pop()
        self.fronts.pop()
        for update in [n for n, d in self.depth.items() if d > len(self.opened) - 1]:
            self.depth[update] = len(self.opened) - 1 if update.op.name == "phi" else -1
        self.opened[-1].append(node)

    def buffer(self, dtype: Any, mutable: bool = False, size: int | None = None) -> UOp:
        index = len(self.buffers)
        self.buffers.append(OPS["define_global"](index, f"b{index}", mutable, dtype, size))
        return self.buffers[-1]

    def out(self, dtype: Any) -> UOp:
        return self.buffer(dtype, True)

    def variable(self, name: str) -> UOp:
        self.variables.append(OPS["variable"](name, 0, 1 << 40, dtypes.int64))
        return self.variables[-1]

    def range(self, size: int, lanes: int = 1, **rest: Any) -> UOp:
        grid, start, count = rest.get("grid", False), rest.get("start", 0), rest.get("count")
        found = OPS["range"](self.number(), size, start, dtypes.int64, lanes, grid, count)
        self.grid = found if grid else self.grid
        if count is not None:
            self.do(count)
        return self.open(found)

    def end(self, *loops: UOp) -> None:
        for loop in loops:
            self.close(OPS["end_range"](loop))

    def load(self, buffer: UOp, index: Any, gate: Any = None, alt: Any = None) -> UOp:
        other = alt if alt is None or isinstance(alt, UOp) else const(alt, buffer.dtype.base)
        return self.do(OPS["load"](buffer, as_index(index), gate, other))

    def store(self, buffer: UOp, index: Any, value: UOp, gate: Any = None) -> None:
        self.do(OPS["store"](buffer, as_index(index), value, gate))

    def acc(self, start: Any, dtype: Any) -> UOp:
        return self.do(OPS["define_acc"](const(start, dtype), self.number()))

    def update(self, acc: UOp, value: UOp, *loops: UOp) -> UOp:
        return self.do(OPS["phi"](acc, value, *loops))

    def local(self, dtype: Any, size: int) -> UOp:
        return self.do(OPS["define_local"](f"l{self.number()}", dtype, size))

    def when(self, condition: UOp) -> UOp:
        return self.open(OPS["if"](self.do(condition)))

    def endif(self, start: UOp) -> None:
        self.close(OPS["endif"](start))

    def program(self, lines: tuple[str, ...] = ()) -> LoopProgram:
        buffers, variables = tuple(self.buffers), tuple(self.variables)
        return LoopProgram(
            self.name, buffers, variables, tuple(flat(self.lines)), self.grid, 1, lines
        )


def flat(lines: list[Any]) -> list[UOp]:
    return [n for line in lines for n in (flat(line) if isinstance(line, list) else [line])]


# ---- compiled


@cache
def linker() -> Any:
    """LLVM's own, so that nothing here depends on how the runtime compiles."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    return llvm.create_lljit_compiler(
        target.create_target_machine(cpu=cpu, features=features, opt=2, jit=True)
    )


numbers = count()
OF_WIDTH = {
    bits: PROCESSORS["x86_64"][f"x86-64-v{level}"] for bits, level in ((128, 2), (256, 3), (512, 4))
}


class Compiled:
    """A kernel as a native function."""

    def __init__(self, program: LoopProgram, width: int = 256) -> None:
        self.program = program
        self.text = render(program, OF_WIDTH[width]).text
        llvm.parse_assembly(self.text).verify()
        library = llvm.JITLibraryBuilder().add_ir(self.text).add_current_process()
        self.code = library.export_symbol(program.name).link(linker(), f"k{next(numbers)}")
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        self.function = kind(self.code[program.name])

    def __call__(
        self, *arrays: Array, variables: Sequence[int] = (), begin: int = 0, end: int | None = None
    ) -> None:
        if end is None:
            end = 0 if self.program.grid is None else self.program.grid.arg.size
        cells = np.array([*(a.ctypes.data for a in arrays), *variables], np.int64)
        self.function(cells.ctypes.data, begin, end)


# ---- memory whose neighbours must not be touched


def _protect(memory: mmap.mmap, at: int, size: int) -> None:
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + at
    libc = ctypes.CDLL(None)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    assert libc.mprotect(address, size, 0) == 0


def guarded(values: Array, at_end: bool) -> Array:
    """A copy with an inaccessible page right behind it, or right in front of it."""
    page = mmap.PAGESIZE
    inner = max(page, -(-values.nbytes // page) * page)
    memory = mmap.mmap(-1, inner + 2 * page)
    start = page + (inner - values.nbytes if at_end else 0)
    flat = np.frombuffer(memory, np.uint8)
    _protect(memory, 0, page)
    _protect(memory, page + inner, page)
    copy = flat[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


# ---- values


def data(dtype: Any, *shape: int, seed: int = 0) -> Array:
    rng, kind = np.random.default_rng(seed), as_dtype(dtype)
    if kind.is_bool:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if kind.is_int:
        return rng.integers(0, 2**64, shape, np.uint64).astype(kind.np)
    return rng.standard_normal(shape).astype(kind.np)


def same(found: Array, expected: Array) -> None:
    """Equal bits, but for the payload of NaN."""
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    raw = f"u{found.dtype.itemsize}"
    nan = (found != found) & (expected != expected)
    assert np.array_equal(
        np.where(nan, 0, np.ascontiguousarray(found).view(raw)),
        np.where(nan, 0, np.ascontiguousarray(expected).view(raw)),
    )


def pointwise(
    fn: Callable[..., UOp], dtypes_in: list[Any], lanes: int, size: int, grid: bool = True
) -> LoopProgram:
    """out[i] = fn(a[i], b[i], …)"""
    k = Kernel()
    sources = [OPS["define_global"](i + 1, f"b{i + 1}", False, d) for i, d in enumerate(dtypes_in)]
    i = k.range(size, lanes, grid=grid)
    value = k.do(fn(*[k.load(b, i) for b in sources]))
    k.buffers = [OPS["define_global"](0, "b0", True, value.dtype), *sources]
    k.store(k.buffers[0], i, value)
    k.end(i)
    return k.program()


def applied(fn: Callable[..., UOp], *arrays: Array, lanes: int = 16, width: int = 256) -> Array:
    program = pointwise(fn, [as_dtype(a.dtype) for a in arrays], lanes, arrays[0].size)
    out = np.zeros(arrays[0].shape, program.buffers[0].arg.dtype.np)
    Compiled(program, width)(out, *arrays)
    return out


def tree(values: Array, lanes: int, start: Any, join: Any) -> Any:
    """The fixed tree of a reduction: a value per lane, then halves."""
    lane = np.full(lanes, start, values.dtype)
    for i in range(0, values.size, lanes):
        part = values[i : i + lanes]
        lane[: part.size] = join(lane[: part.size], part)
    while lanes > 1:
        lanes //= 2
        lane = join(lane[:lanes], lane[lanes : 2 * lanes])
    return lane[0]
