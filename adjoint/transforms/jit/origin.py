"""Tells a user's code, Adjoint's, and an installed library's apart, by where it is stored.

What may live here: that distinction.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from types import CodeType, FunctionType, ModuleType
from typing import Any

from adjoint.ir.origin import PACKAGE

_VOCABULARY = tuple(PACKAGE + part + os.sep for part in ("ir", "ops", "tensor"))  # hold no users'
_EXAMPLES = PACKAGE + "examples" + os.sep  # programs of users, that happen to be shipped
_PATHS = sysconfig.get_paths()
_LIBRARY = tuple({_PATHS[k] + os.sep for k in ("stdlib", "platstdlib", "purelib", "platlib")})
_INSTALLED = tuple(os.sep + name + os.sep for name in ("site-packages", "dist-packages"))
_HEAP = 1 << 9  # the flag of classes that were made at run time


def is_vocabulary(code: CodeType) -> bool:
    """Whether it is the code of an op or of a tensor's method."""
    return code.co_filename.startswith(_VOCABULARY)


def is_users_code(code: CodeType) -> bool:
    """Whether it is neither Adjoint's nor of an installed library."""
    return _users_file(code.co_filename)


def is_users_class(kind: type) -> bool:
    """Whether a class was written by a user."""
    if not kind.__flags__ & _HEAP:
        return False
    module = sys.modules.get(kind.__module__)
    path = getattr(module, "__file__", None)
    if path is not None:
        return _users_file(os.path.abspath(path))
    return kind.__module__ == "builtins" or kind.__module__ not in sys.builtin_module_names


def is_users_module(module: ModuleType) -> bool:
    """Whether a module was written by a user, or made at run time."""
    path = getattr(module, "__file__", None)
    if path is None:
        return module.__name__ not in sys.builtin_module_names
    return _users_file(os.path.abspath(path))


def is_librarys_function(value: Any) -> bool:
    """Whether it is a function of an installed library, by its name there, that can hold nothing of
    a user's: it closes over nothing, or is written in C."""
    kind = type(value)
    if kind is FunctionType:
        holds = value.__closure__ is not None or is_users_code(value.__code__)
    else:
        native = not kind.__flags__ & _HEAP or kind.__module__.startswith("_cython")
        holds = not native or isinstance(value, type) or hasattr(value, "__self__")
    if holds or not callable(value):
        return False
    module = sys.modules.get(str(getattr(value, "__module__", None)))
    known = module is not None and not is_users_module(module)
    return known and vars(module).get(str(getattr(value, "__name__", ""))) is value


@functools.lru_cache(maxsize=4096)
def _users_file(path: str) -> bool:
    if path.startswith((PACKAGE, *_LIBRARY, "<frozen")):
        return path.startswith(_EXAMPLES)
    return not any(folder in path for folder in _INSTALLED)
