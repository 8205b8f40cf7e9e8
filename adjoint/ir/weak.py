"""Objects by identity: weak references, and keys that are one object.

Such a reference runs no Python code when its object dies. Python lets a signal handler run in the
middle of a callback, and then ignores what the handler raises: a Ctrl-C would be lost. So callbacks
for short-lived objects are C functions.
"""

from __future__ import annotations

from _weakref import (  # type: ignore[attr-defined]
    _remove_dead_weakref as remove_dead,  # (table, key); what `weakref` itself uses
)
from collections.abc import Callable
from functools import partial
from operator import methodcaller
from typing import Any, Generic, TypeVar
from weakref import ref

T = TypeVar("T")


class Dropping(ref[T]):
    """A reference that calls its `drop`, a function without arguments, in the end."""

    __slots__ = ("drop",)
    drop: Callable[[], Any]


drop: Any = methodcaller("drop")  # the callback


class SameObject:
    """An object as a key: equal only to itself, and alive as long as the key."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameObject) and other.value is self.value


class WeakTable(Generic[T]):
    """Objects by identity, each as long as it lives; threads may add and read at the same time."""

    __slots__ = ("references",)

    def __init__(self) -> None:
        self.references: dict[int, Dropping[T]] = {}

    def add(self, item: T) -> None:
        reference = Dropping(item, drop)
        reference.drop = partial(remove_dead, self.references, id(item))
        self.references[id(item)] = reference

    def all(self) -> list[T]:
        """The present contents: the table is copied at once, whatever other threads add."""
        return [item for ref in list(self.references.values()) if (item := ref()) is not None]

    def taken(self) -> list[T]:
        """The previous contents; the table is empty afterwards."""
        found = self.all()
        for item in found:
            self.references.pop(id(item), None)
        return found


__all__ = ["Dropping", "SameObject", "WeakTable", "drop", "remove_dead"]
