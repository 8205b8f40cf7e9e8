"""SCAN: cumulative sums, products, maxima and minima along one axis, in either direction.

NaN propagates: from the first NaN on, every result is NaN.

A cumulative sum of floats accumulates in float64 and rounds once per element, in this order, the
same on every device. Sixteen neighbours are a block, sixteen blocks a block of the next level, and
so on. An element is the sum inside its block so far, added to the sum of all before the block. That
is the sum of the blocks before it in the enclosing block, added to the sum of all before that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.errors import DTypeError
from adjoint.ir.arg import Arg
from adjoint.ir.axes import axes_but
from adjoint.ir.batch import shifted
from adjoint.ir.derivative import Derivative, Jvp, Linear
from adjoint.ir.dtype import DType, accumulator, as_dtype, dtypes
from adjoint.ir.kernel_kind import Algorithm, Counting, KernelKind, PerNode, filled_value, is_filled
from adjoint.ir.opdef import Bad, OpDef, define
from adjoint.ir.precision import Precision, full
from adjoint.ir.uop import UOp
from adjoint.ops.indexing import positions
from adjoint.ops.movement import checked_axis
from adjoint.ops.samples import SPECIAL, given, real, rough
from adjoint.ops.tree import GROUP

Array = np.ndarray[Any, Any]


class ScanArg(Arg):
    axis: int
    reverse: bool = False


def _scan(
    name: str,
    doc: str,
    ufunc: Any,
    ad: Derivative,
    computes_in_f32: bool,
    kernel: KernelKind,
    kinds: str = "iufc",
    precision: Precision | None = None,
) -> OpDef:
    def call(x: UOp, axis: int = 0, reverse: bool = False) -> UOp:
        number = checked_axis(name, axis, len(x.shape), x)
        operand = x.reshape(1) if not x.shape else x
        y = UOp(record, (operand,), ScanArg(number, bool(reverse)))
        return y.reshape(x.shape)

    def infer(src: tuple[UOp, ...], arg: ScanArg) -> tuple[Any, DType]:
        (x,) = src
        if x.dtype.kind not in "b" + kinds:
            raise DTypeError("E2005", f"dtype {x.dtype.name} is not allowed", op=name, x=x)
        kept = x.dtype if x.dtype.is_inexact or not computes_in_f32 else accumulator(x.dtype)
        return x.shape, kept

    def reference(x: Any, axis: int = 0, reverse: bool = False) -> Array:
        x = np.asarray(x)
        if computes_in_f32 and x.dtype.kind in "biu":
            x = x.astype(accumulator(as_dtype(x.dtype)).np)
        if x.ndim == 0 or x.size == 0:
            return x
        y = np.flip(x, axis) if reverse else x
        y = y.astype(_running(x.dtype, computes_in_f32), copy=False)
        in_blocks = ufunc is np.add and x.dtype.kind == "f"
        y = (_running_sum(y, axis) if in_blocks else ufunc.accumulate(y, axis)).astype(x.dtype)
        return np.flip(y, axis) if reverse else y

    record = define(
        name,
        doc,
        arg=ScanArg,
        call=call,
        signature=call,
        infer=infer,
        ad=ad,
        reference=reference,
        samples=given(
            (real(2, 3), 1),
            (real(2, 3), 0),
            (real(4), 0, True),
            (real(2, 3), -1, True),
            (real(0, 3), 0),
            (real(), 0),
            rough(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]]), 1),
            rough(SPECIAL, 0),
        ),
        errors=(Bad("E3004", (real(2, 3), 2), match="axis 2"),),
        kinds=kinds,
        batch=shifted("axis"),
        kernel=kernel,
        axes=axes_but("axis"),
        precision=precision,
    )
    return record


def _running(dtype: Any, adds: bool) -> Any:
    """Sums and products of float32 are kept in float64 along the way; each is rounded once."""
    return np.float64 if adds and dtype == np.float32 else dtype


def _running_sum(x: Array, axis: int) -> Array:
    """By blocks of sixteen: what comes before a block, and on that the sum inside it."""
    if x.shape[axis] <= GROUP:
        return np.add.accumulate(x, axis)
    moved = np.moveaxis(x, axis, -1)
    inside = np.add.accumulate(_blocks(moved), axis=-1)
    found = _before(inside[..., -1])[..., None] + inside
    whole = found.reshape(*moved.shape[:-1], -1)[..., : moved.shape[-1]]
    return np.moveaxis(whole, -1, axis)


def _before(totals: Array) -> Array:
    """The sum of the totals before each, by blocks of sixteen blocks."""
    if totals.shape[-1] <= GROUP:
        return _shifted(np.add.accumulate(totals, axis=-1))
    inside = np.add.accumulate(_blocks(totals), axis=-1)
    found = _before(inside[..., -1])[..., None] + _shifted(inside)
    return found.reshape(*totals.shape[:-1], -1)[..., : totals.shape[-1]]


def _blocks(x: Array) -> Array:
    """Sixteen neighbours of the last axis each; what is missing is -0.0, which adds nothing."""
    *lead, n = x.shape
    padded = np.full((*lead, -(-n // GROUP) * GROUP), -0.0, x.dtype)
    padded[..., :n] = x
    return padded.reshape(*lead, -1, GROUP)


def _shifted(x: Array) -> Array:
    """One place further along the last axis, behind -0.0."""
    return np.concatenate([np.full_like(x[..., :1], -0.0), x[..., :-1]], axis=-1)


def _prod_jvp(t: Any, y: UOp, x: UOp, axis: int, reverse: bool) -> UOp:
    """The record of the tangent knows its own derivatives: they are right with zeros too."""
    if not reverse:
        return UOp._apply("cumprod_tangent", x, t[0], axis)
    return UOp._apply("cumprod_tangent", x.flip(axis), t[0].flip(axis), axis).flip(axis)


def _extreme_jvp(t: Any, y: UOp, x: UOp, axis: int, reverse: bool) -> UOp:
    """The tangent of the latest element that set the running extreme (ties: the latest)."""
    n = x.shape[axis]
    place = positions(n, axis, len(x.shape), x.device).expand(x.shape)
    mark = -1 if not reverse else n
    where = (x.eq(y) | x.ne(x)).where(place, mark)  # a NaN sets it too
    source = where.scan_min(axis, True) if reverse else where.scan_max(axis, False)
    return t[0].gather(axis, source.maximum(0).minimum(max(n - 1, 0)))


def counts(node: UOp) -> bool:
    """Whether a running sum counts: steps of one integer, none of which leaves an index's dtype.

    A float's running sum is rounded at every step: it is no multiple of how many there are.
    """
    x = node.src[0]
    if not node.dtype.is_int or not is_filled(x):
        return False
    return abs(int(filled_value(x))) * node.shape[node.arg.axis] <= dtypes.int64.max


_COUNTING, _SUM = Counting(), Algorithm("scan", lambda node: "add")
scan_sum = _scan(
    "scan_sum",
    "Running sum along an axis.",
    np.add,
    Linear(lambda g, x, axis, reverse: g.scan_sum(axis, not reverse)),
    computes_in_f32=True,
    kernel=PerNode((_COUNTING, _SUM), lambda node: _COUNTING if counts(node) else _SUM),
    precision=full,
)
scan_prod = _scan(
    "scan_prod",
    "Running product along an axis; the gradient is right with zeros.",
    np.multiply,
    Jvp(_prod_jvp),
    computes_in_f32=True,
    kernel=Algorithm("scan", lambda node: "mul"),
    precision=full,
)


def _extreme(name: str, word: str, join: str, ufunc: Any) -> OpDef:
    doc = f"Running {word} along an axis; the gradient goes to the latest of equal elements."
    kernel = Algorithm("scan", lambda node: join)
    return _scan(name, doc, ufunc, Jvp(_extreme_jvp), False, kernel, kinds="iuf")


scan_max = _extreme("scan_max", "maximum", "maximum", np.maximum)
scan_min = _extreme("scan_min", "minimum", "minimum", np.minimum)
