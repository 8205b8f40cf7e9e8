"""The memory limit of a compiled program: a setting, like those of `exactness.py`.

It changes no bit of any result, only which values are kept and which are recomputed; so it is a
part of the key of a program. What may live here: the setting, and its notation. What may not:
enforcing it (`engine/memory_limits.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from adjoint.errors import ArgumentError

_WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(I?B?)\s*", re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """The bytes that a run may take in all; `donated` are inputs whose memory results may have,
    `replaced` the sizes of values that it does not read, but that live until results replace them
    (gradients of the step before), `name` is the function that set the limit.
    """

    bytes: int
    donated: tuple[int, ...] = ()
    replaced: tuple[int, ...] = ()
    name: str = ""

    @property
    def key(self) -> str:
        """What programs depend on."""
        return f"within {self.bytes} bytes, given {self.donated}, beside {sum(self.replaced)}"


_limit: ContextVar[MemoryLimit | None] = ContextVar("memory_limit", default=None)


def current_limit() -> MemoryLimit | None:
    """The limit of the current compilation."""
    return _limit.get()


def without_donations(limit: MemoryLimit | None) -> MemoryLimit | None:
    """The same for programs that take no memory of their arguments, as those of a mesh."""
    return None if limit is None else replace(limit, donated=())


@contextmanager
def limited(limit: MemoryLimit | None) -> Iterator[None]:
    """Programs compiled inside keep to a limit, or to none."""
    token = _limit.set(limit)
    try:
        yield
    finally:
        _limit.reset(token)


def bytes_of(asked: Any, op: str) -> int:
    """`2_000_000_000`, "2GB", "1.5 GiB", "512M" as bytes; E2008 if it is none of these."""
    found = None
    if isinstance(asked, int) and not isinstance(asked, bool):
        found = asked
    elif isinstance(asked, str) and (match := _WRITTEN.fullmatch(asked)):
        number, prefix, unit = match.groups()
        thousand = 1000 if unit.upper() == "B" else 1024  # MB; M and MiB
        found = int(float(number) * thousand ** _POWERS[prefix.upper()])
    if found is None or found <= 0:
        problem = f"memory_limit is a number of bytes, not {asked!r}"
        fix = 'write it like 2_000_000_000, "2GB" (powers of 1000) or "2GiB" (of 1024)'
        raise ArgumentError("E2008", problem, op=op, help=fix)
    return found
