"""Normalisations, attention, and the similarities that are made of norms.

Statistics are kept in float32 or wider; the result has the operand's dtype.
"""

from __future__ import annotations

from math import inf, prod, sqrt
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, DTypeError, ShapeError
from adjoint.ir.batch import Flags, Sources, broadcast_batch
from adjoint.ir.broadcast import broadcast_shapes
from adjoint.ir.derivative import Jvp, ThroughBody
from adjoint.ir.dtype import DType, accumulator, promote, to_float
from adjoint.ir.opdef import Bad, composite, derived
from adjoint.ir.precision import full, low
from adjoint.ir.uop import UOp
from adjoint.ops.indexing import positions
from adjoint.ops.movement import checked_axes, checked_axis
from adjoint.ops.samples import SPECIAL, given, real, rough
from adjoint.target import targets_of

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


def _wide(x: UOp) -> UOp:
    return x.cast(to_float(accumulator(x.dtype)))


def _mean(x: UOp, axes: Shape) -> UOp:
    return x.reduce_sum(axes, True) / prod(x.shape[a] for a in axes)


def _scale(x: UOp, axes: Shape, eps: float) -> UOp:
    """1 / √(mean square + eps)."""
    return (_mean(x * x, axes) + eps).rsqrt()


def _layernorm_jvp(t: Any, y: UOp, x: UOp, axis: Any, eps: float) -> UOp:
    """σ⁻¹ (t - mean(t) - y mean(y t))."""
    axes = checked_axes("layernorm", axis, x)
    tangent, z, wide = _wide(t[0]), _wide(y), _wide(x)
    scale = _scale(wide - _mean(wide, axes), axes, eps)
    return (scale * (tangent - _mean(tangent, axes) - z * _mean(z * tangent, axes))).cast(y.dtype)


def _layernorm_reference(x: Array, axis: Any = -1, eps: float = 1e-5) -> Array:
    x = x.astype(np.float64)
    if x.ndim == 0:
        return np.zeros(())
    mean, var = np.mean(x, axis, keepdims=True), np.var(x, axis, keepdims=True)
    return (x - mean) / np.sqrt(var + eps)


_NORM_SAMPLES = given(
    (real(2, 3),),
    (real(2, 3, 4), -1),
    (real(2, 3, 4), (1, 2)),
    (real(2, 3, 4), 0, 0.1),
    (real(3),),
    (real(),),
    (real(0, 3),),
    (np.full((2, 3), 2.0),),
    rough(SPECIAL[:7].reshape(1, 7)),
)
_AXIS_ERRORS = (
    Bad("E3004", (real(2, 3), 2), match="axis 2"),
    Bad("E3005", (real(2, 3), (1, -1)), match="duplicate"),
)


@composite(
    reference=_layernorm_reference,
    samples=_NORM_SAMPLES,
    ad=Jvp(_layernorm_jvp),
    kinds="biuf",
    errors=_AXIS_ERRORS,
    precision=full,
)
def layernorm(x: UOp, axis: Any = -1, eps: float = 1e-5) -> UOp:
    """x with mean 0 and variance 1 along `axis` (an int or a tuple): (x - mean) / √(var + eps)."""
    axes = checked_axes("layernorm", axis, x)
    centred = _wide(x) - _mean(_wide(x), axes)
    return (centred * _scale(centred, axes, eps)).cast(to_float(x.dtype))


def _rmsnorm_jvp(t: Any, y: UOp, x: UOp, axis: Any, eps: float) -> UOp:
    """r⁻¹ (t - y mean(y t))."""
    axes = checked_axes("rmsnorm", axis, x)
    tangent, z = _wide(t[0]), _wide(y)
    return (_scale(_wide(x), axes, eps) * (tangent - z * _mean(z * tangent, axes))).cast(y.dtype)


def _rmsnorm_reference(x: Array, axis: Any = -1, eps: float = 1e-6) -> Array:
    x = x.astype(np.float64)
    if x.ndim == 0:
        return np.asarray(x / np.sqrt(x * x + eps))
    return x / np.sqrt(np.mean(x**2, axis, keepdims=True) + eps)


