"""Linear algebra; `norm` is a vector's or a matrix', by the number of its axes."""

import numpy as _numpy

import adjoint as _adjoint

from ..dispatch import namespace as _namespace
from .functions import array as _array


def _norm(x, ord=None, axis=None, keepdims=False):  # type: ignore[no-untyped-def]
    x = x if isinstance(x, _adjoint.Tensor) else _array(x)
    if axis is None and ord is None:
        x, axis = x.reshape(-1), 0
    elif axis is None:
        axis = 0 if x.ndim == 1 else (0, 1)
    if isinstance(axis, tuple) and len(axis) == 2:
        moved = _adjoint.moveaxis(x, axis, (-2, -1))
        return _adjoint.linalg.matrix_norm(moved, ord="fro" if ord is None else ord)
    ord_ = 2 if ord is None else ord
    return _adjoint.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord_)


def _solve(a, b):  # type: ignore[no-untyped-def]
    return _adjoint.linalg.solve(_adjoint.asarray(a), _adjoint.asarray(b))


def _svd(x, full_matrices=True, compute_uv=True):  # type: ignore[no-untyped-def]
    if not compute_uv:
        return _adjoint.linalg.svdvals(x)
    return tuple(_adjoint.linalg.svd(x, full_matrices=full_matrices))


def _eigh(x, UPLO="L"):  # type: ignore[no-untyped-def]  # noqa: N803
    """Of the triangle that is named, as in NumPy; Adjoint's is of the whole, made symmetric."""
    half = _adjoint.tril(x, k=-1) if UPLO == "L" else _adjoint.triu(x, k=1)
    other = _adjoint.matrix_transpose(half)
    whole = half + (_adjoint.conj(other) if x.dtype.is_complex else other)
    diagonal = x - _adjoint.tril(x, k=-1) - _adjoint.triu(x, k=1)
    return tuple(_adjoint.linalg.eigh(whole + diagonal))


def _pinv(x, *args, **named):  # type: ignore[no-untyped-def]
    return _adjoint.linalg.pinv(x)


_MORE = {
    "eigh": _eigh,
    "eigvalsh": lambda x, *half: _eigh(x, *half)[0],
    "norm": _norm,
    "pinv": _pinv,
    "solve": _solve,
    "svd": _svd,
}
globals().update(
    _namespace(_numpy.linalg, lambda name: getattr(_adjoint.linalg, name, None), _MORE)
)


def _dot(a, b):  # type: ignore[no-untyped-def]
    """Autograd's own name for a product of matrices."""
    return a @ b


def T(x):  # type: ignore[no-untyped-def]
    """Autograd's own name for a transposed matrix."""
    return x.mT
