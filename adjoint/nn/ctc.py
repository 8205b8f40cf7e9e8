"""The loss of connectionist temporal classification (Graves et al., 2006).

The probability of a target is the sum over all ways to spell it with blanks and repetitions, by the
forward algorithm in logarithms: one scan along time.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, ShapeError
from adjoint.nn.checks import check_float, check_rank
from adjoint.nn.loss import check_reduction
from adjoint.nn.module import Module
from adjoint.tensor import Tensor
from adjoint.tensor.autocast import autocast
from adjoint.transforms.control import scan

_NEVER = -1e30  # the logarithm of a probability that is 0, but for which sums have gradients


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """-log p(target) for each sequence of (T, N, C) logarithms of probabilities.

    `targets` are (N, S), or all of them in one vector. "mean" divides each loss by the length of
    its target first. A target that does not fit its sequence has the loss inf, or 0 with
    `zero_infinity`.
    """
    check_reduction("ctc_loss", reduction)
    check_float("ctc_loss", log_probs)
    check_rank("ctc_loss", log_probs, (2, 3), "(T, N, C) or (T, C)")
    alone = log_probs.ndim == 2
    x = _in_float32(log_probs.unsqueeze(1) if alone else log_probs)
    times = _lengths("input_lengths", input_lengths, x, x.shape[0])
    lengths = _lengths("target_lengths", target_lengths, x, None)
    labels = _labels(targets, lengths, x, blank)
    loss = -_log_probability(x, labels, times, lengths, blank)
    lost = loss > -_NEVER / 2
    loss = lost.where(0.0 if zero_infinity else float("inf"), loss)
    if reduction == "none":
        return loss.squeeze(0) if alone else loss
    if reduction == "sum":
        return loss.sum()
    return (loss / lengths.cast(loss.dtype).maximum(1)).mean()


def _in_float32(x: Tensor) -> Tensor:
    """As all losses are computed under autocast: in float32 at least."""
    return x.float() if x.dtype.itemsize < 4 and autocast.dtype_on(x.device) else x


def _lengths(name: str, given: Any, x: Tensor, most: int | None) -> Tensor:
    values = given if isinstance(given, Tensor) else Tensor(np.atleast_1d(given), device=x.device)
    values = values.reshape(-1) if values.ndim == 0 else values
    if not values.dtype.is_int or values.shape != (x.shape[1],):
        problem = f"{name} are {x.shape[1]} whole numbers, one for each sequence"
        raise ShapeError("E3003", problem, op="ctc_loss", operands=[(name, values)])
    if not isinstance(given, Tensor):
        found = np.atleast_1d(given)
        if (found < 0).any() or (most is not None and (found > most).any()):
            limit = "" if most is None else f" to {most}"
            raise ArgumentError("E2006", f"{name} are from 0{limit}, not {given}", op="ctc_loss")
    return values.cast("int64")


def _labels(targets: Tensor, lengths: Tensor, x: Tensor, blank: int) -> Tensor:
    """The targets as a matrix, whatever they came as."""
    if not isinstance(targets, Tensor) or not targets.dtype.is_int:
        raise ArgumentError("E2001", "targets are class numbers, a Tensor", op="ctc_loss")
    if not 0 <= blank < x.shape[2]:
        problem = f"blank is one of {x.shape[2]} classes, not {blank}"
        raise ArgumentError("E2006", problem, op="ctc_loss")
    if targets.ndim == 2:  # what lies behind a target may be anything
        inside = Tensor.arange(targets.shape[1], device=x.device) < lengths.unsqueeze(-1)
        return inside.where(targets.cast("int64"), blank)
    if targets.ndim == 1 and x.shape[1] == 1:
        return targets.cast("int64").unsqueeze(0)
    if not targets.shape[0]:
        return targets.cast("int64").reshape(1, 0).expand(x.shape[1], 0)
    counts = lengths.numpy()  # how far the vector goes is a matter of shapes
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    places = starts[:, None] + np.arange(max(int(counts.max(initial=0)), 1))
    index = Tensor(np.minimum(places, max(targets.shape[0] - 1, 0)), device=targets.device)
    return targets.cast("int64")[index]


def _log_probability(
    x: Tensor, labels: Tensor, times: Tensor, lengths: Tensor, blank: int
) -> Tensor:
    count, size = labels.shape
    between = labels.full_like(blank).unsqueeze(-1)
    spelled = labels.unsqueeze(-1).cat(between, dim=2).reshape(count, 2 * size)
    states = spelled.pad((1, 0), value=blank)  # blank, label, blank, …, blank
    scores = x.gather(2, states.unsqueeze(0).expand(x.shape[0], *states.shape))
    before = states.pad((2, 0), value=blank)[:, : states.shape[1]]
    skips = states.ne(blank) & states.ne(before)  # past a blank between different labels
    place = Tensor.arange(states.shape[1], device=x.device)
    none = (place > 0).where(_NEVER, Tensor.zeros_like(scores[0]))  # before the first row
    one = (place < 2).where(scores[0], _NEVER)
    first = (times > 0).unsqueeze(-1).where(one, none)

    def step(alpha: Tensor, row: Any) -> tuple[Tensor, Any]:
        score, time = row
        one = alpha.pad((1, 0), value=_NEVER)[:, :-1]
        two = skips.where(alpha.pad((2, 0), value=_NEVER)[:, :-2], _NEVER)
        new = _log_sum(alpha, one, two) + score
        return (time < times).unsqueeze(-1).where(new.maximum(_NEVER), alpha), None

    later = Tensor.arange(1, x.shape[0], dtype="int64", device=x.device)
    last, _ = scan(step, first, (scores[1:], later)) if x.shape[0] > 1 else (first, None)
    end = (2 * lengths).unsqueeze(-1)
    whole = last.gather(1, end).squeeze(1)
    short = last.gather(1, (end - 1).maximum(0)).squeeze(1)
    short = lengths.eq(0).where(_NEVER, short)
    return _log_sum(whole, short)


def _log_sum(*values: Tensor) -> Tensor:
    """log Σ exp of values of one shape."""
    top = reduce(lambda a, b: a.maximum(b), values).detach()
    total = sum(((value - top).exp() for value in values[1:]), (values[0] - top).exp())
    return top + total.log()


class CTCLoss(Module):
    """`ctc_loss` as a layer."""

    _repr_fields = ("blank", "reduction")

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False):
        self.blank, self.zero_infinity = blank, zero_infinity
        self.reduction = check_reduction("CTCLoss", reduction)

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        options = self.blank, self.reduction, self.zero_infinity
        return ctc_loss(log_probs, targets, input_lengths, target_lengths, *options)
