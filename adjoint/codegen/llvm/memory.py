"""LOAD and STORE as LLVM instructions.

The stride of the index along the lanes decides: 1 is one access to consecutive elements, -1 the
same reversed, 0 a scalar, 2 or 4 one masked access that skips the elements between (if no other
access wants these: `adjacent.py`), anything else a gather or scatter. A kernel touches memory only
where the bounds check holds and the lane is active. If all lanes share a bounds check that fails,
the access goes to spare memory of the function, which costs no branch; otherwise the access is
masked. A masked load whose first and last lanes say that it touches nothing goes to the spare
memory too: a processor takes hundreds of cycles to find that a masked load asks nothing of a page
that is not mapped.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.ahead import Ahead, ask
from adjoint.codegen.llvm.writer import Value, Writer
from adjoint.ir.dtype import DType
from adjoint.ir.kernel_kind import gate_of
from adjoint.ir.uop import UOp

_LEAST_STREAMED, _MOST_ALIGNED = 16, 64  # bytes of a vector


def load(w: Writer, node: UOp, value_of: dict[UOp, Value], ahead: Ahead | None = None) -> Value:
    """The value of a LOAD; `ahead`: what to prefetch as well."""
    buffer, index = value_of[node.src[0]], wide(w, value_of[node.src[1]], node.src[1].dtype)
    given = gate_of(node)
    gate = None if given is None else value_of[given]
    alt = value_of[node.src[3]] if gate is not None and len(node.src) > 3 else None
    if ahead is not None and index.stride == 1:
        ask(w, node.dtype, buffer.name, index.name, ahead, value_of[ahead.grid].name)
    if index.stride == 0:
        return _load_one(w, node.dtype, buffer, index, gate, alt)
    held = None if given is None or not w.diverts else _may_hold(w, given, value_of)
    return _load_lanes(w, node.dtype, buffer, index, gate, alt, held)


def store(w: Writer, node: UOp, value_of: dict[UOp, Value], divisor: int | None = None) -> None:
    """A STORE; past the caches if there is a `divisor` of the index of the first lane, where whole
    vectors are stored at their alignment."""
    buffer, index = value_of[node.src[0]], wide(w, value_of[node.src[1]], node.src[1].dtype)
    value, dtype = value_of[node.src[2]], node.src[2].dtype
    given = gate_of(node)
    gate = None if given is None else value_of[given]
    if index.stride == 0 and value.stride == 0:
        held = None if gate is None else _any_lane(w, gate)
        pointer = _pointer(w, dtype, buffer, index.name, held, 1)
        kind = ty.memory_type(dtype)
        w.effect(f"store {kind} {to_memory(w, value.name, dtype, 1)}, ptr {pointer}")
        return
    vector = to_memory(w, w.vector(value, dtype), dtype, w.lanes)
    _store_lanes(w, dtype, buffer, index, vector, gate, divisor)


def wide(w: Writer, index: Value, dtype: DType) -> Value:
    """The index in 64 bits."""
    if dtype.bits == 64 or (index.constant and index.stride is not None):
        return index
    op = "sext" if dtype.kind == "i" else "zext"
    lanes = w.lanes if index.stride is None else 1
    source, target = ty.type_of(dtype, lanes), ty.vector_of("i64", lanes)
    found = w.emit(f"{op} {source} {index.name} to {target}")
    return index._replace(name=found, level=w.level, constant=False)


# ---- one address for all lanes


def _load_one(
    w: Writer, dtype: DType, buffer: Value, index: Value, gate: Value | None, alt: Value | None
) -> Value:
    held = None if gate is None else _any_lane(w, gate)
    pointer = _pointer(w, dtype, buffer, index.name, held, 1)
    found = from_memory(w, w.emit(f"load {ty.memory_type(dtype)}, ptr {pointer}"), dtype, 1)
    value = Value(found, 0, w.level)
    if gate is None or alt is None:
        return value
    if gate.stride == 0 and alt.stride == 0:
        kind = ty.type_of(dtype)
        name = w.emit(f"select i1 {gate.name}, {kind} {found}, {kind} {alt.name}")
        return Value(name, 0, w.level)
    kind = ty.type_of(dtype, w.lanes)
    truth = "i1" if gate.stride == 0 else ty.vector_of("i1", w.lanes)
    both = f"{kind} {w.vector(value, dtype)}, {kind} {w.vector(alt, dtype)}"
    return Value(w.emit(f"select {truth} {gate.name}, {both}"), None, w.level)


def _any_lane(w: Writer, gate: Value) -> str:
    """Whether the bounds check holds in any active lane."""
    if gate.stride == 0:
        return gate.name
    truth, bits = ty.vector_of("i1", w.lanes), f"i{w.lanes}"
    name = gate.name if w.mask is None else w.emit(f"and {truth} {gate.name}, {w.mask}")
    return w.emit(f"icmp ne {bits} {w.emit(f'bitcast {truth} {name} to {bits}')}, 0")


def _may_hold(w: Writer, gate: UOp, value_of: dict[UOp, Value]) -> str | None:
    """False only where a gate holds in no lane, as far as its ends along the lanes tell; None where
    they tell nothing."""
    value, name = value_of[gate], gate.op.name
    if value.stride == 0:
        return value.name
    if name == "logical_and":
        parts = [p for s in gate.src if (p := _may_hold(w, s, value_of)) is not None]
        return w.emit(f"and i1 {parts[0]}, {parts[1]}") if len(parts) == 2 else (*parts, None)[0]
    if name not in _ORDERS or not gate.src[0].dtype.is_int:
        return None
    low, high = (_end(w, s, value_of[s], last) for s, last in zip(gate.src, (-1, 1), strict=True))
    if low is None or high is None:
        return None
    return w.emit(f"icmp {_ORDERS[name]} {ty.type_of(gate.src[0].dtype)} {low}, {high}")


_ORDERS = {"lt": "slt", "le": "sle"}


def _end(w: Writer, node: UOp, value: Value, side: int) -> str | None:
    """The least (-1) or greatest (1) of what counts along the lanes."""
    if value.stride is None or node.dtype.kind != "i":
        return None
    if value.stride * side <= 0:
        return value.name
    return w.emit(f"add {ty.type_of(node.dtype)} {value.name}, {value.stride * (w.lanes - 1)}")


def _pointer(
    w: Writer, dtype: DType, buffer: Value, index: str, held: str | None, lanes: int
) -> str:
    """The address of an element; spare memory for `lanes` of them if the bounds check fails."""
    kind = ty.memory_type(dtype)
    place = f"{kind}, ptr {buffer.name}, i64 {index}"
    if held is None:
        return w.emit(f"getelementptr inbounds {place}")
    spare = w.spare_memory(dtype.itemsize * lanes)
    pointer = w.emit(f"getelementptr {place}")
    return w.emit(f"select i1 {held}, ptr {pointer}, ptr {spare}")


# ---- an address per lane


def _load_lanes(
    w: Writer,
    dtype: DType,
    buffer: Value,
    index: Value,
    gate: Value | None,
    alt: Value | None,
    held: str | None,
) -> Value:
    other = None if alt is None else w.vector(alt, dtype)
    consecutive = index.stride in (1, -1)
    if consecutive and w.mask is None and (gate is None or gate.stride == 0):
        found = _load_plain(w, dtype, buffer, index, gate)
        if other is not None and gate is not None:
            kind = ty.type_of(dtype, w.lanes)
            found = w.emit(f"select i1 {gate.name}, {kind} {found}, {kind} {other}")
        return Value(found, None, w.level)
    rest = None if other is None else to_memory(w, other, dtype, w.lanes)
    mask = _lane_mask(w, gate)
    apart = _load_apart if _is_apart(w, dtype, index) else _gather
    access = _load_masked if consecutive else apart
    found = access(w, dtype, buffer, index, mask, rest or "zeroinitializer", held)
    return Value(from_memory(w, found, dtype, w.lanes), None, w.level)


def _load_plain(w: Writer, dtype: DType, buffer: Value, index: Value, gate: Value | None) -> str:
    held = None if gate is None else gate.name
    pointer = _pointer(w, dtype, buffer, _lowest(w, index), held, w.lanes)
    kind = ty.memory_type(dtype, w.lanes)
    found = w.emit(f"load {kind}, ptr {pointer}, align {dtype.itemsize}")
    return from_memory(w, _turned(w, index, kind, found), dtype, w.lanes)


def _masked_pointer(
    w: Writer, dtype: DType, buffer: Value, index: str, held: str | None, lanes: int
) -> str:
    """The address of a masked access, which may be anywhere."""
    if held is not None:
        return _pointer(w, dtype, buffer, index, held, lanes)
    return w.emit(f"getelementptr {ty.memory_type(dtype)}, ptr {buffer.name}, i64 {index}")


def _load_masked(
    w: Writer,
    dtype: DType,
    buffer: Value,
    index: Value,
    mask: str,
    other: str,
    held: str | None,
) -> str:
    kind, truth = ty.memory_type(dtype, w.lanes), ty.vector_of("i1", w.lanes)
    pointer = _masked_pointer(w, dtype, buffer, _lowest(w, index), held, w.lanes)
    mask = _turned(w, index, truth, mask)
    other = _turned(w, index, kind, other)
    name = f"llvm.masked.load.{ty.suffix(ty.memory_type(dtype), w.lanes)}.p0"
    align = f"i32 {dtype.itemsize}"
    text = w.call(kind, name, f"ptr {pointer}", align, f"{truth} {mask}", f"{kind} {other}")
    return _turned(w, index, kind, w.emit(text))


def _gather(
    w: Writer,
    dtype: DType,
    buffer: Value,
    index: Value,
    mask: str,
    other: str,
    held: str | None,
) -> str:
    kind, truth = ty.memory_type(dtype, w.lanes), ty.vector_of("i1", w.lanes)
    if mask == _ALL and not w.processor.intel:
        return _load_each(w, dtype, buffer, index)
    pointers = f"<{w.lanes} x ptr> {_pointers(w, dtype, buffer, index)}"
    name = f"llvm.masked.gather.{ty.suffix(ty.memory_type(dtype), w.lanes)}.v{w.lanes}p0"
    align = f"i32 {dtype.itemsize}"
    return w.emit(w.call(kind, name, pointers, align, f"{truth} {mask}", f"{kind} {other}"))


def _load_each(w: Writer, dtype: DType, buffer: Value, index: Value) -> str:
    """A load per lane: faster than a gather on processors that gather element by element in
    microcode."""
    element, kind, found = ty.memory_type(dtype), ty.memory_type(dtype, w.lanes), "poison"
    for lane, pointer in enumerate(_each(w, dtype, buffer, index)):
        value = w.emit(f"load {element}, ptr {pointer}, align {dtype.itemsize}")
        found = w.emit(f"insertelement {kind} {found}, {element} {value}, i64 {lane}")
    return found


def _store_each(w: Writer, dtype: DType, buffer: Value, index: Value, vector: str) -> None:
    """A store per lane, in the order of lanes, for the same reason."""
    element, kind = ty.memory_type(dtype), ty.memory_type(dtype, w.lanes)
    for lane, pointer in enumerate(_each(w, dtype, buffer, index)):
        value = w.emit(f"extractelement {kind} {vector}, i64 {lane}")
        w.effect(f"store {element} {value}, ptr {pointer}, align {dtype.itemsize}")


def _each(w: Writer, dtype: DType, buffer: Value, index: Value) -> Iterator[str]:
    """The address of each lane, one after the other."""
    element, places = ty.memory_type(dtype), ty.vector_of("i64", w.lanes)
    if index.stride:
        base, steps = w.emit(f"getelementptr {element}, ptr {buffer.name}, i64 {index.name}"), ""
    else:
        base, steps = buffer.name, w.spread(index, "i64")
    for lane in range(w.lanes):
        place = f"{lane * (index.stride or 0)}"
        if steps:
            place = w.emit(f"extractelement {places} {steps}, i64 {lane}")
        yield w.emit(f"getelementptr {element}, ptr {base}, i64 {place}")


_ALL = "splat (i1 true)"  # the mask of all lanes
_APART = (2, 4)  # strides: vectors of other lengths would be cut up
_WIDEST_APART = 256  # bytes that one access spans


def _is_apart(w: Writer, dtype: DType, index: Value) -> bool:
    """Whether one masked access is faster than an access per lane."""
    stride = index.stride or 0
    narrow = stride * w.lanes * dtype.itemsize <= _WIDEST_APART
    masks = w.processor.width >= 512 and dtype.itemsize in (4, 8)  # narrower ones have slow masks
    return stride in _APART and narrow and masks


def _mask_apart(w: Writer, stride: int, mask: str) -> str:
    """The lanes of a mask, with elements between them that are not touched."""
    return _spread_apart(w, stride, ty.vector_of("i1", w.lanes), mask, "zeroinitializer")


def _spread_apart(w: Writer, stride: int, kind: str, vector: str, between: str) -> str:
    """A vector in which every second or fourth lane is one of this."""
    picks = [i // stride if i % stride == 0 else w.lanes for i in range(stride * w.lanes)]
    order = f"<{len(picks)} x i32> <" + ", ".join(f"i32 {i}" for i in picks) + ">"
    return w.emit(f"shufflevector {kind} {vector}, {kind} {between}, {order}")


def _load_apart(
    w: Writer,
    dtype: DType,
    buffer: Value,
    index: Value,
    mask: str,
    other: str,
    held: str | None,
) -> str:
    stride, element = index.stride or 1, ty.memory_type(dtype)
    count = stride * w.lanes
    kind, truth = ty.vector_of(element, count), ty.vector_of("i1", count)
    pointer = _masked_pointer(w, dtype, buffer, index.name, held, count)
    name, align = f"llvm.masked.load.{ty.suffix(element, count)}.p0", f"i32 {dtype.itemsize}"
    wanted = f"{truth} {_mask_apart(w, stride, mask)}"
    text = w.call(kind, name, f"ptr {pointer}", align, wanted, f"{kind} zeroinitializer")
    order = f"<{w.lanes} x i32> {ty.steps('i32', w.lanes, stride)}"
    found = w.emit(f"shufflevector {kind} {w.emit(text)}, {kind} poison, {order}")
    if other == "zeroinitializer":
        return found
    lanes, run = ty.vector_of(element, w.lanes), ty.vector_of("i1", w.lanes)
    return w.emit(f"select {run} {mask}, {lanes} {found}, {lanes} {other}")


def _store_apart(
    w: Writer, dtype: DType, buffer: Value, index: Value, vector: str, mask: str
) -> None:
    stride, element = index.stride or 1, ty.memory_type(dtype)
    count = stride * w.lanes
    kind, truth = ty.vector_of(element, count), ty.vector_of("i1", count)
    pointer = w.emit(f"getelementptr {element}, ptr {buffer.name}, i64 {index.name}")
    wide = _spread_apart(w, stride, ty.vector_of(element, w.lanes), vector, "poison")
    name, align = f"llvm.masked.store.{ty.suffix(element, count)}.p0", f"i32 {dtype.itemsize}"
    wanted = f"{truth} {_mask_apart(w, stride, mask)}"
    w.effect(w.call("void", name, f"{kind} {wide}", f"ptr {pointer}", align, wanted))


def _store_lanes(
    w: Writer,
    dtype: DType,
    buffer: Value,
    index: Value,
    vector: str,
    gate: Value | None,
    divisor: int | None,
) -> None:
    kind, truth = ty.memory_type(dtype, w.lanes), ty.vector_of("i1", w.lanes)
    short = ty.suffix(ty.memory_type(dtype), w.lanes)
    align = f"i32 {dtype.itemsize}"
    if _is_apart(w, dtype, index):
        _store_apart(w, dtype, buffer, index, vector, _lane_mask(w, gate))
        return
    if index.stride not in (1, -1):
        if gate is None and w.mask is None and index.stride != 0 and not w.processor.intel:
            _store_each(w, dtype, buffer, index, vector)
            return
        pointers = f"<{w.lanes} x ptr> {_pointers(w, dtype, buffer, index)}"
        name, mask = f"llvm.masked.scatter.{short}.v{w.lanes}p0", _lane_mask(w, gate)
        text = w.call("void", name, f"{kind} {vector}", pointers, align, f"{truth} {mask}")
        if index.stride == 0 and gate is not None:
            _if_any(w, truth, mask, text)
        else:
            w.effect(text)
        return
    vector = _turned(w, index, kind, vector)
    if w.mask is None and (gate is None or gate.stride == 0):
        at, forward = _lowest(w, index), index.stride == 1
        store_line(w, dtype, buffer, at, vector, divisor, gate, forward)
        return
    element = ty.memory_type(dtype)
    pointer = w.emit(f"getelementptr {element}, ptr {buffer.name}, i64 {_lowest(w, index)}")
    mask = _turned(w, index, truth, _lane_mask(w, gate))
    name = f"llvm.masked.store.{short}.p0"
    w.effect(w.call("void", name, f"{kind} {vector}", f"ptr {pointer}", align, f"{truth} {mask}"))


def _if_any(w: Writer, truth: str, mask: str, text: str) -> None:
    """A store that hardly ever stores anything, such as that of a flag: behind a branch, since
    processors take as long for a scatter without lanes as for one of all lanes.
    """
    stores, after = w.new_label(), w.new_label()
    held = w.emit(w.call("i1", f"llvm.vector.reduce.or.v{w.lanes}i1", f"{truth} {mask}"))
    w.effect(f"br i1 {held}, label %{stores}, label %{after}")
    w.start_block(stores)
    w.effect(text)
    w.effect(f"br label %{after}")
    w.start_block(after)


def store_line(
    w: Writer,
    dtype: DType,
    buffer: Value,
    index: str,
    vector: str,
    divisor: int | None,
    gate: Value | None = None,
    forward: bool = True,
) -> None:
    """All lanes of a vector, side by side from an index on; past the caches if there is a number
    that divides the index."""
    held = None if gate is None else gate.name
    pointer = _pointer(w, dtype, buffer, index, held, w.lanes)
    kind, whole = ty.memory_type(dtype, w.lanes), dtype.itemsize * w.lanes
    plain = f"store {kind} {vector}, ptr {pointer}, align {dtype.itemsize}"
    past = divisor is not None and gate is None and whole >= _LEAST_STREAMED
    if divisor is not None and past and w.processor.fence:
        alignment = min(whole, _MOST_ALIGNED)
        begins = forward and divisor * dtype.itemsize % alignment == 0
        _stream(w, plain, buffer.name if begins else pointer, alignment, begins)
    else:
        w.effect(plain)


def _stream(w: Writer, plain: str, pointer: str, alignment: int, begins: bool) -> None:
    """A non-temporal store if an address is aligned, which only a run can tell: that of the store,
    or that at which its buffer `begins`.
    """
    w.streams = True
    fits = w.begins_aligned(pointer, alignment) if begins else w.is_aligned(pointer, alignment)
    if w.held is None:
        _stream_all(w, fits, [(plain, alignment)])
    else:
        w.held.setdefault(fits, []).append((plain, alignment))


def release(w: Writer) -> None:
    """The stores that were held back, with a test for all that share it."""
    held, w.held = w.held or {}, None
    for fits, stores in held.items():
        _stream_all(w, fits, stores)


def _stream_all(w: Writer, fits: str, stores: list[tuple[str, int]]) -> None:
    past, through, after = w.new_label(), w.new_label(), w.new_label()
    w.effect(f"br i1 {fits}, label %{past}, label %{through}")
    w.start_block(past)
    for plain, alignment in stores:
        w.effect(f"{plain.rpartition(' ')[0]} {alignment}, !nontemporal !{{i32 1}}")
    w.effect(f"br label %{after}")
    w.start_block(through)
    for plain, _ in stores:
        w.effect(plain)
    w.effect(f"br label %{after}")
    w.start_block(after)


def _pointers(w: Writer, dtype: DType, buffer: Value, index: Value) -> str:
    """An address per lane: from lane 0 on by constant steps, if the stride is known."""
    kind, indices = ty.memory_type(dtype), ty.vector_of("i64", w.lanes)
    if index.stride:
        first = w.emit(f"getelementptr {kind}, ptr {buffer.name}, i64 {index.name}")
        offsets = ty.steps("i64", w.lanes, index.stride)
        return w.emit(f"getelementptr {kind}, ptr {first}, {indices} {offsets}")
    places = w.spread(index, "i64")
    return w.emit(f"getelementptr {kind}, ptr {buffer.name}, {indices} {places}")


def _lane_mask(w: Writer, gate: Value | None) -> str:
    """The active lanes whose bounds check holds."""
    if gate is None:
        return w.mask or _ALL
    held = w.spread(gate, "i1")
    return held if w.mask is None else w.emit(f"and {ty.vector_of('i1', w.lanes)} {held}, {w.mask}")


def _lowest(w: Writer, index: Value) -> str:
    """The least of the consecutive indices: that of the last lane, if they go down."""
    return index.name if index.stride == 1 else w.emit(f"sub i64 {index.name}, {w.lanes - 1}")


def _turned(w: Writer, index: Value, kind: str, vector: str) -> str:
    """The lanes backwards if the index goes down."""
    if index.stride != -1 or vector[0] not in "%<":
        return vector
    pick = ty.picked(w.lanes - 1, -1)
    return w.emit(f"shufflevector {kind} {vector}, {kind} poison, {pick}")


def from_memory(w: Writer, name: str, dtype: DType, lanes: int) -> str:
    """A loaded value in its register representation."""
    if not dtype.is_bool:
        return name
    return w.emit(f"icmp ne {ty.vector_of('i8', lanes)} {name}, zeroinitializer")


def to_memory(w: Writer, name: str, dtype: DType, lanes: int) -> str:
    """A register, as memory holds it."""
    if not dtype.is_bool:
        return name
    return w.emit(f"zext {ty.type_of(dtype, lanes)} {name} to {ty.vector_of('i8', lanes)}")
