"""COUNT_UP by the threads of a warp, in their order: no two write to a count at once.

Who has the same index is asked bit by bit: `match.any` takes longer the more indices there are.
"""

from __future__ import annotations

from adjoint.codegen.llvm.writer import Writer

_ALL = "i32 -1"  # threads of a warp
_BALLOT = "llvm.nvvm.vote.ballot.sync"
_LOWER = "llvm.nvvm.read.ptx.sreg.lanemask.lt"


def counted_up(w: Writer, buffer: str, index: str, size: int) -> str:
    """What this thread counts: what was there, and the lower threads with the same index. The
    first of them stores what there is after all."""
    alike = _alike(w, index, (size - 1).bit_length())
    lower = w.emit(w.call("i32", _LOWER))
    before = _bits(w, w.emit(f"and i32 {alike}, {lower}"))
    cell = _cell(w, buffer, index)
    old = w.emit(f"load i32, {cell}, align 4")
    after = w.emit(f"add i32 {old}, {_bits(w, alike)}")
    _wait(w)
    first, body, rest = w.emit(f"icmp eq i32 {before}, 0"), w.new_label(), w.new_label()
    w.effect(f"br i1 {first}, label %{body}, label %{rest}")
    w.start_block(body)
    w.effect(f"store i32 {after}, {cell}, align 4")
    w.effect(f"br label %{rest}")
    w.start_block(rest)
    _wait(w)
    return w.emit(f"add i32 {old}, {before}")


def counted(w: Writer, buffer: str, index: str) -> None:
    """One more, where the number is not used: the order does not matter."""
    w.emit(f"atomicrmw add {_cell(w, buffer, index)}, i32 1 monotonic")


def _alike(w: Writer, index: str, bits: int) -> str:
    """The threads with the same index, as bits."""
    found = "-1"
    for bit in range(bits):
        own = w.emit(f"icmp ne i32 {w.emit(f'and i32 {index}, {1 << bit}')}, 0")
        theirs = w.emit(w.call("i32", _BALLOT, _ALL, f"i1 {own}"))
        turned = w.emit(f"xor i32 {theirs}, -1")
        same = w.emit(f"select i1 {own}, i32 {theirs}, i32 {turned}")
        found = w.emit(f"and i32 {found}, {same}")
    return found


def _cell(w: Writer, buffer: str, index: str) -> str:
    place = w.emit(f"getelementptr i32, {buffer}, i32 {index}")
    return f"{buffer.rpartition(' ')[0]} {place}"


def _bits(w: Writer, mask: str) -> str:
    """How many are set."""
    return w.emit(w.call("i32", "llvm.ctpop.i32", f"i32 {mask}"))


def _wait(w: Writer) -> None:
    w.effect(w.call("void", "llvm.nvvm.bar.warp.sync", _ALL))
