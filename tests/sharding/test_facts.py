"""The worked facts of sharding: what needs no communication, what stays pending, what resolves."""

import numpy as np
import pytest

from adjoint import (
    Mesh,
    P,
    Tensor,
    backward_on_trace,
    grad,
    jit,
    lower,
    reduction_order,
    trace,
    vmap,
    with_sharding_constraint,
)
from adjoint.ir.mesh import Sharding
from adjoint.tensor.layouts import sharding_of
from adjoint.transforms.trace import _accumulate_cotangent
from tests.sharding.meshes import collectives, grid, line, on, values

X, W = values(8, 6), values(6, 4, seed=1)
PENDING = (("d", "sum"),)


@pytest.fixture
def mesh():
    return line(2)


def row_parallel(mesh):
    """A product whose summed dimension is split."""
    return on(mesh, X, None, "d") @ on(mesh, W, "d")


def test_a_data_parallel_product_needs_no_communication(mesh):
    y = on(mesh, X, "d") @ on(mesh, W)
    assert y.sharding == Sharding(mesh, ("d",))
    assert collectives(y) == []
    np.testing.assert_allclose(y.numpy(), X @ W, rtol=1e-5)


def test_a_column_parallel_product_needs_none(mesh):
    y = on(mesh, X) @ on(mesh, W, None, "d")
    assert y.sharding == Sharding(mesh, (None, "d"))
    assert collectives(y) == []


def test_a_row_parallel_product_is_pending(mesh):
    y = row_parallel(mesh)
    assert y.sharding == Sharding(mesh, (), PENDING)
    assert collectives(y) == ["all_reduce"]  # a value that is computed has nothing pending
    np.testing.assert_allclose(y.numpy(), X @ W, rtol=1e-5, atol=1e-6)
    assert y.sharding == Sharding(mesh)


@pytest.mark.parametrize(
    "kept",
    [
        lambda y, z: y[1:5],
        lambda y, z: y.T,
        lambda y, z: y.reshape(4, 8),
        lambda y, z: -y,
        lambda y, z: y.gather(0, Tensor([[1, 2, 3, 0]], device="REF")),
        lambda y, z: y.cat(z, dim=1),
    ],
    ids=["slice", "transpose", "reshape", "negation", "gather", "concat"],
)
def test_what_moves_elements_keeps_a_sum_pending(mesh, kept):
    y = kept(row_parallel(mesh), row_parallel(mesh).flip(1))
    assert y.sharding.pending == PENDING
    assert collectives(y.exp()) == ["all_reduce"]


LINEAR = {
    "scalar product": lambda y, z: y * 3,
    "sum": lambda y, z: y + z,
    "difference": lambda y, z: y - z,
    "quotient": lambda y, z: y / 2,
    "sum with itself": lambda y, z: y + y[::-1],
    "combination": lambda y, z: (y * 2 + z * 3).T[1:3] / 7,
    "scaled rows": lambda y, z: y * X[:, :4],
    "sum over another dimension": lambda y, z: y.sum(0) * 2,
}


