"""Linear algebra: the main namespace's functions and the extension, against the oracle."""

import math

import numpy as np
import pytest

import adjoint
import adjoint.tensor.array_api as xp
from adjoint import Tensor
from tests.tensor.array_api.oracle import (
    COMPLEXES,
    FLOATS,
    INTS,
    NUMBERS,
    SIGNED,
    TOLERANCE,
    UNSIGNED,
    agree,
    array,
    ours,
    same,
)

SQUARE = array((3, 3), "float64", -1, 1) + 3 * np.eye(3)
BATCH = array((2, 3, 3), "float64", -1, 1, seed=1) + 3 * np.eye(3)
TALL, WIDE = array((4, 2), "float64"), array((2, 4), "float64")


def _in(x, dtype):
    return np.asarray(x).astype(dtype)


def _near(got, wanted, dtype):
    tolerance = 20 * TOLERANCE[dtype]
    np.testing.assert_allclose(got.numpy(), wanted, tolerance, tolerance)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((2, 3), (3, 4)),
        ((3,), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3,)),
        ((4, 2, 3), (3, 2)),
        ((4, 1, 2, 3), (2, 3, 2)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 3)),
    ],
)
def test_matmul_agrees_with_the_oracle(a, b, dtype):
    agree("matmul", array(a, dtype, 0, 3), array(b, dtype, 0, 3, seed=1), dtype=dtype)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_products_agree_with_the_oracle(dtype):
    x, y = array((2, 3, 4), dtype, 0, 3), array((3, 4, 2), dtype, 0, 3, seed=1)
    agree("tensordot", x, y, dtype=dtype)
    agree("tensordot", x, y, axes=0, dtype=dtype)
    agree("tensordot", x, y, axes=((1, 2), (0, 1)), dtype=dtype)
    agree("tensordot", x, y, axes=((-1,), (1,)), dtype=dtype)
    agree("vecdot", x, x[0], dtype=dtype)
    agree("vecdot", x, x[:, :, :1], axis=-2, dtype=dtype)
    agree("matrix_transpose", x, dtype=dtype)
    agree("outer", x[0, 0], y[0, 0], namespace="linalg", dtype=dtype)
    agree("cross", x[0].T, x[1].T, namespace="linalg", dtype=dtype)
    agree("cross", x[0], x[1], axis=-2, namespace="linalg", dtype=dtype)


def test_vecdot_conjugates_its_first_operand():
    x = np.array([1j, 2.0])
    same(xp.vecdot(Tensor(x), Tensor(x)), np.asarray(5 + 0j))


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS, *COMPLEXES])
@pytest.mark.parametrize("offset", [-1, 0, 2])
def test_diagonals_and_traces_agree_with_numpy(dtype, offset):
    x = array((2, 3, 4), dtype, 0, 3)
    agree("diagonal", x, offset=offset, namespace="linalg", dtype=dtype)
    wanted = np.trace(x, offset, -2, -1)
    found = xp.linalg.trace(Tensor(x), offset=offset)
    narrow = dict.fromkeys(SIGNED, "int64") | dict.fromkeys(UNSIGNED, "uint64")
    same(found, wanted, narrow.get(dtype, dtype))
    wide = xp.complex128 if x.dtype.kind == "c" else xp.float64
    assert xp.linalg.trace(Tensor(x), dtype=wide).dtype is wide


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("x", [SQUARE, BATCH], ids=["one", "batch"])
def test_inverses_determinants_and_solutions_agree_with_numpy(x, dtype):
    x = _in(x, dtype)
    _near(xp.linalg.inv(Tensor(x)), np.linalg.inv(x), dtype)
    _near(xp.linalg.det(Tensor(x)), np.linalg.det(x), dtype)
    _near(xp.linalg.pinv(Tensor(x)), np.linalg.pinv(x), dtype)
    _near(xp.linalg.solve(Tensor(x), Tensor(x[..., :2])), np.linalg.solve(x, x[..., :2]), dtype)
    for n in (-2, 0, 1, 3):
        wanted = np.linalg.matrix_power(x, n)
        tolerance = 200 * TOLERANCE[dtype]
        found = xp.linalg.matrix_power(Tensor(x), n).numpy()
        np.testing.assert_allclose(found, wanted, tolerance, tolerance)
    found, wanted = xp.linalg.slogdet(Tensor(x)), np.linalg.slogdet(x)
    assert found._fields == ("sign", "logabsdet")
    _near(found.sign, wanted.sign, dtype)
    _near(found.logabsdet, wanted.logabsdet, dtype)


