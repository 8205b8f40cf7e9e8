"""The opcodes of Core v1: types and their errors, execution, and gradients in the same vocabulary.

Checks run in a fixed order (attributes, dtypes, shapes), so the first error is always the same. A
rule `pull(tape, instruction, g)` emits the contributions of operand 0, then of operand 1. What may
live here: leaves, arithmetic, reductions. `layout.py` and `products.py` have the rest of Core v1,
`extension.py` what only `core+g` has.
"""

from __future__ import annotations

from math import prod
from typing import Any

from adjoint.errors import did_you_mean
from adjoint.ir.dtype import DType, accumulator, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.module.derived_pull import derived_pull
from adjoint.module.instruction import Instruction, Shape, TensorType, fault, shown, size_of
from adjoint.module.numbers import all_finite, exact
from adjoint.module.opcode import OPCODES, Contributions, Literal, Types, opcode
from adjoint.module.shapes import broadcast, check_extents, normal_axes, reduced
from adjoint.module.tape import COMMUTING, Tape

BINOPS = ("Add", "Sub", "Mul", "Div")


def check_whole(op: str, values: Any) -> None:
    """A list of integers, nothing else."""
    if type(values) is not tuple or not all(type(v) is int for v in values):
        raise fault("E2001", f"{op}: expected a list of integers")


def check_dtypes(op: str, a: TensorType, b: TensorType) -> None:
    """Both operands have one dtype [E2004]."""
    if a.dtype is not b.dtype:
        problem = f"{op}: dtypes {a.dtype.short} and {b.dtype.short} differ"
        raise fault("E2004", problem, "Core never converts a dtype by itself")


def check_kind(op: str, dtype: DType, kinds: str, wanted: str) -> None:
    """The dtype is of one of these kinds [E2005]."""
    if dtype.kind not in kinds:
        raise fault("E2005", f"{op}: dtype {dtype.short} is not allowed; it takes {wanted}")


# ---- leaves


def _no_lowering(x: list[UOp], attrs: Any, kind: TensorType, literal: Literal) -> UOp:
    raise fault("E2002", f"input {attrs[0]!r} has no value")


@opcode(
    "Input",
    "A value that is given: its name and its declared type.",
    (),
    _no_lowering,
    stops=True,
    braces=True,
    codes=("E4004", "E3006"),
    rule="none: the gradient is what was asked for",
)
def _input_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    if type(attrs) is not tuple or len(attrs) != 1 or type(attrs[0]) is not str or not attrs[0]:
        raise fault("E4004", "Input: an input has a name", 'write Input() {name: "x"}')
    if not isinstance(declared.dtype, DType):
        raise fault("E4004", "Input: the declared dtype is not known")
    check_extents("Input", declared.shape)
    return declared


def _finite(attrs: Any, declared: TensorType) -> None:
    """core-v1: its texts have no word for an infinity or a NaN."""
    if not all_finite(attrs[0], declared.dtype):
        raise fault("E4005", "core-v1 has no number that is not finite", 'use profile "core+g"')


def _constant(name: str, dtype: DType) -> None:
    scalar = TensorType(dtype, ())

    @opcode(
        name,
        f"A scalar of {dtype.short}.",
        ("number",),
        lambda x, attrs, kind, literal: OPS["const"](attrs[0], dtype, ()),
        stops=True,
        check_strict=_finite,
        codes=("E4005",),
        rule="none: constant",
    )
    def infer(attrs: Any, types: Types, declared: TensorType) -> TensorType:
        exact(attrs[0], dtype)
        return scalar


_constant("ConstI64", dtypes.int64)
_constant("ConstF32", dtypes.float32)
_constant("ConstF64", dtypes.float64)


@opcode(
    "ConstTensor",
    "A literal with every element written out.",
    ("literal",),
    lambda x, attrs, kind, literal: literal(attrs[0], kind),
    stops=True,
    check_strict=_finite,
    codes=("E3010", "E4005", "E3006"),
    rule="none: constant",
)
def _literal_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    dtype, shape = declared
    if not isinstance(dtype, DType):
        raise fault("E2003", "ConstTensor: it needs a declared tensor type")
    check_extents("ConstTensor", shape)
    if type(attrs[0]) is not bytes or len(attrs[0]) != size_of(shape) * dtype.itemsize:
        problem = f"ConstTensor: the data does not have the elements of {shown(dtype, shape)}"
        raise fault("E4005", problem)
    return declared


# ---- arithmetic


def _binop_lower(x: list[UOp], attrs: Any, kind: TensorType, literal: Literal) -> UOp:
    if attrs[0] == "Div":
        return OPS["idiv" if kind.dtype.is_int else "true_div"](*x)
    return OPS[attrs[0].lower()](*x)


def _binop_pull(t: Tape, ins: Instruction, g: int) -> Contributions:
    rule = _BINOP_RULES.get(ins[3][0])
    if rule is None:
        return derived_pull(OPCODES["BinOp"], t, ins, g)
    left, right = rule
    a, b = ins[2]
    wants = t.wants
    return [
        left(t, g, a, b, ins[0]) if wants[a] else None,
        right(t, g, b, a, ins[0]) if wants[b] else None,
    ]


# A rule takes the tape, g, the operand that is asked about, the other one, and the result. Add,
# Mul and Div have what their records say.
_BINOP_RULES: dict[str, tuple[Any, Any]] = {
    "Sub": (
        lambda t, g, x, other, y: t.unbroadcast(g, t.rows[x][4][1]),
        lambda t, g, x, other, y: t.neg(t.unbroadcast(g, t.rows[x][4][1])),
    ),
}


