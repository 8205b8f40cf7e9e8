"""Exchanges rows between members: an evenly moving window of a split dimension.

Before: x over two members, [0 1 2 3] and [4 5 6 7]; member i wants rows [1 + 4 i, 5 + 4 i).
After: collective_permute of one row; [1 2 3] and the 4 of the next member.

A member sends only rows that another member needs, to that member alone. Rows outside of the whole
dimension have any value: the caller masks them. What may live here: which rows go where. What may
not: ops.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from adjoint.ir.dtype import dtypes
from adjoint.ir.mesh import Axes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.ops.collective import axis_index, collective_permute
from adjoint.ops.indexing import gathered

_CAT = OPS["cat"]
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Split:
    """A dimension of so many elements along axes of a mesh, in equal parts."""

    dim: int
    extent: int
    axes: Axes
    parts: int

    @property
    def rows(self) -> int:
        """The rows of a part."""
        return -(-self.extent // self.parts)


@dataclass(frozen=True, slots=True)
class Along:
    """One dimension of a node, split in the operand and in the result."""

    dim: int
    axes: Axes
    parts: int
    old: int  # extents of the whole
    new: int
    stays: bool = True  # split in the result too

    @property
    def rows(self) -> int:
        """The rows of the result that a member makes."""
        return -(-self.new // self.parts)

    def split(self, extent: int) -> Split:
        """The same of an operand with another extent."""
        return Split(self.dim, extent, self.axes, self.parts)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The rows [start + i * step, start + i * step + length) for the member at place i; no member
    needs those from `end` on."""

    start: int
    step: int
    length: int
    end: int

    def begin(self, place: int) -> int:
        """The first of them."""
        return self.start + place * self.step


@dataclass(frozen=True, slots=True)
class _Turn:
    """What members get of the n-th part that they need: from themselves, or sent by others, of
    which the rows [low, high) are needed at all, [first, last) by others."""

    own: tuple[int, ...]
    rounds: tuple[Pairs, ...]  # each member sends and gets once in each
    low: int
    high: int
    first: int
    last: int


def rows_sent(split: Split, wanted: Wanted) -> int:
    """The rows that a member sends, at most."""
    return sum((t.last - t.first) * len(t.rounds) for t in _turns(split, wanted))


def neighbours(local: UOp, split: Split, wanted: Wanted) -> UOp:
    """The window of a dimension that a member wants, given its own part."""
    turns = _turns(split, wanted)
    parts = [_received(local, split, turn) for turn in turns]
    joined = parts[0] if len(parts) == 1 else _CAT.call(*parts, dim=split.dim)
    offsets = [wanted.begin(i) % split.rows - turns[0].low for i in range(split.parts)]
    if len(set(offsets)) == 1:
        return cut(joined, split.dim, offsets[0], offsets[0] + wanted.length)
    begin = _place(split) * wanted.step + wanted.start % split.rows
    offset = begin - begin.idiv(split.rows) * split.rows - turns[0].low
    return _moved_to(gathered(joined, (offset + _count(wanted.length),), (split.dim,)), split.dim)


def _turns(split: Split, wanted: Wanted) -> list[_Turn]:
    rows, places = split.rows, range(split.parts)
    offsets = [wanted.begin(i) % rows for i in places]
    count = max(-(-(offset + wanted.length) // rows) for offset in offsets)
    found = []
    for turn in range(count):
        low = min(offsets) if turn == 0 else 0
        high = rows
        if turn == count - 1:
            high = max(min(rows, offset + wanted.length - turn * rows) for offset in offsets)
        needs = {i: _needed(split, wanted, i, turn) for i in places}
        found.append(_turn({i: n for i, n in needs.items() if n is not None}, low, high))
    return found


def _needed(split: Split, wanted: Wanted, place: int, turn: int) -> tuple[int, int, int] | None:
    """(owner, first, last) of the rows that a member needs of one part; None if it needs none."""
    begin = wanted.begin(place)
    owner = begin // split.rows + turn
    first = max(begin, owner * split.rows, 0)
    last = min(begin + wanted.length, (owner + 1) * split.rows, split.extent, wanted.end)
    if first >= last:
        return None
    return owner, first - owner * split.rows, last - owner * split.rows


def _turn(needs: dict[int, tuple[int, int, int]], low: int, high: int) -> _Turn:
    own = tuple(i for i, (owner, _, _) in needs.items() if owner == i)
    sent = {i: need for i, need in needs.items() if need[0] != i}
    rounds: list[list[tuple[int, int]]] = []
    times: dict[int, int] = {}
    for place, (owner, _, _) in sent.items():
        number = times[owner] = times.get(owner, -1) + 1
        if number == len(rounds):
            rounds.append([])
        rounds[number].append((owner, place))
    first = min((need[1] for need in sent.values()), default=0)
    last = max((need[2] for need in sent.values()), default=0)
    return _Turn(own, tuple(map(tuple, rounds)), low, high, first, last)


def _received(local: UOp, split: Split, turn: _Turn) -> UOp:
    """The rows [low, high) of a part, this member's own or another's."""
    dim, mine = split.dim, cut(local, split.dim, turn.low, turn.high)
    if not turn.rounds:
        return mine
    edge = cut(local, dim, turn.first, turn.last)
    sent = [collective_permute(edge, split.axes, split.parts, pairs) for pairs in turn.rounds]
    came = sent[0]
    for pairs, more in zip(turn.rounds[1:], sent[1:], strict=True):
        came = _is_among(split, [to for _, to in pairs]).expand(came.shape).where(more, came)
    before, after = turn.first - turn.low, turn.high - turn.last
    if before or after:
        rank = range(len(local.shape))
        sides = ([amount * (d == dim) for d in rank] for amount in (before, after))
        came = came.pad_constant(*sides)
    if not turn.own:
        return came
    return _is_among(split, turn.own).expand(came.shape).where(mine, came)


def _place(split: Split) -> UOp:
    found: UOp = axis_index(split.axes, split.parts)
    return found


def _is_among(split: Split, places: Iterable[int]) -> UOp:
    """Whether a member's place is one of these."""
    runs: list[list[int]] = []
    for place in sorted(places):
        if runs and runs[-1][1] == place - 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    here = _place(split)
    tests = [(here >= a).logical_and(here <= b) for a, b in runs]
    return reduce(lambda one, other: one.logical_or(other), tests)


def _count(length: int) -> UOp:
    ones: UOp = UOp._apply("const", 1, dtypes.int64, (length,), None)
    return ones.scan_sum(0) - 1


def cut(x: UOp, dim: int, begin: int, end: int) -> UOp:
    """Some rows of a dimension."""
    return x.shrink([(begin, end) if d == dim else (0, n) for d, n in enumerate(x.shape)])


def _moved_to(x: UOp, dim: int) -> UOp:
    """The first dimension in the place of another."""
    order = [*range(1, dim + 1), 0, *range(dim + 1, len(x.shape))]
    return x.permute(order)
