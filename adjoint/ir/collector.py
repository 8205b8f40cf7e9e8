"""Python's cyclic garbage collector and graphs: nodes form no cycles, so it only costs time here.

What may live here: pausing it. What may not: anything about nodes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """What is built inside stays: a collection would walk all of it and find nothing to free."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
