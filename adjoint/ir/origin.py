"""Where a node comes from: the user's method, file and line, and whether a gradient made it.

An origin lives beside a node and never in its key. Capturing one must cost well under a
microsecond, so only the code object and the instruction offset are kept; the line is worked out
when somebody asks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType

from adjoint import config

Raw = tuple[str, CodeType, int, bool]  # method, user's code, instruction offset, backward

_PACKAGE = str(Path(__file__).resolve().parent.parent)
_inside: dict[CodeType, bool] = {}
_override: ContextVar[Raw | None] = ContextVar("origin", default=None)
_enabled = config.ORIGINS.value()


@dataclass(frozen=True, slots=True)
class Origin:
    """A readable origin."""

    method: str
    path: str
    line: int
    backward: bool

    @property
    def file(self) -> str:
        return Path(self.path).name

    def __str__(self) -> str:
        mark = ", backward" if self.backward else ""
        return f"{self.method} at {self.file}:{self.line}{mark}"


def capture() -> Raw | None:
    """The raw origin of the node being built: the innermost frame outside this package."""
    forced = _override.get()
    if forced is not None or not _enabled:
        return forced
    frame: FrameType | None = sys._getframe(1)
    method = ""
    while frame is not None:
        code = frame.f_code
        inside = _inside.get(code)
        if inside is None:
            inside = _inside[code] = code.co_filename.startswith(_PACKAGE)
        if not inside:
            return method, code, frame.f_lasti, False
        method = code.co_name
        frame = frame.f_back
    return None


def resolve(raw: Raw | None) -> Origin | None:
    """The readable form of a raw origin."""
    if raw is None:
        return None
    method, code, offset, backward = raw
    return Origin(method.strip("_"), code.co_filename, _line(code, offset), backward)


def _line(code: CodeType, offset: int) -> int:
    for start, stop, line in code.co_lines():
        if start <= offset < stop and line is not None:
            return line
    return code.co_firstlineno


def enter_origin(raw: Raw | None, backward: bool) -> Token[Raw | None]:
    """Nodes built from here on get this origin, until `leave_origin` is given the token."""
    if raw is not None and backward and not raw[3]:
        raw = (raw[0], raw[1], raw[2], True)
    return _override.set(raw)


def leave_origin(token: Token[Raw | None]) -> None:
    """Origins are again what they were before `enter_origin`."""
    _override.reset(token)


@contextmanager
def origin_scope(raw: Raw | None, backward: bool = False) -> Iterator[None]:
    """Nodes built inside get this origin: expansions and gradients keep the user's line."""
    token = enter_origin(raw, backward)
    try:
        yield
    finally:
        leave_origin(token)
