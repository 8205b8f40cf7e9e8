"""MultiheadAttention, its masks, its cache, and positions."""

import numpy as np
import pytest

from adjoint import AdjointError, Tensor, grad, jit, no_grad, scan, tree_map, vmap
from adjoint.nn.attention import MultiheadAttention
from adjoint.nn.attention_masks import square_subsequent_mask
from adjoint.nn.kv_cache import KVCache
from adjoint.nn.positional_encodings import RotaryEmbedding, SinusoidalEncoding
from tests.support.tensors import floats, near


@pytest.fixture(autouse=True)
def _seeded():
    Tensor.manual_seed(3)


def made(*args, batch_first=True, **named):
    layer = MultiheadAttention(*args, batch_first=batch_first, **named, dtype="float64")
    if layer.in_proj_bias is not None:  # zeros would hide a mistake
        layer.in_proj_bias.assign(floats(*layer.in_proj_bias.shape, seed=9)).realize()
    return layer


def blocked(queries, keys):
    return Tensor(np.triu(np.ones((queries, keys), bool), 1))


def by_hand(layer, x, hidden):
    """Self-attention in NumPy, head by head; `hidden` is true where nobody looks."""
    w, b = layer.in_proj_weight.numpy(), layer.in_proj_bias.numpy()
    q, k, v = np.split(x.numpy() @ w.T + b, 3, -1)
    outs, weights = [], []
    for h in range(layer.num_heads):
        part = slice(h * layer.head_dim, (h + 1) * layer.head_dim)
        scores = q[..., part] @ k[..., part].swapaxes(-1, -2) / np.sqrt(layer.head_dim)
        scores = np.exp(np.where(hidden, -np.inf, scores))
        weights.append(scores / scores.sum(-1, keepdims=True))
        outs.append(weights[-1] @ v[..., part])
    out = np.concatenate(outs, -1) @ layer.out_proj.weight.numpy().T
    return Tensor(out + layer.out_proj.bias.numpy()), Tensor(np.stack(weights, 1))


# ---- what it is


def test_parameters_have_the_names_and_shapes_of_pytorch():
    layer = MultiheadAttention(8, 2, add_bias_kv=True)
    shapes = {name: tensor.shape for name, tensor in layer.named_parameters()}
    assert shapes == {
        "in_proj_weight": (24, 8),
        "in_proj_bias": (24,),
        "bias_k": (1, 1, 8),
        "bias_v": (1, 1, 8),
        "out_proj.weight": (8, 8),
        "out_proj.bias": (8,),
    }


def test_keys_of_another_size_have_weights_of_their_own():
    layer = MultiheadAttention(8, 2, kdim=6, vdim=4, bias=False)
    shapes = {name: tensor.shape for name, tensor in layer.named_parameters()}
    assert shapes == {
        "q_proj_weight": (8, 8),
        "k_proj_weight": (8, 6),
        "v_proj_weight": (8, 4),
        "out_proj.weight": (8, 8),
    }


def test_parameters_begin_as_in_pytorch():
    layer = MultiheadAttention(32, 2, add_bias_kv=True)
    bound = (6 / (4 * 32)) ** 0.5
    values = abs(layer.in_proj_weight.numpy())
    assert 0.95 * bound < values.max() <= bound
    assert not layer.in_proj_bias.numpy().any()
    assert not layer.out_proj.bias.numpy().any()
    assert 0.5 * 32**-0.5 < layer.bias_k.numpy().std() < 1.5 * 32**-0.5


def test_it_shows_its_sizes():
    assert "8, 4, num_kv_heads=2" in repr(MultiheadAttention(8, 4, num_kv_heads=2))


# ---- what it computes


@pytest.mark.parametrize("causal", [False, True])
def test_it_is_attention_head_by_head(causal):
    layer, x = made(8, 2), floats(2, 5, 8)
    hidden = blocked(5, 5).numpy() if causal else np.zeros((5, 5), bool)
    out, weights = by_hand(layer, x, hidden)
    found, shown = layer(x, is_causal=causal, average_attn_weights=False)
    near(found, out)
    near(shown, weights)
    near(layer(x, is_causal=causal)[1], weights.mean(1))


