"""Loops and branches on a mesh."""

import numpy as np
import pytest

from adjoint import P, Tensor, cond, fori_loop, grad, jit, nn, scan, while_loop
from adjoint.engine.sharded import local_graph
from adjoint.ir.mesh import Sharding
from tests.sharding.meshes import collectives, line, on, values

X, W = values(5, 8, 6), values(6, 6, seed=1) * 0.3
LAYOUTS = {
    "batch": (P(None, "d"), P()),
    "rows of the weight": (P(None, None, "d"), P("d")),
    "columns of the weight": (P(None, None, "d"), P(None, "d")),
    "time": (P("d"), P()),
}


def rnn(x, w):
    h, rows = scan(lambda h, xt: ((h @ w + xt).tanh(), (h * 2).sum(-1)), x[0] * 0, x)
    return h, rows


def loss(x, w):
    h, rows = rnn(x, w)
    return (h**2).sum() + rows.sum()


def tensor(array, kind="REF"):
    return Tensor(array, device=kind)


@pytest.mark.parametrize("members", [2, 3])
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_recurrence_in_any_layout_is_the_recurrence(name, members):
    mesh = line(members)
    x, w = (on(mesh, a, *s) for a, s in zip((X, W), LAYOUTS[name], strict=True))
    for found, wanted in zip(rnn(x, w), rnn(tensor(X), tensor(W)), strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)
    whole = grad(loss, (0, 1))(tensor(X), tensor(W))
    for found, wanted, given in zip(grad(loss, (0, 1))(x, w), whole, (x, w), strict=True):
        assert found.sharding == given.sharding
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)


def test_a_batch_in_parts_goes_through_a_loop_without_communication():
    mesh = line(2)
    x, w = on(mesh, X, None, "d"), on(mesh, W)
    h, rows = rnn(x, w)
    assert collectives(h, rows) == []
    assert h.sharding == Sharding(mesh, ("d",))  # though it began whole
    assert rows.sharding == Sharding(mesh, (None, "d"))


def test_collectives_inside_a_loop_are_counted_for_every_turn():
    mesh = line(2)
    x, w = on(mesh, X, None, None, "d"), on(mesh, W, "d")
    h, _ = rnn(x, w)
    graph = local_graph([h.uop], [x.uop, w.uop], mesh, "fixed")
    assert [n.op.name for n in graph.collectives] == ["reduce_scatter", "all_reduce"]
    assert graph.bytes_sent == 5 * (8 * 6 * 4 // 2 + 2 * (8 * 4) // 2)


def test_compiled_and_jitted_it_is_the_same():
    mesh = line(2, kind="CPU")
    for specs in LAYOUTS.values():
        x, w = (on(mesh, a, *s) for a, s in zip((X, W), specs, strict=True))
        step = jit(grad(loss, (0, 1)))
        whole = grad(loss, (0, 1))(tensor(X), tensor(W))
        for _ in range(2):
            for found, wanted in zip(step(x, w), whole, strict=True):
                np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)


def test_branches_and_loops_of_unknown_length_see_whole_values():
    mesh = line(2)
    x = on(mesh, X[0], "d")

    def fn(x):
        y = cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, x)
        y = while_loop(lambda c: c.abs().sum() < 500, lambda c: c * 2, y)
        return fori_loop(0, 3, lambda i, c: c + x, y)

    np.testing.assert_allclose(fn(x).numpy(), fn(tensor(X[0])).numpy(), rtol=1e-5)


def test_a_recurrent_layer_runs_on_a_batch_in_parts():
    mesh = line(2)
    Tensor.manual_seed(0)
    layer = nn.LSTM(6, 4)
    wanted = layer(Tensor(X))[0].numpy()
    for parameter in layer.parameters():
        parameter.to_("REF")
    found = layer(on(mesh, X, None, "d"))[0]
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)
