"""Elementwise ops: one rule for promotion, broadcasting and node types, and their maker.

Broadcasting is explicit: an operand that is smaller than the result is wrapped in EXPAND, and a
Python scalar becomes a CONST of the result's shape. The node itself only ever sees equal shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, DTypeError, ShapeError
from adjoint.ir.arg import Arg
from adjoint.ir.axes import same_axes
from adjoint.ir.batch import same_op
from adjoint.ir.derivative import Derivative, Partials
from adjoint.ir.dtype import ALL, DType, dtype_of_scalar, dtypes, fits, promote, promote_scalar
from adjoint.ir.kernel_kind import HOST, Body, Pointwise
from adjoint.ir.opdef import OPS, Bad, OpDef, check_scalar, register
from adjoint.ir.origin import renamed
from adjoint.ir.sizes import cached
from adjoint.ir.storage import refuse_storage
from adjoint.ir.uop import UOp, make_node

Shape = tuple[int, ...]
KIND_NAMES = {"b": "bool", "i": "signed int", "u": "unsigned int", "f": "float", "c": "complex"}
SIDES = {1: ("x",), 2: ("lhs", "rhs"), 3: ("first", "second", "third")}


def broadcast_shapes(op: str, *nodes: UOp) -> tuple[int, ...]:
    """The common shape: right-aligned, equal or 1 in every dimension."""
    shape = _common_shape(*[n.shape for n in nodes])
    if isinstance(shape, int):
        raise _no_broadcast(op, nodes, shape)
    return shape


@cached(4096)
def _common_shape(*shapes: tuple[int, ...]) -> tuple[int, ...] | int:
    """The common shape, or the dimension in which there is none."""
    rank = max(map(len, shapes))
    result = [1] * rank
    for shape in shapes:
        for i, extent in enumerate(shape, rank - len(shape)):
            if extent != 1 and result[i] not in (1, extent):
                return i
            if extent != 1:
                result[i] = extent
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
        raise ArgumentError("E2007", "needs at least one tensor among its operands", op=op)
    result = nodes[0].dtype
    for node in nodes[1:]:
        result = promote(result, node.dtype)
    for value in operands:
        if not isinstance(value, UOp):
            result = promote_scalar(result, check_scalar(op, value))
    return result


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
        node = OPS["cast"].call(node, dtype)
    if node.shape == shape:
        return node
    return make_node(OPS["expand"], (node,), _expand_arg(shape), shape, node.dtype)


@cached(4096)
def _expand_arg(shape: tuple[int, ...]) -> Arg:
    kind = OPS["expand"].arg
    assert kind is not None
    return kind(shape)


def _filled(op: str, value: Any, dtype: DType, shape: tuple[int, ...], device: Any) -> UOp:
    if dtype.is_int and not fits(int(value), dtype):
        problem = f"{value} is not a value of {dtype.name} ({dtype.min} to {dtype.max})"
        fix = f"cast the tensor to a wider dtype first, e.g. .cast('{dtypes.int64.name}')"
        raise ArgumentError("E2006", problem, op=op, help=fix)
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
    cost: int = 1,
    body: Body | None = None,
    on_int: Body | None = None,
    on_bool: Body | None = None,
    formula: Body | None = None,
    of_types: Body | None = None,
    rounds: bool = True,
    exact: bool = False,
    below_zero: Body | None = None,
    **rest: Any,
) -> OpDef:
    """A primitive applied element by element to operands of one dtype.

    `kinds` are the dtype kinds a node accepts; `cast` maps the promoted dtype to the operands'
    (`to_float` for real functions); `result` maps the operands' dtype to the result's;
    `sample_kinds` are the kinds its samples are tried with, by default all that `cast` accepts.
    `cost` to `below_zero` are the fields of `Pointwise`; without a body the reference computes it.
    """
    declared = ad if ad is not None else Partials(partials)  # type: ignore[arg-type]
    if ad is None and partials is None:
        raise ArgumentError("E2007", f"op {name!r} declares no derivative", op=name)
    rules = _Rules(name, arity, kinds, cast, result)
    call, know = _CALLS.get(arity, _any_call)(rules)
    bodies = (body, on_int, on_bool, formula, of_types)
    compiled = any(b is not None for b in bodies)
    options: dict[str, Any] = {
        "level": "both",
        "batch": same_op,
        "errors": _MISMATCH[arity],
        "kernel": Pointwise(cost, *bodies, rounds, exact, below_zero) if compiled else HOST,
        "axes": same_axes,
    } | rest
    record = register(
        OpDef(
            name,
            doc,
            "primitive",
            call=renamed(call, name),
            infer=rules.infer,
            ad=declared,
            reference=reference,
            samples=samples,
            kinds=sample_kinds or (kinds if cast is None else "biuf" + "c" * ("c" in kinds)),
            signature=_SIGNATURES.get(arity),
            **options,
        )
    )
    rules.record = record
    know(record)
    return record


@dataclass(slots=True)
class _Rules:
    """What an elementwise op takes and gives; see `elementwise`."""

    name: str
    arity: int
    kinds: str
    cast: Callable[[DType], DType] | None
    result: Callable[[DType], DType] | None
    record: OpDef = field(init=False)

    def infer(self, src: tuple[UOp, ...], arg: Any) -> tuple[Any, DType]:
        """Shape and dtype of a node."""
        self._check_count(src)
        first = src[0]
        dtype = first.dtype
        for other in src[1:]:
            if other.dtype is not dtype or other.shape != first.shape:
                raise _differ(self.record, src)
        refuse_storage(self.name, src)
        if dtype.kind not in self.kinds:
            raise _bad_kind(self.record, src, self.kinds)
        return first.shape, dtype if self.result is None else self.result(dtype)

    def general(self, *operands: Any) -> UOp:
        """The node on any operands: promoted, spread, checked."""
        self._check_count(operands)
        dtype = common_dtype(self.name, operands)
        if self.result is not None:
            dtype = _wide_enough(dtype, operands)
        return UOp(
            self.record, align(self.name, operands, self.cast(dtype) if self.cast else dtype)
        )

    def _check_count(self, operands: Sequence[Any]) -> None:
        if len(operands) != self.arity:
            problem = f"takes {self.arity} operands, got {len(operands)}"
            raise ArgumentError("E2007", problem, op=self.name)

    def taken(self) -> dict[DType, DType]:
        """The dtypes that need no cast, and the result's for each."""
        plain = [d for d in ALL if d.kind in self.kinds and (not self.cast or self.cast(d) is d)]
        return {d: d if self.result is None else self.result(d) for d in plain}


