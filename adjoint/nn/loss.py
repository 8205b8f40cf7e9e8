"""Losses as functions of predictions and targets, under the names of `torch.nn.functional`.

Shapes must agree, since a loss that broadcasts is nearly always a mistake. An invalid target whose
value is known raises an error with the value and its index. Elsewhere: their layers
(`loss_layers.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, IndexKindError, ShapeError
from adjoint.ir.values import is_known, known_value
from adjoint.nn.checks import check_float, check_range, check_tensor
from adjoint.tensor import Tensor

REDUCTIONS = ("none", "mean", "sum")


def check_reduction(op: str, reduction: str, among: tuple[str, ...] = REDUCTIONS) -> str:
    """The reduction of the elements' losses, checked."""
    if reduction not in among:
        problem = f"reduction {reduction!r} is not one of {', '.join(among)}"
        raise ArgumentError("E2008", problem, op=op)
    return reduction


def _reduced(op: str, y: Tensor, reduction: str) -> Tensor:
    check_reduction(op, reduction)
    if reduction == "none":
        return y
    return y.sum() if reduction == "sum" else y.mean()


def _check_pair(op: str, x: Any, target: Any, what: str = "target") -> None:
    """Predictions are floats, and there is one target for each; one number serves for all."""
    check_float(op, x)
    check_tensor(op, target)
    if target.shape != x.shape and target.ndim:
        problem = f"the input is {list(x.shape)} and the {what} {list(target.shape)}"
        fix = "give both one shape: .reshape() or .unsqueeze(-1)"
        raise ShapeError("E3003", problem, op=op, operands=[("input", x), (what, target)], help=fix)


def _check_values(op: str, target: Tensor, good: Any, rule: str, what: str = "target") -> None:
    """Targets keep a rule, if their values are known without computing anything."""
    if not is_known(target.uop) or isinstance(target.uop.device, tuple):
        return
    values = np.asarray(known_value(target.uop))
    bad = ~good(values)
    if bad.any():
        place = [int(i) for i in np.argwhere(bad)[0]]
        problem = f"{what} {values[bad].flat[0]!s} at {place} is not {rule}"
        raise ArgumentError("E2006", problem, op=op, operands=[(what, target)])


def _check_signs(op: str, target: Tensor) -> None:
    _check_values(op, target, lambda v: np.abs(v.astype(np.float64)) == 1, "1 or -1")


def _check_chances(op: str, target: Tensor) -> None:
    _check_values(op, target, lambda v: (v >= 0) & (v <= 1), "between 0 and 1")


# ---- distances


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """(input - target)²."""
    _check_pair("mse_loss", input, target)
    return input.mse_loss(target, reduction)


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """|input - target|."""
    _check_pair("l1_loss", input, target)
    return input.l1_loss(target, reduction)


def smooth_l1_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """½(input - target)² / β up to a distance of β, beyond it the distance minus ½β."""
    _check_pair("smooth_l1_loss", input, target)
    return input.smooth_l1_loss(target, reduction, beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0
) -> Tensor:
    """½(input - target)² up to a distance of `delta`, linear beyond it."""
    _check_pair("huber_loss", input, target)
    return input.huber_loss(target, reduction, delta)


# ---- classes


def _check_classes(op: str, x: Tensor, target: Tensor, axis: int, ignored: int) -> None:
    """Class numbers: integers, one for each place outside the class axis, each a class."""
    wanted = tuple(n for a, n in enumerate(x.shape) if a != axis)
    if target.shape != wanted:
        problem = f"class numbers for an input {list(x.shape)} are {list(wanted)}, not "
        problem += f"{list(target.shape)}"
        fix = f"give a class for each place, or probabilities of the shape {list(x.shape)}"
        raise ShapeError("E3003", problem, op=op, input=x, target=target, help=fix)
    if not target.dtype.is_int:
        problem = f"class numbers are integers, not {target.dtype.name}"
        fix = f".cast('int64'), or give probabilities of the shape {list(x.shape)}"
        raise IndexKindError("E4011", problem, op=op, input=x, target=target, help=fix)
    check_range(op, target, x.shape[axis], "label", "classes", ignored)


def _class_axis(op: str, x: Any, target: Any) -> int:
    check_float(op, x)
    check_tensor(op, target)
    if not x.ndim:
        raise ShapeError("E3002", "a scalar has no classes", op=op, input=x)
    return min(1, x.ndim - 1)


