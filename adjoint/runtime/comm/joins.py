"""The order in which values of members are joined: neighbours first, then pairs of pairs.

What may live here: the arithmetic of a join and its order. What may not: who sends what to whom.

((0 + 1) + (2 + 3)) + 4: the order depends only on the number of members, so neither the algorithm
nor the library that carries the bytes affects the bits. Values of 16 bits are added in float32 and
rounded once per addition, as Adjoint's `add` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes  # noqa: F401  (gives NumPy the arithmetic of bfloat16)
import numpy as np

from adjoint.errors import InternalError

Array = np.ndarray[Any, Any]
CHUNK = 1 << 16  # bytes of a part that are joined at a time: those of eight members stay in a cache
_UFUNCS = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}


def join(kind: str, first: Array, second: Array, out: Array) -> None:
    """`out` = the values of lower ranks joined with those of higher ones; it may be either."""
    with np.errstate(all="ignore"):
        _UFUNCS[kind](first, second, out=out)


def join_all(kind: str, parts: Sequence[Array], out: Array) -> None:
    """`out`, which overlaps no part, = the parts of members 0, 1, 2, … joined."""
    if not parts:
        raise InternalError("there is nothing to join")
    if len(parts) <= 2:  # nothing lies between
        _join_level(kind, list(parts), out, out)
        return
    if not out.flags.c_contiguous:
        raise InternalError("parts are joined into memory that lies in a row")
    flat, rows = out.reshape(-1), [part.reshape(-1) for part in parts]
    length = max(CHUNK // out.itemsize, 1)
    between = np.empty((len(parts) // 2, min(length, out.size)), out.dtype)
    for begin in range(0, out.size, length):
        here = slice(begin, begin + length)
        _join_level(kind, [row[here] for row in rows], between, flat[here])


def _join_level(kind: str, level: list[Array], between: Array, out: Array) -> None:
    """Neighbours are joined in `between`, until there are two; the parts stay as they are."""
    while len(level) > 2:
        joined = list(between[: len(level) // 2, : out.size])
        for i, half in enumerate(joined):
            join(kind, level[2 * i], level[2 * i + 1], half)
        level = joined + level[2 * len(joined) :]
    if len(level) == 2:
        join(kind, level[0], level[1], out)
    else:
        np.copyto(out, level[0])
