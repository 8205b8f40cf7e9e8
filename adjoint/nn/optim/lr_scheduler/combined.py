"""Schedules made of others: one after another, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from adjoint.errors import ArgumentError
from adjoint.nn.optim import schedules as functions
from adjoint.nn.optim.lr_scheduler.base import Factor, LRScheduler
from adjoint.nn.optim.optimizer import Optimizer
from adjoint.nn.optim.schedules import Schedule
from adjoint.nn.state import LoadReport, get_state_dict, load_state_dict
from adjoint.tensor import Tensor


class SequentialLR(LRScheduler):
    """One schedule after another: each begins, at its first step, at its milestone."""

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int]
    ):
        functions.check_sequence(schedulers, milestones)
        for scheduler in schedulers:
            scheduler.drop()
        columns = zip(*(scheduler._fns() for scheduler in schedulers), strict=True)
        super().__init__(optimizer, [_in_turn(list(fns), list(milestones)) for fns in columns])


def _in_turn(fns: list[Factor], milestones: list[int]) -> Factor:
    whole = functions.sequential(fns, milestones)
    if all(isinstance(fn, Schedule) for fn in fns):
        return whole

    def factor(step: Any) -> Any:
        if isinstance(step, Tensor):
            return whole(step)
        turn = bisect_right(milestones, step)
        return fns[turn](step - (milestones[turn - 1] if turn else 0))

    return factor


class ChainedScheduler:
    """Several schedules at once: their factors are multiplied."""

    def __init__(self, schedulers: Sequence[LRScheduler]):
        if not schedulers:
            raise ArgumentError("E2007", "there are no schedules", op="ChainedScheduler")
        self.schedulers = list(schedulers)

    def step(self) -> None:
        """Go on to the next step with all of them."""
        for scheduler in self.schedulers:
            scheduler.step()

    def get_last_lr(self) -> list[float]:
        """The learning rate of every group."""
        return self.schedulers[0].get_last_lr()

    def state_dict(self) -> dict[str, Tensor]:
        """The state of all of them."""
        return get_state_dict(self)

    def load_state_dict(self, state: Any, strict: bool = True) -> LoadReport:
        """Take up a saved state; the learning rates follow."""
        report = load_state_dict(self, state, strict)
        for scheduler in self.schedulers:
            scheduler.apply()
        return report
