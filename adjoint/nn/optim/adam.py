"""Adam, and AdamW, whose weight decay is apart from the gradient."""

from __future__ import annotations

from typing import Any

from adjoint.errors import ArgumentError
from adjoint.nn.optim.optimizer import Optimizer
from adjoint.nn.optim.pure import Options, PureOptimizer, Rule, Slots, check_options, is_on
from adjoint.tensor import Tensor


def moments(p: Tensor, o: Options) -> Slots:
    """Running means of the gradient and of its square."""
    slots = {"exp_avg": p.zeros_like(), "exp_avg_sq": p.zeros_like()}
    return slots | {"max_exp_avg_sq": p.zeros_like()} if o.get("amsgrad") else slots


def adam_scalars(o: Options, t: Tensor) -> dict[str, Any]:
    """What the formula needs besides the parameter: rates and corrections of the means."""
    beta1, beta2 = o["betas"]
    return {
        "beta1": beta1,
        "beta2": beta2,
        "new1": 1 - beta1,
        "new2": 1 - beta2,
        "rate": o["lr"] / (1 - beta1**t),
        "root": (1 - beta2**t).sqrt(),
        "eps": o["eps"],
        "decay": o["weight_decay"],
        "shrink": 1 - o["lr"] * o["weight_decay"],
    }


def averaged(g: Tensor, slots: Slots, o: dict[str, Any]) -> Slots:
    """The running means with one more gradient."""
    mean = o["beta1"] * slots["exp_avg"] + o["new1"] * g
    square = o["beta2"] * slots["exp_avg_sq"] + o["new2"] * (g * g)
    new = {"exp_avg": mean, "exp_avg_sq": square}
    if "max_exp_avg_sq" in slots:
        new["max_exp_avg_sq"] = slots["max_exp_avg_sq"].maximum(square)
    return new


def _adam(p: Tensor, g: Tensor, slots: Slots, o: dict[str, Any]) -> tuple[Tensor, Slots]:
    new = averaged(g + o["decay"] * p if is_on(o["decay"]) else g, slots, o)
    square = new.get("max_exp_avg_sq", new["exp_avg_sq"])
    return p - o["rate"] * (new["exp_avg"] / (square.sqrt() / o["root"] + o["eps"])), new


def adamw_change(p: Tensor, g: Tensor, slots: Slots, o: dict[str, Any]) -> tuple[Tensor, Slots]:
    """Adam on a parameter that has been shrunk first."""
    shrunk = p * o["shrink"] if is_on(o["decay"]) else p
    return _adam(shrunk, g, slots, {**o, "decay": 0.0})


_ADAM = Rule("adam", moments, adam_scalars, _adam)
_ADAMW = Rule("adamw", moments, adam_scalars, adamw_change)


def adam(
    lr: Any = 1e-3,
    betas: tuple[Any, Any] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    amsgrad: bool = False,
    maximize: bool = False,
    *,
    b1: Any = None,
    b2: Any = None,
) -> PureOptimizer:
    """Adam: steps by the mean gradient over the root of the mean squared gradient."""
    options = _with_betas("adam", dict(locals()))
    check_adam("adam", options)
    return PureOptimizer(_ADAM, options)


def adamw(
    lr: Any = 1e-3,
    betas: tuple[Any, Any] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
    amsgrad: bool = False,
    maximize: bool = False,
    *,
    b1: Any = None,
    b2: Any = None,
) -> PureOptimizer:
    """Adam with a weight decay that is apart from the gradient: `p * (1 - lr * weight_decay)`."""
    options = _with_betas("adamw", dict(locals()))
    check_adam("adamw", options)
    return PureOptimizer(_ADAMW, options)


def _with_betas(op: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options with `b1` and `b2`, tinygrad's names, in the place of `betas`."""
    single = options.pop("b1"), options.pop("b2")
    if single == (None, None):
        return options
    if options["betas"] != (0.9, 0.999):
        raise ArgumentError("E2007", "betas, b1 and b2 are one option", op=op)
    betas = tuple(b if b is not None else was for b, was in zip(single, (0.9, 0.999), strict=True))
    return {**options, "betas": betas}


def check_adam(op: str, o: Options) -> None:
    """Raise unless the options are those of an Adam."""
    if not isinstance(o["betas"], (tuple, list)) or len(o["betas"]) != 2:
        raise ArgumentError("E2007", f"betas are two numbers, not {o['betas']!r}", op=op)
    beta1, beta2 = o["betas"]
    betas = {"betas[0]": (beta1, 1), "betas[1]": (beta2, 1)}
    check_options(op, o["lr"], eps=o["eps"], weight_decay=o["weight_decay"], **betas)


class Adam(Optimizer, pure=adam):
    """Adam; see `adam`."""


class AdamW(Optimizer, pure=adamw):
    """Adam with decoupled weight decay; see `adamw`."""
