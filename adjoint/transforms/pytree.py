"""Pytrees: nested containers whose leaves are tensors.

Containers: list, tuple, namedtuple, dict (leaves in sorted key order), None (no leaves),
dataclasses, and classes that register. Everything else is a leaf. What may live here: flattening
and unflattening trees. What may not: tensors.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from adjoint.errors import ShapeError
from adjoint.ir.dtype import DType

T = TypeVar("T")
Flatten = Callable[[Any], tuple[Iterable[Any], Any]]
Unflatten = Callable[[Any, Iterable[Any]], Any]


class TreeDef(NamedTuple):
    """The structure of a tree: its container, its data besides the children, the children."""

    kind: Any  # the container's class, or None for a leaf
    meta: Any = None
    children: tuple[TreeDef, ...] = ()

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is None else sum(child.leaves for child in self.children)

    def __str__(self) -> str:
        if self.kind is None:
            return "*"
        inside = ", ".join(map(str, self.children))
        name = "None" if self.kind is type(None) else self.kind.__name__
        keys = f" {self.meta}" if self.kind in _DICTS else ""
        return f"{name}({inside}){keys}" if self.kind is not type(None) else name


LEAF = TreeDef(None)
_registered: dict[type, tuple[Flatten, Unflatten]] = {}
_leaf_kinds: set[type] = {DType}  # classes that are no containers


def register_pytree_node(cls: type[T], flatten: Flatten, unflatten: Unflatten) -> type[T]:
    """Make a class a container: `flatten(x) -> (children, meta)`, `unflatten(meta, children)`."""
    _registered[cls] = (flatten, unflatten)
    _leaf_kinds.discard(cls)
    return cls


def is_registered(kind: type) -> bool:
    """Whether a class says itself what its children are."""
    return kind in _registered


def _open(tree: Any) -> tuple[Any, Any, list[Any]] | None:
    """The container's class, its meta and its children; None for a leaf."""
    kind = type(tree)
    if kind in _leaf_kinds:
        return None
    if kind in _registered:
        children, meta = _registered[kind][0](tree)
        return kind, meta, list(children)
    if kind is dict:
        keys = _sorted(tree)
        return kind, _ordered(keys, tree), [tree[key] for key in keys]
    if tree is None:
        return kind, None, []
    if kind is list or isinstance(tree, tuple):
        return kind, None, list(tree)
    if kind in _DICTS:
        return _opened_dict(tree)
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = tuple(field.name for field in dataclasses.fields(tree))
        return kind, names, [getattr(tree, name) for name in names]
    _leaf_kinds.add(kind)
    return None


_DICTS = (dict, OrderedDict, defaultdict)
_STRING = frozenset([str])


class Keys(tuple[Any, ...]):
    """The sorted keys of a dict that has them in another order, which a tree that is put together
    has again; dicts whose keys are equal are of one shape, in whichever order."""

    order: tuple[Any, ...]


def _ordered(keys: tuple[Any, ...], tree: Collection[Any], before: tuple[Any, ...] = ()) -> Any:
    """The meta of a dict: what comes `before`, and its keys."""
    order = tuple(tree)
    if order == keys:
        return (*before, *keys)
    meta = Keys((*before, *keys))
    meta.order = order
    return meta


def _opened_dict(tree: Any) -> tuple[Any, Any, list[Any]]:
    """Keys are sorted, but those of an OrderedDict, whose order is part of it."""
    if type(tree) is OrderedDict:
        return OrderedDict, tuple(tree), list(tree.values())
    keys = _sorted(tree)
    meta = _ordered(keys, tree, (tree.default_factory,))
    return type(tree), meta, [tree[key] for key in keys]


def _filled_dict(empty: Any, meta: Any, keys: Sequence[Any], children: Iterable[Any]) -> Any:
    """The dict with these keys, in the order that it had."""
    found = zip(keys, children)  # noqa: B905 - hot
    if type(meta) is Keys:
        by_key = dict(found)
        found = ((key, by_key[key]) for key in meta.order)  # type: ignore[assignment]
    empty.update(found)
    return empty


