"""Ops along a split dimension: each member computes its part, with some rows of its neighbours.

Before: x[1:], pad, cat, flip, window (a convolution), fold or a cumulative sum along a dimension
that is split over 4 members: gathered first, then computed whole by every member.
After: the same on a member's part, after a permutation of a few rows, or of a cumulative sum's
totals.

If members would send more rows than a gather does, they gather, and keep their part. What may live
here: these ops. What may not: which rows go where (`neighbours.py`), or scans (`scans.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.ir.dtype import dtypes
from adjoint.ir.mesh import Mesh, Sharding
from adjoint.ir.opdef import OPS, OpDef
from adjoint.ir.uop import UOp
from adjoint.ops.collective import axis_index, collective_permute
from adjoint.sharding.convert import converted, sliced_part
from adjoint.sharding.neighbours import Along, Wanted, neighbours, rows_sent
from adjoint.sharding.scans import SCANS, scanned

_SHRINK, _PAD, _CAT, _FLIP, _WINDOW, _FOLD = (
    OPS[name] for name in ("shrink", "pad_constant", "cat", "flip", "window", "fold")
)


def dims_along(
    node: UOp, given: Sequence[Sharding], operands: Sequence[Sharding], result: Sharding, mesh: Mesh
) -> tuple[Along, ...]:
    """The dimensions along which members can work on their parts; `operands` and `result` are the
    shardings if these were gathered. It does not depend on the number of members.
    """
    if node.op not in _MAKERS or result.pending or not node.src:
        return ()
    used = {axis for layout in (*operands, result) for axis in layout.used}
    found = []
    largest = max(range(len(given)), key=lambda n: (int(node.src[n].size), -n))
    for dim in range(min(len(node.src[0].shape), len(node.shape))):
        axes = given[largest].axes(dim)
        if not axes or operands[largest].axes(dim) or used.intersection(axes):
            continue
        old, new = int(node.src[largest].shape[dim]), int(node.shape[dim])
        if new and all(x.shape[dim] for x in node.src):
            stays = node.op is not _SHRINK or 2 * new >= old
            found.append(Along(dim, axes, mesh.extent(axes), old, new, stays))
            used.update(axes)
    return tuple(found)


def laid_along(layout: Sharding, dims: Sequence[Along]) -> Sharding:
    """A layout with these dimensions split too."""
    rank = max([len(layout.dims), *(along.dim + 1 for along in dims)])
    axes = [layout.axes(d) for d in range(rank)]
    for along in dims:
        axes[along.dim] = along.axes
    return Sharding(layout.mesh, axes)


def is_short(along: Along) -> bool:
    """Whether the result is whole: it is a small part of the sliced value, or some members would
    have no part of it.
    """
    return not along.stays or along.new < along.parts


def _pays(node: UOp, along: Along, times: int) -> bool:
    """Whether rows of neighbours are fewer than those that a gather sends, which may serve so many
    slices."""
    if node.op in SCANS or along.parts == 1:
        return node.op in SCANS
    sent = whole = 0
    for number, x in enumerate(node.src):
        wanted = _wanted(node, along, number)
        if wanted is None:
            return False
        split = along.split(int(x.shape[along.dim]))
        sent += rows_sent(split, wanted) + (split.rows if node.op is _FLIP else 0)
        whole += split.rows * (along.parts - 1)
    if is_short(along):  # what is made is gathered then
        return times * (sent + (along.parts - 1) * along.rows) < whole
    return sent <= whole


def _wanted(node: UOp, along: Along, number: int) -> Wanted | None:
    """The rows of an operand that members need; None if they do not move evenly."""
    arg, dim, rows = node.arg, along.dim, along.rows
    if node.op is _SHRINK:
        step = arg.step[dim]
        return Wanted(arg.start[dim], rows * step, (rows - 1) * step + 1, arg.stop[dim])
    if node.op is _PAD:
        return None if arg.interior[dim] else Wanted(-arg.before[dim], rows, rows, along.old)
    if node.op is _CAT:
        before = sum(int(x.shape[dim]) for x in node.src[:number])
        return Wanted(-before, rows, rows, int(node.src[number].shape[dim]))
    if node.op is _FLIP:
        whole = rows * along.parts
        return Wanted(whole - along.old, rows, rows, whole)
    size, stride, dilation = _window_of(node, dim)
    if node.op is _WINDOW:
        span = (size - 1) * dilation + 1
        end = (along.new - 1) * stride + span
        return Wanted(0, rows * stride, (rows - 1) * stride + span, end)
    return _wanted_of_fold(node, along, 0)


def _wanted_of_fold(node: UOp, along: Along, skip: int) -> Wanted | None:
    """The windows that reach a member's rows, where it has those from `skip` on."""
    size, stride, dilation = _window_of(node, along.dim)
    if along.rows % stride:
        return None
    first = min(-(-(skip - (size - 1) * dilation) // stride), skip // stride)
    count = (skip + along.rows - 1) // stride - first + 1
    every = int(node.src[0].shape[along.dim])
    return Wanted(first, along.rows // stride, count, every)


def _window_of(node: UOp, dim: int) -> tuple[int, int, int]:
    arg, place = node.arg, node.arg.axis.index(dim)
    return arg.size[place], arg.stride[place], arg.dilation[place]


# ---- what a member makes


def made_along(
    node: UOp,
    dims: Sequence[Along],
    local: list[UOp],
    operands: Sequence[Sharding],
    result: Sharding,
    order: str,
    times: int = 1,
) -> UOp:
    """A node on a member's parts, with the shardings `operands`; its result has the sharding
    `result`. This many slices like it use the operand. If rows of neighbours would be more than all
    others, all are gathered.
    """
    far = [along for along in dims if not _pays(node, along, times)]
    near = [along for along in dims if along not in far]
    gone = {along.dim for along in far}
    pairs = zip(node.src, local, operands, strict=True)
    given = [converted(x, s.shape, layout, _without(layout, gone)) for s, x, layout in pairs]
    if node.op in SCANS:
        made = scanned(node, near[0], given[0], order)
        return converted(made, node.shape, laid_along(result, near), result)
    shape = _without(laid_along(result, near), gone).local(node.shape)
    found: UOp = _MAKERS[node.op](node, near, given, shape)
    kept = [along for along in far if not is_short(along)]
    for along in kept:
        found = sliced_part(found, along.dim, along.axes, along.parts)
    return converted(found, node.shape, laid_along(result, [*near, *kept]), result)


def _without(layout: Sharding, dims: set[int]) -> Sharding:
    axes = [() if d in dims else own for d, own in enumerate(layout.dims)]
    return Sharding(layout.mesh, axes) if dims else layout


def _shrunk(node: UOp, dims: Sequence[Along], local: list[UOp], shape: Any) -> UOp:
    x, arg = _with_neighbours(node, dims, local[0], 0), node.arg
    split = {along.dim for along in dims}
    start = [0 if d in split else n for d, n in enumerate(arg.start)]
    stop = [x.shape[d] if d in split else _end(node, x, d) for d in range(len(x.shape))]
    return x.shrink(list(zip(start, stop, arg.step, strict=True)))


def _end(node: UOp, x: UOp, dim: int) -> int:
    """Where a slice ends in a member's part of a dimension that is not cut."""
    whole = node.src[0].shape[dim]
    return int(node.arg.stop[dim] if x.shape[dim] == whole else x.shape[dim])


def _padded(node: UOp, dims: Sequence[Along], local: list[UOp], shape: Any) -> UOp:
    x, arg = _with_neighbours(node, dims, local[0], 0), node.arg
    for along in dims:
        begin = arg.before[along.dim]
        x = _inside(x, along, begin, begin + along.old).where(x, arg.value)
    return _padded_beside(node, x, {along.dim for along in dims})


def _padded_beside(node: UOp, x: UOp, split: set[int]) -> UOp:
    """The same along all other dimensions."""

    def none(amounts: Sequence[int]) -> tuple[int, ...]:
        return tuple(0 if d in split else n for d, n in enumerate(amounts))

    arg = node.arg
    new = arg.replace(before=none(arg.before), after=none(arg.after), interior=none(arg.interior))
    return UOp(node.op, (x,), new) if any((*new.before, *new.after, *new.interior)) else x


def _joined(node: UOp, dims: Sequence[Along], local: list[UOp], shape: Any) -> UOp:
    if not dims:
        return UOp(node.op, tuple(local), node.arg)
    (along,) = dims
    parts = [_with_neighbours(node, dims, x, number) for number, x in enumerate(local)]
    found, begin = parts[0], int(node.src[0].shape[along.dim])
    for x, part in zip(node.src[1:], parts[1:], strict=True):
        end = begin + int(x.shape[along.dim])
        found = _inside(part, along, begin, end).where(part, found)
        begin = end
    return found


def _flipped(node: UOp, dims: Sequence[Along], local: list[UOp], shape: Any) -> UOp:
    x = UOp(node.op, tuple(local), node.arg)
    for along in dims:
        pairs = tuple((i, along.parts - 1 - i) for i in range(along.parts))
        x = collective_permute(x, along.axes, along.parts, pairs)
        wanted = _wanted(node, along, 0)
        assert wanted is not None
        if wanted.start:  # what the last part was filled up with is in front now
            x = neighbours(x, along.split(along.rows * along.parts), wanted)
    return x


def _windows(node: UOp, dims: Sequence[Along], local: list[UOp], shape: Any) -> UOp:
    x = _with_neighbours(node, dims, local[0], 0)
    return UOp(node.op, (x,), node.arg)


def windows_of_padded(node: UOp, dims: Sequence[Along], pad: UOp, x: UOp) -> UOp:
    """Windows of a padded value: members exchange rows once, for both. `x` is a member's part of
    the value, split along these dimensions.
    """
    arg = pad.arg
    for along in dims:
        size, stride, dilation = _window_of(node, along.dim)
        extent, begin = int(pad.src[0].shape[along.dim]), -arg.before[along.dim]
        length = (along.rows - 1) * stride + (size - 1) * dilation + 1
        wanted = Wanted(begin, along.rows * stride, length, extent)
        x = neighbours(x, along.split(extent), wanted)
        rows = places_of(x, along, begin, wanted.step)
        x = (rows >= 0).logical_and(rows < extent).expand(x.shape).where(x, arg.value)
    split = {along.dim for along in dims}
    return UOp(node.op, (_padded_beside(pad, x, split),), node.arg)


def _folded(node: UOp, dims: Sequence[Along], local: list[UOp], shape: Any) -> UOp:
    return _folded_from(node, dims, local[0], shape, [0] * len(node.shape))


def slice_of_folded(node: UOp, dims: Sequence[Along], fold: UOp, x: UOp, shape: Any) -> UOp:
    """A slice of a fold, the transpose of the above; `shape` is that of a member's slice, with the
    whole of the fold along other dimensions.
    """
    made = _folded_from(fold, dims, x, shape, node.arg.start)
    split, arg = {along.dim for along in dims}, node.arg
    bounds = [
        (0, n, 1) if d in split else (arg.start[d], _end(node, made, d), arg.step[d])
        for d, n in enumerate(made.shape)
    ]
    return made.shrink(bounds)


def can_slice_folded(node: UOp, dims: Sequence[Along], fold: UOp) -> bool:
    """Whether members can fold just the rows that a slice keeps."""
    return all(
        node.arg.step[along.dim] == 1
        and along.dim in fold.arg.axis
        and _wanted_of_fold(fold, along, node.arg.start[along.dim]) is not None
        for along in dims
    )


def _folded_from(
    node: UOp, dims: Sequence[Along], x: UOp, shape: Sequence[int], skips: Sequence[int]
) -> UOp:
    extents, cuts = list(shape), dict[int, tuple[int, int]]()
    for along in dims:
        dim, skip = along.dim, skips[along.dim]
        wanted = _wanted_of_fold(node, along, skip)
        assert wanted is not None
        x = neighbours(x, along.split(wanted.end), wanted)
        rows = places_of(x, along, wanted.start, wanted.step)
        x = (rows >= 0).logical_and(rows < wanted.end).expand(x.shape).where(x, 0)
        size, stride, dilation = _window_of(node, dim)
        begin = skip - wanted.start * stride
        span = (wanted.length - 1) * stride + (size - 1) * dilation + 1
        extents[dim] = max(span, begin + along.rows)
        cuts[dim] = (begin, begin + along.rows)
    found = UOp(node.op, (x,), node.arg.replace(shape=tuple(extents)))
    return found.shrink([cuts.get(d, (0, n)) for d, n in enumerate(found.shape)])


def _with_neighbours(node: UOp, dims: Sequence[Along], x: UOp, number: int) -> UOp:
    for along in dims:
        wanted = _wanted(node, along, number)
        assert wanted is not None
        x = neighbours(x, along.split(int(node.src[number].shape[along.dim])), wanted)
    return x


def places_of(x: UOp, along: Along, start: int, step: int) -> UOp:
    """The positions of a member's rows, in a shape that broadcasts."""
    count = x.shape[along.dim]
    ones: UOp = UOp._apply("const", 1, dtypes.int64, (count,), None)
    shape = [count if d == along.dim else 1 for d in range(len(x.shape))]
    rows = ones.scan_sum(0) - 1 + start
    return (rows + axis_index(along.axes, along.parts) * step).reshape(shape)


def _inside(x: UOp, along: Along, begin: int, end: int) -> UOp:
    rows = places_of(x, along, 0, along.rows)
    return (rows >= begin).logical_and(rows < end).expand(x.shape)


_MAKERS: dict[OpDef, Any] = {
    _SHRINK: _shrunk,
    _PAD: _padded,
    _CAT: _joined,
    _FLIP: _flipped,
    _WINDOW: _windows,
    _FOLD: _folded,
    **dict.fromkeys(SCANS),
}

__all__ = ["Along", "dims_along", "is_short", "laid_along", "made_along", "windows_of_padded"]
