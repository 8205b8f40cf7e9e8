"""The current member of a mesh: collectives of a running program ask for it.

What may live here: the member of this thread. What may not: creating members, or any engine.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from adjoint.errors import ShardingError
from adjoint.ir.mesh import Axes, Mesh


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One device of a mesh while it runs a program; `communicator` is of all members."""

    mesh: Mesh
    number: int
    communicator: Any

    def group(self, axes: Axes) -> Any:
        """The communicator of the members that differ along these axes."""
        return self.communicator.group(self.mesh.group(self.number, axes))


class _Here(threading.local):
    member: Member | None = None


_here = _Here()


@contextmanager
def running_as(member: Member) -> Iterator[None]:
    """This thread is that member inside."""
    before, _here.member = _here.member, member
    try:
        yield
    finally:
        _here.member = before


def current_member() -> Member | None:
    """The member that this thread is; None outside of programs on a mesh."""
    return _here.member


def group_of(op: str, axes: Axes) -> Any:
    """The communicator of this member's group along axes of its mesh."""
    member = _here.member
    if member is None:
        problem = f"a collective over {', '.join(axes)} runs as a part of a program on a mesh only"
        raise ShardingError("E7005", problem, op=op)
    return member.group(axes)
