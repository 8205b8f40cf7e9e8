"""Compiled code on disk, one file per object, named by the hash of everything it depends on.

The directory is private, because its contents will run: a directory that another user owns or can
write to is not used, and the same holds for every file, through the descriptor it is read from. A
file carries the hash of its name and its contents and is put in place by a rename, so a reader sees
a whole file or none. A file that is truncated, changed, renamed or not ours is removed and made
again. A full or read-only disk is no error: code is compiled again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from adjoint import config
from adjoint.runtime.libc import hold_over_fork

_MAGIC = b"adjoint object 2\n"
_SUFFIX, _UNFINISHED = ".obj", ".new"
_NAME = re.compile(r"[0-9a-f]{64}\.obj|[0-9a-f]+-\d+-[0-9a-f]+\.new")  # of files that are ours
_HOUR = 3600.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CacheEntry:
    """A file of the cache: its name, its bytes on disk, when it was last used."""

    name: str
    size: int
    used: float


def directory() -> Path:
    """Where compiled code is kept, if it is kept."""
    asked = config.CACHE_DIR.value()
    return Path(asked) if asked else Path(config.user_cache()) / "adjoint"


def read(name: str) -> bytes | None:
    """The object of that name, if it is there, ours and whole; what is not is removed."""
    folder = _folder()
    if folder is None:
        return None
    path = folder / (name + _SUFFIX)
    try:
        with open(path, "rb", opener=_open_own) as file:
            info = os.fstat(file.fileno())
            payload = None if _file_problem(info) else _payload(name, file.read())
    except FileNotFoundError:
        return None
    except OSError:  # a link, or a file that may not be read: not what we wrote
        payload, info = None, None
    if payload is None:
        _distrust(path, info)
    elif info is not None and time.time() - info.st_mtime > _HOUR:
        with contextlib.suppress(OSError):
            os.utime(path)
    return payload


def discard(name: str) -> None:
    """Remove an object that turned out to be of no use."""
    folder = _folder()
    if folder is not None:
        _remove(folder / (name + _SUFFIX))


def _distrust(path: Path, info: os.stat_result | None) -> None:
    """Remove an object that is not ours or not whole; another owner's is worth a word."""
    _remove(path)
    problem = "" if info is None else _file_problem(info)
    if problem:
        _say_once(f"compiled code in {path.parent} {problem}: it was removed and is not run")


@lru_cache(maxsize=64)
def _say_once(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)


def write(name: str, payload: bytes) -> None:
    """Keep an object, if the disk lets us."""
    folder = _folder()
    if folder is None:
        return
    path = folder / (name + _SUFFIX)
    unfinished = folder / f"{name[:16]}-{os.getpid()}-{os.urandom(4).hex()}{_UNFINISHED}"
    try:
        with open(unfinished, "xb", opener=_open_private) as file:
            file.write(_MAGIC + _digest(name, payload) + payload)
        os.replace(unfinished, path)
    except OSError:
        _remove(unfinished)
        return
    _sizes.add(folder, len(payload))


def entries() -> list[CacheEntry]:
    """What is kept, the least recently used first."""
    folder = _folder()
    return [] if folder is None else _by_age(folder)


def total_size() -> int:
    """Bytes of all that is kept."""
    return sum(entry.size for entry in entries())


def problem() -> str:
    """Why the directory cannot be used: a phrase about it, or nothing."""
    folder = directory()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _problem(os.stat(folder)) or ("" if os.access(folder, os.W_OK) else "is read-only")
    except OSError as error:
        return f"cannot be made: {error.strerror}"


def distrusted() -> list[str]:
    """Files of the directory that look like objects and are not ours, each with the reason."""
    found = []
    with contextlib.suppress(OSError), os.scandir(directory()) as files:
        for file in files:
            if _NAME.fullmatch(file.name):
                problem = _file_problem(file.stat(follow_symlinks=False))
                if problem:
                    found.append(f"{file.name} {problem}")
    return sorted(found)


def clear() -> int:
    """Remove all that is ours; the number of objects removed."""
    folder = _folder()
    if folder is None:
        return 0
    found = entries()
    for entry in [*found, *_files(folder, _UNFINISHED)]:
        _remove(folder / entry.name)
    _sizes.forget()
    return len(found)


