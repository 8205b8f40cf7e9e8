"""Files that are read: mapped into memory, checked before they are touched.

The map is made when a file is opened, so what was found in it stays true when another file takes
its name.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.errors import FileError

Array = np.ndarray[Any, Any]
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FLAGS |= getattr(os, "O_NONBLOCK", 0)  # a named pipe is refused, not waited for


class MappedFile:
    """A file for reading. `op` is the function that the user called, for errors."""

    __slots__ = ("_map", "op", "path", "size")

    def __init__(self, path: str | os.PathLike[str], op: str):
        self.op, self.path = op, Path(path)
        try:
            self._map = _mapped(self.path)
        except (OSError, ValueError) as error:
            raise unreadable(op, self.path, error) from None
        self.size = 0 if self._map is None else len(self._map)

    def read(self, offset: int, count: int, what: str, key: str = "") -> bytes:
        """Exactly these bytes, in memory of their own."""
        self._check(offset, count, what, key)
        return b"" if self._map is None else self._map[offset : offset + count]

    def array(self, offset: int, count: int, what: str, key: str = "") -> Array:
        """These bytes as they are mapped: read when they are looked at."""
        self._check(offset, count, what, key)
        if self._map is not None and self._map.size() < self.size:
            # To touch a map beyond the end of its file is fatal.
            raise self.damaged("the file became shorter after it was opened", offset, key)
        if self._map is None or not count:
            return np.empty(0, np.uint8)
        return np.frombuffer(self._map, np.uint8, count, offset)

    def _check(self, offset: int, count: int, what: str, key: str) -> None:
        if offset + count > self.size:
            problem = f"{what} ends at byte {offset + count} of a file of {self.size}"
            raise self.damaged(problem, offset, key, help="the file was cut short: fetch it again")

    def damaged(self, problem: str, offset: int, key: str = "", help: str = "") -> FileError:
        """An error to raise: the file, the key, what is wrong, and at which byte."""
        about = f" {key!r}:" if key else ""
        text = f"{self.path}:{about} {problem} (at byte {offset})"
        return FileError("E9001", text, op=self.op, help=help)


def _mapped(path: Path) -> mmap.mmap | None:
    """The bytes of a regular file; None if there are none, which cannot be mapped."""
    with os.fdopen(os.open(path, _FLAGS), "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if status.st_size else None


def unreadable(op: str, path: Path, error: OSError | ValueError) -> FileError:
    """E9006: what the system says about a path; a ValueError, if it is none."""
    reason = str(getattr(error, "strerror", None) or error or type(error).__name__).lower()
    fix = _nearby(path) if isinstance(error, FileNotFoundError) else ""
    return FileError("E9006", f"{_shown(path)}: {reason}", op=op, help=fix)


def _shown(path: Path) -> str:
    text = str(path)
    return text if text.isprintable() else repr(text)


def _nearby(path: Path) -> str:
    """What there is where the file is not."""
    folder = path.absolute().parent
    if not folder.is_dir():
        return f"there is no directory {folder}"
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name[:1] != ".")
    except OSError:
        return ""
    alike = [name for name in names if name.endswith(path.suffix)] if path.suffix else names
    return f"{folder} has {', '.join(alike[:5])}" if alike else ""
