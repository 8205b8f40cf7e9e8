"""shard_map: what members do with their parts, and the collectives between them."""

import numpy as np
import pytest

from adjoint import (
    AdjointError,
    P,
    Tensor,
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    grad,
    jit,
    pmax,
    pmean,
    pmin,
    ppermute,
    psum,
    psum_scatter,
    shard_map,
    vmap,
)
from tests.sharding.meshes import collectives, grid, line, on, values

X = values(8, 6, dtype=np.float64)
PARTS = P("d")
TURN = [(0, 1), (1, 2), (2, 3), (3, 0)]


def tensor(array):
    return Tensor(array, device="REF")


@pytest.fixture
def mesh():
    return line(4)


def rows(x):
    return x.reshape(4, 2, 6)


CASES = {
    "psum": (lambda x: psum(x, "d"), P(), rows(X).sum(0)),
    "pmean": (lambda x: x - pmean(x, "d"), P("d"), (rows(X) - rows(X).mean(0)).reshape(8, 6)),
    "pmax": (lambda x: pmax(x, "d"), P(), rows(X).max(0)),
    "all_gather": (lambda x: all_gather(x, "d", tiled=True), P(), X),
    "psum_scatter": (
        lambda x: psum_scatter(x.reshape(4, 3), "d"),
        P("d"),
        rows(X).reshape(4, 4, 3).sum(0).reshape(-1),
    ),
    "all_to_all": (
        lambda x: all_to_all(x.T.reshape(2, 3, 2)[0:1].expand(4, 3, 2), "d", 0, 0)[0, 0],
        P("d"),
        None,
    ),
    "ppermute": (lambda x: ppermute(x, "d", TURN), P("d"), np.roll(X, 2, 0)),
    "axis_index": (
        lambda x: x * axis_index("d") + axis_size("d"),
        P("d"),
        X * np.repeat(np.arange(4), 2)[:, None] + 4,
    ),
}


@pytest.mark.parametrize("case", [c for c in CASES if CASES[c][2] is not None])
def test_a_function_of_parts_is_one_of_the_whole(mesh, case):
    fn, out, wanted = CASES[case]
    mapped = shard_map(fn, mesh, P("d"), out)
    for call in (mapped, jit(mapped)):
        found = call(tensor(X))
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)
        assert found.sharding.spec == out


@pytest.mark.parametrize("case", CASES)
def test_its_gradient_is_that_of_vmap_over_the_same_rows(mesh, case):
    fn, out, _ = CASES[case]

    def mapped(x):
        return (shard_map(fn, mesh, P("d"), out)(x) ** 2).sum()

    def batched(x):
        y = vmap(fn, axis_name="d")(x.reshape(4, 2, 6))
        return ((y[0] if out == P() else y) ** 2).sum()

    found = grad(mapped)(on(mesh, X, "d"))
    assert found.sharding.spec == P("d")
    np.testing.assert_allclose(found.numpy(), grad(batched)(tensor(X)).numpy(), rtol=1e-10)


def test_collectives_are_those_of_the_names(mesh):
    x = on(mesh, X, "d")

    def of(fn, out=PARTS):
        return collectives(shard_map(fn, mesh, P("d"), out)(x))

    assert of(lambda x: x * 2) == []
    assert of(lambda x: psum(x, "d"), P()) == ["all_reduce"]
    assert of(lambda x: pmax(x, "d"), P()) == ["all_reduce"]
    assert of(lambda x: ppermute(x, "d", TURN)) == ["collective_permute"]
    assert of(lambda x: all_gather(x, "d", tiled=True), P()) == ["all_gather"]
    assert of(lambda x: psum_scatter(x.T[:4], "d")) == ["reduce_scatter"]
    turned = shard_map(
        lambda x: all_to_all(x[:, :4], "d", 1, 0, tiled=True), mesh, P("d"), P(None, "d")
    )
    assert collectives(turned(x)) == ["all_to_all"]
    assert (turned(x).numpy() == X[:, :4]).all()


def test_two_axes_and_trees():
    mesh = grid(2, 2, ("a", "b"))

    def fn(p, x):
        return {"y": x @ p["w"], "n": psum((x * x).sum(), ("a"))}

    w = values(6, 4, seed=3, dtype=np.float64)
    mapped = shard_map(fn, mesh, ({"w": P(None, "b")}, P("a")), {"y": P("a", "b"), "n": P()})
    found = mapped({"w": tensor(w)}, tensor(X))
    np.testing.assert_allclose(found["y"].numpy(), X @ w, rtol=1e-12)
    np.testing.assert_allclose(found["n"].numpy(), (X * X).sum(), rtol=1e-12)
    both = shard_map(lambda x: psum(psum(x, "a"), "b"), mesh, P(("b", "a")), P())(tensor(X))
    np.testing.assert_allclose(both.numpy(), rows(X).sum(0), rtol=1e-12)


