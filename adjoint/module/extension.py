"""The opcodes that `core+g` adds, so that every gradient of Core v1 can be written down.

Each is the adjoint of a Core opcode and has a rule of its own, so gradient modules can be
differentiated again. What may live here: these records.
"""

from __future__ import annotations

from typing import Any

from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.module.core import check_dtypes, check_kind, check_whole
from adjoint.module.instruction import Instruction, Shape, TensorType, fault
from adjoint.module.layout import (
    check_bounds,
    check_gathered,
    check_index,
    check_slices,
    explicit_steps,
    slice_places,
    slice_shape,
)
from adjoint.module.opcode import Contributions, Literal, Types, opcode
from adjoint.module.products import check_conv, conv_shape, conv_windows
from adjoint.module.shapes import broadcast, check_extents, window_padding
from adjoint.module.tape import Tape
from adjoint.ops.indexing import scattered
from adjoint.ops.movement import padded, sliced


def _checked_target(op: str, shape: Any) -> Shape:
    check_whole(op, shape)
    return check_extents(op, shape)


def _same_shape(op: str, found: Shape, wanted: Shape) -> None:
    if found != wanted:
        problem = f"{op}: the operand has the shape {list(found)}, not {list(wanted)}"
        raise fault("E3003", problem)


# ---- Broadcast


@opcode(
    "Broadcast",
    "The value repeated to a shape it broadcasts to.",
    ("value", "ints"),
    lambda x, attrs, kind, literal: x[0].expand(kind.shape),
    strict=False,
    codes=("E3001", "E3006"),
    rule="g un-broadcast",
)
def _broadcast_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    shape = _checked_target("Broadcast", attrs[0])
    (x,) = types
    if len(x.shape) > len(shape) or broadcast(x.shape, shape) != shape:
        problem = f"Broadcast: {list(x.shape)} does not broadcast to {list(shape)}"
        raise fault("E3001", problem, "only extents of 1 and new leading dimensions are repeated")
    return TensorType(x.dtype, shape)


# ---- ReluGrad


def _relu_grad_pull(t: Tape, ins: Instruction, h: int) -> Contributions:
    """Piecewise constant in x: nothing for it."""
    g, x = ins.operands
    return [t.emit("ReluGrad", (h, x), (), ins.type) if t.wants[g] else None, None]


@opcode(
    "ReluGrad",
    "g where x > 0, else 0.",
    ("value", "value"),
    lambda x, attrs, kind, literal: (x[1] > 0).where(x[0], 0),
    _relu_grad_pull,
    strict=False,
    codes=("E2004", "E2005", "E3003"),
    rule="ReluGrad(h, x), none",
)
def _relu_grad_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    g, x = types
    check_dtypes("ReluGrad", g, x)
    check_kind("ReluGrad", x.dtype, "f", "floats")
    _same_shape("ReluGrad", g.shape, x.shape)
    return x


# ---- the adjoints of Slice, Index and Gather


def _scatter_slice_lower(x: list[UOp], attrs: Any, kind: TensorType, literal: Literal) -> UOp:
    (starts, _, steps), flips = slice_places(attrs[1], kind.shape)
    g = x[0].flip(flips)
    after = [
        n - a - ((m - 1) * s + 1 if m else 0)
        for n, a, m, s in zip(kind.shape, starts, g.shape, steps, strict=True)
    ]
    return padded(
        g, starts, after, [s - 1 if m > 1 else 0 for s, m in zip(steps, g.shape, strict=True)]
    )


@opcode(
    "ScatterSlice",
    "Zeros of a shape with g in the place of a slice.",
    ("value", "ints", "slices"),
    _scatter_slice_lower,
    lambda t, ins, h: [t.pulled("Slice", ins, h, ins.attrs[1:])],
    strict=False,
    normal=lambda attrs, types: (attrs[0], explicit_steps(attrs[1])),
    codes=("E3006", "E4007", "E4008", "E3003", "E6001"),
    rule="Slice(h, slices)",
)
def _scatter_slice_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    shape, slices = attrs
    check_slices("ScatterSlice", slices, len(_checked_target("ScatterSlice", shape)))
    _same_shape("ScatterSlice", types[0].shape, slice_shape(slices, shape))
    return TensorType(types[0].dtype, shape)


def _scatter_index_lower(x: list[UOp], attrs: Any, kind: TensorType, literal: Literal) -> UOp:
    shape, indices = attrs
    check_bounds("ScatterIndex", indices, shape)
    after = [n - i - 1 for n, i in zip(shape, indices, strict=True)]
    return padded(x[0].reshape((1,) * len(shape)), indices, after)


