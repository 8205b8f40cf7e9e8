"""DLPack capsules of NumPy arrays, with the floats that NumPy cannot name there.

A bfloat16 array is exported as uint16 and its capsule says bfloat16 afterwards, one of an 8-bit
float as uint8; an imported capsule the other way round. What may live here: that, and where memory
is. What may not: tensors, or capsules of a device's memory (device_capsules.py).
"""

from __future__ import annotations

import ctypes
from importlib import import_module
from typing import Any

import numpy as np

from adjoint.ir.dtype import DType, as_dtype, dtypes, is_foreign, raw_bits
from adjoint.target import targets_of

Array = np.ndarray[Any, Any]
INTERFACE = "__cuda_array_interface__"
_HOST_KINDS = (1, 3, 13)  # of devices: the host's memory, pinned, managed
_UINT = 1  # codes of the standard
CODES = {dtypes.bfloat16: 4, dtypes.float8_e4m3fn: 10, dtypes.float8_e5m2: 12}
_NAMED = {(code, dtype.bits): dtype for dtype, code in CODES.items()}


class DLType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", DLType),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class Versioned(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    )


_valid: Any = ctypes.pythonapi.PyCapsule_IsValid
_valid.argtypes, _valid.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int
_pointer: Any = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
_KINDS: dict[bytes, Any] = {b"dltensor_versioned": Versioned, b"dltensor": DLTensor}


def _type_in(capsule: Any) -> DLType | None:
    """The dtype that a capsule states, to be read or changed; None if it was used before."""
    for name, kind in _KINDS.items():
        if _valid(capsule, name):
            found = kind.from_address(_pointer(capsule, name))
            tensor: Any = found.tensor if kind is Versioned else found
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
    stated.code = CODES[as_dtype(array.dtype)]
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


# ---- memory of devices


def loaded(name: str) -> Any:
    """A module of this package that is about memory of devices: when some is shared."""
    return import_module(f"adjoint.tensor.{name}")


def is_far(source: Any) -> bool:
    """Whether an object says that its values are where the host cannot address them."""
    asked = getattr(source, "__dlpack_device__", None)
    if asked is not None and not isinstance(source, type):
        return int(asked()[0]) not in _HOST_KINDS
    return hasattr(source, INTERFACE)


def device_of(device: Any) -> tuple[int, int] | None:
    """What the standard calls a device whose memory other libraries use; None for all others."""
    if not isinstance(device, str):
        return None
    kind = targets_of(device)[0].dlpack
    return None if kind is None else (kind, int(device.partition(":")[2] or 0))
