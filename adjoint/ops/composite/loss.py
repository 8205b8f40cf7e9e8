"""Losses of classes and probabilities: cross-entropies, negative log-likelihood, divergence.

An index of a class that does not exist is E6001 when it runs. Elsewhere: losses of real targets
(see `regression.py`).
"""
# ruff: noqa: N803, N806  (Y is the target's public name)

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.errors import ShapeError
from adjoint.ir.derivative import Jvp
from adjoint.ir.dtype import accumulator, fits, to_float
from adjoint.ir.opdef import Bad, Sample, composite, derived
from adjoint.ir.precision import full
from adjoint.ir.uop import UOp
from adjoint.ops.composite.regression import (
    PAIR_ERRORS,
    REDUCTIONS,
    check_value,
    in_floats,
    pair_samples,
    reduce_reference,
    reduced,
)
from adjoint.ops.indexing import check_index, gathered, positions
from adjoint.ops.samples import real, rough, whole

Array = np.ndarray[Any, Any]

_FLOOR = -100.0  # a logarithm below it counts as this, so that 0 * log 0 is 0


def _binary_reference(x: Any, Y: Any, reduction: str = "mean") -> Array:
    x, Y = np.asarray(x, float), np.asarray(Y, float)
    hit, miss = np.maximum(np.log(x), _FLOOR), np.maximum(np.log(1 - x), _FLOOR)
    return reduce_reference(-(Y * hit + (1 - Y) * miss), reduction)


def _logs(x: UOp) -> tuple[UOp, UOp]:
    return _log(x), _log(1 - x)


def _log(x: UOp) -> UOp:
    """log x, cut off; what is cut off has no part in a derivative, not even as zero times inf."""
    low = x.log() < _FLOOR
    return low.where(_FLOOR, low.where(1, x).log())


def _binary_jvp(t: Any, y: UOp, x: UOp, Y: UOp, reduction: str) -> UOp:
    """d/dx = (x - Y) / (x (1 - x)), with the divisor kept from 0."""
    x, Y = (v.cast(accumulator(y.dtype)) for v in (x, Y))
    hit, miss = _logs(x)
    slopes = ((x - Y) / (x * (1 - x)).maximum(1e-12), miss - hit)
    parts = [d.cast(x.dtype) * s for d, s in zip(t, slopes, strict=True) if d is not None]
    total = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    return reduced("binary_crossentropy", total, reduction).cast(y.dtype)


@composite(
    reference=_binary_reference,
    samples=lambda: [
        *pair_samples(0.05, 0.95, 1.0),
        (real(3, lo=0.1, hi=0.9), np.array([0, 1, 1])),
        (real(3, lo=0.1, hi=0.9), np.array([True, False, True])),
        rough(np.array([0.0, 1.0, 0.0]), np.array([0.0, 1.0, 1.0]), "none"),
    ],
    ad=Jvp(_binary_jvp),
    kinds="f",
    errors=PAIR_ERRORS,
    precision=full,
)
def binary_crossentropy(x: UOp, Y: UOp, reduction: str = "mean") -> UOp:
    """-(Y log x + (1 - Y) log(1 - x)) for probabilities x; logarithms are cut off at -100."""
    x, Y = in_floats(x, Y)
    hit, miss = _logs(x)
    return reduced("binary_crossentropy", -(Y * hit + (1 - Y) * miss), reduction)


def _logits_reference(x: Any, Y: Any, reduction: str = "mean", pos_weight: Any = None) -> Array:
    x, Y = np.asarray(x, float), np.asarray(Y, float)
    weight = 1.0 if pos_weight is None else np.asarray(pos_weight, float)
    hit, miss = np.logaddexp(0, -x), np.logaddexp(0, x)
    return reduce_reference(weight * Y * hit + (1 - Y) * miss, reduction)


def _logits_samples() -> list[Any]:
    x, Y = real(2, 3), real(2, 3, lo=0, hi=1, seed=1)
    return [
        *pair_samples(target=1.0),
        (x, Y, {"pos_weight": real(3, lo=0.5, seed=2)}),
        (x, Y, "none", real(2, 3, lo=0.5, seed=2)),
        (np.zeros(2), np.array([0, 1]), "none"),
        (x[0], np.array([0, 1, 1])),
        rough(np.array([-200.0, 200.0, 80.0]), np.array([0.0, 1.0, 0.0]), "none"),
    ]


