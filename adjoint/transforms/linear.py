"""linear_transpose: the transpose of a linear function, without a point to linearize at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.autodiff.reverse import zeros_of
from adjoint.errors import AutodiffError
from adjoint.ir.function import symbol_like
from adjoint.ir.kernel_kind import PARAMETER
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, substitute, toposort
from adjoint.tensor import Tensor
from adjoint.tensor.tracing import dependent, open_scopes, scope
from adjoint.transforms.call import (
    Differentiating,
    as_tensor,
    check_inexact,
    name_of,
    tensor_leaves,
    wanted_of,
)
from adjoint.transforms.checking import ShapeDtype
from adjoint.transforms.loops import joint_gradient
from adjoint.transforms.pytree import matching_leaves, tree_flatten, tree_unflatten
from adjoint.transforms.reverse import checked_cotangent, finished


def linear_transpose(fn: Callable[..., Any], *primals: Any) -> Callable[..., Any]:
    """The function that maps a cotangent of `fn`'s result to a tuple of cotangents of `primals`.

    `primals` are float tensors, or `ShapeDtype`s: only their types count. A function that is not
    linear in them is an error; one that adds a constant is, where its value can be computed.
    """
    op = f"linear_transpose of {name_of(fn)}"
    leaves, in_tree = tree_flatten(primals)
    with scope(op) as inner:
        symbols = [_symbol(op, leaf) for leaf in leaves]
        inner.variables.update(symbols)
        with Differentiating():
            result = fn(*tree_unflatten(in_tree, map(Tensor, symbols)))
        outputs, out_tree = tensor_leaves(op, result)
        for output in outputs:
            check_inexact(op, output, "the result")
        roots, wanted = [t.uop for t in outputs], wanted_of(outputs)
        seeds = [symbol_like("seed", root) for root in roots]
        found = joint_gradient(roots, seeds, symbols)
    _check_linear(op, found, symbols)
    _check_no_constant(op, roots, symbols)

    def transposed(cotangent: Any) -> Any:
        """The cotangents of the arguments, in a tuple."""
        handles = matching_leaves(op, out_tree, cotangent)
        rows = zip(roots, handles, strict=True)
        given = [checked_cotangent(op, root, value) for root, value in rows]
        mapping = {s: g for s, g in zip(seeds, given, strict=True) if g is not None}
        totals = dict(zip(found, substitute(list(found.values()), mapping), strict=True))
        asked = wanted or wanted_of(handles)
        return tree_unflatten(in_tree, [finished(totals, s, asked) for s in symbols])

    return transposed


def _symbol(op: str, leaf: Any) -> UOp:
    if isinstance(leaf, ShapeDtype):
        kind = Tensor(OPS["input"]("primal", tuple(leaf.shape), leaf.dtype, None))
    else:
        kind = as_tensor(op, leaf)
    check_inexact(op, kind, "the argument")
    return symbol_like("primal", kind.uop)


def _check_linear(op: str, found: dict[UOp, UOp], symbols: list[UOp]) -> None:
    """The transpose of a linear function does not depend on where it is taken."""
    values = [found[s] for s in symbols if s in found]
    if dependent(values, set(symbols)) & set(values):
        problem = "the function is not linear in its arguments: its transpose depends on them"
        raise AutodiffError("E5001", problem, op=op, help="use vjp, at a point")


def _check_no_constant(op: str, roots: list[UOp], symbols: list[UOp]) -> None:
    """A linear function of zeros is zero."""
    below = toposort(roots, stop=set(symbols).__contains__)
    if open_scopes.get() or any(n.op.kernel is PARAMETER for n in below):
        return
    at_zero = substitute(roots, {s: zeros_of(s) for s in symbols})
    if any(np.any(Tensor(n).numpy()) for n in at_zero):
        problem = "the function is not linear in its arguments: it is not 0 where they are"
        raise AutodiffError("E5001", problem, op=op, help="leave the constant out, or use vjp")
