"""The log of a run: a JSON object to a line, appended, so that a run that dies leaves what it had.

    {"run": "digits_cnn", "started": 1767225600.0, "steps": 300, "command": []}
    {"step": 0, "time": 0.31, "values": {"loss": 2.3, "learning rate": 0.003}}
    {"step": 50, "time": 1.9, "sample": "generated", "text": "..."}
    {"ended": "finished", "time": 9.5}

What is not finite is a string ("nan", "inf"), as JSON has no word for it. What may live here:
writing and reading lines. What may not: what a run measures (`watch.py`), pages (`page.py`).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adjoint.display import Displayed
from adjoint.errors import FileError
from adjoint.training.progress_text import number, printable

LOG = "log.jsonl"
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
Point = tuple[int, float | None, float]  # step, seconds since the start (None: before it), value


@dataclass(slots=True, repr=False)
class Run(Displayed):
    """A run as its log records it."""

    name: str
    folder: str = ""
    started: float | None = None  # seconds since 1970
    steps: int | None = None
    command: Sequence[str] = ()
    state: str = "running"  # or finished, stopped, failed, left early
    error: str = ""
    seconds: float = 0.0
    curves: dict[str, list[Point]] = field(default_factory=dict)
    samples: list[dict[str, Any]] = field(default_factory=list)

    def __repr__(self) -> str:
        far = "" if self.step is None else f", step {self.step}"
        whole = f" of {self.steps}" if far and self.steps is not None else ""
        values = "".join(
            f", {name} {number(self.last(name) or 0.0)}" for name in [*self.curves][:4]
        )
        return f"<Run {printable(self.name)}: {self.state}{far}{whole}{values}>"

    @property
    def step(self) -> int | None:
        """The last step that something was recorded at."""
        return max((points[-1][0] for points in self.curves.values() if points), default=None)

    def last(self, name: str) -> float | None:
        """The last value of a curve."""
        points = self.curves.get(name)
        return points[-1][2] if points else None

    def take(self, line: Mapping[str, Any]) -> None:
        """What one line of the log says; what it should not say is passed over."""
        if isinstance(line.get("run"), str):
            self._begin(line)
        elif isinstance(line.get("ended"), str):
            self.state, self.error = line["ended"], str(line.get("error", ""))
        elif isinstance(line.get("sample"), str) and _whole(line.get("step")) is not None:
            kept = {k: line[k] for k in ("text", "image") if isinstance(line.get(k), str)}
            self.samples.append({"step": line["step"], "name": line["sample"], **kept})
        else:
            self._values(line)
        self.seconds = max(self.seconds, _number(line.get("time")) or 0.0)

    def _begin(self, line: Mapping[str, Any]) -> None:
        self.name, self.started = line["run"], _number(line.get("started"))
        self.steps = _whole(line.get("steps"))
        command = line.get("command")
        self.command = [str(word) for word in command] if isinstance(command, list) else ()

    def _values(self, line: Mapping[str, Any]) -> None:
        step, values = _whole(line.get("step")), line.get("values")
        if step is None or not isinstance(values, dict):
            return
        for name, value in values.items():
            number = _number(value)
            if number is not None:
                self.curves.setdefault(name, []).append((step, _number(line.get("time")), number))


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return _SPECIAL.get(value)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


# ---- writing


def spelled(value: Any) -> Any:
    """What JSON can say."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {str(k): spelled(v) for k, v in value.items()}
    return [spelled(v) for v in value] if isinstance(value, (list, tuple)) else value


class LogFile:
    """A log that is appended to, a whole line at a time."""

    def __init__(self, folder: Path):
        try:
            self._file = open(folder / LOG, "a", encoding="utf-8")  # noqa: SIM115 - until closed
        except OSError as error:
            raise refused(folder / LOG, error) from None

    def write(self, line: Mapping[str, Any]) -> None:
        """Append one object."""
        self._file.write(json.dumps(spelled(dict(line)), allow_nan=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def refused(path: Path, error: OSError) -> FileError:
    """A folder of runs that cannot be written."""
    fix = "give a folder that you may write to"
    return FileError("E9006", f"cannot write {path}: {error.strerror}", op="watch", help=fix)


# ---- reading


def read_run(path: str | os.PathLike[str]) -> Run:
    """The run of a folder, or of its log; a line that was not written whole is passed over."""
    place = Path(path)
    file = place / LOG if place.is_dir() else place
    run = Run(file.parent.name or str(file), str(file.parent))
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            for line in _objects(opened):
                run.take(line)
    except OSError as error:
        fix = "give the folder of a run, which `adjoint train … --watch` writes"
        problem = f"cannot read the log {file}: {error.strerror}"
        raise FileError("E9006", problem, op="runs", help=fix) from None
    return run


def _objects(lines: Iterator[str]) -> Iterator[Mapping[str, Any]]:
    for line in lines:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def find_runs(paths: Sequence[str | os.PathLike[str]]) -> list[Run]:
    """The runs there: a path is a run itself, or a folder of runs; those that began first first."""
    found: dict[str, Run] = {}
    for given in map(Path, paths):
        path = given.parent if given.name == LOG and given.is_file() else given
        own = path.is_file() or (path / LOG).is_file()
        inside = sorted(p.parent for p in path.glob(f"*/{LOG}")) if path.is_dir() else []
        for place in [path] if own or not inside else inside:
            found.setdefault(str(place.resolve()), read_run(place))
    return sorted(found.values(), key=lambda run: (run.started or 0.0, run.folder))
