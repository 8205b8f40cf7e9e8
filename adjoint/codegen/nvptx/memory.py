"""LOAD and STORE on a GPU: adjacent lanes of a thread are one access.

If a bounds check fails, a load reads the first element of the buffer instead, which always exists,
and a branch skips a store. If only some lanes may access memory, they do so lane by lane.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.memory import from_memory, to_memory, wide
from adjoint.codegen.llvm.writer import Value, Writer
from adjoint.ir.dtype import DType
from adjoint.ir.kernel_kind import gate_of
from adjoint.ir.uop import UOp

_WIDEST = 16  # bytes of an access


class Place(NamedTuple):
    """Memory that is accessed: a pointer with its type, an index, and what divides the index."""

    pointer: str
    at: Value
    multiple: int
    fixed: bool = False  # nothing writes to it while the kernel runs


def load(w: Writer, node: UOp, value_of: dict[UOp, Value], place: Place) -> Value:
    """The value of a LOAD."""
    given = gate_of(node)
    gate = None if given is None else value_of[given]
    alt = value_of[node.src[3]] if gate is not None and len(node.src) > 3 else None
    place = place._replace(at=wide(w, place.at, node.src[1].dtype))
    if w.lanes == 1 or (place.at.stride == 0 and (gate is None or gate.stride == 0)):
        return _load_one(w, node.dtype, place, gate, alt)
    even = gate is None or gate.stride == 0
    if place.at.stride == 1 and w.mask is None and even:
        return _load_together(w, node.dtype, place, gate, alt)
    return _load_each(w, node.dtype, place, gate, alt)


def store(w: Writer, node: UOp, value_of: dict[UOp, Value], place: Place, own: str | None) -> None:
    """A STORE; `own`: whether this thread does it, if not every thread does."""
    value, dtype = value_of[node.src[2]], node.src[2].dtype
    given = gate_of(node)
    gate = None if given is None else value_of[given]
    place = place._replace(at=wide(w, place.at, node.src[1].dtype))
    if w.lanes == 1 or (place.at.stride == 0 and value.stride == 0):
        held = _any_lane(w, gate)
        name = to_memory(w, value.name, dtype, 1)
        when(w, both(w, held, own), lambda: _put(w, dtype, place, place.at.name, name))
        return
    vector = to_memory(w, w.vector(value, dtype), dtype, w.lanes)
    even = gate is None or gate.stride == 0
    if place.at.stride == 1 and w.mask is None and even:
        held = None if gate is None else gate.name
        when(w, both(w, held, own), lambda: _put_together(w, dtype, place, vector))
        return
    _store_each(w, dtype, place, vector, gate, own)


# ---- one element


def _load_one(
    w: Writer, dtype: DType, place: Place, gate: Value | None, alt: Value | None
) -> Value:
    held = both(w, None if gate is None else gate.name, w.mask if w.lanes == 1 else None)
    found = _get(w, dtype, place, _kept_inside(w, place.at.name, held))
    name = from_memory(w, found, dtype, 1)
    if gate is None or alt is None:
        return Value(name, 0, w.level)
    kind = ty.type_of(dtype, 1 if alt.stride == 0 else w.lanes)
    if alt.stride != 0:
        name = w.vector(Value(name, 0, w.level), dtype)
    picked = w.emit(f"select i1 {gate.name}, {kind} {name}, {kind} {alt.name}")
    return Value(picked, alt.stride, w.level)


def _get(w: Writer, dtype: DType, place: Place, index: str) -> str:
    kind = ty.memory_type(dtype)
    pointer = w.emit(f"getelementptr {kind}, {place.pointer}, i64 {index}")
    align = f", align {_aligned(dtype, place, 1)}"
    return w.emit(f"load {kind}, {_at(place, pointer)}{align}{_mark(place)}")


def _put(w: Writer, dtype: DType, place: Place, index: str, value: str) -> None:
    kind = ty.memory_type(dtype)
    pointer = w.emit(f"getelementptr {kind}, {place.pointer}, i64 {index}")
    w.effect(f"store {kind} {value}, {_at(place, pointer)}, align {_aligned(dtype, place, 1)}")


def _at(place: Place, pointer: str) -> str:
    """A pointer of the same type."""
    return f"{place.pointer.rpartition(' ')[0]} {pointer}"


def _mark(place: Place) -> str:
    return ", !invariant.load !{}" if place.fixed else ""


def _kept_inside(w: Writer, index: str, held: str | None) -> str:
    """The index, 0 if the bounds check fails."""
    return index if held is None else w.emit(f"select i1 {held}, i64 {index}, i64 0")


# ---- lanes side by side


def _aligned(dtype: DType, place: Place, lanes: int) -> int:
    """The alignment of the first lane's address in bytes, as far as it matters: for several lanes,
    up to their total size; for one, up to the size of accesses that LLVM may merge it with.
    """
    whole = dtype.itemsize * lanes if lanes > 1 else _WIDEST
    known = dtype.itemsize * place.multiple
    return min(known & -known, _WIDEST, whole & -whole)


def _load_together(
    w: Writer, dtype: DType, place: Place, gate: Value | None, alt: Value | None
) -> Value:
    index = _kept_inside(w, place.at.name, None if gate is None else gate.name)
    kind, element = ty.memory_type(dtype, w.lanes), ty.memory_type(dtype)
    pointer = w.emit(f"getelementptr {element}, {place.pointer}, i64 {index}")
    align = f", align {_aligned(dtype, place, w.lanes)}"
    found = w.emit(f"load {kind}, {_at(place, pointer)}{align}{_mark(place)}")
    name = from_memory(w, found, dtype, w.lanes)
    if gate is not None and alt is not None:
        kind = ty.type_of(dtype, w.lanes)
        other = w.vector(alt, dtype)
        name = w.emit(f"select i1 {gate.name}, {kind} {name}, {kind} {other}")
    return Value(name, None, w.level)


def _put_together(w: Writer, dtype: DType, place: Place, vector: str) -> None:
    kind, element = ty.memory_type(dtype, w.lanes), ty.memory_type(dtype)
    pointer = w.emit(f"getelementptr {element}, {place.pointer}, i64 {place.at.name}")
    w.effect(
        f"store {kind} {vector}, {_at(place, pointer)}, align {_aligned(dtype, place, w.lanes)}"
    )


# ---- lane by lane


def _load_each(
    w: Writer, dtype: DType, place: Place, gate: Value | None, alt: Value | None
) -> Value:
    kind, out = ty.memory_type(dtype, w.lanes), "poison"
    held = lane_mask(w, gate)
    for lane in range(w.lanes):
        open_ = None if held is None else lane_of(w, "i1", held, lane)
        index = _kept_inside(w, index_of(w, place.at, lane), open_)
        found = _get(w, dtype, _of_lane(place, lane), index)
        out = w.emit(f"insertelement {kind} {out}, {ty.memory_type(dtype)} {found}, i64 {lane}")
    name = from_memory(w, out, dtype, w.lanes)
    if gate is not None and alt is not None:
        kind, truth = ty.type_of(dtype, w.lanes), ty.vector_of("i1", w.lanes)
        open_ = w.spread(gate, "i1")
        name = w.emit(f"select {truth} {open_}, {kind} {name}, {kind} {w.vector(alt, dtype)}")
    return Value(name, None, w.level)


def _store_each(
    w: Writer, dtype: DType, place: Place, vector: str, gate: Value | None, own: str | None
) -> None:
    held = lane_mask(w, gate)
    for lane in range(w.lanes):
        open_ = None if held is None else lane_of(w, "i1", held, lane)
        value = lane_of(w, ty.memory_type(dtype), vector, lane)
        index = index_of(w, place.at, lane)
        put = _Put(w, dtype, _of_lane(place, lane), index, value)
        when(w, both(w, open_, own), put)


def _of_lane(place: Place, lane: int) -> Place:
    """A place with what divides the index of a lane: LLVM puts accesses side by side together."""
    if place.at.stride is None:
        return place._replace(multiple=1)
    return place._replace(multiple=gcd(place.multiple, place.at.stride * lane))


class _Put(NamedTuple):
    w: Writer
    dtype: DType
    place: Place
    at: str
    value: str

    def __call__(self) -> None:
        _put(*self)


def lane_of(w: Writer, scalar: str, vector: str, lane: int) -> str:
    """An element of a vector."""
    return w.emit(f"extractelement {ty.vector_of(scalar, w.lanes)} {vector}, i64 {lane}")


def index_of(w: Writer, index: Value, lane: int) -> str:
    """The index that a lane has."""
    if index.stride is None:
        return lane_of(w, "i64", index.name, lane)
    step = index.stride * lane
    return w.emit(f"add i64 {index.name}, {step}") if step else index.name


def lane_mask(w: Writer, gate: Value | None) -> str | None:
    """The active lanes whose bounds check holds; None: all."""
    if gate is None:
        return w.mask
    held = w.spread(gate, "i1")
    return held if w.mask is None else w.emit(f"and {ty.vector_of('i1', w.lanes)} {held}, {w.mask}")


def _any_lane(w: Writer, gate: Value | None) -> str | None:
    """Whether the bounds check holds in any active lane; if one lane is a thread, in that."""
    mask = w.mask if w.lanes == 1 else None
    if gate is None:
        return mask
    if gate.stride == 0:
        return both(w, gate.name, mask)
    held, found = lane_mask(w, gate), None
    assert held is not None
    for lane in range(w.lanes):
        here = lane_of(w, "i1", held, lane)
        found = here if found is None else w.emit(f"or i1 {found}, {here}")
    return found


def both(w: Writer, a: str | None, b: str | None) -> str | None:
    """Whether two conditions hold; None always does."""
    if a is None or b is None:
        return a or b
    return w.emit(f"and i1 {a}, {b}")


def when(w: Writer, condition: str | None, inside: object) -> None:
    """Code that runs if the condition holds."""
    assert callable(inside)
    if condition is None:
        inside()
        return
    body, after = w.new_label(), w.new_label()
    w.effect(f"br i1 {condition}, label %{body}, label %{after}")
    w.start_block(body)
    inside()
    w.effect(f"br label %{after}")
    w.start_block(after)
