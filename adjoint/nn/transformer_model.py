"""Transformer: an encoder and a decoder that looks at what the encoder made.

What may live here: the whole model, which knows nothing of tokens. What may not: its parts
(`transformer.py`).
"""

from __future__ import annotations

from typing import Any

from adjoint.errors import ShapeError
from adjoint.nn import init
from adjoint.nn.attention_masks import square_subsequent_mask
from adjoint.nn.module import Module
from adjoint.nn.normalisation import LayerNorm
from adjoint.nn.transformer import (
    Activation,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from adjoint.tensor import Tensor


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
        device: str | None = None,
        dtype: Any = None,
    ):
        super().__init__()
        named = {"bias": bias, "device": device, "dtype": dtype}
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
        y: Tensor = self.decoder(tgt, memory, *masks, tgt_is_causal, memory_is_causal)
        return y

    def _check(self, src: Tensor, tgt: Tensor) -> None:
        axis = 0 if self.batch_first else 1
        same = src.ndim == tgt.ndim and (src.ndim != 3 or src.shape[axis] == tgt.shape[axis])
        if not same or src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            problem = f"source and target have one batch and {self.d_model} features"
            operands = [("src", src), ("tgt", tgt)]
            raise ShapeError("E3003", problem, op="Transformer", operands=operands)

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: str | None = None, dtype: Any = None
    ) -> Tensor:
        """(sz, sz): -inf where a key comes later than its query, else 0."""
        return square_subsequent_mask(sz, device, dtype)
