"""Small collectives put together: fewer meetings of members, the same bits and bytes."""

from itertools import pairwise

import numpy as np
import pytest

from adjoint import Mesh, P, Tensor, grad, jit, lower
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import toposort
from adjoint.ops.collective import (
    COLLECTIVES,
    all_gather,
    all_reduce,
    bytes_sent,
    reduce_scatter,
)
from adjoint.schedule import buckets
from adjoint.schedule.buckets import collectives_in_buckets
from tests.anew import compiled_anew

WIDTHS = (6, 10, 8, 12, 4)


def given(name, *shape):
    return OPS["input"].call(name, shape, Tensor.ones(1).uop.dtype)


def carried(roots):
    return [node for node in toposort(roots) if node.op in COLLECTIVES]


def gradients(mesh, spec):
    draw = np.random.default_rng(0).standard_normal
    weights = [
        Tensor(draw(pair).astype(np.float32)).shard(mesh, spec).realize()
        for pair in pairwise(WIDTHS)
    ]
    x = Tensor(draw((8, WIDTHS[0])).astype(np.float32)).shard(mesh, P("d")).realize()

    def loss(weights, x):
        for w in weights:
            x = (x @ w).tanh()
        return (x**2).mean()

    return grad(loss), weights, x


@pytest.mark.parametrize("spec", [P(), P("d")], ids=["whole", "in parts"])
@pytest.mark.parametrize("n", [2, 4])
def test_bits_are_those_of_one_after_another(n, spec, monkeypatch):
    mesh, found = Mesh(n, "d"), []
    for small in (buckets.SMALL, 0):
        monkeypatch.setattr(buckets, "SMALL", small)
        with compiled_anew():
            slopes, weights, x = gradients(mesh, spec)
            found.append([t.numpy().tobytes() for t in jit(slopes)(weights, x)])
    assert found[0] == found[1]


def test_the_sums_of_gradients_are_one_step():
    slopes, weights, x = gradients(Mesh(2, "d"), P())
    lowered = lower(slopes)(weights, x)
    assert lowered.collectives() == [  # of 6 x 10, 10 x 8, 8 x 12 and 12 x 4
        "all_reduce of f32[1, 284]: sum over d, 2 members, 1136 bytes sent by each"
    ]
    assert lowered.schedule().count("collective all_reduce(") == 1


def test_each_kind_has_its_shapes_and_bytes():
    x, y, z = given("x", 4, 6), given("y", 8), given("z", 2, 4, 4)
    nodes = [
        *(all_reduce(t, ("d",), 2, "sum") for t in (x, y, z)),
        *(all_gather(t, ("d",), 2, len(t.shape) - 1) for t in (x, y, z)),
        *(reduce_scatter(t, ("d",), 2, len(t.shape) - 1, "max") for t in (x, y, z)),
    ]
    made = collectives_in_buckets(nodes)
    assert [n.shape for n in made] == [n.shape for n in nodes]
    assert len(carried(made)) == 3
    assert sum(map(bytes_sent, carried(made))) == sum(map(bytes_sent, nodes))


def test_what_needs_one_another_stays_apart():
    first = all_reduce(given("x", 4), ("d",), 2, "sum")
    second = all_reduce(first.exp(), ("d",), 2, "sum")
    other = all_reduce(given("y", 5), ("d",), 2, "sum")
    made = collectives_in_buckets([second, other])
    assert [n.shape for n in made] == [(4,), (5,)]
    assert len(carried(made)) == 2  # the first with the other, then the second


def test_large_ones_and_full_buckets_stay_apart():
    large = [all_reduce(given(f"x{i}", buckets.SMALL), ("d",), 2, "sum") for i in range(2)]
    assert collectives_in_buckets(large) == large
    half = buckets.SMALL // 4 - 1  # elements of nearly SMALL bytes
    many = [all_reduce(given(f"y{i}", half), ("d",), 2, "sum") for i in range(9)]
    assert len(carried(collectives_in_buckets(many))) == 3


def test_kinds_and_axes_are_not_mixed():
    x, y = given("x", 4), given("y", 4)
    nodes = [all_reduce(x, ("d",), 2, "sum"), all_reduce(y, ("d",), 2, "max")]
    assert collectives_in_buckets(nodes) == nodes
    nodes = [all_reduce(x, ("d",), 2, "sum"), all_reduce(y, ("e",), 2, "sum")]
    assert collectives_in_buckets(nodes) == nodes
