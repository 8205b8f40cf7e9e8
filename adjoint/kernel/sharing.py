"""How the tiles of a product are divided among threads, so that none waits long for the last piece.

The text of a kernel fixes the number of pieces of its grid. Two or four threads share sixteen
evenly enough; for more threads (`Tile.sharers`) there are as many pieces as make the busiest thread
finish earliest. The division into pieces changes no bit. What may live here: sizes of pieces. What
may not: what a piece does (`tiles.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_PACKING = 0.4  # of the time of a tile: what it takes to pack a panel, or the rows of a tile,
_READING = 0.1  # or to read a panel that stays where it lies
_WAITING = 0.5  # of a piece: what a thread waits for the others when none is left
_WORTH = 0.97  # of the time, below which more pieces are made: each reads its panels again
_LITTLE = 1 << 18  # scalar operations of a piece that is worth a thread
_ROUNDS = 8  # of pieces for each thread: more are even enough, however they are cut


@dataclass(frozen=True, slots=True)
class Work:
    """The work that threads share: tiles of rows, for each of some panels, each with some taps; a
    tile has this many scalar operations. A panel is packed, or read in place.
    """

    tiles: int
    panels: int
    taps: int
    operations: int
    sharers: int
    packed: bool = True

    def parts(self, together: int, most: int) -> int:
        """Into how many parts the tiles go, of `most` at most, with so many taps in a piece."""
        fewest = -(-self.tiles // most)
        even = _ROUNDS * self.sharers // (self.panels * self.taps // together) + 1
        worth = self.tiles * together * self.operations // _LITTLE
        ways = range(fewest, max(fewest, min(self.tiles, even, worth)) + 1)
        return _soonest((self._seconds(together, parts), parts) for parts in ways)

    def together(self, most: int) -> int:
        """How many taps a piece does, of `most` tiles at most."""
        ways = (n for n in range(self.taps, 0, -1) if self.taps % n == 0)
        return _soonest((self._soonest_of(n, max(most // n, 1)), n) for n in ways)

    def _soonest_of(self, together: int, most: int) -> float:
        return self._seconds(together, self.parts(together, most))

    def _seconds(self, together: int, parts: int) -> float:
        """The time of the busiest thread, in tiles."""
        pieces, share = self.panels * (self.taps // together) * parts, -(-self.tiles // parts)
        panels, each = together + (share if self.taps > 1 else 0), self._each()
        return (-(-pieces // self.sharers) + _WAITING) * (share * together + panels * each)

    def _each(self) -> float:
        """The time to prepare a panel before it is multiplied, in tiles."""
        return _PACKING if self.packed else _READING


def _soonest(ways: Iterable[tuple[float, int]]) -> int:
    """The first cut for which no later one is so much faster that more pieces pay."""
    (best, found), *others = ways
    for seconds, way in others:
        if seconds < best * _WORTH:
            best, found = seconds, way
    return found
