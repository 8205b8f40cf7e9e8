"""Composites for which a target has its own kernels: which nodes qualify, and as which calls.

Before: attention(q, k, v), gradient_of(q, k, v, g){op: attention, operand: 0}.
After: fused_attention(q, k, v), of which `o` is one result; fused_attention_queries(…).

All other composites become their bodies. What may live here: which nodes qualify, and where their
operands are. What may not: how a kernel computes them (`codegen/nvptx/matrix`).
"""

from __future__ import annotations

from math import prod, sqrt

from adjoint.autodiff.reverse import differentiated, gradient_record
from adjoint.ir.affine import IndexVar, flattened, var
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import attributes
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.kernel.counting import through
from adjoint.ops.composite.normalization import attention
from adjoint.ops.fused_attention import (
    fused_attention,
    fused_attention_keys,
    fused_attention_queries,
)
from adjoint.ops.movement import padded
from adjoint.schedule.layout import base_of, is_of_none
from adjoint.stages import Attention
from adjoint.target import Target

_DTYPES = (dtypes.bfloat16, dtypes.float16)  # that tensor cores multiply as they are
_MOST_FEATURES = 128
_LAST = 2  # of q, k and v; a mask comes behind them
_ALIGNED = 8  # numbers that are copied at once: rows begin at multiples of so many

# The first element of an operand; from batch to batch, head to head, row to row; and within a row.
Place = tuple[int, int, int, int]
Strides = tuple[int, int, int, int, int]


def taken_whole(node: UOp, target: Target) -> UOp | None:
    """The replacement of a composite, instead of its body, on a target that has kernels for it."""
    if node.op is attention and attention.name in target.whole:
        return _forward(node)
    if node.op is gradient_record and node.arg.op in target.whole:
        return _backward(node)
    return None


# ---- attention


def _forward(node: UOp) -> UOp | None:
    operands = _operands(node)
    if operands is None:
        return None
    return _as_was(_fused(node, operands).part(0), node)


def _backward(node: UOp) -> UOp | None:
    inner, g = differentiated(node), node.src[-1]
    operands = _operands(inner)
    if operands is None or node.arg.operand > _LAST:
        return None
    made = _fused(inner, operands)
    q, k, v, *mask = operands
    back = _filled_up(g.cast(q.dtype).reshape(*q.shape[:3], g.shape[-1]))
    o, lse, named = made.part(0).permute((0, 2, 1, 3)), made.part(1), attributes(made)
    first = fused_attention_queries(q, k, v, back, o, lse, *mask, **named)
    if node.arg.operand == 0:
        return _as_was(first.part(0), node)
    both = fused_attention_keys(q, k, v, back, lse, first.part(1), *mask, **named)
    return _as_was(both.part(node.arg.operand - 1), node)


def _as_was(x: UOp, node: UOp) -> UOp:
    """(batch, rows, heads, features) in the shape of the node."""
    features = node.shape[-1]
    if x.shape[-1] != features:
        x = x.shrink([(0, n) for n in (*x.shape[:3], features)])
    return x.permute((0, 2, 1, 3)).reshape(node.shape)


def _fused(node: UOp, operands: tuple[UOp, ...]) -> UOp:
    scale, masked = 1 / sqrt(node.src[0].shape[-1]), len(operands) > _LAST + 1
    how = {"scale": scale, "is_causal": node.arg.is_causal, "mask": masked}
    found: UOp = fused_attention(*operands, **how)
    return found


def _operands(node: UOp) -> tuple[UOp, ...] | None:
    """q, k, v and a mask as kernels take them, (batch, heads, rows, features); None if they do not.
    Axes of a mask along which it is the same are 1."""
    three = node.src[: _LAST + 1]
    if any(x.dtype not in _DTYPES for x in three) or len({x.dtype for x in three}) > 1:
        return None
    if any(varies(*x.shape) for x in node.src):
        return None
    q, k, v = three
    leads = [_lead(x) for x in three]
    alike = leads[0][:-1] == leads[1][:-1] and leads[1] == leads[2]
    if not alike or (leads[0][-1] != leads[1][-1] and not node.arg.enable_gqa):
        return None
    if is_of_vectors(q, k):
        return None
    features = q.shape[-1]
    if not features == v.shape[-1] <= _MOST_FEATURES or 0 in (*q.shape, *k.shape):
        return None
    whole = [
        _filled_up(x.reshape(prod(lead[:-1]), lead[-1], *x.shape[-2:]))
        for x, lead in zip(three, leads, strict=True)
    ]
    if len(node.src) == len(three):
        return tuple(whole)
    mask = _mask(node.src[-1], leads[0])
    return None if mask is None else (*whole, mask)


