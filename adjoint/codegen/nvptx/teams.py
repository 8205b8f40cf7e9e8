"""Teams of threads: the lanes of a loop are spread over the threads that share a piece of the grid.

A thread has the lanes V·t … V·t + V - 1 of a group of W; if there are more threads than lanes,
several have the same lanes. All threads run the code outside of such loops alike, and one of them
stores. Scratch is shared memory. Lanes are joined by halving, as everywhere: between warps through
shared memory, between the threads of a warp by shuffles, finally between the lanes of a thread.
"""

from __future__ import annotations

from adjoint.codegen.accumulators import Join
from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.memory import from_memory, to_memory
from adjoint.codegen.llvm.ops import apply
from adjoint.codegen.llvm.writer import Value
from adjoint.codegen.nvptx.counting import counted, counted_up
from adjoint.codegen.nvptx.geometry import WARP
from adjoint.codegen.nvptx.memory import store
from adjoint.codegen.nvptx.quotients import quotients_of_one
from adjoint.codegen.nvptx.shuffle import shuffled
from adjoint.codegen.nvptx.summing import summed_up
from adjoint.codegen.nvptx.threads import ThreadRenderer
from adjoint.errors import InternalError
from adjoint.ir.dtype import dtypes
from adjoint.ir.kernel_kind import ACCUMULATOR, COUNT, GLOBAL, LOAD, LOCAL, PHI, STORE, SUM, gate_of
from adjoint.ir.loop_tree import Block
from adjoint.ir.uop import UOp
from adjoint.stages import LoopProgram

_SHARED = "ptr addrspace(3)"
_MEMORY = "@shared_memory"
_LINE = 16  # bytes that pieces of shared memory are multiples of
_UNROLLED = 2048  # nodes; a loop that is as short as this without branches has none
_ROW_REGISTERS = 96  # of a thread: the assembler would take more, and have fewer threads
_EXTREMES = {"maximum": "llvm.maximum", "minimum": "llvm.minimum"}
_ACCESSES = (LOAD, STORE, COUNT, SUM)
_SYMMETRIC = {"add", "mul", "logical_or", "logical_and", "bitwise_or", "bitwise_and", "bitwise_xor"}


