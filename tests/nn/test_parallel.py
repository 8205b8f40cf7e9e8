"""Parallel training: every strategy has the losses of one device, and says no more than it must."""

from collections import Counter

import numpy as np
import pytest

from adjoint import ArgumentError, Mesh, P, ShapeError, Tensor, nn
from adjoint.nn import parallel
from bench import distributed
from tests.nn.parallel_training import Run, mesh_of
from tests.sharding.meshes import collectives

STEPS = 3
STRATEGIES = {
    "data parallel": ("", "dp=2"),
    "ZeRO-1": ("zero1", "dp=2"),
    "ZeRO-2": ("zero2", "dp=2"),
    "ZeRO-3": ("", "fsdp=2"),
    "tensor parallel": ("", "tp=2"),
    "sequence parallel": ("sequence", "tp=2"),
    "data and tensor parallel": ("", "dp=2,tp=2"),
    "all": ("", "dp=2,fsdp=2,tp=2"),
}
QUICK = ("ZeRO-2", "data and tensor parallel")
CASES = [pytest.param(n, marks=[] if n in QUICK else [pytest.mark.slow]) for n in STRATEGIES]


@pytest.fixture(scope="module")
def alone():
    return Run().losses(STEPS)


@pytest.mark.parametrize("name", CASES)
def test_a_strategy_has_the_losses_of_one_device(name, alone):
    strategy, mesh = STRATEGIES[name]
    np.testing.assert_allclose(Run(strategy, mesh_of(mesh)).losses(STEPS), alone, rtol=2e-6)


@pytest.mark.slow
def test_one_two_and_four_members_have_the_same_bits():
    found = [Run("", mesh_of(mesh)).losses(STEPS) for mesh in ("dp=1", "dp=2", "dp=4")]
    assert found.count(found[0]) == 3


def layouts(run):
    return {name: tensor.sharding.spec for name, tensor in run.model.state_dict().items()}


def test_layouts_stay_what_they_are_while_parameters_change():
    run = Run("zero1", mesh_of("dp=2"))
    before = layouts(run)
    run.losses(2)
    assert layouts(run) == before
    assert set(before.values()) == {P()}
    kept = {str(t.sharding.spec) for group in run.optimizer.param_groups for t in group.state}
    assert kept == {"P('dp')", "P(None, 'dp')"}


def test_the_optimiser_keeps_no_more_than_its_parameters():
    run = Run("", mesh_of("fsdp=2"))
    for group in run.optimizer.param_groups:
        for p, slots in zip(group.params, group.slots, strict=True):
            assert {slot.sharding for slot in slots.values()} == {p.sharding}


@pytest.fixture
def block():
    """A transformer layer on a mesh of two, with an input."""
    Tensor.manual_seed(0)
    layer = nn.TransformerEncoderLayer(
        16, 4, 32, 0.0, "gelu", batch_first=True, norm_first=True, device="REF"
    )
    mesh = Mesh(2, "tp", ["REF", "REF:1"])
    parallel.shard_model(layer, mesh)
    x = Tensor(np.ones((2, 3, 16), np.float32), device="REF").shard(mesh, P()).realize()
    return layer, x.requires_grad_()


def test_attention_and_the_feed_forward_part_are_summed_up_once_each_way(block):
    layer, x = block
    y = layer(x, is_causal=True)
    assert collectives(y) == ["all_reduce"] * 2
    gradients = y.square().sum().gradient(x, *layer.parameters())
    assert collectives(y, *gradients) == ["all_reduce"] * (2 + 2)


def test_gradients_of_zero_2_are_scattered_and_never_whole():
    mesh = Mesh(2, "dp", ["REF", "REF:1"])
    layer = nn.Linear(4, 6, device="REF")
    parallel.shard_model(layer, mesh)
    optimizer = nn.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    parallel.shard_optimizer(optimizer, mesh)
    x = parallel.shard_batch(mesh, Tensor(np.ones((8, 4), np.float32), device="REF"))
    layer(x).square().sum().backward()
    parallel.shard_gradients(optimizer, mesh)
    assert {p.grad.sharding.spec for p in layer.parameters()} == {P("dp")}
    changed = optimizer.schedule_step()
    assert Counter(collectives(*[t for t in changed if t.ndim])) == {
        "reduce_scatter": 2,
        "all_gather": 2,
    }


def test_rules_come_first_and_must_name_something():
    mesh = Mesh(2, "tp", ["REF", "REF:1"])
    layer = nn.Linear(4, 6, device="REF")
    assert parallel.shard_model(layer, mesh, {"we*": P("tp")}) == {"weight": P("tp"), "bias": P()}
    with pytest.raises(ArgumentError, match="no parameter is called 'wight'"):
        parallel.shard_model(layer, mesh, {"wight": P("tp")})
    with pytest.raises(ArgumentError, match="has no axis 'dp'"):
        parallel.shard_optimizer(nn.optim.SGD(layer.parameters(), lr=0.1), mesh)
    with pytest.raises(ArgumentError, match="lengths are split over the axis 'tp'"):
        parallel.shard_model(layer, Mesh(2, "dp", ["REF", "REF:1"]), sequence=True)


def test_attention_with_fewer_heads_for_keys_is_refused():
    attention = nn.MultiheadAttention(16, 4, num_kv_heads=2, device="REF")
    with pytest.raises(ShapeError, match="differ in size"):
        parallel.shard_model(attention, Mesh(2, "tp", ["REF", "REF:1"]))


def test_an_unpacked_attention_computes_the_same():
    Tensor.manual_seed(0)
    attention = nn.MultiheadAttention(16, 4, batch_first=True)
    attention.in_proj_bias.assign(Tensor.randn(48))
    x, other = Tensor.randn(2, 5, 16), Tensor.randn(2, 7, 16)
    before = [attention(x, x, x)[0].numpy(), attention(x, other, other)[0].numpy()]
    attention.unpack()
    after = [attention(x, x, x)[0].numpy(), attention(x, other, other)[0].numpy()]
    np.testing.assert_allclose(after[0], before[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(after[1], before[1], rtol=1e-5, atol=1e-6)


def sent(strategy, sizes):
    """Bytes that a member of two sends in a step of the example's GPT, against the least."""
    name = next(n for n, v in distributed.STRATEGIES.items() if v == (strategy, sizes))
    run = distributed.Trained(strategy, sizes)
    return sum(distributed.sent(distributed.graph_of(run), 2).values()) / distributed.least(
        run, name, 2
    )


def test_parameters_in_parts_are_sent_and_not_what_they_are_repeated_to():
    assert sent("", {"fsdp": 2}) < 1.2


def test_lengths_in_parts_send_what_whole_lengths_do():
    assert sent("sequence", {"tp": 2}) < 1.05
