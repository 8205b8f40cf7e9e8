"""Linear algebra; `norm` is a vector's or a matrix', by the number of its axes."""

import numpy as _numpy

import adjoint as _adjoint

from ..dispatch import namespace as _namespace


def _norm(x, ord=None, axis=None, keepdims=False):  # type: ignore[no-untyped-def]
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


_MORE = {"norm": _norm, "solve": _solve}
globals().update(
    _namespace(_numpy.linalg, lambda name: getattr(_adjoint.linalg, name, None), _MORE)
)
