"""A graph as pieces of work in order: kernels as groups, and steps of other kinds.

In: primitive nodes and which of them are given. Out: `Work` in running order, and where nodes that
are no more than another view of somebody's memory lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjoint.ir.uop import UOp
from adjoint.schedule.fuse import Fuser, Unit
from adjoint.schedule.legalise import prepare
from adjoint.schedule.split_complex import split_complex
from adjoint.stages import Group, Index


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Work:
    """One step: its kind, the nodes it makes, the nodes in memory it reads; a kernel's group."""

    kind: str
    nodes: tuple[UOp, ...]
    reads: tuple[UOp, ...]
    group: Group | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Division:
    """The whole graph in pieces; `values` are the roots as they are computed here."""

    work: tuple[Work, ...]
    values: tuple[UOp, ...]
    fuser: Fuser

    def storage(self, node: UOp) -> UOp:
        """The node whose memory holds this one."""
        while node in self.fuser.alias:
            node = self.fuser.alias[node]
        return node


def divide(roots: Sequence[UOp]) -> Division:
    """The work that computes the roots."""
    values = prepare(split_complex(roots))
    fuser = Fuser(values)
    units = fuser.run()
    return Division(tuple(_work(fuser, unit) for unit in units), tuple(values), fuser)


def _work(fuser: Fuser, unit: Unit) -> Work:
    reads = tuple(dict.fromkeys(unit.reads))
    group = _group(fuser, unit) if unit.kind == "kernel" else None
    return Work(unit.kind, tuple(unit.outputs), reads, group)


def _group(fuser: Fuser, unit: Unit) -> Group:
    """The unit with its loops numbered from 0."""
    numbers: dict[int, int] = {}

    def renumbered(index: Index) -> Index:
        settled = fuser.atoms.settled(index)
        return tuple(tuple(numbers.setdefault(a, len(numbers)) for a in axis) for axis in settled)

    outputs = tuple((node, renumbered(index)) for node, index in unit.outputs.items())
    reduced = tuple(
        (n, renumbered(at), renumbered(loops)) for n, (at, loops) in unit.reduced.items()
    )
    (outer,) = renumbered((unit.outer or (),))
    sizes = tuple(fuser.atoms.sizes[a] for a in numbers)
    inputs = tuple(n for n in unit.reads if n not in unit.outputs)
    return Group(outputs, inputs, sizes, outer, reduced)
