"""Making data fit for training: scaling, labels as vectors, splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.data.dataset import Dataset, split_indices
from adjoint.errors import TrainingError
from adjoint.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Scaling:
    """Mean and standard deviation of each feature, and how to apply them."""

    mean: np.ndarray
    std: np.ndarray  # 1 where a feature is the same in every sample

    @classmethod
    def of(cls, x: Any) -> Scaling:
        """Measured on `x`, whose first axis counts the samples."""
        array = _numbers(x)
        std = array.std(0, dtype=np.float64)
        return cls(array.mean(0, dtype=np.float64), np.where(std > 0, std, 1.0))

    def apply(self, x: Any) -> np.ndarray:
        """`(x - mean) / std`."""
        array = _numbers(x)
        self._check(array)
        return ((array - self.mean) / self.std).astype(_float(array))

    def undo(self, x: Any) -> np.ndarray:
        """`x * std + mean`."""
        array = _numbers(x)
        self._check(array)
        return (array * self.std + self.mean).astype(_float(array))

    def _check(self, array: np.ndarray) -> None:
        if array.shape[1:] != self.mean.shape:
            problem = f"measured on features {list(self.mean.shape)}"
            raise TrainingError("E9003", problem, op="standardise", operands=[("x", array)])


def standardise(train: Any, *others: Any, field: str = "x") -> Any:
    """Each feature with mean 0 and deviation 1 over `train`; others are shifted and scaled alike.

    Takes datasets, of which one field changes, or arrays: `train, test = standardise(train, test)`.
    """
    scaling = Scaling.of(train[field] if isinstance(train, Dataset) else train)
    changed = tuple(_scaled(scaling, part, field) for part in (train, *others))
    return changed if others else changed[0]


def _scaled(scaling: Scaling, part: Any, field: str) -> Any:
    if isinstance(part, Dataset):
        return part.with_fields(**{field: scaling.apply(part[field])})
    return scaling.apply(part)


def one_hot(labels: Any, classes: int | None = None) -> np.ndarray:
    """float32[n, classes] with a 1 at each label; as many classes as there are labels if None."""
    array = check_labels(labels, classes)
    count = classes if classes is not None else int(array.max(initial=-1)) + 1
    return (array[..., None] == np.arange(count)).astype(np.float32)


def check_labels(labels: Any, classes: int | None = None) -> np.ndarray:
    """The labels as int64, if they are whole numbers from 0 to below `classes`; else an error that
    says which is not."""
    array = labels.numpy() if isinstance(labels, Tensor) else np.asarray(labels)
    if array.dtype.kind not in "biuf":
        raise TrainingError("E9003", f"labels are {array.dtype}, not numbers", op="labels")
    limit = np.inf if classes is None else classes
    with np.errstate(invalid="ignore"):
        wrong = ~((array >= 0) & (array < limit) & (array == np.floor(array)))
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = place[0] if len(place) == 1 else list(place)
        upto = "0 and up" if classes is None else f"0 to {classes - 1}"
        problem = f"label {array[place]} of sample {where} is not a class: they are {upto}"
        fix = "number the classes from 0 without gaps: np.unique(labels, return_inverse=True)[1]"
        raise TrainingError("E9003", problem, op="labels", help=fix)
    return array.astype(np.int64)


def train_test_split(*arrays: Any, test: float = 0.2, seed: int = 0, by: Any = None) -> list[Any]:
    """`x_train, x_test, y_train, y_test = train_test_split(x, y, by=y)`; of datasets likewise.

    `by` are labels whose shares are kept in both parts.
    """
    if len({len(array) for array in arrays}) != 1:
        problem = "the arrays differ in length" if arrays else "there is nothing to split"
        operands = [(f"array {i}", np.asarray(a)) for i, a in enumerate(arrays)]
        raise TrainingError("E9003", problem, op="train_test_split", operands=operands)
    if not 0 < test < 1:
        problem = f"test={test!r} is a fraction of the samples, between 0 and 1"
        raise TrainingError("E9003", problem, op="train_test_split")
    parts = split_indices(len(arrays[0]), 1 - test, seed, by)
    whole = [a if isinstance(a, Dataset) else np.asarray(a) for a in arrays]
    return [array[part] for array in whole for part in parts]


def _numbers(x: Any) -> np.ndarray:
    array = x.numpy() if isinstance(x, Tensor) else np.asarray(x)
    if array.ndim == 0 or array.dtype.kind not in "biuf":
        problem = "needs an array of numbers whose first axis counts the samples"
        raise TrainingError("E9003", problem, op="standardise", operands=[("x", array)])
    if len(array) == 0:
        raise TrainingError("E9003", "there are no samples", op="standardise")
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        where = [int(i) for i in bad[0]]
        problem, fix = f"x{where} is {array[tuple(bad[0])]}", "drop or fill such samples first"
        raise TrainingError("E9003", problem, op="standardise", help=fix)
    return array


def _float(array: np.ndarray) -> np.dtype:
    return array.dtype if array.dtype.kind == "f" else np.dtype(np.float32)
