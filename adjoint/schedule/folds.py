"""Rules about folds of strided windows.

Before: fold(x), windows two steps apart: an element finds its windows by division, and every second
tap has none.
After: the even taps and the odd ones are each folded one step apart, side by side, and the phases
are interleaved. Windows that do not overlap are placed side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod

from adjoint.ir.dtype import accumulator
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.ops.logic import copied
from adjoint.ops.movement import padded
from adjoint.ops.window import FoldArg, fold

_FEW_TAPS = 9
_FEWEST_WINDOWS = 8  # along the last axis: fewer do not fill a vector


def side_by_side(node: UOp) -> UOp | None:
    """fold(x) = x in another order, where each window begins behind the one before"""
    arg, (x,) = node.arg, node.src
    if set(arg.dilation) != {1} or arg.size != arg.stride or varies(*node.shape):
        return None
    rank = len(node.shape)
    found = _fitted(_interleaved(x, range(rank), range(rank, len(x.shape)), arg.axis), node.shape)
    return found + 0.0 if node.dtype.is_float else found  # a sum starts from 0: no -0.0


def in_phases(node: UOp) -> UOp | None:
    """fold(x, stride=s) = folds of every s-th tap, from the first on, the second on, …, in turn"""
    arg, (x,) = node.arg, node.src
    if not _are_strided(node):
        return None
    if x.shape[len(node.shape) - 1] < _FEWEST_WINDOWS:
        return None
    rank, count = len(node.shape), len(arg.axis)
    phases = _phases(x, rank, arg)
    shape, taps = list(phases.shape[: count + rank]), phases.shape[count + rank :]
    at = tuple(a + count for a in arg.axis)
    for a, n in zip(at, taps, strict=True):
        shape[a] += n - 1
    ones = (1,) * count
    folded = UOp(fold, (phases,), FoldArg(tuple(shape), at, taps, ones, ones))
    found = _interleaved(folded, range(count, count + rank), range(count), arg.axis)
    return copied(_fitted(found, node.shape))  # others read it side by side


def turn_by_turn(node: UOp) -> UOp | None:
    """fold(x, stride=s) = 0 + the first of every s taps in its place, the second, …, in turn: an
    element looks at the windows that have it, in the kernel that needs it"""
    arg, (x,), rank, count = node.arg, node.src, len(node.shape), len(node.arg.axis)
    if not _are_strided(node) or prod(_turns(arg)) > _FEW_TAPS:
        return None
    phases = _phases(x, rank, arg)
    lead = phases.shape[: count + rank]
    total: UOp | None = None
    for turn in product(*map(range, phases.shape[count + rank :])):
        bounds = [(0, n) for n in lead] + [(t, t + 1) for t in turn]
        part = phases.shrink(bounds).reshape(lead)
        before, after = [0] * len(lead), [0] * len(lead)
        for axis, t, n in zip(arg.axis, turn, _turns(arg), strict=True):
            before[axis + count], after[axis + count] = t, n - 1 - t
        part = padded(part.cast(accumulator(x.dtype)), before, after)
        total = (part + 0.0 if node.dtype.is_float else part) if total is None else total + part
    assert total is not None
    found = _interleaved(total, range(count, count + rank), range(count), arg.axis)
    return _fitted(found, node.shape).cast(node.dtype)


def _are_strided(node: UOp) -> bool:
    """Whether taps of a fold are some steps apart, in windows of neighbours."""
    arg = node.arg
    return set(arg.dilation) == {1} and set(arg.stride) != {1} and not varies(*node.shape)


def _turns(arg: FoldArg) -> list[int]:
    """How many taps of a phase there are along each axis."""
    return [-(-size // stride) for size, stride in zip(arg.size, arg.stride, strict=True)]


def tap_by_tap(node: UOp) -> UOp | None:
    """fold(x) = 0 + each tap where it belongs, zeros elsewhere, added in turn: whether an element
    has one is asked once for all that lie beside it"""
    arg, (x,), rank = node.arg, node.src, len(node.shape)
    if prod(arg.size) > _FEW_TAPS or rank - 1 in arg.axis or varies(*node.shape):
        return None
    total: UOp | None = None
    for tap in product(*map(range, arg.size)):
        part = _tap(node, x, tap)
        total = (part + 0.0 if node.dtype.is_float else part) if total is None else total + part
    return total


def _tap(node: UOp, x: UOp, tap: Sequence[int]) -> UOp:
    """One tap of all windows, where it belongs."""
    arg, rank = node.arg, len(node.shape)
    bounds = [(0, n) for n in x.shape[:rank]] + [(t, t + 1) for t in tap]
    part = x.shrink(bounds).reshape(x.shape[:rank])
    before, after, between = ([0] * rank for _ in range(3))
    for axis, t, step, gap in zip(arg.axis, tap, arg.stride, arg.dilation, strict=True):
        before[axis], between[axis] = t * gap, step - 1
        reach = before[axis] + (part.shape[axis] - 1) * step + 1
        after[axis] = node.shape[axis] - reach
    return padded(part, before, after, between)


def _phases(x: UOp, rank: int, arg: FoldArg) -> UOp:
    """Windows with their phases in front, and the taps of each at the end; those that one lacks
    are 0."""
    turns = _turns(arg)
    whole = [n * stride for n, stride in zip(turns, arg.stride, strict=True)]
    x = _fitted(x, (*x.shape[:rank], *whole))
    x = x.reshape((*x.shape[:rank], *_alternating(turns, arg.stride)))
    taps = range(rank, len(x.shape))
    return x.permute([*taps[1::2], *range(rank), *taps[::2]])


def _interleaved(x: UOp, dims: Sequence[int], phases: Sequence[int], axis: Sequence[int]) -> UOp:
    """Phases of some axes as the last digit of the place along each."""
    of = dict(zip(axis, phases, strict=True))
    pairs = [(d, of[i]) if i in of else (d,) for i, d in enumerate(dims)]
    shape = [x.shape[d] * (x.shape[of[i]] if i in of else 1) for i, d in enumerate(dims)]
    return x.permute([d for pair in pairs for d in pair]).reshape(shape)


def _fitted(x: UOp, shape: Sequence[int]) -> UOp:
    """The first elements along each axis; zeros where there are too few."""
    kept = [min(n, m) for n, m in zip(x.shape, shape, strict=True)]
    part = x if list(x.shape) == kept else x.shrink([(0, n) for n in kept])
    return padded(part, [0] * len(kept), [n - m for n, m in zip(shape, kept, strict=True)])


def _alternating(first: Iterable[int], second: Iterable[int]) -> list[int]:
    return [n for pair in zip(first, second, strict=True) for n in pair]
