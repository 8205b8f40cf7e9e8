"""Draws that depend on tensors: dropout, and distributions with parameters.

All are lazy and made of Threefry draws, so that a seed fixes them. Where a method rejects, a fixed
number of rounds is drawn at once along a new first axis and the first accepted one is taken: the
graph has no loop. The rounds are chosen so that all of them fail with a probability below 1e-12 for
any parameter; then a central value is taken. No gradient passes through a draw that is chosen by a
comparison; it does pass where the draw is a smooth function of its parameters (exponential, normal,
cauchy). What may live here: such draws, and attention with its dropout. What may not: draws that
depend on a shape alone (`random.py`).
"""

from __future__ import annotations

from math import lgamma, pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.errors import ArgumentError, DTypeError, ShapeError
from adjoint.ir.dtype import DType, dtypes, promote, to_float
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.ir.values import is_known, known_value
from adjoint.ops.composite.normalization import attention_weights, check_attention
from adjoint.ops.indexing import positions
from adjoint.tensor.from_data import stored
from adjoint.tensor.lift import Lifter
from adjoint.tensor.random import key_node

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
    from adjoint.tensor.types import Operand

Shape = tuple[int, ...]
_WIDE = dtypes.float64  # acceptance tests subtract large numbers that nearly cancel


class Sampling:
    """Mixed into Tensor."""

    __slots__ = ()

    def dropout(self: Any, p: float = 0.5) -> Tensor:
        """While training, each element is 0 with probability p and else divided by 1 - p."""
        chance = _probability("dropout", p)
        if not type(self).training or chance == 0:
            return self
        if chance == 1:
            keep = OPS["const"](False, dtypes.bool_, self.shape, self.device)
            node = keep.where(self.uop, 0)
        else:
            keep = _uniform(self, self.shape, dtypes.float32) >= chance
            node = keep.where(self.uop * (1 / (1 - chance)), 0)
        return Lifter(type(self)).wrap(node, [self._requires_grad])

    def bernoulli(self: Any, p: Operand | None = None) -> Tensor:
        """1 with probability p, else 0, in this tensor's shape and dtype; without p the elements
        are the probabilities."""
        if p is None:
            _check_float("bernoulli", self)
            p = self
        elif not hasattr(p, "uop"):
            p = _probability("bernoulli", p)
        wide = _WIDE if getattr(p, "dtype", None) is _WIDE else dtypes.float32
        chance = _parameter(self, p, wide)
        return type(self)((_uniform(self, self.shape, wide) < chance).cast(self.dtype))

    def exponential(self: Any, lambd: Operand = 1.0) -> Tensor:
        """Exponential with the rate `lambd` (a number or a tensor), in this tensor's shape."""
        kind = _result_dtype("exponential", self)
        wide = promote(kind, dtypes.float32)
        rate = _parameter(self, _positive("exponential", "lambd", lambd), wide)
        node = -(1 - _uniform(self, self.shape, wide)).log() / rate
        return _wrapped(self, node.cast(kind), lambd)

    def log_normal(self: Any, mean: Operand = 1.0, std: Operand = 2.0) -> Tensor:
        """exp of a normal with this mean and standard deviation, in this tensor's shape."""
        kind = _result_dtype("log_normal", self)
        wide = promote(kind, dtypes.float32)
        normal = key_node(self.device).random_normal(self.shape, wide)
        scale = _parameter(self, _positive("log_normal", "std", std), wide)
        node = (normal * scale + _parameter(self, mean, wide)).exp()
        return _wrapped(self, node.cast(kind), mean, std)

    def cauchy(self: Any, median: Operand = 0.0, sigma: Operand = 1.0) -> Tensor:
        """Cauchy with this median and half width, in this tensor's shape."""
        kind = _result_dtype("cauchy", self)
        wide = promote(kind, dtypes.float32)
        scale = _parameter(self, _positive("cauchy", "sigma", sigma), wide)
        angle = (_uniform(self, self.shape, wide) - 0.5) * pi
        node = angle.tan() * scale + _parameter(self, median, wide)
        return _wrapped(self, node.cast(kind), median, sigma)

    def geometric(self: Any, p: Operand) -> Tensor:
        """How many trials until the first success of probability p: 1, 2, …, in this tensor's
        shape and dtype."""
        if not hasattr(p, "uop") and _probability("geometric", p) == 0:
            raise ArgumentError("E2006", "p is above 0", op="geometric")
        miss = (1 - _parameter(self, p, _WIDE)).log()
        trials = ((1 - _uniform(self, self.shape, _WIDE)).log() / miss).floor() + 1
        return type(self)(trials.cast(self.dtype))

    def gamma(self: Any, alpha: Operand = 1.0, beta: Operand = 1.0) -> Tensor:
        """Gamma with shape `alpha` and rate `beta` (numbers or tensors), in this tensor's shape.

        Marsaglia and Tsang (2000), 10 rounds: a round fails with probability below 0.049 for every
        alpha ≥ 1, all with less than 1e-13; then alpha - 1/3 is taken. Below 1 a draw for
        alpha + 1 is multiplied by U ** (1 / alpha).
        """
        kind = _result_dtype("gamma", self)
        a = _parameter(self, _positive("gamma", "alpha", alpha), _WIDE)
        rate = _parameter(self, _positive("gamma", "beta", beta), _WIDE)
        small = a < 1
        draw = _marsaglia_tsang(self, small.where(a + 1, a))
        boost = (1 - _uniform(self, self.shape, _WIDE)).pow(1 / a)
        node = small.where(draw * boost, draw) / rate
        return type(self)(node.cast(kind).detach())

    def poisson(self: Any) -> Tensor:
        """Poisson counts whose rates are this tensor's elements, in its dtype.

        Below 10 by inversion: a uniform is compared with the distribution function at 0 … 59. From
        10 on by Hörmann's transformed rejection (PTRS, 1993), 20 rounds: a round fails with
        probability below 0.248, all with less than 1e-12; then the mode is taken. A rate below 0
        or NaN gives NaN.
        """
        _check_float("poisson", self)
        rate = self.uop.cast(_WIDE)
        small = rate < 10
        low = _inverted_poisson(self, (small & (rate >= 0)).where(rate, 0))
        high = _rejected_poisson(self, small.where(10, rate))
        node = (rate >= 0).where(small.where(low, high), float("nan"))
        return type(self)(node.cast(self.dtype).detach())

    def multinomial(self: Any, num_samples: int = 1, replacement: bool = False) -> Tensor:
        """Indices drawn with probabilities proportional to a vector of weights ≥ 0, or to each row
        of a matrix; without replacement no index comes twice (Efraimidis and Spirakis, 2006)."""
        _check_multinomial(self, num_samples, replacement)
        weight = self.uop.cast(_WIDE).reshape(-1, self.shape[-1])
        if replacement or num_samples == 1:
            index = _with_replacement(self, weight, num_samples)
        else:
            index = _without_replacement(self, weight, num_samples)
        return type(self)(index.cast(dtypes.index).reshape(*self.shape[:-1], num_samples))

    def scaled_dot_product_attention(
        self: Any,
        key: Operand,
        value: Operand,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        enable_gqa: bool = False,
    ) -> Tensor:
        """softmax(self keyᵀ / √d) value over the last two axes; a bool mask says what is seen, a
        float mask is added. Dropout of the weights is active while training."""
        _probability("scaled_dot_product_attention", dropout_p)
        if dropout_p == 0 or not type(self).training:
            operands = (self, key, value, attn_mask)
            named = {"is_causal": is_causal, "enable_gqa": enable_gqa}
            return Lifter(type(self))(OPS["attention"], operands, named)
        if enable_gqa:
            key, value = (_shared_heads(self, t) for t in (key, value))
        weights = _attention_weights(self, key, value, attn_mask, is_causal)
        return weights.dropout(dropout_p) @ value


