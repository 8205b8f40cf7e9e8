"""DLPack capsules of NumPy arrays, with the floats that NumPy cannot name there.

A bfloat16 array is exported as uint16 and its capsule says bfloat16 afterwards, one of an 8-bit
float as uint8; an imported capsule the other way round. What may live here: that. What may not:
tensors.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from adjoint.ir.dtype import DType, as_dtype, dtypes, is_foreign, raw_bits

Array = np.ndarray[Any, Any]
_UINT = 1  # codes of the standard
_CODES = {dtypes.bfloat16: 4, dtypes.float8_e4m3fn: 10, dtypes.float8_e5m2: 12}
_NAMED = {(code, dtype.bits): dtype for dtype, code in _CODES.items()}


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_valid: Any = ctypes.pythonapi.PyCapsule_IsValid
_valid.argtypes, _valid.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int
_pointer: Any = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
_KINDS: dict[bytes, Any] = {b"dltensor_versioned": _Versioned, b"dltensor": _Tensor}


def _type_in(capsule: Any) -> _Type | None:
    """The dtype that a capsule states, to be read or changed; None if it was used before."""
    for name, kind in _KINDS.items():
        if _valid(capsule, name):
            found = kind.from_address(_pointer(capsule, name))
            tensor: Any = found.tensor if kind is _Versioned else found
            return tensor.dtype
    return None


def capsule_of(array: Array, **named: Any) -> Any:
    """The array's capsule. NumPy's versions differ in how they refuse another device."""
    device = named.get("dl_device")
    if device is not None and tuple(map(int, device)) != (1, 0):
        raise BufferError(f"a tensor in the memory of the host is not lent to device {device}")
    if not is_foreign(array.dtype):
        return array.__dlpack__(**named)
    capsule = raw_bits(array).__dlpack__(**named)
    stated = _type_in(capsule)
    assert stated is not None
    stated.code = _CODES[as_dtype(array.dtype)]
    return capsule


def array_from(source: Any) -> Array:
    """The array of another library's object, sharing its memory."""
    given = _Given(source)
    array = np.from_dlpack(given)
    return array if given.foreign is None else array.view(given.foreign.np)


class _Given:
    """The other object, as NumPy can read it."""

    def __init__(self, source: Any):
        self.source = source
        self.foreign: DType | None = None

    def __dlpack_device__(self) -> Any:
        return self.source.__dlpack_device__()

    def __dlpack__(self, **named: Any) -> Any:
        try:
            capsule = self.source.__dlpack__(**named)
        except TypeError:  # an exporter from before versions
            capsule = self.source.__dlpack__()
        stated = _type_in(capsule)
        if stated is not None and (stated.code, stated.bits) in _NAMED:
            self.foreign = _NAMED[stated.code, stated.bits]
            stated.code = _UINT
        return capsule
