"""Relatives of Adam: NAdam, RAdam and Adamax."""

from __future__ import annotations

from typing import Any

from adjoint.nn.optim.adam import adam_scalars, averaged, check_adam, moments
from adjoint.nn.optim.optimizer import Optimizer
from adjoint.nn.optim.pure import Options, PureOptimizer, Rule, Slots, check_options, is_on, zeros
from adjoint.tensor import Tensor


def _decayed(p: Tensor, g: Tensor, o: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """Parameter and gradient with the weight decay in one of them."""
    if not is_on(o["decay"]):
        return p, g
    return (p * o["shrink"], g) if o["decoupled"] else (p, g + o["decay"] * p)


# ---- NAdam


def _nadam_slots(p: Tensor, o: Options) -> Slots:
    return moments(p, o) | {"mu_product": Tensor.ones((), dtype=p.dtype, device=p.device)}


def _nadam_scalars(o: Options, t: Tensor) -> dict[str, Any]:
    now, after = (
        o["betas"][0] * (1 - 0.5 * 0.96 ** (step * o["momentum_decay"])) for step in (t, t + 1)
    )
    more = {"now": now, "after": after, "lr": o["lr"]}
    return adam_scalars(o, t) | more | {"decoupled": o["decoupled_weight_decay"]}


def _nadam(p: Tensor, g: Tensor, slots: Slots, o: dict[str, Any]) -> tuple[Tensor, Slots]:
    p, g = _decayed(p, g, o)
    new = averaged(g, slots, o)
    product = slots["mu_product"] * o["now"]
    size = new["exp_avg_sq"].sqrt() / o["root"] + o["eps"]
    by_gradient = (1 - o["now"]) / (1 - product) * g
    by_mean = o["after"] / (1 - product * o["after"]) * new["exp_avg"]
    return p - o["lr"] * ((by_gradient + by_mean) / size), new | {"mu_product": product}


_NADAM = Rule("nadam", _nadam_slots, _nadam_scalars, _nadam)


def nadam(
    lr: Any = 2e-3,
    betas: tuple[Any, Any] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    momentum_decay: float = 4e-3,
    decoupled_weight_decay: bool = False,
    maximize: bool = False,
) -> PureOptimizer:
    """Adam with Nesterov's momentum (Dozat, 2016)."""
    options = dict(locals())
    check_adam("nadam", options)
    check_options("nadam", lr, momentum_decay=momentum_decay)
    return PureOptimizer(_NADAM, options)


class NAdam(Optimizer, pure=nadam):
    """Adam with Nesterov's momentum; see `nadam`."""


# ---- RAdam


def _radam_scalars(o: Options, t: Tensor) -> dict[str, Any]:
    """The rate of a step that is divided by the spread, and of one that is not yet."""
    beta2 = o["betas"][1]
    most = 2 / (1 - beta2) - 1
    length = most - 2 * t * beta2**t / (1 - beta2**t)
    known = length > 5  # before, the spread of so few gradients says nothing
    safe = known.where(length, 6.0)
    ratio = (safe - 4) * (safe - 2) * most / ((most - 4) * (most - 2) * safe)
    scalars = adam_scalars(o, t)
    divided = known.where(ratio.sqrt() * scalars["root"], 0.0)
    plain = known.where(0.0, divided * 0 + 1)
    more = {"divided": divided, "plain": plain, "decoupled": o["decoupled_weight_decay"]}
    return scalars | more


def _radam(p: Tensor, g: Tensor, slots: Slots, o: dict[str, Any]) -> tuple[Tensor, Slots]:
    p, g = _decayed(p, g, o)
    new = averaged(g, slots, o)
    factor = o["divided"] / (new["exp_avg_sq"].sqrt() + o["eps"]) + o["plain"]
    return p - o["rate"] * new["exp_avg"] * factor, new


_RADAM = Rule("radam", moments, _radam_scalars, _radam)


def radam(
    lr: Any = 1e-3,
    betas: tuple[Any, Any] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    decoupled_weight_decay: bool = False,
    maximize: bool = False,
) -> PureOptimizer:
    """Adam that divides by the spread only once it is known (Liu et al., 2020)."""
    options = dict(locals())
    check_adam("radam", options)
    return PureOptimizer(_RADAM, options)


class RAdam(Optimizer, pure=radam):
    """Rectified Adam; see `radam`."""


# ---- Adamax


def _adamax(p: Tensor, g: Tensor, slots: Slots, o: dict[str, Any]) -> tuple[Tensor, Slots]:
    g = g + o["decay"] * p if is_on(o["decay"]) else g
    mean = o["beta1"] * slots["exp_avg"] + o["new1"] * g
    most = (o["beta2"] * slots["exp_inf"]).maximum(g.abs() + o["eps"])
    return p - o["rate"] * (mean / most), {"exp_avg": mean, "exp_inf": most}


_ADAMAX = Rule("adamax", zeros("exp_avg", "exp_inf"), adam_scalars, _adamax)


def adamax(
    lr: Any = 2e-3,
    betas: tuple[Any, Any] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    maximize: bool = False,
) -> PureOptimizer:
    """Adam that divides by the largest recent gradient."""
    options = dict(locals())
    check_adam("adamax", options)
    return PureOptimizer(_ADAMAX, options)


class Adamax(Optimizer, pure=adamax):
    """Adam by the largest gradient; see `adamax`."""
