"""Progress: a bar on a terminal or in a notebook, plain lines elsewhere.

Drawing is bounded in time, not in steps: a step costs one look at the clock. Elsewhere: what a line
says (see `progress_text.py`), training.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, TextIO

from adjoint import config
from adjoint.training.live_display import live_display
from adjoint.training.progress_text import Status, fitted, plain

_REFRESH = 0.1  # seconds between two drawings of a bar
_REFRESH_LIVE = 0.25  # in a notebook, which may be far away
_PLAIN_LEAST, _PLAIN_MOST = 1.0, 10.0  # seconds between two plain lines
_PLAIN_SHARE = 0.1  # of the whole, that a plain line comes after
_CLEAR = "\r\x1b[K"


class Progress:
    """How far something is: percentage, values, steps in a second, time left, memory.

    On a terminal it is one line that is drawn again at most ten times a second and always fits. To
    a file or a pipe it is a line now and then, and one at the end; in a notebook it is one display,
    updated in place. It may be a context manager.
    """

    def __init__(
        self,
        total: int | None = None,
        label: str = "",
        *,
        start: int = 0,
        stream: TextIO | None = None,
        quiet: bool = False,
    ):
        self.total, self.label, self.step = total, label, start
        self.values: dict[str, float | str] = {}
        self._stream = None if quiet else (stream or sys.stderr)
        self._live = live_display() if stream is None and not quiet else None
        self._bar = self._stream is not None and _can_redraw(self._stream)
        self._start, self._began = start, time.perf_counter()
        self._seen: deque[tuple[float, int]] = deque([(self._began, start)], maxlen=50)
        self._next = self._began + self._pause()
        self._drawn = False  # whether a bar stands in the cursor's line

    # ---- while it goes on

    @property
    def due(self) -> bool:
        """Whether it is time to show something: worth reading values for."""
        return time.perf_counter() >= self._next and self._worth_a_line()

    def update(self, step: int, values: Mapping[str, float | str] | None = None) -> None:
        """So many steps are done; shows it if it is time."""
        self.step = step
        if values is not None:
            self.values = dict(values)
        if self.due:
            self.show()

    def show(self) -> None:
        """Show it now."""
        now = time.perf_counter()
        self._seen.append((now, self.step))
        self._next = now + self._pause()
        first_time, first_step = self._seen[0]
        rate = (self.step - first_step) / (now - first_time) if now > first_time else None
        self._tell(self._status(rate))

    def print(self, *words: Any) -> None:
        """Print a line above the bar."""
        self._erase()
        self._emit(" ".join(map(str, words)) + "\n")

    def close(self) -> None:
        """Show the end, once, and leave the cursor at the start of a line."""
        if self._stream is None:
            return
        taken = time.perf_counter() - self._began
        rate = (self.step - self._start) / taken if taken > 0 else None
        self._tell(self._status(rate))
        if self._drawn:
            self._emit("\n")
        self._stream, self._drawn = None, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # ---- what is written

    def _pause(self) -> float:
        """Seconds between two drawings."""
        if self._live is not None:
            return _REFRESH_LIVE
        return _REFRESH if self._bar else _PLAIN_LEAST

    def _tell(self, status: Status) -> None:
        """In the notebook; by lines where there is none, or it takes no more."""
        if self._live is not None and self._live.show(status):
            return
        self._live = None
        self._write(self._line(status))

    def _worth_a_line(self) -> bool:
        if self._bar or self._live is not None or self._stream is None:
            return self._stream is not None
        if self.step == self.total:
            return False  # `close` writes the last one
        last_time, last_step = self._seen[-1]
        if time.perf_counter() - last_time >= _PLAIN_MOST:
            return True
        return self.total is not None and self.step - last_step >= _PLAIN_SHARE * self.total

    def _status(self, rate: float | None) -> Status:
        rate = rate or None
        over = self.total is not None and self.step >= self.total
        left = (self.total - self.step) / rate if self.total and rate and not over else None
        memory = resident_memory()
        return Status(self.step, self.total, self.label, self.values, rate, left, memory)

    def _line(self, status: Status) -> str:
        if not self._bar:
            return plain(status)
        signs = "━─" if _can_write(self._stream, "━─") else "#-"
        colour = ("\x1b[36m", "\x1b[0m") if config.colours_wanted() else ("", "")
        # A full line makes some terminals wrap, so the last column stays free.
        return fitted(status, max(width(self._stream) - 1, 0), signs, colour)

    def _write(self, line: str) -> None:
        if self._bar:
            self._emit(_CLEAR + line)
            self._drawn = True
        else:
            self._emit(line + "\n")

    def _erase(self) -> None:
        if self._drawn:
            self._emit(_CLEAR)
            self._drawn = False

    def _emit(self, text: str) -> None:
        """A stream without a reader is no reason to stop."""
        if self._stream is None:
            return
        try:
            self._stream.write(_encodable(self._stream, text))
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None


def resident_memory() -> int | None:
    """Bytes of memory of this process, where the system says."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return None


def width(stream: TextIO | None) -> int:
    """Columns of the terminal."""
    wanted = config.columns_wanted()
    with contextlib.suppress(OSError, ValueError, AttributeError):
        real = os.get_terminal_size(stream.fileno()).columns if stream else 0
        return min(real, wanted or real) or wanted or 80
    return wanted or 80


def _can_redraw(stream: TextIO) -> bool:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return stream.isatty() and not config.plain_terminal()
    return False


def _can_write(stream: TextIO | None, text: str) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True


def _encodable(stream: TextIO, text: str) -> str:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    if _can_write(stream, text):
        return text
    return text.encode(encoding, "replace").decode(encoding)
