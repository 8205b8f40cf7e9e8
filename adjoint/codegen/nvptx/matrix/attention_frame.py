"""The common part of the attention kernels.

Work is divided into items: a tile of rows of one plane (a head of a batch) stays, while tiles of
two other matrices stream past. A block processes item after item; one of its warpgroups copies
tiles, including those of the next item while the others finish one. What may live here: items,
tiles and barriers. What may not: what is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from adjoint.codegen.nvptx.geometry import Geometry
from adjoint.codegen.nvptx.matrix.hopper import ROW, WARPGROUP, Hopper, Tile, both
from adjoint.codegen.nvptx.matrix.streams import (
    STAGES,
    Rows,
    Stream,
    copy_tile,
    fill,
    place_of,
    steps_along,
    steps_down,
)
from adjoint.codegen.nvptx.matrix.text import F32, Value, Values, constant
from adjoint.stages import Source

LANGUAGE = "nvptx sm_90a"
ROWS = 64  # of a product of a warpgroup
SIZES = ("queries", "keys", "heads", "shared_by", "blocks", "planes", "section", "counters")
MASK = ("first", "batch", "head", "row", "column")  # where a mask lies: element, and strides
_BARRIER = 8  # bytes


@dataclass(frozen=True, slots=True)
class Shape:
    """The parameters of a kernel: dtype and size of a head, whether later keys are hidden; how many
    warpgroups compute, and how many keys (or queries, for their gradients) a tile has.
    """

    dtype: str
    head: int
    causal: bool
    groups: int = 2
    columns: int = 128
    alternate: bool = False  # whether warpgroups begin their products one after another
    mask: bool = False  # whether a mask says which keys are seen
    scale: float = 0.0  # of scores; 0: one over the root of a head's size

    @property
    def factor(self) -> float:
        """What scores are multiplied by."""
        return self.scale or self.head**-0.5

    @property
    def width(self) -> int:
        """Columns of a tile, some of which may be zeros."""
        return 64 if self.head <= 64 else 128

    @property
    def rows(self) -> int:
        """Of the tile that stays."""
        return ROWS * self.groups

    @property
    def threads(self) -> int:
        return WARPGROUP * (self.groups + 1)


def places_of(*names: str) -> tuple[str, ...]:
    """The parameters that describe matrices: their first element, and their strides."""
    axes = ("first", "batch", "head", "row")
    return tuple(f"{name}_{axis}" for name in names for axis in axes)


def parameters_of(
    results: tuple[str, ...], operands: tuple[str, ...], matrices: tuple[str, ...], mask: bool
) -> tuple[str, ...]:
    """Addresses of results and operands, then numbers."""
    addresses = (*results, *operands, *(("mask",) if mask else ()))
    steps = tuple(f"mask_{axis}" for axis in MASK) if mask else ()
    return (*addresses, *SIZES, *places_of(*matrices), *steps)


class Frame:
    """A kernel under construction. `stays` and `goes` name the matrices whose tiles stay or stream
    past.
    """

    stays: tuple[str, ...]
    goes: tuple[str, str]
    backwards = False  # whether the last tile of a plane comes first
    # Registers of a thread that copies and of one that computes, by warpgroups that compute: all
    # have as many at first, and there are 65,536 of a processor.
    registers: ClassVar[dict[int, tuple[int, int]]] = {2: (40, 232), 3: (32, 160)}
    turns: Value  # tiles that go by, for an item
    first: Value  # row of an item's tile

    def __init__(self, shape: Shape, names: tuple[str, ...]):
        self.shape, self.names, self.used = shape, names, 0
        self.text = text = Hopper(shape.dtype)
        self.shared = text.shared()
        self.thread = text.special("tid.x")
        self.group = text.integer("lshr", self.thread, 7)
        self.place = place_of(text, self.thread)
        self.queries, self.keys = self.number("queries"), self.number("keys")
        self.staying = [self._tile(shape.rows, STAGES) for _ in self.stays]
        tiles = [self._tile(shape.columns, STAGES) for _ in self.goes]
        self.streams = [Stream(text, self.shared, t, self._room(2 * STAGES)) for t in tiles]
        self.items = Stream(text, self.shared, self.staying[0], self._room(2 * STAGES))
        self.told = text.add(self.shared, self._room(2))  # numbers of items, for each stage

    def _tile(self, rows: int, stages: int = 1) -> Tile:
        found = Tile(self.used, rows, self.shape.width)
        self.used += stages * found.nbytes
        return found

    def _room(self, barriers: int) -> int:
        self.used += _BARRIER * barriers
        return self.used - _BARRIER * barriers

    def number(self, name: str) -> Value:
        """A parameter of 32 bits."""
        return self.text.narrow(Value("i64", f"%{name}"))

    def source(self, name: str) -> Source:
        """The kernel's text."""
        text = self.text
        text.when(text.compare("eq", self.thread, 0), self._make_barriers)
        text.barriers_ready()
        text.branch(text.compare("eq", self.group, 0), self._copies, self._computes)
        geometry = Geometry(self.shape.threads, 1, 1, self.used)
        metadata = "\n".join(geometry.text(0))
        whole = text.module(f"k_{name}", self.names, self.shape.threads, metadata)
        return Source(LANGUAGE, name, whole)

    def _make_barriers(self) -> None:
        users = 4 * self.shape.groups
        for stream in (*self.streams, self.items):
            stream.made(users)

    # ---- items

    def _begin(self, item: Value) -> None:
        """The item is what follows is about."""
        self._locate(item)
        self.counted()

    def _remain(self, item: Value) -> Value:
        total = self.text.mul(self.number("blocks"), self.number("planes"))
        return self.text.compare("slt", item, total)

    def _slot(self, number: Value, first: int = 0) -> Value:
        """Where an item is written, by its number in the block."""
        place = self.text.integer("and", number, 1)
        return self.text.add(self.told, self.text.integer("shl", self.text.add(place, first), 2))

    def _claimed(self) -> Value:
        """An item that no block has; known to the first thread of those that copy."""
        text = self.text
        claimed = text.counted_up(Value("i64", "%counters"), self.is_first)
        return text.add(claimed, text.special("nctaid.x"))

    def _locate(self, item: Value) -> None:
        text = self.text
        blocks, planes, section = map(self.number, ("blocks", "planes", "section"))
        whole = text.mul(blocks, section)
        number, rest = text.integer("sdiv", item, whole), text.integer("srem", item, whole)
        first = text.mul(number, section)
        side = text.least(section, text.sub(planes, first))
        tile = text.integer("sdiv", rest, side)
        self.plane = text.add(first, text.integer("srem", rest, side))
        if self.backwards:
            tile = text.sub(text.sub(blocks, 1), tile)
        heads = self.number("heads")
        self.batch = text.integer("sdiv", self.plane, heads)
        self.head = text.integer("srem", self.plane, heads)
        self.first = text.mul(tile, self.shape.rows)

    def counted(self) -> None:
        """How many tiles stream past for an item: `turns`."""
        raise NotImplementedError

    def rows_of(self, name: str, head: Value, count: Value) -> Rows:
        """The matrix of the item's batch and a head."""
        text = self.text
        offset = text.add(self._times(self.batch, name, "batch"), self._times(head, name, "head"))
        offset = text.add(offset, Value("i64", f"%{name}_first"))
        address = text.add(Value("i64", f"%{name}"), text.integer("shl", offset, 1))
        step = text.integer("shl", Value("i64", f"%{name}_row"), 1)
        return Rows(address, step, count, self.shape.head)

    def _times(self, index: Value, name: str, axis: str) -> Value:
        return self.text.mul(self.text.wide(index), Value("i64", f"%{name}_{axis}"))

    # ---- the warpgroup that copies

    def _copies(self) -> None:
        """Blocks start with given items; a block that is done takes the next, so that all blocks
        end at about the same time.
        """
        text = self.text
        text.registers(self.registers[self.shape.groups][0], more=False)
        self.is_first = text.compare("eq", self.place.thread, 0)
        start = [text.special("ctaid.x"), constant(0), constant(0)]
        item, number, _ = text.repeat(start, lambda v: self._remain(v[0]), self._copy_item)
        self._tell(item, number)
        text.arrive(self.items.full(number), text.always())
        self._reset()

    def _tell(self, item: Value, number: Value) -> None:
        """When the tiles of the last item but one are no longer needed, announces the next item."""
        self.items.wait_empty(number)
        self.text.put(item, self._slot(number), self.is_first)

    def _copy_item(self, values: Values) -> Values:
        text = self.text
        item, number, base = values
        self._begin(item)
        claimed = self._claimed()
        self._tell(item, number)
        for name, tile in zip(self.stays, self.staying, strict=True):
            self.copied(name, self._kept(tile, number), tile, self.first)
        text.copies_end()
        fill(text, self.streams, self.turns, base, self.items.full(number), self.copy)
        text.put(claimed, self._slot(number, first=2), self.is_first)
        text.together()
        following = text.got(self._slot(number, first=2))
        return [following, text.add(number, 1), text.add(base, self.turns)]

    def _kept(self, tile: Tile, number: Value) -> Value:
        """Where a tile that stays is, for an item."""
        text = self.text
        stage = text.integer("and", number, STAGES - 1)
        return text.add(text.add(self.shared, tile.offset), text.mul(stage, tile.nbytes))

    def _reset(self) -> None:
        """The last block leaves the counters as they were."""
        text, address = self.text, Value("i64", "%counters")
        ended = text.counted_up(text.add(address, 4), self.is_first)
        last = text.compare("eq", ended, text.sub(text.special("nctaid.x"), 1))
        last = both(text, last, self.is_first)
        for offset in (0, 4):
            text.store("b32", constant(0), text.add(address, offset), last)

    def copied(self, name: str, to: Value, tile: Tile, first: Value) -> None:
        """A tile of a matrix of the item, from a row on."""
        raise NotImplementedError

    def copy(self, which: int, turn: Value, at: Value) -> None:
        """The streamed tile of an iteration of the item (the streams' iteration `at`)."""
        raise NotImplementedError

    def copy_rows(self, rows: Rows, to: Value, tile: Tile, first: Value) -> None:
        """Rows of a matrix from `first` on."""
        copy_tile(self.text, self.place.thread, to, tile, rows, first)

    # ---- those that compute

    def _computes(self) -> None:
        text = self.text
        text.registers(self.registers[self.shape.groups][1], more=True)
        self.own = text.sub(self.group, 1)
        own = text.mul(self.own, ROWS)
        row = text.add(text.mul(self.place.warp, 16), text.integer("lshr", self.place.lane, 2))
        inside = text.add(own, row)
        self.pair = text.integer("shl", text.integer("and", self.place.lane, 3), 1)
        self.own_bytes = text.mul(own, ROW)
        self.inside = inside
        self.begin()
        text.repeat([constant(0), constant(0)], self._told, self._compute_item)

    def _told(self, values: Values) -> Value:
        """Whether there is another item; its resident tiles are loaded then."""
        self.items.wait_full(values[0])
        self.item = self.text.got(self._slot(values[0]))
        return self._remain(self.item)

    def _compute_item(self, values: Values) -> Values:
        text = self.text
        self.now, self.base = values
        self._begin(self.item)
        self.lefts = [
            text.rows_of(text.add(self._kept(tile, self.now), self.own_bytes))
            for tile in self.staying
        ]
        self.rows = [text.add(text.add(self.first, self.inside), n) for n in (0, 8)]
        self.compute()
        return [text.add(self.now, 1), text.add(self.base, self.turns)]

    def begin(self) -> None:
        """A warpgroup's work before its first item."""

    def compute(self) -> None:
        """An item, whose resident tiles are loaded."""
        raise NotImplementedError

    def release(self) -> None:
        """The tiles that stay are not needed any more."""
        self.items.used(self.now, self.place.leader)

    def used_up(self, which: int, turn: Value) -> None:
        """Releases the tile of an iteration."""
        self.streams[which].used(self.at(turn), self.place.leader)

    def at(self, turn: Value) -> Value:
        """An iteration of the item as one of the block."""
        return self.text.add(self.base, turn)

    def along_rows(self, stays: int, goes: int, turn: Value) -> Values:
        """Begin the product of a resident tile with a streamed one, along their columns."""
        text, stream, at = self.text, self.streams[goes], self.at(turn)
        stream.wait_full(at)
        right = text.rows_of(stream.address(at))
        steps = zip(steps_along(self.staying[stays]), steps_along(stream.tile), strict=True)
        return text.product(self.shape.columns, self.lefts[stays], right, list(steps))

    def along_columns(self, goes: int, turn: Value, totals: Values, left: Values) -> Values:
        """Begin totals + left @ the streamed tile."""
        text, stream, at = self.text, self.streams[goes], self.at(turn)
        right = text.columns_of(stream.address(at), stream.tile)
        steps = [(0, step) for step in steps_down(stream.tile)]
        return text.product(self.shape.width, left, right, steps, totals, turned=True)

    def packed(self, numbers: Values) -> Values:
        """As the left operand of a product."""
        return [self.text.packed(a, b) for a, b in zip(numbers[::2], numbers[1::2], strict=True)]

    def hidden_after(self, scores: Values, start: Value) -> Values:
        """-inf where there is no key, or a later one than the query; rows are queries, and columns
        keys from `start` on."""
        text = self.text
        begin = text.add(start, self.pair)
        limits = []
        for row in self.rows:
            limit = text.least(self.keys, text.add(row, 1)) if self.shape.causal else self.keys
            limits.append(text.sub(limit, begin))
        return [
            text.select(text.compare("sgt", limits[half(i)], column(i)), x, constant(-inf, F32))
            for i, x in enumerate(scores)
        ]

    def masked(self, scores: Values, start: Value, head: Value, turned: bool = False) -> Values:
        """-inf where the mask is false, of the thread's rows and columns from `start` on; `turned`:
        rows are keys and columns are queries.
        """
        text = self.text
        if not self.shape.mask:
            return scores
        steps = {axis: Value("i64", f"%mask_{axis}") for axis in MASK}
        down, along = ("column", "row") if turned else ("row", "column")
        limits = (self.keys, self.queries) if turned else (self.queries, self.keys)
        first = text.add(start, self.pair)
        begin = text.add(Value("i64", "%mask"), steps["first"])
        begin = text.add(begin, text.mul(text.wide(self.batch), steps["batch"]))
        begin = text.add(begin, text.mul(text.wide(head), steps["head"]))
        begin = text.add(begin, text.mul(text.wide(first), steps[along]))
        lines = [text.add(begin, text.mul(text.wide(row), steps[down])) for row in self.rows]
        there = [text.compare("slt", row, limits[0]) for row in self.rows]
        left = text.sub(limits[1], first)
        found = []
        for i, score in enumerate(scores):
            inside = both(text, there[half(i)], text.compare("sgt", left, column(i)))
            address = text.add(lines[half(i)], text.mul(steps[along], column(i)))
            seen = text.compare("ne", text.load_byte(address, inside), 0)
            found.append(text.select(seen, score, constant(-inf, F32)))
        return found

    def per_row(self, row: Value) -> Value:
        """The place of a row's number, in bytes: plane after plane."""
        text = self.text
        plane = text.mul(text.wide(self.plane), text.wide(self.queries))
        return text.integer("shl", text.add(plane, text.wide(row)), 2)

    def store_rows(self, to: Rows, totals: Values, factors: Sequence[Value]) -> None:
        """The thread's two rows, each times a factor."""
        for number, (row, factor) in enumerate(zip(self.rows, factors, strict=True)):
            numbers = [x for i, x in enumerate(totals) if half(i) == number]
            self._store_row(to, row, numbers, factor)

    def _store_row(self, to: Rows, row: Value, numbers: Values, factor: Value) -> None:
        """A row's numbers are in pairs, eight apart; four threads exchange them so that each writes
        eight adjacent ones.
        """
        text, lane = self.text, self.place.lane
        own = text.integer("and", lane, 3)
        there = text.compare("slt", row, to.count)
        start = text.add(to.address, text.mul(text.wide(row), to.step))
        start = text.add(start, text.wide(text.integer("shl", own, 4)))
        words = self.packed([text.fmul(x, factor) for x in numbers])
        for first in range(0, min(len(words), to.columns // 8), 4):
            turned = text.turned(words[first : first + 4], lane)
            inside = text.compare("slt", text.add(own, first), to.columns // 8)
            text.store_four(turned, text.add(start, 16 * first), both(text, there, inside))


def half(register: int) -> int:
    """Which of a thread's two rows a register of a product belongs to."""
    return register % 4 // 2


def column(register: int) -> int:
    """Which column, beyond the thread's first."""
    return 8 * (register // 4) + register % 2


def joined(values: Values, join: Callable[[Value, Value], Value]) -> Value:
    """By pairs, so that few wait for one another."""
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=False)
        values = [*(join(a, b) for a, b in pairs), *values[len(values) & ~1 :]]
    return values[0]
