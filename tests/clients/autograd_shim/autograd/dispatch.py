"""A namespace whose functions are NumPy's or SciPy's for arrays, and Adjoint's for tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from adjoint import Tensor

from .trees import leaves_of


def followed(args: Any) -> bool:
    """Whether there is a tensor among the arguments."""
    return any(isinstance(leaf, Tensor) for leaf in leaves_of(args))


def as_operand(value: Any) -> Any:
    """An array as a tensor; other arguments as they are."""
    if isinstance(value, (np.ndarray, np.generic)):
        return Tensor(np.asarray(value))
    if isinstance(value, list | tuple) and followed(value):
        return type(value)(map(as_operand, value))
    return value


def dispatched(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """One function out of two, by what it is given."""

    @functools.wraps(theirs, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if not (followed(args) or followed(kwargs)):
            return theirs(*args, **kwargs)
        return ours(*map(as_operand, args), **{k: as_operand(v) for k, v in kwargs.items()})

    return call


def namespace(
    theirs: ModuleType, find: Callable[[str], Any], more: Mapping[str, Any]
) -> dict[str, Any]:
    """The names of a module, each function dispatched where Adjoint has one for it."""
    names: dict[str, Any] = {}
    for name in dir(theirs):
        value = getattr(theirs, name)
        if name.startswith("__") or isinstance(value, ModuleType):
            continue
        ours = more.get(name) or find(name)
        callable_ = callable(value) and not isinstance(value, type) and ours is not None
        names[name] = dispatched(value, ours) if callable_ else value
    return names
