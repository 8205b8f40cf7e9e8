"""How the loops of a kernel run: which are joined, which have lanes, and how many.

A probe walks the kernel once and records every index. Loops whose indices move alike are joined,
and the loop along which most memory is contiguous gets the lanes. Only the group and the target
decide, never the machine's load, so the same group always gives the same program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from adjoint.ir.affine import Affine, IndexVar, Loaded, flattened, var
from adjoint.ir.dtype import DType
from adjoint.ir.kernel_kind import Reduce, reduce_of
from adjoint.ir.sizes import highest, same, varies
from adjoint.ir.uop import UOp
from adjoint.kernel.index_maps import At, Condition, ElementWalk, Gate, reduced_operands
from adjoint.kernel.loop_stages import Assignment, LoopCounters, LoopStages, Runs, adds, in_runs
from adjoint.ops.tree import BLOCK, LANES
from adjoint.ops.window import window
from adjoint.target import Target


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Choice:
    """The choice: runs of loops, where the lanes are, how many, and the innermost loops."""

    outer: Runs
    stages: tuple[Runs, ...]
    lanes: str  # "inner", "outer" or "none"
    width: int
    lane: int  # which outer run has the lanes
    last: tuple[int, ...]  # in each stage, the run that goes innermost
    tile: int | None = None  # of a kernel without rows: the run that is done in strips with it
    strip: int = 16  # how long such strips are
    square: bool = False  # whether a strip is as long as the lanes: registers are transposed
    squares: tuple[int, int] = (4, 1)  # of a piece of the grid: down and along lines of the operand
    scratch: int = 0  # bytes of a row that may be kept for a later stage
    columns: int = 0  # that are added up side by side, line by line, where there are sums of them
    exact: bool = False  # for the sizes as they are, not for all that they can be
    flat: bool = False  # all loops without sums are one, which threads share
    phases: bool = False  # the innermost loop is written out: lanes go along the one around it
    pieces: tuple[int, ...] = ()  # where bounds checks change along the lanes: loops of their own


class Probe(ElementWalk):
    """Notes the indices of memory and of everything else."""

    def __init__(self, inputs: Sequence[UOp]):
        super().__init__(inputs)
        self.memory: list[Affine] = []
        self.others: list[Affine] = []
        self.checks: dict[Condition, None] = {}
        self.ops = 0
        self.itemsize = self.float_bytes = 1  # of the widest value, and the widest float
        self.arrays: dict[int, int] = {}  # of so many elements: the bytes of the widest element
        self.bytes: dict[Affine, int] = {}  # of an element that is loaded there
        self._places: dict[Any, Affine] = {}

    def load(self, node: UOp, place: Affine, gate: Gate) -> None:
        self.memory.append(place)
        self.bytes[place] = max(node.dtype.itemsize, self.bytes.get(place, 1))
        self._array(node)
        self._checked(gate)
        self._sized(node.dtype)

    def constant(self, node: UOp, value: Any) -> None:
        return None

    def counted(self, node: UOp, x: Affine) -> None:
        self.others.append(x)

    def apply(self, node: UOp, operands: list[Any], at: At, gate: Gate) -> None:
        self.ops += 1
        self._sized(node.dtype)

    def select(self, gate: Gate, value: Any, other: Any) -> None:
        self._checked(gate)

    def loaded(self, node: UOp, axis: int, index: UOp, at: At, gate: Gate, size: int) -> Affine:
        self.value(index, at, gate)
        key = (index, at)
        if key not in self._places:
            self._places[key] = var(Loaded(at, size))
        self.others.extend(at)
        return self._places[key]

    def reduction(self, node: UOp, at: At) -> None:
        return None

    def _checked(self, gate: Gate) -> None:
        self.others.extend(x for _, x, _ in gate)
        self.checks.update(dict.fromkeys(gate))

    def _sized(self, dtype: DType) -> None:
        size = 4 if dtype.is_float and dtype.itemsize < 4 else dtype.itemsize
        self.itemsize = max(self.itemsize, size)
        self.float_bytes = max(self.float_bytes, size if dtype.is_float else 1)

    def visit(self, frame: LoopStages, counters: Assignment) -> None:
        for number, stage in enumerate(frame.stages):
            for node, index, loops in stage.reductions:
                places = counters.at(loops, node, number)
                at = counters.at(index, node, number)
                operands, gate = reduced_operands(node, at, places)
                for source, place in zip(node.src, operands, strict=True):
                    self.value(source, place, gate)
                self.others.extend(x for _, x, _ in gate)
                self.ops += 1
            for node, index in stage.stores:
                self._stored(node, counters.at(index, node, number))
        for node, index in frame.rows:
            self._stored(node, counters.at(index, node, None))

    def _stored(self, node: UOp, at: At) -> None:
        self.value(node, at)
        self.memory.append(flattened(at, node.shape))
        self._array(node)

    def _array(self, node: UOp) -> None:
        size = highest(node.size)
        self.arrays[size] = max(node.dtype.itemsize, self.arrays.get(size, 1))

    def memory_bytes(self) -> int:
        """Of the widest element of the arrays that most time goes to."""
        large = max(self.arrays, default=0) // _SMALLER
        return max((n for size, n in self.arrays.items() if size >= large), default=1)


def choose(frame: LoopStages, target: Target) -> Choice:
    """The choice for a kernel."""
    counters = Assignment.of(frame)
    probe = Probe(frame.group.inputs)
    probe.visit(frame, counters)
    seen = list(dict.fromkeys([*probe.memory, *probe.others]))
    outer = _runs(counters.outer, seen)
    stages = tuple(_runs(c, seen) for c in counters.stages)
    memory = list(dict.fromkeys(probe.memory))
    inner_best = [_best(c, runs, memory) for c, runs in zip(counters.stages, stages, strict=True)]
    outer_best = _best(counters.outer, outer, memory)
    if frame.group.reduced and target.team is None and _are_short([*inner_best, outer_best]):
        outer_best = _longer(counters.outer, outer, memory) or outer_best
    lanes, size = _side(frame, inner_best, outer_best)
    gathers = any(_scattered(x, inner_best if lanes == "inner" else [outer_best]) for x in memory)
    points = prod(frame.group.sizes[a] for a in frame.outer) * sum(
        prod(s.sizes) for s in frame.stages
    )
    tiny = highest(points) * max(probe.ops, 1) < target.little_work
    phased = _phased(frame, counters, stages, probe, tiny, target)
    if phased is not None:
        return phased
    width = _width(probe, size, gathers, tiny, target) if lanes != "none" else 1
    columns = _columns(frame, probe, size, target) if lanes == "outer" and not tiny else 0
    if lanes == "outer" and width == target.most_lanes and not columns:
        width = _strip(probe, size, target)
        if same(size, prod(frame.group.sizes[a] for a in frame.outer)):
            width = _shared(width, size, probe, target)
    flat = bool(target.thread_bytes) and (lanes == "outer" or not frame.group.reduced)
    if flat:
        alone = len(outer) + (0 if frame.group.reduced else sum(map(len, stages))) == 1
        part = 1 if varies(*frame.group.sizes) and not alone else 0 if alone else size
        rows = lanes == "outer"
        lanes, width, columns = _of_a_thread(probe, lanes, size, part, target)
        lanes = "outer" if rows else lanes
    elif width < target.fewest_lanes:
        lanes, width, columns = "none", 1, 0
    last, scratch = tuple(b.run for b in inner_best), target.caches[0]
    choice = Choice(
        outer,
        stages,
        lanes,
        width,
        outer_best.run,
        last,
        scratch=scratch,
        columns=columns,
        flat=flat,
    )
    if lanes != "inner" or frame.outer or frame.group.reduced:
        return choice
    choice = _tiled(choice, counters, inner_best[0], probe, tiny, target)
    if tiny or choice.tile is not None or choice.flat or len(counters.stages[0].vars) == 1:
        return choice
    return replace(choice, pieces=_pieces(choice, counters.stages[0], probe))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Best:
    """The loop of a nest that lanes would go to."""

    run: int
    size: int
    score: int
    last: IndexVar | None  # the innermost counter of the run


def _runs(counters: LoopCounters, seen: Sequence[Affine]) -> Runs:
    """Neighbours that every index moves along as if they were one loop."""
    runs: list[int] = []
    for i, inner in enumerate(counters.vars):
        if runs and all(_alike(x, counters.vars[i - 1], inner) for x in seen):
            runs[-1] += 1
        else:
            runs.append(1)
    return tuple(runs)


def _alike(x: Affine, outer: IndexVar, inner: IndexVar) -> bool:
    a, b = x.factor(outer), x.factor(inner)
    return a is not None and b is not None and same(a, b * inner.size)


def _tiled(
    choice: Choice, counters: Assignment, best: _Best, probe: Probe, tiny: bool, target: Target
) -> Choice:
    """A loop along which memory is contiguous that is read across it by the lanes: a transpose.

    Small strips of both loops use all of a cache line before it is gone. Where all sizes are known
    they are squares of lines, which are transposed in registers.
    """
    strip = target.cache_line // 4  # elements of four bytes
    across = [x for x in probe.memory if best.last and _score(x.factor(best.last)) < 0]
    for number, members in enumerate(in_runs(counters.stages[0].vars, choice.stages[0])):
        along = [x for x in across if _score(x.factor(members[-1])) == _ALONG]
        if number == best.run or not along or min(best.size, _size(members)) < strip:
            continue
        unknown = varies(*[v.size for v in counters.stages[0].vars])
        if target.team is not None:
            return choice if unknown else replace(choice, tile=number)
        if tiny or unknown:
            return replace(choice, tile=number, strip=strip)
        side = min(best.size, _size(members))
        line = target.cache_line // max(probe.bytes.get(x, 1) for x in along)
        strip = min(line, target.most_lanes, 1 << (side.bit_length() - 1))
        far = prod(v.size for v in counters.stages[0].vars) * probe.itemsize >= target.far_bytes
        squares = target.far_squares if far else choice.squares
        return replace(choice, tile=number, strip=strip, square=True, width=strip, squares=squares)
    return choice


def _phased(
    frame: LoopStages,
    counters: Assignment,
    stages: tuple[Runs, ...],
    probe: Probe,
    tiny: bool,
    target: Target,
) -> Choice | None:
    """Lanes along the last loop but one, where the last is too short for them: complex numbers,
    whose parts are adjacent, or a stack along a last axis.

    Each iteration of the short loop becomes code of its own, which finds no bounds checks of the
    others in it.
    """
    if frame.outer or frame.group.reduced or len(frame.stages) != 1 or target.team is not None:
        return None
    loops = in_runs(counters.stages[0].vars, stages[0])
    sizes = [_size(members) for members in loops]
    if len(sizes) < 2 or varies(*sizes) or sizes[-1] > _PHASES or sizes[-2] < _FEWEST:
        return None
    near = (0, 1, -1, sizes[-1])
    if not any(x.factor(loops[-2][-1]) in near for x in probe.bytes):
        return None  # lanes would read memory that is far apart
    room = target.register_bytes if tiny else 4 * target.register_bytes // sizes[-1]
    width = room // probe.itemsize
    width = min(1 << (width.bit_length() - 1), 1 << (sizes[-2].bit_length() - 1), target.most_lanes)
    if width < target.fewest_lanes:
        return None
    return Choice((), stages, "inner", width, 0, (len(sizes) - 2,), phases=True)


def _pieces(choice: Choice, counters: LoopCounters, probe: Probe) -> tuple[int, ...]:
    """Where loops begin in each of which every bounds check along the lanes has one answer.

    Before: lanes read all operands of a concatenation, each under a mask. After: a loop for each.
    """
    (counter, *others) = in_runs(counters.vars, choice.stages[0])[choice.last[0]]
    if others or varies(counter.size):
        return ()
    cuts = {at for check in probe.checks for at in _changes(check, counter)}
    starts = (0, *sorted(at for at in cuts if 0 < at < counter.size))
    few = len(starts) * max(probe.ops, 1) <= _COPIES and len(starts) <= _COPIES // 4
    return starts if few and counter.size >= _PIECE * len(starts) > _PIECE else ()


def _changes(check: Condition, counter: IndexVar) -> tuple[int, ...]:
    """The places of a loop at which a bounds check has another answer than before."""
    kind, x, extent = check
    step = x.factor(counter)
    if kind != "in" or step not in (1, -1) or len(x.terms) != 1 or varies(x.const, extent):
        return ()
    return (-x.const, extent - x.const) if step == 1 else (x.const - extent + 1, x.const + 1)


def _are_short(bests: Sequence[_Best]) -> bool:
    """Whether no loop that lanes would go to is long enough for them."""
    return all(best.size < _FEWEST for best in bests)


def _longer(counters: LoopCounters, runs: Runs, memory: Sequence[Affine]) -> _Best | None:
    """The loop across rows that has enough for lanes, though memory is not read along it, if the
    others leave enough for threads: a line of a picture, of which each phase has some places."""
    best = _best(counters, runs, memory, _FEWEST)
    total = highest(prod(v.size for v in counters.vars))
    return best if best.size >= _FEWEST and total >= _PIECES * best.size else None


def _best(counters: LoopCounters, runs: Runs, memory: Sequence[Affine], least: int = 0) -> _Best:
    """The loop that goes most along memory, of those with at least so many elements."""
    best = _Best(0, 0, -(1 << 30), None)
    for number, members in enumerate(in_runs(counters.vars, runs)):
        size = _size(members)
        if size < least:
            continue
        score = sum(_score(x.factor(members[-1])) for x in memory) - 8 * (size < 8)
        if score >= best.score:
            best = _Best(number, size, score, members[-1])
    return best


def _size(members: Sequence[IndexVar]) -> int:
    """How long a loop can be."""
    return highest(prod(member.size for member in members))


_ALONG = 4
_FEWEST = 8  # elements that are worth lanes across rows
_PIECES = 256  # of the grid, at least, where lanes go across memory
_PHASES = 3  # of a short loop that is written out
_PIECE = 16  # elements of a piece of a loop, on average
_COPIES = 128  # ops in all pieces, which are compiled one by one
_SMALLER = 8  # times, and how wide an element is counts for nothing
_LINES = 64  # of memory, from which on sums go from line to line
_STRIPS = 8  # of columns, which threads share


def _score(factor: int | None) -> int:
    if factor is None or varies(factor):
        return -4
    return {1: _ALONG, 0: 2, -1: 2, 2: 1}.get(factor, -4)  # every second element: one access


def _side(frame: LoopStages, inner: list[_Best], outer: _Best) -> tuple[str, int]:
    """Lanes inside the stages or across rows; and how long that loop is."""
    long = [b for b in inner if b.size >= 2]
    if any(_adds_in_turn(node) for node, _, _ in frame.group.reduced):
        return ("outer", outer.size) if outer.size >= 2 else ("none", 1)
    if not frame.outer or not frame.group.reduced:
        return ("inner", max(b.size for b in long)) if long else ("none", 1)
    total = sum(b.score for b in inner)
    short = max((b.size for b in inner), default=0) < 8
    if outer.size >= _FEWEST and (short or outer.score * max(len(inner), 1) > total):
        return "outer", outer.size
    return ("inner", max(b.size for b in long)) if long else ("none", 1)


def _adds_in_turn(node: UOp) -> bool:
    """Whether elements are added one after another, so that lanes would add in another order: those
    of a fold, and products with windows."""
    found = reduce_of(node)
    folds = type(node.op.kernel) is Reduce and found.join == "add" and not found.tree
    return (folds and node.dtype.is_inexact) or reads_windows(node)


def reads_windows(node: UOp) -> bool:
    """Whether a contraction is of windows, whose products are added up one after another."""
    return len(node.src) == 2 and any(s.op is window for s in node.src)


def _scattered(x: Affine, bests: list[_Best]) -> bool:
    return any(b.last is not None and _score(x.factor(b.last)) < 0 for b in bests)


def _width(probe: Probe, size: int, gathers: bool, tiny: bool, target: Target) -> int:
    """Lanes: four registers a value where all values stay in registers, two where there is more to
    hold; one where there is so little to do that compiling is what takes time."""
    light = probe.ops <= target.registers and not gathers
    room = target.register_bytes * (1 if tiny else 4 if light else 2)
    width = min(room // probe.itemsize, target.most_lanes)
    while width > size:
        width //= 2
    return max(width, 1)


def _of_a_thread(
    probe: Probe, lanes: str, size: int, part: int, target: Target
) -> tuple[str, int, int]:
    """Lanes that change no order of sums, where each thread has some: as many as it accesses at
    once, if registers hold them, and as divide the `part` of a loop that is theirs."""
    each = max(probe.memory_bytes(), probe.float_bytes // 2)
    width = min(max(target.thread_bytes // each, 1), max(size, 1))
    width = 1 << (width.bit_length() - 1)
    while part % width:
        width //= 2
    return (lanes, width, 0) if width > 1 and lanes != "none" else ("none", 1, 0)


def _columns(frame: LoopStages, probe: Probe, size: int, target: Target) -> int:
    """How many columns are added side by side if rows of memory are read one after another, in turn
    for all lanes of the tree: their totals stay in a cache. None for a sum that is short, or has so
    many blocks that theirs would not; a small operand is in a cache itself.
    """
    (stage, *others) = frame.stages
    count, sizes = prod(stage.sizes), (*stage.sizes, *[frame.group.sizes[a] for a in frame.outer])
    if others or stage.stores or not all(adds(node) for node, _, _ in stage.reductions):
        return 0
    if varies(*sizes) or count < _LINES or prod(sizes) * probe.itemsize < target.near_bytes:
        return 0
    kept = len(stage.reductions) * (2 * LANES + -(-count // BLOCK)) * probe.itemsize
    most = min(target.total_bytes // kept, size // _STRIPS)
    width = 1 << max(most.bit_length() - 1, 0)
    return width if width >= target.most_lanes else 0


def _shared(width: int, size: int, probe: Probe, target: Target) -> int:
    """Lanes of sums of which there are so few that most of many threads would have none: no fewer
    than a line of a cache holds."""
    sharers = target.tile.sharers if target.tile else 0
    while size // width < sharers and (width // 2) * probe.itemsize >= target.cache_line:
        width //= 2
    return width


def _strip(probe: Probe, size: int, target: Target) -> int:
    """Lanes of sums that go from line to line of memory: each reads a strip of a line, and a strip
    is as long as a few operations and enough work for all threads allow."""
    width = target.strip_bytes // probe.itemsize
    few = 4 * probe.ops <= target.registers and 8 * width <= size
    return max(width, target.most_lanes) if few else target.most_lanes
