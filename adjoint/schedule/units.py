"""The kernels during fusion, and which of them depends on which.

Two kernels may be joined only if no other kernel would have to run both before and after the
result. `Order` answers that. Levels, which rise from a node to its users, rule out most pairs. For
the others a search from both ends tells, and it ends soon: a value that is used far away is mostly
used nearby as well.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from adjoint.ir.uop import UOp
from adjoint.schedule.loop_axes import Axis, Index
from adjoint.schedule.panels import Panel
from adjoint.target import Limits

_MAX_SEARCHED = 2000  # steps that a search for a way looks at before it gives up


@dataclass(slots=True, eq=False)
class Unit:
    """A step: the nodes it computes and the memory it reads."""

    kind: str
    limits: Limits
    outputs: dict[UOp, Index]
    low: int  # the level of the first of its results, and of the last
    high: int
    reads: dict[UOp, None] = field(default_factory=dict)
    users: dict[Unit, None] = field(default_factory=dict)
    outer: Axis | None = None
    reduced: dict[UOp, tuple[Index, Index]] = field(default_factory=dict)  # where, over what
    waits: dict[UOp, None] = field(default_factory=dict)  # what must be done before it
    members: int = 0  # how many nodes are computed inside
    weight: int = 0  # what they cost together
    checks: bool = False  # whether it reads at indices that it computes
    tiled: bool = False  # whether it is a product in tiles, and what is done to its elements
    panel: Panel | None = None  # what its product's left operand is made of, row by row
    panel_of: UOp | None = None  # that product

    @property
    def full(self) -> bool:
        """Whether it is large enough: compiling takes more than linear time, walks go deep."""
        limits = self.limits
        return self.members > limits.kernel_nodes or self.weight > limits.kernel_cost


class Spans:
    """Ranges of levels, those that overlap as one."""

    def __init__(self) -> None:
        self._lows: list[int] = []
        self._highs: list[int] = []

    def add(self, low: int, high: int) -> None:
        """One range more."""
        first, last = bisect_right(self._highs, low), bisect_left(self._lows, high)
        if first < last:
            low, high = min(low, self._lows[first]), max(high, self._highs[last - 1])
        self._lows[first:last], self._highs[first:last] = [low], [high]

    def lowest(self, level: int) -> int:
        """The lower end of the range that contains the level; the level itself if no range does."""
        found = bisect_right(self._highs, level)
        return min(level, self._lows[found]) if found < len(self._lows) else level

    def highest(self, level: int) -> int:
        """The upper end of the range that contains the level; the level itself if no range does."""
        found = bisect_left(self._lows, level) - 1
        return max(level, self._highs[found]) if found >= 0 else level


class Order:
    """Which step needs which."""

    def __init__(self) -> None:
        self._makers: dict[Unit, dict[Unit, None]] = {}
        self._wide = Spans()  # of steps with results of several levels: ways back down

    def widen(self, unit: Unit, level: int) -> None:
        """The step has a result of that level too."""
        unit.low, unit.high = min(unit.low, level), max(unit.high, level)
        if unit.low < unit.high:
            self._wide.add(unit.low, unit.high)

    def link(self, maker: Unit, users: Iterable[Unit]) -> None:
        """These steps depend on the maker."""
        for user in users:
            maker.users[user] = None
            self._makers.setdefault(user, {})[maker] = None

    def replace(self, old: Unit, new: Unit) -> None:
        """One step takes over the results and dependencies of the other."""
        for maker in self._makers.pop(old, {}):
            del maker.users[old]
            self.link(maker, [new])
        for user in old.users:
            del self._makers[user][old]
        self.link(new, old.users)
        self.widen(new, old.low)
        self.widen(new, old.high)

    def before(self, first: Unit, last: Unit) -> bool:
        """Whether `last` needs something that `first` makes, as far as one can see."""
        low, high = self._wide.lowest(first.low), self._wide.highest(last.high)
        if low >= last.high:
            return False
        up = _Search(first, lambda unit: [u for u in unit.users if u.low <= high])
        down = _Search(last, lambda unit: [m for m in self._makers.get(unit, ()) if m.high >= low])
        while up.next and down.next:
            if not down.seen.isdisjoint(up.step()) or not up.seen.isdisjoint(down.step()):
                return True
            if len(up.seen) + len(down.seen) > _MAX_SEARCHED:
                return True
        return False


class _Search:
    """Steps that are reached from one of them, the nearest first."""

    def __init__(self, start: Unit, following: Callable[[Unit], list[Unit]]):
        self.seen, self.next, self.following = {start}, deque([start]), following

    def step(self) -> list[Unit]:
        """The units first reached from the next of them."""
        new = [unit for unit in self.following(self.next.popleft()) if unit not in self.seen]
        self.seen.update(new)
        self.next += new
        return new
