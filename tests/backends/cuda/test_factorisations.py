"""Linear algebra on a GPU: large matrices by cuSOLVER where it is installed, the rest by the host.

Without a GPU the library is NumPy behind the same C functions.
"""

import numpy as np
import pytest

from adjoint import Tensor, lower
from adjoint.errors import LinAlgError
from adjoint.runtime.cuda import problem
from adjoint.runtime.cusolver import CUSOLVER, is_installed
from adjoint.runtime.device import has_tools
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.support.fake_cudnn import installed
from tests.support.fake_cusolver import fake_cusolver
from tests.support.fake_gpu import fake_gpu

tools = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
real = pytest.mark.skipif(
    bool(problem()) or not is_installed(), reason=problem() or "cuSOLVER is not installed"
)
N = 64
# By name: what is computed, whatever signs vectors have, and the shape of the matrix.
CASES = {
    "cholesky": (lambda x: _definite(x).cholesky(), (N, N)),
    "upper cholesky": (lambda x: _definite(x).cholesky(upper=True), (2, N, N)),
    "solve": (lambda x: x.solve(x[..., :3] * 2 + 1), (2, N, N)),
    "inverse": (lambda x: x.inv(), (N, N)),
    "upper triangle": (lambda x: x.solve_triangular(x[..., :3] + 1, True), (N, N)),
    "lower triangle, right": (
        lambda x: x.solve_triangular(x[..., :3, :] + 1, False, left=False),
        (2, N, N),
    ),
    "unit triangle": (
        lambda x: (x * 0.01).solve_triangular(x[..., :3] + 1, False, unitriangular=True),
        (N, N),
    ),
    "q of qr": (lambda x: x.qr()[0].abs(), (2, N + 5, N)),
    "r of qr": (lambda x: x.qr()[1].abs(), (N, N + 3)),
    "eigenvalues": (lambda x: (x + _mh(x)).eigh()[0], (2, N, N)),
    "eigenvectors": (lambda x: _joined((x + _mh(x)).eigh()), (N, N)),
    "singular values": (lambda x: x.svd(full_matrices=False)[1], (2, N + 6, N)),
    "singular vectors": (lambda x: _product(x.svd(full_matrices=False)), (2, N, N + 4)),
    "singular vectors of a high one": (lambda x: _product(x.svd(full_matrices=False)), (N + 4, N)),
}
CALLS = {"potrf", "getrf", "trsm", "geqrf", "syevd", "gesvd"}


def _mh(x):
    return x.transpose(-1, -2).conj()


def _definite(x):
    return x @ _mh(x) + Tensor.eye(N, device=x.device).cast(x.dtype) * 50


def _joined(found):
    values, vectors = found
    return (vectors * values.cast(vectors.dtype)[..., None, :]) @ _mh(vectors)


def _product(found):
    u, s, vt = found
    return (u * s.cast(u.dtype)[..., None, :]) @ vt


@pytest.fixture(scope="module")
def shared():
    with compiled_anew(), fake_cusolver() as library, fake_gpu():
        yield library


@pytest.fixture
def library(shared):
    """A fake cuSOLVER beside a fake GPU."""
    del shared.calls[:]
    return shared


def matrix(shape, dtype):
    rng = np.random.default_rng(5)
    made = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * rng.standard_normal(shape)
    return (made + 8 * np.eye(*shape[-2:])).astype(dtype)


def computed(fn, array, device, gradient):
    """The value, and if asked for the gradient of the sum of cubes."""
    x = Tensor(array, device=device)
    x.requires_grad = True
    found = [fn(x)]
    if gradient:
        found += (found[0].abs() ** 3).sum().gradient(x)
    assert {t.device for t in found} == {device}
    return [t.numpy() for t in found]


def check(name, dtype, gradient=True):
    fn, shape = CASES[name]
    array = matrix(shape, dtype)
    tolerance = 2e-3 if np.dtype(dtype) in (np.float32, np.complex64) else 1e-9
    wanted = computed(fn, array, "REF", gradient)
    for found, right in zip(computed(fn, array, "GPU", gradient), wanted, strict=True):
        assert found.dtype == right.dtype
        np.testing.assert_allclose(found, right, rtol=0, atol=tolerance * np.abs(right).max())


@tools
@pytest.mark.parametrize("name", CASES)
def test_large_matrices_are_those_of_the_host(library, name):
    check(name, np.float64, gradient=name in ("cholesky", "unit triangle"))
    assert set(library.calls) & CALLS


@tools
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize("name", ["upper cholesky", "solve", "eigenvectors", "r of qr"])
def test_matrices_of_other_dtypes_are_those_of_the_host(library, name, dtype):
    check(name, dtype, gradient=False)
    assert library.calls


@tools
def test_small_matrices_and_many_are_left_to_the_host(library):
    for shape in ((8, 8), (40, N, N)):
        found = Tensor(matrix(shape, np.float32), device="GPU").inv()
        assert found.device == "GPU"
        found.numpy()
    assert library.calls == []


@tools
def test_what_fails_is_said_with_the_line(library):
    with pytest.raises(LinAlgError, match=r"E6006.*not positive definite.*test_factorisations"):
        (-Tensor.eye(N, device="GPU")).cholesky().realize()
    with pytest.raises(LinAlgError, match=r"E6006.*singular"):
        Tensor.ones(N, N, device="GPU").inv().realize()


@tools
def test_without_the_library_the_host_computes_and_results_are_on_the_gpu():
    with compiled_anew(), installed(CUSOLVER, None), fake_gpu():
        check("solve", np.float64, gradient=False)
        x = Tensor(matrix((N, N), np.float32), device="GPU")
        assert "host inv" in lower(lambda x: x.inv())(x).schedule()


@real
@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("name", CASES)
def test_on_a_gpu_matrices_are_those_of_the_host(name, dtype):
    check(name, dtype)


@real
@pytest.mark.gpu
def test_on_a_gpu_what_fails_is_said():
    with pytest.raises(LinAlgError, match="E6006"):
        (-Tensor.eye(N, device="GPU")).cholesky().realize()
