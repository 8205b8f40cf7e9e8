"""shard_map: a function of one member's part of a mesh becomes a function of whole values.

The parts of a value are rows of a value with an additional axis for each mesh axis. vmap maps the
function over these axes, which it knows by their names, and each row stays where it is. So psum and
the other collectives are reductions and movements of whole values, whose derivatives, batches and
programs are those of any other graph; `partition` turns them into collectives. What may live here:
parts to rows and back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from adjoint.errors import ShardingError
from adjoint.ir.mesh import Axes, Mesh, P, Sharding
from adjoint.tensor import Tensor
from adjoint.transforms.call import as_tensor, name_of
from adjoint.transforms.pytree import broadcast_prefix, tree_flatten, tree_unflatten
from adjoint.transforms.vmap import vmap


class _Spec:
    """A P, which is no pytree here."""

    __slots__ = ("spec",)

    def __init__(self, spec: P):
        self.spec = spec


def shard_map(
    fn: Callable[..., Any], mesh: Mesh, in_specs: Any, out_specs: Any
) -> Callable[..., Any]:
    """A function that runs `fn` on the part of its arguments that each member of a mesh has.

    `in_specs` and `out_specs` are `P(...)`, or pytrees of them that may end early: how arguments
    are split, and how results are put together. A dimension must have equal parts. Inside, `psum`,
    `all_gather`, `ppermute`, `axis_index` and their kin know the axes of the mesh by name. A result
    that is not split along an axis must be the same for all members along it, as `psum` makes it.
    """

    @wraps(fn)
    def wrapped(*args: Any) -> Any:
        op = f"shard_map of {name_of(fn)}"
        leaves, treedef = tree_flatten(args)
        specs = _leaf_specs(op, in_specs, treedef, args)
        given = [_split(op, as_tensor(op, x), s, mesh) for x, s in zip(leaves, specs, strict=True)]
        used = [Sharding(mesh, s).used for s in specs]
        outs: list[Any] = []
        flat = _mapped(fn, treedef, mesh, used, out_specs, outs, op)
        results = flat(given)
        tree, out_layouts = outs
        joined = [_joined(op, x, s, mesh) for x, s in zip(results, out_layouts, strict=True)]
        return tree_unflatten(tree, joined)

    return wrapped


def _leaf_specs(op: str, specs: Any, treedef: Any, args: Any) -> list[P]:
    """The spec of every leaf."""
    if not isinstance(specs, P) and isinstance(specs, (tuple, list)) and len(specs) != len(args):
        problem = f"there are {len(specs)} specs for {len(args)} arguments"
        raise ShardingError("E7004", problem, op=op, help="give one P(...) per argument")
    given = tuple(specs) if type(specs) is list else specs
    return [s.spec for s in broadcast_prefix(op, _closed(op, given), treedef)]


def _closed(op: str, specs: Any) -> Any:
    """A pytree of specs with each P as one leaf."""
    if isinstance(specs, P):
        return _Spec(specs)
    if specs is None:
        return _Spec(P())
    if isinstance(specs, dict):
        return {k: _closed(op, v) for k, v in specs.items()}
    if isinstance(specs, (tuple, list)):
        return type(specs)(_closed(op, s) for s in specs)
    raise ShardingError("E7004", f"a spec is P(...), not {specs!r}", op=op)


def _front(used: Axes, mesh: Mesh) -> Axes:
    """The axes that a value is split along, in the mesh's order: that of its rows."""
    return tuple(name for name in mesh.names if name in used)


def _split(op: str, x: Tensor, spec: P, mesh: Mesh) -> Tensor:
    """A value with its parts as rows, in front."""
    layout = Sharding(mesh, spec)
    whole = x.shard(layout)
    shape: list[int] = []
    places: dict[str, int] = {}
    for d, extent in enumerate(x.shape):
        parts = layout.parts(d)
        if extent % parts:
            problem = f"dimension {d} of {extent} has no {parts} equal parts"
            raise ShardingError("E7004", problem, op=op, operands=[("argument", x)])
        for axis in layout.axes(d):
            places[axis] = len(shape)
            shape.append(mesh.extent((axis,)))
        shape.append(extent // parts)
    front = [places[axis] for axis in _front(layout.used, mesh)]
    rest = [d for d in range(len(shape)) if d not in front]
    return whole.reshape(*shape).permute(*front, *rest)


def _joined(op: str, x: Tensor, spec: P, mesh: Mesh) -> Tensor:
    """The inverse: rows of a result as parts."""
    layout = Sharding(mesh, spec)
    front = _front(layout.used, mesh)
    local = x.shape[len(front) :]
    if len(layout.dims) > len(local):
        problem = f"{spec!r} splits {len(layout.dims)} dimensions of a result of {len(local)}"
        raise ShardingError("E7004", problem, op=op)
    order: list[int] = []
    shape: list[int] = []
    for d, extent in enumerate(local):
        order += [front.index(axis) for axis in layout.axes(d)] + [len(front) + d]
        shape.append(extent * layout.parts(d))
    return x.permute(*order).reshape(*shape).shard(layout)


def _mapped(
    fn: Callable[..., Any],
    treedef: Any,
    mesh: Mesh,
    used: Sequence[Axes],
    out_specs: Any,
    outs: list[Any],
    op: str,
) -> Callable[[list[Tensor]], list[Tensor]]:
    """The function on a list of leaves, mapped over each axis of the mesh, the first outermost."""

    def flat(leaves: list[Tensor]) -> list[Tensor]:
        results, tree = tree_flatten(fn(*tree_unflatten(treedef, leaves)))
        specs = [s.spec for s in broadcast_prefix(op, _closed(op, out_specs), tree)]
        outs[:] = [tree, specs]
        return [as_tensor(op, x) for x in results]

    mapped: Any = flat
    for axis in reversed(mesh.names):
        mapped = _over(mapped, axis, mesh.extent((axis,)), used, outs, mesh)
    return mapped


def _over(
    fn: Any, axis: str, size: int, used: Sequence[Axes], outs: list[Any], mesh: Mesh
) -> Callable[[list[Tensor]], list[Tensor]]:
    in_axes = [0 if axis in own else None for own in used]

    def call(leaves: list[Tensor]) -> list[Tensor]:
        where = _Outs(outs, axis, mesh)
        mapped = vmap(fn, in_axes=(in_axes,), out_axes=where, axis_size=size, axis_name=axis)
        found: list[Tensor] = mapped(leaves)
        return found

    return call


class _Outs:
    """Where the axis goes in each result, which is known when the function has run."""

    def __init__(self, outs: list[Any], axis: str, mesh: Mesh):
        self.outs, self.axis, self.mesh = outs, axis, mesh

    def __call__(self) -> list[int | None]:
        specs = self.outs[1]
        return [0 if self.axis in Sharding(self.mesh, spec).used else None for spec in specs]
