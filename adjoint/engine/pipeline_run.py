"""One member's run of a pipelined program: its pieces per microbatch, its messages, its sums.

What may live here: what a member does while a program runs. What may not: how the program was made,
or what it costs (`pipelined.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.engine.graph_key import GraphKey
from adjoint.engine.interpreter import run_function
from adjoint.engine.program_cache import CachedProgram
from adjoint.engine.step_facts import FlagError
from adjoint.ir.effect import effects_muted
from adjoint.ir.function import Function
from adjoint.ir.mesh import PIPELINE_AXIS, Sharding
from adjoint.ir.uop import UOp, toposort
from adjoint.ir.values import storage
from adjoint.ops.collective import COLLECTIVES
from adjoint.runtime.buffer import Buffer, constant, row_major
from adjoint.runtime.comm.joins import join
from adjoint.sharding.microbatches import MICROBATCH, Join
from adjoint.sharding.pieces import Once, Piece, Transfer
from adjoint.sharding.timetable import BACKWARD, FORWARD, Turn

if TYPE_CHECKING:
    from adjoint.engine.pipelined import PipelinedProgram

Values = dict[UOp, Buffer]


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A piece with its program."""

    piece: Piece
    key: GraphKey | None
    program: CachedProgram | None  # None: by the interpreter

    def run(self, values: Mapping[UOp, Buffer], device: str) -> list[Buffer]:
        """The outputs, from the values of the inputs."""
        given = [values[node] for node in self.piece.inputs]
        if self.program is None or self.key is None:
            return self._interpreted(given, device)
        known = [storage(leaf) for leaf in self.key.leaves[len(given) :]]
        try:
            return self.program.run(self.key, [*given, *known], [device] * len(self.piece.roots))
        except FlagError:
            if not any(n.op in COLLECTIVES for n in toposort(self.piece.roots)):
                with effects_muted():
                    self._interpreted(given, device)  # says which index it was
            raise

    def _interpreted(self, given: Sequence[Buffer], device: str) -> list[Buffer]:
        function = Function(self.piece.parameters, self.piece.roots)
        arrays = row_major(run_function(function, [b.array() for b in given]))
        return [Buffer(a, device) for a in arrays]


