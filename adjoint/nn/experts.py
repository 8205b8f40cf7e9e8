"""Mixtures of experts: a router sends each token to a few of many feed-forward networks.

What may live here: the layer, and the loss that balances its experts. What may not: how experts are
spread over members (`parallel.py`), or how tokens get there (`exchange.py`); the layer only follows
the sharding of its weights.

Each row of a batch is routed by itself, so neither the mesh nor the rest of the batch affects a
token. If the weights are split over members by experts, tokens go to their experts by one
all_to_all and come back by another; so do their gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from adjoint.errors import ArgumentError
from adjoint.ir.dtype import dtypes
from adjoint.nn.checks import check_axis, check_float, check_positive, check_rank
from adjoint.nn.exchange import exchange_of
from adjoint.nn.linear import Linear, uniform_start
from adjoint.nn.module import Module
from adjoint.tensor import Tensor
from adjoint.tensor.types import DTypeLike


class AuxiliaryLosses:
    """What layers add to a loss: `with auxiliary_losses(0.01) as extra: loss = extra.added(…)`."""

    def __init__(self, weight: float = 1.0) -> None:
        self.weight, self.values = weight, list[Tensor]()

    def total(self) -> Tensor:
        """The sum of all that layers have added; 0 if none has."""
        found = Tensor.zeros(())
        for value in self.values:
            found = found + value
        return found

    def added(self, loss: Tensor) -> Tensor:
        """A loss with the weighted sum of these; as it is where no layer has added any."""
        return loss + self.weight * self.total() if self.values else loss


_collected: ContextVar[AuxiliaryLosses | None] = ContextVar("auxiliary_losses", default=None)


@contextmanager
def auxiliary_losses(weight: float = 1.0) -> Iterator[AuxiliaryLosses]:
    """Collect the losses of layers that are called inside."""
    found = AuxiliaryLosses(weight)
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


class MixtureOfExperts(Module):
    """`top_k` of `num_experts` networks for each token, chosen and weighted by a router.

    Takes (rows, length, features), or (length, features). An expert takes at most
    ⌈capacity_factor · top_k · length / num_experts⌉ tokens of a row, first choices before second
    ones, earlier tokens before later ones; to the others it adds nothing. With a `capacity_factor`
    of None it takes all. Equal scores go to the expert of the lower number. The balance loss of a
    row is num_experts · Σ (share of first choices · mean probability), 1 where all experts are
    equally busy; `auxiliary_losses` collects its mean over rows.
    """

    _repr_fields = ("features", "hidden", "num_experts", "top_k", "capacity_factor")

    def __init__(
        self,
        features: int,
        hidden: int,
        num_experts: int,
        top_k: int = 2,
        capacity_factor: float | None = 1.25,
        activation: Callable[[Tensor], Tensor] | None = None,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        sizes = {"features": features, "hidden": hidden, "num_experts": num_experts}
        check_positive("MixtureOfExperts", **sizes, top_k=top_k)
        _check(num_experts, top_k, capacity_factor)
        self.features, self.hidden = features, hidden
        self.num_experts, self.top_k, self.capacity_factor = num_experts, top_k, capacity_factor
        self.activation = activation
        self.router = Linear(features, num_experts, bias=False, device=device, dtype=dtype)
        shape, bound = (num_experts, features, hidden), 1 / math.sqrt(features)
        self.weight1, _ = uniform_start(shape, 1, bound, False, device, dtype)
        self.bias1, _ = uniform_start((num_experts, hidden), 1, bound, False, device, dtype)
        shape, bound = (num_experts, hidden, features), 1 / math.sqrt(hidden)
        self.weight2, _ = uniform_start(shape, 1, bound, False, device, dtype)
        self.bias2, _ = uniform_start((num_experts, features), 1, bound, False, device, dtype)

    def capacity(self, length: int) -> int:
        """The most tokens of a row that an expert takes."""
        if self.capacity_factor is None:
            return length
        share = self.capacity_factor * self.top_k * length / self.num_experts
        return max(1, min(length, math.ceil(share)))

    def forward(self, x: Tensor) -> Tensor:
        check_float("MixtureOfExperts", x)
        check_rank("MixtureOfExperts", x, (2, 3), "(rows, length, features)")
        check_axis("MixtureOfExperts", x, -1, self.features, "features")
        rows = x if x.ndim == 3 else x.unsqueeze(0)
        weights, places, taken = self._routed(rows)
        answers = self._answered(self._sent(rows, places, taken))
        found = self._weighted(answers, weights, places, taken)
        return found if x.ndim == 3 else found.squeeze(0)

    # ---- routing

    def _routed(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Of each token's choices, (rows, length, top_k): weights, places among the slots of all
        experts, and whether there is a place."""
        scores = self.router(x)
        scores = (scores.cast(dtypes.float32) if scores.dtype.itemsize < 4 else scores).softmax(-1)
        best, experts = scores.topk(self.top_k, -1)
        weights = (best / best.sum(-1, keepdim=True)).cast(x.dtype)
        chosen = self._one_hot(experts)
        _add_balance(scores, chosen[:, :, 0], self.num_experts)
        return weights, *self._placed(experts, chosen, self.capacity(int(x.shape[1])))

    def _one_hot(self, experts: Tensor) -> Tensor:
        numbers = Tensor.arange(self.num_experts)
        return (experts.unsqueeze(-1) == numbers).cast(dtypes.int32)

    def _placed(self, experts: Tensor, chosen: Tensor, capacity: int) -> tuple[Tensor, Tensor]:
        """First choices come before second ones, earlier tokens before later ones."""
        rows, length, count, _ = (int(n) for n in chosen.shape)
        queue = chosen.permute(0, 2, 1, 3).reshape(rows, count * length, self.num_experts)
        before = (queue.cumsum(1) - queue) * queue
        number = before.sum(-1).reshape(rows, count, length).permute(0, 2, 1)
        taken = number < capacity
        return experts * capacity + number, taken

    # ---- tokens to experts, and back

    def _sent(self, x: Tensor, places: Tensor, taken: Tensor) -> Tensor:
        """(rows, experts, capacity, features): the tokens in the slots of experts, zeros where a
        slot is free."""
        rows, length, _ = (int(n) for n in x.shape)
        capacity = self.capacity(length)
        slots = self.num_experts * capacity
        wanted = taken.where(places, slots).reshape(rows, length * self.top_k)
        tokens = Tensor.arange(length).reshape(1, length, 1).expand(rows, length, self.top_k)
        free = Tensor.full((rows, slots + 1), length, dtype=tokens.dtype)
        token = free.scatter(1, wanted, tokens.reshape(rows, length * self.top_k))[:, :slots]
        full = token < length
        picked = _rows_of(x, full.where(token, 0))
        kept = full.unsqueeze(-1).where(picked, 0)
        return kept.reshape(rows, self.num_experts, capacity, self.features)

    def _answered(self, x: Tensor) -> Tensor:
        """Every expert's network on its slots, where its weights are."""
        weights = (self.weight1, self.bias1, self.weight2, self.bias2)
        exchange = exchange_of(self.weight1, int(x.shape[0]))
        if exchange is None:
            return self._computed(x, *weights)
        with exchange.without_draws():
            found = self._computed(exchange.to_experts(x), *map(exchange.own, weights))
        return exchange.to_rows(found)

    def _computed(self, x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
        hidden = Tensor.einsum("recf,efh->rech", x, w1) + b1.unsqueeze(1)
        active = hidden.gelu() if self.activation is None else self.activation(hidden)
        return Tensor.einsum("rech,ehf->recf", active, w2) + b2.unsqueeze(1)

    def _weighted(self, answers: Tensor, weights: Tensor, places: Tensor, taken: Tensor) -> Tensor:
        rows, length, count = (int(n) for n in weights.shape)
        flat = answers.reshape(rows, self.num_experts * self.capacity(length), self.features)
        own = _rows_of(flat, taken.where(places, 0).reshape(rows, length * count))
        own = own.reshape(rows, length, count, self.features)
        kept = taken.unsqueeze(-1).where(own, 0)
        return (kept * weights.unsqueeze(-1)).sum(2)


def _rows_of(x: Tensor, index: Tensor) -> Tensor:
    """x[r, index[r, i]] for every row r."""
    rows, count = (int(n) for n in index.shape)
    return x.gather(1, index.unsqueeze(-1).expand(rows, count, int(x.shape[2])))


def _add_balance(scores: Tensor, first: Tensor, count: int) -> None:
    """Tell the reader of auxiliary losses, if there is one, how unequally busy experts are."""
    collected = _collected.get()
    if collected is not None:
        share = first.cast(scores.dtype).mean(1)
        collected.values.append((share * scores.mean(1)).sum(-1).mean() * count)


def _check(num_experts: int, top_k: int, factor: Any) -> None:
    if top_k > num_experts:
        problem = f"top_k = {top_k} is more than the {num_experts} experts"
        raise ArgumentError("E2006", problem, op="MixtureOfExperts")
    if factor is not None and not factor > 0:
        problem = f"capacity_factor is above 0, or None for no limit, not {factor!r}"
        raise ArgumentError("E2006", problem, op="MixtureOfExperts")
