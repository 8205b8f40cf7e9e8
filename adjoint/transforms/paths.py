"""The places of leaves in their trees: paths of keys, and trees as one flat vector.

What may live here: functions of pytrees that deal with places or numbers. What may not: what a
container is (`pytree.py`).
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable
from math import prod
from typing import Any

from adjoint.errors import ShapeError
from adjoint.ir.dtype import dtypes, promote
from adjoint.tensor import Tensor
from adjoint.transforms.call import as_tensor, tensor_leaves
from adjoint.transforms.pytree import (
    TreeDef,
    is_registered,
    matching_leaves,
    tree_flatten,
    tree_unflatten,
)


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceKey:
    """The place in a list or a tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx}]"


@dataclasses.dataclass(frozen=True, slots=True)
class DictKey:
    """The key in a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclasses.dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The field of a dataclass or a named tuple."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class FlattenedIndexKey:
    """The number of a child of a registered class."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


Path = tuple[Any, ...]


def paths_of(treedef: TreeDef) -> list[Path]:
    """The path of every leaf of a tree of this shape, in order."""
    if treedef.kind is None:
        return [()]
    pairs = zip(_keys(treedef), treedef.children, strict=True)
    return [(key, *rest) for key, child in pairs for rest in paths_of(child)]


def _keys(treedef: TreeDef) -> list[Any]:
    kind, count = treedef.kind, len(treedef.children)
    if is_registered(kind):
        return [FlattenedIndexKey(i) for i in range(count)]
    if issubclass(kind, dict):
        keys = treedef.meta[1:] if kind is defaultdict else treedef.meta
        return [DictKey(key) for key in keys]
    names = getattr(kind, "_fields", treedef.meta)
    if names:
        return [GetAttrKey(name) for name in names]
    return [SequenceKey(i) for i in range(count)]


def tree_flatten_with_path(tree: Any) -> tuple[list[tuple[Path, Any]], TreeDef]:
    """Pairs of path and leaf, in order, and the tree's shape."""
    leaves, treedef = tree_flatten(tree)
    return list(zip(paths_of(treedef), leaves, strict=True)), treedef


def tree_leaves_with_path(tree: Any) -> list[tuple[Path, Any]]:
    """Pairs of path and leaf, in order."""
    return tree_flatten_with_path(tree)[0]


def tree_map_with_path(fn: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """A tree of the same shape: `fn` of each path and the leaves of all the trees there."""
    leaves, treedef = tree_flatten(tree)
    columns = [leaves, *(matching_leaves("tree_map_with_path", treedef, t) for t in rest)]
    rows = zip(paths_of(treedef), *columns, strict=True)
    return tree_unflatten(treedef, (fn(*row) for row in rows))


def keystr(path: Iterable[Any]) -> str:
    """A path as Python would write it: `['layers'][0].weight`."""
    return "".join(map(str, path))


def ravel_pytree(tree: Any) -> tuple[Tensor, Callable[[Any], Any]]:
    """All numbers of a tree in one vector, and the function that turns such a vector into a tree.

    The vector has the dtype to which the leaves promote; each leaf comes back in its own.
    """
    tensors, treedef = tensor_leaves("ravel_pytree", tree)
    kind = dtypes.default_float if not tensors else tensors[0].dtype
    for tensor in tensors[1:]:
        kind = promote(kind, tensor.dtype)
    rows = [t.cast(kind).reshape(-1) for t in tensors]
    flat = rows[0].cat(*rows[1:]) if rows else Tensor.zeros(0, dtype=kind)
    types = [(t.shape, t.dtype) for t in tensors]

    def unravel(vector: Any) -> Any:
        """The tree that has these numbers."""
        return tree_unflatten(treedef, _pieces(vector, types, flat.shape))

    return flat, unravel


def _pieces(vector: Any, types: list[Any], shape: tuple[int, ...]) -> list[Tensor]:
    given = as_tensor("unravel", vector)
    if given.shape != shape:
        problem = f"the vector has shape {list(given.shape)}, not {list(shape)}"
        fix = "give the numbers of a whole tree"
        raise ShapeError("E3003", problem, op="unravel", operands=[("x", given)], help=fix)
    pieces, start = [], 0
    for size, (extents, kind) in ((prod(t[0]), t) for t in types):
        pieces.append(given[start : start + size].reshape(extents).cast(kind))
        start += size
    return pieces
