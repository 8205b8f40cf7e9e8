"""The cost of collectives: the bytes that each member sends, by the algorithms that send the
fewest.

What may live here: counting. What may not: choosing (see `convert.py`, whose order of steps is the
cheapest by these numbers).
"""

from __future__ import annotations

from collections.abc import Iterable

from adjoint.ir.uop import UOp
from adjoint.ops.collective import bytes_sent


def total_bytes(met: Iterable[tuple[UOp, int]]) -> int:
    """The bytes that a member sends for collectives, each met so many times."""
    return sum(bytes_sent(node) * times for node, times in met)