def _sorted(keys: Collection[Any]) -> tuple[Any, ...]:
    if _STRING.issuperset(map(type, keys)):
        return tuple(sorted(keys))
    try:
        return tuple(sorted(keys, key=lambda k: (str(type(k)), k)))
    except TypeError:
        problem = "the keys of a dict in a pytree have no order"
        fix = "use strings or numbers as keys, or an OrderedDict"
        raise ShapeError("E3010", problem, op="pytree", help=fix) from None


def tree_flatten(tree: Any) -> tuple[list[Any], TreeDef]:
    """The leaves in order, and the shape that puts them together again.

    Containers are None, list, tuple and its subclasses, dict, OrderedDict, defaultdict, dataclasses
    and classes that are registered. Anything else is a leaf.
    """
    leaves: list[Any] = []
    try:
        return leaves, _flatten_into(leaves, tree)
    except RecursionError:
        problem = "a pytree contains itself, or is nested too deeply"
        fix = "break the cycle: a container may not be among its own children"
        raise ShapeError("E3010", problem, op="pytree", help=fix) from None


def _flatten_into(leaves: list[Any], tree: Any) -> TreeDef:
    kind, meta = type(tree), None
    if kind in _leaf_kinds:
        leaves.append(tree)
        return LEAF
    children: Sequence[Any]
    if (kind is tuple or kind is list) and kind not in _registered:
        children = tree
    else:
        opened = _open(tree)
        if opened is None:
            leaves.append(tree)
            return LEAF
        kind, meta, children = opened
    if _leaf_kinds.issuperset(map(type, children)):
        leaves += children
        return tuple.__new__(TreeDef, (kind, meta, (LEAF,) * len(children)))
    inside = tuple([_flatten_into(leaves, child) for child in children])
    return tuple.__new__(TreeDef, (kind, meta, inside))


class OtherTreeError(Exception):
    """A tree has not the shape that its reader is for."""


Reader = Callable[[Any], Sequence[Any]]


def leaf_reader(treedef: TreeDef) -> Reader | None:
    """What lists the leaves of trees of one shape, without finding the shape again. None where a
    container is no plain tuple, list or dict, or a key is no string."""
    kind, count = treedef.kind, len(treedef.children)
    if kind is None:
        return _alone
    inside = [leaf_reader(child) for child in treedef.children]
    if kind not in (tuple, list, dict) or kind in _registered or None in inside:
        return None
    if kind is dict and not _STRING.issuperset(map(type, treedef.meta)):
        return None  # 1, 1.0 and True are one key
    pick = _picker(treedef.meta) if kind is dict and count else None
    leaves_only = all(child is LEAF for child in treedef.children)

    def read(tree: Any) -> Sequence[Any]:
        if type(tree) is not kind or len(tree) != count:
            raise OtherTreeError
        children: Sequence[Any] = tree if pick is None else pick(tree)
        if leaves_only:
            return children
        found: list[Any] = []
        for child, part in zip(children, inside):  # noqa: B905 - as many, and hot
            found += (child,) if part is _alone else part(child)  # type: ignore[misc]
        return found

    return read


def _alone(leaf: Any) -> Sequence[Any]:
    return (leaf,)


def _picker(keys: Sequence[Any]) -> Reader:
    """The values of these keys, of a dict that has them in this order."""
    get = itemgetter(*keys) if len(keys) > 1 else lambda tree: (tree[keys[0]],)
    order = list(getattr(keys, "order", keys))

    def pick(tree: Any) -> Sequence[Any]:
        if [*tree] != order:
            raise OtherTreeError
        return get(tree)

    return pick


def tree_unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    """A tree of that shape from its leaves."""
    return _built(treedef, iter(leaves))


Builder = Callable[[Sequence[Any]], Any]


def tree_builder(treedef: TreeDef) -> Builder:
    """What `tree_unflatten` does for one shape, again and again."""
    return _builder(treedef, 0)


