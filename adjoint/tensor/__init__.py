"""The user's handle on the graph.

In: Python values, arrays, files. Out: `Tensor`, whose methods come from the records of `ops/`.
May not: hold the meaning of any op, or compute except through `engine/`.
"""

import sys
from types import ModuleType
from typing import Any

from adjoint.tensor.tensor import Tensor, no_grad
from adjoint.tensor.types import DeviceLike, DTypeLike


class _Package(ModuleType):
    """The package can be called as torch's function of that name: `adjoint.tensor([1.0])`."""

    def __call__(
        self,
        data: Any,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        requires_grad: bool | None = None,
    ) -> Tensor:
        """A tensor of the data."""
        return Tensor(data, device=device, dtype=dtype, requires_grad=requires_grad)


sys.modules[__name__].__class__ = _Package

__all__ = ["Tensor", "no_grad"]
