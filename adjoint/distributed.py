"""Multi-process programs: which member this one is, and collectives over NumPy arrays.

    rank, size = distributed.rank(), distributed.size()
    loader = data.Loader(rows[rank::size], 32)
    if distributed.is_main(): print("...")

What may live here: names for users. What may not: engines (`runtime/comm/`).
"""

from __future__ import annotations

from adjoint.errors import CommunicationError
from adjoint.runtime.comm.protocol import Communicator
from adjoint.runtime.comm.world import member, simulate

__all__ = ["CommunicationError", "Communicator", "is_main", "member", "rank", "simulate", "size"]


def rank() -> int:
    """The number of this member, from 0."""
    return member().rank


def size() -> int:
    """How many members run this program."""
    return member().size


def is_main() -> bool:
    """Whether this member is the one that prints and writes."""
    return rank() == 0