def _builder(treedef: TreeDef, first: int) -> Builder:
    """A function that builds the tree whose leaves begin at `first`."""
    kind, keys, count = treedef.kind, treedef.meta, treedef.leaves
    if kind is None:
        return itemgetter(first)
    if kind not in (tuple, list, dict) or kind in _registered:
        return lambda leaves: _built(treedef, iter(leaves[first : first + count]))
    if not treedef.children:
        return lambda leaves: kind()
    if all(child is LEAF for child in treedef.children):
        piece = slice(first, first + count)
        if kind is dict:
            return lambda leaves: _filled_dict({}, keys, keys, leaves[piece])
        return lambda leaves: kind(leaves[piece])
    parts, place = [], first
    for child in treedef.children:
        parts.append(_builder(child, place))
        place += child.leaves
    if kind is dict:
        return lambda leaves: _filled_dict({}, keys, keys, [part(leaves) for part in parts])
    return lambda leaves: kind([part(leaves) for part in parts])


def _built(treedef: TreeDef, leaves: Iterator[Any]) -> Any:
    if treedef.kind is None:
        return next(leaves)
    kind, meta = treedef.kind, treedef.meta
    children = [
        next(leaves) if child is LEAF else _built(child, leaves) for child in treedef.children
    ]
    if kind in _registered:
        return _registered[kind][1](meta, children)
    if kind is tuple or kind is list:
        return kind(children)
    if kind is type(None):
        return None
    if kind is dict or kind is OrderedDict:
        return _filled_dict(kind(), meta, meta, children)
    if kind is defaultdict:
        return _filled_dict(defaultdict(meta[0]), meta, meta[1:], children)
    if issubclass(kind, tuple):
        return kind(*children) if hasattr(kind, "_fields") else tuple.__new__(kind, children)
    return kind(children) if meta is None else _filled(kind, dict(zip(meta, children, strict=True)))


def _filled(kind: Any, values: dict[str, Any]) -> Any:
    """A dataclass with these values; what its constructor does not take is set afterwards."""
    later = [field.name for field in dataclasses.fields(kind) if not field.init]
    set_later = {name: values.pop(name) for name in later}
    made = kind(**values)
    for name, value in set_later.items():
        object.__setattr__(made, name, value)
    return made


def tree_leaves(tree: Any) -> list[Any]:
    """The leaves in order."""
    return tree_flatten(tree)[0]


def tree_structure(tree: Any) -> TreeDef:
    """The shape of a tree."""
    return tree_flatten(tree)[1]


def tree_map(fn: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """A tree of the same shape: `fn` of the leaves of all the trees at each place."""
    leaves, treedef = tree_flatten(tree)
    columns = [leaves, *(matching_leaves("tree_map", treedef, other) for other in rest)]
    return tree_unflatten(treedef, (fn(*row) for row in zip(*columns, strict=True)))


def matching_leaves(op: str, treedef: TreeDef, tree: Any) -> list[Any]:
    """The leaves of a tree that must have this shape."""
    leaves, found = tree_flatten(tree)
    if found != treedef:
        problem = f"pytrees differ: {treedef} and {found}"
        problem += "" if str(treedef) != str(found) else ", in what they hold beside their leaves"
        raise ShapeError("E3010", problem, op=op, help="give both the same nesting and keys")
    return leaves


def broadcast_prefix(op: str, prefix: Any, treedef: TreeDef) -> list[Any]:
    """A value for every leaf of a tree from a tree that may end earlier; None counts as a value."""
    opened = None if prefix is None else _open(prefix)
    if opened is None:
        return [prefix] * treedef.leaves
    if opened[:2] != (treedef.kind, treedef.meta) or len(opened[2]) != len(treedef.children):
        problem = f"{prefix!r} is not a prefix of the pytree {treedef}"
        raise ShapeError("E3010", problem, op=op, help="give one value, or one per child")
    pairs = zip(opened[2], treedef.children, strict=True)
    return [leaf for part, child in pairs for leaf in broadcast_prefix(op, part, child)]
