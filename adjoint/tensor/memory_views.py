"""Views of values in memory: `x[i]` of a realized tensor needs no node until something is computed
from it, and reading it reads memory.

A view without a node builds one on demand (`views.py`); until then its value is the part of the
base's array that its plan names. What may live here: making and reading such views.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.engine.memory_reads import MOST, is_near
from adjoint.engine.observers import watch
from adjoint.ir import sizes
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import capture
from adjoint.ir.uop import make_known
from adjoint.ir.values import is_known, storage
from adjoint.runtime.buffer import Buffer
from adjoint.tensor.index import Cut, IndexPlan, New
from adjoint.tensor.live_tensors import noted
from adjoint.tensor.tracing import open_scopes
from adjoint.tensor.views import has_node, settled, tie, writing

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

Array = np.ndarray[Any, Any]
_BUFFER = OPS["buffer"]


def shows_memory(base: Any, flag: Any) -> bool:
    """Whether a view of the tensor, that requires gradients by `flag`, may go without a node."""
    tie = base._tie
    whole = tie is None or tie.call is None
    return not flag and whole and is_known(base.uop) and not open_scopes.get()


def unbuilt(base: Any, flag: Any, call: Any, plan: IndexPlan) -> Tensor:
    """A view of a tensor that has a value, without a node; its line is that of the caller."""
    made: Any = object.__new__(type(base))
    made._requires_grad, made._grad, made._tie = flag, None, None
    noted(made)
    tie(base, made, call, (plan,))
    made._tie.place = capture()
    return made


def peeked(tensor: Any) -> Array | None:
    """The elements of a view without a node, in place; None for other tensors."""
    plan = _plan_of(tensor)
    if plan is None or watch.on or open_scopes.get():
        return None
    node = tensor._tie.storage.node
    if not is_known(node) or (sizes.living and sizes.varies(*node.shape, *plan.view_shape)):
        return None
    buffer: Buffer = storage(node)
    if buffer.shape != node.shape or not is_near(buffer):
        return None
    array: Array = buffer.array()[_places(plan)]
    return array


def _plan_of(tensor: Any) -> IndexPlan | None:
    """The index of the whole that a view without a node shows, if that is all it is."""
    tie = tensor._tie
    if tie is None or tie.call is None or tensor._requires_grad or has_node(tensor):
        return None
    plain = tie.prev.call is None and tie.number is None and tie.via is None and not tie.cut
    given = tie.args
    return given[0] if plain and len(given) == 1 and type(given[0]) is IndexPlan else None


def copied(tensor: Any) -> Buffer | None:
    """A small view without a node in memory of its own, which is its value from now on."""
    if tensor._tie is None:
        return None
    with writing:
        array = peeked(tensor)
        if array is None or array.size > MOST:
            return None
        tie = tensor._tie
        buffer = Buffer(array.copy(), storage(tie.storage.node).device)
        arg, kind = _BUFFER.arg(buffer), (buffer.shape, buffer.dtype, buffer.device)  # type: ignore[misc]
        settled(tensor, make_known(_BUFFER, (), arg, *kind, tie.place))
    return buffer


def _places(plan: IndexPlan) -> tuple[Any, ...]:
    """The plan's slices and ints as NumPy's; an Ellipsis keeps a single element an array."""
    return (*[_place(part) for part in plan.parts if isinstance(part, (Cut, New))], Ellipsis)


def _place(part: Cut | New) -> Any:
    if type(part) is New:
        return None
    start, step, extent, flip, keep = part  # type: ignore[misc]
    if not keep:
        return start
    if not flip:
        return slice(start, start + extent * step, step)
    last = start - step
    return slice(start + (extent - 1) * step, None if last < 0 else last, -step)
