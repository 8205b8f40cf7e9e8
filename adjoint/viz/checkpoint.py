"""A checkpoint or a model as a table: names, types, shapes and sizes, without reading a value.

What may live here: the data of the page Table. What may not: formats of files (`nn/state/`).
"""

from __future__ import annotations

import os
from math import prod
from typing import Any

from adjoint.nn import Module
from adjoint.nn.state.safetensors import read_contents


def table_of(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The tensors of a safetensors file, in its order, and what else it says."""
    contents = read_contents(path, "view")
    rows = [
        [name, entry.code, list(entry.shape), prod(entry.shape), entry.size]
        for name, entry in contents.entries.items()
    ]
    return _table(rows, dict(contents.metadata))


def parameters_of(module: Module) -> dict[str, Any]:
    """The parameters and buffers of a model."""
    rows = [
        [name, t.dtype.short, list(t.shape), t.numel(), t.numel() * t.dtype.itemsize]
        for name, t in module.state_dict().items()
    ]
    return _table(rows, {})


def _table(rows: list[list[Any]], metadata: dict[str, str]) -> dict[str, Any]:
    columns = ["name", "type", "shape", "numbers", "bytes"]
    return {"columns": columns, "rows": rows, "metadata": metadata}
