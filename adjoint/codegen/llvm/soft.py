"""Emulates instructions that a processor lacks by others: the same bits, and no library.

Without these LLVM would call `fma`, `floor` and other functions of the C library, which another
system may lack or may round differently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.cast import FloatBits
from adjoint.codegen.llvm.soft_text import FUSED
from adjoint.codegen.llvm.writer import Writer
from adjoint.ir.dtype import DType, dtypes

_WHOLE = {"float32": 2.0**23, "float64": 2.0**52}  # from here on every float is a whole number


class _Real(FloatBits):
    """Float arithmetic that keeps what rounding loses."""

    def call(self, name: str, *operands: str) -> str:
        typed = [f"{self.type} {operand}" for operand in operands]
        return self.w.emit(self.w.call(self.type, f"llvm.{name}.{self.suffix}", *typed))

    def two_sum(self, a: str, b: str) -> tuple[str, str]:
        """The sum, and what its rounding lost."""
        total = self.do("fadd", a, b)
        second = self.do("fsub", total, a)
        first = self.do("fsub", total, second)
        lost = self.do("fadd", self.do("fsub", a, first), self.do("fsub", b, second))
        return total, lost

    def odd_sum(self, a: str, b: str) -> str:
        """The sum with its last bit set where the sum is not exact: a second rounding is right."""
        total, lost = self.two_sum(a, b)
        raw = self.to_bits(total)
        even = self.on_bits("icmp eq", self.on_bits("and", raw, 1), 0)
        inexact = self.do("fcmp one", lost, "zeroinitializer")
        turned = self.w.emit(f"and {self.truth} {even}, {inexact}")
        apart = self.on_bits("xor", self.to_bits(lost), raw)
        inwards = self.on_bits("icmp slt", apart, 0)
        step = self.either_bits(inwards, self.whole(-1), self.whole(1))
        step = self.either_bits(turned, step, self.whole(0))
        return self.of_bits(self.on_bits("add", raw, step))


def _rounded(w: Writer, op: str, dtype: DType, names: Sequence[str], lanes: int) -> str:
    """floor, ceil, trunc and round: adding and taking away a power of two leaves the nearest whole
    number, which the direction corrects."""
    r, x = _Real(w, dtype, lanes), names[0]
    size = r.call("fabs", x)
    magic = r.number(_WHOLE[dtype.name])
    near = r.do("fsub", r.do("fadd", size, magic), magic)
    if op == "trunc":
        near = _corrected(r, near, size, "ogt", -1.0)
    near = r.call("copysign", near, x)
    if op in ("floor", "ceil"):
        test, step = ("ogt", -1.0) if op == "floor" else ("olt", 1.0)
        near = r.call("copysign", _corrected(r, near, x, test, step), x)
    return r.either(r.do("fcmp olt", size, magic), near, x)


def _corrected(r: _Real, near: str, x: str, test: str, step: float) -> str:
    beyond = r.do(f"fcmp {test}", near, x)
    return r.either(beyond, r.do("fadd", near, r.number(step)), near)


def _fused(w: Writer, op: str, dtype: DType, names: Sequence[str], lanes: int) -> str:
    """a b + c with one rounding."""
    if dtype is dtypes.float64:
        return _fused_double(w, names, lanes)
    wide, narrow = _Real(w, dtypes.float64, lanes), ty.vector_of("float", lanes)
    a, b, c = (w.emit(f"fpext {narrow} {x} to {wide.type}") for x in names)
    total = wide.odd_sum(wide.do("fmul", a, b), c)  # the product of two float32 is exact
    return w.emit(f"fptrunc {wide.type} {total} to {narrow}")


def _fused_double(w: Writer, names: Sequence[str], lanes: int) -> str:
    """By a function: vectors where no exponent is extreme, else by integers, lane by lane."""
    w.declared["adjoint.fma"] = FUSED
    kind, name = ty.vector_of("double", lanes), f"adjoint.fma.v{lanes}"
    if name not in w.declared:
        w.declared[name] = _fused_function(name, kind, w, lanes)
    return w.emit(f"call {kind} @{name}({', '.join(f'{kind} {x}' for x in names)})")


def _fused_function(name: str, kind: str, outer: Writer, lanes: int) -> str:
    w = Writer(outer.processor)
    w.declared = outer.declared
    r = _Real(w, dtypes.float64, lanes)
    fast, good = _fused_parts(r)
    bits = f"i{lanes}"
    mask = good if lanes == 1 else w.emit(f"bitcast {r.truth} {good} to {bits}")
    every = w.emit(f"icmp eq {bits} {mask}, {'true' if lanes == 1 else '-1'}")
    w.effect(f"br i1 {every}, label %done, label %slow")
    w.start_block("slow")
    slow = _lane_by_lane(w, kind, lanes)
    w.effect("br label %done")
    w.start_block("done")
    w.effect(f"%out = phi {kind} [ {fast}, %start ], [ {slow}, %slow ]")
    w.effect(f"ret {kind} %out")
    head = f"define internal {kind} @{name}({kind} %a, {kind} %b, {kind} %c) nounwind {{"
    return "\n".join([head, "start:", *map(str, w.lines), "}"])


def _fused_parts(r: _Real) -> tuple[str, str]:
    """The result by Boldo and Melquiond's sums rounded to odd, and the lanes where it is right."""
    a, b, c = "%a", "%b", "%c"
    high, low = _two_product(r, a, b)
    upper, lower = r.two_sum(c, low)
    total, lost = r.two_sum(high, upper)
    value = r.do("fadd", total, r.odd_sum(lower, lost))
    zero = r.w.emit(f"or {r.truth} {_is_zero(r, a)}, {_is_zero(r, b)}")
    value = r.either(zero, r.do("fadd", r.do("fmul", a, b), c), value)
    near = r.w.emit(f"and {r.truth} {_moderate(r, a, 400)}, {_moderate(r, b, 400)}")
    third = r.w.emit(f"or {r.truth} {_moderate(r, c, 800)}, {_is_zero(r, c)}")
    good = r.w.emit(f"or {r.truth} {r.w.emit(f'and {r.truth} {near}, {third}')}, {zero}")
    return value, good


