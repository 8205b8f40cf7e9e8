"""Forward-mode transforms: jvp, linearize."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.autodiff.forward import push_forward
from adjoint.errors import ArgumentError, AutodiffError, DTypeError
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, substitute
from adjoint.tensor import Tensor
from adjoint.tensor.tracing import scope
from adjoint.transforms.call import (
    Selected,
    assigned,
    hand_over,
    lowered,
    name_of,
    raised,
    result_leaves,
    select,
    split_aux,
    variables,
)
from adjoint.transforms.pytree import matching_leaves, tree_unflatten


def jvp(
    fn: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """`(fn(*primals), directional derivative along tangents)`, computed together.

    With `has_aux`, `fn` returns `(result, anything)`, and what is beside the result comes third.
    """
    op = f"jvp of {name_of(fn)}"
    chosen = _chosen(op, primals)
    given = checked_tangents(op, chosen, tangents)
    with scope(op) as inner:
        symbols = variables(chosen.leaves)
        nodes = [s.uop for s in symbols]
        inner.variables.update(nodes)
        inner.known = True
        result, aux = split_aux(op, chosen.call(fn, symbols), has_aux)
        leaves, treedef = result_leaves(op, result)
        roots = [leaf.uop for leaf in leaves]
        pairs = zip(nodes, given, strict=True)
        pushed = push_forward(roots, {n: t for n, t in pairs if t is not None})
        kept, changed = lowered(aux), assigned(chosen.leaves, symbols, nodes)
    hand_over(changed)
    values = tree_unflatten(treedef, map(Tensor, roots))
    moved = tree_unflatten(treedef, map(Tensor, map(_or_zero, pushed, roots)))
    return (values, moved, raised(kept)) if has_aux else (values, moved)


def _chosen(op: str, primals: Any) -> Selected:
    _check_listed(op, primals)
    return select(op, tuple(primals), {}, tuple(range(len(primals))))


def _check_listed(op: str, values: Any) -> None:
    if not isinstance(values, (tuple, list)):
        problem = "primals and tangents are tuples, one entry per argument"
        raise ArgumentError("E2001", problem, op=op, help="give (x,) for one argument")


def _or_zero(tangent: UOp | None, root: UOp) -> UOp:
    if tangent is not None:
        return tangent
    return OPS["const"](0, root.dtype, root.shape, root.device)


def checked_tangents(op: str, chosen: Selected, tangents: Any) -> list[UOp | None]:
    """A tangent per leaf: its shape and dtype; nothing for an integer leaf."""
    _check_listed(op, tangents)
    leaves = matching_leaves(op, chosen.treedef, tuple(tangents))
    return [_checked(op, x, t) for x, t in zip(chosen.leaves, leaves, strict=True)]


def _checked(op: str, primal: Tensor, value: Any) -> UOp | None:
    if not primal.dtype.is_inexact:
        return None
    tensor = value if isinstance(value, Tensor) else Tensor(value, device=primal.device)
    operands = [("primal", primal), ("tangent", tensor)]
    if tensor.shape != primal.shape:
        problem = "the tangent has another shape than its primal"
        fix = f"give one of shape {list(primal.shape)}"
        raise AutodiffError("E5004", problem, op=op, operands=operands, help=fix)
    if isinstance(value, Tensor) and tensor.dtype is not primal.dtype:
        problem = "the tangent has another dtype than its primal"
        fix = f".cast('{primal.dtype.name}')"
        raise DTypeError("E2004", problem, op=op, operands=operands, help=fix)
    return tensor.uop.cast(primal.dtype)


def linearize(fn: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """`(fn(*primals), fn_jvp)`: the tangent program is built once and applied to any tangents.

    With `has_aux`, `fn` returns `(result, anything)`, and what is beside the result comes third.
    """
    op = f"linearize of {name_of(fn)}"
    chosen = _chosen(op, primals)
    symbols = [Tensor(OPS["unique_identity"](_symbol(i, x))) for i, x in enumerate(chosen.leaves)]
    nodes = [s.uop for s in symbols]
    value, tangent, *aux = jvp(fn, primals, chosen.restore(symbols), has_aux)
    leaves, treedef = result_leaves(op, tangent)

    def fn_jvp(*tangents: Any) -> Any:
        """The tangent of the result."""
        given = checked_tangents(op, chosen, tangents)
        mapping = {s: t for s, t in zip(nodes, given, strict=True) if t is not None}
        return tree_unflatten(
            treedef, map(Tensor, substitute([leaf.uop for leaf in leaves], mapping))
        )

    return value, fn_jvp, *aux


def _symbol(number: int, like: Tensor) -> UOp:
    return OPS["input"](f"t{number}", like.shape, like.dtype, like.device)
