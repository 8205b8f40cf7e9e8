"""Which member this process, or this thread, is.

What may live here: finding the engine that the process was started under. What may not: engines.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache, partial
from typing import TypeVar

from adjoint import config
from adjoint.runtime.comm import local
from adjoint.runtime.comm.protocol import Communicator

Result = TypeVar("Result")


class _Here(threading.local):
    member: Communicator | None = None


_here = _Here()


def member() -> Communicator:
    """The member that this thread is: of `simulate`, or else of all processes of the program."""
    return _here.member or _process()


def simulate(
    size: int, function: Callable[[], Result], *, limit: float = local.LIMIT
) -> list[Result]:
    """What `function` returns for each of so many members that are threads of this process."""
    return local.run(size, partial(_as_member, function), limit=limit)


def _as_member(function: Callable[[], Result], member: Communicator) -> Result:
    _here.member = member
    return function()


@cache
def _process() -> Communicator:
    if config.started_by_mpi():
        from adjoint.runtime.comm.process import join_mpi

        return join_mpi()
    return local.connect(1)[0]
