"""Files that are written whole or not at all.

A new file is written beside the old one, flushed to the disk, and then takes its name: a reader of
the name sees the old or the new, whenever the writer is killed. What a killed writer leaves behind
is removed by the next one.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from adjoint.nn.state.mapped import unreadable

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: nothing is locked, so nothing that was left behind is removed
    fcntl = None

_CHUNK = 1 << 26
_LONGEST = 255 - len("..12345678.tmp")  # bytes of a name, of the 255 that file systems allow
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
_FLAGS |= getattr(os, "O_BINARY", 0)
Piece = Callable[[], Any]


def write_atomically(path: str | os.PathLike[str], pieces: Iterable[Piece], op: str) -> None:
    """Write buffers, each made when its turn comes, as the file of that name."""
    try:
        target = _resolved(path)
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a directory")
        _remove_leftovers(target)
        _write(target, pieces)
    except OSError as error:
        raise unreadable(op, Path(path), error) from None


def _resolved(path: str | os.PathLike[str]) -> Path:
    """The file itself: a link goes on pointing to it."""
    try:
        return Path(os.path.realpath(path))
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error)) from None


def _write(target: Path, pieces: Iterable[Piece]) -> None:
    temporary, file = _locked_temporary(target)
    try:
        with file:
            for piece in pieces:
                _write_piece(file, memoryview(piece()).cast("B"))
            file.flush()
            os.fsync(file.fileno())
            _keep_mode(target, file)
            if fcntl is None:
                file.close()  # Windows renames no open files
            os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _flush_directory(target.parent)


def _write_piece(file: BinaryIO, view: memoryview) -> None:
    for start in range(0, len(view), _CHUNK):
        file.write(view[start : start + _CHUNK])


def _locked_temporary(target: Path) -> tuple[Path, BinaryIO]:
    """A fresh file beside the target, locked for as long as its writer lives."""
    while True:
        name = target.with_name(f".{_stem(target.name)}.{secrets.token_hex(4)}.tmp")
        file: BinaryIO = os.fdopen(os.open(name, _FLAGS, 0o666), "wb")
        if fcntl is None:
            return name, file
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:  # else another writer took it for a leftover
            return name, file
        file.close()


def _remove_leftovers(target: Path) -> None:
    """Temporary files that no process has locked belong to writers that were killed."""
    if fcntl is None:
        return
    for name in target.parent.glob(f".{_plain(_stem(target.name))}.*.tmp"):
        with suppress(OSError), open(name, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            name.unlink()


def _stem(name: str) -> str:
    """As much of a name as leaves room for what is added to it."""
    while len(os.fsencode(name)) > _LONGEST:
        name = name[:-1]
    return name


def _plain(name: str) -> str:
    """A name in which nothing has a meaning for glob."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _keep_mode(target: Path, file: BinaryIO) -> None:
    """The users who may read the old file may read the new one."""
    with suppress(OSError, AttributeError):
        os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))


def _flush_directory(folder: Path) -> None:
    """The new name itself, to the disk; not every system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
