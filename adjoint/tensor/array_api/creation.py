"""The standard's creation functions."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from adjoint.errors import ArgumentError, ShapeError, VerificationError
from adjoint.ir.dtype import DType, as_dtype, dtypes
from adjoint.ops.leaves import checked_shape
from adjoint.runtime.device import Device
from adjoint.tensor.array_api.calls import Number, apply, tensor_of
from adjoint.tensor.creation import python_number
from adjoint.tensor.dlpack import array_from, is_far
from adjoint.tensor.tensor import Tensor
from adjoint.tensor.types import DeviceLike

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "logspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

Shape = int | tuple[int, ...]


def arange(
    start: int | float,
    /,
    stop: int | float | None = None,
    step: int | float = 1,
    *,
    dtype: DType | None = None,
    device: DeviceLike = None,
) -> Tensor:
    """`start`, `start + step`, … below `stop`; with one number, from 0 up to it."""
    return Tensor.arange(start, stop, step, dtype=dtype, device=device)


def asarray(
    obj: Any, /, *, dtype: DType | None = None, device: DeviceLike = None, copy: bool | None = None
) -> Tensor:
    """A tensor of the object's values. A tensor comes back as it is unless something must change.

    Memory of other libraries is copied, since they may write to it, unless `copy=False`.
    """
    if isinstance(obj, Tensor):
        return _from_tensor(obj, dtype, device, copy)
    python = isinstance(obj, (bool, int, float, complex, list, tuple, range))
    if python and not isinstance(obj, np.generic):  # NumPy's float64 is a float of Python too
        return _from_python(obj, dtype, device, copy)
    if is_far(obj):
        there = Tensor.from_dlpack(obj, copy=copy is not False)
        return _from_tensor(there, dtype, device, copy and None)
    source = _readable(obj)
    if copy is False:
        return _shared(source, dtype, device)
    return Tensor(source, dtype=dtype, device=device)


def _from_tensor(x: Tensor, dtype: DType | None, device: DeviceLike, copy: bool | None) -> Tensor:
    kind = x.dtype if dtype is None else dtype
    place = x.device if device is None else Device.canonicalize(device)
    same = kind is x.dtype and place == x.device
    if same and not copy:
        return x
    if copy is False:
        raise _needs_copy(f"{x.dtype.name} on {x.device} to {kind.name} on {place}")
    return x.clone() if same else apply("cast", x.to(place), kind)


def _from_python(obj: Any, dtype: DType | None, device: DeviceLike, copy: bool | None) -> Tensor:
    if copy is False:
        raise _needs_copy("Python numbers have no buffer to share")
    return Tensor(obj, dtype=dtype, device=device)


def _readable(obj: Any) -> Any:
    """What NumPy can read: arrays as they are, buffers as views, other libraries' by DLPack."""
    if isinstance(obj, (np.ndarray, np.generic)) or hasattr(obj, "__array__"):
        return np.asarray(obj)
    if hasattr(obj, "__dlpack__"):
        return array_from(obj)
    try:
        return np.asarray(memoryview(obj))
    except TypeError:
        kind = type(obj).__name__
        fix = "give a number, a nested list, an array or a buffer"
        problem = f"cannot make a tensor from {kind}"
        raise ArgumentError("E2001", problem, op="asarray", help=fix) from None


def _shared(array: Any, dtype: DType | None, device: DeviceLike) -> Tensor:
    place = Device.canonicalize(device)
    fits = dtype is None or array.dtype == dtype.np
    native = array.dtype.isnative and array.flags.c_contiguous
    if not (fits and native and Device.is_host(place)):
        kind = "" if dtype is None else f" as {dtype.name}"
        raise _needs_copy(f"{array.dtype} values{kind} on {place}")
    return Tensor._shared(array, place)


def _needs_copy(why: str) -> VerificationError:
    problem = f"copy=False, but a copy is needed: {why}"
    fix = "leave copy out to copy where it must be"
    return VerificationError("E4005", problem, op="asarray", help=fix)


