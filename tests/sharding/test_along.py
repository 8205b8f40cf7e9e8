"""Ops along a dimension that is split: a member works on its rows and a few of its neighbours'."""

import numpy as np
import pytest

from adjoint import BoundsError, P, Tensor, grad, reduction_order
from adjoint.engine.sharded import local_graph
from adjoint.ir.mesh import Sharding
from adjoint.ir.uop import toposort
from adjoint.ir.values import is_known
from adjoint.sharding.neighbours import Split, Wanted, rows_sent
from tests.sharding.meshes import collectives, grid, line, on, values

ROW = 3 * 4  # bytes of a row of X
X = values(16, 3)


def sent(*tensors):
    """The bytes that a member sends."""
    roots = [t.uop for t in tensors]
    leaves = [n for n in toposort(roots, stop=is_known) if is_known(n)]
    return local_graph(roots, leaves, roots[0].device.mesh, "fixed").bytes_sent


FEW = {  # op, and the rows that a member of four sends; a gather would be 12
    "x[1:]": (lambda x: x[1:], 1),
    "x[:-2]": (lambda x: x[:-2], 0),
    "x[::2]": (lambda x: x[::2], 0),
    "x[0]": (lambda x: x[0], 3),
    "x[5:7]": (lambda x: x[5:7], 4),
    "flip": (lambda x: x.flip(0), 4),
    "pad": (lambda x: x.pad(((1, 2), (0, 1)), value=2.0), 2),
    "difference": (lambda x: x[1:] - x[:-1], 1),
    "roll": (lambda x: x.roll(2, 0), 10),
    "windows": (lambda x: x.unfold(0, 3, 1), 2),
    "pooling": (lambda x: x.reshape(1, 1, -1, 3).max_pool2d((2, 1)), 0),
    "running maximum": (lambda x: x.cummax(0)[0], 3),
    "running sum": (lambda x: x.cumsum(0), 12),  # totals of pieces, in float64
}


@pytest.mark.parametrize("name", FEW)
def test_only_rows_of_neighbours_are_sent(name):
    op, rows = FEW[name]
    mesh = line(4)
    y = op(on(mesh, X, "d"))
    assert sent(y) <= rows * ROW
    np.testing.assert_allclose(y.numpy(), op(Tensor(X, device="REF")).numpy(), rtol=1e-6)


def test_what_was_split_stays_split():
    x = on(line(4), X, "d")
    for y in (x[1:], x.flip(0), x.pad(((1, 0), (0, 0))), x.cumsum(0), x.cat(x, dim=0)):
        assert y.sharding.spec == P("d")
    assert x[0].sharding.spec == P()
    assert x[3:5].sharding.spec == P()  # fewer rows than members


OPS = {
    **{name: op for name, (op, _) in FEW.items()},
    "strided": lambda x: x[1::3],
    "both dimensions": lambda x: x[1:-1, 1:],
    "concatenated": lambda x: x.cat(x[:5] * 2, x, dim=0),
    "running product": lambda x: x.cumprod(0),
    "backwards": lambda x: x.flip(0).cumsum(0).flip(0),
    "strided windows": lambda x: x.unfold(0, 4, 3),
}


@pytest.mark.parametrize("shape", [(16, 3), (13, 3), (7, 2)], ids=str)
@pytest.mark.parametrize("name", OPS)
def test_values_and_gradients_are_those_of_the_whole(name, shape):
    op, x = OPS[name], values(*shape)
    if name == "pooling":
        op = lambda x: x.reshape(1, 1, *shape).avg_pool2d((2, 1))  # noqa: E731

    def loss(x):
        y = op(x)
        return (y * y).sum()

    whole = Tensor(x, device="REF")
    wanted, slope = op(whole).numpy(), grad(loss)(whole).numpy()
    for mesh, spec in ((line(2), P("d")), (line(3), P("d")), (grid(2, 2), P(("dp", "tp"), None))):
        given = whole.shard(mesh, spec)
        np.testing.assert_allclose(op(given).numpy(), wanted, rtol=1e-5, atol=1e-6)
        found = grad(loss)(given)
        assert found.sharding == given.sharding
        np.testing.assert_allclose(found.numpy(), slope, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("stride", "padding", "dilation"), [(1, 1, 1), (2, 1, 1), (1, 2, 2)])
def test_a_convolution_of_split_rows_exchanges_their_edges(stride, padding, dilation):
    x, w = values(2, 3, 16, 6), values(4, 3, 3, 3, seed=1)
    mesh = line(4)

    def apply(x, w):
        return x.conv2d(w, stride=stride, padding=padding, dilation=dilation)

    def loss(x, w):
        return (apply(x, w) ** 2).sum()

    given = on(mesh, x, None, None, "d"), on(mesh, w)
    whole = Tensor(x, device="REF"), Tensor(w, device="REF")
    y = apply(*given)
    assert y.sharding.spec == P(None, None, "d")
    assert set(collectives(y)) == {"collective_permute"}
    edges = 2 * 2 * padding * 6 * x[0, :, 0, 0].nbytes  # on either side, of two examples
    assert sent(y) <= edges  # a gather would send three quarters of x
    np.testing.assert_allclose(y.numpy(), apply(*whole).numpy(), rtol=1e-4, atol=1e-4)
    pairs = zip(grad(loss, (0, 1))(*given), grad(loss, (0, 1))(*whole), strict=True)
    for found, wanted in pairs:
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_running_sums_do_not_show_the_number_of_members(dtype):
    x, found = values(40, 5, dtype=dtype), set()
    for n in (1, 2, 4, 8):
        given = Tensor(x, device="CPU").shard(line(n, kind="CPU"), P("d"))
        made = (given.cumsum(0), given.flip(0).cumsum(0), given.cumprod(0))
        found.add(tuple(t.numpy().tobytes() for t in made))
    assert len(found) == 1
    np.testing.assert_allclose(given.cumsum(0).numpy(), x.cumsum(0), rtol=1e-5, atol=1e-6)


