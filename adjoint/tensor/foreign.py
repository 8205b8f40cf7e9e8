"""Memory of other libraries on a device, as buffers: by DLPack, or by `__cuda_array_interface__`.

Memory that kernels can read in place is lent: it stays the other library's, and its writes are
visible. Strided memory, or memory at an address that kernels cannot read, is copied on the device.
What may live here: finding memory and describing it. What may not: giving it away (lending.py).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from adjoint.engine.graph_key import backend_name
from adjoint.engine.program_cache import load_backend
from adjoint.errors import ArgumentError, DeviceError, VerificationError
from adjoint.ir.dtype import as_dtype
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.runtime.buffer import Buffer, LentBuffer
from adjoint.runtime.memory import memory_of
from adjoint.target import TARGETS, canonical_device
from adjoint.tensor.device_capsules import VERSION, Foreign, row_major, taken
from adjoint.tensor.dlpack import INTERFACE
from adjoint.tensor.lift import lift

_CUDA = 2
_LEGACY = 1


def imported(source: Any, copy: bool | None = None) -> UOp:
    """The node of such an object: on its memory, or on a copy where that is asked for or needed."""
    found = _described(source)
    device = _device(found.device)
    sharing: Any = memory_of(device).sharing  # type: ignore[attr-defined]
    if 0 in found.shape:
        found.release()
        return OPS["buffer"](Buffer.empty(found.dtype, found.shape, device))
    size = found.dtype.itemsize * int(np.prod(found.shape, dtype=np.int64))
    block = sharing.adopted(found.address, found.release)
    if found.is_row_major and sharing.fits(found.address, size):
        lent = LentBuffer.over(block, found.dtype, found.shape, device)
        return OPS["buffer"](lent.apart() if copy else lent)
    if copy is False:
        raise needs_copy("what is strided, or begins inside of 16 bytes, is copied")
    return _copied(found, device)


def needs_copy(why: str) -> VerificationError:
    """The error of who forbids a copy that is needed."""
    problem, fix = f"copy=False, but {why}", "leave copy out to copy where it must be"
    return VerificationError("E4005", problem, op="from_dlpack", help=fix)


def _copied(found: Foreign, device: str) -> UOp:
    """Elements in any order as a value of their own: the span that they lie in is copied."""
    ends = [(n - 1) * step for n, step in zip(found.shape, found.strides, strict=True)]
    low, size = sum(e for e in ends if e < 0), found.dtype.itemsize
    count = sum(abs(e) for e in ends) + 1
    flat = Buffer.empty(found.dtype, (count,), device)
    memory = memory_of(device)
    memory.copy(flat.address, found.address + low * size, count * size, memory)
    if found.is_row_major:
        return OPS["reshape"](OPS["buffer"](flat), found.shape)
    places: Any = -low
    for axis, (n, step) in enumerate(zip(found.shape, found.strides, strict=True)):
        along = (n, *[1] * (len(found.shape) - axis - 1))
        places = lift.cls.arange(n, dtype="int64", device=device).reshape(along) * step + places
    whole = lift.cls(OPS["buffer"](flat))
    return whole[places].uop


def _device(stated: tuple[int, int]) -> str:
    """The device that DLPack's kind and number stand for, ready to be used."""
    kind, number = stated
    names = [t.name for t in TARGETS.values() if t.dlpack == kind]
    if not names:
        problem = f"memory of a device that DLPack calls {kind} is not known here"
        raise DeviceError("E6002", problem, op="from_dlpack", help="copy it to the host first")
    device = canonical_device(f"{names[0]}:{number}")
    load_backend(backend_name(device) or "").prepare()
    return device


def _described(source: Any) -> Foreign:
    if not hasattr(source, "__dlpack__"):
        return _from_interface(source)
    kind, number = map(int, source.__dlpack_device__())
    device = _device((kind, number))
    stream = memory_of(device).sharing.stream  # type: ignore[attr-defined]
    try:
        return taken(source.__dlpack__(stream=stream, max_version=VERSION))
    except TypeError:  # an exporter from before versions
        return taken(source.__dlpack__(stream=stream))


def _from_interface(source: Any) -> Foreign:
    """What `__cuda_array_interface__` says, when its stream has done what it has to do."""
    said = getattr(source, INTERFACE)
    if said.get("mask") is not None:
        problem = "a masked array has elements without a value"
        raise ArgumentError("E2001", problem, op="Tensor", help="fill it first")
    dtype, shape = as_dtype(np.dtype(said["typestr"])), tuple(said["shape"])
    sharing: Any = memory_of(_device((_CUDA, 0))).sharing  # type: ignore[attr-defined]
    address, stream = said["data"][0], said.get("stream", _LEGACY)
    device = (_CUDA, sharing.number_of(address) if address else 0)
    if stream is not None:
        sharing.waits_for(stream)
    given = said.get("strides")
    strides = row_major(shape) if given is None else tuple(s // dtype.itemsize for s in given)
    return Foreign(address, dtype, shape, strides, device, partial(_keep, source))


def _keep(source: Any) -> None:
    """Who holds this holds the object."""
