"""The base of layers of images: a number of spatial axes follows the channels."""

from __future__ import annotations

from typing import Any

from adjoint.nn.checks import check_rank
from adjoint.nn.module import Module
from adjoint.tensor import Tensor

_LETTERS = ("L", "H, W", "D, H, W")


class Spatial(Module):
    """A layer of (N, C, *space) or (C, *space): `class Pool2d(Spatial, rank=2)`."""

    _rank = 0

    def __init_subclass__(cls, rank: int | None = None, **named: Any) -> None:
        super().__init_subclass__(**named)
        cls._rank = cls._rank if rank is None else rank

    def _check_space(self, x: Tensor) -> None:
        ranks, letters = (self._rank + 1, self._rank + 2), _LETTERS[self._rank - 1]
        check_rank(type(self).__name__, x, ranks, f"(N, C, {letters}) or (C, {letters})")