def _two_product(r: _Real, a: str, b: str) -> tuple[str, str]:
    """Dekker's: the product, and what its rounding lost."""
    product = r.do("fmul", a, b)
    (a_high, a_low), (b_high, b_low) = _split(r, a), _split(r, b)
    rest = r.do("fsub", r.do("fmul", a_high, b_high), product)
    rest = r.do("fadd", rest, r.do("fmul", a_high, b_low))
    rest = r.do("fadd", rest, r.do("fmul", a_low, b_high))
    return product, r.do("fadd", rest, r.do("fmul", a_low, b_low))


def _split(r: _Real, x: str) -> tuple[str, str]:
    """Two halves of 26 bits."""
    scaled = r.do("fmul", x, r.number(2.0**27 + 1))
    high = r.do("fsub", scaled, r.do("fsub", scaled, x))
    return high, r.do("fsub", x, high)


def _is_zero(r: _Real, x: str) -> str:
    return r.do("fcmp oeq", x, "zeroinitializer")


def _moderate(r: _Real, x: str, bound: int) -> str:
    """Whether |x| is between 2^-bound and 2^bound."""
    size = r.call("fabs", x)
    above = r.do("fcmp oge", size, r.number(2.0**-bound))
    below = r.do("fcmp ole", size, r.number(2.0**bound))
    return r.w.emit(f"and {r.truth} {above}, {below}")


def _lane_by_lane(w: Writer, kind: str, lanes: int) -> str:
    scalar = "double @adjoint.fma(double {}, double {}, double {})"
    if lanes == 1:
        return w.emit("call " + scalar.format("%a", "%b", "%c"))
    out = "poison"
    for lane in range(lanes):
        parts = [w.emit(f"extractelement {kind} {x}, i64 {lane}") for x in ("%a", "%b", "%c")]
        one = w.emit("call " + scalar.format(*parts))
        out = w.emit(f"insertelement {kind} {out}, double {one}, i64 {lane}")
    return out


Soft = Callable[[Writer, str, DType, Sequence[str], int], str]
SOFT: dict[str, Soft] = {
    **dict.fromkeys(("floor", "ceil", "trunc", "round"), _rounded),
    "fma": _fused,
}
