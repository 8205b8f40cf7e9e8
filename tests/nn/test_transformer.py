"""Transformer layers, stacks of them, and the whole."""

from itertools import pairwise

import pytest

from adjoint import AdjointError, Tensor, grad, jit, value_and_grad
from adjoint.nn.kv_cache import KVCache
from adjoint.nn.normalisation import LayerNorm
from adjoint.nn.positional_encodings import RotaryEmbedding
from adjoint.nn.transformer import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from tests.support.tensors import floats, near

SMALL = {"d_model": 8, "nhead": 2, "dim_feedforward": 12, "dropout": 0.0, "dtype": "float64"}


@pytest.fixture(autouse=True)
def _seeded():
    Tensor.manual_seed(5)


def encoder_layer(**options):
    return TransformerEncoderLayer(**{"batch_first": True, **SMALL, **options})


def decoder_layer(**options):
    return TransformerDecoderLayer(**{"batch_first": True, **SMALL, **options})


# ---- what they are


def test_an_encoder_layer_has_the_names_of_pytorch():
    assert list(encoder_layer().state_dict()) == [
        "self_attn.in_proj_weight",
        "self_attn.in_proj_bias",
        "self_attn.out_proj.weight",
        "self_attn.out_proj.bias",
        "linear1.weight",
        "linear1.bias",
        "linear2.weight",
        "linear2.bias",
        "norm1.weight",
        "norm1.bias",
        "norm2.weight",
        "norm2.bias",
    ]


def test_a_stack_has_the_names_of_pytorch():
    stack = TransformerDecoder(decoder_layer(bias=False), 2, LayerNorm(8))
    names = list(stack.state_dict())
    assert names[0] == "layers.0.self_attn.in_proj_weight"
    assert "layers.1.multihead_attn.out_proj.weight" in names
    assert names[-2:] == ["norm.weight", "norm.bias"]
    assert not [name for name in names if name.startswith("layers") and name.endswith("bias")]


def test_the_layers_of_a_stack_are_copies_of_one():
    layer = encoder_layer()
    stack = TransformerEncoder(layer, 2)
    for name, tensor in layer.named_parameters():
        copies = [dict(one.named_parameters())[name] for one in stack.layers]
        assert all(one.requires_grad for one in copies)
        assert len({id(one) for one in (tensor, *copies)}) == 3
        near(copies[0], tensor)
        near(copies[1], tensor)
    stack.layers[0].linear1.bias.assign(floats(12)).realize()
    near(stack.layers[1].linear1.bias, layer.linear1.bias)


def test_matrices_of_a_whole_transformer_begin_with_glorots_uniform():
    model = Transformer(8, 2, 1, 1, dim_feedforward=24)
    weight = abs(model.encoder.layers[0].linear1.weight.numpy())
    bound = (6 / 32) ** 0.5
    assert 0.9 * bound < weight.max() <= bound
    assert (model.decoder.norm.weight.numpy() == 1).all()


# ---- what they compute


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu", Tensor.tanh])
def test_an_encoder_layer_is_its_parts(norm_first, activation):
    layer = encoder_layer(norm_first=norm_first, activation=activation)
    x = floats(2, 5, 8)
    act = {"relu": Tensor.relu, "gelu": lambda t: t.gelu(approximate="none")}
    act = act.get(activation, activation)
    attend = lambda t: layer.self_attn(t)[0]  # noqa: E731
    feed = lambda t: layer.linear2(act(layer.linear1(t)))  # noqa: E731
    if norm_first:
        y = x + attend(layer.norm1(x))
        y = y + feed(layer.norm2(y))
    else:
        y = layer.norm1(x + attend(x))
        y = layer.norm2(y + feed(y))
    near(layer(x), y)


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_decoder_layer_is_its_parts(norm_first):
    layer, x, memory = decoder_layer(norm_first=norm_first), floats(2, 5, 8), floats(2, 3, 8)
    attend = lambda t: layer.self_attn(t, is_causal=True)[0]  # noqa: E731
    look = lambda t: layer.multihead_attn(t, memory, memory)[0]  # noqa: E731
    feed = lambda t: layer.linear2(layer.linear1(t).relu())  # noqa: E731
    y = x
    for part, norm in ((attend, layer.norm1), (look, layer.norm2), (feed, layer.norm3)):
        y = y + part(norm(y)) if norm_first else norm(y + part(y))
    near(layer(x, memory, tgt_is_causal=True), y)


def test_a_stack_is_its_layers_one_after_the_other():
    stack, x = (
        TransformerEncoder(encoder_layer(), 2, LayerNorm(8, dtype="float64")),
        floats(2, 5, 8),
    )
    stack.layers[1].linear1.bias.assign(floats(12)).realize()
    near(stack(x), stack.norm(stack.layers[1](stack.layers[0](x))))


