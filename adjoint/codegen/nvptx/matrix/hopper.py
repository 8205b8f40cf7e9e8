"""Instructions of a Hopper GPU (sm_90a) on tiles: copies into shared memory, barriers, products.

A tile of 16-bit numbers is in shared memory as panels of 64 columns. A row of a panel is 128 bytes,
whose 16-byte pieces are swizzled by the row's number modulo 8, so that neither copies nor products
have bank conflicts. Products of a warpgroup (four warps) read panels along either axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjoint.codegen.nvptx.matrix.text import BOOL, F32, I32, I64, Text, Value, Values, constant

WARP, WARPGROUP = 32, 128
PANEL = 64  # columns
ROW = 128  # bytes of a row of a panel
_ATOM = 8 * ROW  # bytes of eight rows, after which pieces lie as before
_SWIZZLED = 1 << 62
_PIECE = 16  # bytes of a copy
_DEPTH = 16  # numbers that one instruction adds up
_COPYING = 4  # a barrier of the GPU; those below are for turns, that of all threads is 0
_LETTERS = {I32: "r", F32: "f"}  # of inline assembly
_WORDS = {"bfloat16": "bf16", "float16": "f16"}


@dataclass(frozen=True, slots=True)
class Tile:
    """Where a tile is: rows and columns (a multiple of 64) from an offset in shared memory on."""

    offset: int
    rows: int
    columns: int

    @property
    def panel_bytes(self) -> int:
        return self.rows * ROW

    @property
    def nbytes(self) -> int:
        return self.panel_bytes * (self.columns // PANEL)


class Hopper(Text):
    """A kernel on tiles of a 16-bit dtype."""

    def __init__(self, dtype: str) -> None:
        super().__init__()
        self.word = _WORDS[dtype]

    # ---- who I am

    def special(self, name: str) -> Value:
        """A register that the GPU sets: `tid.x`, `ctaid.x`."""
        return self.new(I32, f"call i32 @llvm.nvvm.read.ptx.sreg.{name}()")

    def always(self) -> Value:
        """What holds for every thread."""
        return Value(BOOL, "true")

    def shared(self) -> Value:
        """The address of the block's shared memory."""
        return self.new(I32, "ptrtoint ptr addrspace(3) @shared to i32")

    def registers(self, count: int, more: bool) -> None:
        """A warpgroup takes registers, or gives some up."""
        way = "inc" if more else "dec"
        self.asm(f"setmaxnreg.{way}.sync.aligned.u32 {count};", "")

    # ---- barriers in shared memory

    def barrier_made(self, address: Value, count: int) -> None:
        """A barrier that completes a phase after this many arrivals."""
        self.asm("mbarrier.init.shared::cta.b64 [$0], $1;", "r,r", [address, constant(count)])

    def barriers_ready(self) -> None:
        """Makes all barriers visible to all threads."""
        self.asm("fence.mbarrier_init.release.cluster;", "~{memory}")
        self.asm("bar.sync 0;", "~{memory}")

    def arrive(self, address: Value, which: Value) -> None:
        """Those threads for which it holds arrive."""
        text = (
            "{\n.reg .pred p;\nsetp.ne.b32 p, $1, 0;\n"
            "@p mbarrier.arrive.shared::cta.b64 _, [$0];\n}"
        )
        number = self.new(I32, f"zext {which} to i32")
        self.asm(text, "r,r,~{memory}", [address, number])

    def wait(self, address: Value, phase: Value) -> None:
        """Waits until the barrier has completed this phase."""
        text = (
            "{\n.reg .pred p;\nAGAIN:\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;\n"
            "@p bra DONE;\nbra AGAIN;\nDONE:\n}"
        )
        self.asm(text, "r,r,~{memory}", [address, phase])

    def take_turn(self, number: Value) -> None:
        """Waits for the signal of another warpgroup."""
        self.asm(f"bar.sync $0, {2 * WARPGROUP};", "r,~{memory}", [number])

    def give_turn(self, number: Value) -> None:
        """Another warpgroup may go on."""
        self.asm(f"bar.arrive $0, {2 * WARPGROUP};", "r,~{memory}", [number])

    def together(self) -> None:
        """The threads of the warpgroup that copies wait for one another."""
        self.asm(f"bar.sync {_COPYING}, {WARPGROUP};", "~{memory}")

    def counted_up(self, address: Value, which: Value) -> Value:
        """A number in memory, which those threads for which it holds make one larger; zero for
        others."""
        text = (
            "{\n.reg .pred p;\nsetp.ne.b32 p, $2, 0;\nmov.b32 $0, 0;\n"
            "@p atom.global.add.u32 $0, [$1], 1;\n}"
        )
        number = self.new(I32, f"zext {which} to i32")
        return self.asm_value(I32, text, "=&r,l,r,~{memory}", [address, number], pure=False)

    def put(self, value: Value, address: Value, which: Value) -> None:
        """A number into shared memory, by those threads for which it holds."""
        text = "{\n.reg .pred p;\nsetp.ne.b32 p, $2, 0;\n@p st.shared.b32 [$0], $1;\n}"
        number = self.new(I32, f"zext {which} to i32")
        self.asm(text, "r,r,r,~{memory}", [address, value, number])

    def got(self, address: Value) -> Value:
        """A number from shared memory."""
        text = "ld.shared.b32 $0, [$1];"
        return self.asm_value(I32, text, "=r,r,~{memory}", [address], pure=False)

    # ---- copies

    def copy_piece(self, to: Value, source: Value, which: Value) -> None:
        """16 bytes from memory, or zeros."""
        size = self.select(which, constant(_PIECE), constant(0))
        text = "cp.async.cg.shared.global [$0], [$1], 16, $2;"
        self.asm(text, "r,l,r,~{memory}", [to, source, size])

    def copy_number(self, to: Value, source: Value, which: Value) -> None:
        """Four bytes from memory, or zeros."""
        size = self.select(which, constant(4), constant(0))
        text = "cp.async.ca.shared.global [$0], [$1], 4, $2;"
        self.asm(text, "r,l,r,~{memory}", [to, source, size])

    def copies_end(self) -> None:
        """The copies so far are a group."""
        self.asm("cp.async.commit_group;", "~{memory}")

    def copies_done(self, pending: int) -> None:
        """Waits until all but this many groups have arrived, for products too."""
        self.asm(f"cp.async.wait_group {pending};\nfence.proxy.async.shared::cta;", "~{memory}")

    # ---- products

    def described(self, address: Value, step: int, across: int) -> Value:
        """The descriptor of a panel for a product: its address, the bytes from eight rows to the
        next eight, and from panel to panel.
        """
        start = self.new(I64, f"zext {self.integer('lshr', address, 4)} to i64")
        facts = _SWIZZLED | (step >> 4) << 32 | (across >> 4) << 16
        facts = facts - (1 << 64) if facts >> 63 else facts
        return self.integer("or", start, facts)

    def rows_of(self, address: Value) -> Value:
        """A tile whose rows are summed along their columns."""
        return self.described(address, _ATOM, _PIECE)

    def columns_of(self, address: Value, tile: Tile) -> Value:
        """A tile whose columns are summed along its rows."""
        return self.described(address, _ATOM, tile.panel_bytes)

    def product(
        self,
        columns: int,
        left: Value | Sequence[Value],
        right: Value,
        steps: Sequence[tuple[int, int]],
        totals: Sequence[Value] = (),
        turned: bool = False,
    ) -> Values:
        """Begin totals + left @ right of 64 rows by a warpgroup: left from shared memory or from
        registers, right a tile. `steps` are the offsets (in bytes) of left and right for every 16
        summed numbers.
        """
        count = columns // 2
        own = isinstance(left, Value)
        shift = len(totals)  # operands in front of the others
        places = ", ".join(f"${i}" for i in range(count))
        given = [left] if isinstance(left, Value) else list(left)
        first = count + shift
        second = first + len(given)
        lines = ["{", ".reg .b64 a, b;", ".reg .pred p;", f"setp.ne.b32 p, ${second + 1}, 0;"]
        lines.append("wgmma.fence.sync.aligned;")
        name = f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{self.word}.{self.word}"
        for number, (a, b) in enumerate(steps):
            if own:
                lines.append(f"add.s64 a, ${first}, {a >> 4};")
                operand, flags = "a", f"1, 1, 0, {int(turned)}"
            else:
                four = ", ".join(f"${first + 4 * number + i}" for i in range(4))
                operand, flags = "{" + four + "}", f"1, 1, {int(turned)}"
            lines.append(f"add.s64 b, ${second}, {b >> 4};")
            lines.append(f"{name} {{{places}}}, {operand}, b, p, {flags};")
            if number == 0:
                lines.append(f"setp.eq.b32 p, ${second + 1}, ${second + 1};")
        lines += ["wgmma.commit_group.sync.aligned;", "}"]
        results = ",".join(["=f"] * count)
        tied = ",".join(str(i) for i in range(shift))
        inputs = ",".join([*(["l"] if own else ["r"] * len(given)), "l", "r"])
        constraints = ",".join(part for part in (results, tied, inputs, "~{memory}") if part)
        operands = [*totals, *given, right, constant(int(bool(totals)))]
        return self.asm_values([F32] * count, "\n".join(lines), constraints, operands)

    def finished(self, totals: Sequence[Value], pending: int = 0) -> Values:
        """The totals, when all products but the last so many are done."""
        constraints = ",".join(["=f"] * len(totals) + [str(i) for i in range(len(totals))])
        text = f"wgmma.wait_group.sync.aligned {pending};"
        return self.asm_values([F32] * len(totals), text, constraints + ",~{memory}", totals)

    # ---- numbers

    def exp2(self, x: Value) -> Value:
        return self.asm_value(F32, "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x])

    def log2(self, x: Value) -> Value:
        return self.asm_value(F32, "lg2.approx.f32 $0, $1;", "=f,f", [x])

    def reciprocal(self, x: Value) -> Value:
        return self.asm_value(F32, "rcp.rn.f32 $0, $1;", "=f,f", [x])

    def packed(self, low: Value, high: Value) -> Value:
        """Two numbers rounded to 16 bits each, in one word."""
        text = f"cvt.rn.{self.word}x2.f32 $0, $1, $2;"
        return self.asm_value(I32, text, "=r,f,f", [high, low])

    def across(self, x: Value, distance: int) -> Value:
        """The value of another thread of the warp."""
        text = f"shfl.sync.bfly.b32 $0, $1, {distance}, 31, -1;"
        letter = _LETTERS[x.type]
        return self.asm_value(x.type, text, f"={letter},{letter}", [x], pure=False)

    def turned(self, words: Sequence[Value], lane: Value) -> Values:
        """A word for each of four threads side by side, from each of these four: in their order."""
        a, b, c, d = words
        odd = self.compare("eq", self.integer("and", lane, 1), 1)
        high = self.compare("eq", self.integer("and", lane, 2), 2)
        a, b = self._exchanged(a, b, odd, 1)
        c, d = self._exchanged(c, d, odd, 1)
        a, c = self._exchanged(a, c, high, 2)
        b, d = self._exchanged(b, d, high, 2)
        return [a, b, c, d]

    def _exchanged(
        self, low: Value, high: Value, which: Value, distance: int
    ) -> tuple[Value, Value]:
        """The high word of one thread against the low word of the other."""
        got = self.across(self.select(which, low, high), distance)
        return self.select(which, got, low), self.select(which, high, got)

    def store(self, kind: str, value: Value, address: Value, which: Value) -> None:
        """A store to memory by those threads for which it holds."""
        text = f"{{\n.reg .pred p;\nsetp.ne.b32 p, $2, 0;\n@p st.global.{kind} [$0], $1;\n}}"
        number = self.new(I32, f"zext {which} to i32")
        letter = _LETTERS[value.type]
        self.asm(text, f"l,{letter},r,~{{memory}}", [address, value, number])

    def store_four(self, words: Sequence[Value], address: Value, which: Value) -> None:
        """16 bytes."""
        text = (
            "{\n.reg .pred p;\nsetp.ne.b32 p, $5, 0;\n"
            "@p st.global.v4.b32 [$0], {$1, $2, $3, $4};\n}"
        )
        number = self.new(I32, f"zext {which} to i32")
        self.asm(text, "l,r,r,r,r,r,~{memory}", [address, *words, number])

    def load(self, address: Value, which: Value) -> Value:
        """A float from memory, or zero."""
        text = (
            "{\n.reg .pred p;\nsetp.ne.b32 p, $2, 0;\nmov.f32 $0, 0f00000000;\n"
            "@p ld.global.f32 $0, [$1];\n}"
        )
        number = self.new(I32, f"zext {which} to i32")
        return self.asm_value(F32, text, "=&f,l,r", [address, number], pure=False)

    def load_byte(self, address: Value, which: Value) -> Value:
        """A byte from memory, or zero."""
        text = (
            "{\n.reg .pred p;\nsetp.ne.b32 p, $2, 0;\nmov.b32 $0, 0;\n@p ld.global.u8 $0, [$1];\n}"
        )
        number = self.new(I32, f"zext {which} to i32")
        return self.asm_value(I32, text, "=&r,l,r", [address, number], pure=False)

    def load_four(self, address: Value, which: Value) -> Values:
        """16 bytes from memory, or zeros, as words."""
        text = (
            "{\n.reg .pred p;\nsetp.ne.b32 p, $5, 0;\nmov.b32 $0, 0;\nmov.b32 $1, 0;\n"
            "mov.b32 $2, 0;\nmov.b32 $3, 0;\n@p ld.global.v4.b32 {$0, $1, $2, $3}, [$4];\n}"
        )
        number = self.new(I32, f"zext {which} to i32")
        return self.asm_values([I32] * 4, text, "=&r,=&r,=&r,=&r,l,r", [address, number])

    def unpacked(self, word: Value) -> Values:
        """The two numbers of a word."""
        text = (
            "{\n.reg .b16 a, b;\nmov.b32 {a, b}, $2;\n"
            f"cvt.f32.{self.word} $0, a;\ncvt.f32.{self.word} $1, b;\n}}"
        )
        return self.asm_values([F32, F32], text, "=f,=f,r", [word])

    def load_pair(self, address: Value) -> Values:
        """Two floats next to one another in shared memory."""
        text = "ld.shared.v2.f32 {$0, $1}, [$2];"
        return self.asm_values([F32, F32], text, "=f,=f,r,~{memory}", [address])

    def module(self, name: str, parameters: Sequence[str], threads: int, metadata: str) -> str:
        """The whole text."""
        given = ", ".join(f"i64 %{p}" for p in parameters)
        body = "\n".join(self.lines)
        return _MODULE.format(name=name, given=given, body=body, threads=threads, metadata=metadata)


def both(text: Text, a: Value, b: Value) -> Value:
    """Whether both hold."""
    return text.new(BOOL, f"and {a}, {b.name}")


_MODULE = """target triple = "nvptx64-nvidia-cuda"

@shared = external addrspace(3) global [0 x i8], align 1024

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.maxnum.f32(float, float)

define ptx_kernel void @{name}({given}) #0 {{
entry:
{body}
  ret void
}}

attributes #0 = {{ "nvvm.maxntid"="{threads},1,1" "nvvm.minctasm"="1" }}
{metadata}
"""
