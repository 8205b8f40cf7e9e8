"""What a Python function reads besides its arguments: closures, globals, attributes.

A `Place` is a container with the values that were in it when the function was traced; a traced
program is good for as long as they are the same. Tensors found on the way are inputs of the
program: their values are fetched at every call. What may live here: finding and comparing. What
may not: tracing.
"""

from __future__ import annotations

import builtins
import functools
import os
import sysconfig
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import attrgetter, is_, itemgetter
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from adjoint.ir.arg import frozen
from adjoint.ir.dtype import DType
from adjoint.ir.uop import UOp
from adjoint.tensor import Tensor

PLAIN = (bool, int, float, complex, str, bytes, type(None), range, slice, type(...), np.generic)
_IGNORED = (*PLAIN, DType, UOp, Tensor)
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_VOCABULARY = tuple(_PACKAGE + part + os.sep for part in ("ir", "ops", "tensor"))  # hold no users'
_EXAMPLES = _PACKAGE + "examples" + os.sep  # programs of users, that happen to be shipped
_PATHS = sysconfig.get_paths()
_LIBRARY = tuple({_PATHS[k] + os.sep for k in ("stdlib", "platstdlib", "purelib", "platlib")})
_MISSING: Any = object()
_MOST = 200_000  # values looked at: beyond that a program is not kept


class Place:
    """Values in one container: all of a dict or list, some names of a dict or class, attributes,
    cells. `read` is the quick way to them; where it fails, `now` knows."""

    __slots__ = ("container", "keys", "kind", "read", "values")

    def __init__(self, kind: str, container: Any, keys: tuple[Any, ...]):
        self.kind, self.container, self.keys = kind, container, keys
        self.read = self._reader()
        self.values: list[Any] = self.now() or []

    def _reader(self) -> Callable[[], Any]:
        several, container = len(self.keys) > 1, self.container
        if self.kind == "attributes" and several:
            return functools.partial(attrgetter(*self.keys), container)
        if self.kind == "names" and several and all(key in container for key in self.keys):
            return functools.partial(itemgetter(*self.keys), container)
        return self.now

    def now(self) -> list[Any] | None:
        """The values there are now; None if the container has other keys."""
        kind, container = self.kind, self.container
        if kind == "names":
            return [container.get(key, _MISSING) for key in self.keys]
        if kind == "dict":
            same = len(container) == len(self.keys) and tuple(container) == self.keys
            return list(container.values()) if same else None
        if kind == "list":
            return list(container) if len(container) == len(self.keys) else None
        if kind == "class":
            own = vars(container)
            return [own.get(key, _MISSING) for key in self.keys]
        if kind == "cells":
            return [_contents(cell) for cell in container]
        return [getattr(container, key, _MISSING) for key in self.keys]

    def put(self, position: int, value: Any) -> None:
        """Store a value."""
        key, kind = self.keys[position], self.kind
        if kind == "cells":
            self.container[position].cell_contents = value
        elif kind in ("attributes", "class"):
            setattr(self.container, key, value)
        else:
            self.container[key] = value

    def holds(self) -> bool:
        """Whether everything is as it was; a tensor may be another one of the same type."""
        try:
            now = self.read()
        except (LookupError, AttributeError):
            now = self.now()
        if now is None:
            return False
        if all(map(is_, now, self.values)):
            return True
        if not all(map(same_value, self.values, now)):
            return False
        self.values = list(now)
        return True


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def same_value(old: Any, new: Any) -> bool:
    """Whether a trace that saw the one value is good for the other."""
    if old is new:
        return True
    if type(old) is not type(new):
        return False
    if isinstance(old, Tensor):
        return tensor_type(old) == tensor_type(new)
    return isinstance(old, PLAIN) and plain_key(old) == plain_key(new)


def tensor_type(tensor: Tensor) -> tuple[Any, ...]:
    """What a trace depends on in a tensor."""
    node = tensor.uop
    return node.shape, node.dtype, node.device, tensor._requires_grad


def plain_key(value: Any) -> Any:
    """A hashable form of a plain value: equal exactly if a program cannot tell them apart."""
    if isinstance(value, slice):
        return slice, *map(plain_key, (value.start, value.stop, value.step))
    if isinstance(value, np.generic):
        return type(value), value.tobytes()
    return type(value), frozen(value)


