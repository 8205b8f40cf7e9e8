"""Attention as kernels compute it whole: the ops that replace `attention` in a compiled program.

q is (batch, heads, queries, features); key and value have as many heads, or fewer that several of q
share. Results have heads inside rows, (batch, rows, heads, features), as most models continue with
them. What may live here: types and meaning. What may not: when they are used.
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
    """Scores are multiplied by the scale; a causal query sees keys up to its own place. With a mask
    there is one operand more, true where keys are seen, whose axes are those of the scores or 1."""

    scale: float
    is_causal: bool
    mask: bool


def _moved(x: Any) -> Array:
    """Heads outside of rows, or inside: either way."""
    return np.ascontiguousarray(np.swapaxes(np.asarray(x), 1, 2))


def _weights(
    q: Array, key: Array, mask: tuple[Any, ...], arg: FusedAttentionArg
) -> tuple[Array, Array]:
    """Weights and the logarithms of the sums that they were divided by, in float64."""
    scores = arg.scale * (_wide(q) @ np.swapaxes(_spread(key, q), 2, 3))
    if arg.is_causal:
        rows, columns = scores.shape[2:]
        scores = np.where(np.arange(columns) <= np.arange(rows)[:, None], scores, -np.inf)
    if arg.mask:
        scores = np.where(mask[0], scores, -np.inf)
    most = scores.max(-1, keepdims=True)
    empty = (most == -np.inf) & arg.mask
    sums = np.exp(scores - np.where(empty, 0, most)).sum(-1, keepdims=True)
    lse = np.where(empty, np.inf, most + np.log(np.where(empty, 1, sums)))
    return np.exp(scores - lse), lse[..., 0]


def _wide(x: Any) -> Array:
    return np.asarray(x, np.float64)


def _spread(x: Any, q: Any) -> Array:
    """Heads of key or value, each for all heads of q that share it."""
    return np.repeat(_wide(x), q.shape[1] // x.shape[1], 1)


def _forward_reference(q: Any, key: Any, value: Any, *mask: Any, **attributes: Any) -> Any:
    weights, lse = _weights(q, key, mask, FusedAttentionArg(**attributes))
    return _moved(weights @ _spread(value, q)).astype(q.dtype), lse.astype(np.float32)


def _queries_reference(
    q: Any, key: Any, value: Any, g: Any, o: Any, lse: Any, *mask: Any, **attributes: Any
) -> Any:
    arg = FusedAttentionArg(**attributes)
    delta = (_wide(g) * _wide(o)).sum(-1)
    weights, _ = _weights(q, key, mask, arg)
    scores = weights * (_wide(g) @ np.swapaxes(_spread(value, q), 2, 3) - delta[..., None])
    dq = arg.scale * (scores @ _spread(key, q))
    return _moved(dq).astype(q.dtype), delta.astype(np.float32)


def _keys_reference(
    q: Any, key: Any, value: Any, g: Any, lse: Any, delta: Any, *mask: Any, **attributes: Any
) -> Any:
    arg = FusedAttentionArg(**attributes)
    weights, _ = _weights(q, key, mask, arg)
    inside = _wide(g) @ np.swapaxes(_spread(value, q), 2, 3) - _wide(delta)[..., None]
    dk = arg.scale * (np.swapaxes(weights * inside, 2, 3) @ _wide(q))
    return _of_groups(dk, key), _of_groups(np.swapaxes(weights, 2, 3) @ _wide(g), key)


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
    def call(*x: UOp, **attributes: Any) -> UOp:
        return UOp(record, x, FusedAttentionArg(**attributes))

    record = internal(
        name,
        doc,
        "primitive",
        call=call,
        infer=infer,
        arg=FusedAttentionArg,
        ad=NotDifferentiable("made when a program is compiled, behind all derivatives"),
        reference=reference,
        uses_blas=True,
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
    "The gradient of q, and the sums of g * o along rows; from q, key, value, g, o, logarithms.",
    _forward_type,
    _queries_reference,
    strided=5,
)
fused_attention_keys = _record(
    "fused_attention_keys",
    "The gradients of key and value; from q, key, value, g, the logarithms, those sums.",
    _keys_type,
    _keys_reference,
    strided=4,
)
