"""In the fixed order, meshes of 1, 2, 4 and 8 members give the same bits."""

from functools import partial

import numpy as np
import pytest

from adjoint import P, Tensor, grad, jit, nn, reduction_order
from adjoint.sharding.joins import piece_count
from tests.sharding.meshes import grid, line, values

X, W1, W2 = values(16, 24), values(24, 32, seed=1), values(32, 8, seed=2)


def loss(w1, w2, x):
    h = (x @ w1).gelu()
    return ((h @ w2).log_softmax(-1) * x[:, :8]).mean() + (h.var(0) + x.sum(0).mean()).sum()


def results(mesh, specs):
    """Loss and gradients as bytes."""
    arrays = (W1, W2, X)
    given = [
        Tensor(a, device=mesh.devices[0]).shard(mesh, s) for a, s in zip(arrays, specs, strict=True)
    ]
    found = [jit(loss)(*given), *jit(grad(loss, (0, 1, 2)))(*given)]
    return [t.numpy() for t in found]


STRATEGIES = {
    "data": (P(), P(), P("d")),
    "columns and rows": (P(None, "d"), P("d"), P()),
    "all": (P("d"), P(None, "d"), P(None, "d")),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_number_of_members_does_not_show(name):
    first, *others = (results(line(n, kind="CPU"), STRATEGIES[name]) for n in (1, 2, 4))
    for other in others:
        assert [a.tobytes() for a in other] == [a.tobytes() for a in first]


def test_without_a_mesh_results_are_near():
    whole = [
        jit(loss)(*map(Tensor, (W1, W2, X))),
        *grad(loss, (0, 1, 2))(*map(Tensor, (W1, W2, X))),
    ]
    for order in ("fixed", "fast"):
        with reduction_order(order):
            for found, wanted in zip(
                results(line(2, kind="CPU"), STRATEGIES["data"]), whole, strict=True
            ):
                np.testing.assert_allclose(found, wanted.numpy(), rtol=2e-5, atol=2e-6)


def test_pieces_are_those_of_the_extent():
    assert [piece_count(16, n) for n in (1, 2, 4, 8)] == [8, 4, 2, 1]
    assert [piece_count(12, n) for n in (1, 2, 4)] == [4, 2, 1]
    assert piece_count(12, 8) == piece_count(10, 4) == piece_count(7, 2) == 1


def test_training_on_a_grid_has_the_losses_of_one_member():
    """Optimiser, norms and dropout-free layers of a small network, over both axes of a mesh."""
    losses = []
    for mesh in (grid(1, 1, kind="CPU"), grid(2, 2, kind="CPU")):
        Tensor.manual_seed(0)
        model = nn.Sequential(nn.Linear(24, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 8))
        for name, p in nn.state.get_state_dict(model).items():
            p.shard_(
                mesh,
                {"0.weight": P("tp"), "0.bias": P("tp"), "3.weight": P(None, "tp")}.get(name, P()),
            )
        optimizer = nn.optim.AdamW(model.parameters(), lr=1e-2)
        x = Tensor(X).shard(mesh, P("dp"))

        @jit
        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            value = (model(x) ** 2).mean()
            value.backward()
            optimizer.step()
            return value

        losses.append([step(x).item() for _ in range(4)])
    assert losses[0] == losses[1]
    assert losses[0][-1] < losses[0][0]


LINEAR = {
    "scaled": lambda y, z, m: y * 0.3,
    "added": lambda y, z, m: y + z,
    "subtracted and divided": lambda y, z, m: (y - z * 0.7) / 3,
    "masked and moved": lambda y, z, m: (y * m).T[1:] + z.T[1:],
    "summed": lambda y, z, m: (y * m).sum(0) / 7 + z.mean(0),
    "used twice": lambda y, z, m: (y * 0.3).exp() + (y + z) * 0.1,
}


@pytest.mark.parametrize("name", LINEAR)
def test_what_is_done_to_a_pending_sum_does_not_show_the_number_of_members(name):
    """Of dimensions with 8 and with 4 pieces."""
    found = set()
    for n in (1, 2, 4):
        mesh = line(n, kind="CPU")
        rows = P(None, "d"), P("d")
        x, w = (Tensor(a).shard(mesh, s) for a, s in zip((X, W1), rows, strict=True))
        u = Tensor(values(16, 12, seed=3)).shard(mesh, P(None, "d"))
        v = Tensor(values(12, 32, seed=4)).shard(mesh, P("d"))
        y, z, m = x @ w, u @ v, Tensor(values(16, 32, seed=5)).shard(mesh, P())
        found.add(LINEAR[name](y, z, m).numpy().tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("axes", [("dp", "tp"), ("tp", "dp")])
@pytest.mark.parametrize("spec", [P(), P("dp"), P("tp"), P(("dp", "tp")), P(("tp", "dp"))])
def test_two_axes_are_joined_in_the_order_of_the_dimension(axes, spec):
    found = set()
    for a, b in ((1, 1), (2, 2), (4, 1), (1, 4), (4, 2)):
        mesh = grid(a, b, kind="CPU")
        x = Tensor(X).shard(mesh, P(None, axes))
        y = (x @ Tensor(W1).shard(mesh, P(axes))) * 0.3
        assert {axis for axis, _ in y.sharding.pending} == {"dp", "tp"}
        found.add(y.shard(mesh, spec).numpy().tobytes())
    assert len(found) == 1


def written_mean(x, y, mesh):
    z = y * 1
    z[Tensor([3], device="CPU")] = 3.0
    return ((z.mean().shard(mesh, P()) + x).tanh()).sum()


def test_how_a_written_value_is_split_does_not_depend_on_the_number_of_members():
    """An only member has as many pieces of a sum as all others together."""
    found = set()
    for n in (1, 2, 4, 8):
        mesh = line(n, kind="CPU")
        x = Tensor(values(8), device="CPU").shard(mesh, P())
        y = Tensor(values(8, seed=1), device="CPU").shard(mesh, P("d"))
        added = y.scatter_reduce(0, Tensor([3]), Tensor([3.0]), "sum")
        assert added.sharding.spec == P("d")
        gradients = grad(partial(written_mean, mesh=mesh), (0, 1))(x, y)
        sums = [added.mean(), (added * 3).sum().exp()]
        found.add(tuple(t.numpy().tobytes() for t in (*gradients, *sums)))
    assert len(found) == 1