# ---- parameters


def _probability(op: str, p: Any) -> float:
    if isinstance(p, (int, float, np.number)) and 0 <= p <= 1:
        return float(p)
    raise ArgumentError("E2006", f"a probability is from 0 to 1, got {p!r}", op=op)


def _positive(op: str, name: str, value: Any) -> Any:
    if hasattr(value, "uop") or value > 0:
        return value
    raise ArgumentError("E2006", f"{name} is above 0, got {value!r}", op=op)


def _check_float(op: str, x: Any) -> None:
    if not x.dtype.is_float:
        problem = f"takes floats, not {x.dtype.name}"
        raise DTypeError("E2005", problem, op=op, operands=[("x", x)])


def _result_dtype(op: str, x: Any) -> DType:
    if x.dtype.is_complex:
        raise DTypeError("E2005", "draws real numbers", op=op, operands=[("x", x)])
    return to_float(x.dtype)


def _parameter(x: Any, value: Any, dtype: DType) -> UOp:
    """A number or a tensor in the shape of the result."""
    if hasattr(value, "uop"):
        return value.uop.cast(dtype).expand(x.shape)
    return OPS["const"](value, dtype, x.shape, x.device)


def _wrapped(x: Any, node: UOp, *parameters: Any) -> Any:
    """A result that requires a gradient as its parameters do."""
    flags = [p._requires_grad for p in parameters if hasattr(p, "uop")]
    return Lifter(type(x)).wrap(node, flags)


