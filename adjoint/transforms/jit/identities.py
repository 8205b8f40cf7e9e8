"""Compares many objects with others by identity, in one go.

`all(map(is_, …))` calls a function for each of them. CPython stores the addresses of a tuple's
items consecutively behind its header, so two tuples have the same items exactly if these bytes are
equal. The module checks this layout once; where it does not hold, it compares each object. What may
live here: that comparison.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable
from operator import is_
from typing import Any

_HEADER, _WORD = tuple.__basicsize__, tuple.__itemsize__
Compare = Callable[[int, int, int], int]


class Identities:
    """Some objects, which others may be."""

    __slots__ = ("_address", "_bytes", "_objects")

    def __init__(self, objects: Iterable[Any]):
        self._objects = tuple(objects)
        self._address = id(self._objects) + _HEADER
        self._bytes = len(self._objects) * _WORD

    def are(self, others: tuple[Any, ...]) -> bool:
        """Whether the others are these, one by one."""
        objects = self._objects
        if len(others) != len(objects):
            return False
        if _differ is None:
            return all(map(is_, others, objects))
        return not _differ(id(others) + _HEADER, self._address, self._bytes)


def _comparison() -> Compare | None:
    """What compares bytes in memory, the interpreter's lock held; None if tuples are not in memory
    as they are said to be."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != _WORD:
        return None
    probe = (object(), None, object())
    words = (ctypes.c_void_p * len(probe)).from_address(id(probe) + _HEADER)
    if list(words) != list(map(id, probe)):
        return None
    found = ctypes.PyDLL(None).memcmp
    found.argtypes, found.restype = (
        (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t),
        ctypes.c_int,
    )
    return found


_differ = _comparison()