# ---- files


def _open_own(path: str, flags: int) -> int:
    """No link is followed, and a pipe does not keep us waiting."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _payload(name: str, data: bytes) -> bytes | None:
    start = len(_MAGIC) + 32
    payload = data[start:]
    return payload if data[:start] == _MAGIC + _digest(name, payload) else None


def _digest(name: str, payload: bytes) -> bytes:
    """Of the name, too: an object under another's name is not whole."""
    return hashlib.sha256(name.encode() + b"\0" + payload).digest()


def _files(folder: Path, suffix: str) -> Iterator[CacheEntry]:
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for file in found:
            if file.name.endswith(suffix) and _NAME.fullmatch(file.name):
                with contextlib.suppress(OSError):  # another process may have removed it
                    info = file.stat(follow_symlinks=False)
                    yield CacheEntry(file.name, info.st_size, info.st_mtime)


def _by_age(folder: Path) -> list[CacheEntry]:
    return sorted(_files(folder, _SUFFIX), key=lambda entry: (entry.used, entry.name))


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


# ---- the directory


def _folder() -> Path | None:
    """The directory, made and found to be ours; None if there is none to use."""
    if not config.CACHE.value():
        return None
    asked = config.CACHE_DIR.value()
    return _checked(Path(asked)) if asked else _default(directory())


@lru_cache(maxsize=8)
def _checked(folder: Path) -> Path | None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = os.stat(folder)
    except OSError:
        return None
    problem = _problem(info)
    if problem:
        text = f"compiled code is not kept: {folder} {problem}; set ADJOINT_CACHE_DIR to another"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        return None
    return folder


@lru_cache(maxsize=8)
def _default(folder: Path) -> Path | None:
    """The user's directory, or one among temporary files where the user's cannot be written to."""
    found = _checked(folder)
    if os.path.isdir(folder) and (found is None or os.access(folder, os.W_OK)):
        return found
    other = (
        Path(tempfile.gettempdir())
        / f"adjoint-{os.geteuid() if hasattr(os, 'geteuid') else 'user'}"
    )
    with contextlib.suppress(OSError):
        other.mkdir(mode=0o700)
    if other.is_symlink() or _checked(other) is None:
        return found
    text = f"{folder} cannot be written to: compiled code is kept in {other}; set ADJOINT_CACHE_DIR"
    _say_once(f"{text} to a directory of your own")
    return other


def _problem(info: os.stat_result) -> str:
    return _access_problem(info) if stat.S_ISDIR(info.st_mode) else "is not a directory"


def _file_problem(info: os.stat_result) -> str:
    return _access_problem(info) if stat.S_ISREG(info.st_mode) else "is not a plain file"


def _access_problem(info: os.stat_result) -> str:
    if hasattr(os, "geteuid") and info.st_uid != os.geteuid():
        return "belongs to another user"
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written to by other users"
    return ""


# ---- the bound


class _Sizes:
    """How much is kept, as far as this process knows; looks again before it removes anything."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Path, int] = {}

    def add(self, folder: Path, size: int) -> None:
        limit = config.CACHE_LIMIT.value()
        with self._lock:
            if folder not in self._known:
                self._known[folder] = sum(entry.size for entry in _files(folder, _SUFFIX))
            else:
                self._known[folder] += size
            if self._known[folder] > limit:
                self._known[folder] = _prune(folder, limit * 4 // 5)

    def forget(self) -> None:
        with self._lock:
            self._known.clear()


def _prune(folder: Path, keep: int) -> int:
    """Remove the least recently used until `keep` bytes are left, and what dead processes left."""
    for entry in _files(folder, _UNFINISHED):
        if time.time() - entry.used > _HOUR:
            _remove(folder / entry.name)
    found = _by_age(folder)
    total = sum(entry.size for entry in found)
    for entry in found:
        if total <= keep:
            break
        _remove(folder / entry.name)
        total -= entry.size
    return total


_sizes = _Sizes()
hold_over_fork(_sizes._lock)
