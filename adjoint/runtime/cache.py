"""Compiled code on disk, one file per object, named by the hash of all it depends on.

The directory is private: one that another user owns or can write to is not used, since what is in
it will run. A file carries the hash of its contents and is put in place by a rename, so a reader
sees a whole file or none, and a file that was cut or changed is as good as none. A disk that is
full or cannot be written to is no error: code is compiled again. What may live here: keeping
bytes. What may not: what the bytes mean.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from adjoint import config
from adjoint.runtime.native import hold_over_fork

_MAGIC = b"adjoint object 1\n"
_SUFFIX, _UNFINISHED = ".obj", ".new"
_NAME = re.compile(r"[0-9a-f]{64}\.obj|[0-9a-f]+-\d+-[0-9a-f]+\.new")  # of files that are ours
_HOUR = 3600.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Entry:
    """A file of the cache: its name, its bytes on disk, when it was last used."""

    name: str
    size: int
    used: float


def directory() -> Path:
    """Where compiled code is kept, if it is kept."""
    asked = config.CACHE_DIR.value()
    return Path(asked) if asked else Path(config.user_cache()) / "adjoint"


def read(name: str) -> bytes | None:
    """The object of that name, if it is there and whole."""
    folder = _folder()
    if folder is None:
        return None
    path = folder / (name + _SUFFIX)
    try:
        with open(path, "rb", opener=_open_own) as file:
            data = file.read()
            age = time.time() - os.fstat(file.fileno()).st_mtime
    except OSError:
        return None
    payload = _payload(data)
    if payload is not None and age > _HOUR:
        with contextlib.suppress(OSError):
            os.utime(path)
    return payload


def write(name: str, payload: bytes) -> None:
    """Keep an object, if the disk lets us."""
    folder = _folder()
    if folder is None:
        return
    path = folder / (name + _SUFFIX)
    unfinished = folder / f"{name[:16]}-{os.getpid()}-{os.urandom(4).hex()}{_UNFINISHED}"
    try:
        with open(unfinished, "xb", opener=_open_private) as file:
            file.write(_MAGIC + hashlib.sha256(payload).digest() + payload)
        os.replace(unfinished, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        return
    _sizes.add(folder, len(payload))


def entries() -> list[Entry]:
    """What is kept, the least recently used first."""
    folder = _folder()
    found = [] if folder is None else list(_files(folder, _SUFFIX))
    return sorted(found, key=lambda entry: (entry.used, entry.name))


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


def clear() -> int:
    """Remove all that is ours; the number of objects removed."""
    folder = _folder()
    if folder is None:
        return 0
    found = entries()
    for entry in [*found, *_files(folder, _UNFINISHED)]:
        _remove(folder, entry)
    _sizes.forget()
    return len(found)


# ---- files


def _open_own(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _payload(data: bytes) -> bytes | None:
    start = len(_MAGIC) + 32
    payload = data[start:]
    digest = hashlib.sha256(payload).digest()
    return payload if data[:start] == _MAGIC + digest else None


def _files(folder: Path, suffix: str) -> Iterator[Entry]:
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for file in found:
            if file.name.endswith(suffix) and _NAME.fullmatch(file.name):
                with contextlib.suppress(OSError):  # another process may have removed it
                    info = file.stat(follow_symlinks=False)
                    yield Entry(file.name, info.st_size, info.st_mtime)


def _remove(folder: Path, entry: Entry) -> None:
    with contextlib.suppress(OSError):
        os.unlink(folder / entry.name)


# ---- the directory


def _folder() -> Path | None:
    """The directory, made and found to be ours; None if there is none to use."""
    return _checked(directory()) if config.CACHE.value() else None


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


def _problem(info: os.stat_result) -> str:
    if not stat.S_ISDIR(info.st_mode):
        return "is not a directory"
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
            _remove(folder, entry)
    found = sorted(_files(folder, _SUFFIX), key=lambda entry: (entry.used, entry.name))
    total = sum(entry.size for entry in found)
    for entry in found:
        if total <= keep:
            break
        _remove(folder, entry)
        total -= entry.size
    return total


_sizes = _Sizes()
hold_over_fork(_sizes._lock)
