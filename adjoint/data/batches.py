"""Which samples are in which batch, and loading one batch: the same in every process."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from adjoint.data.collate import collate
from adjoint.data.dataset import Dataset
from adjoint.errors import TrainingError
from adjoint.tensor.random import stream


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The batches of every epoch; nothing else decides about their order."""

    length: int
    batch_size: int
    shuffle: bool
    seed: int
    drop_last: bool
    rank: int = 0  # of so many members, each of which loads its part of every batch
    size: int = 1

    @property
    def batches(self) -> int:
        """How many there are in an epoch."""
        whole, rest = divmod(self.length, self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def indices(self, epoch: int, number: int) -> np.ndarray:
        """The samples of a batch, or of this member's part of it."""
        begin = number * self.batch_size
        count = min(self.batch_size, self.length - begin)
        first, last = (begin + count * part // self.size for part in (self.rank, self.rank + 1))
        if not self.shuffle:
            return np.arange(first, last)
        return _permutation(self.seed, epoch, self.length)[first:last]


@lru_cache(maxsize=2)
def _permutation(seed: int, epoch: int, length: int) -> np.ndarray:
    return np.random.default_rng([seed, epoch]).permutation(length)


@dataclass(frozen=True, slots=True)
class Job:
    """All that is needed to load any batch; what workers get."""

    dataset: Any
    plan: BatchPlan
    collate: Callable[[Sequence[Any]], Any] = collate

    def load(self, epoch: int, number: int) -> Any:
        """A batch. It depends only on the arguments, if the dataset draws its random numbers from
        `random`, `numpy.random` or `Tensor`: they are seeded for each batch.
        """
        indices = self.plan.indices(epoch, number)
        if self._whole():
            data = self.dataset
            return data[indices] if isinstance(data, np.ndarray) else data.take(indices)
        with _seeded(self.plan.seed, epoch, number):
            try:
                samples = [self._sample(int(i), epoch, number) for i in indices]
                return self._collated(samples, indices, epoch, number)
            except StopIteration as error:  # an iterator that raises it would just seem to end
                raise TrainingError("E9003", "the dataset raised StopIteration") from error

    def _whole(self) -> bool:
        """Whether a batch can be cut out of arrays."""
        if self.collate is not collate:
            return False
        kind = type(self.dataset)
        if kind is np.ndarray:
            return bool(self.dataset.dtype != object)
        return isinstance(self.dataset, Dataset) and kind.__getitem__ is Dataset.__getitem__

    def _sample(self, index: int, epoch: int, number: int) -> Any:
        try:
            return self.dataset[index]
        except Exception as error:
            error.add_note(f"while loading sample {index} (batch {number} of epoch {epoch})")
            raise

    def _collated(self, samples: list[Any], indices: Any, epoch: int, number: int) -> Any:
        try:
            return self.collate(samples)
        except Exception as error:
            listed = shown(indices)
            error.add_note(f"while joining {listed} to batch {number} of epoch {epoch}")
            raise


def shown(indices: np.ndarray) -> str:
    """`samples 3, 7, 1 and 29 more`."""
    first = ", ".join(str(int(i)) for i in indices[:3])
    return f"samples {first}" + (f" and {len(indices) - 3} more" if len(indices) > 3 else "")


@contextmanager
def _seeded(seed: int, epoch: int, number: int) -> Iterator[None]:
    """The global generators, seeded for one batch and then left as they were."""
    before, numpy_before, drawn = random.getstate(), np.random.get_state(), stream.state()
    words = np.random.SeedSequence([seed, epoch, number]).generate_state(4)
    random.seed(words.tobytes())
    np.random.seed(words)
    stream.reset(int(words[0]))
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(numpy_before)
        stream.restore(*drawn)
