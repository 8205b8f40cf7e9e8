"""Cases of optimisers, schedules and clipping: every option, on a small network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.oracle.nn_store import Case, Lib, real


def _net(nn: Any) -> Any:
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))


def _loss(nn: Any, y: Any, target: Any) -> Any:
    return nn.MSELoss()(y, target)


def _case(name: str, optimiser: Any, **more: Any) -> Case:
    inputs, targets = (real(6, 4),), (real(6, 3, seed=1),)
    return Case(name, _net, inputs, loss=_loss, targets=targets, optimiser=optimiser, **more)


# ---- optimisers

_OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "SGD": {
        "defaults": {},
        "momentum": {"lr": 0.1, "momentum": 0.9},
        "dampening": {"lr": 0.1, "momentum": 0.9, "dampening": 0.3},
        "nesterov": {"lr": 0.1, "momentum": 0.8, "nesterov": True},
        "decay": {"lr": 0.1, "weight_decay": 0.1},
        "all": {"lr": 0.1, "momentum": 0.7, "dampening": 0.2, "weight_decay": 0.05},
        "maximize": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True},
    },
    "Adam": {
        "defaults": {},
        "amsgrad": {"lr": 0.1, "amsgrad": True},
        "betas": {"lr": 0.05, "betas": (0.5, 0.7), "eps": 1e-3},
        "decay": {"lr": 0.05, "weight_decay": 0.1},
        "all": {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True, "betas": (0.8, 0.9)},
        "maximize": {"lr": 0.05, "maximize": True},
    },
    "AdamW": {
        "defaults": {},
        "amsgrad": {"lr": 0.1, "amsgrad": True},
        "decay": {"lr": 0.1, "weight_decay": 0.5},
        "no decay": {"lr": 0.1, "weight_decay": 0.0},
        "maximize": {"lr": 0.05, "maximize": True, "amsgrad": True, "betas": (0.6, 0.8)},
    },
    "RMSprop": {
        "defaults": {},
        "centered": {"centered": True, "alpha": 0.8},
        "momentum": {"momentum": 0.9, "eps": 1e-4},
        "all": {"centered": True, "momentum": 0.5, "weight_decay": 0.1, "alpha": 0.7},
        "maximize": {"maximize": True, "weight_decay": 0.1},
    },
    "Adagrad": {
        "defaults": {},
        "decay": {"lr": 0.1, "lr_decay": 0.3, "weight_decay": 0.1},
        "start": {"lr": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-3},
        "maximize": {"lr": 0.1, "maximize": True},
    },
}


def _plain(kind: str, options: dict[str, Any]) -> Callable[[Any, Any], Any]:
    return lambda optim, model: getattr(optim, kind)(model.parameters(), **options)


OPTIMISERS = [
    _case(f"{kind} {name}", _plain(kind, options))
    for kind, table in _OPTIONS.items()
    for name, options in table.items()
]


def _groups(kind: str, **options: Any) -> Callable[[Any, Any], Any]:
    def make(optim: Any, model: Any) -> Any:
        first = {"params": list(model[0].parameters()), **options}
        return getattr(optim, kind)([first, {"params": model[2].parameters()}], lr=0.05)

    return make


GROUPS = [
    _case("SGD groups", _groups("SGD", lr=0.3, momentum=0.9)),
    _case("Adam groups", _groups("Adam", lr=0.01, betas=(0.5, 0.6))),
    _case("AdamW groups", _groups("AdamW", weight_decay=0.3)),
]


def _no_bias(nn: Any) -> Any:
    return nn.Sequential(nn.Linear(4, 5, bias=False), nn.Tanh(), nn.Linear(5, 3, bias=False))


MUON = [  # torch computes it in bfloat16, whatever the parameters are
    Case(
        f"Muon {name}",
        _no_bias,
        (real(6, 4),),
        loss=_loss,
        targets=(real(6, 3, seed=1),),
        optimiser=_plain("Muon", {"lr": 0.01, **options}),
        tolerance=0.02,
    )
    for name, options in {
        "defaults": {},
        "plain": {"nesterov": False, "weight_decay": 0.0, "momentum": 0.5},
        "like adamw": {"adjust_lr_fn": "match_rms_adamw", "ns_steps": 4},
    }.items()
]


# ---- schedules


class _Scheduled:
    """An optimiser whose schedules take a step after each of its own."""

    def __init__(self, optimiser: Any, scheduler: Any, metrics: tuple[float, ...] = ()):
        self.optimiser, self.scheduler, self.metrics = optimiser, scheduler, list(metrics)

    def step(self) -> None:
        self.optimiser.step()
        self.scheduler.step(*([self.metrics.pop(0)] if self.metrics else []))


def _scheduled(make: Any, kind: str = "SGD", metrics: tuple[float, ...] = ()) -> Any:
    options = {"momentum": 0.9} if kind == "SGD" else {}

    def build(optim: Any, model: Any) -> Any:
        optimiser = getattr(optim, kind)(model.parameters(), lr=0.1, **options)
        return _Scheduled(optimiser, make(optim.lr_scheduler, optimiser), metrics)

    return build


_SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda t: 0.9**t + 0.1 * t),
    "constant": lambda s, o: s.ConstantLR(o),
    "constant all": lambda s, o: s.ConstantLR(o, factor=0.5, total_iters=3),
    "step": lambda s, o: s.StepLR(o, step_size=3, gamma=0.5),
    "multistep": lambda s, o: s.MultiStepLR(o, milestones=[2, 5, 5, 8], gamma=0.6),
    "exponential": lambda s, o: s.ExponentialLR(o, gamma=0.8),
    "linear": lambda s, o: s.LinearLR(o),
    "linear all": lambda s, o: s.LinearLR(o, start_factor=0.1, end_factor=0.6, total_iters=7),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, T_max=10),
    "cosine up again": lambda s, o: s.CosineAnnealingLR(o, T_max=4, eta_min=0.02),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, T_0=4),
    "longer restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, T_mult=2, eta_min=0.01),
    "one cycle": lambda s, o: s.OneCycleLR(o, max_lr=0.5, total_steps=12),
    "one cycle linear": lambda s, o: s.OneCycleLR(
        o, max_lr=0.3, epochs=3, steps_per_epoch=4, anneal_strategy="linear", pct_start=0.4
    ),
    "one cycle three phases": lambda s, o: s.OneCycleLR(
        o, 0.4, total_steps=20, three_phase=True, div_factor=5.0, cycle_momentum=False
    ),
    "polynomial": lambda s, o: s.PolynomialLR(o),
    "polynomial power": lambda s, o: s.PolynomialLR(o, total_iters=8, power=1.7),
    "sequential": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=3), s.ExponentialLR(o, 0.9), s.StepLR(o, 2)], [3, 6]
    ),
    "sequential lambda": lambda s, o: s.SequentialLR(
        o, [s.LambdaLR(o, lambda t: 1.0 / (t + 1)), s.CosineAnnealingLR(o, 6)], [4]
    ),
    "chained": lambda s, o: s.ChainedScheduler(
        [s.ConstantLR(o, 0.1, total_iters=4), s.ExponentialLR(o, 0.9)]
    ),
}

_METRICS = (1.0, 0.9, 0.9, 0.95, 0.89, 0.899, 0.9, 0.9, 0.2, 0.3)
_PLATEAUS: dict[str, dict[str, Any]] = {
    "min": {"patience": 1, "factor": 0.5},
    "cooldown": {"patience": 0, "factor": 0.3, "cooldown": 2, "min_lr": 0.02},
    "max": {"mode": "max", "patience": 1, "threshold": 0.1, "threshold_mode": "abs"},
    "max relative": {"mode": "max", "patience": 2, "threshold": 0.05},
    "eps": {"patience": 0, "eps": 0.05},
}


def _plateau(options: dict[str, Any]) -> Any:
    return _scheduled(lambda s, o: s.ReduceLROnPlateau(o, **options), metrics=_METRICS)


SCHEDULES = [
    *(_case(f"schedule {name}", _scheduled(make)) for name, make in _SCHEDULES.items()),
    _case("schedule one cycle of adam", _scheduled(_SCHEDULES["one cycle"], "Adam")),
    _case("schedule cosine of adamw", _scheduled(_SCHEDULES["cosine"], "AdamW")),
    *(_case(f"schedule plateau {name}", _plateau(o)) for name, o in _PLATEAUS.items()),
]


# ---- clipping


def _clipped(name: str, *args: Any, **options: Any) -> Any:
    def before(lib: Lib, model: Any, optimiser: Any, step: int) -> None:
        home = lib.nn.utils if lib.name == "torch" else lib.optim
        getattr(home, name)(model.parameters(), *args, **options)

    return before


def _sgd(optim: Any, model: Any) -> Any:
    return optim.SGD(model.parameters(), lr=0.2, momentum=0.9)


CLIPPING = [
    _case("clip norm", _sgd, before=_clipped("clip_grad_norm_", 0.1)),
    _case("clip norm, never", _sgd, before=_clipped("clip_grad_norm_", 1e3)),
    _case("clip norm 1", _sgd, before=_clipped("clip_grad_norm_", 0.3, norm_type=1.0)),
    _case("clip norm 3", _sgd, before=_clipped("clip_grad_norm_", 0.1, norm_type=3.0)),
    _case("clip largest", _sgd, before=_clipped("clip_grad_norm_", 0.05, norm_type=float("inf"))),
    _case("clip value", _sgd, before=_clipped("clip_grad_value_", 0.03)),
]

CASES = [*OPTIMISERS, *GROUPS, *MUON, *SCHEDULES, *CLIPPING]