def _check_weight(op: str, weight: Tensor | None, x: Tensor, axis: int) -> None:
    if weight is not None and weight.shape != (x.shape[axis],):
        problem = f"weight has one number for each of {x.shape[axis]} classes"
        raise ShapeError("E3003", problem, op=op, input=x, weight=weight)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """-input at the class indices; input holds log-probabilities, with the classes on axis 1."""
    axis = _class_axis("nll_loss", input, target)
    _check_weight("nll_loss", weight, input, axis)
    _check_classes("nll_loss", input, target, axis, ignore_index)
    return input.nll_loss(target, weight, ignore_index, reduction)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross-entropy of logits (classes on axis 1; on axis 0 of a vector).

    The target is class indices, in the input's shape without its class axis, or probabilities, in
    the input's shape. Indices equal to `ignore_index` do not count; `weight` multiplies classes.
    """
    op = "cross_entropy"
    axis = _class_axis(op, input, target)
    check_reduction(op, reduction)
    _check_weight(op, weight, input, axis)
    if not 0 <= label_smoothing <= 1:
        problem = f"label_smoothing is from 0 to 1, not {label_smoothing}"
        raise ArgumentError("E2006", problem, op=op)
    if target.shape == input.shape:
        return _soft_entropy(
            input.log_softmax(axis), target, weight, axis, reduction, label_smoothing
        )
    _check_classes(op, input, target, axis, ignore_index)
    logp = input.log_softmax(axis)
    y = logp.nll_loss(target, weight, ignore_index, reduction)
    if not label_smoothing:
        return y
    even = _even_entropy(logp, target, weight, axis, ignore_index, reduction)
    return (1 - label_smoothing) * y + (label_smoothing / input.shape[axis]) * even


def _along(weight: Tensor, x: Tensor, axis: int) -> Tensor:
    """A number per class, to be multiplied with x."""
    return weight.reshape(-1, *[1] * (x.ndim - axis - 1))


def _soft_entropy(
    logp: Tensor, target: Tensor, weight: Tensor | None, axis: int, reduction: str, smoothing: float
) -> Tensor:
    """-Σ target · logp over the classes; the mean is over everything else."""
    chances = target.cast(logp.dtype)
    _check_chances("cross_entropy", target)
    if smoothing:
        chances = chances * (1 - smoothing) + smoothing / logp.shape[axis]
    y = chances * logp
    y = y if weight is None else y * _along(weight, logp, axis)
    return _reduced("cross_entropy", -y.sum(axis), reduction)


def _even_entropy(
    logp: Tensor,
    target: Tensor,
    weight: Tensor | None,
    axis: int,
    ignored: int,
    reduction: str,
) -> Tensor:
    """-Σ logp over the classes, as if all were targets; counted like the true ones."""
    y = -(logp if weight is None else logp * _along(weight, logp, axis)).sum(axis)
    live = target.ne(ignored)
    y = live.where(y, 0)
    if reduction != "mean":
        return _reduced("cross_entropy", y, reduction)
    one = live.cast(logp.dtype)
    counts = one if weight is None else one * weight[live.where(target, 0)]
    return y.sum() / counts.sum()


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Σ max(0, margin - input[target] + input[other])ᵖ / classes, over the other classes."""
    op = "multi_margin_loss"
    axis = _class_axis(op, input, target)
    _check_weight(op, weight, input, axis)
    _check_classes(op, input, target, axis, -100)
    if p not in (1, 2):
        raise ArgumentError("E2006", f"p is 1 or 2, not {p}", op=op)
    index = target.unsqueeze(axis)
    gaps = (margin - input.gather(axis, index) + input).relu()
    gaps = gaps * gaps if p == 2 else gaps
    classes = Tensor.arange(input.shape[axis], device=input.device).cast(target.dtype)
    gaps = classes.ne(index).where(gaps, 0).sum(axis) / input.shape[axis]
    return _reduced(op, gaps if weight is None else gaps * weight[target], reduction)


