"""`ShardedBuffer`: a value in parts, one for each member of a mesh that runs in this process.

Parts of a dimension are equal, with padding at the end of the last ones. Reading the whole joins
the parts; if other processes have parts, all processes read together. What may live here: parts to
whole and back. What may not: programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from adjoint.errors import ShardingError
from adjoint.ir.dtype import DType
from adjoint.ir.mesh import Mesh, Sharding
from adjoint.runtime.buffer import Array, Buffer
from adjoint.runtime.comm import world
from adjoint.runtime.spans import copying

Shape = tuple[int, ...]


def own_members(mesh: Mesh) -> tuple[int, ...]:
    """The members of a mesh that this process, or this thread, runs: all of them if it is alone."""
    here = world.member()
    if here.size == 1 or mesh.size == 1:
        return tuple(range(mesh.size))
    if here.size != mesh.size:
        problem = f"{mesh!r} has {mesh.size} members, and {here.size} run this program"
        fix = f"make a mesh of {here.size}, or start {mesh.size} members"
        raise ShardingError("E7001", problem, op="Mesh", help=fix)
    return (here.rank,)


def region(sharding: Sharding, shape: Shape, member: int) -> tuple[slice, ...]:
    """The place of a member's part in the whole, without its padding."""
    local = sharding.local(shape)
    found = []
    for dim, (extent, own) in enumerate(zip(shape, local, strict=True)):
        begin = min(sharding.mesh.place(member, sharding.axes(dim)) * own, extent)
        found.append(slice(begin, min(begin + own, extent)))
    return tuple(found)


class ShardedBuffer(Buffer):
    """Parts by the number of their member; `device` is the sharding."""

    __slots__ = ("parts",)

    def __init__(self, parts: Mapping[int, Buffer], sharding: Sharding, shape: Shape, dtype: DType):
        self._array = self._address = self._block = None
        self.parts = dict(parts)
        self.shape, self.dtype = tuple(shape), dtype
        self.device: Any = sharding

    def _contents(self) -> Array:
        if self._array is None:
            self._array = self._whole()
        return self._array

    def _whole(self) -> Array:
        sharding, shape = self.device, self.shape
        if not sharding.dims and _is_alone(sharding):
            return next(iter(self.parts.values())).array()  # nothing to ask of the others
        whole = np.empty(shape, self.dtype.np)
        with copying(repr(sharding.mesh), "host", whole.nbytes):
            parts = self._all_parts()
            for member in sharding.holders:
                part = parts[member]
                there = region(sharding, shape, member)
                whole[there] = part[tuple(slice(0, s.stop - s.start) for s in there)]
        return whole

    def _all_parts(self) -> dict[int, Array]:
        """The parts of all members, those of other processes too."""
        mesh = self.device.mesh
        if len(self.parts) == len(self.device.holders) and _is_alone(self.device):
            return {member: part.array() for member, part in self.parts.items()}
        if self.parts:
            ((_, part),) = self.parts.items()
            source = np.ascontiguousarray(part.array())
        else:  # a value of another stage
            source = np.zeros(self.device.local(self.shape), self.dtype.np)
        target = np.empty((mesh.size, *source.shape), source.dtype)
        world.member().all_gather(source, target, label="reading a sharded value")
        return dict(enumerate(target))

    def _placed(self) -> int:
        array = np.ascontiguousarray(self._contents())
        self._array = array
        self._address = int(array.__array_interface__["data"][0])
        return self._address

    @property
    def on_host(self) -> bool:
        """Whether the host has it all."""
        return True

    @property
    def on_device(self) -> bool:
        """Never as one piece."""
        return False

    def apart(self) -> Buffer:
        """The same in memory of its own."""
        parts = {member: part.apart() for member, part in self.parts.items()}
        return ShardedBuffer(parts, self.device, self.shape, self.dtype)

    def copied_to(self, device: str) -> Buffer | None:
        """Only by way of the host."""
        return None


def _is_alone(sharding: Sharding) -> bool:
    """Whether no other process has a part that this one has not."""
    return sharding.stage is None or len(own_members(sharding.mesh)) == sharding.mesh.size


def spread_out(buffer: Buffer, sharding: Sharding) -> dict[int, Buffer]:
    """The part of each member of this process of a value with a sharding."""
    if isinstance(buffer, ShardedBuffer) and buffer.device == sharding:
        return buffer.parts
    mesh = sharding.mesh
    own = [m for m in own_members(mesh) if m in sharding.holders]
    if not sharding.dims:
        if isinstance(buffer, ShardedBuffer):
            buffer.array()  # all members ask together, also those that keep nothing
        return {m: _on(buffer, mesh.devices[m]) for m in own}
    array = buffer.array()
    return {m: _part(array, sharding, m) for m in own}


def _on(buffer: Buffer, device: str) -> Buffer:
    """A whole value on one device: the same memory where the host has it."""
    if buffer.device == device and not isinstance(buffer, ShardedBuffer):
        return buffer
    return Buffer(buffer.array(), device)


def _part(array: Array, sharding: Sharding, member: int) -> Buffer:
    own = array[region(sharding, array.shape, member)]
    local = sharding.local(array.shape)
    device = sharding.mesh.devices[member]
    if own.shape == local and own.flags.c_contiguous:  # the same memory
        return Buffer(own, device)
    with copying("host", device, own.nbytes):
        filled = (np.empty if own.shape == local else np.zeros)(local, array.dtype)
        filled[tuple(map(slice, own.shape))] = own
    return Buffer(filled, device)


def laid_out(buffer: Buffer, sharding: Sharding) -> Buffer:
    """A value as one of a mesh."""
    if isinstance(buffer, ShardedBuffer) and buffer.device == sharding:
        return buffer
    return ShardedBuffer(spread_out(buffer, sharding), sharding, buffer.shape, buffer.dtype)
