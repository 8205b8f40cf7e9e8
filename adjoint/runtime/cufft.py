"""cuFFT, NVIDIA's library of Fourier transforms, by its C interface.

What may live here: its calls. What may not: which transforms it gets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_int, c_longlong, c_size_t, c_uint64, c_void_p
from math import prod
from typing import Any, NamedTuple

from adjoint.runtime.nvidia import NvidiaLibrary

_LONGS, _STEP = POINTER(c_longlong), c_longlong
_BETWEEN = (c_int, c_uint64, c_uint64)
CUFFT = NvidiaLibrary(
    "cuFFT",
    ("libcufft.so.12", "libcufft.so.11", "cufft64_12.dll", "cufft64_11.dll"),
    {
        "cufftCreate": (POINTER(c_int),),
        "cufftSetAutoAllocation": (c_int, c_int),
        "cufftSetStream": (c_int, c_void_p),
        "cufftSetWorkArea": (c_int, c_uint64),
        "cufftMakePlanMany64": (
            *(c_int, c_int, _LONGS, _LONGS, _STEP, _STEP, _LONGS, _STEP, _STEP),
            *(c_int, _STEP, POINTER(c_size_t)),
        ),
        "cufftExecC2C": (*_BETWEEN, c_int),
        "cufftExecZ2Z": (*_BETWEEN, c_int),
        "cufftExecR2C": _BETWEEN,
        "cufftExecD2Z": _BETWEEN,
        "cufftExecC2R": _BETWEEN,
        "cufftExecZ2D": _BETWEEN,
    },
)
# Kinds of plans and the calls that run them, by the form of a transform and whether it is double.
_KINDS = {
    ("complex", False): (0x29, "cufftExecC2C"),
    ("complex", True): (0x69, "cufftExecZ2Z"),
    ("from real", False): (0x2A, "cufftExecR2C"),
    ("from real", True): (0x6A, "cufftExecD2Z"),
    ("to real", False): (0x2C, "cufftExecC2R"),
    ("to real", True): (0x6C, "cufftExecZ2D"),
}
DTYPES = ("float32", "float64")
_FORWARD, _BACKWARD = -1, 1


class Form(NamedTuple):
    """A batch of transforms, one behind another; lengths as real numbers have them."""

    form: str
    double: bool
    lengths: tuple[int, ...]
    batch: int
    inverse: bool


class Transformer:
    """The transforms of one form; made once, run again and again."""

    def __init__(self, form: Form):
        kind, self._call = _KINDS[form.form, form.double]
        half = (*form.lengths[:-1], form.lengths[-1] // 2 + 1)
        given = half if form.form == "to real" else form.lengths
        found = half if form.form == "from real" else form.lengths
        plan, size = c_int(), c_size_t()
        CUFFT.call("cufftCreate", byref(plan))
        CUFFT.call("cufftSetAutoAllocation", plan, 0)
        layouts = (_longs(given), 1, prod(given), _longs(found), 1, prod(found))
        axes = (len(form.lengths), _longs(form.lengths), *layouts)
        CUFFT.call("cufftMakePlanMany64", plan, *axes, kind, form.batch, byref(size))
        self._plan, self.workspace = plan, size.value
        complex_ = form.form == "complex"
        self._direction = ((_BACKWARD if form.inverse else _FORWARD),) if complex_ else ()

    def launcher(self, workspace: int, stream: c_void_p) -> Callable[[int, int], None]:
        """What launches them on a stream, given the addresses of result and operand."""
        plan, direction = self._plan, self._direction

        def launch(out: int, x: int) -> None:
            CUFFT.call("cufftSetStream", plan, stream)
            CUFFT.call("cufftSetWorkArea", plan, workspace)
            CUFFT.call(self._call, plan, x, out, *direction)

        return launch


def _longs(values: Sequence[int]) -> Any:
    return (c_longlong * len(values))(*values)
