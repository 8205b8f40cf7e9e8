"""Integers that are known to be small, as cheaper LLVM instructions.

Index arithmetic is 64 bits wide, and a vector of 64-bit numbers needs twice the registers of the
elements it belongs to. If bounds prove that nothing is lost, a comparison of indices that grow
evenly becomes one of 32-bit lane numbers with a scalar, and a division is done in 32 bits.
"""

from __future__ import annotations

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.writer import Value, Writer
from adjoint.ir.bounds import bounds
from adjoint.ir.uop import UOp

COMPARISONS = {"lt": "slt", "le": "sle", "eq": "eq", "ne": "ne"}
DIVISIONS = {"floordiv": "udiv", "mod": "urem", "idiv": "udiv", "fmod": "urem"}
_MAX_WITHOUT_OVERFLOW = 1 << 62  # what is nearer to 0 has differences without overflow
_CLAMP = 1 << 30  # beyond any lane number times its stride


def compared(w: Writer, node: UOp, operands: list[Value]) -> Value | None:
    """a + i s ? b + i t  as  i (s - t) ? b - a  for the lane numbers i, if nothing wraps."""
    a, b = operands
    if a.stride is None or b.stride is None or node.src[0].dtype.name != "int64":
        return None
    stride = a.stride - b.stride
    if abs(stride) * w.lanes >= _CLAMP or not all(_is_near(s) for s in node.src):
        return None
    test = COMPARISONS[node.op.name]
    if stride == 0:
        return Value(w.emit(f"icmp {test} i64 {a.name}, {b.name}"), 0, w.level)
    apart = w.emit(f"sub i64 {b.name}, {a.name}")
    for name, limit in (("smin", _CLAMP), ("smax", -_CLAMP)):
        apart = w.emit(w.call("i64", f"llvm.{name}.i64", f"i64 {apart}", f"i64 {limit}"))
    short = Value(w.emit(f"trunc i64 {apart} to i32"), 0, w.level)
    kind, lanes = ty.vector_of("i32", w.lanes), ty.steps("i32", w.lanes, stride)
    return Value(w.emit(f"icmp {test} {kind} {lanes}, {w.spread(short, 'i32')}"), None, w.level)


def _is_near(node: UOp) -> bool:
    lo, hi = bounds(node)
    return -_MAX_WITHOUT_OVERFLOW < lo and hi < _MAX_WITHOUT_OVERFLOW


def are_small(node: UOp) -> bool:
    """Whether a division in 32 bits gives the same: both sides are wide, but never negative or
    beyond 31 bits."""
    if node.dtype.bits != 64:
        return False
    for source in node.src:
        lo, hi = bounds(source)
        if lo < 0 or hi >= 1 << 31:
            return False
    return True


def divided(w: Writer, node: UOp, names: list[str], lanes: int) -> str:
    """A division of wide vectors with small values."""
    wide, short = ty.vector_of("i64", lanes), ty.vector_of("i32", lanes)
    a, b = (w.emit(f"trunc {wide} {name} to {short}") for name in names)
    found = w.emit(f"{DIVISIONS[node.op.name]} {short} {a}, {b}")
    return w.emit(f"zext {short} {found} to {wide}")
