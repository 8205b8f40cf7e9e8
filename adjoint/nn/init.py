"""Initial values of weights: `kaiming_uniform_(tensor)` and its kin, under torch's names.

A name that ends in an underscore gives a tensor new values and returns it; without the underscore
it takes a shape and makes a tensor.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from math import erf, prod, sqrt
from typing import Any, Concatenate, ParamSpec

import numpy as np

from adjoint.errors import ArgumentError, ShapeError
from adjoint.ir.dtype import as_dtype, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ops.leaves import checked_shape
from adjoint.runtime.device import Device
from adjoint.tensor import Tensor
from adjoint.tensor.random import stream
from adjoint.tensor.tracing import open_scopes
from adjoint.tensor.types import DTypeLike, Sizes
from adjoint.tensor.views import receive

_P = ParamSpec("_P")
_MAX_DRAWN_BY_NUMPY = 1 << 16  # elements: as many are drawn sooner than a kernel is prepared


# ---- fans and gains

_GAINS = {"linear": 1.0, "conv": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": sqrt(2), "selu": 0.75}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor of a weight's standard deviation that compensates for the nonlinearity."""
    name = nonlinearity.partition("1d")[0].partition("2d")[0].partition("3d")[0]
    name = "conv" if name in ("conv", "conv_transpose") else name
    if name in _GAINS:
        return _GAINS[name]
    if name == "leaky_relu":
        return sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    problem = f"no gain is known for {nonlinearity!r}"
    fix = f"one of {', '.join(sorted({*_GAINS, 'leaky_relu'}))}"
    raise ArgumentError("E2008", problem, op="calculate_gain", help=fix)


