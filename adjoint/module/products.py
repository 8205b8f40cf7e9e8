"""The opcodes of Core v1 that multiply and add: Dot, MatMul, Conv2d."""

from __future__ import annotations

from typing import Any

from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.module.core import check_dtypes, check_kind, check_whole
from adjoint.module.instruction import Instruction, Shape, TensorType, fault
from adjoint.module.opcode import Contributions, Literal, Types, opcode
from adjoint.module.shapes import broadcast, check_extents, window_extents, window_padding
from adjoint.module.tape import Tape
from adjoint.ops.movement import padded

# ---- products


def _inner(op: str, k: int, other: int) -> None:
    if k != other:
        problem = f"{op}: inner dimensions {k} and {other} differ"
        raise fault("E3003", problem, f"{k} must equal {other}")


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


@opcode(
    "Dot",
    "The inner product of vectors, matrix and vector, vector and matrix, or two matrices.",
    ("value", "value"),
    lambda x, attrs, kind, literal: OPS["matmul"](*x),
    _dot_pull,
    codes=("E2004", "E3002", "E3003"),
    rule="g*b, g*a; outer(g, b), Dot(aᵀ, g); Dot(g, bᵀ), outer(a, g); as MatMul",
)
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


def _matmul_pull(t: Tape, ins: Instruction, g: int) -> Contributions:
    a, b = ins.operands
    da = db = None
    if t.wants[a]:
        da = t.unbroadcast(t.matmul(g, t.matrix_transpose(b)), t.shape_of(a))
    if t.wants[b]:
        db = t.unbroadcast(t.matmul(t.matrix_transpose(a), g), t.shape_of(b))
    return [da, db]


@opcode(
    "MatMul",
    "The matrix product of the last two axes; the batch axes in front broadcast.",
    ("value", "value"),
    lambda x, attrs, kind, literal: OPS["matmul"](*x),
    _matmul_pull,
    codes=("E2004", "E3002", "E3003", "E3001"),
    rule="MatMul(g, bᵀ), MatMul(aᵀ, g); un-broadcast over the batch",
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


# ---- convolution: x is N, H, W, C; w is H, W, C, F


def check_conv(op: str, strides: Any, padding: Any) -> None:
    """Two positive strides [E4010]; a padding that is not negative."""
    if type(strides) is not tuple or len(strides) != 2 or min(strides) < 1:
        problem = f"{op}: it takes two positive strides"
        raise fault("E4010", problem)
    if padding not in ("Same", "Valid"):
        check_whole(op, tuple(n for pair in padding for n in pair))
        if [len(pair) for pair in padding] != [2, 2] or min(map(min, padding)) < 0:
            raise fault("E4010", f"{op}: a custom padding is two pairs of numbers ≥ 0")


def conv_shape(x: Shape, w: Shape, strides: Shape, padding: Any) -> Shape:
    """The result of a convolution [E3002, E4009]."""
    for shape, what in ((x, "input"), (w, "filter")):
        if len(shape) != 4:
            raise fault("E3002", f"Conv2d: the {what} has rank {len(shape)}, not 4")
    if x[3] != w[2]:
        problem = f"Conv2d: the input has {x[3]} channels, the filter {w[2]}"
        raise fault("E4009", problem, "the input is [N, H, W, C], the filter [H, W, C, F]")
    return (x[0], *window_extents(padding, x[1:3], w[:2], strides), w[3])


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


@opcode(
    "Conv2d",
    "Convolution of [N, H, W, C] with [H, W, C, F].",
    ("value", "value", "ints", "padding"),
    _conv_lower,
    _conv_pull,
    strict_pull=False,
    codes=("E4010", "E2004", "E3002", "E4009", "E3006"),
    rule="Conv2dBackwardInput(g, w, ..), Conv2dBackwardFilter(x, g, ..)",
)
def _conv_type(attrs: Any, types: Types, declared: TensorType) -> TensorType:
    x, w = types
    check_conv("Conv2d", *attrs)
    check_dtypes("Conv2d", x, w)
    check_kind("Conv2d", x.dtype, "iufc", "numbers")
    return TensorType(x.dtype, check_extents("Conv2d", conv_shape(x.shape, w.shape, *attrs)))
