"""Adjoint: a small tensor compiler whose gradients are programs you can read.

Public names only; everything else is reached through its package.
"""

from adjoint import ops
from adjoint.errors import (
    AdjointError,
    AutodiffError,
    BoundsError,
    DeviceError,
    DTypeError,
    InternalError,
    ShapeError,
    TextError,
    UnknownNameError,
    VerificationError,
)
from adjoint.ir.dtype import dtypes
from adjoint.runtime.device import Device
from adjoint.tensor.array_api import *  # noqa: F403 - the array API standard, and every record
from adjoint.tensor.tensor import Tensor, no_grad

__version__ = "0.1.0"
