"""Optimisers whose step is scaled per parameter by its norm, for large batches: LAMB, LARS."""

from __future__ import annotations

from typing import Any

from adjoint.nn.optim.adam import adam_scalars, averaged, check_adam, moments
from adjoint.nn.optim.optimizer import Optimizer
from adjoint.nn.optim.pure import Options, PureOptimizer, Rule, Slots, check_options, is_on
from adjoint.tensor import Tensor


def _norm(x: Tensor) -> Tensor:
    wide = x.float() if x.dtype.itemsize < 4 else x  # squares of half floats overflow
    return (wide * wide).sum().sqrt()


def _trust(top: Tensor, bottom: Tensor, like: Tensor) -> Tensor:
    """The quotient of two norms, 1 where either is 0."""
    usable = (top > 0) & (bottom > 0)
    return usable.where(top / usable.where(bottom, 1.0), 1.0).cast(like.dtype)


# ---- LAMB


def _lamb_shared(o: Options, t: Tensor) -> dict[str, Any]:
    beta1, _ = o["betas"]
    return {**adam_scalars(o, t), "lr": o["lr"], "whole": 1 - beta1**t}


def _lamb(p: Tensor, g: Tensor, slots: Slots, o: dict[str, Any]) -> tuple[Tensor, Slots]:
    new = averaged(g, slots, o)
    change = new["exp_avg"] / o["whole"] / (new["exp_avg_sq"].sqrt() / o["root"] + o["eps"])
    if is_on(o["decay"]):
        change = change + o["decay"] * p
    return p - o["lr"] * _trust(_norm(p), _norm(change), p) * change, new


_LAMB = Rule("lamb", moments, _lamb_shared, _lamb)


def lamb(
    lr: Any = 1e-3,
    betas: tuple[Any, Any] = (0.9, 0.999),
    eps: float = 1e-6,
    weight_decay: float = 0.0,
    maximize: bool = False,
) -> PureOptimizer:
    """LAMB: AdamW's step, scaled so that its norm is `lr` times the parameter's."""
    options = dict(locals())
    check_adam("lamb", options)
    return PureOptimizer(_LAMB, options)


class LAMB(Optimizer, pure=lamb):
    """LAMB; see `lamb`."""


# ---- LARS


def _lars_slots(p: Tensor, o: Options) -> Slots:
    return {"momentum_buffer": p.zeros_like()} if is_on(o["momentum"]) else {}


def _lars(p: Tensor, g: Tensor, slots: Slots, o: dict[str, Any]) -> tuple[Tensor, Slots]:
    rate = o["lr"]
    if is_on(o["trust_coefficient"]):
        size, decay = _norm(p), o["weight_decay"]
        bottom = _norm(g) + decay * size + o["eps"]
        rate = rate * _trust(o["trust_coefficient"] * size, bottom, p)
    change = rate * (g + o["weight_decay"] * p if is_on(o["weight_decay"]) else g)
    if slots:
        moving = o["momentum"] * slots["momentum_buffer"] + change
        slots = {"momentum_buffer": moving}
        change = change + o["momentum"] * moving if o["nesterov"] else moving
    return p - change, slots


_LARS = Rule("lars", _lars_slots, lambda o, t: dict(o), _lars)


def lars(
    lr: Any = 1e-3,
    momentum: Any = 0.9,
    weight_decay: float = 1e-4,
    trust_coefficient: float = 1e-3,
    eps: float = 1e-8,
    nesterov: bool = False,
    maximize: bool = False,
) -> PureOptimizer:
    """LARS: momentum on steps of `lr * trust_coefficient * |p| / (|g| + weight_decay * |p|)`.

    `trust_coefficient=0` leaves a group's steps unscaled, as is usual for biases and norms.
    """
    options = dict(locals())
    bounds = {"momentum": momentum, "weight_decay": weight_decay, "eps": eps}
    check_options("lars", lr, trust_coefficient=trust_coefficient, **bounds)
    return PureOptimizer(_LARS, options)


class LARS(Optimizer, pure=lars):
    """LARS; see `lars`."""
