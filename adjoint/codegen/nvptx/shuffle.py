"""A register of another thread of the warp."""

from __future__ import annotations

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.writer import Writer
from adjoint.ir.dtype import DType

_SHUFFLE = "llvm.nvvm.shfl.sync.bfly.i32"


def shuffled(w: Writer, name: str, dtype: DType, lanes: int, distance: int, members: str) -> str:
    """The value, one or several lanes, of the thread whose number differs in this bit."""
    scalar = ty.scalar_type(dtype)
    if lanes == 1:
        return _one(w, name, scalar, dtype.bits, distance, members)
    kind, out = ty.vector_of(scalar, lanes), "poison"
    for lane in range(lanes):
        part = w.emit(f"extractelement {kind} {name}, i64 {lane}")
        found = _one(w, part, scalar, dtype.bits, distance, members)
        out = w.emit(f"insertelement {kind} {out}, {scalar} {found}, i64 {lane}")
    return out


def _one(w: Writer, name: str, scalar: str, bits: int, distance: int, members: str) -> str:
    size = int(scalar[1:]) if scalar[0] == "i" else bits
    whole = f"i{size}"
    raw = name if scalar == whole else w.emit(f"bitcast {scalar} {name} to {whole}")
    if size < 32:
        found = _word(w, w.emit(f"zext {whole} {raw} to i32"), distance, members)
        found = w.emit(f"trunc i32 {found} to {whole}")
    elif size == 32:
        found = _word(w, raw, distance, members)
    else:
        found = _two_words(w, raw, distance, members)
    return found if scalar == whole else w.emit(f"bitcast {whole} {found} to {scalar}")


def _two_words(w: Writer, raw: str, distance: int, members: str) -> str:
    low = _word(w, w.emit(f"trunc i64 {raw} to i32"), distance, members)
    up = w.emit(f"trunc i64 {w.emit(f'lshr i64 {raw}, 32')} to i32")
    high = w.emit(f"zext i32 {_word(w, up, distance, members)} to i64")
    return w.emit(f"or i64 {w.emit(f'shl i64 {high}, 32')}, {w.emit(f'zext i32 {low} to i64')}")


def _word(w: Writer, name: str, distance: int, members: str) -> str:
    operands = (f"i32 {members}", f"i32 {name}", f"i32 {distance}", "i32 31")
    return w.emit(w.call("i32", _SHUFFLE, *operands))
