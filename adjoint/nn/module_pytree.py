"""Modules as pytrees: the tensors inside a module, and everything else about it as its structure.

A module is taken apart whole, with the modules, lists, tuples, dicts, dataclasses and bound methods
in it, so that a tensor or a module that is used twice is one leaf and stays shared. What is no
tensor is structure and is compared by value. Elsewhere: the class `Module`, which decides what it
is to users.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError
from adjoint.ir.arg import frozen
from adjoint.ir.dtype import DType
from adjoint.ir.opdef import OPS
from adjoint.tensor import Tensor
from adjoint.tensor.marked import has_own_node, is_marked
from adjoint.tensor.views import put_back
from adjoint.transforms.jit.guards import PLAIN, plain_key
from adjoint.transforms.pytree import TreeDef, register_pytree_node, tree_flatten, tree_unflatten

_SIMPLE = frozenset({bool, int, str, type(None)})
_SAME = (type, FunctionType, BuiltinFunctionType, ModuleType, Enum, DType)  # equal if identical
ODD = "_odd"  # where an object that holds other things than tensors keeps them; see `unflatten`

# A spec describes one value. It is an int for a leaf (its number), a `Static`, or a tuple that
# starts with one of these marks. Specs are hashable, and equal exactly if the values are alike.
_VALUE, _LIST, _DICT, _TREE = "value", "list", "dict", "tree"
_OBJECT, _AGAIN, _METHOD, _PARTIAL = "object", "again", "method", "partial"


class Structured:
    """Base of classes whose objects are pytrees by their attributes."""

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        register_pytree_node(cls, flatten, unflatten)


class Static:
    """A value that is compared by a key."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any, key: Any):
        self.value, self.key = value, key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)


class Structure:
    """What a module is beside its tensors; `flags`, which are not compared, are those of its
    leaves, or the dtype of a leaf that counts."""

    __slots__ = ("_hash", "flags", "spec")

    def __init__(self, spec: Any, flags: tuple[bool | DType | None, ...]):
        self.spec, self.flags = spec, flags
        self._hash = hash(spec)

    @property
    def reads(self) -> Iterator[Any]:
        """The classes and functions inside, which may read what is in no attribute."""
        stack = [self.spec]
        while stack:
            spec = stack.pop()
            if type(spec) is tuple:
                stack += spec
            elif type(spec) is Static:
                yield spec.value
            elif isinstance(spec, (type, FunctionType)):
                yield spec

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and other.spec == self.spec

    def __hash__(self) -> int:
        return self._hash


def flatten(module: Any) -> tuple[list[Any], Structure]:
    """The tensors of a module, each once, in the order of its attributes; and its structure."""
    odd: tuple[list[Any], Structure] | None = vars(module).get(ODD)
    if odd is not None:
        return odd
    taken = _Taken()
    spec = taken.object(module, vars(module))
    return taken.leaves, Structure(spec, tuple(map(_role, taken.leaves)))


def _role(tensor: Tensor) -> bool | DType | None:
    flag = tensor._requires_grad
    return tensor.dtype if flag is False and not tensor.dtype.is_inexact else flag


def unflatten(structure: Structure, children: Iterable[Any]) -> Any:
    """A module of that structure around other tensors.

    If there are children that are no tensors (axes, masks, shapes), the module keeps them to be
    taken apart again.
    """
    leaves = list(children)
    for number, flag in enumerate(structure.flags):
        if flag is not None and type(leaves[number]) is Tensor:
            leaves[number] = _in_role(leaves[number], flag)
    module = _Built(leaves).build(structure.spec)
    if any(type(leaf) is not Tensor for leaf in leaves):
        vars(module)[ODD] = (leaves, structure)
    return module


def _in_role(leaf: Tensor, flag: bool | DType) -> Tensor:
    """A parameter's new value is a parameter, a buffer's a buffer, a counter's a counter; what was
    decided stays."""
    now, node = leaf._requires_grad, leaf.uop
    if isinstance(flag, DType):
        same = leaf.cast(flag) if leaf.dtype.is_inexact else leaf
        return same if same._requires_grad is False else same.requires_grad_(False)
    if flag is False:
        leaf._requires_grad = False if now is None else now
    elif now is True and node.realized is not None and not has_own_node(leaf):
        put_back(leaf, OPS["buffer"](node.realized))  # else the history of all steps is kept
        leaf.requires_grad = True
    elif now is False and not is_marked(leaf):  # computed without gradients
        leaf.requires_grad = True if has_own_node(leaf) else None
    return leaf


