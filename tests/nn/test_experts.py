"""Mixtures of experts: against a loop over tokens, and with experts spread over members."""

from collections import Counter

import numpy as np
import pytest

from adjoint import AdjointError, Mesh, P, ShardingError, Tensor, grad, jit, nn
from adjoint.engine.sharded import local_graph
from adjoint.ir.uop import toposort
from adjoint.ir.values import is_known
from adjoint.nn import parallel
from tests.nn.parallel_training import Run, mesh_of
from tests.sharding.meshes import collectives

FEATURES, HIDDEN, EXPERTS = 8, 12, 4


def mixture(**options):
    Tensor.manual_seed(0)
    return nn.MixtureOfExperts(FEATURES, HIDDEN, EXPERTS, **options)


def inputs(rows=8, length=6, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, length, FEATURES)).astype(np.float32)


def by_loops(layer, x):
    """What the layer computes, token by token."""
    weights = [getattr(layer, n).numpy() for n in ("weight1", "bias1", "weight2", "bias2")]
    found, dropped = np.zeros_like(x), 0
    for row, tokens in enumerate(x):
        scores = Tensor(tokens @ layer.router.weight.numpy().T).softmax(-1).numpy()
        order = np.argsort(-scores, axis=-1, kind="stable")[:, : layer.top_k]
        load = [0] * layer.num_experts
        for choice in range(layer.top_k):
            for t, token in enumerate(tokens):
                e = order[t, choice]
                w1, b1, w2, b2 = (w[e] for w in weights)
                if load[e] < layer.capacity(len(tokens)):
                    share = scores[t, e] / scores[t, order[t]].sum()
                    found[row, t] += share * (Tensor(token @ w1 + b1).gelu().numpy() @ w2 + b2)
                else:
                    dropped += 1
                load[e] += 1
    return found, dropped


