"""Finds the values in memory, and the nodes that say which line made each.

What may live here: finding them. What may not: reports about them (`debug/memory_report.py`,
E6004).
"""

from __future__ import annotations

from collections.abc import Iterator

from adjoint.ir.kernel_kind import STORED
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.ir.values import is_known, storage
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.memory import tells_largest

_UNITS = ("KiB", "MiB", "GiB", "TiB")


def live_values() -> dict[int, tuple[Buffer, UOp]]:
    """Every buffer once, by its identity; of several nodes the one that was computed says where it
    comes from."""
    found: dict[int, tuple[Buffer, UOp]] = {}
    for node in _nodes():
        buffer = storage(node)
        key = id(buffer)
        if key not in found or found[key][1].op.kernel is STORED:
            found[key] = (buffer, node)
    return found


def _nodes() -> Iterator[UOp]:
    """Nodes that have values, and live."""
    for record in list(OPS.values()):
        for reference in list(record.nodes.values()):
            node = reference()
            if node is not None and is_known(node) and not isinstance(node.dtype, tuple):
                yield node


@tells_largest
def largest(device: str, count: int) -> list[tuple[str, UOp]]:
    """The largest values on a device: the size of each, and its node."""
    held = [(b.nbytes, node) for b, node in live_values().values() if b.device == device]
    chosen = sorted(held, key=lambda pair: -pair[0])[:count]
    return [(size(nbytes), node) for nbytes, node in chosen if nbytes]


def size(count: int) -> str:
    """`1.5 MiB`"""
    amount, unit = float(count), "B"
    for larger in _UNITS:
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"
