"""What Python, NumPy and notebooks ask of an array: ufuncs, `round`, `divmod`, HTML.

The methods are installed when the namespace is imported, as those of `methods.py` are.
"""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError
from adjoint.tensor.tensor import Tensor

# The ufuncs that NumPy names in its own way; the others have the standard's names.
_NAMES = {
    "absolute": "abs",
    "fabs": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "conj",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "power": "pow",
    "rint": "round",
    "true_divide": "divide",
}


class Protocols:
    """Installed on Tensor."""

    def __array_ufunc__(self: Any, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        """`np.sin(x)` is `adjoint.sin(x)`; a NumPy array given as `out` gets the values."""
        out = named.pop("out", None)
        function = getattr(self._namespace, _NAMES.get(ufunc.__name__, ufunc.__name__), None)
        if method != "__call__" or named or function is None:
            return NotImplemented
        device = next(x.device for x in inputs if isinstance(x, Tensor))
        result = function(*(_operand(x, device) for x in inputs))
        if out is None:
            return result
        if not isinstance(result, Tensor) or not isinstance(out[0], np.ndarray):
            return NotImplemented
        np.copyto(out[0], result.numpy(), casting="same_kind")
        return out[0]

    def round(self: Any, decimals: int = 0, out: Any = None) -> Any:
        """The nearest whole number, halves to even; with `decimals` the nearest such fraction."""
        if out is not None:
            fix = "results are new tensors"
            raise ArgumentError("E2007", "out is None here", op="round", help=fix)
        whole = self._apply("round", self * 10**decimals if decimals else self)
        return whole / 10**decimals if decimals else whole

    def __round__(self: Any, ndigits: int | None = None) -> Any:
        return self.round(decimals=ndigits or 0)

    def __divmod__(self: Any, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self: Any, other: Any) -> Any:
        return other // self, other % self

    def _repr_html_(self: Any) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


def _operand(value: Any, device: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return Tensor(value, device=device) if isinstance(value, np.ndarray) else value
