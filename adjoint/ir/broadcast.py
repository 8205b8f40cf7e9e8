"""Elementwise ops: one rule for promotion, broadcasting and node types, and their maker.

Broadcasting is explicit: an operand that is smaller than the result is wrapped in EXPAND, and a
Python scalar becomes a CONST of the result's shape. The node itself only ever sees equal shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.errors import DTypeError, ShapeError
from adjoint.ir.batch import same_op
from adjoint.ir.derivative import Derivative, Partials
from adjoint.ir.dtype import (
    DType,
    dtype_of_scalar,
    dtypes,
    fits,
    promote,
    promote_scalar,
    to_float,
)
from adjoint.ir.opdef import OPS, OpDef, register
from adjoint.ir.uop import UOp

KIND_NAMES = {"b": "bool", "i": "signed int", "u": "unsigned int", "f": "float", "c": "complex"}
SIDES = {1: ("x",), 2: ("lhs", "rhs"), 3: ("first", "second", "third")}


def broadcast_shapes(op: str, *nodes: UOp) -> tuple[int, ...]:
    """The common shape: right-aligned, equal or 1 in every dimension."""
    rank = max(len(n.shape) for n in nodes)
    result = [1] * rank
    for node in nodes:
        offset = rank - len(node.shape)
        for i, extent in enumerate(node.shape):
            if extent != 1 and result[offset + i] not in (1, extent):
                raise _no_broadcast(op, nodes, offset + i)
            if extent != 1:
                result[offset + i] = extent
    return tuple(result)


def _no_broadcast(op: str, nodes: Sequence[UOp], dim: int) -> ShapeError:
    shapes = [list(n.shape) for n in nodes]
    problem = f"Broadcasting failed at dimension {dim}: shape " + " incompatible with ".join(
        str(s) for s in shapes
    )
    operands = list(zip(_sides(len(nodes)), nodes, strict=True))
    fix = "sizes must be equal or 1, aligned from the right; insert a 1 with .unsqueeze(dim)"
    return ShapeError("E3001", problem, op=op, operands=operands, help=fix)


def _sides(count: int) -> tuple[str, ...]:
    return SIDES.get(count) or tuple(f"operand {i}" for i in range(count))


def common_dtype(op: str, operands: Sequence[Any]) -> DType:
    """The promoted dtype of nodes and weak Python scalars."""
    nodes = [o for o in operands if isinstance(o, UOp)]
    if not nodes:
        raise DTypeError("E2007", "needs at least one tensor among its operands", op=op)
    result = nodes[0].dtype
    for node in nodes[1:]:
        result = promote(result, node.dtype)
    for value in operands:
        if not isinstance(value, UOp):
            result = promote_scalar(result, check_scalar(op, value))
    return result


def check_scalar(op: str, value: Any) -> Any:
    """The value, if it is a Python number."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    problem = f"expected a tensor or a number, got {type(value).__name__}"
    raise DTypeError("E2001", problem, op=op, operands=[("operand", value)])


def align(op: str, operands: Sequence[Any], dtype: DType) -> tuple[UOp, ...]:
    """The operands as nodes of one dtype and one shape."""
    nodes = [o for o in operands if isinstance(o, UOp)]
    shape = nodes[0].shape
    if any(n.shape != shape for n in nodes):
        shape = broadcast_shapes(op, *nodes)
    device = nodes[0].device
    return tuple(
        _aligned(o, dtype, shape) if isinstance(o, UOp) else _filled(op, o, dtype, shape, device)
        for o in operands
    )


def _aligned(node: UOp, dtype: DType, shape: tuple[int, ...]) -> UOp:
    if node.dtype is not dtype:
        node = OPS["cast"](node, dtype)
    return node if node.shape == shape else OPS["expand"](node, shape)


def _filled(op: str, value: Any, dtype: DType, shape: tuple[int, ...], device: Any) -> UOp:
    if dtype.is_int and not fits(int(value), dtype):
        problem = f"{value} is not a value of {dtype.name} ({dtype.min} to {dtype.max})"
        fix = f"cast the tensor to a wider dtype first, e.g. .cast('{dtypes.int64.name}')"
        raise DTypeError("E2006", problem, op=op, help=fix)
    return OPS["const"](value, dtype, shape, device)