@composite(
    reference=lambda x, Y, pos_weight=None, reduction="mean": _logits_reference(
        x, Y, reduction, pos_weight
    ),
    samples=lambda: [s for s in _logits_samples() if not _positional(s)],
    kinds="f",
    errors=PAIR_ERRORS,
    precision=full,
)
def logistic_loss(
    x: UOp,
    Y: UOp,
    pos_weight: UOp | None = None,
    reduction: str = "mean",
) -> UOp:
    """Binary cross-entropy of logits, without overflow: (1 - Y) x + log(1 + exp(-x)).

    `pos_weight` multiplies the loss of the positive targets.
    """
    x, Y, *weight = in_floats(x, Y, *([] if pos_weight is None else [pos_weight]))
    hit = (-x).logaddexp(0)
    if weight:
        hit = hit * ((weight[0] - 1) * Y + 1)
    return reduced("binary_crossentropy_logits", (1 - Y) * x + hit, reduction)


def _positional(sample: Any) -> bool:
    args = sample.args if isinstance(sample, Sample) else sample
    return len(args) > 2 and isinstance(args[2], str)


@derived(
    reference=_logits_reference,
    samples=_logits_samples,
    kinds="f",
    errors=PAIR_ERRORS,
    precision=full,
)
def binary_crossentropy_logits(
    x: UOp,
    Y: UOp,
    reduction: str = "mean",
    pos_weight: UOp | None = None,
) -> UOp:
    """Binary cross-entropy between logits x and targets Y; `pos_weight` multiplies positives."""
    return logistic_loss(x, Y, pos_weight, reduction)


def _log_softmax(x: Array, axis: int) -> Array:
    x = np.moveaxis(np.asarray(x, np.float64), axis, -1)
    return (
        x
        - np.log(np.sum(np.exp(x - x.max(-1, keepdims=True)), -1, keepdims=True))
        - x.max(-1, keepdims=True)
    )


def _classes_reference(
    logp: Array, Y: Array, ignore: Any, smoothing: float, reduction: str, weight: Any = None
) -> Array:
    """One target at a time; the classes are the last axis of `logp`."""
    losses, counts = np.zeros(Y.shape), np.zeros(Y.shape)
    for at in np.ndindex(*Y.shape):
        if Y[at] == ignore:
            continue
        counts[at] = 1.0 if weight is None else weight[Y[at]]
        losses[at] = -(1 - smoothing) * logp[at][Y[at]]
        losses[at] -= smoothing * logp[at].mean() if smoothing else 0
    losses = losses * counts
    return (
        losses.sum() / counts.sum() if reduction == "mean" else reduce_reference(losses, reduction)
    )


def _class_loss(
    op: str,
    logp: UOp,
    target: UOp,
    axis: int,
    reduction: str,
    ignore: int | None = None,
    smoothing: float = 0.0,
    weight: UOp | None = None,
) -> UOp:
    """-log p of the target's class, weighted; the mean is over what is not ignored."""
    live = target.ne(ignore) if ignore is not None and fits(ignore, target.dtype) else None
    index = target if live is None else live.where(target, 0)
    y = -_picked(logp, index, axis)
    if smoothing:
        y = y * (1 - smoothing) - logp.reduce_sum(axis) * (smoothing / logp.shape[axis])
    factor = None if weight is None else gathered(weight.cast(y.dtype), (index,), (0,))
    y = y if factor is None else y * factor
    y = y if live is None else live.where(y, 0)
    if reduction != "mean" or (live is None and factor is None):
        return reduced(op, y, reduction)
    counted = UOp._apply("const", 1, y.dtype, (), y.device) if factor is None else factor
    counted = counted.expand(y.shape) if live is None else live.where(counted, 0)
    wide = accumulator(y.dtype)
    return (y.cast(wide).reduce_sum() / counted.cast(wide).reduce_sum()).cast(y.dtype)


def _picked(x: UOp, index: UOp, axis: int) -> UOp:
    """x at one index along `axis` for each place outside it; E6001 if there is no such class."""
    rank = index.ndim
    others = [a for a in range(x.ndim) if a != axis]
    places = {a: positions(x.shape[a], i, rank, x.device) for i, a in enumerate(others)}
    return gathered(x, tuple(places.get(a, index) for a in range(x.ndim)), tuple(range(x.ndim)))


def _check_classes(op: str, x: UOp, target: UOp, axis: int) -> None:
    check_index(op, x, target)
    wanted = tuple(n for a, n in enumerate(x.shape) if a != axis)
    if target.shape != wanted:
        problem = f"Y has the shape of x without its class axis {axis}: {list(wanted)}"
        raise ShapeError("E3003", problem, op=op, x=x, Y=target)


def _class_axis(op: str, x: UOp) -> int:
    if not x.ndim:
        raise ShapeError("E3002", "a scalar has no class axis", op=op, x=x)
    return min(1, x.ndim - 1)


