"""How ours is called for torch's linear algebra and Fourier ops; no torch, no Adjoint here."""

from __future__ import annotations

from typing import Any

from tests.oracle.elementwise import Call, Missing, each, method


def _qr(x: Any) -> Any:
    return x.qr()


def _svd(x: Any, full_matrices: bool = True) -> Any:
    return x.svd(full_matrices)


def _triangular(a: Any, b: Any, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    return a.solve_triangular(b, upper, left, unitriangular)


def _vector_norm(x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False) -> Any:
    return x.vector_norm(ord, dim, keepdim)


def _vecdot(x: Any, y: Any, dim: int = -1) -> Any:
    return x.vecdot(y, dim)


def _lstsq(a: Any, b: Any, driver: Any = None) -> Any:
    """The solution, and the residuals that torch adds where there are more rows than columns."""
    y = a.lstsq(b)
    given = a.shape[-2] > a.shape[-1] and driver != "gelsy"
    return y, (a @ y - b).square().sum(-2) if given else y.flatten()[:0]


def _matrix_rank(x: Any, atol: Any = None, rtol: Any = None) -> Any:
    if rtol is not None or hasattr(atol, "item"):
        raise Missing("matrix_rank(rtol=), or a tensor of tolerances")
    return x.matrix_rank(atol)


def _cdist(x: Any, y: Any, p: float = 2.0, mode: Any = None) -> Any:
    return x.cdist(y, p)


def _einsum(tensors: Any, formula: str) -> Any:
    return type(tensors[0]).einsum(formula, *tensors)


def _pinv(x: Any, rtol: Any = None) -> Any:
    return x.pinv(rtol.item() if hasattr(rtol, "item") else rtol)


FOURIER = "fft fft2 fftn ifft ifft2 ifftn rfft rfft2 rfftn irfft irfft2 irfftn hfft ihfft"

MATRICES: dict[str, Call] = {
    **each("dot vdot mv mm bmm matmul addmm outer inner kron cross"),
    **each("tensordot cholesky"),
    **each("cross det slogdet inv solve cholesky", method, "linalg."),
    **each("matrix_power svdvals eigvals diagonal", method, "linalg."),
    **each(FOURIER, method, "fft."),
    "fft.fftshift": method("fftshift"),
    "fft.ifftshift": method("ifftshift"),
    "addmm.decomposed": method("addmm"),
    "__rmatmul__": lambda x, y: x.__rmatmul__(y),
    "linalg.eigh": lambda x, **_: x.eigh(),
    "linalg.eigvalsh": lambda x, **_: x.eigvalsh(),
    "linalg.eig": method("eig"),
    "linalg.qr": _qr,
    "qr": _qr,
    "linalg.svd": _svd,
    "linalg.pinv": _pinv,
    "pinverse": method("pinv"),
    "linalg.lstsq.grad_oriented": _lstsq,
    "linalg.solve_triangular": _triangular,
    "linalg.matrix_rank": _matrix_rank,
    "linalg.vector_norm": _vector_norm,
    "linalg.vecdot": _vecdot,
    "logdet": lambda x: x.slogdet()[1],
    "cdist": _cdist,
    "einsum": _einsum,
}

# Torch reads one triangle, ours the symmetric part: torch is given the symmetric part too.
SYMMETRIC = ("linalg.eigh", "linalg.eigvalsh")
# Signs of these factors are free: both sides are compared after abs().
GAUGED = ("linalg.eigh", "linalg.qr", "qr", "linalg.svd", "linalg.eig")
