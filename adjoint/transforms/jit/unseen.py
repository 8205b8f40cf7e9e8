"""State that jit cannot guard: the clock, files, random generators, iterators, state kept in C.

A function that reads it is right only if it is traced at every call, and jit warns about it. What
may live here: recognising such objects.
"""

from __future__ import annotations

import datetime
import io
import pathlib
import random
from collections.abc import Coroutine, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

_SOURCES: dict[str, tuple[str, ...]] = {  # functions, and modules with all of theirs
    "a file": (
        *("builtins.open", "_io.open", "io.open"),
        *("numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "numpy.fromfile"),
    ),
    "a socket": ("_socket", "socket"),
    "another process": ("subprocess",),
    "globals by names that are made at run time": ("builtins.globals",),
    "its callers": ("inspect.currentframe", "inspect.stack", "sys._getframe"),
    "names that are made at run time": ("builtins.eval", "builtins.exec"),
    "random numbers": ("_random", "random", "secrets", "uuid"),
    "the address of an object": ("builtins.id",),
    "the clock": ("time",),
    "the file system": ("glob", "shutil", "tempfile"),
    "the network": ("urllib.request",),
    "the operating system": ("nt", "posix"),
    "the thread it runs in": ("_thread", "threading.current_thread"),
    "what is typed in": ("builtins.input",),
}
_READ = {name: what for what, names in _SOURCES.items() for name in names}
_HARMLESS = {"sleep", "fspath", "strftime", "fsencode", "fsdecode", "allocate_lock", "UUID"}
_METHODS: dict[type, tuple[frozenset[str], str]] = {  # a class, and the names that read
    datetime.datetime: (frozenset({"now", "utcnow", "today"}), "the clock"),
    datetime.date: (frozenset({"today"}), "the clock"),
    pathlib.Path: (frozenset({"read_text", "read_bytes", "open", "exists", "stat"}), "a file"),
}
_VALUES = {  # modules whose objects do not change, or whose state no result depends on
    *("_abc", "_asyncio", "_contextvars", "_thread", "abc", "builtins", "collections", "datetime"),
    *("decimal", "functools", "logging", "operator", "re", "types", "typing", "weakref"),
    *("ml_dtypes", "numpy", "torch", "zoneinfo"),
}


def unseen(value: Any, names: set[str]) -> str:
    """The unguarded state that a function with this value and these names reads; "" if none."""
    if _is_generator(type(value)):
        return "a random generator"
    if isinstance(value, io.IOBase):
        return "an open file"
    if isinstance(value, type):
        return _of_class(value, names)
    if isinstance(value, (BuiltinFunctionType, FunctionType)) or _is_function(value):
        return _of_function(value)
    if isinstance(value, pathlib.Path):
        return _of_class(pathlib.Path, names)
    if isinstance(value, (Iterator, Coroutine)) and not has_attributes(value):
        return f"an iterator ({type(value).__name__})"
    return _of_object(value)


def _is_generator(kind: type) -> bool:
    """NumPy's are told by the name of their module, which is not loaded for that."""
    if issubclass(kind, random.Random):
        return True
    return any(base.__module__.startswith("numpy.random") for base in kind.__mro__)


def _of_class(kind: type, names: set[str]) -> str:
    if _is_generator(kind) and kind.__module__.partition(".")[0] in ("numpy", "random"):
        return "a random generator"
    for known, (methods, what) in _METHODS.items():
        if issubclass(kind, known) and methods & names:
            return what
    return ""


def _is_function(value: Any) -> bool:
    """Functions compiled by Cython have a type of their own."""
    return type(value).__name__ == "cython_function_or_method"


def _of_function(function: Any) -> str:
    module, name = function.__module__ or "", function.__name__
    if name in _HARMLESS:
        return ""
    if module.startswith("numpy.random"):
        return "random numbers"
    return _READ.get(f"{module}.{name}") or _READ.get(module, "")


def _of_object(value: Any) -> str:
    """An object without attributes that Python could compare keeps its state in C, unless it is
    compared by value, as what never changes is."""
    kind = type(value)
    if kind.__module__.partition(".")[0] in _VALUES or isinstance(value, ModuleType):
        return ""
    if has_attributes(value) or callable(value):
        return ""
    by_value = kind.__eq__ is not object.__eq__ and kind.__hash__ is not None
    return "" if by_value else f"an object of {kind.__module__}.{kind.__name__}"


def has_attributes(value: Any) -> bool:
    """Whether the object has attributes of its own, which can be compared."""
    kind = type(value)
    return kind.__dictoffset__ != 0 or any("__slots__" in vars(base) for base in kind.__mro__)


__all__ = ["has_attributes", "unseen"]
