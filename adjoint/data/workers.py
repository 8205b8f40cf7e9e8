"""The loader's side of its worker processes: start them, share out batches, notice when one dies.

Workers are fresh interpreters, not forks: a fork copies locks that other threads hold (the
compiled device has threads), and threads would share Python's one lock. What goes to a worker is
at most `prefetch` numbers of batches, which never fills a pipe, so neither side can block the
other for good.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from typing import Any, NoReturn

from adjoint.data.batches import Job, shown
from adjoint.data.worker import LENGTH, START, TASK, WorkerFailure
from adjoint.data.worker_pickle import check_not_unpacking, pack
from adjoint.errors import AdjointError, TrainingError

_LOOK = 0.5  # seconds between looks at processes that send nothing
_LEAVE = 0.5  # seconds that workers have to end by themselves
_START = "import sys; sys.path[:] = {}; from adjoint.data.worker import main; main({}, {}, {})"


class Worker:
    """A process, the pipe to it and the pipe from it."""

    def __init__(self, cargo: int):
        task_reader, self._tasks = os.pipe()
        self.results, result_writer = os.pipe()
        os.set_blocking(self.results, False)
        theirs = (task_reader, result_writer, cargo)
        try:
            self.process = _started(theirs)
        except BaseException:
            self.hang_up()
            raise
        finally:
            os.close(task_reader)
            os.close(result_writer)
        self.waiting: dict[int, tuple[int, int]] = {}  # serial numbers → epoch and batch
        self._message, self._filled, self._is_length = bytearray(LENGTH.size), 0, True

    def give(self, serial: int, epoch: int, number: int) -> None:
        """Ask for a batch."""
        self.waiting[serial] = epoch, number
        os.write(self._tasks, TASK.pack(serial, epoch, number))

    def receive(self) -> tuple[int, Any] | None:
        """The next message, or None while it is not there; EOFError if the process is gone."""
        while self._read():
            message, is_length = self._message, self._is_length
            self._filled, self._is_length = 0, not is_length
            self._message = bytearray(LENGTH.unpack(message)[0] if is_length else LENGTH.size)
            if not is_length:
                serial, value = pickle.loads(message)
                self.waiting.pop(serial, None)
                return serial, value
        return None

    def _read(self) -> bool:
        """Whether what is being read is there in full."""
        try:
            while self._filled < len(self._message):
                got = os.readv(self.results, [memoryview(self._message)[self._filled :]])
                if not got:
                    raise EOFError
                self._filled += got
        except BlockingIOError:
            return False
        return True

    def hang_up(self) -> None:
        """Let it end: it notices that the loader is gone."""
        for descriptor in (self._tasks, self.results):
            os.close(descriptor)


def _started(theirs: tuple[int, int, int]) -> subprocess.Popen[bytes]:
    code = _START.format([str(entry) for entry in sys.path], *theirs)
    flags = [f"-W{option}" for option in sys.warnoptions] + ["-O"] * sys.flags.optimize
    command = [sys.executable, *flags, "-c", code]
    # Ctrl-C reaches the whole group; a worker that is still starting must not answer it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=theirs)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class WorkerPool:
    """Workers that load batches of one job; batches come in order, whichever worker loads them."""

    def __init__(self, job: Job, count: int, prefetch: int, timeout: float | None):
        if not hasattr(signal, "pthread_sigmask"):
            raise TrainingError("E9003", "this system has no worker processes", help="workers=0")
        check_not_unpacking()
        self._job, self._ahead, self._timeout = job, count * prefetch, timeout
        self._serial = 0
        self._arrived: dict[int, Any] = {}
        self._workers: list[Worker] = []
        self._end = weakref.finalize(self, _end, self._workers, os.getpid())
        self._start(count)

    def _start(self, count: int) -> None:
        cargo = pack(self._job, "the dataset or its collate function")
        try:
            for _ in range(count):
                self._workers.append(Worker(cargo))
        except BaseException:
            self.close()
            raise
        finally:
            os.close(cargo)
        self._poll = select.poll()
        for worker in self._workers:
            self._poll.register(worker.results, select.POLLIN)

    def batches(self, epoch: int, first: int, last: int) -> Iterator[Any]:
        """The batches of an epoch from one to before another."""
        begin = self._serial
        self._arrived.clear()
        for number in range(first, last):
            while self._serial - begin < min(number - first + self._ahead, last - first):
                self._give(epoch, first + self._serial - begin)
            yield self._awaited(begin + number - first)

    def _give(self, epoch: int, number: int) -> None:
        which = self._serial % len(self._workers)
        try:
            self._workers[which].give(self._serial, epoch, number)
        except BrokenPipeError:
            self._died(which)
        self._serial += 1

    def _awaited(self, serial: int) -> Any:
        limit = None if self._timeout is None else time.monotonic() + self._timeout
        while serial not in self._arrived:
            self._listen(limit, serial)
        value = self._arrived.pop(serial)
        if isinstance(value, WorkerFailure):
            _raise(value)
        return value

    def _listen(self, limit: float | None, serial: int) -> None:
        left = _LOOK if limit is None else min(_LOOK, limit - time.monotonic())
        ready = {descriptor for descriptor, _ in self._poll.poll(max(left, 0) * 1000)}
        for which, worker in enumerate(self._workers):
            if worker.results in ready:
                self._read(which)
            elif not ready and worker.process.poll() is not None:
                self._died(which)  # a process that it has started keeps its pipe open
        if limit is not None and time.monotonic() >= limit and serial not in self._arrived:
            self._too_slow(serial)

    def _read(self, which: int) -> None:
        try:
            message = self._workers[which].receive()
        except EOFError:
            self._died(which)
        if message is None:
            return
        serial, value = message
        if serial == START:
            fix = "workers import the files of the dataset: see that they can be imported"
            _raise(value, TrainingError("E9003", "a data worker could not start", help=fix))
        self._arrived[serial] = value

    def _died(self, which: int) -> NoReturn:
        worker = self._workers[which]
        code = _exit_code(worker.process)
        problem = f"data worker {which} (process {worker.process.pid}) {_ending(code)}"
        if worker.waiting:
            epoch, number = next(iter(worker.waiting.values()))
            indices = self._job.plan.indices(epoch, number)
            problem += f" while loading batch {number} of epoch {epoch} ({shown(indices)})"
        raise TrainingError("E9004", problem, op="Loader", help=_advice(code))

    def _too_slow(self, serial: int) -> NoReturn:
        which = serial % len(self._workers)
        epoch, number = self._workers[which].waiting[serial]
        problem = (
            f"data worker {which} has not sent batch {number} of epoch {epoch} "
            f"({shown(self._job.plan.indices(epoch, number))}) in {self._timeout} s"
        )
        raise TrainingError("E6007", problem, op="Loader", help="find out why, or raise timeout=")

    def close(self) -> None:
        """End the processes; nothing of them is left."""
        self._end()


def _end(workers: list[Worker], owner: int) -> None:
    if os.getpid() != owner:
        return  # a fork of the loader's process does not own its workers
    for worker in workers:
        worker.hang_up()
    limit = time.monotonic() + _LEAVE
    for worker in workers:
        try:
            worker.process.wait(max(limit - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()


def _exit_code(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(_LOOK)
    except subprocess.TimeoutExpired:
        return None


def _ending(code: int | None) -> str:
    if code is None:
        return "closed its connection"
    if code < 0:
        known = {int(s): s.name for s in signal.Signals}
        return f"was killed by {known.get(-code, 'a signal')} (exit code {code})"
    return f"ended with exit code {code}"


def _advice(code: int | None) -> str:
    if code == -signal.SIGKILL:
        return "was memory short? fewer workers or smaller batches need less of it"
    return "load with workers=0 to see the error where it happens"


def _raise(failure: WorkerFailure, instead: TrainingError | None = None) -> NoReturn:
    """The worker's error, with its traceback as a note; another one if it is none of Adjoint's."""
    try:
        error = pickle.loads(failure.pickled) if failure.pickled else None
    except Exception:
        error = None  # its class cannot be made from what was pickled
    if instead is not None and not isinstance(error, AdjointError):
        error = TrainingError(instead.code, f"{instead.problem}: {failure.text}", help=instead.help)
    if not isinstance(error, Exception):
        error = TrainingError("E9003", f"loading failed: {failure.text}", op="Loader")
    error.add_note(f"in a data worker:\n{failure.trace}")
    raise error
