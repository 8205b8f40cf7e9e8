"""Rows that a mask discards from some column on: kernels compute nothing there.

Before: for all 2048 columns: exp(where(column <= row, score, -inf) - maximum). After: for those up
to the row; behind it every element is exp(-inf - maximum), which is computed once and stored there.
What may live here: the values behind a mask, and whether these are the same for all columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adjoint.ir.affine import ZERO, Affine
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.kernel.decompose import decompose_node
from adjoint.kernel.index_maps import At, ElementWalk, Gate, reduced_operands
from adjoint.kernel.loop_stages import adds

if TYPE_CHECKING:
    from adjoint.kernel.panel_rows import PanelRows, Sum


class _UnknownError(Exception):
    """The values behind a mask depend on more than rows."""


def is_known(rows: PanelRows, mask: UOp) -> bool:
    """Whether all that is done to rows is the same for every column behind a mask, and leaves alone
    what reductions find that are no sums by the tree, which is given every element."""
    atoms, found = dict(rows.atoms), rows.found
    rows.found = {
        n: OPS["define_acc"](rows.start_of(n), -1 - i) for i, n in enumerate(rows.reduced)
    }
    rows.go_to_row(ZERO)
    try:
        return all(_is_same(rows, mask, part) for part in (*rows.reduced.values(), rows.second))
    except _UnknownError:
        return False
    finally:
        rows.atoms, rows.found = atoms, found


def _is_same(rows: PanelRows, mask: UOp, part: Sum) -> bool:
    first, other = (behind(rows, mask, part, column) for column in (0, 1))
    kept = part is rows.second or adds(part.node)
    return first is other and (kept or first is rows.start_of(part.node))


def behind(rows: PanelRows, mask: UOp, part: Sum, column: int = 0) -> UOp:
    """The terms of a reduction behind the mask, for the present row."""
    rows.go_to_column(part, Affine(column))
    places, gate = reduced_operands(part.node, *rows.places_of(part))
    if gate:
        raise _UnknownError
    value: UOp = _Behind(rows, mask).value(part.node.src[0], places[0])
    return value if part is rows.second else rows.in_sum(part, value)


class _Behind(ElementWalk):
    """Elements of rows, with what takes the place of scores."""

    def __init__(self, rows: PanelRows, mask: UOp):
        super().__init__(rows.group.inputs)
        self.rows, self.mask = rows, mask

    def load(self, node: UOp, place: Affine, gate: Gate) -> UOp:
        return self.rows.load(node, place, gate)

    def constant(self, node: UOp, value: Any) -> UOp:
        return self.rows.constant(node, value)

    def counted(self, node: UOp, x: Affine) -> UOp:
        return self.rows.counted(node, x)

    def select(self, gate: Gate, value: UOp, other: UOp) -> UOp:
        return self.rows.select(gate, value, other)

    def apply(self, node: UOp, operands: list[UOp], at: At, gate: Gate) -> UOp:
        return decompose_node(node, tuple(operands))

    def loaded(self, node: UOp, axis: int, index: UOp, at: At, gate: Gate, size: int) -> Affine:
        raise _UnknownError

    def reduction(self, node: UOp, at: At) -> UOp:
        if node not in self.rows.found:
            raise _UnknownError
        return self.rows.found[node]

    def kept(self, node: UOp, at: At, gate: Gate) -> Any:
        return self.value(node.src[2], at, gate) if node is self.mask else None