@composite(
    reference=_rmsnorm_reference,
    samples=_NORM_SAMPLES,
    ad=Jvp(_rmsnorm_jvp),
    kinds="biuf",
    errors=_AXIS_ERRORS,
    precision=full,
)
def rmsnorm(x: UOp, axis: Any = -1, eps: float = 1e-6) -> UOp:
    """x divided by its root mean square along `axis`: x / √(mean(x²) + eps)."""
    axes = checked_axes("rmsnorm", axis, x)
    return (_wide(x) * _scale(_wide(x), axes, eps)).cast(to_float(x.dtype))


def _batchnorm_reference(
    x: Array, weight: Any, bias: Any, mean: Array, invstd: Array, axis: Any = 1
) -> Array:
    axes = [a % x.ndim for a in (axis if isinstance(axis, tuple) else (axis,))]
    shape = [n if a in axes else 1 for a, n in enumerate(x.shape)]
    scale = invstd.reshape(shape) if invstd.ndim == len(axes) else invstd
    y = (x - mean.reshape(shape)) * scale
    y = y if weight is None else y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)


@composite(
    reference=_batchnorm_reference,
    samples=lambda: [
        (real(2, 3, 4), real(3), real(3, seed=1), real(3, seed=2), real(3, lo=0.5, seed=3)),
        (real(2, 3), None, None, real(3, seed=2), real(3, lo=0.5, seed=3)),
        (real(2, 3), real(3), None, real(3, seed=2), real(3, lo=0.5, seed=3)),
        (real(2, 3), None, real(2), real(2, seed=2), real(2, lo=0.5, seed=3), 0),
        (real(2, 3, 2), None, real(2), real(2, seed=2), real(2, lo=0.5, seed=3), -1),
        (real(2, 3, 2), None, None, real(2, 3, seed=2), real(2, 3, seed=3), (0, 1)),
        (real(2, 3, 2), None, None, real(3, seed=2), real(2, 3, 1, lo=0.5, seed=3)),
        (real(0, 3), None, None, real(3, seed=2), real(3, seed=3)),
    ],
    kinds="f",
    errors=(
        Bad("E2007", (real(2, 3), None, None, real(3)), match="invstd"),
        Bad("E3003", (real(2, 3), None, None, real(2), real(3)), match="mean"),
        Bad("E3003", (real(2, 3), real(2), None, real(3), real(3)), match="weight"),
        Bad("E3004", (real(2, 3), None, None, real(3), real(3), 2), match="axis 2"),
    ),
    precision=full,
)
def batchnorm(
    x: UOp,
    weight: UOp | None = None,
    bias: UOp | None = None,
    mean: UOp | None = None,
    invstd: UOp | None = None,
    axis: Any = 1,
) -> UOp:
    """(x - mean) * weight * invstd + bias, each with one value per element of `axis`."""
    if mean is None or invstd is None:
        raise ArgumentError("E2007", "takes mean and invstd", op="batchnorm")
    axes = checked_axes("batchnorm", axis, x)
    y = x - _along(x, "mean", mean, axes)
    if weight is not None:
        y = y * _along(x, "weight", weight, axes)
    y = y * (_along(x, "invstd", invstd, axes) if invstd.ndim == len(axes) else invstd)
    return y if bias is None else y + _along(x, "bias", bias, axes)


def _along(x: UOp, what: str, value: UOp, axes: Shape) -> UOp:
    shape = tuple(n if a in axes else 1 for a, n in enumerate(x.shape))
    if value.size != prod(shape):
        problem = f"{what} has one value per element of axes {axes}: {prod(shape)}"
        raise ShapeError("E3003", problem, op="batchnorm", operands=[("x", x), (what, value)])
    return value.reshape(shape)


