"""Cumulative sums, products, maxima and minima along a split dimension.

Before: scan_sum(x), x split over 4 members.
After: cumulative sums of a member's pieces, plus the total of all pieces before each; an all_gather
of totals.

In the fixed order floats are cut into the pieces of `joins.py`, so that bits do not depend on the
number of members. What may live here: SCAN. What may not: other ops along a dimension (`along.py`).
"""

from __future__ import annotations

from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.ops.collective import all_gather
from adjoint.sharding.convert import masked, sliced_part
from adjoint.sharding.joins import piece_count
from adjoint.sharding.neighbours import Along, cut

_CAT = OPS["cat"]
SCANS = {OPS[f"scan_{kind}"]: kind for kind in ("sum", "prod", "max", "min")}
_NEUTRAL = {
    "sum": lambda d: -0.0 if d.is_inexact else 0,  # 0.0 + -0.0 is 0.0
    "prod": lambda d: 1,
    "max": lambda d: d.min,
    "min": lambda d: d.max,
}
_BY = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}


def scanned(node: UOp, along: Along, x: UOp, order: str) -> UOp:
    """Cumulative totals of pieces, plus those of all pieces before. Sums and products of narrow
    floats accumulate in float64, as those of a whole do.
    """
    kind, dim, dtype = SCANS[node.op], along.dim, node.dtype
    inexact = dtype.is_float and kind in ("sum", "prod")
    wide = dtypes.float64 if inexact else dtype
    x = x.cast(wide)
    if along.new % along.parts:
        neutral = _NEUTRAL[kind](wide)
        x = masked(x, dim, along.new, along.axes, along.parts, neutral)
    exact = not dtype.is_inexact or kind in ("max", "min")
    count = 1 if exact or order != "fixed" else piece_count(along.new, along.parts)
    pieces = [UOp(node.op, (piece,), node.arg) for piece in _in_pieces(x, dim, count)]
    before = _before(node, along, [_last(p, dim, node.arg.reverse) for p in pieces], kind)
    join = OPS[_BY[kind]]
    made = [join(b.expand(p.shape), p) for b, p in zip(before, pieces, strict=True)]
    whole = made[0] if len(made) == 1 else _CAT.call(*made, dim=dim)
    return whole.cast(dtype)


def _before(node: UOp, along: Along, totals: list[UOp], kind: str) -> list[UOp]:
    """For each of a member's pieces, the total of all pieces that come before it."""
    dim, reverse = along.dim, node.arg.reverse
    own = totals[0] if len(totals) == 1 else _CAT.call(*totals, dim=dim)
    every = own if along.parts == 1 else all_gather(own, along.axes, along.parts, dim)
    running = UOp(node.op, (every,), node.arg)
    count = every.shape[dim]
    kept = cut(running, dim, int(reverse), count - 1 + int(reverse))
    sides = [[int(d == dim) for d in range(len(kept.shape))], [0] * len(kept.shape)]
    neutral = _NEUTRAL[kind](running.dtype)
    shifted = kept.pad_constant(*(reversed(sides) if reverse else sides), None, neutral)
    mine = sliced_part(shifted, dim, along.axes, along.parts)
    return _in_pieces(mine, dim, len(totals))


def _in_pieces(x: UOp, dim: int, count: int) -> list[UOp]:
    rows = x.shape[dim] // count
    return [
        x.shrink(
            [(i * rows, (i + 1) * rows) if d == dim else (0, n) for d, n in enumerate(x.shape)]
        )
        for i in range(count)
    ]


def _last(x: UOp, dim: int, reverse: bool) -> UOp:
    at = 0 if reverse else x.shape[dim] - 1
    return cut(x, dim, at, at + 1)
