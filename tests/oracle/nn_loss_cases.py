"""Cases of losses: every loss with its options, on top of a linear layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.oracle.nn_store import Array, Case, real, signs, whole

REDUCTIONS = ("mean", "sum", "none")


def _layer(nn: Any) -> Any:
    return nn.Linear(4, 3)


def _case(name: str, loss: Callable[..., Any], *targets: Array, call: Any = None) -> Case:
    return Case(f"loss {name}", _layer, (real(5, 4),), loss, targets, call=call, lr=0.02)


def _reduced(name: str, make: Callable[[Any, str], Any], *targets: Array) -> list[Case]:
    """The loss under every reduction; without one, the sum of squares of what there is."""

    def loss(reduction: str) -> Callable[..., Any]:
        if reduction == "none":
            return lambda nn, y, *t: (make(nn, "none")(y, *t) ** 2).sum()
        return lambda nn, y, *t: make(nn, reduction)(y, *t)

    return [_case(f"{name} {r}", loss(r), *targets) for r in REDUCTIONS]


def _weights(nn: Any, count: int = 3) -> Any:
    """Numbers of a layer as the weights of classes: the same in both libraries."""
    layer = nn.Embedding(1, count)
    state = layer.state_dict()
    state["weight"] = state["weight"] * 0 + 0.5
    layer.load_state_dict(state)
    weight = layer.weight.detach().reshape(count)
    return (weight + weight.cumsum(0)).detach()


TARGET, CHANCE = real(5, 3, seed=1), real(5, 3, seed=2, low=0.05, high=0.95)
CLASSES = whole(5, high=3, seed=3)
SOME = CLASSES.copy()
SOME[1] = SOME[4] = -100

DISTANCES = [
    *_reduced("mse", lambda nn, r: nn.MSELoss(reduction=r), TARGET),
    *_reduced("l1", lambda nn, r: nn.L1Loss(reduction=r), TARGET),
    *_reduced("smooth l1", lambda nn, r: nn.SmoothL1Loss(reduction=r, beta=0.4), TARGET),
    *_reduced("huber", lambda nn, r: nn.HuberLoss(reduction=r, delta=0.4), TARGET),
]
ENTROPIES = [
    *_reduced("entropy", lambda nn, r: nn.CrossEntropyLoss(reduction=r), CLASSES),
    *_reduced("entropy some", lambda nn, r: nn.CrossEntropyLoss(reduction=r), SOME),
    *_reduced(
        "entropy weighted", lambda nn, r: nn.CrossEntropyLoss(_weights(nn), reduction=r), SOME
    ),
    *_reduced(
        "entropy smoothed",
        lambda nn, r: nn.CrossEntropyLoss(label_smoothing=0.2, reduction=r),
        SOME,
    ),
    *_reduced(
        "entropy weighted and smoothed",
        lambda nn, r: nn.CrossEntropyLoss(_weights(nn), label_smoothing=0.2, reduction=r),
        SOME,
    ),
    *_reduced(
        "entropy ignoring", lambda nn, r: nn.CrossEntropyLoss(ignore_index=1, reduction=r), CLASSES
    ),
    *_reduced("entropy of chances", lambda nn, r: nn.CrossEntropyLoss(reduction=r), CHANCE),
    *_reduced(
        "entropy of chances, all",
        lambda nn, r: nn.CrossEntropyLoss(_weights(nn), label_smoothing=0.2, reduction=r),
        CHANCE,
    ),
    _case(
        "entropy of an image",
        lambda nn, y, t: nn.CrossEntropyLoss()(y.reshape(1, 5, 3), t),
        whole(1, 3, high=5),
    ),
    _case("entropy of one", lambda nn, y, t: nn.CrossEntropyLoss()(y[0], t), whole(high=3)),
    *_reduced(
        "nll",
        lambda nn, r: lambda y, t: nn.NLLLoss(_weights(nn), reduction=r)(y.log_softmax(1), t),
        SOME,
    ),
    *_reduced("multi margin", lambda nn, r: nn.MultiMarginLoss(reduction=r), CLASSES),
    *_reduced(
        "multi margin squared",
        lambda nn, r: nn.MultiMarginLoss(2, 0.7, _weights(nn), reduction=r),
        CLASSES,
    ),
]
CHANCES = [
    *_reduced("bce", lambda nn, r: lambda y, t: nn.BCELoss(reduction=r)(y.sigmoid(), t), CHANCE),
    *_reduced(
        "bce weighted",
        lambda nn, r: lambda y, t: nn.BCELoss(_weights(nn), reduction=r)(y.sigmoid(), t),
        CHANCE,
    ),
    *_reduced("bce logits", lambda nn, r: nn.BCEWithLogitsLoss(reduction=r), CHANCE),
    *_reduced(
        "bce logits weighted",
        lambda nn, r: nn.BCEWithLogitsLoss(_weights(nn), reduction=r, pos_weight=2 * _weights(nn)),
        CHANCE,
    ),
    *_reduced(
        "kl", lambda nn, r: lambda y, t: nn.KLDivLoss(reduction=r)(y.log_softmax(1), t), CHANCE
    ),
    _case(
        "kl batchmean of logs",
        lambda nn, y, t: nn.KLDivLoss(reduction="batchmean", log_target=True)(y.log_softmax(1), t),
        -CHANCE,
    ),
    *_reduced("poisson", lambda nn, r: nn.PoissonNLLLoss(reduction=r), 3 * CHANCE),
    *_reduced(
        "poisson full",
        lambda nn, r: (
            lambda y, t: nn.PoissonNLLLoss(log_input=False, full=True, reduction=r)(y.exp(), t)
        ),
        3 * CHANCE,
    ),
    *_reduced(
        "gaussian",
        lambda nn, r: lambda y, t: nn.GaussianNLLLoss(full=True, reduction=r)(y, t, y.exp()),
        TARGET,
    ),
]
CHANCES += [
    *_reduced("labels", lambda nn, r: nn.MultiLabelSoftMarginLoss(reduction=r), CHANCE),
    *_reduced(
        "labels weighted",
        lambda nn, r: nn.MultiLabelSoftMarginLoss(_weights(nn), reduction=r),
        CHANCE,
    ),
]
MARGINS = [
    *_reduced("soft margin", lambda nn, r: nn.SoftMarginLoss(reduction=r), signs(5, 3)),
    *_reduced("hinge", lambda nn, r: nn.HingeEmbeddingLoss(0.6, reduction=r), signs(5, 3)),
    *_reduced(
        "ranking",
        lambda nn, r: lambda y, other, t: nn.MarginRankingLoss(0.1, reduction=r)(y, other, t),
        TARGET,
        signs(5, 3),
    ),
    *_reduced(
        "cosine",
        lambda nn, r: lambda y, other, t: nn.CosineEmbeddingLoss(0.1, reduction=r)(y, other, t),
        TARGET,
        signs(5),
    ),
    *_reduced(
        "triplet",
        lambda nn, r: lambda y, near, far: nn.TripletMarginLoss(0.8, reduction=r)(y, near, far),
        TARGET,
        CHANCE,
    ),
    *_reduced(
        "triplet swapped",
        lambda nn, r: (
            lambda y, near, far: nn.TripletMarginLoss(2.0, p=1, swap=True, reduction=r)(
                y, near, far
            )
        ),
        TARGET,
        CHANCE,
    ),
    *_reduced(
        "triplet with a distance",
        lambda nn, r: (
            lambda y, near, far: nn.TripletMarginWithDistanceLoss(
                distance_function=lambda a, b: 1 - nn.CosineSimilarity()(a, b),
                margin=0.5,
                swap=True,
                reduction=r,
            )(y, near, far)
        ),
        TARGET,
        CHANCE,
    ),
    *_reduced(
        "triplet with its own distance",
        lambda nn, r: nn.TripletMarginWithDistanceLoss(reduction=r),
        TARGET,
        CHANCE,
    ),
]

CASES = [*DISTANCES, *ENTROPIES, *CHANCES, *MARGINS]