def test_the_batch_may_come_second_or_be_absent():
    layer, x = made(8, 2), floats(2, 5, 8)
    turned = made(8, 2, batch_first=False)
    turned.load_state_dict(layer.state_dict())
    out, weights = layer(x)
    swapped, same = turned(x.transpose(0, 1))
    near(swapped.transpose(0, 1), out)
    near(same, weights)
    alone, own = layer(x[1])
    near(alone, out[1])
    near(own, weights[1])


def test_keys_and_values_may_be_other_tensors():
    layer = made(8, 2)
    q, k, v = floats(2, 3, 8), floats(2, 5, 8, seed=1), floats(2, 5, 8, seed=2)
    whole = layer(q.cat(k, dim=1))[0]
    assert layer(q, k, v)[0].shape == (2, 3, 8)
    near(layer(q, q.cat(k, dim=1))[0], whole[:, :3])


def test_weights_are_left_out_when_nobody_needs_them():
    layer, x = made(8, 2), floats(2, 5, 8)
    found, nothing = layer(x, need_weights=False)
    assert nothing is None
    near(found, layer(x)[0])


# ---- masks


def test_bool_and_float_masks_say_the_same():
    layer, x = made(8, 2), floats(2, 5, 8)
    wanted = layer(x, is_causal=True)[0]
    near(layer(x, attn_mask=blocked(5, 5))[0], wanted)
    near(layer(x, attn_mask=square_subsequent_mask(5, dtype="float64"))[0], wanted)
    each = blocked(5, 5).unsqueeze(0).expand(4, 5, 5)
    near(layer(x, attn_mask=each, is_causal=True)[0], wanted)


def test_padded_keys_are_as_if_absent():
    layer, x = made(8, 2), floats(2, 5, 8)
    padding = Tensor(np.array([[False] * 5, [False] * 3 + [True] * 2]))
    out, weights = layer(x, key_padding_mask=padding)
    near(out[1, :3], layer(x[1, :3])[0])
    assert not weights.numpy()[1, :, 3:].any()
    near(weights.sum(-1), Tensor.ones(2, 5, dtype="float64"))


def test_masks_of_both_kinds_are_joined():
    layer, x = made(8, 2), floats(2, 5, 8)
    padding = Tensor(np.array([[False] * 5, [True] + [False] * 4]))
    added = floats(5, 5, seed=4)
    _, weights = layer(x, attn_mask=added, key_padding_mask=padding, is_causal=True)
    hidden = (weights.numpy() == 0)[1]
    assert (hidden == (blocked(5, 5).numpy() | padding.numpy()[1])).all()


def test_a_query_that_sees_nothing_gets_zeros_and_a_finite_gradient():
    layer, x = made(8, 2, bias=False), floats(1, 3, 8)
    none = Tensor(np.array([[True] * 3, [False] * 3, [False] * 3]))
    out, weights = layer(x, attn_mask=none)
    assert not out.numpy()[0, 0].any()
    assert not weights.numpy()[0, 0].any()
    slope = grad(lambda at: sum(t.sum() for t in layer(at, attn_mask=none)))(x)
    assert np.isfinite(slope.numpy()).all()


def test_appended_keys_are_seen_by_everybody():
    layer, x = made(8, 2, add_bias_kv=True, add_zero_attn=True), floats(2, 3, 8)
    weights = layer(x, is_causal=True, average_attn_weights=False)[1].numpy()
    assert weights.shape == (2, 2, 3, 5)
    assert (weights[..., 3:] > 0).all()
    assert (weights[..., 0, 1:3] == 0).all()


@pytest.mark.parametrize(
    "options",
    [{}, {"num_kv_heads": 1}, {"add_bias_kv": True}, {"rope": RotaryEmbedding(4)}],
    ids=["plain", "shared", "appended", "rotary"],
)
def test_no_gradient_comes_from_the_past_to_the_future(options):
    layer, x = made(8, 2, **options), floats(1, 5, 8)
    slope = jit(grad(lambda at: layer(at, is_causal=True)[0][:, :3].sin().sum()))(x).numpy()
    assert not slope[:, 3:].any()
    assert slope[:, :3].all()


