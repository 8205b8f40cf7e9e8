"""Padding as layers: constant, zero, reflection, replication, circular; for one to three axes."""

from __future__ import annotations

from typing import Any

from adjoint.errors import ArgumentError
from adjoint.nn.checks import check_rank, check_tensor
from adjoint.nn.spatial import Spatial
from adjoint.tensor import Tensor


class _Pad(Spatial, rank=1):
    """`padding` is one amount, or (left, right), (left, right, top, bottom), … as in torch."""

    _mode = "constant"

    def __init_subclass__(cls, mode: str = "", **named: Any) -> None:
        super().__init_subclass__(**named)
        cls._mode = mode or cls._mode

    def __init__(self, padding: Any):
        count = 2 * self._rank
        single = not isinstance(padding, (tuple, list))
        sides = (padding,) * count if single else tuple(padding)
        if len(sides) != count or any(isinstance(n, bool) or not isinstance(n, int) for n in sides):
            problem = f"padding is a whole number or {count} of them, not {padding!r}"
            raise ArgumentError("E2008", problem, op=type(self).__name__)
        self.padding = sides

    def forward(self, x: Tensor) -> Tensor:
        op = type(self).__name__
        check_tensor(op, x)
        check_rank(op, x, (self._rank + 1, self._rank + 2), "(N, C, *) or (C, *)")
        return x.pad(self.padding, self._mode, **self._filling())

    def _filling(self) -> dict[str, Any]:
        return {}

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_Pad):
    """Pads with `value` the last axis."""

    def __init__(self, padding: Any, value: float):
        super().__init__(padding)
        self.value = value

    def _filling(self) -> dict[str, Any]:
        return {"value": self.value}

    def extra_repr(self) -> str:
        return f"{self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d, rank=2):
    """Pads with `value` the last two axes."""


class ConstantPad3d(ConstantPad1d, rank=3):
    """Pads with `value` the last three axes."""


class ZeroPad1d(_Pad):
    """Pads with zeros the last axis."""


class ZeroPad2d(_Pad, rank=2):
    """Pads with zeros the last two axes."""


class ZeroPad3d(_Pad, rank=3):
    """Pads with zeros the last three axes."""


class ReflectionPad1d(_Pad, mode="reflect"):
    """Pads the last axis by reflection at its ends, which are not repeated."""


class ReflectionPad2d(ReflectionPad1d, rank=2):
    """Pads the last two axes by reflection at their ends."""


class ReflectionPad3d(ReflectionPad1d, rank=3):
    """Pads the last three axes by reflection at their ends."""


class ReplicationPad1d(_Pad, mode="replicate"):
    """Pads the last axis by its end elements."""


class ReplicationPad2d(ReplicationPad1d, rank=2):
    """Pads the last two axes by their end elements."""


class ReplicationPad3d(ReplicationPad1d, rank=3):
    """Pads the last three axes by their end elements."""


class CircularPad1d(_Pad, mode="circular"):
    """Pads the last axis circularly."""


class CircularPad2d(CircularPad1d, rank=2):
    """Pads the last two axes circularly."""


class CircularPad3d(CircularPad1d, rank=3):
    """Pads the last three axes circularly."""
