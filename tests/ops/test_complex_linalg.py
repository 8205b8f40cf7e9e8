"""Linear algebra of complex matrices: values, and derivatives of what phases leave alone."""

import numpy as np
import pytest

from adjoint import Tensor, jvp, vjp

RNG = np.random.default_rng(0)


def numbers(*shape):
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


SQUARE = numbers(3, 3) + 3 * np.eye(3)
HALF = numbers(3, 3)
HERMITIAN = HALF + HALF.conj().T + np.diag([1.0, 5.0, 9.0])
DEFINITE = HALF @ HALF.conj().T + np.eye(3)
TALL, WIDE, RIGHT = numbers(4, 2), numbers(2, 4), numbers(3, 2)


def _projection(x, k=1):
    """Onto the span of some eigenvectors."""
    v = x.eigh()[1][:, :k]
    return v @ v.conj().T


def _leading(x):
    """The part of a matrix that its largest singular value makes, without that value."""
    u, _, vh = x.svd(full_matrices=False)
    return u[:, :1] @ vh[:1]


CASES = {
    "inv": (lambda x: x.inv(), SQUARE),
    "det": (lambda x: x.det(), SQUARE),
    "adjugate": (lambda x: x.adjugate(), SQUARE),
    "sign of the determinant": (lambda x: x.slogdet()[0], SQUARE),
    "logarithm of the determinant": (lambda x: x.slogdet()[1], SQUARE),
    "solve": (lambda x: x.solve(Tensor(RIGHT)), SQUARE),
    "solve_triangular": (lambda x: x.solve_triangular(Tensor(RIGHT), True), SQUARE),
    "cholesky": (lambda x: x.cholesky(), DEFINITE),
    "cholesky, upper": (lambda x: x.cholesky(upper=True), DEFINITE),
    "q": (lambda x: x.qr()[0], SQUARE),
    "r": (lambda x: x.qr()[1], SQUARE),
    "q of a tall matrix": (lambda x: x.qr()[0], TALL),
    "eigenvalues": (lambda x: x.eigvalsh(), HERMITIAN),
    "a projection": (_projection, HERMITIAN),
    "a wider projection": (lambda x: _projection(x, 2), HERMITIAN),
    "singular values": (lambda x: x.svdvals(), SQUARE),
    "leading part": (_leading, SQUARE),
    "leading part of a tall matrix": (_leading, TALL),
    "leading part of a wide matrix": (_leading, WIDE),
    "pinv": (lambda x: x.pinv(), TALL),
    "pinv that leaves values out": (lambda x: x.pinv(0.45), SQUARE),
    "the same, tall": (lambda x: x.pinv(0.5), TALL),
    "the same, wide": (lambda x: x.pinv(0.5), WIDE),
    "matrix_power": (lambda x: x.matrix_power(-3), SQUARE),
    "lstsq": (lambda x: x.lstsq(Tensor(np.ones((4, 1)) + 1j)), TALL),
}


@pytest.mark.parametrize(("function", "x"), CASES.values(), ids=CASES)
def test_the_derivative_is_the_difference_quotient_and_both_modes_agree(function, x):
    t, step = numbers(*x.shape), 1e-6
    y, found = (part.numpy() for part in jvp(function, (Tensor(x),), (Tensor(t),)))
    ends = [function(Tensor(x + s * step * t)).numpy() for s in (1, -1)]
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2 * step), rtol=1e-6, atol=1e-6)
    g = numbers(*y.shape) if y.dtype.kind == "c" else RNG.standard_normal(y.shape)
    (back,) = vjp(function, Tensor(x))[1](Tensor(g))
    assert (back.numpy() * t).sum().real == pytest.approx((g * found).sum().real, rel=1e-9)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_factors_give_the_matrix_back(dtype):
    x = Tensor(SQUARE.astype(dtype))
    near = {"rtol": 1e-4 if dtype == "complex64" else 1e-10}
    q, r = x.qr()
    u, s, vh = x.svd()
    w, v = x.eig()
    h = Tensor(HERMITIAN.astype(dtype))
    values, vectors = h.eigh()
    lower = Tensor(DEFINITE.astype(dtype)).cholesky()
    assert s.dtype.name == values.dtype.name == ("float32" if dtype == "complex64" else "float64")
    for found, wanted in (
        (q @ r, SQUARE),
        ((u * s) @ vh, SQUARE),
        (v @ (w.unsqueeze(1) * v.inv()), SQUARE),
        ((vectors * values) @ vectors.conj().T, HERMITIAN),
        (lower @ lower.conj().T, DEFINITE),
        (x @ x.pinv() @ x, SQUARE),
    ):
        assert found.dtype.name == dtype
        np.testing.assert_allclose(found.numpy(), wanted, **near)
