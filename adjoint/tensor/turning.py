"""Methods that change a handle's own shape or history: `x.t_()`, `x.unsqueeze_(0)`, `x.detach_()`.

A tensor that shares its value with no other handle takes the new node; a view becomes a further
view of its base, which it goes on sharing. Three kinds keep their shape, and the call is an error:
the base from which views are read; parameters, whose gradients have the same shape; and tensors
from outside of a transform, which must be unchanged if the transform runs again. What may live
here: that. What may not: writing elements.
"""

from __future__ import annotations

from typing import Any

from adjoint.errors import VerificationError
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.tensor import marked
from adjoint.tensor.tracing import open_scopes
from adjoint.tensor.views import receive, tie


def turn(tensor: Any, op: str, record: str, *args: Any) -> Any:
    """The tensor itself becomes the result of a record that moves elements."""
    call = OPS[record].call
    node: UOp = call(tensor.uop, *args)  # whose errors come first
    _check(tensor, op, f"x = x.{op.rstrip('_')}(…)")
    own = tensor._tie
    if own is not None and (own.repeats or not own.storage.alone(tensor)):
        tie(tensor, tensor, call, args)
        own.storage.handles.pop()  # it is listed already
    else:
        tensor._tie = None
    tensor.uop = node
    return tensor


def end_history(tensor: Any) -> Any:
    """The tensor has the values that it has, and no gradient passes from it to what made it."""
    shared = tensor._tie is not None and not tensor._tie.storage.alone(tensor)
    if shared:
        raise _refused("detach_", tensor, "other tensors show its elements", "x = x.detach()")
    receive(tensor, marked.own(tensor, OPS["detach"](tensor.uop)))
    tensor._requires_grad = False
    return tensor


def _check(tensor: Any, op: str, fix: str) -> None:
    own = tensor._tie
    if own is not None and own.call is None and not own.storage.alone(tensor):
        raise _refused(op, tensor, "views are read from it, and need its shape", fix)
    if marked.is_marked(tensor):
        raise _refused(op, tensor, "its gradients have its shape", fix)
    if not _made_inside(tensor):
        raise _refused(op, tensor, "it is from outside of the transform that runs", fix)


def _made_inside(tensor: Any) -> bool:
    """Whether the innermost transform that runs made the tensor, or none runs."""
    scopes = open_scopes.get()
    return not scopes or any(ref() is tensor for ref in scopes[-1].handles)


def _refused(op: str, tensor: Any, why: str, fix: str) -> VerificationError:
    problem = f"the tensor cannot change in place: {why}"
    return VerificationError("E4012", problem, op=op, operands=[("x", tensor)], help=f"write {fix}")
