"""Losses between numbers, and what all losses share.

Every loss takes `reduction`: "mean" (the default), "sum" or "none". Operands broadcast; integers
count as floats. Elsewhere: losses of classes and probabilities (see `loss.py`).
"""

from __future__ import annotations

from functools import reduce
from math import log, pi
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError
from adjoint.ir.derivative import Jvp
from adjoint.ir.dtype import accumulator, promote, to_float
from adjoint.ir.opdef import Bad, composite
from adjoint.ir.precision import full
from adjoint.ir.uop import UOp
from adjoint.ops.samples import real, rough

Array = np.ndarray[Any, Any]
REDUCTIONS = ("mean", "sum", "none")


def in_floats(*operands: UOp) -> tuple[UOp, ...]:
    """The operands in one float dtype."""
    dtype = to_float(reduce(promote, (x.dtype for x in operands)))
    return tuple(x.cast(dtype) for x in operands)


def reduced(op: str, y: UOp, reduction: str, among: tuple[str, ...] = REDUCTIONS) -> UOp:
    """The losses as they are, their sum or their mean, added up in float32 or wider."""
    if reduction not in among:
        problem = f"reduction {reduction!r} is not one of {', '.join(among)}"
        raise ArgumentError("E2008", problem, op=op)
    if reduction == "none":
        return y
    total = y.cast(accumulator(y.dtype)).reduce_sum()
    count = {"sum": 1, "mean": y.size, "batchmean": y.shape[0] if y.shape else 1}[reduction]
    return (total if reduction == "sum" else total / count).cast(y.dtype)


def _difference(t: Any) -> UOp:
    """The tangent of x - y."""
    if t[0] is None or t[1] is None:
        return -t[1] if t[0] is None else t[0]
    return t[0] - t[1]


def reduce_reference(y: Any, reduction: str = "mean") -> Array:
    """For references: the losses in float64, reduced."""
    y = np.asarray(y, np.float64)
    return y if reduction == "none" else y.sum() / (y.size if reduction == "mean" else 1)


def pair_samples(lo: float = -3.0, hi: float = 3.0, target: float = 0.0) -> list[Any]:
    """Two operands, every reduction, broadcasting, scalars, size 0; `target` bounds the second."""
    low, high = (target - 1 if target else lo), (target if target else hi)
    near = lambda *shape: real(*shape, lo=low, hi=high, seed=1)  # noqa: E731
    x = real(2, 3, lo=lo, hi=hi)
    return [
        (x, near(2, 3)),
        (x, near(2, 3), {"reduction": "sum"}),
        (x, near(2, 3), {"reduction": "none"}),
        (x, near(3), {"reduction": "none"}),
        (x, near(2, 1)),
        (real(lo=lo, hi=hi), near()),
        (real(0, 3), near(0, 3), {"reduction": "sum"}),
        rough(real(0, 3), near(0, 3)),
    ]


_BAD = Bad("E2008", (real(2), real(2)), {"reduction": "max"}, match="reduction 'max'")
PAIR_ERRORS = (_BAD, Bad("E3001", (real(2, 3), real(2, 4)), match="dimension 1"))


@composite(
    reference=lambda x, target, reduction="mean": reduce_reference(
        (np.asarray(x, float) - target) ** 2, reduction
    ),
    samples=lambda: [*pair_samples(), (real(3), 0.5)],
    kinds="iuf",
    errors=PAIR_ERRORS,
    precision=full,
)
def mse_loss(x: UOp, target: UOp, reduction: str = "mean") -> UOp:
    """Squared error (x - target)²."""
    x, target = in_floats(x, target)
    apart = x - target
    return reduced("mse_loss", apart * apart, reduction)