def test_solve_reads_a_right_hand_side_of_one_axis_as_a_vector():
    b = np.array([1.0, 2.0, 3.0])
    _near(xp.linalg.solve(Tensor(SQUARE), Tensor(b)), np.linalg.solve(SQUARE, b), "float64")


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_factors_multiply_back(upper):
    x = BATCH @ np.swapaxes(BATCH, -1, -2)
    factor = xp.linalg.cholesky(Tensor(x), upper=upper).numpy()
    turned = np.swapaxes(factor, -1, -2)
    np.testing.assert_allclose(turned @ factor if upper else factor @ turned, x, 1e-10, 1e-10)
    assert np.all((np.tril if upper else np.triu)(factor, -1 if upper else 1) == 0)


@pytest.mark.parametrize("x", [SQUARE, BATCH, TALL, WIDE, array((2, 4, 3), "float64")])
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_qr_multiplies_back_and_is_orthogonal(x, mode):
    found = xp.linalg.qr(Tensor(x), mode=mode)
    q, r = (t.numpy() for t in found)
    wanted = np.linalg.qr(x, mode)
    assert found._fields == ("Q", "R")
    assert (q.shape, r.shape) == (wanted[0].shape, wanted[1].shape)
    np.testing.assert_allclose(q @ r, x, 1e-10, 1e-10)
    identity = np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1]))
    np.testing.assert_allclose(np.swapaxes(q, -1, -2) @ q, identity, 1e-10, 1e-10)
    np.testing.assert_allclose(r, np.triu(r), 0, 1e-12)


