"""Cuts a local graph with stages into pieces that one stage computes, and the values sent between.

Before: w1 @ tanh(w0 @ x), w0 at stage 0, w1 at stage 1.
After: stage 0: h = tanh(w0 @ x); h from 0 to 1; stage 1: w1 @ h.

A piece takes values of others as parameters. Stages do not send views (a transpose, a broadcast),
but the values that these show. What may live here: where a graph is cut. What may not: who computes
what (`stages.py`), or when (`timetable.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from adjoint.ir.function import UniqueName
from adjoint.ir.kernel_kind import PARAMETER
from adjoint.ir.opdef import OPS, OpDef
from adjoint.ir.uop import UOp, substitute, toposort
from adjoint.ops.collective import COLLECTIVES
from adjoint.sharding.stages import Place, Placed, Stages, once_stages, shows
from adjoint.sharding.timetable import BACKWARD, FORWARD

_INPUT = OPS["input"].call


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """The work of a stage without communication: `outputs` from `inputs`, nodes of the graph that
    was cut; `parameters` stand for the inputs in the graph of `roots`.
    """

    name: str
    stage: int
    inputs: tuple[UOp, ...]
    outputs: tuple[UOp, ...]
    parameters: tuple[UOp, ...]
    roots: tuple[UOp, ...]


@dataclass(frozen=True, slots=True)
class Transfer:
    """A value that goes from one stage to another."""

    node: UOp
    source: int
    target: int
    number: int  # of all transfers of a program

    @property
    def nbytes(self) -> int:
        """Bytes that a member sends."""
        found: int = self.node.size * self.node.dtype.itemsize
        return found


@dataclass(slots=True)
class Wanted:
    """The values that each piece must return, in the order in which they were requested."""

    rows: dict[Hashable, dict[UOp, None]]

    def ask(self, key: Hashable, node: UOp) -> None:
        """One more."""
        self.rows.setdefault(key, {})[node] = None


def _closed(name: str, stage: int, outputs: Sequence[UOp], stops: Callable[[UOp], bool]) -> Piece:
    """The piece that computes the outputs from the nodes where the walk stops."""
    own = set(outputs)
    halt = lambda n: n not in own and stops(n)  # noqa: E731
    order = toposort(outputs, stop=halt)
    inputs = [n for n in order if halt(n) or n.op.kernel is PARAMETER]
    inputs = list(dict.fromkeys(inputs))
    parameters = [
        n if not n.src else _INPUT(UniqueName(f"value{i}"), n.shape, n.dtype)
        for i, n in enumerate(inputs)
    ]
    roots = substitute(outputs, dict(zip(inputs, parameters, strict=True)))
    return Piece(name, stage, tuple(inputs), tuple(outputs), tuple(parameters), tuple(roots))


# ---- what is computed for each microbatch


@dataclass(frozen=True, slots=True, eq=False)
class Microbatch:
    """The pieces of a microbatch, the values sent between them, and their inputs from before."""

    pieces: Mapping[Place, Piece]
    sends: Mapping[Place, tuple[Transfer, ...]]  # after a piece
    receives: Mapping[Place, tuple[Transfer, ...]]  # before it
    before: tuple[tuple[UOp, int], ...]  # values that are computed once, and the stages they are at


def cut_microbatch(
    sources: Sequence[UOp],
    placed: Placed,
    count: int,
    leaves: Stages,
    turning: set[UOp],
    early: set[UOp],
) -> Microbatch:
    """The pieces that compute the sources. Values that differ between microbatches are above
    `turning`, values that were joined before are above `early`.
    """
    turns = _depending(toposort(sources), turning)
    held = _depending(toposort(sources), early, COLLECTIVES)
    steady = lambda n: n not in turns and (n in held or placed.stages.get(n) is not None)  # noqa: E731
    wanted, before, needed = Wanted({}), dict[tuple[UOp, int], None](), list[tuple[UOp, Place]]()
    for node in sources:
        wanted.ask(placed.place(node) or (BACKWARD, count - 1), node)
    pieces: dict[Place, Piece] = {}
    order = [(BACKWARD, s) for s in range(count)] + [(FORWARD, s) for s in reversed(range(count))]
    for place in order:
        if place not in wanted.rows:
            continue

        def stops(n: UOp, place: Place = place) -> bool:
            own = placed.place(n)
            elsewhere = steady(n) or (own is not None and own != place)
            return elsewhere and not shows(n)

        made = _closed(f"{place[0]} of stage {place[1]}", place[1], [*wanted.rows[place]], stops)
        pieces[place] = made
        for n in made.inputs:
            if n in turning or (not n.src and leaves.get(n) is None):
                continue  # every member has it
            if steady(n):
                before[n, place[1]] = None
            else:
                own = placed.place(n)
                assert own is not None
                wanted.ask(own, n)
                needed.append((n, place))
    return Microbatch(pieces, *_microbatch_transfers(needed, placed), tuple(before))


def _depending(
    order: Iterable[UOp], given: set[UOp], ops: frozenset[OpDef] = frozenset()
) -> set[UOp]:
    """The nodes above those that are given, and above these ops."""
    found = set(given)
    for node in order:
        if node.op in ops or any(x in found for x in node.src):
            found.add(node)
    return found


def cut_early(sources: Sequence[UOp]) -> Piece:
    """The work of every member on each microbatch before the stages begin."""
    return _closed("before all stages", -1, list(dict.fromkeys(sources)), lambda n: False)


def _microbatch_transfers(
    needed: Sequence[tuple[UOp, Place]], placed: Placed
) -> tuple[dict[Place, tuple[Transfer, ...]], dict[Place, tuple[Transfer, ...]]]:
    """A value goes to a stage once, before the first piece there that needs it."""
    first: dict[tuple[UOp, int], Place] = {}
    for node, place in needed:
        key = node, place[1]
        if key not in first or place[0] == FORWARD:
            first[key] = place
    sends: dict[Place, tuple[Transfer, ...]] = {}
    receives: dict[Place, tuple[Transfer, ...]] = {}
    rows = [(place, node) for (node, _), place in first.items()]
    for place, node in sorted(rows, key=lambda row: row[0]):
        own = placed.place(node)
        assert own is not None
        if own[1] != place[1]:
            number = sum(map(len, sends.values()))
            sent = Transfer(node, own[1], place[1], number)
            sends[own] = (*sends.get(own, ()), sent)
            receives[place] = (*receives.get(place, ()), sent)
    return sends, receives


# ---- what is computed once


@dataclass(frozen=True, slots=True, eq=False)
class Once:
    """Pieces and transfers, in an order that every stage keeps to."""

    steps: tuple[Piece | Transfer, ...]


def cut_once(
    wants: Sequence[tuple[UOp, Sequence[int]]], leaves: Stages, first: int, forward_only: bool
) -> Once:
    """The steps that bring each value to the stages that need it; transfers are numbered from
    `first`.
    """
    order = toposort([node for node, _ in wants])
    stages = once_stages(order, leaves, forward_only)
    levels = _levels(order, stages)
    wanted, sent = Wanted({}), dict[tuple[UOp, int], None]()
    for node, places in wants:
        for stage in places:
            _ask(node, stage, stages, levels, wanted, sent)
    pieces: dict[tuple[int, int], Piece] = {}
    for key in sorted(_keys(levels, stages, places_of(wants)), reverse=True):
        if key in wanted.rows:
            pieces[key] = _once_piece(key, wanted, stages, levels, sent)
    return Once(_in_order(pieces, sent, stages, levels, first))


def places_of(wants: Sequence[tuple[UOp, Sequence[int]]]) -> set[int]:
    """The stages that need a value."""
    return {stage for _, places in wants for stage in places}


def _keys(levels: Mapping[UOp, int], stages: Stages, others: set[int]) -> set[tuple[int, int]]:
    own = {(levels[n], s) for n, s in stages.items() if s is not None}
    return own | {(0, stage) for stage in others}


def _levels(order: Sequence[UOp], stages: Stages) -> dict[UOp, int]:
    """How often values have gone from stage to stage before a node."""
    found: dict[UOp, int] = {}
    for node in order:
        rows = [found[x] + (stages[x] != stages[node]) for x in node.src if stages[x] is not None]
        found[node] = max(rows, default=0)
    return found


def _ask(
    node: UOp,
    stage: int,
    stages: Stages,
    levels: Mapping[UOp, int],
    wanted: Wanted,
    sent: dict[tuple[UOp, int], None],
) -> None:
    """A stage needs a value: of another stage it is sent."""
    own = stages[node]
    if node.src:
        wanted.ask((levels[node] if own is not None else 0, stage if own is None else own), node)
    if own is not None and own != stage:
        sent[node, stage] = None


def _once_piece(
    key: tuple[int, int],
    wanted: Wanted,
    stages: Stages,
    levels: Mapping[UOp, int],
    sent: dict[tuple[UOp, int], None],
) -> Piece:
    stage = key[1]

    def stops(n: UOp) -> bool:
        own = stages[n]
        return own is not None and (levels[n], own) != key and not shows(n)

    made = _closed(f"once at stage {stage}", stage, [*wanted.rows[key]], stops)
    for n in made.inputs:
        if stages[n] is not None:
            _ask(n, stage, stages, levels, wanted, sent)
    return made


def _in_order(
    pieces: Mapping[tuple[int, int], Piece],
    sent: Iterable[tuple[UOp, int]],
    stages: Stages,
    levels: Mapping[UOp, int],
    first: int,
) -> tuple[Piece | Transfer, ...]:
    """Transfers of leaves, then level by level the pieces and the values they send."""
    rows: list[tuple[int, int, int, Piece | Transfer]] = []
    for (level, stage), piece in pieces.items():
        rows.append((level, 1, stage, piece))
    for number, (node, target) in enumerate(sent):
        own = stages[node]
        assert own is not None
        level = levels[node] if node.src else -1
        rows.append((level, 2, number, Transfer(node, own, target, first + number)))
    rows.sort(key=lambda row: row[:3])
    return tuple(row[3] for row in rows)
