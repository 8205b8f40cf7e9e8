"""cuBLASLt without a GPU: the same calls by NumPy, over memory of the host.

Layouts, leading dimensions, transposes, batches, factors and epilogues are read from the
attributes that were set, as the library reads them; products are added up in float64 and rounded
once. What the library refuses is refused here too.
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from functools import partial
from itertools import count

import ml_dtypes
import numpy as np

from adjoint.backends import cuda
from adjoint.backends.cuda import backend
from adjoint.runtime import cublaslt

_KINDS = {0: "f4", 1: "f8", 2: "f2", 3: "i1", 10: "i4", 14: ml_dtypes.bfloat16}
_NOT_SUPPORTED, _INVALID = 15, 7
_TURNED_A, _TURNED_B, _EPILOGUE, _BIAS = 3, 4, 7, 8
_BESIDE, _BESIDE_LEAD, _BESIDE_STEP = 11, 12, 13
_BATCH, _STEP, _ORDERS = 5, 6, 3
_RELU, _ADDS, _GELU, _GRADIENT, _KEPT = 2, 4, 32, 64, 128
_KNOWN = {1, _RELU, _ADDS, _RELU | _ADDS, _GELU, _GELU | _ADDS, _GELU | _KEPT}
_KNOWN |= {_GELU | _ADDS | _KEPT, _GRADIENT | _KEPT}


class FakeCublasLt:
    """The library's functions; `calls` are the epilogues of the products that were computed."""

    def __init__(self):
        self._things, self.calls, self.asked = {}, [], []
        self._numbers = count(1)

    def _new(self, place, **facts):
        number = next(self._numbers)
        self._things[number] = facts
        place._obj.value = number
        return 0

    def _set(self, thing, attribute, value, size):
        assert ctypes.sizeof(value._obj) == size
        self._things[thing.value][attribute] = value._obj.value
        return 0

    def cublasLtGetVersion(self):
        return 0

    def cublasLtCreate(self, place):
        return self._new(place)

    def cublasLtMatmulDescCreate(self, place, computes, scale):
        return self._new(place, computes=computes, scale=scale)

    def cublasLtMatrixLayoutCreate(self, place, kind, rows, columns, lead):
        return self._new(place, kind=kind, rows=rows, columns=columns, lead=lead)

    def cublasLtMatmulPreferenceCreate(self, place):
        return self._new(place)

    def _drop(self, thing):
        del self._things[thing.value]
        return 0

    def __getattr__(self, name):
        if name.endswith("SetAttribute"):
            return self._set
        if name.endswith("Destroy"):
            return self._drop
        raise AttributeError(name)

    def cublasLtMatmulAlgoGetHeuristic(self, handle, product, *rest):
        *layouts, preference, most, found, counted = rest
        facts, matrices = self._facts(product, layouts)
        self.asked.append(self._things[preference.value])
        if not self._takes(facts, matrices):
            return _NOT_SUPPORTED
        assert most >= 1
        found._obj[0].state, counted._obj.value = 0, 1
        return 0

    def _facts(self, product, layouts):
        return self._things[product.value], [self._things[layout.value] for layout in layouts]

    def _takes(self, facts, matrices):
        a, b, *_ = matrices
        fits = facts[_EPILOGUE] in _KNOWN and all(m["lead"] >= m["rows"] for m in matrices)
        if a["kind"] != 3:
            return fits
        turned = facts[_TURNED_A] and not facts[_TURNED_B]
        even = all(n % 4 == 0 for m in (a, b) for n in (m["rows"], m["lead"]))
        return bool(fits and turned and even)

    def cublasLtMatmul(self, handle, product, factor, *rest):
        left, a, right, b, other, third, c, result, out, *_ = rest
        facts, matrices = self._facts(product, (a, b, c, out))
        if not self._takes(facts, matrices):
            return _INVALID
        addresses = [place.value for place in (left, right, third, result)]
        work = partial(self._compute, dict(facts), matrices, addresses)
        cuda.BACKEND.gpu._do("library", work, factor._obj.value, other._obj.value)
        return 0

    def _compute(self, facts, matrices, addresses, factor, other):
        (a, b, c, out), (left, right, third, result) = matrices, addresses
        x, y = _seen(left, a, facts[_TURNED_A]), _seen(right, b, facts[_TURNED_B])
        wide = np.int64 if a["kind"] == 3 else np.float64
        found = factor * np.matmul(_rounded(x, facts), _rounded(y, facts), dtype=wide)
        if other:
            found = found + other * _seen(third, c, False).astype(wide)
        _seen(result, out, False)[...] = self._finished(found, facts, out)
        self.calls.append(facts[_EPILOGUE])

    def _finished(self, found, facts, out):
        steps = facts[_EPILOGUE]
        if steps & _ADDS:
            size = out["rows"]
            vector = _array(facts[_BIAS], out["kind"], (size,), (1,)).astype(np.float64)
            found = found + vector[:, None]
        if steps & _KEPT:
            lies = {"lead": facts[_BESIDE_LEAD], _STEP: facts[_BESIDE_STEP]}
            beside = _seen(facts[_BESIDE], out | lies, False)
            if steps & _GRADIENT:
                return found * gelu_gradient(beside.astype(np.float64))
            beside[...] = found
        if steps & _RELU:
            found = np.where(found < 0, 0.0, found)
        return gelu(found) if steps & _GELU else found


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def gelu_gradient(x):
    t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    inner = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x * x)
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner


def _rounded(x, facts):
    """Operands as they are multiplied: tf32 has 10 bits behind the point."""
    wide = x.astype(np.int64 if x.dtype == np.int8 else np.float64)
    if facts["computes"] != 77:
        return wide
    mantissa, exponent = np.frexp(wide)
    return np.ldexp(np.round(mantissa * 2**11) / 2**11, exponent)


def _seen(address, matrix, turned):
    """A batch of matrices in memory, each as it is used."""
    shape = (matrix.get(_BATCH, 1), matrix["columns"], matrix["rows"])
    strides = (matrix.get(_STEP, 0), matrix["lead"], 1)
    found = _array(address, matrix["kind"], shape, strides)
    return found if turned else found.transpose(0, 2, 1)


def _array(address, kind, shape, strides):
    dtype = np.dtype(_KINDS[kind])
    extent = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    assert address % 16 == 0 or extent == 1 or address % dtype.itemsize == 0
    memory = (ctypes.c_uint8 * (extent * dtype.itemsize)).from_address(address)
    flat = np.frombuffer(memory, dtype)
    steps = [s * dtype.itemsize for s in strides]
    return np.lib.stride_tricks.as_strided(flat, shape, steps)


@contextmanager
def fake_cublaslt():
    """Products on GPU are computed by a fake library."""
    made = FakeCublasLt()
    before = cublaslt.library, backend.library
    cublaslt.library = backend.library = lambda: made
    kept = (cublaslt._handle, cublaslt._preference, cublaslt.candidates)
    for function in kept:
        function.cache_clear()
    try:
        yield made
    finally:
        cublaslt.library, backend.library = before
        for function in kept:
            function.cache_clear()
