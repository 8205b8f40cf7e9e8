"""The text of single values of a program as expressions, in any language.

A value that is used once is written where it is used, so its text consists of the texts of its
operands.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoint.codegen.accumulators import Nest
from adjoint.codegen.c.language import Language, Needs, unsigned_of
from adjoint.errors import InternalError
from adjoint.ir.bounds import bounds, no_wrap
from adjoint.ir.dtype import DType
from adjoint.ir.loop_tree import Block
from adjoint.ir.uop import UOp
from adjoint.stages import LoopProgram

_CHAINS = ("add", "mul")


class ValueText(NamedTuple):
    """How a value is written, and the op if it is an expression of one."""

    text: str
    op: str = ""


class Values:
    """The texts of the values that are known so far."""

    def __init__(self, program: LoopProgram, language: Language, needs: Needs) -> None:
        self.program, self.language, self.needs = program, language, needs
        self.nest = Nest(program)
        self.uses = Uses(program, self.nest)
        self.texts: dict[UOp, ValueText] = {}
        self.raw: dict[UOp, ValueText] = {}  # unsigned, of what is converted to a signed integer

    def read(self, node: UOp, exact: bool = True) -> str:
        """The text of a value."""
        known = self.texts.get(node)
        if known is not None:
            return known.text
        if node.op.name != "const":
            raise InternalError(f"{self.program.name}: {node!r} is used before it is computed")
        return self.language.literal(node.arg.value, node.dtype, self.needs, exact)

    def is_literal(self, node: UOp) -> bool:
        return node.op.name == "const" and node not in self.nest.parameters

    def expression(self, node: UOp) -> str:
        op, language, dtype = node.op.name, self.language, node.src[0].dtype
        if op in ("cast", "bitcast"):
            convert = language.cast if op == "cast" else language.bitcast
            return convert(self.operands(node)[0], dtype, node.dtype, self.needs)
        if self.overflows(node):
            return self.wrapped(node)
        return language.apply(op, dtype, self.operands(node), self.needs)

    def overflows(self, node: UOp) -> bool:
        """Whether the language leaves open what an integer op gives, and a later op can tell: what
        is stored at once is what the processor computes."""
        if not self.language.may_overflow(node.op.name, node.dtype):
            return False
        if node.op.name == "lshift":
            return bounds(node.src[0])[0] < 0 or not no_wrap(node)
        if no_wrap(node):
            return False
        known = any(map(self.is_literal, node.src))
        return known or not self.uses.is_only_stored(node)

    def wrapped(self, node: UOp) -> str:
        """An op on integers in unsigned arithmetic, which wraps around."""
        op, wide = node.op.name, unsigned_of(node.dtype)
        texts = [self.unsigned(s, wide) for s in node.src]
        first = self.raw.get(node.src[0])
        if op in _CHAINS and first is not None and first.op == op:
            texts[0] = bare(texts[0])
        raw = self.language.apply(op, wide, texts, self.needs)
        self.raw[node] = ValueText(raw, op)
        return self.language.converted(raw, node.dtype)

    def unsigned(self, node: UOp, wide: DType) -> str:
        """An operand of such an op."""
        if node in self.raw:
            return self.raw[node].text
        if self.is_literal(node) and node.arg.value >= 0:
            return self.language.literal(node.arg.value, wide, self.needs)
        return self.language.converted(self.read(node, exact=False), wide)

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
            texts[0] = bare(texts[0])
        return texts

    def is_number(self, node: UOp) -> bool:
        """Whether it is a float in the text, and no NaN."""
        literal = self.is_literal(node) and node.dtype.is_float
        return literal and float(node.arg.value) == float(node.arg.value)


def bare(text: str) -> str:
    """The text without parentheses around all of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 else text
    return text


_NAMED = frozenset({"load", "count_up", "define_acc", "phi", "special", "define_local", "range"})


class Uses:
    """The places of definition and use of every node."""

    def __init__(self, program: LoopProgram, nest: Nest) -> None:
        self.place = {node: i for i, node in enumerate(program.body)}
        self.users: dict[UOp, list[UOp]] = {}
        for node in program.body:
            for source in _values(node):
                self.users.setdefault(source, []).append(node)
        self.home: dict[UOp, Block] = {}
        self._enter(nest.root)
        self.updates = {acc: [self.place[p] for p in phis] for acc, phis in nest.updates.items()}
        self._reads: dict[UOp, frozenset[UOp]] = {}

    def _enter(self, block: Block) -> None:
        for item in block.items:
            if isinstance(item, Block):
                if item.head is not None:
                    self.home[item.head] = block  # its length or condition is read outside of it
                self._enter(item)
            else:
                self.home[item] = block

    def is_inline(self, node: UOp) -> bool:
        """Whether the value may be written where it is used."""
        users = self.users.get(node, [])
        if len(users) != 1 or self.home[users[0]] is not self.home[node]:
            return False
        first, last = self.place[node], self.place[users[0]]
        reads = self._reads[node] = self._accumulators(node)
        return not any(first < p < last for acc in reads for p in self.updates.get(acc, ()))

    def is_only_stored(self, node: UOp) -> bool:
        """Whether the value goes to memory and nowhere else."""
        users = self.users.get(node, [])
        return all(u.op.name == "store" and u.src[1] is not node for u in users)

    def keep(self, node: UOp) -> None:
        """The node has a name after all: it is read where it is defined."""
        self._reads.pop(node, None)

    def _accumulators(self, node: UOp) -> frozenset[UOp]:
        """Those that the text of the value reads."""
        found: set[UOp] = set()
        for source in node.src:
            if source.op.name == "define_acc":
                found.add(source)
            elif source.op.name == "phi":
                found.add(source.src[0])
            elif source.op.name not in _NAMED:
                found |= self._reads.get(source, frozenset())
        return frozenset(found)


def _values(node: UOp) -> tuple[UOp, ...]:
    """The sources whose values a node reads."""
    match node.op.name:
        case "end_range" | "endif" | "barrier":
            return ()
        case "phi":
            return node.src[1:2]
        case _:
            return node.src
