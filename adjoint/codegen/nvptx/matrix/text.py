"""LLVM IR as text, written by Python: values, arithmetic, loops and branches of one kernel.

Python's loops are unrolled code; `loop` is a loop of the GPU, whose values are phis. What may live
here: what every kernel needs. What may not: instructions of one GPU (`hopper.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

Number = int | float


class Value(NamedTuple):
    """A name with its type, as LLVM writes them."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type} {self.name}"


Values = list[Value]
I32, I64, F32, BOOL = "i32", "i64", "float", "i1"
_INFIX = {"add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "sdiv", "srem"}


def constant(value: Number, kind: str = I32) -> Value:
    """A number; floats are written with all their bits."""
    if kind != F32:
        return Value(kind, str(int(value)))
    return Value(kind, _float_bits(value))


def _float_bits(value: float) -> str:
    exact = struct.unpack("<f", struct.pack("<f", value))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', exact))[0]:016X}"


class Text:
    """The lines of a kernel, and the names that are taken."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0
        self._block = "entry"

    def _name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def new(self, kind: str, expression: str) -> Value:
        """A value that an instruction makes."""
        found = Value(kind, self._name())
        self.lines.append(f"  {found.name} = {expression}")
        return found

    def do(self, instruction: str) -> None:
        """An instruction without a value."""
        self.lines.append(f"  {instruction}")

    # ---- arithmetic

    def integer(self, op: str, a: Value, b: Value | int) -> Value:
        """`add`, `mul`, `and`, … of integers."""
        assert op in _INFIX, op
        right = b if isinstance(b, Value) else constant(b, a.type)
        return self.new(a.type, f"{op} {a}, {right.name}")

    def add(self, a: Value, b: Value | int) -> Value:
        return self.integer("add", a, b)

    def sub(self, a: Value, b: Value | int) -> Value:
        return self.integer("sub", a, b)

    def mul(self, a: Value, b: Value | int) -> Value:
        return self.integer("mul", a, b)

    def wide(self, a: Value) -> Value:
        """32 bits as 64."""
        return self.new(I64, f"sext {a} to i64")

    def narrow(self, a: Value) -> Value:
        """64 bits as 32."""
        return self.new(I32, f"trunc {a} to i32")

    def compare(self, how: str, a: Value, b: Value | int) -> Value:
        """`slt`, `eq`, … of integers."""
        right = b if isinstance(b, Value) else constant(b, a.type)
        return self.new(BOOL, f"icmp {how} {a}, {right.name}")

    def select(self, which: Value, a: Value, b: Value) -> Value:
        return self.new(a.type, f"select {which}, {a}, {b}")

    def least(self, a: Value, b: Value) -> Value:
        return self.select(self.compare("slt", a, b), a, b)

    def most(self, a: Value, b: Value) -> Value:
        return self.select(self.compare("sgt", a, b), a, b)

    def up(self, a: Value, step: int) -> Value:
        """How many steps cover so many."""
        return self.integer("sdiv", self.add(a, step - 1), step)

    def fadd(self, a: Value, b: Value) -> Value:
        return self.new(F32, f"fadd {a}, {b.name}")

    def fsub(self, a: Value, b: Value) -> Value:
        return self.new(F32, f"fsub {a}, {b.name}")

    def fmul(self, a: Value, b: Value) -> Value:
        return self.new(F32, f"fmul {a}, {b.name}")

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        return self.new(F32, f"call float @llvm.fma.f32({a}, {b}, {c})")

    def fmax(self, a: Value, b: Value) -> Value:
        return self.new(F32, f"call float @llvm.maxnum.f32({a}, {b})")

    def negated(self, a: Value) -> Value:
        return self.new(F32, f"fneg {a}")

    def is_equal(self, a: Value, b: Value) -> Value:
        return self.new(BOOL, f"fcmp oeq {a}, {b.name}")

    # ---- control

    def label(self, name: str) -> None:
        self._block = name
        self.lines.append(f"{name}:")

    def _labels(self, *names: str) -> list[str]:
        self._count += 1
        return [f"{name}{self._count}" for name in names]

    def loop(
        self,
        start: Value,
        end: Value,
        values: Sequence[Value],
        body: Callable[[Value, Values], Sequence[Value]],
    ) -> Values:
        """`for i in range(start, end)`: the body's results are the values of the next iteration;
        returns those of the last one.
        """
        found = self.repeat(
            [start, *values],
            lambda around: self.compare("slt", around[0], end),
            lambda around: [self.add(around[0], 1), *body(around[0], around[1:])],
        )
        return found[1:]

    def repeat(
        self,
        values: Sequence[Value],
        test: Callable[[Values], Value],
        body: Callable[[Values], Sequence[Value]],
    ) -> Values:
        """`while test: body`: the body's results are the values of the next iteration; returns the
        values for which the test failed.
        """
        head, inside, done = self._labels("head", "inside", "done")
        before = self._block
        around = [Value(value.type, self._name()) for value in values]
        self.do(f"br label %{head}")
        self.label(head)
        place = len(self.lines)
        more = test(list(around))
        self.do(f"br {more}, label %{inside}, label %{done}")
        self.label(inside)
        after = body(list(around))
        self.do(f"br label %{head}")
        last = self._block
        rows = zip(around, values, after, strict=True)
        self.lines[place:place] = [
            f"  {own.name} = phi {own.type} [{first.name}, %{before}], [{new.name}, %{last}]"
            for own, first, new in rows
        ]
        self.label(done)
        return around

    def branch(self, which: Value, yes: Callable[[], None], no: Callable[[], None]) -> None:
        """Two branches that join without a value."""
        left, right, done = self._labels("yes", "no", "done")
        self.do(f"br {which}, label %{left}, label %{right}")
        for name, way in ((left, yes), (right, no)):
            self.label(name)
            way()
            self.do(f"br label %{done}")
        self.label(done)

    def when(self, which: Value, then: Callable[[], None]) -> None:
        """One way, or none."""
        self.branch(which, then, lambda: None)

    # ---- instructions of the GPU

    def asm(
        self, text: str, constraints: str, operands: Sequence[Value] = (), pure: bool = False
    ) -> None:
        """PTX with operands and no result."""
        self.do(self._asm("void", text, constraints, operands, pure))

    def asm_value(
        self,
        kind: str,
        text: str,
        constraints: str,
        operands: Sequence[Value] = (),
        pure: bool = True,
    ) -> Value:
        """PTX with one result."""
        return self.new(kind, self._asm(kind, text, constraints, operands, pure))

    def asm_values(
        self, kinds: Sequence[str], text: str, constraints: str, operands: Sequence[Value]
    ) -> Values:
        """PTX with several results, which stays where it is written."""
        kind = "{" + ", ".join(kinds) + "}"
        whole = self.new(kind, self._asm(kind, text, constraints, operands, False))
        return [self.new(k, f"extractvalue {whole}, {i}") for i, k in enumerate(kinds)]

    def _asm(
        self, kind: str, text: str, constraints: str, operands: Sequence[Value], pure: bool
    ) -> str:
        effect = "" if pure else "sideeffect "
        given = ", ".join(map(str, operands))
        text = text.replace("\n", "\\0A\\09")
        return f'call {kind} asm {effect}"{text}", "{constraints}"({given})'
