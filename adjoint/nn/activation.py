"""Activations as layers; each is the op of that name."""

from __future__ import annotations

from typing import Any

from adjoint.errors import ArgumentError
from adjoint.nn.checks import check_axis, check_float, check_positive, check_rank
from adjoint.nn.init import constant
from adjoint.nn.module import Module
from adjoint.tensor import Tensor
from adjoint.tensor.types import DTypeLike


class _Activation(Module):
    """The `op` of its class, with the attributes that it shows as arguments."""

    _op = ""

    def __init_subclass__(cls, op: str = "", **named: Any) -> None:
        super().__init_subclass__(**named)
        cls._op = op or cls._op

    def __init__(self, inplace: bool = False):
        """`inplace` is torch's option and has no effect."""

    def forward(self, x: Tensor) -> Tensor:
        check_float(type(self).__name__, x)
        y: Tensor = getattr(x, self._op)(*[getattr(self, name) for name in self._repr_fields])
        return y


class ReLU(_Activation, op="relu"):
    """max(x, 0)."""


class ReLU6(_Activation, op="relu6"):
    """min(max(x, 0), 6)."""


class SiLU(_Activation, op="silu"):
    """x σ(x)."""


class Mish(_Activation, op="mish"):
    """x tanh(softplus(x))."""


class Hardswish(_Activation, op="hardswish"):
    """x hardsigmoid(x)."""


class Hardsigmoid(_Activation, op="hardsigmoid"):
    """x / 6 + 1/2, limited to [0, 1]."""


class Tanh(_Activation, op="tanh"):
    """Hyperbolic tangent."""


class Sigmoid(_Activation, op="sigmoid"):
    """1 / (1 + exp(-x))."""


class LogSigmoid(_Activation, op="logsigmoid"):
    """log σ(x)."""


class Softsign(_Activation, op="softsign"):
    """x / (1 + |x|)."""


class Tanhshrink(_Activation, op="tanhshrink"):
    """x - tanh(x)."""


class SELU(_Activation):
    """Scaled ELU that keeps mean 0 and variance 1."""

    def forward(self, x: Tensor) -> Tensor:
        check_float("SELU", x)
        return x.selu(1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


class GELU(_Activation, op="gelu"):
    """x Φ(x), exactly or by tanh."""

    _repr_fields = ("approximate",)

    def __init__(self, approximate: str = "none"):
        if approximate not in ("none", "tanh"):
            problem = f"approximate is 'none' or 'tanh', not {approximate!r}"
            raise ArgumentError("E2008", problem, op="GELU")
        self.approximate = approximate


class LeakyReLU(_Activation, op="leaky_relu"):
    """x above 0, `negative_slope` · x below."""

    _repr_fields = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False):
        self.negative_slope = negative_slope


class ELU(_Activation, op="elu"):
    """x above 0, α (exp(x) - 1) below."""

    _repr_fields = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        self.alpha = alpha


class CELU(ELU, op="celu"):
    """x above 0, α (exp(x / α) - 1) below."""


class Softplus(_Activation):
    """log(1 + exp(β x)) / β; x itself where β x is above `threshold`."""

    _repr_fields = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        self.beta, self.threshold = beta, threshold

    def forward(self, x: Tensor) -> Tensor:
        check_float("Softplus", x)
        return (x * self.beta > self.threshold).where(x, x.softplus(self.beta))


class Hardtanh(_Activation, op="hardtanh"):
    """x limited to [`min_val`, `max_val`]."""

    _repr_fields = ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False):
        if min_val >= max_val:
            problem = f"min_val={min_val} is not below max_val={max_val}"
            raise ArgumentError("E2006", problem, op="Hardtanh")
        self.min_val, self.max_val = min_val, max_val


class Hardshrink(_Activation, op="hardshrink"):
    """x, but 0 within ±`lambd`."""

    _repr_fields = ("lambd",)

    def __init__(self, lambd: float = 0.5):
        self.lambd = lambd


class Softshrink(Hardshrink, op="softshrink"):
    """x moved towards 0 by `lambd`, and 0 within it."""


class Threshold(_Activation, op="threshold"):
    """x where it is above `threshold`, else `value`."""

    _repr_fields = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False):
        self.threshold, self.value = threshold, value


class GLU(_Activation, op="glu"):
    """The first half of an axis times the sigmoid of the second."""

    _repr_fields = ("dim",)

    def __init__(self, dim: int = -1):
        self.dim = dim


class Softmax(_Activation, op="softmax"):
    """exp(x) / Σ exp(x) along `dim`."""

    _repr_fields = ("dim",)

    def __init__(self, dim: int = -1):
        self.dim = dim


class Softmax2d(Module):
    """`Softmax` over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, x: Tensor) -> Tensor:
        check_float("Softmax2d", x)
        check_rank("Softmax2d", x, (3, 4), "(N, C, H, W) or (C, H, W)")
        return x.softmax(-3)


class LogSoftmax(Softmax, op="log_softmax"):
    """log softmax along `dim`."""


class Softmin(Softmax, op="softmin"):
    """softmax(-x) along `dim`."""


class PReLU(Module):
    """x above 0, weight · x below; one weight, or one per channel (axis 1)."""

    _repr_fields = ("num_parameters",)

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        check_positive("PReLU", num_parameters=num_parameters)
        self.num_parameters, self.init = num_parameters, init
        filled = constant(num_parameters, init, device=device, dtype=dtype)
        self.weight = filled.requires_grad_()

    def forward(self, x: Tensor) -> Tensor:
        check_float("PReLU", x)
        if self.num_parameters != 1:
            check_axis("PReLU", x, min(1, x.ndim - 1), self.num_parameters, "channels")
        return x.prelu(self.weight)
