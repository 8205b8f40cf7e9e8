"""Reductions: sum, prod, max, min, any, all, argmax, argmin.

`axis` is None (all), an int or a tuple (`()` reduces nothing); `keepdim` leaves size-1 axes. Sums
of small dtypes are kept in 32 bits or more; float16 and bfloat16 results are rounded once. Max and
min share the gradient equally among ties, counted in float32 or wider.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod as product
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, DTypeError, ShapeError
from adjoint.ir.arg import Arg
from adjoint.ir.axes import Letters, letters
from adjoint.ir.batch import Flags, Sources, shifted
from adjoint.ir.derivative import Derivative, Jvp, Linear, ZeroGradient
from adjoint.ir.dtype import ALL, DType, accumulator, as_dtype, dtypes
from adjoint.ir.kernel_kind import Reduce
from adjoint.ir.opdef import Bad, OpDef, define
from adjoint.ir.precision import Precision, full
from adjoint.ir.sizes import cached
from adjoint.ir.uop import UOp, make_node
from adjoint.ops.movement import checked_axes
from adjoint.ops.samples import AXIS_ERRORS, SPECIAL, real, rough
from adjoint.ops.tree import tree_reduced

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


class ReduceArg(Arg):
    axis: Shape
    keepdim: bool = False


@cached(4096)
def reduced_shape(shape: Shape, axis: Shape, keepdim: bool) -> Shape:
    """The shape without the reduced axes, or with 1 in their place."""
    if keepdim:
        return tuple(1 if i in axis else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axis)


@cached(4096)
def _known(shape: Shape, axis: Shape, keepdim: bool) -> tuple[ReduceArg, Shape]:
    return ReduceArg(axis, keepdim), reduced_shape(shape, axis, keepdim)


def kept(y: UOp, x: UOp, axis: Shape) -> UOp:
    """A reduced value spread over the operand's shape again."""
    return y.reshape(reduced_shape(x.shape, axis, True)).expand(x.shape)


def _samples() -> list[Any]:
    return [
        (real(2, 3),),
        (real(2, 3), 1),
        (real(2, 3), (0, 1), True),
        (real(2, 3, 4), (0, 2)),
        (real(2, 3), -1, True),
        (real(),),
        (real(2, 3), ()),
        rough(SPECIAL),
    ]


_ERRORS = (*AXIS_ERRORS, Bad("E2001", (real(2, 3), 0.5), match="an axis is an int"))


def reduced_axes(node: UOp) -> Letters:
    """Letters that only the operand has are reduced; "1" is what `keepdim` leaves."""
    term, (axis, keepdim) = letters(len(node.src[0].shape)), node.arg
    gone = "1" if keepdim else ""
    return Letters((term,), "".join(gone if d in axis else c for d, c in enumerate(term)))


def reduction(
    name: str,
    doc: str,
    *,
    reference: Callable[..., Any],
    ad: Derivative,
    kernel: Reduce,
    dtype: Callable[[DType], DType] = lambda d: d,
    kinds: str = "biufc",
    empty: bool = True,
    precision: Precision | None = None,
) -> OpDef:
    """A primitive that joins the elements along axes; `kernel` says how, and from what it starts.

    `dtype` maps the operand's dtype to the result's; `empty` says whether there may be nothing to
    join.
    """
    results = {d: dtype(d) for d in ALL if d.kind in kinds}

    def call(x: UOp, axis: Any = None, keepdim: bool = False) -> UOp:
        axes = checked_axes(name, axis, x)
        if len(axes) > 1:
            axes = tuple(sorted(axes))
        arg, shape = _known(x.shape, axes, bool(keepdim))
        result = results.get(x.dtype)
        if result is None or 0 in x.shape:
            return UOp(record, (x,), arg)
        return make_node(record, (x,), arg, shape, result)

    def infer(src: tuple[UOp, ...], arg: ReduceArg) -> tuple[Shape, DType]:
        x = src[0]
        if x.dtype.kind not in kinds:
            raise DTypeError("E2005", f"dtype {x.dtype.name} is not allowed", op=name, x=x)
        if not empty and 0 in [x.shape[a] for a in arg.axis]:
            raise ShapeError("E3006", "an empty axis has no such element", op=name, x=x)
        return reduced_shape(x.shape, arg.axis, arg.keepdim), dtype(x.dtype)

    more = [(real(0, 3), 0), (real(2, 0),)] if empty else [(real(0, 3), 1)]
    record = define(
        name,
        doc,
        arg=ReduceArg,
        call=call,
        signature=call,
        infer=infer,
        ad=ad,
        reference=reference,
        samples=lambda: _samples() + more,
        errors=_ERRORS
        + (() if empty else (Bad("E3006", (np.zeros((0, 3)), 0), match="empty axis"),)),
        kinds=kinds,
        batch=shifted("axis"),
        kernel=kernel,
        axes=reduced_axes,
        precision=precision,
    )
    return record


