"""autograd's `flatten`, and a graph that is traced once: Adjoint's `jit`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import adjoint
import autograd

from ..trees import as_tensor, given_back, inside, tree_map

__path__ = [
    str(Path(__file__).parent),
    *(str(Path(p) / "misc") for p in autograd.__path__),
]

from .flatten import flatten

__all__ = ["const_graph", "flatten"]


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """`fun`, traced at its first call."""
    compiled = adjoint.jit(inside(functools.partial(fun, *args, **kwargs)))
    return lambda *values: given_back(compiled(*tree_map(as_tensor, values)))
