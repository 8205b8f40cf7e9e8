"""SUM_UP by the threads of a warp, in their order: updates of one place are added in turn.

The first of the threads with equal places loads the sum, adds its own number and those of the
others, one after another, and stores the result: scratch is read and written once, and the numbers
come from registers. It fetches the next thread's number in turn, a few times; if more threads have
equal places, all threads pass their numbers around, which takes the same time however many are
equal.
"""

from __future__ import annotations

from collections.abc import Callable

from adjoint.codegen.llvm.ops import apply
from adjoint.codegen.llvm.writer import Writer
from adjoint.codegen.nvptx.counting import alike_threads, ballot, bits_of, lower_threads, wait
from adjoint.ir.dtype import dtypes

_WARP = 32
_FEW = 3  # others that are alike, each of which is asked in turn
_TAKEN = "llvm.nvvm.shfl.sync.idx.i32"
_HIGHER = "llvm.nvvm.read.ptx.sreg.lanemask.gt"


def summed_up(
    w: Writer, buffer: str, index: str, size: int, value: str, opened: str | None
) -> None:
    """Adds each thread's number to its place, if its bounds check holds."""
    alike = alike_threads(w, index, (size - 1).bit_length())
    if opened is not None:
        alike = w.emit(f"and i32 {alike}, {ballot(w, opened)}")
    first = w.emit(f"icmp eq i32 {w.emit(f'and i32 {alike}, {lower_threads(w)}')}, 0")
    if opened is not None:
        first = w.emit(f"and i1 {first}, {opened}")
    others = w.emit(f"and i32 {alike}, {w.emit(w.call('i32', _HIGHER))}")
    others = w.emit(f"select i1 {first}, i32 {others}, i32 0")
    turn = _Turn(w, buffer, index, value, first)
    many = _any(w, f"icmp ugt i32 {bits_of(w, others)}, {_FEW}")
    _either(w, many, lambda: turn.all(others), lambda: turn.few(others))
    wait(w)


class _Turn:
    """The parts of one addition by all threads."""

    def __init__(self, w: Writer, buffer: str, index: str, value: str, first: str) -> None:
        self.w, self.first = w, first
        place = w.emit(f"getelementptr float, {buffer}, i32 {index}")
        self.cell = f"{buffer.rpartition(' ')[0]} {place}"
        self.word = w.emit(f"bitcast float {value} to i32")
        old = w.emit(f"load float, {self.cell}, align 4")
        self.own = apply(w, "add", dtypes.float32, [old, value], 1)

    def few(self, others: str) -> None:
        """Number after number, as long as one of the threads has another."""
        self._next(self.own, others, 0)

    def _next(self, total: str, others: str, asked: int) -> None:
        w = self.w
        if asked == _FEW:
            self._put(total)
            return
        more = _any(w, f"icmp ne i32 {others}, 0")
        _either(w, more, lambda: self._ask(total, others, asked), lambda: self._put(total))

    def _ask(self, total: str, others: str, asked: int) -> None:
        w = self.w
        thread = w.emit(w.call("i32", "llvm.cttz.i32", f"i32 {others}", "i1 true"))
        has = w.emit(f"icmp ne i32 {others}, 0")
        total = self._added(total, thread, has)
        rest = w.emit(f"and i32 {others}, {w.emit(f'add i32 {others}, -1')}")
        self._next(total, rest, asked + 1)

    def all(self, others: str) -> None:
        """The numbers of all threads, one after another, of which each takes some."""
        w, total = self.w, self.own
        for thread in range(1, _WARP):
            bit = 1 << thread if thread < _WARP - 1 else -(1 << thread)
            has = w.emit(f"icmp ne i32 {w.emit(f'and i32 {others}, {bit}')}, 0")
            total = self._added(total, str(thread), has)
        self._put(total)

    def _added(self, total: str, thread: str, has: str) -> str:
        """With the number of a thread, where that is one of the others."""
        w = self.w
        operands = ("i32 -1", f"i32 {self.word}", f"i32 {thread}", "i32 31")
        found = w.emit(w.call("i32", _TAKEN, *operands))
        number = w.emit(f"bitcast i32 {found} to float")
        after = apply(w, "add", dtypes.float32, [total, number], 1)
        return w.emit(f"select i1 {has}, float {after}, float {total}")

    def _put(self, total: str) -> None:
        store = f"store float {total}, {self.cell}, align 4"
        _either(self.w, self.first, lambda: self.w.effect(store), lambda: None)


def _any(w: Writer, condition: str) -> str:
    """Whether it holds for some thread, the same answer in all."""
    return w.emit(f"icmp ne i32 {ballot(w, w.emit(condition))}, 0")


def _either(w: Writer, condition: str, one: Callable[[], None], other: Callable[[], None]) -> None:
    """One or the other, as the condition says."""
    first, second, rest = w.new_label(), w.new_label(), w.new_label()
    w.effect(f"br i1 {condition}, label %{first}, label %{second}")
    for label, inside in ((first, one), (second, other)):
        w.start_block(label)
        inside()
        w.effect(f"br label %{rest}")
    w.start_block(rest)
