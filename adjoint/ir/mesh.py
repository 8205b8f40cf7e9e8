"""`Mesh`, `P` and `Sharding`: how a value is distributed over devices. Data only.

A mesh is a grid of devices whose axes have names. A sharding says for every dimension of a value
along which mesh axes it is split. It also says over which axes the value is pending, which means
still to be reduced, and by which reduction. It is a tuple of the devices' names, so it can take the
place of one device. Of a computed node only the mesh counts, of a leaf the whole sharding.

What may live here: the data, with the sizes that follow from it. What may not: any graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from adjoint import config
from adjoint.errors import ShardingError, did_you_mean
from adjoint.target import canonical_device

KINDS = ("sum", "max", "min", "prod")
PIPELINE_AXIS = "pp"  # along which members have stages of a model, and not parts of a dimension
SCHEDULES = ("1f1b", "gpipe")
Axes = tuple[str, ...]  # of a mesh, the slowest first
Dims = tuple[Axes, ...]
Pending = tuple[tuple[str, str], ...]  # (axis, kind)


class Mesh:
    """Devices in a grid: `Mesh((2, 4), ("dp", "tp"))`, `Mesh({"dp": 2, "tp": 4})`.

    `devices` are in row-major order; without them they are the first of the default kind: CPU,
    CPU:1, … Along an axis `pp` members have stages of a model, to which a batch goes in so many
    `microbatches` (twice as many as there are stages), in the order of a `schedule`: "1f1b" or
    "gpipe".
    """

    __slots__ = ("_hash", "devices", "microbatches", "names", "schedule", "shape")
    shape: tuple[int, ...]
    names: Axes
    devices: tuple[str, ...]
    microbatches: int
    schedule: str

    def __init__(
        self,
        shape: int | Sequence[int] | Mapping[str, int],
        names: str | Sequence[str] | None = None,
        devices: Iterable[str] | None = None,
        *,
        microbatches: int | None = None,
        schedule: str | None = None,
    ):
        if isinstance(shape, Mapping):
            names, shape = tuple(shape), tuple(shape.values())
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        self.shape, self.names = sizes, _checked_names(sizes, names)
        self.devices = _checked_devices(prod(sizes), devices)
        self.microbatches, self.schedule = _checked_pipeline(self, microbatches, schedule)
        self._hash = hash(self._facts)

    @property
    def _facts(self) -> tuple[Any, ...]:
        return self.shape, self.names, self.devices, self.microbatches, self.schedule

    @property
    def stages(self) -> int:
        """How many stages of a model there are; 0: the mesh has no axis for them."""
        return self.extent((PIPELINE_AXIS,)) if PIPELINE_AXIS in self.names else 0

    def stage(self, member: int) -> int:
        """The stage that a member has."""
        return self.coordinates(member)[PIPELINE_AXIS]

    @property
    def size(self) -> int:
        """How many devices there are."""
        return len(self.devices)

    def extent(self, axes: Iterable[str]) -> int:
        """How many members differ along these axes."""
        return prod([self.shape[self.names.index(axis)] for axis in axes])

    def coordinates(self, member: int) -> dict[str, int]:
        """The place of a member along every axis."""
        found = {}
        for name, size in zip(reversed(self.names), reversed(self.shape), strict=True):
            member, found[name] = divmod(member, size)
        return found

    def place(self, member: int, axes: Iterable[str]) -> int:
        """The place of a member along axes taken together, the first of them slowest."""
        at, number = self.coordinates(member), 0
        for axis in axes:
            number = number * self.extent((axis,)) + at[axis]
        return number

    def group(self, member: int, axes: Sequence[str]) -> tuple[int, ...]:
        """The members that differ from this one along these axes alone, in the axes' order."""
        at = self.coordinates(member)
        found = []
        for place in product(*(range(self.extent((axis,))) for axis in axes)):
            there = at | dict(zip(axes, place, strict=True))
            number = 0
            for name, size in zip(self.names, self.shape, strict=True):
                number = number * size + there[name]
            found.append(number)
        return tuple(found)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mesh):
            return NotImplemented
        return self is other or self._facts == other._facts

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return _mesh_again, self._facts

    def __repr__(self) -> str:
        axes = ", ".join(f"{n}={s}" for n, s in zip(self.names, self.shape, strict=True))
        turns = f", microbatches={self.microbatches}, {self.schedule}" if self.stages else ""
        return f"Mesh({axes}{turns})"


def _mesh_again(shape: Any, names: Any, devices: Any, microbatches: int, schedule: str) -> Mesh:
    if PIPELINE_AXIS not in names:
        return Mesh(shape, names, devices)
    return Mesh(shape, names, devices, microbatches=microbatches, schedule=schedule)


