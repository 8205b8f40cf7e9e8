"""A schedule that looks at a measure of success: the learning rate falls when it gets no better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError
from adjoint.ir.dtype import dtypes
from adjoint.nn.optim.group import Group, number
from adjoint.nn.optim.lr_scheduler.base import LRScheduler
from adjoint.nn.optim.optimizer import Optimizer
from adjoint.tensor import Tensor


class ReduceLROnPlateau(LRScheduler):
    """`factor` more when the metric has not got better for more than `patience` steps.

    `step(metric)` takes a number or a scalar tensor, which is not read: it works inside jit.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0.0,
        eps: float = 1e-8,
    ):
        _check(mode, threshold_mode, factor)
        self.mode, self.threshold_mode = mode, threshold_mode
        self.factor, self.patience, self.threshold = factor, patience, threshold
        self.cooldown, self.eps = cooldown, eps
        many = len(optimizer.param_groups)
        self.min_lrs = [min_lr] * many if isinstance(min_lr, (int, float)) else list(min_lr)
        super().__init__(optimizer, [_one] * many)
        device = self.last_epoch.device
        self.best = number(np.inf if mode == "min" else -np.inf, device)
        self.num_bad_epochs = Tensor(np.array(0), device=device, requires_grad=False)
        self.cooldown_counter = Tensor(np.array(0), device=device, requires_grad=False)

    def _set(self) -> list[Tensor]:
        """Factors change by `step(metric)` alone."""
        return [group.apply_factors() for group in self._groups()]

    def step(self, metrics: Any = None) -> None:
        """Look at the metric of one more step, and reduce the learning rates if it is time."""
        metric = self._read(metrics)
        better = self._is_better(metric)
        cooling = self.cooldown_counter > 0
        bad = (better | cooling).where(0, self.num_bad_epochs + 1)
        due = bad > self.patience
        rates = [self._reduced(i, g, due) for i, g in enumerate(self._groups())]
        left = self.cooldown_counter - cooling.cast(dtypes.int64)
        changed = [
            self.best.assign(better.where(metric, self.best)),
            self.cooldown_counter.assign(due.where(self.cooldown, left)),
            self.num_bad_epochs.assign(due.where(0, bad)),
            self.last_epoch.assign(self.last_epoch + 1),
        ]
        Tensor.realize(*changed, *self.factors, *rates)

    def _read(self, metrics: Any) -> Tensor:
        if metrics is None:
            raise ArgumentError("E2007", "step takes the metric", op="ReduceLROnPlateau")
        metric = metrics if isinstance(metrics, Tensor) else number(metrics)
        return metric.detach().to(self.best.device).cast(dtypes.float64).reshape(())

    def _is_better(self, metric: Tensor) -> Tensor:
        sign = -1.0 if self.mode == "min" else 1.0
        if self.threshold_mode == "rel":
            bound = self.best * (1 + sign * self.threshold)
        else:
            bound = self.best + sign * self.threshold
        return metric < bound if self.mode == "min" else metric > bound

    def _reduced(self, position: int, group: Group, due: Tensor) -> Tensor:
        """The learning rate of a group, through its factor."""
        lowered = (group.lr * self.factor).maximum(self.min_lrs[position])
        counts = due.to(group.lr.device) & (group.lr - lowered > self.eps)
        own = self.factors[position]
        own.assign(counts.where(own * (lowered / group.lr), own))
        return group.apply_factors()


def _one(step: Any) -> float:
    return 1.0


def _check(mode: str, threshold_mode: str, factor: float) -> None:
    op = "ReduceLROnPlateau"
    if mode not in ("min", "max"):
        raise ArgumentError("E2008", f"mode is 'min' or 'max', not {mode!r}", op=op)
    if threshold_mode not in ("rel", "abs"):
        problem = f"threshold_mode is 'rel' or 'abs', not {threshold_mode!r}"
        raise ArgumentError("E2008", problem, op=op)
    if not factor < 1.0:
        raise ArgumentError("E2006", f"factor is below 1, not {factor}", op=op)
