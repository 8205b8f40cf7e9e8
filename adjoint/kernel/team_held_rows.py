"""Long rows that a team of threads holds in shared memory, because registers are too few.

The first stage that reads a row stores it there, and later stages read it from there. An expensive
value that is needed again overwrites its operand. What may live here: what is in shared memory, and
since when. What may not: how loops go over a row (`team_rows.py`).
"""

from __future__ import annotations

from math import prod

from adjoint.ir.affine import ZERO, Affine, flattened
from adjoint.ir.dtype import DType
from adjoint.ir.kernel_kind import EXPENSIVE, is_reduction
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, toposort
from adjoint.kernel.index_maps import At, Gate
from adjoint.kernel.loop_stages import LoopStages, adds
from adjoint.kernel.loop_strategy import Choice
from adjoint.kernel.team_kernel import TeamKernel
from adjoint.ops.mathematics.nodes import cast, compute_dtype
from adjoint.target import Target, Team

_IN_REGISTERS = 32  # elements of a row that a thread holds
_BESIDE, _OF_A_SUM = 10 << 10, 17 << 10  # bytes of scratch beside rows, and of the parts of a sum


class HeldRows(TeamKernel):
    """Writes a kernel of rows; `held` are the operands whose rows are in shared memory."""

    def __init__(self, frame: LoopStages, choice: Choice, target: Target, index_dtype: DType):
        super().__init__(frame, choice, index_dtype)
        assert target.team is not None
        self.longest = max(prod(stage.sizes) for stage in frame.stages)
        self.held = _held_rows(frame, self.longest, target.team)
        self.along, self.stage = ZERO, 0  # where in its row an element is, and in which stage
        # Rows in scratch, by where they begin: since which stage, and the memory.
        self.in_scratch: dict[tuple[UOp, Affine], tuple[int, UOp]] = {}
        self.given_way: dict[tuple[UOp, Affine], int] = {}  # in which stage others took its place

    def load(self, node: UOp, place: Affine, gate: Gate) -> UOp:
        """An element; of a long row that was read before, from scratch."""
        start = self._start(place) if node in self.held else None
        if start is None:
            return super().load(node, place, gate)
        memory = self._held((node, start))
        if memory is None:
            value = super().load(node, place, gate)
            if self.stage == 0:
                stored = value.src[0] if value.op is OPS["cast"] else value
                self._keep((node, start), stored, gate)
            return value
        found, kind = self._from_scratch(memory, gate), compute_dtype(node.dtype)
        return found if kind is node.dtype else cast(found, kind)

    def _start(self, place: Affine) -> Affine | None:
        """Where the row begins, if elements follow one another from there."""
        start = place + self.along * -1
        return None if start.atoms() & self.along.atoms() else start

    def _held(self, key: tuple[UOp, Affine]) -> UOp | None:
        """The shared memory that an earlier stage has filled, if it has not been overwritten."""
        stage, memory = self.in_scratch.get(key, (self.stage, None))
        return memory if stage < self.stage <= self.given_way.get(key, self.stage) else None

    def _keep(self, key: tuple[UOp, Affine], value: UOp, gate: Gate) -> None:
        """Put an element into scratch."""
        if key not in self.in_scratch:
            name = f"row{len(self.in_scratch)}"
            self.in_scratch[key] = self.stage, self.loops.local(name, value.dtype, self.longest)
        condition = self.condition(gate) if gate else None
        self.loops.store(self.in_scratch[key][1], self.index(self.along), value, condition)

    def _from_scratch(self, memory: UOp, gate: Gate) -> UOp:
        at = self.index(self.along)
        if not gate:
            return self.loops.load(memory, at)
        nothing = OPS["const"](0, memory.arg.dtype, (), None)
        return self.loops.here(OPS["load"](memory, at, self.condition(gate), nothing))

    def kept(self, node: UOp, at: At, gate: Gate) -> UOp | None:
        if not self.held or not is_expensive(node):
            return None
        start = self._start(flattened(at, node.shape))
        memory = None if start is None else self._held((node, start))
        return None if memory is None else self._from_scratch(memory, gate)

    def apply(self, node: UOp, operands: list[UOp], at: At, gate: Gate) -> UOp:
        """An element; an expensive one that is needed again overwrites its operand in shared
        memory. If the operand is needed later, it is read from memory.
        """
        value = super().apply(node, operands, at, gate)
        if not self.held or not is_expensive(node) or node not in self._later():
            return value
        start = self._start(flattened(at, node.shape))
        if start is not None and self._gives_way((node, start), value.dtype):
            self._keep((node, start), value, gate)
        return value

    def _gives_way(self, key: tuple[UOp, Affine], dtype: DType) -> bool:
        """Whether there is scratch of the dtype for a value: that of an operand's row."""
        if key in self.in_scratch:
            return True
        for old, (stage, memory) in self.in_scratch.items():
            free = stage < self.stage and old not in self.given_way and old[0] in self.held
            if free and memory.arg.dtype is dtype:
                self.given_way[old] = self.stage
                self.in_scratch[key] = self.stage, memory
                return True
        return False

    def _later(self) -> set[UOp]:
        """The nodes that stages behind this one compute."""
        known, roots = set(self.frame.group.inputs), [n for n, _ in self.frame.rows]
        for stage in self.frame.stages[self.stage + 1 :]:
            roots += [n for n, _ in stage.stores]
            roots += [source for n, _, _ in stage.reductions for source in n.src]
        return set(toposort(roots, stop=lambda n: n in known or is_reduction(n)))


def _held_rows(frame: LoopStages, longest: int, team: Team) -> set[UOp]:
    """The operands of which a team holds rows in scratch: long ones, that several loops go over."""
    if not _is_long(frame, longest, team) or is_read_twice(frame, longest, team):
        return set()
    sums = sum(adds(node) for node, _, _ in frame.group.reduced)  # with two, registers spill too
    left, found = team.scratch_bytes - _BESIDE - sums * _OF_A_SUM, set()
    for node in (n for n in frame.group.inputs if n.size >= longest):
        if longest * node.dtype.itemsize <= left:
            left -= longest * node.dtype.itemsize
            found.add(node)
    return found


def is_read_twice(frame: LoopStages, longest: int, team: Team) -> bool:
    """Whether a team reads long rows twice, the second time from the cache, and stores none. It
    needs no scratch for them, so that a processor has two teams: one reads while the other
    computes.
    """
    if not _is_long(frame, longest, team) or len(frame.stages) > 2:
        return False
    size = sum(longest * n.dtype.itemsize for n in frame.group.inputs if n.size >= longest)
    return size <= team.near_bytes and not any(stage.stores for stage in frame.stages)


def _is_long(frame: LoopStages, longest: int, team: Team) -> bool:
    """Whether registers are too few for a row that several loops go over."""
    return len(frame.stages) > 1 and longest > _IN_REGISTERS * team.most


def is_expensive(node: UOp) -> bool:
    """Whether an element takes so long that it is kept rather than computed again."""
    return getattr(node.op.kernel, "cost", 1) >= EXPENSIVE