def is_of_vectors(q: UOp, k: UOp) -> bool:
    """Whether there is one query for each head of keys: its products are with vectors, which are
    sums, so that the whole GPU reads the keys of a head, and not one block."""
    return q.shape[-2] == 1 and _lead(q) == _lead(k)


def _mask(mask: UOp, lead: tuple[int, ...]) -> UOp | None:
    """A mask over (batch, heads, queries, keys); None if it is additive, or its batches cannot be
    one axis. An additive mask may be so large that a sum's logarithm is lost beside it.
    """
    if not mask.dtype.is_bool:
        return None
    wide = (1,) * max(0, len(lead) + 2 - mask.ndim) + mask.shape
    outer, heads = wide[: len(lead) - 1], wide[len(lead) - 1]
    if len(wide) != len(lead) + 2 or (prod(outer) != 1 and outer != lead[:-1]):
        return None
    return mask.reshape(prod(outer), heads, *wide[-2:])


def _lead(x: UOp) -> tuple[int, ...]:
    """The axes before rows and features; there is one at least."""
    return (*x.shape[:-2],) or (1,)


def _filled_up(x: UOp) -> UOp:
    """With zeros behind its features, until rows begin where copies can."""
    missing = -x.shape[-1] % _ALIGNED
    return padded(x, [0] * 4, [0, 0, 0, missing], value=0) if missing else x


# ---- calls


def whole_base(node: UOp, source: UOp) -> UOp:
    """The memory that a kernel reads of an operand: below its views, if kernels can read that."""
    if node.arg.mask and source is node.src[-1]:
        return source if _strides(source) is None else base_of(source)
    strided = node.src[: node.op.kernel.strided]
    return base_of(source) if source in strided and _place(source) is not None else source


def call_of(node: UOp) -> tuple[Attention, tuple[UOp, ...]]:
    """The call that computes a node, and its operands as `whole_base` says."""
    q, k = node.src[:2]
    batch, heads, queries, features = map(int, q.shape)
    shared_by, keys = heads // int(k.shape[1]), int(k.shape[2])
    places = tuple(_place(x) or _own(x)[:4] for x in node.src[: node.op.kernel.strided])
    sizes = (batch, heads, shared_by, queries, keys, features)
    mask = node.src[-1] if node.arg.mask else None
    seen = None if mask is None else _strides(mask) or _own(mask)
    how = (_PARTS[node.op], q.dtype, node.arg.is_causal, float(node.arg.scale))
    call = Attention(*how, *sizes, places, seen)
    return call, tuple(whole_base(node, x) for x in node.src)


_PARTS = {
    fused_attention: "forward",
    fused_attention_queries: "queries",
    fused_attention_keys: "keys",
}


def _own(x: UOp) -> Strides:
    """In memory of its own; 0 along axes of one element."""
    steps = [prod(map(int, x.shape[axis + 1 :])) if x.shape[axis] > 1 else 0 for axis in range(4)]
    return 0, steps[0], steps[1], steps[2], steps[3]


def _place(x: UOp) -> Place | None:
    """The place of a view in the node below, if its features are contiguous and begin at multiples
    of 16 bytes.
    """
    found = _strides(x)
    if found is None or (found[4] != 1 and x.shape[3] > 1):
        return None
    return found[:4] if all(number % _ALIGNED == 0 for number in found[:4]) else None


def _strides(x: UOp) -> Strides | None:
    """The place of a view in the node below, if it is strided."""
    if is_of_none(base_of(x)):
        return None
    counters = [IndexVar(n) for n in x.shape]
    at, node = tuple(map(var, counters)), x
    while node is not base_of(x):
        at, node = through(node, at), node.src[0]
    place = flattened(at, node.shape)
    steps = [place.factor(c) if c.size > 1 else 0 for c in counters]
    if any(step is None or step < 0 for step in steps) or place.const < 0:
        return None
    first, second, third, fourth = (int(step or 0) for step in steps)
    return int(place.const), first, second, third, fourth
