"""One cycle: the learning rate up and down again, the momentum down and up."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.errors import ArgumentError
from adjoint.nn.optim import schedules as functions
from adjoint.nn.optim.group import Group, number, put
from adjoint.nn.optim.lr_scheduler.base import LRScheduler, for_all
from adjoint.nn.optim.optimizer import Optimizer
from adjoint.nn.optim.parameters import unowned
from adjoint.tensor import Tensor


class OneCycleLR(LRScheduler):
    """Up to `max_lr` and down to nearly nothing in `total_steps`, the momentum the other way."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
    ):
        total = _total_steps(total_steps, epochs, steps_per_epoch)
        shape = (pct_start, div_factor, final_div_factor, anneal_strategy, three_phase)
        groups = optimizer.param_groups
        highest = [max_lr] * len(groups) if isinstance(max_lr, (int, float)) else max_lr
        for group, lr in zip(groups, highest, strict=True):
            group["initial_lr"] = lr / div_factor
        self.momenta: list[Tensor] = []
        if cycle_momentum:
            self.momenta = [_momentum(group) for group in groups]
        low, high = base_momentum, max_momentum
        ends = [pct_start * total - 1, total - 1.0]
        values = [high, low, high]
        if three_phase:
            ends.insert(1, 2 * pct_start * total - 2)
            values.append(high)
        self._cycle = unowned(functions.phases(total, ends, values, anneal_strategy))
        super().__init__(
            optimizer, for_all(optimizer, div_factor * functions.one_cycle(total, *shape))
        )

    def _set(self) -> list[Tensor]:
        for momentum in self.momenta:
            put(momentum, self._cycle()(self.last_epoch))
        return [*self.momenta, *super()._set()]


def _total_steps(total: int | None, epochs: int | None, each: int | None) -> int:
    if total is None and (epochs is None or each is None):
        problem = "give total_steps, or epochs and steps_per_epoch"
        raise ArgumentError("E2007", problem, op="OneCycleLR")
    return total if total is not None else (epochs or 0) * (each or 0)


def _momentum(group: Group) -> Tensor:
    """The momentum of a group as a tensor, or the first of its betas."""
    made = number(0.0, group.lr.device)
    if "momentum" in group:
        group.options["momentum"] = made
    elif "betas" in group:
        group.options["betas"] = (made, group["betas"][1])
    else:
        problem, fix = "the optimizer has neither momentum nor betas", "cycle_momentum=False"
        raise ArgumentError("E2001", problem, op="OneCycleLR", help=fix)
    return made