def elementwise(
    name: str,
    doc: str,
    *,
    reference: Callable[..., Any],
    samples: Any,
    arity: int = 2,
    kinds: str = "biufc",
    cast: Callable[[DType], DType] | None = None,
    result: Callable[[DType], DType] | None = None,
    partials: Callable[..., Any] | None = None,
    ad: Derivative | None = None,
    sample_kinds: str | None = None,
    **rest: Any,
) -> OpDef:
    """A primitive applied element by element to operands of one dtype.

    `kinds` are the dtype kinds a node accepts; `cast` maps the promoted dtype to the operands'
    (`to_float` for real functions); `result` maps the operands' dtype to the result's;
    `sample_kinds` are the kinds its samples are tried with, by default all that `cast` accepts.
    """
    declared = ad if ad is not None else Partials(partials)  # type: ignore[arg-type]
    if ad is None and partials is None:
        raise DTypeError("E2007", f"op {name!r} declares no derivative", op=name)

    def infer(src: tuple[UOp, ...], arg: Any) -> tuple[Any, DType]:
        return _elementwise_type(record, src, arity, kinds, result)

    def call(*operands: Any) -> UOp:
        if len(operands) != arity:
            problem = f"takes {arity} operands, got {len(operands)}"
            raise DTypeError("E2007", problem, op=name)
        first = operands[0]
        if type(first) is UOp and (cast is None or cast(first.dtype) is first.dtype):
            if arity == 1:
                return UOp(record, operands)
            if arity == 2:
                src = _ready(first, operands[1])
                if src is not None:
                    return UOp(record, src)
        dtype = common_dtype(name, operands)
        if result is not None:
            dtype = _wide_enough(dtype, operands)
        return UOp(record, align(name, operands, cast(dtype) if cast else dtype))

    options: dict[str, Any] = {"level": "both", "batch": same_op} | rest
    record = register(
        OpDef(
            name,
            doc,
            "primitive",
            call=call,
            infer=infer,
            ad=declared,
            reference=reference,
            samples=samples,
            kinds=sample_kinds or (kinds if cast is None else "biuf" + "c" * ("c" in kinds)),
            signature=_SIGNATURES.get(arity),
            **options,
        )
    )
    return record


def _ready(a: UOp, b: Any) -> tuple[UOp, UOp] | None:
    """The operands of the two common cases, which need no promotion: equal types, x op number."""
    if type(b) is UOp:
        return (a, b) if a.dtype is b.dtype and a.shape == b.shape else None
    if (type(b) is float or type(b) is int) and a.dtype.kind == "f":
        return a, OPS["const"](b, a.dtype, a.shape, a.device)
    return None


def _wide_enough(dtype: DType, operands: Sequence[Any]) -> DType:
    """For a comparison, whose result does not show it, a dtype that holds every Python int."""
    for value in operands:
        if type(value) is int and dtype.is_int and not fits(value, dtype):
            wider = promote(dtype, dtype_of_scalar(value))
            dtype = wider if wider.is_int else dtype
    return dtype


def _unary(x: UOp) -> UOp:
    raise NotImplementedError


def _binary(x: UOp, other: UOp) -> UOp:
    raise NotImplementedError


_SIGNATURES: dict[int, Callable[..., Any]] = {
    1: _unary,
    2: _binary,
}  # only their parameters are read, for docs and methods


def _elementwise_type(
    op: OpDef, src: tuple[UOp, ...], arity: int, kinds: str, result: Any
) -> tuple[Any, DType]:
    if len(src) != arity:
        raise DTypeError("E2007", f"takes {arity} operands, got {len(src)}", op=op.name)
    first = src[0]
    dtype = first.dtype
    for other in src[1:]:
        if other.dtype is not dtype:
            raise _differ(op, src, "E2004", "dtypes of the operands differ")
        if other.shape != first.shape:
            raise _differ(op, src, "E3001", "shapes of the operands differ")
    if dtype.kind not in kinds:
        raise _bad_kind(op, src, kinds)
    return first.shape, dtype if result is None else result(dtype)


def _differ(op: OpDef, src: tuple[UOp, ...], code: str, problem: str) -> Exception:
    kind = DTypeError if code.startswith("E2") else ShapeError
    return kind(code, problem, op=op.name, operands=zip(_sides(len(src)), src, strict=True))


def _bad_kind(op: OpDef, src: tuple[UOp, ...], kinds: str) -> DTypeError:
    allowed = ", ".join(KIND_NAMES[k] for k in kinds)
    problem = f"dtype {src[0].dtype.name} is not allowed; allowed: {allowed}"
    operands = zip(_sides(len(src)), src, strict=True)
    wanted = dtypes.float32 if "f" in kinds else dtypes.int32
    fix = f"cast first: .cast('{wanted.name if 'i' in kinds or 'f' in kinds else 'bool'}')"
    return DTypeError("E2005", problem, op=op.name, operands=operands, help=fix)


__all__ = ["align", "broadcast_shapes", "common_dtype", "elementwise", "to_float"]
