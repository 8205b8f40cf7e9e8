"""From every layout to every other: the same values, and never more bytes than gathering."""

from itertools import product

import numpy as np
import pytest

from adjoint import P, Tensor
from adjoint.engine.sharded import local_graph
from adjoint.ir.mesh import Sharding
from tests.sharding.meshes import grid, on, values

GRID = grid(2, 2, ("a", "b"))
WAYS = [(), ("a",), ("b",), ("a", "b"), ("b", "a")]
SPECS = [
    P(one, other)
    for one, other in product(WAYS, WAYS)
    if len({*one, *other}) == len(one) + len(other)
]


def test_there_are_as_many_layouts_as_can_be():
    assert len(SPECS) == len(set(SPECS)) == 11


@pytest.mark.parametrize("shape", [(4, 8), (5, 3), (2, 1), (1, 6), (0, 4)], ids=str)
def test_every_layout_leads_to_every_other(shape):
    array = values(*shape)
    for old, new in product(SPECS, SPECS):
        found = on(GRID, array, *old).reshard(GRID, new).realize()
        assert found.sharding == Sharding(GRID, new)
        assert (found.numpy() == array).all(), f"{old} to {new}"


@pytest.mark.parametrize("shape", [(4, 8), (5, 3), (2, 1)], ids=str)
def test_what_is_pending_leads_to_every_layout(shape):
    stack = values(4, *shape)
    for axes, new in product([("a",), ("b",), ("a", "b")], SPECS):
        summed = on(GRID, stack, axes).sum(0)
        assert summed.sharding.pending == tuple((axis, "sum") for axis in axes)
        found = summed.reshard(GRID, new).realize()
        np.testing.assert_allclose(found.numpy(), stack.sum(0), rtol=1e-5, atol=1e-6)


def test_no_way_takes_more_bytes_than_gathering():
    array = values(8, 8)
    for old, new in product(SPECS, SPECS):
        x = on(GRID, array, *old)
        there = local_graph([x.reshard(GRID, new).uop], [x.uop], GRID, "fixed")
        whole = local_graph([x.reshard(GRID, P()).uop], [x.uop], GRID, "fixed")
        assert there.bytes_sent <= whole.bytes_sent, f"{old} to {new}"


def test_operands_in_any_two_layouts_agree():
    a, b = values(6, 4), values(6, 4, seed=1)
    for one, other in product(SPECS, SPECS):
        found = (on(GRID, a, *one) * 2 + on(GRID, b, *other)).numpy()
        assert (found == a * 2 + b).all(), f"{one} and {other}"
        product_ = on(GRID, a, *one) @ on(GRID, b.T.copy(), *other)
        np.testing.assert_allclose(product_.numpy(), a @ b.T, rtol=1e-4, atol=1e-5)


def test_a_whole_value_needs_no_communication():
    for new in SPECS:
        x = on(GRID, values(5, 3))
        assert local_graph([x.reshard(GRID, new).uop], [x.uop], GRID, "fixed").collectives == []
        y = Tensor(values(5, 3), device="REF").shard(GRID, new)
        assert (y.numpy() == values(5, 3)).all()
