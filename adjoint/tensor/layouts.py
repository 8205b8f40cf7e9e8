"""How the value of a node lies on its mesh, and another value laid out like it.

What may live here: questions about nodes, and values that take another's layout. What may not:
handles (`sharded.py`), propagation or running.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from adjoint.ir.mesh import Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.ir.values import is_known, storage

_SHARD = OPS["shard"]


def sharding_of(node: UOp) -> Sharding | None:
    """The sharding of a node's value; None if it is on no mesh."""
    place = storage(node).device if is_known(node) else node.device
    if not isinstance(place, Sharding):
        return None
    if is_known(node):
        return place
    if node.op is _SHARD and not node.arg.free:
        asked: Sharding = node.arg.sharding
        return asked
    found: Sharding | None = import_module("adjoint.sharding.layouts").sharding_of(node)
    return found


def conformed(g: UOp, target: UOp) -> UOp:
    """A gradient with the sharding of its input and nothing pending, or on the same device."""
    wanted = sharding_of(target)
    if wanted is not None:
        return laid(g, wanted.resolved())
    if isinstance(g.device, Sharding):
        back: UOp = OPS["copy"](g, target.device or g.device[0])
        return back
    return g


def beside(x: UOp, there: UOp) -> UOp:
    """The same values where another value is."""
    wanted = sharding_of(there)
    if wanted is not None:
        return laid(x, wanted.resolved())
    return x if x.device == there.device else OPS["copy"](x, there.device)


def written(new: UOp, old: UOp) -> UOp:
    """What is written over a value lies where that does; a value on no mesh may go to one."""
    return conformed(new, old) if type(old.device) is Sharding else new


def laid(x: UOp, wanted: Sharding) -> UOp:
    """The same values in a layout."""
    if x.op is _SHARD and x.arg.sharding == wanted and not x.arg.free:
        return x
    made: UOp = _SHARD(x, wanted)
    return made


def row_place(node: UOp) -> Any:
    """Where a row of a value is, for a variable that stands for it: on the same mesh, split as the
    value's other dimensions are."""
    layout = sharding_of(node)
    return node.device if layout is None else Sharding(layout.mesh, layout.dims[1:])
