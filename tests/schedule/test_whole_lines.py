"""Rows that begin anywhere are made longer for a library, to multiples of 8: the same values."""

import numpy as np
import pytest

from adjoint import Tensor, autocast, lower, nn
from adjoint.runtime.device import has_tools
from adjoint.schedule import whole_lines
from adjoint.stages import Gemm, LibraryStep
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.support.fake_cublaslt import fake_cublaslt
from tests.support.fake_gpu import fake_gpu

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
WORDS = 37


@pytest.fixture
def ragged(monkeypatch):
    """Every product is worth it."""
    monkeypatch.setattr(whole_lines, "_WORTH", 1)
    with compiled_anew(), fake_cublaslt(), fake_gpu():
        yield


class Net(nn.Module):
    """Products whose rows, columns and sums are odd, one right behind another among them."""

    def __init__(self, device):
        named = {"device": device}
        self.first, self.second = nn.Linear(26, 13, **named), nn.Linear(13, 29, **named)
        self.gate = nn.Linear(29, 2 * 21, bias=False, **named)
        self.last = nn.Linear(21, WORDS, bias=False, **named)
        rng = np.random.default_rng(0)
        for p in self.parameters():
            p.assign(Tensor(rng.standard_normal(p.shape).astype(np.float32) / 4, **named)).realize()

    def forward(self, x):
        x = self.second(self.first(x)).gelu(approximate="tanh")
        both = self.gate(x)
        return self.last(both[..., :21].silu() * both[..., 21:])


def trained(device):
    """Loss and gradients."""
    net, rng = Net(device), np.random.default_rng(1)
    x = Tensor(rng.standard_normal((3, 5, 26)).astype(np.float32), device=device)
    y = Tensor(rng.integers(0, WORDS, 15), device=device)
    with autocast("bfloat16"):
        loss = nn.functional.cross_entropy(net(x).reshape(15, WORDS), y)
    loss.backward()
    return [loss.numpy(), *(p.grad.numpy() for p in net.parameters())]


def test_losses_and_gradients_are_those_of_the_cpu(ragged):
    for found, wanted in zip(trained("GPU"), trained("CPU"), strict=True):
        far = np.abs(found - wanted).max()
        assert far <= 0.03 * max(np.abs(wanted).max(), 0.05)


def gemms_of(fn, *operands):
    steps = lower(fn)(*operands).plan.steps
    return [s.call for s in steps if isinstance(s, LibraryStep) and isinstance(s.call, Gemm)]


def draw(*shape):
    values = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    return Tensor(values, device="GPU").bfloat16().realize()


def test_rows_of_operands_and_results_begin_at_multiples_of_eight(ragged):
    a, b, c = draw(30, 21), draw(21, 13), draw(13, 50)
    for gemm in gemms_of(lambda a, b, c: ((a + 1) @ b) @ (c * 2), a, b, c):
        rows = [max(gemm.lhs[1:]), max(gemm.rhs[1:]), gemm.n]
        assert not any(length % 8 for length in rows), gemm.title


def test_as_many_numbers_are_summed(ragged):
    a, b = draw(30, 21), draw(13, 21)
    (gemm,) = gemms_of(lambda a, b: (a + 1) @ (b * 2).T, a, b)
    assert (gemm.m, gemm.k, gemm.n) == (30, 24, 16)
    (gemm,) = gemms_of(lambda a, b: (a + 1).T @ b, draw(21, 13), draw(21, 16))
    assert (gemm.m, gemm.k, gemm.n) == (16, 24, 16)


def test_what_a_product_has_beyond_its_columns_is_not_summed(ragged):
    first, second = gemms_of(lambda a, b, c: (a @ b) @ c, draw(8, 16), draw(16, 13), draw(13, 8))
    assert (first.n, second.k) == (16, 13)


def test_products_of_whole_rows_are_left_alone(ragged):
    a, b = draw(30, 24), draw(24, 16)
    (gemm,) = gemms_of(lambda a, b: a @ b, a, b)
    assert (gemm.m, gemm.k, gemm.n) == (30, 24, 16)


def test_small_products_are_left_alone():
    with compiled_anew(), fake_cublaslt(), fake_gpu():
        (gemm,) = gemms_of(lambda a, b: a @ b, draw(30, 21), draw(21, 13))
    assert (gemm.m, gemm.k, gemm.n) == (30, 21, 13)


@pytest.mark.filterwarnings("ignore:invalid value")  # NumPy multiplies the zeros too
def test_infinities_do_not_reach_other_columns(ragged):
    x = np.ones((9, 21), np.float32)
    x[3, 20] = np.inf
    a, b, c = Tensor(x, device="GPU").bfloat16(), draw(21, 13), draw(13, 11)
    middle = (a + 0) @ b
    found = (middle @ c).numpy().astype(np.float32)
    assert np.isfinite(np.delete(found, 3, 0)).all()
    assert np.isinf(middle.numpy().astype(np.float32)[3]).all()
    assert not np.isfinite(found[3]).any()


def test_turned_and_sliced_operands_keep_their_values(ragged):
    a, b = draw(40, 21), draw(21, 40)
    found = ((a.T @ b.T), (a[:, 1:] @ b[1:]), a.T[2:9] @ a)
    with np.errstate(all="ignore"):
        x, y = (t.numpy().astype(np.float64) for t in (a, b))
    for one, wanted in zip(found, (x.T @ y.T, x[:, 1:] @ y[1:], x.T[2:9] @ x), strict=True):
        np.testing.assert_allclose(one.numpy().astype(np.float64), wanted, rtol=0.01, atol=0.1)
