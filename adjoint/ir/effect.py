"""`Effect`: a node's effect besides its value: it calls a Python function on arrays.

An effect is an attribute of a TAP node. Two effects are never equal, so that two prints of the same
value stay two. Elsewhere: how it gets into a graph (`transforms/effects.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

_muted: ContextVar[bool] = ContextVar("effects_muted", default=False)


class Effect:
    """`perform(arrays)` each time the node is computed. Effects of one `key` do the same."""

    __slots__ = ("__name__", "key", "perform")
    made = 0  # in this process: without any, no graph is searched for effects

    def __init__(self, name: str, perform: Callable[[Sequence[Any]], None], key: Hashable):
        self.__name__, self.perform, self.key = name, perform, key
        Effect.made += 1

    def __call__(self, arrays: Sequence[Any]) -> None:
        """On copies: the memory of a program is written again."""
        if not _muted.get():
            self.perform([np.array(a) for a in arrays])

    def __repr__(self) -> str:
        return f"@{self.__name__}"


@contextmanager
def effects_muted() -> Iterator[None]:
    """Code inside recomputes values: its effects have happened before and are muted."""
    token = _muted.set(True)
    try:
        yield
    finally:
        _muted.reset(token)
