"""What the standard asks of the array object, beyond what every Tensor method gives.

The methods are installed when the namespace is imported: they need it, and it needs Tensor.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from adjoint.errors import TextError
from adjoint.tensor.array_api.familiar import Familiar
from adjoint.tensor.array_api.products import matrix_transpose
from adjoint.tensor.array_api.protocols import Protocols
from adjoint.tensor.tensor import Tensor

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


class ArrayMethods:
    """Installed on Tensor."""

    @property
    def mT(self: Any) -> Tensor:
        """The last two axes swapped."""
        return matrix_transpose(self)

    @property
    def T(self: Any) -> Tensor:
        """The first two axes swapped: the transpose of a matrix."""
        return self.permute(1, 0, *range(2, self.ndim))

    def to_device(self: Any, device: str, /, *, stream: Any = None) -> Tensor:
        """The same values on another device."""
        return self.to(device)

    def __array_namespace__(self: Any, *, api_version: str | None = None) -> ModuleType:
        if api_version is not None and api_version not in VERSIONS:
            problem = f"version {api_version!r} of the array API standard is not known"
            fix = f"known versions: {', '.join(VERSIONS)}"
            raise TextError("E2002", problem, op="__array_namespace__", help=fix)
        return self._namespace


def install(namespace: ModuleType) -> None:
    """Give Tensor these methods, and the namespace they return."""
    for methods in (ArrayMethods, Protocols, Familiar):
        for name, method in vars(methods).items():
            if callable(method) or isinstance(method, property):
                setattr(Tensor, name, method)
    setattr(Tensor, "_namespace", namespace)  # noqa: B010 - slots: a class attribute set late
