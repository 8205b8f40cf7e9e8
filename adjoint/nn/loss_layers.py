"""Losses as layers, under torch's names; each keeps the options of a function of `loss.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from adjoint.nn import loss
from adjoint.nn.module import Module
from adjoint.tensor import Tensor


class _Loss(Module):
    """The loss `of` its class, with its fields as options."""

    _loss: ClassVar[Callable[..., Tensor]]
    _reductions: ClassVar[tuple[str, ...]] = loss.REDUCTIONS
    reduction: str

    def __init_subclass__(cls, of: Callable[..., Tensor] | None = None, **named: Any) -> None:
        super().__init_subclass__(**named)
        if of is not None:
            cls._loss = staticmethod(of)

    def __post_init__(self) -> None:
        loss.check_reduction(type(self).__name__, self.reduction, self._reductions)
        for name in self._buffers:
            setattr(self, name, _buffer(getattr(self, name)))

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._value(input, target)

    def _options(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def _value(self, *tensors: Tensor) -> Tensor:
        return type(self)._loss(*tensors, **self._options())

    def extra_repr(self) -> str:
        shown = self._options().items()
        return ", ".join(f"{n}={v!r}" for n, v in shown if not isinstance(v, Tensor))


def _buffer(weight: Any) -> Tensor | None:
    """Weights of classes and samples belong to the loss, and are not trained."""
    if weight is None:
        return None
    tensor = +weight.detach() if isinstance(weight, Tensor) else Tensor(weight)
    return tensor.requires_grad_(False)


@dataclass(eq=False, repr=False)
class MSELoss(_Loss, of=loss.mse_loss):
    """(input - target)²."""

    reduction: str = "mean"


@dataclass(eq=False, repr=False)
class L1Loss(_Loss, of=loss.l1_loss):
    """|input - target|."""

    reduction: str = "mean"


@dataclass(eq=False, repr=False)
class SmoothL1Loss(_Loss, of=loss.smooth_l1_loss):
    """½(input - target)² / β up to a distance of β, beyond it the distance minus ½β."""

    reduction: str = "mean"
    beta: float = 1.0


@dataclass(eq=False, repr=False)
class HuberLoss(_Loss, of=loss.huber_loss):
    """½(input - target)² up to a distance of `delta`, linear beyond it."""

    reduction: str = "mean"
    delta: float = 1.0


@dataclass(eq=False, repr=False)
class CrossEntropyLoss(_Loss, of=loss.cross_entropy):
    """Cross-entropy of logits with class indices or probabilities; see `loss.cross_entropy`."""

    _buffers = ("weight",)
    weight: Tensor | None = None
    ignore_index: int = -100
    reduction: str = "mean"
    label_smoothing: float = 0.0


@dataclass(eq=False, repr=False)
class NLLLoss(_Loss, of=loss.nll_loss):
    """-input at the class indices, for log-probabilities."""

    _buffers = ("weight",)
    weight: Tensor | None = None
    ignore_index: int = -100
    reduction: str = "mean"


@dataclass(eq=False, repr=False)
class MultiMarginLoss(_Loss, of=loss.multi_margin_loss):
    """Σ max(0, margin - input[target] + input[other])ᵖ / classes."""

    _buffers = ("weight",)
    p: int = 1
    margin: float = 1.0
    weight: Tensor | None = None
    reduction: str = "mean"


@dataclass(eq=False, repr=False)
class BCELoss(_Loss, of=loss.binary_cross_entropy):
    """Binary cross-entropy of probabilities."""

    _buffers = ("weight",)
    weight: Tensor | None = None
    reduction: str = "mean"


@dataclass(eq=False, repr=False)
class BCEWithLogitsLoss(_Loss, of=loss.binary_cross_entropy_with_logits):
    """Binary cross-entropy of logits."""

    _buffers = ("weight", "pos_weight")
    weight: Tensor | None = None
    reduction: str = "mean"
    pos_weight: Tensor | None = None


@dataclass(eq=False, repr=False)
class MultiLabelSoftMarginLoss(_Loss, of=loss.multilabel_soft_margin_loss):
    """Binary cross-entropy of logits, averaged over the classes."""

    _buffers = ("weight",)
    weight: Tensor | None = None
    reduction: str = "mean"


@dataclass(eq=False, repr=False)
class KLDivLoss(_Loss, of=loss.kl_div):
    """target (log target - input), for log-probabilities."""

    _reductions = (*loss.REDUCTIONS, "batchmean")
    reduction: str = "mean"
    log_target: bool = False


@dataclass(eq=False, repr=False)
class PoissonNLLLoss(_Loss, of=loss.poisson_nll_loss):
    """exp(input) - target · input."""

    log_input: bool = True
    full: bool = False
    eps: float = 1e-8
    reduction: str = "mean"


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianNLLLoss(_Loss, of=loss.gaussian_nll_loss):
    """½ (log var + (input - target)² / var)."""

    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:  # type: ignore[override]
        return self._value(input, target, var)


@dataclass(eq=False, repr=False)
class SoftMarginLoss(_Loss, of=loss.soft_margin_loss):
    """log(1 + exp(-target · input))."""

    reduction: str = "mean"


@dataclass(eq=False, repr=False)
class HingeEmbeddingLoss(_Loss, of=loss.hinge_embedding_loss):
    """input where the target is 1, max(0, margin - input) where it is -1."""

    margin: float = 1.0
    reduction: str = "mean"


@dataclass(eq=False, repr=False)
class MarginRankingLoss(_Loss, of=loss.margin_ranking_loss):
    """max(0, -target (input1 - input2) + margin)."""

    margin: float = 0.0
    reduction: str = "mean"

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return self._value(input1, input2, target)


class CosineEmbeddingLoss(MarginRankingLoss, of=loss.cosine_embedding_loss):
    """1 - cos(input1, input2) where the target is 1, max(0, cos - margin) where it is -1."""


@dataclass(eq=False, repr=False)
class TripletMarginLoss(_Loss, of=loss.triplet_margin_loss):
    """max(0, |anchor - positive| - |anchor - negative| + margin)."""

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    reduction: str = "mean"

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:  # type: ignore[override]
        return self._value(anchor, positive, negative)


@dataclass(eq=False, repr=False, kw_only=True)
class TripletMarginWithDistanceLoss(_Loss, of=loss.triplet_margin_with_distance_loss):
    """max(0, distance(anchor, positive) - distance(anchor, negative) + margin)."""

    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None
    margin: float = 1.0
    swap: bool = False
    reduction: str = "mean"

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:  # type: ignore[override]
        return self._value(anchor, positive, negative)
