"""Loads and stores of a square of memory, transposed in registers.

    for a in 0 .. 16: for i in 0 .. 16, 16 side by side: out[a, i] = x[i, a]

Lane i of iteration a reads the element a of line i: the iterations together read whole lines, one
per lane. So the lines are loaded as vectors before the loop, and the square is transposed: in each
step two vectors swap halves, quarters, … that are in each other's place. Values that the iterations
store across the lanes (out[i, a]) are held until the loop has ended, and stored line by line.

Lines of an operand that no cache holds are more streams than a processor prefetches, so the kernel
prefetches what it will read of them two squares later.
"""

from __future__ import annotations

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.ahead import ask_at
from adjoint.codegen.llvm.memory import store_line, to_memory, wide
from adjoint.codegen.llvm.steps import Steps
from adjoint.codegen.llvm.writer import Value, Writer
from adjoint.ir.kernel_kind import LOAD, STORE, gate_of
from adjoint.ir.loop_tree import Block
from adjoint.ir.uop import UOp
from adjoint.stages import LoopProgram

_MOST = 64  # turns of a loop
_AHEAD = 2  # squares


class Squares:
    """The loads of a program that can be made in front of a loop, the stores behind it."""

    def __init__(self, program: LoopProgram, steps: Steps) -> None:
        stores = [n.src[0] for n in program.body if n.op.kernel is STORE]
        read = {n.src[0] for n in program.body if n.op.kernel is LOAD}
        self._written = set(stores)
        self._once = {buffer for buffer in stores if stores.count(buffer) == 1} - read
        self._far = {buffer for buffer in program.buffers if buffer.arg.index in program.far}
        self._steps = steps

    def across(self, block: Block) -> tuple[list[UOp], list[UOp]]:
        """The loads and the stores of a loop around lanes that go across lines of memory."""
        turn, inner = block.head, block.blocks
        if turn is None or len(inner) != 1 or inner[0].blocks:
            return [], []
        lane = inner[0].head
        if lane is None or not inner[0].is_loop or turn.src or lane.src:
            return [], []
        if not 4 <= turn.arg.size <= _MOST or not turn.arg.size == lane.arg.size == lane.arg.lanes:
            return [], []
        found = [node for node in inner[0].nodes() if self._is_across(node, turn, lane)]
        loads, stores = ([n for n in found if n.op.kernel is kind] for kind in (LOAD, STORE))
        return loads, stores

    def is_far(self, node: UOp) -> bool:
        """Whether a load is of memory that no cache holds."""
        return node.src[0] in self._far

    def _is_across(self, node: UOp, turn: UOp, lane: UOp) -> bool:
        kernel = node.op.kernel
        if (kernel is not LOAD and kernel is not STORE) or gate_of(node) is not None:
            return False
        buffer = node.src[0]
        if buffer in self._written if kernel is LOAD else buffer not in self._once:
            return False
        along, across = (self._steps.of(node.src[1], loop) for loop in (turn, lane))
        return along == 1 and across not in (None, 0, 1, -1)


def transposed(w: Writer, node: UOp, buffer: Value, index: Value, far: bool) -> list[str]:
    """The values that a load reads in each iteration of the loop, whose first has this index;
    squares to come of `far` memory are prefetched.
    """
    start = wide(w, index, node.src[1].dtype)
    kind, lanes = ty.memory_type(node.dtype), w.lanes
    square = ty.memory_type(node.dtype, lanes)
    assert start.stride is not None
    lines = []
    for lane in range(lanes):
        at = w.emit(f"add i64 {start.name}, {lane * start.stride}") if lane else start.name
        pointer = w.emit(f"getelementptr inbounds {kind}, ptr {buffer.name}, i64 {at}")
        lines.append(w.emit(f"load {square}, ptr {pointer}, align {node.dtype.itemsize}"))
        if far:
            later = w.emit(f"getelementptr {square}, ptr {pointer}, i64 {_AHEAD}")
            ask_at(w, later)
    return _transposed(w, square, lines)


