"""The start of the command line: Ctrl-C during its imports ends it without a traceback.

`adjoint/__init__.py` loads this module first. What may live here: what must be so before anything
else is loaded. What may not: any import of Adjoint, or of a module that takes long to load.
"""

from __future__ import annotations

import os
import signal
import sys

INTERRUPTED = 130  # the exit code that shells give to a process that Ctrl-C ended


def is_command_line() -> bool:
    """Whether this process is `adjoint ...` or `python -m adjoint ...`."""
    program = sys.argv[0] if getattr(sys, "argv", None) else ""
    if program == "-m":  # so it is while Python imports the module that it will run
        pairs = zip(sys.orig_argv, sys.orig_argv[1:], strict=False)
        return ("-m", "adjoint") in pairs
    return os.path.basename(program) in ("adjoint", "adjoint.exe")


def _end(*_: object) -> None:
    os._exit(INTERRUPTED)


def _begin() -> None:
    """Until `ready`, Ctrl-C ends a process of the command line at once. Nothing needs cleaning up:
    it has only loaded modules."""
    if is_command_line() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        try:
            signal.signal(signal.SIGINT, _end)
        except ValueError:  # another thread than the main one imports Adjoint
            return


def ready() -> None:
    """Ctrl-C raises KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_begin()
