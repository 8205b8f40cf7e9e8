"""Python's cyclic garbage collector and graphs: nodes form no cycles, so it only costs time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Objects built inside stay alive: a collection would walk all of them and find nothing to
    free.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


_RARE = 100_000  # objects; Python's own measure is 700, and a node is four


@contextmanager
def collector_rare() -> Iterator[None]:
    """Collections become rare inside, where a user's function builds a graph: they took a sixth of
    the time of `grad`. Whatever cycles the function leaves behind are still found in the end."""
    usual = gc.get_threshold()
    if not 0 < usual[0] < _RARE:  # off, or rare already: an outer pause restores it
        yield
        return
    rare = (_RARE, *usual[1:])
    gc.set_threshold(*rare)
    try:
        yield
    finally:
        if gc.get_threshold() == rare:  # else the function has chosen its own
            gc.set_threshold(*usual)
