"""Which of NVIDIA's libraries are installed, as capabilities of a target.

Only this module and the compiler load the records of the library ops: nothing else has such nodes.
"""

from __future__ import annotations

from adjoint.ops.convolve import convolve
from adjoint.ops.factor import factor
from adjoint.ops.transform import transform
from adjoint.runtime import cudnn, cufft, cusolver
from adjoint.target import Routines

_KNOWN = (
    (lambda: cudnn.CUDNN.loaded is not None, Routines("cudnn", (convolve.name,), cudnn.DTYPES)),
    (lambda: cufft.CUFFT.loaded is not None, Routines("cufft", (transform.name,), cufft.DTYPES)),
    (cusolver.is_installed, Routines("cusolver", (factor.name,), cusolver.DTYPES)),
)


def routines() -> tuple[Routines, ...]:
    """What libraries compute whole, of those that are installed."""
    return tuple(row for is_there, row in _KNOWN if is_there())
