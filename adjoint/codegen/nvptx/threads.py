"""A thread for every piece of the grid: an iteration, or as many as the grid has lanes.

The lanes of loops inside are a thread's own. Everything but memory and the grid is what the CPU's
renderer writes: the same instructions, in the same order.
"""

from __future__ import annotations

from math import gcd

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.render import Renderer
from adjoint.codegen.llvm.writer import Value, flatten
from adjoint.codegen.nvptx.alignment import Multiples
from adjoint.codegen.nvptx.even_lanes import even_text
from adjoint.codegen.nvptx.geometry import Geometry, geometry_of, kernel_name
from adjoint.codegen.nvptx.memory import Place, load, store
from adjoint.ir.kernel_kind import GLOBAL, STORE
from adjoint.ir.loop_tree import Block
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.stages import LoopProgram
from adjoint.target import Processor

_AT_A_TIME = (16, 8, 4)  # turns of a loop that are written out,
_WRITTEN_OUT = 512  # if they have no more nodes
_HEAD = ('target triple = "nvptx64-nvidia-cuda"',)
_SPECIAL = "llvm.nvvm.read.ptx.sreg"
_GLOBAL_POINTER = "ptr addrspace(1)"
# Conversions, rounding and fused multiply-adds are instructions; memory is written in order.
PROCESSOR = Processor("gpu", 128, half=True, fused=True, rounding=True, fence="")


class ThreadRenderer(Renderer):
    """One walk over the blocks of a program, for a thread that does one piece."""

    def __init__(self, program: LoopProgram) -> None:
        super().__init__(program, PROCESSOR)
        self.geometry: Geometry = geometry_of(program)
        self.ahead = {}
        written = {node.src[0] for node in program.body if node.op.kernel is STORE}
        over = {operand for _, operand in program.in_place}  # that results may be written over
        fixed = [b for b in program.buffers if b not in written and b.arg.index not in over]
        self.fixed = set(fixed)
        self.multiples = Multiples(program.parameters, self.own_lanes)
        self.piece = "0"
        self.turns: dict[UOp, list[int]] = {}  # of a loop that are still to be written out

    # ---- the function

    def start(self) -> None:
        """Which piece this thread does."""
        if self.program.grid is not None:
            kind = ty.type_of(self.program.grid.dtype)
            thread, block = (self.special(name, kind) for name in ("tid.x", "ctaid.x"))
            first = self.w.emit(f"mul {kind} {block}, {self.geometry.pieces}")
            self.piece = self.w.emit(f"add {kind} {first}, {thread}")

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
        count = len(program.variables) + len(program.parameters)
        numbers = [f"i64 %a{len(program.buffers) + i}" for i in range(count)]
        inputs = ", ".join([*buffers, *numbers, "i64 %end"])
        head = f"define ptx_kernel void @{kernel_name(program.name)}({inputs})"
        comments = [f"; {line}" for line in program.lines]
        body = flatten(["start:", w.entry, w.lines], [])
        threads = self.geometry.threads
        marks = f'nounwind "no-trapping-math"="true" "nvvm.reqntid"="{threads}"'
        tail = ["  ret void", "}", *w.declared.values(), f"attributes #0 = {{ {marks} }}"]
        tail += [*self.loop_marks(), *self.geometry.text(2 + w.loops), ""]
        return "\n".join([*comments, *_HEAD, *self.globals(), f"{head} #0 {{", *body, *tail])

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

    # ---- arithmetic

    def compute(self, node: UOp, operands: list[Value]) -> Value:
        w = self.w
        if w.lanes > 1:
            found = even_text(node, operands, w.lanes, self.multiples)
            if found is not None:
                return Value(w.emit(found[0]), found[1], w.level)
        return super().compute(node, operands)

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
        super().group(block, head, first)

    def at_a_time(self, block: Block, size: int) -> int:
        """How many turns of a long loop are written out: their accesses are side by side."""
        nodes = self.straight(block)
        if size * nodes <= self.unrolled:
            return 1
        return next((n for n in _AT_A_TIME if size % n == 0 and n * nodes <= _WRITTEN_OUT), 1)

    def counted(self, block: Block, head: UOp) -> None:
        if head.arg.grid:
            self.one_piece(block, head)
        else:
            super().counted(block, head)

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
