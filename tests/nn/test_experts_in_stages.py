"""Mixtures of experts along `ep` beside stages along `pp`: against one device, and what is sent."""

import numpy as np
import pytest

from adjoint import Mesh, P, ShardingError, Tensor, jit, lower, nn, reduction_order
from adjoint.ir.values import storage
from adjoint.nn import parallel
from tests.nn.parallel_training import Run, mesh_of
from tests.support.covering import covering

FEATURES, HIDDEN, EXPERTS, LENGTH = 8, 12, 4, 6


class Layer(nn.Module):
    def __init__(self, **options):
        self.mix = nn.Linear(FEATURES, FEATURES)
        self.experts = nn.MixtureOfExperts(FEATURES, HIDDEN, EXPERTS, **options)

    def forward(self, x):
        return x + self.experts(self.mix(x)).tanh()


def layers(count=2, **options):
    Tensor.manual_seed(0)
    return nn.Sequential(*(Layer(**options) for _ in range(count)))


def arrays(rows, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(rows, LENGTH, FEATURES)).astype(np.float32) for _ in range(2)]


OPTIMISERS = {
    "sgd": lambda ps: nn.optim.SGD(ps, lr=0.1, momentum=0.9),
    "adamw": lambda ps: nn.optim.AdamW(ps, lr=1e-2),
}


def step_of(model, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        with nn.auxiliary_losses(0.1) as extra:
            loss = extra.added((model(x) - y).square().mean())
        loss.backward()
        nn.optim.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return step


def trained(mesh, model, optimiser="adamw", rows=16, stages=None, rules=None):
    """Losses, and all that a run of three steps leaves behind."""
    parallel.shard_model(model, mesh, rules, stages=stages if mesh else None)
    optimizer = OPTIMISERS[optimiser](model.parameters())
    step = jit(step_of(model, optimizer))
    batches = [parallel.shard_batch(mesh, *map(Tensor, arrays(rows, n))) for n in range(3)]
    losses = [step(*batch).item() for batch in batches]
    state = model.state_dict() | optimizer.state_dict()
    return losses, {name: t.numpy() for name, t in state.items()}


def agree(found, expected):
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-6)
    for name, array in expected[1].items():
        size = np.abs(array).max()
        np.testing.assert_allclose(found[1][name], array, rtol=0, atol=2e-6 * size, err_msg=name)


# ---- the numbers of one device


@pytest.mark.parametrize(
    ("optimiser", "factor"), covering(list(OPTIMISERS), [None, 0.5, 1.25], together=1)
)
def test_experts_in_stages_learn_what_one_device_does(optimiser, factor):
    model = lambda: layers(capacity_factor=factor)  # noqa: E731
    found = trained(Mesh({"ep": 2, "pp": 2}), model(), optimiser)
    agree(found, trained(None, model(), optimiser))


AXES = [
    {"pp": 2, "ep": 2},
    {"ep": 4, "pp": 2},
    {"dp": 2, "ep": 2, "pp": 2},
    {"fsdp": 2, "ep": 2, "pp": 2},
    {"dp": 2, "fsdp": 2, "ep": 2, "pp": 2},
    {"dp": 2, "ep": 1, "pp": 2},
    {"dp": 1, "fsdp": 1, "ep": 2, "pp": 1},
]


@pytest.mark.parametrize(("axes", "order"), covering(AXES, ["fixed", "fast"], together=1))
def test_so_they_do_on_every_mesh_and_in_either_order(axes, order):
    with reduction_order(order):
        agree(trained(Mesh(axes, microbatches=2), layers()), trained(None, layers()))


SLOW = [pytest.param(*sizes, marks=pytest.mark.slow) for sizes in ((5, 20), (4, 8))]


@pytest.mark.parametrize(("count", "rows"), [(3, 12), (8, 16), *SLOW])
def test_any_number_of_microbatches_has_the_losses_of_the_batch(count, rows):
    mesh = Mesh({"ep": 2, "pp": 2}, microbatches=count)
    agree(trained(mesh, layers(), rows=rows), trained(None, layers(), rows=rows))


