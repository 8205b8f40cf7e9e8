"""From outside data to a node: numbers, lists, arrays, bytes, files.

What may live here: conversions into a leaf node. What may not: ops.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import reduce
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, DTypeError, ShapeError
from adjoint.ir.dtype import DType, as_dtype, dtype_of_scalar, dtypes, promote, promote_scalar
from adjoint.ir.kernel_kind import STORED
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.ops.casts import convert
from adjoint.runtime.buffer import Buffer, FileBuffer, LentBuffer, copied
from adjoint.runtime.device import Device
from adjoint.runtime.spans import copying, recorders
from adjoint.tensor.dlpack import array_from, is_far, loaded
from adjoint.tensor.types import DeviceLike

Array = np.ndarray[Any, Any]


class ElementCount(int):
    """The number of elements; called, the shape or one extent."""

    _shape: tuple[int, ...]

    def __new__(cls, count: int, shape: tuple[int, ...]) -> ElementCount:
        self = int.__new__(cls, count)
        self._shape = shape
        return self

    def __call__(self, dim: int | None = None) -> Any:
        return self._shape if dim is None else self._shape[dim]


def node_of(data: Any, device: DeviceLike, dtype: DType | None) -> UOp:
    """The node of any data source, cast to `dtype` if one is named."""
    if isinstance(data, UOp):
        return _checked_node(data, device, dtype)
    if hasattr(data, "uop"):
        node = kept_apart(data.uop) if is_lent(data.uop) else data.uop
        return _checked_node(node, device, None).cast(dtype or node.dtype)
    target = device or Device.DEFAULT
    if data is None:
        data = []
    if isinstance(data, (bool, int, float, complex)) and not isinstance(data, np.generic):
        kind = dtype or dtype_of_scalar(data)
        return OPS["unique_identity"](OPS["const"](data, kind, (), target))
    if isinstance(data, Path):
        return _file(data, target, dtype)
    if isinstance(data, (list, tuple)) and mentions_tensor(data):
        return _stacked(data, device, dtype)
    if not isinstance(data, np.ndarray) and is_far(data):
        there = loaded("foreign").imported(data, copy=True)
        return _checked_node(there, device, None).cast(dtype or there.dtype)
    return stored(_copied_in(data, dtype), target, Buffer.owning)


def _copied_in(data: Any, dtype: DType | None) -> Array:
    """`array_of`, which a profiler sees."""
    if not recorders:
        return array_of(data, dtype)
    with copying(
        "Python" if isinstance(data, (list, tuple, range)) else "NumPy", "host", 0
    ) as seen:
        found = array_of(data, dtype)
        seen.details["bytes"] = found.nbytes
        return found


def is_lent(node: UOp) -> bool:
    """Whether another library may write to the memory of this value."""
    buffer = node.arg.buffer if node.op.kernel is STORED else node.realized
    return isinstance(buffer, LentBuffer)


def kept_apart(node: UOp) -> UOp:
    """The value that a node has now, whatever is written to its memory later."""
    kept: UOp = OPS["unique_identity"](node)
    buffer = node.arg.buffer if node.op.kernel is STORED else node.realized
    kept.realized = buffer.apart()
    return kept


def _checked_node(node: UOp, device: DeviceLike, dtype: DType | None) -> UOp:
    if dtype is not None and dtype is not node.dtype:
        problem = f"the node is {node.dtype.name}, not {dtype.name}"
        fix = f".cast('{dtype.name}')"
        raise DTypeError("E2001", problem, op="Tensor", operands=[("data", node)], help=fix)
    return node if device is None else OPS["copy"](node, device)


def stored(
    array: Array, device: str | tuple[str, ...], made: Callable[[Array, str], Buffer] = Buffer
) -> UOp:
    """An array as a buffer on a device; one the host cannot address is copied to when realized."""
    if isinstance(device, tuple):
        return OPS["copy"](stored(array, device[0], made), device)
    home = device if Device.is_host(device) else "CPU"
    return OPS["copy"](OPS["buffer"](made(array, home)), device)


def _file(path: Path, device: str | tuple[str, ...], dtype: DType | None) -> UOp:
    if not path.is_file():
        raise FileNotFoundError(f"Tensor: no such file: {path}")
    node = OPS["buffer"](FileBuffer(path, dtype or dtypes.uint8))
    if isinstance(device, tuple):
        return OPS["copy"](OPS["copy"](node, Device.DEFAULT), device)
    return node if device.startswith("DISK") else OPS["copy"](node, device)


def array_of(data: Any, dtype: DType | None) -> Array:
    """A fresh row-major array from data that lives in Python or NumPy."""
    if isinstance(data, (bytes, bytearray, memoryview)) and not _is_typed(data):
        return _from_bytes(bytes(data), dtype)
    if isinstance(data, (list, tuple, range)):
        return _from_sequence(data, dtype)
    masked = sys.modules.get("numpy.ma")  # which NumPy loads with the first such array
    if masked is not None and isinstance(data, masked.MaskedArray) and masked.is_masked(data):
        fix = "fill it first: .filled(value)"
        raise ArgumentError(
            "E2001", "a masked array has elements without a value", op="Tensor", help=fix
        )
    if hasattr(data, "__array__") or isinstance(data, memoryview):
        return _from_array(_array(data), dtype)
    kind = type(data).__name__
    fix = "give a number, a nested list, a NumPy array, bytes or a pathlib.Path"
    raise ArgumentError("E2001", f"cannot make a tensor from {kind}", op="Tensor", help=fix)


def _array(data: Any) -> Array:
    """Another library's array as NumPy's: by DLPack if NumPy has not its dtype, as bfloat16."""
    try:
        return np.asarray(data)
    except TypeError:
        if not hasattr(data, "__dlpack__"):
            raise
        return array_from(data)


def _is_typed(data: Any) -> bool:
    return isinstance(data, memoryview) and data.format != "B"


def _from_bytes(data: bytes, dtype: DType | None) -> Array:
    kind = dtype or dtypes.uint8
    if len(data) % kind.itemsize:
        problem = f"{len(data)} bytes are not a multiple of {kind.itemsize} ({kind.name})"
        raise ShapeError("E3007", problem, op="Tensor")
    return np.frombuffer(data, kind.np).copy()


def _from_array(array: Array, dtype: DType | None) -> Array:
    if array.dtype.kind in "OSUMm":
        problem = f"NumPy dtype {array.dtype} holds no numbers"
        raise DTypeError("E2001", problem, op="Tensor")
    if array.dtype.kind == "c" and dtype is not None and not dtype.is_complex:
        problem = f"{array.dtype} to {dtype.name} would drop the imaginary part"
        raise DTypeError("E2005", problem, op="Tensor", help="take .real first")
    kind = as_dtype(array.dtype.newbyteorder("=")) if dtype is None else dtype
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    return copied(convert(native, kind))


def _from_sequence(data: Any, dtype: DType | None) -> Array:
    shape = _shape_of(data)
    flat: list[Any] = []
    _flatten(data, shape, flat)
    values = [_number(v) for v in flat]
    kind = dtype or _sequence_dtype(flat)
    number = next((v for v in values if isinstance(v, complex)), None)
    if number is not None and not kind.is_complex:
        raise DTypeError("E2001", f"{number!r} is not a value of {kind.name}", op="Tensor")
    whole = kind.is_int and not any(isinstance(v, float) for v in values)
    if kind.is_int:
        _check_fits(values, kind)
    array = np.array(values or [], dtype=object if whole else _carrier(values))
    return (array.astype(kind.np) if whole else convert(array, kind)).reshape(shape)


def _number(value: Any) -> Any:
    """An element of a list as a Python number."""
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, (bool, int, float, complex)):
        return plain
    if isinstance(plain, Number) and hasattr(plain, "__float__"):
        return float(plain)  # a fraction, a decimal
    fix = "lists hold numbers, arrays and tensors"
    problem = f"{value!r} ({type(value).__name__}) is no number"
    raise ArgumentError("E2001", problem, op="Tensor", help=fix)


def mentions_tensor(data: Any) -> bool:
    """Whether a tensor is among the elements of nested lists."""
    if isinstance(data, (list, tuple)):
        return any(type(v) not in _SCALARS and mentions_tensor(v) for v in data)
    return hasattr(data, "uop")


def wants_gradient(data: Any) -> bool:
    """Whether a tensor with requires_grad=True is among the elements of nested lists."""
    if isinstance(data, (list, tuple)):
        return any(type(v) not in _SCALARS and wants_gradient(v) for v in data)
    return getattr(data, "_requires_grad", None) is True


_SCALARS = frozenset({bool, int, float, complex})


def _stacked(data: Any, device: DeviceLike, dtype: DType | None) -> UOp:
    """Nested lists with tensors in them: the tensors are joined, and keep their history."""
    leaves = _leaves(data)
    first = next(leaf for leaf in leaves if hasattr(leaf, "uop"))
    return _joined(data, dtype or _sequence_dtype(leaves), device or first.device)


def _leaves(data: Any) -> list[Any]:
    if isinstance(data, (list, tuple, range)):
        return [leaf for item in data for leaf in _leaves(item)]
    return [_element(data) if hasattr(data, "dtype") else _number(data)]


def _joined(data: Any, kind: DType, device: DeviceLike) -> UOp:
    if not isinstance(data, (list, tuple, range)) or not mentions_tensor(data):
        return OPS["copy"](node_of(data, device, None).cast(kind), device)
    parts = [_joined(item, kind, device) for item in data]
    for part in parts:
        if part.shape != parts[0].shape:
            raise _ragged(part, parts[0].shape)
    return OPS["stack"](parts)


def _check_fits(values: list[Any], kind: DType) -> None:
    low, high = kind.min - 1, kind.max + 1  # floats are cut: -0.5 is 0
    for value in values:
        if not low < value < high:
            problem = f"{value} is not a value of {kind.name} ({kind.min} to {kind.max})"
            raise ArgumentError("E2006", problem, op="Tensor", help="name a wider dtype")


def _carrier(values: list[Any]) -> Any:
    if any(isinstance(v, complex) for v in values):
        return np.complex128
    if values and all(isinstance(v, int) for v in values):
        return object if any(abs(v) > 2**53 for v in values) else np.int64
    return np.float64


def _sequence_dtype(flat: list[Any]) -> DType:
    """The promoted dtype of typed elements, which Python numbers change only by their kind, or
    where they do not fit; Python numbers among themselves take the defaults."""
    typed = dict.fromkeys(as_dtype(v.dtype) for v in flat if hasattr(v, "dtype"))
    plain = [_number(v) for v in flat if not hasattr(v, "dtype")]
    if not typed:
        return _plain_dtype(plain)
    kind = reduce(promote, typed)
    if any(isinstance(v, complex) for v in plain):
        return kind if kind.is_complex else promote(kind, dtypes.default_complex)
    if any(isinstance(v, float) for v in plain):
        return kind if kind.is_inexact else dtypes.default_float
    for number in plain:
        kind = promote_scalar(kind, number)
        if kind.is_int and not kind.min <= number <= kind.max:
            kind = promote(kind, dtype_of_scalar(number))
    return kind


def _plain_dtype(values: list[Any]) -> DType:
    if any(isinstance(v, complex) for v in values):
        return dtypes.default_complex
    if not values or any(isinstance(v, float) for v in values):
        return dtypes.default_float
    if all(isinstance(v, bool) for v in values):
        return dtypes.bool_
    wide = max((dtype_of_scalar(v) for v in values), key=lambda d: (d.itemsize, d.kind))
    return dtypes.int64 if wide.kind == "u" and any(v < 0 for v in values) else wide


def _shape_of(data: Any) -> tuple[int, ...]:
    shape: list[int] = []
    while isinstance(data, (list, tuple, range)):
        shape.append(len(data))
        if not data:
            break
        data = data[0]
    return (*shape, *getattr(data, "shape", ()))


def _flatten(data: Any, shape: tuple[int, ...], out: list[Any]) -> None:
    if isinstance(data, (list, tuple, range)):
        if not shape or len(data) != shape[0]:
            raise _ragged(data, shape)
        for item in data:
            _flatten(item, shape[1:], out)
    elif getattr(data, "shape", ()):
        if tuple(data.shape) != shape:
            raise _ragged(data, shape)
        values = data.numpy() if hasattr(data, "uop") else _array(data)
        out.extend(values.reshape(-1))
    elif shape:
        raise _ragged(data, shape)
    else:
        out.append(_element(data))


def _element(data: Any) -> Any:
    """An element of a list: another library's as NumPy's."""
    foreign = hasattr(data, "__array__") and not hasattr(data, "uop")
    return _array(data)[()] if foreign else data


def _ragged(data: Any, shape: tuple[int, ...]) -> ShapeError:
    got = len(data) if hasattr(data, "__len__") else "a scalar"
    problem = f"nested lists are ragged: expected {shape[0] if shape else 'a scalar'}, got {got}"
    return ShapeError("E3010", problem, op="Tensor", help="every row needs the same length")
