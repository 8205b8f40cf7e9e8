"""Conversions between dtypes as LLVM instructions, exact for the 16-bit floats too.

float16 is converted by the processor where it can, else on bits; bfloat16 always on bits, rounded
to nearest even, a NaN kept and made quiet. A fence keeps LLVM from joining a conversion with the
one before it: that would round otherwise, and by a function that a process need not have.
"""

from __future__ import annotations

from functools import cache

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.writer import Writer
from adjoint.errors import InternalError
from adjoint.ir.dtype import DType, dtypes

F32 = dtypes.float32


def convert(w: Writer, x: str, before: DType, after: DType, lanes: int) -> str:
    """The value as another dtype."""
    if before is after:
        return x
    if before.itemsize == 2 and before.is_float:
        return convert(w, _widen(w, x, before, lanes), F32, after, lanes)
    if after.itemsize == 2 and after.is_float:
        if before is not F32:
            raise InternalError(f"{after} is rounded from float32, not {before}")
        return _narrow(w, x, after, lanes)
    source, target = ty.type_of(before, lanes), ty.type_of(after, lanes)
    if after.kind == "b":
        test = "fcmp une" if before.is_float else "icmp ne"
        return w.emit(f"{test} {source} {x}, zeroinitializer")
    if source == target:  # integers that differ in sign only
        return x
    return w.emit(f"{_instruction(before, after)} {source} {x} to {target}")


@cache
def _instruction(before: DType, after: DType) -> str:
    if before.is_float and after.is_float:
        return "fpext" if after.bits > before.bits else "fptrunc"
    if before.is_float:
        return "fptosi" if after.kind == "i" else "fptoui"
    if after.is_float:
        return "sitofp" if before.kind == "i" else "uitofp"
    if after.bits < before.bits:
        return "trunc"
    return "sext" if before.kind == "i" else "zext"


def reinterpret(w: Writer, x: str, before: DType, after: DType, lanes: int) -> str:
    """The same bits as another dtype of that width."""
    if before.itemsize != after.itemsize:
        raise InternalError(f"bits of {before} are not bits of {after}")
    if before.kind == "b" or after.kind == "b":
        return convert(w, x, before, after, lanes)
    source, target = ty.type_of(before, lanes), ty.type_of(after, lanes)
    return x if source == target else w.emit(f"bitcast {source} {x} to {target}")


def _widen(w: Writer, x: str, dtype: DType, lanes: int) -> str:
    if dtype is dtypes.bfloat16:
        bits = _Bits(w, lanes)
        return bits.to_float(bits.do("shl", bits.wide(x), 16))
    if not w.processor.half:
        return _widen_half(w, x, lanes)
    short, half = ty.vector_of("i16", lanes), ty.vector_of("half", lanes)
    x = w.emit(f"bitcast {short} {x} to {half}")
    return _fenced(w, w.emit(f"fpext {half} {x} to {ty.vector_of('float', lanes)}"), lanes)


def _narrow(w: Writer, x: str, dtype: DType, lanes: int) -> str:
    if dtype is dtypes.bfloat16:
        return _narrow_bfloat(w, x, lanes)
    if not w.processor.half:
        return _narrow_half(w, x, lanes)
    short, half = ty.vector_of("i16", lanes), ty.vector_of("half", lanes)
    x = w.emit(f"fptrunc {ty.vector_of('float', lanes)} {_fenced(w, x, lanes)} to {half}")
    return w.emit(f"bitcast {half} {x} to {short}")


def _fenced(w: Writer, x: str, lanes: int) -> str:
    """The value, which LLVM may not look behind."""
    kind = ty.vector_of("float", lanes)
    name = f"llvm.arithmetic.fence.{ty.suffix('float', lanes)}"
    return w.emit(w.call(kind, name, f"{kind} {x}"))