@opcode(
    "ScatterIndex",
    "Zeros of a shape with the scalar g at one place.",
    ("value", "ints", "ints"),
    _scatter_index_lower,
    lambda t, ins, h: [t.pulled("Index", ins, h, ins.attrs[1:])],
    strict=False,
    codes=("E3006", "E4006", "E3003", "E6001"),
    rule="Index(h, indices)",
)
def _scatter_index_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    shape, indices = attrs
    check_index("ScatterIndex", indices, len(_checked_target("ScatterIndex", shape)))
    _same_shape("ScatterIndex", types[0].shape, ())
    return TensorType(types[0].dtype, shape)


@opcode(
    "ScatterAdd",
    "x with the rows of g added at the indices; repeated indices accumulate.",
    ("value", "value", "value"),
    lambda x, attrs, kind, literal: scattered(x[0], (x[1],), x[2], (0,), "add"),
    strict=False,
    codes=("E4011", "E3002", "E2004", "E3003", "E6001"),
    rule="h, none, Gather(h, idx)",
)
def _scatter_add_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    x, index, g = types
    check_gathered("ScatterAdd", x, index)
    check_dtypes("ScatterAdd", x, g)
    _same_shape("ScatterAdd", g.shape, index.shape + x.shape[1:])
    return x


# ---- the adjoints of Conv2d


def _back_input_lower(x: list[UOp], attrs: Any, kind: TensorType, literal: Literal) -> UOp:
    """The windows' gradients added back where the windows came from, without the padding."""
    (shape, strides, padding), (g, w) = attrs, x
    (top, bottom), (left, right) = window_padding(padding, shape[1:3], w.shape[:2], strides)
    n, height, width, channels = shape
    wide = (n, height + top + bottom, width + left + right, channels)
    windows = g.contract(w, "nxyf,klcf->nxyckl")
    whole = windows.fold(wide, (1, 2), w.shape[:2], strides)
    return sliced(whole, (0, top, left, 0), (n, top + height, left + width, channels), (1,) * 4)


def _back_input_pull(t: Tape, ins: Instruction, h: int) -> Contributions:
    (_, strides, padding), (g, w) = ins.attrs, ins.operands
    dg = dw = None
    if t.wants[g]:
        dg = t.emit("Conv2d", (h, w), (strides, padding), t.type_of(g))
    if t.wants[w]:
        kind = t.type_of(w)
        dw = t.emit("Conv2dBackwardFilter", (h, g), (kind.shape, strides, padding), kind)
    return [dg, dw]


_BACKWARD = ("value", "value", "ints", "ints", "padding")
_CONV_CODES = ("E4010", "E2004", "E3002", "E3006", "E4009", "E3003")


@opcode(
    "Conv2dBackwardInput",
    "The gradient of a convolution's input, of this shape, from that of its result.",
    _BACKWARD,
    _back_input_lower,
    _back_input_pull,
    strict=False,
    codes=_CONV_CODES,
    rule="Conv2d(h, w, ..), Conv2dBackwardFilter(h, g, ..)",
)
def _back_input_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    (shape, strides, padding), (g, w) = attrs, types
    check_conv("Conv2dBackwardInput", strides, padding)
    check_dtypes("Conv2dBackwardInput", g, w)
    target = _checked_target("Conv2dBackwardInput", shape)
    _same_shape("Conv2dBackwardInput", g.shape, conv_shape(target, w.shape, strides, padding))
    return TensorType(g.dtype, target)


def _back_filter_lower(x: list[UOp], attrs: Any, kind: TensorType, literal: Literal) -> UOp:
    shape, strides, padding = attrs
    windows = conv_windows(x[0], shape[:2], strides, padding)
    return OPS["contract"](windows, x[1], "nxyckl,nxyf->klcf")


def _back_filter_pull(t: Tape, ins: Instruction, h: int) -> Contributions:
    (_, strides, padding), (x, g) = ins.attrs, ins.operands
    dx = dg = None
    if t.wants[x]:
        kind = t.type_of(x)
        dx = t.emit("Conv2dBackwardInput", (g, h), (kind.shape, strides, padding), kind)
    if t.wants[g]:
        dg = t.emit("Conv2d", (x, h), (strides, padding), t.type_of(g))
    return [dx, dg]


@opcode(
    "Conv2dBackwardFilter",
    "The gradient of a convolution's filter, of this shape, from that of its result.",
    _BACKWARD,
    _back_filter_lower,
    _back_filter_pull,
    strict=False,
    codes=_CONV_CODES,
    rule="Conv2dBackwardInput(g, h, ..), Conv2d(x, h, ..)",
)
def _back_filter_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    (shape, strides, padding), (x, g) = attrs, types
    check_conv("Conv2dBackwardFilter", strides, padding)
    check_dtypes("Conv2dBackwardFilter", x, g)
    target = _checked_target("Conv2dBackwardFilter", shape)
    _same_shape("Conv2dBackwardFilter", g.shape, conv_shape(x.shape, target, strides, padding))
    return TensorType(x.dtype, target)