def _group_norm_reference(
    x: Array, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Array:
    out, each = np.zeros(x.shape), x.shape[1] // num_groups
    for n, g in np.ndindex(x.shape[0], num_groups):
        part = x[n, g * each : (g + 1) * each].astype(np.float64)
        out[n, g * each : (g + 1) * each] = (part - part.mean()) / np.sqrt(part.var() + eps)
    shape = (-1, *[1] * (x.ndim - 2))
    out = out if weight is None else out * weight.reshape(shape)
    return out if bias is None else out + bias.reshape(shape)


@derived(
    reference=_group_norm_reference,
    samples=lambda: [
        (real(2, 4, 3), 2),
        (real(2, 4), 2, real(4, seed=1), real(4, seed=2)),
        (real(1, 2, 2, 3), 1, real(2, seed=1), None, 0.1),
        (real(0, 4, 3), 2),
    ],
    kinds="f",
    errors=(
        Bad("E3003", (real(2, 4, 3), 3), match="3 groups"),
        Bad("E3003", (real(2, 4, 3), 2, real(2)), match="per channel"),
        Bad("E3002", (real(4), 2), match="rank"),
    ),
    precision=full,
)
def group_norm(
    x: UOp,
    num_groups: int,
    weight: UOp | None = None,
    bias: UOp | None = None,
    eps: float = 1e-5,
) -> UOp:
    """(N, C, *) normalised within each of `num_groups` groups of channels, then weight and bias."""
    _check_channels("group_norm", x, 2)
    batch, channels = x.shape[:2]
    if num_groups < 1 or channels % num_groups:
        problem = f"{channels} channels do not divide into {num_groups} groups"
        raise ShapeError("E3003", problem, op="group_norm", x=x)
    rest = prod(x.shape[2:])
    groups = x.reshape(batch, num_groups, channels // num_groups * rest)
    return _affine("group_norm", groups.layernorm(-1, eps).reshape(x.shape), weight, bias)


def _check_channels(op: str, x: UOp, least: int) -> None:
    if x.ndim < least:
        problem = f"takes (N, C, *) of rank {least} or more, got rank {x.ndim}"
        raise ShapeError("E3002", problem, op=op, x=x)


def _affine(op: str, y: UOp, weight: UOp | None, bias: UOp | None) -> UOp:
    for what, value in (("weight", weight), ("bias", bias)):
        if value is not None and value.shape != y.shape[1:2]:
            problem = f"{what} has one value per channel: {y.shape[1]}"
            raise ShapeError("E3003", problem, op=op, operands=[("x", y), (what, value)])
    shape = (y.shape[1], *[1] * (y.ndim - 2))
    y = y if weight is None else y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)


@derived(
    reference=lambda x, weight=None, bias=None, eps=1e-5: _group_norm_reference(
        x, x.shape[1], weight, bias, eps
    ),
    samples=lambda: [
        (real(2, 2, 3),),
        (real(1, 2, 2, 3), real(2, seed=1), real(2, seed=2)),
        (real(0, 2, 3), None, real(2)),
    ],
    kinds="f",
    errors=(
        Bad("E3002", (real(2, 3),), match="rank 3"),
        Bad("E3003", (real(2, 4, 3), None, real(2)), match="per channel"),
    ),
    precision=full,
)
def instance_norm(
    x: UOp, weight: UOp | None = None, bias: UOp | None = None, eps: float = 1e-5
) -> UOp:
    """(N, C, *) normalised within each channel of each sample, then weight and bias."""
    _check_channels("instance_norm", x, 3)
    return _affine("instance_norm", x.layernorm(tuple(range(2, x.ndim)), eps), weight, bias)


def _attention_reference(
    q: Array,
    key: Array,
    value: Array,
    mask: Any = None,
    is_causal: bool = False,
    enable_gqa: bool = False,
) -> Array:
    """Row by row: weights exp(q·k / √E), divided by their sum."""
    if enable_gqa:
        key = np.repeat(key, q.shape[-3] // key.shape[-3], -3)
        value = np.repeat(value, q.shape[-3] // value.shape[-3], -3)
    lead = np.broadcast_shapes(q.shape[:-2], key.shape[:-2], value.shape[:-2])
    rows, columns = q.shape[-2], key.shape[-2]
    q, key, value = (np.broadcast_to(a, (*lead, *a.shape[-2:])) for a in (q, key, value))
    mask = None if mask is None else np.broadcast_to(mask, (*lead, rows, columns))
    out = np.zeros((*lead, rows, value.shape[-1]))
    for at in np.ndindex(*lead, rows):
        scores = key[at[:-1]] @ q[at] / np.sqrt(q.shape[-1])
        if mask is not None:
            scores = (
                np.where(mask[at], scores, -np.inf) if mask.dtype == bool else scores + mask[at]
            )
        scores = scores[: at[-1] + 1] if is_causal else scores
        if np.all(scores == -np.inf):
            continue
        weights = np.exp(scores - scores.max())
        out[at] = weights @ value[at[:-1]][: len(weights)] / weights.sum()
    return out


def _attention_samples() -> list[Any]:
    q, k, v = real(1, 2, 3, 2), real(1, 2, 4, 2, seed=1), real(1, 2, 4, 3, seed=2)
    some = np.array([[True, True, False, False], [True, False, True, True], [False] * 4])
    added = np.where(some, 0.5, -np.inf)
    return [
        (q, k, v),
        (real(3, 2), real(4, 2, seed=1), real(4, 3, seed=2)),
        (real(2, 2, 2), real(2, 2, seed=1), real(1, 2, 3, seed=2)),
        (q, k, v, real(3, 4, seed=3)),
        (q, k, v, real(1, 2, 1, 4, seed=3)),
        (q, k, v, some),
        (q, k, v, some[None, None, :, :1]),
        (q, k, v, {"is_causal": True}),
        (real(1, 4, 2, 2), k, v, {"enable_gqa": True}),
        (real(4, 2, 2), k[0], v[0], real(4, 2, 4, seed=3), {"enable_gqa": True}),
        (real(0, 2, 3, 2), real(0, 2, 4, 2), real(0, 2, 4, 3)),
        rough(q, k, v, added),
    ]


def _attention_batched(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
    """One attention with one more leading axis: operands without it are broadcast along it, but q
    has it if a mask does, which is no lead of its scores."""
    rank = max(x.ndim for x in node.src)
    if len(src) > 3 and batched[3]:
        src = (broadcast_batch(src[0], batched[0], size), *src[1:])
        batched = (True, *batched[1:])

    def leading(x: UOp, flag: bool) -> UOp:
        return x.reshape(size, *(1,) * (rank - x.ndim + 1), *x.shape[1:]) if flag else x

    return UOp(node.op, tuple(map(leading, src, batched)), node.arg)


def _is_for_kernels(node: UOp) -> bool:
    """Whether the node's device may have kernels that compute its gradient whole."""
    if node.device is None or node.dtype.bits != 16:
        return False
    return all("attention" in target.whole for target in targets_of(node.device))


@composite(
    reference=_attention_reference,
    samples=_attention_samples,
    kinds="f",
    errors=(
        Bad("E3002", (real(3), real(3, 3), real(3, 3)), match="rank"),
        Bad("E3003", (real(2, 3), real(2, 4), real(2, 4)), match="features"),
        Bad("E3003", (real(2, 3), real(2, 3), real(3, 3)), match="one value per key"),
        Bad("E3001", (real(2, 3), real(2, 3), real(2, 3), real(2, 3)), match="dimension 1"),
        Bad("E2005", (real(2, 3), real(2, 3), real(2, 3), np.ones((2, 2), int)), match="mask"),
        Bad("E2008", (real(2, 3), real(2, 3), real(2, 3), real(2, 2), True), match="is_causal"),
        Bad("E3003", (real(3, 2, 2), real(2, 2, 2), real(2, 2, 2)), {"enable_gqa": True}),
    ),
    ad=ThroughBody(whole=_is_for_kernels),
    batch=_attention_batched,
    precision=low,
)
def attention(
    q: UOp,
    key: UOp,
    value: UOp,
    mask: UOp | None = None,
    is_causal: bool = False,
    enable_gqa: bool = False,
) -> UOp:
    """Scaled dot-product attention: softmax(q keyᵀ / √E + mask) value.

    A bool mask keeps where it is true, a float mask is added; a row with nothing kept gives zeros.
    `is_causal` keeps keys up to the query's position. `enable_gqa` lets a head of key and value
    serve several of q. Scores are kept in float32 or wider.
    """
    check_attention(q, key, value, mask, is_causal)
    dtype = to_float(promote(promote(q.dtype, key.dtype), value.dtype))
    a, b, c = (x.cast(accumulator(dtype)) for x in (q, key, value))
    if enable_gqa:
        a, b, c = _per_group(a, b, c)
    order = (*range(b.ndim - 2), b.ndim - 1, b.ndim - 2)
    scores = a @ b.permute(order) / sqrt(q.shape[-1])
    shape = scores.shape
    if enable_gqa:
        scores = scores.reshape(*shape[:-4], shape[-4] * shape[-3], *shape[-2:])
    weights = attention_weights(scores, mask, is_causal)
    y = (weights.reshape(shape) if enable_gqa else weights) @ c
    if enable_gqa:
        y = y.reshape(*y.shape[:-4], y.shape[-4] * y.shape[-3], *y.shape[-2:])
    return y.cast(dtype)


def check_attention(q: UOp, key: UOp, value: UOp, mask: UOp | None, is_causal: bool) -> None:
    """E2xxx or E3xxx if these are no operands of attention."""
    op, operands = "attention", [("q", q), ("key", key), ("value", value)]
    if min(q.ndim, key.ndim, value.ndim) < 2:
        raise ShapeError("E3002", "operands have rank 2 or more", op=op, operands=operands)
    if q.shape[-1] != key.shape[-1]:
        problem = f"q has {q.shape[-1]} features and key has {key.shape[-1]}"
        raise ShapeError("E3003", problem, op=op, operands=operands)
    if key.shape[-2] != value.shape[-2]:
        problem = f"one value per key: {key.shape[-2]} keys, {value.shape[-2]} values"
        raise ShapeError("E3003", problem, op=op, operands=operands)
    if mask is not None and is_causal:
        raise ArgumentError("E2008", "is_causal and a mask exclude one another", op=op)
    if mask is not None and not (mask.dtype.is_bool or mask.dtype.is_float):
        problem = f"the mask is bool or float, not {mask.dtype.name}"
        raise DTypeError("E2005", problem, op=op, mask=mask)


def _per_group(q: UOp, key: UOp, value: UOp) -> tuple[UOp, UOp, UOp]:
    """Heads of q as (heads of key, queries per head)."""
    heads = [x.shape[-3] if x.ndim > 2 else 0 for x in (q, key, value)]
    if heads[1] != heads[2] or 0 in heads or heads[0] % heads[1]:
        problem = (
            f"{heads[0]} heads of q are no multiple of {heads[1]} of key and {heads[2]} of value"
        )
        raise ShapeError("E3003", problem, op="attention", q=q, key=key, value=value)
    split = q.reshape(*q.shape[:-3], heads[1], heads[0] // heads[1], *q.shape[-2:])
    shared = [x.reshape(*x.shape[:-2], 1, *x.shape[-2:]) for x in (key, value)]
    return split, shared[0], shared[1]


def attention_weights(scores: UOp, mask: UOp | None, is_causal: bool) -> UOp:
    """How much of every value a query gets; a query that may look at nothing gets zeros."""
    if is_causal:
        rank = scores.ndim
        row = positions(scores.shape[-2], rank - 2, rank, scores.device)
        column = positions(scores.shape[-1], rank - 1, rank, scores.device)
        return (column <= row).where(scores, -inf).softmax(-1)
    if mask is None:
        return scores.softmax(-1)
    masked = mask.where(scores, -inf) if mask.dtype.is_bool else scores + mask
    # A row of -inf only would be NaN, here and in the gradient: it is set aside before and after.
    empty = masked.eq(-inf).all(-1, True)
    return empty.where(0, empty.where(0, masked).softmax(-1))


def _cosine_reference(x: Array, other: Array, dim: int = 1, eps: float = 1e-8) -> Array:
    a, b = np.broadcast_arrays(x, other)
    norms = [np.maximum(np.sqrt(np.sum(v.astype(np.float64) ** 2, dim)), eps) for v in (a, b)]
    return np.asarray(np.sum(a.astype(np.float64) * b, dim) / (norms[0] * norms[1]))


@composite(
    reference=_cosine_reference,
    samples=lambda: [
        (real(2, 3), real(2, 3, seed=1)),
        (real(2, 3), real(3, seed=1)),
        (real(2, 3), real(2, 1, seed=1), 0),
        (real(2, 3, 2), real(2, 3, 2, seed=1), -1, 0.5),
        (real(3), real(3, seed=1), {"dim": 0}),
        rough(np.zeros((2, 3)), real(2, 3, seed=1)),
        (real(0, 3), real(0, 3)),
        rough(np.array([[np.nan, 1.0], [1e-30, 0.0]]), real(2, 2, seed=1)),
    ],
    kinds="iuf",
    errors=(
        Bad("E3004", (real(3), real(3)), match="axis 1"),
        Bad("E3001", (real(2, 3), real(2, 4)), match="dimension 1"),
    ),
    precision=full,
)
def cosine_similarity(x: UOp, other: UOp, dim: int = 1, eps: float = 1e-8) -> UOp:
    """x·y / (max(|x|, eps) max(|y|, eps)) along `dim`."""
    shape = broadcast_shapes("cosine_similarity", x, other)
    dtype = to_float(promote(x.dtype, other.dtype))
    a, b = (v.cast(accumulator(dtype)).expand(shape) for v in (x, other))
    axis = checked_axis("cosine_similarity", dim, len(shape), a)
    # max(|x|, eps) as the root of max(x·x, eps²): the gradient at x = 0 is then finite.
    norms = [(v * v).reduce_sum(axis).maximum(eps * eps).sqrt() for v in (a, b)]
    return ((a * b).reduce_sum(axis) / (norms[0] * norms[1])).cast(dtype)


def _distance_reference(
    x: Array, other: Array, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Array:
    apart = np.asarray(x, np.float64) - other + eps
    return np.asarray(np.linalg.norm(apart, p, -1, keepdims=keepdim))


@composite(
    reference=_distance_reference,
    samples=lambda: [
        (real(2, 3), real(2, 3, seed=1)),
        (real(2, 3), real(3, seed=1), 1.0),
        (real(2, 3), real(3, seed=1), 3, 0.1, True),
        (real(2, 3), real(3, seed=1), np.inf),
        (real(2, 3), real(3, seed=1), -np.inf),
        (real(2, 3), real(3, seed=1), 0.5),
        (real(3), real(3, seed=1)),
        (real(0, 3), real(3)),
        rough(np.ones((2, 3)), np.ones((2, 3))),
        rough(real(2, 3), real(3, seed=1), 0.0),
    ],
    kinds="f",
    errors=(
        Bad("E3002", (real(), real()), match="rank"),
        Bad("E3001", (real(2, 3), real(2, 4)), match="dimension 1"),
    ),
    precision=full,
)
def pairwise_distance(
    x: UOp, other: UOp, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> UOp:
    """The p-norm of x - y + eps along the last axis."""
    dtype = to_float(promote(x.dtype, other.dtype))
    apart = (x.cast(accumulator(dtype)) - other.cast(accumulator(dtype)) + eps).abs()
    if not apart.ndim:
        raise ShapeError("E3002", "takes vectors: rank 1 or more", op="pairwise_distance", x=x)
    return _norm(apart, float(p), keepdim, accumulator(dtype)).cast(dtype)


def _norm(size: UOp, p: float, keepdim: bool, dtype: DType) -> UOp:
    if p in (inf, -inf):
        return size.max(-1, keepdim) if p > 0 else size.min(-1, keepdim)
    if p == 0:
        return size.ne(0).cast(dtype).reduce_sum(-1, keepdim)
    if p == 1:
        return size.reduce_sum(-1, keepdim)
    if p == 2:
        return (size * size).reduce_sum(-1, keepdim).sqrt()
    return (size**p).reduce_sum(-1, keepdim) ** (1 / p)
