"""The walk over the blocks of a program that writes it in a language that reads like C.

Loads and accumulators have names; a value that is used once, in its own block, is written where it
is used; a constant is written everywhere. A loop with lanes is a plain loop whose accumulators have
a value per lane, joined by halving where their loops end. A grid is a loop in C, and a thread per
iteration elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adjoint.codegen.accumulators import Join
from adjoint.codegen.c.language import (
    BufferParameter,
    Head,
    Language,
    Needs,
    ScalarParameter,
    axis_of,
    unsigned_of,
)
from adjoint.codegen.c.names import free
from adjoint.codegen.c.values import Values, ValueText, bare
from adjoint.errors import DeviceError, InternalError
from adjoint.ir.dtype import DType
from adjoint.ir.kernel_kind import gate_of
from adjoint.ir.loop_tree import Block
from adjoint.ir.uop import UOp
from adjoint.stages import LoopProgram

LONGEST = 72  # characters of a value that is written where it is used


class KernelWriter(Values):
    """One walk over the blocks of a program."""

    def __init__(self, program: LoopProgram, language: Language, name: str, needs: Needs) -> None:
        super().__init__(program, language, needs)
        self.taken: dict[str, None] = {name: None}
        self.lines: list[str] = []
        self.depth = 1
        self.counts: dict[str, int] = {}
        self.lane = ""  # the number of the lane that an iteration is in
        self.iterations = ""  # how many a grid has, where each is a thread
        self.joined: dict[UOp, str] = {}  # accumulators with a value per lane, and its memory
        self.specials = [n for n in program.body if n.op.name == "special"]
        self.grouped = any(n.arg.name.startswith("l") for n in self.specials)
        self.rows: dict[str, Callable[[UOp], None]] = {
            "load": self.load,
            "store": self.store,
            "count_up": self.count_up,
            "sum_up": self.sum_up,
            "atomic": self.atomic,
            "ask": lambda node: None,  # nothing depends on it
            "define_acc": self.define_acc,
            "phi": self.phi,
            "define_local": self.define_local,
            "special": self.special,
            "barrier": self.barrier,
        }
        self.head = self.make_head(name)

    # ---- the function around the blocks

    def text(self) -> str:
        lines = self.language.opening(self.head, self.needs)
        self.lines += [f"  {line}" for line in lines[1:]]
        if not self.language.threads:
            self.open_threads()
        self.block(self.nest.root)
        while self.depth > 1:
            self.close()
        comments = [f"// {line.rstrip(chr(92))}" for line in self.program.lines]
        return "\n".join([*comments, lines[0], *self.lines, "}"])

    def make_head(self, name: str) -> Head:
        buffers = [self.buffer(b) for b in self.program.buffers]
        scalars = [self.scalar(v, v.arg.name) for v in self.program.variables]
        scalars += [self.scalar(p, self.number("n")) for p in self.program.parameters]
        group = [1, 1, 1]
        for node in self.specials:
            if node.arg.name.startswith("l"):
                group[axis_of(node.arg.name)] = node.arg.size
        grid = self.program.grid
        if grid is not None and self.language.threads:
            self.iterations = free("iterations", self.taken)
            scalars.append(ScalarParameter(self.iterations, grid.dtype))
        return Head(name, buffers, scalars, grid is not None, (group[0], group[1], group[2]))

    def buffer(self, node: UOp) -> BufferParameter:
        name = self.named(node, node.arg.name or f"data{node.arg.index}")
        return BufferParameter(name, node.arg.dtype, node.arg.mutable)

    def scalar(self, node: UOp, name: str) -> ScalarParameter:
        return ScalarParameter(self.named(node, name), node.dtype)

    def named(self, node: UOp, name: str) -> str:
        name = free(name, self.taken)
        self.texts[node] = ValueText(name)
        return name

    def number(self, letters: str) -> str:
        count = self.counts[letters] = self.counts.get(letters, -1) + 1
        return f"{letters}{count}"

    def fresh(self, letters: str) -> str:
        return free(self.number(letters), self.taken)

    # ---- lines

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def open(self, text: str) -> None:
        self.line(text)
        self.depth += 1

    def close(self) -> None:
        self.depth -= 1
        self.line("}")

    # ---- nodes

    def compute(self, node: UOp) -> None:
        """An arithmetic node: its text, or a name for it."""
        text = self.expression(node)
        if self.uses.is_inline(node) and len(text) <= LONGEST:
            self.texts[node] = ValueText(text, node.op.name)
            return
        self.uses.keep(node)
        self.raw.pop(node, None)
        self.define(node, "alu", text)

    def define(self, node: UOp, letters: str, text: str) -> None:
        name = self.fresh(letters)
        self.line(self.language.constant(node.dtype, name, text))
        self.texts[node] = ValueText(name)

    def block(self, block: Block) -> None:
        for item in block.items:
            if isinstance(item, Block):
                self.inner(item)
                continue
            self.language.check(item)
            row = self.rows.get(item.op.name, self.compute)
            row(item)

    def load(self, node: UOp) -> None:
        if node.shape:
            raise InternalError(f"{self.program.name}: a load of several elements")
        language, (buffer, index) = self.language, node.src[:2]
        text = language.element(self.read(buffer), self.read(index, exact=False))
        text = language.loaded(node.dtype, text)
        gate = gate_of(node)
        if gate is not None:
            text = language.load_or(self.read(gate), text, self.read(node.src[3]))
        self.define(node, "val", text)

    def store(self, node: UOp) -> None:
        buffer, index, value = node.src[:3]
        place = self.language.element(self.read(buffer), self.read(index, exact=False))
        text = self.language.stored(value, self.read(value, exact=False), self.needs)
        line = f"{place} = {_plain(text)};"
        gate = gate_of(node)
        if gate is not None:
            line = f"if ({bare(self.read(gate))}) {{ {line} }}"
        self.line(line)

    def count_up(self, node: UOp) -> None:
        place = self.language.element(*(self.read(s, exact=False) for s in node.src))
        self.define(node, "val", place)
        self.line(f"{place} = {self.read(node)}+1;")

    def sum_up(self, node: UOp) -> None:
        self.joined_with(node, "add")

    def atomic(self, node: UOp) -> None:
        if self.language.threads:
            raise InternalError(f"{self.program.name}: threads join values in memory")
        self.joined_with(node, node.arg.join)

    def joined_with(self, node: UOp, join: str) -> None:
        place = self.language.element(*(self.read(s, exact=False) for s in node.src[:2]))
        texts = [place, self.read(node.src[2])]
        text = self.language.apply(join, node.src[2].dtype, texts, self.needs)
        line = f"{place} = {_plain(text)};"
        gate = gate_of(node)
        if gate is not None:
            line = f"if ({bare(self.read(gate))}) {{ {line} }}"
        self.line(line)

    def define_acc(self, node: UOp) -> None:
        start = self.read(node.src[0], exact=False)
        name = self.fresh("acc")
        self.line(self.language.variable(node.dtype, name, _plain(start)))
        self.texts[node] = ValueText(name)

    def phi(self, node: UOp) -> None:
        acc = node.src[0]
        place = self.read(acc)
        self.line(f"{place} = {_plain(self.read(node.src[1], exact=False))};")
        self.texts[node] = ValueText(place)
        if len(self.nest.updates[acc]) > 1:  # the next update is not this value
            self.define(node, "alu", place)

    def define_local(self, node: UOp) -> None:
        if node in self.texts:
            return
        name, arg = self.named(node, node.arg.name), node.arg
        size = max(arg.size, 1)
        if self.grouped:
            line = self.language.shared(arg.dtype, name, size, self.needs)
        else:
            line = self.language.array(arg.dtype, name, size)
        if line:
            self.line(line)

    def open_threads(self) -> None:
        """Loops over threads: groups, memory of a group, its threads."""
        shared = [n for n in self.program.body if n.op.name == "define_local"] * self.grouped
        groups = [n for n in self.specials if not n.arg.name.startswith("l")]
        for node in (*groups, *shared, *(n for n in self.specials if n not in groups)):
            if node.op.name == "define_local":
                self.define_local(node)
                continue
            name = self.named(node, node.arg.name)
            self.open(self.language.loop(node.dtype, name, "0", str(node.arg.size)))

    def special(self, node: UOp) -> None:
        if node in self.texts:
            return
        name, size = self.named(node, node.arg.name), node.arg.size
        text = self.language.thread(node.arg.name, node.dtype)
        self.line(f"{self.language.constant(node.dtype, name, text)} /* {size} */")

    def barrier(self, node: UOp) -> None:
        if self.language.threads:
            self.line(self.language.barrier)
        elif self.grouped:
            problem = f"{self.language.name} has no threads that could wait for one another"
            raise DeviceError("E6003", problem, op="barrier", help="end the loop over the threads")

    # ---- blocks

    def inner(self, block: Block) -> None:
        head = block.head
        assert head is not None
        self.language.check(head)
        if head.op.name == "if":
            self.open(f"if ({bare(self.read(head.src[0]))}) {{")
            self.block(block)
            self.close()
        else:
            self.loop(block, head)
        for acc in self.nest.updated(block):
            for phi in self.nest.updates[acc]:
                self.texts[phi] = self.texts[acc]

    def loop(self, block: Block, head: UOp) -> None:
        joins = self.nest.joins(block)
        before = {acc: self.widen(acc, join) for acc, join in joins.items()}
        self.open_loop(head)
        if block.lanes > 1 and any(acc in self.joined for acc in self.nest.updated(block)):
            self.count_lanes(head, block.lanes)
        self.block(block)
        self.close()
        for acc, join in joins.items():
            self.texts[acc] = before[acc]
            self.halve(acc, join)

    def open_loop(self, head: UOp) -> None:
        language, start = self.language, head.arg.start
        name, size = self.named(head, self.number("ridx")), self.length(head)
        first, stop = _start(start), _sum(start, size)
        if head.arg.grid and language.threads:
            self.line(language.constant(head.dtype, name, _sum(start, language.iteration)))
            self.open(f"if ({name} < {_sum(start, self.iterations)}) {{")
            return
        if head.arg.grid and language.cells:
            first, stop = _sum(start, "begin"), _sum(start, "end")
        self.open(language.loop(head.dtype, name, first, stop))

    def length(self, head: UOp) -> str:
        """How many iterations there are: a number, a parameter, or what a node says."""
        length = self.nest.length_of(head)
        return str(head.arg.size) if length is None else self.read(length, exact=not head.src)

    # ---- lanes

    def count_lanes(self, head: UOp, lanes: int) -> None:
        self.lane = self.fresh("lane")
        counter, start = self.read(head), head.arg.start
        text = counter if not start else f"({counter}-{_start(start)})"
        self.line(self.language.constant(head.dtype, self.lane, f"{text}%{lanes}"))
        for acc, memory in self.joined.items():
            self.texts[acc] = ValueText(f"{memory}[{self.lane}]")

    def widen(self, acc: UOp, join: Join) -> ValueText:
        """Give an accumulator a value per lane, each of which starts from the same."""
        before = self.texts[acc]
        memory = self.joined[acc] = free(f"{before.text}_lanes", self.taken)
        self.line(self.language.registers(acc.dtype, memory, join.lanes))
        loop = self.language.small_loop("k", "0", f"k < {join.lanes}", "k++")
        self.line(f"{loop} {memory}[k] = {before.text}; }}")
        return before

    def halve(self, acc: UOp, join: Join) -> None:
        """The lanes as one value: the first half of them op the second, until one is left."""
        memory = self.joined.pop(acc)
        halves = [f"{memory}[k]", f"{memory}[k+n]"]
        text = self.joined_text(join.op, acc.dtype, halves)
        outer = self.language.small_loop("n", str(join.lanes // 2), "n > 0", "n = n/2")
        inner = self.language.small_loop("k", "0", "k < n", "k++")
        self.line(f"{outer} {inner} {halves[0]} = {text}; }} }}")
        self.line(f"{self.read(acc)} = {memory}[0];")

    def joined_text(self, op: str, dtype: DType, texts: Sequence[str]) -> str:
        language = self.language
        if not language.may_overflow(op, dtype):
            return language.apply(op, dtype, texts, self.needs)
        wide = unsigned_of(dtype)
        raw = [language.converted(t, wide) for t in texts]
        return language.converted(language.apply(op, wide, raw, self.needs), dtype)


def _start(value: int) -> str:
    return str(value) if value >= 0 else f"({value})"


def _sum(start: int, text: str) -> str:
    if text.isdigit():
        return _start(start + int(text))
    return f"{_start(start)}+{text}" if start else text


def _plain(text: str) -> str:
    """A negative number without parentheses."""
    return text[1:-1] if text.startswith("(-") and text[2:-1].replace(".", "").isalnum() else text
