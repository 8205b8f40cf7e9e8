"""Sums of products that no iteration reads move behind the loop that computes their operands.

Before: loop(g, dw: f(g), dw + g @ x), the gradient of a recurrence.
After: loop(g: f(g)) whose rows are the g's, and loop(dw: dw + g @ x), a kernel whose pieces run all
iterations independently.

Products are added in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from adjoint.engine.loop_rows import CARRIED, bytes_of, depends, is_in_tiles
from adjoint.engine.turns import Inner, Outer, Turns, name_like
from adjoint.ir.kernel_kind import View
from adjoint.ir.sizes import highest
from adjoint.ir.uop import substitute, toposort
from adjoint.ops.arithmetic import add
from adjoint.ops.contract import contract
from adjoint.schedule.classify import LIBRARY, REDUCE, kind_of
from adjoint.target import Target


def sums_apart(turns: Turns, target: Target) -> list[Turns]:
    """A loop without such sums, and one for each of them."""
    if target.tile is None or highest(turns.length) < 2:
        return [turns]
    sums, below = _sums(turns), depends(turns)
    edges = {name: _edge(term, below) for name, term in sums.items()}
    wanted: dict[Inner, None] = {}  # what the sums are made of
    for name, term in sums.items():
        both = wanted | edges[name]
        if _is_product(term, edges[name], target) and _fit(both, turns, target):
            wanted = both
    moved = [name for name in edges if edges[name].keys() <= wanted.keys()]
    return _divided(turns, moved, wanted) if wanted else [turns]


def _fit(nodes: Iterable[Inner], turns: Turns, target: Target) -> bool:
    new = [node for node in nodes if node not in turns.rows.values()]
    return sum(bytes_of(node, turns) for node in new) <= target.limits.kept_bytes


def _sums(turns: Turns) -> dict[Inner, Inner]:
    """Carries that each iteration only adds something to, and what it adds."""
    found = {}
    for name, value in turns.nexts.items():
        if value.op is add and name in value.src and value.src[0] is not value.src[1]:
            (term,) = [s for s in value.src if s is not name]
            others = [v for c, v in turns.nexts.items() if c is not name]
            rest = set(toposort([term, *others, *turns.rows.values()]))
            if name not in rest and value not in rest:
                found[name] = term
    return found


def _edge(term: Inner, below: dict[Inner, int]) -> dict[Inner, None]:
    """The values that a sum reads and that depend on carries, below views of its reductions'
    operands.
    """
    edge: dict[Inner, None] = {}
    stack = [(term, False)]
    while stack:
        node, inside = stack.pop()
        if not below[node] & CARRIED:
            continue
        if type(node.op.kernel) is View and len(node.src) == 1:
            stack.append((node.src[0], inside))
        elif inside or not node.src:
            edge[node] = None
        else:
            stack += [(s, kind_of(node) in (REDUCE, LIBRARY)) for s in node.src]
    return edge


def _is_product(term: Inner, edge: Iterable[Inner], target: Target) -> bool:
    """Whether a sum is one of products in tiles, in its loop and in one of its own."""
    while type(term.op.kernel) is View and len(term.src) == 1:
        term = term.src[0]
    if term.op is not contract or not is_in_tiles(term, target):
        return False
    (apart,) = substitute([term], {node: name_like(node) for node in edge})
    return is_in_tiles(apart, target)


def _divided(turns: Turns, sums: Sequence[Inner], wanted: Iterable[Inner]) -> list[Turns]:
    rows = {node: name_like(node, (turns.length, *node.shape)) for node in wanted}
    names = {node: name_like(node) for node in rows}
    apart = [_alone(turns, name, names, rows) for name in sums]
    turns.last = {key: name for key, name in turns.last.items() if name not in sums}
    turns.nexts = {name: value for name, value in turns.nexts.items() if name not in sums}
    turns.starts = {name: turns.starts[name] for name in turns.nexts}
    turns.rows |= {row: node for node, row in rows.items()}
    turns.drop_unused()
    return [turns, *apart]


def _alone(
    turns: Turns, name: Inner, names: Mapping[Inner, Inner], rows: Mapping[Inner, Outer]
) -> Turns:
    """A loop that adds up one sum, of rows."""
    found = Turns(turns.node, constants=dict(turns.constants))
    found.starts = {name: turns.starts[name]}
    found.nexts = {name: substitute([turns.nexts[name]], names)[0]}
    found.sequences = turns.sequences | {names[node]: row for node, row in rows.items()}
    found.last = {key: carry for key, carry in turns.last.items() if carry is name}
    found.drop_unused()
    return found