# ---- fewer heads for keys and values


def repeated(layer):
    """The same attention with a key and value head for every query head."""
    own, few, size = layer.embed_dim, layer.num_kv_heads, layer.head_dim
    full = made(own, layer.num_heads)
    for name in ("in_proj_weight", "in_proj_bias"):
        given = getattr(layer, name)
        parts = [given[own + i * few * size : own + (i + 1) * few * size] for i in range(2)]
        spread = [p.reshape(few, size, -1).repeat_interleave(own // size // few, 0) for p in parts]
        flat = [s.reshape(own, *given.shape[1:]) for s in spread]
        getattr(full, name).assign(given[:own].cat(*flat)).realize()
    full.out_proj.load_state_dict(layer.out_proj.state_dict())
    return full


@pytest.mark.parametrize("training", [False, True])
def test_shared_heads_are_repeated_heads(training):
    layer = made(8, 4, num_kv_heads=2, dropout=0.5).train(training)
    full, x = repeated(layer).train(training), floats(2, 5, 8)
    full.dropout = layer.dropout
    Tensor.manual_seed(0)
    found = layer(x, is_causal=True, need_weights=False)[0]
    Tensor.manual_seed(0)
    near(found, full(x, is_causal=True, need_weights=False)[0])


# ---- dropout


def test_dropout_is_of_the_weights_and_only_while_training():
    layer, x = made(8, 2, dropout=1.0), floats(2, 5, 8)
    still = layer(x)[0]
    near(layer(x)[0], still)
    out, weights = layer.train()(x)
    assert not weights.numpy().any()
    near(out, layer.out_proj.bias.expand(2, 5, 8))
    near(layer.eval()(x)[0], still)


def test_dropped_weights_are_those_that_are_shown():
    layer, x = made(8, 2, dropout=0.5).train(), floats(1, 4, 8)
    v = layer._in_heads(layer._projected(x, x, x)[2])
    out, weights = layer(x, average_attn_weights=False)
    assert 0 < (weights.numpy() == 0).sum() < weights.size
    near(out, layer.out_proj((weights @ v).transpose(1, 2).reshape(1, 4, 8)))


# ---- decoding


@pytest.mark.parametrize("options", [{}, {"num_kv_heads": 1, "rope": RotaryEmbedding(4)}])
def test_decoding_with_a_cache_is_attention_to_all_at_once(options):
    layer, x = made(8, 2, **options), floats(2, 7, 8)
    whole = layer(x, is_causal=True)[0]
    cache = KVCache(2, layer.num_kv_heads, 9, 4, dtype="float64")
    step = jit(lambda at: layer(at, need_weights=False, cache=cache)[0])
    rows = [step(x[:, :3])] + [step(x[:, i : i + 1]) for i in range(3, 7)]
    near(rows[0].cat(*rows[1:], dim=1), whole)
    assert step.cache_size() == 2  # the prompt's shape and one token's
    assert cache.length.item() == 7


def test_a_cache_may_be_an_argument():
    layer, x = made(8, 2), floats(1, 3, 8)
    whole = layer(x, is_causal=True)[0]
    cache = KVCache(1, 2, 4, 4, dtype="float64")
    step = jit(lambda layer, at, cache: layer(at, need_weights=False, cache=cache)[0])
    rows = [step(layer, x[:, i : i + 1], cache) for i in range(3)]
    near(rows[0].cat(*rows[1:], dim=1), whole)
    assert step.cache_size() == 1


def test_a_cache_may_be_the_carry_of_a_scan():
    layer, x = made(8, 2), floats(1, 3, 8)

    def step(cache, row):
        return layer(row.unsqueeze(1), need_weights=False, cache=cache)[0].squeeze(1), cache

    start = KVCache(1, 2, 3, 4, dtype="float64")
    last, rows = scan(lambda c, row: step(c, row)[::-1], start, x.transpose(0, 1))
    near(rows.transpose(0, 1), layer(x, is_causal=True)[0])
    assert last.length.item() == 3


def test_a_cache_works_without_jit_and_can_be_reset():
    layer, x = made(8, 2), floats(1, 3, 8)
    whole = layer(x, is_causal=True)[0]
    cache = KVCache(1, 2, 3, 4, dtype="float64")
    with no_grad():
        for _ in range(2):
            rows = [layer(x[:, i : i + 1], cache=cache)[0] for i in range(3)]
            near(rows[0].cat(*rows[1:], dim=1), whole)
            assert cache.key.uop.op.name == "buffer"
            cache.reset()
    assert cache.length.item() == 0


def test_gradients_pass_through_a_cache():
    layer, x = made(8, 2), floats(1, 3, 8)

    def by_steps(x):
        cache = KVCache(1, 2, 3, 4, dtype="float64")
        rows = [layer(x[:, i : i + 1], need_weights=False, cache=cache)[0] for i in range(3)]
        return rows[0].cat(*rows[1:], dim=1).sin().sum()

    whole = grad(lambda at: layer(at, is_causal=True)[0].sin().sum())(x)
    near(jit(grad(by_steps))(x), whole)


def test_a_cache_is_state_but_no_parameter():
    cache = KVCache(1, 2, 3, 4)
    assert list(cache.state_dict()) == ["key", "value", "length"]
    assert cache.parameters() == []


def test_a_full_cache_is_an_error_when_the_program_runs():
    layer, x = made(8, 2), floats(1, 1, 8)
    cache = KVCache(1, 2, 2, 4, dtype="float64")
    step = jit(lambda at: layer(at, need_weights=False, cache=cache)[0])
    step(x)
    step(x).realize()
    with pytest.raises(AdjointError, match="out of range") as caught:
        step(x).realize()
    assert caught.value.code == "E6001"


# ---- positions


def test_sinusoidal_encodings_follow_the_formula():
    encoding = SinusoidalEncoding(6, batch_first=True)
    x = floats(2, 4, 6)
    place, pair = np.arange(3, 7)[:, None], np.arange(3)[None]
    angle = place / 10000 ** (2 * pair / 6)
    table = np.stack([np.sin(angle), np.cos(angle)], -1).reshape(4, 6)
    near(encoding(x, 3), x + Tensor(table))
    near(encoding(x[0], Tensor(3, dtype="int32")), x[0] + Tensor(table))
    near(SinusoidalEncoding(6)(x.transpose(0, 1), 3), (x + Tensor(table)).transpose(0, 1))


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_products_depend_on_distance_only(interleaved):
    rope = RotaryEmbedding(4, interleaved=interleaved)
    q, k = floats(1, 4).expand(5, 4), floats(1, 4, seed=1).expand(5, 4)
    scores = (rope(q, 2) @ rope(k, 2).T).numpy()
    for distance in range(-4, 5):
        line = np.diagonal(scores, distance)
        np.testing.assert_allclose(line, line[0], rtol=0, atol=1e-12)
    assert len(np.unique(scores.round(9))) == 9


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_embeddings_turn_pairs_by_their_angle(interleaved):
    rope, x = RotaryEmbedding(4, interleaved=interleaved), floats(3, 4)
    pairs = x.numpy().reshape(3, 2, 2) if interleaved else x.numpy().reshape(3, 2, 2).swapaxes(1, 2)
    angle = np.arange(3)[:, None] * np.array([1, 0.01])
    turned = (pairs[..., 0] + 1j * pairs[..., 1]) * np.exp(1j * angle)
    found = rope(x).numpy().reshape(3, 2, 2)
    found = found if interleaved else found.swapaxes(1, 2)
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], turned, atol=1e-12)


