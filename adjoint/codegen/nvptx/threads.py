"""One thread for every piece of the grid: an iteration, or as many as the grid has lanes.

A thread has all lanes of inner loops. Everything but memory and the grid is what the CPU's renderer
writes: the same instructions, in the same order.
"""

from __future__ import annotations

from math import gcd

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.render import Renderer
from adjoint.codegen.llvm.writer import Value, flatten
from adjoint.codegen.nvptx.alignment import Multiples
from adjoint.codegen.nvptx.atomics import join
from adjoint.codegen.nvptx.early_loads import early_nodes
from adjoint.codegen.nvptx.even_lanes import even_text
from adjoint.codegen.nvptx.geometry import Geometry, geometry_of, kernel_name
from adjoint.codegen.nvptx.joint import Table
from adjoint.codegen.nvptx.memory import Place, load, store
from adjoint.codegen.nvptx.quotients import inverse_of, is_power_of_two, power_over
from adjoint.codegen.nvptx.turns import TurnBounds
from adjoint.ir.dtype import dtypes
from adjoint.ir.kernel_kind import ATOMIC, GLOBAL, LOAD, STORE
from adjoint.ir.loop_tree import Block
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.stages import LoopProgram
from adjoint.target import Processor

_AT_A_TIME = (16, 8, 4)  # turns of a loop that are written out,
_WRITTEN_OUT = 512  # if they have no more nodes
_UNROLLED = 256  # nodes; a loop that is as short as this has no branch
# Loads, from which on a thread is not to make do with few registers: else they wait for others.
_STREAMED, _REGISTERS, _ALL_REGISTERS = 32, 128, 1 << 16
_HEAD = ('target triple = "nvptx64-nvidia-cuda"',)
_SPECIAL = "llvm.nvvm.read.ptx.sreg"
_GLOBAL_POINTER = "ptr addrspace(1)"
# Conversions, rounding and fused multiply-adds are instructions; memory is written in order.
PROCESSOR = Processor("gpu", 128, half=True, fused=True, rounding=True, bfloat=True, fence="")


def arguments_of(program: LoopProgram) -> int:
    """How many cells a launch gives a kernel, beside the end of its grid."""
    return len(program.buffers) + len(program.variables) + len(program.parameters)