def _checked_pipeline(mesh: Mesh, count: Any, schedule: Any) -> tuple[int, str]:
    if not mesh.stages:
        if count is not None or schedule is not None:
            problem = f"{mesh!r} has no axis {PIPELINE_AXIS!r}, and so no stages for microbatches"
            fix = f'Mesh({{"{PIPELINE_AXIS}": 2}}, microbatches=4)'
            raise ShardingError("E7001", problem, op="Mesh", help=fix)
        return 1, ""
    count = max(2 * mesh.stages, 2) if count is None else count
    if type(count) is not int or count < 2:
        problem = f"a batch goes through stages in 2 microbatches or more, not {count!r}"
        raise ShardingError("E7008", problem, op="Mesh")
    chosen = SCHEDULES[0] if schedule is None else schedule
    if chosen not in SCHEDULES:
        known = f"the schedule is one of {', '.join(SCHEDULES)}"
        problem = f"there is no schedule {chosen!r} for stages"
        raise ShardingError(
            "E7001", problem, op="Mesh", help=did_you_mean(str(chosen), SCHEDULES) or known
        )
    return count, chosen


def _checked_names(sizes: tuple[int, ...], names: Any) -> Axes:
    if not sizes or any(type(n) is not int or n < 1 for n in sizes):
        problem = f"the sizes of a mesh are positive integers, not {list(sizes)}"
        raise ShardingError("E7001", problem, op="Mesh")
    if names is None:
        names = ("x", "y", "z", "t", "u", "v")[: len(sizes)]
    listed = (names,) if isinstance(names, str) else tuple(names)
    named = all(isinstance(name, str) and name for name in listed)
    if not named or len(listed) != len(sizes) or len(set(listed)) != len(listed):
        problem = f"{len(sizes)} axes have as many different names, not {listed}"
        raise ShardingError("E7001", problem, op="Mesh", help='Mesh((2, 4), ("dp", "tp"))')
    return listed


def _checked_devices(size: int, devices: Iterable[str] | None) -> tuple[str, ...]:
    if devices is None:
        kind = canonical_device(config.DEVICE.value()).partition(":")[0]
        return tuple(canonical_device(f"{kind}:{i}") for i in range(size))
    if isinstance(devices, str):
        devices = (devices,)
    names = tuple(map(canonical_device, devices))
    if len(names) != size:
        problem = f"a mesh of {size} takes as many devices, not {len(names)}"
        raise ShardingError("E7001", problem, op="Mesh")
    if len(set(names)) != len(names):
        raise ShardingError("E7001", f"a device is named twice in {names}", op="Mesh")
    return names


class P(tuple[Any, ...]):
    """The axes along which each dimension is split: `P("dp", None, ("x", "y"))`; None, or omitted:
    whole.
    """

    __slots__ = ()

    def __new__(cls, *dims: Any) -> P:
        return tuple.__new__(cls, dims)

    def __reduce__(self) -> tuple[Any, ...]:
        return P, tuple(self)

    def __repr__(self) -> str:
        return f"P({', '.join(map(repr, self))})"


