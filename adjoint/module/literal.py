"""Literals of many numbers: reading them from tokens, and fitting them to a type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.ir.dtype import DType
from adjoint.module.instruction import MAX_LITERAL, MAX_NESTING, Shape, TensorType, fault, size_of
from adjoint.module.numbers import exact, literal_bytes, narrowed
from adjoint.module.tokens import Tokens


@dataclass(frozen=True, slots=True)
class Literal:
    """Numbers in row-major order, and the shape of the lists they came in."""

    values: list[Any]
    shape: Shape

    def data(self, kind: TensorType) -> bytes:
        """The bytes of the elements, if they are elements of this type [E3010, E4005]."""
        if isinstance(kind.dtype, tuple):
            raise fault("E2003", "a literal has one tensor type")
        if not self._fits(kind.shape):
            problem = f"the literal has the shape {list(self.shape)}, not {list(kind.shape)}"
            raise fault("E3010", problem)
        if size_of(kind.shape) != len(self.values):
            raise fault("E4005", f"{len(self.values)} numbers do not fill {list(kind.shape)}")
        return _converted(self.values, kind.dtype)

    def _fits(self, shape: Shape) -> bool:
        """Lists end at the first dimension of extent 0."""
        own = self.shape
        return own == shape or (own == shape[: len(own)] and own[-1:] == (0,))


def _converted(values: list[Any], dtype: DType) -> bytes:
    kinds = set(map(type, values))
    if dtype.is_int and kinds <= {int} and values:
        exact(min(values), dtype)
        exact(max(values), dtype)
        return literal_bytes(values, dtype)
    if dtype.is_float and kinds <= {float}:
        wide = np.array(values, np.float64)
        narrow = narrowed(wide, dtype)
        if np.array_equal(np.isinf(narrow), np.isinf(wide)):
            return literal_bytes(narrow, dtype)
    return literal_bytes([exact(v, dtype) for v in values], dtype)


def read_literal(t: Tokens, element: Callable[[], Any]) -> Literal:
    """A number, or lists of numbers in lists, all of one length per level [E3010]."""
    values: list[Any] = []
    open_counts: list[int] = []  # items so far in each list that is open
    extents: list[int | None] = []  # the length of the lists of each level, once one is closed
    leaf = -1  # the level of the numbers
    while True:
        if t.has("["):
            level = len(open_counts)
            if level >= MAX_NESTING:
                t.fail("E2006", f"nested more than {MAX_NESTING} deep")
            if leaf == level:
                t.fail("E3010", "the literal is ragged: a list stands beside numbers")
            open_counts.append(0)
            if len(extents) == level:
                extents.append(None)
            if not (t.text == "]" and t.kind == "sign"):
                continue
        else:
            leaf = _leaf_level(t, leaf, open_counts, extents)
            values.append(element())
            if len(values) > MAX_LITERAL:
                t.fail("E2006", f"a literal has more than {MAX_LITERAL} numbers")
            if not open_counts:
                return Literal(values, ())
            open_counts[-1] += 1
        if _close(t, open_counts, extents):
            return Literal(values, tuple(n for n in extents if n is not None))


def _leaf_level(t: Tokens, leaf: int, counts: list[int], extents: list[int | None]) -> int:
    level = len(counts)
    if leaf not in (-1, level) or len(extents) > level:
        t.fail("E3010", "the literal is ragged: a number stands beside lists")
    return level


def _close(t: Tokens, counts: list[int], extents: list[int | None]) -> bool:
    """Past a comma, or past the ends of lists; True when the last one is closed."""
    while True:
        if t.has(",") and not (t.text == "]" and t.kind == "sign"):
            return False
        start = t.start
        t.expect("]")
        count = counts.pop()
        level = len(counts)
        known = extents[level]
        if known is not None and known != count:
            t.fail("E3010", "the literal is ragged: lists differ in length", start=start)
        extents[level] = count
        if not counts:
            return True
        counts[-1] += 1
