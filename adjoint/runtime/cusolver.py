"""cuSOLVER, NVIDIA's library of linear algebra, and the triangular systems of cuBLAS, by their C
interfaces.

Matrices are column-major. What may live here: calls on addresses. What may not: which matrices they
get, and where these are.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_byte, c_int, c_int64, c_size_t, c_uint64, c_void_p
from functools import lru_cache
from typing import Any, NamedTuple

from adjoint.runtime.nvidia import NvidiaLibrary

_P, _I, _L, _A, _S = c_void_p, c_int, c_int64, c_uint64, c_size_t
_SIZES = (POINTER(c_size_t), POINTER(c_size_t))
_ROOM = (_A, _S, _P, _S, _A)  # on the GPU, on the host, and where the library says what failed
_POTRF = (_P, _P, _I, _L, _I, _A, _L, _I)
_GETRF = (_P, _P, _L, _L, _I, _A, _L)
_GEQRF = (_P, _P, _L, _L, _I, _A, _L, _I, _A, _I)
_SYEVD = (_P, _P, _I, _I, _L, _I, _A, _L, _I, _A, _I)
_GESVD = (_P, _P, c_byte, c_byte, _L, _L, _I, _A, _L, _I, _A, _I, _A, _L, _I, _A, _L, _I)
_ORGQR = (_P, _I, _I, _I, _A, _I, _A)
_ORGQRS = {"S": "Sorgqr", "D": "Dorgqr", "C": "Cungqr", "Z": "Zungqr"}
CUSOLVER = NvidiaLibrary(
    "cuSOLVER",
    ("libcusolver.so.12", "libcusolver.so.11", "cusolver64_12.dll", "cusolver64_11.dll"),
    {
        "cusolverDnCreate": (POINTER(_P),),
        "cusolverDnCreateParams": (POINTER(_P),),
        "cusolverDnSetStream": (_P, _P),
        "cusolverDnXpotrf_bufferSize": (*_POTRF, *_SIZES),
        "cusolverDnXpotrf": (*_POTRF, *_ROOM),
        "cusolverDnXgetrf_bufferSize": (*_GETRF, _I, *_SIZES),
        "cusolverDnXgetrf": (*_GETRF, _A, _I, *_ROOM),
        "cusolverDnXgetrs": (_P, _P, _I, _L, _L, _I, _A, _L, _A, _I, _A, _L, _A),
        "cusolverDnXgeqrf_bufferSize": (*_GEQRF, *_SIZES),
        "cusolverDnXgeqrf": (*_GEQRF, *_ROOM),
        "cusolverDnXsyevd_bufferSize": (*_SYEVD, *_SIZES),
        "cusolverDnXsyevd": (*_SYEVD, *_ROOM),
        "cusolverDnXgesvd_bufferSize": (*_GESVD, *_SIZES),
        "cusolverDnXgesvd": (*_GESVD, *_ROOM),
        **{f"cusolverDn{n}_bufferSize": (*_ORGQR, POINTER(_I)) for n in _ORGQRS.values()},
        **{f"cusolverDn{n}": (*_ORGQR, _A, _I, _A) for n in _ORGQRS.values()},
    },
)
_TRSM = (_P, _I, _I, _I, _I, _I, _I, _P, _A, _I, _A, _I)
CUBLAS = NvidiaLibrary(
    "cuBLAS",
    ("libcublas.so.13", "libcublas.so.12", "cublas64_13.dll", "cublas64_12.dll"),
    {
        "cublasCreate_v2": (POINTER(_P),),
        "cublasSetStream_v2": (_P, _P),
        **{f"cublas{letter}trsm_v2": _TRSM for letter in "SDCZ"},
    },
)
DTYPES = ("float32", "float64")
_LOWER, _UPPER, _PLAIN, _TRANSPOSED, _VECTORS = 0, 1, 0, 1, 1
_LEFT, _RIGHT = 0, 1
_SOME = ord("S")  # of the singular vectors: as many as there are values
PIVOT_BYTES = 8
# The letter of a dtype, its number, and that of its real part.
_KINDS = {
    "float32": ("S", 0, 0),
    "float64": ("D", 1, 1),
    "complex64": ("C", 4, 0),
    "complex128": ("Z", 5, 1),
}


def is_installed() -> bool:
    """Whether both libraries are there."""
    return CUSOLVER.loaded is not None and CUBLAS.loaded is not None


@lru_cache(maxsize=1)
def _handles() -> tuple[c_void_p, c_void_p, c_void_p]:
    solver = CUSOLVER.made("cusolverDnCreate")
    return solver, CUSOLVER.made("cusolverDnCreateParams"), CUBLAS.made("cublasCreate_v2")


class Room(NamedTuple):
    """Memory that a call needs: bytes of the GPU's, and the host's."""

    device: int
    host: Any


class Solver:
    """Calls for matrices of one dtype, on a stream; `info` is where each says whether it failed."""

    def __init__(self, dtype: str, stream: c_void_p):
        self._letter, self._kind, self._real = _KINDS[dtype]
        self._stream = stream

    def enter(self) -> None:
        """What is called from now on goes to the stream."""
        solver, _, blas = _handles()
        CUSOLVER.call("cusolverDnSetStream", solver, self._stream)
        CUBLAS.call("cublasSetStream_v2", blas, self._stream)

    # ---- what a call needs: the same arguments, without the matrix

    def cholesky(self, n: int, a: int) -> tuple[str, tuple[Any, ...]]:
        """L Lᴴ = a, in the lower triangle of columns: the other one takes twice as long."""
        return "Xpotrf", (_LOWER, n, self._kind, a, n, self._kind)

    def eigh(self, n: int, a: int, values: int) -> tuple[str, tuple[Any, ...]]:
        """Values, and vectors in the place of a."""
        kinds = (self._kind, a, n, self._real, values, self._kind)
        return "Xsyevd", (_VECTORS, _LOWER, n, *kinds)

    def qr(self, m: int, n: int, a: int, factors: int) -> tuple[str, tuple[Any, ...]]:
        """R and reflectors in the place of a, which has m rows."""
        return "Xgeqrf", (m, n, self._kind, a, m, self._kind, factors, self._kind)

    def svd(self, m: int, n: int, a: int, s: int, u: int, vt: int) -> tuple[str, tuple[Any, ...]]:
        """Singular values and vectors of an m × n matrix, m ≥ n, which is lost."""
        kind = self._kind
        vectors = (kind, u, m, kind, vt, n, kind)
        return "Xgesvd", (_SOME, _SOME, m, n, kind, a, m, self._real, s, *vectors)

    def room(self, call: tuple[str, tuple[Any, ...]]) -> Room:
        """The memory for a call."""
        name, arguments = call
        solver, params, _ = _handles()
        device, host = c_size_t(), c_size_t()
        sizes = byref(device), byref(host)
        CUSOLVER.call(f"cusolverDn{name}_bufferSize", solver, params, *arguments, *sizes)
        return Room(device.value, ctypes.create_string_buffer(max(host.value, 1)))

    def run(self, call: tuple[str, tuple[Any, ...]], room: Room, at: int, info: int) -> None:
        """Launch a call."""
        name, arguments = call
        solver, params, _ = _handles()
        memory = (at, room.device, ctypes.cast(room.host, c_void_p), len(room.host), info)
        CUSOLVER.call(f"cusolverDn{name}", solver, params, *arguments, *memory)

    # ---- systems of equations

    def lu_room(self, n: int) -> Room:
        """The memory for an LU factorisation."""
        return self.room(("Xgetrf", (n, n, self._kind, 0, n, self._kind)))

    def lu(self, n: int, a: int, pivots: int, room: Room, at: int, info: int) -> None:
        """LU factors in the place of a."""
        self.run(("Xgetrf", (n, n, self._kind, a, n, pivots, self._kind)), room, at, info)

    def lu_solve(self, n: int, columns: int, a: int, pivots: int, b: int, info: int) -> None:
        """The x with aᵀ x = b, in the place of b."""
        solver, params, _ = _handles()
        sides = (self._kind, a, n, pivots, self._kind, b, n, info)
        CUSOLVER.call("cusolverDnXgetrs", solver, params, _TRANSPOSED, n, columns, *sides)

    def triangular(self, how: Sequence[bool], sizes: tuple[int, int], a: int, b: int) -> None:
        """The x with a x = b, or x a = b, in the place of b, for rows as columns: `how` says
        whether a is upper, left of x, and has ones on its diagonal; `sizes` are those of b."""
        upper, left, unit = how
        rows, columns = sizes
        size = rows if left else columns
        side, triangle = (_RIGHT if left else _LEFT), (_LOWER if upper else _UPPER)
        number = ctypes.c_double if self._real else ctypes.c_float
        one = (number * 2)(1.0, 0.0)  # complex, or its real part
        turned = (side, triangle, _PLAIN, int(unit), columns, rows, ctypes.cast(one, c_void_p))
        call = f"cublas{self._letter}trsm_v2"
        CUBLAS.call(call, _handles()[2], *turned, a, size, b, columns)

    # ---- Q of reflectors

    def reflectors_room(self, m: int, k: int) -> int:
        """The elements of memory for Q."""
        count = c_int()
        name = f"cusolverDn{_ORGQRS[self._letter]}_bufferSize"
        CUSOLVER.call(name, _handles()[0], m, k, k, 0, m, 0, byref(count))
        return count.value

    def reflectors(
        self, sizes: tuple[int, int], a: int, factors: int, work: tuple[int, int], info: int
    ) -> None:
        """Q in the place of the reflectors that make it: m rows, k columns."""
        m, k = sizes
        name = f"cusolverDn{_ORGQRS[self._letter]}"
        CUSOLVER.call(name, _handles()[0], m, k, k, a, m, factors, *work, info)