class Sharding(tuple[str, ...]):
    """The devices of a mesh, and how a value is distributed over them.

    `dims[d]` are the axes along which dimension d is split, the slowest first; dimensions behind
    the last split one are omitted. `pending` are the axes along which members hold parts of each
    element, the slowest first, and the op that joins these: sum, max, min or prod. With a `stage`
    only its members have the value. With `turns` the rows of the first dimension go through the
    stages in microbatches.
    """

    mesh: Mesh
    dims: Dims
    pending: Pending
    stage: int | None
    turns: bool
    _hash: int

    def __new__(
        cls,
        mesh: Mesh,
        dims: Iterable[Any] = (),
        pending: Iterable[tuple[str, str]] = (),
        stage: int | None = None,
        turns: bool = False,
    ) -> Sharding:
        made = tuple.__new__(cls, mesh.devices)
        made.mesh, made.dims = mesh, _checked_dims(mesh, dims)
        made.pending = _checked_pending(made, pending)
        made.stage, made.turns = _checked_stage(mesh, stage), turns
        made._hash = hash(made._facts)
        return made

    @property
    def _facts(self) -> tuple[Any, ...]:
        return self.mesh, self.dims, tuple(sorted(self.pending)), self.stage, self.turns

    @property
    def holders(self) -> tuple[int, ...]:
        """The members that have the value, or a part of it."""
        members = range(self.mesh.size)
        if self.stage is None:
            return tuple(members)
        return tuple(m for m in members if self.mesh.stage(m) == self.stage)

    def axes(self, dim: int) -> Axes:
        """The axes along which a dimension is split."""
        return self.dims[dim] if dim < len(self.dims) else ()

    def parts(self, dim: int) -> int:
        """In how many parts a dimension is split."""
        return self.mesh.extent(self.axes(dim))

    def local(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of a member's part: parts are equal, the last ones are padded."""
        return tuple([-(-n // self.parts(d)) for d, n in enumerate(shape)])

    def fits(self, shape: Sequence[int]) -> bool:
        """Whether all parts are full."""
        return all(n % self.parts(d) == 0 for d, n in enumerate(shape))

    @property
    def used(self) -> Axes:
        """The axes that a dimension is split along."""
        return tuple(axis for axes in self.dims for axis in axes)

    @property
    def spec(self) -> P:
        """The same as `shard` takes it."""
        return P(*((a[0] if len(a) == 1 else a) if a else None for a in self.dims))

    def resolved(self) -> Sharding:
        """The same with nothing pending."""
        if not self.pending:
            return self
        return Sharding(self.mesh, self.dims, (), self.stage, self.turns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sharding):
            return tuple.__eq__(self, other)
        return self is other or self._facts == other._facts

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return Sharding, self._facts

    def __repr__(self) -> str:
        rest = "".join(f", {kind} over {axis} pending" for axis, kind in self.pending)
        rest += "" if self.stage is None else f", stage {self.stage}"
        rest += ", in turns" if self.turns else ""
        return f"Sharding({self.mesh!r}, {self.spec!r}{rest})"


def _checked_dims(mesh: Mesh, dims: Iterable[Any]) -> Dims:
    listed: list[Axes] = []
    for given in dims:
        axes = () if given is None else (given,) if isinstance(given, str) else tuple(given)
        for axis in axes:
            check_axis(mesh, axis)
            if axis == PIPELINE_AXIS:
                problem = f"along {axis!r} members have stages of a model: it splits no dimension"
                fix = "split the batch along another axis, and cut the model with nn.parallel"
                raise ShardingError("E7002", problem, op="shard", help=fix)
        listed.append(axes)
    used = [axis for axes in listed for axis in axes]
    if len(set(used)) != len(used):
        twice = next(axis for axis in used if used.count(axis) > 1)
        problem = f"the axis {twice!r} of the mesh is used twice in {P(*dims)!r}"
        raise ShardingError("E7002", problem, op="shard", help="an axis splits one dimension")
    while listed and not listed[-1]:
        listed.pop()
    return tuple(listed)


def check_axis(mesh: Mesh, axis: Any) -> None:
    """E7002 if the mesh has no such axis."""
    if axis not in mesh.names:
        known = f"its axes are {', '.join(mesh.names)}"
        near = did_you_mean(str(axis), list(mesh.names))
        raise ShardingError(
            "E7002", f"{mesh!r} has no axis {axis!r}", op="shard", help=near or known
        )


def _checked_pending(made: Sharding, pending: Iterable[tuple[str, str]]) -> Pending:
    listed = tuple(pending)
    for axis, kind in listed:
        check_axis(made.mesh, axis)
        if kind not in KINDS or axis in made.used:
            problem = f"{kind} over {axis!r} cannot be pending beside {made.dims}"
            raise ShardingError("E7002", problem, op="shard")
    return listed


def _checked_stage(mesh: Mesh, stage: int | None) -> int | None:
    if stage is None or 0 <= stage < mesh.stages:
        return stage
    problem = f"{mesh!r} has no stage {stage}"
    raise ShardingError("E7002", problem, op="shard", help=f"it has {mesh.stages} stages")


def over_devices(names: Sequence[str], dim: int | None = None) -> Sharding:
    """Whole on each of these devices, or split along one dimension."""
    mesh = Mesh((len(names),), ("devices",), names)
    return Sharding(mesh, () if dim is None else (*((),) * dim, ("devices",)))


def spread(device: Any) -> Any:
    """A device as nodes have it: of several names, a sharding that is whole on each."""
    if isinstance(device, str) or device is None or isinstance(device, Sharding):
        return device
    return over_devices(tuple(device))


def join_devices(one: Any, other: Any) -> Any:
    """The device that computes a node with operands on two; None if there is none. A value on one
    device is whole on all of a mesh.
    """
    if isinstance(one, Sharding):
        if not isinstance(other, Sharding):
            return one
        return one if one.mesh == other.mesh else None
    return other if isinstance(other, Sharding) else None
