"""What Python, NumPy, notebooks and the array API standard ask of an array: ufuncs, `round`,
`divmod`, `mT`, the namespace.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.display import Displayed
from adjoint.errors import ArgumentError, TextError
from adjoint.tensor.lift import lift

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
    from adjoint.tensor.types import DeviceLike, Operand

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")

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


class Protocols(Displayed):
    """Mixed into Tensor."""

    __slots__ = ()
    _namespace: ClassVar[ModuleType]  # set where it is made, since it needs Tensor

    @property
    def mT(self) -> Tensor:
        """The last two axes swapped."""
        return self._namespace.matrix_transpose(self)

    @property
    def T(self: Any) -> Tensor:
        """The first two axes swapped: the transpose of a matrix."""
        return self.permute(1, 0, *range(2, self.ndim))

    def to_device(self: Any, device: str, /, *, stream: Any = None) -> Tensor:
        """The same values on another device."""
        return self.to(device)

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        if api_version is not None and api_version not in VERSIONS:
            problem = f"version {api_version!r} of the array API standard is not known"
            fix = f"known versions: {', '.join(VERSIONS)}"
            raise TextError("E2002", problem, op="__array_namespace__", help=fix)
        return self._namespace

    def __array_ufunc__(self: Any, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        """`np.sin(x)` is `adjoint.sin(x)`; a NumPy array given as `out` gets the values."""
        out = named.pop("out", None)
        function = getattr(self._namespace, _NAMES.get(ufunc.__name__, ufunc.__name__), None)
        if method != "__call__" or named or function is None:
            return NotImplemented
        device = next(x.device for x in inputs if isinstance(x, lift.cls))
        result = function(*(_operand(x, device) for x in inputs))
        if out is None:
            return result
        if not isinstance(result, lift.cls) or not isinstance(out[0], np.ndarray):
            return NotImplemented
        np.copyto(out[0], result.numpy(), casting="same_kind")
        return out[0]

    def round(self: Any, decimals: int = 0, out: Any = None) -> Tensor:
        """The nearest whole number, halves to even; with `decimals` the nearest such fraction."""
        if out is not None:
            fix = "results are new tensors"
            raise ArgumentError("E2007", "out is None here", op="round", help=fix)
        whole: Tensor = lift.one("round", self * 10**decimals if decimals else self)
        return whole / 10**decimals if decimals else whole

    def __round__(self, ndigits: int | None = None) -> Tensor:
        return self.round(decimals=ndigits or 0)

    def __divmod__(self: Any, other: Operand) -> tuple[Tensor, Tensor]:
        return self // other, self % other

    def __rdivmod__(self: Any, other: Operand) -> tuple[Tensor, Tensor]:
        return other // self, other % self


def _operand(value: Any, device: DeviceLike) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return lift.cls(value, device=device) if isinstance(value, np.ndarray) else value
