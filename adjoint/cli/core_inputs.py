"""Arrays for the inputs of a Core module, from the words of a command line.

What may live here: `--input NAME=VALUE`. What may not: commands.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.cli.exits import UsageError
from adjoint.errors import did_you_mean
from adjoint.ir.dtype import DType
from adjoint.module import Module


def inputs(module: Module, words: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """A value for every input of the module."""
    types = {i.attrs[0]: i.type.dtype for i in module.inputs}
    given: dict[str, Any] = {}
    for name, text in words:
        if name in given:
            raise UsageError(f"--input {name} is given twice")
        if name not in types:
            hint = did_you_mean(name, types)
            raise UsageError(f"--input {name}: the module has no such input. {hint}".rstrip())
        given[name] = _array(name, text, types[name])
    missing = [name for name in types if name not in given]
    if missing:
        raise UsageError(f"no value for {', '.join(missing)}: give --input {missing[0]}=...")
    return given


def _array(name: str, text: str, wanted: DType) -> Any:
    """The array of a .npy file, or of a literal in the dtype of the input."""
    try:
        if text.endswith(".npy"):
            return np.load(text, allow_pickle=False)
        return _fitting(np.array(json.loads(text)), wanted)
    except (OSError, ValueError, EOFError, OverflowError, RecursionError) as error:
        raise UsageError(f"--input {name}: {error}") from None


def _fitting(array: Any, wanted: DType) -> Any:
    kinds = "biufc"
    if array.dtype.kind not in kinds or kinds.index(array.dtype.kind) > kinds.index(wanted.kind):
        raise ValueError(f"the values are no numbers of {wanted.short}")
    if wanted.is_int and array.size and not wanted.min <= array.min() <= array.max() <= wanted.max:
        raise ValueError(f"{wanted.short} goes from {wanted.min} to {wanted.max}")
    return array.astype(wanted.np)


def assignment(text: str) -> tuple[str, str]:
    """The name and the value of `NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"expected NAME=FILE.npy or NAME=VALUE, got {text!r}")
    return name, value