def test_rotary_offsets_may_be_tensors_inside_jit():
    rope, x = RotaryEmbedding(4), floats(2, 5, 4)
    turn = jit(rope)
    for i in range(3):
        near(turn(x[:, i : i + 2], Tensor(i, dtype="int32")), rope(x)[:, i : i + 2])
    assert turn.cache_size() == 1


# ---- transforms


def test_vmap_over_a_batch_is_the_batch():
    layer, x = made(8, 2), floats(3, 4, 8)
    near(vmap(lambda one: layer(one, is_causal=True)[0])(x), layer(x, is_causal=True)[0])


def test_per_example_gradients_add_up_to_the_gradient():
    layer, x = made(8, 2, num_kv_heads=1), floats(3, 4, 8)
    loss = lambda m, at: m(at, is_causal=True)[0].sin().sum()  # noqa: E731
    each = jit(vmap(grad(loss), in_axes=(None, 0)))(layer, x)
    whole = jit(grad(loss))(layer, x)
    for one, other in zip(each.parameters(), whole.parameters(), strict=True):
        near(one.sum(0), other, atol=1e-11)


def test_a_layer_is_a_tree_of_its_tensors():
    layer = made(8, 2, num_kv_heads=1, rope=RotaryEmbedding(4))
    same, x = tree_map(lambda t: t, layer), floats(1, 3, 8)
    near(same(x)[0], layer(x)[0])