def empty(shape: Shape, *, dtype: DType | None = None, device: DeviceLike = None) -> Tensor:
    """A tensor whose values do not matter; they are zeros, so that runs repeat."""
    return zeros(shape, dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: DType | None = None, device: DeviceLike = None) -> Tensor:
    """`empty` in the shape, dtype and device of x."""
    return full_like(x, 0, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: DeviceLike = None,
) -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere."""
    rows, columns = checked_shape("eye", (n_rows, n_rows if n_cols is None else n_cols))
    row = Tensor.arange(rows, device=device).reshape(rows, 1)
    column = Tensor.arange(columns, device=device).reshape(1, columns)
    return apply("cast", (row + k).eq(column), dtype or dtypes.default_float)


def from_dlpack(x: Any, /, *, device: DeviceLike = None, copy: bool | None = None) -> Tensor:
    """A tensor on another library's memory, which stays unchanged as long as it is used."""
    if isinstance(x, Tensor):
        return _from_tensor(x, None, device, copy)
    if not hasattr(x, "__dlpack__"):
        problem = f"{type(x).__name__} has no __dlpack__"
        raise AttributeError(f"from_dlpack: {problem}; see asarray for other objects")
    if is_far(x):
        return Tensor.from_dlpack(x, device=device, copy=copy)
    place = Device.canonicalize(device)
    if copy is False and not Device.is_host(place):
        raise _needs_copy(f"host memory to {place}")
    return Tensor.from_dlpack(x, device=place, copy=copy)


def full(
    shape: Shape, fill_value: Number, *, dtype: DType | None = None, device: DeviceLike = None
) -> Tensor:
    """A tensor whose elements are all `fill_value`."""
    return Tensor.full(checked_shape("full", shape), fill_value, dtype=dtype, device=device)


def full_like(
    x: Tensor, /, fill_value: Number, *, dtype: DType | None = None, device: DeviceLike = None
) -> Tensor:
    """`full` in the shape, dtype and device of x."""
    x = tensor_of("full_like", x)
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: DeviceLike = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` evenly spaced values from `start` to `stop`, which `endpoint` includes or not."""
    start, stop, num = map(python_number, (start, stop, num))
    if num < 0:
        raise ShapeError("E3006", f"num is ≥ 0, got {num}", op="linspace")
    weak = dtypes.default_complex if isinstance(start + stop, complex) else dtypes.default_float
    kind = weak if dtype is None else as_dtype(dtype)
    wide = dtypes.complex128 if kind.is_complex else dtypes.float64
    step = (stop - start) / max(num - 1 if endpoint else num, 1)
    index = apply("cast", Tensor.arange(num, device=device), wide)
    values = index * step + start
    if endpoint and num > 1:  # the end is exact, whatever the rounding of the step
        values = index.eq(num - 1).where(stop, values)
    return apply("cast", values, kind)


def logspace(
    start: complex,
    stop: complex,
    /,
    num: int = 50,
    *,
    base: float = 10.0,
    dtype: DType | None = None,
    device: DeviceLike = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` powers of `base` whose exponents are evenly spaced from `start` to `stop`."""
    start, stop = python_number(start), python_number(stop)
    weak = dtypes.default_complex if isinstance(start + stop, complex) else dtypes.default_float
    kind = weak if dtype is None else as_dtype(dtype)
    wide = dtypes.complex128 if kind.is_complex else dtypes.float64
    exponents = linspace(start, stop, num, dtype=wide, device=device, endpoint=endpoint)
    return apply("cast", apply("pow", full((), base, dtype=wide, device=device), exponents), kind)


def meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> tuple[Tensor, ...]:
    """Coordinates of a grid: one tensor per axis, all of the grid's shape."""
    if not arrays:
        return ()
    vectors = [tensor_of("meshgrid", a) for a in arrays]
    return apply("meshgrid", *vectors, indexing=indexing)


def ones(shape: Shape, *, dtype: DType | None = None, device: DeviceLike = None) -> Tensor:
    """Ones."""
    return full(shape, 1, dtype=dtype or dtypes.default_float, device=device)


def ones_like(x: Tensor, /, *, dtype: DType | None = None, device: DeviceLike = None) -> Tensor:
    """Ones in the shape, dtype and device of x."""
    return full_like(x, 1, dtype=dtype, device=device)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The lower triangle of matrices, up to the k-th diagonal; zeros elsewhere."""
    return apply("tril", tensor_of("tril", x), k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The upper triangle of matrices, from the k-th diagonal on; zeros elsewhere."""
    return apply("triu", tensor_of("triu", x), k)


def zeros(shape: Shape, *, dtype: DType | None = None, device: DeviceLike = None) -> Tensor:
    """Zeros."""
    return full(shape, 0, dtype=dtype or dtypes.default_float, device=device)


def zeros_like(x: Tensor, /, *, dtype: DType | None = None, device: DeviceLike = None) -> Tensor:
    """Zeros in the shape, dtype and device of x."""
    return full_like(x, 0, dtype=dtype, device=device)
