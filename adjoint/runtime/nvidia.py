"""NVIDIA's libraries by their C interfaces: found, loaded and called.

A library is found beside the Python package that ships it (`nvidia-cudnn-cu13` and others, which
torch installs too), or where the system keeps libraries. What may live here: the common part. What
may not: a call of any one.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from ctypes import byref, c_void_p
from functools import cached_property
from pathlib import Path
from typing import Any

from adjoint.errors import InternalError


class NvidiaLibrary:
    """One of them: the names of its files, the newest first, and the types of its calls."""

    def __init__(self, title: str, names: Sequence[str], calls: Mapping[str, tuple[Any, ...]]):
        self.title, self._names, self._calls = title, names, calls

    @cached_property
    def loaded(self) -> Any:
        """The library; None if it is not installed."""
        found = [folder / name for name in self._names for folder in folders()]
        for name in (*(str(path) for path in found if path.exists()), *self._names):
            try:
                library = ctypes.CDLL(name)
                for call, types in self._calls.items():
                    getattr(library, call).argtypes = types
            except (OSError, AttributeError):  # it is not there, or too old
                continue
            return library
        return None

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function, which must succeed."""
        status = getattr(self.loaded, name)(*arguments)
        if status:
            raise InternalError(f"{name} failed ({self.title}, status {status})")

    def made(self, name: str, *arguments: Any) -> c_void_p:
        """What a function makes."""
        found = c_void_p()
        self.call(name, byref(found), *arguments)
        return found


def folders() -> Iterator[Path]:
    """Where Python packages keep NVIDIA's libraries."""
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield from Path(place).glob("*/lib")
        yield from Path(place).glob("*/bin")
