"""Sums of words in the registers of a matrix unit (AMX): whole tiles of a product at once.

    for k in 0 .. 64, for i in 0 .. 32: sum[i] = dot_words(left[256 * i + k], panel[32 * k + lane],
    sum[i])

The rows of the left operand are at one distance from one another, and the words of each row and of
a line of the panel are contiguous, so that the unit loads 16 lines of 16 words at a time,
multiplies them and adds in registers of its own. When the loop has ended, their contents go to
memory, and from there to the accumulators. What may live here: which loops qualify, and their
instructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.steps import Steps
from adjoint.codegen.llvm.writer import Lines, Value, Writer
from adjoint.ir.kernel_kind import LOAD, PHI, gate_of
from adjoint.ir.loop_tree import Block
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp

_SIDE = 16  # lines of a register, and words of a line
_WORD = 4  # bytes
_LINE = _SIDE * _WORD
_ROWS = (_SIDE, 2 * _SIDE)  # of a tile, and its lanes: four registers of sums
_SHAPE = (f"i16 {_SIDE}", f"i16 {_LINE}")
_DOT, _CONST = OPS["dot_words"], OPS["const"]
# By the dtype of the numbers, and whether those without a sign are the left operand's.
_CALLS = {
    ("int8", True): "llvm.x86.tdpbusd.internal",
    ("int8", False): "llvm.x86.tdpbsud.internal",
    ("bfloat16", True): "llvm.x86.tdpbf16ps.internal",
    ("bfloat16", False): "llvm.x86.tdpbf16ps.internal",
}


class Tile(NamedTuple):
    """A loop along k: its accumulators, a load of the left operand for each, that of the panel,
    words from row to row, and the instruction."""

    sums: tuple[UOp, ...]
    rows: tuple[UOp, ...]
    panel: UOp
    step: int
    call: str


class Matrices:
    """The loops of a program that a matrix unit does."""

    def __init__(self, steps: Steps, dtypes: Sequence[str]) -> None:
        self._steps, self._dtypes = steps, dtypes

    def tile(self, block: Block, lanes: int) -> Tile | None:
        """The loop as a tile, if it is one, inside of so many lanes."""
        head, around = block.head, block.parent
        if not self._dtypes or head is None or around is None or block.blocks or head.src:
            return None
        lane = around.head
        if not around.is_loop or lane is None or around.lanes != lanes:
            return None
        phis = [n for n in block.nodes() if n.op.kernel is PHI]
        if len(phis) not in _ROWS or lanes not in _ROWS or head.arg.size % _SIDE:
            return None
        return self._found(block, phis, head, lane)

    def _found(self, block: Block, phis: list[UOp], head: UOp, lane: UOp) -> Tile | None:
        dots = [phi.src[1] for phi in phis]
        if any(dot.op is not _DOT or dot.arg != dots[0].arg for dot in dots):
            return None
        if dots[0].arg.dtype.name not in self._dtypes or not all(map(_starts_at_zero, phis)):
            return None
        sides = [self._sides(dot, head, lane) for dot in dots]
        found = [side for side in sides if side is not None]
        if len(found) < len(sides) or len({side[1:] for side in found}) > 1:
            return None
        rows, (_, panel, first) = tuple(row for row, _, _ in found), found[0]
        step = _distance([row.src[1] for row in rows])
        known = {*dots, *phis, *rows, panel}
        others = (n for n in block.nodes() if n not in known)
        if step is None or any(n.dtype.is_float or n.op.kernel is LOAD for n in others):
            return None
        call = _CALLS[dots[0].arg.dtype.name, first]
        return Tile(tuple(phi.src[0] for phi in phis), rows, panel, step, call)

    def _sides(self, dot: UOp, head: UOp, lane: UOp) -> tuple[UOp, UOp, bool] | None:
        """The loads of a row and of the panel, and whether the row comes first."""
        a, b, _ = dot.src
        size = lane.arg.size
        for row, panel in ((a, b), (b, a)):
            if self._lies(row, 1, 0, head, lane) and self._lies(panel, size, 1, head, lane):
                return row, panel, row is a
        return None

    def _lies(self, node: UOp, along: int, across: int, head: UOp, lane: UOp) -> bool:
        """Whether a load has these strides from iteration to iteration, and from lane to lane."""
        if node.op.kernel is not LOAD or gate_of(node) is not None:
            return False
        steps = [self._steps.of(node.src[1], loop) for loop in (head, lane)]
        return steps == [along, across]


def _starts_at_zero(phi: UOp) -> bool:
    start = phi.src[0].src[0]
    return start.op is _CONST and float(start.arg.value) == 0


def _distance(indices: Sequence[UOp]) -> int | None:
    """How far apart indices are, if each is as far from the one before; 0 for one alone."""
    parts = [_split(index) for index in indices]
    (base, first), *rest = parts
    step = rest[0][1] - first if rest else 0
    even = all(b is base and n == first + (i + 1) * step for i, (b, n) in enumerate(rest))
    return step if even and step >= 0 else None


def _split(index: UOp) -> tuple[UOp | None, int]:
    """An index as something and a number."""
    if index.op is _CONST:
        return None, int(index.arg.value)
    if index.op is OPS["add"]:
        for which, other in (index.src, index.src[::-1]):
            if which.op is _CONST:
                base, number = _split(other)
                return base, number + int(which.arg.value)
    return index, 0


class TileWriter:
    """The instructions of a tile; `left` and `right` are the addresses of its operands. All
    registers have one shape: the unit is configured once per function.
    """

    def __init__(self, w: Writer, tile: Tile, left: str, right: str, lanes: int) -> None:
        self._w, self._tile, self._lanes = w, tile, lanes
        self._left, self._right = left, right
        self._rows, self._columns = len(tile.rows) // _SIDE, lanes // _SIDE

    def multiply(self, size: int) -> list[str]:
        """All iterations of the loop; the vectors of the sums, row by row."""
        zero = "llvm.x86.tilezero.internal"
        sums = [self._matrix(zero) for _ in range(self._rows * self._columns)]
        return self._vectors(self._repeated(sums, size // _SIDE))

    def _matrix(self, name: str, *operands: str) -> str:
        return self._w.emit(self._w.call("x86_amx", name, *_SHAPE, *operands))

    def _at(self, start: str, offset: int | str) -> str:
        return self._w.emit(f"getelementptr i8, ptr {start}, i64 {offset}")

    def _repeated(self, sums: list[str], turns: int) -> list[str]:
        """This many iterations of 16 words each."""
        w = self._w
        source, inside, after = w.label, w.new_label(), w.new_label()
        w.effect(f"br label %{inside}")
        w.start_block(inside)
        header: Lines = []
        w.lines.append(header)
        turn, carried = w.fresh(), [w.fresh() for _ in sums]
        found = list(self._added(carried, turn))
        following = w.emit(f"add i64 {turn}, 1")
        more = w.emit(f"icmp slt i64 {following}, {turns}")
        w.effect(f"br i1 {more}, label %{inside}, label %{after}")
        header.append(f"  {turn} = phi i64 [ 0, %{source} ], [ {following}, %{inside} ]")
        for name, old, new in zip(carried, sums, found, strict=True):
            pair = f"[ {old}, %{source} ], [ {new}, %{inside} ]"
            header.append(f"  {name} = phi x86_amx {pair}")
        w.start_block(after)
        return found

    def _added(self, sums: list[str], turn: str) -> Iterator[str]:
        """The products of an iteration, added to the sums. Rows share one register in turn: there
        are eight in all.
        """
        w, step, line = self._w, self._tile.step * _WORD, self._lanes * _WORD
        left = self._at(self._left, w.emit(f"mul i64 {turn}, {_LINE}"))
        right = self._at(self._right, w.emit(f"mul i64 {turn}, {_SIDE * line}"))
        columns = [self._loaded(self._at(right, i * _LINE), line) for i in range(self._columns)]
        for row in range(self._rows):
            lines = self._loaded(self._at(left, row * _SIDE * step), step)
            for column, other in enumerate(columns):
                three = sums[row * self._columns + column], lines, other
                deep = f"i16 {_LINE}"
                yield self._matrix(self._tile.call, deep, *(f"x86_amx {x}" for x in three))

    def _loaded(self, place: str, step: int) -> str:
        return self._matrix("llvm.x86.tileloadd64.internal", f"ptr {place}", f"i64 {step}")

    def _vectors(self, sums: list[str]) -> list[str]:
        """The lines of the registers, by way of memory."""
        w, lanes, line = self._w, self._lanes, self._lanes * _WORD
        memory, count = w.fresh(), len(self._tile.rows)
        w.entry.append(f"  {memory} = alloca [{count * line} x i8], align 64")
        for number, total in enumerate(sums):
            row, column = divmod(number, self._columns)
            place = self._at(memory, row * _SIDE * line + column * _LINE)
            where = *_SHAPE, f"ptr {place}", f"i64 {line}", f"x86_amx {total}"
            w.effect(w.call("void", "llvm.x86.tilestored64.internal", *where))
        kind = ty.type_of(self._tile.sums[0].dtype, lanes)
        places = [self._at(memory, i * line) for i in range(count)]
        return [w.emit(f"load {kind}, ptr {place}, align 64") for place in places]


def pointer(w: Writer, buffer: Value, index: Value) -> str:
    """The address of an operand's words."""
    return w.emit(f"getelementptr i32, ptr {buffer.name}, i64 {index.name}")
