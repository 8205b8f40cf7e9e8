"""Movement: ops that only say where an element is read from.

RESHAPE PERMUTE EXPAND PAD SHRINK FLIP CAT; WINDOW and FOLD are in `window.py`. PAD and SHRINK carry
strides (PAD's `interior`, SHRINK's `step`), so that each is the other's adjoint for every slice.
All are linear; their transposes are each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from math import prod
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, AxisError, BoundsError, DTypeError, ShapeError
from adjoint.ir.arg import Arg
from adjoint.ir.axes import Letters, axes_but, letters, touched_axes
from adjoint.ir.batch import Flags, Sources, prepend, shifted
from adjoint.ir.derivative import Linear
from adjoint.ir.dtype import fits, promote
from adjoint.ir.kernel_kind import At, Read, Space, View
from adjoint.ir.opdef import Bad, define
from adjoint.ir.precision import widest
from adjoint.ir.sizes import Size, alike, same
from adjoint.ir.uop import UOp
from adjoint.ops.leaves import checked_shape
from adjoint.ops.samples import AXIS_ERRORS, given, real

Shape = tuple[int, ...]


def unpacked(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """`f(2, 3)` and `f((2, 3))` mean the same."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        return tuple(values[0])
    return values


def checked_axis(op: str, axis: Any, rank: int, x: UOp | None = None) -> int:
    """A non-negative axis from one that may count from the end."""
    if type(axis) is int and 0 <= axis < rank:
        return axis
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise ArgumentError("E2001", f"an axis is an int, got {axis!r}", op=op, help="give an int")
    number = axis.__index__()
    span = max(rank, 1)  # a scalar takes 0 and -1, as a vector of one element does
    if not -span <= number < span:
        fix = f"axes go from {-rank} to {rank - 1}" if rank else "a scalar has no axes"
        operands = [("x", x)] if x is not None else []
        problem = f"axis {number} is out of range for rank {rank}"
        raise AxisError("E3004", problem, op=op, operands=operands, help=fix)
    return number % rank if rank else 0


def checked_axes(op: str, axes: Any, x: UOp) -> Shape:
    """Distinct non-negative axes in the order given; None means all."""
    rank = len(x.shape)
    if axes is None:
        return tuple(range(rank))
    if type(axes) is tuple and len(axes) == 1 and type(axes[0]) is int and 0 <= axes[0] < rank:
        return axes
    listed = axes if isinstance(axes, (tuple, list)) else (axes,)
    result = tuple([checked_axis(op, a, rank, x) for a in listed])
    if rank == 0:
        return ()
    if len(result) > 1 and len(set(result)) != len(result):
        raise AxisError("E3005", f"duplicate axis in {tuple(listed)}", op=op, x=x)
    return result


class ShapeArg(Arg):
    shape: Shape


def _reshape(x: UOp, *shape: Any) -> UOp:
    sizes = _resolve(x, unpacked(shape))
    return x if alike(sizes, x.shape) else UOp(reshape, (x,), ShapeArg(sizes))