def fans(shape: Sizes, op: str = "init") -> tuple[int, int]:
    """(fan in, fan out) of a weight (out, in, *kernel)."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if len(sizes) < 2:
        problem = f"a weight of rank {len(sizes)} has no fan in and fan out"
        raise ShapeError("E3002", problem, op=op, help="give a shape of rank 2 or more")
    field = prod(sizes[2:])
    return sizes[1] * field, sizes[0] * field


def _fan(shape: Sizes, mode: str, op: str) -> int:
    found = fans(shape, op)
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError("E2008", f"mode is 'fan_in' or 'fan_out', not {mode!r}", op=op)
    return max(found[mode == "fan_out"], 1)


# ---- making tensors


def _spread(
    name: str,
    shape: Sizes,
    scale: float,
    shift: float,
    dtype: DTypeLike | None,
    device: str | tuple[str, ...] | None,
) -> Tensor:
    """`scale * draw + shift`, computed at once unless a transform is tracing."""
    sizes = checked_shape(name, shape)
    kind, place = as_dtype(dtype or dtypes.default_float), Device.canonicalize(device)
    if open_scopes.get() or prod(sizes) > _MAX_DRAWN_BY_NUMPY or not Device.is_host(place):
        draw = (Tensor.rand if name == "random_uniform" else Tensor.randn)(
            *sizes, dtype=kind, device=place
        )
        return _computed(scale * draw + shift)
    drawn = OPS[name].reference(np.uint64(stream.next_key(place)), sizes, kind)
    one = drawn.dtype.type
    return Tensor(one(scale) * drawn + one(shift), device=place, dtype=kind)


def _computed(tensor: Tensor) -> Tensor:
    """With its value, unless a transform is tracing: what jit computes now is never drawn anew."""
    return tensor if open_scopes.get() else tensor.realize()


def uniform(
    shape: Sizes,
    a: float = 0.0,
    b: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: str | tuple[str, ...] | None = None,
) -> Tensor:
    """Uniform in [a, b)."""
    return _spread("random_uniform", shape, b - a, a, dtype, device)


def normal(
    shape: Sizes,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: str | tuple[str, ...] | None = None,
) -> Tensor:
    """Normal with a mean and a standard deviation."""
    return _spread("random_normal", shape, std, mean, dtype, device)


def constant(
    shape: Sizes,
    val: float,
    *,
    dtype: DTypeLike | None = None,
    device: str | tuple[str, ...] | None = None,
) -> Tensor:
    """The same number everywhere."""
    kind = as_dtype(dtype or dtypes.default_float)
    return Tensor(np.full(checked_shape("constant", shape), val, kind.np), device=device)


def zeros(
    shape: Sizes, *, dtype: DTypeLike | None = None, device: str | tuple[str, ...] | None = None
) -> Tensor:
    """Zeros."""
    return constant(shape, 0, dtype=dtype, device=device)


def ones(
    shape: Sizes, *, dtype: DTypeLike | None = None, device: str | tuple[str, ...] | None = None
) -> Tensor:
    """Ones."""
    return constant(shape, 1, dtype=dtype, device=device)


def eye(
    shape: Sizes, *, dtype: DTypeLike | None = None, device: str | tuple[str, ...] | None = None
) -> Tensor:
    """Ones on the diagonal of a matrix, zeros elsewhere."""
    sizes = checked_shape("eye", shape)
    if len(sizes) != 2:
        problem = f"the identity is a matrix, not rank {len(sizes)}"
        raise ShapeError("E3002", problem, op="eye", help="give (rows, columns)")
    kind = as_dtype(dtype or dtypes.default_float)
    return Tensor(np.eye(*sizes, dtype=np.float64).astype(kind.np), device=device)


def dirac(
    shape: Sizes,
    groups: int = 1,
    *,
    dtype: DTypeLike | None = None,
    device: str | tuple[str, ...] | None = None,
) -> Tensor:
    """The identity as a convolution: it copies as many channels as it can."""
    sizes = checked_shape("dirac", shape)
    if not 3 <= len(sizes) <= 5 or sizes[0] % groups:
        problem = f"shape {list(sizes)} with groups={groups} is no convolution's weight"
        fix = "give (out, in, *kernel) with 1 to 3 kernel sizes, and groups that divide out"
        raise ShapeError("E3002", problem, op="dirac", help=fix)
    kind, each = as_dtype(dtype or dtypes.default_float), sizes[0] // groups
    values: np.ndarray[Any, Any] = np.zeros(sizes, kind.np)
    centre = tuple(n // 2 for n in sizes[2:])
    for group in range(groups):
        for channel in range(min(each, sizes[1])):
            values[(group * each + channel, channel, *centre)] = 1
    return Tensor(values, device=device)


def xavier_uniform(shape: Sizes, gain: float = 1.0, **named: Any) -> Tensor:
    """Glorot and Bengio's uniform: ±gain √(6 / (fan in + fan out))."""
    bound = gain * sqrt(6.0 / max(sum(fans(shape, "xavier_uniform")), 1))
    return uniform(shape, -bound, bound, **named)


def xavier_normal(shape: Sizes, gain: float = 1.0, **named: Any) -> Tensor:
    """Glorot and Bengio's normal: std gain √(2 / (fan in + fan out))."""
    std = gain * sqrt(2.0 / max(sum(fans(shape, "xavier_normal")), 1))
    return normal(shape, 0.0, std, **named)


def kaiming_uniform(
    shape: Sizes,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    **named: Any,
) -> Tensor:
    """He's uniform: ±gain √(3 / fan)."""
    bound = calculate_gain(nonlinearity, a) * sqrt(3.0 / _fan(shape, mode, "kaiming_uniform"))
    return uniform(shape, -bound, bound, **named)


def kaiming_normal(
    shape: Sizes,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    **named: Any,
) -> Tensor:
    """He's normal: std gain / √fan."""
    std = calculate_gain(nonlinearity, a) / sqrt(_fan(shape, mode, "kaiming_normal"))
    return normal(shape, 0.0, std, **named)


