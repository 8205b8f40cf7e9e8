"""Tensors by name: what is found by walking the attributes of any object.

Names are attribute names, positions in lists and tuples, keys of dicts, joined by dots, in the
order in which they were set: `layers.0.weight`. Every object is entered once, so a shared tensor
has one name, cycles end, and depth costs no recursion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from adjoint.errors import FileError
from adjoint.tensor import Tensor

_PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, np.ndarray, np.generic)
_CODE = (type, ModuleType, FunctionType, MethodType, BuiltinFunctionType, CodeType, FrameType)
_CLOSED = (*_PLAIN, *_CODE, GeneratorType, set, frozenset, range, slice)
_OPEN_PACKAGES = ("nn", "training", "examples")  # others keep tensors that are no state


@dataclass(slots=True)
class Walked:
    """`tensors` by their first names; `aliases`: further names of what was entered already."""

    tensors: dict[str, Tensor] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def first_name(self, name: str) -> str:
        """The name under which a tensor is listed, of any of its names."""
        path = ""
        for part in name.split("."):
            path = _joined(path, part)
            path = self.aliases.get(path, path)
        return path


def walk(obj: Any, prefix: str = "") -> Walked:
    """Every tensor that can be reached from an object."""
    found = Walked()
    seen: dict[int, tuple[str, Any]] = {}  # the object too: its id is its own while it is kept
    stack: list[tuple[str, Any]] = [] if isinstance(obj, _CLOSED) else [(prefix, obj)]
    while stack:
        name, value = stack.pop()
        if id(value) in seen:
            found.aliases[name] = seen[id(value)][0]
            continue
        seen[id(value)] = (name, value)
        if isinstance(value, Tensor):
            _add(found.tensors, name, value)
        else:
            found_inside = ((k, v) for k, v in _children(value) if not isinstance(v, _CLOSED))
            stack += [(_joined(name, key), child) for key, child in found_inside][::-1]
    return found


def _add(tensors: dict[str, Tensor], name: str, tensor: Tensor) -> None:
    if name in tensors:
        fix = "keys of dicts must differ as text, and from attributes with dots"
        raise FileError("E9002", f"two tensors have the name {name!r}", op="state", help=fix)
    tensors[name] = tensor


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    """The names and values directly inside."""
    if isinstance(value, Mapping):
        yield from ((str(key), item) for key, item in value.items())
    elif isinstance(value, (list, tuple)):
        fields = getattr(value, "_fields", None)
        names = fields if isinstance(fields, tuple) else map(str, range(len(value)))
        yield from zip(names, value, strict=False)
    elif not _is_internal(type(value)):
        yield from _slots(value)
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict) and not _is_internal(type(value)):
        yield from attributes.items()


def _slots(value: Any) -> Iterator[tuple[str, Any]]:
    for base in reversed(type(value).__mro__):
        names = vars(base).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            mangled = _mangled(base, name)
            if name not in ("__dict__", "__weakref__") and hasattr(value, mangled):
                yield name, getattr(value, mangled)


def _mangled(base: type, name: str) -> str:
    private = name.startswith("__") and not name.endswith("__")
    return f"_{base.__name__.lstrip('_')}{name}" if private else name


def _is_internal(kind: type) -> bool:
    """Nodes, devices, jitted functions: they hold tensors, but none that are a model's state."""
    package, _, rest = kind.__module__.partition(".")
    return package == "adjoint" and rest.partition(".")[0] not in _OPEN_PACKAGES


def get_state_dict(obj: Any, prefix: str = "") -> dict[str, Tensor]:
    """The tensors of any object by name; one that is shared has its first name only.

    `obj` is a model, an optimiser, or any mixture of objects, dataclasses, dicts, lists, tuples and
    namedtuples; nothing needs a base class.
    """
    return walk(obj, prefix.removesuffix(".")).tensors


def get_parameters(obj: Any) -> list[Tensor]:
    """The float tensors of any object whose `requires_grad` is not False, each once."""
    found = get_state_dict(obj).values()
    return [t for t in found if t.requires_grad is not False and t.dtype.is_inexact]
