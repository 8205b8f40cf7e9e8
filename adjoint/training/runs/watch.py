"""A run that is watched: what it measures, and when that is written.

A loop tells it every value that it records; from what the loop was given (a model, an optimiser) it
reads learning rates and norms. What may live here: measuring and the order of writing. What may
not: the log (`log.py`), the page (`page.py`).
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from adjoint.errors import FileError
from adjoint.ir.values import is_known
from adjoint.nn.optim import Optimizer
from adjoint.runtime.allocator import CPU
from adjoint.runtime.memory import counted_memories
from adjoint.tensor import Tensor, no_grad
from adjoint.training.progress import resident_memory
from adjoint.training.runs.event_files import EventFile
from adjoint.training.runs.images import data_address, pixels, png
from adjoint.training.runs.log import LogFile, Run, refused
from adjoint.training.runs.page import save_data, save_watching_page
from adjoint.transforms.pytree import tree_leaves

_LEAST = 1.0  # seconds between two writings of the page's data
_SHARE = 50  # and so many times as long as one writing takes
_LONGEST = 20_000  # characters of a sample
_LEFT = "left early"
_NORMS = 100  # points of the norms over a whole run


class Watch:
    """What is written of one run, in a folder of its own."""

    def __init__(self, folder: Path, name: str, events: bool = False, **facts: Any):
        self.folder, self.run = folder, Run(name, str(folder), time.time())
        self._began = time.perf_counter()
        self._next, self._every, self._broken = 0.0, _LEAST, False
        self._log = LogFile(folder)
        self._events = EventFile(folder, self.run.started) if events else None
        self.page = save_watching_page(folder, f"{name} · Adjoint")
        self._write({"run": name, "started": self.run.started, **facts})
        self.publish()

    # ---- what a loop tells

    def values(self, step: int, values: Mapping[str, float]) -> None:
        """Numbers at a step."""
        self._write({"step": step, "time": self._elapsed(), "values": dict(values)})
        if self._events is not None:
            for name, value in values.items():
                self._going_on(self._events.scalar, name, value, step, time.time())
        self._publish_when_due()

    def before(self, history: Mapping[str, Iterable[tuple[int, float]]]) -> None:
        """The records of a resumed run from before it was stopped."""
        for name, points in history.items():
            for step, value in points:
                self._write({"step": step, "values": {name: value}})

    def sample(self, step: int, name: str, value: Any) -> None:
        """Something to look at: a text, or an image."""
        line = {"step": step, "time": self._elapsed(), "sample": name}
        colours = None if isinstance(value, str) else _colours(value)
        if colours is None:
            self._write(line | {"text": str(value)[:_LONGEST]})
        else:
            self._write(line | {"image": data_address(colours)})
            if self._events is not None:
                write, size = self._events.image, colours.shape
                self._going_on(write, name, png(colours), size, step, time.time())
        self._publish_when_due()

    def end(self, state: str, error: str = "") -> None:
        """The run is over: finished, stopped or failed, of which only the first counts; or left
        early, of which it may be said later why."""
        if self.run.state not in ("running", _LEFT):
            return
        said = {"error": error} if error else {}
        self._write({"ended": state, "time": self._elapsed(), **said})
        self.publish()
        if state == _LEFT:
            return
        self._log.close()
        if self._events is not None:
            self._events.close()

    # ---- writing

    def _elapsed(self) -> float:
        return round(time.perf_counter() - self._began, 4)

    def _write(self, line: dict[str, Any]) -> None:
        self.run.take(line)
        self._going_on(self._log.write, line)

    def _going_on(self, write: Callable[..., None], *what: Any) -> None:
        """A full disk does not stop training: the log ends, with one warning."""
        if self._broken:
            return
        try:
            write(*what)
        except (OSError, FileError) as error:
            self._broken = True
            print(f"warning: the run is no longer watched: {error}", file=sys.stderr)

    def _publish_when_due(self) -> None:
        if time.perf_counter() >= self._next:
            self.publish()

    def publish(self) -> None:
        """Put what there is beside the page."""
        began = time.perf_counter()
        self._going_on(save_data, self.folder, self.run, self._every)
        took = time.perf_counter() - began
        self._every = max(_LEAST, _SHARE * took)
        self._next = began + self._every


def begin_run(root: Path, name: str, events: bool = False, **facts: Any) -> Watch:
    """A run in a new folder of `root`, named after it and the time."""
    word = re.sub(r"[^\w.-]+", "_", name).strip("._")[:80] or "run"
    stem = f"{word}-{time.strftime('%Y%m%d-%H%M%S')}"
    number = 1
    while True:
        folder = root / (stem if number == 1 else f"{stem}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            if not root.is_dir():  # a file is in the way
                raise refused(root, OSError(0, "it is no folder")) from None
            number += 1
        except OSError as error:
            raise refused(folder, error) from None
        else:
            return Watch(folder, name, events, **facts)


def _colours(value: Any) -> Any:
    array = value.numpy() if isinstance(value, Tensor) else value
    return pixels(array) if hasattr(array, "dtype") and hasattr(array, "ndim") else None


# ---- measuring


class Gauges:
    """What can be read from a loop's objects while it runs."""

    def __init__(self, objects: Mapping[str, Any], steps: int):
        self._model = objects.get("model")
        self._optimizers = [v for v in objects.values() if isinstance(v, Optimizer)]
        self._norms_every = max(steps // _NORMS, 1)
        self._last_norms: int | None = None
        self._at: tuple[int, float] | None = None

    def read(self, step: int) -> dict[str, float]:
        """Learning rate, speed, memory; now and then norms."""
        found = self._rates() | self._speed(step) | _memory()
        if self._last_norms is None or step - self._last_norms >= self._norms_every:
            self._last_norms = step
            found |= self._norms()
        return found

    def _rates(self) -> dict[str, float]:
        groups = [group for o in self._optimizers for group in o.param_groups]
        names = ["learning rate"]
        if len(groups) > 1:
            names = [f"learning rate {i}" for i in range(len(groups))]
        return {name: group.lr.item() for name, group in zip(names, groups, strict=False)}

    def _speed(self, step: int) -> dict[str, float]:
        now, before = time.perf_counter(), self._at
        self._at = (step, now)
        if before is None or step <= before[0] or now <= before[1]:
            return {}
        return {"steps per second": (step - before[0]) / (now - before[1])}

    def _norms(self) -> dict[str, float]:
        weights = [t for t in tree_leaves(self._model) if _is_weight(t)]
        gradients = [t.grad for t in weights if t.grad is not None and is_known(t.grad.uop)]
        found = {"weight norm": weights, "gradient norm": gradients}
        return {name: norm(tensors) for name, tensors in found.items() if tensors}


def _is_weight(leaf: Any) -> bool:
    if not isinstance(leaf, Tensor) or leaf.requires_grad is False or not is_known(leaf.uop):
        return False
    return leaf.dtype.is_float and leaf.uop.size > 0


def norm(tensors: Iterable[Tensor]) -> float:
    """The root of the sum of all squares, each tensor's in float32 at least."""
    with no_grad():
        sums = [_squares(tensor.detach()) for tensor in tensors]
        sums[0].realize(*sums[1:])
        return math.sqrt(sum(total.item() for total in sums))


def _squares(tensor: Tensor) -> Tensor:
    wide = tensor if tensor.dtype.itemsize >= 4 else tensor.cast("float32")
    return (wide * wide).sum()


def _memory() -> dict[str, float]:
    resident = resident_memory()
    found = {} if resident is None else {"memory of the process": float(resident)}
    found["memory of tensors"] = float(CPU.statistics().in_use)
    for name, counted in counted_memories().items():
        found |= {f"memory of {name}": float(next(iter(counted.values())))}
    return found
