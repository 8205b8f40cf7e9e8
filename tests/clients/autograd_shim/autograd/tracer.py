"""`primitive`: a function with rules of its own, as Adjoint's `custom_vjp`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint
from adjoint import Tensor

from .trees import as_tensor, leaves_of

_NUMBERS = (float, int, complex, np.generic)


def isbox(value: Any) -> bool:
    """Whether a value is followed by a derivative."""
    return isinstance(value, Tensor)


def getval(value: Any) -> Any:
    """The value without what follows it."""
    return value.detach() if isinstance(value, Tensor) else value


class Primitive:
    """A function that derivatives do not look into; `rules` are those of `defvjp`, by argument."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fun)
        self.fun, self.rules = fun, {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(leaf, Tensor) for leaf in leaves_of(args)):
            return self.fun(*args, **kwargs)
        if not all(isinstance(leaf, (Tensor, np.ndarray, *_NUMBERS)) for leaf in args):
            return self.fun(*args, **kwargs)  # no rule is asked for where words are handed over
        return self._followed(kwargs)(*map(as_tensor, args))

    def _followed(self, kwargs: dict[str, Any]) -> Callable[..., Any]:
        @adjoint.custom_vjp
        def call(*args: Any) -> Any:
            return as_tensor(self.fun(*args, **kwargs))

        def forward(*args: Any) -> tuple[Any, Any]:
            answer = as_tensor(self.fun(*args, **kwargs))
            return answer, (answer, args)

        def backward(kept: Any, g: Any) -> tuple[Any, ...]:
            answer, args = kept
            if not self.rules:
                raise NotImplementedError(f"{self.fun} has no rule")
            pulled = (self.rules[i](answer, *args, **kwargs)(g) for i in range(len(args)))
            return tuple(map(as_tensor, pulled))

        call.defvjp(forward, backward)
        return call


def primitive(fun: Callable[..., Any]) -> Primitive:
    """A function with rules of its own."""
    return Primitive(fun)


def notrace_primitive(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose result does not depend on its arguments smoothly."""
    return lambda *args, **kwargs: fun(*map(getval, args), **kwargs)
