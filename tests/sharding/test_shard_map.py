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