# ---- errors


def masked(shape, **named):
    return lambda: made(8, 2)(floats(2, 5, 8), **{k: v(shape) for k, v in named.items()})


def flags(shape):
    return Tensor(np.zeros(shape, bool))


@pytest.mark.parametrize(
    ("code", "call", "says"),
    [
        ("E3006", lambda: MultiheadAttention(8, 3), "do not divide"),
        ("E3006", lambda: MultiheadAttention(8, 4, num_kv_heads=3), "num_kv_heads"),
        ("E3006", lambda: MultiheadAttention(8, 0), "num_heads"),
        ("E2006", lambda: MultiheadAttention(8, 2, dropout=2.0), "probability"),
        ("E3003", lambda: MultiheadAttention(8, 2, rope=RotaryEmbedding(8)), "rope"),
        ("E3003", lambda: made(8, 2)(floats(2, 5, 7)), "query has 7 features"),
        ("E3003", lambda: made(8, 2, kdim=6)(floats(2, 5, 8), floats(2, 5, 8)), "key has 8"),
        ("E3003", lambda: made(8, 2)(floats(2, 5, 8), floats(3, 5, 8)), "batch"),
        ("E3002", lambda: made(8, 2)(floats(2, 5, 8), floats(5, 8)), "axes"),
        ("E2005", lambda: made(8, 2)(Tensor.zeros(2, 5, 8, dtype="int32")), "floats"),
        ("E3003", masked((5, 4), attn_mask=flags), "attn_mask"),
        ("E3003", masked((3, 5, 5), attn_mask=flags), "attn_mask"),
        ("E3003", masked((5, 2), key_padding_mask=flags), "key_padding_mask"),
        (
            "E2005",
            masked((5, 5), attn_mask=lambda s: Tensor.zeros(*s, dtype="int32")),
            "bool",
        ),
        ("E3006", lambda: RotaryEmbedding(5), "even"),
        ("E3006", lambda: SinusoidalEncoding(0), "even"),
        ("E3003", lambda: RotaryEmbedding(4)(floats(3, 6)), "length, 4"),
        ("E3003", lambda: SinusoidalEncoding(4)(floats(3, 2, 6)), "length, batch, 4"),
        (
            "E3003",
            lambda: made(8, 2)(floats(2, 1, 8), cache=KVCache(1, 2, 4, 4)),
            "KVCache.update",
        ),
        (
            "E3003",
            lambda: KVCache(1, 2, 4, 4).update(floats(1, 2, 5, 4), floats(1, 2, 5, 4)),
            "places",
        ),
    ],
)
def test_what_does_not_fit_is_an_error_that_says_so(code, call, says):
    with pytest.raises(AdjointError, match=says) as caught:
        call()
    assert caught.value.code == code


def test_the_dtype_of_a_table_may_be_a_name():
    assert SinusoidalEncoding(8).table(4, dtype="float16").dtype.name == "float16"


@pytest.mark.parametrize("heads", [{}, {"num_kv_heads": 1}])
def test_a_batch_of_no_examples_attends_to_nothing(heads):
    layer = MultiheadAttention(4, 2, batch_first=True, **heads)
    y, weights = layer(Tensor.zeros(0, 3, 4), Tensor.zeros(0, 5, 4), Tensor.zeros(0, 5, 4))
    assert (y.shape, weights.shape) == ((0, 3, 4), (0, 3, 5))
    bias = y.sum().gradient(layer.out_proj.bias)[0]
    assert bias.tolist() == [0, 0, 0, 0]
