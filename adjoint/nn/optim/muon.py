"""Muon: momentum whose matrix is made orthogonal before the step; AdamW for what is no matrix."""

from __future__ import annotations

from math import sqrt
from typing import Any

from adjoint.errors import ArgumentError, ShapeError
from adjoint.nn.optim.adam import adam_scalars, adamw_change, check_adam, moments
from adjoint.nn.optim.optimizer import Optimizer
from adjoint.nn.optim.pure import Options, PureOptimizer, Rule, Slots, check_options
from adjoint.tensor import Tensor

_QUINTIC = (3.4445, -4.7750, 2.0315)  # steep at 0, so that few steps are enough
_RATIOS = {
    "original": lambda rows, columns: sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * sqrt(max(rows, columns)),
}


def orthogonalized(
    matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """Nearly the nearest matrix whose singular values are all 1, by Newton-Schulz steps.

    Half floats are computed in float32.
    """
    a, b, c = coefficients
    x = matrix.float() if matrix.dtype.itemsize < 4 else matrix
    tall = matrix.shape[0] > matrix.shape[1]
    x = x.T if tall else x
    x = x / (x * x).sum().sqrt().maximum(eps)  # no singular value above 1
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return (x.T if tall else x).cast(matrix.dtype)


def _takes(p: Tensor, o: Options) -> bool:
    """Whether a parameter is Muon's; if not, AdamW's."""
    if o["use_muon"] and p.ndim != 2:
        problem, fix = "use_muon is for matrices", "leave use_muon to None, or set it to False"
        raise ShapeError("E3002", problem, op="muon", parameter=p, help=fix)
    return p.ndim == 2 if o["use_muon"] is None else bool(o["use_muon"])


def _slots(p: Tensor, o: Options) -> Slots:
    return {"momentum_buffer": p.zeros_like()} if _takes(p, o) else moments(p, o)


def _shared(o: Options, t: Tensor) -> dict[str, Any]:
    lr = o["lr"] if o["adamw_lr"] is None else o["adamw_lr"]
    other = {"lr": lr, "betas": o["adamw_betas"], "eps": o["adamw_eps"]}
    decay = o["weight_decay"]
    return {
        **adam_scalars({**other, "weight_decay": decay}, t),
        "lr": o["lr"],
        "kept": 1 - o["lr"] * decay,
        "momentum": o["momentum"],
        "fresh": 1 - o["momentum"],
        "nesterov": o["nesterov"],
        "schulz": (o["ns_coefficients"], o["ns_steps"], o["eps"]),
        "ratio": _RATIOS[o["adjust_lr_fn"] or "original"],
    }


def _change(p: Tensor, g: Tensor, slots: Slots, o: dict[str, Any]) -> tuple[Tensor, Slots]:
    if "momentum_buffer" not in slots:
        return adamw_change(p, g, slots, o)
    moving = o["momentum"] * slots["momentum_buffer"] + o["fresh"] * g
    ahead = o["momentum"] * moving + o["fresh"] * g if o["nesterov"] else moving
    change = orthogonalized(ahead, *o["schulz"])
    rate = o["lr"] * o["ratio"](*p.shape)
    return p * o["kept"] - rate * change, {"momentum_buffer": moving}


_RULE = Rule("muon", _slots, _shared, _change)


def muon(
    lr: Any = 1e-3,
    weight_decay: float = 0.1,
    momentum: Any = 0.95,
    nesterov: bool = True,
    ns_coefficients: tuple[float, float, float] = _QUINTIC,
    eps: float = 1e-7,
    ns_steps: int = 5,
    adjust_lr_fn: str | None = None,
    use_muon: bool | None = None,
    adamw_lr: Any = None,
    adamw_betas: tuple[Any, Any] = (0.9, 0.95),
    adamw_eps: float = 1e-8,
    maximize: bool = False,
) -> PureOptimizer:
    """Muon for matrices, AdamW for all other parameters.

    `use_muon` says which of the two a group gets, whatever its shapes: embeddings and the last
    layer are matrices too, and do better with AdamW. `adamw_lr` is the learning rate of AdamW,
    where it differs. `adjust_lr_fn` is "original" or "match_rms_adamw".
    """
    options = dict(locals())
    check_options("muon", lr, momentum=(momentum, 1), eps=eps, ns_steps=(ns_steps, 100))
    other = lr if adamw_lr is None else adamw_lr
    own = {"lr": other, "betas": adamw_betas, "eps": adamw_eps, "weight_decay": weight_decay}
    check_adam("muon", own)
    if len(ns_coefficients) != 3:
        raise ArgumentError("E2007", f"ns_coefficients are three, not {ns_coefficients}", op="muon")
    if (adjust_lr_fn or "original") not in _RATIOS:
        problem = f"adjust_lr_fn is {' or '.join(map(repr, _RATIOS))}, not {adjust_lr_fn!r}"
        raise ArgumentError("E2008", problem, op="muon")
    return PureOptimizer(_RULE, options)


class Muon(Optimizer, pure=muon):
    """Muon for matrices, AdamW for all other parameters; see `muon`.

    Each group that is given becomes one group of each kind, so that both have a learning rate.
    """

    def split(self, group: dict[str, Any]) -> list[dict[str, Any]]:
        """The group of matrices and that of all others, where there are any."""
        kind = group.get("use_muon", self.defaults["use_muon"])
        takes = [p.ndim == 2 if kind is None else kind for _, p in group["params"]]
        found = []
        for wanted in (True, False):
            rows = zip(group["params"], takes, strict=True)
            chosen = [pair for pair, taken in rows if taken is wanted]
            if chosen:
                found.append({**group, "params": chosen, "use_muon": wanted})
        rate = group.get("adamw_lr")
        if rate is None and "lr" not in group:
            rate = self.defaults["adamw_lr"]
        for part in found:
            if not part["use_muon"]:
                part |= {"adamw_lr": None} if rate is None else {"lr": rate, "adamw_lr": None}
        return found
