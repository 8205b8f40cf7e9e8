"""How values of members are joined: neighbours first, then pairs of pairs.

What may live here: the arithmetic of a join and its order. What may not: who sends what to whom.

((0 + 1) + (2 + 3)) + 4: the order depends on the number of members and on nothing else, so neither
the algorithm nor the library that carries the bytes shows in the bits. Values of 16 bits are added
in float32 and rounded once per addition, as Adjoint's `add` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes  # noqa: F401  (gives NumPy the arithmetic of bfloat16)
import numpy as np

from adjoint.errors import InternalError

Array = np.ndarray[Any, Any]
_UFUNCS = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}


def join(kind: str, first: Array, second: Array, out: Array) -> None:
    """`out` = the values of lower ranks joined with those of higher ones; it may be either."""
    with np.errstate(all="ignore"):
        _UFUNCS[kind](first, second, out=out)


def join_all(kind: str, parts: Sequence[Array], out: Array) -> None:
    """`out`, which overlaps no part, = the parts of members 0, 1, 2, … joined."""
    if not parts:
        raise InternalError("there is nothing to join")
    if len(parts) == 1:
        np.copyto(out, parts[0])
        return
    if len(parts) == 2:
        join(kind, parts[0], parts[1], out)
        return
    level: list[Array] = []
    for i in range(0, len(parts), 2):
        level.append(parts[i] if i + 1 == len(parts) else _joined(kind, parts[i], parts[i + 1]))
    while len(level) > 2:
        for i in range(0, len(level) - 1, 2):
            join(kind, level[i], level[i + 1], level[i])
        level = level[::2]
    join(kind, level[0], level[1], out)


def _joined(kind: str, first: Array, second: Array) -> Array:
    made = np.empty_like(first)
    join(kind, first, second, made)
    return made
