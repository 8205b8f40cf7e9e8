"""cuSOLVER, and cuBLAS's triangular systems, without a GPU: the same C functions by NumPy.

Matrices lie column by column, at addresses of the host; triangles that a factorisation does not
make keep what was there, and what it may spoil is spoilt.
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from itertools import count

import numpy as np

from adjoint.runtime import cusolver
from tests.support.fake_cudnn import installed

_TYPES = {0: "f4", 1: "f8", 4: "c8", 5: "c16", "S": "f4", "D": "f8", "C": "c8", "Z": "c16"}


def _matrix(address, kind, rows, columns):
    """The memory of a matrix, its columns one after another."""
    dtype = np.dtype(_TYPES[kind])
    size = rows * columns * dtype.itemsize
    flat = np.frombuffer((ctypes.c_char * size).from_address(address), dtype)
    return flat.reshape(columns, rows).T


def _say(address, number):
    ctypes.c_int32.from_address(address).value = number


class FakeCusolver:
    """`calls` are the names of what was run."""

    def __init__(self):
        self.calls, self._numbers, self.streams = [], count(1), {}

    def _made(self, place):
        place._obj.value = next(self._numbers)
        return 0

    def _stream(self, handle, stream):
        self.streams[handle.value] = stream.value
        return 0

    def __getattr__(self, name):
        if "Create" in name:
            return self._made
        if "SetStream" in name:
            return self._stream
        if name.endswith("gqr_bufferSize"):
            return self._elements
        if name.endswith("_bufferSize"):
            return self._sizes
        if name.endswith("gqr"):
            return lambda *given: self._reflectors(name[10], *given)
        if name.endswith("trsm_v2"):
            return lambda *given: self._triangular(name[6], *given)
        raise AttributeError(name)

    def _sizes(self, handle, *rest):
        rest[-2]._obj.value, rest[-1]._obj.value = 512, 0
        return 0

    def _elements(self, handle, m, n, k, a, lead, factors, found):
        found._obj.value = m
        return 0

    def _began(self, name, handle):
        assert self.streams[handle.value]
        self.calls.append(name)

    def cusolverDnXpotrf(self, handle, params, upper, n, kind, a, lead, *rest):
        self._began("potrf", handle)
        assert (upper, lead) == (0, n)
        matrix = _matrix(a, kind, n, n)
        whole = np.tril(matrix) + np.conj(np.tril(matrix, -1)).T
        try:
            factor = np.linalg.cholesky(whole)
        except np.linalg.LinAlgError:
            _say(rest[-1], 1)
            return 0
        matrix[np.tril_indices(n)] = factor[np.tril_indices(n)]
        return 0

    def cusolverDnXgetrf(self, handle, params, m, n, kind, a, lead, pivots, *rest):
        """The matrix is kept as it is; the next call solves with it."""
        self._began("getrf", handle)
        if np.linalg.matrix_rank(_matrix(a, kind, n, n)) < n:
            _say(rest[-1], n)
        return 0

    def cusolverDnXgetrs(self, handle, params, turned, n, columns, kind, a, *rest):
        lead, _, _, b, lead_b, _ = rest
        assert (turned, lead, lead_b) == (1, n, n)
        right = _matrix(b, kind, n, columns)
        matrix = _matrix(a, kind, n, n)
        if np.linalg.matrix_rank(matrix) == n:
            right[...] = np.linalg.solve(matrix.T, right)
        return 0

    def cusolverDnXgeqrf(self, handle, params, m, n, kind, a, lead, *rest):
        """The reflectors are Q itself here, left of R; factors are not read."""
        self._began("geqrf", handle)
        matrix = _matrix(a, kind, m, n)
        self._q, r = np.linalg.qr(matrix)
        k = min(m, n)
        matrix[...] = np.nan
        matrix[np.triu_indices(k, m=n)] = r[np.triu_indices(k, m=n)]
        return 0

    def _reflectors(self, kind, handle, m, n, k, a, *rest):
        assert n == k
        _matrix(a, kind, m, k)[...] = self._q
        return 0

    def cusolverDnXsyevd(self, handle, params, vectors, upper, n, kind, a, lead, real, w, *rest):
        self._began("syevd", handle)
        matrix = _matrix(a, kind, n, n)
        found = np.linalg.eigh(matrix)
        _matrix(w, real, n, 1)[:, 0] = found[0]
        matrix[...] = found[1]
        return 0

    def cusolverDnXgesvd(self, handle, params, first, second, m, n, kind, a, *rest):
        self._began("gesvd", handle)
        lead, real, s, _, u, lead_u, _, vt, lead_v, _ = rest[:10]
        assert m >= n
        assert (lead, lead_u, lead_v) == (m, m, n)
        matrix = _matrix(a, kind, m, n)
        parts = np.linalg.svd(matrix, full_matrices=False)
        for address, part, (rows, columns), k in zip(
            (u, s, vt), parts, ((m, n), (n, 1), (n, n)), (kind, real, kind), strict=True
        ):
            _matrix(address, k, rows, columns)[...] = part.reshape(rows, columns)
        matrix[...] = np.nan
        return 0

    def _triangular(self, kind, handle, *given):
        side, upper, turned, unit, m, n, _, a, lead, b, lead_b = given
        self._began("trsm", handle)
        size = n if side else m
        assert (turned, lead, lead_b) == (0, size, m)
        matrix = (
            np.triu(_matrix(a, kind, size, size))
            if upper
            else np.tril(_matrix(a, kind, size, size))
        )
        if unit:
            np.fill_diagonal(matrix, 1)
        right = _matrix(b, kind, m, n)
        right[...] = (
            np.linalg.solve(matrix.T, right.T).T if side else np.linalg.solve(matrix, right)
        )
        return 0


@contextmanager
def fake_cusolver():
    """Both libraries are installed, as one fake."""
    fake = FakeCusolver()
    with installed(cusolver.CUSOLVER, fake), installed(cusolver.CUBLAS, fake):
        cusolver._handles.cache_clear()
        try:
            yield fake
        finally:
            cusolver._handles.cache_clear()
