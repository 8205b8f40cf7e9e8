"""Radix sort for teams of threads: every round is kernels over the whole device.

A team has a tile of a row, and each of its warps a part of the tile. In each round, from the lowest
digit on:
    count:  how often a digit occurs in a tile: counts[row, digit, tile]
    scan:   where the first of them goes: the counts before it, in that order
    move:   a tile is ordered by the digit in scratch, then every run of it goes to its place
Equal digits keep their order, so the sort is stable. An entry is a key, whose order as an unsigned
integer is that of the elements (`sort.py`), and its original place. Beyond the end of a row there
are entries with the largest key, which come last and are not stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import FEW_REGISTERS, Loops, number
from adjoint.kernel.algorithms.scan import Scan
from adjoint.kernel.algorithms.team_scan import ScanSteps
from adjoint.ops.tree import GROUP
from adjoint.stages import LoopProgram

WARP = 32
THREADS = 256  # of a team
_STEPS, _FEWEST = 16, 4  # entries of a thread
_TILES = 512  # that there should be
_BITS = 8  # of a digit
_ROOM = 1 << 20  # that indices may go beyond the end


class Rows(NamedTuple):
    """The rows to sort: rows of n entries, with keys of this many bits."""

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
        most = max(_FEWEST, min(_STEPS, self.rows * self.n // (THREADS * _TILES)))
        return min(most, -(-self.n // THREADS))

    @property
    def tile(self) -> int:
        return self.steps * THREADS

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
        """The payload of element k: its original place."""
        return k.cast(dtypes.int32)


class TileLoops:
    """A kernel in which a team has a tile, while it is written."""

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
        return replace(made, threads=THREADS, registers=FEW_REGISTERS), tuple(self.places)

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

    def inside(self, t: UOp, step: UOp) -> UOp:
        """Entry `step` of a thread: neighbours have neighbours, a warp has a part of the tile."""
        return (t // WARP) * (WARP * self.rows.steps) + step * WARP + t % WARP

    def count_at(self, row: UOp, digit: UOp, tile: UOp) -> UOp:
        """The place of the count of a digit in a tile."""
        rows = self.rows
        return (row * self.radix + digit) * rows.tiles + tile


class CountLoops(TileLoops):
    """How often every digit occurs in every tile."""

    def tile(self, row: UOp, tile: UOp) -> None:
        loops, rows = self.loops, self.rows
        counts = loops.local("tile_counts", dtypes.int32, self.radix)
        lanes = min(THREADS, self.radix)
        with loops.loop(self.radix, lanes) as digit:
            loops.store(counts, digit, number(0, dtypes.int32))
        with loops.loop(THREADS, THREADS) as t, loops.loop(rows.steps) as step:
            key = self.key(row, tile * rows.tile + step * THREADS + t)
            loops.count_up(counts, self.digit(key))
        with loops.loop(self.radix, lanes) as digit:
            found = loops.load(counts, digit)
            loops.store(self.named["counts"], self.count_at(row, digit, tile), found)


class WarpCounts:
    """The counts of a team's warps for a tile: how often a digit occurs, and from that the place of
    the next entry with the digit.
    """

    def __init__(self, loops: Loops, digits: int, threads: int = THREADS) -> None:
        self.loops, self.digits = loops, max(digits, 2 * GROUP)
        self.threads, self.warps = threads, threads // WARP
        self.counts = loops.local("counts", dtypes.int32, self.warps * self.digits)
        sizes = (self.digits, self.digits, self.digits // GROUP)
        self.sums = [loops.local(f"sums{i}", dtypes.int32, n) for i, n in enumerate(sizes)]

    def cell(self, t: UOp, digit: UOp) -> UOp:
        """The count of a digit that the warp of a thread has."""
        return (t // WARP) * self.digits + digit

    def clear(self) -> None:
        with self.loops.loop(self.warps * self.digits, self.threads) as cell:
            self.loops.store(self.counts, cell, number(0, dtypes.int32))

    def add_up(self, begin: Callable[[UOp, UOp], None] | None = None) -> None:
        """From the counts of digits to the places of their first entries: behind lower digits, and
        lower warps; `begin` is called with the start of each digit.
        """
        loops, digits, (totals, before, groups) = self.loops, self.digits, self.sums
        zero, lanes = number(0, dtypes.int32), min(digits, self.threads)
        with loops.loop(digits, lanes) as digit:
            total = loops.register(zero)
            with loops.loop(self.warps) as warp:
                here = loops.load(self.counts, warp * digits + digit)
                found = loops.update(total, total + here, warp)
            loops.store(totals, digit, found)
        with loops.loop(digits // GROUP, digits // GROUP) as group:
            total = loops.register(zero)
            with loops.loop(GROUP) as i:
                here = loops.load(totals, group * GROUP + i)
                loops.store(before, group * GROUP + i, total + 0)
                found = loops.update(total, total + here, i)
            loops.store(groups, group, found)
        with loops.loop(digits, lanes) as digit:
            total = loops.register(loops.load(before, digit))
            with loops.loop(digits // GROUP) as i:
                here = (i < digit // GROUP).where(loops.load(groups, i), zero)
                base = loops.update(total, total + here, i)
            if begin is not None:
                begin(digit, base)
            running = loops.register(base)
            with loops.loop(self.warps) as warp:
                at = warp * digits + digit
                here = loops.load(self.counts, at)
                loops.store(self.counts, at, running + 0)
                loops.update(running, running + here, warp)


class MoveLoops(TileLoops):
    """Every entry of every tile to its place by a digit."""

    def tile(self, row: UOp, tile: UOp) -> None:
        loops, rows = self.loops, self.rows
        keys = loops.local("tile_keys", rows.kind, rows.tile)
        given = loops.local("tile_given", dtypes.int32, rows.tile) if self._is_given() else None
        sources = loops.local("sources", dtypes.int16, rows.tile)
        warps = WarpCounts(loops, self.radix)
        offsets = loops.local("offsets", dtypes.int32, warps.digits)
        warps.clear()
        with loops.loop(THREADS, THREADS) as t, loops.loop(rows.steps) as step:
            inside = self.inside(t, step)
            key = self.key(row, tile * rows.tile + inside)
            loops.store(keys, inside, key)
            loops.count_up(warps.counts, warps.cell(t, self.digit(key)))
            if given is not None:
                loops.store(given, inside, self._payload(row, tile * rows.tile + inside))
        warps.add_up(lambda digit, base: self._offset(offsets, row, tile, digit, base))
        with loops.loop(rows.steps) as step, loops.loop(THREADS, THREADS) as t:
            inside = self.inside(t, step)
            digit = self.digit(loops.load(keys, inside))
            place = loops.count_up(warps.counts, warps.cell(t, digit))
            loops.store(sources, place.cast(rows.places), inside.cast(dtypes.int16))
        with loops.loop(THREADS, THREADS) as t, loops.loop(rows.steps) as step:
            place = step * THREADS + t
            source = loops.load(sources, place).cast(rows.places)
            key = loops.load(keys, source)
            offset = loops.load(offsets, self.digit(key)).cast(rows.places)
            k = tile * rows.tile + source
            at = self._payload(row, k) if given is None else loops.load(given, source)
            self._put(row, offset + place, key, at)

    def _is_given(self) -> bool:
        """Whether the payload of a key is in memory, and not just its place."""
        return self.round > 0 or type(self.ends).payload is not Ends.payload

    def _payload(self, row: UOp, k: UOp) -> UOp:
        return self.ends.payload(self, row, k) if self.round == 0 else self._index(row, k)

    def _offset(self, offsets: UOp, row: UOp, tile: UOp, digit: UOp, base: UOp) -> None:
        """How far the entries of a digit move from the ordered tile to the row."""
        loops, real = self.loops, digit < self.radix
        at = self.count_at(row, real.where(digit, self.number(0)), tile)
        begin = loops.load(self.named["before"], at)
        loops.store(offsets, digit, begin - base)

    def _put(self, row: UOp, place: UOp, key: UOp, at: UOp) -> None:
        """An entry, to memory."""
        loops, rows = self.loops, self.rows
        whole = rows.n % rows.tile == 0
        inside = None if whole else place < rows.n
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

    def sort(self, rows: Rows, ends: Ends) -> int:
        """All rounds; the buffer of the totals before each count of the last one."""
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
        return before

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


__all__ = ["WARP", "Ends", "RadixSteps", "Rows", "TileLoops", "WarpCounts"]
