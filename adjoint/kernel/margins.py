"""Tiled products that skip products with the zero padding of a picture.

Before: a tap of a window outside the picture is 0, and multiplied.
After: if all columns of a panel have one place (or tap), a list has the k of a block whose products
are not with padding. The kernel skips the others if all numbers of the rows are finite, which a
question tests (`schedule/margins.py`): zero times each is zero, and adding zeros leaves a sum
unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from adjoint.ir.affine import ZERO, Affine, IndexVar, Loaded, var
from adjoint.ir.dtype import DType
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import number
from adjoint.kernel.index_maps import Gate
from adjoint.kernel.packing import Packing
from adjoint.ops.contract import contract
from adjoint.ops.logic import question_of
from adjoint.stages import Group, Index

ALIKE = 32  # columns beside one another that have one place or tap: on all processors the same
Block = tuple[Affine, int]  # of k: where it starts, and its length
Step = tuple[Affine, tuple[UOp, ...]]  # a k, and its loops


class Margins(Packing):
    """A kernel being written that may leave out products with zeros."""

    node: UOp
    at: Index
    summed: Index
    kind: DType

    def __init__(self, group: Group):
        super().__init__(group)
        self.has_margin = False
        self.listed: UOp | None = None  # scratch: k of a block, from its start on

    def _operand(self, which: int, gate: Gate = ()) -> UOp:
        raise NotImplementedError

    def _k(self) -> list[int]:
        """The loops that are summed over."""
        return [a for axis in self.summed for a in axis]

    def find_margin(self) -> bool:
        """Whether the columns of a panel have the same zeros, and rows come with a question."""
        atoms, columns = self._k(), [a for a in self.at[2] if self.group.sizes[a] != 1]
        if question_of(self.node.src[0]) is None or self.node.op is not contract:
            return False
        before = dict(self.atoms)
        counters = {a: IndexVar(self.group.sizes[a]) for a in (*columns, *atoms)}
        self._index |= {counter: number(0) for counter in counters.values()}
        self.atoms.update({a: var(counter) for a, counter in counters.items()})
        gate = self._zeros_of(self._operand(1))
        self.atoms = before
        lane, alike = counters[columns[-1]], self.group.sizes[columns[-1]] % ALIKE == 0
        return bool(gate) and alike and all(x.factor(lane) == 0 for _, x, _ in gate)

    def _zeros_of(self, value: UOp) -> Gate:
        """The conditions without which a value is 0; none if it is something else then."""
        gate = self._gates.get(value, ())
        plain = len(value.src) == 4 and value.src[3].op is OPS["const"]
        return gate if plain and float(value.src[3].arg.value) == 0 else ()

    # ---- in the kernel

    def list_products(self, first: Affine, block: Block) -> UOp | None:
        """How many products of a block count, of the columns from one on; they are listed."""
        if self.listed is None:
            return None
        loops, (start, size) = self.loops, block
        count = loops.register(number(0))
        self._go(self.at[2], first)
        with loops.loop(size) as turn:
            self._go(self._k(), start + self._counter(size, turn))
            held = self.condition(self._gates[self._operand(1)])
            counts = UOp(OPS["logical_or"], (held, self._question()))
            one = UOp(OPS["where"], (counts, number(1), number(0)))
            loops.store(self.listed, count, turn)
            count = loops.update(count, UOp(OPS["add"], (count, one)), turn)
        return count

    def _question(self) -> UOp:
        """Whether a number of the rows may be infinite, or none."""
        asked = question_of(self.node.src[0])
        assert asked is not None
        finite = self.value(asked, (ZERO,) * len(asked.shape))
        return UOp(OPS["logical_not"], (finite,))

    @contextmanager
    def along_listed(self, count: UOp, block: Block) -> Iterator[Step]:
        """The loop over the products of a block that count."""
        loops, (start, size), atoms = self.loops, block, self._k()
        assert self.listed is not None
        with loops.loop(size, count=count) as turn:
            at = loops.load(self.listed, turn)
            place = UOp(OPS["add"], (self.index(start), at))
            k = var(Loaded(place, self._length(atoms)))
            self._go(atoms, k)
            yield k, (turn,)
