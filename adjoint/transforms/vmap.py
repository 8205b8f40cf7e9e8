"""vmap: a function of one example becomes a function of a batch.

The function is traced once on variables that stand for one example, and the graph is batched. A
random draw inside gives every example its own numbers: its key is split by the example's position
(`randomness="same"` keeps one draw for all).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from adjoint.batching import batch
from adjoint.errors import ArgumentError, AutodiffError, ShapeError
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.ops.movement import checked_axis
from adjoint.tensor import Tensor
from adjoint.tensor.creation import counting
from adjoint.tensor.random import split
from adjoint.tensor.tracing import KEPT, Axis, Scope, scope
from adjoint.transforms.call import (
    as_tensor,
    example_of,
    flags_like,
    handed_out,
    name_of,
    tensor_leaves,
    wanted_of,
)
from adjoint.transforms.effects import hand_over
from adjoint.transforms.pytree import broadcast_prefix, tree_flatten, tree_unflatten

_MODES = ("different", "same", "error")


def vmap(
    fn: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
    randomness: str = "different",
    axis_name: Any = None,
) -> Callable[..., Any]:
    """A function that maps `fn` over an axis of its arguments.

    `in_axes`: an int or None for all arguments, or a tuple with one entry per argument, each an
    int, None (not mapped) or a pytree prefix of the argument. `out_axes`: where the axis goes in
    the results, likewise. `axis_size` is needed only if nothing is mapped. `axis_name` is the name
    of the axis for the collectives inside (`psum`, `all_gather`, `axis_index` …).
    """
    if randomness not in _MODES:
        problem = f"randomness is one of {', '.join(_MODES)}, not {randomness!r}"
        fix = "'different': a draw per example; 'same': one for all; 'error': none"
        raise ArgumentError("E2008", problem, op="vmap", help=fix)

    @wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        op = f"vmap of {name_of(fn)}"
        leaves, treedef = tree_flatten((args, kwargs))
        axes = _leaf_axes(op, in_axes, args, kwargs)
        size = _size(op, leaves, axes, axis_size)
        with scope(op) as inner:
            inner.effects = KEPT
            inputs, given = _inputs(op, leaves, axes, inner)
            if axis_name is not None:
                given |= _named(axis_name, size, inner, given)
            call_args, call_kwargs = tree_unflatten(treedef, inputs)
            outputs, out_tree = tensor_leaves(op, fn(*call_args, **call_kwargs))
            given |= _split_keys(op, inner, size, randomness)
            results = batch([*(t.uop for t in outputs), *inner.tokens], given, size)
            flags = flags_like(outputs, wanted_of((*leaves, *outputs)))
        nodes = [node for node, _ in results]
        hand_over(nodes[len(outputs) :], nodes[: len(outputs)])
        axes_out = out_axes() if callable(out_axes) else out_axes
        places = broadcast_prefix(op, axes_out, out_tree)
        moved = [_placed(op, *r, place, size) for r, place in zip(results, places, strict=False)]
        return tree_unflatten(out_tree, map(handed_out, moved, flags))

    return wrapped


def _leaf_axes(op: str, in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The mapped axis, or None, of every leaf; keyword arguments are mapped over axis 0."""
    if isinstance(in_axes, (tuple, list)) and len(in_axes) != len(args):
        problem = f"in_axes has {len(in_axes)} entries for {len(args)} arguments"
        raise ShapeError("E3010", problem, op=op, help="give one entry per positional argument")
    per_arg = in_axes if isinstance(in_axes, (tuple, list)) else [in_axes] * len(args)
    axes: list[Any] = []
    for axis, arg in zip(per_arg, args, strict=True):
        axes += broadcast_prefix(op, axis, tree_flatten(arg)[1])
    return axes + [0] * len(tree_flatten(kwargs)[0])


def _size(op: str, leaves: list[Any], axes: list[Any], axis_size: int | None) -> int:
    sizes = set() if axis_size is None else {axis_size}
    for leaf, axis in zip(leaves, axes, strict=True):
        if axis is None:
            continue
        tensor = as_tensor(op, leaf)
        if not tensor.shape:
            problem = "a scalar argument has no axis to map over"
            fix = "give None for it in in_axes"
            raise ShapeError("E3002", problem, op=op, operands=[("argument", tensor)], help=fix)
        sizes.add(tensor.shape[checked_axis(op, axis, tensor.ndim, tensor.uop)])
    if len(sizes) != 1:
        problem = f"mapped axes have the sizes {sorted(sizes)}" if sizes else "nothing is mapped"
        fix = "map axes of one size" if sizes else "give axis_size"
        raise ShapeError("E3003", problem, op=op, help=fix)
    return sizes.pop()


def _inputs(
    op: str, leaves: list[Any], axes: list[Any], inner: Scope
) -> tuple[list[Any], dict[UOp, UOp]]:
    """One example's variables, and the batched node for each."""
    inputs: list[Any] = []
    given: dict[UOp, UOp] = {}
    for number, (leaf, axis) in enumerate(zip(leaves, axes, strict=True)):
        if axis is None:
            inputs.append(leaf)
            continue
        front = as_tensor(op, leaf).uop.movedim(axis, 0)
        inputs.append(Tensor(example_of(front, f"example {number}", inner, given)))
    return inputs, given


def _named(name: Any, size: int, inner: Scope, given: dict[UOp, UOp]) -> dict[UOp, UOp]:
    """The scope knows the axis; the example's number is a variable more."""
    device = next((node.device for node in given.values()), None)
    index = OPS["unique_identity"](OPS["input"]("axis index", (), dtypes.int64, device))
    inner.variables.add(index)
    inner.axis = Axis(name, size, index)
    return {index: counting(size, dtypes.int64, device)}


def _split_keys(op: str, inner: Scope, size: int, randomness: str) -> dict[UOp, UOp]:
    """A key per example for every draw made inside."""
    if inner.keys and randomness == "error":
        fix = "draw outside and pass the numbers in, or randomness='different' or 'same'"
        raise AutodiffError("E5004", "random numbers are drawn inside", op=op, help=fix)
    return {} if randomness == "same" else {key: split(key, size) for key in inner.keys}


def _placed(op: str, node: UOp, batched: bool, place: Any, size: int) -> UOp:
    if place is None:
        if batched:
            problem = "out_axes is None for a result that depends on the mapped axis"
            fix = "give the axis where it goes, or reduce the result outside"
            raise ShapeError("E3010", problem, op=op, operands=[("result", node)], help=fix)
        return node
    whole = node if batched else node.expand((size, *node.shape))
    return whole.movedim(0, checked_axis(op, place, len(whole.shape), whole))
