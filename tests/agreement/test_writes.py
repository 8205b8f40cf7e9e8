"""Every view, every write through it, then every pair of uses: CPU agrees with REF.

A written tensor is a choice between what was written and what was there; a kernel that computes
both and keeps a dear value for a later loop must not keep one that is right in some places only.
"""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from adjoint import Device, Tensor, grad, jit, vmap
from tests.support.devices import on, same

VIEWS = {
    "a slice": {1: np.s_[1:3], 2: np.s_[1:3]},
    "one element": {1: np.s_[2], 2: np.s_[1, 2]},
    "every second": {1: np.s_[::2], 2: np.s_[:, ::2]},
    "backwards": {1: np.s_[3:0:-1], 2: np.s_[::-1, 1:3]},
    "a column": {1: np.s_[..., -1:], 2: np.s_[:, 1]},
    "all of it": {1: np.s_[:], 2: np.s_[...]},
    "chosen by index": {1: np.s_[[0, 3]], 2: np.s_[[0, 2], 1:]},
    "none of it": {1: np.s_[5:], 2: np.s_[:, 4:]},
}
WRITES = {
    "times two": lambda y, v, o: y[v] * 2,
    "plus a function of itself": lambda y, v, o: y[v] + y[v].sin(),
    "its own value elsewhere": lambda y, v, o: o[v].exp(),
    "another tensor": lambda y, v, o: o[v],
    "a number": lambda y, v, o: 1.5,
    "its sum": lambda y, v, o: y.sum() + 0 * y[v],
    "a dear function of the whole": lambda y, v, o: (y * 0.5).tanh()[v],
}
USES = {
    "elementwise": lambda y: y * 3 - 1,
    "a dear function": lambda y: (y * 0.5).tanh(),
    "mean": lambda y: y.mean(-1, keepdim=True),
    "largest": lambda y: y.max(),
    "softmax": lambda y: y.softmax(-1),
    "running sum": lambda y: y.cumsum(-1),
    "backwards": lambda y: y.flip(-1),
    "down the columns": lambda y: (y * y).sum(0, keepdim=True),
}
PAIRS = list(combinations_with_replacement(USES, 2))
SHAPES = {1: (5,), 2: (3, 4)}


def program(view, write, first, second):
    """A function of two tensors that writes once and uses the result twice."""

    def written(x, o):
        y = x.exp()
        y[view] = WRITES[write](y, view, o)
        return USES[first](y) + USES[second](y)

    return written


def inputs(rank, dtype):
    rng = np.random.default_rng(rank)
    return [Tensor(rng.uniform(-1, 1, SHAPES[rank]).astype(dtype)) for _ in range(2)]


def on_reference(written, rank, dtype):
    with on("REF"):
        return written(*inputs(rank, dtype)).numpy()


QUARTERS = [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 3))]


@pytest.mark.parametrize("quarter", QUARTERS)
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_a_write_through_a_view_is_seen_by_every_pair_of_uses(view, write, quarter):
    turn = list(VIEWS).index(view) + list(WRITES).index(write)
    for number, (first, second) in enumerate(PAIRS):
        if (number + turn) % 4 != quarter:
            continue
        rank, dtype = 1 + number % 2, ("float32", "float64")[number // 2 % 2]
        written = program(VIEWS[view][rank], write, first, second)
        wanted = on_reference(written, rank, dtype)
        run = jit(written) if number % 3 else written
        same(wanted, run(*inputs(rank, dtype)).numpy(), f"{first} and {second}, {rank}-D {dtype}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rank", SHAPES)
@pytest.mark.parametrize("compiled", [False, True])
def test_a_slice_is_scaled_and_the_mean_taken_off(rank, dtype, compiled):
    written = program(np.s_[1:3], "times two", "elementwise", "mean")
    wanted = on_reference(written, rank, dtype)
    run = jit(written) if compiled else written
    for _ in range(2):
        same(wanted, run(*inputs(rank, dtype)).numpy(), f"{rank}-D {dtype}")


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("write", WRITES)
def test_gradients_pass_through_a_write_as_on_the_reference(view, write):
    def loss(x, o):
        z = program(VIEWS[view][1], write, "softmax", "mean")(x, o)
        return (z.relu().pad(((1, 2),)) * Tensor(np.arange(8, dtype=np.float32))).sum()

    found = []
    for device in ("REF", "CPU"):
        with on(device):
            x, o = inputs(1, "float32")
            rows = Tensor.stack(x, x * 0.5), Tensor.stack(o, o)
            found.append([g.numpy() for g in vmap(grad(loss, (0, 1)))(*rows)])
    for wanted, got in zip(*found, strict=True):
        same(wanted, got, "vmap of grad", 64)


def test_the_part_that_was_not_written_keeps_its_values():
    y = Tensor([0.1, 0.2, 0.3, 0.4, 0.5]).exp()
    y[1:3] *= 2
    wanted = np.exp(np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    wanted[1:3] *= 2
    assert Device.DEFAULT == "CPU"
    np.testing.assert_allclose((y - y.mean()).numpy(), wanted - wanted.mean(), 1e-5, 1e-6)
