"""From a loop program to LLVM IR, as text.

The function takes the cells of a launch and its part of the grid. A loop with lanes becomes a loop
over full groups of lanes and one masked group for the remainder; everything that depends on it is a
vector. Accumulators are SSA values. If one has a value per lane, halving joins them where the
outermost of its loops ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import inf

from adjoint.codegen.accumulators import Join, Nest
from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.adjacent import Adjacent
from adjoint.codegen.llvm.ahead import ask_at, rows_ahead
from adjoint.codegen.llvm.cast import convert
from adjoint.codegen.llvm.matrices import Matrices, Tile, TileWriter, pointer
from adjoint.codegen.llvm.memory import from_memory, load, release, store, wide
from adjoint.codegen.llvm.ops import apply, node_value
from adjoint.codegen.llvm.squares import Held, Squares, kept, taken, transposed
from adjoint.codegen.llvm.steps import Steps
from adjoint.codegen.llvm.writer import Lines, Value, Writer, flatten
from adjoint.errors import InternalError
from adjoint.ir.dtype import DType
from adjoint.ir.loop_tree import Block
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, toposort
from adjoint.stages import LoopProgram, Source
from adjoint.target import Processor

_GLOBAL = OPS["define_global"]
_UNROLLED_SQUARE = 1024  # nodes; a longer loop over a square reads its columns from memory
_UNROLLED_FAR = 192  # of a kernel that waits for memory: a branch less, a load more on its way
_UNROLLED = 64  # nodes; a loop that is as short as this without branches has none


def render(program: LoopProgram, processor: Processor) -> Source:
    """The program as LLVM IR, for a processor."""
    walk = Renderer(program, processor)
    walk.block(walk.nest.root)
    return Source("llvm", program.name, walk.text())


class _LeafValues(dict[UOp, Value]):
    """Values by node; constants, parameters and variables appear when they are first used."""

    def __init__(self, leaf: Callable[[UOp], Value]) -> None:
        super().__init__()
        self.leaf = leaf

    def __missing__(self, node: UOp) -> Value:
        value = self[node] = self.leaf(node)
        return value


class Renderer:
    """One walk over the blocks of a program."""

    def __init__(self, program: LoopProgram, processor: Processor) -> None:
        self.program = program
        self.nest = Nest(program)
        self.w = Writer(processor)
        # Margins that are packed into scratch lie beside a picture, in memory that is there.
        self.w.diverts = not any(n.op.name == "define_local" for n in program.body)
        self.value = _LeafValues(self.leaf)
        first = len(program.buffers) + len(program.variables)
        self.parameters = {node: first + i for i, node in enumerate(program.parameters)}
        self.steps = steps = Steps(program)
        self.squares = Squares(program, steps)
        self.adjacent = Adjacent(program, self.nest.root)
        self.matrices = Matrices(steps, processor.matrices)
        self.ahead = rows_ahead(program, self.nest.root, steps)
        self.unrolled = _UNROLLED_FAR if program.far else _UNROLLED
        self.column: dict[UOp, Callable[[], str]] = {}  # of a load that was made before its loop
        self.held: dict[UOp, tuple[Held, UOp]] = {}  # stores to be made behind their loop
        self.joined: dict[UOp, int] = {}  # accumulators that are joined later, and their lanes
        self.rows: dict[str, Callable[[UOp], None]] = {
            "load": self.load,
            "store": self.store,
            "ask": self.ask,
            "define_acc": self.define_acc,
            "phi": self.phi,
            "define_local": self.define_local,
        }

    # ---- the function around the blocks

    def text(self) -> str:
        w, name = self.w, symbol(self.program.name)
        if w.spare:
            w.entry.append(f"  %spare = alloca [{w.spare} x i8], align 64")
        comments = [f"; {line}" for line in self.program.lines]
        head = f"define void {name}(ptr noalias %args, i64 %begin, i64 %end) #0 {{"
        width = w.processor.width
        marks = f'"min-legal-vector-width"="{width}" "prefer-vector-width"="{width}"'
        attributes = f'attributes #0 = {{ nounwind "no-trapping-math"="true" {marks} }}'
        if w.streams:
            w.effect(w.call("void", w.processor.fence))
        body = flatten(["start:", w.entry, w.lines], [])
        tail = ["  ret void", "}", *w.declared.values(), attributes, *self.loop_marks(), ""]
        return "\n".join([*comments, head, *body, *tail])

    def loop_marks(self) -> list[str]:
        """What LLVM is told about the loops: they are as wide as they should be."""
        if not self.w.loops:
            return []
        known = [
            '!0 = !{!"llvm.loop.vectorize.enable", i1 false}',
            '!1 = !{!"llvm.loop.unroll.disable"}',
        ]
        marks = (f"!{i} = distinct !{{!{i}, !0, !1}}" for i in range(2, 2 + self.w.loops))
        return [*known, *marks]

    def leaf(self, node: UOp) -> Value:
        match node.op.name:
            case "const" if node in self.parameters:
                return Value(self.narrowed(self.cell(self.parameters[node], "i64"), node.dtype))
            case "const":
                return Value(ty.constant(node.arg.value, node.dtype), 0, 0, True)
            case "define_global":
                return Value(self.cell(node.arg.index, "ptr"))
            case "variable":
                at = len(self.program.buffers) + self.program.variables.index(node)
                return Value(self.narrowed(self.cell(at, "i64"), node.dtype))
            case _:
                raise InternalError(f"{self.program.name}: {node!r} is used before it is computed")

    def cell(self, index: int, kind: str) -> str:
        """A cell of the launch, read in the entry block."""
        w = self.w
        place, name = w.fresh(), w.fresh()
        w.entry.append(f"  {place} = getelementptr inbounds i64, ptr %args, i64 {index}")
        w.entry.append(f"  {name} = load {kind}, ptr {place}")
        return name

    def narrowed(self, cell: str, dtype: DType) -> str:
        """The low bits of a cell as a value of the dtype."""
        if dtype.bits < 64:
            short = self.w.fresh()
            self.w.entry.append(f"  {short} = trunc i64 {cell} to i{dtype.bits}")
            cell = short
        if not dtype.is_float:
            return cell
        name = self.w.fresh()
        self.w.entry.append(f"  {name} = bitcast i{dtype.bits} {cell} to {ty.type_of(dtype)}")
        return name

    # ---- nodes

    def block(self, block: Block) -> None:
        rows, value = self.rows, self.value
        for item in block.items:
            if isinstance(item, Block):
                self.inner(item)
                continue
            row = rows.get(item.op.name)
            if row is None:
                value[item] = self.compute(item, [value[s] for s in item.src])
            else:
                row(item)

    def compute(self, node: UOp, operands: list[Value]) -> Value:
        """Nodes that are neither memory, nor an accumulator, nor a loop."""
        return node_value(self.w, node, operands)

    def load(self, node: UOp) -> None:
        if node.shape:
            raise InternalError(f"{self.program.name}: lanes make vectors, not the width of a load")
        column = self.column.get(node)
        if column is None:
            part = self.adjacent.load(self.w, node, self.value)
            self.value[node] = part or load(self.w, node, self.value, self.ahead.get(node))
        else:
            found = from_memory(self.w, column(), node.dtype, self.w.lanes)
            self.value[node] = Value(found, None, self.w.level)

    def store(self, node: UOp) -> None:
        if node in self.held:
            held, turn = self.held[node]
            held.hold(self.value[node.src[2]], self.value[turn])
            return
        first = self.adjacent.first(node)
        divisor = self.steps.divisor(first.src[1]) if self.is_far(node.src[0]) else None
        if not self.adjacent.store(self.w, node, self.value, divisor):
            store(self.w, node, self.value, divisor)

    def ask(self, node: UOp) -> None:
        buffer, index = (self.value[s] for s in node.src)
        kind = ty.memory_type(node.src[0].dtype.base)
        at = wide(self.w, index, node.src[1].dtype).name
        ask_at(self.w, self.w.emit(f"getelementptr {kind}, ptr {buffer.name}, i64 {at}"))

    def is_far(self, buffer: UOp) -> bool:
        """Whether stores to a buffer go past the caches."""
        return buffer.op is _GLOBAL and buffer.arg.index in self.program.far

    def define_local(self, node: UOp) -> None:
        name, kind = self.w.fresh(), ty.memory_type(node.arg.dtype)
        self.w.entry.append(f"  {name} = alloca [{max(node.arg.size, 1)} x {kind}], align 64")
        self.value[node] = Value(name)

    def define_acc(self, node: UOp) -> None:
        start = self.value[node.src[0]]
        if node in self.nest.per_lane:
            start = Value(self.w.vector(start, node.dtype), None, self.w.level)
        self.value[node] = start

    def phi(self, node: UOp) -> None:
        acc, new = node.src[0], self.value[node.src[1]]
        if acc in self.joined or acc in self.nest.per_lane:
            new = Value(self.masked(acc, self.w.vector(new, node.dtype)), None, self.w.level)
        self.value[node] = self.value[acc] = new

    def masked(self, acc: UOp, new: str) -> str:
        """The update of an accumulator, in the lanes that run."""
        w = self.w
        if w.mask is None or acc not in self.joined:
            return new
        truth, kind = ty.vector_of("i1", w.lanes), ty.type_of(acc.dtype, w.lanes)
        return w.emit(f"select {truth} {w.mask}, {kind} {new}, {kind} {self.value[acc].name}")

    # ---- blocks

    def inner(self, block: Block) -> None:
        head = block.head
        assert head is not None
        self.w.open_scope()
        if head.op.name == "if":
            self.branch(block, self.value[head.src[0]])
        else:
            self.loop(block, head)
        self.w.close_scope()
        for acc in self.nest.updated(block):
            self.settle(acc, self.value[acc]._replace(level=self.w.level))

    def branch(self, block: Block, condition: Value) -> None:
        if condition.stride != 0:
            raise InternalError(f"{self.program.name}: a branch differs from lane to lane")
        self.when(condition.name, self.nest.updated(block), lambda: self.block(block))

    def when(self, condition: str, accumulators: Iterable[UOp], inside: Callable[[], None]) -> None:
        """Code that runs if the condition holds, and the accumulators it updates after that."""
        w = self.w
        before = [(acc, self.value[acc]) for acc in accumulators]
        source, body, after = w.label, w.new_label(), w.new_label()
        w.effect(f"br i1 {condition}, label %{body}, label %{after}")
        w.start_block(body)
        inside()
        last = w.label
        w.effect(f"br label %{after}")
        w.start_block(after)
        for acc, old in before:
            self.settle(acc, self.merge(acc, (old, source), (self.value[acc], last)))

    def merge(self, acc: UOp, *sources: tuple[Value, str]) -> Value:
        """The accumulator's value, by the block that control comes from."""
        inner = ", ".join(f"[ {value.name}, %{label} ]" for value, label in sources)
        kind, w = self.type_of_acc(acc), self.w
        return Value(w.emit(f"phi {kind} {inner}"), sources[0][0].stride, w.level)

    def type_of_acc(self, acc: UOp) -> str:
        lanes = self.joined.get(acc) or (self.w.lanes if acc in self.nest.per_lane else 1)
        return ty.type_of(acc.dtype, lanes)

    def settle(self, acc: UOp, value: Value) -> None:
        """From here on this is the value of an accumulator and of its updates."""
        self.value[acc] = value
        for phi in self.nest.updates[acc]:
            self.value[phi] = value

    # ---- loops

    def loop(self, block: Block, head: UOp) -> None:
        w, outer = self.w, self.w.lanes
        if block.lanes > 1 and outer > 1:
            raise InternalError(f"{self.program.name}: a loop with lanes inside another")
        for acc, join in self.nest.joins(block).items():
            self.widen(acc, self.own_lanes(join.lanes))
        w.lanes = max(outer, self.own_lanes(block.lanes))
        if head.arg.grid or self.nest.length_of(head) is not None:
            self.counted(block, head)
        else:
            self.sized(block, head)
        w.lanes = outer
        for acc, join in self.nest.joins(block).items():
            del self.joined[acc]
            self.settle(acc, self.halved(acc, join))

    def own_lanes(self, lanes: int) -> int:
        """How many lanes of a loop one value holds."""
        return lanes

    def widen(self, acc: UOp, lanes: int) -> None:
        """Give an accumulator a value per lane, each of which starts from the same."""
        w, outer = self.w, self.w.lanes
        w.lanes = self.joined[acc] = lanes
        start = Value(w.vector(self.value[acc], acc.dtype), None, w.level)
        self.value[acc] = start
        w.lanes = outer

    def halved(self, acc: UOp, join: Join) -> Value:
        """The lanes as one value: the first half of them op the second, until one is left."""
        w, name, lanes = self.w, self.value[acc].name, join.lanes
        while lanes > 1:
            kind = ty.type_of(acc.dtype, lanes)
            lanes //= 2
            halves = [self.part(kind, name, at, lanes) for at in (0, lanes)]
            name = apply(w, join.op, acc.dtype, halves, lanes)
        return Value(name, 0, w.level)

    def part(self, kind: str, name: str, at: int, lanes: int) -> str:
        if lanes == 1:
            return self.w.emit(f"extractelement {kind} {name}, i64 {at}")
        pick = ty.picked(at, at + lanes)
        return self.w.emit(f"shufflevector {kind} {name}, {kind} poison, {pick}")

    def sized(self, block: Block, head: UOp) -> None:
        """A loop whose length is known."""
        tile = self.matrices.tile(block, self.w.lanes) if self.w.mask is None else None
        if tile is not None:
            self.multiply(block, head, tile)
            return
        loads, stores = self.squares.across(block)
        if loads or stores:
            self.square(block, head, loads, stores)
        else:
            self.straight_or_repeated(block, head)

    def multiply(self, block: Block, head: UOp, tile: Tile) -> None:
        """A loop that a matrix unit runs, from the addresses of its operands in the first
        iteration.
        """
        w, loads = self.w, (tile.rows[0], tile.panel)
        self.value[head] = _number(head.arg.start)
        needed = set(toposort([node.src[1] for node in loads]))
        for item in block.items:
            if not isinstance(item, Block) and item in needed:
                self.value[item] = node_value(w, item, [self.value[s] for s in item.src])
        left, right = (
            pointer(w, self.value[n.src[0]], wide(w, self.value[n.src[1]], n.src[1].dtype))
            for n in loads
        )
        vectors = TileWriter(w, tile, left, right, w.lanes).multiply(head.arg.size)
        for acc, vector in zip(tile.sums, vectors, strict=True):
            self.settle(acc, Value(vector, None, w.level))

    def straight_or_repeated(self, block: Block, head: UOp) -> None:
        """A loop whose length is known, unrolled if it is short; the remainder is masked."""
        start, size, lanes = head.arg.start, head.arg.size, block.lanes
        full = size - size % lanes
        if full == lanes:
            self.group(block, head, _number(start))
        elif lanes == 1 and size * self.straight(block) <= self.unrolled:
            for turn in range(size):
                self.group(block, head, _number(start + turn))
        elif full:
            self.repeat(block, head, str(start), str(start + full), guarded=False)
        if size > full:
            w = self.w
            w.mask = ty.first_lanes(size - full, lanes)
            self.group(block, head, _number(start + full))
            w.mask = None

    def square(self, block: Block, head: UOp, loads: list[UOp], stores: list[UOp]) -> None:
        """A loop around lanes with loads across them, which are made before it, and stores, which
        are made behind it."""
        w, size = self.w, head.arg.size
        found = self.transposed(block, loads, stores)
        if size * sum(1 for _ in block.nodes()) <= _UNROLLED_SQUARE:
            w.held = {}  # a test at each store would cut the square into pieces
            for turn in range(size):
                self.column = {
                    n: partial(columns.__getitem__, turn) for n, columns in found.items()
                }
                self.group(block, head, _number(head.arg.start + turn))
            release(w)
        else:
            w.lanes = size
            rows = {node: kept(w, node, columns) for node, columns in found.items()}
            for held, _ in self.held.values():
                held.in_memory()
            w.lanes = 1
            self.column = {n: partial(self.taken, n, m, head) for n, m in rows.items()}
            self.repeat(block, head, str(head.arg.start), str(head.arg.start + size), guarded=False)
        w.lanes = size
        for node, (held, _) in self.held.items():
            held.store(self.is_far(node.src[0]))
        w.lanes, self.column, self.held = 1, {}, {}

    def taken(self, node: UOp, memory: str, head: UOp) -> str:
        """A column of a square, from memory."""
        return taken(self.w, node, memory, self.value[head])

    def transposed(self, block: Block, loads: list[UOp], stores: list[UOp]) -> dict[UOp, list[str]]:
        """The columns of the squares that loads read, from what their indices are at first; from
        the same follows where stores are made later."""
        w, inner = self.w, block.blocks[0]
        assert block.head is not None
        assert inner.head is not None
        w.lanes = inner.lanes
        self.value[block.head] = _number(block.head.arg.start)
        self.value[inner.head] = _number(inner.head.arg.start)._replace(stride=1)
        needed = set(toposort([node.src[1] for node in (*loads, *stores)]))
        for item in (*block.items, *inner.items):
            if not isinstance(item, Block) and item in needed:
                self.value[item] = node_value(w, item, [self.value[s] for s in item.src])
        places = {n: (self.value[n.src[0]], self.value[n.src[1]]) for n in loads}
        found = {n: transposed(w, n, *places[n], self.squares.is_far(n)) for n in loads}
        for node in stores:
            made = Held(w, node, self.value[node.src[0]], self.value[node.src[1]])
            self.held[node] = made, block.head
        w.lanes = 1
        return found

    def straight(self, block: Block) -> float:
        """The nodes of an iteration of a loop, as code without a branch; infinite if it has one."""
        nodes = 0.0
        for item in block.items:
            if isinstance(item, Block):
                head = item.head
                assert head is not None
                if head.op.name == "if" or item.lanes > 1 or self.nest.length_of(head) is not None:
                    return inf
                nodes += head.arg.size * self.straight(item)
            else:
                nodes += 1
        return nodes

    def counted(self, block: Block, head: UOp) -> None:
        """A loop whose length is known at run time."""
        w, kind, lanes = self.w, ty.type_of(head.dtype), block.lanes
        first, length = self.extent(head, kind)
        stop = w.emit(f"add {kind} {first}, {length}")
        if lanes == 1:
            self.repeat(block, head, first, stop, guarded=True)
            return
        whole = w.emit(f"and {kind} {length}, {-lanes}")
        middle = w.emit(f"add {kind} {first}, {whole}")
        self.repeat(block, head, first, middle, guarded=True)
        left = w.emit(f"sub {kind} {stop}, {middle}")
        more = w.emit(f"icmp sgt {kind} {left}, 0")
        self.when(more, self.nest.updated(block), lambda: self.rest(block, head, middle, left))

    def extent(self, head: UOp, kind: str) -> tuple[str, str]:
        """Where the counter starts, and how many iterations there are."""
        w, start = self.w, str(head.arg.start)
        if not head.arg.grid:
            length = self.nest.length_of(head)
            assert length is not None
            count = convert(w, self.value[length].name, length.dtype, head.dtype, 1)
            least = w.emit(f"icmp sgt {kind} {count}, 0")
            return start, w.emit(f"select i1 {least}, {kind} {count}, {kind} 0")
        begin, end = "%begin", "%end"
        if kind != "i64":
            begin, end = (w.emit(f"trunc i64 {n} to {kind}") for n in (begin, end))
        first = begin if start == "0" else w.emit(f"add {kind} {begin}, {start}")
        return first, w.emit(f"sub {kind} {end}, {begin}")

    def rest(self, block: Block, head: UOp, first: str, left: str) -> None:
        """The last group, in which `left` lanes run."""
        w, kind = self.w, ty.type_of(head.dtype)
        short = left if kind == "i32" else w.emit(f"trunc {kind} {left} to i32")
        lanes = ty.vector_of("i32", w.lanes)
        limit = w.spread(Value(short, 0, w.level), "i32")
        w.mask = w.emit(f"icmp slt {lanes} {ty.steps('i32', w.lanes, 1)}, {limit}")
        self.group(block, head, Value(first, 0, w.level))
        w.mask = None

    def group(self, block: Block, head: UOp, first: Value) -> None:
        """One iteration of every lane."""
        self.value[head] = first if block.lanes == 1 else first._replace(stride=1)
        self.block(block)
        for acc in self.nest.updated(block):
            self.settle(acc, self.value[acc])

    def repeat(
        self, block: Block, head: UOp, first: str, stop: str, guarded: bool, times: int = 1
    ) -> None:
        """The loop from `first` to `stop`; `guarded`: it may be empty. This many `times` in each
        iteration, of which there are whole ones.
        """
        w, kind = self.w, ty.type_of(head.dtype)
        before = [(acc, self.value[acc]) for acc in self.nest.updated(block)]
        source, inside, after = w.label, w.new_label(), w.new_label()
        if guarded:
            more = w.emit(f"icmp slt {kind} {first}, {stop}")
            w.effect(f"br i1 {more}, label %{inside}, label %{after}")
        else:
            w.effect(f"br label %{inside}")
        w.start_block(inside)
        header: Lines = []
        w.lines.append(header)
        counter = w.fresh()
        for acc, old in before:
            self.value[acc] = Value(w.fresh(), old.stride, w.level)
        carried = [self.value[acc].name for acc, _ in before]
        self.group(block, head, Value(counter, 0, w.level))
        for time in range(1, times):
            at = w.emit(f"add {kind} {counter}, {time * block.lanes}")
            self.group(block, head, Value(at, 0, w.level))
        following = w.emit(f"add {kind} {counter}, {block.lanes * times}")
        more = w.emit(f"icmp slt {kind} {following}, {stop}")
        last = w.label
        w.effect(f"br i1 {more}, label %{inside}, label %{after}, !llvm.loop !{2 + w.loops}")
        w.loops += 1
        header.append(f"  {counter} = phi {kind} [ {first}, %{source} ], [ {following}, %{last} ]")
        for (acc, old), name in zip(before, carried, strict=True):
            new, t = self.value[acc].name, self.type_of_acc(acc)
            header.append(f"  {name} = phi {t} [ {old.name}, %{source} ], [ {new}, %{last} ]")
        w.start_block(after)
        if guarded:
            for acc, old in before:
                self.settle(acc, self.merge(acc, (old, source), (self.value[acc], last)))


def _number(value: int) -> Value:
    return Value(str(value), 0, 0, True)


def symbol(name: str) -> str:
    """The name of a function, as LLVM writes it."""
    plain = name.replace("_", "a").replace(".", "a").isalnum() and name.isascii()
    return f"@{name}" if plain else f'@"{name.encode("unicode_escape").decode()}"'
