"""Optimisers that find their own step sizes: Adadelta, Rprop; and ASGD, which averages."""

from __future__ import annotations

from typing import Any

from adjoint.errors import ArgumentError
from adjoint.nn.optim.optimizer import Optimizer
from adjoint.nn.optim.pure import Options, PureOptimizer, Rule, Slots, check_options, is_on, zeros
from adjoint.tensor import Tensor


def _decayed(p: Tensor, g: Tensor, o: dict[str, Any]) -> Tensor:
    return g + o["weight_decay"] * p if is_on(o["weight_decay"]) else g


# ---- Adadelta


def _adadelta(p: Tensor, g: Tensor, slots: Slots, o: dict[str, Any]) -> tuple[Tensor, Slots]:
    g, rho = _decayed(p, g, o), o["rho"]
    square = rho * slots["square_avg"] + (1 - rho) * (g * g)
    change = (slots["acc_delta"] + o["eps"]).sqrt() / (square + o["eps"]).sqrt() * g
    moved = rho * slots["acc_delta"] + (1 - rho) * (change * change)
    return p - o["lr"] * change, {"square_avg": square, "acc_delta": moved}


_ADADELTA = Rule("adadelta", zeros("square_avg", "acc_delta"), lambda o, t: dict(o), _adadelta)


def adadelta(
    lr: Any = 1.0,
    rho: float = 0.9,
    eps: float = 1e-6,
    weight_decay: float = 0.0,
    maximize: bool = False,
) -> PureOptimizer:
    """Adadelta: steps by the root of the mean squared step over that of the gradient."""
    options = dict(locals())
    check_options("adadelta", lr, rho=(rho, 1), eps=eps, weight_decay=weight_decay)
    return PureOptimizer(_ADADELTA, options)


class Adadelta(Optimizer, pure=adadelta):
    """Adadelta; see `adadelta`."""


# ---- Rprop


def _rprop_slots(p: Tensor, o: Options) -> Slots:
    """A step size below 0 stands for the learning rate at the parameter's first step."""
    return {"prev": p.zeros_like(), "step_size": p.zeros_like() - 1}


def _rprop(p: Tensor, g: Tensor, slots: Slots, o: dict[str, Any]) -> tuple[Tensor, Slots]:
    (slower, faster), (least, most) = o["etas"], o["step_sizes"]
    agree, was = g * slots["prev"], slots["step_size"]
    was = (was < 0).where(o["lr"], was)
    size = (agree > 0).where(was * faster, (agree < 0).where(was * slower, was)).clamp(least, most)
    g = (agree < 0).where(0.0, g)  # after a change of sign the element waits
    return p - g.sign() * size, {"prev": g, "step_size": size}


_RPROP = Rule("rprop", _rprop_slots, lambda o, t: dict(o), _rprop)


def rprop(
    lr: Any = 1e-2,
    etas: tuple[float, float] = (0.5, 1.2),
    step_sizes: tuple[float, float] = (1e-6, 50.0),
    maximize: bool = False,
) -> PureOptimizer:
    """Rprop: a step per element, longer while the gradient keeps its sign, shorter after a change.

    `lr` is the first step's.
    """
    options = dict(locals())
    check_options("rprop", lr)
    if not 0 < etas[0] < 1 < etas[1] or not 0 <= step_sizes[0] <= step_sizes[1]:
        problem = f"etas {etas} lie on both sides of 1 and step_sizes {step_sizes} rise"
        raise ArgumentError("E2006", f"takes {problem}", op="rprop")
    return PureOptimizer(_RPROP, options)


class Rprop(Optimizer, pure=rprop):
    """Resilient steps; see `rprop`."""


# ---- ASGD


def _asgd_scalars(o: Options, t: Tensor) -> dict[str, Any]:
    done = t - 1
    eta = o["lr"] / (1 + o["lambd"] * o["lr"] * done) ** o["alpha"]
    mu = 1 / (done - o["t0"]).maximum(1.0)
    return {"eta": eta, "mu": mu, "lambd": o["lambd"], "weight_decay": o["weight_decay"]}


def _asgd(p: Tensor, g: Tensor, slots: Slots, o: dict[str, Any]) -> tuple[Tensor, Slots]:
    g = _decayed(p, g, o)
    new = p * (1 - o["lambd"] * o["eta"]) - o["eta"] * g
    return new, {"ax": slots["ax"] + (new - slots["ax"]) * o["mu"]}


_ASGD = Rule("asgd", zeros("ax"), _asgd_scalars, _asgd)


def asgd(
    lr: Any = 1e-2,
    lambd: float = 1e-4,
    alpha: float = 0.75,
    t0: float = 1e6,
    weight_decay: float = 0.0,
    maximize: bool = False,
) -> PureOptimizer:
    """Averaged SGD (Polyak and Juditsky): `ax` is the mean of the parameters from step t0 on.

    A step has the learning rate that a schedule gives it; PyTorch's has that of the step before.
    """
    options = dict(locals())
    check_options("asgd", lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay)
    return PureOptimizer(_ASGD, options)


class ASGD(Optimizer, pure=asgd):
    """Averaged SGD; see `asgd`."""
