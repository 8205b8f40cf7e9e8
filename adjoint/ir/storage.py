"""Storage dtypes (the 8-bit floats): which ops accept them.

Ops that only move values accept them, and casts convert them. Every other op raises an error when
its node is built, because rounding to three bits at each step would make results useless.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from adjoint.errors import DTypeError

_MOVING = frozenset(
    (
        *("const", "buffer", "input", "spent", "part", "cast", "bitcast", "detach", "contiguous"),
        *("contiguous_backward", "unique_identity", "assign", "copy", "shard", "reshape"),
        *("permute", "expand", "flip", "shrink", "pad_constant", "window", "cat", "where"),
        *("gather", "scatter"),  # scatter looks at its mode itself
    )
)


def computing(name: str, infer: Callable[..., Any]) -> Callable[..., Any]:
    """The types of an op's results, where an op that does more than move refuses storage dtypes."""
    if name in _MOVING or infer is None:
        return infer

    @wraps(infer)
    def checked(src: tuple[Any, ...], arg: Any) -> Any:
        refuse_storage(name, src)
        return infer(src, arg)

    return checked


def refuse_storage(name: str, src: Sequence[Any]) -> None:
    """Raise if an operand only holds its values."""
    for node in src:
        if getattr(node.dtype, "is_storage", False):
            raise storage_error(name, node.dtype, src)


def storage_error(name: str, dtype: Any, src: Sequence[Any] = ()) -> DTypeError:
    """The error of an op that would have to compute with a storage dtype."""
    problem = f"{dtype.name} holds values and does not compute"
    fix = f"cast before, .cast('float32'), and the result back, .cast('{dtype.name}')"
    operands = [(f"operand {i}" if len(src) > 1 else "x", s) for i, s in enumerate(src)]
    return DTypeError("E2005", problem, op=name, operands=operands, help=fix)
