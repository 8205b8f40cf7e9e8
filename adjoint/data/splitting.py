"""Which samples go to which side of a split."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.errors import TrainingError


def split_indices(
    length: int, fraction: float, seed: int = 0, labels: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the samples of two parts, the first with this fraction of them, both shuffled.

    With `labels` both parts have the same share of every class, as nearly as whole numbers can.
    """
    count = _first_count(length, fraction)
    rng = np.random.default_rng(seed)
    order = rng.permutation(length)
    if labels is None:
        return order[:count], order[count:]
    first = np.zeros(length, bool)
    first[_chosen(order, _classes(labels, length), count)] = True
    return order[first[order]], order[~first[order]]


def _first_count(length: int, fraction: float) -> int:
    if not isinstance(fraction, (int, float, np.number)) or not 0 < fraction < 1:
        problem, fix = f"cannot split off {fraction!r} of the samples", "between 0 and 1, as in 0.8"
        raise TrainingError("E9003", problem, op="split", help=fix)
    if length < 2:
        raise TrainingError("E9003", f"{length} samples cannot be split in two", op="split")
    return min(max(int(length * fraction + 0.5), 1), length - 1)


def _classes(labels: Any, length: int) -> np.ndarray:
    array = np.asarray(labels)
    if array.shape != (length,):
        problem = f"splitting {length} samples by class needs as many labels"
        raise TrainingError("E9003", problem, op="split", operands=[("labels", array)])
    return np.unique(array, return_inverse=True)[1].reshape(-1)


def _chosen(order: np.ndarray, classes: np.ndarray, count: int) -> np.ndarray:
    """The first of each class in `order`; the shares are rounded so that they add up to `count`."""
    sizes = np.bincount(classes)
    shares = sizes * (count / len(classes))
    wanted = np.floor(shares).astype(int)
    by_remainder = np.argsort(wanted - shares, kind="stable")
    wanted[by_remainder[: count - wanted.sum()]] += 1
    shuffled = classes[order]
    return np.concatenate([order[shuffled == c][:n] for c, n in enumerate(wanted)])