def trunc_normal(
    shape: Sizes, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, **named: Any
) -> Tensor:
    """Normal, truncated to [a, b]."""
    if not a < b or std <= 0:
        problem = f"std={std} and the range [{a}, {b}] hold no numbers"
        raise ArgumentError("E2006", problem, op="trunc_normal", help="give a < b and std > 0")
    low, high = (erf((side - mean) / std / sqrt(2)) for side in (a, b))
    drawn = uniform(shape, low, high, **named)
    return _computed((drawn.erfinv() * (std * sqrt(2)) + mean).clip(a, b))


def orthogonal(shape: Sizes, gain: float = 1.0, **named: Any) -> Tensor:
    """Orthogonal rows (or columns, if there are fewer) of norm `gain`."""
    sizes = checked_shape("orthogonal", shape)
    if len(sizes) < 2:
        problem = f"orthogonal takes rank 2 or more, got {len(sizes)}"
        raise ShapeError("E3002", problem, op="orthogonal")
    rows, columns = sizes[0], prod(sizes[1:])
    drawn = normal((max(rows, columns), min(rows, columns)), **named)
    q, r = drawn.qr()
    q = q * r.diagonal().sign()  # one of all such matrices, each as likely as another
    q = q.T if rows < columns else q
    return _computed(gain * q.reshape(*sizes))


def sparse(shape: Sizes, sparsity: float, std: float = 0.01, **named: Any) -> Tensor:
    """Normal, with a fraction `sparsity` of each column set to 0."""
    sizes = checked_shape("sparse", shape)
    if len(sizes) != 2 or not 0 <= sparsity <= 1:
        problem = f"shape {list(sizes)}, sparsity {sparsity}: takes a matrix and a fraction"
        raise ShapeError("E3002", problem, op="sparse")
    none = -int(-sizes[0] * sparsity // 1)  # rounded up
    place = uniform(sizes, **named).argsort(0).argsort(0)
    return _computed((place < none).where(0, normal(sizes, 0.0, std, **named)))


# ---- filling tensors


def _filling(
    make: Callable[Concatenate[Sizes, _P], Tensor],
) -> Callable[Concatenate[Tensor, _P], Tensor]:
    """The function that gives a tensor values as `make` makes them, with the same options.

    The tensor keeps its place and whether it wants a gradient.
    """

    def fill(tensor: Tensor, *args: _P.args, **kwargs: _P.kwargs) -> Tensor:
        like = {"dtype": tensor.dtype, "device": tensor.device}
        value = make(tensor.shape, *args, **kwargs, **like)  # type: ignore[arg-type]
        receive(tensor, OPS["unique_identity"](value.uop) if open_scopes.get() else value.uop)
        return tensor

    signature = inspect.signature(make)
    first, *rest = [p for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    shown = [first.replace(name="tensor", annotation="Tensor"), *rest]
    fill.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    fill.__name__ = fill.__qualname__ = f"{make.__name__}_"
    fill.__doc__ = f"Fill with `{make.__name__}`."
    return fill


uniform_ = _filling(uniform)
normal_ = _filling(normal)
constant_ = _filling(constant)
zeros_ = _filling(zeros)
ones_ = _filling(ones)
eye_ = _filling(eye)
dirac_ = _filling(dirac)
xavier_uniform_ = _filling(xavier_uniform)
xavier_normal_ = _filling(xavier_normal)
kaiming_uniform_ = _filling(kaiming_uniform)
kaiming_normal_ = _filling(kaiming_normal)
trunc_normal_ = _filling(trunc_normal)
orthogonal_ = _filling(orthogonal)
sparse_ = _filling(sparse)
glorot_uniform, glorot_normal = xavier_uniform, xavier_normal
glorot_uniform_, glorot_normal_ = xavier_uniform_, xavier_normal_
he_uniform, he_normal = kaiming_uniform, kaiming_normal
he_uniform_, he_normal_ = kaiming_uniform_, kaiming_normal_
