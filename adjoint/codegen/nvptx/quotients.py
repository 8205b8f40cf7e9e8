"""Quotients of float32, rounded as IEEE does, in fewer instructions than the hardware division.

With r, the rounded reciprocal of s, a/s is a·r corrected twice by the remainder a - q·s, which a
fused multiply-add computes exactly; the second correction rounds to nearest (Markstein's theorem),
for exponents that are not near the ends of the range. One branch tests that for all lanes of a
thread; if one lane fails, hardware division computes all.
"""

from __future__ import annotations

from math import frexp

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.cast import FloatBits
from adjoint.codegen.llvm.writer import Writer
from adjoint.ir.dtype import dtypes

_SMALL, _LARGE = 2.0**-60, 2.0**60
_RECIPROCAL = "llvm.nvvm.rcp.approx.ftz.f"


class _Floats(FloatBits):
    """Instructions on float32 of a thread's lanes."""

    def call(self, name: str, *operands: str) -> str:
        typed = [f"{self.type} {operand}" for operand in operands]
        return self.w.emit(self.w.call(self.type, f"llvm.{name}.{self.suffix}", *typed))

    def both(self, op: str, a: str, b: str) -> str:
        return self.w.emit(f"{op} {self.truth} {a}, {b}")

    def is_moderate(self, x: str) -> str:
        """Whether the exponent is not near the ends."""
        size = self.call("fabs", x)
        least, most = self.do("fcmp oge", size, _SMALL), self.do("fcmp ole", size, _LARGE)
        return self.both("and", least, most)

    def is_moderate_or_zero(self, x: str, most: str) -> str:
        """The same up to a limit, or 0.0: but not -0.0, which corrections would make 0.0."""
        size = self.call("fabs", x)
        least = self.do("fcmp oge", size, _SMALL)
        known = self.both("or", least, self.on_bits("icmp eq", self.to_bits(x), 0))
        return self.both("and", self.do("fcmp ole", size, most), known)


def quotients_of_one(w: Writer, a: str, s: str, lanes: int) -> str:
    """a / s, where s is the same for all lanes, and for many a."""
    one, f = _Floats(w, dtypes.float32, 1), _Floats(w, dtypes.float32, lanes)
    inverse = w.emit(f"fdiv float {one.number(1.0)}, {s}")
    most = one.either(one.is_moderate(s), one.number(_LARGE), one.number(-1.0))
    fits = _all(w, f.is_moderate_or_zero(a, _spread(w, most, lanes)), lanes)
    return _checked(f, fits, a, _spread(w, s, lanes), _spread(w, inverse, lanes))


def is_power_of_two(value: float) -> bool:
    """Whether a product with the number is exact, unless it leaves the range."""
    fraction, exponent = frexp(abs(value))
    return fraction == 0.5 and abs(exponent) < 32


def power_over(w: Writer, power: float, s: str, lanes: int) -> str:
    """power / s, where power is one of two, for each lane: the reciprocal, corrected once, is
    rounded as IEEE says if its exponent is not near the ends."""
    one, f = _Floats(w, dtypes.float32, 1), _Floats(w, dtypes.float32, lanes)
    parts, found = _approximate(w, s, lanes)
    # A divisor that is too small has a reciprocal that is too large.
    sizes = _added(one, [one.call("fabs", part) for part in [*parts, *found]])
    fits = one.do("fcmp ole", sizes, _LARGE)
    q = f.do("fmul", _corrected(f, s, found), power)
    return _or_exact(f, fits, q, f.number(power), s)


def inverse_of(w: Writer, s: str, lanes: int) -> str:
    """1 / s for each lane, whose exponent is known to be moderate."""
    return _corrected(_Floats(w, dtypes.float32, lanes), s, _approximate(w, s, lanes)[1])


def _approximate(w: Writer, s: str, lanes: int) -> tuple[list[str], list[str]]:
    """The lanes, and their reciprocals as the processor thinks that they are."""
    parts = [_lane(w, s, lane, lanes) for lane in range(lanes)]
    return parts, [w.emit(w.call("float", _RECIPROCAL, f"float {part}")) for part in parts]


def _corrected(f: _Floats, s: str, found: list[str]) -> str:
    """The reciprocals as IEEE rounds them."""
    inverse = found[0] if len(found) == 1 else _together(f.w, found)
    minus = f.w.emit(f"fneg {f.type} {s}")
    return f.call("fma", f.call("fma", minus, inverse, f.number(1.0)), inverse, inverse)


def _added(one: _Floats, values: list[str]) -> str:
    """The sum of some."""
    while len(values) > 1:
        half = len(values) // 2
        pairs = zip(values[:half], values[half:], strict=True)
        values = [one.do("fadd", a, b) for a, b in pairs]
    return values[0]


def _checked(f: _Floats, fits: str, a: str, s: str, inverse: str) -> str:
    """The quotient by its reciprocal; by the processor where that does not fit."""
    q, minus = f.do("fmul", a, inverse), f.w.emit(f"fneg {f.type} {s}")
    for _ in range(2):
        q = f.call("fma", f.call("fma", minus, q, a), inverse, q)
    return _or_exact(f, fits, q, a, s)


def _or_exact(f: _Floats, fits: str, q: str, a: str, s: str) -> str:
    """The quotient that was found; by the processor where it does not fit."""
    w = f.w
    before, slow, after = w.label, w.new_label(), w.new_label()
    w.effect(f"br i1 {fits}, label %{after}, label %{slow}")
    w.start_block(slow)
    exact = f.do("fdiv", a, s)
    w.effect(f"br label %{after}")
    w.start_block(after)
    return w.emit(f"phi {f.type} [ {q}, %{before} ], [ {exact}, %{slow} ]")


# ---- lanes


def _together(w: Writer, values: list[str]) -> str:
    kind, out = ty.vector_of("float", len(values)), "poison"
    for lane, value in enumerate(values):
        out = w.emit(f"insertelement {kind} {out}, float {value}, i64 {lane}")
    return out


def _spread(w: Writer, x: str, lanes: int) -> str:
    return x if lanes == 1 else _together(w, [x] * lanes)


def _lane(w: Writer, x: str, lane: int, lanes: int) -> str:
    if lanes == 1:
        return x
    return w.emit(f"extractelement {ty.vector_of('float', lanes)} {x}, i64 {lane}")


def _all(w: Writer, truth: str, lanes: int) -> str:
    if lanes == 1:
        return truth
    kind, found = ty.vector_of("i1", lanes), ""
    for lane in range(lanes):
        here = w.emit(f"extractelement {kind} {truth}, i64 {lane}")
        found = w.emit(f"and i1 {found}, {here}") if found else here
    return found
