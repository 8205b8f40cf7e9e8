"""The base of schedules: a factor for every group, and a count of steps.

The learning rate of a group is its `initial_lr` times the factors of all its schedules. Counts and
factors are tensors, so they are saved with other state, and `step()` inside jit makes no new
program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError
from adjoint.nn.optim.group import number, put
from adjoint.nn.optim.optimizer import Optimizer
from adjoint.nn.optim.parameters import unowned
from adjoint.nn.optim.schedules import Schedule
from adjoint.nn.state import LoadReport, get_state_dict, load_state_dict
from adjoint.tensor import Tensor
from adjoint.tensor.tracing import open_scopes

Factor = Callable[[Any], Any]  # from the step


class LRScheduler:
    """Base of the schedules: a function from the step to a factor for each group."""

    def __init__(self, optimizer: Any, fns: Sequence[Factor]):
        if not isinstance(optimizer, Optimizer):
            problem = f"a schedule is of an optimizer, not of a {type(optimizer).__name__}"
            raise ArgumentError("E2001", problem, op=type(self).__name__)
        groups = optimizer.param_groups
        if len(fns) != len(groups):
            problem = f"there are {len(groups)} groups, not {len(fns)}"
            raise ArgumentError("E2007", problem, op=type(self).__name__)
        self._groups = unowned(groups)
        self._fns = unowned(list(fns))
        device = groups[0].lr.device
        self.last_epoch = Tensor(np.array(0), device=device, requires_grad=False)
        self.factors = [number(1.0, group.lr.device) for group in groups]
        for group, factor in zip(groups, self.factors, strict=True):
            group.add_factor(factor)
        self._realize()

    def step(self) -> None:
        """Go on to the learning rates of the next step."""
        self.last_epoch.assign(self.last_epoch + 1)
        self._realize()

    def _realize(self) -> None:
        Tensor.realize(self.last_epoch, *self._set())

    def _set(self) -> list[Tensor]:
        """Set what depends on the step, and give it."""
        for factor, fn in zip(self.factors, self._fns(), strict=True):
            put(factor, self._value(fn))
        return [*self.factors, *(group.apply_factors() for group in self._groups())]

    def _value(self, fn: Factor) -> Any:
        """A function written for numbers gets one, unless its value is not known inside jit."""
        if isinstance(fn, Schedule) or open_scopes.get():
            return fn(self.last_epoch)
        return fn(int(self.last_epoch.item()))

    def drop(self) -> None:
        """Count no longer: another schedule takes over."""
        for group, factor in zip(self._groups(), self.factors, strict=True):
            group.drop_factor(factor)

    def get_last_lr(self) -> list[float]:
        """The learning rate of every group."""
        return [float(group.lr.item()) for group in self._groups()]

    def state_dict(self) -> dict[str, Tensor]:
        """The count and the factors."""
        return get_state_dict(self)

    def load_state_dict(self, state: Any, strict: bool = True) -> LoadReport:
        """Take up a saved state; the learning rates follow."""
        report = load_state_dict(self, state, strict)
        self.apply()
        return report

    def apply(self) -> None:
        """Set the learning rates by the factors there are."""
        Tensor.realize(*(group.apply_factors() for group in self._groups()))


def for_all(optimizer: Optimizer, fn: Factor) -> list[Factor]:
    """The same function for every group."""
    return [fn] * len(optimizer.param_groups)