class Captured:
    """Everything reachable from a function and from the objects among its arguments."""

    def __init__(self, roots: Iterable[Any]):
        self.places: list[Place] = []
        self.arrays: list[tuple[Any, Any]] = []  # NumPy arrays and what was in them
        self.sets: list[tuple[Any, Any]] = []
        self.tensors: dict[int, tuple[Place, int]] = {}
        self.complete = True
        self._seen: dict[int, Any] = {}
        self._queue: deque[Any] = deque(roots)
        while self._queue:
            self._visit(self._queue.popleft())
            if len(self._seen) > _MOST:
                self.complete = False
                break

    def holds(self) -> bool:
        """Whether a trace that saw this is still good."""
        for place in self.places:
            if not place.holds():
                return False
        if not self.arrays and not self.sets:
            return True
        return all(_same_array(*pair) for pair in self.arrays) and all(
            now == before for now, before in self.sets
        )

    def held(self) -> list[Tensor]:
        """The tensors that were found, as the last look at their places found them."""
        return [place.values[position] for place, position in self.tensors.values()]

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """What is put into a place inside is taken out again; what is added to one stays."""
        try:
            yield
        finally:
            for place in self.places:
                for position, (old, new) in enumerate(zip(place.values, place.now() or ())):  # noqa: B905
                    if old is not new:
                        place.put(position, old)

    def _visit(self, value: Any) -> None:
        if isinstance(value, _IGNORED) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        for kind, visit in _VISITS:
            if isinstance(value, kind):
                visit(self, value)
                return
        self._instance(value)

    def _place(self, kind: str, container: Any, keys: Iterable[Any]) -> None:
        listed = tuple(keys)
        if not listed and kind not in ("dict", "list"):
            return
        place = Place(kind, container, listed)
        self.places.append(place)
        for position, value in enumerate(place.values):
            if isinstance(value, Tensor):
                self.tensors.setdefault(id(value), (place, position))
            elif value is not _MISSING:
                self._queue.append(value)

    # ---- by kind of value

    def _list(self, value: Any) -> None:
        self._place("list", value, range(len(value)))

    def _tuple(self, value: Any) -> None:
        if any(isinstance(v, Tensor) for v in value):
            self._place("list", value, range(len(value)))
        else:
            self._queue.extend(value)

    def _dict(self, value: Any) -> None:
        self._place("dict", value, tuple(value))

    def _set(self, value: Any) -> None:
        self.sets.append((value, set(value)))
        self._queue.extend(value)

    def _array(self, value: Any) -> None:
        self.arrays.append((value, value.copy()))

    def _partial(self, value: Any) -> None:
        self._place("attributes", value, ("func", "args", "keywords"))

    def _method(self, value: Any) -> None:
        self._queue.extend((value.__self__, value.__func__))

    def _function(self, value: FunctionType) -> None:
        if value.__code__.co_filename.startswith(_VOCABULARY):
            return
        if value.__closure__:
            self._place("cells", value.__closure__, range(len(value.__closure__)))
        self._place("attributes", value, ("__code__", "__defaults__", "__kwdefaults__"))
        if _is_users(value.__code__):
            self._globals(value)

    def _globals(self, function: FunctionType) -> None:
        names = list(dict.fromkeys(_names(function.__code__)))
        here = function.__globals__
        self._place("names", here, [n for n in names if n in here or hasattr(builtins, n)])
        for value in [here[n] for n in names if n in here]:
            if isinstance(value, ModuleType) and _users_module(value):
                self._place("names", vars(value), [n for n in names if n in vars(value)])

    def _class(self, value: type) -> None:
        if not _users_class(value):
            return
        for base in value.__mro__[:-1]:
            if _users_class(base):
                names = [n for n in vars(base) if not n.startswith("__") or n in _CALLED]
                self._place("class", base, names)

    def _instance(self, value: Any) -> None:
        kind = type(value)
        wrapped = getattr(value, "__wrapped__", None)
        if isinstance(wrapped, (FunctionType, MethodType)):
            self._queue.append(wrapped)
            if kind.__module__ == _JIT:
                return
        if kind.__module__.partition(".")[0] in _OPAQUE:
            return
        if isinstance(getattr(value, "__dict__", None), dict):
            self._place("dict", vars(value), tuple(vars(value)))
        slots = [n for base in kind.__mro__ for n in _slots(base) if hasattr(value, n)]
        self._place("attributes", value, slots)
        self._queue.append(kind)


_OPAQUE = {"builtins", "numpy", "threading", "_thread", "io", "logging", "re", "random", "weakref"}
_JIT = "adjoint.transforms.jit"  # its traces change with every call, and nobody reads them
_CALLED = {"__call__", "__getitem__", "__add__", "__mul__", "__matmul__", "__iter__", "__len__"}


def _slots(kind: type) -> Iterator[str]:
    names = kind.__dict__.get("__slots__", ())
    for name in (names,) if isinstance(names, str) else names:
        if not name.startswith("__"):
            yield name


def _opaque(self: Captured, value: Any) -> None:
    """Modules are looked at name by name, where a function uses them."""


_VISITS: tuple[tuple[Any, Callable[..., None]], ...] = (
    (FunctionType, Captured._function),
    (MethodType, Captured._method),
    (functools.partial, Captured._partial),
    (type, Captured._class),
    (ModuleType, _opaque),
    (CodeType, _opaque),
    (dict, Captured._dict),
    ((list, deque), Captured._list),
    (tuple, Captured._tuple),
    ((set, frozenset), Captured._set),
    (np.ndarray, Captured._array),
    ((staticmethod, classmethod), lambda self, value: self._queue.append(value.__func__)),
    (property, lambda self, value: self._queue.append(value.fget)),
)


def _names(code: CodeType) -> Iterator[str]:
    """Names of globals and attributes in the code and in functions written inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_users(code: CodeType) -> bool:
    return _users_file(code.co_filename)


@functools.lru_cache(maxsize=4096)
def _users_file(path: str) -> bool:
    """Whether code is neither Adjoint's nor of an installed library."""
    return path.startswith(_EXAMPLES) or not path.startswith((_PACKAGE, *_LIBRARY, "<frozen"))


def _users_module(module: ModuleType) -> bool:
    path = getattr(module, "__file__", None)
    return path is not None and _users_file(os.path.abspath(path))


def _users_class(kind: type) -> bool:
    functions = (v for v in vars(kind).values() if isinstance(v, FunctionType))
    first = next(functions, None)
    if first is not None:
        return _is_users(first.__code__)
    return kind.__module__ == "__main__" or kind.__module__.partition(".")[0] not in _OPAQUE | {
        "adjoint"
    }


def _same_array(now: Any, before: Any) -> bool:
    if now.shape != before.shape or now.dtype != before.dtype:
        return False
    return bool(np.array_equal(now, before)) or now.tobytes() == before.tobytes()
