"""DLPack capsules of memory that the host cannot address: written and read field by field.

The consumer of a capsule calls its deleter when it no longer needs the memory; an unused capsule
calls it itself. Either happens once. What may live here: the capsules. What may not: tensors,
streams, or memory itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adjoint.errors import DTypeError
from adjoint.ir.dtype import DType, dtypes
from adjoint.tensor.dlpack import CODES, DLTensor, DLType, Versioned

VERSION = (1, 0)
_NAMES = {True: b"dltensor_versioned", False: b"dltensor"}
_USED = {True: b"used_dltensor_versioned", False: b"used_dltensor"}
_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}  # codes of the standard


def _stated(dtype: DType) -> tuple[int, int]:
    """A dtype as its code and its bits."""
    return CODES.get(dtype, _KINDS[dtype.kind]), 8 * dtype.itemsize


_DTYPES = {_stated(dtype): dtype for dtype in dtypes.all}


class Managed(ctypes.Structure):
    """A capsule's contents before version 1.0."""

    _fields_ = (
        ("tensor", DLTensor),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


_STRUCTURES: dict[bool, Any] = {True: Versioned, False: Managed}

# ---- Python's capsules; addresses where one is about to be gone

_api = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", _api)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _api)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api)
)
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_SetName", _api)
)
_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


def _find(capsule: int) -> tuple[bool, int] | None:
    """Whether a capsule that was not used is versioned, and where its contents are."""
    for versioned, name in _NAMES.items():
        if _is_valid(capsule, name):
            return versioned, _pointer(capsule, name)
    return None


# ---- out


@dataclass(frozen=True, slots=True)
class Lent:
    """Memory for others: its address, and the function to call when they are done."""

    address: int
    dtype: DType
    shape: tuple[int, ...]
    device: tuple[int, int]  # a kind of the standard, and a number
    drop: Callable[[], Any]


_living: dict[int, tuple[Any, ...]] = {}  # what capsules and their takers refer to, by address


@_Deleter
def _delete(address: int) -> None:
    """A taker, or a capsule that was not taken, is ready."""
    _, _, lent = _living.pop(address)
    lent.drop()


@_Destructor
def _destroy(capsule: int) -> None:
    """The destructor of a capsule: releases its contents if no consumer took them."""
    found = _find(capsule)
    if found is not None:
        _delete(found[1])


for _kept in (_delete, _destroy):  # takers call them even when this module is gone
    _api.Py_IncRef(ctypes.py_object(_kept))


def capsule(lent: Lent, versioned: bool) -> Any:
    """A capsule of row-major memory."""
    rank = len(lent.shape)
    sizes = (ctypes.c_int64 * max(rank, 1))(*lent.shape)
    steps = (ctypes.c_int64 * max(rank, 1))(*row_major(lent.shape))
    made = _STRUCTURES[versioned]()
    if versioned:
        made.version[:] = VERSION
    made.deleter = ctypes.cast(_delete, ctypes.c_void_p)
    code, bits = _stated(lent.dtype)
    where = (ctypes.cast(sizes, ctypes.c_void_p), ctypes.cast(steps, ctypes.c_void_p))
    made.tensor = DLTensor(lent.address, *lent.device, rank, DLType(code, bits, 1), *where, 0)
    address = ctypes.addressof(made)
    _living[address] = made, (sizes, steps), lent
    return _new(address, _NAMES[versioned], ctypes.cast(_destroy, ctypes.c_void_p))


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The distance of neighbours along each axis, in elements."""
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= size
    return tuple(reversed(steps))


# ---- in


@dataclass(frozen=True, slots=True)
class Foreign:
    """Memory of another library: `strides` count elements; `release` says that it is not needed."""

    address: int
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: tuple[int, int]
    release: Callable[[], Any]

    @property
    def is_row_major(self) -> bool:
        """Whether the elements are contiguous in row-major order."""
        steps = zip(self.shape, self.strides, row_major(self.shape), strict=True)
        return 0 in self.shape or all(n == 1 or own == whole for n, own, whole in steps)


def taken(given: Any) -> Foreign:
    """The contents of a capsule, which this library must release from now on."""
    found = _find(id(given))
    if found is None:
        raise BufferError("from_dlpack: the capsule was used before")
    versioned, address = found
    held = _STRUCTURES[versioned].from_address(address)
    dtype = _dtype_of(held.tensor.dtype)
    _rename(id(given), _USED[versioned])
    delete = _Deleter(held.deleter) if held.deleter else lambda _: None
    tensor, rank = held.tensor, held.tensor.ndim
    shape = tuple((ctypes.c_int64 * rank).from_address(tensor.shape)) if rank else ()
    steps = tuple((ctypes.c_int64 * rank).from_address(tensor.strides)) if tensor.strides else None
    where = (tensor.data or 0) + tensor.byte_offset
    strides = row_major(shape) if steps is None else _signed(steps, dtype.itemsize)
    device = (tensor.device_type, tensor.device_id)
    return Foreign(where, dtype, shape, strides, device, lambda: delete(address))


def _signed(steps: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides as the numbers that they are: CuPy divides those that count bytes backwards as if
    they had no sign."""
    counted = (step * itemsize % _WHOLE for step in steps)
    return tuple((n - _WHOLE if 2 * n >= _WHOLE else n) // itemsize for n in counted)


_WHOLE = 1 << 64


def _dtype_of(stated: DLType) -> DType:
    found = _DTYPES.get((stated.code, stated.bits)) if stated.lanes == 1 else None
    if found is None:
        problem = f"no dtype is code {stated.code} with {stated.bits} bits, {stated.lanes} lanes"
        fix = "cast it first, where it comes from"
        raise DTypeError("E2001", problem, op="from_dlpack", help=fix)
    return found
