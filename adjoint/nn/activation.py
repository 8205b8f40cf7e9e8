"""Activations as layers; each is the op of that name.

What may live here: layers without weights that work element by element, and softmax.
"""

from __future__ import annotations

from typing import ClassVar

from adjoint.errors import ArgumentError
from adjoint.nn import init
from adjoint.nn.checks import check_axis, check_float, check_positive
from adjoint.nn.module import Module
from adjoint.tensor import Tensor
from adjoint.tensor.types import DTypeLike


class _Activation(Module):
    """An op with the attributes named in `_options` as its arguments."""

    _op = ""
    _options: ClassVar[tuple[str, ...]] = ()

    def __init__(self, inplace: bool = False):
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        check_float(type(self).__name__, x)
        options = [getattr(self, name) for name in self._options]
        y: Tensor = getattr(x, self._op)(*options)
        return y

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self._options)


class ReLU(_Activation):
    """max(x, 0)."""

    _op = "relu"


class ReLU6(_Activation):
    """min(max(x, 0), 6)."""

    _op = "relu6"


class SiLU(_Activation):
    """x σ(x)."""

    _op = "silu"


class Mish(_Activation):
    """x tanh(softplus(x))."""

    _op = "mish"


class Hardswish(_Activation):
    """x hardsigmoid(x)."""

    _op = "hardswish"


class Hardsigmoid(_Activation):
    """x / 6 + 1/2, cut off at 0 and 1."""

    _op = "hardsigmoid"


class Tanh(_Activation):
    """Hyperbolic tangent."""

    _op = "tanh"


class Sigmoid(_Activation):
    """1 / (1 + exp(-x))."""

    _op = "sigmoid"


class LogSigmoid(_Activation):
    """log σ(x)."""

    _op = "logsigmoid"


class Softsign(_Activation):
    """x / (1 + |x|)."""

    _op = "softsign"


class Tanhshrink(_Activation):
    """x - tanh(x)."""

    _op = "tanhshrink"


class SELU(_Activation):
    """Scaled ELU that keeps mean 0 and variance 1."""

    def forward(self, x: Tensor) -> Tensor:
        check_float("SELU", x)
        return x.selu(1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


class GELU(_Activation):
    """x Φ(x), exactly or by tanh."""

    _op, _options = "gelu", ("approximate",)

    def __init__(self, approximate: str = "none"):
        super().__init__()
        if approximate not in ("none", "tanh"):
            problem = f"approximate is 'none' or 'tanh', not {approximate!r}"
            raise ArgumentError("E2008", problem, op="GELU")
        self.approximate = approximate


class LeakyReLU(_Activation):
    """x above 0, `negative_slope` · x below."""

    _op, _options = "leaky_relu", ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False):
        super().__init__()
        self.negative_slope = negative_slope


class ELU(_Activation):
    """x above 0, α (exp(x) - 1) below."""

    _op, _options = "elu", ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        super().__init__()
        self.alpha = alpha


class CELU(ELU):
    """x above 0, α (exp(x / α) - 1) below."""

    _op = "celu"


class Softplus(_Activation):
    """log(1 + exp(β x)) / β; x itself where β x is above `threshold`."""

    _options = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, x: Tensor) -> Tensor:
        check_float("Softplus", x)
        return (x * self.beta > self.threshold).where(x, x.softplus(self.beta))


class Hardtanh(_Activation):
    """x cut off at `min_val` and `max_val`."""

    _op, _options = "hardtanh", ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False):
        super().__init__()
        if min_val >= max_val:
            problem = f"min_val={min_val} is not below max_val={max_val}"
            raise ArgumentError("E2006", problem, op="Hardtanh")
        self.min_val, self.max_val = min_val, max_val


class Hardshrink(_Activation):
    """x, but 0 within ±`lambd`."""

    _op, _options = "hardshrink", ("lambd",)

    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd = lambd


class Softshrink(Hardshrink):
    """x moved towards 0 by `lambd`, and 0 within it."""

    _op = "softshrink"


class Threshold(_Activation):
    """x where it is above `threshold`, else `value`."""

    _op, _options = "threshold", ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False):
        super().__init__()
        self.threshold, self.value = threshold, value


class GLU(_Activation):
    """The first half of an axis times the sigmoid of the second."""

    _op, _options = "glu", ("dim",)

    def __init__(self, dim: int = -1):
        super().__init__()
        self.dim = dim


class Softmax(_Activation):
    """exp(x) / Σ exp(x) along `dim`."""

    _op, _options = "softmax", ("dim",)

    def __init__(self, dim: int = -1):
        super().__init__()
        self.dim = dim


class LogSoftmax(Softmax):
    """log softmax along `dim`."""

    _op = "log_softmax"


class Softmin(Softmax):
    """softmax(-x) along `dim`."""

    _op = "softmin"


class PReLU(Module):
    """x above 0, weight · x below; one weight, or one per channel (axis 1)."""

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        super().__init__()
        check_positive("PReLU", num_parameters=num_parameters)
        self.num_parameters, self.init = num_parameters, init
        self.weight = _filled(num_parameters, init, device, dtype)

    def forward(self, x: Tensor) -> Tensor:
        check_float("PReLU", x)
        if self.num_parameters != 1:
            check_axis("PReLU", x, min(1, x.ndim - 1), self.num_parameters, "channels")
        return x.prelu(self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


def _filled(
    count: int, value: float, device: str | tuple[str, ...] | None, dtype: DTypeLike | None
) -> Tensor:
    return init.constant(count, value, device=device, dtype=dtype).requires_grad_()