def test_a_transformer_decodes_what_it_encoded():
    model = Transformer(**SMALL, num_encoder_layers=1, num_decoder_layers=1, batch_first=True)
    src, tgt = floats(2, 5, 8), floats(2, 3, 8, seed=1)
    mask = model.generate_square_subsequent_mask(3, dtype="float64")
    wanted = model.decoder(tgt, model.encoder(src), tgt_is_causal=True)
    near(model(src, tgt, tgt_mask=mask), wanted)


def test_dropout_acts_only_while_training():
    layer, x = encoder_layer(dropout=0.5), floats(2, 5, 8)
    near(layer(x), layer(x))
    layer.train()
    assert (layer(x).numpy() != layer(x).numpy()).any()
    with Tensor.train():
        assert (layer.train(None)(x).numpy() != layer.eval()(x).numpy()).any()


# ---- the past does not see the future


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_causal_stack_keeps_the_future_from_the_past(norm_first):
    stack, x = TransformerEncoder(encoder_layer(norm_first=norm_first), 2), floats(1, 5, 8)
    slope = jit(grad(lambda at: stack(at, is_causal=True)[:, :3].sin().sum()))(x).numpy()
    assert not slope[:, 3:].any()
    assert slope[:, :3].all()


def test_a_decoder_sees_all_of_its_memory():
    layer, x, memory = decoder_layer(), floats(1, 3, 8), floats(1, 4, 8, seed=1)
    look = lambda at: layer(x, at, tgt_is_causal=True)[:, :1].sin().sum()  # noqa: E731
    assert jit(grad(look))(memory).numpy().all()


# ---- decoding and training


def test_decoding_with_caches_is_the_stack_on_all_at_once():
    layer = encoder_layer(norm_first=True, num_kv_heads=1, rope=RotaryEmbedding(4))
    stack, x = TransformerEncoder(layer, 2), floats(2, 6, 8)
    whole = stack(x, is_causal=True)
    caches = [KVCache(2, 1, 6, 4, dtype="float64") for _ in range(2)]
    step = jit(lambda stack, at, caches: stack(at, caches=caches))
    rows = [step(stack, x[:, i : i + 1], caches) for i in range(6)]
    near(rows[0].cat(*rows[1:], dim=1), whole)
    assert step.cache_size() == 1


def test_a_decoder_stack_decodes_with_caches():
    stack, x, memory = TransformerDecoder(decoder_layer(), 1), floats(1, 3, 8), floats(1, 4, 8)
    whole = stack(x, memory, tgt_is_causal=True)
    caches = [KVCache(1, 2, 3, 4, dtype="float64")]
    step = jit(lambda at: stack(at, memory, caches=caches))
    rows = [step(x[:, i : i + 1]) for i in range(3)]
    near(rows[0].cat(*rows[1:], dim=1), whole)


def test_a_jitted_step_learns_and_keeps_one_trace():
    stack, x = TransformerEncoder(encoder_layer(), 1), floats(2, 5, 8)
    wanted = floats(2, 5, 8, seed=1)

    @jit
    def step(stack):
        loss = lambda m: ((m(x, is_causal=True) - wanted) ** 2).mean()  # noqa: E731
        value, slope = value_and_grad(loss)(stack)
        for tensor, g in zip(stack.parameters(), slope.parameters(), strict=True):
            tensor.assign(tensor.detach() - 0.05 * g)
        return value

    values = [step(stack).item() for _ in range(10)]
    assert all(after < before for before, after in pairwise(values))
    assert step.cache_size() == 1


# ---- errors


@pytest.mark.parametrize(
    ("code", "call", "says"),
    [
        ("E2008", lambda: encoder_layer(activation="sine"), "'relu', 'gelu'"),
        ("E2008", lambda: decoder_layer(activation=3), "'relu', 'gelu'"),
        ("E3006", lambda: encoder_layer(nhead=3), "do not divide"),
        ("E3003", lambda: encoder_layer()(floats(2, 5, 7)), "features"),
        ("E3003", lambda: encoder_layer()(floats(2, 5, 8), Tensor.zeros(5, 4)), "attn_mask"),
        ("E3006", lambda: TransformerEncoder(encoder_layer(), 0), "num_layers"),
        ("E2001", lambda: TransformerEncoder(len, 2), "Module"),
        (
            "E2007",
            lambda: TransformerEncoder(encoder_layer(), 2)(floats(2, 1, 8), caches=[]),
            "one per layer",
        ),
        (
            "E3003",
            lambda: Transformer(**SMALL, num_encoder_layers=1, num_decoder_layers=1)(
                floats(5, 2, 8), floats(5, 3, 8)
            ),
            "one batch",
        ),
    ],
)
def test_what_does_not_fit_is_an_error_that_says_so(code, call, says):
    with pytest.raises(AdjointError, match=says) as caught:
        call()
    assert caught.value.code == code
