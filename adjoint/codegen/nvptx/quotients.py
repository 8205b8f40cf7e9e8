"""Many quotients with one divisor, as IEEE rounds them.

With r, the rounded reciprocal of s, a/s is a·r corrected twice by what is left, a - q·s, which a
fused multiply-add finds exactly. The second correction rounds to the nearest (Markstein's theorem),
as long as nothing is near the ends of the range; where something is, the processor divides.
"""

from __future__ import annotations

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.cast import FloatBits
from adjoint.codegen.llvm.writer import Writer
from adjoint.ir.dtype import dtypes

_SMALL, _LARGE = 2.0**-60, 2.0**60


class _Floats(FloatBits):
    """Instructions on float32 of a thread's lanes."""

    def call(self, name: str, *operands: str) -> str:
        typed = [f"{self.type} {operand}" for operand in operands]
        return self.w.emit(self.w.call(self.type, f"llvm.{name}.{self.suffix}", *typed))

    def is_moderate(self, x: str) -> str:
        """Whether no exponent comes near the ends; 0.0 is moderate too."""
        size = self.call("fabs", x)
        least, most = self.do("fcmp oge", size, _SMALL), self.do("fcmp ole", size, _LARGE)
        inside = self.w.emit(f"and {self.truth} {least}, {most}")
        none = self.on_bits("icmp eq", self.to_bits(x), 0)
        return self.w.emit(f"or {self.truth} {inside}, {none}")


def quotient(w: Writer, a: str, s: str, lanes: int) -> str:
    """a / s for float32, where s is the same for all lanes, and for many a."""
    one, f = _Floats(w, dtypes.float32, 1), _Floats(w, dtypes.float32, lanes)
    size = one.call("fabs", s)
    least, most = one.do("fcmp oge", size, _SMALL), one.do("fcmp ole", size, _LARGE)
    good = w.emit(f"and i1 {least}, {most}")
    inverse = w.emit(f"fdiv float {one.number(1.0)}, {s}")
    minus = w.emit(f"fneg float {s}")
    r, negative, divisor = (_spread(w, x, lanes) for x in (inverse, minus, s))
    q = f.do("fmul", a, r)
    for _ in range(2):
        q = f.call("fma", f.call("fma", negative, q, a), r, q)
    fits = w.emit(f"and i1 {good}, {_all(w, f.is_moderate(a), lanes)}")
    before, slow, after = w.label, w.new_label(), w.new_label()
    w.effect(f"br i1 {fits}, label %{after}, label %{slow}")
    w.start_block(slow)
    exact = f.do("fdiv", a, divisor)
    w.effect(f"br label %{after}")
    w.start_block(after)
    return w.emit(f"phi {f.type} [ {q}, %{before} ], [ {exact}, %{slow} ]")


def _spread(w: Writer, x: str, lanes: int) -> str:
    if lanes == 1:
        return x
    kind = ty.vector_of("float", lanes)
    first = w.emit(f"insertelement {kind} poison, float {x}, i64 0")
    return w.emit(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")


def _all(w: Writer, truth: str, lanes: int) -> str:
    if lanes == 1:
        return truth
    kind, found = ty.vector_of("i1", lanes), ""
    for lane in range(lanes):
        here = w.emit(f"extractelement {kind} {truth}, i64 {lane}")
        found = w.emit(f"and i1 {found}, {here}") if found else here
    return found
