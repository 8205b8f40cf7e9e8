"""Collectives over an axis that `vmap` maps and names: psum, all_gather and others.

Inside `vmap(fn, axis_name="i")` each example sees the values of the others: AXIS_GATHER stacks
them. The other collectives consist of that and of the example's own number. Batching turns the
stack into the batched value itself, so a sum over the axis is a plain reduction. The node has the
example's number as its second operand: a transform that batches the number batches the axis. What
may live here: that record, and the functions of a named axis.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np

from adjoint.errors import ArgumentError, ShapeError, UnknownNameError
from adjoint.ir.arg import Arg
from adjoint.ir.batch import Flags, Sources, broadcast_batch
from adjoint.ir.derivative import Linear
from adjoint.ir.opdef import OpDef, internal
from adjoint.ir.uop import UOp
from adjoint.ops.collective import send_rows
from adjoint.ops.indexing import gathered
from adjoint.tensor import Tensor
from adjoint.tensor.tracing import Axis, open_scopes
from adjoint.transforms.call import as_tensor
from adjoint.transforms.pytree import tree_map


class AxisArg(Arg):
    size: int


def _gathered(x: UOp, index: UOp, size: int) -> UOp:
    return UOp(axis_gather, (x, index), AxisArg(size))


def _transposed(g: UOp, x: UOp, index: UOp, size: int) -> tuple[UOp]:
    """What all examples say of this one: each has a cotangent for every other."""
    total = _gathered(g, index, size).reduce_sum(0)
    return (gathered(total, (index,), (0,)),)


def _batched(node: UOp, src: Sources, flags: Flags, size: int) -> tuple[UOp, bool]:
    x, index = src
    if flags[1]:  # this is the axis: all rows together, the same for every example
        return broadcast_batch(x, flags[0], size), False
    return _gathered(x, index, node.arg.size).movedim(1, 0), True


axis_gather: OpDef = internal(
    "axis_gather",
    "The values of all examples along a named axis, stacked.",
    "primitive",
    call=_gathered,
    infer=lambda src, arg: ((arg.size, *src[0].shape), src[0].dtype),
    arg=AxisArg,
    ad=Linear(_transposed),
    reference=lambda x, index, size: np.stack([x] * size),
    batch=_batched,
    opcode=False,
)


class AxisPermuteArg(Arg):
    pairs: tuple[tuple[int, int], ...]


def _permuted(x: UOp, index: UOp, pairs: tuple[tuple[int, int], ...]) -> UOp:
    return UOp(axis_permute, (x, index), AxisPermuteArg(pairs))


def _batched_permute(node: UOp, src: Sources, flags: Flags, size: int) -> tuple[UOp, bool]:
    x, index = src
    if flags[1]:
        return send_rows(broadcast_batch(x, flags[0], size), node.arg.pairs), True
    return _permuted(x, index, node.arg.pairs), True


axis_permute: OpDef = internal(
    "axis_permute",
    "What another example has along a named axis, by pairs (from, to); zeros where none sends.",
    "primitive",
    call=_permuted,
    infer=lambda src, arg: (src[0].shape, src[0].dtype),
    arg=AxisPermuteArg,
    ad=Linear(
        lambda g, x, index, pairs: (_permuted(g, index, tuple((b, a) for a, b in pairs)),),
        tangent=lambda t, y, x, index, pairs: _permuted(t[0], index, pairs),
    ),
    reference=lambda x, index, pairs: x,
    batch=_batched_permute,
    opcode=False,
)


def _open_axis(name: Any) -> Axis | None:
    """The innermost open axis of that name."""
    known = [a for scope in open_scopes.get() if (a := scope.axis) is not None]
    return next((axis for axis in reversed(known) if axis.name == name), None)


def _axis(op: str, name: Any) -> Axis:
    """The innermost open axis of that name, or the error that there is none."""
    found = _open_axis(name)
    if found is not None:
        return found
    known = [a.name for scope in open_scopes.get() if (a := scope.axis) is not None]
    problem = f"no axis is named {name!r} here; open are: {', '.join(map(repr, known)) or 'none'}"
    fix = f"call it inside a function under vmap(..., axis_name={name!r})"
    raise UnknownNameError("E2002", problem, op=op, help=fix)


class Place(NamedTuple):
    """Where an example is along one axis, or along several taken together, the first slowest."""

    axes: tuple[Axis, ...]
    size: int
    example: UOp


def _place(op: str, axis_name: Any) -> Place:
    """The place along the open axis of that name, or along those of several names."""
    several = isinstance(axis_name, (tuple, list)) and _open_axis(axis_name) is None
    names = tuple(axis_name) if several else (axis_name,)
    if not names or (several and len(set(names)) < len(names)):
        problem = f"takes one axis or several different ones, not {axis_name!r}"
        raise ArgumentError("E2008", problem, op=op)
    axes = tuple(_axis(op, name) for name in names)
    example = reduce(lambda at, axis: at * axis.size + axis.example, axes[1:], axes[0].example)
    return Place(axes, prod(axis.size for axis in axes), example)


def _stacked(op: str, x: Any, place: Place) -> Tensor:
    value = node = as_tensor(op, x).uop
    for axis in reversed(place.axes):
        node = _gathered(node, axis.example, axis.size)
    return Tensor(node.reshape((place.size, *value.shape)) if len(place.axes) > 1 else node)


def axis_index(axis_name: Any) -> Tensor:
    """The number of the example along a named axis; along several, the first of them slowest."""
    return Tensor(_place("axis_index", axis_name).example)


def axis_size(axis_name: Any) -> int:
    """The number of examples along a named axis, or along several together."""
    return _place("axis_size", axis_name).size


def psum(x: Any, axis_name: Any) -> Any:
    """The sum over a named axis, or over several, for every example; of every leaf of a pytree."""
    axis = _place("psum", axis_name)
    return tree_map(lambda leaf: _stacked("psum", leaf, axis).sum(0), x)


def pmean(x: Any, axis_name: Any) -> Any:
    """The mean over a named axis, or over several."""
    axis = _place("pmean", axis_name)
    return tree_map(lambda leaf: _stacked("pmean", leaf, axis).mean(0), x)


def pmax(x: Any, axis_name: Any) -> Any:
    """The largest over a named axis, or over several, element by element; ties share the
    gradient."""
    axis = _place("pmax", axis_name)
    return tree_map(lambda leaf: _stacked("pmax", leaf, axis).max(0), x)


def pmin(x: Any, axis_name: Any) -> Any:
    """The smallest over a named axis, or over several, element by element; ties share the
    gradient."""
    axis = _place("pmin", axis_name)
    return tree_map(lambda leaf: _stacked("pmin", leaf, axis).min(0), x)


def all_gather(x: Any, axis_name: Any, axis: int = 0, tiled: bool = False) -> Any:
    """The values of all examples, stacked along a new `axis`, or with `tiled` joined along it;
    over several named axes the first is slowest."""
    place = _place("all_gather", axis_name)

    def one(leaf: Any) -> Tensor:
        rows = _stacked("all_gather", leaf, place)
        if not tiled:
            return rows.movedim(0, axis)
        return rows[0].cat(*(rows[i] for i in range(1, place.size)), dim=axis)

    return tree_map(one, x)


def psum_scatter(x: Any, axis_name: Any, scatter_dimension: int = 0, tiled: bool = False) -> Any:
    """The sum over a named axis, of which every example keeps its part along a dimension: one
    element of it, or with `tiled` an equal share."""
    place = _place("psum_scatter", axis_name)

    def one(leaf: Any) -> Tensor:
        total = _stacked("psum_scatter", leaf, place).sum(0)
        front = total.movedim(scatter_dimension, 0)
        rows = _in_rows("psum_scatter", front, place.size, tiled)
        own = Tensor(gathered(rows.uop, (place.example,), (0,)))
        return own.movedim(0, scatter_dimension) if tiled else own

    return tree_map(one, x)


def all_to_all(
    x: Any, axis_name: Any, split_axis: int, concat_axis: int, tiled: bool = False
) -> Any:
    """Part i along `split_axis` goes to example i; what comes in is stacked along `concat_axis`,
    or with `tiled` joined along it."""
    place = _place("all_to_all", axis_name)

    def one(leaf: Any) -> Tensor:
        stack = _stacked("all_to_all", leaf, place)
        front = stack.movedim(split_axis % (stack.ndim - 1) + 1, 0)
        rows = _in_rows("all_to_all", front, place.size, tiled)
        if not tiled:  # part, sender, ...
            own = Tensor(gathered(rows.uop, (place.example,), (0,)))
            return own.movedim(0, concat_axis)
        own = Tensor(gathered(rows.uop, (place.example,), (0,)))  # share, sender, ...
        parts = own.movedim(0, split_axis % (stack.ndim - 1) + 1)  # sender, ...
        return parts[0].cat(*(parts[i] for i in range(1, place.size)), dim=concat_axis)

    return tree_map(one, x)


def _in_rows(op: str, x: Tensor, size: int, tiled: bool) -> Tensor:
    """The first dimension in as many rows as there are examples."""
    if x.shape[0] % size or (not tiled and x.shape[0] != size):
        problem = f"a dimension of {x.shape[0]} has no part for each of {size} examples"
        fix = "its extent is the size of the axis, or with tiled=True a multiple of it"
        raise ShapeError("E3003", problem, op=op, operands=[("x", x)], help=fix)
    return x.reshape(size, x.shape[0] // size, *x.shape[1:]) if tiled else x


def ppermute(x: Any, axis_name: Any, perm: Iterable[tuple[int, int]]) -> Any:
    """Values sent along `(from, to)` pairs of examples; zeros where no pair sends."""
    axis = _axis("ppermute", axis_name)
    senders = _senders(axis.size, [tuple(pair) for pair in perm])

    pairs = tuple((source, target) for target, source in enumerate(senders) if source >= 0)

    def one(leaf: Any) -> Tensor:
        value = as_tensor("ppermute", leaf).uop
        return Tensor(_permuted(value, axis.example, pairs))

    return tree_map(one, x)


def _senders(size: int, pairs: list[Any]) -> list[int]:
    """The example that sends to each; -1 for none."""
    found = [-1] * size
    sources = [pair[0] for pair in pairs]
    for source, target in pairs:
        fits = all(isinstance(i, int) and 0 <= i < size for i in (source, target))
        if not fits or found[target] != -1 or sources.count(source) > 1:
            problem = f"the pair ({source}, {target}) is out of range, or names an example again"
            fix = f"give pairs (from, to) of {size} examples; each sends and receives once at most"
            raise ArgumentError("E2008", problem, op="ppermute", help=fix)
        found[target] = source
    return found
