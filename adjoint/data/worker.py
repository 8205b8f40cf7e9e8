"""What runs in a worker process: read which batch, load it, send it, until the loader is gone."""

from __future__ import annotations

import os
import pickle
import signal
import struct
import threading
import time
import traceback
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from adjoint.data.worker_pickle import unpack

TASK = struct.Struct("<QQQ")  # serial number, epoch, batch
LENGTH = struct.Struct("<Q")  # of the message that follows
START = -1  # the serial number of what goes wrong before the first task
_GRACE = 5.0  # seconds to finish a sample when the loader is gone


@dataclass(slots=True)
class WorkerFailure:
    """An exception that a worker sends to the loader."""

    text: str
    trace: str
    pickled: bytes | None


def main(tasks: int, results: int, cargo: int) -> None:
    """Serve the loader at the other end of these pipes."""
    _leave_interrupts_to_the_loader()
    for descriptor in (tasks, results, cargo):
        os.set_inheritable(descriptor, False)
    inbox: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(tasks, inbox), daemon=True).start()
    try:
        _serve(inbox, results, cargo)
    except BrokenPipeError:
        return  # the loader is gone, and with it the reason to go on


def _leave_interrupts_to_the_loader() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _listen(tasks: int, inbox: SimpleQueue[bytes]) -> None:
    """A thread of its own, so that the end of the loader is noticed in the middle of a sample."""
    while task := _exactly(tasks, TASK.size):
        inbox.put(task)
    inbox.put(b"")
    time.sleep(_GRACE)
    os._exit(0)


def _exactly(descriptor: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = os.read(descriptor, size - len(data))
        if not piece:
            return b""
        data += piece
    return data


def _serve(inbox: SimpleQueue[bytes], results: int, cargo: int) -> None:
    try:
        job = unpack(cargo)
    except Exception as error:
        _send(results, _encoded(START, _failure(error)))
        return
    while task := inbox.get():
        serial, epoch, number = TASK.unpack(task)
        _send(results, _loaded(job, serial, epoch, number))


def _loaded(job: Any, serial: int, epoch: int, number: int) -> bytes:
    try:
        return _encoded(serial, job.load(epoch, number))
    except Exception as error:
        return _encoded(serial, _failure(error))


def _encoded(serial: int, value: Any) -> bytes:
    return pickle.dumps((serial, value), 5)


def _failure(error: Exception) -> WorkerFailure:
    lines = traceback.format_exception(error)
    try:
        pickled: bytes | None = pickle.dumps(error, 5)
    except Exception:
        pickled = None
    return WorkerFailure(traceback.format_exception_only(error)[0].strip(), "".join(lines), pickled)


def _send(results: int, message: bytes) -> None:
    for part in (LENGTH.pack(len(message)), message):
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(results, rest) :]
