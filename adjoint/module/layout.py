"""The opcodes of Core v1 that move elements or pick some: shapes, slices, rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.uop import UOp
from adjoint.module.core import check_whole
from adjoint.module.instruction import Instruction, Shape, TensorType, fault
from adjoint.module.numbers import literal_bytes
from adjoint.module.opcode import Contributions, Literal, Types, opcode
from adjoint.module.shapes import (
    check_extents,
    expanded,
    normal_axes,
    reshaped,
    slice_extent,
    squeezed,
)
from adjoint.module.tape import Tape
from adjoint.ops.indexing import gathered
from adjoint.ops.movement import inverse, sliced

# ---- shapes


def _positive_shape(attrs: Any, declared: TensorType) -> None:
    """core-v1: no extent in the attribute is 0."""
    check_whole("Reshape", attrs[0])
    check_extents("Reshape", [n for n in attrs[0] if n != -1], least=1)


@opcode(
    "Reshape",
    "The same elements in row-major order under another shape; one extent may be -1.",
    ("value", "ints"),
    lambda x, attrs, kind, literal: x[0].reshape(kind.shape),
    lambda t, ins, g: [t.reshape(g, t.shape_of(ins.operands[0]))],
    check_strict=_positive_shape,
    normal=lambda attrs, types: (reshaped(types[0].shape, attrs[0]),),
    codes=("E3006", "E3007"),
    rule="g reshaped back",
)
def _reshape_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    check_whole("Reshape", attrs[0])
    shape = reshaped(types[0].shape, attrs[0])
    return TensorType(types[0].dtype, check_extents("Reshape", shape))


@opcode(
    "Transpose",
    "Axes in another order: dimension i of the result is dimension perm[i] of the operand.",
    ("value", "ints"),
    lambda x, attrs, kind, literal: x[0].permute(attrs[0]),
    lambda t, ins, g: [t.transpose(g, inverse(ins.attrs[0]))],
    codes=("E3008",),
    rule="g transposed by the inverse permutation",
)
def _transpose_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    check_whole("Transpose", attrs[0])
    (order,), ((dtype, shape),) = attrs, types
    if sorted(order) != list(range(len(shape))):
        problem = f"Transpose: {list(order)} is not a permutation of the axes 0 to {len(shape) - 1}"
        raise fault("E3008", problem)
    return TensorType(dtype, tuple(shape[a] for a in order))


@opcode(
    "ExpandDims",
    "Dimensions of extent 1 inserted, in ascending order of the axes.",
    ("value", "ints"),
    lambda x, attrs, kind, literal: x[0].reshape(kind.shape),
    lambda t, ins, g: [t.pulled("Squeeze", ins, g, ins.attrs)],
    normal=lambda attrs, types: (expanded(types[0].shape, attrs[0])[1],),
    codes=("E3004", "E3005"),
    rule="Squeeze(g, axes)",
)
def _expand_dims_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    check_whole("ExpandDims", attrs[0])
    shape, _ = expanded(types[0].shape, attrs[0])
    return TensorType(types[0].dtype, check_extents("ExpandDims", shape))


def _squeeze_normal(attrs: Any, types: Types) -> Any:
    return (normal_axes("Squeeze", attrs[0], len(types[0].shape), ordered=True),)


@opcode(
    "Squeeze",
    "Dimensions of extent 1 removed.",
    ("value", "ints"),
    lambda x, attrs, kind, literal: x[0].reshape(kind.shape),
    lambda t, ins, g: [t.pulled("ExpandDims", ins, g, ins.attrs)],
    normal=_squeeze_normal,
    codes=("E3004", "E3005", "E3009"),
    rule="ExpandDims(g, axes)",
)
def _squeeze_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    check_whole("Squeeze", attrs[0])
    return TensorType(types[0].dtype, squeezed(types[0].shape, attrs[0]))


# ---- elements


def check_index(op: str, indices: Any, rank: int) -> None:
    """One index per dimension [E4006]."""
    check_whole(op, indices)
    if len(indices) != rank:
        problem = f"{op}: {len(indices)} indices for a value of rank {rank}"
        raise fault("E4006", problem, "give one index per dimension")


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


@opcode(
    "Index",
    "One element, as a scalar. Its bounds are checked when it is run.",
    ("value", "ints"),
    _index_lower,
    _index_pull,
    codes=("E4006", "E6001"),
    rule="g times a one-hot literal; ScatterIndex in core+g",
)
def _index_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    check_index("Index", attrs[0], len(types[0].shape))
    return TensorType(types[0].dtype, ())


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


def _positive_steps(attrs: Any, declared: TensorType) -> None:
    """core-v1: steps are positive, slices not empty."""
    for step in attrs[0][2]:
        if type(step) is int and step < 0:
            raise fault("E4008", f"Slice: step {step} is not positive", "core-v1 has no others")


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


@opcode(
    "Slice",
    "start:end:step of each dimension; core+g also has negative steps and empty slices.",
    ("value", "slices"),
    _slice_lower,
    lambda t, ins, g: [t.pulled("ScatterSlice", ins, g, (t.shape_of(ins.operands[0]), *ins.attrs))],
    strict_pull=False,
    check_strict=_positive_steps,
    normal=lambda attrs, types: (explicit_steps(attrs[0]),),
    codes=("E4007", "E4008", "E3006", "E6001"),
    rule="ScatterSlice(g, shape, slices)",
)
def _slice_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    check_slices("Slice", attrs[0], len(types[0].shape))
    return TensorType(types[0].dtype, slice_shape(attrs[0], types[0].shape))


def check_gathered(op: str, x: TensorType, index: TensorType) -> None:
    """The index is an integer [E4011], and there is a dimension to index [E3002]."""
    if not index.dtype.is_int:
        raise fault("E4011", f"{op}: the index is {index.dtype.short}, not an integer")
    if not x.shape:
        raise fault("E3002", f"{op}: a scalar has no dimension to index")


@opcode(
    "Gather",
    "Rows of x: the result is idx.shape + x.shape[1:]. Bounds are checked when it is run.",
    ("value", "value"),
    lambda x, attrs, kind, literal: gathered(x[0], (x[1],), (0,)),
    strict_pull=False,
    codes=("E4011", "E3002", "E6001"),
    rule="ScatterAdd(zeros, idx, g): repeated indices accumulate",
)
def _gather_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    x, index = types
    check_gathered("Gather", x, index)
    return TensorType(x.dtype, check_extents("Gather", index.shape + x.shape[1:]))
