"""Facts about each node that fusion needs, computed before any node is placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from adjoint.ir.dtype import DType
from adjoint.ir.kernel_kind import Library, View, is_constant
from adjoint.ir.sizes import highest
from adjoint.ir.uop import UOp, toposort
from adjoint.ops.logic import is_copy
from adjoint.schedule.classify import POINTWISE, REDUCE, ROUTINE, VIEW, kind_of, weight
from adjoint.schedule.strategy import TILES, choose, step_kind
from adjoint.target import Target


@dataclass(slots=True, eq=False)
class Facts:
    """Of one node, on one target."""

    kind: str  # of step, or part of a kernel
    weight: int  # the cost of the op itself, for one element
    level: int  # above those of all its operands
    cost: int  # of one element computed anew from what will be in memory
    reduces: bool  # whether a reduction may share its kernel
    pieces: int  # from how many places an element may come, each of which its users have code for
    tiled: bool = False  # whether it is a product in tiles
    movable: bool = True  # whether code for it may be written wherever it is read
    sources: frozenset[UOp] = frozenset()  # large values in memory that an element is made of
    kept: bool = False  # whether so many would make it again, of so much, that it is in memory
    stored: bool = False  # whether it is better in memory than computed by each of its readers


_LINES = 64  # of a column, from which on it is added up line by line
_FEW_SOURCES = 3
_FEW_USERS = 3


def facts_of(roots: Sequence[UOp], target: Target) -> dict[UOp, Facts]:
    """The facts of all nodes, sources first."""
    known: dict[UOp, Facts] = {}
    nodes = toposort(roots)
    users = Counter(source for node in nodes for source in set(node.src))
    for node in nodes:
        known[node] = found = _facts(node, [known[source] for source in node.src], target)
        _note_sources(node, found, [known[source] for source in node.src], users[node], target)
    return known if target.team is None else _by_memory(nodes, known, target)


def _note_sources(node: UOp, found: Facts, below: list[Facts], users: int, target: Target) -> None:
    """Records the large values from which an element is computed; if many readers would read them
    again, the element is kept.
    """
    if found.kind in (POINTWISE, VIEW) and not is_copy(node):
        found.sources = frozenset().union(*(facts.sources for facts in below))
        many = found.kind == POINTWISE and users >= _FEW_USERS
        found.kept = many and len(found.sources) >= _FEW_SOURCES and is_large(node, target)
        found.kept = found.kept and not _is_made_again(found.sources, target)
        if not found.kept:
            return
        found.cost, found.reduces = 1, False
    found.sources = frozenset({node} if is_large(node, target) else ())


def _is_made_again(sources: Iterable[UOp], target: Target) -> bool:
    """Whether a product among these is computed again rather than kept."""
    most = target.limits.recomputed_bytes
    return any(type(x.op.kernel) is Library and _bytes_of(x) >= most for x in sources)


def _bytes_of(node: UOp) -> int:
    return int(highest(node.size)) * node.dtype.itemsize


def is_large(node: UOp, target: Target) -> bool:
    """Whether a value takes longer to come from memory than to be made."""
    if not isinstance(node.dtype, DType) or target.limits.cheap_large <= target.limits.cheap:
        return False
    return _bytes_of(node) >= target.limits.large_bytes


def goes_down(node: UOp, target: Target) -> bool:
    """Whether a reduction goes down columns of many lines, whose elements caches do not hold."""
    dims = getattr(node.arg, "axis", None)
    if kind_of(node) != REDUCE or not isinstance(dims, tuple) or len(node.src) != 1:
        return False
    (x,) = node.src
    count = highest(prod(x.shape[d] for d in dims))
    return len(x.shape) - 1 not in dims and count >= _LINES and is_large(x, target)


# ---- where memory is what takes time


_CHEAP = 4  # of what a view repeats
_MOST_READ = 8  # values, of which an expression's are counted


def _by_memory(nodes: Sequence[UOp], known: dict[UOp, Facts], target: Target) -> dict[UOp, Facts]:
    """The facts for teams of threads: a value with several readers is stored if it is expensive, or
    if recomputing would make all of them together read more. A stored value counts as read. A value
    that is only a widening cast is stored in the narrow dtype, and cast where it is read.
    """
    readers, spread = _readers(nodes, known), _spread(nodes, known)
    routines = {x for node in nodes if known[node].kind == ROUTINE for x in node.src}
    read: dict[UOp, dict[UOp, int]] = {}  # of each node: what is read from memory, bytes of each
    for node in nodes:
        below = [known[source] for source in node.src]
        found = known[node] = _facts(node, below, target)
        values = _values(node, found, read)
        read[node] = values
        times, own = readers[node], node_bytes(node)
        repeated = node in spread
        may = found.kind == POINTWISE and not is_copy(node) and node.shape
        if may and node in routines:  # which read it from memory
            found.cost, read[node] = 1, {node: own}
        elif may and (times > 1 or repeated):
            cheap = _CHEAP if repeated else target.limits.cheap
            if found.cost > cheap or own * (1 + times) < times * sum(values.values()):
                kept = _narrow(node, known)
                known[kept].stored, known[kept].cost = True, 1
                found.cost = 1 if kept is node else 1 + found.weight
                read[node] = read[kept] = {kept: node_bytes(kept)}
    return known


def _narrow(node: UOp, known: dict[UOp, Facts]) -> UOp:
    """The node of a value to store: the float that it is cast from, if that is narrower and has all
    of its bits; else the value.
    """
    if node.op.name != "cast" or not node.dtype.is_float or not node.src[0].dtype.is_float:
        return node
    (source,) = node.src
    made = known[source].kind == POINTWISE and not is_copy(source)
    return source if made and source.dtype.itemsize < node.dtype.itemsize else node


def _readers(nodes: Sequence[UOp], known: dict[UOp, Facts]) -> Counter[UOp]:
    """How many nodes compute with each, through views of it."""
    found: Counter[UOp] = Counter()
    for node in reversed(nodes):
        times = max(found[node], 1) if known[node].kind == VIEW else 1
        for source in dict.fromkeys(node.src):
            found[source] += times
    return found


def _spread(nodes: Sequence[UOp], known: dict[UOp, Facts]) -> set[UOp]:
    """Values that views repeat: those that read them would compute them for every element."""
    found: set[UOp] = set()
    for node in reversed(nodes):
        if known[node].kind == VIEW and (node.op.kernel.repeats or node in found):
            found.update(node.src[:1])
    return found


def _values(node: UOp, facts: Facts, read: dict[UOp, dict[UOp, int]]) -> dict[UOp, int]:
    """The values in memory from which an element is computed; nothing for a value that is
    broadcast.
    """
    if facts.kind == VIEW:
        return {} if node.op.kernel.repeats else read[node.src[0]]
    if facts.kind != POINTWISE or is_copy(node):
        return {} if is_constant(node) else {node: node_bytes(node)}
    found = {value: size for source in node.src for value, size in read[source].items()}
    return found if len(found) <= _MOST_READ else {node: sum(found.values())}


def node_bytes(node: UOp) -> int:
    """Of an element."""
    return 0 if isinstance(node.dtype, tuple) or not node.dtype else int(node.dtype.itemsize)


def _facts(node: UOp, below: list[Facts], target: Target) -> Facts:
    kind, own = step_kind(node, target), weight(node)
    level, cost, pieces, reduces = 0, own, 1, False
    for operand in below:
        level = operand.level if operand.level > level else level
        pieces = operand.pieces if operand.pieces > pieces else pieces
        cost += operand.cost
        reduces = reduces or operand.reduces
    found = Facts(kind, own, level + 1, cost, reduces, pieces)
    if is_copy(node):
        found.cost, found.reduces = 1, False  # it is in memory
    elif kind != POINTWISE:
        _view_or_step(node, below, found, target)
    return found


def _view_or_step(node: UOp, below: list[Facts], found: Facts, target: Target) -> None:
    """What differs where elements are moved, or are in memory."""
    kernel, kind = node.op.kernel, found.kind
    found.reduces = kind == REDUCE or (kind == VIEW and found.reduces)
    spread = kind != VIEW or kernel.repeats  # what is spread is done once outside, or in memory
    found.cost = 1 if spread else below[0].cost
    found.tiled = type(kernel) is Library and choose(node, target).use == TILES
    if type(kernel) is View and kernel.joins:
        pieces = sum([operand.pieces for operand in below])
        found.movable = pieces <= max(target.limits.joined_pieces, len(below))
        found.pieces = pieces if found.movable else 1