def _uniform(x: Any, shape: Shape, dtype: DType) -> UOp:
    return key_node(x.device).random_uniform(shape, dtype)


# ---- rejection


def _first(accepted: UOp, values: UOp, otherwise: UOp) -> UOp:
    """Along the first axis, the value of the first accepted round; else another value."""
    rounds = accepted.shape[0]
    number = positions(rounds, 0, len(accepted.shape), accepted.device).expand(accepted.shape)
    first = accepted.where(number, rounds).min(0)
    chosen = number.eq(first).where(values, 0).reduce_sum(0)
    return (first < rounds).where(chosen, otherwise)


def _marsaglia_tsang(x: Any, alpha: UOp, rounds: int = 10) -> UOp:
    """Gamma with alpha ≥ 1 and rate 1: d v where v = (1 + z / √(9d))³, d = alpha - 1/3."""
    d = alpha - 1 / 3
    shape = (rounds, *x.shape)
    normal = key_node(x.device).random_normal(shape, _WIDE)
    uniform = 1 - _uniform(x, shape, _WIDE)
    root = normal / (d * 9).sqrt() + 1
    v = root * root * root
    bound = normal * normal * 0.5 + d - d * v + d * (v > 0).where(v, 1).log()
    accepted = (v > 0) & (uniform.log() < bound)
    return d * _first(accepted, v, OPS["const"](1, _WIDE, x.shape, x.device))


_TERMS = 60  # P(k ≥ 60) for a rate of 10 is 1e-26, far below the 2**-53 steps of a uniform


def _inverted_poisson(x: Any, rate: UOp) -> UOp:
    """Counts for rates in [0, 10): how many steps of the distribution function a uniform passes."""
    column = (_TERMS, *[1] * len(x.shape))
    k = positions(_TERMS, 0, len(column), x.device).cast(_WIDE)
    inverse = np.exp([-lgamma(i + 1) for i in range(_TERMS)]).reshape(column)
    chance = rate.pow(k) * stored(inverse, x.device) * (-rate).exp()
    passed = _uniform(x, x.shape, _WIDE) >= chance.scan_sum(0)
    return passed.cast(_WIDE).reduce_sum(0)


