"""`counters()`: kernels, library calls, host steps, compiles, arithmetic, bytes, seconds of a
block.

Counting is off outside of `with counters()`; off, it costs one read of a list. What may live here:
the numbers. What may not: how anything runs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, Self


@dataclass(slots=True)
class Counters:
    """`with counters() as c: ...` counts what runs inside, in this process, in any thread."""

    runs: int = 0
    kernels: int = 0
    library: int = 0
    host: int = 0
    control: int = 0
    compiles: int = 0  # kernels of new programs
    sources: int = 0  # of these, the ones whose source the process had not seen before
    flops: int = 0
    bytes: int = 0
    seconds: float = 0.0

    def __call__(self) -> Counters:
        """A fresh set of counters."""
        return Counters()

    def __enter__(self) -> Self:
        active.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        active[:] = [c for c in active if c is not self]

    def reset(self) -> None:
        """All to zero."""
        for field in fields(self):
            setattr(self, field.name, field.default)

    def add(self, **amounts: Any) -> None:
        """Count these."""
        for name, amount in amounts.items():
            setattr(self, name, getattr(self, name) + amount)

    def __str__(self) -> str:
        rate = f", {self.flops / self.seconds / 1e9:.2f} GFLOP/s" if self.seconds else ""
        return (
            f"{self.runs} runs: {self.kernels} kernels, {self.library} library calls, "
            f"{self.host} host steps, {self.control} loops and branches, "
            f"{self.compiles} compiles ({self.sources} new sources), "
            f"{self.flops} flops, {self.bytes} bytes, "
            f"{self.seconds * 1e3:.3f} ms{rate}"
        )


active: list[Counters] = []  # those that are entered
counters = Counters()


_thread = threading.local()


@contextmanager
def muted() -> Iterator[None]:
    """No counters count what this thread does inside."""
    before = getattr(_thread, "muted", False)
    _thread.muted = True
    try:
        yield
    finally:
        _thread.muted = before


def count(**amounts: Any) -> None:
    """Add to all counters that are entered."""
    if not getattr(_thread, "muted", False):
        for entered in active:
            entered.add(**amounts)


now = time.perf_counter
