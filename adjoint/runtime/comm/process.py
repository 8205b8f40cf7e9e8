"""The life of an MPI process: how it joins the others, and how it ends.

What may live here: starting MPI and the watch, and leaving them. What may not: collectives.

A process that fails reports it, and ends without MPI_Finalize, which would wait for processes that
are gone. One that succeeds waits for the others, and is told if they fail.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import secrets
import signal
import socket
import sys
import time
from types import ModuleType, TracebackType
from typing import Any

from adjoint import config
from adjoint.errors import CommunicationError
from adjoint.runtime.comm.joining import Joining
from adjoint.runtime.comm.mpi import MpiMember
from adjoint.runtime.comm.watch import FirstWatch, Watch, connect

GRACE = 1.0  # seconds between the last words of a process that fails and its end


def join_mpi() -> MpiMember:
    """This process as a member of all that were started with it."""
    with Joining():
        mpi = _load()
        comm = mpi.COMM_WORLD.Dup()
        watch = _start_watch(mpi, comm)
    member = MpiMember(mpi, comm, watch, tuple(range(comm.Get_size())))
    _Ending(mpi, member, watch).install()
    return member


def _load() -> ModuleType:
    """mpi4py, told neither to begin nor to end MPI by itself."""
    try:
        import mpi4py

        mpi4py.rc(initialize=False, finalize=False)
        from mpi4py import MPI

        _begin(MPI)
    except (ImportError, RuntimeError) as error:
        problem = f"this process was started by MPI, and mpi4py cannot be loaded: {error}"
        raise CommunicationError("E7024", problem, help="pip install 'adjoint[mpi]'") from None
    if (there := MPI.COMM_WORLD.Get_size()) < (started := config.processes_started()):
        problem = f"{started} processes were started, and MPI sees {there}"
        fix = f"start them with the mpirun of {MPI.Get_library_version().splitlines()[0]}"
        raise CommunicationError("E7024", problem, help=fix)
    return MPI


def _begin(mpi: ModuleType) -> None:
    """Begin MPI, which waits for all processes: other threads run meanwhile, as they do not when
    mpi4py begins it."""
    if mpi.Is_initialized():
        return
    try:
        begin = ctypes.CDLL(mpi.__file__).MPI_Init_thread
    except (OSError, AttributeError):
        mpi.Init_thread()
        return
    if begin(None, None, int(mpi.THREAD_MULTIPLE), ctypes.byref(ctypes.c_int())):
        raise RuntimeError("MPI_Init_thread failed")
    for comm in (mpi.COMM_WORLD, mpi.COMM_SELF):
        comm.Set_errhandler(mpi.ERRORS_RETURN)  # what fails is an exception


def _start_watch(mpi: ModuleType, comm: Any) -> Watch:
    """Connect this process with the first; their meeting point travels by MPI."""
    size, silence = comm.Get_size(), config.SILENCE.value()
    alone = comm.Split_type(mpi.COMM_TYPE_SHARED).Get_size() == size
    together = comm.allreduce(int(alone), op=mpi.MIN)
    watch: Watch
    if comm.Get_rank() == 0:
        first = watch = FirstWatch(size, silence, secrets.token_hex(16))
        host = "127.0.0.1" if together else socket.gethostbyname(socket.gethostname())
        comm.bcast((first.listen(host), first.secret))
    else:
        door, secret = comm.bcast(None)
        watch = connect(comm.Get_rank(), size, silence, door, secret)
    watch.start()
    return watch


class _Ending:
    """What happens when this process ends, well or not."""

    def __init__(self, mpi: ModuleType, member: MpiMember, watch: Watch):
        self._mpi, self._member, self._watch = mpi, member, watch
        self._failed = False
        self._comm = mpi.COMM_WORLD.Dup()  # for the farewell

    def install(self) -> None:
        self._hook, sys.excepthook = sys.excepthook, self._on_error
        atexit.register(self._leave)
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._on_term)

    def _on_error(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        self._failed = True
        text = " ".join(f"{kind.__name__}: {error}".splitlines()[:1])
        if not isinstance(error, CommunicationError) or error.code == "E7023":
            self._watch.leave(f"raised {text}", failed=True)
        print(f"rank {self._member.rank}:", file=sys.stderr)
        self._hook(kind, error, trace)

    def _on_term(self, number: int, frame: Any) -> None:
        """What starts processes ends all when one has ended: say who that was, if it is known."""
        time.sleep(0.2)
        for rank, how in self._watch.lost.items():
            print(f"rank {self._member.rank}: member {rank} {how}", file=sys.stderr, flush=True)
        os._exit(128 + number)

    def _leave(self) -> None:
        """The end of the process, after everything of Python that is done at its end."""
        if not self._failed:
            self._watch.leave("has ended", failed=False)
            try:
                self._member.farewell(self._comm)
                self._watch.close()
                self._mpi.Finalize()
                return
            except (CommunicationError, self._mpi.Exception) as error:
                print(f"rank {self._member.rank}: {error}", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(GRACE)
        os._exit(1)