class _Bits:
    """32-bit integer instructions on the bits of floats, for scalars and vectors alike."""

    def __init__(self, w: Writer, lanes: int) -> None:
        self.w = w
        self.lanes = lanes
        self.int, self.float = ty.vector_of("i32", lanes), ty.vector_of("float", lanes)
        self.short, self.truth = ty.vector_of("i16", lanes), ty.vector_of("i1", lanes)

    def number(self, value: int) -> str:
        return str(value) if self.lanes == 1 else f"splat (i32 {value})"

    def real(self, value: float) -> str:
        text = ty.float_text(value)
        return text if self.lanes == 1 else f"splat (float {text})"

    def do(self, op: str, a: str, b: str | int) -> str:
        other = self.number(b) if isinstance(b, int) else b
        return self.w.emit(f"{op} {self.int} {a}, {other}")

    def test(self, op: str, a: str, b: int) -> str:
        return self.w.emit(f"icmp {op} {self.int} {a}, {self.number(b)}")

    def either(self, condition: str, a: str, b: str) -> str:
        return self.w.emit(f"select {self.truth} {condition}, {self.int} {a}, {self.int} {b}")

    def arithmetic(self, op: str, a: str, b: float) -> str:
        return self.w.emit(f"{op} {self.float} {a}, {self.real(b)}")

    def to_float(self, a: str) -> str:
        return self.w.emit(f"bitcast {self.int} {a} to {self.float}")

    def of_float(self, a: str) -> str:
        return self.w.emit(f"bitcast {self.float} {a} to {self.int}")

    def wide(self, a: str) -> str:
        return self.w.emit(f"zext {self.short} {a} to {self.int}")

    def narrow(self, a: str) -> str:
        return self.w.emit(f"trunc {self.int} {a} to {self.short}")


def _narrow_bfloat(w: Writer, x: str, lanes: int) -> str:
    b = _Bits(w, lanes)
    bits = b.of_float(x)
    odd = b.do("and", b.do("lshr", bits, 16), 1)
    rounded = b.do("add", b.do("add", bits, 0x7FFF), odd)
    quiet = b.do("or", bits, 0x400000)
    nan = w.emit(f"fcmp uno {b.float} {x}, zeroinitializer")
    return b.narrow(b.do("lshr", b.either(nan, quiet, rounded), 16))


def _widen_half(w: Writer, x: str, lanes: int) -> str:
    """Exponent and mantissa shifted into place; the product moves the exponent's zero, and makes
    a subnormal half a normal float."""
    b = _Bits(w, lanes)
    wide = b.wide(x)
    shifted = b.do("shl", b.do("and", wide, 0x7FFF), 13)
    scaled = b.of_float(b.arithmetic("fmul", b.to_float(shifted), 2.0**112))
    special = b.test("uge", shifted, 0x7C00 << 13)
    bits = b.either(special, b.do("or", shifted, 0x7F800000), scaled)
    sign = b.do("shl", b.do("and", wide, 0x8000), 16)
    return b.to_float(b.do("or", bits, sign))


def _narrow_half(w: Writer, x: str, lanes: int) -> str:
    b = _Bits(w, lanes)
    bits = b.of_float(x)
    size = b.do("and", bits, 0x7FFFFFFF)
    odd = b.do("and", b.do("lshr", size, 13), 1)
    moved = b.do("add", b.do("add", size, 0xFFF - (112 << 23)), odd)
    normal = b.do("lshr", moved, 13)
    # Adding 0.5 leaves a subnormal half, rounded to nearest even, in the low bits of the sum.
    summed = b.arithmetic("fadd", b.to_float(size), 0.5)
    small = b.do("sub", b.of_float(summed), 0x3F000000)
    finite = b.either(b.test("ult", size, 113 << 23), small, normal)
    infinite = b.either(b.test("uge", size, 143 << 23), b.number(0x7C00), finite)
    payload = b.do("or", b.do("and", b.do("lshr", size, 13), 0x3FF), 0x7E00)
    result = b.either(b.test("ugt", size, 0x7F800000), payload, infinite)
    sign = b.do("and", b.do("lshr", bits, 16), 0x8000)
    return b.narrow(b.do("or", result, sign))
