"""Nested Python values as JSON, with their tensors kept aside.

JSON has no tuples, keys that are numbers, bytes, infinities or tensors; such a value is written as
`{"$": kind, ...}`.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError
from adjoint.tensor import Tensor

_MARK = "$"
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class Encoder:
    """`names` are tensors that have a name already, by id; those met on the way get theirs."""

    def __init__(self, names: dict[int, str], op: str):
        self.names, self.op = names, op
        self._taken = set(names.values())
        self.tensors: dict[str, Any] = {}

    def encode(self, value: Any, path: str) -> Any:
        """A value as JSON; `path` says where it is, and names its tensors."""
        try:
            return self._encoded(value, path)
        except RecursionError:
            problem = f"{path} contains itself, or is nested too deeply"
            raise ArgumentError("E2001", problem, op=self.op) from None

    def _encoded(self, value: Any, path: str) -> Any:
        if isinstance(value, (Tensor, np.ndarray, np.generic)):
            return self._tensor(value, path)
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {_MARK: "float", "is": str(value)}
        if type(value) is bytes:
            return {_MARK: "bytes", "is": base64.b64encode(value).decode()}
        if isinstance(value, (list, tuple)):
            items = [self._encoded(v, f"{path}.{i}") for i, v in enumerate(value)]
            return items if isinstance(value, list) else {_MARK: "tuple", "is": items}
        if isinstance(value, dict):
            return self._dict(value, path)
        problem = f"{path} is a {type(value).__name__}, which a checkpoint cannot hold"
        fix = "numbers, texts, bytes, tensors, arrays, and lists, tuples and dicts of them can be"
        raise ArgumentError("E2001", problem, op=self.op, help=fix)

    def _dict(self, value: dict[Any, Any], path: str) -> Any:
        if all(isinstance(key, str) for key in value) and _MARK not in value:
            return {str(key): self._encoded(v, f"{path}.{key}") for key, v in value.items()}
        items = [
            [self._encoded(key, f"{path}.{key}"), self._encoded(v, f"{path}.{key}")]
            for key, v in value.items()
        ]
        return {_MARK: "dict", "is": items}

    def _tensor(self, value: Any, path: str) -> Any:
        kind = "tensor" if isinstance(value, Tensor) else "array"
        name = self.names.get(id(value), path)
        if id(value) not in self.names:
            while name in self._taken:
                name += "'"  # two keys that differ only in type
            self._taken.add(name)
            self.tensors[name] = value
            self.names[id(value)] = name
        return {_MARK: kind, "is": name}


class Decoder:
    """Back to Python; `array` gives the values of a tensor by name. Raises ValueError for anything
    that `Encoder` does not write."""

    def __init__(self, array: Callable[[str], np.ndarray[Any, Any]]):
        self._array = array

    def decode(self, value: Any) -> Any:
        """The value that was encoded."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        if _MARK not in value:
            return {key: self.decode(item) for key, item in value.items()}
        kind, inside = value[_MARK], value.get("is")
        if kind in ("tuple", "dict"):
            items = self._items(inside)
            return tuple(items) if kind == "tuple" else self._keyed(items)
        return self._leaf(kind, inside)

    def _items(self, inside: Any) -> list[Any]:
        if not isinstance(inside, list):
            raise ValueError("items are not a list")
        return [self.decode(item) for item in inside]

    def _keyed(self, items: list[Any]) -> dict[Any, Any]:
        try:
            return dict(items)
        except (TypeError, ValueError):
            raise ValueError("a dict is not made of keys and values") from None

    def _leaf(self, kind: Any, inside: Any) -> Any:
        if not isinstance(inside, str):
            raise ValueError(f"no value for {kind!r}")
        if kind == "float" and inside in _FLOATS:
            return _FLOATS[inside]
        if kind == "bytes":
            return base64.b64decode(inside, validate=True)
        if kind == "tensor":
            return Tensor(self._array(inside))
        if kind == "array":
            found = self._array(inside).copy()
            return found if found.shape else found[()]
        raise ValueError(f"unknown kind {kind!r}")
