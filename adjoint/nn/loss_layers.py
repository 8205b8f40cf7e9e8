"""Losses as layers, under torch's names; each keeps the options of a function of `loss.py`.

What may live here: classes that hold options. What may not: formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from adjoint.nn import loss
from adjoint.nn.module import Module
from adjoint.tensor import Tensor


class _Loss(Module):
    """A loss with the attributes named in `_options` as its arguments."""

    _loss: ClassVar[Callable[..., Tensor]] = staticmethod(loss.mse_loss)
    _options: ClassVar[tuple[str, ...]] = ("reduction",)
    _reductions: ClassVar[tuple[str, ...]] = loss.REDUCTIONS

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        op = type(self).__name__
        self.reduction = loss.check_reduction(op, reduction, self._reductions)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._value(input, target)

    def _value(self, *tensors: Tensor) -> Tensor:
        options = {name: getattr(self, name) for name in self._options}
        return type(self)._loss(*tensors, **options)

    def extra_repr(self) -> str:
        shown = [(name, getattr(self, name)) for name in self._options]
        return ", ".join(f"{n}={v!r}" for n, v in shown if not isinstance(v, Tensor))


def _buffer(weight: Any) -> Tensor | None:
    """Weights of classes and samples belong to the loss, and are not trained."""
    if weight is None:
        return None
    tensor = +weight.detach() if isinstance(weight, Tensor) else Tensor(weight)
    return tensor.requires_grad_(False)


class MSELoss(_Loss):
    """(input - target)²."""


class L1Loss(_Loss):
    """|input - target|."""

    _loss = staticmethod(loss.l1_loss)


class SmoothL1Loss(_Loss):
    """½(input - target)² / β up to a distance of β, from there on the distance less ½β."""

    _loss, _options = staticmethod(loss.smooth_l1_loss), ("reduction", "beta")

    def __init__(self, reduction: str = "mean", beta: float = 1.0):
        super().__init__(reduction)
        self.beta = beta


class HuberLoss(_Loss):
    """½(input - target)² up to a distance of `delta`, from there on linear."""

    _loss, _options = staticmethod(loss.huber_loss), ("reduction", "delta")

    def __init__(self, reduction: str = "mean", delta: float = 1.0):
        super().__init__(reduction)
        self.delta = delta


class CrossEntropyLoss(_Loss):
    """Cross-entropy of logits with class numbers or probabilities; see `loss.cross_entropy`."""

    _loss = staticmethod(loss.cross_entropy)
    _options = ("weight", "ignore_index", "reduction", "label_smoothing")
    _buffers = ("weight",)

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ):
        super().__init__(reduction)
        self.weight, self.ignore_index = _buffer(weight), ignore_index
        self.label_smoothing = label_smoothing


class NLLLoss(_Loss):
    """-input at the class numbers, for log-probabilities."""

    _loss, _options = staticmethod(loss.nll_loss), ("weight", "ignore_index", "reduction")
    _buffers = ("weight",)

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
    ):
        super().__init__(reduction)
        self.weight, self.ignore_index = _buffer(weight), ignore_index


class MultiMarginLoss(_Loss):
    """Σ max(0, margin - input[target] + input[other])ᵖ / classes."""

    _loss = staticmethod(loss.multi_margin_loss)
    _options, _buffers = ("p", "margin", "weight", "reduction"), ("weight",)

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        reduction: str = "mean",
    ):
        super().__init__(reduction)
        self.p, self.margin, self.weight = p, margin, _buffer(weight)


class BCELoss(_Loss):
    """Binary cross-entropy of probabilities."""

    _loss, _options = staticmethod(loss.binary_cross_entropy), ("weight", "reduction")
    _buffers = ("weight",)

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean"):
        super().__init__(reduction)
        self.weight = _buffer(weight)


class BCEWithLogitsLoss(_Loss):
    """Binary cross-entropy of logits."""

    _loss = staticmethod(loss.binary_cross_entropy_with_logits)
    _options, _buffers = ("weight", "reduction", "pos_weight"), ("weight", "pos_weight")

    def __init__(
        self,
        weight: Tensor | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ):
        super().__init__(reduction)
        self.weight, self.pos_weight = _buffer(weight), _buffer(pos_weight)


class KLDivLoss(_Loss):
    """target (log target - input), for log-probabilities."""

    _loss, _options = staticmethod(loss.kl_div), ("reduction", "log_target")
    _reductions = (*loss.REDUCTIONS, "batchmean")

    def __init__(self, reduction: str = "mean", log_target: bool = False):
        super().__init__(reduction)
        self.log_target = log_target


class PoissonNLLLoss(_Loss):
    """exp(input) - target · input."""

    _loss = staticmethod(loss.poisson_nll_loss)
    _options = ("log_input", "full", "eps", "reduction")

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        eps: float = 1e-8,
        reduction: str = "mean",
    ):
        super().__init__(reduction)
        self.log_input, self.full, self.eps = log_input, full, eps


class GaussianNLLLoss(_Loss):
    """½ (log var + (input - target)² / var)."""

    _loss, _options = staticmethod(loss.gaussian_nll_loss), ("full", "eps", "reduction")

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"):
        super().__init__(reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:  # type: ignore[override]
        return self._value(input, target, var)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target · input))."""

    _loss = staticmethod(loss.soft_margin_loss)


class HingeEmbeddingLoss(_Loss):
    """input where the target is 1, max(0, margin - input) where it is -1."""

    _loss, _options = staticmethod(loss.hinge_embedding_loss), ("margin", "reduction")

    def __init__(self, margin: float = 1.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = margin


class MarginRankingLoss(_Loss):
    """max(0, -target (input1 - input2) + margin)."""

    _loss, _options = staticmethod(loss.margin_ranking_loss), ("margin", "reduction")

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return self._value(input1, input2, target)


class CosineEmbeddingLoss(MarginRankingLoss):
    """1 - cos(input1, input2) where the target is 1, max(0, cos - margin) where it is -1."""

    _loss = staticmethod(loss.cosine_embedding_loss)


class TripletMarginLoss(_Loss):
    """max(0, |anchor - positive| - |anchor - negative| + margin)."""

    _loss = staticmethod(loss.triplet_margin_loss)
    _options = ("margin", "p", "eps", "swap", "reduction")

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        reduction: str = "mean",
    ):
        super().__init__(reduction)
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:  # type: ignore[override]
        return self._value(anchor, positive, negative)
