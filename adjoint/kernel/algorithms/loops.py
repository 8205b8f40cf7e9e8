"""`Loops`: writes a kernel for ops that are more than one loop over an expression.

Loops and conditions are `with` blocks. A value is placed on first use, as far out as its operands
allow; a load stays where it was written, because memory changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from math import prod
from typing import Any

from adjoint.errors import InternalError
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.kernel_kind import ACCUMULATOR, PHI
from adjoint.ir.loop_tree import Block
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import divides, highest, is_one, same, varies
from adjoint.ir.uop import UOp
from adjoint.ir.values import is_size
from adjoint.stages import LoopProgram
from adjoint.target import Target

Shape = tuple[int, ...]
FEW_REGISTERS = 64  # of a thread that mostly waits: so that there are many
_ENDED = -1  # the level of what was computed in a loop that has ended
_ADD, _MUL, _CONST = OPS["add"], OPS["mul"], OPS["const"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AlgorithmKernel:
    """A kernel with the memory it needs beside results and operands.

    Its buffers are the results, the operands, `scratch` (dtype and count of each), and with `flag`
    one int64 cell, zero before the launch, that reports a bad index (see `scatter.py`).
    """

    program: LoopProgram
    scratch: tuple[tuple[DType, int], ...] = ()
    flag: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AlgorithmSteps:
    """Consecutive kernels that communicate through memory.

    `parts` are programs with the places of their buffers in the list of all: the results, the
    operands, `scratch`, and with `flag` its cell.
    """

    parts: tuple[tuple[LoopProgram, tuple[int, ...]], ...]
    scratch: tuple[tuple[DType, int], ...] = ()
    flag: bool = False


def number(value: Any, dtype: DType = dtypes.int64) -> UOp:
    """A constant."""
    return UOp._apply("const", value, dtype, (), None)


def index_sum(*terms: tuple[UOp, int], constant: int = 0, dtype: DType = dtypes.int64) -> UOp:
    """Values of a dtype times their strides, and a constant, added up: how every linear index is
    written."""
    total: UOp | None = None
    for value, stride in terms:
        if same(stride, 0) or (value.op is _CONST and same(value.arg.value, 0)):
            continue
        term = value if is_one(stride) else UOp(_MUL, (value, number(stride, dtype)))
        total = term if total is None else UOp(_ADD, (total, term))
    if total is None:
        return number(constant, dtype)
    return total if same(constant, 0) else UOp(_ADD, (total, number(constant, dtype)))


def split(position: UOp, sizes: Sequence[int]) -> list[UOp]:
    """A flat row-major position as one coordinate per size."""
    found: list[UOp] = []
    left = prod(sizes)
    for size in sizes:
        above, left = left, left // max(size, 1)
        inside = position if same(above, prod(sizes)) else position % above
        found.append(number(0) if is_one(size) else inside if is_one(left) else inside // left)
    return found


def lanes_for(extent: int, dtype: DType, target: Target) -> int:
    """How many elements of a contiguous extent go side by side; 1 if there are too few."""
    most = highest(extent)
    if most < target.fewest_lanes:
        return 1
    return min(1 << (most - 1).bit_length(), target.serial_bytes // max(dtype.itemsize, 4))


class Loops:
    """The kernel under construction. Buffers are numbered in the order of their first use."""

    def __init__(self, index_dtype: DType = dtypes.int64) -> None:
        self.index_dtype = index_dtype
        self.buffers: list[UOp] = []
        self.grid_range: UOp | None = None
        self._blocks = [Block()]  # the open ones, outermost first
        self._open: list[UOp] = []  # their heads
        self._level: dict[UOp | Block, int] = {}  # of what is placed: how many scopes are around
        self._registers: list[UOp] = []  # the PHIs whose loops are open
        self._ids = count()

    def buffer(self, name: str, dtype: DType, size: int, mutable: bool = False) -> UOp:
        node = OPS["define_global"](len(self.buffers), name, mutable, dtype, size)
        self.buffers.append(node)
        return node

    def local(self, name: str, dtype: DType, size: int) -> UOp:
        return self._put(OPS["define_local"](name, dtype, size), 0)

    @contextmanager
    def grid(self, size: int, lanes: int = 1) -> Iterator[UOp]:
        """The loop that is divided among threads; just 0 if it would run once."""
        if is_one(size):
            yield number(0, self.index_dtype)
            return
        with self.loop(size, lanes, grid=True) as position:
            self.grid_range = position
            yield position

    @contextmanager
    def loop(
        self, size: int, lanes: int = 1, count: UOp | None = None, grid: bool = False
    ) -> Iterator[UOp]:
        node = self.range(size, lanes, count, grid)
        with self._inside(node):
            yield node

    def range(self, size: int, lanes: int = 1, count: UOp | None = None, grid: bool = False) -> UOp:
        """A loop that `enter` will open."""
        made: UOp = OPS["range"](next(self._ids), size, 0, self.index_dtype, lanes, grid, count)
        return made

    @contextmanager
    def block(self, extent: int, lanes: int, which: UOp) -> Iterator[UOp]:
        """The lanes over one block of a contiguous extent; just 0 if there is one lane."""
        if lanes == 1:
            yield number(0)
            return
        left = None if divides(lanes, extent) else (extent - which * lanes).minimum(lanes)
        with self.loop(lanes, lanes, left) as lane:
            yield lane

    @contextmanager
    def when(self, condition: UOp) -> Iterator[None]:
        with self._inside(OPS["if"](condition)):
            yield

    @contextmanager
    def _inside(self, node: UOp) -> Iterator[None]:
        self.enter(node)
        yield
        self.leave()

    def enter(self, node: UOp) -> None:
        """Open a loop or a condition, behind its operands."""
        for source in node.src:
            self.place(source)
        self._open.append(node)
        self._blocks.append(Block(node, self._blocks[-1]))
        self._note(node, len(self._open))  # what uses a counter is inside

    def leave(self) -> None:
        """Close the innermost one."""
        head, ended = self._open.pop(), self._blocks.pop()
        self._blocks[-1].ended_with(ended)  # behind all that was put outside of it meanwhile
        self._level.update(dict.fromkeys([head, *ended.items], _ENDED))
        for phi in [p for p in self._registers if not set(p.src[2:]) & set(self._open)]:
            self._registers.remove(phi)
            self._level[phi] = self._level[phi.src[0]]

    def load(self, buffer: UOp, index: UOp) -> UOp:
        return self.here(OPS["load"](buffer, index))

    def store(self, buffer: UOp, index: UOp, value: UOp, gate: UOp | None = None) -> None:
        self.here(OPS["store"](buffer, index, value, gate))

    def ask(self, buffer: UOp, index: UOp) -> None:
        self.here(OPS["ask"](buffer, index))

    def count_up(self, buffer: UOp, index: UOp) -> UOp:
        return self.here(OPS["count_up"](buffer, index))

    def sum_up(self, buffer: UOp, index: UOp, value: UOp, gate: UOp | None = None) -> None:
        self.here(OPS["sum_up"](buffer, index, value, gate))

    def atomic(self, buffer: UOp, index: UOp, value: UOp, join: str, gate: UOp) -> None:
        self.here(OPS["atomic"](buffer, index, value, join, gate))

    def register(self, start: UOp) -> UOp:
        return self.here(OPS["define_acc"](start, next(self._ids)))

    def update(self, register: UOp, value: UOp, *loops: UOp) -> UOp:
        return self.here(OPS["phi"](register, value, *loops))

    def here(self, node: UOp) -> UOp:
        """A node that stays where it is written, behind its operands: a load, a store, a PHI."""
        for source in node.src:
            self.place(source)
        if node.op.kernel is PHI:
            self._registers.append(node)
        return self._put(node, len(self._open))

    def place(self, node: UOp) -> int:
        """Put a value and its operands into their scopes; returns the number of enclosing
        scopes.
        """
        level = self._level.get(node)
        if level == _ENDED:
            raise InternalError(f"{node} was computed in a loop that has ended")
        if level is not None or not node.src:
            return level or 0
        level = 0
        for source in node.src:
            around = self._level.get(source, _ENDED if source.src else 0)
            if around == _ENDED:
                around = self.place(source)
            if source.op.kernel is ACCUMULATOR:  # which changes on the way
                around = len(self._open)
            if around > level:
                level = around
        self._level[node] = level
        self._blocks[level].items.append(node)
        return level

    def _put(self, node: UOp, level: int) -> UOp:
        self._note(node, level)
        self._blocks[level].items.append(node)
        return node

    def _note(self, node: UOp, level: int) -> None:
        if node in self._level:
            raise InternalError(f"{node} stands in the kernel twice")
        self._level[node] = level

    def program(self, node: UOp, name: str, cost: int) -> LoopProgram:
        """The finished kernel, for a node whose line it comes from."""
        name = name or _name_of(node)
        lines = () if node.origin is None else (str(node.origin),)
        body, grid = self.body, self.grid_range
        most = highest(cost) * (1 if grid is None else highest(grid.arg.size))
        buffers, given = tuple(self.buffers), _varying(body)
        return LoopProgram(name, buffers, (), body, grid, int(cost), lines, given, most=most)

    @property
    def body(self) -> tuple[UOp, ...]:
        """All nodes in running order, once every scope is closed."""
        return tuple(self._blocks[0].flat())


def _name_of(node: UOp) -> str:
    sizes = ["n" if varies(size) else str(size) for size in node.src[0].shape]
    return "_".join([node.op.name, *sizes])


def _varying(body: tuple[UOp, ...]) -> tuple[UOp, ...]:
    """The sizes of a kernel that vary, which a launch gives."""
    found: dict[UOp, None] = {}
    for node in body:
        loops = [number(node.arg.size)] if node.op is OPS["range"] and not node.arg.grid else []
        for source in (*loops, *node.src):
            if is_size(source):
                found[source] = None
    return tuple(found)
