"""Checkpoints in a folder: each process writes its part, and an index says how they fit together.

What may live here: which process writes what, and reading pieces as whole tensors. What may not:
what a checkpoint holds (`checkpoint.py`), or who the processes are.

A folder is `index.json` and safetensors files, one for each process that wrote it. Pieces that
several members hold are written once. The index comes last: before it, the folder is the old
checkpoint.
"""

from __future__ import annotations

import json
import os
import secrets
import zlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.distributed import member
from adjoint.errors import FileError
from adjoint.ir.mesh import Sharding
from adjoint.ir.values import is_known, storage
from adjoint.nn.state.atomic import write_atomically
from adjoint.nn.state.checkpoint_file import STATE, SUM, checksum, crc
from adjoint.nn.state.safetensors import (
    ELEMENTS,
    Contents,
    Entry,
    code_of,
    read_contents,
    write_contents,
)
from adjoint.runtime.sharded_buffer import ShardedBuffer, region
from adjoint.tensor import Tensor

Array = np.ndarray[Any, Any]
INDEX, SUMS, OP = "index.json", "adjoint.crc32", "save_checkpoint"
Region = tuple[slice, ...]


def is_checkpoint_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a checkpoint in parts is there."""
    return os.path.isfile(os.path.join(path, INDEX))


def write_folder(folder: Path, state: dict[str, Any], tensors: Mapping[str, Any]) -> None:
    """Write a checkpoint as a folder; every process of the program calls it."""
    here = member()
    _make(folder)
    lazy = [t for t in tensors.values() if isinstance(t, Tensor) and not is_known(t.uop)]
    if lazy:
        Tensor.realize(*lazy)
    files = _file_names(here)
    pieces = {name: _pieces(i, value, here.size) for i, (name, value) in enumerate(tensors.items())}
    own = {
        _key(name, place): _contents(tensors[name], number)
        for name, rows in pieces.items()
        for place, process, number in rows
        if process == here.rank
    }
    write_contents(folder / files[here.rank], own, _sums, OP)
    here.barrier(label=f"writing {folder}")
    if here.rank == 0:
        table = {name: _row(tensors[name], name, rows, files) for name, rows in pieces.items()}
        _write_index(folder, state, table)
        _remove_others(folder, files)
    here.barrier(label=f"writing {folder}")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        problem = f"cannot make the folder {folder}: {error.strerror}"
        fix = "processes write a folder together; give a path where there is no file"
        raise FileError("E9006", problem, op=OP, help=fix) from None


def _file_names(here: Any) -> list[str]:
    """New names, the same for all processes: an old checkpoint stays whole meanwhile."""
    drawn = np.frombuffer(secrets.token_bytes(4), np.uint8).copy()
    all_ = np.empty((here.size, 4), np.uint8)
    here.all_gather(drawn, all_, label="names of files")
    tag = all_[0].tobytes().hex()
    return [f"{tag}-{r + 1:05d}-of-{here.size:05d}.safetensors" for r in range(here.size)]


def _pieces(index: int, value: Any, processes: int) -> list[tuple[Region, int, int]]:
    """(place in the whole, process that writes it, member that has it) of each piece."""
    layout = value.sharding if isinstance(value, Tensor) else None
    if not isinstance(layout, Sharding):
        return [(tuple(slice(0, n) for n in value.shape), 0, 0)]
    owners: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for number in layout.holders:
        place = region(layout, value.shape, number)
        if all(s.stop > s.start for s in place) or 0 in value.shape:
            owners.setdefault(tuple((s.start, s.stop) for s in place), []).append(number)
    chosen = [(place, having[index % len(having)]) for place, having in owners.items()]
    return [
        (tuple(slice(*ends) for ends in place), number if processes > 1 else 0, number)
        for place, number in chosen
    ]


def _key(name: str, place: Region) -> str:
    begins = ",".join(str(s.start) for s in place)
    return f"{name}@{begins}" if any(s.start for s in place) else name


def _contents(value: Any, number: int) -> Array:
    """A member's part of a tensor, without what it is filled up with."""
    if not isinstance(value, Tensor):
        return np.asarray(value)
    buffer = storage(value.uop)
    if not isinstance(buffer, ShardedBuffer):
        return value.numpy()
    place = region(buffer.device, buffer.shape, number)
    return buffer.parts[number].array()[tuple(slice(0, s.stop - s.start) for s in place)]


def _sums(arrays: Mapping[str, Array]) -> dict[str, str]:
    return {SUMS: json.dumps({name: crc(array) for name, array in arrays.items()})}


