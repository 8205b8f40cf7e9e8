"""Ctrl-C in a loop: the first asks to stop after the step, the second stops at once."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from types import FrameType
from typing import Any, Self

EXIT_CODE = 130  # as shells report a process that Ctrl-C ended
_NOTE = b"\nstopping after this step; Ctrl-C again leaves at once\n"


class Interrupted(KeyboardInterrupt, SystemExit):
    """Ctrl-C was pressed and what was to be saved is saved.

    An `except KeyboardInterrupt` catches it. To Python, where none does, it is an exit
    with code 130 and without a traceback.
    """

    def __init__(self) -> None:
        super().__init__(EXIT_CODE)
        self.code = EXIT_CODE


class Interrupts:
    """`with Interrupts() as asked: ...`: whether Ctrl-C was pressed, as `asked.pressed`.

    Only the main thread can receive signals, and a process that ignores them goes on doing so.
    """

    def __init__(self, wanted: bool = True):
        self.pressed = False
        self._wanted = wanted
        self._previous: Any = None

    def __enter__(self) -> Self:
        if self._wanted and threading.current_thread() is threading.main_thread():
            found: Any = signal.getsignal(signal.SIGINT)
            if callable(found):
                self._previous = found
                signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            self._previous = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            self.__exit__()
            raise KeyboardInterrupt
        self.pressed = True
        with contextlib.suppress(OSError):
            os.write(2, _NOTE)  # print may be what the signal interrupted
