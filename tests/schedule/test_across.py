"""Operands of products that are wanted across: read as they lie, or made again from products."""

from dataclasses import replace

import numpy as np
import pytest

from adjoint import Tensor, grad, jit, lower
from adjoint.backends.cpu import BACKEND
from adjoint.engine.program_cache import PROGRAMS
from adjoint.schedule.legalise import fired

pytestmark = [
    pytest.mark.usefixtures("cpu"),
    pytest.mark.skipif(BACKEND.target.tile is None, reason="no fused multiply-adds"),
]


def normal(*shape, seed=0):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return Tensor(values.astype(np.float32)).realize()


@pytest.fixture
def limits(monkeypatch):
    """Other limits of the target, for this test."""

    def change(**numbers):
        chosen = replace(BACKEND.target.limits, **numbers)
        monkeypatch.setattr(BACKEND, "target", replace(BACKEND.target, limits=chosen))
        PROGRAMS.clear()

    yield change
    PROGRAMS.clear()


def attend(mask=None, **options):
    return lambda q, k, v: q.scaled_dot_product_attention(k, v, mask, **options)


FORMS = {
    "all": attend(),
    "causal": attend(is_causal=True),
    "masked": attend(Tensor(np.random.default_rng(1).random((400, 400)) < 0.5)),
    "added": attend(normal(400, 400, seed=7)),
    "softmax alone": lambda q, k, v: (q @ k.mT).softmax(-1) @ v,
    "a result of all rows": lambda q, k, v: attend()(q, k, v) * (q @ k.mT).logsumexp(-1, True),
}


def gradients(fn):
    return grad(lambda q, k, v: (fn(q, k, v) * q).sum(), argnums=(0, 1, 2))


def wide(report):
    """How many values as large as all scores a program has in memory."""
    return sum(slot.nbytes >= 3 * 400 * 400 * 4 for slot in report.plan.slots)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_gradients_of_large_attention_keep_no_scores_and_have_the_same_bits(limits, form):
    args, by = [normal(3, 400, 40, seed=i) for i in range(3)], gradients(form)
    kept = [x.numpy() for x in jit(by)(*args)]
    assert wide(lower(by)(*args)) > 0
    limits(recomputed_bytes=1)
    assert wide(lower(by)(*args)) == 0
    for mine, other in zip(jit(by)(*args), kept, strict=True):
        assert mine.numpy().tobytes() == other.tobytes()


def test_weights_that_are_wanted_are_kept(limits):
    limits(recomputed_bytes=1)
    q, k, v = (normal(3, 400, 40, seed=i) for i in range(3))

    def loss(q, k, v):
        weights = (q @ k.mT).softmax(-1)
        return (weights @ v * q).sum(), weights

    by, weights = grad(loss, argnums=(0, 1, 2), has_aux=True)(q, k, v)
    np.testing.assert_allclose(weights.numpy().sum(-1), 1, rtol=1e-5)
    plain = gradients(lambda q, k, v: (q @ k.mT).softmax(-1) @ v)(q, k, v)
    for mine, other in zip(by, plain, strict=True):
        assert mine.numpy().tobytes() == other.numpy().tobytes()


def test_hidden_values_of_a_network_are_not_made_again(limits):
    limits(recomputed_bytes=1)
    x, w, u = normal(2000, 64), normal(64, 512, seed=1), normal(512, 64, seed=2)
    before = fired["rows_again"]
    lower(grad(lambda w, u: ((x @ w).gelu() @ u).sum(), argnums=(0, 1)))(w, u)
    assert fired["rows_again"] == before


def test_a_large_operand_is_read_as_it_lies():
    x, g = normal(600, 1024), normal(600, 48, seed=1)
    before = fired["turned_product"]
    fn = lambda x, g: x.T @ g  # noqa: E731
    lower(fn)(x, g)
    assert fired["turned_product"] == before + 1
    transposed = Tensor(np.ascontiguousarray(x.numpy().T)).realize()  # whose rows lie side by side
    assert fn(x, g).numpy().tobytes() == (transposed @ g).numpy().tobytes()
    assert fn(x, g).numpy().tobytes() == (g.T @ x).T.numpy().tobytes()


@pytest.mark.parametrize("shape", [(600, 64), (600, 100), (600, 1024)])
def test_a_small_operand_or_one_of_near_lines_stays(shape):
    x, g = normal(*shape), normal(600, shape[1] // 2, seed=1)
    before = fired["turned_product"]
    lower(lambda x, g: x.T @ g)(x, g)
    assert fired["turned_product"] == before


@pytest.mark.parametrize("kept", [True, False])
def test_weights_alone_beside_their_product(limits, monkeypatch, kept):
    """Of all that makes rows, only the last step shares the product's kernel, and is a result."""
    monkeypatch.setattr("adjoint.schedule.panels._LARGER", 0)
    args = normal(2, 27, 22), normal(2, 51, 22, seed=1), normal(2, 51, 32, seed=2)
    mask = Tensor(np.random.default_rng(2).random((27, 51)) < 0.7)

    def both(q, k, v):
        y = q.scaled_dot_product_attention(k, v, mask)
        return y, *grad(lambda *a: (attend(mask)(*a) * y.detach()).sum(), argnums=(0, 1, 2))(
            q, k, v
        )

    found = []
    for row in (0, 1 << 14):
        limits(
            tiled_products=1,
            panel_rows=1,
            panel_row=row,
            recomputed_bytes=1 if row and not kept else 1 << 40,
        )
        found.append([x.numpy().tobytes() for x in jit(both)(*args)])
    assert found[0] == found[1]


def test_a_product_that_would_not_be_tiles_across_is_kept(limits, monkeypatch):
    """Fewer columns than tiles have would be another order of summation."""
    monkeypatch.setattr("adjoint.schedule.panels._LARGER", 0)
    q, k, v = normal(2, 28, 900), normal(2, 700, 900, seed=1), normal(2, 700, 900, seed=2)
    by = grad(lambda q, k, v: (attend()(q, k, v) * q).sum(), argnums=(0, 1, 2))
    kept = [x.numpy() for x in jit(by)(q, k, v)]
    limits(recomputed_bytes=1)
    for mine, other in zip(jit(by)(q, k, v), kept, strict=True):
        assert mine.numpy().tobytes() == other.tobytes()
