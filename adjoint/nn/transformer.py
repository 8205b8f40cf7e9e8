"""Transformer layers and stacks of them, with PyTorch's arguments, names and initial values.

Elsewhere: attention (`attention.py`), positions (`positional_encodings.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.errors import ArgumentError, ShapeError
from adjoint.nn import init
from adjoint.nn.attention import MultiheadAttention
from adjoint.nn.attention_masks import square_subsequent_mask
from adjoint.nn.checks import check_positive
from adjoint.nn.dropout import Dropout
from adjoint.nn.kv_cache import KVCache
from adjoint.nn.linear import Linear
from adjoint.nn.module import Module
from adjoint.nn.normalisation import LayerNorm
from adjoint.tensor import Tensor
from adjoint.tensor.types import DTypeLike
from adjoint.transforms.pytree import tree_map

Activation = Callable[[Tensor], Tensor]


def _relu(x: Tensor) -> Tensor:
    return x.relu()


def _gelu(x: Tensor) -> Tensor:
    return x.gelu(approximate="none")


_ACTIVATIONS: dict[str, Activation] = {"relu": _relu, "gelu": _gelu}


def _activation(op: str, given: Any) -> Activation:
    found: Any = _ACTIVATIONS.get(given) if isinstance(given, str) else given
    if not callable(found):
        problem = f"activation is 'relu', 'gelu' or a function, not {given!r}"
        raise ArgumentError("E2008", problem, op=op)
    activation: Activation = found
    return activation


class _Layer(Module):
    """What both kinds of layers share: the two linear maps and how parts are joined."""

    linear1: Linear
    linear2: Linear
    dropout: Dropout
    activation: Activation
    norm_first: bool
    feed_forward: Module | None = None  # instead of the two linear maps
    norm1: LayerNorm
    norm2: LayerNorm
    norm3: LayerNorm  # decoders have it
    dropout1: Dropout
    dropout2: Dropout
    dropout3: Dropout

    def _set_up(
        self, size: int, inner: int, dropout: float, activation: Any, eps: float, parts: int,
        norm_first: bool, named: dict[str, Any],
    ) -> None:  # fmt: skip
        """Everything but the attention; a norm and a dropout for each part."""
        if self.feed_forward is None:
            self.linear1 = Linear(size, inner, **named)
            self.dropout = Dropout(dropout)
            self.linear2 = Linear(inner, size, **named)
        self.norm_first = norm_first
        for number in range(1, parts + 1):
            setattr(self, f"norm{number}", LayerNorm(size, eps, **named))
        for number in range(1, parts + 1):
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = _activation(type(self).__name__, activation)

    def _fed_forward(self, x: Tensor) -> Tensor:
        if self.feed_forward is not None:
            found: Tensor = self.feed_forward(x)
            return found
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _added(
        self, x: Tensor, part: Callable[[Tensor], Tensor], norm: LayerNorm, dropout: Dropout
    ) -> Tensor:
        """x + part(x), with the norm before the part or after the sum."""
        if self.norm_first:
            return x + dropout(part(norm(x)))
        return norm(x + dropout(part(x)))


class TransformerEncoderLayer(_Layer):
    """Self-attention and two linear maps with an activation between, each added to its input.

    `norm_first` normalises before each part, else after each sum. `is_causal` in a call hides keys
    that come later; `cache` makes a call decode step by step. A module `feed_forward` replaces the
    two linear maps: a `MixtureOfExperts`, for example.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
        feed_forward: Module | None = None,
        **attention: Any,
    ):
        named: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, batch_first=batch_first, **named, **attention
        )
        if feed_forward is not None:
            self.feed_forward = feed_forward
        sizes = (d_model, dim_feedforward, dropout, activation, layer_norm_eps)
        self._set_up(*sizes, 2, norm_first, named)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
        *,
        cache: KVCache | None = None,
    ) -> Tensor:
        """The result for (length, batch, d_model), or (batch, length, d_model)."""

        def attend(x: Tensor) -> Tensor:
            masks = {"attn_mask": src_mask, "key_padding_mask": src_key_padding_mask}
            named = {"need_weights": False, "is_causal": is_causal, "cache": cache}
            return self.self_attn(x, **masks, **named)[0]

        x = self._added(src, attend, self.norm1, self.dropout1)
        return self._added(x, self._fed_forward, self.norm2, self.dropout2)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to a memory, and two linear maps, each added to its input."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
        **attention: Any,
    ):
        named: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        heads = {"batch_first": batch_first, **named, **attention}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, **heads)
        crossed = {name: value for name, value in heads.items() if name != "rope"}
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, **crossed)
        sizes = (d_model, dim_feedforward, dropout, activation, layer_norm_eps)
        self._set_up(*sizes, 3, norm_first, named)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
        *,
        cache: KVCache | None = None,
    ) -> Tensor:
        """The result for the target; a cache is that of its self-attention."""

        def attend(x: Tensor) -> Tensor:
            masks = {"attn_mask": tgt_mask, "key_padding_mask": tgt_key_padding_mask}
            named = {"need_weights": False, "is_causal": tgt_is_causal, "cache": cache}
            return self.self_attn(x, **masks, **named)[0]

        def look(x: Tensor) -> Tensor:
            masks = {"attn_mask": memory_mask, "key_padding_mask": memory_key_padding_mask}
            named = {"need_weights": False, "is_causal": memory_is_causal}
            return self.multihead_attn(x, memory, memory, **masks, **named)[0]

        x = self._added(tgt, attend, self.norm1, self.dropout1)
        x = self._added(x, look, self.norm2, self.dropout2)
        return self._added(x, self._fed_forward, self.norm3, self.dropout3)


