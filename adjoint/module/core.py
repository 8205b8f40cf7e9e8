"""The opcodes of Core v1: types and their errors, execution, and gradients in the same vocabulary.

Checks run in a fixed order (attributes, dtypes, shapes), so the first error is always the same one.
A rule `pull(tape, instruction, g)` emits the contributions of operand 0, then of operand 1. What may
live here: these records. What may not: the opcodes that only `core+g` has.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from adjoint.errors import did_you_mean
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.module.instruction import Instruction, Shape, TensorType, fault, shown, size_of
from adjoint.module.numbers import exact, literal_bytes
from adjoint.module.opcode import Contributions, Literal, Opcode, Types, define
from adjoint.module.shapes import (
    broadcast,
    check_extents,
    expanded,
    normal_axes,
    reduced,
    reshaped,
    slice_extent,
    squeezed,
    window_extents,
    window_padding,
)
from adjoint.module.tape import Tape
from adjoint.ops.indexing import gathered
from adjoint.ops.movement import inverse, padded, sliced

BINOPS = ("Add", "Sub", "Mul", "Div")
COMMUTING = ("Add", "Mul")


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


def _input_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    if type(attrs) is not tuple or len(attrs) != 1 or type(attrs[0]) is not str or not attrs[0]:
        raise fault("E4004", "Input: an input has a name", 'write Input() {name: "x"}')
    if not isinstance(declared.dtype, DType):
        raise fault("E4004", "Input: the declared dtype is not known")
    check_extents("Input", declared.shape)
    return declared


def _no_lowering(x: list[UOp], attrs: Any, kind: TensorType, literal: Literal) -> UOp:
    raise fault("E2002", f"input {attrs[0]!r} has no value")


define(
    Opcode(
        "Input",
        "A value that is given: its name and its declared type.",
        (),
        _input_type,
        _no_lowering,
        stops=True,
        braces=True,
        codes=("E4004", "E3006"),
        rule="none: the gradient is what was asked for",
    )
)


def _constant(name: str, dtype: DType) -> None:
    kind = TensorType(dtype, ())

    def infer(attrs: Any, types: Types, declared: TensorType) -> TensorType:
        exact(attrs[0], dtype)
        return kind

    def lower(x: list[UOp], attrs: Any, kind: TensorType, literal: Literal) -> UOp:
        return OPS["const"](attrs[0], dtype, ())

    doc = f"A scalar of {dtype.short}."
    define(
        Opcode(
            name, doc, ("number",), infer, lower, stops=True, codes=("E4005",), rule="none: constant"
        )
    )


_constant("ConstI64", dtypes.int64)
_constant("ConstF32", dtypes.float32)
_constant("ConstF64", dtypes.float64)


def _literal_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    dtype, shape = declared
    if not isinstance(dtype, DType):
        raise fault("E2003", "ConstTensor: it needs a declared tensor type")
    check_extents("ConstTensor", shape)
    if type(attrs[0]) is not bytes or len(attrs[0]) != size_of(shape) * dtype.itemsize:
        problem = f"ConstTensor: the data does not have the elements of {shown(dtype, shape)}"
        raise fault("E4005", problem)
    return declared


define(
    Opcode(
        "ConstTensor",
        "A literal with every element written out.",
        ("literal",),
        _literal_type,
        lambda x, attrs, kind, literal: literal(attrs[0], kind),
        stops=True,
        codes=("E3010", "E4005", "E3006"),
        rule="none: constant",
    )
)


# ---- arithmetic


def _binop_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    kind = attrs[0]
    if kind not in BINOPS:
        problem = f"BinOp: no operation is called {kind!r}"
        raise fault("E2002", problem, did_you_mean(str(kind), BINOPS) or "Add, Sub, Mul or Div")
    a, b = types
    if a.dtype is not b.dtype:
        check_dtypes(f"BinOp({kind})", a, b)
    if kind in ("Sub", "Div"):
        check_kind(f"BinOp({kind})", a.dtype, "iufc", "numbers")
    return a if a[1] == b[1] else TensorType(a[0], broadcast(a[1], b[1]))


def _binop_lower(x: list[UOp], attrs: Any, kind: TensorType, literal: Literal) -> UOp:
    if attrs[0] == "Div":
        return OPS["idiv" if kind.dtype.is_int else "true_div"](*x)
    return OPS[attrs[0].lower()](*x)


def _binop_pull(t: Tape, ins: Instruction, g: int) -> Contributions:
    (kind,), (a, b) = ins.attrs, ins.operands
    return [
        _BINOP_RULES[kind][side](t, ins, g) if t.wants[operand] else None
        for side, operand in enumerate((a, b))
    ]


def _passed(side: int, *, negative: bool = False) -> Any:
    def rule(t: Tape, ins: Instruction, g: int) -> int:
        value = t.unbroadcast(g, t.shape_of(ins.operands[side]))
        return t.neg(value) if negative else value

    return rule


def _product(side: int) -> Any:
    def rule(t: Tape, ins: Instruction, g: int) -> int:
        shape = t.shape_of(ins.operands[side])
        return t.unbroadcast(t.mul(g, ins.operands[1 - side]), shape)

    return rule


def _numerator(t: Tape, ins: Instruction, g: int) -> int:
    a, b = ins.operands
    return t.unbroadcast(t.div(g, b), t.shape_of(a))


def _denominator(t: Tape, ins: Instruction, g: int) -> int:
    """-y/b before g: a large y does not overflow on the way."""
    b = ins.operands[1]
    return t.unbroadcast(t.mul(g, t.div(t.neg(ins.id), b)), t.shape_of(b))


_BINOP_RULES: dict[str, tuple[Any, Any]] = {
    "Add": (_passed(0), _passed(1)),
    "Sub": (_passed(0), _passed(1, negative=True)),
    "Mul": (_product(0), _product(1)),
    "Div": (_numerator, _denominator),
}
define(
    Opcode(
        "BinOp",
        "Add, Sub, Mul or Div of two values of one dtype, broadcast. Integers divide towards zero.",
        ("name", "value", "value"),
        _binop_type,
        _binop_lower,
        _binop_pull,
        codes=("E2002", "E2004", "E2005", "E3001"),
        rule="Add g, g; Sub g, -g; Mul g*b, g*a; Div g/b, g*(-y/b) (core+g only); un-broadcast",
    )
)


def _unary(name: str, doc: str, kinds: str, wanted: str, pull: Any, rule: str, **rest: Any) -> None:
    def infer(attrs: Any, types: Types, declared: TensorType) -> TensorType:
        check_kind(name, types[0].dtype, kinds, wanted)
        return types[0]

    def lower(x: list[UOp], attrs: Any, kind: TensorType, literal: Literal) -> UOp:
        return OPS[name.lower()](x[0])

    define(
        Opcode(name, doc, ("value",), infer, lower, pull, codes=("E2005",), rule=rule, **rest)
    )


def _relu_pull(t: Tape, ins: Instruction, g: int) -> Contributions:
    return [t.emit("ReluGrad", (g, ins.operands[0]), (), ins.type)]


_unary("Neg", "-x.", "iufc", "numbers", lambda t, ins, g: [t.neg(g)], "-g")
_unary("Exp", "e to the x.", "fc", "floats", lambda t, ins, g: [t.mul(g, ins.id)], "g*y")
_unary(
    "Log",
    "The natural logarithm.",
    "fc",
    "floats",
    lambda t, ins, g: [t.div(g, ins.operands[0])],
    "g/x",
)
_unary(
    "Relu",
    "max(x, 0); the gradient at 0 is 0.",
    "f",
    "floats",
    _relu_pull,
    "ReluGrad(g, x)",
    strict_pull=False,
)


# ---- reductions


def _reduction_axes(op: str, attrs: Any, rank: int) -> Shape:
    axes, keepdims = attrs
    check_whole(op, axes)
    if type(keepdims) is not bool:
        raise fault("E2001", f"{op}: keepdims is true or false")
    return normal_axes(op, axes, rank, ordered=True) if axes else ()


def _reduction_type(op: str) -> Any:
    def infer(attrs: Any, types: Types, declared: TensorType) -> TensorType:
        (x,) = types
        check_kind(op, x.dtype, "iufc", "numbers")
        axes = _reduction_axes(op, attrs, len(x.shape))
        return TensorType(x.dtype, reduced(x.shape, axes, attrs[1]))

    return infer


def _reduction_normal(op: str) -> Any:
    def normal(attrs: Any, types: Types) -> Any:
        axes = _reduction_axes(op, attrs, len(types[0].shape))
        return attrs if axes == attrs[0] else (axes, attrs[1])

    return normal


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
        with np.errstate(all="ignore"):
            part = float(ins.type.dtype.np.type(1) / ins.type.dtype.np.type(count))
        g = t.mul(g, t.constant(part, ins.type.dtype))
    return [_spread_back(t, ins, g)]


_REDUCTION = ("value", "ints", "flag")
define(
    Opcode(
        "Sum",
        "The sum over axes; no axes mean all, to a scalar. The dtype is kept.",
        _REDUCTION,
        _reduction_type("Sum"),
        _sum_lower,
        lambda t, ins, g: [_spread_back(t, ins, g)],
        normal=_reduction_normal("Sum"),
        codes=("E2005", "E3004", "E3005"),
        rule="g over the operand's shape",
    )
)
define(
    Opcode(
        "Mean",
        "The mean over axes: the sum divided by the number of reduced elements.",
        _REDUCTION,
        _reduction_type("Mean"),
        _mean_lower,
        _mean_pull,
        normal=_reduction_normal("Mean"),
        codes=("E2005", "E3004", "E3005"),
        rule="g*(1/N) over the operand's shape",
    )
)


# ---- shapes


def _reshape_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    check_whole("Reshape", attrs[0])
    shape = reshaped(types[0].shape, attrs[0])
    return TensorType(types[0].dtype, check_extents("Reshape", shape))


def positive_shape(op: str) -> Any:
    """core-v1: no extent in the attribute is 0."""

    def check(attrs: Any) -> None:
        check_whole(op, attrs[0])
        check_extents(op, [n for n in attrs[0] if n != -1], least=1)

    return check


define(
    Opcode(
        "Reshape",
        "The same elements in row-major order under another shape; one extent may be -1.",
        ("value", "ints"),
        _reshape_type,
        lambda x, attrs, kind, literal: x[0].reshape(kind.shape),
        lambda t, ins, g: [t.reshape(g, t.shape_of(ins.operands[0]))],
        check_strict=positive_shape("Reshape"),
        normal=lambda attrs, types: (reshaped(types[0].shape, attrs[0]),),
        codes=("E3006", "E3007"),
        rule="g reshaped back",
    )
)


def _transpose_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    check_whole("Transpose", attrs[0])
    (order,), ((dtype, shape),) = attrs, types
    if sorted(order) != list(range(len(shape))):
        problem = f"Transpose: {list(order)} is not a permutation of the axes 0 to {len(shape) - 1}"
        raise fault("E3008", problem)
    return TensorType(dtype, tuple(shape[a] for a in order))


define(
    Opcode(
        "Transpose",
        "Axes in another order: dimension i of the result is dimension perm[i] of the operand.",
        ("value", "ints"),
        _transpose_type,
        lambda x, attrs, kind, literal: x[0].permute(attrs[0]),
        lambda t, ins, g: [t.transpose(g, inverse(ins.attrs[0]))],
        codes=("E3008",),
        rule="g transposed by the inverse permutation",
    )
)


def _expand_dims_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    check_whole("ExpandDims", attrs[0])
    shape, _ = expanded(types[0].shape, attrs[0])
    return TensorType(types[0].dtype, check_extents("ExpandDims", shape))


def _expand_dims_pull(t: Tape, ins: Instruction, g: int) -> Contributions:
    kind = t.type_of(ins.operands[0])
    return [t.emit("Squeeze", (g,), ins.attrs, kind)]


define(
    Opcode(
        "ExpandDims",
        "Dimensions of extent 1 inserted, in ascending order of the axes.",
        ("value", "ints"),
        _expand_dims_type,
        lambda x, attrs, kind, literal: x[0].reshape(kind.shape),
        _expand_dims_pull,
        normal=lambda attrs, types: (expanded(types[0].shape, attrs[0])[1],),
        codes=("E3004", "E3005"),
        rule="Squeeze(g, axes)",
    )
)


def _squeeze_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    check_whole("Squeeze", attrs[0])
    return TensorType(types[0].dtype, squeezed(types[0].shape, attrs[0]))


def _squeeze_normal(attrs: Any, types: Types) -> Any:
    return (normal_axes("Squeeze", attrs[0], len(types[0].shape), ordered=True),)


define(
    Opcode(
        "Squeeze",
        "Dimensions of extent 1 removed.",
        ("value", "ints"),
        _squeeze_type,
        lambda x, attrs, kind, literal: x[0].reshape(kind.shape),
        lambda t, ins, g: [t.emit("ExpandDims", (g,), ins.attrs, t.type_of(ins.operands[0]))],
        normal=_squeeze_normal,
        codes=("E3004", "E3005", "E3009"),
        rule="ExpandDims(g, axes)",
    )
)


# ---- elements


def check_index(op: str, indices: Any, rank: int) -> None:
    """One index per dimension [E4006]."""
    check_whole(op, indices)
    if len(indices) != rank:
        problem = f"{op}: {len(indices)} indices for a value of rank {rank}"
        raise fault("E4006", problem, "give one index per dimension")


def _index_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    check_index("Index", attrs[0], len(types[0].shape))
    return TensorType(types[0].dtype, ())


def check_bounds(op: str, indices: Shape, shape: Shape) -> None:
    """The element exists [E6001]."""
    for dim, (index, extent) in enumerate(zip(indices, shape, strict=True)):
        if not 0 <= index < extent:
            problem = f"{op}: index {index} is outside dimension {dim} of extent {extent}"
            raise fault("E6001", problem)


def _index_lower(x: list[UOp], attrs: Any, kind: TensorType, literal: Literal) -> UOp:
    check_bounds("Index", attrs[0], x[0].shape)
    stop = [i + 1 for i in attrs[0]]
    return sliced(x[0], attrs[0], stop, (1,) * len(stop)).reshape(())


def _index_pull(t: Tape, ins: Instruction, g: int) -> Contributions:
    (indices,), kind = ins.attrs, t.type_of(ins.operands[0])
    if not t.strict:
        return [t.emit("ScatterIndex", (g,), (kind.shape, indices), kind)]
    check_bounds("Index", indices, kind.shape)
    one = np.zeros(t.fits(kind.shape), kind.dtype.np)
    one[indices] = 1
    return [t.mul(g, t.literal(literal_bytes(one, kind.dtype), kind))]


define(
    Opcode(
        "Index",
        "One element, as a scalar. Its bounds are checked when it is run.",
        ("value", "ints"),
        _index_type,
        _index_lower,
        _index_pull,
        codes=("E4006", "E6001"),
        rule="g times a one-hot literal; ScatterIndex in core+g",
    )
)


def check_slices(op: str, slices: Any, rank: int) -> None:
    """One start, end and step per dimension [E4007], and no step 0 [E4008]."""
    starts, ends, steps = slices
    for values in (starts, ends, [1 if s is None else s for s in steps]):
        check_whole(op, tuple(values))
    if not len(starts) == len(ends) == len(steps) == rank:
        problem = f"{op}: {len(starts)} slices for a value of rank {rank}"
        raise fault("E4007", problem, "give start:end:step for each dimension")
    if 0 in steps:
        raise fault("E4008", f"{op}: a step is 0")


def slice_shape(slices: Any, shape: Shape) -> Shape:
    """The shape of a slice."""
    return tuple(
        slice_extent(a, b, 1 if s is None else s, n)
        for a, b, s, n in zip(*slices, shape, strict=True)
    )


def explicit_steps(slices: Any) -> Any:
    """C1: a step left out is 1."""
    starts, ends, steps = slices
    return starts, ends, tuple(1 if s is None else s for s in steps)


def _slice_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    check_slices("Slice", attrs[0], len(types[0].shape))
    return TensorType(types[0].dtype, slice_shape(attrs[0], types[0].shape))


def positive_steps(op: str) -> Any:
    """core-v1: steps are positive, slices not empty."""

    def check(attrs: Any) -> None:
        for step in attrs[-1][2]:
            if type(step) is int and step < 0:
                raise fault("E4008", f"{op}: step {step} is not positive", "core-v1 has no others")

    return check


def slice_places(slices: Any, shape: Shape) -> tuple[Any, Shape]:
    """Starts, ends and steps that run upwards, and the axes to flip afterwards."""
    starts, ends, steps, flips = [], [], [], []
    for axis, (a, b, s, n) in enumerate(zip(*explicit_steps(slices), shape, strict=True)):
        count = slice_extent(a, b, s, n)
        first = a if s > 0 or not count else a + (count - 1) * s
        starts.append(first if count else 0)
        ends.append((b if s > 0 else a + 1) if count else 0)
        steps.append(abs(s))
        flips += [axis] if s < 0 else []
    return (starts, ends, steps), tuple(flips)


def _slice_lower(x: list[UOp], attrs: Any, kind: TensorType, literal: Literal) -> UOp:
    places, flips = slice_places(attrs[0], x[0].shape)
    return sliced(x[0], *places).flip(flips)


def _slice_pull(t: Tape, ins: Instruction, g: int) -> Contributions:
    kind = t.type_of(ins.operands[0])
    return [t.emit("ScatterSlice", (g,), (kind.shape, ins.attrs[0]), kind)]


define(
    Opcode(
        "Slice",
        "start:end:step of each dimension; core+g also has negative steps and empty slices.",
        ("value", "slices"),
        _slice_type,
        _slice_lower,
        _slice_pull,
        strict_pull=False,
        check_strict=positive_steps("Slice"),
        normal=lambda attrs, types: (explicit_steps(attrs[0]),),
        codes=("E4007", "E4008", "E3006", "E6001"),
        rule="ScatterSlice(g, shape, slices)",
    )
)


def check_gathered(op: str, x: TensorType, index: TensorType) -> None:
    """The index is an integer [E4011], and there is a dimension to index [E3002]."""
    if not index.dtype.is_int:
        raise fault("E4011", f"{op}: the index is {index.dtype.short}, not an integer")
    if not x.shape:
        raise fault("E3002", f"{op}: a scalar has no dimension to index")


def _gather_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    x, index = types
    check_gathered("Gather", x, index)
    return TensorType(x.dtype, check_extents("Gather", index.shape + x.shape[1:]))


def _gather_pull(t: Tape, ins: Instruction, g: int) -> Contributions:
    x, index = ins.operands
    kind = t.type_of(x)
    zeros = t.filled(0.0, kind)
    return [t.emit("ScatterAdd", (zeros, index, g), (), kind), None]


define(
    Opcode(
        "Gather",
        "Rows of x: the result is idx.shape + x.shape[1:]. Bounds are checked when it is run.",
        ("value", "value"),
        _gather_type,
        lambda x, attrs, kind, literal: gathered(x[0], (x[1],), (0,)),
        _gather_pull,
        strict_pull=False,
        codes=("E4011", "E3002", "E6001"),
        rule="ScatterAdd(zeros, idx, g): repeated indices accumulate",
    )
)


# ---- products


def _inner(op: str, k: int, other: int) -> None:
    if k != other:
        problem = f"{op}: inner dimensions {k} and {other} differ"
        raise fault("E3003", problem, f"{k} must equal {other}")


def _dot_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    a, b = types
    check_dtypes("Dot", a, b)
    check_kind("Dot", a.dtype, "iufc", "numbers")
    ranks = (len(a.shape), len(b.shape))
    if ranks not in ((1, 1), (2, 1), (1, 2), (2, 2)):
        problem = f"Dot: ranks {ranks[0]} and {ranks[1]} are not vectors and matrices"
        raise fault("E3002", problem, "use MatMul for batches")
    _inner("Dot", a.shape[-1], b.shape[0])
    return TensorType(a.dtype, a.shape[:-1] + b.shape[1:])


def _dot_pull(t: Tape, ins: Instruction, g: int) -> Contributions:
    a, b = ins.operands
    left, right = len(t.shape_of(a)), len(t.shape_of(b))
    if left == right == 2:
        return _matmul_pull(t, ins, g)
    da = db = None
    if t.wants[a]:
        if left == 2:
            da = _outer(t, g, b)
        else:
            da = t.mul(g, b) if right == 1 else t.dot(g, t.matrix_transpose(b))
    if t.wants[b]:
        if right == 2:
            db = _outer(t, a, g)
        else:
            db = t.mul(g, a) if left == 1 else t.dot(t.matrix_transpose(a), g)
    return [da, db]


def _outer(t: Tape, column: int, row: int) -> int:
    """The outer product of two vectors."""
    return t.mul(t.expand_dims(column, (1,)), t.expand_dims(row, (0,)))


define(
    Opcode(
        "Dot",
        "The inner product of vectors, matrix and vector, vector and matrix, or two matrices.",
        ("value", "value"),
        _dot_type,
        lambda x, attrs, kind, literal: OPS["matmul"](*x),
        _dot_pull,
        codes=("E2004", "E3002", "E3003"),
        rule="g*b, g*a; outer(g, b), Dot(aᵀ, g); Dot(g, bᵀ), outer(a, g); as MatMul",
    )
)


def _matmul_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    a, b = types
    check_dtypes("MatMul", a, b)
    check_kind("MatMul", a.dtype, "iufc", "numbers")
    for kind in (a, b):
        if len(kind.shape) < 2:
            problem = f"MatMul: an operand has rank {len(kind.shape)}, it needs 2 or more"
            raise fault("E3002", problem, "use Dot for vectors")
    _inner("MatMul", a.shape[-1], b.shape[-2])
    batch = broadcast(a.shape[:-2], b.shape[:-2])
    return TensorType(a.dtype, (*batch, a.shape[-2], b.shape[-1]))


def _matmul_pull(t: Tape, ins: Instruction, g: int) -> Contributions:
    a, b = ins.operands
    da = db = None
    if t.wants[a]:
        da = t.unbroadcast(t.matmul(g, t.matrix_transpose(b)), t.shape_of(a))
    if t.wants[b]:
        db = t.unbroadcast(t.matmul(t.matrix_transpose(a), g), t.shape_of(b))
    return [da, db]


define(
    Opcode(
        "MatMul",
        "The matrix product of the last two axes; the batch axes in front broadcast.",
        ("value", "value"),
        _matmul_type,
        lambda x, attrs, kind, literal: OPS["matmul"](*x),
        _matmul_pull,
        codes=("E2004", "E3002", "E3003", "E3001"),
        rule="MatMul(g, bᵀ), MatMul(aᵀ, g); un-broadcast over the batch",
    )
)


# ---- convolution: x is N, H, W, C; w is H, W, C, F


def check_conv(op: str, strides: Any, padding: Any) -> None:
    """Two positive strides [E4010]; a padding that is not negative."""
    if type(strides) is not tuple or len(strides) != 2 or min(strides) < 1:
        problem = f"{op}: it takes two positive strides"
        raise fault("E4010", problem)
    if padding not in ("Same", "Valid"):
        check_whole(op, tuple(n for pair in padding for n in pair))
        if [len(pair) for pair in padding] != [2, 2] or min(map(min, padding)) < 0:
            raise fault("E4010", f"{op}: a custom padding is two pairs of numbers that are not negative")


def conv_shape(x: Shape, w: Shape, strides: Shape, padding: Any) -> Shape:
    """The result of a convolution [E3002, E4009]."""
    for shape, what in ((x, "input"), (w, "filter")):
        if len(shape) != 4:
            raise fault("E3002", f"Conv2d: the {what} has rank {len(shape)}, not 4")
    if x[3] != w[2]:
        problem = f"Conv2d: the input has {x[3]} channels, the filter {w[2]}"
        raise fault("E4009", problem, "the input is [N, H, W, C], the filter [H, W, C, F]")
    return (x[0], *window_extents(padding, x[1:3], w[:2], strides), w[3])


def _conv_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    x, w = types
    check_conv("Conv2d", *attrs)
    check_dtypes("Conv2d", x, w)
    check_kind("Conv2d", x.dtype, "iufc", "numbers")
    return TensorType(x.dtype, check_extents("Conv2d", conv_shape(x.shape, w.shape, *attrs)))


def conv_windows(x: UOp, kernel: Shape, strides: Shape, padding: Any) -> UOp:
    """The windows of an input: N, Ho, Wo, C, Hk, Wk."""
    (top, bottom), (left, right) = window_padding(padding, x.shape[1:3], kernel, strides)
    wide = padded(x, (0, top, left, 0), (0, bottom, right, 0))
    return wide.window((1, 2), kernel, strides)


def _conv_lower(x: list[UOp], attrs: Any, kind: TensorType, literal: Literal) -> UOp:
    windows = conv_windows(x[0], x[1].shape[:2], *attrs)
    return windows.contract(x[1], "nxyckl,klcf->nxyf")


def _conv_pull(t: Tape, ins: Instruction, g: int) -> Contributions:
    x, w = ins.operands
    dx = dw = None
    if t.wants[x]:
        kind = t.type_of(x)
        dx = t.emit("Conv2dBackwardInput", (g, w), (kind.shape, *ins.attrs), kind)
    if t.wants[w]:
        kind = t.type_of(w)
        dw = t.emit("Conv2dBackwardFilter", (x, g), (kind.shape, *ins.attrs), kind)
    return [dx, dw]


define(
    Opcode(
        "Conv2d",
        "Convolution of [N, H, W, C] with [H, W, C, F].",
        ("value", "value", "ints", "padding"),
        _conv_type,
        _conv_lower,
        _conv_pull,
        strict_pull=False,
        codes=("E4010", "E2004", "E3002", "E4009", "E3006"),
        rule="Conv2dBackwardInput(g, w, ..), Conv2dBackwardFilter(x, g, ..)",
    )
)