def _resolve(x: UOp, shape: tuple[Any, ...]) -> Shape:
    sizes = tuple(x.shape[i] if s is None else s for i, s in enumerate(shape))
    if list(sizes).count(-1) > 1:
        problem = f"only one size can be -1, which is worked out; got {list(sizes)}"
        raise ShapeError("E3006", problem, op="reshape", x=x)
    if list(sizes).count(-1) == 1:
        known = prod(s for s in sizes if s != -1)
        if known == 0 or x.size % known:
            raise _wrong_count(x, sizes)
        sizes = tuple(x.size // known if s == -1 else s for s in sizes)
    return checked_shape("reshape", sizes)


def _wrong_count(x: UOp, shape: Sequence[int]) -> ShapeError:
    problem = f"{x.size} elements do not fill the shape {list(shape)}"
    return ShapeError("E3007", problem, op="reshape", x=x)


def _reshape_type(src: tuple[UOp, ...], arg: ShapeArg) -> tuple[Shape, Any]:
    if src[0].size != prod(arg.shape):
        raise _wrong_count(src[0], arg.shape)
    return arg.shape, src[0].dtype


def _reshape_map(node: UOp, at: At, space: Space) -> tuple[Read]:
    x = node.src[0]
    return (Read(x, space.reshaped(at, node.shape, x.shape)),)


reshape = define(
    "reshape",
    "The same elements in row-major order with another shape; one size may be -1.",
    arg=ShapeArg,
    call=_reshape,
    infer=_reshape_type,
    ad=Linear(lambda g, x, shape: g.reshape(x.shape)),
    reference=lambda x, shape: np.reshape(x, shape),
    samples=given((real(2, 3), (3, 2)), (real(2, 3), (-1,)), (real(1), ()), (real(0, 3), (3, 0))),
    errors=(
        Bad("E3007", (real(2, 3), (4,)), match="6 elements"),
        Bad("E3007", (real(2, 3), (4, -1)), match="6 elements"),
        Bad("E3006", (real(2, 3), (-2, -3)), match="negative"),
        Bad("E3006", (real(2, 3), (-1, -1)), match="only one size can be -1"),
    ),
    batch=prepend(shape=...),
    kernel=View(_reshape_map, strided=True, aliases=True),
    views=True,
)


class PermuteArg(Arg):
    order: Shape


def _permute(x: UOp, *order: Any) -> UOp:
    listed = unpacked(order)
    rank = len(x.shape)
    axes = tuple(checked_axis("permute", a, rank, x) for a in listed)
    return x if axes == tuple(range(rank)) else UOp(permute, (x,), PermuteArg(axes))


def _permute_type(src: tuple[UOp, ...], arg: PermuteArg) -> tuple[Shape, Any]:
    (x,) = src
    if sorted(arg.order) != list(range(len(x.shape))):
        problem = f"{list(arg.order)} is not a permutation of the axes"
        raise ShapeError("E3008", problem, op="permute", x=x)
    return tuple(x.shape[a] for a in arg.order), x.dtype


def _batched_permute(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
    return UOp(node.op, src, PermuteArg((0, *(a + 1 for a in node.arg.order))))


def inverse(order: Shape) -> Shape:
    """The permutation that undoes this one."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def _permute_map(node: UOp, at: At, space: Space) -> tuple[Read]:
    back = dict(zip(node.arg.order, at, strict=True))
    return (Read(node.src[0], tuple([back[a] for a in range(len(at))])),)


def _permute_axes(node: UOp) -> Letters:
    term = letters(len(node.shape))
    return Letters((term,), "".join(term[a] for a in node.arg.order))


permute = define(
    "permute",
    "Axes in another order.",
    arg=PermuteArg,
    call=_permute,
    infer=_permute_type,
    ad=Linear(lambda g, x, order: g.permute(inverse(order))),
    reference=lambda x, order: np.transpose(x, order),
    samples=given((real(2, 3), (1, 0)), (real(2, 3, 4), (2, 0, 1)), (real(0, 3), (-1, 0))),
    errors=(
        Bad("E3008", (real(2, 3), (0, 0)), match="permutation"),
        Bad("E3004", (real(2, 3), (0, 5)), match="axis 5"),
    ),
    batch=_batched_permute,
    kernel=View(_permute_map, strided=True),
    axes=_permute_axes,
    views=True,
)


def _expand(x: UOp, *shape: Any) -> UOp:
    sizes = list(unpacked(shape))
    offset = len(sizes) - len(x.shape)
    for i, extent in enumerate(sizes):
        if extent == -1 or extent is None:
            sizes[i] = x.shape[i - offset] if i >= offset else -1
    target = checked_shape("expand", sizes)
    return x if alike(target, x.shape) else UOp(expand, (x,), ShapeArg(target))


def _expand_type(src: tuple[UOp, ...], arg: ShapeArg) -> tuple[Shape, Any]:
    (x,) = src
    if not _expands(x.shape, arg.shape):
        problem = f"{list(x.shape)} cannot be expanded to {list(arg.shape)}"
        fix = "only axes of size 1, and new leading axes, can be expanded"
        raise ShapeError("E3001", problem, op="expand", x=x, help=fix)
    return arg.shape, x.dtype


@lru_cache(maxsize=4096)
def _expands(old: Shape, new: Shape) -> bool:
    offset = len(new) - len(old)
    return offset >= 0 and all(n in (1, new[offset + i]) for i, n in enumerate(old))


def _batched_expand(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
    (x,), shape = src, node.arg.shape
    ones = (1,) * (len(shape) + 1 - len(x.shape))
    return x.reshape(size, *ones, *x.shape[1:]).expand(size, *shape)


def reduce_to(g: UOp, shape: Shape) -> UOp:
    """The adjoint of broadcasting from `shape`: sum what was repeated."""
    axes = _repeated(shape, g.shape)
    total = g.reduce_sum(axes) if axes else g
    return total if total.shape == shape else total.reshape(shape)


@lru_cache(maxsize=4096)
def _repeated(old: Shape, new: Shape) -> Shape:
    """The axes along which broadcasting from one shape to another repeats elements."""
    offset = len(new) - len(old)
    inner = (offset + i for i, n in enumerate(old) if n == 1 and new[offset + i] != 1)
    return (*range(offset), *inner)


def _repeats(one: int, many: int) -> bool:
    """Whether an axis of size 1 is repeated: one whose size varies may be the same axis."""
    return type(one) is not Size or not same(one, many)


def _expand_map(node: UOp, at: At, space: Space) -> tuple[Read]:
    x = node.src[0]
    own = at[len(node.shape) - len(x.shape) :]
    zero = space.zero
    sizes = zip(own, x.shape, node.shape[len(node.shape) - len(own) :], strict=True)
    return (Read(x, tuple([zero if n == 1 and _repeats(n, m) else i for i, n, m in sizes])),)


def _expand_axes(node: UOp) -> Letters:
    """A letter that only the result has is repeated."""
    out, old = letters(len(node.shape)), node.src[0].shape
    own = out[len(out) - len(old) :]
    return Letters(("".join("1" if n == 1 else c for c, n in zip(own, old, strict=True)),), out)


expand = define(
    "expand",
    "Repeats axes of size 1, and adds leading axes.",
    arg=ShapeArg,
    call=_expand,
    infer=_expand_type,
    ad=Linear(lambda g, x, shape: reduce_to(g, x.shape)),
    reference=lambda x, shape: np.broadcast_to(x, _kept(np.shape(x), shape)),
    samples=given(
        (real(2, 1), (2, 3)),
        (real(3), (2, 3)),
        (real(), (2,)),
        (real(2, 1), (-1, 3)),
        (real(1, 3), (0, 3)),
    ),
    errors=(Bad("E3001", (real(2, 3), (2, 4)), match="cannot be expanded"),),
    batch=_batched_expand,
    kernel=View(_expand_map, strided=True, repeats=True),
    axes=_expand_axes,
    views=True,
)


def _kept(old: Shape, new: Sequence[int]) -> Shape:
    offset = len(new) - len(old)
    return tuple(old[i - offset] if s == -1 else s for i, s in enumerate(new))


class FlipArg(Arg):
    axis: Shape


def _flip(x: UOp, *axis: Any) -> UOp:
    listed = unpacked(axis)
    axes = tuple(sorted(checked_axes("flip", listed if axis != (None,) else None, x)))
    return UOp(flip, (x,), FlipArg(axes)) if axes else x


def _flip_map(node: UOp, at: At, space: Space) -> tuple[Read]:
    x, axes = node.src[0], node.arg.axis
    sides = enumerate(zip(at, x.shape, strict=True))
    return (Read(x, tuple([i * -1 + (n - 1) if d in axes else i for d, (i, n) in sides])),)


flip = define(
    "flip",
    "Elements in reverse order along axes.",
    arg=FlipArg,
    call=_flip,
    infer=lambda src, arg: (src[0].shape, src[0].dtype),
    ad=Linear(lambda g, x, axis: g.flip(axis)),
    reference=lambda x, axis: np.flip(x, axis),
    samples=given((real(2, 3), (0,)), (real(2, 3), (0, 1)), (real(2, 3), -1), (real(0, 3), (1,))),
    errors=AXIS_ERRORS,
    batch=shifted("axis"),
    kernel=View(_flip_map),
    axes=axes_but("axis"),
    views=True,
)


class ShrinkArg(Arg):
    start: Shape
    stop: Shape
    step: Shape


def _shrink(x: UOp, *bounds: Any) -> UOp:
    """`x.shrink(((0, 2), (1, 3)))`: (start, stop) or (start, stop, step) per axis, None for all."""
    listed = unpacked(bounds)
    if len(listed) == 2 and len(x.shape) == 1 and all(isinstance(b, int) for b in listed):
        listed = (tuple(listed),)
    if len(listed) != len(x.shape):
        problem = f"takes one (start, stop) per axis: {len(x.shape)}, got {len(listed)}"
        raise BoundsError("E4007", problem, op="shrink", x=x)
    full = [
        (0, n, 1) if b is None else (*map(_whole, b), 1)[:3]
        for b, n in zip(listed, x.shape, strict=True)
    ]
    return sliced(x, *zip(*full, strict=True)) if full else x


def _whole(value: Any) -> int:
    return value if type(value) is Size else int(value)


def sliced(x: UOp, start: Sequence[int], stop: Sequence[int], step: Sequence[int]) -> UOp:
    """SHRINK with the three lists of its attributes; the identity builds nothing."""
    if alike(tuple(stop), x.shape) and not any(start) and all(s == 1 for s in step):
        return x
    return UOp(shrink, (x,), ShrinkArg(tuple(start), tuple(stop), tuple(step)))


def _shrink_type(src: tuple[UOp, ...], arg: ShrinkArg) -> tuple[Shape, Any]:
    (x,) = src
    for n, (start, stop, step) in zip(x.shape, zip(*arg, strict=True), strict=True):
        if step < 1:
            raise BoundsError("E4008", f"step {step} is not positive", op="shrink", x=x)
        if not 0 <= start <= stop <= n:
            problem = f"[{start}:{stop}] is outside an axis of size {n}"
            raise BoundsError("E6001", problem, op="shrink", x=x)
    return tuple(-(-(b - a) // s) for a, b, s in zip(*arg, strict=True)), x.dtype


def _unshrink(g: UOp, x: UOp, start: Shape, stop: Shape, step: Shape) -> UOp:
    """Each kept element back in its place, zeros elsewhere."""
    after = [
        n - a - ((m - 1) * s + 1 if m else 0)
        for n, a, m, s in zip(x.shape, start, g.shape, step, strict=True)
    ]
    return padded(g, start, after, [s - 1 for s in step])


def _batched_shrink(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
    start, stop, step = node.arg
    return sliced(src[0], (0, *start), (size, *stop), (1, *step))


def _shrink_map(node: UOp, at: At, space: Space) -> tuple[Read]:
    start, _, step = node.arg
    place = [i * s + a for i, a, s in zip(at, start, step, strict=True)]
    return (Read(node.src[0], tuple(place)),)


shrink = define(
    "shrink",
    "A slice with start, stop and step ≥ 1 per axis.",
    arg=ShrinkArg,
    call=_shrink,
    infer=_shrink_type,
    ad=Linear(_unshrink),
    reference=lambda x, *rest, **attrs: x[_slices(rest, attrs)],
    samples=given(
        (real(4, 5), ((1, 3), (0, 5))),
        (real(4, 5), ((0, 4, 2), (1, 5, 3))),
        (real(4, 5), (None, (2, 2))),
        (real(0, 3), ((0, 0), (1, 2))),
    ),
    errors=(
        Bad("E6001", (real(2, 3), ((0, 3), (0, 3))), match="outside"),
        Bad("E4007", (real(2, 3), ((0, 1),)), match="per axis"),
        Bad("E4008", (real(4), ((0, 4, 0),)), match="not positive"),
    ),
    batch=_batched_shrink,
    kernel=View(_shrink_map, strided=True),
    axes=touched_axes,
    views=True,
)


def _slices(rest: tuple[Any, ...], attrs: dict[str, Any]) -> tuple[slice, ...]:
    if rest:
        return tuple(slice(None) if b is None else slice(*b) for b in rest[0])
    return tuple(map(slice, attrs["start"], attrs["stop"], attrs["step"]))


class PadArg(Arg):
    before: Shape
    after: Shape
    interior: Shape
    value: Any = 0


def padded(
    x: UOp,
    before: Sequence[int],
    after: Sequence[int],
    interior: Sequence[int] | None = None,
    value: Any = 0,
) -> UOp:
    """PAD with the lists of its attributes; the identity builds nothing."""
    between = tuple(interior) if interior is not None else (0,) * len(x.shape)
    if not any(n or type(n) is Size for n in (*before, *after, *between)):
        return x
    filler = _const_value("pad", value, x)
    return UOp(pad_constant, (x,), PadArg(tuple(before), tuple(after), between, filler))


def _const_value(op: str, value: Any, x: UOp) -> Any:
    """A Python number as a value of the operand's dtype."""
    kinds = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
    plain = kinds[x.dtype.kind](value)
    if (x.dtype.is_int and not fits(plain, x.dtype)) or (plain != value and value == value):
        raise ArgumentError("E2006", f"{value} is not a value of {x.dtype.name}", op=op, x=x)
    return plain


def _pad_type(src: tuple[UOp, ...], arg: PadArg) -> tuple[Shape, Any]:
    (x,) = src
    rank = len(x.shape)
    if not len(arg.before) == len(arg.after) == len(arg.interior) == rank:
        raise BoundsError("E4007", f"takes one amount per axis: {rank}", op="pad", x=x)
    if min((*arg.before, *arg.after, *arg.interior), default=0) < 0:
        raise ShapeError("E3006", "amounts are ≥ 0 (use shrink to remove)", op="pad", x=x)
    if x.dtype.is_int and not fits(int(arg.value), x.dtype):
        raise ArgumentError("E2006", f"{arg.value} is not a value of {x.dtype.name}", op="pad", x=x)
    return tuple(
        b + a + n + max(n - 1, 0) * i
        for n, b, a, i in zip(x.shape, arg.before, arg.after, arg.interior, strict=True)
    ), x.dtype


def _pad_reference(
    x: Any, before: Any, after: Any, interior: Any = None, value: Any = 0
) -> np.ndarray[Any, Any]:
    x = np.asarray(x)
    between = interior or (0,) * x.ndim
    sizes = [
        b + a + n + max(n - 1, 0) * i
        for n, b, a, i in zip(x.shape, before, after, between, strict=True)
    ]
    out = np.full(sizes, value, x.dtype)
    places = [
        slice(b, b + (n - 1) * (i + 1) + 1 if n else b, i + 1)
        for n, b, i in zip(x.shape, before, between, strict=True)
    ]
    out[tuple(places)] = x
    return out


def _unpad(g: UOp, x: UOp, before: Shape, after: Shape, interior: Shape, value: Any) -> UOp:
    stop = [
        b + ((n - 1) * (i + 1) + 1 if n else 0)
        for n, b, i in zip(x.shape, before, interior, strict=True)
    ]
    return sliced(g, before, stop, [i + 1 for i in interior])


def _pad_map(node: UOp, at: At, space: Space) -> tuple[Read]:
    """Inside, where the distance from the first element is a multiple of the step."""
    place = tuple([i + -b for i, b in zip(at, node.arg.before, strict=True)])
    return (Read(node.src[0], place, tuple([i + 1 for i in node.arg.interior])),)


pad_constant = define(
    "pad_constant",
    "Adds elements equal to `value` around the tensor, and between its elements (`interior`).",
    arg=PadArg,
    call=padded,
    infer=_pad_type,
    ad=Linear(
        _unpad,
        tangent=lambda t, y, x, before, after, interior, value: padded(
            t[0], before, after, interior
        ),
    ),
    reference=_pad_reference,
    samples=given(
        (real(2, 3), (1, 0), (0, 2)),
        (real(3), (1,), (1,), (2,), 1),
        (real(0, 3), (1, 1), (0, 0), (1, 1)),
    ),
    errors=(
        Bad("E3006", (real(2), (-1,), (0,)), match="amounts"),
        Bad("E4007", (real(2), (1, 1), (0,)), match="per axis"),
    ),
    batch=prepend(before=0, after=0, interior=0),
    kernel=View(_pad_map, fill=lambda node: node.arg.value),
    axes=touched_axes,
)


class CatArg(Arg):
    axis: int


def _cat(x: UOp | Sequence[UOp], *others: Any, dim: int = 0) -> UOp:
    first = tuple(x) if isinstance(x, (tuple, list)) else (x,)
    if not isinstance(x, UOp) and len(others) == 1 and isinstance(others[0], int):
        dim, others = others[0], ()  # as in torch: cat([x, y], 1)
    nodes = (*first, *unpacked(others))
    if not nodes or any(not isinstance(n, UOp) for n in nodes):
        fix = "name the axis: dim=" if any(isinstance(n, int) for n in nodes) else ""
        raise ArgumentError("E2001", "joins tensors only, and at least one", op="cat", help=fix)
    axis = checked_axis("cat", dim, len(nodes[0].shape), nodes[0])
    if len(nodes) == 1:
        return nodes[0]
    dtype = reduce(promote, (n.dtype for n in nodes))
    return UOp(cat, tuple(n.cast(dtype) for n in nodes), CatArg(axis))


def _cat_type(src: tuple[UOp, ...], arg: CatArg) -> tuple[Shape, Any]:
    first, axis = src[0], arg.axis
    operands = [(f"operand {i}", s) for i, s in enumerate(src)]
    if not first.shape:
        raise ShapeError("E3002", "scalars cannot be joined; stack them", op="cat")
    for node in src[1:]:
        if node.dtype is not first.dtype:
            raise DTypeError("E2004", "dtypes differ", op="cat", operands=operands)
        same = len(node.shape) == len(first.shape) and all(
            a == b
            for i, (a, b) in enumerate(zip(node.shape, first.shape, strict=True))
            if i != axis
        )
        if not same:
            problem = f"shapes differ outside axis {axis}"
            raise ShapeError("E3003", problem, op="cat", operands=operands)
    total = sum(s.shape[axis] for s in src)
    return (*first.shape[:axis], total, *first.shape[axis + 1 :]), first.dtype


def _uncat(g: UOp, *x: UOp, axis: int) -> tuple[UOp, ...]:
    parts, at = [], 0
    for node in x:
        bounds = [(0, n) for n in g.shape]
        bounds[axis] = (at, at + node.shape[axis])
        at += node.shape[axis]
        parts.append(g.shrink(bounds))
    return tuple(parts)


def _cat_map(node: UOp, at: At, space: Space) -> list[Read]:
    axis, start, reads = node.arg.axis, 0, []
    steps = tuple([int(d == axis) for d in range(len(at))])
    for x in node.src:
        if x.shape[axis]:
            place = (*at[:axis], at[axis] + -start, *at[axis + 1 :])
            reads.append(Read(x, place, steps))
            start += x.shape[axis]
    return reads


cat = define(
    "cat",
    "Tensors joined along an axis: `x.cat(y, z, dim=0)` or `cat([x, y, z], 0)`.",
    arg=CatArg,
    call=_cat,
    infer=_cat_type,
    ad=Linear(_uncat),
    reference=lambda *x, dim=None, axis=0: np.concatenate(
        x[0] if isinstance(x[0], list) else x, axis if dim is None else dim
    ),
    samples=given(
        (real(2, 3), real(1, 3, seed=1)),
        (real(2, 3), real(2, 1, seed=1), real(2, 0), {"dim": -1}),
        ([real(2, 3), real(2, 1, seed=1)], {"dim": 1}),
        (real(0, 3), real(0, 3)),
    ),
    errors=(
        Bad("E3003", (real(2, 3), real(2, 4)), match="outside axis 0"),
        Bad("E3004", (real(2, 3), real(2, 3)), {"dim": 2}, match="axis 2"),
        Bad("E3002", (real(), real()), match="scalars"),
        Bad("E2001", (real(2, 3), 1), match="tensors only"),
        Bad("E2001", ([],), match="at least one"),
    ),
    batch=shifted("axis"),
    kernel=View(_cat_map, joins=True),
    axes=axes_but("axis"),
    precision=widest,
)
