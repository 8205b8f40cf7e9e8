"""Sums and extremes by index in any order: atomic operations on memory, a thread for four numbers.

Two kernels: the result is x, or the number that all of x is; then every update is joined with its
place. Narrow numbers are joined in 32 bits, and a third kernel rounds them. What may live here:
these kernels. What may not: which scatters use them (`atomics.py`).
"""

from __future__ import annotations

from math import prod

from adjoint.ir.affine import strides_of
from adjoint.ir.dtype import dtypes
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.atomics import joined_as
from adjoint.kernel.algorithms.loops import AlgorithmSteps, Loops, index_sum, number, split
from adjoint.kernel.algorithms.scatter import flag_code
from adjoint.kernel.algorithms.scatter_ends import Scatter, in_words
from adjoint.ops.indexing import wrapped
from adjoint.stages import LoopProgram

_LANES = 4  # numbers of a thread


def by_atomics(s: Scatter) -> AlgorithmSteps:
    """The kernels of a scatter that uses atomic operations."""
    node, kind, name = s.node, joined_as(s.node.dtype), s.node.op.name
    narrow = kind is not node.dtype
    joined = s.first_scratch if narrow else 0
    given = () if s.x is None else (1,)
    indices = range(s.first_index, s.updates_place)
    parts = [
        (_begin(s, f"{name}_begin"), (joined, *given)),
        (_Join(s).program(f"{name}_atomic"), (joined, *indices, s.updates_place, s.flag)),
    ]
    if narrow:
        parts.append((_end(s, f"{name}_end"), (0, joined)))
    scratch = ((kind, node.size),) if narrow else ()
    return AlgorithmSteps(tuple(parts), scratch, flag=True)


def _begin(s: Scatter, name: str) -> LoopProgram:
    """What lies at the places before."""
    node, kind, loops = s.node, joined_as(s.node.dtype), Loops()
    out = loops.buffer("joined", kind, node.size, True)
    x = None if s.x is None else loops.buffer("x", node.dtype, node.size)
    with loops.grid(node.size, _LANES) as at:
        value = number(node.src[0].arg.value, node.dtype) if x is None else loops.load(x, at)
        loops.store(out, at, value.cast(kind))
    return loops.program(node, name, 1)


def _end(s: Scatter, name: str) -> LoopProgram:
    """What lies there finally, in fewer bits."""
    node, loops = s.node, Loops()
    out = loops.buffer("out", node.dtype, node.size, True)
    joined = loops.buffer("joined", joined_as(node.dtype), node.size)
    with loops.grid(node.size, _LANES) as at:
        loops.store(out, at, loops.load(joined, at).cast(node.dtype))
    return loops.program(node, name, 1)


class _Join:
    """The kernel that joins the updates."""

    def __init__(self, s: Scatter) -> None:
        self.s, self.loops = s, Loops(dtypes.int32)
        self.kind = joined_as(s.node.dtype)
        buffer = self.loops.buffer
        self.joined = buffer("joined", self.kind, s.node.size, True)
        self.indices = [buffer(f"index{i}", x.dtype, x.size) for i, x in enumerate(s.indices)]
        self.updates = buffer("updates", s.updates.dtype, s.updates.size)
        self.flag = buffer("flag", dtypes.int64, 1, True)

    def program(self, name: str) -> LoopProgram:
        s, loops, join = self.s, self.loops, self.s.node.op.kernel.join(self.s.node)
        shape, axes = s.layout.shape, s.node.arg.axes
        strides = strides_of(shape)
        others = [axis for axis in range(len(shape)) if axis not in axes]
        sizes = [shape[axis] for axis in others]
        with loops.grid(s.updates.size, _LANES) as element:
            update = element // prod(sizes)
            rest = split(element % prod(sizes), sizes) if prod(sizes) > 1 else []
            terms = [(at, strides[axis]) for at, axis in zip(rest, others, strict=False)]
            places, good = self._places(update)
            terms += [(at, strides[axis]) for at, axis in zip(places, axes, strict=True)]
            value = loops.load(self.updates, element).cast(self.kind)
            loops.atomic(self.joined, index_sum(*terms, dtype=dtypes.int32), value, join, good)
        return loops.program(s.node, name, 4)

    def _places(self, update: UOp) -> tuple[list[UOp], UOp]:
        """Where an update goes along the indexed axes, and whether all indices are valid; a bad one
        sets the flag.
        """
        s, found, every = self.s, list[UOp](), None
        for buffer, wraps, axis, extent in zip(
            self.indices, s.wraps, s.node.arg.axes, s.extents, strict=True
        ):
            index = self.loops.load(buffer, update)
            index = wrapped(index, extent) if wraps else index
            short, good = in_words(index, extent)
            found.append(good.where(short, 0))
            code = flag_code(axis, index)
            self.loops.store(self.flag, number(0, dtypes.int32), code, good.logical_not())
            every = good if every is None else every.logical_and(good)
        assert every is not None
        return found, every