def test_integers_and_special_values():
    whole = np.array([[1, -2], [3, 4], [2**30, 7], [-5, 0], [9, 1]], np.int32)
    for n in (2, 3):
        x = on(line(n), whole, "d")
        assert (x.cumsum(0).numpy() == whole.cumsum(0)).all()
        assert (x.flip(0).numpy() == whole[::-1]).all()
    rough = np.array([1, np.nan, -0.0, np.inf, -np.inf, 3], np.float32)
    x = on(line(3), rough, "d")
    np.testing.assert_array_equal(x.cumsum(0).numpy(), rough.cumsum())
    np.testing.assert_array_equal(x.cummax(0)[0].numpy(), np.maximum.accumulate(rough))
    assert (np.signbit(x.flip(0).numpy()) == np.signbit(rough[::-1])).all()
    logic = on(line(3), np.array([True, False, True, True, False]), "d")
    assert logic[1:].numpy().tolist() == [False, True, True, False]


# ---- indexing by owner


TABLE = values(32, 4)


def test_rows_of_a_split_table_are_taken_by_their_owners():
    mesh, index = line(4), np.array([[3, 31, -1], [8, 0, 3]])
    table = on(mesh, TABLE, "d")
    rows = table[on(mesh, index)]
    assert rows.sharding == Sharding(mesh, (), (("d", "sum"),))
    assert collectives(rows) == ["all_reduce"]
    assert sent(rows) < TABLE.nbytes * 3 // 4  # what a gather of the table sends
    assert (rows.numpy() == TABLE[index]).all()
    slope = grad(lambda t: (t[on(mesh, index)] ** 2).sum())(table)
    wanted = np.zeros_like(TABLE)
    np.add.at(wanted, index, 2 * TABLE[index])
    assert slope.sharding == table.sharding
    np.testing.assert_allclose(slope.numpy(), wanted, rtol=1e-6)


def test_many_rows_of_a_small_table_are_taken_from_a_gathered_one():
    mesh = line(4)
    rows = on(mesh, TABLE, "d")[on(mesh, np.arange(64) % 32)]
    assert collectives(rows) == ["all_gather"]


@pytest.mark.parametrize("kind", ["REF", "CPU"])
def test_signs_of_zeros_and_bad_indices_are_those_of_the_whole(kind):
    mesh = line(3, kind=kind)
    zeros = np.array([[-0.0, 0.0]] * 32, np.float32)
    found = on(mesh, zeros, "d")[on(mesh, np.array([1, 31]))].numpy()
    assert (np.signbit(found) == np.signbit(zeros[:2])).all()
    for bad in (32, -33, 5000):
        with pytest.raises(BoundsError, match="E6001"):
            on(mesh, TABLE, "d")[on(mesh, np.array([0, bad]))].numpy()
        x = on(mesh, TABLE, "d")
        x[on(mesh, np.array([0, bad]))] = 1.0
        with pytest.raises(BoundsError, match="E6001"):
            x.numpy()


def test_assignment_by_index_writes_the_rows_that_members_have():
    for n in (2, 3, 4):
        mesh = line(n)
        x, wanted = on(mesh, TABLE, "d"), TABLE.copy()
        x[on(mesh, np.array([2, 29, 2]))] = on(mesh, np.arange(12, dtype=np.float32).reshape(3, 4))
        wanted[2], wanted[29] = np.arange(8, 12), np.arange(4, 8)
        x[3], x[5:11], x[::4, 1] = 1.0, 2.0, 9.0
        wanted[3], wanted[5:11], wanted[::4, 1] = 1, 2, 9
        assert x.sharding.spec == P("d")
        assert (x.numpy() == wanted).all()


# ---- which rows go where


def test_rows_sent_are_those_that_others_need():
    split = Split(0, 16, ("d",), 4)
    assert rows_sent(split, Wanted(0, 4, 4, 16)) == 0
    assert rows_sent(split, Wanted(1, 4, 4, 16)) == 1
    assert rows_sent(split, Wanted(-1, 4, 6, 16)) == 2  # a halo of one on either side
    assert rows_sent(split, Wanted(8, 2, 2, 16)) >= 2
    assert rows_sent(split, Wanted(0, 4, 16, 16)) == 12  # no better than a gather


def test_without_the_neighbours_rows_the_answer_would_be_wrong():
    parts = np.split(X, 4)
    alone = np.concatenate([part.cumsum(0) for part in parts])
    assert np.abs(alone - X.cumsum(0)).max() > 1
    assert not np.array_equal(np.concatenate([part[::-1] for part in parts]), X[::-1])


def test_in_the_fast_order_a_member_scans_its_part_as_a_whole():
    x = on(line(4), X, "d")
    with reduction_order("fast"):
        assert collectives(x.cumsum(0), order="fast") == ["all_gather"]
        np.testing.assert_allclose(x.cumsum(0).numpy(), X.cumsum(0), rtol=1e-5)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("length", [8, 7])
def test_a_running_sum_of_negative_zeros_keeps_their_sign(count, length):
    x = on(line(count), np.full(length, -0.0, np.float32), "d")
    assert np.signbit(x.cumsum(0).numpy()).all()
    assert np.signbit(x.flip(0).cumsum(0).numpy()).all()
