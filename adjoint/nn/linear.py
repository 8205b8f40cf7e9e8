"""Linear, Bilinear and Identity."""

from __future__ import annotations

from math import sqrt
from typing import Any

from adjoint.errors import ShapeError
from adjoint.nn import init
from adjoint.nn.checks import check_axis, check_float, check_positive
from adjoint.nn.module import Module
from adjoint.tensor import Tensor
from adjoint.tensor.types import DTypeLike


def uniform_start(
    shape: tuple[int, ...],
    outputs: int,
    bound: float,
    bias: bool,
    device: str | tuple[str, ...] | None,
    dtype: DTypeLike | None,
) -> tuple[Tensor, Tensor | None]:
    """A weight of this shape, and a bias per output if wanted, uniform in ±bound."""
    sizes = (shape, (outputs,)) if bias else (shape,)
    drawn = [init.uniform(s, -bound, bound, device=device, dtype=dtype) for s in sizes]
    return drawn[0].requires_grad_(), drawn[1].requires_grad_() if bias else None


class Identity(Module):
    """Returns its input; takes any arguments, so that it can replace any layer."""

    def __init__(self, *args: Any, **kwargs: Any):
        pass

    def forward(self, x: Any) -> Any:
        return x


class Linear(Module):
    """`x @ weight.T + bias` on the last axis; the weight is (out_features, in_features).

    Both start uniform in ±1/√in_features.
    """

    _repr_fields = ("in_features", "out_features")

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        check_positive("Linear", in_features=in_features, out_features=out_features)
        self.in_features, self.out_features = in_features, out_features
        shape, bound = (out_features, in_features), 1 / sqrt(in_features)
        start = uniform_start(shape, out_features, bound, bias, device, dtype)
        self.weight, self.bias = start

    def forward(self, x: Tensor) -> Tensor:
        check_float("Linear", x)
        check_axis("Linear", x, -1, self.in_features, "features")
        return x.linear(self.weight.T, self.bias)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, bias={self.bias is not None}"


class Bilinear(Module):
    """`x1 @ weight[k] @ x2` for each output k, plus bias; the weight is (out, in1, in2).

    Both start uniform in ±1/√in1_features.
    """

    _repr_fields = ("in1_features", "in2_features", "out_features")

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        sizes = {"in1_features": in1_features, "in2_features": in2_features}
        check_positive("Bilinear", **sizes, out_features=out_features)
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        shape, bound = (out_features, in1_features, in2_features), 1 / sqrt(in1_features)
        start = uniform_start(shape, out_features, bound, bias, device, dtype)
        self.weight, self.bias = start

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        check_float("Bilinear", x1)
        check_float("Bilinear", x2)
        check_axis("Bilinear", x1, -1, self.in1_features, "features")
        check_axis("Bilinear", x2, -1, self.in2_features, "features")
        if x1.shape[:-1] != x2.shape[:-1]:
            problem = "the inputs differ in more than their last axis"
            raise ShapeError("E3003", problem, op="Bilinear", x1=x1, x2=x2)
        y = Tensor.einsum("...i,oij,...j->...o", x1, self.weight, x2)
        return y if self.bias is None else y + self.bias

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, bias={self.bias is not None}"
