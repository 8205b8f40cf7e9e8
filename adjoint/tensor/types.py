"""The types that signatures of tensors name.

What may live here: names for what a parameter takes. What may not: anything that runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from adjoint.ir.dtype import DType

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

Array: TypeAlias = np.ndarray[Any, Any]
Number: TypeAlias = bool | int | float | complex
Operand: TypeAlias = "Tensor | Number | Array | np.generic"  # beside a tensor
DTypeLike: TypeAlias = DType | str | type[Any] | np.dtype[Any]
Device: TypeAlias = str | tuple[str, ...]  # a tuple: the value is spread over several
DeviceLike: TypeAlias = Device | None  # None: the default, or where an operand is
Axis: TypeAlias = int | Sequence[int] | None  # one axis, several, or all
Axes: TypeAlias = int | Sequence[int]
Sizes: TypeAlias = int | Sequence[int]  # one for all axes, or one for each
Extents: TypeAlias = int | Sequence[int | None] | None  # of a shape; None keeps what there is
Bounds: TypeAlias = "int | Sequence[int] | Sequence[Sequence[int] | None] | None"
Padding: TypeAlias = "int | Sequence[int | None] | Sequence[Sequence[int] | None]"
