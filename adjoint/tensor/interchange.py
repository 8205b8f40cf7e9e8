"""Values out of a tensor and into other libraries: NumPy, DLPack, pickle, Python numbers, repr.

NumPy views of a realized tensor are read-only and share its memory. Memory to which another library
may write (DLPack) is lent: no other tensor shares it, and copies of it are made at once.
"""

from __future__ import annotations

import ctypes
from typing import Any, Self

import numpy as np

from adjoint.engine import realize as engine
from adjoint.errors import AdjointError, DTypeError, ScalarError
from adjoint.ir.dtype import as_dtype, plain, raw_bits
from adjoint.ir.mesh import Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.values import is_constant, is_known, storage
from adjoint.ops.leaves import checked_shape
from adjoint.runtime.buffer import Buffer, LentBuffer
from adjoint.runtime.device import Device
from adjoint.runtime.spans import copying
from adjoint.tensor import held, memory_views
from adjoint.tensor.dlpack import array_from, capsule_of, device_of, is_far, loaded
from adjoint.tensor.from_data import is_lent, kept_apart, stored
from adjoint.tensor.tracing import check_concrete, open_scopes
from adjoint.tensor.types import DeviceLike, DTypeLike
from adjoint.tensor.views import compute_written, is_view, same_value

Array = np.ndarray[Any, Any]


SHOWN = 1000  # elements: a lazy tensor of no more is computed when it is printed