def _sparse_reference(
    x: Array,
    Y: Array,
    ignore_index: int = -1,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Array:
    return _classes_reference(_log_softmax(x, -1), Y, ignore_index, label_smoothing, reduction)


_LABELS = np.array([2, 0, 1, 1])
_CLASS_ERRORS = (
    Bad("E6001", (real(2, 3), np.array([0, 3])), match="out of range"),
    Bad("E6001", (real(2, 3), np.array([0, -2])), match="out of range"),
    Bad("E3003", (real(2, 3), np.array([0, 1, 2])), match="shape of x without"),
    Bad("E3002", (real(), np.array(0)), match="scalar"),
    Bad("E2008", (real(2, 3), np.array([0, 1])), {"reduction": "max"}, match="reduction 'max'"),
)
_SMOOTHING = Bad("E2006", (real(1, 3), np.array([0])), {"label_smoothing": 1.5}, match="smoothing")


@composite(
    reference=_sparse_reference,
    samples=lambda: [
        (real(4, 3), _LABELS),
        (real(4, 3), _LABELS, {"reduction": "sum"}),
        (real(4, 3), _LABELS, {"reduction": "none"}),
        (real(4, 3), _LABELS, 1),
        (real(4, 3), np.array([2, -1, 1, -1])),
        (real(4, 3), np.array([2, -1, 1, -1]), {"reduction": "none"}),
        (real(4, 3), _LABELS.astype(np.uint8)),
        (real(4, 3), _LABELS, -1, 0.2),
        (real(4, 3), np.array([2, 0, -1, 1]), -1, 0.2, "none"),
        (real(2, 2, 3), whole(2, 2, hi=3)),
        (real(3), np.array(1)),
        (real(0, 3), whole(0), {"reduction": "sum"}),
        rough(real(2, 3), np.array([-1, -1])),
        rough(real(4, 3) * 300, _LABELS),
    ],
    kinds="f",
    errors=(*_CLASS_ERRORS, _SMOOTHING, Bad("E4011", (real(2, 3), real(2)), match="integer")),
    precision=full,
)
def sparse_categorical_crossentropy(
    x: UOp,
    Y: UOp,
    ignore_index: int = -1,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> UOp:
    """Cross-entropy of logits x, classes on the last axis, with class indices Y.

    Targets equal to `ignore_index` count neither in the loss nor in the mean.
    """
    op = "sparse_categorical_crossentropy"
    check_value(op, "label_smoothing", label_smoothing, 0 <= label_smoothing <= 1, "from 0 to 1")
    _class_axis(op, x)
    axis = x.ndim - 1
    _check_classes(op, x, Y, axis)
    logp = x.cast(to_float(x.dtype)).log_softmax(axis)
    return _class_loss(op, logp, Y, axis, reduction, ignore_index, label_smoothing)


def _cross_entropy_reference(
    x: Array, Y: Array, reduction: str = "mean", label_smoothing: float = 0.0
) -> Array:
    axis = min(1, x.ndim - 1)
    logp = _log_softmax(x, axis)
    if Y.shape != x.shape:
        return _classes_reference(logp, Y, None, label_smoothing, reduction)
    target = np.moveaxis(np.asarray(Y, float), axis, -1)
    target = (1 - label_smoothing) * target + label_smoothing / x.shape[axis]
    return reduce_reference(-(logp * target).sum(-1), reduction)


@composite(
    reference=_cross_entropy_reference,
    samples=lambda: [
        (real(4, 3), _LABELS),
        (real(4, 3), _LABELS, "sum"),
        (real(4, 3), _LABELS, "none"),
        (real(4, 3), _LABELS, "mean", 0.2),
        (real(2, 3, 2), whole(2, 2, hi=3), "none", 0.1),
        (real(3), np.array(2)),
        (real(2, 3), real(2, 3, lo=0, hi=1, seed=1)),
        (real(2, 3), real(2, 3, lo=0, hi=1, seed=1), "none", 0.3),
        (real(2, 3, 2), real(2, 3, 2, lo=0, hi=1, seed=1), "sum"),
        (real(2, 3), np.array([[0, 1, 0], [1, 0, 0]])),
        (real(0, 3), whole(0), "none"),
        rough(real(4, 3) * 300, _LABELS),
        rough(np.array([[0.0, -np.inf]]), np.array([0])),
    ],
    kinds="f",
    errors=(*_CLASS_ERRORS[:3], *_CLASS_ERRORS[4:], _SMOOTHING),
    precision=full,
)
def cross_entropy(
    x: UOp,
    Y: UOp,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> UOp:
    """Cross-entropy of logits x, classes on axis 1 (0 for a vector).

    Y holds class indices, in x's shape without the class axis, or probabilities, in x's shape.
    """
    op, axis = "cross_entropy", _class_axis("cross_entropy", x)
    check_value(op, "label_smoothing", label_smoothing, 0 <= label_smoothing <= 1, "from 0 to 1")
    logp = x.cast(to_float(x.dtype)).log_softmax(axis)
    if Y.shape != x.shape:
        _check_classes(op, x, Y, axis)
        return _class_loss(op, logp, Y, axis, reduction, None, label_smoothing)
    logp, target = in_floats(logp, Y)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / x.shape[axis]
    return reduced(op, -(logp * target).reduce_sum(axis), reduction)


def _nll_reference(
    x: Array, Y: Array, weight: Any = None, ignore_index: Any = None, reduction: str = "mean"
) -> Array:
    logp = np.moveaxis(x, min(1, x.ndim - 1), -1)
    return _classes_reference(logp, Y, ignore_index, 0.0, reduction, weight)


@composite(
    reference=_nll_reference,
    samples=lambda: [
        (real(4, 3), _LABELS),
        (real(4, 3), _LABELS, {"reduction": "sum"}),
        (real(4, 3), _LABELS, {"reduction": "none"}),
        (real(4, 3), _LABELS, real(3, lo=0.5, seed=1)),
        (real(4, 3), _LABELS, real(3, lo=0.5, seed=1), 1),
        (real(4, 3), np.array([2, -100, 1, -100]), None, -100),
        (real(4, 3), _LABELS, real(3, lo=0.5, seed=1), 1, "none"),
        (real(2, 3, 2), whole(2, 2, hi=3), real(3, lo=0.5, seed=1)),
        (real(3), np.array(2)),
        (real(0, 3), whole(0), {"reduction": "sum"}),
        rough(np.array([[-np.inf, 0.0], [0.0, 1.0]]), np.array([9, 1]), None, 9),
    ],
    kinds="f",
    errors=(
        *_CLASS_ERRORS,
        Bad("E4011", (real(2, 3), real(2)), match="integer"),
        Bad("E3003", (real(2, 3), np.array([0, 1]), real(2)), match="one weight per class"),
    ),
    precision=full,
)
def nll_loss(
    x: UOp,
    Y: UOp,
    weight: UOp | None = None,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> UOp:
    """-x at the class indices Y, for log-probabilities x with classes on axis 1 (0 for a vector).

    `weight` multiplies each class; the mean divides by the weights that count. Targets equal to
    `ignore_index` do not count.
    """
    axis = _class_axis("nll_loss", x)
    _check_classes("nll_loss", x, Y, axis)
    if weight is not None and weight.shape != (x.shape[axis],):
        problem = f"takes one weight per class: {x.shape[axis]}"
        raise ShapeError("E3003", problem, op="nll_loss", x=x, weight=weight)
    logp = x.cast(to_float(x.dtype))
    return _class_loss("nll_loss", logp, Y, axis, reduction, ignore_index, 0.0, weight)


def _kl_div_reference(
    x: Any, target: Any, reduction: str = "mean", log_target: bool = False
) -> Array:
    x, p = np.asarray(x, float), np.exp(target) if log_target else np.asarray(target, float)
    y = np.where(p == 0, 0.0, p * np.log(np.where(p == 0, 1.0, p))) - p * x
    return y.sum() / y.shape[0] if reduction == "batchmean" else reduce_reference(y, reduction)


@composite(
    reference=_kl_div_reference,
    samples=lambda: [
        *pair_samples(target=1.0),
        (real(2, 3), real(2, 3, lo=0, hi=1, seed=1), {"reduction": "batchmean"}),
        (real(2, 3), real(2, 3, seed=1), {"log_target": True}),
        rough(real(3), np.array([0.0, 1.0, 0.5]), "none"),
    ],
    kinds="f",
    errors=PAIR_ERRORS,
    precision=full,
)
def kl_div(x: UOp, target: UOp, reduction: str = "mean", log_target: bool = False) -> UOp:
    """target (log target - x), where x are log-probabilities; 0 log 0 is 0, with gradient 0.

    With `log_target` the target is a log-probability too. "batchmean" divides the sum by the
    first size, which is the divergence of the distributions.
    """
    x, target = in_floats(x, target)
    if log_target:
        y = target.exp() * (target - x)
    else:
        y = target * target.eq(0).where(1, target).log() - target * x
    return reduced("kl_div", y, reduction, (*REDUCTIONS, "batchmean"))
