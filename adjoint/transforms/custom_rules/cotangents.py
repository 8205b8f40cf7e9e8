"""Cotangents and tangents that users hand over: counted, matched to their values, aligned.

What may live here: the checks that every rule written by a user goes through. What may not: the
ways to write one (`custom.py`, `operation.py`).
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any

from adjoint.autodiff.reverse import zeros_of
from adjoint.errors import AutodiffError, DTypeError, ShapeError
from adjoint.ir.mesh import Sharding
from adjoint.ir.uop import UOp
from adjoint.tensor import Tensor
from adjoint.tensor.layouts import conformed
from adjoint.transforms.call import as_tensor
from adjoint.transforms.pytree import TreeDef, broadcast_prefix, tree_flatten, tree_unflatten

Shape = tuple[int, ...]


def _reduce_to_shape(cot: Tensor, shape: Sequence[int]) -> Tensor:
    """The cotangent summed over the axes along which a value of that shape was broadcast."""
    target = tuple(shape)
    extra = cot.ndim - len(target)
    reduced = cot.sum(tuple(range(extra))) if extra > 0 else cot
    pairs = enumerate(zip(reduced.shape, target, strict=False))
    axes = tuple(i for i, (have, want) in pairs if want == 1 != have)  # 0 too: such a sum is zero
    reduced = reduced.sum(axes, keepdim=True) if axes else reduced
    if reduced.shape == target:
        return reduced
    problem = f"no value of shape {list(target)} is broadcast to {list(cot.shape)}"
    raise AutodiffError("E5004", problem, op="_reduce_to_shape", operands=[("cotangent", cot)])


def _accumulate_cotangent(
    cotangent_map: MutableMapping[UOp, UOp], target: Tensor | UOp, cot: Tensor | UOp
) -> None:
    """Add a cotangent to what the map holds for the target; the first one is taken as it is. On a
    mesh it is laid out as the target is first, and what is pending is joined."""
    node = target.uop if isinstance(target, Tensor) else target
    value = cot.uop if isinstance(cot, Tensor) else cot
    if type(value.device) is Sharding or type(node.device) is Sharding:
        value = conformed(value, node)
    present = cotangent_map.get(node)
    cotangent_map[node] = value if present is None else present + value


def aligned(op: str, cot: Any, primal: UOp, around: Sequence[UOp]) -> UOp:
    """A cotangent from a user's rule in the shape and dtype of its primal.

    It may have a shape that the primal is broadcast to beside another operand or a result: then
    what was broadcast is summed. Any other shape is a mistake, `(1, 2, 3)` for `(2, 3)` as well.
    """
    given = as_tensor(op, cot)
    operands = [("primal", primal), ("cotangent", given)]
    if given.shape not in _wide(primal.shape, [n.shape for n in around]):
        problem = f"a cotangent of shape {list(given.shape)} does not fit its primal"
        fix = f"return the primal's shape {list(primal.shape)}, or one that it was broadcast to"
        raise AutodiffError("E5004", problem, op=op, operands=operands, help=fix)
    return _as_dtype(op, _reduce_to_shape(given, primal.shape).uop, primal, operands)


def _wide(shape: Shape, around: Sequence[Shape]) -> list[Shape]:
    """The shape, and those that it is broadcast to beside one of the others."""
    return [shape, *(wide for other in around if (wide := _broadcast(shape, other)))]


def _broadcast(a: Shape, b: Shape) -> Shape | None:
    rank = max(len(a), len(b))
    pairs = [*zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)]
    fits = all(m == n or 1 in (m, n) for m, n in pairs)
    return tuple(n if m == 1 else m for m, n in pairs) if fits else None


def _as_dtype(op: str, value: UOp, like: UOp, operands: list[tuple[str, Any]]) -> UOp:
    if value.dtype.is_complex and not like.dtype.is_complex:
        problem = "a complex derivative is given for a real value"
        raise DTypeError("E2004", problem, op=op, operands=operands, help="take its .real")
    return value.cast(like.dtype)


def counted(op: str, given: Any, rule: str, wanted: int) -> tuple[Any, ...]:
    """What a reverse rule returned: one cotangent (or None) per argument."""
    if not isinstance(given, (tuple, list)):
        problem = f"{rule} returns {type(given).__name__}, not a tuple of {wanted} cotangents"
        fix = "return a tuple with one cotangent, or None, per argument"
        raise AutodiffError("E5002", problem, op=op, help=fix)
    if len(given) != wanted:
        problem = f"{rule} returns {len(given)} cotangents for {wanted} arguments"
        fix = "return one cotangent, or None, per argument"
        raise AutodiffError("E5002", problem, op=op, help=fix)
    return tuple(given)


def leaves_of(op: str, tree: Any, like: TreeDef) -> list[Any]:
    """A value, or None, for each leaf of a tree like that; None stands for a whole branch."""
    leaves, treedef = tree_flatten(tree)
    return leaves if treedef == like else _with_gaps(op, tree, like)


def _with_gaps(op: str, tree: Any, like: TreeDef) -> list[Any]:
    if tree is None:
        return [None] * like.leaves
    if like.kind is None or not isinstance(tree, (list, tuple, dict)):
        problem = f"a derivative is given as {type(tree).__name__} for a value {like}"
        fix = "give it in the pytree of its value; None where there is none"
        raise ShapeError("E3010", problem, op=op, help=fix)
    return broadcast_prefix(op, tree, like)


def filled(nodes: Sequence[UOp | None], like: Sequence[UOp]) -> list[Tensor | None]:
    """Tensors for a user's rule: zeros for what is absent, None for what has no derivative."""
    pairs = zip(nodes, like, strict=True)
    return [
        Tensor(zeros_of(x) if n is None else n) if x.dtype.is_inexact else None for n, x in pairs
    ]


def in_tree(treedef: TreeDef, nodes: Sequence[Any]) -> Any:
    """Nodes as tensors in a tree; what is no node stays."""
    return tree_unflatten(treedef, [Tensor(n) if isinstance(n, UOp) else n for n in nodes])


def tangents_of(op: str, given: Any, tree: TreeDef, results: Sequence[UOp]) -> list[UOp | None]:
    """What a tangent rule returned: one tangent per result, each of the result's shape."""
    leaves = leaves_of(op, given, tree)
    return [_tangent(op, t, y) for t, y in zip(leaves, results, strict=True)]


def _tangent(op: str, value: Any, y: UOp) -> UOp | None:
    if not y.dtype.is_inexact:
        return None
    if value is None:
        return zeros_of(y)
    tensor = as_tensor(op, value)
    operands = [("result", y), ("tangent", tensor)]
    if tensor.shape != y.shape:
        problem = f"a tangent of shape {list(tensor.shape)} does not fit its result"
        raise AutodiffError("E5004", problem, op=op, operands=operands)
    return _as_dtype(op, tensor.uop, y, operands)