def _rejected_poisson(x: Any, rate: UOp, rounds: int = 20) -> UOp:
    """Counts for rates ≥ 10; the constants are Hörmann's."""
    shape = (rounds, *x.shape)
    u, v = _uniform(x, shape, _WIDE) - 0.5, _uniform(x, shape, _WIDE)
    b = rate.sqrt() * 2.53 + 0.931
    a = b * 0.02483 - 0.059
    inner = 0.5 - u.abs()
    k = ((a * 2 / inner + b) * u + rate + 0.43).floor()
    steep = 1.1239 + 1.1328 / (b - 3.4)
    height = (v * steep / (a / (inner * inner) + b)).log()
    whole = k.maximum(0)
    likely = height <= whole * rate.log() - rate - (whole + 1).lgamma()
    squeezed = (inner >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
    outside = (k < 0) | ((inner < 0.013) & (v > inner))
    accepted = squeezed | (outside.logical_not() & likely)
    return _first(accepted, whole, rate.floor())


# ---- choices


def _check_multinomial(x: Any, num_samples: int, replacement: bool) -> None:
    op, operands = "multinomial", [("weights", x)]
    if x.ndim not in (1, 2):
        raise ShapeError("E3002", "weights are a vector or a matrix", op=op, operands=operands)
    if isinstance(num_samples, bool) or not isinstance(num_samples, int) or num_samples < 1:
        problem = f"num_samples is an int ≥ 1, got {num_samples!r}"
        raise ShapeError("E3006", problem, op=op, operands=operands)
    few = 1 if replacement else num_samples
    if x.shape[-1] < few:
        problem = f"{num_samples} samples without replacement from {x.shape[-1]}"
        raise ShapeError("E3006", problem, op=op, operands=operands, help="replacement=True")
    if x.dtype.is_complex:
        raise DTypeError("E2005", "weights are real", op=op, operands=operands)
    if is_known(x.uop) and isinstance(x.uop.device, str):
        _check_weights(x, np.asarray(known_value(x.uop)).astype(np.float64), few)


def _check_weights(x: Any, values: Any, few: int) -> None:
    """Raise for weights of which no distribution can be made, where their values are known."""
    op, operands = "multinomial", [("weights", x)]
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        place = [int(i) for i in np.argwhere(wrong)[0]]
        problem = f"the weight {values[wrong][0]} at {place} is not finite and 0 or more"
        raise ArgumentError("E2006", problem, op=op, operands=operands, help="for example .exp()")
    enough = (values > 0).sum(-1) >= few
    if not enough.all():
        row = "" if values.ndim == 1 else f" of row {int(np.argmin(enough))}"
        problem = f"fewer than {few} weights{row} are above 0"
        raise ArgumentError("E2006", problem, op=op, operands=operands)


def _with_replacement(x: Any, weight: UOp, count: int) -> UOp:
    rows, n = weight.shape
    running = weight.scan_sum(1)
    share = running / running.shrink(((0, rows), (n - 1, n)))
    passed = _uniform(x, (rows, count, 1), _WIDE) >= share.reshape(rows, 1, n)
    return passed.cast(dtypes.int32).reduce_sum(2)


def _without_replacement(x: Any, weight: UOp, count: int) -> UOp:
    """The smallest of exponentials whose rates are the weights; a weight of 0 comes last."""
    waiting = -(1 - _uniform(x, weight.shape, _WIDE)).log() / weight
    order = (weight > 0).where(waiting, float("inf")).argsort(1)
    return order.shrink(((0, weight.shape[0]), (0, count)))


# ---- attention, spelled out for dropout between its parts


def _shared_heads(q: Any, t: Any) -> Any:
    """Each head of keys or values repeated for the group of queries that shares it."""
    if q.ndim < 3 or t.ndim < 3 or not t.shape[-3] or q.shape[-3] % t.shape[-3]:
        problem = "the heads of the queries are a multiple of those of keys and values"
        operands = [("q", q), ("kv", t)]
        op = "scaled_dot_product_attention"
        raise ShapeError("E3003", problem, op=op, operands=operands)
    return t.repeat_interleave(q.shape[-3] // t.shape[-3], dim=-3)


def _attention_weights(q: Any, key: Any, value: Any, mask: Any, is_causal: bool) -> Any:
    keep = None if mask is None else mask.uop
    check_attention(q.uop, key.uop, value.uop, keep, is_causal)
    wide = promote(promote(q.dtype, key.dtype), dtypes.float32)
    scores = (q.cast(wide) @ key.cast(wide).transpose(-2, -1)) * (1 / sqrt(q.shape[-1]))
    return type(q)(attention_weights(scores.uop, keep, is_causal).cast(q.dtype))
