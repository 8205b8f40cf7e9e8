"""Scores that a mask discards whatever their values, so that kernels need not compute them.

Before: where(column <= row, scores * scale, -inf): the work on the scores of a causal attention.
After: an expression, of a tile's first column and last row, that tells how far the tile is from
being discarded as a whole; and the value that replaces discarded scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from adjoint.ir.affine import LINEAR, ZERO, Affine, IndexVar, var
from adjoint.ir.kernel_kind import View, is_reduction
from adjoint.ir.uop import UOp, toposort
from adjoint.kernel.index_maps import At, ElementWalk, Gate
from adjoint.ops.logic import le, lt, where

Distance = Callable[[Affine, Affine], Affine]  # below 1 if a tile is thrown away: column, row
Visit = Callable[[ElementWalk, Affine, Affine], object]


class Mask(NamedTuple):
    """A choice between scores and something else, and how far tiles are from its other side."""

    node: UOp
    distance: Distance


def kept_from(
    product: UOp,
    results: Sequence[UOp],
    inputs: Sequence[UOp],
    sizes: tuple[int, int],
    visit: Visit,
) -> Mask | None:
    """The one mask that all elements of a product go through, if there is such a mask. `visit`
    walks over the uses of the product, at a row and a column.
    """
    masks = _masks(product, results, set(inputs)) or []
    if len(masks) != 1:
        return None
    row, column = map(IndexVar, sizes)
    walk = _Places(inputs, masks)
    visit(walk, var(row), var(column))
    distance = _distance(walk, masks[0], row, column)
    return None if distance is None else Mask(masks[0], distance)


def _masks(product: UOp, results: Sequence[UOp], inputs: set[UOp]) -> list[UOp] | None:
    """The choices in which all uses of a product end, with the chosen values; None if one use does
    not.
    """
    users: dict[UOp, list[UOp]] = {}
    for node in toposort(results, stop=inputs.__contains__):
        for source in () if node in inputs else node.src:
            users.setdefault(source, []).append(node)
    found: dict[UOp, None] = {}
    stack = [product]
    while stack:
        node = stack.pop()
        if node in results:
            return None
        for user in users.get(node, ()):
            condition, chosen, other = user.src if user.op is where else (None, None, None)
            if chosen is node and node is not condition and node is not other:
                found[user] = None
            elif is_reduction(user):
                return None
            else:
                stack.append(user)
    return list(found)


def _distance(walk: _Places, node: UOp, row: IndexVar, column: IndexVar) -> Distance | None:
    """How far a tile is from being discarded by one choice, if rows and columns determine that."""
    at, condition = walk.found.get(node), node.src[0]
    while at is not None and type(condition.op.kernel) is View:
        (read, *more) = condition.op.kernel.index_map(condition, at, LINEAR)
        if more or read.steps is not None:
            return None
        condition, at = read.source, read.place
    if at is None or condition.op not in (le, lt):
        return None
    a, b = (walk.affine(source, at) for source in condition.src)
    if a is None or b is None:
        return None
    apart = a + b * -1 + (1 if condition.op is lt else 0)  # at most 0 where it is chosen
    along, across = apart.factor(column), apart.factor(row)
    if not along or not across or along < 0 or across > 0 or len(apart.terms) != 2:
        return None
    return lambda first, last: first * -along + last * -across + (1 - apart.const)


class _Places(ElementWalk):
    """A walk that finds out at which index some nodes are used."""

    def __init__(self, inputs: Sequence[UOp], wanted: Sequence[UOp]):
        super().__init__(inputs)
        self.wanted, self.found = set(wanted), dict[UOp, At]()

    def load(self, node: UOp, place: Affine, gate: Gate) -> None:
        return None

    def constant(self, node: UOp, value: Any) -> None:
        return None

    def counted(self, node: UOp, x: Affine) -> None:
        return None

    def select(self, gate: Gate, value: Any, other: Any) -> None:
        return None

    def loaded(self, node: UOp, axis: int, index: UOp, at: At, gate: Gate, size: int) -> Affine:
        return ZERO

    def reduction(self, node: UOp, at: At) -> None:
        return None

    def apply(self, node: UOp, operands: list[Any], at: At, gate: Gate) -> None:
        if node in self.wanted:
            self.found[node] = at