def _by_tree(join: Any, neutral: int, numpy: Any) -> Any:
    """Floats by the tree that all devices follow; all else by NumPy."""

    def reference(x: Any, axis: Any = None, keepdim: bool = False) -> Array:
        x = np.asarray(x)
        if x.dtype.kind in "fc" and x.size:
            return tree_reduced(join, neutral, x, _every(x, axis), keepdim)
        return numpy(x, axis=axis, keepdims=keepdim, dtype=_accumulate(x))

    return reference


def _every(x: Array, axis: Any) -> Shape:
    """The axes that are meant, in order."""
    given = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return tuple(sorted(a % max(x.ndim, 1) for a in given))


def _accumulate(x: Any) -> Any:
    return accumulator(as_dtype(np.asarray(x).dtype)).np


def _sum_dtype(dtype: DType) -> DType:
    return dtype if dtype.kind in "fc" else accumulator(dtype)


sum_ = reduction(
    "reduce_sum",
    "Sum over axes. Small integers are summed in 32 bits.",
    kernel=Reduce("add", lambda dtype: 0, tree=True),
    reference=_by_tree(np.add, 0, np.sum),
    dtype=_sum_dtype,
    ad=Linear(lambda g, x, axis, keepdim: kept(g, x, axis)),
    precision=full,
)


def _prod_jvp(t: Any, y: UOp, x: UOp, axis: Shape, keepdim: bool) -> UOp:
    """Each tangent times the product of all other elements: right with zeros."""
    return (t[0] * exclusive_product(x, axis)).reduce_sum(axis, keepdim)


def exclusive_product(x: UOp, axis: Shape) -> UOp:
    """For every element, the product of the others along `axis`."""
    rest = tuple(i for i in range(len(x.shape)) if i not in axis)
    order = (*rest, *axis)
    count = product(x.shape[a] for a in axis)
    flat = x.permute(order).reshape(*(x.shape[a] for a in rest), count)
    last = len(rest)
    ones = [(0, 0)] * last
    before = _shifted(flat.scan_prod(last, False), ones, 1)
    after = _shifted(flat.scan_prod(last, True), ones, -1)
    back = tuple(sorted(range(len(order)), key=order.__getitem__))
    return (before * after).reshape(*(x.shape[a] for a in order)).permute(back)


def _shifted(x: UOp, ones: list[tuple[int, int]], by: int) -> UOp:
    """Moved by one along the last axis, a 1 entering at the end that is free."""
    n, rank = x.shape[-1], len(x.shape)
    if n == 0:
        return x
    cut = [(0, s) for s in x.shape[:-1]] + [(0, n - 1) if by > 0 else (1, n)]
    zeros = [0] * (rank - 1)
    before, after = ([*zeros, 1], [*zeros, 0]) if by > 0 else ([*zeros, 0], [*zeros, 1])
    return x.shrink(cut).pad_constant(before, after, None, 1)


prod = reduction(
    "reduce_prod",
    "Product over axes. Small integers are multiplied in 32 bits.",
    kernel=Reduce("mul", lambda dtype: 1, tree=True),
    reference=_by_tree(np.multiply, 1, np.prod),
    dtype=_sum_dtype,
    ad=Jvp(_prod_jvp),
    precision=full,
)


def _extreme_jvp(t: Any, y: UOp, x: UOp, axis: Shape, keepdim: bool) -> UOp:
    """The mean tangent of the tied elements, counted in at least float32; NaNs tie."""
    mask = x.eq(kept(y, x, axis)) | x.ne(x)
    count = mask.cast(accumulator(x.dtype)).reduce_sum(axis, keepdim)
    chosen = mask.where(t[0], 0).cast(count.dtype).reduce_sum(axis, keepdim)
    return (chosen / count).cast(t[0].dtype)


