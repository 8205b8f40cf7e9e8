"""SUM_UP by the threads of a warp, in their order: what is added to one place is added in turn.

Threads whose places are alike add in rounds: first those with no lower one alike, then those with
one, then with two. A round takes as long as scratch does to give a number back. Where more are
alike, every thread adds up all numbers of its place in registers, one thread after another.
"""

from __future__ import annotations

from collections.abc import Callable

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.ops import apply
from adjoint.codegen.llvm.writer import Writer
from adjoint.codegen.nvptx.counting import alike_threads, ballot, bits_of, lower_threads, wait
from adjoint.ir.dtype import DType

_ROUNDS = 3  # a fourth takes as long as all threads in turn
_WARP = 32
_TAKEN = "llvm.nvvm.shfl.sync.idx.i32"


def summed_up(
    w: Writer, buffer: str, index: str, size: int, given: tuple[str, DType], opened: str | None
) -> None:
    """Each thread's number is added to its place, if its gate is open."""
    turn = _Turn(w, buffer, index, given)
    alike = alike_threads(w, index, (size - 1).bit_length())
    if opened is not None:
        alike = w.emit(f"and i32 {alike}, {ballot(w, opened)}")
    before = bits_of(w, w.emit(f"and i32 {alike}, {lower_threads(w)}"))
    many = turn.any(f"icmp sge i32 {before}, {_ROUNDS}", opened)
    _either(w, many, lambda: turn.all(alike, before, opened), lambda: turn.rounds(before, opened))


class _Turn:
    """The parts of one addition by all threads."""

    def __init__(self, w: Writer, buffer: str, index: str, given: tuple[str, DType]) -> None:
        self.w, (self.value, self.dtype) = w, given
        self.kind = ty.type_of(self.dtype)
        place = w.emit(f"getelementptr {self.kind}, {buffer}, i32 {index}")
        self.cell = f"{buffer.rpartition(' ')[0]} {place}"

    def any(self, condition: str, opened: str | None) -> str:
        """Whether it holds for some thread, the same answer in all."""
        found = ballot(self.w, self.mine(condition, opened))
        return self.w.emit(f"icmp ne i32 {found}, 0")

    def mine(self, condition: str, opened: str | None) -> str:
        held = self.w.emit(condition)
        return held if opened is None else self.w.emit(f"and i1 {held}, {opened}")

    def added(self, a: str, b: str) -> str:
        return apply(self.w, "add", self.dtype, [a, b], 1)

    def rounds(self, before: str, opened: str | None, number: int = 0) -> None:
        """Those with so many lower ones alike, and if there are any with more, they."""
        w = self.w
        _when(w, self.mine(f"icmp eq i32 {before}, {number}", opened), self.add)
        wait(w)
        if number + 1 < _ROUNDS:
            more = self.any(f"icmp sgt i32 {before}, {number}", opened)
            _when(w, more, lambda: self.rounds(before, opened, number + 1))

    def add(self) -> None:
        old = self.w.emit(f"load {self.kind}, {self.cell}, align 4")
        self.store(self.added(old, self.value))

    def store(self, name: str) -> None:
        self.w.effect(f"store {self.kind} {name}, {self.cell}, align 4")

    def all(self, alike: str, before: str, opened: str | None) -> None:
        """The numbers of all threads, one after another."""
        w, kind = self.w, self.kind
        total = w.emit(f"load {kind}, {self.cell}, align 4")
        for thread in range(_WARP):
            after = self.added(total, self.taken(thread))
            own = w.emit(f"and i32 {alike}, {1 << thread if thread < 31 else -(1 << 31)}")
            held = w.emit(f"icmp ne i32 {own}, 0")
            total = w.emit(f"select i1 {held}, {kind} {after}, {kind} {total}")
        wait(w)
        _when(w, self.mine(f"icmp eq i32 {before}, 0", opened), lambda: self.store(total))
        wait(w)

    def taken(self, thread: int) -> str:
        """The number of a thread."""
        w, word = self.w, self.value
        if self.kind != "i32":
            word = w.emit(f"bitcast {self.kind} {word} to i32")
        found = w.emit(w.call("i32", _TAKEN, "i32 -1", f"i32 {word}", f"i32 {thread}", "i32 31"))
        return found if self.kind == "i32" else w.emit(f"bitcast i32 {found} to {self.kind}")


def _when(w: Writer, condition: str, inside: Callable[[], None]) -> None:
    _either(w, condition, inside, lambda: None)


def _either(w: Writer, condition: str, one: Callable[[], None], other: Callable[[], None]) -> None:
    """One or the other, as the condition says."""
    first, second, rest = w.new_label(), w.new_label(), w.new_label()
    w.effect(f"br i1 {condition}, label %{first}, label %{second}")
    for label, inside in ((first, one), (second, other)):
        w.start_block(label)
        inside()
        w.effect(f"br label %{rest}")
    w.start_block(rest)