@pytest.mark.parametrize("stages", [None, ["2"]])
def test_stages_of_different_lengths_have_their_experts(stages):
    mesh = Mesh({"ep": 2, "pp": 2})
    agree(trained(mesh, layers(3), stages=stages), trained(None, layers(3)))


def test_experts_are_split_by_rules_along_other_axes_too():
    rules = {
        "*.weight1": P("ep", None, "tp"),
        "*.bias1": P("ep", "tp"),
        "*.weight2": P("ep", "tp"),
    }
    mesh = Mesh({"ep": 2, "tp": 2, "pp": 2})
    agree(trained(mesh, layers(), rules=rules), trained(None, layers()))


def test_an_activation_may_tell_experts_apart():
    model = lambda: layers(activation=nn.PReLU(EXPERTS))  # noqa: E731
    agree(trained(Mesh({"ep": 2, "pp": 2}), model()), trained(None, model()))


def test_experts_of_two_stages_get_both_gradients():
    def shared():
        model = layers()
        model[1].experts = model[0].experts
        return model

    agree(trained(Mesh({"ep": 2, "pp": 2}), shared()), trained(None, shared()))


def test_rows_that_are_cut_are_routed_each_by_itself():
    class Cut(Layer):
        def forward(self, x):
            rows, length, features = x.shape
            cut = self.mix(x).reshape(2 * rows, length // 2, features)
            return x + self.experts(cut).reshape(x.shape)

    def model():
        Tensor.manual_seed(0)
        return nn.Sequential(Cut(), Cut())

    agree(trained(Mesh({"ep": 2, "pp": 2}), model()), trained(None, model()))


@pytest.mark.parametrize("rows", [1, 3, 16])
def test_without_microbatches_experts_in_stages_answer(rows):
    model, (x, _) = layers(), arrays(rows)
    expected = model(Tensor(x)).numpy()
    parallel.shard_model(model, Mesh({"ep": 2, "pp": 2}))
    np.testing.assert_allclose(model(Tensor(x)).numpy(), expected, atol=1e-6)


def test_answers_come_back_in_the_order_of_rows():
    model, (x, _) = layers(), arrays(16)
    expected, mesh = model(Tensor(x)).numpy(), Mesh({"dp": 2, "ep": 2, "pp": 2}, microbatches=2)
    parallel.shard_model(model, mesh)
    np.testing.assert_allclose(model(parallel.shard_batch(mesh, x)).numpy(), expected, atol=1e-6)


# ---- bits


def test_neither_stages_nor_schedules_show_in_a_bit_of_experts():
    meshes = [
        Mesh({"ep": 2, "pp": stages}, microbatches=4, schedule=schedule)
        for stages, schedule in ((1, "1f1b"), (2, "1f1b"), (2, "gpipe"), (4, "1f1b"))
    ]
    first, *others = (trained(mesh, layers(4)) for mesh in meshes)
    for losses, state in others:
        assert losses == first[0]
        assert all((state[name] == array).all() for name, array in first[1].items())


@pytest.mark.slow
def test_a_run_of_experts_goes_on_in_stages_and_without(tmp_path):
    whole = Run("experts", mesh_of("ep=2,pp=2")).losses(4)
    found = []
    for number, mesh in enumerate(("ep=2,pp=2", "ep=2,pp=2", "ep=2", "pp=2")):
        run = Run("experts", mesh_of(mesh))
        if number:
            assert run.resume(tmp_path / "run.ckpt") == number
        found += run.losses(number + 1, number)
        run.save(tmp_path / "run.ckpt", number + 1)
    assert found[:2] == whole[:2]
    np.testing.assert_allclose(found, whole, rtol=2e-6)


# ---- where things are, and what is sent


def test_members_of_a_stage_have_their_experts_of_its_mixtures_alone():
    model, mesh = layers(), Mesh({"ep": 2, "pp": 2})
    parallel.shard_model(model, mesh)
    for stage in (0, 1):
        weight = model[stage].experts.weight1
        assert (weight.sharding.spec, weight.sharding.stage) == (P("ep"), stage)
        parts = storage(weight.uop).parts
        assert {m: p.shape[0] for m, p in parts.items()} == {stage: 2, stage + 2: 2}


def test_a_microbatch_takes_two_all_to_alls_each_way_and_gathers_nothing():
    mesh, (x, y) = Mesh({"ep": 2, "pp": 2}, microbatches=4), arrays(16)
    model = layers(capacity_factor=None)
    parallel.shard_model(model, mesh)
    optimizer = nn.optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    lowered = lower(step)(*parallel.shard_batch(mesh, x, y))
    lines = [line for line in lowered.collectives() if not line.startswith("send")]
    exchanges = [line for line in lines if "all_to_all" in line]
    assert len(exchanges) == 2 * 2 * 2  # stages, directions, there and back
    assert all(line.endswith(", 4 times") for line in exchanges)
    assert all("all_reduce" in line for line in lines if line not in exchanges)
    slots = 16 // 2 * EXPERTS * LENGTH  # of a member's rows in all microbatches
    exchanged = 4 * slots * FEATURES * 4 // 2  # half of them stay
    sums = FEATURES * FEATURES + FEATURES + EXPERTS * FEATURES  # `mix` and the router
    found = [s.collective_bytes for s in lowered.stages().stages]
    assert found == [exchanged + 4 * sums, exchanged + 4 * sums + 4]  # and the loss


# ---- what cannot be


def test_a_batch_without_equal_microbatches_on_each_member_is_refused():
    with pytest.raises(
        ShardingError, match="no 4 equal microbatches on each of 2 members"
    ) as raised:
        parallel.shard_batch(Mesh({"ep": 2, "pp": 2}), *arrays(12))
    assert raised.value.code == "E7008"


@pytest.mark.parametrize(
    "way", [lambda x: x.reshape(-1, FEATURES), lambda x: x.transpose(0, 1)], ids=["one", "turned"]
)
def test_tokens_of_several_microbatches_that_compete_are_refused(way):
    class Competing(Layer):
        def forward(self, x):
            return self.experts(way(x)).square().sum() + self.mix(x).sum()

    mesh, model = (
        Mesh({"ep": 2, "pp": 2}),
        nn.Sequential(nn.Linear(FEATURES, FEATURES), Competing()),
    )
    parallel.shard_model(model, mesh)
    with pytest.raises(ShardingError, match="rows of different microbatches") as raised:
        model(parallel.shard_batch(mesh, arrays(16)[0])).item()
    assert raised.value.code == "E7007"
    assert raised.value.help


def test_draws_of_experts_are_refused_and_draws_behind_them_are_those_of_one_device():
    class Dropped(Layer):
        def __init__(self, activation):
            super().__init__(activation=activation)
            self.drop = nn.Dropout(0.5)

        def forward(self, x):
            return self.drop(super().forward(x))

    def value(activation, place, training=True):
        Tensor.manual_seed(0)
        model = nn.Sequential(Dropped(activation), Dropped(activation)).train(training)
        parallel.shard_model(model, place)
        x = parallel.shard_batch(place, Tensor(arrays(16)[0]))
        return model(x).square().sum().item()

    mesh, drop = Mesh({"ep": 2, "pp": 2}), nn.Dropout(0.5)
    assert value(None, mesh) == pytest.approx(value(None, None), rel=1e-6)
    with pytest.raises(ShardingError, match="draws random numbers") as raised:
        value(drop, mesh)
    assert raised.value.code == "E7006"
    assert "behind the mixture" in raised.value.help
    expected = value(drop, None)
    assert value(drop, Mesh({"ep": 2})) == pytest.approx(expected, rel=1e-6)
    assert value(drop, Mesh({"pp": 2})) == pytest.approx(expected, rel=1e-6)
    value(drop, mesh, training=False)
