"""Schedules of the step alone, under torch's names."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.nn.optim import schedules as functions
from adjoint.nn.optim.group import Group
from adjoint.nn.optim.lr_scheduler.base import Factor, LRScheduler, for_all
from adjoint.nn.optim.optimizer import Optimizer


class LambdaLR(LRScheduler):
    """Any function from the step to a factor, or one per group.

    Inside jit the function gets a tensor.
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor]):
        fns = lr_lambda if isinstance(lr_lambda, Sequence) else for_all(optimizer, lr_lambda)
        super().__init__(optimizer, fns)


class ConstantLR(LRScheduler):
    """`factor` for `total_iters` steps, then 1."""

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5):
        super().__init__(optimizer, for_all(optimizer, functions.constant(factor, total_iters)))


class StepLR(LRScheduler):
    """`gamma` more after every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1):
        super().__init__(optimizer, for_all(optimizer, functions.step(step_size, gamma)))


class MultiStepLR(LRScheduler):
    """`gamma` more after each milestone."""

    def __init__(self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1):
        super().__init__(optimizer, for_all(optimizer, functions.multistep(milestones, gamma)))


class ExponentialLR(LRScheduler):
    """`gamma` more at every step."""

    def __init__(self, optimizer: Optimizer, gamma: float):
        super().__init__(optimizer, for_all(optimizer, functions.exponential(gamma)))


class LinearLR(LRScheduler):
    """From `start_factor` to `end_factor` in `total_iters` steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
    ):
        fn = functions.linear(start_factor, end_factor, total_iters)
        super().__init__(optimizer, for_all(optimizer, fn))


class PolynomialLR(LRScheduler):
    """From 1 to 0 in `total_iters` steps, as a power of the part that is left."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0):
        super().__init__(optimizer, for_all(optimizer, functions.polynomial(total_iters, power)))


class CosineAnnealingLR(LRScheduler):
    """Half a cosine wave down to the learning rate `eta_min` in `T_max` steps."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0):  # noqa: N803
        groups = optimizer.param_groups
        super().__init__(optimizer, [functions.cosine(T_max, _part(eta_min, g)) for g in groups])


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine wave down to `eta_min` in `T_0` steps, again and again, `T_mult` times as long
    each time."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,  # noqa: N803
        T_mult: int = 1,  # noqa: N803
        eta_min: float = 0.0,
    ):
        floors = [_part(eta_min, group) for group in optimizer.param_groups]
        super().__init__(optimizer, [functions.cosine_restarts(T_0, T_mult, f) for f in floors])


def _part(lr: float, group: Group) -> float:
    """A learning rate as a factor of a group."""
    return lr / group.initial_lr.item() if lr else 0.0