@pytest.mark.parametrize("x", [SQUARE, BATCH, TALL, WIDE])
@pytest.mark.parametrize("full", [False, True])
def test_svd_multiplies_back(x, full):
    found = xp.linalg.svd(Tensor(x), full_matrices=full)
    u, s, vh = (t.numpy() for t in found)
    wanted = np.linalg.svd(x, full)
    assert found._fields == ("U", "S", "Vh")
    assert [a.shape for a in (u, s, vh)] == [a.shape for a in wanted]
    k = s.shape[-1]
    np.testing.assert_allclose((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x, 1e-10, 1e-10)
    np.testing.assert_allclose(xp.linalg.svdvals(Tensor(x)).numpy(), s, 1e-10, 1e-10)


def test_eigenvalues_and_vectors_solve_their_equation():
    x = BATCH + np.swapaxes(BATCH, -1, -2)
    found = xp.linalg.eigh(Tensor(x))
    w, v = (t.numpy() for t in found)
    assert found._fields == ("eigenvalues", "eigenvectors")
    np.testing.assert_allclose(x @ v, v * w[..., None, :], 1e-10, 1e-10)
    _near(xp.linalg.eigvalsh(Tensor(x)), w, "float64")


@pytest.mark.parametrize(("dtype", "wide"), [("float32", "complex64"), ("float64", "complex128")])
def test_general_eigenvalues_are_complex(dtype, wide):
    x = np.array([[0, 1], [-1, 0]], dtype)
    found = xp.linalg.eig(Tensor(x))
    w, v = (t.numpy() for t in found)
    assert found._fields == ("eigenvalues", "eigenvectors")
    assert w.dtype == v.dtype == wide
    np.testing.assert_allclose(x @ v, v * w, 1e-6, 1e-6)
    same(xp.linalg.eigvals(Tensor(x)), w)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
def test_matrix_norms_agree_with_numpy(ord, keepdims):
    for x in (SQUARE, array((2, 3, 4), "float64")):
        wanted = np.linalg.norm(x, ord, (-2, -1), keepdims)
        _near(xp.linalg.matrix_norm(Tensor(x), ord=ord, keepdims=keepdims), wanted, "float64")


@pytest.mark.parametrize("ord", [2, 1, 0, 3, -1, 0.5, math.inf, -math.inf])
@pytest.mark.parametrize(
    "options", [{}, {"axis": 1}, {"axis": (0, 2), "keepdims": True}, {"keepdims": True}]
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_vector_norms_agree_with_the_oracle(dtype, ord, options):
    x = array((2, 3, 2), dtype, 0.5, 3)
    agree("vector_norm", x, ord=ord, namespace="linalg", **options)


def test_vector_norms_of_complex_numbers_are_real():
    x = array((2, 3), "complex64")
    agree("vector_norm", x, namespace="linalg", dtype="float32")
    agree("vector_norm", x, ord=1, axis=0, namespace="linalg", dtype="float32")


def test_ranks_count_singular_values_above_the_ratio():
    x = np.stack([np.diag([1.0, 1e-3, 0.0]), np.eye(3)])
    assert xp.linalg.matrix_rank(Tensor(x)).tolist() == [2, 3]
    assert xp.linalg.matrix_rank(Tensor(x), rtol=0.1).tolist() == [1, 3]
    assert xp.linalg.matrix_rank(Tensor(x), rtol=Tensor([0.1, 2.0])).tolist() == [1, 0]
    assert xp.linalg.matrix_rank(Tensor(np.zeros((2, 0)))).tolist() == 0


def test_pinv_cuts_small_singular_values():
    x = np.stack([np.diag([1.0, 0.1]), np.diag([2.0, 1.0])])
    wanted = np.stack([np.diag([1.0, 0.0]), np.diag([0.5, 1.0])])
    _near(xp.linalg.pinv(Tensor(x), rtol=0.2), wanted, "float64")
    cut = np.stack([np.diag([1.0, 10.0]), np.diag([0.5, 0.0])])
    _near(xp.linalg.pinv(Tensor(x), rtol=Tensor(np.array([0.05, 0.6]))), cut, "float64")
    _near(xp.linalg.pinv(Tensor(TALL)), np.linalg.pinv(TALL), "float64")


def test_the_extension_holds_the_main_namespaces_products():
    for name in ("matmul", "matrix_transpose", "tensordot", "vecdot"):
        assert getattr(xp.linalg, name) is getattr(xp, name)


X, V = ours((np.ones((2, 3), "float32"), np.ones(3, "float32")))
ERRORS = [
    (lambda: xp.matmul(X, X), ValueError, "inner"),
    (lambda: xp.matmul(X, Tensor(1.0)), ValueError, "scalar"),
    (lambda: xp.matmul(X, 2.0), TypeError, "tensor"),
    (lambda: xp.matrix_transpose(V), ValueError, "matrices"),
    (lambda: xp.tensordot(X, X, axes=((0,), (1,))), ValueError, "2 and 3"),
    (lambda: xp.tensordot(X, X, axes=3), ValueError, "3"),
    (lambda: xp.vecdot(X, V, axis=0), IndexError, "axis"),
    (lambda: xp.vecdot(X, V, axis=-2), IndexError, "axis"),
    (lambda: xp.linalg.cross(X, X, axis=1), IndexError, "axis"),
    (lambda: xp.linalg.cross(X[:, :2], X[:, :2]), ValueError, "3"),
    (lambda: xp.linalg.outer(X, V), ValueError, "vectors"),
    (lambda: xp.linalg.inv(X), ValueError, "square"),
    (lambda: xp.linalg.diagonal(V), ValueError, "matrices"),
    (lambda: xp.linalg.qr(X, mode="r"), ValueError, "mode"),
    (lambda: xp.linalg.matrix_norm(X, ord=3), ValueError, "ord"),
    (lambda: xp.linalg.matrix_norm(V), ValueError, "matrices"),
    (lambda: xp.linalg.vector_norm(X, ord="fro"), TypeError, "ord"),
    (lambda: xp.linalg.matrix_power(Tensor(SQUARE), 0.5), TypeError, "int"),
]


@pytest.mark.parametrize(("call", "kind", "words"), ERRORS)
def test_calls_that_cannot_work_are_errors_at_once(call, kind, words):
    with pytest.raises(kind, match=words) as caught:
        call()
    assert isinstance(caught.value, adjoint.AdjointError)


def test_a_singular_matrix_is_an_error_when_it_runs():
    with pytest.raises(adjoint.AdjointError, match="singular"):
        xp.linalg.inv(Tensor(np.ones((2, 2)))).realize()
