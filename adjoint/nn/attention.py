"""MultiheadAttention: attention of queries to keys and values, in several heads.

Arguments, parameters, masks and results are PyTorch's. Further options are keywords: fewer heads
for keys and values than for queries (`num_kv_heads`), rotary positions (`rope`), and a cache for
decoding (`cache=` in a call). Elsewhere: masks (`attention_masks.py`), and attention itself, which
is a record (`scaled_dot_product_attention`).
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from adjoint.errors import ShapeError
from adjoint.ir.dtype import dtypes, promote
from adjoint.nn import init
from adjoint.nn.attention_masks import OP, Extents, joined, widened
from adjoint.nn.checks import check_float, check_positive, check_probability
from adjoint.nn.kv_cache import KVCache
from adjoint.nn.linear import Linear
from adjoint.nn.module import Module, Parameter
from adjoint.nn.positional_encodings import RotaryEmbedding
from adjoint.tensor import Tensor
from adjoint.tensor.types import DTypeLike


class MultiheadAttention(Module):
    """`softmax(q kᵀ / √head_dim) v` per head, on linear maps of query, key and value.

    `add_bias_kv` appends a learned key and value, `add_zero_attn` zeros; `dropout` is that of the
    weights. A bool mask is true where attention is *not* allowed; a float mask is added to the
    scores. A query that may attend to no key gets zeros.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
        *,
        num_kv_heads: int | None = None,
        rope: RotaryEmbedding | None = None,
    ):
        groups = num_heads if num_kv_heads is None else num_kv_heads
        _check_heads(embed_dim, num_heads, groups)
        self.embed_dim, self.num_heads, self.num_kv_heads = embed_dim, num_heads, groups
        self.head_dim = embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.dropout, self.batch_first = check_probability(OP, dropout), batch_first
        self.add_zero_attn, self.rope = add_zero_attn, rope
        if rope is not None and rope.dim != self.head_dim:
            problem = f"rope turns {rope.dim} features, a head has {self.head_dim}"
            raise ShapeError("E3003", problem, op=OP)
        named: dict[str, Any] = {"device": device, "dtype": dtype}
        self._make_projections(bias, add_bias_kv, named)
        self.out_proj = Linear(embed_dim, embed_dim, bias, **named)
        if bias:
            self.out_proj.bias = Parameter(init.zeros(embed_dim, **named))

    def _make_projections(self, bias: bool, add_bias_kv: bool, named: dict[str, Any]) -> None:
        """Glorot's uniform for weights, as one matrix where all inputs have one size; no bias."""
        own, few = self.embed_dim, self.num_kv_heads * self.head_dim
        if self._is_packed:
            self.in_proj_weight = Parameter(init.xavier_uniform((own + 2 * few, own), **named))
        else:
            self.q_proj_weight = Parameter(init.xavier_uniform((own, own), **named))
            self.k_proj_weight = Parameter(init.xavier_uniform((few, self.kdim), **named))
            self.v_proj_weight = Parameter(init.xavier_uniform((few, self.vdim), **named))
        self.in_proj_bias = Parameter(init.zeros(own + 2 * few, **named)) if bias else None
        shape = (1, 1, few)
        self.bias_k = Parameter(init.xavier_normal(shape, **named)) if add_bias_kv else None
        self.bias_v = Parameter(init.xavier_normal(shape, **named)) if add_bias_kv else None

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
        *,
        cache: KVCache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """(the attention output, the attention weights or None).

        Inputs are (length, batch, features), with `batch_first` (batch, length, features), or
        (length, features); key is the query and value the key if absent. `is_causal` hides keys
        that come later, with a mask beside it or without. With a cache, keys and values are added
        to it, and each query sees all that is in it up to its own position.
        """
        key = query if key is None else key
        value = key if value is None else value
        self._check_inputs(query, key, value)
        offset = 0 if cache is None else +cache.length
        q, k, v = (self._in_heads(t) for t in self._projected(query, key, value))
        if self.rope is not None:
            q, k = self.rope(q, offset), self.rope(k, offset)
        if cache is not None:
            k, v = cache.update(k, v)
        lengths = (q.shape[2], k.shape[2])
        sizes = Extents(q.shape[0], self.num_heads, *lengths, query.ndim == 3, q.device)
        mask = joined(sizes, attn_mask, key_padding_mask, is_causal, cache)
        k, v, mask = self._extended(k, v, mask)
        only_causal = is_causal and attn_mask is key_padding_mask is cache is None
        plain = only_causal and k.shape[2] == sizes.keys
        gathered, weights = self._attend(q, k, v, mask, plain, need_weights)
        return self._out(gathered, sizes), self._shown(weights, average_attn_weights, sizes)

    # ---- into heads and out of them

    def _check_inputs(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        operands = [("query", query), ("key", key), ("value", value)]
        for _, x in operands:
            check_float(OP, x)
        if query.ndim not in (2, 3) or {key.ndim, value.ndim} != {query.ndim}:
            problem = "query, key and value all have 3 axes, or 2 without a batch"
            raise ShapeError("E3002", problem, op=OP, operands=operands)
        sizes = (self.embed_dim, self.kdim, self.vdim)
        for (name, x), size in zip(operands, sizes, strict=True):
            if x.shape[-1] != size:
                problem = f"{name} has {x.shape[-1]} features, not {size}"
                raise ShapeError("E3003", problem, op=OP, operands=operands)
        batches = {x.shape[0 if self.batch_first else 1] for x in (query, key, value)}
        if (query.ndim == 3 and len(batches) > 1) or key.shape[:-1] != value.shape[:-1]:
            problem = "one batch for all, and one value per key"
            raise ShapeError("E3003", problem, op=OP, operands=operands)

    def _laid(self, x: Tensor) -> Tensor:
        """(batch, length, features)."""
        if x.ndim == 2:
            return x.unsqueeze(0)
        return x if self.batch_first else x.transpose(0, 1)

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        """Query, key and value in all heads; one product where they are the same tensor."""
        own, few = self.embed_dim, self.num_kv_heads * self.head_dim
        bounds = [(0, own), (own, own + few), (own + few, own + 2 * few)]
        if query is key and key is value and self._is_packed:
            if self.in_proj_weight.ndim == 3:
                return self._unpacked(self._laid(query))
            y = self._laid(query).linear(self.in_proj_weight.T, self.in_proj_bias)
            return [y[..., a:b] for a, b in bounds]
        weights = self._weights(bounds)
        biases = self._biases(bounds)
        inputs = zip((query, key, value), weights, biases, strict=True)
        return [self._laid(x).linear(w.T, b) for x, w, b in inputs]

    @property
    def _is_packed(self) -> bool:
        return self.kdim == self.vdim == self.embed_dim

    def unpack(self) -> None:
        """Keep the matrices of query, key and value as (3, size, size): each of them can then be
        spread over devices by its heads, which the rows of one matrix for all three cannot."""
        size = self.embed_dim
        if not self._is_packed or self.num_kv_heads != self.num_heads:
            problem = "query, key and value differ in size, so that they are not one tensor"
            raise ShapeError("E3003", problem, op=OP)
        self.in_proj_weight = Parameter(self.in_proj_weight.detach().reshape(3, size, size))
        if self.in_proj_bias is not None:
            self.in_proj_bias = Parameter(self.in_proj_bias.detach().reshape(3, size))

    def _unpacked(self, x: Tensor) -> list[Tensor]:
        """One product for all three, so that its gradient is summed up once."""
        y = Tensor.einsum("ble,koe->kblo", x, self.in_proj_weight)
        if self.in_proj_bias is not None:
            y = y + self.in_proj_bias.reshape(3, 1, 1, -1)
        return [y[i] for i in range(3)]

    def _biases(self, bounds: list[tuple[int, int]]) -> list[Tensor | None]:
        bias = self.in_proj_bias
        if bias is None:
            return [None] * 3
        return [bias[a:b] for a, b in bounds] if bias.ndim == 1 else [bias[i] for i in range(3)]

    def _weights(self, bounds: list[tuple[int, int]]) -> list[Tensor]:
        if self._is_packed and self.in_proj_weight.ndim == 3:
            return [self.in_proj_weight[i] for i in range(3)]
        if self._is_packed:
            return [self.in_proj_weight[a:b] for a, b in bounds]
        return [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]

    def _in_heads(self, x: Tensor) -> Tensor:
        """(batch, heads, length, head_dim)."""
        return x.reshape(*x.shape[:2], x.shape[2] // self.head_dim, self.head_dim).transpose(1, 2)

    def _extended(
        self, k: Tensor, v: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """The learned key and value and the zeros behind all others; nothing hides them."""
        before = k.shape[2]
        if self.bias_k is not None and self.bias_v is not None:
            shape = (k.shape[0], self.num_kv_heads, 1, self.head_dim)
            last = [b.reshape(1, *shape[1:]).expand(shape) for b in (self.bias_k, self.bias_v)]
            k, v = k.cat(last[0], dim=2), v.cat(last[1], dim=2)
        if self.add_zero_attn:
            k, v = (t.pad(((0, 0), (0, 0), (0, 1), (0, 0))) for t in (k, v))
        return k, v, widened(mask, k.shape[2] - before)

    # ---- attention

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, wanted: bool
    ) -> tuple[Tensor, Tensor | None]:
        """What is gathered, and the weights where the caller asks for them."""
        drops = self.dropout > 0 and self.training
        weights = self._soft_weights(q, k, mask) if wanted or drops else None
        if drops and weights is not None:
            with Tensor.train(True):
                weights = weights.dropout(self.dropout)
            return weights @ self._shared(v), weights if wanted else None
        shared = self.num_kv_heads != self.num_heads
        keep = mask.logical_not() if mask is not None and mask.dtype.is_bool else mask
        keep = None if causal else keep
        y = q.scaled_dot_product_attention(k, v, keep, is_causal=causal, enable_gqa=shared)
        return y, weights

    def _shared(self, x: Tensor) -> Tensor:
        """A head of keys or values for every head of queries."""
        return x.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)

    def _soft_weights(self, q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
        """(batch, heads, queries, keys); a query that may look at nothing has zeros."""
        wide = promote(q.dtype, dtypes.float32)
        turned = self._shared(k).cast(wide).transpose(-2, -1)
        scores = (q.cast(wide) @ turned) * (1 / sqrt(self.head_dim))
        if mask is None:
            return scores.softmax(-1).cast(q.dtype)
        minus = -float("inf")
        scores = mask.where(minus, scores) if mask.dtype.is_bool else scores + mask
        empty = scores.eq(minus).all(-1, True)  # its softmax would be NaN, and so its gradient
        return empty.where(0, empty.where(0, scores).softmax(-1)).cast(q.dtype)

    def _out(self, gathered: Tensor, sizes: Extents) -> Tensor:
        flat = gathered.transpose(1, 2).reshape(sizes.batch, sizes.queries, self.embed_dim)
        y = self.out_proj(flat)
        if not sizes.batched:
            return y.squeeze(0)
        return y if self.batch_first else y.transpose(0, 1)

    def _shown(self, weights: Tensor | None, average: bool, sizes: Extents) -> Tensor | None:
        if weights is None:
            return None
        shown = weights.mean(1) if average else weights
        return shown if sizes.batched else shown.squeeze(0)

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        few = self.num_kv_heads
        shared = "" if few == self.num_heads else f", num_kv_heads={few}"
        return f"{self.embed_dim}, {self.num_heads}{shared}"


def _check_heads(embed_dim: int, num_heads: int, groups: int) -> None:
    check_positive(OP, embed_dim=embed_dim, num_heads=num_heads, num_kv_heads=groups)
    if embed_dim % num_heads:
        problem = f"{num_heads} heads do not divide embed_dim={embed_dim}"
        raise ShapeError("E3006", problem, op=OP, help="embed_dim is a multiple of num_heads")
    if num_heads % groups:
        problem = f"num_kv_heads={groups} does not divide num_heads={num_heads}"
        raise ShapeError("E3006", problem, op=OP)
