"""cuBLASLt, NVIDIA's library of matrix products, by its C interface.

It is found beside the Python package that ships it (`nvidia-cublas`, which torch installs too), or
where the system keeps libraries. What may live here: its calls and its constants. What may not:
which products it gets.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import (
    POINTER,
    byref,
    c_double,
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
from typing import Any, NamedTuple
from weakref import finalize

from adjoint.errors import InternalError
from adjoint.runtime.nvidia import folders

_NAMES = ("libcublasLt.so.13", "libcublasLt.so.12", "cublasLt64_13.dll", "cublasLt64_12.dll")
_H = POINTER(c_void_p)
_CALLS: dict[str, tuple[Any, ...]] = {
    "cublasLtCreate": (_H,),
    "cublasLtMatmulDescCreate": (_H, c_int, c_int),
    "cublasLtMatmulDescSetAttribute": (c_void_p, c_int, c_void_p, c_size_t),
    "cublasLtMatmulDescDestroy": (c_void_p,),
    "cublasLtMatrixLayoutCreate": (_H, c_int, c_uint64, c_uint64, c_int64),
    "cublasLtMatrixLayoutSetAttribute": (c_void_p, c_int, c_void_p, c_size_t),
    "cublasLtMatrixLayoutDestroy": (c_void_p,),
    "cublasLtMatmulPreferenceCreate": (_H,),
    "cublasLtMatmulPreferenceSetAttribute": (c_void_p, c_int, c_void_p, c_size_t),
    "cublasLtMatmulAlgoGetHeuristic": (*([c_void_p] * 7), c_int, c_void_p, POINTER(c_int)),
    "cublasLtMatmul": (
        *(c_void_p, c_void_p, c_void_p, c_uint64, c_void_p, c_uint64, c_void_p, c_void_p),
        *(c_uint64, c_void_p, c_uint64, c_void_p, c_void_p, c_uint64, c_size_t, c_void_p),
    ),
}
_TRANSPOSED = (3, 4)  # attributes of a product: its operands,
_EPILOGUE, _BIAS = 7, 8  # what is done to its elements, the vector that is added,
_BESIDE, _BESIDE_LEAD, _BESIDE_STEP = 11, 12, 13  # and a second matrix, read or written
_BATCH, _BATCH_STEP = 5, 6  # attributes of a matrix
_WORKSPACE, _REDUCTIONS, _ALIGNED = 1, 3, (5, 6, 7, 8)  # attributes of a preference
_IN_ORDER, _IN_ANY_ORDER = 6, 7  # sums of parts: only such as have an order, or others too
_FLOAT, _DOUBLE, _INT32, _TF32 = 0, 1, 10, 77
# Type of the elements, kind of computation, type of the factors, by dtype of the operands.
_KINDS = {
    "float32": (_FLOAT, 68, _FLOAT),
    "float64": (_DOUBLE, 70, _DOUBLE),
    "float16": (2, 68, _FLOAT),
    "bfloat16": (14, 68, _FLOAT),
    "int8": (3, 72, _INT32),
}
_RESULTS = {"int32": _INT32} | {name: row[0] for name, row in _KINDS.items()}
_NUMBERS: dict[int, Any] = {_FLOAT: c_float, _DOUBLE: c_double, _INT32: c_int32}
# What may be done to the elements of a product; several at once are the sum of their numbers.
_STEPS = {"relu": 2, "bias": 4, "gelu": 32, "gelu gradient": 192, "kept": 128}
_PLAIN = 1
WORKSPACE = 64 << 20  # bytes that a product may use
ALIGNED = 16  # bytes that every matrix begins at a multiple of
_CANDIDATES = 8  # ways to compute a product that are asked for


class Algorithm(ctypes.Structure):
    """What the library says of a way that it could take."""

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


class Product(NamedTuple):
    """out = steps(factor * a @ b + added) for matrices of a dtype, all of a batch."""

    dtype: str  # of the operands
    result: str  # of what is made
    batch: int
    a: Matrix
    b: Matrix
    out: Matrix
    steps: tuple[str, ...] = ()
    added: Matrix | None = None
    factor: float = 1.0
    tf32: bool = False  # operands of float32 may be rounded to 10 bits
    ordered: bool = True  # the same bits from run to run
    aligned: int = ALIGNED


@lru_cache(maxsize=1)
def library() -> Any:
    """The library; None if it is not installed."""
    found = [folder / name for name in _NAMES for folder in folders()]
    for name in (*(str(path) for path in found if path.exists()), *_NAMES):
        try:
            loaded = ctypes.CDLL(name)
        except OSError:
            continue
        for call, types in _CALLS.items():
            getattr(loaded, call).argtypes = types
        loaded.cublasLtGetVersion.restype = c_size_t
        return loaded
    return None


def version() -> int:
    """Of the library, which decides what it suggests."""
    return int(library().cublasLtGetVersion())


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


@lru_cache(maxsize=64)
def _preference(ordered: bool, aligned: int) -> c_void_p:
    found = _made("cublasLtMatmulPreferenceCreate")
    call = "cublasLtMatmulPreferenceSetAttribute"
    _set(call, found, _WORKSPACE, c_size_t(WORKSPACE))
    _set(call, found, _REDUCTIONS, c_uint32(_IN_ORDER if ordered else _IN_ANY_ORDER))
    for attribute in _ALIGNED:
        _set(call, found, attribute, c_uint32(aligned))
    return found


class _Made:
    """The library's own description of a product, one for each that is launched: the addresses of
    vectors and matrices beside it are a part of it."""

    def __init__(self, product: Product):
        kind, computes, self.scale = _KINDS[product.dtype]
        computes = _TF32 if product.tf32 and product.dtype == "float32" else computes
        self.product = _made("cublasLtMatmulDescCreate", computes, self.scale)
        for attribute, operand in zip(_TRANSPOSED, (product.a, product.b), strict=True):
            self.set(attribute, c_int32(int(operand.turned)))
        steps = sum(_STEPS[step] for step in product.steps)
        self.set(_EPILOGUE, c_uint32(steps or _PLAIN))
        if steps & _STEPS["kept"]:
            self.set(_BESIDE_LEAD, c_int64(product.out.lead))
            self.set(_BESIDE_STEP, c_int64(product.out.step))
        out = _RESULTS[product.result]
        layouts = [(kind, product.a), (kind, product.b)]
        layouts += [(out, product.added or product.out), (out, product.out)]
        self.layouts = [_layout(k, product.batch, matrix) for k, matrix in layouts]
        finalize(self, _drop, library(), self.product, self.layouts).atexit = False

    def set(self, attribute: int, value: Any) -> None:
        _set("cublasLtMatmulDescSetAttribute", self.product, attribute, value)


def _drop(loaded: Any, product: c_void_p, layouts: list[c_void_p]) -> None:
    loaded.cublasLtMatmulDescDestroy(product)
    for layout in layouts:
        loaded.cublasLtMatrixLayoutDestroy(layout)


def _layout(kind: int, batch: int, matrix: Matrix) -> c_void_p:
    shape = (matrix.rows, matrix.columns, matrix.lead)
    found = _made("cublasLtMatrixLayoutCreate", kind, *shape)
    call = "cublasLtMatrixLayoutSetAttribute"
    _set(call, found, _BATCH, c_int32(batch))
    _set(call, found, _BATCH_STEP, c_int64(matrix.step))
    return found


@lru_cache(maxsize=4096)
def candidates(product: Product) -> tuple[Algorithm, ...]:
    """Ways to compute a product, the one that the library likes best first; none, if it cannot."""
    made, count = _Made(product), c_int()
    for attribute in (_BIAS, _BESIDE):
        if attribute in _addresses(product):
            made.set(attribute, c_uint64(1 << 20))  # some address: only its alignment counts
    found = (Algorithm * _CANDIDATES)()
    preference = _preference(product.ordered, product.aligned)
    arguments = (_handle(), made.product, *made.layouts, preference, _CANDIDATES)
    call = library().cublasLtMatmulAlgoGetHeuristic
    if call(*arguments, byref(found), byref(count)):
        return ()
    return tuple(a for a in found[: count.value] if not a.state and a.workspace <= WORKSPACE)


def _addresses(product: Product) -> tuple[int, ...]:
    """The attributes that hold an address, in the order in which a launch is given them."""
    bits = sum(_STEPS[step] for step in product.steps)
    found = (_BIAS, _STEPS["bias"]), (_BESIDE, _STEPS["kept"])
    return tuple(attribute for attribute, bit in found if bits & bit)


Launch = Callable[..., None]  # of the addresses of result, operands, what is added, what is beside


def launcher(product: Product, algorithm: Algorithm, workspace: int, stream: Any) -> Launch:
    """What launches a product on a stream, again and again. Nothing is allocated, nothing waits."""
    made, attributes = _Made(product), _addresses(product)
    number = _NUMBERS[made.scale]
    one = number(int(product.factor) if number is c_int32 else product.factor)
    zero = number(1 if product.added else 0)
    left, right, third, result = (c_uint64() for _ in range(4))
    a, b, c, out = made.layouts
    operands = (byref(one), left, a, right, b, byref(zero), third, c, result, out)
    room = (c_uint64(workspace), c_size_t(algorithm.workspace))
    arguments = (_handle(), made.product, *operands, byref(algorithm), *room, stream)
    matmul, adds = library().cublasLtMatmul, product.added is not None
    known = dict.fromkeys(attributes, 0)

    def launch(target: int, first: int, second: int, *rest: int) -> None:
        result.value, left.value, right.value = target, first, second
        third.value = rest[0] if adds else target
        for attribute, address in zip(attributes, rest[adds:], strict=True):
            if known[attribute] != address:
                made.set(attribute, c_uint64(address))
                known[attribute] = address
        code = matmul(*arguments)
        if code:
            raise InternalError(f"cublasLtMatmul failed (status {code}) for {product}")

    return launch
