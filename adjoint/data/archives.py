"""`.npz` files → datasets, without pickles and without trusting a word of the file.

Every size that the file claims is compared with what is there before memory is taken for it.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from adjoint.data.dataset import Dataset
from adjoint.data.open_file import reading
from adjoint.errors import AdjointError, FileError, TrainingError, did_you_mean

_OP = "read_npz"
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_npz(path: str | os.PathLike[str], limit: int = 1 << 34, **fields: str) -> Dataset:
    """The arrays of an `.npz` file as a dataset, by their own names, or some of them by others:
    `read_npz("faces.npz", x="images", y="labels")`. The first axis of all counts the samples.

    `limit` is the most bytes that it may take in memory.
    """
    with reading(path, _OP) as file:
        arrays = _arrays(file, list(fields.values()), limit)
    if not fields:
        return Dataset(**arrays)
    return Dataset(**{new: arrays[old] for new, old in fields.items()})


def _arrays(file: Path, wanted: list[str], limit: int) -> dict[str, np.ndarray]:
    with _opened(file) as archive:
        members = {_plain(info.filename): info for info in archive.infolist()}
        _check_names(file, members, wanted)
        chosen = {name: members[name] for name in wanted or members}
        size = sum(info.file_size for info in chosen.values())
        if size > limit:
            problem = f"{file} holds {size:,} bytes, and the limit is {limit:,}"
            fix = "choose fields, as in x='images', or raise limit="
            raise TrainingError("E9003", problem, op=_OP, help=fix)
        return {name: _member(file, archive, info) for name, info in chosen.items()}


def _opened(file: Path) -> zipfile.ZipFile:
    size = file.stat().st_size
    if size == 0:
        raise FileError("E9001", f"{file} is empty", op=_OP)
    try:
        return zipfile.ZipFile(file)
    except (FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # the format has many ways to be wrong, and so has its reader
        problem = f"{file} is no .npz file, or was cut short at byte {size}: {error}"
        raise FileError("E9001", problem, op=_OP, help=_begins_otherwise(file)) from error


def _begins_otherwise(file: Path) -> str:
    with open(file, "rb") as stream:
        start = stream.read(6)
    if start == b"\x93NUMPY":
        return "it is a .npy file: use numpy.load and Dataset(x, y)"
    return "write it again with numpy.savez"


def _plain(name: str) -> str:
    return name.removesuffix(".npy")


def _check_names(file: Path, names: Iterable[str], wanted: list[str]) -> None:
    known = list(names)
    if not known:
        raise TrainingError("E9003", f"{file} holds no arrays", op=_OP)
    for name in wanted:
        if name not in known:
            near = did_you_mean(name, known) or f"it has {', '.join(known)}"
            raise TrainingError("E9003", f"{file} has no array {name!r}", op=_OP, help=near)


def _member(file: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    try:
        _check_size(info)
        with archive.open(info) as stream:
            return _array(stream, info.file_size)
    except AdjointError as error:
        where = f"array {_plain(info.filename)!r} of {file}"
        raise type(error)(error.code, f"{where} {error.problem}", op=_OP, help=error.help) from None
    except Exception as error:  # as in `_opened`
        where = f"{file}, array {_plain(info.filename)!r} at byte {info.header_offset}"
        raise FileError("E9001", f"{where}: {error}", op=_OP) from error


def _check_size(info: zipfile.ZipInfo) -> None:
    """No compression can produce the claimed size from so few bytes."""
    most = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1100}.get(info.compress_type, 1 << 20)
    if info.file_size > most * info.compress_size:
        raise ValueError(f"{info.compress_size} bytes cannot hold {info.file_size}")


def _array(stream: IO[bytes], size: int) -> np.ndarray:
    version = npy.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"version {version} of the format")
    shape, in_columns, dtype = _HEADERS[version](stream)
    if dtype.hasobject:
        fix = "numbers are saved without pickles: array.astype(float) first"
        raise TrainingError("E9003", "holds Python objects, which are not read", help=fix)
    if prod(shape) * dtype.itemsize != size - stream.tell():
        has = size - stream.tell()
        raise ValueError(f"{dtype}{list(shape)} does not take the {has} bytes that are there")
    return _filled(stream, shape, in_columns, dtype)


def _filled(stream: IO[bytes], shape: Any, in_columns: bool, dtype: np.dtype) -> np.ndarray:
    flat = np.empty(prod(shape), dtype)
    whole = memoryview(flat.reshape(-1).view(np.uint8).data)
    place = 0
    while place < len(whole):
        got = stream.readinto(whole[place : place + (1 << 20)])  # type: ignore[attr-defined]
        if not got:
            raise EOFError(f"it ends after {place} of {len(whole)} bytes")
        place += got
    stream.read(1)  # at its end the checksum is compared
    return flat.reshape(shape[::-1]).transpose() if in_columns else flat.reshape(shape)