class ThreadRenderer(Renderer):
    """One walk over the blocks of a program, for a thread that does one piece."""

    def __init__(self, program: LoopProgram) -> None:
        super().__init__(program, PROCESSOR)
        self.geometry: Geometry = geometry_of(program)
        self.ahead, self.unrolled = {}, _UNROLLED
        writes = (STORE, ATOMIC)
        written = {node.src[0] for node in program.body if node.op.kernel in writes}
        over = {operand for _, operand in program.in_place}  # that results may be written over
        fixed = [b for b in program.buffers if b not in written and b.arg.index not in over]
        self.fixed = set(fixed)
        self.multiples = Multiples(program.parameters, self.own_lanes)
        self.bounds = TurnBounds(program.parameters)
        self.piece = "0"
        self.turns: dict[UOp, list[int]] = {}  # of a loop that are still to be written out
        self.streamed = 0  # loads that are made early
        self.early: list[dict[UOp, Value]] = []  # what the turns of a loop have loaded before it
        self.table = Table(self.w, arguments_of(program)) if program.joint else None
        self.rows |= {"atomic": self.atomic}
        self.own_block = ""  # the number of this block, if a launch has several sets of arguments

    # ---- the function

    def start(self) -> None:
        """Which piece this thread does."""
        self.begin()
        if self.program.grid is not None:
            kind = ty.type_of(self.program.grid.dtype)
            thread, block = self.special("tid.x", kind), self.block_number(kind)
            each = self.geometry.pieces * self.geometry.turns
            first = self.w.emit(f"mul {kind} {block}, {each}")
            self.piece = self.w.emit(f"add {kind} {first}, {thread}")

    def begin(self) -> None:
        """Where a launch has several sets of arguments, find those of this block."""
        if self.table is not None:
            own = self.special("ctaid.x", "i32")
            self.own_block = self.table.read(len(self.program.buffers), own)
            self.w.entry += self.w.lines  # before all that is made of arguments there
            self.w.lines = []

    def block_number(self, kind: str) -> str:
        """Of this block among those that have its arguments."""
        if not self.own_block:
            return self.special("ctaid.x", kind)
        w = self.w
        return self.own_block if kind == "i32" else w.emit(f"zext i32 {self.own_block} to {kind}")

    def special(self, name: str, kind: str) -> str:
        """A number that every thread has of its own."""
        w = self.w
        found = w.emit(w.call("i32", f"{_SPECIAL}.{name}"))
        return found if kind == "i32" else w.emit(f"zext i32 {found} to {kind}")

    def text(self) -> str:
        w, program = self.w, self.program
        buffers = [
            f"{_GLOBAL_POINTER} align 16 {self.shares()}%a{i}" for i in range(len(program.buffers))
        ]
        numbers = [f"i64 %a{i}" for i in range(len(program.buffers), arguments_of(program))]
        inputs = ", ".join([*buffers, *numbers, "i64 %end"])
        if self.table is not None:
            inputs = self.table.parameter()
        head = f"define ptx_kernel void @{kernel_name(program.name)}({inputs})"
        comments = [f"; {line}" for line in program.lines]
        body = flatten(["start:", w.entry, w.lines], [])
        threads = self.geometry.threads
        marks = f'nounwind "no-trapping-math"="true" "nvvm.reqntid"="{threads}"'
        registers = self.most_registers()
        if registers and threads * registers <= _ALL_REGISTERS:
            marks += f' "nvvm.maxnreg"="{registers}"'
        tail = ["  ret void", "}", *w.declared.values(), f"attributes #0 = {{ {marks} }}"]
        tail += [*self.loop_marks(), *self.geometry.text(2 + w.loops), ""]
        return "\n".join([*comments, *_HEAD, *self.globals(), f"{head} #0 {{", *body, *tail])

    def most_registers(self) -> int:
        """Of a thread; 0: as many as the assembler thinks."""
        return _REGISTERS if self.streamed > _STREAMED else 0

    def globals(self) -> list[str]:
        """Memory that the module has."""
        return []

    def shares(self) -> str:
        """Whether no two buffers overlap."""
        return "" if self.program.in_place else "noalias "

    def cell(self, index: int, kind: str) -> str:
        return f"%a{index}"

    # ---- memory

    def pointer(self, buffer: UOp) -> str:
        """A buffer, with the type of a pointer to it."""
        kind = _GLOBAL_POINTER if buffer.op.kernel is GLOBAL else "ptr"
        return f"{kind} {self.value[buffer].name}"

    def place(self, node: UOp) -> Place:
        buffer, index = node.src[:2]
        fixed = buffer in self.fixed
        return Place(self.pointer(buffer), self.value[index], self.multiples.of(index), fixed)

    def load(self, node: UOp) -> None:
        self.value[node] = load(self.w, node, self.value, self.place(node))

    def store(self, node: UOp) -> None:
        store(self.w, node, self.value, self.place(node), None)

    def atomic(self, node: UOp) -> None:
        join(self.w, node, self.value, self.place(node))

    # ---- arithmetic

    def compute(self, node: UOp, operands: list[Value]) -> Value:
        w = self.w
        if node.op.name == "lt" and self.bounds.is_less(node):
            return Value(ty.constant(True, node.dtype), 0, 0, True)
        if node.op.name == "inverse" and node.dtype is dtypes.float32:
            return self.inverse(node, operands[0])
        if w.lanes > 1:
            found = even_text(node, operands, w.lanes, self.multiples)
            if found is not None:
                return Value(w.emit(found[0]), found[1], w.level)
            if node.op.name == "true_div" and self.is_power_over(node, operands):
                power = float(node.src[0].arg.value)
                quotient = power_over(w, power, w.vector(operands[1], node.dtype), w.lanes)
                return Value(quotient, None, w.level)
        return super().compute(node, operands)

    def inverse(self, node: UOp, operand: Value) -> Value:
        """1 / x, if that needs no test for extreme exponents."""
        if operand.stride is None:
            x, lanes = self.w.vector(operand, node.dtype), self.w.lanes
            return Value(inverse_of(self.w, x, lanes), None, self.w.level)
        return Value(inverse_of(self.w, operand.name, 1), 0, self.w.level)

    def is_power_over(self, node: UOp, operands: list[Value]) -> bool:
        """Whether a known power of two is divided by what differs from lane to lane."""
        known = operands[0].constant and operands[1].stride is None
        return known and node.dtype is dtypes.float32 and is_power_of_two(node.src[0].arg.value)

    # ---- loops

    def sized(self, block: Block, head: UOp) -> None:
        start, size = head.arg.start, head.arg.size
        times = self.at_a_time(block, size) if block.lanes == 1 else 1
        if times > 1 and start % times == 0:
            self.turns[head] = list(range(times))
            self.repeat(block, head, str(start), str(start + size), guarded=False, times=times)
            self.multiples.assume(head, 1)
        else:
            self.straight_or_repeated(block, head)

    def group(self, block: Block, head: UOp, first: Value) -> None:
        turns = self.turns.get(head)
        if turns:
            self.multiples.assume(head, gcd(turns[-1] + 1, turns.pop(0)))
        elif first.constant and block.lanes == 1:
            self.multiples.assume(head, int(first.name))
            self.bounds.assume(head, int(first.name))
        super().group(block, head, first)
        self.bounds.forget(head)

    def straight_or_repeated(self, block: Block, head: UOp) -> None:
        size = head.arg.size
        early = early_nodes(block, size, self.fixed) if block.lanes == 1 else []
        if not early or size * self.straight(block) > self.unrolled:
            super().straight_or_repeated(block, head)
            return
        self.early = [self.early_values(head, head.arg.start + i, early) for i in range(size)]
        for turn in range(size):
            self.group(block, head, Value(str(head.arg.start + turn), 0, 0, True))
        self.early = []

    def early_values(self, head: UOp, turn: int, early: list[UOp]) -> dict[UOp, Value]:
        """What a turn has loaded."""
        self.value[head] = Value(str(turn), 0, 0, True)
        self.multiples.assume(head, turn)
        self.bounds.assume(head, turn)
        for item in early:
            self.node(item)
            self.streamed += item.op.kernel is LOAD
        self.bounds.forget(head)
        return {item: self.value[item] for item in early}

    def block(self, block: Block) -> None:
        if not self.early:
            super().block(block)
            return
        known = self.early.pop(0)
        self.value.update(known)
        for item in block.items:
            if item not in known:
                self.node(item)

    def at_a_time(self, block: Block, size: int) -> int:
        """How many turns of a long loop are written out: their accesses are side by side."""
        nodes = self.straight(block)
        if size * nodes <= self.unrolled:
            return 1
        return next((n for n in _AT_A_TIME if size % n == 0 and n * nodes <= _WRITTEN_OUT), 1)

    def counted(self, block: Block, head: UOp) -> None:
        if head.arg.grid and self.geometry.turns > 1:
            self.several_pieces(block, head)
        elif head.arg.grid:
            self.one_piece(block, head)
        else:
            super().counted(block, head)

    def several_pieces(self, block: Block, head: UOp) -> None:
        """The pieces of this thread, all of which there are, as far apart as a block is wide: each
        node for all of them, so that loads are on their way together."""
        w, kind, lanes = self.w, ty.type_of(head.dtype), block.lanes
        each = []
        for turn in range(self.geometry.turns):
            piece = w.emit(f"add {kind} {self.piece}, {turn * self.geometry.pieces}")
            first = w.emit(f"mul {kind} {piece}, {lanes}")
            value = type(self.value)(self.leaf)
            value |= {**self.value, head: Value(first, 1 if lanes > 1 else 0, w.level)}
            each.append(value)
        for item in block.items:
            for value in each:
                self.value = value
                self.node(item)

    def node(self, item: UOp | Block) -> None:
        """A node of a block without blocks inside."""
        assert isinstance(item, UOp)
        row = self.rows.get(item.op.name)
        if row is None:
            self.value[item] = self.compute(item, [self.value[s] for s in item.src])
        else:
            row(item)

    def one_piece(self, block: Block, head: UOp) -> None:
        """The piece of this thread, if there is one for it."""
        w, kind, lanes = self.w, ty.type_of(head.dtype), block.lanes
        end = "%end" if kind == "i64" else w.emit(f"trunc i64 %end to {kind}")
        first = self.piece if lanes == 1 else w.emit(f"mul {kind} {self.piece}, {lanes}")
        left = w.emit(f"sub {kind} {end}, {first}")
        full = w.emit(f"icmp sge {kind} {left}, {lanes}")
        self.when(full, (), lambda: self.group(block, head, Value(first, 0, w.level)))
        size = head.arg.size
        if lanes > 1 and (varies(size) or size % lanes):
            some = w.emit(f"icmp sgt {kind} {left}, 0")
            less = w.emit(f"icmp slt {kind} {left}, {lanes}")
            again = w.emit(f"add {kind} {first}, 0")  # what was made of it above is not at hand
            rest = w.emit(f"and i1 {some}, {less}")
            self.when(rest, (), lambda: self.rest(block, head, again, left))
