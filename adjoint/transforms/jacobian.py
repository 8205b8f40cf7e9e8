"""Whole derivative matrices: jacrev, jacfwd, hessian; a vmapped row or column per basis vector."""

from __future__ import annotations

from functools import wraps
from typing import Any

from adjoint.tensor import Tensor
from adjoint.transforms.call import (
    Fn,
    Selected,
    check_inexact,
    lowered,
    name_of,
    raised,
    select,
    wanted_of,
)
from adjoint.transforms.forward import jvp
from adjoint.transforms.pytree import tree_flatten, tree_map, tree_unflatten
from adjoint.transforms.reverse import Argnames, Argnums, vjp
from adjoint.transforms.vmap import vmap


def _basis(x: Tensor) -> Tensor:
    """Every unit tensor of the shape of x, along a new first axis."""
    size = x.uop.size
    eye = Tensor.eye(size, dtype=x.dtype, device=x.device)
    return eye.reshape(size, *x.shape)


def jacrev(fn: Fn, argnums: Argnums = None, has_aux: bool = False, argnames: Argnames = None) -> Fn:
    """The Jacobian by reverse mode: for each result leaf and argument leaf, result shape + argument
    shape. Best if there are fewer results than arguments.

    `argnums` and `argnames` are those of `grad`. With `has_aux`, `fn` returns `(result, anything)`,
    and the auxiliary value comes with the Jacobian.
    """

    @wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        op = f"jacrev of {name_of(fn)}"
        chosen = _selected(op, args, kwargs, argnums, argnames, fn)
        value, pullback, *aux = vjp(
            lambda *parts: chosen.call(fn, parts), *chosen.leaves, has_aux=has_aux
        )
        outputs, out_tree = tree_flatten(value)
        blocks = [_rows(op, pullback, outputs, out_tree, i) for i in range(len(outputs))]
        whole = tree_unflatten(out_tree, [chosen.restore(block) for block in blocks])
        return (whole, *aux) if has_aux else whole

    return wrapped


def _selected(op: str, args: Any, kwargs: Any, argnums: Any, argnames: Any, fn: Any) -> Selected:
    chosen = select(op, args, kwargs, argnums, argnames, fn)
    for leaf in chosen.leaves:
        check_inexact(op, leaf, "the argument")
    return chosen


def _rows(op: str, pullback: Any, outputs: list[Tensor], out_tree: Any, which: int) -> list[Tensor]:
    target = outputs[which]
    check_inexact(op, target, "the result")

    def row(cotangent: Tensor) -> Any:
        given = [cotangent if i == which else o.zeros_like() for i, o in enumerate(outputs)]
        return pullback(tree_unflatten(out_tree, given))

    blocks = vmap(row)(_basis(target))
    return [b.reshape(*target.shape, *b.shape[1:]) for b in blocks]


def jacfwd(fn: Fn, argnums: Argnums = None, has_aux: bool = False, argnames: Argnames = None) -> Fn:
    """The Jacobian by forward mode, in the layout and with the options of `jacrev`. Best where
    arguments are few."""

    @wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        op = f"jacfwd of {name_of(fn)}"
        chosen = _selected(op, args, kwargs, argnums, argnames, fn)
        columns, aux = zip(
            *(_columns(op, chosen, fn, i, has_aux) for i in range(len(chosen.leaves))), strict=True
        )
        outputs, out_tree = tree_flatten(columns[0])
        rows = [[tree_flatten(c)[0][i] for c in columns] for i in range(len(outputs))]
        whole = tree_unflatten(out_tree, [chosen.restore(row) for row in rows])
        return (whole, aux[0]) if has_aux else whole

    return wrapped


def _columns(op: str, chosen: Selected, fn: Any, which: int, has_aux: bool) -> tuple[Any, Any]:
    """The columns of one argument, and the auxiliary value, which has no tangent."""
    leaves = chosen.leaves
    target = leaves[which]
    beside: list[Any] = []

    def column(tangent: Tensor) -> Any:
        given = [tangent if i == which else x.zeros_like() for i, x in enumerate(leaves)]
        value, moved, *aux = jvp(lambda *parts: chosen.call(fn, parts), leaves, given, has_aux)
        for result in tree_flatten(value)[0]:
            check_inexact(op, result, "the result")
        beside[:] = [lowered(value) for value in aux]
        return moved

    stacked = vmap(column, out_axes=-1)(_basis(target))
    moved = tree_map(lambda b: b.reshape(*b.shape[:-1], *target.shape), stacked)
    return moved, raised(beside[0], wanted_of(leaves)) if has_aux else None


def hessian(
    fn: Fn, argnums: Argnums = None, has_aux: bool = False, argnames: Argnames = None
) -> Fn:
    """The matrix of second derivatives of a scalar function: forward over reverse."""
    return jacfwd(jacrev(fn, argnums, has_aux, argnames), argnums, has_aux, argnames)
