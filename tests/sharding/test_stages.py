"""Timetables of stages, and graphs that are cut into pieces."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

from adjoint import (
    BoundsError,
    Mesh,
    P,
    ShardingError,
    Tensor,
    jit,
    lower,
    nn,
    reduction_order,
    visualize_sharding,
)
from adjoint.engine.sharded import sharded_program
from adjoint.ir.mesh import Sharding
from adjoint.ir.uop import toposort
from adjoint.ir.values import is_known, storage
from adjoint.nn import parallel
from adjoint.sharding.timetable import BACKWARD, FORWARD, Turn, bubble, in_flight, timetable

SIZES = [(1, 2), (2, 4), (3, 5), (4, 8), (4, 2)]


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
@pytest.mark.parametrize(("stages", "count"), SIZES)
def test_every_stage_has_every_turn_once_and_backward_passes_in_order(schedule, stages, count):
    for turns in timetable(schedule, stages, count):
        assert sorted(turns) == sorted(
            Turn(d, m) for d in (FORWARD, BACKWARD) for m in range(count)
        )
        for direction in (FORWARD, BACKWARD):
            own = [turn.microbatch for turn in turns if turn.direction == direction]
            assert own == list(range(count))


@pytest.mark.parametrize(("stages", "count"), SIZES)
def test_gpipe_keeps_all_microbatches_and_1f1b_as_many_as_stages_follow(stages, count):
    assert [in_flight(t) for t in timetable("gpipe", stages, count)] == [count] * stages
    kept = [min(stages - s, count) for s in range(stages)]
    assert [in_flight(t) for t in timetable("1f1b", stages, count)] == kept


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
@pytest.mark.parametrize(("stages", "count"), SIZES)
def test_the_bubble_is_that_of_theory(schedule, stages, count):
    found = bubble(timetable(schedule, stages, count))
    assert found == pytest.approx((stages - 1) / (count + stages - 1))


# ---- graphs


def perceptron(widths):
    Tensor.manual_seed(0)
    layers = (nn.Sequential(nn.Linear(a, b), nn.Tanh()) for a, b in pairwise(widths))
    return nn.Sequential(*layers)


def program_of(*roots):
    """The program of a graph on a mesh."""
    nodes = [r.uop for r in roots]
    leaves = [n for n in toposort(nodes, stop=is_known) if is_known(n)]
    mesh = next(n.device.mesh for n in nodes if isinstance(n.device, Sharding))
    return sharded_program(nodes, leaves, mesh)


def step_of(mesh, widths=(4, 6, 6, 2), rows=8, stages=None):
    model = perceptron(widths)
    parallel.shard_model(model, mesh, stages=stages)
    x = parallel.shard_batch(mesh, np.ones((rows, widths[0]), np.float32)).realize()
    loss = model(x).square().mean()
    return model, loss, loss.gradient(*model.parameters())


def test_stages_send_what_enters_a_stage_and_its_gradient_and_nothing_else():
    mesh = Mesh({"pp": 2}, microbatches=4)
    _, loss, gradients = step_of(mesh)
    program = program_of(loss, *gradients)
    sent = [(t.source, t.target, t.node.shape) for r in program.cut.sends.values() for t in r]
    assert sorted(sent) == [(0, 1, (2, 6)), (1, 0, (2, 6))]
    report = program.report()
    activations = 8 * 6 * 4  # bytes of the batch between the stages
    assert [s.sent for s in report.stages] == [activations, activations + 4]  # and the loss
    assert report.bubble == pytest.approx(0.2)


def test_a_stage_holds_its_parameters_alone():
    mesh = Mesh({"dp": 2, "pp": 2})
    model, _, _ = step_of(mesh)
    for name, tensor in model.state_dict().items():
        stage = 0 if name.startswith(("0", "1")) else 1  # three layers: two, and one
        assert tensor.sharding.stage == stage
        assert sorted(storage(tensor.uop).parts) == [m for m in range(4) if mesh.stage(m) == stage]


@pytest.mark.parametrize("axes", [{"pp": 2}, {"pp": 3}, {"dp": 2, "pp": 2}])
@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
def test_gradients_are_those_of_one_device(axes, schedule):
    mesh = Mesh(axes, microbatches=4, schedule=schedule)
    model = perceptron((4, 6, 6, 2))
    data = np.random.default_rng(0).normal(size=(16, 4)).astype(np.float32)

    def gradients(x):
        return [g.numpy() for g in model(x).square().mean().gradient(*model.parameters())]

    expected = gradients(Tensor(data))
    parallel.shard_model(model, mesh)
    found = gradients(parallel.shard_batch(mesh, data))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-7)


def test_a_gradient_is_where_its_parameter_is():
    model, _, gradients = step_of(Mesh({"pp": 2}))
    assert [g.sharding.stage for g in gradients] != [None] * len(gradients)
    Tensor.realize(*gradients)
    for p, g in zip(model.parameters(), gradients, strict=True):
        assert g.sharding == p.sharding


def test_a_program_that_runs_keeps_no_more_microbatches_than_its_timetable_says():
    for schedule, kept in (("gpipe", {0: 6, 1: 6, 2: 6}), ("1f1b", {0: 3, 1: 2, 2: 1})):
        mesh = Mesh({"pp": 3}, microbatches=6, schedule=schedule)
        _, loss, gradients = step_of(mesh, rows=12)
        nodes = [loss.uop, *(g.uop for g in gradients)]
        leaves = [n for n in toposort(nodes, stop=is_known) if is_known(n)]
        program = sharded_program(nodes, leaves, mesh)
        program.run([storage(leaf) for leaf in leaves])
        assert program.peaks == kept
        assert [s.in_flight for s in program.report().stages] == list(kept.values())


def test_a_parameter_of_two_stages_gets_both_gradients():
    Tensor.manual_seed(0)

    class Tied(nn.Module):
        def __init__(self):
            self.first = nn.Linear(4, 4, bias=False)
            self.layers = [nn.Linear(4, 4) for _ in range(2)]

        def forward(self, x):
            h = self.first(x)
            for layer in self.layers:
                h = layer(h).tanh()
            return h @ self.first.weight

    model, data = Tied(), np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    gradients = lambda x: model(x).square().mean().gradient(*model.parameters())  # noqa: E731
    expected = [g.numpy() for g in gradients(Tensor(data))]
    mesh = Mesh({"pp": 2}, microbatches=4)
    parallel.shard_model(model, mesh)
    found = [g.numpy() for g in gradients(parallel.shard_batch(mesh, data))]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("place", [lambda p, mesh: p, lambda p, mesh: p.shard_(mesh, P())])
def test_a_parameter_of_no_stage_gets_its_gradient(place):
    mesh, data = Mesh({"pp": 2}, microbatches=4), np.ones((8, 4), np.float32)
    model, scale = perceptron((4, 6, 6, 2)), Tensor.full((4,), 1.5).requires_grad_()
    gradients = lambda x: model(x * scale).square().mean().gradient(scale, *model.parameters())  # noqa: E731
    expected = [g.numpy() for g in gradients(Tensor(data))]
    parallel.shard_model(model, mesh)
    place(scale, mesh)
    found = [g.numpy() for g in gradients(parallel.shard_batch(mesh, data))]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-7)


def test_a_layout_that_is_asked_for_inside_keeps_the_turns():
    mesh, data = Mesh({"pp": 2, "tp": 2}, microbatches=2), np.ones((8, 4), np.float32)
    model = perceptron((4, 6, 6, 2))
    value = lambda x: model[1:](model[0](x).shard(mesh, P(None, "tp"))).square().sum()  # noqa: E731
    expected = model(Tensor(data)).square().sum().item()
    parallel.shard_model(model, mesh)
    found = value(parallel.shard_batch(mesh, data))
    assert found.item() == pytest.approx(expected, rel=1e-6)


def test_random_draws_are_those_of_one_device():
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    mesh = Mesh({"pp": 2}, microbatches=2)
    data = np.ones((8, 4), np.float32)

    def value(x):
        Tensor.manual_seed(3)
        return model.train()(x).square().sum().item()

    expected = value(Tensor(data))
    parallel.shard_model(model, mesh)
    assert value(parallel.shard_batch(mesh, data)) == pytest.approx(expected, rel=1e-6)


def test_without_microbatches_a_model_in_stages_predicts():
    model = perceptron((4, 6, 6, 2))
    data = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    expected = model(Tensor(data)).numpy()
    parallel.shard_model(model, Mesh({"pp": 2}))
    found = model(Tensor(data))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)
    assert found.sharding.stage == 1


def test_what_stages_say_is_shown_by_lower():
    model, mesh = perceptron((4, 6, 6, 2)), Mesh({"pp": 2}, microbatches=2)
    parallel.shard_model(model, mesh)
    x = parallel.shard_batch(mesh, np.ones((4, 4), np.float32))
    lowered = lower(lambda x: model(x).square().mean())(x)
    assert lowered.collectives() == [
        "send of f32[2, 6]: stage 0 to stage 1, 2 times, 96 bytes sent by each",
        "send of f32[]: stage 1 to stage 0, 4 bytes sent by each",
    ]
    assert "2 stages, 2 microbatches, 33.3% of the time waiting" in str(lowered.stages())
    with pytest.raises(ShardingError, match="on no mesh with stages"):
        lower(lambda x: x + 1)(Tensor.ones(2)).stages()


def test_results_with_rows_come_back_in_order():
    model, mesh = perceptron((4, 6, 6, 2)), Mesh({"dp": 2, "pp": 2}, microbatches=2)
    data = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)
    expected = model(Tensor(data)).numpy()
    parallel.shard_model(model, mesh)
    found = model(parallel.shard_batch(mesh, data))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_a_result_stays_with_its_stage_unless_it_is_asked_for_elsewhere():
    mesh = Mesh({"pp": 2})
    model, loss, _ = step_of(mesh)
    last = model.parameters()[-1]
    grown = (last + 1).realize()
    assert grown.sharding.stage == last.sharding.stage == 1
    assert visualize_sharding(grown).splitlines()[1] == "│ CPU:1 │"
    assert (grown - last).sum().item() == pytest.approx(2)
    assert sorted(storage(last.shard(mesh, P()).realize().uop).parts) == [0, 1]
    assert sorted(storage(loss.realize().uop).parts) == [0, 1]  # a number
    assert (last.to("CPU").numpy() == last.numpy()).all()
    other = last.reshard(Mesh({"dp": 2}), P("dp"))
    assert (other.numpy() == last.numpy()).all()


def test_an_index_out_of_range_is_named_with_its_place():
    mesh = Mesh({"pp": 2}, microbatches=2)
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 4), nn.Linear(4, 2))
    parallel.shard_model(model, mesh)
    x = parallel.shard_batch(mesh, np.array([[0, 1], [2, 3], [4, 5], [0, 1]]))
    loss = model(x).square().mean()
    with pytest.raises(BoundsError, match="index 5 is out of range"):
        loss.item()


def test_values_are_pickled_and_compared_with_their_stage():
    layout = Sharding(Mesh({"pp": 2}, schedule="gpipe"), (), (), 1)
    again = pickle.loads(pickle.dumps(layout))
    assert (again, hash(again)) == (layout, hash(layout))
    assert layout != Sharding(layout.mesh, (), (), 0)
    assert layout != Sharding(layout.mesh)
    assert layout.mesh != Mesh({"pp": 2})
    assert "stage 1" in repr(layout)


@pytest.mark.parametrize("order", ["fixed", "fast"])
def test_an_empty_batch_and_another_size_at_the_second_call(order):
    model, mesh = perceptron((4, 6, 6, 2)), Mesh({"pp": 2}, microbatches=2)
    parallel.shard_model(model, mesh)
    value = jit(lambda x: model(x).square().sum())
    with reduction_order(order):
        found = [
            value(parallel.shard_batch(mesh, np.ones((rows, 4), np.float32))).item()
            for rows in (4, 8, 0, 4)
        ]
    assert found[0] == found[3]
    assert found[1] == pytest.approx(2 * found[0], rel=1e-6)
    assert found[2] == 0


# ---- what cannot be


def test_layers_that_have_no_equal_shares_make_uneven_stages():
    model, _, _ = step_of(Mesh({"pp": 2}), widths=(4, 6, 6, 6, 2))
    assert [t.sharding.stage for t in model.parameters()] == [0] * 4 + [1] * 4
    model, _, _ = step_of(Mesh({"pp": 3}, microbatches=4), widths=(4, 6, 6, 6, 2))
    assert [t.sharding.stage for t in model.parameters()] == [0] * 4 + [1] * 2 + [2] * 2
    model, _, _ = step_of(Mesh({"pp": 2}), widths=(4, 6, 6, 6, 2), stages=["3"])
    assert [t.sharding.stage for t in model.parameters()] == [0] * 6 + [1] * 2


BAD = [
    (lambda m: parallel.shard_model(m, Mesh({"pp": 4})), "E7007", "longest has 3"),
    (lambda m: parallel.shard_model(m, Mesh({"pp": 2}), stages=["7"]), "E7007", "called '7'"),
    (lambda m: parallel.shard_model(m, Mesh({"pp": 2}), stages=[]), "E7007", "begin with 1"),
    (lambda m: parallel.shard_model(m, Mesh({"dp": 2}), stages=["1"]), "E7002", "no axis 'pp'"),
    (lambda m: parallel.shard_model(m, Mesh({"pq": 2})), "E7002", "no parameter is split"),
    (lambda m: parallel.shard_batch(Mesh({"pp": 2}), np.ones((6, 2))), "E7008", "no 4 equal"),
    (lambda m: parallel.shard_batch(Mesh({"pp": 2}), np.ones(())), "E7008", "a number"),
    (lambda m: Mesh({"pp": 2}, microbatches=1), "E7008", "2 microbatches or more"),
    (lambda m: Mesh({"pp": 2}, schedule="1f2b"), "E7001", "no schedule '1f2b'"),
    (lambda m: Mesh({"dp": 2}, microbatches=2), "E7001", "no axis 'pp'"),
    (lambda m: Tensor.ones(4).shard(Mesh({"pp": 2}), ("pp",)), "E7002", "stages of a model"),
    (lambda m: Sharding(Mesh({"pp": 2}), (), (), 2), "E7002", "no stage 2"),
]


@pytest.mark.parametrize(("make", "code", "text"), BAD)
def test_what_has_no_stages_is_refused(make, code, text):
    with pytest.raises(ShardingError, match=text) as raised:
        make(perceptron((4, 6, 6, 2)))
    assert raised.value.code == code
    assert raised.value.help or code == "E7008"


def test_a_model_whose_rows_need_one_another_is_refused_at_the_users_line():
    mesh = Mesh({"pp": 2}, microbatches=2)
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 2))
    parallel.shard_model(model, mesh)
    x = parallel.shard_batch(mesh, np.ones((8, 4), np.float32))
    gradients = model.train()(x).square().mean().gradient(*model.parameters())
    with pytest.raises(ShardingError, match="need one another") as raised:
        Tensor.realize(*gradients)
    assert raised.value.code == "E7007"
    assert "test_stages.py" in str(raised.value)
