"""Fourier transforms; those of two axes are those of the last two."""

import numpy as _numpy

import adjoint as _adjoint

from ..dispatch import namespace as _namespace


def _of_two(name):  # type: ignore[no-untyped-def]
    def call(x, s=None, axes=(-2, -1), norm=None):  # type: ignore[no-untyped-def]
        return getattr(_adjoint.fft, name)(x, s=s, axes=axes, norm=norm or "backward")

    return call


def _with_norm(name):  # type: ignore[no-untyped-def]
    function = getattr(_adjoint.fft, name, None)
    if function is None or name.endswith(("shift", "freq")):
        return function

    lengths, axes = ("s", "axes") if name.endswith("n") else ("n", "axis")

    def call(x, *args, norm=None, **named):  # type: ignore[no-untyped-def]
        named |= dict(zip((lengths, axes), args, strict=False))
        return function(x, norm=norm or "backward", **named)

    return call


_PLANE = {f"{kind}2": _of_two(f"{kind}n") for kind in ("fft", "ifft", "rfft", "irfft")}
globals().update(_namespace(_numpy.fft, _with_norm, _PLANE))
