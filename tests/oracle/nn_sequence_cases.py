"""Cases of layers over sequences: recurrent networks, attention, transformers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle.nn_store import Array, Case, real


def _recurrent(kind: str, states: int) -> list[Case]:
    """A kind of recurrent network with its options, and its cell."""

    def layer(*args: Any, **options: Any) -> Any:
        return lambda nn: getattr(nn, kind)(*args, **options)

    def cell(**options: Any) -> Any:
        return lambda nn: getattr(nn, f"{kind}Cell")(3, 4, **options)

    def start(*shape: int) -> tuple[Array, ...]:
        return tuple(real(*shape, seed=7 + i) for i in range(states))

    def call(model: Any, x: Any, *parts: Any) -> Any:
        return model(x, parts if states > 1 else parts[0])

    x = real(5, 2, 3)
    deep = {"num_layers": 2, "bidirectional": True}
    name = kind.lower()
    return [
        Case(name, layer(3, 4), (x,)),
        Case(f"{name} from a state", layer(3, 4), (x, *start(1, 2, 4)), call=call),
        Case(f"{name} without bias", layer(3, 4, bias=False), (x,)),
        Case(f"{name} without a batch", layer(3, 4), (real(5, 3), *start(1, 4)), call=call),
        Case(
            f"{name} deep, both ways",
            layer(3, 4, batch_first=True, **deep),
            (real(2, 5, 3), *start(4, 2, 4)),
            call=call,
        ),
        Case(f"{name} three deep", layer(3, 2, 3, bias=False), (x,)),
        Case(f"{name} of one step", layer(3, 4), (real(1, 2, 3),)),
        Case(f"{name} of no dropout", layer(3, 4, 2, dropout=0.5), (x,), training=False),
        Case(f"{name} cell", cell(), (real(2, 3), *start(2, 4)), call=call),
        Case(f"{name} cell from zeros", cell(bias=False), (real(2, 3),)),
        Case(f"{name} cell without a batch", cell(), (real(3), *start(4)), call=call),
    ]


RECURRENT = [
    *_recurrent("RNN", 1),
    *_recurrent("GRU", 1),
    *_recurrent("LSTM", 2),
    Case("rnn relu", lambda nn: nn.RNN(3, 4, 2, nonlinearity="relu"), (real(5, 2, 3),)),
    Case("rnn cell relu", lambda nn: nn.RNNCell(3, 4, nonlinearity="relu"), (real(2, 3),)),
    Case("lstm projected", lambda nn: nn.LSTM(3, 5, proj_size=2), (real(5, 2, 3),)),
    Case(
        "lstm projected deep, both ways",
        lambda nn: nn.LSTM(3, 5, 2, bidirectional=True, proj_size=2),
        (real(5, 2, 3), real(4, 2, 2, seed=1), real(4, 2, 5, seed=2)),
        call=lambda model, x, h, c: model(x, (h, c)),
    ),
]


def _future(queries: int, keys: int) -> Array:
    return np.triu(np.ones((queries, keys), bool), 1)


def _padding(batch: int, keys: int) -> Array:
    """The last keys of the last examples are none."""
    return np.arange(keys)[None] >= keys - np.arange(batch)[:, None]


def _heads(*args: Any, **options: Any) -> Any:
    return lambda nn: nn.MultiheadAttention(8, *args, **{"batch_first": True, **options})


def _masked(*names: str, **options: Any) -> Any:
    """Self-attention whose further inputs are these keywords."""
    return lambda model, x, *masks: model(
        x, x, x, **dict(zip(names, masks, strict=True)), **options
    )


_X, _CROSS = real(2, 5, 8), (real(2, 3, 8), real(2, 5, 8, seed=1), real(2, 5, 8, seed=2))
ATTENTION = [
    Case("attention to itself", _heads(2), (_X,), call=_masked()),
    Case("attention across", _heads(2), _CROSS),
    Case("attention of one head", _heads(1, bias=False), _CROSS),
    Case("attention length first", _heads(4, batch_first=False), (_X,), call=_masked()),
    Case(
        "attention without a batch",
        _heads(2),
        (real(3, 8), real(5, 8, seed=1), real(5, 8, seed=2)),
    ),
    Case("attention with all weights", _heads(2), (_X,), call=_masked(average_attn_weights=False)),
    Case("attention without weights", _heads(2), (_X,), call=_masked(need_weights=False)),
    Case(
        "attention causal",
        _heads(2),
        (_X, _future(5, 5)),
        call=_masked("attn_mask", need_weights=False, is_causal=True),
    ),
    Case("attention bool mask", _heads(2), (_X, _future(5, 5)), call=_masked("attn_mask")),
    Case("attention float mask", _heads(2), (_X, real(5, 5, seed=3)), call=_masked("attn_mask")),
    Case(
        "attention mask per head",
        _heads(2),
        (_X, real(4, 5, 5, seed=3)),
        call=_masked("attn_mask"),
    ),
    Case("attention padding", _heads(2), (_X, _padding(2, 5)), call=_masked("key_padding_mask")),
    Case(
        "attention padding and mask",
        _heads(2),
        (_X, _padding(2, 5), _future(5, 5)),
        call=_masked("key_padding_mask", "attn_mask"),
    ),
    Case(
        "attention float padding and mask",
        _heads(2),
        (_X, real(2, 5, seed=4), real(5, 5, seed=3)),
        call=_masked("key_padding_mask", "attn_mask"),
    ),
    Case("attention learned key", _heads(2, add_bias_kv=True), (_X,), call=_masked()),
    Case("attention zero key", _heads(2, add_zero_attn=True), (_X,), call=_masked()),
    Case(
        "attention further keys, masked",
        _heads(2, add_bias_kv=True, add_zero_attn=True),
        (_X, _padding(2, 5), _future(5, 5)),
        call=_masked("key_padding_mask", "attn_mask"),
    ),
    Case(
        "attention of other sizes",
        _heads(2, kdim=6, vdim=4),
        (real(2, 3, 8), real(2, 5, 6, seed=1), real(2, 5, 4, seed=2)),
    ),
    Case(
        "attention of other sizes without bias",
        _heads(2, kdim=6, bias=False),
        (real(2, 3, 8), real(2, 5, 6, seed=1), real(2, 5, 8, seed=2)),
    ),
]

_SLOW = 0.001  # nothing bounds what a layer without a norm behind it gives: it would run away
_SMALL = {"d_model": 8, "nhead": 2, "dim_feedforward": 12, "dropout": 0.0}


def _encoder(**options: Any) -> Any:
    return lambda nn: nn.TransformerEncoderLayer(**{**_SMALL, "batch_first": True, **options})


def _decoder(**options: Any) -> Any:
    return lambda nn: nn.TransformerDecoderLayer(**{**_SMALL, "batch_first": True, **options})


def _stack(kind: str, count: int, norm: bool, **options: Any) -> Any:
    def build(nn: Any) -> Any:
        layer = getattr(nn, f"Transformer{kind}Layer")(**_SMALL, batch_first=True, **options)
        more = {"enable_nested_tensor": False} if kind == "Encoder" else {}
        behind = nn.LayerNorm(8) if norm else None
        return getattr(nn, f"Transformer{kind}")(layer, count, behind, **more)

    return build


_TGT, _MEMORY = real(2, 4, 8, seed=5), real(2, 5, 8, seed=6)
TRANSFORMER = [
    Case("encoder layer", _encoder(), (_X,)),
    Case("encoder layer, norm first", _encoder(norm_first=True), (_X,), lr=_SLOW),
    Case("encoder layer, gelu", _encoder(activation="gelu"), (_X,)),
    Case("encoder layer without bias", _encoder(bias=False), (_X,)),
    Case("encoder layer, length first", _encoder(batch_first=False), (_X,)),
    Case("encoder layer without a batch", _encoder(layer_norm_eps=0.01), (real(5, 8),)),
    Case("encoder layer, predicting", _encoder(dropout=0.5), (_X,), training=False),
    Case(
        "encoder layer, masked",
        _encoder(norm_first=True),
        (_X, _future(5, 5), _padding(2, 5)),
        call=lambda model, x, mask, padding: model(x, mask, padding),
        lr=_SLOW,
    ),
    Case(
        "encoder layer, causal",
        _encoder(),
        (_X, _future(5, 5)),
        call=lambda model, x, mask: model(x, mask, is_causal=True),
    ),
    Case("decoder layer", _decoder(), (_TGT, _MEMORY)),
    Case(
        "decoder layer, norm first",
        _decoder(norm_first=True, activation="gelu"),
        (_TGT, _MEMORY, _future(4, 4), _padding(2, 5)),
        call=lambda model, x, memory, mask, padding: model(
            x, memory, tgt_mask=mask, memory_key_padding_mask=padding, tgt_is_causal=True
        ),
        lr=_SLOW,
    ),
    Case("decoder layer without bias", _decoder(bias=False), (_TGT, _MEMORY)),
    Case("encoder", _stack("Encoder", 2, True), (_X,)),
    Case(
        "encoder, masked",
        _stack("Encoder", 2, False, norm_first=True),
        (_X, _future(5, 5)),
        call=lambda model, x, mask: model(x, mask=mask, is_causal=True),
        lr=_SLOW,
    ),
    Case("decoder", _stack("Decoder", 2, False), (_TGT, _MEMORY)),
    Case(
        "decoder, masked",
        _stack("Decoder", 2, True),
        (_TGT, _MEMORY, _future(4, 4)),
        call=lambda model, x, memory, mask: model(x, memory, tgt_mask=mask),
    ),
    Case(
        "transformer",
        lambda nn: nn.Transformer(
            **_SMALL, num_encoder_layers=2, num_decoder_layers=1, batch_first=True
        ),
        (_X, _TGT, _future(4, 4)),
        call=lambda model, x, y, mask: model(x, y, tgt_mask=mask),
    ),
]

CASES = [*RECURRENT, *ATTENTION, *TRANSFORMER]
