"""Forward-mode transforms: jvp, linearize."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.autodiff.forward import push_forward
from adjoint.autodiff.reverse import or_zeros
from adjoint.errors import ArgumentError
from adjoint.ir.function import symbol_like
from adjoint.ir.uop import UOp, substitute
from adjoint.tensor import Tensor
from adjoint.tensor.tracing import scope
from adjoint.transforms.call import (
    Fn,
    Selected,
    assigned,
    checked_derivative,
    flags_like,
    hand_over,
    handed_out,
    lowered,
    name_of,
    raised,
    select,
    tensor_leaves,
    wanted_of,
)
from adjoint.transforms.pytree import matching_leaves, tree_flatten, tree_unflatten


def jvp(
    fn: Fn, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """`(fn(*primals), directional derivative along tangents)`, computed together.

    With `has_aux`, `fn` returns `(result, anything)`, and the auxiliary value comes third.
    """
    op = f"jvp of {name_of(fn)}"
    chosen = _chosen(op, primals)
    given = checked_tangents(op, chosen, tangents)
    with scope(op) as inner:
        symbols, nodes, result, aux = chosen.run(fn, inner, has_aux)
        leaves, treedef = tensor_leaves(op, result)
        roots = [leaf.uop for leaf in leaves]
        pairs = zip(nodes, given, strict=True)
        pushed = push_forward(roots, {n: t for n, t in pairs if t is not None})
        wanted = wanted_of((*chosen.leaves, *tree_flatten(tangents)[0], *leaves))
        flags = flags_like(leaves, wanted)
        kept, changed = lowered(aux), assigned(chosen.leaves, symbols, nodes)
    hand_over(changed)
    values, moved = (
        tree_unflatten(treedef, map(handed_out, nodes, flags))
        for nodes in (roots, or_zeros(pushed, roots))
    )
    return (values, moved, raised(kept, wanted)) if has_aux else (values, moved)


def _chosen(op: str, primals: Any) -> Selected:
    _check_listed(op, primals)
    return select(op, tuple(primals), {}, tuple(range(len(primals))))


def _check_listed(op: str, values: Any) -> None:
    if not isinstance(values, (tuple, list)):
        problem = "primals and tangents are tuples, one entry per argument"
        raise ArgumentError("E2001", problem, op=op, help="give (x,) for one argument")


def checked_tangents(op: str, chosen: Selected, tangents: Any) -> list[UOp | None]:
    """A tangent per leaf: its shape and dtype; nothing for an integer leaf."""
    _check_listed(op, tangents)
    leaves = matching_leaves(op, chosen.treedef, tuple(tangents))
    return [
        checked_derivative(op, "tangent", t, "its primal", x) if x.dtype.is_inexact else None
        for x, t in zip(chosen.leaves, leaves, strict=True)
    ]


def linearize(fn: Fn, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """`(fn(*primals), fn_jvp)`: the tangent program is built once and applied to any tangents.

    With `has_aux`, `fn` returns `(result, anything)`, and the auxiliary value comes third.
    """
    op = f"linearize of {name_of(fn)}"
    chosen = _chosen(op, primals)
    symbols = [Tensor(symbol_like(f"t{i}", x)) for i, x in enumerate(chosen.leaves)]
    nodes = [s.uop for s in symbols]
    value, tangent, *aux = jvp(fn, primals, chosen.restore(symbols), has_aux)
    leaves, treedef = tensor_leaves(op, tangent)

    def fn_jvp(*tangents: Any) -> Any:
        """The tangent of the result."""
        given = checked_tangents(op, chosen, tangents)
        mapping = {s: t for s, t in zip(nodes, given, strict=True) if t is not None}
        wanted = wanted_of((*leaves, *tree_flatten(tangents)[0]))
        moved = substitute([leaf.uop for leaf in leaves], mapping)
        return tree_unflatten(treedef, [handed_out(node, wanted) for node in moved])

    return value, fn_jvp, *aux