class Interchange:
    """Mixed into Tensor."""

    __slots__ = ()

    def _buffer(self: Any) -> Buffer:
        """The storage, computed if need be and brought to the host."""
        seen = memory_views.copied(self)
        if seen is not None:
            return seen
        return _computed(self if Device.is_host(self.device) else self.to("CPU"))

    def _data(self) -> memoryview:
        """The bytes of the elements, in row-major order."""
        flat: Any = np.ascontiguousarray(raw_bits(self.numpy())).reshape(-1)
        return memoryview(flat.view(np.uint8))

    def numpy(self) -> Array:
        """The values as a read-only NumPy array that shares memory; copy it to write."""
        return self._buffer().array()

    def data(self) -> memoryview:
        """The values as a memory view (floats that Python cannot name as unsigned integers)."""
        array = self.numpy()
        whole: Any = np.ascontiguousarray(raw_bits(array)).reshape(array.shape)
        return memoryview(whole)

    def item(self: Any) -> Any:
        """The value of a tensor of one element, as a Python number."""
        seen = memory_views.peeked(self)
        if seen is not None and seen.size == 1:
            return _python(seen.reshape(()))
        if self.uop.size != 1:
            problem = f"{self.uop.size} elements are not one"
            fix = ".tolist() or .numpy() give them all"
            raise ScalarError("E3007", problem, op="item", operands=[("x", self)], help=fix)
        return _python(self.numpy().reshape(()))

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers."""
        array = self.numpy()
        with copying("host", "Python", array.nbytes):
            return plain(array).tolist()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self: Any) -> int:
        if not self.dtype.is_int:
            raise DTypeError("E2005", "an index is an integer", op="index", operands=[("x", self)])
        return int(self.item())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        array = self.numpy()
        if dtype is not None and array.dtype != np.dtype(dtype):
            if copy is False:
                raise ValueError("a dtype cast needs a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(
        self: Any,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule: of the tensor's memory, marked as read-only, or of a copy where that is
        asked for (`copy=True`) or the consumer is too old to be told (`max_version` before 1.0).
        That of a GPU waits for `stream`, as the standard says, and is not marked."""
        own = device_of(self.device)
        if own is not None and (dl_device is None or tuple(dl_device) == own):
            return self._lent_capsule(stream, max_version, copy)
        named = {"stream": stream, "max_version": max_version, "dl_device": dl_device}
        shareable = Device.is_host(self.device) and not is_view(self)
        told = max_version is not None and tuple(max_version) >= (1, 0)
        if copy is False and not (shareable and told):
            why = "older consumers write to memory that is read-only"
            if told:
                where = f"on {self.device}" if not is_view(self) else "a view"
                why = f"the tensor is {where}, and has no memory of its own on the host"
            raise BufferError(f"__dlpack__: copy=False, but {why}")
        if copy or not (shareable and told):
            return capsule_of(np.array(self.numpy()), **named)
        return capsule_of(self._lent(), **named)

    def _lent(self: Any) -> Array:
        """Its values in memory that it shares with no other tensor: another library has it now, and
        may write to it though it should not."""
        buffer = self._buffer()
        if not isinstance(buffer, LentBuffer):
            buffer = LentBuffer(np.array(buffer.array()), buffer.device)
            if self._requires_grad:
                node = OPS["unique_identity"](self.uop)
                node.realized = buffer
            else:
                node = OPS["buffer"](buffer)
            same_value(self, node)
        return buffer.array()

    def _lent_capsule(self: Any, stream: Any, version: Any, copy: bool | None) -> Any:
        """A capsule of memory on a device; a view is copied there."""
        if stream == 0 or not isinstance(stream, int | None):
            raise BufferError(f"__dlpack__: stream is None, -1, 1, 2 or a handle, not {stream!r}")
        if copy is False and is_view(self):
            raise BufferError("__dlpack__: copy=False, but the tensor is a view")
        source = self.clone() if copy or is_view(self) else self
        _computed(source)
        return loaded("lending").lent_capsule(
            source, stream, version is not None and tuple(version) >= (1, 0)
        )

    @property
    def __cuda_array_interface__(self: Any) -> dict[str, Any]:
        """Version 3 of the interface, for tensors on a GPU; they have their memory lent then."""
        if device_of(self.device) is None:
            raise AttributeError(f"a tensor on {self.device} has no __cuda_array_interface__")
        source = self.clone() if is_view(self) else self
        _computed(source)
        found: dict[str, Any] = loaded("lending").interface(source)
        return found

    def __dlpack_device__(self: Any) -> tuple[int, int]:
        return device_of(self.device) or (1, 0)

    @classmethod
    def from_dlpack(cls, source: Any, device: DeviceLike = None, copy: bool | None = None) -> Self:
        """A tensor on another library's array, sharing its memory: on the host, or on the GPU that
        it is on; a tensor on another `device` is a copy."""
        if is_far(source):
            foreign = loaded("foreign")
            there: Any = cls(foreign.imported(source, copy))  # type: ignore[call-arg]
            place = there.device if device is None else Device.canonicalize(device)
            if copy is False and place != there.device:
                raise foreign.needs_copy(f"the array is on {there.device}, not on {place}")
            return there if place == there.device else there.to(place)
        array = array_from(source)
        return cls._shared(array.copy() if copy else array, device, lent=not copy)

    @classmethod
    def from_blob(
        cls, ptr: int, shape: Any, dtype: DTypeLike | None = None, device: DeviceLike = None
    ) -> Self:
        """A tensor on memory at an address, which the caller keeps alive and unchanged."""
        kind = as_dtype(dtype or "float32")
        sizes = checked_shape("from_blob", shape)
        count = int(np.prod(sizes, dtype=np.int64)) * kind.itemsize
        raw: Any = (ctypes.c_ubyte * count).from_address(ptr)
        array: Array = np.frombuffer(raw, np.uint8).view(kind.np).reshape(sizes)
        return cls._shared(array, device)

    @classmethod
    def _shared(cls, array: Array, device: DeviceLike, lent: bool = True) -> Self:
        """A tensor on an array; `lent` if another library may write to it."""
        place = Device.canonicalize(device)
        if lent and isinstance(place, str) and Device.is_host(place):
            return cls(OPS["buffer"](LentBuffer(array, place)))  # type: ignore[call-arg]
        return cls(stored(array, place))  # type: ignore[call-arg]

    def __reduce__(self: Any) -> tuple[Any, ...]:
        raw, name = np.array(raw_bits(self.numpy())), self.dtype.name
        return _unpickle, (type(self), raw, name, self.sharding or self.device, self.requires_grad)

    def __deepcopy__(self: Any, memo: Any) -> Any:
        given = kept_apart(self.uop) if is_lent(self.uop) else self.uop
        node = OPS["unique_identity"](OPS["detach"](given))  # a parameter of its own
        return type(self)(node).requires_grad_(self.requires_grad)

    def _can_show(self: Any) -> bool:
        """Whether the values are few, and known once they are computed: not inside a transform."""
        if self.uop.size > SHOWN or open_scopes.get() or isinstance(self.device, tuple):
            return False
        try:
            compute_written([self])
            self.realize() if is_constant(self.uop) else engine.realize(self.uop)
        except AdjointError:  # an index out of range, a device that is missing: not now
            return False
        return is_known(self.uop)

    def __repr__(self: Any) -> str:
        if not is_known(self.uop) and not self._can_show():
            place = _place(self)
            return f"Tensor(shape={self.shape}, dtype={self.dtype.name}, device={place!r}, lazy)"
        shown = np.array2string(plain(self.numpy()), separator=", ", prefix="Tensor(")
        empty = self.uop.size == 0 and self.ndim > 1  # else nothing tells which sizes it has
        kind = f"{f'shape={self.shape}, ' if empty else ''}dtype={self.dtype.name}"
        return f"Tensor({shown}, {kind}, device={_place(self)!r})"


def _computed(source: Any) -> Buffer:
    """The storage of a tensor where it is."""
    while True:
        check_concrete([source.uop])
        compute_written([source])
        node = source.uop
        if node.size == 1 and not is_constant(node):  # what comes next may depend on it
            held.read(node)
        source.realize()
        found: Buffer | None = storage(node) or storage(source.uop)
        if found is not None:  # else another thread wrote in between: the new value, then
            return found


def _python(array: Array) -> Any:
    return plain(array).item()


def _place(tensor: Any) -> Any:
    """Where a tensor is, for people; of one on a mesh, how it lies there."""
    return tensor.sharding or tensor.device


def _unpickle(cls: Any, raw: Array, dtype: str, device: Any, requires_grad: bool | None) -> Any:
    array = raw.view(as_dtype(dtype).np)
    if isinstance(device, Sharding):
        made = cls._shared(array, device[0], lent=False).shard(device)
        return made.requires_grad_(requires_grad)
    return cls._shared(array, device, lent=False).requires_grad_(requires_grad)
