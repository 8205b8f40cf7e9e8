"""The same on two devices: REF says what is right, to few units in the last place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from adjoint import Device, Tensor
from adjoint.backends.cpu import BACKEND

ULPS = 16
SUMMED = 256  # where derivatives of many elements are added up
LARGE = 100.0  # a larger element does not excuse the others of its array
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
EPS |= {"complex64": 2.0**-23, "complex128": 2.0**-52}


def probe_little(monkeypatch: Any) -> None:
    """The roofline of the CPU is measured on little."""
    target = replace(BACKEND.target, probe_side=64, probe_numbers=1 << 12)
    monkeypatch.setattr(BACKEND, "target", target)


@contextmanager
def on(device: str) -> Iterator[None]:
    """Tensors go to that device."""
    before, Device.DEFAULT = Device.DEFAULT, device
    try:
        yield
    finally:
        Device.DEFAULT = before


def together(named: Mapping[Any, Tensor]) -> dict[Any, np.ndarray]:
    """The values of named tensors, computed in one realize."""
    tensors = list(named.values())
    if tensors:
        tensors[0].realize(*tensors[1:])
    return {name: t.numpy() for name, t in named.items()}


def same(
    wanted: np.ndarray, got: np.ndarray, where: str, ulps: int = ULPS, summed: bool = True
) -> None:
    """Integers and truth values are equal; floats differ by units in the last place: of themselves,
    or, where things are `summed`, of the largest of their array."""
    assert got.dtype == wanted.dtype, where
    assert got.shape == wanted.shape, where
    if wanted.dtype.name not in EPS:
        np.testing.assert_array_equal(got, wanted, err_msg=where)
        return
    tolerance = ulps * EPS[wanted.dtype.name]
    kind = np.complex128 if wanted.dtype.kind == "c" else np.float64
    wanted, got = wanted.astype(kind), got.astype(kind)
    finite = np.abs(wanted[np.isfinite(wanted)])
    scale = min(finite.max(initial=1.0), LARGE) if summed else 1e-30
    np.testing.assert_allclose(got, wanted, tolerance, tolerance * scale, err_msg=where)
