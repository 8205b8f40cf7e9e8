"""Weak references that run no Python code when what they refer to is gone.

Python lets a signal handler run in the middle of a callback, and then ignores what the handler
raises: a Ctrl-C would be lost. So callbacks for what dies often are C functions. What may live
here: such references.
"""

from __future__ import annotations

from _weakref import (  # type: ignore[attr-defined]
    _remove_dead_weakref as remove_dead,  # (table, key); what `weakref` itself uses
)
from collections.abc import Callable
from functools import partial
from operator import methodcaller
from typing import Any, TypeVar
from weakref import ref

T = TypeVar("T")


class Dropping(ref[T]):
    """A reference that calls its `drop`, a function without arguments, in the end."""

    __slots__ = ("drop",)
    drop: Callable[[], Any]


drop: Any = methodcaller("drop")  # the callback


__all__ = ["Dropping", "drop", "partial", "remove_dead"]
