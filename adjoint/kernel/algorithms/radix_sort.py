"""Sorting digit by digit where teams of threads are: every round is kernels over the whole device.

A warp has a tile of a row. In each round, from the lowest digit on:
    count:  how often a digit occurs in a tile: counts[row, digit, tile]
    scan:   where the first of them goes: the counts before it, in that order
    move:   a tile is ordered by the digit in scratch, then every run of it goes to its place
Equal digits keep their order, so the whole is stable. An entry is a key, whose order as an unsigned
integer is that of the elements (`sort.py`), and where it stood; beyond the end of a row there are
entries of the largest key, which come last and are not stored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import Loops, number
from adjoint.kernel.algorithms.scan import Scan
from adjoint.kernel.algorithms.team_scan import ScanSteps
from adjoint.stages import LoopProgram

WARP = 32
_STEPS, _FEWEST = 64, 8  # entries of a thread
_TILES = 1024  # that there should be
_BITS = 8  # of a digit
_ROOM = 1 << 20  # that indices may go beyond the end


class Rows(NamedTuple):
    """What is sorted: rows of n entries, with keys of so many bits."""

    rows: int
    n: int
    bits: int
    kind: DType  # of keys

    @property
    def rounds(self) -> int:
        return max(-(-self.bits // _BITS), 1)

    @property
    def digit(self) -> int:
        """Bits of a digit."""
        return -(-self.bits // self.rounds)

    @property
    def steps(self) -> int:
        """Entries of a thread: few, where there are few tiles."""
        most = max(_FEWEST, min(_STEPS, self.rows * self.n // (WARP * _TILES)))
        return min(most, -(-self.n // WARP))

    @property
    def tile(self) -> int:
        return self.steps * WARP

    @property
    def tiles(self) -> int:
        return -(-self.n // self.tile)

    @property
    def places(self) -> DType:
        """Of all that is in memory."""
        size = self.rows * max(self.tiles * self.tile, self.tiles << self.digit)
        return dtypes.int32 if size < dtypes.int32.max - _ROOM else dtypes.int64


class Ends:
    """Where entries come from first and go to last; a sort has its own."""

    def first(self, tile: TileLoops, row: UOp, k: UOp, inside: UOp) -> UOp:
        """The key of element k of a row, if it is inside."""
        raise NotImplementedError

    def last(self, tile: TileLoops, row: UOp, place: UOp, key: UOp, at: UOp, inside: UOp) -> None:
        """The entry that stood `at` has this place in its row."""
        raise NotImplementedError

    def define_operands(self, tile: TileLoops) -> None:
        """The buffers that kernels of the first and the last round read."""
        raise NotImplementedError

    def define_results(self, tile: TileLoops) -> None:
        """The buffers that the last kernel writes."""
        raise NotImplementedError

    def payload(self, tile: TileLoops, row: UOp, k: UOp) -> UOp:
        """What goes with the key of element k: where it stands."""
        return k.cast(dtypes.int32)


class TileLoops:
    """A kernel in which a warp has a tile, while it is written."""

    def __init__(self, rows: Rows, ends: Ends, round_: int) -> None:
        self.rows, self.ends, self.round = rows, ends, round_
        self.loops = Loops(rows.places)
        self.radix = 1 << min(rows.digit, rows.bits - round_ * rows.digit)
        self.places: list[int] = []
        self.named: dict[str, UOp] = {}

    def buffer(self, name: str, dtype: DType, size: int, place: int, mutable: bool = False) -> UOp:
        """A buffer of the kernel, and its place in the list of all."""
        self.places.append(place)
        self.named[name] = self.loops.buffer(name, dtype, size, mutable)
        return self.named[name]

    def number(self, value: int) -> UOp:
        return number(value, self.rows.places)

    def digit(self, key: UOp) -> UOp:
        """The digit of this round."""
        shifted = key >> (self.round * self.rows.digit) if self.round else key
        return (shifted & (self.radix - 1)).cast(self.rows.places)

    def program(self, node: UOp, name: str) -> tuple[LoopProgram, tuple[int, ...]]:
        rows = self.rows
        with self.loops.grid(rows.rows * rows.tiles) as position:
            if rows.tiles == 1:
                self.tile(position, self.number(0))
            else:
                self.tile(position // rows.tiles, position % rows.tiles)
        made = self.loops.program(node, name, 8 * rows.tile)
        return replace(made, threads=WARP), tuple(self.places)

    def tile(self, row: UOp, tile: UOp) -> None:
        raise NotImplementedError

    # ---- parts

    def define_entries(self, keys: int, indices: int | None) -> None:
        """The buffers that entries are read from."""
        rows, size = self.rows, self.rows.rows * self.rows.n
        if self.round in (0, rows.rounds - 1):
            self.ends.define_operands(self)
        if self.round:
            self.buffer("keys", rows.kind, size, keys)
        if self.round and indices is not None:
            self.buffer("indices", dtypes.int32, size, indices)

    def key(self, row: UOp, k: UOp) -> UOp:
        """The key of an entry; the largest, where there is none."""
        rows = self.rows
        whole = rows.n % rows.tile == 0
        inside = OPS["const"](True, dtypes.bool_, (), None) if whole else k < rows.n
        if self.round == 0:
            found = self.ends.first(self, row, k, inside)
        else:
            at = row * rows.n + inside.where(k, 0)
            found = self.loops.load(self.named["keys"], at)
        return inside.where(found, number(-1, rows.kind))

    def read_keys(self, row: UOp, tile: UOp) -> UOp:
        """The keys of the tile in scratch."""
        loops, rows = self.loops, self.rows
        keys = loops.local("tile_keys", rows.kind, rows.tile)
        with loops.loop(WARP, WARP) as lane, loops.loop(rows.steps) as step:
            inside = step * WARP + lane
            loops.store(keys, inside, self.key(row, tile * rows.tile + inside))
        return keys

    def count_at(self, row: UOp, digit: UOp, tile: UOp) -> UOp:
        """Where the count of a digit in a tile lies."""
        rows = self.rows
        return (row * self.radix + digit) * rows.tiles + tile


class CountLoops(TileLoops):
    """How often every digit occurs in every tile."""

    def tile(self, row: UOp, tile: UOp) -> None:
        loops, rows = self.loops, self.rows
        counts = loops.local("tile_counts", dtypes.int32, self.radix)
        lanes = min(WARP, self.radix)
        with loops.loop(self.radix, lanes) as digit:
            loops.store(counts, digit, number(0, dtypes.int32))
        with loops.loop(WARP, WARP) as lane, loops.loop(rows.steps) as step:
            key = self.key(row, tile * rows.tile + step * WARP + lane)
            loops.count_up(counts, self.digit(key))
        with loops.loop(self.radix, lanes) as digit:
            found = loops.load(counts, digit)
            loops.store(self.named["counts"], self.count_at(row, digit, tile), found)


class MoveLoops(TileLoops):
    """Every entry of every tile to its place by a digit."""

    def tile(self, row: UOp, tile: UOp) -> None:
        loops, rows = self.loops, self.rows
        keys = self.read_keys(row, tile)
        offsets, starts = self._starts(row, tile)
        sources = loops.local("sources", dtypes.int16, rows.tile)
        with loops.loop(rows.steps) as step, loops.loop(WARP, WARP) as lane:
            inside = step * WARP + lane
            place = loops.count_up(starts, self.digit(loops.load(keys, inside)))
            loops.store(sources, place.cast(rows.places), inside.cast(dtypes.int16))
        with loops.loop(WARP, WARP) as lane, loops.loop(rows.steps) as step:
            place = step * WARP + lane
            source = loops.load(sources, place).cast(rows.places)
            key = loops.load(keys, source)
            offset = loops.load(offsets, self.digit(key)).cast(rows.places)
            self._put(row, offset + place, key, tile * rows.tile + source)

    def _starts(self, row: UOp, tile: UOp) -> tuple[UOp, UOp]:
        """How far the entries of a digit move from the ordered tile to the row, and where they
        start in the tile: the counts of lower digits, which is how far the places are apart."""
        loops, rows = self.loops, self.rows
        offsets = loops.local("offsets", dtypes.int32, self.radix)
        starts = loops.local("starts", dtypes.int32, self.radix)
        parts = loops.local("parts", dtypes.int32, WARP)
        each, last = -(-self.radix // WARP), self.radix * rows.tiles - 1
        with loops.loop(WARP, WARP) as lane:
            total = loops.register(number(0, dtypes.int32))
            with loops.loop(each) as i:
                digit = (lane * each + i).minimum(self.radix - 1)
                at = digit * rows.tiles + tile
                begin = loops.load(self.named["before"], self.count_at(row, digit, tile))
                after = loops.load(self.named["before"], row * (last + 1) + (at + 1).minimum(last))
                end = at.eq(last).where(number(rows.tiles * rows.tile, dtypes.int32), after)
                real = (lane * each + i) < self.radix
                loops.store(offsets, digit, begin, real)
                loops.store(starts, digit, total, real)
                here = real.where(end - begin, number(0, dtypes.int32))
                total_ = loops.update(total, total + here, i)
            loops.store(parts, lane, total_)
        with loops.loop(WARP, WARP) as lane:
            total = loops.register(number(0, dtypes.int32))
            with loops.loop(WARP) as j:
                part = (j < lane).where(loops.load(parts, j), number(0, dtypes.int32))
                total_ = loops.update(total, total + part, j)
            with loops.loop(each) as i:
                digit = (lane * each + i).minimum(self.radix - 1)
                real = (lane * each + i) < self.radix
                start = loops.load(starts, digit) + total_
                begin = loops.load(offsets, digit)
                loops.store(starts, digit, start, real)
                loops.store(offsets, digit, begin - start, real)
        return offsets, starts

    def _put(self, row: UOp, place: UOp, key: UOp, k: UOp) -> None:
        """An entry, to memory."""
        loops, rows = self.loops, self.rows
        whole = rows.n % rows.tile == 0
        inside = None if whole else place < rows.n
        at = self.ends.payload(self, row, k) if self.round == 0 else self._index(row, k)
        if self.round == rows.rounds - 1:
            true = OPS["const"](True, dtypes.bool_, (), None)
            self.ends.last(self, row, place, key, at, true if inside is None else inside)
            return
        there = row * rows.n + place
        loops.store(self.named["new_keys"], there, key, inside)
        loops.store(self.named["new_indices"], there, at, inside)

    def _index(self, row: UOp, k: UOp) -> UOp:
        rows = self.rows
        safe = k if rows.n % rows.tile == 0 else (k < rows.n).where(k, 0)
        return self.loops.load(self.named["indices"], row * rows.n + safe)


class RadixSteps(ScanSteps):
    """The kernels of a sort; `begin` is the place of the first scratch in the list of buffers."""

    def sort(self, rows: Rows, ends: Ends) -> None:
        """All rounds."""
        size = rows.rows * rows.n
        pairs = [
            (self.memory(rows.kind, size), self.memory(dtypes.int32, size))
            for _ in range(min(rows.rounds - 1, 2))
        ]
        radix = min(1 << rows.digit, 1 << rows.bits)
        count = rows.rows * radix * rows.tiles
        counts, before = self.memory(dtypes.int32, count), self.memory(dtypes.int32, count)
        for i in range(rows.rounds):
            source = pairs[(i - 1) % 2] if i else (0, 0)
            counting = CountLoops(rows, ends, i)
            cells = rows.rows * counting.radix * rows.tiles
            counting.define_entries(source[0], None)
            counting.buffer("counts", dtypes.int32, cells, counts, True)
            self.parts.append(counting.program(self.node, self.name(f"count{i}")))
            scan = Scan("add", dtypes.int32, dtypes.int32, dtypes.int32, rows.rows, 1, 1)
            n = counting.radix * rows.tiles
            self.add(replace(scan, n=n, before=True), before, counts)
            self._move(rows, ends, i, source, pairs, before, cells)

    def _move(
        self,
        rows: Rows,
        ends: Ends,
        i: int,
        source: tuple[int, int],
        pairs: list[tuple[int, int]],
        before: int,
        cells: int,
    ) -> None:
        moving, size = MoveLoops(rows, ends, i), rows.rows * rows.n
        if i == rows.rounds - 1:
            ends.define_results(moving)
        else:
            keys, indices = pairs[i % 2]
            moving.buffer("new_keys", rows.kind, size, keys, True)
            moving.buffer("new_indices", dtypes.int32, size, indices, True)
        moving.define_entries(*source)
        moving.buffer("before", dtypes.int32, cells, before)
        self.parts.append(moving.program(self.node, self.name(f"move{i}")))

    def name(self, what: str) -> str:
        return f"{self.node.op.name}_{what}"


__all__ = ["Ends", "RadixSteps", "Rows", "TileLoops"]