@opcode(
    "BinOp",
    "Add, Sub, Mul or Div of two values of one dtype, broadcast. Integers divide towards zero.",
    ("name", "value", "value"),
    _binop_lower,
    _binop_pull,
    codes=("E2002", "E2004", "E2005", "E3001"),
    rule="Add g, g; Sub g, -g; Mul g*b, g*a; Div g*(1/b), g*(-y/b) (core+g only); un-broadcast",
)
def _binop_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    kind = attrs[0]
    if kind not in BINOPS:
        problem = f"BinOp: no operation is called {kind!r}"
        raise fault("E2002", problem, did_you_mean(str(kind), BINOPS) or "Add, Sub, Mul or Div")
    a, b = types
    dtype, shape = a
    if dtype is not b[0]:
        check_dtypes(f"BinOp({kind})", a, b)
    if dtype.kind == "b" and kind not in COMMUTING:
        check_kind(f"BinOp({kind})", dtype, "iufc", "numbers")
    return a if shape == b[1] else TensorType(dtype, broadcast(shape, b[1]))


def _unary(name: str, doc: str, kinds: str, wanted: str, rule: str, **rest: Any) -> None:
    def lower(x: list[UOp], attrs: Any, kind: TensorType, literal: Literal) -> UOp:
        return OPS[name.lower()](x[0])

    @opcode(name, doc, ("value",), lower, codes=("E2005",), rule=rule, **rest)
    def infer(attrs: Any, types: Types, declared: TensorType) -> TensorType:
        check_kind(name, types[0].dtype, kinds, wanted)
        return types[0]


_unary("Neg", "-x.", "iufc", "numbers", "-g")
_unary("Exp", "e to the x.", "fc", "floats", "g*y")
_unary(
    "Log",
    "The natural logarithm.",
    "fc",
    "floats",
    "g/x",
)
_unary(
    "Relu",
    "max(x, 0); the gradient at 0 is 0.",
    "f",
    "floats",
    "ReluGrad(g, x)",
    pull=lambda t, ins, g: [t.emit("ReluGrad", (g, ins.operands[0]), (), ins.type)],
    strict_pull=False,
)


# ---- reductions


def _reduction_axes(op: str, attrs: Any, rank: int) -> Shape:
    axes, keepdims = attrs
    check_whole(op, axes)
    if type(keepdims) is not bool:
        raise fault("E2001", f"{op}: keepdims is true or false")
    return normal_axes(op, axes, rank, ordered=True) if axes else ()


def _reduction(op: str, doc: str, lower: Any, pull: Any, rule: str) -> None:
    def normal(attrs: Any, types: Types) -> Any:
        return _reduction_axes(op, attrs, len(types[0].shape)), attrs[1]

    args, codes = ("value", "ints", "flag"), ("E2005", "E3004", "E3005")

    @opcode(op, doc, args, lower, pull, normal=normal, codes=codes, rule=rule)
    def infer(attrs: Any, types: Types, declared: TensorType) -> TensorType:
        (x,) = types
        check_kind(op, x.dtype, "iufc", "numbers")
        axes = _reduction_axes(op, attrs, len(x.shape))
        return TensorType(x.dtype, reduced(x.shape, axes, attrs[1]))


def _axes_and_kept(attrs: Any) -> tuple[Any, bool]:
    """As the library names them: None is all."""
    axes, keepdims = attrs
    return (axes, keepdims) if axes else (None, False)


def _sum_lower(x: list[UOp], attrs: Any, kind: TensorType, literal: Literal) -> UOp:
    return x[0].reduce_sum(*_axes_and_kept(attrs)).cast(kind.dtype)


def _mean_lower(x: list[UOp], attrs: Any, kind: TensorType, literal: Literal) -> UOp:
    if kind.dtype.is_inexact:
        return x[0].mean(*_axes_and_kept(attrs))
    total = x[0].reduce_sum(*_axes_and_kept(attrs))
    return total.idiv(_reduced_count(x[0].shape, attrs[0])).cast(kind.dtype)


def _reduced_count(shape: Shape, axes: Shape) -> int:
    """How many elements each result comes from."""
    return prod(shape[a] for a in axes) if axes else size_of(shape)


def _spread_back(t: Tape, ins: Instruction, g: int) -> int:
    """The gradient of a reduction's result, over the operand's shape."""
    axes, keepdims = ins.attrs
    shape = t.shape_of(ins.operands[0])
    if axes and not keepdims and t.shape_of(g):  # a scalar broadcasts as it is
        g = t.expand_dims(g, axes)
    return t.spread(g, shape)


def _mean_pull(t: Tape, ins: Instruction, g: int) -> Contributions:
    count = _reduced_count(t.shape_of(ins.operands[0]), ins.attrs[0])
    if count > 1:
        dtype = ins.type.dtype
        wide = accumulator(dtype)  # a count of 70,000 is no float16
        part = float((wide.np.type(1) / wide.np.type(count)).real)
        scaled = t.mul(t.cast(g, wide), t.constant(part, wide))
        g = t.cast(scaled, dtype)
    return [_spread_back(t, ins, g)]


_reduction(
    "Sum",
    "The sum over axes; no axes mean all, to a scalar. The dtype is kept.",
    _sum_lower,
    lambda t, ins, g: [_spread_back(t, ins, g)],
    "g over the operand's shape",
)
_reduction(
    "Mean",
    "The mean over axes: the sum divided by the number of reduced elements.",
    _mean_lower,
    _mean_pull,
    "g*(1/N) over the operand's shape",
)
