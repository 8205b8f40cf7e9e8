"""Samples of one structure → a batch of that structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.errors import TrainingError
from adjoint.tensor import Tensor


def collate(samples: Sequence[Any]) -> Any:
    """Samples of one structure, stacked: numbers and arrays become arrays with an axis in front,
    tuples, lists and dictionaries are kept, texts become a list.

    Python's floats are float32 and its whole numbers int64; arrays keep their dtype.
    """
    return _stacked(samples, "sample")


def _stacked(values: Sequence[Any], place: str) -> Any:
    first = values[0]
    if any(isinstance(v, (str, bytes)) for v in values):
        _same(["text" if isinstance(v, (str, bytes)) else type(v) for v in values], place)
        return list(values)
    if isinstance(first, dict):
        keys = _same([tuple(v) if isinstance(v, dict) else type(v) for v in values], place)
        return {key: _stacked([v[key] for v in values], f"{place}[{key!r}]") for key in keys}
    if isinstance(first, (tuple, list)):
        return _columns(values, place)
    return _array([_as_array(v, place) for v in values], place)


def _columns(values: Sequence[Any], place: str) -> Any:
    kind = type(values[0])
    length = len(values[0])
    _same([(type(v), len(v) if isinstance(v, kind) else -1) for v in values], place)
    parts = [_stacked([v[i] for v in values], f"{place}[{i}]") for i in range(length)]
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def _as_array(value: Any, place: str) -> np.ndarray:
    if isinstance(value, float) and not isinstance(value, np.generic):
        return np.asarray(value, np.float32)
    array = value.numpy() if isinstance(value, Tensor) else np.asarray(value)
    if array.dtype == object:
        fix = "return numbers, arrays, texts, or tuples and dictionaries of them; or give `collate`"
        problem = f"{place} is a {type(value).__name__}, which cannot be stacked"
        raise TrainingError("E9003", problem, op="collate", help=fix)
    return array


def _array(arrays: list[np.ndarray], place: str) -> np.ndarray:
    _same([array.shape for array in arrays], f"shape of {place}")
    return np.stack(arrays)


def _same(kinds: list[Any], place: str) -> Any:
    """The one value that all have in common."""
    for number, kind in enumerate(kinds):
        if kind != kinds[0]:
            problem = (
                f"the samples of a batch differ in the {place}: {kinds[0]} in the first, {kind} "
                f"in number {number}"
            )
            fix = "make them alike in the dataset, or give `collate`"
            raise TrainingError("E9003", problem, op="collate", help=fix)
    return kinds[0]
