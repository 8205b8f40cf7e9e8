"""Whole derivative matrices: jacrev, jacfwd, hessian; a vmapped row or column per basis vector."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from adjoint.tensor import Tensor
from adjoint.transforms.call import check_inexact, name_of, select
from adjoint.transforms.forward import jvp
from adjoint.transforms.pytree import tree_flatten, tree_map, tree_unflatten
from adjoint.transforms.reverse import vjp
from adjoint.transforms.vmap import vmap

Argnums = int | tuple[int, ...]


def _basis(x: Tensor) -> Tensor:
    """Every unit tensor of the shape of x, along a new first axis."""
    size = x.uop.size
    eye = Tensor.eye(size, dtype=x.dtype, device=x.device)
    return eye.reshape(size, *x.shape)


def jacrev(fn: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The Jacobian by reverse mode: for each result leaf and argument leaf, result shape + argument
    shape. Best where results are fewer than arguments."""

    @wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        op = f"jacrev of {name_of(fn)}"
        chosen = select(op, args, kwargs, argnums)
        for leaf in chosen.leaves:
            check_inexact(op, leaf, "the argument")
        value, pullback = vjp(lambda *parts: chosen.call(fn, parts), *chosen.leaves)
        outputs, out_tree = tree_flatten(value)
        blocks = [_rows(op, pullback, outputs, out_tree, i) for i in range(len(outputs))]
        return tree_unflatten(out_tree, [chosen.restore(block) for block in blocks])

    return wrapped


def _rows(op: str, pullback: Any, outputs: list[Tensor], out_tree: Any, which: int) -> list[Tensor]:
    target = outputs[which]
    check_inexact(op, target, "the result")

    def row(cotangent: Tensor) -> Any:
        given = [cotangent if i == which else o.zeros_like() for i, o in enumerate(outputs)]
        return pullback(tree_unflatten(out_tree, given))

    blocks = vmap(row)(_basis(target))
    return [b.reshape(*target.shape, *b.shape[1:]) for b in blocks]


def jacfwd(fn: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The Jacobian by forward mode, in the layout of `jacrev`. Best where arguments are few."""

    @wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        op = f"jacfwd of {name_of(fn)}"
        chosen = select(op, args, kwargs, argnums)
        for leaf in chosen.leaves:
            check_inexact(op, leaf, "the argument")
        columns = [_columns(op, chosen, fn, i) for i in range(len(chosen.leaves))]
        outputs, out_tree = tree_flatten(columns[0])
        rows = [[tree_flatten(c)[0][i] for c in columns] for i in range(len(outputs))]
        return tree_unflatten(out_tree, [chosen.restore(row) for row in rows])

    return wrapped


def _columns(op: str, chosen: Any, fn: Any, which: int) -> Any:
    leaves = chosen.leaves
    target = leaves[which]

    def column(tangent: Tensor) -> Any:
        given = [tangent if i == which else x.zeros_like() for i, x in enumerate(leaves)]
        value, moved = jvp(lambda *parts: chosen.call(fn, parts), leaves, given)
        for result in tree_flatten(value)[0]:
            check_inexact(op, result, "the result")
        return moved

    stacked = vmap(column, out_axes=-1)(_basis(target))
    return tree_map(lambda b: b.reshape(*b.shape[:-1], *target.shape), stacked)


def hessian(fn: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The matrix of second derivatives of a scalar function: forward over reverse."""
    return jacfwd(jacrev(fn, argnums), argnums)
