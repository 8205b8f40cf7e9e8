"""Slots of experts on a mesh: from the members that have rows to those that have experts, and back.

Before: (rows, experts, capacity, features), rows split over `ep`, as a batch is.
After: the same values, experts split over `ep`, as their weights are; then back again.

A microbatch has some rows of every member along `ep`, which are not adjacent in the batch. So on a
mesh with stages rows form a grid, (other axes, ep, turns, rows), in which `ep` and turns split
dimensions of their own; experts get them in the order of turns. Rows do not depend on one another,
so no result changes, except for random numbers, which depend on the position of an element; they
raise an error.

What may live here: the layout of slots, and the weights that they meet. What may not: routing, or
what experts compute (`experts.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from adjoint.errors import ShardingError
from adjoint.ir.mesh import Mesh, Sharding
from adjoint.tensor import Tensor
from adjoint.tensor.random import stream

ROWS, EXPERTS = ("dp", "fsdp", "ep"), "ep"  # axes of a mesh


@dataclass(frozen=True)
class Exchange:
    """The ways of the slots of a batch; `grid`: four extents of its rows, if they have turns."""

    mesh: Mesh
    grid: tuple[int, ...] | None

    def to_experts(self, x: Tensor) -> Tensor:
        """Slots by rows, as tokens are → by experts, as weights are."""
        by_rows, by_experts = self._layouts
        if self.grid is None:
            return x.shard(by_rows).shard(by_experts)
        laid = x.reshape(*self.grid, *x.shape[1:]).shard(by_rows).shard(by_experts)
        return laid.transpose(1, 2).reshape(*x.shape)

    def to_rows(self, x: Tensor) -> Tensor:
        """The way back."""
        by_rows, by_experts = self._layouts
        if self.grid is None:
            return x.shard(by_experts).shard(by_rows)
        others, members, turns, rows = self.grid
        laid = x.reshape(others, turns, members, rows, *x.shape[1:]).transpose(1, 2)
        return laid.shard(by_experts).shard(by_rows).reshape(*x.shape)

    def own(self, weight: Tensor) -> Tensor:
        """A weight as it is used: its experts in parts, the rest of its dimensions along no axis of
        rows. In stages it must say so: what does not is gathered along all of these."""
        layout = weight.sharding
        if layout is None or not self.mesh.stages:
            return weight
        rows = others_of(self.mesh)
        kept = [tuple(a for a in axes if a not in rows) for axes in layout.dims]
        return weight.shard(Sharding(self.mesh, kept))

    @contextmanager
    def without_draws(self) -> Iterator[None]:
        """Raise an error for a layer that would draw other numbers than one device does."""
        before = stream.drawn
        yield
        if self.grid is not None and stream.drawn != before:
            problem = f"an activation draws random numbers, and on {self.mesh!r} experts meet rows "
            problem += "in the order of microbatches: draws would be those of other rows"
            fix = f"draw behind the mixture, or leave {EXPERTS!r} out: stages have experts whole"
            raise ShardingError("E7006", problem, op="MixtureOfExperts", help=fix)

    @property
    def _layouts(self) -> tuple[Sharding, Sharding]:
        others = others_of(self.mesh)
        if self.grid is None:
            rows = rows_of(self.mesh)
            return Sharding(self.mesh, (rows,)), Sharding(self.mesh, (others, EXPERTS))
        in_grid = Sharding(self.mesh, (others, EXPERTS))
        return in_grid, Sharding(self.mesh, (others, None, None, None, EXPERTS))


def exchange_of(weight: Tensor, rows: int) -> Exchange | None:
    """The exchange for rows that meet a weight; None if members have all experts."""
    layout = weight.sharding
    if layout is None or EXPERTS not in layout.axes(0):
        return None
    mesh = layout.mesh
    extents = mesh.extent(others_of(mesh)), mesh.extent((EXPERTS,)), mesh.microbatches
    each, left = divmod(rows, extents[0] * extents[1] * extents[2])
    turns = mesh.stages and not left  # what has no equal microbatches does not come in turns
    return Exchange(mesh, (*extents, each) if turns else None)


def rows_of(mesh: Mesh) -> tuple[str, ...]:
    """The axes of a mesh along which batches are split."""
    return tuple(axis for axis in ROWS if axis in mesh.names)


def others_of(mesh: Mesh) -> tuple[str, ...]:
    """Those of them that experts are not split along."""
    return tuple(axis for axis in rows_of(mesh) if axis != EXPERTS)


__all__ = ["EXPERTS", "ROWS", "Exchange", "exchange_of", "rows_of"]
