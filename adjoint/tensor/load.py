"""From outside data to a node: numbers, lists, arrays, bytes, files.

What may live here: conversions into a leaf node. What may not: ops.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from adjoint.errors import AdjointError, ArgumentError, DTypeError, ShapeError
from adjoint.ir.dtype import DType, as_dtype, dtype_of_scalar, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.ops.control import convert
from adjoint.runtime.buffer import Buffer, FileBuffer
from adjoint.runtime.device import Device

Array = np.ndarray[Any, Any]


class Size(int):
    """The number of elements; called, the shape or one extent."""

    _shape: tuple[int, ...]

    def __new__(cls, count: int, shape: tuple[int, ...]) -> Size:
        self = int.__new__(cls, count)
        self._shape = shape
        return self

    def __call__(self, dim: int | None = None) -> Any:
        return self._shape if dim is None else self._shape[dim]


def node_of(data: Any, device: str | None, dtype: DType | None) -> UOp:
    """The node of any data source, cast to `dtype` if one is named."""
    if isinstance(data, UOp):
        return _checked_node(data, device, dtype)
    if hasattr(data, "uop"):
        return _checked_node(data.uop, device, None).cast(dtype or data.uop.dtype)
    target = device or Device.DEFAULT
    if data is None:
        data = []
    if isinstance(data, (bool, int, float, complex)) and not isinstance(data, np.generic):
        kind = dtype or dtype_of_scalar(data)
        return OPS["unique_identity"](OPS["const"](data, kind, (), target))
    if isinstance(data, Path):
        return _file(data, target, dtype)
    return stored(array_of(data, dtype), target)


def _checked_node(node: UOp, device: str | None, dtype: DType | None) -> UOp:
    if dtype is not None and dtype is not node.dtype:
        problem = f"the node is {node.dtype.name}, not {dtype.name}"
        fix = f".cast('{dtype.name}')"
        raise DTypeError("E2001", problem, op="Tensor", operands=[("data", node)], help=fix)
    return node if device is None else OPS["copy"](node, device)


def stored(array: Array, device: Any) -> UOp:
    """An array as a buffer on a device; one the host cannot address is copied to when realized."""
    if isinstance(device, tuple):
        return OPS["shard"](stored(array, device[0]), device)
    home = device if Device.is_host(device) else "CPU"
    return OPS["copy"](OPS["buffer"](Buffer(array, home)), device)


def _file(path: Path, device: str, dtype: DType | None) -> UOp:
    if not path.is_file():
        raise FileNotFoundError(f"Tensor: no such file: {path}")
    node = OPS["buffer"](FileBuffer(path, dtype or dtypes.uint8))
    return node if device.startswith("DISK") else OPS["copy"](node, device)


def array_of(data: Any, dtype: DType | None) -> Array:
    """A fresh row-major array from data that lives in Python or NumPy."""
    if isinstance(data, (bytes, bytearray, memoryview)) and not _is_typed(data):
        return _from_bytes(bytes(data), dtype)
    if isinstance(data, (list, tuple, range)):
        return _from_sequence(data, dtype)
    if hasattr(data, "__array__") or isinstance(data, memoryview):
        return _from_array(np.asarray(data), dtype)
    kind = type(data).__name__
    fix = "give a number, a nested list, a NumPy array, bytes or a pathlib.Path"
    raise DTypeError("E2001", f"cannot make a tensor from {kind}", op="Tensor", help=fix)


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
    kind = as_dtype(array.dtype.newbyteorder("=")) if dtype is None else dtype
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    return np.array(convert(native, kind), order="C", copy=True)


def _from_sequence(data: Any, dtype: DType | None) -> Array:
    shape = _shape_of(data)
    flat: list[Any] = []
    _flatten(data, shape, flat)
    values = [v.item() if hasattr(v, "item") else v for v in flat]
    kind = dtype or _sequence_dtype(flat, values)
    whole = kind.is_int and not any(isinstance(v, float) for v in values)
    try:
        if whole and not _fits(values, kind):
            raise _overflow(values, kind)
        carrier = object if whole else _carrier(values)
        array = np.array(values or [], dtype=carrier)
        return (array.astype(kind.np) if whole else convert(array, kind)).reshape(shape)
    except AdjointError:
        raise
    except (TypeError, ValueError):
        raise DTypeError("E2001", f"cannot read {kind.name} values from a list") from None


def _fits(values: list[Any], kind: DType) -> bool:
    return all(kind.min <= v <= kind.max for v in values)


def _overflow(values: list[Any], kind: DType) -> DTypeError:
    bad = next(v for v in values if not kind.min <= v <= kind.max)
    problem = f"{bad} is not a value of {kind.name} ({kind.min} to {kind.max})"
    return ArgumentError("E2006", problem, op="Tensor", help="name a wider dtype")


def _carrier(values: list[Any]) -> Any:
    if any(isinstance(v, complex) for v in values):
        return np.complex128
    if values and all(isinstance(v, int) for v in values):
        return object if any(abs(v) > 2**53 for v in values) else np.int64
    return np.float64


def _sequence_dtype(flat: list[Any], values: list[Any]) -> DType:
    """The promoted dtype of typed elements; Python numbers among themselves take the defaults."""
    typed = {as_dtype(v.dtype) for v in flat if hasattr(v, "dtype")}
    if len(typed) == 1 and all(hasattr(v, "dtype") for v in flat):
        return typed.pop()
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
    return (
        (*shape, *getattr(data, "shape", ())) if not isinstance(data, (list, tuple)) else (*shape,)
    )


def _flatten(data: Any, shape: tuple[int, ...], out: list[Any]) -> None:
    if isinstance(data, (list, tuple, range)):
        if not shape or len(data) != shape[0]:
            raise _ragged(data, shape)
        for item in data:
            _flatten(item, shape[1:], out)
    elif getattr(data, "shape", ()):
        if tuple(data.shape) != shape:
            raise _ragged(data, shape)
        values = data.numpy() if hasattr(data, "uop") else np.asarray(data)
        out.extend(values.reshape(-1))
    elif shape:
        raise _ragged(data, shape)
    else:
        out.append(data)


def _ragged(data: Any, shape: tuple[int, ...]) -> ShapeError:
    got = len(data) if hasattr(data, "__len__") else "a scalar"
    problem = f"nested lists are ragged: expected {shape[0] if shape else 'a scalar'}, got {got}"
    return ShapeError("E3010", problem, op="Tensor", help="every row needs the same length")
