"""Processes that never join: what mpirun started with this one, and is ended or stopped before MPI
knows of it.

MPI begins when all processes do, and waits for them without an end. Until all have joined, a thread
looks every second for the processes that the same mpirun started on this machine, and ends this one
with an error if one of them cannot come. What may live here: that look, where Linux's /proc allows
it. What may not: the watch of those that have joined (`watch.py`).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from adjoint import config
from adjoint.errors import CommunicationError
from adjoint.runtime.comm.local import gone, silent
from adjoint.runtime.comm.protocol import Call

JOIN = Call("the beginning of MPI")
LOOK = 1.0  # seconds between two looks
LOOKS = 3  # in a row that must miss a process: mpirun may not have started it yet
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """A process that mpirun started: its place among all, and what it does."""

    pid: int
    rank: int
    state: str  # of /proc/PID/stat: T is stopped


class Joining:
    """While this is open, processes that cannot join end this one."""

    def __init__(self) -> None:
        self._joined = threading.Event()
        self._caller = threading.get_ident()
        self._since: dict[int, float] = {}  # when a process was first seen stopped

    def __enter__(self) -> None:
        if _PROC.is_dir() and config.processes_started() > 1:
            threading.Thread(target=self._run, daemon=True, name="adjoint-joining").start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._joined.set()

    def _run(self) -> None:
        begin, missed = time.monotonic(), 0
        while not self._joined.wait(LOOK):
            found = started_together()
            missing = _missing(found)
            missed = missed + 1 if missing else 0
            if missed >= LOOKS:
                self._fail(gone(config.mpi_rank(), JOIN, missing[0], "ended before it joined"))
            self._look_for_stopped(found)
            if time.monotonic() - begin > config.COLLECTIVE_LIMIT.value():
                others = [r for r in range(config.processes_started()) if r != config.mpi_rank()]
                self._fail(silent(config.mpi_rank(), JOIN, others, config.COLLECTIVE_LIMIT.value()))

    def _look_for_stopped(self, found: list[Process]) -> None:
        now, limit = time.monotonic(), config.SILENCE.value()
        stopped = {process.pid: process for process in found if process.state == "T"}
        self._since = {pid: self._since.get(pid, now) for pid in stopped}
        for pid, since in self._since.items():
            if now - since > limit:
                os.kill(pid, signal.SIGKILL)  # it would outlive the program
                how = f"has been stopped for {limit:g} s before it joined"
                self._fail(gone(config.mpi_rank(), JOIN, stopped[pid].rank, how))

    def _fail(self, error: CommunicationError) -> None:
        """End this process, whose own thread is inside MPI and hears nothing."""
        frame = sys._current_frames().get(self._caller)
        place = "".join(traceback.format_stack(frame)) if frame is not None else ""
        words = f"rank {config.mpi_rank()}:\n{place}adjoint.CommunicationError: {error}"
        print(words, file=sys.stderr, flush=True)
        os._exit(1)


def started_together() -> list[Process]:
    """This process and others that the same mpirun started on this machine."""
    top = os.getpid()
    while (above := _parent(top)) and config.mpi_rank_in(_environment(above)) is not None:
        top = above  # mpirun started a shell that started this process
    mpirun = _parent(top)
    if mpirun <= 1:  # it is outside of what this process can see, and so may others be
        return []
    found = []
    for folder in _PROC.glob("[0-9]*"):
        pid = int(folder.name)
        state = _state(pid)
        if state is None or state[0] == "Z" or state[1] != mpirun:
            continue
        rank = config.mpi_rank_in(_environment(pid))
        if rank is not None:
            found.append(Process(pid, rank, state[0]))
    return found


def _missing(found: list[Process]) -> list[int]:
    """Ranks of processes of this machine that are gone, where all are on this machine."""
    size = config.processes_started()
    if config.processes_here() != size or not found:
        return []
    return sorted(set(range(size)) - {process.rank for process in found})


def _state(pid: int) -> tuple[str, int] | None:
    """What a process does, and its parent; None if it is gone."""
    try:
        state, parent, *_ = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return state, int(parent)


def _parent(pid: int) -> int:
    found = _state(pid)
    return 0 if found is None else found[1]


def _environment(pid: int) -> dict[str, str]:
    """The variables that a process was started with; none if they cannot be read."""
    try:
        raw = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return {}
    pairs = (row.partition("=") for row in raw.decode(errors="replace").split("\0"))
    return {name: value for name, _, value in pairs}
