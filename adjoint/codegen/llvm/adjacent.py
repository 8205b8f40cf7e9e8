"""Loads and stores that together touch adjacent elements: one access for all of them.

    a = load(x, 2 i); b = load(x, 2 i + 1); …; store(y, 2 i, c); store(y, 2 i + 1, d)

Lanes along i read every second element in each of these loads: of complex numbers the first reads
the real and the second the imaginary parts. One plain load reads all elements, and shuffles take
each part out. The stores wait for the last one of them, and a shuffle interleaves the parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.memory import from_memory, store_line, to_memory, wide
from adjoint.codegen.llvm.writer import Value, Writer
from adjoint.ir.kernel_kind import GLOBAL, LOAD, STORE, gate_of
from adjoint.ir.loop_tree import Block
from adjoint.ir.uop import UOp
from adjoint.stages import LoopProgram

_MOST = 4  # elements
_WIDEST = 256  # bytes of an access


@dataclass(slots=True, eq=False, repr=False)
class _Run:
    """Accesses in one block to adjacent elements, in the order of these."""

    nodes: list[UOp]
    whole: str = ""  # what a load has read
    parts: dict[UOp, str] = field(default_factory=dict)  # those that have been made, or that wait

    def first(self, w: Writer, node: UOp, index: Value) -> str:
        """The index of the first element in the first lane, from that of another."""
        offset = self.nodes.index(node)
        return w.emit(f"sub i64 {index.name}, {offset}") if offset else index.name


class Adjacent:
    """The accesses of a program that are made together."""

    def __init__(self, program: LoopProgram, root: Block) -> None:
        self._given = set(program.parameters)
        self._read = {node.src[0] for node in program.body if node.op.kernel is LOAD}
        self._written = Counter(n.src[0] for n in program.body if n.op.kernel is STORE)
        self._runs = {node: run for run in self._found(root) for node in run.nodes}

    def load(self, w: Writer, node: UOp, value_of: dict[UOp, Value]) -> Value | None:
        """The value of a load that is one of several; None if it stands alone."""
        run, index = self._run(w, node, value_of)
        if run is None:
            return None
        count, dtype = len(run.nodes), node.dtype
        if not run.parts:
            first = run.first(w, node, index)
            run.whole = _load(w, node, value_of[node.src[0]].name, first, count)
        kind, start = ty.memory_type(dtype, count * w.lanes), run.nodes.index(node)
        order = _order(range(start, count * w.lanes, count))
        found = w.emit(f"shufflevector {kind} {run.whole}, {kind} poison, {order}")
        run.parts[node] = found
        if len(run.parts) == count:
            run.parts = {}  # the block may be written again, for other lanes
        return Value(from_memory(w, found, dtype, w.lanes), None, w.level)

    def store(self, w: Writer, node: UOp, value_of: dict[UOp, Value], divisor: int | None) -> bool:
        """Whether a store is one of several; the last makes all of them. `divisor`: of the index of
        the first, if stores go past the caches."""
        run, index = self._run(w, node, value_of)
        if run is None:
            return False
        dtype, vector = node.src[2].dtype, w.vector(value_of[node.src[2]], node.src[2].dtype)
        run.parts[node] = to_memory(w, vector, dtype, w.lanes)
        if len(run.parts) == len(run.nodes):
            parts, run.parts = [run.parts[n] for n in run.nodes], {}
            _store(w, node, value_of[node.src[0]], run.first(w, node, index), parts, divisor)
        return True

    def first(self, node: UOp) -> UOp:
        """The store to the first element of those that are stored together with this one."""
        return self._runs[node].nodes[0] if node in self._runs else node

    # ---- which accesses are together

    def _run(self, w: Writer, node: UOp, value_of: dict[UOp, Value]) -> tuple[_Run | None, Value]:
        """The accesses that a node is one of, if the lanes are as far apart as these are many."""
        index = value_of[node.src[1]]
        run = self._runs.get(node)
        if run is None or index.stride != len(run.nodes):
            return None, index
        if len(run.nodes) * w.lanes * _itemsize(node) > _WIDEST:
            return None, index
        return run, wide(w, index, node.src[1].dtype)

    def _found(self, block: Block) -> Iterator[_Run]:
        for inner in block.blocks:
            yield from self._found(inner)
        together: dict[tuple[UOp, UOp, bool], dict[int, UOp]] = {}
        for node in block.items:
            if not isinstance(node, Block) and self._is_plain(node):
                base, offset = self._parts(node.src[1])
                key = (node.src[0], base, node.op.kernel is LOAD)
                together.setdefault(key, {})[offset] = node
        for (buffer, _, loads), places in together.items():
            alone = loads or self._written[buffer] == len(places)  # no store comes between
            if alone and _are_adjacent(places):
                yield _Run([places[offset] for offset in sorted(places)])

    def _is_plain(self, node: UOp) -> bool:
        """A load without a bounds check, of memory that the kernel does not write; or a store to
        memory that it does not read."""
        kernel = node.op.kernel
        if (kernel is not LOAD and kernel is not STORE) or gate_of(node) is not None:
            return False
        buffer = node.src[0]
        return buffer.op.kernel is GLOBAL and not (
            buffer in self._written if kernel is LOAD else buffer in self._read
        )

    def _parts(self, index: UOp) -> tuple[UOp, int]:
        """An index as a node and a constant that is added to it."""
        if index.op.name == "add":
            base, more = index.src
            if more.op.name == "const" and more not in self._given:
                return base, int(more.arg.value)
        return index, 0


def _are_adjacent(offsets: Iterable[int]) -> bool:
    found = sorted(offsets)
    return 2 <= len(found) <= _MOST and found[-1] - found[0] == len(found) - 1


def _itemsize(node: UOp) -> int:
    return int((node if node.op.kernel is LOAD else node.src[2]).dtype.itemsize)


# ---- one access


def _load(w: Writer, node: UOp, buffer: str, first: str, count: int) -> str:
    dtype, lanes = node.dtype, count * w.lanes
    element, kind = ty.memory_type(dtype), ty.memory_type(dtype, lanes)
    pointer = w.emit(f"getelementptr inbounds {element}, ptr {buffer}, i64 {first}")
    if w.mask is None:
        return w.emit(f"load {kind}, ptr {pointer}, align {dtype.itemsize}")
    mask, align = f"{ty.vector_of('i1', lanes)} {_mask(w, count)}", f"i32 {dtype.itemsize}"
    name = f"llvm.masked.load.{ty.suffix(element, lanes)}.p0"
    return w.emit(w.call(kind, name, f"ptr {pointer}", align, mask, f"{kind} zeroinitializer"))


def _store(
    w: Writer, node: UOp, buffer: Value, first: str, parts: list[str], divisor: int | None
) -> None:
    dtype, count, own = node.src[2].dtype, len(parts), w.lanes
    vector = _interleaved(w, ty.memory_type(dtype), parts)
    element, kind = ty.memory_type(dtype), ty.memory_type(dtype, count * own)
    if w.mask is None:
        w.lanes = count * own
        store_line(w, dtype, buffer, first, vector, divisor)
        w.lanes = own
        return
    pointer = w.emit(f"getelementptr inbounds {element}, ptr {buffer.name}, i64 {first}")
    mask, align = f"{ty.vector_of('i1', count * own)} {_mask(w, count)}", f"i32 {dtype.itemsize}"
    name = f"llvm.masked.store.{ty.suffix(element, count * own)}.p0"
    w.effect(w.call("void", name, f"{kind} {vector}", f"ptr {pointer}", align, mask))


def _mask(w: Writer, count: int) -> str:
    """The lanes that run, each for all its elements."""
    truth = ty.vector_of("i1", w.lanes)
    order = _order(i // count for i in range(count * w.lanes))
    return w.emit(f"shufflevector {truth} {w.mask}, {truth} poison, {order}")


def _interleaved(w: Writer, element: str, parts: list[str]) -> str:
    """The first elements of all vectors, then the second ones, and so on."""
    lanes, count, room = w.lanes, len(parts), w.lanes
    while len(parts) > 1:
        kind, order = ty.vector_of(element, room), _order(range(2 * room))
        pairs = zip_longest(parts[::2], parts[1::2], fillvalue="poison")
        parts = [w.emit(f"shufflevector {kind} {a}, {kind} {b}, {order}") for a, b in pairs]
        room *= 2
    kind = ty.vector_of(element, room)
    order = _order(part * lanes + lane for lane in range(lanes) for part in range(count))
    return w.emit(f"shufflevector {kind} {parts[0]}, {kind} poison, {order}")


def _order(picks: Iterable[int]) -> str:
    listed = list(picks)
    return f"<{len(listed)} x i32> <" + ", ".join(f"i32 {i}" for i in listed) + ">"
