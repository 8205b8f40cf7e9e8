"""How to visit each kind of Python value: its contents, and the guards for them.

What may live here: the visits, and the table from kind to visit.
"""

from __future__ import annotations

import array
import ctypes
import functools
import mmap
import operator
import threading
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sized
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint import config
from adjoint.transforms.jit.guards import (
    Attributes,
    ClassNames,
    ClosureCells,
    Context,
    Dict,
    Items,
    Local,
    Members,
    MemoryContents,
    Names,
    Objects,
    attribute,
    dict_keys,
)
from adjoint.transforms.jit.origin import is_librarys_function, is_users_class

if TYPE_CHECKING:
    from adjoint.transforms.jit.captured import Captured

_JIT = "adjoint.transforms.jit.jitted"  # traces change with every call; no function reads them
_OPAQUE = {"logging", "re", "_thread"}  # no result depends on their state
_BOOKKEEPING = {  # of classes; nothing that a function computes with
    *("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__qualname__"),
    *("__slots__", "__static_attributes__", "__firstlineno__", "__parameters__", "__orig_bases__"),
    *("__match_args__", "__dataclass_fields__", "__dataclass_params__", "__abstractmethods__"),
    *("_abc_impl", "__annotate__", "__annotate_func__", "__annotations_cache__", "__hash__"),
}
_WRITERS = {"append", "add", "extend", "update", "appendleft", "insert", "put", "setdefault"}
_CDATA: Any = ctypes.Array.__mro__[-2]
_BUFFERS = (bytearray, array.array, memoryview, mmap.mmap, _CDATA)
_PARTIAL = ("func", "args", "keywords")
_EXACT = (list, deque, dict, tuple, set, frozenset, np.ndarray, functools.partial)


def visit(captured: Captured, value: Any) -> None:
    """Guard what the value holds, and go on with it."""
    for kind, look in _VISITS:
        if isinstance(value, kind):
            look(captured, value)
            if kind in _WITH_ATTRIBUTES and type(value) not in _EXACT:
                _attributes(captured, value)
            return
    _instance(captured, value)


# ---- containers


def _dict(captured: Captured, value: Any) -> None:
    captured.place(Dict, value, dict_keys(value), f"a {type(value).__name__}")
    for key in dict_keys(value):
        captured.follow(key)


def _array(captured: Captured, value: Any) -> None:
    if value.dtype == object:
        captured.place(Objects, value, range(value.size), "an array of objects")
    else:
        captured.contents.append(
            MemoryContents(functools.partial(np.asarray, value), "a NumPy array")
        )


def _buffer(captured: Captured, value: Any) -> None:
    if isinstance(value, ctypes._Pointer):
        return captured.note(value, "what a pointer points at")

    def look() -> Any:
        return np.frombuffer(memoryview(value).tobytes(), np.uint8)

    return captured.contents.append(MemoryContents(look, f"a {type(value).__name__}"))


def _local(captured: Captured, value: Any) -> None:
    captured.place(Local, value, tuple(vars(value)), "a threading.local")
    captured.follow(type(value))


# ---- callables


def _function(captured: Captured, value: Any) -> None:
    captured.function(value)
    if value is config.read_variable:
        captured.follow(config.environment)


def _method(captured: Captured, value: Any) -> None:
    captured.follow(value.__self__)
    captured.follow(value.__func__)


def _builtin(captured: Captured, value: Any) -> None:
    """`items.append`, `random.random`: what it is a method of."""
    owner = getattr(value, "__self__", None)
    if value.__name__ in _WRITERS and isinstance(owner, Sized):
        captured.written.append((owner, len(owner)))
    elif not isinstance(owner, types.ModuleType):
        captured.follow(owner)


def _getter(captured: Captured, value: Any) -> None:
    """`attrgetter("n")` mentions its names."""
    captured.names.update(word for text in value.__reduce__()[1] for word in str(text).split("."))


# ---- classes and their instances


def _class(captured: Captured, value: Any) -> None:
    if not is_users_class(value):
        return
    own = all(map(is_users_class, value.__mro__[:-1])) and type(value) is type
    for base in value.__mro__[:-1]:
        if is_users_class(base):
            names = [n for n in vars(base) if n not in _BOOKKEEPING]
            owner = f"class {base.__name__}"
            captured.place(ClassNames, base, names, owner, named=True, waiting=own)
            captured.sized.append(vars(base))
    captured.follow(type(value))


