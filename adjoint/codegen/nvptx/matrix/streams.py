"""Pipelined copies: one warpgroup copies tiles of two matrices into shared memory, two stages of
each; the others wait until a stage is full, use it, and mark it empty.

Every stage has two barriers, `full` and `empty`; iteration i of a stream uses stage i mod 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adjoint.codegen.nvptx.matrix.hopper import PANEL, ROW, WARP, WARPGROUP, Hopper, Tile, both
from adjoint.codegen.nvptx.matrix.text import Value, constant

STAGES = 2
_BARRIER = 8  # bytes
_PIECE = 8  # numbers of a copy


@dataclass(frozen=True, slots=True)
class Rows:
    """A matrix in memory: the address of its first row, how far rows are apart in bytes, how many
    there are, and how many columns a row has."""

    address: Value
    step: Value
    count: Value
    columns: int


def copy_tile(text: Hopper, thread: Value, to: Value, tile: Tile, rows: Rows, first: Value) -> None:
    """Rows of a matrix from `first` on, by the threads of a warpgroup; zeros beyond its end."""
    pieces = tile.columns // _PIECE
    piece = text.integer("and", thread, pieces - 1)
    row = text.integer("lshr", thread, pieces.bit_length() - 1)
    place = text.integer("xor", text.integer("and", piece, 7), text.integer("and", row, 7))
    inside = text.add(text.integer("shl", place, 4), text.mul(row, ROW))
    panel = text.mul(text.integer("lshr", piece, 3), tile.panel_bytes)
    target = text.add(to, text.add(inside, panel))
    begin = text.add(first, row)
    source = text.add(rows.address, text.mul(text.wide(begin), rows.step))
    source = text.add(source, text.wide(text.integer("shl", piece, 4)))
    has = text.compare("slt", piece, -(-rows.columns // _PIECE))
    side = WARPGROUP // pieces  # rows at a time
    jump = text.mul(rows.step, side)
    for turn in range(tile.rows // side):
        there = text.compare("slt", text.add(begin, turn * side), rows.count)
        text.copy_piece(text.add(target, turn * side * ROW), source, both(text, there, has))
        source = text.add(source, jump)


class Stream:
    """Stages of tiles, and their barriers."""

    def __init__(self, text: Hopper, shared: Value, tile: Tile, barriers: int):
        self.text, self.shared, self.tile, self.barriers = text, shared, tile, barriers

    def made(self, users: int) -> None:
        """The barriers: a warpgroup fills a stage, every warp that uses it empties it."""
        for stage in range(STAGES):
            self.text.barrier_made(self._barrier(stage), WARPGROUP)
            self.text.barrier_made(self._barrier(STAGES + stage), users)

    def _barrier(self, number: int) -> Value:
        return self.text.add(self.shared, self.barriers + number * _BARRIER)

    def _of(self, turn: Value, first: int) -> Value:
        stage = self.text.integer("and", turn, STAGES - 1)
        begin = self.text.add(self.shared, self.barriers + first * _BARRIER)
        return self.text.add(begin, self.text.mul(stage, _BARRIER))

    def _phase(self, turn: Value) -> Value:
        return self.text.integer("and", self.text.integer("lshr", turn, 1), 1)

    def full(self, turn: Value) -> Value:
        """The barrier that signals that an iteration's tile has arrived."""
        return self._of(turn, 0)

    def address(self, turn: Value) -> Value:
        """The address of an iteration's tile."""
        stage = self.text.integer("and", turn, STAGES - 1)
        begin = self.text.add(self.shared, self.tile.offset)
        return self.text.add(begin, self.text.mul(stage, self.tile.nbytes))

    def wait_full(self, turn: Value) -> None:
        self.text.wait(self.full(turn), self._phase(turn))

    def wait_empty(self, turn: Value) -> None:
        other = self.text.integer("xor", self._phase(turn), 1)
        self.text.wait(self._of(turn, STAGES), other)

    def used(self, turn: Value, leader: Value) -> None:
        """A warp releases an iteration's tile."""
        self.text.arrive(self._of(turn, STAGES), leader)


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a thread: its number in its warpgroup and in its warp, and the number of
    that.
    """

    thread: Value
    lane: Value
    warp: Value
    leader: Value  # whether it is the first of its warp


def place_of(text: Hopper, thread: Value) -> Place:
    """By the number in the block."""
    inside = text.integer("and", thread, WARPGROUP - 1)
    lane = text.integer("and", inside, WARP - 1)
    warp = text.integer("lshr", inside, 5)
    return Place(inside, lane, warp, text.compare("eq", lane, 0))


def fill(
    text: Hopper,
    streams: Sequence[Stream],
    turns: Value,
    base: Value,
    before: Value,
    copy: Callable[[int, Value, Value], None],
) -> None:
    """Copy the tiles of two streams for this many iterations; those of the block begin at `base`.

    `copy(which, turn, at)` writes the copies of a tile; `before` is the barrier of the previous
    copy. A copy is announced when the next one has begun, so that two are always in flight.
    """

    def turn(i: Value, values: list[Value]) -> list[Value]:
        (told,) = values
        at = text.add(base, i)
        for which, stream in enumerate(streams):
            stream.wait_empty(at)
            copy(which, i, at)
            text.copies_end()
            text.copies_done(1)
            text.arrive(told, text.always())
            told = stream.full(at)
        return [told]

    (last,) = text.loop(constant(0), turns, [before], turn)
    text.copies_done(0)
    text.arrive(last, text.always())


def steps_along(tile: Tile) -> list[int]:
    """Where every 16 columns of a tile begin, in bytes from its first."""
    found = []
    for column in range(0, tile.columns, 16):
        panel, inside = divmod(column, PANEL)
        found.append(panel * tile.panel_bytes + inside * 2)
    return found


def steps_down(tile: Tile) -> list[int]:
    """Where every 16 rows of a tile begin."""
    return [row * ROW for row in range(0, tile.rows, 16)]
