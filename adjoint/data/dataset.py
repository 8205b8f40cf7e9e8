"""Datasets: samples that have a number each.

Elsewhere: batches (`batches.py`), files, particular data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from adjoint.errors import ArgumentError, BoundsError, TrainingError, UnknownNameError, did_you_mean
from adjoint.tensor import Tensor

_POSITIONAL = ("x", "y")


class Samples:
    """What every dataset here can do; anything with `__len__` and `__getitem__` fits a `Loader`."""

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def subset(self, indices: Sequence[int] | np.ndarray) -> Samples:
        """The samples with these numbers."""
        return Subset(self, indices)

    def map(self, fn: Callable[..., Any]) -> Mapped:
        """`fn(*sample)` in place of each sample, computed whenever one is read."""
        return Mapped(self, fn)

    def split(self, fraction: float, seed: int = 0, by: Any = None) -> tuple[Any, Any]:
        """Two parts of it, shuffled: the first has this fraction of the samples, the second the
        rest. `by` (labels, or the name of a field) keeps the share of every class in both."""
        first, second = split_indices(len(self), fraction, seed, self._labels(by))
        return self.subset(first), self.subset(second)

    def _labels(self, by: Any) -> Any:
        if isinstance(by, str):
            fix = "give the labels themselves: split(0.8, by=labels)"
            raise TrainingError("E9003", f"there is no field {by!r} to split by", help=fix)
        return by


class Dataset(Samples):
    """Arrays with one first axis, by name: `Dataset(x, y)` or `Dataset(image=..., label=...)`.

    `dataset[3]` is a tuple with sample 3 of every field, `dataset[:100]` a dataset, `dataset.x` and
    `dataset["x"]` are whole fields. `feature_names` and `class_names` are there for people.
    """

    feature_names: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()

    def __init__(self, /, *arrays: Any, **fields: Any):
        if len(arrays) > len(_POSITIONAL):
            problem = f"{len(arrays)} arrays without a name; only x and y go without"
            raise ArgumentError("E2007", problem, op="Dataset", help="Dataset(x, y, weight=w)")
        named = {**dict(zip(_POSITIONAL, arrays, strict=False)), **fields}
        self.fields = {name: _as_field(name, value) for name, value in named.items()}
        _check_lengths(self.fields)

    def __len__(self) -> int:
        return len(next(iter(self.fields.values())))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            return self._field(index)
        if not isinstance(index, (int, np.integer)):
            return self.subset(index)
        if not -len(self) <= index < len(self):
            problem = f"sample {index} of {len(self)}"
            raise BoundsError("E6001", problem, op="Dataset")
        return tuple(array[index] for array in self.fields.values())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "fields":
            raise AttributeError(name)
        return self._field(name)

    def _field(self, name: str) -> np.ndarray:
        if name not in self.fields:
            near = did_you_mean(name, self.fields) or f"it has {', '.join(self.fields)}"
            raise UnknownNameError("E2002", f"Dataset has no field {name!r}", help=near)
        return self.fields[name]

    def __repr__(self) -> str:
        kinds = [f"{n} {a.dtype}{list(a.shape[1:])}" for n, a in self.fields.items()]
        return f"Dataset({len(self)} samples: {', '.join(kinds)})"

    def named(self, features: Sequence[str] = (), classes: Sequence[str] = ()) -> Self:
        """Itself, with names of features and classes."""
        self.feature_names, self.class_names = tuple(features), tuple(classes)
        return self

    def with_fields(self, **fields: Any) -> Dataset:
        """These fields in place of those with the same name, or beside the others."""
        changed = Dataset(**{**self.fields, **fields})
        return changed.named(self.feature_names, self.class_names)

    def take(self, indices: Any) -> tuple[np.ndarray, ...]:
        """Several samples at once: an array per field."""
        return tuple(array[indices] for array in self.fields.values())

    def subset(self, indices: Any) -> Dataset:
        """The samples with these numbers, a slice, or those where a mask is true."""
        chosen = indices if isinstance(indices, slice) else _checked(indices, len(self))
        taken = dict(zip(self.fields, self.take(chosen), strict=True))
        return Dataset(**taken).named(self.feature_names, self.class_names)

    def _labels(self, by: Any) -> Any:
        return self._field(by) if isinstance(by, str) else by


class Mapped(Samples):
    """A function of the samples of another dataset, which may be any object with numbered samples.

    For `Loader(..., workers=2)` the function has to be one that `pickle` knows: written with `def`
    at the top level of a file.
    """

    def __init__(self, source: Any, fn: Callable[..., Any]):
        self.source, self.fn = source, fn

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: int) -> Any:
        sample = self.source[index]
        return self.fn(*sample) if isinstance(sample, tuple) else self.fn(sample)

    def __repr__(self) -> str:
        return f"Mapped({self.source!r}, {getattr(self.fn, '__name__', self.fn)})"

    def subset(self, indices: Any) -> Mapped:
        """The samples with these numbers."""
        chosen = getattr(self.source, "subset", None)
        return Mapped(chosen(indices) if chosen else Subset(self.source, indices), self.fn)

    def _labels(self, by: Any) -> Any:
        return self.source._labels(by) if isinstance(self.source, Samples) else super()._labels(by)


class Subset(Samples):
    """Some samples of another dataset, by their numbers."""

    def __init__(self, source: Any, indices: Any):
        self.source, self.indices = source, _checked(indices, len(source))

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Any:
        if not -len(self) <= index < len(self):
            raise BoundsError("E6001", f"sample {index} of {len(self)}", op="Subset")
        return self.source[int(self.indices[index])]

    def __repr__(self) -> str:
        return f"Subset({len(self)} of {self.source!r})"


def _as_field(name: str, value: Any) -> np.ndarray:
    try:
        array = value.numpy() if isinstance(value, Tensor) else np.asarray(value)
    except ValueError as error:
        problem = f"field {name!r} is not an array: {error}"
        raise TrainingError("E9003", problem, op="Dataset") from None
    if array.dtype == object or array.ndim == 0:
        what = "one number" if array.ndim == 0 else "Python objects"
        problem, fix = (
            f"field {name!r} is {what}, not an array",
            "its first axis counts the samples",
        )
        raise TrainingError("E9003", problem, op="Dataset", help=fix)
    return array


def _check_lengths(fields: dict[str, np.ndarray]) -> None:
    if not fields:
        raise TrainingError("E9003", "a dataset needs a field", op="Dataset", help="Dataset(x, y)")
    if len({len(array) for array in fields.values()}) > 1:
        problem, fix = "the fields differ in length", "the first axis of all counts the samples"
        operands = list(fields.items())
        raise TrainingError("E9003", problem, op="Dataset", operands=operands, help=fix)


def _checked(indices: Any, length: int) -> np.ndarray:
    chosen = np.asarray(indices)
    if chosen.dtype == bool and chosen.shape == (length,):
        return np.flatnonzero(chosen)
    if chosen.size == 0:
        return np.zeros(0, np.int64)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        problem = f"samples are chosen by whole numbers, a slice or a mask of {length}"
        raise TrainingError("E9003", problem, op="Dataset", operands=[("index", chosen)])
    if chosen.min() < -length or chosen.max() >= length:
        far = chosen[(chosen < -length) | (chosen >= length)][0]
        raise BoundsError("E6001", f"sample {far} of {length}", op="Dataset")
    return chosen


# ---- which samples go to which side of a split


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