@composite(
    reference=lambda x, target, reduction="mean": reduce_reference(
        np.abs(np.asarray(x, float) - target), reduction
    ),
    samples=pair_samples,
    kinds="iuf",
    errors=PAIR_ERRORS,
    precision=full,
)
def l1_loss(x: UOp, target: UOp, reduction: str = "mean") -> UOp:
    """Absolute error |x - target|; the gradient at 0 is 0."""
    x, target = in_floats(x, target)
    return reduced("l1_loss", (x - target).abs(), reduction)


def _huber_reference(x: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Array:
    apart = np.abs(np.asarray(x, float) - target)
    far = delta * (apart - delta / 2)
    return reduce_reference(np.where(apart <= delta, apart**2 / 2, far), reduction)


def _huber_jvp(t: Any, y: UOp, x: UOp, target: UOp, reduction: str, delta: float) -> UOp:
    """The slope is x - target, cut off at ±delta."""
    x, target = in_floats(x, target)
    slope = (x - target).maximum(-delta).minimum(delta)
    return reduced("huber_loss", _difference(t) * slope, reduction)


@composite(
    reference=_huber_reference,
    samples=lambda: [
        *pair_samples(),
        (real(2, 3), real(2, 3, seed=1), {"delta": 0.3, "reduction": "none"}),
    ],
    ad=Jvp(_huber_jvp),
    kinds="iuf",
    errors=(*PAIR_ERRORS, Bad("E2006", (real(2), real(2)), {"delta": 0.0}, match="delta")),
    precision=full,
)
def huber_loss(x: UOp, target: UOp, reduction: str = "mean", delta: float = 1.0) -> UOp:
    """½(x - target)² up to a distance of `delta`, from there on linear with that slope."""
    check_value("huber_loss", "delta", delta, delta > 0, "positive")
    x, target = in_floats(x, target)
    apart = (x - target).abs()
    y = (apart <= delta).where(apart * apart * 0.5, (apart - 0.5 * delta) * delta)
    return reduced("huber_loss", y, reduction)


def check_value(op: str, what: str, value: Any, holds: bool, rule: str) -> None:
    """An option must hold to its rule."""
    if not holds:
        raise ArgumentError("E2006", f"{what} is {rule}, got {value}", op=op)


def _smooth_l1_reference(x: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Array:
    apart = np.abs(np.asarray(x, float) - target)
    near = apart**2 / (2 * beta) if beta else apart
    return reduce_reference(np.where(apart < beta, near, apart - beta / 2), reduction)


def _smooth_l1_jvp(t: Any, y: UOp, x: UOp, target: UOp, reduction: str, beta: float) -> UOp:
    """The slope is (x - target) / beta, cut off at ±1; for beta = 0 the sign."""
    x, target = in_floats(x, target)
    apart = x - target
    slope = (apart / beta).maximum(-1).minimum(1) if beta else apart.sign()
    return reduced("smooth_l1_loss", _difference(t) * slope, reduction)


@composite(
    reference=_smooth_l1_reference,
    samples=lambda: [
        *pair_samples(),
        (real(2, 3), real(2, 3, seed=1), {"beta": 0.3, "reduction": "none"}),
        (real(2, 3), real(2, 3, seed=1), {"beta": 0.0}),
    ],
    ad=Jvp(_smooth_l1_jvp),
    kinds="iuf",
    errors=(*PAIR_ERRORS, Bad("E2006", (real(2), real(2)), {"beta": -1.0}, match="beta")),
    precision=full,
)
def smooth_l1_loss(x: UOp, target: UOp, reduction: str = "mean", beta: float = 1.0) -> UOp:
    """(x - target)² / (2 beta) up to a distance of `beta`, from there on linear with slope 1."""
    check_value("smooth_l1_loss", "beta", beta, beta >= 0, "not negative")
    x, target = in_floats(x, target)
    apart = (x - target).abs()
    if not beta:
        return reduced("smooth_l1_loss", apart, reduction)
    y = (apart < beta).where(apart * apart * (0.5 / beta), apart - 0.5 * beta)
    return reduced("smooth_l1_loss", y, reduction)


def _poisson_reference(
    x: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Array:
    x, n = np.asarray(x, float), np.asarray(target, float)
    y = np.exp(x) - n * x if log_input else x - n * np.log(x + eps)
    stirling = n * np.log(np.where(n > 1, n, 1)) - n + np.log(2 * np.pi * np.where(n > 1, n, 1)) / 2
    return reduce_reference(y + np.where(n > 1, stirling, 0) * full, reduction)


@composite(
    reference=_poisson_reference,
    samples=lambda: [
        *pair_samples(),
        (real(2, 3, lo=0.5), real(2, 3, lo=0.5, seed=1), False),
        (real(2, 3), real(3, lo=1.1, seed=1), {"full": True}),
        (real(3), np.array([0, 1, 4]), {"full": True, "reduction": "none"}),
    ],
    kinds="f",
    errors=PAIR_ERRORS,
    precision=full,
)
def poisson_nll_loss(
    x: UOp,
    target: UOp,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> UOp:
    """exp(x) - target x, for the logarithm x of a Poisson rate (`log_input`), else of the rate.

    `full` adds Stirling's approximation of log(target!) where target > 1.
    """
    x, target = in_floats(x, target)
    y = x.exp() - target * x if log_input else x - target * (x + eps).log()
    if full:
        many = target > 1
        n = many.where(target, 1)
        y = y + many.where(n * n.log() - n + (n * (2 * pi)).log() * 0.5, 0)
    return reduced("poisson_nll_loss", y, reduction)


def _gaussian_reference(
    x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Array:
    spread = np.maximum(np.asarray(var, float), eps)
    y = (np.log(spread) + (np.asarray(x, float) - target) ** 2 / spread) / 2
    return reduce_reference(y + full * np.log(2 * np.pi) / 2, reduction)


@composite(
    reference=_gaussian_reference,
    samples=lambda: [
        (real(2, 3), real(2, 3, seed=1), real(2, 3, lo=0.5, seed=2)),
        (real(2, 3), real(3, seed=1), real(2, 1, lo=0.5, seed=2), True, 0.1, "none"),
        (real(2, 3), real(3, seed=1), real(3, lo=0.5, seed=2), {"reduction": "sum"}),
        rough(real(2), real(2, seed=1), np.zeros(2), {"eps": 0.1}),
    ],
    kinds="f",
    errors=(Bad("E2008", (real(2), real(2), real(2)), {"reduction": "max"}, match="reduction"),),
    precision=full,
)
def gaussian_nll_loss(
    x: UOp,
    target: UOp,
    var: UOp,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> UOp:
    """½ (log var + (x - target)² / var), with var at least `eps`; `full` adds ½ log 2π.

    A variance below `eps` has the gradient at `eps`, or it would stay there.
    """
    x, target, var = in_floats(x, target, var)
    spread, apart = (var < eps).where(eps + (var - var.detach()), var), x - target
    y = (spread.log() + apart * apart / spread) * 0.5
    return reduced("gaussian_nll_loss", y + 0.5 * log(2 * pi) if full else y, reduction)


_SIGNS = np.array([1, -1, 1])


@composite(
    reference=lambda x, target, reduction="mean": reduce_reference(
        np.logaddexp(0, -np.asarray(x, float) * target), reduction
    ),
    samples=lambda: [
        (real(2, 3), _SIGNS),
        (real(2, 3), real(2, 3, seed=1), "none"),
        (real(2, 3), _SIGNS, "sum"),
        rough(np.array([200.0, -200.0, 0.0]), _SIGNS, "none"),
    ],
    kinds="f",
    errors=PAIR_ERRORS,
    precision=full,
)
def soft_margin_loss(x: UOp, target: UOp, reduction: str = "mean") -> UOp:
    """log(1 + exp(-target x)) for targets 1 and -1."""
    x, target = in_floats(x, target)
    return reduced("soft_margin_loss", (-(target * x)).logaddexp(0), reduction)


def _hinge_reference(x: Any, target: Any, margin: float = 1.0, reduction: str = "mean") -> Array:
    x, target = np.broadcast_arrays(np.asarray(x, float), target)
    far = np.where(target != 1, np.maximum(margin - x, 0), 0)
    return reduce_reference(far + np.where(target != -1, x, 0), reduction)


@composite(
    reference=_hinge_reference,
    samples=lambda: [
        (real(2, 3), _SIGNS),
        (real(2, 3), _SIGNS, 0.3, "none"),
        (real(2, 3), _SIGNS, {"reduction": "sum"}),
    ],
    kinds="f",
    errors=PAIR_ERRORS,
    precision=full,
)
def hinge_embedding_loss(x: UOp, target: UOp, margin: float = 1.0, reduction: str = "mean") -> UOp:
    """x where the target is 1, max(0, margin - x) where it is -1."""
    x, target = in_floats(x, target)
    y = target.ne(1).where((margin - x).relu(), 0) + target.ne(-1).where(x, 0)
    return reduced("hinge_embedding_loss", y, reduction)


@composite(
    reference=lambda x, other, target, margin=0.0, reduction="mean": reduce_reference(
        np.maximum(-np.asarray(target) * (np.asarray(x, float) - other) + margin, 0), reduction
    ),
    samples=lambda: [
        (real(2, 3), real(2, 3, seed=1), _SIGNS),
        (real(2, 3), real(3, seed=1), _SIGNS, 0.3, "none"),
        (real(2, 3), real(3, seed=1), _SIGNS, {"reduction": "sum"}),
    ],
    kinds="f",
    errors=(Bad("E2008", (real(2), real(2), real(2)), {"reduction": "max"}, match="reduction"),),
    precision=full,
)
def margin_ranking_loss(
    x: UOp, other: UOp, target: UOp, margin: float = 0.0, reduction: str = "mean"
) -> UOp:
    """max(0, -target (x - other) + margin): x should be larger for 1, smaller for -1."""
    x, other, target = in_floats(x, other, target)
    return reduced("margin_ranking_loss", (-target * (x - other) + margin).relu(), reduction)


def _triplet_reference(
    x: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Array:
    far = lambda a, b: np.linalg.norm(np.asarray(a, float) - b + eps, p, -1)  # noqa: E731
    other = far(x, negative)
    other = np.minimum(other, far(positive, negative)) if swap else other
    return reduce_reference(np.maximum(far(x, positive) - other + margin, 0), reduction)


@composite(
    reference=_triplet_reference,
    samples=lambda: [
        (real(2, 3), real(2, 3, seed=1), real(2, 3, seed=2)),
        (real(2, 3), real(2, 3, seed=1), real(2, 3, seed=2), 4.0, 1.0),
        (real(2, 3), real(2, 3, seed=1), real(3, seed=2), {"swap": True, "reduction": "none"}),
        (real(2, 3), real(2, 3, seed=1), real(2, 3, seed=2), {"reduction": "sum"}),
    ],
    kinds="f",
    errors=(Bad("E2008", (real(2), real(2), real(2)), {"reduction": "max"}, match="reduction"),),
    precision=full,
)
def triplet_margin_loss(
    x: UOp,
    positive: UOp,
    negative: UOp,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> UOp:
    """max(0, |x - positive| - |x - negative| + margin) with p-norms along the last axis.

    `swap` takes the smaller of the negative's distances from x and from the positive.
    """
    x, positive, negative = in_floats(x, positive, negative)
    far = x.pairwise_distance(negative, p, eps)
    far = far.minimum(positive.pairwise_distance(negative, p, eps)) if swap else far
    y = (x.pairwise_distance(positive, p, eps) - far + margin).relu()
    return reduced("triplet_margin_loss", y, reduction)
