"""A checkpoint or a model as a table: names, types, shapes and sizes, without reading a value.

What may live here: the data of the page Table, and which format a file has. What may not: formats
of files (`nn/state/`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from adjoint.nn import Module
from adjoint.nn.state import get_state_dict, gguf_load, torch_load
from adjoint.nn.state.safetensors import ELEMENTS, read_contents
from adjoint.nn.state.sharded_checkpoint import FolderContents, is_checkpoint_folder
from adjoint.tensor import Tensor

_GGUF, _ZIP = b"GGUF", b"PK\x03\x04"


def is_checkpoint(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as one of tensors does, whatever it is called, or a folder is one."""
    if is_checkpoint_folder(path):
        return True
    start = _start(path)
    length = int.from_bytes(start[:8], "little")  # of the header of safetensors
    small = len(start) == 9 and length < os.path.getsize(path)
    return start[:4] in (_GGUF, _ZIP) or (small and start[8:] == b"{")


def _start(path: str | os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(9)
    except (OSError, ValueError):  # a folder, or no file at all
        return b""


def table_of(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The tensors of a checkpoint, in its order, and what else it says: safetensors, those of
    `save_checkpoint` (a folder, too), torch's and GGUF."""
    start = _start(path)
    if start[:4] == _GGUF:
        found = gguf_load(path)
        return _table(_rows(found.tensors), {k: str(v) for k, v in found.metadata.items()})
    if start[:4] == _ZIP:
        return _table(_rows(get_state_dict(torch_load(path))), {})
    folder = is_checkpoint_folder(path)
    contents = FolderContents(path, "view") if folder else read_contents(path, "view")
    rows = [
        [
            name,
            e.code,
            list(e.shape),
            prod(e.shape),
            prod(e.shape) * ELEMENTS[e.code].dtype.itemsize,
        ]
        for name, e in contents.entries.items()
    ]
    return _table(rows, dict(contents.metadata))


def parameters_of(module: Module) -> dict[str, Any]:
    """The parameters and buffers of a model."""
    return _table(_rows(module.state_dict()), {})


def _rows(tensors: Mapping[str, Tensor]) -> list[list[Any]]:
    return [
        [name, t.dtype.short, list(t.shape), t.numel(), t.numel() * t.dtype.itemsize]
        for name, t in tensors.items()
    ]


def _table(rows: list[list[Any]], metadata: dict[str, str]) -> dict[str, Any]:
    columns = ["name", "type", "shape", "numbers", "bytes"]
    return {"columns": columns, "rows": rows, "metadata": metadata}


def name_of(path: str | os.PathLike[str]) -> str:
    """The last part of a path."""
    return Path(path).name or os.fspath(path)
