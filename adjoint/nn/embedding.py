"""Embedding: rows of a table by index."""

from __future__ import annotations

import numpy as np

from adjoint.errors import AxisError, DTypeError, ShapeError
from adjoint.ir.uop import UOp
from adjoint.nn import init
from adjoint.nn.checks import check_positive, check_range, check_tensor
from adjoint.nn.module import Module, Parameter
from adjoint.ops.indexing import gathered
from adjoint.tensor import Tensor
from adjoint.tensor.tensor import lift
from adjoint.tensor.tracing import open_scopes
from adjoint.tensor.types import DTypeLike


class Embedding(Module):
    """Row `i` of `weight` (num_embeddings, embedding_dim) for each index i; starts standard normal.

    The row `padding_idx` starts as zeros and gets no gradient.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        check_positive("Embedding", num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = _row(padding_idx, num_embeddings)
        weight = init.normal((num_embeddings, embedding_dim), device=device, dtype=dtype)
        if self.padding_idx is not None:
            weight = _without_row(weight, self.padding_idx)
        self.weight = weight.requires_grad_()

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None
    ) -> Embedding:
        """A layer with this table."""
        check_tensor("Embedding", embeddings)
        if embeddings.ndim != 2:
            problem = f"a table of rows has rank 2, not {embeddings.ndim}"
            raise ShapeError("E3002", problem, op="Embedding", table=embeddings)
        rows, width = embeddings.shape
        made = cls(rows, width, device=embeddings.device, dtype=embeddings.dtype)
        made.padding_idx = _row(padding_idx, made.num_embeddings)
        made.weight = Parameter(embeddings)
        made.weight.requires_grad = not freeze  # a frozen parameter, no buffer
        return made

    def forward(self, index: Tensor) -> Tensor:
        check_tensor("Embedding", index)
        if not index.dtype.is_int:
            problem = f"takes integers, the numbers of rows, got {index.dtype.name}"
            raise DTypeError("E4011", problem, op="Embedding", index=index, help=".cast('int64')")
        check_range("Embedding", index, self.num_embeddings, "index", "rows")
        rows: Tensor = lift(_rows, (self.weight, index), {})
        if self.padding_idx is None:
            return rows
        return index.ne(self.padding_idx).unsqueeze(-1).where(rows, rows.detach())

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


def _rows(table: UOp, index: UOp) -> UOp:
    """No index counts from the end: one that is negative is an error when it runs."""
    return gathered(table, (index,), (0,))


def _row(number: int | None, count: int) -> int | None:
    """A row's number, from the front."""
    if number is None:
        return None
    if not isinstance(number, int) or not -count <= number < count:
        problem = f"padding_idx {number!r} is not the number of one of {count} rows"
        raise AxisError("E3004", problem, op="Embedding")
    return number % count


def _without_row(weight: Tensor, row: int) -> Tensor:
    """The weight with zeros in one row."""
    others = np.arange(weight.shape[0]) != row
    keep = Tensor(others, device=weight.device).unsqueeze(-1)
    cleared = keep.where(weight, 0)
    return cleared if open_scopes.get() else cleared.realize()