# ---- probabilities


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """-(target log input + (1 - target) log(1 - input)); logarithms are at least -100."""
    op = "binary_cross_entropy"
    _check_pair(op, input, target)
    _check_chances(op, target)
    _check_values(op, input, lambda v: (v >= 0) & (v <= 1), "between 0 and 1", "input")
    if weight is None:
        return input.binary_crossentropy(target, reduction)
    return _reduced(op, weight * input.binary_crossentropy(target, "none"), reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross-entropy of logits; `pos_weight` multiplies the loss of positive targets."""
    op = "binary_cross_entropy_with_logits"
    _check_pair(op, input, target)
    _check_chances(op, target)
    if weight is None:
        return input.binary_crossentropy_logits(target, reduction, pos_weight)
    each = input.binary_crossentropy_logits(target, "none", pos_weight)
    return _reduced(op, weight * each, reduction)


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Binary cross-entropy of logits, averaged over the classes (the last axis).

    `weight` multiplies classes.
    """
    op = "multilabel_soft_margin_loss"
    _check_pair(op, input, target)
    _check_chances(op, target)
    if not input.ndim:
        raise ShapeError("E3002", "a scalar has no classes", op=op, input=input)
    _check_weight(op, weight, input, input.ndim - 1)
    each = input.binary_crossentropy_logits(target, "none")
    return _reduced(op, (each if weight is None else each * weight).mean(-1), reduction)


def kl_div(
    input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """target (log target - input), where input holds log-probabilities."""
    check_reduction("kl_div", reduction, (*REDUCTIONS, "batchmean"))
    _check_pair("kl_div", input, target)
    if not log_target:
        _check_values("kl_div", target, lambda v: v >= 0, "a probability")
    return input.kl_div(target, reduction, log_target)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """exp(input) - target · input, for the logarithm of a Poisson rate."""
    _check_pair("poisson_nll_loss", input, target)
    _check_values("poisson_nll_loss", target, lambda v: v >= 0, "a count")
    return input.poisson_nll_loss(target, log_input, full, eps, reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """½ (log var + (input - target)² / var); `var` in input's shape, or with 1 as last size."""
    op = "gaussian_nll_loss"
    _check_pair(op, input, target)
    check_float(op, var)
    near = (input.shape, (*input.shape[:-1], 1), input.shape[:-1], ())
    if var.shape not in near:
        problem = f"var {list(var.shape)} does not fit an input {list(input.shape)}"
        raise ShapeError("E3003", problem, op=op, input=input, var=var)
    _check_values(op, var, lambda v: v >= 0, "a variance", "var")
    if var.shape != input.shape and var.ndim == input.ndim - 1 and var.ndim:
        var = var.unsqueeze(-1)
    return input.gaussian_nll_loss(target, var, full, eps, reduction)


# ---- margins


def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target · input)), for targets 1 and -1."""
    _check_pair("soft_margin_loss", input, target)
    _check_signs("soft_margin_loss", target)
    return input.soft_margin_loss(target, reduction)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """input where the target is 1, max(0, margin - input) where it is -1."""
    _check_pair("hinge_embedding_loss", input, target)
    _check_signs("hinge_embedding_loss", target)
    return input.hinge_embedding_loss(target, margin, reduction)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """max(0, -target (input1 - input2) + margin), for targets 1 and -1."""
    _check_pair("margin_ranking_loss", input1, input2, "input2")
    _check_pair("margin_ranking_loss", input1, target)
    _check_signs("margin_ranking_loss", target)
    return input1.margin_ranking_loss(input2, target, margin, reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """1 - cos(input1, input2) where the target is 1, max(0, cos - margin) where it is -1."""
    op = "cosine_embedding_loss"
    _check_pair(op, input1, input2, "input2")
    check_tensor(op, target)
    if not input1.ndim or target.shape != input1.shape[:-1]:
        problem = f"targets for inputs {list(input1.shape)} are {list(input1.shape[:-1])}, not "
        problem += f"{list(target.shape)}"
        raise ShapeError("E3003", problem, op=op, target=target)
    _check_signs(op, target)
    # eps is added to the squares, as torch does; it keeps the gradient at 0 finite.
    dot, one, two = ((a * b).sum(-1) for a, b in _pairs(input1, input2))
    cosine = dot / ((one + 1e-12) * (two + 1e-12)).sqrt()
    apart = (cosine - margin).relu()
    return _reduced(op, target.eq(1).where(1 - cosine, target.eq(-1).where(apart, 0)), reduction)


def _pairs(a: Tensor, b: Tensor) -> tuple[tuple[Tensor, Tensor], ...]:
    return (a, b), (a, a), (b, b)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, |anchor - positive| - |anchor - negative| + margin), in p-norms of the last axis."""
    for other, what in ((positive, "positive"), (negative, "negative")):
        _check_pair("triplet_margin_loss", anchor, other, what)
    options = (margin, p, eps, swap, reduction)
    return anchor.triplet_margin_loss(positive, negative, *options)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, distance(anchor, positive) - distance(anchor, negative) + margin).

    The distance is that of `pairwise_distance` unless you give another.
    """
    op = "triplet_margin_with_distance_loss"
    for other, what in ((positive, "positive"), (negative, "negative")):
        _check_pair(op, anchor, other, what)
    distance = distance_function or Tensor.pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    far = far.minimum(distance(positive, negative)) if swap else far
    return _reduced(op, (near - far + margin).relu(), reduction)
