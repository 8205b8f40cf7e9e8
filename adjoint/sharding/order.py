"""The order in which members join their values: fixed, or fast.

"fixed": the same bits for any number of members (`joins.py`). "fast": each member reduces its part
as a whole, and sums stay pending through everything linear; the last bits depend on the mesh.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Self

from adjoint.errors import ShardingError
from adjoint.ir.exactness import steady_products

ORDERS = ("fixed", "fast")
_order: ContextVar[str] = ContextVar("sharding_order", default="fixed")


def current_order() -> str:
    """The order in which sums over a mesh are joined now."""
    return _order.get()


class reduction_order:
    """Join sums over a mesh in this order from here on, or inside: `with reduction_order("fast"):`.

    What counts is when values are computed, not when a sum is written down.
    """

    def __init__(self, order: str):
        if order not in ORDERS:
            problem = f"the order is one of {', '.join(ORDERS)}, not {order!r}"
            raise ShardingError("E7006", problem, op="reduction_order")
        self._before = _order.get()
        _order.set(order)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        _order.set(self._before)


def order_of_products(order: str = "") -> AbstractContextManager[None]:
    """The context in which a local graph is compiled: in the fixed order, products are steady."""
    return steady_products() if (order or current_order()) == "fixed" else nullcontext()
