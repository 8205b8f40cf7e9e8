"""Collectives as rows of a native table: the table calls back, and goes on.

A collective that overlaps with kernels is handed to another thread (`runtime/comm/courier.py`); a
later row waits for it. Values go from slot to slot, without an intermediate copy if parts are
contiguous. An error stops the table, and the run raises it. What may live here: rows, and what they
do when they are called. What may not: who sends what to whom.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from adjoint.backends.cpu.step_table import Region, Table
from adjoint.errors import AdjointError
from adjoint.ir.member import Member, current_member, running_as
from adjoint.ir.uop import UOp
from adjoint.ops.collective import speak
from adjoint.runtime import pool_ir as kinds
from adjoint.runtime.comm.courier import Courier
from adjoint.runtime.interrupt import Job
from adjoint.runtime.launch import Cells
from adjoint.stages import HostStep

Array = np.ndarray[Any, Any]
_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Speaker:
    """The state that the collectives of one table share while it runs."""

    def __init__(self) -> None:
        self._courier = Courier()
        self._member: Member | None = None
        self._errors: list[BaseException] = []
        self._stop: Callable[[], None] = lambda: None

    def run(self, call: Callable[[], int], stop: Callable[[int], None]) -> int:
        """The table, by the member that this thread is; `stop` sets the flag that ends it."""
        self._member, self._stop = current_member(), partial(stop, 1)
        self._errors.clear()
        stop(0)
        try:
            code = call()
        except BaseException as error:
            self._courier.give_up(error)
            raise
        if self._errors:
            self._courier.give_up(self._errors[0])
            raise self._errors.pop(0)
        return code

    def row(self, work: Callable[[], None], table: Table, cells: int = 0) -> tuple[int, ...]:
        """A row of the table that calls back."""

        def called(arguments: int, begin: int, end: int) -> None:
            try:
                work()
            except BaseException as error:
                self._errors.append(error)
                self._stop()

        callback = _CALLBACK(called)
        table.keep.append(callback)
        return (kinds.KERNEL, ctypes.cast(callback, ctypes.c_void_p).value or 0, cells, 1, 1)

    def speaking(self, work: Callable[[], None]) -> Callable[[], None]:
        """The work as the member that runs the table, in whatever thread."""

        def spoken() -> None:
            if self._member is None:
                work()
                return
            with running_as(self._member):
                work()

        return spoken

    def now(self, work: Callable[[], None]) -> None:
        """Run a job and wait for it, behind any jobs in progress."""
        if self._courier.is_busy:
            self._courier.wait(self._courier.begin(self.speaking(work)))
        else:
            self.speaking(work)()

    def begin(self, work: Callable[[], None]) -> Job | None:
        """Work beside the table; None where only one thread may speak: it is done now."""
        if getattr(getattr(self._member, "communicator", None), "one_thread", False):
            self.now(work)
            return None
        return self._courier.begin(self.speaking(work))

    def wait(self, job: Job) -> None:
        """Until it is done."""
        self._courier.wait(job)


class Conversation:
    """One collective of a table: the slots of its operand and its result, and the job, if one
    runs.
    """

    __slots__ = ("_cells", "_job", "_node", "_speaker")

    def __init__(self, speaker: Speaker, node: UOp, cells: Cells):
        self._speaker, self._node, self._cells = speaker, node, cells
        self._job: Job | None = None

    def hold(self) -> None:
        """Begin it, and wait for it."""
        self._speaker.now(self._work())

    def begin(self) -> None:
        """Hand it to another thread."""
        self._job = self._speaker.begin(self._work())

    def end(self) -> None:
        """Wait for it."""
        job, self._job = self._job, None
        if job is not None:
            self._speaker.wait(job)

    def _work(self) -> Callable[[], None]:
        (source,), node = self._node.src, self._node
        target = _array(self._cells[0], node)
        return partial(_spoken, node, _array(self._cells[1], source), target)


def speaker_of(table: Table) -> Speaker:
    """The speaker of a table, made on first use."""
    if table.speaker is None:
        table.speaker = Speaker()
    found: Speaker = table.speaker
    return found


def emit_collective(
    table: Table, step: HostStep, arguments: Cells, region: Region, waits: Sequence[UOp]
) -> Conversation:
    """Append a collective; it runs ahead if its wait is among those of the same table."""
    speaker = speaker_of(table)
    call = Conversation(speaker, step.node, arguments)
    ahead = step.ahead and step.node in waits
    work = call.begin if ahead else call.hold
    region.steps.append(speaker.row(work, table, arguments.address))
    return call


def emit_wait(table: Table, call: Conversation | None, region: Region) -> None:
    """Append the end of a collective that was begun in the same table."""
    if call is not None:
        region.steps.append(speaker_of(table).row(call.end, table))


def _array(address: int, node: UOp) -> Array:
    """The memory of a slot."""
    shape, dtype = tuple(map(int, node.shape)), node.dtype.np
    if 0 in shape:
        return np.empty(shape, dtype)
    raw = (ctypes.c_char * (int(np.prod(shape)) * np.dtype(dtype).itemsize)).from_address(address)
    return np.frombuffer(raw, dtype).reshape(shape)


def _spoken(node: UOp, source: Array, target: Array) -> None:
    place = "" if node.origin is None else f" ({node.origin})"
    try:
        with np.errstate(all="ignore"):
            speak(node, source, target, place)
    except AdjointError as error:
        built = f" (built by {node.origin})" if node.origin is not None else ""
        raise error.placed(node.op.name, built) from None
