"""Optimisers that divide by a running size of the gradient: RMSprop, Adagrad.

Adam has its own file.
"""

from __future__ import annotations

from typing import Any

from adjoint.nn.optim.optimizer import Optimizer
from adjoint.nn.optim.pure import Options, PureOptimizer, Rule, Slots, check_options, is_on
from adjoint.tensor import Tensor

# ---- RMSprop


def _rmsprop_slots(p: Tensor, o: Options) -> Slots:
    slots = {"square_avg": p.zeros_like()}
    if o["centered"]:
        slots["grad_avg"] = p.zeros_like()
    if is_on(o["momentum"]):
        slots["momentum_buffer"] = p.zeros_like()
    return slots


def _rmsprop_shared(o: Options, t: Tensor) -> dict[str, Any]:
    return {**o, "new": 1 - o["alpha"]}


def _rmsprop(p: Tensor, g: Tensor, slots: Slots, o: dict[str, Any]) -> tuple[Tensor, Slots]:
    g = g + o["weight_decay"] * p if is_on(o["weight_decay"]) else g
    square = o["alpha"] * slots["square_avg"] + o["new"] * (g * g)
    new = {"square_avg": square}
    if "grad_avg" in slots:
        mean = o["alpha"] * slots["grad_avg"] + o["new"] * g
        new["grad_avg"] = mean
        square = square - mean * mean
    change = g / (square.sqrt() + o["eps"])
    if "momentum_buffer" in slots:
        change = o["momentum"] * slots["momentum_buffer"] + change
        new["momentum_buffer"] = change
    return p - o["lr"] * change, new


_RMSPROP = Rule("rmsprop", _rmsprop_slots, _rmsprop_shared, _rmsprop)


def rmsprop(
    lr: Any = 1e-2,
    alpha: float = 0.99,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    momentum: Any = 0.0,
    centered: bool = False,
    maximize: bool = False,
) -> PureOptimizer:
    """RMSprop: steps by the gradient over the root of its running mean square.

    `centered` subtracts the squared running mean, so that the variance is divided by.
    """
    options = dict(locals())
    bounds = {"eps": eps, "weight_decay": weight_decay, "momentum": momentum, "alpha": alpha}
    check_options("rmsprop", lr, **bounds)
    return PureOptimizer(_RMSPROP, options)


class RMSprop(Optimizer, pure=rmsprop):
    """RMSprop; see `rmsprop`."""


# ---- Adagrad


def _adagrad_slots(p: Tensor, o: Options) -> Slots:
    return {"sum": p.full_like(o["initial_accumulator_value"])}


def _adagrad_shared(o: Options, t: Tensor) -> dict[str, Any]:
    return {**o, "lr": o["lr"] / (1 + (t - 1) * o["lr_decay"])}


def _adagrad(p: Tensor, g: Tensor, slots: Slots, o: dict[str, Any]) -> tuple[Tensor, Slots]:
    g = g + o["weight_decay"] * p if is_on(o["weight_decay"]) else g
    total = slots["sum"] + g * g
    return p - o["lr"] * (g / (total.sqrt() + o["eps"])), {"sum": total}


_ADAGRAD = Rule("adagrad", _adagrad_slots, _adagrad_shared, _adagrad)


def adagrad(
    lr: Any = 1e-2,
    lr_decay: float = 0.0,
    weight_decay: float = 0.0,
    initial_accumulator_value: float = 0.0,
    eps: float = 1e-10,
    maximize: bool = False,
) -> PureOptimizer:
    """Adagrad: steps by the gradient over the root of the sum of all its squares."""
    options = dict(locals())
    bounds = {"lr_decay": lr_decay, "weight_decay": weight_decay, "eps": eps}
    start = {"initial_accumulator_value": initial_accumulator_value}
    check_options("adagrad", lr, **bounds, **start)
    return PureOptimizer(_ADAGRAD, options)


class Adagrad(Optimizer, pure=adagrad):
    """Adagrad; see `adagrad`."""
