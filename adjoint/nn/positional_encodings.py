"""Positional encodings: sinusoidal ones, which are added, and rotary ones, which rotate.

Positions are given by an offset that may be a tensor, so that one compiled program serves every
position of a decoding. Elsewhere: learned ones (an `Embedding` is one already).
"""

from __future__ import annotations

from typing import Any

from adjoint.errors import ShapeError
from adjoint.ir.dtype import DType, as_dtype, dtypes, promote
from adjoint.nn.module import Module
from adjoint.tensor import Tensor
from adjoint.tensor.types import DTypeLike


def _positions(length: int, offset: Any, device: str | tuple[str, ...] | None) -> Tensor:
    """offset, offset + 1, …"""
    return Tensor.arange(length, dtype="int32", device=device) + offset


def _angles(positions: Tensor, size: int, base: float, kind: DType) -> Tensor:
    """(length, size / 2): position · base^(-2i / size)."""
    pairs = Tensor.arange(size // 2, dtype=kind, device=positions.device)
    rates = (pairs * (-2.0 / size)).cast(kind)
    scale = Tensor.full((), base, dtype=kind, device=positions.device).pow(rates)
    return positions.cast(kind).unsqueeze(1) * scale


def _check_even(op: str, name: str, size: int) -> None:
    if isinstance(size, bool) or not isinstance(size, int) or size < 2 or size % 2:
        fix = "features are taken in pairs, one for the sine and one for the cosine"
        raise ShapeError("E3006", f"{name} is an even int ≥ 2, got {size!r}", op=op, help=fix)


class SinusoidalEncoding(Module):
    """Adds sin(position · rate) to the even features and cos(position · rate) to the odd ones.

    The rate of pair i is base^(-2i / d_model) ("Attention is all you need", section 3.5). The input
    is (length, batch, d_model), with `batch_first` (batch, length, d_model), or (length, d_model).
    """

    def __init__(self, d_model: int, batch_first: bool = False, base: float = 10000.0):
        _check_even("SinusoidalEncoding", "d_model", d_model)
        self.d_model, self.batch_first, self.base = d_model, batch_first, float(base)

    def forward(self, x: Tensor, offset: Any = 0) -> Tensor:
        """`x` with the positions offset, offset + 1, … added."""
        if x.ndim not in (2, 3) or x.shape[-1] != self.d_model:
            problem = f"the input ends in (length, {self.d_model})"
            if x.ndim == 3 and not self.batch_first:
                problem = f"the input is (length, batch, {self.d_model})"
            raise ShapeError("E3003", problem, op="SinusoidalEncoding", x=x)
        ahead = x.ndim == 3 and not self.batch_first
        table = self.table(x.shape[0 if ahead else -2], offset, x.dtype, x.device)
        return x + (table.unsqueeze(1) if ahead else table)

    def table(
        self,
        length: int,
        offset: Any = 0,
        dtype: DTypeLike | None = None,
        device: str | tuple[str, ...] | None = None,
    ) -> Tensor:
        """The encodings themselves: (length, d_model)."""
        kind = dtypes.default_float if dtype is None else as_dtype(dtype)
        place = _positions(length, offset, device)
        angles = _angles(place, self.d_model, self.base, promote(kind, dtypes.float32))
        return angles.sin().stack(angles.cos(), dim=-1).flatten(1).cast(kind)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.d_model}, batch_first={self.batch_first}"


class RotaryEmbedding(Module):
    """Rotates each pair of features of (..., length, dim) by position · base^(-2i / dim).

    Pairs are (i, i + dim / 2), or neighbours (2i, 2i + 1) if `interleaved`. Products of rotated
    queries and keys depend only on the distance of their positions.
    """

    def __init__(self, dim: int, base: float = 10000.0, interleaved: bool = False):
        _check_even("RotaryEmbedding", "dim", dim)
        self.dim, self.base, self.interleaved = dim, float(base), interleaved

    def forward(self, x: Tensor, offset: Any = 0) -> Tensor:
        """`x` rotated for the positions offset, offset + 1, …"""
        if x.ndim < 2 or x.shape[-1] != self.dim:
            problem = f"the input is (..., length, {self.dim})"
            raise ShapeError("E3003", problem, op="RotaryEmbedding", x=x)
        wide = promote(x.dtype, dtypes.float32)
        angles = _angles(_positions(x.shape[-2], offset, x.device), self.dim, self.base, wide)
        sin, cos = angles.sin(), angles.cos()
        one, other = self._pairs(x.cast(wide))
        turned = one * cos - other * sin, other * cos + one * sin
        return self._together(*turned).cast(x.dtype)

    def _pairs(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if self.interleaved:
            return x[..., 0::2], x[..., 1::2]
        half = self.dim // 2
        return x[..., :half], x[..., half:]

    def _together(self, one: Tensor, other: Tensor) -> Tensor:
        if self.interleaved:
            return one.stack(other, dim=-1).flatten(-2)
        return one.cat(other, dim=-1)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.dim}, base={self.base:g}, interleaved={self.interleaved}"