def _copies(op: str, layer: Module, count: int) -> list[Module]:
    """Layers that begin with the same values and share none."""
    check_positive(op, num_layers=count)
    if not isinstance(layer, Module):
        raise ArgumentError("E2001", f"a layer is a Module, not {type(layer).__name__}", op=op)
    return [tree_map(_own, layer) for _ in range(count)]


def _per_layer(stack: Any, caches: Any) -> list[dict[str, KVCache]]:
    """What each layer is told of caches."""
    if caches is None:
        return [{}] * stack.num_layers
    if not isinstance(caches, (list, tuple)) or len(caches) != stack.num_layers:
        problem = f"caches is a list of {stack.num_layers}, one per layer"
        raise ArgumentError("E2007", problem, op=type(stack).__name__)
    return [{"cache": cache} for cache in caches]


def _own(tensor: Tensor) -> Tensor:
    """The same value in a tensor of its own."""
    return tensor.detach().clone().realize().requires_grad_(tensor.requires_grad)


class TransformerEncoder(Module):
    """A stack of encoder layers, each a copy of the one given, and a norm behind them.

    `enable_nested_tensor` and `mask_check` are accepted and have no effect.
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ):
        self.layers = _copies("TransformerEncoder", encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
        *,
        caches: list[KVCache] | None = None,
    ) -> Tensor:
        """The layers one after the other; `caches` has one for each, to decode step by step."""
        x = src
        for layer, cache in zip(self.layers, _per_layer(self, caches), strict=True):
            x = layer(x, mask, src_key_padding_mask, bool(is_causal), **cache)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(Module):
    """A stack of decoder layers, each a copy of the one given, and a norm behind them."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None):
        self.layers = _copies("TransformerDecoder", decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
        *,
        caches: list[KVCache] | None = None,
    ) -> Tensor:
        """The layers one after the other, all looking at the same memory."""
        x = tgt
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        causal = (bool(tgt_is_causal), memory_is_causal)
        for layer, cache in zip(self.layers, _per_layer(self, caches), strict=True):
            x = layer(x, memory, *masks, *causal, **cache)
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """Encoder and decoder with a norm behind each; matrices start with Glorot's uniform."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        named: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        sizes = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        order = {"batch_first": batch_first, "norm_first": norm_first, **named}
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*sizes, **order),
            num_encoder_layers,
            LayerNorm(d_model, layer_norm_eps, **named),
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*sizes, **order),
            num_decoder_layers,
            LayerNorm(d_model, layer_norm_eps, **named),
        )
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        for tensor in self.parameters():
            if tensor.ndim > 1:
                init.xavier_uniform_(tensor)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoder's result for the target, given the source."""
        self._check(src, tgt)
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return self.decoder(tgt, memory, *masks, tgt_is_causal, memory_is_causal)

    def _check(self, src: Tensor, tgt: Tensor) -> None:
        axis = 0 if self.batch_first else 1
        same = src.ndim == tgt.ndim and (src.ndim != 3 or src.shape[axis] == tgt.shape[axis])
        if not same or src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            problem = f"source and target have one batch and {self.d_model} features"
            raise ShapeError("E3003", problem, op="Transformer", src=src, tgt=tgt)

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: str | tuple[str, ...] | None = None, dtype: DTypeLike | None = None
    ) -> Tensor:
        """(sz, sz): -inf where a key comes later than its query, else 0."""
        return square_subsequent_mask(sz, device, dtype)
