"""Which sums by index use buckets, and which place is in which bucket.

What may live here: the numbers and the arithmetic of places, which the kernels of
`bucket_scatter.py` and their callers share.
"""

from __future__ import annotations

from dataclasses import dataclass

from adjoint.ir.kernel_kind import Algorithm
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp

DIGIT = 8  # bits of a bucket: one round
BUCKETS = 1 << DIGIT  # on 132 processors, two teams each
WARPS, WARP_BITS = 16, 4  # of a team
_LINE = 3  # bits of places that lie in a sector of memory, 32 bytes
_FEWEST, _MOST = 1 << 14, 1 << 22  # places: a team's are in scratch, and there are enough for it
_MOST_UPDATES = 1 << 30


def goes_by_buckets(node: UOp) -> bool:
    """Whether a node adds single floats, each to a place of its own, to many places."""
    kernel = node.op.kernel
    adds = type(kernel) is Algorithm and kernel.name == "scatter" and kernel.join(node) == "add"
    if not adds or varies(*node.shape, *(n for s in node.src for n in s.shape)):
        return False
    _, *indices, updates = node.src
    axes, dtype, count = tuple(node.arg.axes), node.dtype, updates.size
    every = axes == tuple(range(len(node.shape))) and indices[0].size == count
    narrow = dtype.is_float and dtype.itemsize <= 4 and updates.dtype is dtype
    return every and narrow and _FEWEST <= node.size <= _MOST and _FEWEST <= count < _MOST_UPDATES


@dataclass(frozen=True, slots=True)
class Places:
    """Which place has which bucket and which cell there; the cells of a warp follow one another.

    Places of a sector have one bucket, so that it is written once. Neighbouring sectors have
    others, and so do those a power of two apart: the bits above are folded into the bucket, and
    likewise into the warp. Only what many updates have in common, one place, cannot be shared.
    """

    count: int

    @property
    def bits(self) -> int:
        """Of a cell."""
        return (self.count - 1).bit_length() - DIGIT

    @property
    def cells(self) -> int:
        """Of a bucket."""
        return 1 << self.bits

    @property
    def share(self) -> int:
        """Cells of a warp."""
        return self.cells // WARPS

    def bucket(self, place: UOp) -> UOp:
        sector = place >> _LINE
        return (sector ^ (sector >> DIGIT)) & (BUCKETS - 1)

    def inside(self, place: UOp) -> UOp:
        """The number of a place among those of its bucket, in their order but for some bits."""
        return ((place >> (_LINE + DIGIT)) << _LINE) | (place & ((1 << _LINE) - 1))

    def cell(self, inside: UOp) -> UOp:
        """Neighbours are in different banks of scratch."""
        above = inside >> WARP_BITS
        warp = (inside ^ above ^ (above >> WARP_BITS)) & (WARPS - 1)
        return (warp << (self.bits - WARP_BITS)) | (above ^ (warp & (self.share - 1)))

    def place(self, bucket: UOp, inside: UOp) -> UOp:
        above = inside >> _LINE
        sector = (above << DIGIT) | ((bucket ^ above) & (BUCKETS - 1))
        return (sector << _LINE) | (inside & ((1 << _LINE) - 1))