class Held:
    """Values that the iterations of a loop store across lanes, until it has ended."""

    def __init__(self, w: Writer, node: UOp, buffer: Value, index: Value) -> None:
        self._w, self._node, self._buffer = w, node, buffer
        self._start = wide(w, index, node.src[1].dtype)
        self._kind = ty.memory_type(node.src[2].dtype, w.lanes)
        self._lines: list[str] = []
        self._memory = ""  # of the function, where turns are not written out

    def in_memory(self) -> None:
        """From here on iterations are those of a loop that runs."""
        self._memory = self._w.fresh()
        room = f"alloca [{self._w.lanes} x {self._kind}], align 64"
        self._w.entry.append(f"  {self._memory} = {room}")

    def hold(self, value: Value, turn: Value) -> None:
        """Hold the value of an iteration."""
        w, dtype = self._w, self._node.src[2].dtype
        vector = to_memory(w, w.vector(value, dtype), dtype, w.lanes)
        if not self._memory:
            self._lines.append(vector)
            return
        at = wide(w, turn, self._node.src[1].dtype)
        w.effect(f"store {self._kind} {vector}, ptr {self._place(at.name)}")

    def store(self, streams: bool) -> None:
        """The whole square."""
        w, dtype, start = self._w, self._node.src[2].dtype, self._start
        if self._memory:
            places = [self._place(str(turn)) for turn in range(w.lanes)]
            self._lines = [w.emit(f"load {self._kind}, ptr {place}") for place in places]
        assert start.stride is not None
        for lane, line in enumerate(_transposed(w, self._kind, self._lines)):
            at = w.emit(f"add i64 {start.name}, {lane * start.stride}") if lane else start.name
            store_line(w, dtype, self._buffer, at, line, 1 if streams else None)

    def _place(self, turn: str) -> str:
        return self._w.emit(f"getelementptr inbounds {self._kind}, ptr {self._memory}, i64 {turn}")


def kept(w: Writer, node: UOp, columns: list[str]) -> str:
    """Memory of the function with the columns of a square, one after another."""
    kind, memory = ty.memory_type(node.dtype, w.lanes), w.fresh()
    w.entry.append(f"  {memory} = alloca [{len(columns)} x {kind}], align 64")
    for number, column in enumerate(columns):
        place = w.emit(f"getelementptr inbounds {kind}, ptr {memory}, i64 {number}")
        w.effect(f"store {kind} {column}, ptr {place}")
    return memory


def taken(w: Writer, node: UOp, memory: str, turn: Value) -> str:
    """The column of an iteration."""
    kind, at = ty.memory_type(node.dtype, w.lanes), wide(w, turn, node.src[1].dtype)
    place = w.emit(f"getelementptr inbounds {kind}, ptr {memory}, i64 {at.name}")
    return w.emit(f"load {kind}, ptr {place}")


def _transposed(w: Writer, kind: str, lines: list[str]) -> list[str]:
    """Columns for lines: halves are swapped, then quarters, until single elements are."""
    step = len(lines) // 2
    while step:
        low, high = (_picked(len(lines), step, upper) for upper in (False, True))
        for i in [i for i in range(len(lines)) if not i & step]:
            both = f"shufflevector {kind} {lines[i]}, {kind} {lines[i + step]}"
            lines[i], lines[i + step] = w.emit(f"{both}, {low}"), w.emit(f"{both}, {high}")
        step //= 2
    return lines


def _picked(size: int, step: int, upper: bool) -> str:
    """The parts of two vectors that belong to the first, or to the second, of them."""
    own = range(size)
    if upper:
        order = [i + step if not i & step else size + i for i in own]
    else:
        order = [i if not i & step else size + i - step for i in own]
    return f"<{size} x i32> <" + ", ".join(f"i32 {i}" for i in order) + ">"
