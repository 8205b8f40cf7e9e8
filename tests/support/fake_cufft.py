"""cuFFT without a GPU: the same C functions in Python, on memory of the host, by NumPy."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from itertools import count

import numpy as np

from adjoint.backends.cuda import transforms
from adjoint.runtime import cufft
from tests.support.fake_cudnn import installed
from tests.support.fake_gpu import launched

_REAL, _COMPLEX = {False: "f4", True: "f8"}, {False: "c8", True: "c16"}


class FakeCufft:
    """`calls` are the names of what was run, with the lengths and how many there were."""

    def __init__(self):
        self.calls, self.plans, self._numbers = [], {}, count(1)

    def cufftCreate(self, place):
        place._obj.value = next(self._numbers)
        self.plans[place._obj.value] = {"automatic": 1}
        return 0

    def cufftSetAutoAllocation(self, plan, automatic):
        self.plans[plan.value]["automatic"] = automatic
        return 0

    def cufftSetStream(self, plan, stream):
        self.plans[plan.value]["stream"] = stream.value
        return 0

    def cufftSetWorkArea(self, plan, address):
        self.plans[plan.value]["room"] = address
        return 0

    def cufftMakePlanMany64(self, plan, rank, lengths, *layouts_and_kind):
        given, step, apart, found, out_step, out_apart, kind, batch, size = layouts_and_kind
        assert (step, out_step) == (1, 1)
        assert (apart, out_apart) == (np.prod(list(given)), np.prod(list(found)))
        about = self.plans[plan.value]
        about |= {"lengths": list(lengths), "given": list(given), "found": list(found)}
        about |= {"kind": kind, "batch": batch}
        size._obj.value = 128
        return 0

    def __getattr__(self, name):
        if not name.startswith("cufftExec"):
            raise AttributeError(name)
        return lambda plan, x, out, *way: self._run(
            name.removeprefix("cufftExec"), plan, x, out, *way
        )

    def _run(self, name, plan, x, out, direction=0):
        about = self.plans[plan.value]
        assert about["stream"]
        assert about["room"]
        assert not about["automatic"]
        double = name in ("Z2Z", "D2Z", "Z2D")
        real, complex_ = _REAL[double], _COMPLEX[double]
        kinds = {0x9: (complex_, complex_), 0xA: (real, complex_), 0xC: (complex_, real)}
        (given, found), axes = (
            kinds[about["kind"] & 0xF],
            tuple(range(1, 1 + len(about["lengths"]))),
        )
        a = _array(x, given, (about["batch"], *about["given"]))
        b = _array(out, found, (about["batch"], *about["found"]))
        launched("transform", self._compute, name, about, a, b, axes, direction)
        return 0

    def _compute(self, name, about, a, b, axes, direction):
        b[...] = _transformed(a, about, axes, direction)
        self.calls.append((name, tuple(about["lengths"]), about["batch"]))


def _transformed(a, about, axes, direction):
    lengths = about["lengths"]
    if about["kind"] & 0xF == 0xA:
        return np.fft.rfftn(a, lengths, axes)
    if about["kind"] & 0xF == 0xC:
        found = np.fft.irfftn(a, lengths, axes, norm="forward")
        assert not a[..., 0].imag.any(), "what is its own mirror has an imaginary part"
        a[...] = np.nan  # it may be written over
        return found
    return (
        np.fft.fftn(a, axes=axes) if direction < 0 else np.fft.ifftn(a, axes=axes, norm="forward")
    )


def _array(address, dtype, shape):
    kind = np.dtype(dtype)
    size = int(np.prod(shape)) * kind.itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(address), kind).reshape(shape)


@contextmanager
def fake_cufft():
    """cuFFT is installed, as a fake one."""
    with installed(cufft.CUFFT, FakeCufft()) as fake:
        transforms._transformer.cache_clear()
        try:
            yield fake
        finally:
            transforms._transformer.cache_clear()