@pytest.mark.parametrize("order", ["fixed", "fast"])
@pytest.mark.parametrize("name", LINEAR)
def test_what_is_linear_keeps_a_sum_pending(mesh, name, order):
    kept, y, z = LINEAR[name], row_parallel(mesh), row_parallel(mesh).flip(1)
    with reduction_order(order):
        assert kept(y, z).sharding == Sharding(mesh, (), PENDING)
        assert collectives(kept(y, z), order=order) == ["all_reduce"]
        assert collectives(kept(y, z).exp(), order=order) == ["all_reduce"]
        wanted = kept(X @ W, (X @ W)[:, ::-1])
        np.testing.assert_allclose(kept(y, z).numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_a_scaled_sum_sends_the_bytes_of_one_value(mesh):
    x, w = on(mesh, X, None, "d"), on(mesh, W, "d")
    graph = lower(lambda x, w: ((x @ w) * 3 + (x * x) @ w).exp())(x, w)
    whole = 8 * 4 * 4
    assert graph.collectives() == [
        f"all_reduce of f32[8, 4]: sum over d, 2 members, {whole} bytes sent by each"
    ]


def test_what_several_need_joined_is_joined_once(mesh):
    y = row_parallel(mesh)
    assert collectives((y * 2).exp(), y.relu()) == ["all_reduce"]
    assert collectives(y.T.exp(), (y.sum(0) * 2).exp(), y) == ["all_reduce"]
    assert collectives(y.layernorm(-1)) == ["all_reduce"]
    assert collectives(y.shard(mesh, P("d")), y.exp()) == ["all_reduce"]


def test_a_product_with_a_pending_sum_joins_it_first(mesh):
    """Each piece of it would take a product of its own."""
    y = row_parallel(mesh) @ on(mesh, values(4, 4, seed=5))
    assert y.sharding.pending == ()
    assert collectives(y) == ["all_reduce"]


@pytest.mark.parametrize("order", ["fixed", "fast"])
@pytest.mark.parametrize(
    "resolved",
    [
        lambda y: y.exp(),
        lambda y: y.relu(),
        lambda y: y.softmax(-1),
        lambda y: y.cast("float64"),
        lambda y: y + 1,
        lambda y: y * y,
        lambda y: y.pad(((1, 1), (0, 0)), value=2.0),
    ],
    ids=["exp", "relu", "softmax", "cast", "add", "square", "pad"],
)
def test_what_is_not_linear_is_done_to_the_sum(mesh, order, resolved):
    y = row_parallel(mesh)
    with reduction_order(order):
        assert resolved(y).sharding.pending == ()
        assert collectives(resolved(y), order=order) == ["all_reduce"]
        wanted = resolved(Tensor(X @ W, device="REF")).numpy()
        np.testing.assert_allclose(resolved(y).numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_without_the_sum_the_answer_would_be_wrong(mesh):
    half = np.exp(X[:, :3] @ W[:3]) + np.exp(X[:, 3:] @ W[3:])
    assert np.abs(half - np.exp(X @ W)).max() > 1


def test_a_concatenation_of_pending_and_whole_is_joined_first(mesh):
    y = row_parallel(mesh).cat(on(mesh, X[:, :4]), dim=0)
    assert y.sharding == Sharding(mesh)
    assert collectives(y) == ["all_reduce"]
    np.testing.assert_allclose(y.numpy(), np.concatenate([X @ W, X[:, :4]]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "kind"), [("max", "max"), ("min", "min"), ("prod", "prod")])
def test_a_reduction_over_a_split_dimension_is_joined_by_its_own_kind(mesh, name, kind):
    x = on(mesh, X, "d")
    y = getattr(x, name)(0)
    assert y.sharding.pending == (("d", kind),)
    assert (y[1:3]).sharding.pending == (("d", kind),)
    assert (y * 2).sharding.pending == ()
    np.testing.assert_allclose((y * -2).numpy(), getattr(X, name)(0) * -2, rtol=1e-5)


TOTALS = {
    "sum": lambda x: (x + 1).sum(),
    "maximum": lambda x: (-9 - x.abs()).max(),
    "minimum": lambda x: (x.abs() + 9).min(),
    "product": lambda x: (x.abs() / 9 + 0.5).prod(),
    "mean": lambda x: x.exp().mean(),
    "variance": lambda x: (x + 1).var(),
    "count": lambda x: (x < 9).sum(),
    "all": lambda x: (x.abs() > 0).all(),
    "product of matrices": lambda x: Tensor.einsum("ab,abc->c", x + 1, x.exp().unsqueeze(2)),
    "gradient": lambda x: grad(lambda x: x.exp().sum() ** 2)(x),
}


@pytest.mark.parametrize("order", ["fixed", "fast"])
@pytest.mark.parametrize("shape", [(5, 7), (3, 5), (4, 6), (4, 5)])
@pytest.mark.parametrize("name", TOTALS)
def test_a_reduction_over_two_split_dimensions_sees_no_filled_up_element(name, shape, order):
    mesh, array = grid(2, 2), values(*shape)
    with reduction_order(order):
        found = TOTALS[name](on(mesh, array, "dp", "tp")).numpy()
        wanted = TOTALS[name](Tensor(array, device="REF")).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_what_is_exact_in_any_order_is_reduced_over_two_dimensions_at_once():
    x = on(grid(2, 2), X, "dp", "tp")
    for found in (x.max(), (x > 0).any(), (x > 0).sum()):
        assert collectives(found) == ["all_reduce"]
        assert [axis for axis, _ in found.sharding.pending] == ["dp", "tp"]


def test_truth_values_are_joined_as_truth_values(mesh):
    x = on(mesh, X, "d")
    assert (x > 2).any(0).numpy().tolist() == (X > 2).any(0).tolist()
    assert (x > -9).all().numpy().tolist() is True


def test_pending_into_parts_is_a_reduce_scatter(mesh):
    y = row_parallel(mesh).shard(mesh, P("d"))
    assert collectives(y) == ["reduce_scatter"]
    np.testing.assert_allclose(y.numpy(), X @ W, rtol=1e-5, atol=1e-6)


def test_an_axis_that_changes_dimensions_is_an_all_to_all(mesh):
    y = on(mesh, X, "d").shard(mesh, P(None, "d"))
    assert collectives(y) == ["all_to_all"]
    assert (y.numpy() == X).all()


@pytest.mark.parametrize(
    ("old", "new", "met"),
    [((("two", "one"),), P(None, "two"), ["all_to_all"]), ((("one", "two"),), P("two", "one"), [])],
)
def test_an_axis_of_one_member_is_in_the_way_of_none(old, new, met):
    mesh = Mesh((1, 2), ("one", "two"), ["REF:0", "REF:1"])
    y = on(mesh, X, *old).shard(mesh, new)
    assert collectives(y) == met
    assert (y.numpy() == X).all()


def test_a_whole_value_is_cut_without_communication(mesh):
    y = on(mesh, X).shard(mesh, P("d"))
    assert collectives(y) == []
    assert (y.numpy() == X).all()


def test_a_dimension_may_be_split_along_two_axes():
    mesh = grid(2, 2)
    for spec in (P(("dp", "tp")), P(("tp", "dp")), P(None, ("tp", "dp")), P("tp", "dp")):
        x = on(mesh, X, *spec)
        assert (x.numpy() == X).all()
        assert (x.shard(mesh, P("dp")).numpy() == X).all()
        np.testing.assert_allclose(
            (x.exp().sum(0) + x.sum()).numpy(), np.exp(X).sum(0) + X.sum(), rtol=1e-4
        )


# ---- Megatron


def mlp(x, w1, w2):
    return (x @ w1).gelu() @ w2


def test_a_tensor_parallel_block_takes_one_all_reduce_each_way():
    mesh = line(4, "tp")
    x = on(mesh, values(4, 8))
    w1, w2 = on(mesh, values(8, 32, seed=1), None, "tp"), on(mesh, values(32, 8, seed=2), "tp")
    assert collectives(mlp(x, w1, w2)) == ["all_reduce"]

    def loss(x, w1, w2):
        return (mlp(x, w1, w2) * 3).sum()

    found = grad(loss, (0, 1, 2))(x, w1, w2)
    # a linear loss needs nothing of the forward product's sum: what is left is the backward one
    assert collectives(*found) == ["all_reduce"]
    assert [g.sharding.spec for g in found] == [P(), P(None, "tp"), P("tp")]


def test_data_and_tensor_parallel_together():
    mesh = grid(2, 2)
    arrays = values(4, 8), values(8, 32, seed=1), values(32, 8, seed=2)
    specs = ("dp",), (None, "tp"), ("tp",)
    x, w1, w2 = (on(mesh, a, *s) for a, s in zip(arrays, specs, strict=True))

    def loss(x, w1, w2):
        return (mlp(x, w1, w2) ** 2).mean()

    whole = grad(loss, (0, 1, 2))(*(Tensor(a, device="REF") for a in arrays))
    for function in (grad(loss, (0, 1, 2)), jit(grad(loss, (0, 1, 2)))):
        for _ in range(2):
            found = function(x, w1, w2)
            for got, wanted, given in zip(found, whole, (x, w1, w2), strict=True):
                assert got.sharding == given.sharding
                np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-6)


def test_weights_in_parts_are_gathered_for_use_and_their_gradients_scattered():
    """What is called ZeRO: every member has a part of each weight, and of its gradient."""
    mesh = line(4, "dp")
    x, w = on(mesh, values(8, 6), "dp"), on(mesh, values(6, 8, seed=1), None, "dp")

    def loss(w, x):
        return (x @ with_sharding_constraint(w, mesh, P())).exp().sum()

    g = grad(loss)(w, x)
    assert collectives(g) == ["all_gather", "reduce_scatter"]
    assert g.sharding == w.sharding
    whole = grad(lambda w: (Tensor(values(8, 6), device="REF") @ w).exp().sum())
    found = whole(Tensor(values(6, 8, seed=1), device="REF"))
    np.testing.assert_allclose(g.numpy(), found.numpy(), rtol=1e-4)


# ---- randomness


@pytest.mark.parametrize("kind", ["REF", "CPU"])
@pytest.mark.parametrize(
    ("shape", "spec"), [((8, 6), P("d")), ((8, 6), P(None, "d")), ((5, 3), P("d"))]
)
def test_draws_in_parts_are_those_of_the_whole(kind, shape, spec):
    mesh = line(2, kind=kind)
    for draw in (Tensor.rand, Tensor.randn):
        Tensor.manual_seed(3)
        whole = draw(*shape, device=kind).numpy()
        Tensor.manual_seed(3)
        parts = draw(*shape, device=kind).shard(mesh, spec)
        assert collectives(parts) == []
        assert (parts.numpy() == whole).all()


# ---- mixing


def test_values_on_one_device_are_whole_on_the_mesh(mesh):
    y = on(mesh, X, "d") + Tensor(X, device="REF") * 2
    assert y.sharding == Sharding(mesh, ("d",))
    assert collectives(y) == []
    np.testing.assert_allclose(y.numpy(), 3 * X, rtol=1e-6)


def test_the_gradient_of_a_value_on_one_device_is_there(mesh):
    w = Tensor(W, device="REF")
    g = grad(lambda w: (on(mesh, X, "d") @ w).sum())(w)
    assert (g.device, g.sharding) == ("REF", None)
    np.testing.assert_allclose(g.numpy(), np.repeat(X.sum(0)[:, None], 4, 1), rtol=1e-5)


def test_cotangents_are_accumulated_as_their_target_lies(mesh):
    """What is pending is joined, for the target has nothing pending, and then moved to parts."""
    target, held = on(mesh, X[:, :4], "d"), {}
    _accumulate_cotangent(held, target, row_parallel(mesh))
    assert sharding_of(held[target.uop]) == target.sharding
    assert collectives(Tensor(held[target.uop])) == ["reduce_scatter"]
    _accumulate_cotangent(held, target, Tensor(X[:, :4], device="REF"))
    _accumulate_cotangent(held, target, on(mesh, X[:, :4], None, "d"))
    assert sharding_of(held[target.uop]) == target.sharding
    found = Tensor(held[target.uop]).numpy()
    np.testing.assert_allclose(found, X @ W + 2 * X[:, :4], rtol=1e-5, atol=1e-5)
    alone = Tensor(X[:, :4], device="REF")
    _accumulate_cotangent(held, alone, row_parallel(mesh))
    assert Tensor(held[alone.uop]).sharding is None


def test_gradients_of_a_trace_lie_as_its_arguments_do(mesh):
    x, w = on(mesh, X, None, "d"), on(mesh, W, "d")
    traced = trace(lambda x, w: (x @ w).tanh(), x, w)
    traced.refresh_graph_values()
    found = backward_on_trace(traced, on(mesh, np.ones((8, 4), np.float32), None, "d"))
    assert [g.sharding for g in found] == [x.sharding, w.sharding]
    wanted = 1 - np.tanh(X @ W) ** 2
    np.testing.assert_allclose(found[1].numpy(), X.T @ wanted, rtol=1e-4, atol=1e-5)


def test_second_derivatives_and_vmap_compose(mesh):
    x = on(mesh, X[:, 0], "d")
    second = grad(lambda x: grad(lambda x: (x**3).sum())(x).sum())(x)
    assert second.sharding == x.sharding
    np.testing.assert_allclose(second.numpy(), 6 * X[:, 0], rtol=1e-5)
    rows = vmap(lambda r: (r * r).sum())(on(mesh, X, "d"))
    assert rows.sharding == Sharding(mesh, ("d",))
    np.testing.assert_allclose(rows.numpy(), (X * X).sum(1), rtol=1e-5)


def test_layouts_survive_realize_assign_setitem_and_jit(mesh):
    x = on(mesh, X, "d")
    kept = Sharding(mesh, ("d",))
    assert (x + 1).realize().sharding == kept
    x.assign(x * 2)
    assert x.realize().sharding == kept
    x[0] = 5.0
    assert x.realize().sharding == kept
    wanted = X * 2
    wanted[0] = 5
    assert (x.numpy() == wanted).all()
    step = jit(lambda x: x * 2 + 1)
    assert step(x).sharding == kept
    assert step(step(x)).sharding == kept


WRITES = {
    "all": lambda x: x.__setitem__(..., 2.0),
    "all of another": lambda x: x.__setitem__(slice(None), Tensor(X, device="REF") * 2),
    "rows laid out otherwise": lambda x: x.__setitem__(
        slice(2, 4), Tensor(X, device="REF").shard(x.sharding.mesh, P(None, "d"))[:2]
    ),
    "places": lambda x: x.__setitem__(
        (Tensor([1, 2], device="REF"), Tensor([0, 1], device="REF")), 1.0
    ),
    "places of rows": lambda x: x.__setitem__(Tensor([3], device="REF"), 3.0),
    "through a transpose": lambda x: x.T.__setitem__(slice(None), Tensor(X.T.copy(), device="REF")),
    "through a reshape": lambda x: x.reshape(-1).__setitem__(slice(None), 1.0),
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(3.0),
    "copy_": lambda x: x.copy_(Tensor(X, device="REF")),
    "uniform_": lambda x: x.uniform_(),
    "+=": lambda x: x.__iadd__(Tensor(X, device="REF").shard(x.sharding.mesh, P(None, "d"))),
}


@pytest.mark.parametrize("spec", [("d",), (None, "d"), ()], ids=["rows", "columns", "whole"])
@pytest.mark.parametrize("name", WRITES)
def test_a_tensor_that_is_written_to_lies_as_before(mesh, name, spec):
    whole, x = Tensor(X, device="REF"), on(mesh, X, *spec)
    Tensor.manual_seed(0)
    WRITES[name](x)
    assert x.sharding == Sharding(mesh, spec)
    assert x.realize().sharding == Sharding(mesh, spec)
    if "otherwise" not in name and name != "+=":
        Tensor.manual_seed(0)
        WRITES[name](whole)
        assert (x.numpy() == whole.numpy()).all()


def test_a_gradient_goes_where_its_tensor_is_moved(mesh):
    p = Tensor(X, device="REF", requires_grad=True)
    (p * p).sum().backward()
    for spec in (P("d"), P(None, "d"), P()):
        p.shard_(mesh, spec)
        assert p.grad.sharding == p.sharding == Sharding(mesh, spec)
        (p * p).sum().backward()
        assert p.grad.sharding == Sharding(mesh, spec)
    p.to_("REF:1")
    (p * p).sum().backward()
    assert p.grad.device == p.device == "REF:1"
    np.testing.assert_allclose(p.grad.numpy(), 10 * X, rtol=1e-6)


def test_gradients_of_examples_lie_as_the_examples_do(mesh):
    """A function of one example says nothing of how a batch is split, and nothing is sent."""
    x, w = on(mesh, X, "d"), on(mesh, W)
    loss = lambda w, row: ((row @ w).tanh() ** 2).sum()  # noqa: E731
    by_weight = vmap(grad(loss), in_axes=(None, 0))(w, x)
    by_example = vmap(grad(loss, 1), in_axes=(None, 0))(w, x)
    columns = vmap(grad(loss, 1), in_axes=(None, 1), out_axes=1)(w, on(mesh, X.T.copy(), None, "d"))
    assert by_weight.sharding == by_example.sharding == Sharding(mesh, ("d",))
    assert columns.sharding == Sharding(mesh, (None, "d"))
    for found in (by_weight, by_example, columns):
        assert collectives(found) == []
    wanted = vmap(grad(loss, 1), in_axes=(None, 0))(
        Tensor(W, device="REF"), Tensor(X, device="REF")
    )
    np.testing.assert_allclose(by_example.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(columns.numpy(), wanted.numpy().T, rtol=1e-5, atol=1e-6)


def test_a_layout_asked_for_inside_vmap_is_that_of_an_example():
    mesh = grid(2, 2)
    x = on(mesh, values(4, 8, 6), "dp")
    laid = vmap(lambda row: with_sharding_constraint(row, mesh, P("tp")))(x)
    assert laid.sharding.spec == P("dp", "tp")
    assert collectives(laid) == []
    seen = []
    vmap(lambda row: seen.append(row.sharding.spec) or row)(laid)
    assert seen == [P("tp")]
    taken = vmap(lambda row: with_sharding_constraint(row, mesh, P("dp")))(x)
    assert taken.sharding.spec == P(None, "dp")
    assert (taken.numpy() == x.numpy()).all()
    assert (laid.numpy() == x.numpy()).all()


def test_a_jitted_function_is_traced_anew_for_another_layout(mesh):
    double = jit(lambda x: x * 2)
    for spec in (P("d"), P(None, "d"), P(), P("d")):
        y = double(on(mesh, X, *spec))
        assert y.sharding.spec == Sharding(mesh, spec).spec
        assert (y.numpy() == X * 2).all()


def test_meshes_of_one_member_need_no_other():
    mesh = Mesh(1, "d", ["REF"])
    y = on(mesh, X, None, "d") @ on(mesh, W, "d")
    assert collectives(y) == []
    np.testing.assert_allclose(y.numpy(), X @ W, rtol=1e-5, atol=1e-6)
