"""Whether a node has a value, and which: the facts that every walk over a graph stops at."""

from __future__ import annotations

from typing import Any

from adjoint.ir.kernel_kind import STORED
from adjoint.ir.uop import UOp


def is_known(node: UOp) -> bool:
    """Whether the node's value exists already."""
    return node.realized is not None or node.op.kernel is STORED


def storage(node: UOp) -> Any:
    """The `Buffer` of a node whose value exists."""
    return node.arg.buffer if node.op.kernel is STORED else node.realized


def known_value(node: UOp) -> Any:
    """The array of a node whose value exists."""
    return storage(node).array()
