"""A loop taken apart into what its iterations begin with, read and pass on, each with a name.

What may live here: the data, and building a loop from it again. What may not: changes to a loop
(`lighter_loops.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from adjoint.ir.expand import expand
from adjoint.ir.function import UniqueName, function_of
from adjoint.ir.kernel_kind import is_constant
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, substitute, toposort

Inner = UOp  # a node over the names of one turn
Outer = UOp  # a node of the graph around the loop


def name_like(node: UOp, shape: tuple[int, ...] | None = None) -> UOp:
    """A variable that is equal to no other."""
    wanted = node.shape if shape is None else shape
    found: UOp = OPS["input"](UniqueName("turn"), wanted, node.dtype, node.device)
    return found


@dataclass(slots=True, eq=False, repr=False)
class Turns:
    """A loop: names of carries, of elements of sequences and of constants, with their outside
    values; the new carries of an iteration; its rows, by the results that read them.
    """

    node: UOp  # the loop
    starts: dict[Inner, Outer] = field(default_factory=dict)
    nexts: dict[Inner, Inner] = field(default_factory=dict)
    sequences: dict[Inner, Outer] = field(default_factory=dict)
    constants: dict[Inner, Outer] = field(default_factory=dict)
    last: dict[int, Inner] = field(default_factory=dict)  # results that are carries, by number
    rows: dict[Any, Inner] = field(default_factory=dict)  # and those that are rows

    @property
    def length(self) -> int:
        """The number of iterations."""
        found: int = self.node.arg.length
        return found

    @property
    def ends(self) -> list[Inner]:
        """All results of an iteration."""
        return [*self.nexts.values(), *self.rows.values()]

    def replace(self, mapping: dict[Inner, Inner]) -> None:
        """Put other nodes in the place of some."""
        news = iter(substitute(self.ends, mapping))
        self.nexts = {name: next(news) for name in self.nexts}
        self.rows = {key: next(news) for key in self.rows}

    def drop_unused(self) -> None:
        """Only what the results need stays."""
        used = dict.fromkeys(self.last.values())
        while True:
            below = set(toposort([*(self.nexts[c] for c in used), *self.rows.values()]))
            more = [c for c in self.starts if c in below and c not in used]
            if not more:
                break
            used |= dict.fromkeys(more)
        self.starts = {c: self.starts[c] for c in self.starts if c in used}
        self.nexts = {c: self.nexts[c] for c in self.starts}
        self.sequences = {s: x for s, x in self.sequences.items() if s in below}
        self.constants = {c: x for c, x in self.constants.items() if c in below}

    def build(self, new: dict[UOp, UOp]) -> dict[Any, UOp]:
        """The results of the loop, by the nodes that they replace; nodes outside are
        substituted.
        """
        carries, rows = list(self.starts), list(dict.fromkeys(self.rows.values()))
        if not carries and not rows:
            return {}
        names = [*carries, *self.sequences, *self.constants]
        outer = [*self.starts.values(), *self.sequences.values(), *self.constants.values()]
        body = function_of(names, [*self.nexts.values(), *rows])
        old = self.node.arg
        arg = type(old)(body, len(carries), len(self.sequences), old.length, old.reverse)
        node = UOp(self.node.op, tuple(substitute(outer, new)), arg)
        found = {key: node.part(carries.index(c)) for key, c in self.last.items()}
        place = {row: len(carries) + i for i, row in enumerate(rows)}
        return found | {key: node.part(place[row]) for key, row in self.rows.items()}


def taken_apart(node: UOp, wanted: Iterable[int]) -> Turns:
    """A loop of which some results are needed."""
    arg = node.arg
    n, m, names = arg.carries, arg.sequences, [name_like(x) for x in arg.body.inputs]
    outputs = substitute(expand(arg.body.outputs), dict(zip(arg.body.inputs, names, strict=True)))
    outside = list(zip(names, node.src, strict=True))
    turns = Turns(node)
    turns.starts = dict(outside[:n])
    turns.nexts = dict(zip(names, outputs[:n], strict=False))
    turns.sequences, turns.constants = dict(outside[n : n + m]), dict(outside[n + m :])
    turns.last = {i: names[i] for i in wanted if i < n}
    turns.rows = {i: outputs[i] for i in wanted if i >= n}
    turns.replace({s: _one_of(x) for s, x in turns.sequences.items() if is_constant(x)})
    turns.drop_unused()
    return turns


def _one_of(sequence: Outer) -> Inner:
    """An element of a sequence of equal ones."""
    arg = sequence.arg
    found: UOp = OPS["const"](arg.value, sequence.dtype, sequence.shape[1:], sequence.device)
    return found
