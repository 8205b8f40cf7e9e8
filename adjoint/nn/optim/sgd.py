"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

from adjoint.errors import ArgumentError
from adjoint.nn.optim.optimizer import Optimizer
from adjoint.nn.optim.pure import Options, PureOptimizer, Rule, Slots, check_options, is_on
from adjoint.tensor import Tensor


def _slots(p: Tensor, o: Options) -> Slots:
    return {"momentum_buffer": p.zeros_like()} if is_on(o["momentum"]) else {}


def _shared(o: Options, t: Tensor) -> dict[str, Any]:
    taken = 1 - o["dampening"]
    if is_on(o["dampening"]):
        taken = 1 - o["dampening"] * (t != 1).cast(t.dtype)  # the first gradient is taken whole
    names = ("lr", "momentum", "nesterov", "weight_decay")
    return {"taken": taken, **{name: o[name] for name in names}}


def _change(p: Tensor, g: Tensor, slots: Slots, o: dict[str, Any]) -> tuple[Tensor, Slots]:
    if is_on(o["weight_decay"]):
        g = g + o["weight_decay"] * p
    if slots:
        moving = o["momentum"] * slots["momentum_buffer"] + o["taken"] * g
        slots = {"momentum_buffer": moving}
        g = g + o["momentum"] * moving if o["nesterov"] else moving
    return p - o["lr"] * g, slots


_RULE = Rule("sgd", _slots, _shared, _change)


def sgd(
    lr: Any = 1e-3,
    momentum: Any = 0.0,
    *,  # what comes next is dampening in torch and weight decay in tinygrad: it has to be named
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
) -> PureOptimizer:
    """Stochastic gradient descent: `p - lr * v`, with `v = momentum * v + (1 - dampening) * g`."""
    options = dict(locals())
    check_options("sgd", lr, momentum=momentum, weight_decay=weight_decay, dampening=dampening)
    if nesterov and (not is_on(momentum) or dampening != 0):
        problem = "nesterov needs a momentum and no dampening"
        raise ArgumentError("E2006", problem, op="sgd", help="give momentum=0.9, dampening=0")
    return PureOptimizer(_RULE, options)


class SGD(Optimizer, pure=sgd):
    """Stochastic gradient descent; see `sgd`."""
