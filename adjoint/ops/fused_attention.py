"""Attention as kernels compute it whole: words that a compiled program has in place of `attention`.

q is (batch, heads, queries, features); key and value have as many heads, or fewer that several of q
share. Results lie with heads inside of rows, (batch, rows, heads, features), as most models go on
with them. What may live here: types and meaning. What may not: when they are used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.arg import Arg
from adjoint.ir.derivative import NotDifferentiable
from adjoint.ir.dtype import dtypes
from adjoint.ir.kernel_kind import Whole
from adjoint.ir.opdef import OpDef, internal
from adjoint.ir.uop import UOp

Array = np.ndarray[Any, Any]


class FusedAttentionArg(Arg):
    """Scores are multiplied by the scale; a causal query sees keys up to its own place."""

    scale: float
    is_causal: bool


def _moved(x: Any) -> Array:
    """Heads outside of rows, or inside: either way."""
    return np.ascontiguousarray(np.swapaxes(np.asarray(x), 1, 2))


def _weights(q: Array, key: Array, scale: float, is_causal: bool) -> tuple[Array, Array]:
    """Weights and the logarithms of the sums that they were divided by, in float64."""
    wide = np.repeat(key.astype(np.float64), q.shape[1] // key.shape[1], 1)
    scores = scale * (q.astype(np.float64) @ np.swapaxes(wide, 2, 3))
    if is_causal:
        rows, columns = scores.shape[2:]
        scores = np.where(np.arange(columns) <= np.arange(rows)[:, None], scores, -np.inf)
    most = scores.max(-1, keepdims=True)
    sums = np.exp(scores - most).sum(-1, keepdims=True)
    lse = most + np.log(sums)
    return np.exp(scores - lse), lse[..., 0]


def _forward_reference(q: Any, key: Any, value: Any, scale: float, is_causal: bool) -> Any:
    weights, lse = _weights(q, key, scale, is_causal)
    wide = np.repeat(np.asarray(value, np.float64), q.shape[1] // key.shape[1], 1)
    return _moved(weights @ wide).astype(q.dtype), lse.astype(np.float32)


def _scores_back(
    q: Any, key: Any, value: Any, g: Any, delta: Any, scale: float, is_causal: bool
) -> tuple[Array, Array, Array]:
    """Weights, the cotangent of scores before they were scaled, and that of o, in float64; `delta`
    are the sums of g * o along rows."""
    weights, _ = _weights(q, key, scale, is_causal)
    wide = np.repeat(np.asarray(value, np.float64), q.shape[1] // key.shape[1], 1)
    back = np.asarray(g, np.float64)
    inside = back @ np.swapaxes(wide, 2, 3) - np.asarray(delta, np.float64)[..., None]
    return weights, weights * inside * scale, back


def _queries_reference(
    q: Any, key: Any, value: Any, g: Any, o: Any, lse: Any, scale: float, is_causal: bool
) -> Any:
    delta = (np.asarray(g, np.float64) * np.asarray(o, np.float64)).sum(-1)
    _, scores, _ = _scores_back(q, key, value, g, delta, scale, is_causal)
    wide = np.repeat(np.asarray(key, np.float64), q.shape[1] // key.shape[1], 1)
    return _moved(scores @ wide).astype(q.dtype), delta.astype(np.float32)


def _keys_reference(
    q: Any, key: Any, value: Any, g: Any, lse: Any, delta: Any, scale: float, is_causal: bool
) -> Any:
    weights, scores, back = _scores_back(q, key, value, g, delta, scale, is_causal)
    dk, dv = (
        np.swapaxes(scores, 2, 3) @ np.asarray(q, np.float64),
        np.swapaxes(weights, 2, 3) @ back,
    )
    return _of_groups(dk, key), _of_groups(dv, key)


def _of_groups(x: Array, key: Any) -> Array:
    """The sum over heads of q that share one of key."""
    batch, heads, rows, features = key.shape
    summed = x.reshape(batch, heads, -1, rows, features).sum(2)
    return _moved(summed).astype(key.dtype)


def _in_rows(x: UOp) -> tuple[Any, ...]:
    batch, heads, rows, features = x.shape
    return batch, rows, heads, features


def _forward_type(src: tuple[UOp, ...], arg: Any) -> tuple[Any, Any]:
    q = src[0]
    return (_in_rows(q), q.shape[:3]), (q.dtype, dtypes.float32)


def _keys_type(src: tuple[UOp, ...], arg: Any) -> tuple[Any, Any]:
    return (_in_rows(src[1]), _in_rows(src[2])), (src[1].dtype, src[2].dtype)


def _record(name: str, doc: str, infer: Any, reference: Any, strided: int) -> OpDef:
    def call(*x: UOp, scale: float, is_causal: bool) -> UOp:
        return UOp(record, x, FusedAttentionArg(scale, is_causal))

    record = internal(
        name,
        doc,
        "primitive",
        call=call,
        infer=infer,
        arg=FusedAttentionArg,
        ad=NotDifferentiable("made when a program is compiled, behind all derivatives"),
        reference=reference,
        opcode=False,
        kernel=Whole(strided),
    )
    return record


fused_attention = _record(
    "fused_attention",
    "softmax(scale q keyᵀ) value, and the logarithm of every row's sum.",
    _forward_type,
    _forward_reference,
    strided=3,
)
fused_attention_queries = _record(
    "fused_attention_queries",
    "The gradient of q, and the sums of g * o along rows; operands: q, key, value, g, o, logarithms.",
    _forward_type,
    _queries_reference,
    strided=5,
)
fused_attention_keys = _record(
    "fused_attention_keys",
    "The gradients of key and value; operands: q, key, value, g, the logarithms, those sums.",
    _keys_type,
    _keys_reference,
    strided=4,
)
