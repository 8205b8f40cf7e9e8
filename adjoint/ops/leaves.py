"""Nodes without sources: CONST, BUFFER, INPUT; and PART, which picks one of several results."""

from __future__ import annotations

from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, AutodiffError, DTypeError, ShapeError
from adjoint.ir.arg import Arg
from adjoint.ir.batch import same_op
from adjoint.ir.derivative import Linear, NotDifferentiable
from adjoint.ir.dtype import DType, as_dtype, dtype_of_scalar, fits
from adjoint.ir.kernel_kind import CONSTANT, PARAMETER, PART, STORED
from adjoint.ir.opdef import Bad, OpDef, define
from adjoint.ir.sizes import Size, varies
from adjoint.ir.uop import UOp
from adjoint.ops.samples import given


def checked_shape(op: str, shape: Any) -> tuple[int, ...]:
    """A tuple of ints ≥ 0 from an int or a sequence of ints."""
    try:
        sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        sizes = tuple(s if type(s) is Size else int(s.__index__()) for s in sizes)
    except (TypeError, AttributeError):
        raise ArgumentError("E2001", f"a shape is made of ints, got {shape!r}", op=op) from None
    for extent in sizes:
        if extent < 0:
            raise ShapeError("E3006", f"dimension {extent} of {list(sizes)} is negative", op=op)
    return sizes


class ConstArg(Arg):
    value: Any
    dtype: DType
    shape: tuple[int, ...]
    device: str | tuple[str, ...] | None


_INT64 = as_dtype("int64")
_CAST = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def _const(
    value: Any,
    dtype: Any = None,
    shape: tuple[int, ...] = (),
    device: str | tuple[str, ...] | None = None,
) -> UOp:
    kind = dtype_of_scalar(value) if dtype is None else as_dtype(dtype)
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) is complex or (type(value) is float and value == 0.0) or varies(value, *shape):
        # The cache below cannot tell 0.0 from -0.0, nor 5 from a size that is 5.
        return _make_const(value, kind, shape, device)
    return _cached_const(value, kind, shape, device)


def _make_const(
    value: Any, kind: DType, shape: tuple[int, ...], device: str | tuple[str, ...] | None
) -> UOp:
    try:
        plain = value if kind.is_int and type(value) is Size else _CAST[kind.kind](value)
    except (TypeError, ValueError, OverflowError):
        raise DTypeError("E2001", f"{value!r} is not a value of {kind.name}", op="const") from None
    if kind.is_int and not fits(plain, kind):
        problem = f"{value} is not a value of {kind.name} ({kind.min} to {kind.max})"
        raise ArgumentError("E2006", problem, op="const", help="name a wider dtype")
    if type(value) is Size and kind.is_float:  # rounded when it is known
        return UOp(const, (), ConstArg(value, _INT64, shape, device)).cast(kind)
    return UOp(const, (), ConstArg(plain, kind, shape, device))


_cached_const = lru_cache(maxsize=1024, typed=True)(_make_const)


def _fill(
    value: Any, dtype: DType | None = None, shape: tuple[int, ...] = (), device: Any = None
) -> Any:
    return np.full(shape, value, None if dtype is None else dtype.np)


_NOTHING = Linear(lambda g, **attrs: ())  # a node without sources passes nothing on


def _leaf(name: str, doc: str, samples: Any = list, **rest: Any) -> OpDef:
    """A record of a node without sources, whose attributes say shape, dtype and device."""
    options: dict[str, Any] = {
        "infer": lambda src, arg: (arg.shape, arg.dtype),
        "device": lambda src, arg: arg.device,
        "ad": _NOTHING,
    } | rest
    return define(name, doc, samples=samples, public=False, opcode=False, **options)


const = _leaf(
    "const",
    "A tensor whose elements are all `value`.",
    arg=ConstArg,
    call=_const,
    reference=_fill,
    samples=given((2.5, as_dtype("float32"), (2, 3)), (True,), (3, as_dtype("int8"), (0, 2))),
    errors=(Bad("E2006", (300, "uint8"), match="not a value of uint8"),),
    level="both",
    kernel=CONSTANT,
)


class BufferArg(Arg):
    """`buffer` is the runtime's storage object; its identity is the node's."""

    buffer: Any


def _buffer(storage: Any) -> UOp:
    return UOp(buffer, (), BufferArg(storage))


buffer = _leaf(
    "buffer",
    "Data that exists: the storage of a realized tensor.",
    arg=BufferArg,
    call=_buffer,
    infer=lambda src, arg: (arg.buffer.shape, arg.buffer.dtype),
    device=lambda src, arg: arg.buffer.device,
    reference=lambda buffer: buffer.array(),
    kernel=STORED,
)


class InputArg(Arg):
    name: str
    shape: tuple[int, ...]
    dtype: DType
    device: str | tuple[str, ...] | None = None


def _input(name: str, shape: Any, dtype: Any, device: str | tuple[str, ...] | None = None) -> UOp:
    return UOp(input_, (), InputArg(name, checked_shape("input", shape), as_dtype(dtype), device))


def _unbound(name: str, **attrs: Any) -> Any:
    raise ArgumentError("E2002", f"input {name!r} has no value", op="input")


input_ = _leaf(
    "input",
    "A named parameter of a traced function; its value is not known yet.",
    arg=InputArg,
    call=_input,
    reference=_unbound,
    level="both",
    kernel=PARAMETER,
)


class SpentArg(Arg):
    name: str
    shape: tuple[int, ...]
    dtype: DType
    device: str | tuple[str, ...] | None
    token: int  # each is a node of its own, so that an error shows the line of the one that is used


_tokens = count()


def _spent(
    name: str,
    shape: Any,
    dtype: Any,
    device: str | tuple[str, ...] | None = None,
    token: int | None = None,
) -> UOp:
    number = next(_tokens) if token is None else token
    return UOp(spent, (), SpentArg(name, shape, dtype, device, number))


def _spent_reference(name: str, **attrs: Any) -> Any:
    problem = f"the value was traced inside {name} and used after it had ended"
    fix = "return it from the function instead of keeping it"
    raise AutodiffError("E5004", problem, op="spent", help=fix)


spent = _leaf(
    "spent",
    "A traced value after its transform has ended: using it is an error.",
    arg=SpentArg,
    call=_spent,
    ad=NotDifferentiable("the transform that traced it has ended"),
    reference=_spent_reference,
)


class PartArg(Arg):
    index: int  # type: ignore[assignment]  # a field here, not tuple.index


def _part(x: UOp, index: int) -> UOp:
    return UOp(part, (x,), PartArg(index))


def _part_type(src: tuple[UOp, ...], arg: PartArg) -> tuple[Any, Any]:
    (x,) = src
    if not isinstance(x.dtype, tuple) or not 0 <= arg.index < len(x.dtype):
        raise ArgumentError("E2001", "picks a result of an op with several results", op="part")
    return x.shape[arg.index], x.dtype[arg.index]


part = define(
    "part",
    "One result of an op that has several.",
    arg=PartArg,
    call=_part,
    infer=_part_type,
    ad=NotDifferentiable("taken together with the op whose results it picks"),
    reference=lambda x, index: x[index],
    samples=given(),
    batch=same_op,
    kernel=PART,
    public=False,
)
