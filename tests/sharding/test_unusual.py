"""Layers, loops, dtypes and extents that are unusual on a mesh of three, whose parts are uneven."""

import numpy as np
import pytest

from adjoint import Device, P, Tensor, checkpoint, cond, grad, nn, scan, vmap, while_loop
from tests.sharding.meshes import grid, line, values

ROWS = ("d",)
V = values
SMOOTH = {
    "convolution of a batch": (
        lambda x, w: x.conv2d(w, padding=1),
        [V(5, 2, 6, 6), V(3, 2, 3, 3)],
        [ROWS, ()],
    ),
    "convolution of split channels": (
        lambda x, w: x.conv2d(w, padding=1),
        [V(2, 4, 5, 5), V(3, 4, 3, 3)],
        [(None, "d"), (None, "d")],
    ),
    "strided convolution of split rows": (
        lambda x, w: x.conv2d(w, stride=2, padding=1),
        [V(2, 2, 9, 5), V(3, 2, 3, 3)],
        [(None, None, "d"), ()],
    ),
    "pooling of split rows": (
        lambda x: x.max_pool2d((3, 3), stride=2),
        [V(2, 2, 12, 8)],
        [(None, None, "d")],
    ),
    "attention over a split sequence": (
        lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True),
        [V(2, 2, 7, 4), V(2, 2, 7, 4, seed=1), V(2, 2, 7, 4, seed=2)],
        [(None, None, "d")] * 3,
    ),
    "embedding with split rows": (
        lambda table, i: table[i],
        [V(20, 3), np.arange(6) % 5],
        [ROWS, ()],
    ),
    "embedding, indices split too": (
        lambda table, i: table[i],
        [V(20, 3), np.arange(7) % 5],
        [ROWS, ROWS],
    ),
    "cross entropy over split classes": (
        nn.loss.cross_entropy,
        [V(6, 8), np.arange(6) % 5],
        [(None, "d"), ()],
    ),
    "softmax over what is split": (lambda x: x.softmax(-1), [V(3, 10)], [(None, "d")]),
    "norm over what is split": (lambda x: x.layernorm(-1), [V(3, 12)], [(None, "d")]),
    "a number": (lambda x: x * 2, [np.float32(3).reshape(())], [()]),
    "no rows": (lambda x: x.sum(0) + x.cumsum(0).sum(0), [V(0, 3)], [ROWS]),
    "one row": (
        lambda x: x.cumsum(0) + x.flip(0) + x.pad(((2, 1), (0, 0)))[2:3],
        [V(1, 3)],
        [ROWS],
    ),
    "sorted": (lambda x: x.sort(0)[0] + x.topk(7, 0)[0], [V(7, 3)], [ROWS]),
    "reflected": (lambda x: x.pad(((2, 2), (0, 0)), mode="reflect"), [V(8, 2)], [ROWS]),
    "pieces": (lambda x: x.split(4, 0)[1] * x.chunk(3, 0)[0], [V(10, 2)], [ROWS]),
    "scan over what is split": (
        lambda x: scan(lambda c, r: (c + r, c * r), Tensor.zeros(3), x)[1],
        [V(6, 3)],
        [ROWS],
    ),
    "scan beside what is split": (
        lambda x: scan(lambda c, r: (c + r, c * r), Tensor.zeros(4), x)[1],
        [V(6, 4)],
        [(None, "d")],
    ),
    "branch": (
        lambda x: cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, x),
        [V(6, 3)],
        [ROWS],
    ),
    "checkpoint": (lambda x: checkpoint(lambda x: (x @ x.T).tanh())(x), [V(6, 3)], [ROWS]),
    "vmap": (lambda x: vmap(lambda r: r.cumsum(0) + r.flip(0))(x), [V(5, 8)], [(None, "d")]),
    "gradient of a gradient": (
        grad(lambda x: (grad(lambda x: (x.cumsum(0) ** 3).sum())(x) ** 2).sum()),
        [V(6, 3)],
        [ROWS],
    ),
}
WHOLE = {
    "integers": (lambda x: x.cumsum(0) + x.sum(0) * 3, np.arange(14).reshape(7, 2)),
    "bytes": (lambda x: x.flip(0)[1:], (np.arange(14) - 7).astype(np.int8).reshape(7, 2)),
    "truth": (lambda x: x[1:].any(0), np.arange(14).reshape(7, 2) % 3 == 0),
    "complex": (lambda x: (x @ x.T).sum(0) * 2 + x.cumsum(0)[:, 0], V(5, 3) + 1j * V(5, 3, seed=1)),
    "NaN": (lambda x: x.cumsum(0) + x.max(0), np.where(np.eye(4) > 0, np.nan, 1.0)),
    "while": (
        lambda x: while_loop(lambda c: c.sum() < 100, lambda c: c * 2, x),
        np.abs(V(6, 3)),
    ),
    "places": (lambda x: x.argmax(0) + x.argsort(0), V(7, 3)),
}


@pytest.fixture(autouse=True)
def on_the_interpreter():
    before, Device.DEFAULT = Device.DEFAULT, "REF"
    yield
    Device.DEFAULT = before


def near(found, wanted, tolerance=1e-4):
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", SMOOTH)
def test_values_and_gradients(name):
    op, arrays, specs = SMOOTH[name]
    mesh = line(3)
    whole = [Tensor(a) for a in arrays]
    given = [t.shard(mesh, P(*s)) for t, s in zip(whole, specs, strict=True)]
    near(op(*given), op(*whole))

    def loss(*tensors):
        return (op(*tensors) ** 2).sum()

    floats = tuple(i for i, a in enumerate(arrays) if a.dtype.kind == "f")
    for i, found, wanted in zip(
        floats, grad(loss, floats)(*given), grad(loss, floats)(*whole), strict=True
    ):
        assert found.sharding == given[i].sharding
        near(found, wanted, 1e-3)


@pytest.mark.parametrize("name", WHOLE)
def test_values_of_other_dtypes(name):
    op, array = WHOLE[name]
    for mesh, spec in ((line(3), P("d")), (grid(2, 2), P(("tp", "dp")))):
        near(op(Tensor(array).shard(mesh, spec)), op(Tensor(array)), 1e-5)
