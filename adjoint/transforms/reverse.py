"""Reverse-mode transforms: grad, value_and_grad, vjp.

All three call `autodiff.compute_gradient`; the result is a graph like any other, so it can be
differentiated, batched and printed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from adjoint.autodiff.reverse import compute_gradient, zeros_of
from adjoint.ir.collector import collector_rare
from adjoint.ir.mesh import Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.tensor import Tensor
from adjoint.tensor.layouts import conformed
from adjoint.tensor.tracing import scope
from adjoint.transforms.call import (
    assigned,
    check_inexact,
    check_scalar,
    checked_derivative,
    flags_like,
    hand_over,
    handed_out,
    is_constant,
    lowered,
    name_of,
    raised,
    select,
    tensor_leaves,
    wanted_of,
)
from adjoint.transforms.loops import joint_gradient
from adjoint.transforms.pytree import matching_leaves, tree_unflatten

P = ParamSpec("P")
R = TypeVar("R")
Argnums = int | tuple[int, ...] | None
Argnames = str | Sequence[str] | None


def value_and_grad(
    fn: Callable[P, Any],
    argnums: Argnums = None,
    has_aux: bool = False,
    argnames: Argnames = None,
) -> Callable[P, tuple[Any, Any]]:
    """A function that returns the scalar `fn` returns, and its gradient.

    `argnums` says with respect to which positional arguments (None: the first); each may be a
    pytree of float tensors, and its gradient is a pytree of the same shape. `argnames` says the
    same by name, for arguments given either way: the gradient of one name comes bare, of several
    in a dict, and beside `argnums` as `(by number, by name)`. With `has_aux`, `fn` returns
    `(scalar, anything)` and the value is that pair. Arguments with requires_grad=False to which
    `fn` assigns, such as the running statistics of a model, have their new values afterwards.
    """

    @wraps(fn)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> tuple[Any, Any]:
        op = f"grad of {name_of(fn)}"
        chosen = select(op, args, kwargs, argnums, argnames, fn)
        for leaf in chosen.leaves:
            if not is_constant(leaf):
                check_inexact(op, leaf, "the argument")
        with collector_rare():
            with scope(op) as inner:
                symbols, targets, result, aux = chosen.run(fn, inner, has_aux)
                root = check_scalar(op, result, fn).uop
                one = OPS["const"](1, root.dtype, (), root.device)
                floats = [t for t in targets if t.dtype.is_inexact]
                grads = compute_gradient(root, one, floats, targets)  # below them is no path
                through = result._requires_grad  # what it captured requires one
                wanted = through or wanted_of(chosen.leaves)
                kept, changed = lowered(aux), assigned(chosen.leaves, symbols, targets)
                del symbols, result, aux  # handles that are gone cannot leak
            hand_over(changed)
            value = handed_out(root, through)
            pair = (value, raised(kept, through)) if has_aux else value
            rows = zip(targets, flags_like(chosen.leaves, wanted), strict=True)
            return pair, chosen.restore([handed_out(_found(grads, t), flag) for t, flag in rows])

    return wrapped


def grad(
    fn: Callable[P, Any],
    argnums: Argnums = None,
    has_aux: bool = False,
    argnames: Argnames = None,
) -> Callable[P, Any]:
    """A function that returns the gradient of the scalar `fn` returns; see `value_and_grad`."""
    both = value_and_grad(fn, argnums, has_aux, argnames)

    @wraps(fn)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped


def vjp(fn: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """`(fn(*primals), pullback)`: the pullback maps a cotangent of the result to one per primal.

    A primal that is an integer or a truth value has none: its place holds None.
    """
    op = f"vjp of {name_of(fn)}"
    chosen = select(op, primals, {}, tuple(range(len(primals))))
    with scope(op) as inner:
        symbols, targets, result, aux = chosen.run(fn, inner, has_aux)
        leaves, treedef = tensor_leaves(op, result)
        roots = [leaf.uop for leaf in leaves]
        wanted = wanted_of((*chosen.leaves, *leaves))
        flags = flags_like(leaves, wanted)
        kept, changed = lowered(aux), assigned(chosen.leaves, symbols, targets)
    hand_over(changed)
    value = tree_unflatten(treedef, map(handed_out, roots, flags))

    def pullback(cotangent: Any) -> Any:
        """The cotangents of the primals, in a tuple."""
        handles = matching_leaves(op, treedef, cotangent)
        rows = zip(roots, handles, strict=True)
        found = joint_gradient(roots, [checked_cotangent(op, *row) for row in rows], targets)
        flags = flags_like(chosen.leaves, wanted or wanted_of(handles))
        pairs = zip(targets, flags, strict=True)
        return chosen.restore([finished(found, t, flag) for t, flag in pairs])

    return (value, pullback, raised(kept, wanted)) if has_aux else (value, pullback)


def _found(totals: dict[UOp, UOp], target: UOp) -> UOp:
    """The gradient of a target with its sharding, zeros if no path leads to it."""
    found = totals[target] if target in totals else zeros_of(target)
    spread = type(found.device) is Sharding or type(target.device) is Sharding
    return conformed(found, target) if spread else found


def finished(totals: dict[UOp, UOp], target: UOp, wanted: bool | None = None) -> Tensor | None:
    """A float's gradient, zeros if it was not reached; integers and truth values have none."""
    return handed_out(_found(totals, target), wanted) if target.dtype.is_inexact else None


def checked_cotangent(op: str, root: UOp, value: Any) -> UOp | None:
    """A cotangent for a root: its shape and dtype, or nothing for an integer result."""
    return checked_derivative(op, "cotangent", value, "the result", root)
