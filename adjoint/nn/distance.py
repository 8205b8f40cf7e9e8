"""Distances and similarities of vectors as layers: CosineSimilarity and PairwiseDistance.

Elsewhere: the ops (`ops/composite`), and losses made of them (`loss.py`).
"""

from __future__ import annotations

from adjoint.nn.checks import check_float
from adjoint.nn.module import Module
from adjoint.tensor import Tensor


class CosineSimilarity(Module):
    """x1·x2 / (max(|x1|, eps) max(|x2|, eps)) along `dim`."""

    _repr_fields = ("dim", "eps")

    def __init__(self, dim: int = 1, eps: float = 1e-8):
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        check_float("CosineSimilarity", x1)
        check_float("CosineSimilarity", x2)
        return x1.cosine_similarity(x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last axis."""

    _repr_fields = ("p", "eps", "keepdim")

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False):
        self.p, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        check_float("PairwiseDistance", x1)
        check_float("PairwiseDistance", x2)
        return x1.pairwise_distance(x2, self.p, self.eps, self.keepdim)
