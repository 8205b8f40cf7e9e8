"""Exponential moving averages of parameters, pure and as an object."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from adjoint.errors import ArgumentError
from adjoint.ir.dtype import dtypes
from adjoint.nn.optim.parameters import named_parameters, unowned
from adjoint.nn.optim.pure import check_parameter
from adjoint.tensor import Tensor
from adjoint.transforms.pytree import tree_map


class EMAState(NamedTuple):
    """Updates done, and the averages, a pytree like the parameters."""

    step: Tensor
    average: Any


@dataclass(frozen=True, slots=True)
class PureEMA:
    """`init(params) -> state`, `update(state, params) -> state`; see `ema`."""

    decay: float
    warmup: bool

    def init(self, params: Any) -> EMAState:
        """The state before the first update: the parameters as they are."""
        return EMAState(Tensor.zeros((), dtype=dtypes.int64), params)

    def update(self, state: EMAState, params: Any) -> EMAState:
        """The state with one more value of the parameters."""
        step = state.step + 1
        decay = self._decay(step.cast(dtypes.float64))

        def mixed(average: Tensor, p: Tensor) -> Tensor:
            if not p.dtype.is_float:
                return p  # counts are not averaged
            if isinstance(decay, float):
                return decay * average + (1 - decay) * p
            old, new = (x.to(p.device).cast(p.dtype) for x in (decay, 1 - decay))
            return old * average + new * p

        return EMAState(step, tree_map(mixed, state.average, params))

    def _decay(self, t: Tensor) -> Any:
        return ((1 + t) / (10 + t)).minimum(self.decay) if self.warmup else self.decay


def ema(decay: float = 0.999, warmup: bool = False) -> PureEMA:
    """Averages that forget: `decay * average + (1 - decay) * p`.

    With `warmup` the decay is `(1 + t) / (10 + t)` at update `t` until that reaches `decay`, so
    that the first values are soon forgotten.
    """
    if not 0 <= decay <= 1:
        raise ArgumentError("E2006", f"decay is in [0, 1], not {decay}", op="ema")
    return PureEMA(float(decay), warmup)


class EMA:
    """Moving averages of parameters: `update()` after every step; `with ema.swapped():` uses them.

    `params` are tensors, (name, tensor) pairs, or a dict from names to tensors.
    """

    def __init__(self, params: Any, decay: float = 0.999, warmup: bool = False):
        pairs = named_parameters("EMA", params)
        for name, p in pairs:
            check_parameter("EMA", name, p)
        self._params = unowned([p for _, p in pairs])
        self._pure = ema(decay, warmup)
        self.step = Tensor(np.array(0), requires_grad=False)
        self.averages = [_copied(p) for p in self._params()]
        Tensor.realize(*self.averages)

    def update(self) -> None:
        """Take in the parameters as they are now."""
        values = [+p.detach() for p in self._params()]
        new = self._pure.update(EMAState(self.step, self.averages), values)
        changed = [a.assign(b) for a, b in zip(self.averages, new.average, strict=True)]
        Tensor.realize(self.step.assign(new.step), *changed)

    def swap(self) -> None:
        """Exchange the values of the parameters and the averages."""
        for p, average in zip(self._params(), self.averages, strict=True):
            before = +p.detach()
            p.assign(average.detach())
            average.assign(before)
        Tensor.realize(*self._params(), *self.averages)

    @contextmanager
    def swapped(self) -> Iterator[None]:
        """Inside, the parameters have the values of the averages."""
        self.swap()
        try:
            yield
        finally:
            self.swap()

    def copy_to(self) -> None:
        """Give the parameters the values of the averages, for good."""
        for p, average in zip(self._params(), self.averages, strict=True):
            p.assign(average.detach())
        Tensor.realize(*self._params())


def _copied(p: Tensor) -> Tensor:
    return p.detach().clone().requires_grad_(False)
