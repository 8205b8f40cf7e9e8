"""`t[i]` and `t[i] = v` with NumPy's meaning, as graphs.

Ints and slices are movement; arrays are GATHER and SCATTER; writing is a choice (WHERE) between the
old elements and the new, so NaN and -0.0 stay as they are. An index without arrays gives a view
(see `views.py`). What may live here: graphs of indexing. What may not: the reading of the index
(see `index.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.errors import BoundsError, ShapeError
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import alike
from adjoint.ir.uop import UOp
from adjoint.ops.indexing import gathered, scattered
from adjoint.ops.movement import padded, sliced
from adjoint.tensor.index import IndexPlan, plan_of
from adjoint.tensor.layouts import written
from adjoint.tensor.lift import Lifter, passed_on
from adjoint.tensor.memory_views import shows_memory, unbuilt
from adjoint.tensor.tracing import grad_enabled
from adjoint.tensor.views import WRITERS, become, same_place, tie, writing

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

Shape = tuple[int, ...]


class Indexing:
    """Mixed into Tensor."""

    __slots__ = ()

    def __getitem__(self: Any, key: Any) -> Tensor:
        plan, make = plan_of("getitem", self.uop, key), Lifter(type(self)).handle
        if plan.picks:
            return make(taken(self.uop, plan), passed_on(self._requires_grad))
        with writing:
            flag = passed_on(self._requires_grad)
            if shows_memory(self, flag):
                return unbuilt(self, flag, viewed, plan)
            return tie(self, make(taken(self.uop, plan), flag), viewed, (plan,))

    def __setitem__(self: Any, key: Any, value: Any) -> None:
        plan = plan_of("setitem", self.uop, key)
        if same_place(self, viewed, (plan,), value):  # x[1:3] += 1 has written through x[1:3]
            return
        new, flag = _node_of(self, value), getattr(value, "_requires_grad", False)
        with writing:  # other threads may write to other parts
            whole = written(given(self.uop, plan, new), self.uop)
            become(self, whole, grad_enabled.get() and flag)


def _node_of(tensor: Any, value: Any) -> UOp:
    """A value to be written, in the tensor's dtype."""
    if hasattr(value, "uop"):
        return value.uop.cast(tensor.dtype)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float, complex)):
        return OPS["const"](value, tensor.dtype, (), tensor.device)
    return tensor._operand(value)


def taken(x: UOp, plan: IndexPlan) -> UOp:
    """`x[i]`."""
    view = viewed(x, plan)
    if not plan.picks:
        return view
    indices = _indices("getitem", x, plan)
    got = gathered(view, indices, plan.picked_axes)
    rank, at = len(got.shape) - len(plan.rest), plan.position
    front, rest = range(rank), range(rank, len(got.shape))
    return got.permute(*rest[:at], *front, *rest[at:])


def viewed(x: UOp, plan: IndexPlan) -> UOp:
    """The slices and ints of an index, picked axes whole."""
    cuts = plan.cuts
    cut = sliced(x, [c.start for c in cuts], [c.stop for c in cuts], [c.step for c in cuts])
    return cut.flip(plan.flipped).reshape(plan.view_shape)


def _indices(op: str, x: UOp, plan: IndexPlan) -> tuple[UOp, ...]:
    """One index array per pick, in shapes that broadcast."""
    indices = tuple(p.places() for p in plan.picks)
    try:
        np.broadcast_shapes(*(i.shape for i in indices))
    except ValueError:
        shapes = " and ".join(str(list(i.shape)) for i in indices)
        problem = f"index arrays of shapes {shapes} do not broadcast"
        raise BoundsError("E3001", problem, op=op, operands=[("x", x)]) from None
    return indices


def given(x: UOp, plan: IndexPlan, value: UOp) -> UOp:
    """`x` after `x[i] = value`."""
    if not plan.picks:
        return _replaced(x, plan, _fitted(x, value, plan.view_shape))
    masked = _masked(x, plan, value)
    return _replaced(x, plan, _scattered(x, plan, value) if masked is None else masked)


def _fitted(x: UOp, value: UOp, shape: Shape) -> UOp:
    """The value without leading axes of size 1 that the shape lacks; it broadcasts to the shape."""
    extra = max(len(value.shape) - len(shape), 0)
    own = value.shape[extra:]
    offset = len(shape) - len(own)
    fits = all(n in (1, shape[offset + i]) for i, n in enumerate(own))
    if not fits or any(n != 1 for n in value.shape[:extra]):
        problem = f"a value of shape {list(value.shape)} does not broadcast to {list(shape)}"
        raise ShapeError("E3001", problem, op="setitem", operands=[("x", x), ("value", value)])
    return value.reshape(own)


def _replaced(x: UOp, plan: IndexPlan, new: UOp) -> UOp:
    """`x` with its view replaced by `new`, which broadcasts to the view."""
    cuts = plan.cuts
    region = tuple(c.extent for c in cuts)
    if alike(region, x.shape):
        return _laid(new.expand(plan.view_shape), region, plan)
    if 0 in region:
        return x
    after = [n - c.stop for n, c in zip(x.shape, cuts, strict=True)]
    edges = [c.start for c in cuts], after, [c.step - 1 for c in cuts]
    inside = padded(OPS["const"](True, dtypes.bool_, region, x.device), *edges)
    if not new.shape:
        return inside.where(new, x)
    return inside.where(padded(_laid(new.expand(plan.view_shape), region, plan), *edges), x)


def _laid(new: UOp, region: Shape, plan: IndexPlan) -> UOp:
    """A value in the view's shape, as the axes of the tensor have it."""
    return new.reshape(region).flip(plan.flipped)


def _masked(x: UOp, plan: IndexPlan, value: UOp) -> UOp | None:
    """The view after writing under one mask, lazily; None where the value varies with the count."""
    (pick, *others), at = plan.picks, plan.position
    rest = plan.rest
    ones = (*rest[:at], 1, *rest[at:])
    here = at - len(ones)
    varies = len(value.shape) >= -here and value.shape[here] != 1
    if others or not pick.is_mask or varies:
        return None
    own = _fitted(x, value, ones)
    own = own.reshape(*[1] * (len(ones) - len(own.shape)), *own.shape)
    axis = plan.picked_axes[0]
    order = [i for i in range(len(ones)) if i != at]
    moved = own.permute(*order[:axis], at, *order[axis:])
    mask = pick.node.reshape(*[1] * axis, pick.extent, *[1] * (len(ones) - axis - 1))
    return mask.where(moved, viewed(x, plan))


def _scattered(x: UOp, plan: IndexPlan, value: UOp) -> UOp:
    """The view after writing at index arrays; of equal indices the last write wins."""
    indices = _indices("setitem", x, plan)
    places = np.broadcast_shapes(*(i.shape for i in indices))
    rest, at, rank = plan.rest, plan.position, len(places)
    shape = (*rest[:at], *places, *rest[at:])
    full = _fitted(x, value, shape).expand(shape)
    order = range(len(shape))
    front = full.permute(*order[at : at + rank], *order[:at], *order[at + rank :])
    return scattered(viewed(x, plan), indices, front, plan.picked_axes, "set")


WRITERS[viewed] = _replaced
