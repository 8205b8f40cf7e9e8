"""einops accepts tensors: its backend for them is defined when einops is imported, or at once.

einops looks for backends among the subclasses of a class of its own, which exists only where it is
installed and imported. So an import finder waits for that module and then removes itself.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from adjoint.tensor import array_api
from adjoint.tensor.tensor import Tensor

_MODULE = "einops._backends"


def define_backend(backends: ModuleType) -> Any:
    """The class that einops finds, made from its own base class; the module keeps it alive."""

    class AdjointBackend(backends.AbstractBackend):  # type: ignore[name-defined]
        framework_name = "adjoint"

        def is_appropriate_type(self, tensor: Any) -> bool:
            return isinstance(tensor, Tensor)

        def from_numpy(self, x: Any) -> Tensor:
            tensor = Tensor(x)  # as with torch's: what has a gradient asks for one
            return tensor.requires_grad_(True) if tensor.dtype.is_float else tensor

        def to_numpy(self, x: Tensor) -> Any:
            return x.detach().numpy()

        def arange(self, start: int, stop: int) -> Tensor:
            return array_api.arange(start, stop)

        def transpose(self, x: Tensor, axes: Any) -> Tensor:
            return array_api.permute_dims(x, tuple(axes))

        def reduce(self, x: Tensor, operation: str, axes: Any) -> Tensor:
            return getattr(array_api, operation)(x, axis=tuple(axes))

        def stack_on_zeroth_dimension(self, tensors: list[Tensor]) -> Tensor:
            return array_api.stack(tensors, axis=0)

        def add_axis(self, x: Tensor, new_position: int) -> Tensor:
            return array_api.expand_dims(x, axis=new_position)

        def tile(self, x: Tensor, repeats: Any) -> Tensor:
            return array_api.tile(x, tuple(repeats))

        def concat(self, tensors: list[Tensor], axis: int) -> Tensor:
            return array_api.concat(tensors, axis=axis)

        def is_float_type(self, x: Tensor) -> bool:
            return x.dtype.is_float

        def einsum(self, pattern: str, *x: Tensor) -> Tensor:
            return Tensor.einsum(pattern, *x)

    backends.AdjointBackend = AdjointBackend  # type: ignore[attr-defined]
    return AdjointBackend


class _Waiting:
    """A finder that lets the others find einops' module, and defines the backend after it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loading(spec.loader)  # type: ignore[assignment]
        return spec


class _Loading:
    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        define_backend(module)


def wait_for_einops() -> None:
    """Define the backend now if einops is imported, else when it is."""
    if _MODULE in sys.modules:
        define_backend(sys.modules[_MODULE])
    else:
        sys.meta_path.insert(0, _Waiting())
