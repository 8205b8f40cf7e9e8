"""COUNT_UP by the threads of a warp, in their order: no two write to a count at once.

Threads find those with the same index bit by bit: `match.any` takes longer the more indices there
are.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjoint.codegen.llvm.writer import Writer

_ALL = "i32 -1"  # threads of a warp
_BALLOT = "llvm.nvvm.vote.ballot.sync"
# Where a bit is set, the threads that have it stay, else those that have not. So written, bits of a
# word go to predicates in one instruction; LLVM's own text shifts and masks for each. There are
# seven predicates, and the assembler gives up where it would need more: four bits at a time.
_BIT = "and.b32 {name}, w, {bit}; setp.ne.u32 p, {name}, 0; "
_BIT += "vote.sync.ballot.b32 {name}, p, 0xffffffff; @!p not.b32 {name}, {name};"
_TOGETHER = 4
_LOWER = "llvm.nvvm.read.ptx.sreg.lanemask.lt"


def counted_up(w: Writer, buffer: str, index: str, size: int) -> str:
    """This thread's count: the previous one, plus the lower threads with the same index. The first
    of them stores the final count.
    """
    alike = alike_threads(w, index, (size - 1).bit_length())
    before = bits_of(w, w.emit(f"and i32 {alike}, {lower_threads(w)}"))
    cell = _cell(w, buffer, index)
    old = w.emit(f"load i32, {cell}, align 4")
    after = w.emit(f"add i32 {old}, {bits_of(w, alike)}")
    wait(w)
    first, body, rest = w.emit(f"icmp eq i32 {before}, 0"), w.new_label(), w.new_label()
    w.effect(f"br i1 {first}, label %{body}, label %{rest}")
    w.start_block(body)
    w.effect(f"store i32 {after}, {cell}, align 4")
    w.effect(f"br label %{rest}")
    w.start_block(rest)
    wait(w)
    return w.emit(f"add i32 {old}, {before}")


def counted(w: Writer, buffer: str, index: str) -> None:
    """One more, where the number is not used: the order does not matter."""
    w.emit(f"atomicrmw add {_cell(w, buffer, index)}, i32 1 monotonic")


def alike_threads(w: Writer, index: str, bits: int) -> str:
    """The threads with the same index, as bits."""
    if not bits:
        return "-1"
    lines = ["mov.b32 w, $1;", _BIT.format(name="$0", bit=1), *_pairs(range(1, bits))]
    text = "{ .reg .pred p; .reg .b32 w, m, n; " + " ".join(lines) + " }"
    return w.emit(f'call i32 asm sideeffect "{text}", "=&r,r"(i32 {index}) convergent')


def _pairs(bits: range) -> Iterator[str]:
    """What more bits say, two at a time: an operation has three operands."""
    for bit in bits[::2]:
        yield from _bit("m", bit)
        if bit + 1 in bits:
            yield from _bit("n", bit + 1)
            yield "lop3.b32 $0, $0, m, n, 0x80;"
        else:
            yield "and.b32 $0, $0, m;"


def _bit(name: str, bit: int) -> Iterator[str]:
    if bit % _TOGETHER == 0:
        yield f"shr.u32 w, w, {_TOGETHER};"
    yield _BIT.format(name=name, bit=1 << bit % _TOGETHER)


def ballot(w: Writer, truth: str) -> str:
    """The threads for which it holds, as bits."""
    return w.emit(w.call("i32", _BALLOT, _ALL, f"i1 {truth}"))


def lower_threads(w: Writer) -> str:
    """Those before this one, as bits."""
    return w.emit(w.call("i32", _LOWER))


def _cell(w: Writer, buffer: str, index: str) -> str:
    place = w.emit(f"getelementptr i32, {buffer}, i32 {index}")
    return f"{buffer.rpartition(' ')[0]} {place}"


def bits_of(w: Writer, mask: str) -> str:
    """How many are set."""
    return w.emit(w.call("i32", "llvm.ctpop.i32", f"i32 {mask}"))


def wait(w: Writer) -> None:
    """A barrier of the warp: previous writes of its threads to scratch are visible afterwards."""
    w.effect(w.call("void", "llvm.nvvm.bar.warp.sync", _ALL))
