"""EmbeddingBag: sums, means or maxima of rows of a table, bag by bag."""

from __future__ import annotations

from typing import Any

from adjoint.errors import ArgumentError, IndexKindError, ShapeError
from adjoint.nn import init
from adjoint.nn.checks import check_positive, check_range, check_tensor
from adjoint.nn.module import Module
from adjoint.tensor import Tensor
from adjoint.tensor.types import DTypeLike

MODES = ("sum", "mean", "max")


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    mode: str = "mean",
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Rows of `weight` reduced per bag: each row of a matrix of indices, or from offset to offset
    of a vector of them. Indices equal to `padding_idx` do not count; an empty bag is 0."""
    _check(input, weight, offsets, mode, per_sample_weights)
    rows = weight[input]
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    counted = input.ones_like().cast(dtype := weight.dtype)
    if padding_idx is not None:
        counted = input.ne(padding_idx % weight.shape[0]).cast(dtype)
    if offsets is None:
        bags = input.shape[0]
        number = Tensor.arange(bags, device=input.device).unsqueeze(1).expand(input.shape)
    else:
        bags = offsets.shape[0] - bool(include_last_offset)
        places = Tensor.arange(input.shape[0], dtype=offsets.dtype, device=input.device)
        number = offsets[:bags].searchsorted(places, right=True) - 1
    flat = rows.reshape(-1, weight.shape[1])
    return _reduced(flat, counted.reshape(-1), number.reshape(-1).cast("int64"), bags, mode)


def _reduced(rows: Tensor, counted: Tensor, number: Tensor, bags: int, mode: str) -> Tensor:
    size = Tensor.zeros(bags, dtype=rows.dtype, device=rows.device).index_add(0, number, counted)
    blank = Tensor.zeros(bags, rows.shape[1], dtype=rows.dtype, device=rows.device)
    if mode == "max":
        lowest = counted.unsqueeze(-1).ne(0).where(rows, float("-inf"))
        index = number.unsqueeze(-1).expand(rows.shape)
        top = blank.scatter_reduce(0, index, lowest, "amax", include_self=False)
        return size.unsqueeze(-1).ne(0).where(top, 0)
    total = blank.index_add(0, number, rows * counted.unsqueeze(-1))
    return total if mode == "sum" else total / size.maximum(1).unsqueeze(-1)


def _check(
    input: Any, weight: Any, offsets: Any, mode: str, per_sample_weights: Tensor | None
) -> None:
    op, operands = "embedding_bag", [("input", input)]
    check_tensor(op, input)
    check_tensor(op, weight)
    if mode not in MODES:
        raise ArgumentError("E2008", f"mode {mode!r} is not one of {', '.join(MODES)}", op=op)
    if not input.dtype.is_int:
        problem = f"takes integers, the numbers of rows, got {input.dtype.name}"
        raise IndexKindError("E4011", problem, op=op, operands=operands)
    if input.ndim != (2 if offsets is None else 1):
        problem = "takes a matrix of indices, or a vector and the offsets of the bags"
        raise ShapeError("E3002", problem, op=op, operands=operands)
    if per_sample_weights is not None and (
        mode != "sum" or per_sample_weights.shape != input.shape
    ):
        problem = "per_sample_weights are for mode='sum', one for each index"
        raise ArgumentError("E2008", problem, op=op, operands=operands)
    check_range(op, input, weight.shape[0], "index", "rows")


class EmbeddingBag(Module):
    """`embedding_bag` with a table of its own, which starts standard normal."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        mode: str = "mean",
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        check_positive("EmbeddingBag", num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        if mode not in MODES:
            problem = f"mode {mode!r} is not one of {', '.join(MODES)}"
            raise ArgumentError("E2008", problem, op="EmbeddingBag")
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.include_last_offset, self.padding_idx = include_last_offset, padding_idx
        sizes = (num_embeddings, embedding_dim)
        self.weight = init.normal(sizes, device=device, dtype=dtype).requires_grad_()

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        options = (self.mode, per_sample_weights, self.include_last_offset, self.padding_idx)
        return embedding_bag(input, self.weight, offsets, *options)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"
