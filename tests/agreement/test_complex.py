"""Complex arithmetic is compiled: kernels and the library compute it, NumPy only functions."""

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, counters, grad, jit, vmap
from tests.support.devices import on

RNG = np.random.default_rng(0)


def numbers(*shape, dtype=np.complex64):
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)


X, Y, A, B = numbers(3, 4), numbers(3, 4), numbers(5, 3, 4), numbers(4, 6)

COMPILED = {
    "add": lambda x, y, a, b: x + y,
    "sub": lambda x, y, a, b: x - 2j,
    "mul": lambda x, y, a, b: x * y,
    "mul by a real tensor": lambda x, y, a, b: x * y.real(),
    "div": lambda x, y, a, b: x / y,
    "reciprocal": lambda x, y, a, b: x.reciprocal(),
    "neg, conj": lambda x, y, a, b: -x.conj(),
    "abs": lambda x, y, a, b: x.abs(),
    "square": lambda x, y, a, b: x.square(),
    "parts": lambda x, y, a, b: x.real() * y.imag(),
    "of parts": lambda x, y, a, b: x.real().complex(y.imag()),
    "comparison": lambda x, y, a, b: x.eq(y).logical_or(x.ne(x)),
    "where": lambda x, y, a, b: (x.real() > 0).where(x, y),
    "isfinite": lambda x, y, a, b: (x / 0).isfinite().logical_or(x.isnan()),
    "views": lambda x, y, a, b: x.T.flip(0)[::2, None].reshape(2, 3),
    "pad": lambda x, y, a, b: x.pad(((1, 0), (0, 2)), value=2 - 1j),
    "cat": lambda x, y, a, b: x.cat(y, dim=1),
    "sum": lambda x, y, a, b: x.sum(0),
    "mean": lambda x, y, a, b: a.mean((0, 2)),
    "cumsum": lambda x, y, a, b: x.cumsum(1),
    "gather": lambda x, y, a, b: x[Tensor([2, 0, 2])],
    "matmul": lambda x, y, a, b: x @ b,
    "batched matmul": lambda x, y, a, b: a @ b,
    "einsum": lambda x, y, a, b: Tensor.einsum("bij,jk,ij->bk", a, b, x),
    "conv2d": lambda x, y, a, b: a.reshape(1, 5, 3, 4).conv2d(a[:2, :2, :2].reshape(2, 2, 2, 1)[:, :1].expand(2, 5, 2, 1)),  # noqa: E501
    "chain": lambda x, y, a, b: ((x * y + 1).abs() * x / y).sum(1),
    "cast": lambda x, y, a, b: x.cast("complex128") * y,
    "truth": lambda x, y, a, b: (x * 0).any(0).logical_or(x.all(0)),
    "no elements": lambda x, y, a, b: x[:0] * 2 + 1,
    "a scalar": lambda x, y, a, b: x[0, 0] * y[1, 1],
    "setitem": lambda x, y, a, b: _assigned(x * 1, y),
}  # fmt: skip


def _assigned(x, y):
    x[1:] = y[1:] * 2j
    return x


def _near(found, wanted, dtype):
    eps = 1e-5 if dtype == np.complex64 else 1e-13
    np.testing.assert_allclose(found, wanted, rtol=eps, atol=eps)


def _values(function, dtype, device):
    with on(device):
        return function(*(Tensor(v.astype(dtype)) for v in (X, Y, A, B)))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128], ids=["c64", "c128"])
@pytest.mark.parametrize("function", COMPILED.values(), ids=COMPILED)
def test_complex_arithmetic_needs_no_host_and_agrees_with_the_reference(function, dtype):
    wanted = _values(function, dtype, "REF")
    lazy = _values(function, dtype, "CPU")
    with counters() as count:
        found = lazy.numpy()
    assert count.host == 0
    assert found.dtype == wanted.numpy().dtype
    _near(found, wanted.numpy(), dtype)


@pytest.mark.parametrize("function", COMPILED.values(), ids=COMPILED)
def test_a_jitted_call_gives_the_same_bits(function):
    traced = jit(function)
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        args = [Tensor((v * rng.uniform(0.5, 2)).astype(np.complex64)) for v in (X, Y, A, B)]
        assert np.array_equal(traced(*args).numpy(), function(*args).numpy(), equal_nan=True)


MIXED = {
    "a function between products": lambda x, y: (x * y).exp() * y,
    "a transform": lambda x, y: adjoint.fft.ifft(adjoint.fft.fft(x * 2) * y),
    "a product over an axis": lambda x, y: (x + y).prod(1) * 2,
    "a loop": lambda x, y: adjoint.fori_loop(0, 3, lambda i, z: z * y + 1, x),
    "two results of one value": lambda x, y: adjoint.stack([x * y, (x * y).conj()]),
    "what is given": lambda x, y: x.reshape(12),
    "what is given, detached": lambda x, y: x.detach(),
    "bytes": lambda x, y: (x * y).bitcast("float32") + 1,
}


@pytest.mark.parametrize("function", MIXED.values(), ids=MIXED)
def test_kernels_and_host_hand_complex_numbers_over(function):
    wanted = _values(lambda x, y, a, b: function(x, y), np.complex64, "REF").numpy()
    found = _values(lambda x, y, a, b: function(x, y), np.complex64, "CPU").numpy()
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_gradients_and_batches_of_complex_arithmetic():
    y = Tensor(Y)
    found = grad(lambda x: ((x * y).abs() ** 2).sum())(Tensor(X)).numpy()
    np.testing.assert_allclose(found, 2 * np.abs(Y) ** 2 * X.conj(), rtol=1e-4)
    rows = vmap(lambda a, b: (a * b).sum())(Tensor(X), y).numpy()
    np.testing.assert_allclose(rows, (X * Y).sum(1), rtol=1e-5)


EDGES = np.array([0, -0.0, 1, -2.5, np.inf, -np.inf, np.nan, 1e38, 1e-45], np.float32)


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_infinities_nans_and_zeros_are_those_of_the_formula(name):
    z = np.empty((81,), np.complex64)
    z.real, z.imag = (g.ravel() for g in np.meshgrid(EDGES, EDGES))
    a, b = z[:, None], z[None]
    with np.errstate(all="ignore"):
        parts = {
            "add": (a.real + b.real, a.imag + b.imag),
            "sub": (a.real - b.real, a.imag - b.imag),
            "mul": (a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real),
        }[name]
    found = getattr(Tensor(a), name)(Tensor(b)).numpy()
    for one, wanted in zip((found.real, found.imag), parts, strict=True):
        assert np.array_equal(one, wanted, equal_nan=True)
        assert np.array_equal(np.signbit(one[wanted == 0]), np.signbit(wanted[wanted == 0]))


def test_a_quotient_does_not_overflow_on_the_way():
    big = np.array([1e30 + 1e30j, 1e-30 + 1e-30j], np.complex64)
    assert (Tensor(big) / Tensor(big)).tolist() == [1, 1]
    by_zero = (Tensor(np.array([1 + 1j], np.complex64)) / 0).numpy()
    assert np.isinf(by_zero.real).all()
