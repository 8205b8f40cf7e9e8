"""`adjoint runs [PATH ...]`: the runs that were watched, as a table, or compared on a page."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adjoint.cli.exits import OK, UsageError, add_json, say
from adjoint.errors import FileError
from adjoint.training.command_line import RUNS
from adjoint.training.progress_text import columns, duration, number, printable
from adjoint.training.runs import Run, find_runs, save_page

EXAMPLES = """\
  adjoint train digits_cnn --watch --seed 1
  adjoint train digits_cnn --watch --seed 2
  adjoint runs
  adjoint runs --page compared.html
  adjoint runs runs/digits_cnn-* elsewhere/runs --json"""
_HEAD = ("run", "began", "state", "step", "time", "last values")
_LOSSES = 3  # values of a run in the table: losses first


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which runs, and what becomes of them."""
    about = f"folders of runs, or runs (default: {RUNS})"
    parser.add_argument("paths", metavar="PATH", nargs="*", help=about)
    about = "write a page that shows these runs and compares them"
    parser.add_argument("--page", metavar="FILE", help=about)
    add_json(parser, "the list")


def run(options: argparse.Namespace) -> int:
    """List the runs, and write the page if one is asked for."""
    runs = _found(options)
    if options.page is not None:
        file = save_page(options.page, runs, _title(runs))
        if not options.json:
            print(f"{len(runs)} runs in {file}")
            return OK
    say(options, [_data(one) for one in runs], _table(runs))
    return OK


def _found(options: argparse.Namespace) -> list[Run]:
    paths = options.paths or [RUNS]
    try:
        if not options.paths and not Path(RUNS).is_dir():
            fix = "`adjoint train … --watch` makes one"
            raise FileError("E9006", f"there is no folder {RUNS} here", help=fix)
        return find_runs(paths)
    except FileError as error:
        raise UsageError(error) from None


def _title(runs: Sequence[Run]) -> str:
    return runs[0].name if len(runs) == 1 else f"{len(runs)} runs"


def _data(found: Run) -> dict[str, Any]:
    last = {name: points[-1][2] for name, points in found.curves.items()}
    return {
        "run": found.name,
        "folder": found.folder,
        "started": found.started,
        "state": found.state,
        "step": found.step,
        "steps": found.steps,
        "seconds": found.seconds,
        "last": {name: value if value - value == 0 else str(value) for name, value in last.items()},
    }


def _table(runs: Sequence[Run]) -> str:
    rows = [_HEAD, *map(_row, runs)]
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)
        )
        for row in rows
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _row(found: Run) -> tuple[str, ...]:
    began = ""
    if found.started is not None:
        began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found.started))
    total = f"/{found.steps}" if found.steps is not None else ""
    step = "" if found.step is None else f"{found.step + 1}{total}"
    return (
        printable(Path(found.folder).name or found.name),
        began,
        printable(found.state),
        step,
        duration(found.seconds),
        _values(found),
    )


def _values(found: Run) -> str:
    """The losses, and of other values what there is room for; what was measured beside is left."""
    own = [n for n in found.curves if not n.startswith("memory of ") and n not in _BESIDE]
    first = sorted(own, key=lambda name: not name.endswith("loss"))[:_LOSSES]
    return ", ".join(f"{printable(name)} {number(found.last(name) or 0.0)}" for name in first)


_BESIDE = ("weight norm", "gradient norm", "steps per second", "learning rate")