class _Taken:
    """One module while it is taken apart."""

    def __init__(self) -> None:
        self.leaves: list[Tensor] = []
        self._numbers: dict[int, int] = {}
        self._objects: dict[int, tuple[int, Any]] = {}
        self._path: list[Any] = []  # to the value that is looked at

    def spec(self, value: Any) -> Any:
        """What a value looks like."""
        kind = type(value)
        if kind is Tensor:
            return self._leaf(value)
        if kind in _SIMPLE:
            return _VALUE, kind, value
        if kind is list or kind is tuple:
            return _LIST, kind, self._specs(enumerate(value))
        if kind is float or kind is complex:
            return _VALUE, kind, frozen(value)
        return self._other(kind, value)

    def _specs(self, named: Iterable[tuple[Any, Any]]) -> tuple[Any, ...]:
        """What the parts of a value look like."""
        specs: list[Any] = []
        path = self._path
        for name, value in named:
            kind = type(value)
            if kind in _SIMPLE:  # most of them, and none can fail
                specs.append((_VALUE, kind, value))
                continue
            path.append(name)
            specs.append(self.spec(value))
            path.pop()
        return tuple(specs)

    def _leaf(self, tensor: Tensor) -> int:
        number = self._numbers.setdefault(id(tensor), len(self.leaves))
        if number == len(self.leaves):
            self.leaves.append(tensor)
        return number

    def _other(self, kind: type, value: Any) -> Any:
        if isinstance(value, Structured):
            return self.object(value, vars(value))
        if isinstance(value, dict):
            return self._dict(kind, value)
        if isinstance(value, MethodType):
            return _METHOD, self.spec(value.__self__), value.__func__
        if isinstance(value, partial):
            parts = (value.func, value.args, value.keywords)
            return _PARTIAL, self._specs(zip(("func", "args", "keywords"), parts, strict=True))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in dataclasses.fields(value)]
            return self.object(value, {n: getattr(value, n) for n in names})
        leaves, tree = tree_flatten(value)
        if tree.kind is not None:
            return _TREE, tree, self._specs(enumerate(leaves))
        return self._static(value)

    def _dict(self, kind: type, value: dict[Any, Any]) -> Any:
        empty = {} if kind is dict else value.copy()
        empty.clear()
        keys = tuple([self._static(key) for key in value])
        return _DICT, Static(empty, kind), keys, self._specs(value.items())

    def object(self, value: Any, attributes: dict[str, Any]) -> Any:
        """An object with attributes: one that was met before is the same one."""
        met = self._objects.get(id(value))
        if met is not None:
            return _AGAIN, met[0]
        self._objects[id(value)] = (len(self._objects), value)
        return _OBJECT, type(value), tuple(attributes), self._specs(attributes.items())

    def _static(self, value: Any) -> Static:
        """A value in which no tensor is looked for."""
        held = _held(value)
        if held:
            problem = f"{self._where()} is a function that holds a {held}, which no transform sees"
            fix = "make it a method, or keep what it holds in an attribute and pass it in"
            raise ArgumentError("E2001", problem, op="module", help=fix)
        return Static(value, self._key(value))

    def _key(self, value: Any) -> Any:
        kind = type(value)
        if isinstance(value, PLAIN):
            return plain_key(value)
        if isinstance(value, _SAME) or hasattr(value, "__wrapped__"):
            return value
        if isinstance(value, (set, frozenset)):
            return kind, frozenset(map(self._key, value))
        if isinstance(value, (tuple, list)):
            return kind, *map(self._key, value)
        if isinstance(value, np.ndarray):
            return kind, value.dtype.str, value.shape, value.tobytes()
        if kind.__eq__ is not object.__eq__:
            if isinstance(value, Hashable):
                return kind, value
            if hasattr(value, "__dict__"):
                return kind, *((name, self._key(v)) for name, v in vars(value).items())
        problem = (
            f"{self._where()} is a {kind.__name__}: neither a tensor nor a value that can be "
            "compared, so no transform can tell whether it has changed"
        )
        fix = f"derive {kind.__name__} from nn.Module, or make it a dataclass"
        raise ArgumentError("E2001", problem, op="module", help=fix)

    def _where(self) -> str:
        """The path as Python writes it: `Net.layers[0].scale`."""
        first = next(iter(self._objects.values()))[1]
        parts = [f".{p}" if isinstance(p, str) else f"[{p!r}]" for p in self._path]
        return type(first).__name__ + "".join(parts)


def _held(value: Any) -> str:
    """What a function holds that a transform would have to replace, if anything."""
    function = getattr(value, "__wrapped__", value)
    inside = [getattr(function, "__self__", None)]
    for cell in getattr(function, "__closure__", None) or ():
        with suppress(ValueError):  # a cell may still be empty
            inside.append(cell.cell_contents)
    if any(isinstance(v, Tensor) for v in inside):
        return "tensor"
    return "module" if any(isinstance(v, Structured) for v in inside) else ""


class _Built:
    """One module while it is built from its spec."""

    def __init__(self, leaves: Sequence[Any]):
        self._leaves = leaves
        self._objects: list[Any] = []

    def build(self, spec: Any) -> Any:
        if type(spec) is int:
            return self._leaves[spec]
        if type(spec) is Static:
            return spec.value
        return _BUILD[spec[0]](self, *spec[1:])

    def _value(self, kind: type, value: Any) -> Any:
        return kind(value) if kind is float or kind is complex else value

    def _list(self, kind: Any, specs: tuple[Any, ...]) -> Any:
        return kind([self.build(spec) for spec in specs])

    def _dict(self, empty: Static, keys: tuple[Static, ...], specs: tuple[Any, ...]) -> Any:
        made = copy.copy(empty.value)
        made.update({k.value: self.build(s) for k, s in zip(keys, specs, strict=True)})
        return made

    def _tree(self, tree: TreeDef, specs: tuple[Any, ...]) -> Any:
        return tree_unflatten(tree, [self.build(spec) for spec in specs])

    def _object(self, kind: Any, names: tuple[str, ...], specs: tuple[Any, ...]) -> Any:
        made = object.__new__(kind)
        self._objects.append(made)
        for name, spec in zip(names, specs, strict=True):
            object.__setattr__(made, name, self.build(spec))
        return made

    def _again(self, number: int) -> Any:
        return self._objects[number]

    def _method(self, owner: Any, function: Any) -> Any:
        return MethodType(function, self.build(owner))

    def _partial(self, specs: tuple[Any, ...]) -> Any:
        function, args, keywords = (self.build(spec) for spec in specs)
        return partial(function, *args, **keywords)


_BUILD: dict[str, Callable[..., Any]] = {
    _VALUE: _Built._value,
    _LIST: _Built._list,
    _DICT: _Built._dict,
    _TREE: _Built._tree,
    _OBJECT: _Built._object,
    _AGAIN: _Built._again,
    _METHOD: _Built._method,
    _PARTIAL: _Built._partial,
}
