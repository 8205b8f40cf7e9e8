"""The GPU of this process, found when it is first needed."""

from __future__ import annotations

from adjoint.runtime.cuda import Driver
from adjoint.runtime.interrupt import undisturbed

_found: list[Driver] = []


def the_gpu() -> Driver:
    """The driver; E6002 where there is no GPU."""
    if not _found:
        _found.append(undisturbed(Driver))
    return _found[0]