def _along(numpy: Any) -> Any:
    return lambda x, axis=None, keepdim=False: numpy(x, axis=axis, keepdims=keepdim)


def _extreme(name: str, word: str, join: str, start: Any, numpy: Any) -> OpDef:
    return reduction(
        name,
        f"The {word} element along axes; NaN if there is one. Ties share the gradient equally.",
        kernel=Reduce(join, start),
        reference=_along(numpy),
        ad=Jvp(_extreme_jvp),
        kinds="biuf",
        empty=False,
    )


def _truth(name: str, word: str, join: str, start: bool, numpy: Any) -> OpDef:
    return reduction(
        name,
        f"Whether {word} element along axes is nonzero.",
        kernel=Reduce(join, lambda dtype: start),
        reference=_along(numpy),
        dtype=lambda d: dtypes.bool_,
        ad=ZeroGradient("a truth value is piecewise constant"),
    )


max_ = _extreme("max", "largest", "maximum", lambda dtype: dtype.min, np.max)
min_ = _extreme("min", "smallest", "minimum", lambda dtype: dtype.max, np.min)
any_ = _truth("any", "some", "logical_or", False, np.any)
all_ = _truth("all", "every", "logical_and", True, np.all)


class ArgReduceArg(Arg):
    axis: int | None
    keepdim: bool = False


def _batched_arg(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
    (x,), (axis, keepdim) = src, node.arg
    if axis is not None:
        return UOp(node.op, src, ArgReduceArg(axis + 1, keepdim))
    flat = UOp(node.op, (x.reshape(size, -1),), ArgReduceArg(1, False))
    return flat.reshape(size, *node.shape)


def _arg_axes(node: UOp) -> Letters:
    axis, keepdim = node.arg
    term = letters(len(node.src[0].shape))
    marked = "".join("." if axis in (None, d) else c for d, c in enumerate(term))
    return Letters((marked,), marked if keepdim else marked.replace(".", ""))


def _arg_reduction(name: str, doc: str, numpy: Any) -> OpDef:
    def call(x: UOp, axis: Any = None, keepdim: bool = False) -> UOp:
        if isinstance(axis, (tuple, list)):
            raise ArgumentError("E2001", "takes one axis or None", op=name, x=x)
        number = None if axis is None else checked_axes(name, axis, x)
        place = number[0] if number else None
        return UOp(record, (x,), ArgReduceArg(place, bool(keepdim)))

    def infer(src: tuple[UOp, ...], arg: ArgReduceArg) -> tuple[Shape, DType]:
        (x,) = src
        axes = tuple(range(len(x.shape))) if arg.axis is None else (arg.axis,)
        if x.dtype.is_complex:
            raise DTypeError("E2005", "complex has no order", op=name, x=x)
        if 0 in [x.shape[a] for a in axes]:
            raise ShapeError("E3006", "an empty axis has no such element", op=name, x=x)
        return reduced_shape(x.shape, axes, arg.keepdim), dtypes.index

    record = define(
        name,
        doc,
        arg=ArgReduceArg,
        call=call,
        signature=call,
        infer=infer,
        ad=ZeroGradient("an index is piecewise constant"),
        reference=_along(numpy),
        samples=lambda: [
            (real(2, 3),),
            (real(2, 3), 1),
            (real(2, 3), 0, True),
            (real(2, 3), -1),
            (np.ones((2, 3)), 1),
            (real(),),
            rough(SPECIAL),
        ],
        errors=(
            Bad("E3004", (real(2, 3), 2), match="axis 2"),
            Bad("E3006", (np.zeros((0, 3)), 0), match="empty axis"),
            Bad("E2001", (real(2, 3), (0, 1)), match="one axis"),
        ),
        kinds="biuf",
        batch=_batched_arg,
        axes=_arg_axes,
    )
    return record


argmax = _arg_reduction(
    "argmax", "Index of the first largest element; NaN counts as the largest.", np.argmax
)
argmin = _arg_reduction(
    "argmin", "Index of the first smallest element; NaN counts as the smallest.", np.argmin
)