# Most nodes need no promotion: these calls build them in one frame, without looking twice. A call
# is made before its record, and is told of it.
Call = tuple[Callable[..., UOp], Callable[[OpDef], None]]


def _any_call(rules: _Rules) -> Call:
    def call(*operands: Any) -> UOp:
        return rules.general(*operands)

    return call, lambda record: None


def _unary_call(rules: _Rules) -> Call:
    general, taken = rules.general, rules.taken()
    record: OpDef

    def unary(*operands: Any) -> UOp:
        if len(operands) == 1 and type(operands[0]) is UOp:
            x = operands[0]
            dtype = taken.get(x.dtype)
            if dtype is not None:
                return make_node(record, operands, None, x.shape, dtype)
        return general(*operands)

    def know(made: OpDef) -> None:
        nonlocal record
        record = made

    return unary, know


def _binary_call(rules: _Rules) -> Call:
    name, general, taken = rules.name, rules.general, rules.taken()
    record: OpDef

    def binary(*operands: Any) -> UOp:
        if len(operands) == 2:
            x, other = operands
            same = type(x) is type(other) is UOp and x.dtype is other.dtype
            src = operands if same and x.shape == other.shape else _ready(name, x, other)
            if src is not None:
                x = src[0]
                dtype = taken.get(x.dtype)
                if dtype is not None:
                    return make_node(record, src, None, x.shape, dtype)
        return general(*operands)

    def know(made: OpDef) -> None:
        nonlocal record
        record = made

    return binary, know


_CALLS = {1: _unary_call, 2: _binary_call}


def _ready(op: str, a: Any, b: Any) -> tuple[UOp, ...] | None:
    """The operands of the common cases, which need no promotion: equal dtypes, float and number."""
    if type(a) is UOp:
        if type(b) is UOp:
            return _spread(op, a, b) if a.dtype is b.dtype else None
        return (a, _number(b, a)) if type(b) in _NUMBERS and a.dtype.kind == "f" else None
    if type(a) in _NUMBERS and type(b) is UOp and b.dtype.kind == "f":
        return _number(a, b), b
    return None


def _spread(op: str, a: UOp, b: UOp) -> tuple[UOp, UOp]:
    """Both operands under their common shape."""
    plan = _spreading(a.shape, b.shape)
    if isinstance(plan, int):
        raise _no_broadcast(op, (a, b), plan)
    shape, left, right = plan
    if left is not None:
        a = make_node(OPS["expand"], (a,), left, shape, a.dtype)
    if right is not None:
        b = make_node(OPS["expand"], (b,), right, shape, b.dtype)
    return a, b


@cached(4096)
def _spreading(a: Shape, b: Shape) -> tuple[Shape, Arg | None, Arg | None] | int:
    """The common shape and, per operand, the attributes of its EXPAND; or where there is none."""
    shape = _common_shape(a, b)
    if isinstance(shape, int):
        return shape
    left, right = (None if own == shape else _expand_arg(shape) for own in (a, b))
    return shape, left, right


_NUMBERS = (float, int)


def _number(value: float, like: UOp) -> UOp:
    """A constant beside a float. The cache cannot tell 0.0 from -0.0; 1 and 1.0 are one float."""
    make = _known_number if value else _make_number
    return make(value, like.dtype, like.shape, like.device)


def _make_number(value: float, dtype: DType, shape: tuple[int, ...], device: Any) -> UOp:
    return OPS["const"].call(value, dtype, shape, device)


_known_number = cached(1024)(_make_number)


_MISMATCH = {  # the errors of an op that writes none
    1: (),
    2: (Bad("E3001", (np.zeros((2, 3)), np.zeros((2, 4))), match="dimension 1"),),
}


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


def _differ(op: OpDef, src: tuple[UOp, ...]) -> Exception:
    operands = list(zip(_sides(len(src)), src, strict=True))
    if any(s.dtype is not src[0].dtype for s in src):
        return DTypeError("E2004", "dtypes of the operands differ", op=op.name, operands=operands)
    return ShapeError("E3001", "shapes of the operands differ", op=op.name, operands=operands)


def _bad_kind(op: OpDef, src: tuple[UOp, ...], kinds: str) -> DTypeError:
    allowed = ", ".join(KIND_NAMES[k] for k in kinds)
    problem = f"dtype {src[0].dtype.name} is not allowed; allowed: {allowed}"
    operands = zip(_sides(len(src)), src, strict=True)
    wanted = dtypes.float32 if "f" in kinds else dtypes.int32
    fix = f"cast first: .cast('{wanted.name if 'i' in kinds or 'f' in kinds else 'bool'}')"
    return DTypeError("E2005", problem, op=op.name, operands=operands, help=fix)