def _row(value: Any, name: str, rows: Any, files: list[str]) -> dict[str, Any]:
    parts = [
        {"file": files[process], "key": _key(name, place), "begin": [s.start for s in place]}
        for place, process, _ in rows
    ]
    kind = value.dtype.np if isinstance(value, Tensor) else np.asarray(value).dtype
    return {"dtype": code_of(kind), "shape": list(map(int, value.shape)), "parts": parts}


def _write_index(folder: Path, state: dict[str, Any], table: dict[str, Any]) -> None:
    text = json.dumps(state | {"crc32": dict.fromkeys(table)}, allow_nan=False)
    shapes = {name: (row["dtype"], tuple(row["shape"])) for name, row in table.items()}
    whole = {STATE: text, SUM: checksum(text, shapes), "tensors": table}
    data = json.dumps(whole, allow_nan=False)
    data = json.dumps({"crc32": zlib.crc32(data.encode()), "checkpoint": data})
    write_atomically(folder / INDEX, [lambda: data.encode()], OP)


def _remove_others(folder: Path, files: list[str]) -> None:
    """Files of the checkpoint that this one takes the place of."""
    for file in folder.glob("*-of-*.safetensors"):
        if file.name not in files:
            file.unlink(missing_ok=True)


class FolderContents:
    """What `Contents` is for one file, for a folder: pieces are put together when they are read."""

    def __init__(self, folder: str | os.PathLike[str], op: str):
        self._folder, self._op = Path(folder), op
        found = self._index()
        self.metadata = {name: found[name] for name in (STATE, SUM)}
        self._table: dict[str, Any] = found["tensors"]
        self.entries = {name: _entry(row) for name, row in self._table.items()}
        self.file = self

    @property
    def path(self) -> Path:
        """Where it is."""
        return self._folder

    def _index(self) -> dict[str, Any]:
        try:
            whole = json.loads((self._folder / INDEX).read_bytes())
            if zlib.crc32(whole["checkpoint"].encode()) != whole["crc32"]:
                raise self.damaged("the checksum of the index differs", 0)
            found: dict[str, Any] = json.loads(whole["checkpoint"])
        except OSError as error:
            problem = f"{self._folder} is no checkpoint: {INDEX} cannot be read: {error.strerror}"
            raise FileError("E9006", problem, op=self._op) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise self.damaged("the index is not one of a checkpoint", 0) from None
        return found

    def damaged(self, problem: str, *where: Any, help: str = "") -> FileError:
        """E9001 about this folder."""
        return FileError("E9001", f"{self._folder}: {problem}", op=self._op, help=help)

    def raw(self, name: str) -> Array:
        """The bytes of a tensor."""
        return np.ascontiguousarray(self.array(name)).reshape(-1).view(np.uint8)

    def array(self, name: str) -> Array:
        """The values of a tensor, each piece checked."""
        row = self._table[name]
        whole = np.empty(row["shape"], ELEMENTS[row["dtype"]].dtype.np)
        filled = 0
        for part in row["parts"]:
            piece = self._piece(part["file"], part["key"])
            ends = [b + n for b, n in zip(part["begin"], piece.shape, strict=True)]
            if any(end > n for end, n in zip(ends, whole.shape, strict=True)):
                raise self.damaged(f"a piece of {name} lies outside of it", 0)
            whole[tuple(slice(b, e) for b, e in zip(part["begin"], ends, strict=True))] = piece
            filled += piece.size
        if filled != whole.size:
            raise self.damaged(f"{name} has {whole.size} elements, and pieces of {filled}", 0)
        return whole

    def _piece(self, file: str, key: str) -> Array:
        contents, sums = self._opened(file)
        if key not in contents.entries:
            raise self.damaged(f"{file} has no tensor {key!r}", 0)
        if crc(contents.raw(key)) != sums.get(key):
            raise self.damaged(f"the checksum of {key!r} in {file} differs", 0)
        return contents.array(key)

    def _opened(self, file: str) -> tuple[Contents, dict[str, int]]:
        if file not in self._files:
            if Path(file).name != file:
                raise self.damaged(f"{file!r} is not a file of the folder", 0)
            contents = read_contents(self._folder / file, self._op)
            self._files[file] = contents, json.loads(contents.metadata.get(SUMS, "{}"))
        return self._files[file]

    @cached_property
    def _files(self) -> dict[str, tuple[Contents, dict[str, int]]]:
        return {}


def _entry(row: dict[str, Any]) -> Entry:
    return Entry(row["dtype"], tuple(row["shape"]), 0, 0)
