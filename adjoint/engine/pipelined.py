"""Runs a graph whose mesh has pipeline stages: pieces, microbatches, and messages between stages.

In: a graph on a mesh with an axis `pp`. Out: the values of the roots. Each member runs the pieces
of its stage, in the order of its timetable; it sends without waiting, and waits for what it needs.
What may live here: the program, and what it costs. What may not: where a graph is cut
(`sharding/`), or what a member does while it runs (`pipeline_run.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from typing import Any

from adjoint.engine.graph_key import backend_name, graph_key
from adjoint.engine.pipeline_run import Bound, Run
from adjoint.engine.program_cache import PROGRAMS
from adjoint.ir.effect import effects_muted
from adjoint.ir.member import Member, running_as
from adjoint.ir.mesh import Mesh, Sharding
from adjoint.ir.uop import UOp, toposort
from adjoint.ops.collective import COLLECTIVES, bytes_sent, collective_text, to_stage
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.comm import local, world
from adjoint.runtime.device import Device
from adjoint.runtime.sharded_buffer import ShardedBuffer, own_members, spread_out
from adjoint.sharding.microbatches import TimedGraph, asked_layout, timed_graph
from adjoint.sharding.order import order_of_products
from adjoint.sharding.pieces import (
    Microbatch,
    Once,
    Piece,
    Transfer,
    cut_early,
    cut_microbatch,
    cut_once,
)
from adjoint.sharding.stages import Placed, Stages, microbatch_stages, once_stages
from adjoint.sharding.timetable import BACKWARD, FORWARD, Turn, bubble, in_flight, timetable


@dataclass(frozen=True, slots=True)
class StageReport:
    """What one stage does in a step, of one of its members."""

    stage: int
    in_flight: int  # microbatches whose activations it keeps, at most
    activation_bytes: int  # of one microbatch, kept between its two passes
    sent: int  # bytes to other stages
    collective_bytes: int  # bytes to members of the same stage


@dataclass(frozen=True, slots=True)
class PipelineReport:
    """How a step goes through the stages."""

    schedule: str
    microbatches: int
    bubble: float  # share of the time in which a stage waits, if stages are equally long
    stages: tuple[StageReport, ...]

    def __str__(self) -> str:
        head = f"{self.schedule}: {len(self.stages)} stages, {self.microbatches} microbatches, "
        rows = [f"{head}{self.bubble:.1%} of the time waiting"]
        for s in self.stages:
            kept = f"{s.in_flight} in flight, {s.activation_bytes} bytes of activations each"
            rows.append(
                f"  stage {s.stage}: {kept}, {s.sent} bytes sent to stages, "
                f"{s.collective_bytes} to members"
            )
        return "\n".join(rows)


@dataclass(slots=True, eq=False, repr=False)
class PipelinedProgram:
    """The program of a graph on a mesh with stages; `places` are the devices of the roots."""

    timed: TimedGraph
    places: tuple[Any, ...]
    shapes: tuple[Any, ...]
    table: list[list[Turn]]
    early: Piece
    cut: Microbatch
    before: Once
    after: Once
    owners: Mapping[UOp, int]  # stages of the joins' sources
    bound: Mapping[Piece, Bound]
    order: str
    peaks: dict[int, int] = field(default_factory=dict)  # microbatches in flight, by member

    @property
    def graph(self) -> PipelinedProgram:
        """What members compute: this has the facts that a local graph has."""
        return self

    @property
    def collectives(self) -> list[UOp]:
        """The collectives of all pieces, those of a microbatch once."""
        return [n for piece in self.bound for n in toposort(piece.roots) if n.op in COLLECTIVES]

    # ---- what it costs

    def lines(self) -> list[str]:
        """What stages and members say to one another, with the bytes that each sends."""
        count, micro = self.timed.mesh.microbatches, set(self.cut.pieces.values())
        found = [_sent_line(t, count) for rows in self.cut.sends.values() for t in rows]
        for part in (self.before, self.after):
            found += [_sent_line(t, 1) for t in part.steps if isinstance(t, Transfer)]
        for piece in self.bound:
            times = f", {count} times" if piece in micro else ""
            for n in toposort(piece.roots):
                if n.op in COLLECTIVES:
                    kind = f"{n.dtype.short}{list(n.src[0].shape)}"
                    text = f"{n.op.name} of {kind}: {collective_text(n)}{times}"
                    found.append(f"{piece.name}: {text}")
        return found

    def report(self) -> PipelineReport:
        """What each stage keeps and sends."""
        mesh = self.timed.mesh
        rows = [self._stage_report(stage) for stage in range(mesh.stages)]
        return PipelineReport(mesh.schedule, mesh.microbatches, bubble(self.table), tuple(rows))

    def _stage_report(self, stage: int) -> StageReport:
        ahead = self.cut.pieces.get((FORWARD, stage))
        back = self.cut.pieces.get((BACKWARD, stage))
        here = set() if ahead is None else {*ahead.outputs, *ahead.inputs}
        kept = [] if back is None else [n for n in back.inputs if n in here and n in self._turning]
        return StageReport(
            stage,
            in_flight(self.table[stage]) if self.cut.pieces else 0,
            sum(n.size * n.dtype.itemsize for n in kept),
            self._sent(stage),
            self._joined(stage),
        )

    @property
    def _turning(self) -> set[UOp]:
        found = set(self.timed.turning)
        for join_ in self.timed.joins:
            for node in toposort([join_.source]):
                if any(x in found for x in node.src):
                    found.add(node)
        return found

    def _sent(self, stage: int) -> int:
        each = [t.nbytes for rows in self.cut.sends.values() for t in rows if t.source == stage]
        once = [
            t.nbytes
            for part in (self.before, self.after)
            for t in part.steps
            if isinstance(t, Transfer) and t.source == stage
        ]
        return sum(each) * self.timed.mesh.microbatches + sum(once)

    def _joined(self, stage: int) -> int:
        micro = {id(piece) for piece in self.cut.pieces.values()}
        total = 0
        for piece in self.bound:
            if piece.stage == stage:
                times = self.timed.mesh.microbatches if id(piece) in micro else 1
                found = [bytes_sent(n) for n in toposort(piece.roots) if n.op in COLLECTIVES]
                total += times * sum(found)
        return total

    # ---- runs

    def run(self, buffers: Sequence[Buffer]) -> list[Buffer]:
        """The values of the roots from those of the leaves."""
        mesh = self.timed.mesh
        members = own_members(mesh)
        parts = [spread_out(b, s) for b, s in zip(buffers, self.timed.leaves, strict=True)]
        runs = {m: Run(self, m, [p.get(m) for p in parts]) for m in members}
        if len(members) == 1:
            found = {m: self._run_one(run, world.member()) for m, run in runs.items()}
        else:
            contexts = [copy_context() for _ in members]

            def one(here: Any) -> list[Buffer | None]:
                return contexts[here.rank].run(self._run_one, runs[here.rank], here)

            found = dict(enumerate(local.run(len(members), one)))
        self.peaks = {m: run.peak for m, run in runs.items()}
        return [
            self._whole(i, {m: v for m in members if (v := found[m][i]) is not None})
            for i in range(len(self.places))
        ]

    def _run_one(self, run: Run, communicator: Any) -> list[Buffer | None]:
        mesh = self.timed.mesh
        quiet = nullcontext() if run.member == 0 else effects_muted()
        with running_as(Member(mesh, run.member, communicator)), quiet:
            return run.all(communicator)

    def _whole(self, number: int, parts: dict[int, Buffer]) -> Buffer:
        device, layout = self.places[number], self.timed.results[number]
        shape, dtype = self.shapes[number]
        if isinstance(device, Sharding):
            return ShardedBuffer(parts, layout, tuple(map(int, shape)), dtype)
        first = parts[min(parts)]
        return first if first.device == device else Buffer(first.array(), device)


def _sent_line(transfer: Transfer, times: int) -> str:
    node = transfer.node
    kind = f"{node.dtype.short}{list(node.shape)}"
    often = f", {times} times" if times > 1 else ""
    way = f"send of {kind}: stage {transfer.source} to stage {transfer.target}"
    return f"{way}{often}, {transfer.nbytes * times} bytes sent by each"


# ---- making one


def pipelined_program(
    roots: Sequence[UOp], leaves: Sequence[UOp], mesh: Mesh, order: str
) -> PipelinedProgram:
    """The program of a graph on a mesh with stages."""
    timed = timed_graph(roots, leaves, mesh, order)
    stages: dict[UOp, int | None] = {
        p: s.stage for p, s in zip(timed.parameters, timed.leaves, strict=True)
    } | {p: None for p, _ in timed.places}
    asking = _asking(timed)
    late = [j for j in timed.joins if not j.early]
    known = {j.joined for j in timed.joins if j.early}
    stages |= dict.fromkeys(known)
    rows = [(j.source, asking[j.joined]) for j in late]
    placed = microbatch_stages(rows, stages, mesh.stages)
    owners = {node: _owner(node, asked, placed, mesh.stages) for node, asked in rows}
    early = cut_early([j.source for j in timed.joins if j.early])
    sources = [j.source for j in late]
    cut = cut_microbatch(sources, placed, mesh.stages, stages, timed.turning, known)
    count = sum(map(len, cut.sends.values()))
    before = cut_once([(n, [s]) for n, s in cut.before], stages, count, True)
    count += sum(isinstance(step, Transfer) for step in before.steps)
    joined = {j.joined: owners[j.source] for j in late}
    timed = _settled(timed, roots, {**stages, **joined}, not late)
    wants = [
        (root, range(mesh.stages) if s.stage is None else [s.stage])
        for root, s in zip(timed.roots, timed.results, strict=True)
    ]
    after = cut_once(wants, {**stages, **joined}, count, not late)
    once = [step for part in (before, after) for step in part.steps]
    pieces = [early, *cut.pieces.values(), *(step for step in once if isinstance(step, Piece))]
    return PipelinedProgram(
        timed,
        tuple(root.device or Device.DEFAULT for root in roots),
        tuple((root.shape, root.dtype) for root in roots),
        timetable(mesh.schedule, mesh.stages, mesh.microbatches),
        early,
        cut,
        before,
        after,
        owners,
        {piece: _bound(piece, mesh, order) for piece in pieces},
        order,
    )


def _settled(
    timed: TimedGraph, roots: Sequence[UOp], leaves: Stages, forward_only: bool
) -> TimedGraph:
    """Results without a requested stage: scalars go to all stages, anything larger stays with the
    stage that computes it.
    """
    found = once_stages(toposort(timed.roots), leaves, forward_only)
    results = [
        Sharding(s.mesh, s.dims, (), found[node], s.turns) if _stays(root, s) else s
        for root, node, s in zip(roots, timed.roots, timed.results, strict=True)
    ]
    return replace(timed, results=tuple(results))


def _stays(root: UOp, layout: Sharding) -> bool:
    told = asked_layout(root) is not None or not isinstance(root.device, Sharding)
    return layout.stage is None and bool(root.shape) and not told


def _owner(node: UOp, asked: int | None, placed: Placed, count: int) -> int:
    place = placed.place(node)
    if place is not None:
        return place[1]
    return count - 1 if asked is None else asked


def _asking(timed: TimedGraph) -> dict[UOp, int | None]:
    """The stage whose gradient each join is a part of: that of the nearest marker above it."""
    found: dict[UOp, int | None] = {j.joined: None for j in timed.joins}
    for mark in toposort(timed.roots):
        if mark.op is to_stage:
            for node in toposort(mark.src, stop=lambda n: n.op is to_stage):
                if node in found and found[node] is None:
                    found[node] = mark.arg.stage
    return found


def _bound(piece: Piece, mesh: Mesh, order: str) -> Bound:
    backend = backend_name(mesh.devices[0])
    key = graph_key(piece.roots, piece.parameters, backend) if backend and piece.roots else None
    if key is None or not piece.roots:
        return Bound(piece, None, None)
    with order_of_products(order):
        return Bound(piece, key, PROGRAMS.find(key, piece.roots))
