"""From a loop program to source for people and for other compilers: C, OpenCL, CUDA, Metal, WGSL.

One walk over the blocks of a program, the same for all languages and for kernels of the compiler
and those built by hand. Loads and accumulators have names; a value that is used once, in its own
block, is written where it is used; a constant is written everywhere. A loop with lanes is a plain
loop whose accumulators have a value per lane, joined by halving where their loops end. A grid is a
loop in C, and a thread per iteration elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from adjoint.codegen.blocks import Block, Join, nest
from adjoint.codegen.cstyle_language import Buffer, Head, Language, Needs, Scalar
from adjoint.codegen.cstyle_languages import (
    CLanguage,
    CUDALanguage,
    MetalLanguage,
    OpenCLLanguage,
    axis_of,
)
from adjoint.codegen.cstyle_ops import RESERVED
from adjoint.codegen.cstyle_uses import Uses
from adjoint.codegen.cstyle_wgsl import WGSLLanguage
from adjoint.errors import DeviceError, InternalError
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.stages import LoopProgram, Source

__all__ = [
    "LANGUAGES",
    "CLanguage",
    "CUDALanguage",
    "Language",
    "MetalLanguage",
    "OpenCLLanguage",
    "WGSLLanguage",
    "render",
    "render_all",
]

# The languages of kernels that the compiler makes. Its launches give cells.
LANGUAGES: dict[str, Language] = {
    "c": CLanguage(cells=True),
    "opencl": OpenCLLanguage(),
    "cuda": CUDALanguage(),
    "metal": MetalLanguage(),
    "wgsl": WGSLLanguage(),
}

LONGEST = 72  # characters of a value that is written where it is used
_CHAINS = ("add", "mul")


def render(program: LoopProgram, language: Language) -> Source:
    """The program in a language."""
    return render_all([program], language)[0]


def render_all(programs: Sequence[LoopProgram], language: Language) -> list[Source]:
    """The programs in a language. Where it may, the text of each is that of all of them, as one
    file with a name for each; else every one stands alone."""
    if not language.one_file and len(programs) > 1:
        return [render(program, language) for program in programs]
    needs: Needs = {}
    names: dict[str, None] = {}
    texts = []
    for program in programs:
        name = _free(program.name, names)
        texts.append(_Walk(program, language, name, needs).text())
    text = _file(language, texts, needs)
    return [Source(language.name, name, text) for name in names]


def _file(language: Language, texts: Sequence[str], needs: Needs) -> str:
    """What the kernels need, and the kernels."""
    body = "\n\n".join(texts)
    first = "".join(f"{line}\n" for line in language.preamble(body, needs))
    if not needs:
        return f"{first}{body}\n"
    gap = [first] if first else []
    return "\n".join([*gap, *needs.values(), "", body, ""])


def _free(name: str, taken: dict[str, None]) -> str:
    """A word that is not in use yet, like the name."""
    word = (
        "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name) or "kernel"
    )
    word = f"k{word}" if word[0].isdigit() else word
    word = f"{word}_" if word in RESERVED or word.startswith("__") else word
    found, count = word, 1
    while found in taken:
        found, count = f"{word}_{count}", count + 1
    taken[found] = None
    return found


class _Text(NamedTuple):
    """How a value is written, and the op if it is an expression of one."""

    text: str
    op: str = ""


class _Walk:
    """One walk over the blocks of a program."""

    def __init__(self, program: LoopProgram, language: Language, name: str, needs: Needs) -> None:
        self.program, self.language, self.needs = program, language, needs
        self.nest = nest(program)
        self.uses = Uses(program, self.nest)
        self.taken: dict[str, None] = {name: None}
        self.texts: dict[UOp, _Text] = {}
        self.lines: list[str] = []
        self.depth = 1
        self.counts: dict[str, int] = {}
        self.lane = ""  # the number of the lane that an iteration is in
        self.joined: dict[UOp, str] = {}  # accumulators with a value per lane, and its memory
        self.parameters = set(program.parameters)
        self.specials = [n for n in program.body if n.op.name == "special"]
        self.grouped = any(n.arg.name.startswith("l") for n in self.specials)
        self.rows: dict[str, Callable[[UOp], None]] = {
            "load": self.load,
            "store": self.store,
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
                group["xyz".index(axis_of(node.arg.name))] = node.arg.size
        grid = self.program.grid is not None
        return Head(name, buffers, scalars, grid, (group[0], group[1], group[2]))

    def buffer(self, node: UOp) -> Buffer:
        name = self.named(node, node.arg.name or f"data{node.arg.index}")
        return Buffer(name, node.arg.dtype, node.arg.mutable)

    def scalar(self, node: UOp, name: str) -> Scalar:
        return Scalar(self.named(node, name), node.dtype)

    def named(self, node: UOp, name: str) -> str:
        name = _free(name, self.taken)
        self.texts[node] = _Text(name)
        return name

    def number(self, letters: str) -> str:
        count = self.counts[letters] = self.counts.get(letters, -1) + 1
        return f"{letters}{count}"

    def fresh(self, letters: str) -> str:
        return _free(self.number(letters), self.taken)

    # ---- lines

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def open(self, text: str) -> None:
        self.line(text)
        self.depth += 1

    def close(self) -> None:
        self.depth -= 1
        self.line("}")

    # ---- values

    def read(self, node: UOp, exact: bool = True) -> str:
        """The text of a value."""
        known = self.texts.get(node)
        if known is not None:
            return known.text
        if node.op.name != "const":
            raise InternalError(f"{self.program.name}: {node!r} is used before it is computed")
        return self.language.literal(node.arg.value, node.dtype, self.needs, exact)

    def is_literal(self, node: UOp) -> bool:
        return node.op.name == "const" and node not in self.parameters

    def compute(self, node: UOp) -> None:
        """An arithmetic node: its text, or a name for it."""
        text = self.expression(node)
        if self.uses.is_inline(node) and len(text) <= LONGEST:
            self.texts[node] = _Text(text, node.op.name)
            return
        self.uses.keep(node)
        self.define(node, "alu", text)

    def define(self, node: UOp, letters: str, text: str) -> None:
        name = self.fresh(letters)
        self.line(self.language.constant(node.dtype, name, text))
        self.texts[node] = _Text(name)

    def expression(self, node: UOp) -> str:
        op, language, dtype = node.op.name, self.language, node.src[0].dtype
        if op in ("cast", "bitcast"):
            convert = language.cast if op == "cast" else language.bitcast
            return convert(self.operands(node)[0], dtype, node.dtype, self.needs)
        return language.apply(op, dtype, self.operands(node), self.needs)

    def operands(self, node: UOp) -> list[str]:
        op, src = node.op.name, node.src
        if op in ("maximum", "minimum") and self.is_number(src[1]):
            src = (src[1], src[0])  # of two zeros the second is the result, as in compiled code
        if all(map(self.is_literal, src)):
            return [self.language.opaque(self.read(s), s.dtype, self.needs) for s in src]
        if op in ("lshift", "rshift", "where"):
            return [self.read(s) for s in src]
        texts = [self.read(s, exact=False) for s in src]
        first = self.texts.get(src[0])
        if op in _CHAINS and first is not None and first.op == op and texts[0][0] == "(":
            texts[0] = _bare(texts[0])
        return texts

    def is_number(self, node: UOp) -> bool:
        """Whether it is a float in the text, and no NaN."""
        literal = self.is_literal(node) and node.dtype.is_float
        return literal and float(node.arg.value) == float(node.arg.value)

    # ---- nodes

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
        if _gated(node, 2):
            text = language.load_or(self.read(node.src[2]), text, self.read(node.src[3]))
        self.define(node, "val", text)

    def store(self, node: UOp) -> None:
        buffer, index, value = node.src[:3]
        place = self.language.element(self.read(buffer), self.read(index, exact=False))
        text = self.language.stored(value, self.read(value, exact=False), self.needs)
        line = f"{place} = {_plain(text)};"
        if _gated(node, 3):
            line = f"if ({_bare(self.read(node.src[3]))}) {{ {line} }}"
        self.line(line)

    def define_acc(self, node: UOp) -> None:
        start = self.read(node.src[0], exact=False)
        name = self.fresh("acc")
        self.line(self.language.variable(node.dtype, name, _plain(start)))
        self.texts[node] = _Text(name)

    def phi(self, node: UOp) -> None:
        acc = node.src[0]
        place = self.read(acc)
        self.line(f"{place} = {_plain(self.read(node.src[1], exact=False))};")
        self.texts[node] = _Text(place)
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
        text = self.language.thread(node.arg.name, size)
        self.line(f"{self.language.constant(node.dtype, name, text)} /* {size} */")

    def barrier(self, node: UOp) -> None:
        if self.language.threads:
            self.line(self.language.barrier())
        elif self.grouped:
            problem = f"{self.language.name} has no threads that could wait for one another"
            raise DeviceError("E6003", problem, op="barrier", help="end the loop over the threads")

    # ---- blocks

    def inner(self, block: Block) -> None:
        head = block.head
        assert head is not None
        self.language.check(head)
        if head.op.name == "if":
            self.open(f"if ({_bare(self.read(head.src[0]))}) {{")
            self.block(block)
            self.close()
        else:
            self.loop(block, head)
        for acc in block.accumulators:
            for phi in self.nest.updates[acc]:
                self.texts[phi] = self.texts[acc]

    def loop(self, block: Block, head: UOp) -> None:
        before = {acc: self.widen(acc, join) for acc, join in block.joins.items()}
        self.open_loop(head)
        if block.lanes > 1 and any(acc in self.joined for acc in block.accumulators):
            self.count_lanes(head, block.lanes)
        self.block(block)
        self.close()
        for acc, join in block.joins.items():
            self.texts[acc] = before[acc]
            self.halve(acc, join)

    def open_loop(self, head: UOp) -> None:
        language, start = self.language, head.arg.start
        name, size = self.named(head, self.number("ridx")), self.length(head)
        first, stop = _start(start), _sum(start, size)
        if head.arg.grid and language.threads:
            self.line(language.constant(head.dtype, name, _sum(start, language.iteration())))
            self.open(f"if ({name} < {stop}) {{")
            return
        if head.arg.grid and language.cells:
            first, stop = _sum(start, "begin"), _sum(start, "end")
        self.open(language.loop(head.dtype, name, first, stop))

    def length(self, head: UOp) -> str:
        """How many iterations there are: a number, a parameter, or what a node says."""
        if head.src:
            return self.read(head.src[0], exact=False)
        size = OPS["const"](head.arg.size, head.dtype, (), None)
        return self.read(size) if size in self.parameters else str(head.arg.size)

    # ---- lanes

    def count_lanes(self, head: UOp, lanes: int) -> None:
        self.lane = self.fresh("lane")
        counter, start = self.read(head), head.arg.start
        text = counter if not start else f"({counter}-{_start(start)})"
        self.line(self.language.constant(head.dtype, self.lane, f"{text}%{lanes}"))
        for acc, memory in self.joined.items():
            self.texts[acc] = _Text(f"{memory}[{self.lane}]")

    def widen(self, acc: UOp, join: Join) -> _Text:
        """Give an accumulator a value per lane, each of which starts from the same."""
        before = self.texts[acc]
        memory = self.joined[acc] = _free(f"{before.text}_lanes", self.taken)
        self.line(self.language.registers(acc.dtype, memory, join.lanes))
        loop = self.language.small_loop("k", "0", f"k < {join.lanes}", "k++")
        self.line(f"{loop} {memory}[k] = {before.text}; }}")
        return before

    def halve(self, acc: UOp, join: Join) -> None:
        """The lanes as one value: the first half of them op the second, until one is left."""
        memory = self.joined.pop(acc)
        halves = [f"{memory}[k]", f"{memory}[k+n]"]
        text = self.language.apply(join.op, acc.dtype, halves, self.needs)
        outer = self.language.small_loop("n", str(join.lanes // 2), "n > 0", "n = n/2")
        inner = self.language.small_loop("k", "0", "k < n", "k++")
        self.line(f"{outer} {inner} {halves[0]} = {text}; }} }}")
        self.line(f"{self.read(acc)} = {memory}[0];")


def _gated(node: UOp, position: int) -> bool:
    """Whether there is a gate; an IF is a branch already."""
    return len(node.src) > position and node.src[position].op.name != "if"


def _start(value: int) -> str:
    return str(value) if value >= 0 else f"({value})"


def _sum(start: int, text: str) -> str:
    if text.isdigit():
        return _start(start + int(text))
    return f"{_start(start)}+{text}" if start else text


def _bare(text: str) -> str:
    """The text without parentheses around all of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 else text
    return text


def _plain(text: str) -> str:
    """A negative number without parentheses."""
    return text[1:-1] if text.startswith("(-") and text[2:-1].replace(".", "").isalnum() else text
