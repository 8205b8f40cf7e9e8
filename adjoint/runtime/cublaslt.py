"""NVIDIA's library of matrix products, by its C interface.

It is found beside the Python package that ships it (`nvidia-cublas`, which torch installs too), or
where the system keeps libraries. What may live here: its calls. What may not: which products it is
given.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Callable, Iterator
from ctypes import (
    POINTER,
    byref,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from adjoint.errors import InternalError

_NAMES = ("libcublasLt.so.13", "libcublasLt.so.12", "cublasLt64_13.dll", "cublasLt64_12.dll")
_H = POINTER(c_void_p)
_CALLS: dict[str, tuple[Any, ...]] = {
    "cublasLtCreate": (_H,),
    "cublasLtMatmulDescCreate": (_H, c_int, c_int),
    "cublasLtMatmulDescSetAttribute": (c_void_p, c_int, c_void_p, c_size_t),
    "cublasLtMatrixLayoutCreate": (_H, c_int, c_uint64, c_uint64, c_int64),
    "cublasLtMatrixLayoutSetAttribute": (c_void_p, c_int, c_void_p, c_size_t),
    "cublasLtMatmulPreferenceCreate": (_H,),
    "cublasLtMatmulPreferenceSetAttribute": (c_void_p, c_int, c_void_p, c_size_t),
    "cublasLtMatmulAlgoGetHeuristic": (*([c_void_p] * 7), c_int, c_void_p, POINTER(c_int)),
    "cublasLtMatmul": (
        *(c_void_p, c_void_p, c_void_p, c_uint64, c_void_p, c_uint64, c_void_p, c_void_p),
        *(c_uint64, c_void_p, c_uint64, c_void_p, c_void_p, c_uint64, c_size_t, c_void_p),
    ),
}
_TRANSPOSED = (3, 4)  # attributes of a product: its operands
_BATCH, _BATCH_STEP = 5, 6  # attributes of a matrix
_WORKSPACE, _REDUCTIONS = 1, 3  # attributes of a preference
_IN_ORDER = 6  # sums of parts that have an order: the same bits from run to run
_FLOAT, _DOUBLE = 0, 1
# Type of the elements, kind of computation, type of the factors, by dtype.
_KINDS = {
    "float32": (_FLOAT, 68, _FLOAT),
    "float64": (_DOUBLE, 70, _DOUBLE),
    "float16": (2, 68, _FLOAT),
    "bfloat16": (14, 68, _FLOAT),
}
DTYPES = tuple(_KINDS)
WORKSPACE = 32 << 20  # bytes that a product may use


class _Algorithm(ctypes.Structure):
    """What the library says of the way it would take."""

    _fields_ = (
        ("data", c_uint64 * 8),
        ("workspace", c_size_t),
        ("state", c_int),
        ("waves", c_float),
        ("reserved", c_int * 4),
    )


class Matrix(NamedTuple):
    """A matrix whose columns lie one after another, `lead` elements apart; `turned`: it is used as
    the transposed one. `step`: from matrix to matrix of a batch."""

    rows: int
    columns: int
    lead: int
    step: int
    turned: bool = False


def _folders() -> Iterator[Path]:
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield from Path(place).glob("*/lib")
        yield from Path(place).glob("*/bin")


@lru_cache(maxsize=1)
def library() -> Any:
    """The library; None if it is not installed."""
    found = [folder / name for name in _NAMES for folder in _folders()]
    for name in (*(str(path) for path in found if path.exists()), *_NAMES):
        try:
            loaded = ctypes.CDLL(name)
        except OSError:
            continue
        for call, types in _CALLS.items():
            getattr(loaded, call).argtypes = types
        return loaded
    return None


def _ok(call: str, *arguments: Any) -> None:
    code = getattr(library(), call)(*arguments)
    if code:
        raise InternalError(f"{call} failed (status {code})")


def _made(call: str, *arguments: Any) -> c_void_p:
    found = c_void_p()
    _ok(call, byref(found), *arguments)
    return found


def _set(call: str, thing: c_void_p, attribute: int, value: Any) -> None:
    _ok(call, thing, attribute, byref(value), ctypes.sizeof(value))


@lru_cache(maxsize=1)
def _handle() -> c_void_p:
    return _made("cublasLtCreate")


@lru_cache(maxsize=1)
def _preference() -> c_void_p:
    found = _made("cublasLtMatmulPreferenceCreate")
    call = "cublasLtMatmulPreferenceSetAttribute"
    _set(call, found, _WORKSPACE, c_size_t(WORKSPACE))
    _set(call, found, _REDUCTIONS, c_uint32(_IN_ORDER))
    return found


class Product:
    """out = a @ b for matrices of a dtype, all of a batch; made once, run again and again."""

    def __init__(self, dtype: str, batch: int, a: Matrix, b: Matrix, out: Matrix):
        kind, computes, scale = _KINDS[dtype]
        self._product = _made("cublasLtMatmulDescCreate", computes, scale)
        for attribute, operand in zip(_TRANSPOSED, (a, b), strict=True):
            turned = c_int32(int(operand.turned))
            _set("cublasLtMatmulDescSetAttribute", self._product, attribute, turned)
        self._layouts = [_layout(kind, batch, matrix) for matrix in (a, b, out)]
        number = ctypes.c_double if scale == _DOUBLE else c_float
        self._one, self._zero = number(1.0), number(0.0)
        self._algorithm = self._chosen()

    def _chosen(self) -> _Algorithm:
        found, count = _Algorithm(), c_int()
        a, b, out = self._layouts
        arguments = (_handle(), self._product, a, b, out, out, _preference(), 1)
        _ok("cublasLtMatmulAlgoGetHeuristic", *arguments, byref(found), byref(count))
        if not count.value:
            raise InternalError("cuBLASLt knows no way to compute the product")
        return found

    def launcher(self, workspace: int, stream: Any) -> Callable[[int, int, int], None]:
        """What launches it on a stream, given the addresses of its result and operands."""
        (one, two, three), algorithm = self._layouts, self._algorithm
        left, right, result = c_uint64(), c_uint64(), c_uint64()
        factors = byref(self._one), byref(self._zero)
        operands = (factors[0], left, one, right, two, factors[1], result, three, result, three)
        room = (c_uint64(workspace), c_size_t(min(algorithm.workspace, WORKSPACE)))
        arguments = (_handle(), self._product, *operands, byref(algorithm), *room, stream)

        def launch(out: int, a: int, b: int) -> None:
            result.value, left.value, right.value = out, a, b
            _ok("cublasLtMatmul", *arguments)

        return launch


def _layout(kind: int, batch: int, matrix: Matrix) -> c_void_p:
    shape = (matrix.rows, matrix.columns, matrix.lead)
    found = _made("cublasLtMatrixLayoutCreate", kind, *shape)
    call = "cublasLtMatrixLayoutSetAttribute"
    _set(call, found, _BATCH, c_int32(batch))
    _set(call, found, _BATCH_STEP, c_int64(matrix.step))
    return found