class TeamRenderer(ThreadRenderer):
    """One walk over the blocks of a program, for a team of threads that does one piece."""

    def __init__(self, program: LoopProgram) -> None:
        super().__init__(program)
        self.team, self.unrolled = program.threads, program.unrolled or _UNROLLED
        self.spread: Block | None = None  # the loop with lanes that is open
        self.thread = "0"  # the number of this one in its team
        self.members = "-1"  # the threads of its team in the warp, as bits
        self.exchanged = _written_and_read(program)
        self.alone = False  # inside of a loop whose turns no warp waits for
        self.rows |= {"count_up": self.count_up, "sum_up": self.sum_up}
        self.places, self.joining, self.room = self.layout()
        self.geometry = self.geometry._replace(shared=self.room * self.geometry.pieces)

    def own_lanes(self, lanes: int) -> int:
        return max(1, lanes // self.team)

    def layout(self) -> tuple[dict[UOp, int], int, int]:
        """Where in the team's shared memory scratch is, where lanes are joined, and its size."""
        places, size = dict[UOp, int](), 0
        for node in (n for n in self.program.body if n.op.kernel is LOCAL):
            places[node] = size
            size += _rounded(node.arg.dtype.itemsize * max(int(node.arg.size), 1))
        wide = [j.lanes * acc.dtype.itemsize for acc, j in self.nest.all_joins() if self.crosses(j)]
        return places, size, size + _rounded(max(wide, default=0))

    def crosses(self, join: Join) -> bool:
        """Whether lanes of several warps are joined."""
        return join.lanes // self.own_lanes(join.lanes) > WARP

    # ---- the function

    def start(self) -> None:
        w, team = self.w, self.team
        self.begin()
        thread = self.special("tid.x", "i32")
        self.thread, place = thread, "0"
        if self.geometry.pieces > 1:
            self.thread = w.emit(f"and i32 {thread}, {team - 1}")
            place = w.emit(f"lshr i32 {thread}, {team.bit_length() - 1}")
        if team < WARP:
            first = w.emit(f"and i32 {thread}, {WARP - team}")
            self.members = w.emit(f"shl i32 {(1 << team) - 1}, {first}")
        self.memory = _MEMORY
        if self.geometry.pieces > 1 and self.room:
            offset = w.emit(f"mul i32 {place}, {self.room}")
            self.memory = w.emit(f"getelementptr i8, {_SHARED} {_MEMORY}, i32 {offset}")
        self.start_piece(place)

    def start_piece(self, place: str) -> None:
        if self.program.grid is not None:
            w, kind = self.w, ty.type_of(self.program.grid.dtype)
            block = self.block_number(kind)
            wide = place if kind == "i32" or place == "0" else w.emit(f"zext i32 {place} to {kind}")
            first = w.emit(f"mul {kind} {block}, {self.geometry.pieces}")
            self.piece = w.emit(f"add {kind} {first}, {wide}")

    def most_registers(self) -> int:
        return self.program.registers or super().most_registers() or _ROW_REGISTERS

    def globals(self) -> list[str]:
        if not self.room:
            return []
        return [f"{_MEMORY} = external addrspace(3) global [0 x i8], align {_LINE}"]

    # ---- shared memory

    def define_local(self, node: UOp) -> None:
        place = f"getelementptr i8, {_SHARED} {self.memory}, i32 {self.places[node]}"
        self.value[node] = Value(self.w.emit(place))

    def pointer(self, buffer: UOp) -> str:
        if buffer.op.kernel is GLOBAL:
            return super().pointer(buffer)
        return f"{_SHARED} {self.value[buffer].name}"

    def store(self, node: UOp) -> None:
        if self.spread is None and node.src[0] in self.exchanged:
            raise InternalError(f"{self.program.name}: one thread writes what others read")
        storing = 1 if self.spread is None else self.active(self.spread.lanes)
        own = None
        if storing < self.team:
            own = self.w.emit(f"icmp ult i32 {self.thread}, {storing}")
        store(self.w, node, self.value, self.place(node), own)

    def active(self, lanes: int) -> int:
        """How many threads have lanes that no other has."""
        return lanes // self.own_lanes(lanes)

    def barrier(self) -> None:
        """All threads of the team have reached this point; omitted if nothing came since the last
        one.
        """
        w = self.w
        if self.team > WARP:
            text = w.call("void", "llvm.nvvm.barrier0")
        else:
            text = w.call("void", "llvm.nvvm.bar.warp.sync", f"i32 {self.members}")
        if next((line for line in reversed(w.lines) if isinstance(line, str)), "") != f"  {text}":
            w.effect(text)

    def count_up(self, node: UOp) -> None:
        memory, place, share = self.cell_of_warp(node)
        if any(node in other.src for other in self.program.body):
            found = counted_up(self.w, memory, place, share)
            self.value[node] = Value(found, 0, self.w.level)
        else:
            counted(self.w, memory, place)

    def sum_up(self, node: UOp) -> None:
        gate, value = gate_of(node), self.value[node.src[2]].name
        opened = None if gate is None else self.value[gate].name
        summed_up(self.w, *self.cell_of_warp(node), value, opened)

    def cell_of_warp(self, node: UOp) -> tuple[str, str, int]:
        """Memory, an index as a word, and how much of the memory is a warp's."""
        buffer, index = (self.value[source] for source in node.src[:2])
        alone = self.spread is not None and self.active(self.spread.lanes) == self.team
        if not alone or self.team % WARP or self.w.lanes > 1:
            raise InternalError(f"{self.program.name}: whole warps count, a lane a thread")
        place = index.name
        if node.src[1].dtype.bits != WARP:
            place = self.w.emit(f"trunc {ty.type_of(node.src[1].dtype)} {place} to i32")
        share = int(node.src[0].arg.size) // (self.team // WARP)
        return f"{_SHARED} {buffer.name}", place, share

    # ---- arithmetic

    def compute(self, node: UOp, operands: list[Value]) -> Value:
        w, name = self.w, node.op.name
        if node.dtype is dtypes.float32:
            if name in _EXTREMES and any(s.op.kernel in (ACCUMULATOR, PHI) for s in node.src):
                names = [w.vector(v, node.dtype) for v in operands]
                found = self.extreme(name, names, w.lanes)
                return Value(found, None if w.lanes > 1 else 0, w.level)
            if name == "true_div" and self.is_shared(operands[1]):
                first = w.vector(operands[0], node.dtype)
                return Value(quotients_of_one(w, first, operands[1].name, w.lanes), None, w.level)
        return super().compute(node, operands)

    def is_shared(self, divisor: Value) -> bool:
        """Whether it is the same for all elements of a row."""
        inside = self.spread is not None and divisor.level < self.w.level
        return inside and divisor.stride == 0 and not divisor.constant

    def extreme(self, name: str, names: list[str], lanes: int) -> str:
        """The larger or smaller of two float32, a NaN if one is; 0.0 is larger than -0.0."""
        kind = ty.vector_of("float", lanes)
        callee = f"{_EXTREMES[name]}.{ty.suffix('float', lanes)}"
        return self.w.emit(self.w.call(kind, callee, *(f"{kind} {n}" for n in names)))

    def join(self, join: Join, acc: UOp, names: list[str], lanes: int) -> str:
        if acc.dtype is dtypes.float32 and join.op in _EXTREMES:
            return self.extreme(join.op, names, lanes)
        return apply(self.w, join.op, acc.dtype, names, lanes)

    # ---- loops with lanes

    def loop(self, block: Block, head: UOp) -> None:
        if head.arg.grid or (block.lanes == 1 and (self.alone or not self.is_by_warps(block))):
            super().loop(block, head)
            return
        if block.lanes == 1:
            self.barrier()
            self.alone = True
            super().loop(block, head)
            self.alone = False
            self.barrier()
            return
        if self.spread is not None:
            raise InternalError(f"{self.program.name}: a loop with lanes inside another")
        touched = any(_memory_of(node) in self.exchanged for node in block.nodes())
        exchanges = touched and not self.alone
        if exchanges:
            self.barrier()
        self.spread = block
        if self.is_for_some(block):
            some = self.w.emit(f"icmp ult i32 {self.thread}, {self.active(block.lanes)}")
            self.when(some, (), lambda: super(TeamRenderer, self).loop(block, head))
        else:
            super().loop(block, head)
        self.spread = None
        if exchanges:
            self.barrier()

    def is_by_warps(self, block: Block) -> bool:
        """Whether iterations of a loop pass on only what each warp counts or sums, in its order:
        other scratch is only read, or written at places given by a count, at which no other writes.
        """
        nodes = [n for n in block.nodes() if _memory_of(n) in self.exchanged]
        counts = {n for n in nodes if n.op.kernel is COUNT}
        stores = [n for n in nodes if n.op.kernel is STORE]
        makes = bool(stores) or any(n.op.kernel is SUM for n in nodes)
        kinds = {(_memory_of(n), n.op.kernel) for n in nodes}
        once = len({memory for memory, _ in kinds}) == len(kinds)
        places = [n.src[1] for n in stores]
        found = [n.src[0] if n.op.name == "cast" else n for n in places]
        return self.team > WARP and makes and once and all(n in counts for n in found)

    def is_for_some(self, block: Block) -> bool:
        """Whether threads without lanes of their own have nothing to do in a loop."""
        totals = self.nest.joins(block) or self.nest.updated(block)
        return self.active(block.lanes) < self.team and not totals

    def group(self, block: Block, head: UOp, first: Value) -> None:
        if block.lanes == 1 or head.arg.grid:
            super().group(block, head, first)
            return
        w, kind = self.w, ty.type_of(head.dtype)
        name = w.emit(f"add {kind} {first.name}, {self.mine(block, kind)}")
        self.value[head] = Value(name, 1 if w.lanes > 1 else 0, w.level)
        self.block(block)
        for acc in self.nest.updated(block):
            self.settle(acc, self.value[acc])

    def mine(self, block: Block, kind: str) -> str:
        """The first of this thread's lanes."""
        w, active = self.w, self.active(block.lanes)
        number = self.thread
        if active < self.team:
            number = w.emit(f"and i32 {number}, {active - 1}")
        if w.lanes > 1:
            number = w.emit(f"mul i32 {number}, {w.lanes}")
        return number if kind == "i32" else w.emit(f"zext i32 {number} to {kind}")

    def straight_or_repeated(self, block: Block, head: UOp) -> None:
        if block.lanes == 1:
            super().straight_or_repeated(block, head)
            return
        start, size, lanes = head.arg.start, head.arg.size, block.lanes
        full = size - size % lanes
        if full // lanes * self.straight(block) <= self.unrolled or full == lanes:
            for first in range(start, start + full, lanes):
                self.group(block, head, Value(str(first)))
        elif full:
            self.repeat(block, head, str(start), str(start + full), guarded=False)
        if size > full:
            self.rest(block, head, str(start + full), str(size - full))

    def rest(self, block: Block, head: UOp, first: str, left: str) -> None:
        if block.lanes == 1 or head.arg.grid:
            super().rest(block, head, first, left)
            return
        w, kind = self.w, ty.type_of(head.dtype)
        mine = self.mine(block, kind)
        if w.lanes == 1:
            w.mask = w.emit(f"icmp slt {kind} {mine}, {left}")
        else:
            own = w.spread(Value(mine, 1, w.level), kind)
            limit = w.spread(Value(left, 0, w.level, left.lstrip("-").isdigit()), kind)
            w.mask = w.emit(f"icmp slt {ty.vector_of(kind, w.lanes)} {own}, {limit}")
        self.group(block, head, Value(first, 0, w.level))
        w.mask = None

    # ---- lanes become one

    def halved(self, acc: UOp, join: Join) -> Value:
        w, own = self.w, self.own_lanes(join.lanes)
        name, threads = self.value[acc].name, self.active(join.lanes)
        if threads > WARP and acc.dtype is dtypes.float32 and join.op in _EXTREMES:
            return self.halved_by_warps(acc, join)
        if threads > WARP:
            name, threads = self.through_memory(acc, join, name), WARP
        while threads > 1:
            threads //= 2
            other = shuffled(w, name, acc.dtype, own, threads, self.members)
            pair = self.in_order(acc, join, name, other, threads)
            name = self.join(join, acc, pair, own)
        self.value[acc] = Value(name, None if own > 1 else 0, w.level)
        return super().halved(acc, Join(join.op, own))

    def halved_by_warps(self, acc: UOp, join: Join) -> Value:
        """The maximum or minimum, whose order does not matter: of each thread, of its warp, and
        finally of all warps, which by then have one value each.
        """
        w, warps = self.w, self.active(join.lanes) // WARP
        name, lanes = self.value[acc].name, self.own_lanes(join.lanes)
        while lanes > 1:
            kind = ty.type_of(acc.dtype, lanes)
            lanes //= 2
            halves = [self.part(kind, name, at, lanes) for at in (0, lanes)]
            name = self.join(join, acc, halves, lanes)
        name = self.of_warps(self.shuffled_down(acc, join, name, WARP), warps)
        return Value(self.shuffled_down(acc, join, name, warps), 0, w.level)

    def shuffled_down(self, acc: UOp, join: Join, name: str, threads: int) -> str:
        """The values of so many neighbouring threads as one, which all of them have."""
        while threads > 1:
            threads //= 2
            other = shuffled(self.w, name, acc.dtype, 1, threads, self.members)
            name = self.join(join, acc, [name, other], 1)
        return name

    def of_warps(self, name: str, warps: int) -> str:
        """By way of shared memory what so many warps have: neighbouring threads get that of one
        warp each, and of the first again when there are no more."""
        w = self.w
        base = f"getelementptr i8, {_SHARED} {self.memory}, i32 {self.joining}"
        area, number = w.emit(base), w.emit(f"lshr i32 {self.thread}, 5")
        self.barrier()
        mine = w.emit(f"getelementptr float, {_SHARED} {area}, i32 {number}")
        w.effect(f"store float {name}, {_SHARED} {mine}, align 4")
        self.barrier()
        lane = w.emit(f"and i32 {self.thread}, {warps - 1}")
        place = w.emit(f"getelementptr float, {_SHARED} {area}, i32 {lane}")
        return w.emit(f"load float, {_SHARED} {place}, align 4")

    def in_order(self, acc: UOp, join: Join, name: str, other: str, distance: int) -> list[str]:
        """The value of the lower thread first, where that matters: of zeros of both signs, the
        larger or smaller float64 is the second."""
        if join.op in _SYMMETRIC or acc.dtype is not dtypes.float64:
            return [name, other]
        w, kind = self.w, ty.type_of(acc.dtype, self.own_lanes(join.lanes))
        bit = w.emit(f"and i32 {self.thread}, {distance}")
        lower = w.emit(f"icmp eq i32 {bit}, 0")
        pairs = ((name, other), (other, name))
        return [w.emit(f"select i1 {lower}, {kind} {a}, {kind} {b}") for a, b in pairs]

    def through_memory(self, acc: UOp, join: Join, name: str) -> str:
        """Every warp gets the lanes of all, halved until there are as many as one has."""
        w, own = self.w, self.own_lanes(join.lanes)
        kind = ty.memory_type(acc.dtype, own)
        base = f"getelementptr i8, {_SHARED} {self.memory}, i32 {self.joining}"
        area, align = w.emit(base), acc.dtype.itemsize * own
        align = min(align & -align, _LINE)
        active = self.active(join.lanes)
        me = self.thread
        if active < self.team:
            me = w.emit(f"and i32 {me}, {active - 1}")
        self.barrier()
        place = w.emit(f"getelementptr {kind}, {_SHARED} {area}, i32 {me}")
        value = to_memory(w, name, acc.dtype, own)
        w.effect(f"store {kind} {value}, {_SHARED} {place}, align {align}")
        self.barrier()
        lane, parts = w.emit(f"and i32 {me}, {WARP - 1}"), []
        for warp in range(active // WARP):
            at = w.emit(f"add i32 {lane}, {warp * WARP}")
            place = w.emit(f"getelementptr {kind}, {_SHARED} {area}, i32 {at}")
            found = w.emit(f"load {kind}, {_SHARED} {place}, align {align}")
            parts.append(from_memory(w, found, acc.dtype, own))
        while len(parts) > 1:
            half = len(parts) // 2
            pairs = zip(parts[:half], parts[half:], strict=True)
            parts = [self.join(join, acc, list(pair), own) for pair in pairs]
        return parts[0]


def _rounded(size: int) -> int:
    return -(-size // _LINE) * _LINE


def _memory_of(node: UOp) -> UOp | None:
    return node.src[0] if node.op.kernel in _ACCESSES else None


def _written_and_read(program: LoopProgram) -> set[UOp]:
    """Memory through which threads may communicate."""
    nodes = [node for node in program.body if node.op.kernel in _ACCESSES]
    read = {node.src[0] for node in nodes if node.op.kernel is not STORE}
    return read & {node.src[0] for node in nodes if node.op.kernel is not LOAD}