def _instance(captured: Captured, value: Any) -> None:
    kind = type(value)
    if kind.__module__ == _JIT:
        return _jitted(captured, value)
    if kind.__module__.partition(".")[0] in _OPAQUE or is_librarys_function(value):
        return None
    wrapped = attribute(value, "__wrapped__", None)
    if isinstance(wrapped, (types.FunctionType, types.MethodType)):
        captured.follow(wrapped)
    if not is_users_class(kind):
        _foreign(captured, value)
    return _attributes(captured, value)


def _attributes(captured: Captured, value: Any) -> None:
    kind, own = type(value), attribute(value, "__dict__", None)
    named, owner = is_users_class(kind), f"an object of {kind.__name__}"
    if isinstance(own, dict):
        captured.place(Dict, own, tuple(own), owner, named=named)
    slots = [name for base in kind.__mro__ for name in _slots(base)]
    captured.place(Attributes, value, slots, owner, named=named)
    if named:
        captured.instances.append(value)
    captured.follow(kind)


def _slots(kind: type) -> Iterator[str]:
    names = kind.__dict__.get("__slots__", ())
    for name in (names,) if isinstance(names, str) else names:
        if not name.startswith("__"):
            yield name


def _jitted(captured: Captured, value: Any) -> None:
    """A jitted function: the function, and attributes that users gave it."""
    own = vars(value)
    captured.follow(value.__wrapped__)
    names = [n for n in own if not n.startswith("_") and n != "traces"]
    captured.place(Names, own, names, f"jitted {value.__name__}")
    captured.sized.append(own)


def _foreign(captured: Captured, value: Any) -> None:
    """An array of another library is compared by its contents."""
    kind = type(value)
    if not any(hasattr(kind, name) for name in ("__array__", "__dlpack__", "__array_interface__")):
        return
    look = functools.partial(_as_array, value)
    try:
        captured.contents.append(MemoryContents(look, f"a {kind.__name__}"))
    except Exception:  # it is on a device, sparse, or gone: its library knows why
        captured.note(value, f"memory of {kind.__module__}.{kind.__name__}")


def _as_array(value: Any) -> Any:
    detached = value.detach() if hasattr(value, "detach") else value
    return np.asarray(detached)


_VISITS: tuple[tuple[Any, Callable[..., None]], ...] = (
    (types.FunctionType, _function),
    (types.MethodType, _method),
    ((types.BuiltinFunctionType, types.MethodWrapperType), _builtin),
    (functools.partial, lambda c, v: c.place(Attributes, v, _PARTIAL, "a partial")),
    ((operator.attrgetter, operator.methodcaller), _getter),
    (type, _class),
    (types.ModuleType, lambda c, v: c.module(v)),
    (types.CodeType, lambda c, v: None),  # it never changes
    ((dict, types.MappingProxyType), _dict),
    ((type({}.keys()), type({}.values()), type({}.items())), lambda c, v: c.follow(v.mapping)),
    ((list, deque, tuple), lambda c, v: c.place(Items, v, range(len(v)), f"a {type(v).__name__}")),
    ((set, frozenset), lambda c, v: c.place(Members, v, range(len(v)), f"a {type(v).__name__}")),
    (np.ndarray, _array),
    (_BUFFERS, _buffer),
    (types.CellType, lambda c, v: c.place(ClosureCells, (v,), (0,), "a closure")),
    (ContextVar, lambda c, v: c.place(Context, v, ("value",), f"ContextVar {v.name!r}")),
    (threading.local, _local),
    # To guard what a reference refers to would keep that alive.
    (weakref.ReferenceType, lambda c, v: c.note(v, "a weak reference")),
    (
        type(config.environment),
        lambda c, v: c.place(Dict, v._data, tuple(v._data), "the environment"),
    ),
    ((staticmethod, classmethod), lambda c, v: c.follow(v.__func__)),
    (property, lambda c, v: c.follow(v.fget)),
)
_WITH_ATTRIBUTES = (
    *((dict, types.MappingProxyType), (list, deque, tuple), (set, frozenset)),
    *(np.ndarray, functools.partial, weakref.ReferenceType),
)
