"""Small graphs computed at once, op by op, as users have it; tests compile all graphs otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from adjoint import config
from adjoint.engine.later import LATER
from adjoint.engine.program_cache import PROGRAMS


@contextmanager
def at_once(on: bool = True) -> Iterator[None]:
    """Inside, small graphs are computed at once, or all are compiled; no program is known yet."""
    before = config.AT_ONCE.given()
    config.AT_ONCE.set("1" if on else "0")
    PROGRAMS.clear()
    try:
        yield
    finally:
        LATER.finish()
        PROGRAMS.clear()
        if before is None:
            del os.environ[config.AT_ONCE.variable]
        else:
            config.AT_ONCE.set(before)
