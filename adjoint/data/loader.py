"""`Loader`: a dataset in batches, epoch after epoch.

Elsewhere: how a batch is loaded (`batches.py`), processes (`workers.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from adjoint.data.batches import BatchPlan, Job
from adjoint.data.collate import collate as default_collate
from adjoint.data.workers import WorkerPool
from adjoint.errors import TrainingError
from adjoint.tensor import Tensor
from adjoint.transforms.pytree import tree_map

_STATE = ("epoch", "position", "seed", "length", "batch_size", "shuffle", "drop_last")


class Loader:
    """Batches of a dataset: of anything with `__len__` and `__getitem__`.

    Iterating is one epoch; the next iteration is the next one, with another order if `shuffle`.
    Order and contents follow from `seed` and the epoch alone, whatever the number of workers.
    Workers are processes that load `prefetch` batches ahead each; 0 loads in this one. They end
    with the iteration, or, if `persistent`, with `close()` or the end of a `with`. `timeout` is the
    limit in seconds for one batch of theirs. Batches are NumPy arrays in the structure of a sample,
    or tensors if `tensors`; `collate` makes another batch of samples.

    If `size` members run a program, member `rank` loads its part of every batch: the parts of all
    members, concatenated, are the batch that one member would load. The state of a loader is the
    same for all of them, and works for any number of members.

    `state_dict()` records the position of the loader, also in the middle of an epoch:
    `load_state_dict` of an equal loader continues there with the same batches.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        seed: int = 0,
        workers: int = 0,
        prefetch: int = 2,
        drop_last: bool = False,
        *,
        collate: Callable[[Sequence[Any]], Any] | None = None,
        timeout: float | None = None,
        persistent: bool = False,
        tensors: bool = False,
        rank: int = 0,
        size: int = 1,
    ):
        length = _length(dataset)
        rows = _whole("batch_size", batch_size, 1)
        member = _member(rank, size)
        plan = BatchPlan(
            length, rows, bool(shuffle), _whole("seed", seed, 0), bool(drop_last), *member
        )
        self._job = Job(dataset, plan, collate or default_collate)
        self._workers = _whole("workers", workers, 0)
        self._prefetch = _whole("prefetch", prefetch, 1)
        self._timeout, self._persistent, self._tensors = _seconds(timeout), persistent, tensors
        self._epoch, self._position, self._restored = 0, 0, False
        self._pool: WorkerPool | None = None

    @property
    def dataset(self) -> Any:
        """What the samples come from."""
        return self._job.dataset

    @property
    def epoch(self) -> int:
        """The epoch that is being loaded, or will be next."""
        return self._epoch

    def __len__(self) -> int:
        """Batches in an epoch."""
        return self._job.plan.batches

    def __iter__(self) -> Iterator[Any]:
        if self._position and not self._restored:
            self._epoch, self._position = self._epoch + 1, 0  # the last one was left early
        self._restored = False
        return self._run()

    def forever(self) -> Iterator[Any]:
        """Batches of epoch after epoch, without an end."""
        if not len(self):
            problem = f"{len(self.dataset)} samples give no batch, so there is nothing to repeat"
            raise TrainingError("E9003", problem, op="Loader")
        while True:
            yield from self

    def _run(self) -> Iterator[Any]:
        epoch, first = self._epoch, self._position
        for number, batch in enumerate(self._batches(epoch, first), first):
            self._epoch, self._position = epoch, number + 1
            yield self._finished(batch)
        self._epoch, self._position = epoch + 1, 0

    def _batches(self, epoch: int, first: int) -> Iterator[Any]:
        if not self._workers or first >= len(self):
            yield from (self._job.load(epoch, number) for number in range(first, len(self)))
            return
        pool = self._pool or WorkerPool(self._job, self._workers, self._prefetch, self._timeout)
        self._pool, finished = None, False
        try:
            yield from pool.batches(epoch, first, len(self))
            finished = True
        finally:
            self._put_away(pool, finished)

    def _put_away(self, pool: WorkerPool, finished: bool) -> None:
        if self._persistent and finished and self._pool is None:
            self._pool = pool
        else:
            pool.close()

    def _finished(self, batch: Any) -> Any:
        if not self._tensors:
            return batch
        return tree_map(lambda v: Tensor(v) if isinstance(v, np.ndarray) else v, batch)

    def close(self) -> None:
        """End workers that were kept."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def state_dict(self) -> dict[str, Any]:
        """The position, in plain numbers: the epoch, how many of its batches were returned, and the
        settings that determine the order.
        """
        plan = self._job.plan
        stands = {"epoch": self._epoch, "position": self._position}
        return stands | {name: getattr(plan, name) for name in _STATE[2:]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where another loader of the same dataset stood."""
        plan = self._job.plan
        missing = [name for name in _STATE if name not in state]
        if missing:
            problem = f"the state of a loader has no {', '.join(missing)}"
            raise TrainingError("E9002", problem, op="Loader.load_state_dict")
        for name in ("length", "batch_size", "shuffle", "drop_last"):
            if state[name] != getattr(plan, name):
                problem = f"{name} was {state[name]}, and is {getattr(plan, name)}"
                fix = "batches would not be those of the saved run; make the loader as it was"
                raise TrainingError("E9002", problem, op="Loader.load_state_dict", help=fix)
        self._restore(state)

    def _restore(self, state: dict[str, Any]) -> None:
        epoch, position, seed = (_whole(n, state[n], 0) for n in ("epoch", "position", "seed"))
        if position > len(self):
            problem = f"position {position} is past the {len(self)} batches of an epoch"
            raise TrainingError("E9002", problem, op="Loader.load_state_dict")
        self.close()
        self._job = replace(self._job, plan=replace(self._job.plan, seed=seed))
        self._epoch, self._position, self._restored = epoch, position, True


def _length(dataset: Any) -> int:
    if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
        problem = f"a {type(dataset).__name__} has no numbered samples"
        fix = "a dataset has __len__ and __getitem__; list(...) makes one of an iterable"
        raise TrainingError("E9003", problem, op="Loader", help=fix)
    return len(dataset)


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        problem = f"{name} is {value!r}; it is a whole number of at least {least}"
        raise TrainingError("E9003", problem, op="Loader")
    return int(value)


def _member(rank: int, size: int) -> tuple[int, int]:
    size = _whole("size", size, 1)
    if (found := _whole("rank", rank, 0)) >= size:
        raise TrainingError("E9003", f"rank is {rank}, of {size} members", op="Loader")
    return found, size


def _seconds(timeout: float | None) -> float | None:
    if timeout is not None and not timeout > 0:
        problem = f"timeout is {timeout!r}; it is None or more than 0 seconds"
        raise TrainingError("E9003", problem, op="Loader")
    return timeout
