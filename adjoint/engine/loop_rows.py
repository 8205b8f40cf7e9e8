"""Work is hoisted out of loops: everything that every iteration could have before the first one.

Before: loop(h, x: h @ w + x @ v); its gradient's loop computes h @ w again from the states.
After: x @ v for all iterations at once, and loop(h, xv: h @ w + xv); its gradient's loop reads the
products that the forward loop has computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from adjoint.batching import batch
from adjoint.engine.turns import Inner, Outer, Turns, name_like
from adjoint.ir.kernel_kind import PART, is_constant
from adjoint.ir.sizes import highest, varies
from adjoint.ir.uop import UOp, substitute, toposort
from adjoint.ops.contract import contract
from adjoint.schedule.classify import LEAF, LIBRARY, POINTWISE, REDUCE, VIEW, kind_of, weight
from adjoint.schedule.legalise import prepare
from adjoint.schedule.strategy import are_tiled
from adjoint.target import Target

CARRIED, GIVEN = 1, 2  # what a node depends on: carries, elements of sequences
_MOVABLE = (LEAF, VIEW, POINTWISE, REDUCE, LIBRARY)


def depends(turns: Turns) -> dict[Inner, int]:
    """What each node of an iteration depends on; nodes that must not move count as depending on
    carries.
    """
    found: dict[Inner, int] = dict.fromkeys(turns.starts, CARRIED)
    found |= dict.fromkeys(turns.sequences, GIVEN)
    for node in toposort(turns.ends):
        if node not in found:
            below = 0 if kind_of(node) in _MOVABLE else CARRIED
            for source in node.src:
                below |= found[source]
            found[node] = below
    return found


def bytes_of(node: Inner, turns: Turns) -> int:
    """The bytes of the rows of all iterations."""
    return highest(node.size) * node.dtype.itemsize * highest(turns.length)


def is_in_tiles(node: UOp, target: Target) -> bool:
    """Whether tiles compute a product."""
    (made,) = prepare([node], target)
    while kind_of(made) == VIEW and len(made.src) == 1:
        made = made.src[0]
    return made.op is contract and are_tiled(made, target)


# ---- products of sequences, before the loop


def move_products(turns: Turns, target: Target) -> None:
    """Products that depend on no carry are made before the loop."""
    if target.tile is None or varies(turns.length) or turns.length < 2:
        return
    room = target.limits.kept_bytes
    moved: dict[Inner, Inner] = {}
    for node, below in depends(turns).items():
        if node.op is not contract or below & CARRIED:
            continue
        if not below:
            moved[node] = name = name_like(node)
            turns.constants[name] = substitute([node], turns.constants)[0]
        elif bytes_of(node, turns) <= room and is_in_tiles(node, target):
            rows = _of_all_turns(node, turns, target)
            if rows is not None:
                moved[node] = name = name_like(node)
                turns.sequences[name] = rows
                room -= bytes_of(node, turns)
    if moved:
        turns.replace(moved)
        turns.drop_unused()


def _of_all_turns(node: Inner, turns: Turns, target: Target) -> Outer | None:
    """A product for all iterations, if tiles compute that one too."""
    names = {s: name_like(x) for s, x in turns.sequences.items()}
    ((found, _),) = batch([node], names, turns.length)
    if not is_in_tiles(found, target):
        return None
    outside = {names[s]: x for s, x in turns.sequences.items()} | turns.constants
    return substitute([found], outside)[0]


# ---- what the turns of another loop have made


def hand_on(turns: Turns, loops: Mapping[UOp, Turns], target: Target) -> None:
    """Values that a loop would recompute from another's states become one more row of the other
    loop.
    """
    sources = _sources(turns, loops)
    if not sources:
        return
    room = target.limits.kept_bytes
    for other in sources:
        known = set(toposort(other.ends))
        taken: dict[Inner, Inner] = {}
        for node, found in _made_by(turns, other, known, target.limits.cheap).items():
            size = bytes_of(node, turns)
            if size <= room:
                taken[node] = name = name_like(node)
                room -= size
                turns.sequences[name] = _row_of(other, found)
        if taken:
            turns.replace(taken)
            turns.drop_unused()


def _sources(turns: Turns, loops: Mapping[UOp, Turns]) -> list[Turns]:
    """Loops with as many iterations whose rows this one reads."""
    parts = [x.src[0] for x in turns.sequences.values() if x.op.kernel is PART]
    found = [loops[node] for node in dict.fromkeys(parts) if node in loops]
    return [other for other in found if other.length == turns.length]


def _row_of(other: Turns, node: Inner) -> Outer:
    """A name for a node's rows, outside."""
    key = name_like(node, (other.length, *node.shape))
    other.rows[key] = node
    return key


def _made_by(turns: Turns, other: Turns, known: set[UOp], cheap: int) -> dict[Inner, Inner]:
    """The expensive nodes of an iteration that an iteration of the other loop computes too: the
    last ones before nodes that depend on carries.
    """
    same: dict[Inner, Inner] = {}
    below = depends(turns)
    for node in toposort(turns.ends):
        twin = _twin(node, turns, other, same)
        if twin is not None and (twin in known or is_constant(twin)):
            same[node] = twin
    used = _used_by_others(turns, same)
    return {
        node: twin
        for node, twin in same.items()
        if node in used and below[node] == GIVEN and _cost(node, turns) > cheap
    }


def _twin(node: Inner, turns: Turns, other: Turns, same: Mapping[Inner, Inner]) -> Inner | None:
    """What a node is in the other loop."""
    if node in turns.sequences:
        return _element(turns.sequences[node], other)
    if node in turns.constants:
        outside = turns.constants[node]
        return next((c for c, x in other.constants.items() if x is outside), None)
    if node in turns.starts or any(s not in same for s in node.src):
        return None
    return substitute([node], {s: same[s] for s in node.src})[0] if node.src else node


def _element(sequence: Outer, other: Turns) -> Inner | None:
    """The elements of a sequence in another loop: its own, or its rows."""
    if sequence.op.kernel is PART and sequence.src[0] is other.node:
        return other.rows.get(sequence.arg.index)
    return next((s for s, x in other.sequences.items() if x is sequence), None)


def _used_by_others(turns: Turns, same: Mapping[Inner, Inner]) -> set[Inner]:
    ends = set(turns.ends)
    users = {s for node in toposort(ends) if node not in same for s in node.src}
    return users | ends


def _cost(node: Inner, turns: Turns) -> float:
    """The cost of an element, given the inputs of an iteration; a sum counts as most expensive."""
    given = {*turns.sequences, *turns.constants}
    inside = [n for n in toposort([node], stop=given.__contains__) if n not in given]
    if any(kind_of(n) in (REDUCE, LIBRARY) for n in inside):
        return inf
    return sum(weight(n) for n in inside if kind_of(n) == POINTWISE)
