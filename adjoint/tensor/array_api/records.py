"""The records that the standard does not name, as functions: `adjoint.softmax(x)`.

`adjoint.f(x, ...)` is `x.f(...)`, also where Tensor has written the method `f` itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from adjoint.ir.opdef import OpDef
from adjoint.ir.uop import _functions
from adjoint.tensor.array_api.calls import named
from adjoint.tensor.tensor import Tensor

# Conversions are methods only: as functions they would hide Python's types, or our dtypes.
_CONVERSIONS = frozenset(
    {"bfloat16", "bool", "char", "double", "float", "half", "int", "long", "short", "uchar"}
)


def functions(hidden: Collection[str]) -> dict[str, Callable[..., Any]]:
    """A function for every record, and for its other names, that is not hidden."""
    skipped = _CONVERSIONS | frozenset(hidden)
    return {
        name: _function(name, getattr(Tensor, name))
        for name, record in _functions.items()
        if isinstance(record, OpDef) and record.public and name not in skipped
    }


def _function(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    result = named(function, name, method.__doc__ or "", "adjoint")
    result.__wrapped__ = method
    return result
