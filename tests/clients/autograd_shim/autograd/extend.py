"""What autograd shows to those who write rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .core import VSpace, vspace
from .tracer import Primitive, notrace_primitive, primitive

__all__ = ["VSpace", "defvjp", "defvjp_argnum", "notrace_primitive", "primitive", "vspace"]


def defvjp(fun: Primitive, *makers: Callable[..., Any], argnums: Any = None) -> None:
    """Set the rules of a primitive's arguments."""
    fun.rules.update(zip(argnums or range(len(makers)), makers, strict=False))


def defvjp_argnum(fun: Primitive, maker: Callable[..., Any]) -> None:
    """Set one rule that is told the number of the argument."""

    def of(argnum: int) -> Callable[..., Any]:
        return lambda answer, *args, **kwargs: maker(argnum, answer, args, kwargs)

    fun.rules.update((argnum, of(argnum)) for argnum in range(8))