@pytest.mark.parametrize("top_k", [1, 2, 4])
@pytest.mark.parametrize("factor", [None, 0.5, 1.0, 1.25])
def test_a_mixture_is_the_loop_over_its_tokens(top_k, factor):
    layer, x = mixture(top_k=top_k, capacity_factor=factor), inputs()
    expected, dropped = by_loops(layer, x)
    np.testing.assert_allclose(layer(Tensor(x)).numpy(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(layer(Tensor(x[1])).numpy(), expected[1], rtol=1e-5, atol=1e-6)
    assert dropped == 0 if factor is None else dropped > 0 or factor >= 1


def test_equal_scores_go_to_the_experts_of_lower_numbers():
    layer = mixture(capacity_factor=None)
    layer.router.weight.assign(Tensor.zeros(EXPERTS, FEATURES))
    with nn.auxiliary_losses() as extra:
        found = layer(Tensor(inputs()))
    layer.weight2.assign(layer.weight2 * Tensor([1.0, 1.0, np.nan, np.nan]).reshape(4, 1, 1))
    assert (layer(Tensor(inputs())).numpy() == found.numpy()).all()
    assert extra.total().item() == 1.0  # all first choices are expert 0's, of probability 1 / 4


def test_the_balance_loss_is_1_for_equal_loads_and_as_large_as_experts_for_one():
    layer = mixture(top_k=1)
    layer.router.weight.assign(50 * Tensor.eye(EXPERTS, FEATURES))
    tokens = np.eye(EXPERTS, FEATURES, dtype=np.float32)
    for x, expected in ((tokens, 1.0), (tokens[[2, 2, 2, 2]], EXPERTS)):
        with nn.auxiliary_losses() as extra:
            layer(Tensor(x))
        assert extra.total().item() == pytest.approx(expected, rel=1e-6)
    with nn.auxiliary_losses() as extra:
        assert extra.total().item() == 0


def test_a_batch_without_rows_has_answers_without_rows():
    layer = mixture()
    assert layer(Tensor(inputs(0))).shape == (0, 6, FEATURES)
    parallel.shard_model(layer, mesh := Mesh({"ep": 2}))
    assert layer(parallel.shard_batch(mesh, inputs(0))).square().sum().item() == 0


def test_losses_of_layers_are_collected_by_the_innermost_reader():
    layer, x = mixture(), Tensor(inputs())
    with nn.auxiliary_losses() as outer:
        with nn.auxiliary_losses() as inner:
            layer(x)
        layer(x)
        layer(x)
    layer(x)
    assert (len(outer.values), len(inner.values)) == (2, 1)


def test_gradients_are_those_of_differences():
    layer = mixture(capacity_factor=1.0).double()
    x = inputs(2, 4).astype(np.float64)

    def loss(layer, x):
        with nn.auxiliary_losses() as extra:
            value = (layer(x) ** 2).sum()
        return value + 0.1 * extra.total()

    found, value = jit(grad(loss))(layer, Tensor(x)).state_dict(), jit(loss)
    rng, before = np.random.default_rng(0), {n: t.numpy() for n, t in layer.state_dict().items()}
    ways = {name: rng.normal(size=array.shape) for name, array in before.items()}
    ends = []
    for step in (1e-6, -1e-6):
        for name, tensor in layer.state_dict().items():
            tensor.assign(Tensor(before[name] + step * ways[name]))
        ends.append(value(layer, Tensor(x)).item())
    slope = sum((found[name].numpy() * way).sum() for name, way in ways.items())
    assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(slope, rel=1e-6)


# ---- on meshes


def spread(mesh, **options):
    layer, x = mixture(**options), inputs()
    if mesh is None:
        given = Tensor(x)
    else:
        parallel.shard_model(layer, mesh)
        given = parallel.shard_batch(mesh, x).realize()
    given.requires_grad_()
    y = layer(given)
    return y, y.square().mean().gradient(given, *layer.parameters())


@pytest.mark.parametrize("axes", [{"ep": 2}, {"ep": 4}, {"dp": 2, "ep": 2}])
@pytest.mark.parametrize("factor", [None, 1.25])
def test_tokens_go_to_their_experts_and_back_and_so_do_their_gradients(axes, factor):
    y, gradients = spread(Mesh(axes), capacity_factor=factor)
    assert collectives(y) == ["all_to_all"] * 2
    met = Counter(collectives(y, *gradients))
    others = 5 if "dp" in axes else 1  # sums of gradients: the router's; over dp, the experts' too
    assert met == {"all_to_all": 4, "all_reduce": others}
    whole, expected = spread(None, capacity_factor=factor)
    np.testing.assert_allclose(y.numpy(), whole.numpy(), rtol=1e-5, atol=1e-6)
    for one, other in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-8)


def test_members_have_their_experts_alone():
    layer, mesh = mixture(), Mesh({"ep": 2})
    layouts = parallel.shard_model(layer, mesh)
    assert layouts.pop("router.weight") == P()
    assert set(layouts.values()) == {P("ep")}


def test_a_dispatch_sends_what_theory_says():
    mesh = Mesh({"ep": 2})
    y, _ = spread(mesh, capacity_factor=None)
    leaves = [n for n in toposort([y.uop], stop=is_known) if is_known(n)]
    sent = local_graph([y.uop], leaves, mesh, "fixed").bytes_sent
    slots = 8 // 2 * EXPERTS * 6  # a member's rows, all experts, as many slots as tokens
    assert sent == 2 * (slots * FEATURES * 4) // 2  # there and back, half of it to the other member


def test_a_gpt_with_experts_has_the_losses_of_one_device():
    alone = Run("experts").losses(3)
    found = Run("experts", mesh_of("ep=2")).losses(3)
    np.testing.assert_allclose(found, alone, rtol=2e-6)
    assert found == Run("experts", mesh_of("ep=1")).losses(3)


@pytest.mark.slow
@pytest.mark.parametrize("mesh", ["ep=4", "dp=2,ep=2", "ep=2,tp=2", "pp=2", "fsdp=2", "ep=2,pp=2"])
def test_a_gpt_with_experts_trains_on_every_mesh(mesh):
    alone = Run("experts").losses(3)
    np.testing.assert_allclose(Run("experts", mesh_of(mesh)).losses(3), alone, rtol=2e-6)


@pytest.mark.slow
def test_a_run_with_experts_goes_on_on_another_mesh(tmp_path):
    whole = Run("experts", mesh_of("ep=1")).losses(4)
    found = []
    for number, mesh in enumerate(("ep=2", "ep=4", "ep=1", "ep=2")):
        run = Run("experts", mesh_of(mesh))
        if number:
            assert run.resume(tmp_path / "run.ckpt") == number
        found += run.losses(number + 1, number)
        run.save(tmp_path / "run.ckpt", number + 1)
    assert found == whole


BAD = [
    (lambda: mixture(top_k=5), "E2006", "more than the 4 experts"),
    (lambda: mixture(capacity_factor=0.0), "E2006", "above 0"),
    (lambda: mixture()(Tensor.ones(2, 3, 7)), "E3003", "8 features"),
    (lambda: mixture()(Tensor.ones(8)), "E3002", "rank 2 or 3"),
    (lambda: mixture()(Tensor.ones(2, 8, dtype="int32")), "E2005", "floats"),
    (lambda: parallel.shard_model(mixture(), Mesh({"ep": 3})), "E7004", "no 3 equal parts"),
    (lambda: parallel.shard_model(nn.Linear(2, 2), Mesh({"ep": 2})), "E7002", "has none"),
]


@pytest.mark.parametrize(("make", "code", "text"), BAD)
def test_what_does_not_fit_is_refused(make, code, text):
    with pytest.raises(AdjointError, match=text) as raised:
        make()
    assert raised.value.code == code


def test_a_mesh_without_experts_names_the_layer_that_has_some():
    with pytest.raises(ShardingError, match="MixtureOfExperts"):
        parallel.shard_model(nn.Linear(2, 2), Mesh({"ep": 2}))
