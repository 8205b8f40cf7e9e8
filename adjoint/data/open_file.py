"""Opening a file of data: what can go wrong before anything is read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adjoint.errors import FileError, did_you_mean


@contextmanager
def reading(path: str | os.PathLike[str], op: str) -> Iterator[Path]:
    """Inside, errors of the operating system say which file and what to do."""
    file = Path(path)
    try:
        if file.is_dir():
            raise FileError("E9006", f"{file} is a folder, not a file", op=op)
        yield file
    except FileNotFoundError:
        near = did_you_mean(file.name, _neighbours(file.parent)) or f"looked from {Path.cwd()}"
        raise FileError("E9006", f"there is no file {file}", op=op, help=near) from None
    except PermissionError:
        fix = "its permissions do not let you read it"
        raise FileError("E9006", f"{file} cannot be opened", op=op, help=fix) from None


def read_bytes(path: str | os.PathLike[str], op: str = "read_bytes") -> bytes:
    """All of a file; E9006 if there is none to read."""
    with reading(path, op) as file:
        return file.read_bytes()


def _neighbours(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []
