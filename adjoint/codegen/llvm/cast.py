"""Conversions between dtypes as LLVM instructions, exact for the 16-bit floats too.

The processor converts float16 if it can, otherwise bit operations do; bfloat16 is rounded on bits,
to nearest even, with a NaN kept and made quiet, unless the processor has an instruction. A fence
keeps LLVM from joining a conversion with the one before it, which would round differently, and call
a function that a process need not have.
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
        bits = FloatBits(w, F32, lanes)
        if w.processor.bfloat and lanes % 2 == 0:
            return _widen_pairs(bits, x)
        return bits.of_bits(bits.on_bits("shl", _to_i32(bits, x), 16))
    if not w.processor.half:
        return _widen_half(w, x, lanes)
    short, half = ty.vector_of("i16", lanes), ty.vector_of("half", lanes)
    x = w.emit(f"bitcast {short} {x} to {half}")
    return _fenced(w, w.emit(f"fpext {half} {x} to {ty.vector_of('float', lanes)}"), lanes)


def _narrow(w: Writer, x: str, dtype: DType, lanes: int) -> str:
    if dtype is dtypes.bfloat16:
        return (
            _narrow_by_processor(w, x, lanes) if w.processor.bfloat else _narrow_bfloat(w, x, lanes)
        )
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


class FloatBits:
    """Instructions on floats of a type and on their bits, for scalars and vectors alike."""

    def __init__(self, w: Writer, dtype: DType, lanes: int) -> None:
        self.w, self.lanes = w, lanes
        self.scalar, self.bits = ty.scalar_type(dtype), f"i{dtype.bits}"
        self.type, self.int = ty.vector_of(self.scalar, lanes), ty.vector_of(self.bits, lanes)
        self.truth, self.suffix = ty.vector_of("i1", lanes), ty.suffix(self.scalar, lanes)

    def number(self, value: float) -> str:
        text = ty.float_text(value)
        return text if self.lanes == 1 else f"splat ({self.scalar} {text})"

    def whole(self, value: int) -> str:
        return str(value) if self.lanes == 1 else f"splat ({self.bits} {value})"

    def do(self, op: str, a: str, b: str | float) -> str:
        other = b if isinstance(b, str) else self.number(b)
        return self.w.emit(f"{op} {self.type} {a}, {other}")

    def on_bits(self, op: str, a: str, b: str | int) -> str:
        other = b if isinstance(b, str) else self.whole(b)
        return self.w.emit(f"{op} {self.int} {a}, {other}")

    def either(self, condition: str, a: str, b: str) -> str:
        return self.w.emit(f"select {self.truth} {condition}, {self.type} {a}, {self.type} {b}")

    def either_bits(self, condition: str, a: str, b: str) -> str:
        return self.w.emit(f"select {self.truth} {condition}, {self.int} {a}, {self.int} {b}")

    def to_bits(self, a: str) -> str:
        return self.w.emit(f"bitcast {self.type} {a} to {self.int}")

    def of_bits(self, a: str) -> str:
        return self.w.emit(f"bitcast {self.int} {a} to {self.type}")


def _to_i32(b: FloatBits, half: str) -> str:
    return b.w.emit(f"zext {ty.vector_of('i16', b.lanes)} {half} to {b.int}")


def _to_i16(b: FloatBits, bits: str) -> str:
    return b.w.emit(f"trunc {b.int} {bits} to {ty.vector_of('i16', b.lanes)}")


def _widen_pairs(b: FloatBits, x: str) -> str:
    """Two numbers in a word: one is shifted up, the rest of the other is masked off."""
    w, half = b.w, b.lanes // 2
    words = ty.vector_of("i32", half)
    pairs = w.emit(f"bitcast {ty.vector_of('i16', b.lanes)} {x} to {words}")
    kept = -1 << 16
    shift, mask = ("16", str(kept)) if half == 1 else ("splat (i32 16)", f"splat (i32 {kept})")
    low, high = w.emit(f"shl {words} {pairs}, {shift}"), w.emit(f"and {words} {pairs}, {mask}")
    if half == 1:
        first = w.emit(f"insertelement {b.int} poison, i32 {low}, i64 0")
        return b.of_bits(w.emit(f"insertelement {b.int} {first}, i32 {high}, i64 1"))
    order = ", ".join(f"i32 {i // 2 + half * (i % 2)}" for i in range(b.lanes))
    mixed = f"shufflevector {words} {low}, {words} {high}, <{b.lanes} x i32> <{order}>"
    return b.of_bits(w.emit(mixed))


def _narrow_by_processor(w: Writer, x: str, lanes: int) -> str:
    short, narrow = ty.vector_of("i16", lanes), ty.vector_of("bfloat", lanes)
    x = w.emit(f"fptrunc {ty.vector_of('float', lanes)} {x} to {narrow}")
    return w.emit(f"bitcast {narrow} {x} to {short}")


def _narrow_bfloat(w: Writer, x: str, lanes: int) -> str:
    b = FloatBits(w, F32, lanes)
    bits = b.to_bits(x)
    odd = b.on_bits("and", b.on_bits("lshr", bits, 16), 1)
    rounded = b.on_bits("add", b.on_bits("add", bits, 0x7FFF), odd)
    quiet = b.on_bits("or", bits, 0x400000)
    nan = w.emit(f"fcmp uno {b.type} {x}, zeroinitializer")
    return _to_i16(b, b.on_bits("lshr", b.either_bits(nan, quiet, rounded), 16))


def _widen_half(w: Writer, x: str, lanes: int) -> str:
    """Exponent and mantissa shifted into place; the product moves the exponent's zero, and makes
    a subnormal half a normal float."""
    b = FloatBits(w, F32, lanes)
    wide = _to_i32(b, x)
    shifted = b.on_bits("shl", b.on_bits("and", wide, 0x7FFF), 13)
    scaled = b.to_bits(b.do("fmul", b.of_bits(shifted), 2.0**112))
    special = b.on_bits("icmp uge", shifted, 0x7C00 << 13)
    bits = b.either_bits(special, b.on_bits("or", shifted, 0x7F800000), scaled)
    sign = b.on_bits("shl", b.on_bits("and", wide, 0x8000), 16)
    return b.of_bits(b.on_bits("or", bits, sign))


def _narrow_half(w: Writer, x: str, lanes: int) -> str:
    b = FloatBits(w, F32, lanes)
    bits = b.to_bits(x)
    size = b.on_bits("and", bits, 0x7FFFFFFF)
    odd = b.on_bits("and", b.on_bits("lshr", size, 13), 1)
    moved = b.on_bits("add", b.on_bits("add", size, 0xFFF - (112 << 23)), odd)
    normal = b.on_bits("lshr", moved, 13)
    # Adding 0.5 leaves a subnormal half, rounded to nearest even, in the low bits of the sum.
    summed = b.do("fadd", b.of_bits(size), 0.5)
    small = b.on_bits("sub", b.to_bits(summed), 0x3F000000)
    finite = b.either_bits(b.on_bits("icmp ult", size, 113 << 23), small, normal)
    infinite = b.either_bits(b.on_bits("icmp uge", size, 143 << 23), b.whole(0x7C00), finite)
    payload = b.on_bits("or", b.on_bits("and", b.on_bits("lshr", size, 13), 0x3FF), 0x7E00)
    result = b.either_bits(b.on_bits("icmp ugt", size, 0x7F800000), payload, infinite)
    sign = b.on_bits("and", b.on_bits("lshr", bits, 16), 0x8000)
    return _to_i16(b, b.on_bits("or", result, sign))
