"""Loop: the steps of a training run, with progress, checkpoints, Ctrl-C and resuming."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.display import Displayed
from adjoint.distributed import is_main
from adjoint.errors import ArgumentError, FileError, TrainingError
from adjoint.nn import state
from adjoint.nn.state.sharded_checkpoint import is_checkpoint_folder
from adjoint.tensor import Tensor
from adjoint.training import cli_options
from adjoint.training.interrupt import Interrupted, Interrupts
from adjoint.training.progress import Progress
from adjoint.training.progress_text import number, printable
from adjoint.training.runs.watch import Gauges, Watch, begin_run

_POINTS = 100  # of the history, unless `every` says otherwise
_WATCHED_POINTS = 1000  # where a page shows them


class Loop(Displayed):
    """`for step in loop: ...; loop.report(loss=loss)`.

    When Ctrl-C is pressed, it saves the objects that it was given by name (`model`, `optimizer`,
    `loader`, or any other word), together with the step and the random state, and restores them
    when the run is resumed. `report` reads a value, which waits for the device, only when it shows
    or records it.
    """

    def __init__(
        self,
        steps: int,
        *,
        model: Any = None,
        optimizer: Any = None,
        loader: Any = None,
        label: str = "",
        every: int | None = None,
        checkpoint: str | None = None,
        save_every: int | None = None,
        resume: str | None = None,
        quiet: bool = False,
        watch: str | os.PathLike[str] | None = None,
        **objects: Any,
    ):
        """`every`: steps between two points of `history` (default: a hundredth of all steps).
        `checkpoint`: a file that is written at the end, on Ctrl-C and every `save_every` steps;
        without it, one is written on Ctrl-C only, named after the label. `watch`: a folder in which
        a folder of this run is made, with its log and a page that follows it (`index.html`)."""
        self._context = cli_options.current()
        asked = self._context.steps
        self.steps = _count("steps", steps if asked is None else asked, 0)
        self._context.shortened |= self.steps < steps
        self._runs = self._context.watch or (None if watch is None else os.fspath(watch))
        self._runs = self._runs if is_main() else None
        points = _POINTS if self._runs is None else _WATCHED_POINTS
        self.every = _count("every", every or max(self.steps // points, 1), 1)
        self._save_every = save_every and _count("save_every", save_every, 1)
        named = {"model": model, "optimizer": optimizer, "loader": loader} | objects
        self.objects = {name: thing for name, thing in named.items() if thing is not None}
        self.label = label
        self._told = self._context.checkpoint or checkpoint
        self._resume = self._context.resume or resume
        self._quiet = quiet or self._context.quiet or not is_main()
        self.start = self.step = 0
        self.values: dict[str, float | str] = {}
        self.history: dict[str, list[tuple[int, float]]] = {}
        self._pending: dict[str, Any] = {}
        self._progress: Progress | None = None
        self.watched: Watch | None = None
        self._gauges: Gauges | None = None

    # ---- the steps

    def __iter__(self) -> Iterator[int]:
        self._context.loops += 1
        self._number = self._context.loops
        if self._told is not None:
            check_place(self._told)
        self._restore()
        self._begin_watching()
        with Interrupts(bool(self.objects)) as asked, self._watching():
            self._progress = Progress(self.steps, self.label, start=self.start, quiet=self._quiet)
            with self._progress:
                for step in range(self.start, self.steps):
                    self.step = step
                    yield step
                    self._after(step + 1)
                    if asked.pressed:
                        self._leave(step + 1)
        self._context.history = self.history
        if self._told and self.objects:
            self.save(self._told, self.steps)

    def __len__(self) -> int:
        return self.steps

    def __repr__(self) -> str:
        values = "".join(f", {name} {number(value)}" for name, value in self.values.items())
        named = f" {printable(self.label)}" if self.label else ""
        return f"<Loop{named}: step {self.step} of {self.steps}{values}>"

    def sample(self, **samples: Any) -> None:
        """Show these on the page of the run, if one is written: texts, or images (a matrix, bytes,
        or colours from 0 to 1). A tensor is read only then."""
        if self.watched is not None:
            for name, value in samples.items():
                self.watched.sample(self.step, name, value)

    def report(self, **values: Any) -> None:
        """Show and record these: tensors of one element, or numbers."""
        self._pending |= values
        last = self.step == self.steps - 1
        record = [name for name in values if last or self._is_time(name)]
        if record or (self._progress is not None and self._progress.due):
            self._read(record)

    def print(self, *words: Any) -> None:
        """Print a line above the progress bar."""
        if self._progress is None:
            print(*words, file=sys.stderr)
        else:
            self._progress.print(*words)

    def _after(self, done: int) -> None:
        if self._progress is not None:
            self._progress.update(done, self.values)
        if self._save_every and self._told and done % self._save_every == 0 and done < self.steps:
            self.save(self._told, done)

    # ---- pages

    def _begin_watching(self) -> None:
        if self._runs is None:
            return
        name = self.label or self._context.name or "training"
        events, command = self._context.tensorboard, list(self._context.command)
        facts = {"steps": self.steps, "command": command}
        self.watched = begin_run(Path(self._runs), name, events, **facts)
        self.watched.before(self.history)
        self._gauges = Gauges(self.objects, self.steps)
        self._context.watched.append(self.watched)
        if not self._quiet:
            print(f"watch {self.watched.page.resolve().as_uri()}", file=sys.stderr)

    @contextmanager
    def _watching(self) -> Iterator[None]:
        """The page is told how the run ended. Of an error in the loop's body Python tells only that
        the loop is left; `adjoint train` adds what it sees."""
        try:
            yield
        except GeneratorExit:
            self._ended("left early")
            raise
        except KeyboardInterrupt:
            self._ended("stopped")
            raise
        except BaseException as error:
            self._ended("failed", str(error))
            raise
        self._ended("finished")

    def _ended(self, state: str, error: str = "") -> None:
        if self.watched is not None:
            self.watched.end(state, error)

    # ---- values

    def _is_time(self, name: str) -> bool:
        points = self.history.get(name)
        return not points or self.step - points[-1][0] >= self.every

    def _read(self, record: list[str]) -> None:
        pending, self._pending = self._pending, {}
        recorded: dict[str, float] = {}
        for name, value in pending.items():
            number = _number(name, value)
            self._check(name, number)
            self.values[name] = number
            if name in record and not isinstance(number, str):
                self.history.setdefault(name, []).append((self.step, number))
                recorded[name] = number
        if self.watched is not None and self._gauges is not None and recorded:
            self.watched.values(self.step, recorded | self._gauges.read(self.step))

    def _check(self, name: str, value: float | str) -> None:
        """A loss that is not finite stays so: going on would only waste time."""
        if isinstance(value, str) or not name.endswith("loss") or math.isfinite(value):
            return
        points = self.history.get(name)
        before = f"; it was {points[-1][1]:.6g} at step {points[-1][0]}" if points else ""
        error = TrainingError(
            "E9005",
            f"{name} is {value} at step {self.step}{before}",
            op=self.label or "training",
            help="run it with `adjoint.debug_nans()` to see which op was the first; a smaller "
            "learning rate, clipped gradients or a log of something kept above 0 often cure it",
        )
        self._ended("failed", str(error))
        raise error

    # ---- checkpoints

    def save(self, path: str, step: int | None = None) -> None:
        """Write a checkpoint from which the run can go on after so many steps."""
        extra = {"loop": self._number, "history": self.history, "label": self.label}
        done = self.step + 1 if step is None else step
        state.save_checkpoint(path, step=done, extra=extra, **self.objects)

    def _restore(self) -> None:
        """Take up the checkpoint, if it is of this loop; loops before it run again."""
        path, self._resume = self._resume, None
        if path is None or not self._is_of_this_loop(path):
            return
        if not self.objects:
            problem = f"{path} cannot be resumed: this loop was not told what to restore"
            help = "Loop(steps, model=model, optimizer=optimizer)"
            raise TrainingError("E9002", problem, op=self.label or "training", help=help)
        found = state.load_checkpoint(path, **self.objects)
        self.start = self.step = found.step
        history = found.extra.get("history", {}) if isinstance(found.extra, dict) else {}
        self.history = {name: [(s, v) for s, v in points] for name, points in history.items()}
        self.values = {name: points[-1][1] for name, points in self.history.items() if points}

    def _is_of_this_loop(self, path: str) -> bool:
        """A program may have several; a file named in the program is for this one."""
        if path != self._context.resume:
            return True
        extra = state.load_checkpoint(path, restore_random=False).extra
        number = extra.get("loop") if isinstance(extra, dict) else None
        return number in (None, self._number)

    def _leave(self, done: int) -> None:
        path = self._told or f"{self._context.name or self.label or 'training'}.ckpt"
        self.save(path, done)
        if self._progress is not None:
            self._progress.close()
        print(
            f"stopped after step {done} of {self.steps}; saved {path}\n"
            f"resume with: {self._context.resume_command(path)}",
            file=sys.stderr,
        )
        raise Interrupted


def check_place(path: str) -> None:
    """E9006 if a checkpoint cannot be written there: better now than after an hour."""
    folder = os.path.dirname(path.rstrip(os.sep)) or "."
    if os.path.isdir(path) and not is_checkpoint_folder(path):
        problem = "it is a directory"
    elif not os.path.isdir(folder):
        problem = f"there is no directory {folder}"
    elif not os.access(folder, os.W_OK):
        problem = f"the directory {folder} cannot be written to"
    else:
        return
    help = "name a file in a directory of yours"
    raise FileError("E9006", f"cannot save a checkpoint to {path}: {problem}", help=help)


def _count(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        problem = f"{name} must be a whole number of at least {least}, got {value!r}"
        raise ArgumentError("E2006", problem, op="Loop")
    return int(value)


def _number(name: str, value: Any) -> float | str:
    """The value as a number; this waits until it is computed."""
    if isinstance(value, str):
        return value
    try:
        return float(value.item() if isinstance(value, (Tensor, np.ndarray)) else value)
    except (TypeError, ValueError) as error:
        raise ArgumentError("E2001", f"{name} is not a number: {error}", op="report") from None
