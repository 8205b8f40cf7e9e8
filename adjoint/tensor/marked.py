"""Tensors with requires_grad=True, and the nodes that they have had.

`backward` looks for the nodes from which a result was computed, and such a node may belong to a
tensor that has been assigned to since. So every node that a marked tensor has had is remembered,
for as long as something else uses it. What may live here: the marks and these nodes. What may not:
derivatives.
"""

from __future__ import annotations

import weakref
from typing import Any

from adjoint.ir.derivative import Stop
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.ir.weak import WeakTable
from adjoint.tensor.tracing import grad_enabled

wanting: WeakTable[Any] = WeakTable()  # backward() fills their .grad
_marks = wanting.references  # asked at every assignment
_OWN = ("buffer", "unique_identity")  # nodes that belong to one tensor alone


def is_marked(tensor: Any) -> bool:
    """Whether gradients of this tensor have ever been requested."""
    return id(tensor) in _marks


def mark(tensor: Any) -> None:
    """From now on backward() looks for this tensor."""
    tensor._past = []
    wanting.add(tensor)


def has_own_node(tensor: Any) -> bool:
    """Whether its node belongs to it alone, so that a gradient of the node is its gradient."""
    return tensor.uop.op.name in _OWN


def own(tensor: Any, node: UOp) -> UOp:
    """A new value of the tensor; that of a marked one is a node of its own."""
    if not is_marked(tensor) or node.op.name == "assign":
        return node
    if not grad_enabled.get() and not isinstance(node.op.ad, Stop):
        node = OPS["detach"](node)
    return OPS["unique_identity"](node)


def view_apart(shared: UOp, buffer: Any) -> UOp:
    """A node with the value of one that others have, through which their gradients do not pass."""
    node: UOp = OPS["unique_identity"](OPS["detach"](shared))
    node.realized = buffer
    return node


def moves(tensor: Any) -> None:
    """The tensor is about to get another node: results computed from this one still belong to
    it.
    """
    if not is_marked(tensor):
        return
    try:
        node = object.__getattribute__(tensor, "uop")
    except AttributeError:  # a view that has not been read since its base was written
        return
    remember(tensor, node)


def remember(tensor: Any, node: UOp) -> None:
    """Results computed from an earlier node of the tensor still belong to it."""
    if is_marked(tensor):
        past = [ref for ref in tensor._past if ref() not in (None, node)] if tensor._past else []
        tensor._past = [*past, weakref.ref(node)]


def versions(tensor: Any) -> list[UOp]:
    """The tensor's node and its earlier nodes that are still in use."""
    past = (ref() for ref in tensor._past) if is_marked(tensor) else ()
    return list(dict.fromkeys((tensor.uop, *(node for node in past if node is not None))))


def ends_here(node: UOp) -> bool:
    """Whether no gradient can pass below this value of a marked tensor."""
    inner = node.src[0] if node.op.name == "unique_identity" else node
    return isinstance(inner.op.ad, Stop)