def test_what_does_not_fit_says_so(mesh):
    with pytest.raises(AdjointError, match="equal parts") as error:
        shard_map(lambda x: x, mesh, P("d"), P("d"))(tensor(X[:6]))
    assert error.value.code == "E7004"
    with pytest.raises(AdjointError, match="depends on the mapped axis"):
        shard_map(lambda x: x, mesh, P("d"), P())(tensor(X))
    with pytest.raises(AdjointError, match="no axis"):
        shard_map(lambda x: x, mesh, P("e"), P())(tensor(X))
    with pytest.raises(AdjointError, match="2 specs"):
        shard_map(lambda x: x, mesh, (P(), P()), P())(tensor(X))
    with pytest.raises(AdjointError, match="a spec is P"):
        shard_map(lambda x: x, mesh, "d", P())(tensor(X))
    with pytest.raises(AdjointError, match="no part for each"):
        shard_map(lambda x: psum_scatter(x, "d"), mesh, P("d"), P("d"))(tensor(X))


# ---- several axes at once


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (3, 1)])
def test_collectives_go_over_several_axes_the_first_slowest(sizes):
    mesh = grid(*sizes)
    a, b = sizes
    x = values(2 * a, 2 * b, dtype=np.float64)
    parts = [p for r in np.split(x, a) for p in np.split(r, b, 1)]
    both, whole = mesh.names, P()

    def over(function, out=whole):
        return shard_map(function, mesh, P(*both), out)(tensor(x)).numpy()

    np.testing.assert_allclose(over(lambda p: psum(p, both)), sum(parts))
    np.testing.assert_allclose(over(lambda p: pmean(p, both)), sum(parts) / len(parts))
    assert (over(lambda p: pmax(p, both)) == np.max(parts, 0)).all()
    assert (over(lambda p: pmin(p, list(both))) == np.min(parts, 0)).all()
    assert (over(lambda p: all_gather(p, both)) == np.stack(parts)).all()
    places = over(lambda p: p * 0 + axis_index(both) + 10 * axis_size(both), P(*both))
    assert (places[::2, ::2].reshape(-1) == np.arange(len(parts)) + 10 * len(parts)).all()
    back = over(lambda p: axis_index(both[::-1]) + p * 0, P(*both))
    assert (back[::2, ::2] == np.arange(len(parts)).reshape(b, a).T).all()


def test_a_sum_over_several_axes_is_one_collective_and_has_a_derivative():
    mesh = grid(2, 2)
    x = on(mesh, values(4, 4, dtype=np.float64), "dp", "tp")

    def total(x):
        return shard_map(
            lambda p: psum(p.sin(), ("dp", "tp")) * p, mesh, P("dp", "tp"), P("dp", "tp")
        )(x)

    assert collectives(total(x)) == ["all_reduce"]
    g = grad(lambda x: total(x).sum())(x)
    assert g.sharding == x.sharding
    array = x.numpy()
    parts = [p for r in np.split(array, 2) for p in np.split(r, 2, 1)]
    wanted = sum(map(np.sin, parts))[None] + np.cos(parts) * sum(parts)
    found = [p for r in np.split(g.numpy(), 2) for p in np.split(r, 2, 1)]
    np.testing.assert_allclose(found, wanted)


def test_parts_are_scattered_and_exchanged_over_several_axes():
    mesh, both = grid(2, 2), ("dp", "tp")
    x = values(16, 4, dtype=np.float64)
    scattered = shard_map(lambda p: psum_scatter(p, both, tiled=True), mesh, P(both), P(both))
    np.testing.assert_allclose(scattered(tensor(x)).numpy(), sum(np.split(x, 4)))
    assert collectives(scattered(on(mesh, x, both))) == ["reduce_scatter"]
    turned = shard_map(
        lambda p: all_to_all(p, both, 1, 0, tiled=True), mesh, P(both), P(None, both)
    )
    assert (turned(tensor(x)).numpy() == x).all()


@pytest.mark.parametrize(
    ("names", "code"), [((), "E2008"), (("dp", "dp"), "E2008"), (("dp", "zz"), "E2002")]
)
def test_names_of_several_axes_are_open_and_different(names, code):
    with pytest.raises(AdjointError) as found:
        shard_map(lambda p: psum(p, names), grid(2, 2), P("dp"), P())(tensor(X))
    assert found.value.code == code


def test_gradients_of_members_lie_as_their_parts_do(mesh):
    x, w = on(mesh, X, "d"), on(mesh, values(6, 3, dtype=np.float64))
    own = shard_map(
        lambda w, rows: grad(lambda w: ((rows @ w).tanh() ** 2).sum())(w), mesh, (P(), PARTS), PARTS
    )
    assert collectives(own(w, x)) == []
    summed = shard_map(
        lambda w, rows: psum(grad(lambda w: ((rows @ w) ** 2).sum())(w), "d"),
        mesh,
        (P(), PARTS),
        P(),
    )
    assert collectives(summed(w, x)) == ["all_reduce"]
    np.testing.assert_allclose(summed(w, x).numpy(), 2 * X.T @ (X @ w.numpy()))
