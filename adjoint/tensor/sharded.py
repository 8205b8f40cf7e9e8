"""Tensors on a mesh: querying and changing their sharding.

What may live here: the methods and functions of users. What may not: propagation or running.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adjoint.errors import ShardingError
from adjoint.ir.mesh import Mesh, Sharding
from adjoint.tensor.layouts import sharding_of
from adjoint.tensor.lift import lift

if TYPE_CHECKING:
    from adjoint.ir.uop import UOp
    from adjoint.tensor.tensor import Tensor


class Spreading:
    """Mixed into Tensor."""

    __slots__ = ()
    if TYPE_CHECKING:
        uop: UOp

    @property
    def sharding(self) -> Sharding | None:
        """How the value lies on its mesh: `.mesh`, `.spec`, `.pending`; None if it is on none."""
        return sharding_of(self.uop)

    def reshard(self: Any, devices: Any, axis: Any = None) -> Tensor:
        """The same values in another layout, or on another mesh."""
        return lift.op("shard", self, devices, axis)

    def shard_(self: Any, devices: Any, axis: Any = None) -> Any:
        """Spread this handle's value over a mesh."""
        return self._moved(self.shard(devices, axis))

    def shard_like(self: Any, other: Tensor) -> Tensor:
        """This value spread as another tensor is."""
        wanted = sharding_of(other.uop)
        if wanted is None:
            return self._copied_to(other.device)
        if self.shape != other.shape and len(wanted.dims) > len(self.shape):
            problem = f"{wanted.spec!r} does not fit a value of rank {len(self.shape)}"
            raise ShardingError("E7004", problem, op="shard_like", operands=[("other", other)])
        return lift.op("shard", self, wanted.resolved())


def with_sharding_constraint(x: Any, devices: Any, axis: Any = None) -> Any:
    """The same values, with this sharding wherever they are computed."""
    return x.shard(devices, axis)


__all__ = ["Mesh", "Spreading", "with_sharding_constraint"]