class Run:
    """One member's run of a program."""

    def __init__(self, program: PipelinedProgram, member: int, given: Sequence[Buffer | None]):
        timed = program.timed
        self.program, self.member, self.mesh = program, member, timed.mesh
        self.stage, self.device = timed.mesh.stage(member), timed.mesh.devices[member]
        self.group = timed.mesh.group(member, (PIPELINE_AXIS,))
        self.values: Values = {}
        self.rows: Values = {}
        for node, layout, buffer in zip(timed.parameters, timed.leaves, given, strict=True):
            if buffer is not None:
                (self.rows if layout.turns else self.values)[node] = buffer
        self.flying: dict[int, Values] = {}
        self.peak = 0
        late = [j for j in timed.joins if not j.early and self._owns(j)]
        self.sums = {j: Sum(j, program.order) for j in late}
        for node, axes in timed.places:
            if MICROBATCH not in axes:
                self.values[node] = self._place(axes, 0)

    def _owns(self, join_: Join) -> bool:
        return self.program.owners[join_.source] == self.stage

    def _place(self, axes: Sequence[str], microbatch: int) -> Buffer:
        """Where a member and a microbatch are along axes, the first of them slowest."""
        at = {**self.mesh.coordinates(self.member), MICROBATCH: microbatch}
        number = 0
        for axis in axes:
            number = number * self.program.timed.timed.extent((axis,)) + at[axis]
        return constant(np.array(number, np.int64), self.device)

    def all(self, communicator: Any) -> list[Buffer | None]:
        """Everything: the work before the microbatches, their iterations, and the work after."""
        program, self.mail = self.program, communicator
        self._join_early()
        self._once(program.before)
        if program.cut.pieces:
            for turn in program.table[self.stage]:
                self._turn(turn)
        for join_, total in self.sums.items():
            self.values[join_.joined] = Buffer(total.result(), self.device)
        self._once(program.after)
        self.mail.flush(label="pipeline")
        return [
            self.values.get(root) if self._keeps(layout) else None
            for root, layout in zip(program.timed.roots, program.timed.results, strict=True)
        ]

    def _join_early(self) -> None:
        """The joined values that depend on the batch but on no parameter."""
        piece = self.program.early
        sums = {j: Sum(j, self.program.order) for j in self.program.timed.joins if j.early}
        for microbatch in range(self.mesh.microbatches if sums else 0):
            values = {**self.values, **self._begun(microbatch)}
            found = self.program.bound[piece].run(values, self.device)
            known = dict(zip(piece.outputs, found, strict=True))
            for join_, total in sums.items():
                total.add(known[join_.source].array())
        for join_, total in sums.items():
            self.values[join_.joined] = Buffer(total.result(), self.device)

    def _keeps(self, layout: Sharding) -> bool:
        return layout.stage is None or layout.stage == self.stage

    def _once(self, once: Once) -> None:
        for step in once.steps:
            if isinstance(step, Transfer):
                if step.source == self.stage:
                    self._send(step, self.values)
                elif step.target == self.stage:
                    self._receive(step, self.values)
            elif step.stage == self.stage:
                self._compute(step, self.values)

    def _compute(self, piece: Piece, values: Values) -> None:
        found = self.program.bound[piece].run(values, self.device)
        values.update(zip(piece.outputs, found, strict=True))

    # ---- turns

    def _turn(self, turn: Turn) -> None:
        program, place = self.program, (turn.direction, self.stage)
        if turn.direction == FORWARD:
            self.flying[turn.microbatch] = self._begun(turn.microbatch)
            self.peak = max(self.peak, len(self.flying))
        values = self.flying[turn.microbatch]
        for transfer in program.cut.receives.get(place, ()):
            self._receive(transfer, values, turn.microbatch)
        piece = program.cut.pieces.get(place)
        if piece is not None:
            found = program.bound[piece].run({**self.values, **values}, self.device)
            values.update(zip(piece.outputs, found, strict=True))
        for transfer in program.cut.sends.get(place, ()):
            self._send(transfer, values, turn.microbatch)
        self._keep(turn, values)

    def _begun(self, microbatch: int) -> Values:
        """A member's inputs for a microbatch: its rows, and its place."""
        found = {node: self._cut(node, buffer, microbatch) for node, buffer in self.rows.items()}
        for node, axes in self.program.timed.places:
            if MICROBATCH in axes:
                found[node] = self._place(axes, microbatch)
        return found

    def _cut(self, node: UOp, buffer: Buffer, microbatch: int) -> Buffer:
        rows = int(node.shape[0])
        own = buffer.array()[microbatch * rows : (microbatch + 1) * rows]
        return Buffer(np.ascontiguousarray(own), self.device)

    def _keep(self, turn: Turn, values: Values) -> None:
        """Add to the pending sums, and drop values that are no longer needed."""
        if turn.direction == BACKWARD:
            for join_, total in self.sums.items():
                total.add(values[join_.source].array())
            del self.flying[turn.microbatch]
            return
        later = self.program.cut.pieces.get((BACKWARD, self.stage))
        needed = set() if later is None else set(later.inputs)
        needed |= {join_.source for join_ in self.sums}
        self.flying[turn.microbatch] = {n: b for n, b in values.items() if n in needed}

    # ---- messages

    def _send(self, transfer: Transfer, values: Values, microbatch: int = 0) -> None:
        node = transfer.node
        array = np.ascontiguousarray(values[node].array()).reshape(tuple(map(int, node.shape)))
        to = self.group[transfer.target]
        self.mail.send(array, to, tag=transfer.number, label=self._label(transfer, microbatch))

    def _receive(self, transfer: Transfer, values: Values, microbatch: int = 0) -> None:
        node = transfer.node
        array = np.empty(tuple(map(int, node.shape)), node.dtype.np)
        source = self.group[transfer.source]
        label = self._label(transfer, microbatch)
        self.mail.receive(array, source, tag=transfer.number, label=label)
        values[node] = Buffer(array, self.device)

    def _label(self, transfer: Transfer, microbatch: int) -> str:
        return f"microbatch {microbatch} from stage {transfer.source} to stage {transfer.target}"


class Sum:
    """What microbatches are joined to: neighbours first, then pairs of pairs, as members are; in
    the fast order one after another, in one place."""

    def __init__(self, join_: Join, order: str):
        self.join, self.fast, self.parts = join_, order == "fast", list[tuple[int, Any]]()

    def add(self, array: Any) -> None:
        """One more microbatch."""
        if not self.join.kind:
            self.parts.append((1, array))
            return
        count, total = 1, array
        while self.parts and (self.fast or self.parts[-1][0] == count):
            before, other = self.parts.pop()
            count, total = count + before, self._added(other, total)
        self.parts.append((count, total))

    def _added(self, first: Any, second: Any) -> Any:
        out = np.empty_like(first)
        join(self.join.kind, first, second, out)
        return out

    def result(self) -> Any:
        """All of them."""
        arrays = [array for _, array in self.parts]
        if not self.join.kind:
            return np.ascontiguousarray(np.concatenate(arrays, self.join.dim))
        total = arrays[-1]
        for array in reversed(arrays[:-1]):
            total = self._added(array, total)
        return total
