"""Lends memory of tensors on a device to other libraries, without a copy if nothing else refers to
it.

The borrower may write to lent memory: the tensor and its views show that, nothing else does. So
memory to which another tensor or graph refers is copied on the device first, once. What may live
here: giving memory away. What may not: taking it (foreign.py), or the host's (interchange.py).
"""

from __future__ import annotations

import weakref
from functools import partial
from sys import getrefcount
from typing import Any

from adjoint.errors import DTypeError
from adjoint.ir.dtype import is_foreign
from adjoint.ir.kernel_kind import STORED
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.ir.values import storage
from adjoint.runtime.buffer import Buffer, LentBuffer
from adjoint.runtime.memory import memory_of
from adjoint.tensor.device_capsules import Lent, capsule
from adjoint.tensor.dlpack import device_of
from adjoint.tensor.views import same_value


def lent_capsule(tensor: Any, stream: int | None, versioned: bool) -> Any:
    """A capsule of a realized tensor's memory, which its stream sees when it is written."""
    buffer, sharing = lent_buffer(tensor), _sharing(tensor)
    sharing.lent(stream)
    drop = partial(sharing.given_back, stream, partial(_drop, [buffer]))
    where = device_of(tensor.device) or (0, 0)
    return capsule(Lent(buffer.address, buffer.dtype, buffer.shape, where, drop), versioned)


def _drop(held: list[Any]) -> None:
    """Release the contents of the list."""
    held.clear()


def interface(tensor: Any) -> dict[str, Any]:
    """The `__cuda_array_interface__` of a realized tensor: version 3, with the stream to wait for.
    Its consumers keep the tensor, which keeps the memory even when it gets another value."""
    if is_foreign(tensor.dtype.np):
        problem = f"__cuda_array_interface__ has no name for {tensor.dtype.name}"
        fix = "use DLPack: from_dlpack(x)"
        raise DTypeError("E2005", problem, op="interface", operands=[("x", tensor)], help=fix)
    buffer, sharing = lent_buffer(tensor), _sharing(tensor)
    _keep(tensor, buffer)
    return {
        "shape": buffer.shape,
        "typestr": buffer.dtype.np.str,
        "data": (buffer.address, False),
        "strides": None,
        "version": 3,
        "stream": sharing.stream,
    }


_shown: dict[int, dict[int, Buffer]] = {}  # by the number of the tensor, by address


def _keep(tensor: Any, buffer: Buffer) -> None:
    """Hold memory as long as a tensor lives."""
    if id(tensor) not in _shown:
        _shown[id(tensor)] = {}
        weakref.finalize(tensor, _shown.pop, id(tensor), None).atexit = False
    _shown[id(tensor)][buffer.address] = buffer


def _sharing(tensor: Any) -> Any:
    return memory_of(tensor.device).sharing  # type: ignore[attr-defined]


# ---- memory that nothing else shows


def lent_buffer(tensor: Any) -> LentBuffer:
    """The storage of a realized tensor, such that no other value is in its memory."""
    if isinstance(storage(tensor.uop), LentBuffer):
        return storage(tensor.uop)
    alone = _is_alone(tensor)
    made: Any = storage(tensor.uop) if alone else storage(tensor.uop).apart()
    made.address  # noqa: B018  what came from the host is on the device from now on
    made.__class__, made._array = LentBuffer, None
    if not alone:
        same_value(tensor, _node(tensor, made))
    return made


def _node(tensor: Any, made: LentBuffer) -> UOp:
    """A value in that memory; a leaf keeps its history."""
    if not tensor._requires_grad:
        return OPS["buffer"](made)
    node: UOp = OPS["unique_identity"](tensor.uop)
    node.realized = made
    return node


def _is_alone(tensor: Any) -> bool:
    """Whether only the tensor refers to its node, only that to the buffer, and only that to its
    memory. No name here may hold what is counted.
    """
    kept = tensor.uop.op.kernel is STORED
    place = getrefcount(tensor.uop.arg.buffer) if kept else getrefcount(tensor.uop.realized)
    if type(storage(tensor.uop)) is not Buffer or place != _ONE:
        return False
    whole = storage(tensor.uop)._block is None or getrefcount(storage(tensor.uop)._block) == _ONE
    return getrefcount(tensor.uop) == _ONE and whole


class _Holder:
    """Something that refers to something."""

    def __init__(self) -> None:
        self.held = object()


def _counted(holder: _Holder) -> int:
    return getrefcount(holder.held)


_ONE = _counted(_Holder())  # what is counted where there is one reference
