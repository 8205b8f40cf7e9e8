"""Nodes that only select elements of a known value: copied from memory, without a schedule or a
compile.

Before: reshape(shrink(x, [3:4]), []) of a tensor that has a value. After: a copy of its element 3.

What may live here: which nodes qualify, and reading them. What may not: arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from adjoint.engine.interpreter import check_device
from adjoint.ir.arg import Varying
from adjoint.ir.expand import expand
from adjoint.ir.kernel_kind import STORED, Identity, Library, View
from adjoint.ir.mesh import Sharding
from adjoint.ir.opdef import OPS, attributes
from adjoint.ir.uop import UOp, toposort
from adjoint.ir.values import is_known, storage
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.device import Device
from adjoint.runtime.spans import copying, recorders

Array = np.ndarray[Any, Any]
_SHRINK = OPS["shrink"]
MOST = 1 << 14  # elements; what is longer, a kernel copies on all threads


def read(node: UOp, check: Callable[[UOp], None] = check_device) -> Buffer | None:
    """The value of a node that only selects elements of a known value; None for others. The device
    of the node is checked.
    """
    if type(node.op.kernel) not in _SHOWING or type(node.device) is not str:
        return None
    steps, base = _steps(node)
    if base is None:
        return None
    whole: Buffer = storage(base)
    if not steps:
        return moved(whole, node.device)
    check(node)
    if whole.device == node.device and all(step.op.kernel.aliases for step in steps):
        return whole.viewed(node.shape, node.dtype)
    if whole.on_device and whole.device == node.device and _is_run_of(steps):
        return _taken(whole, steps, node)
    if node.size > MOST or not is_near(whole) or _copies_much(whole, steps):
        return None
    with copying(whole.device, node.device, node.size * node.dtype.itemsize):
        return Buffer(_shown(whole.array(), steps).copy(), node.device)


_SHOWING = (View, Identity)


def is_near(buffer: Buffer) -> bool:
    """Whether the host has the contents, or gets them by copying little."""
    return buffer.on_host or buffer.nbytes <= MOST


def moved(buffer: Buffer, device: Any) -> Buffer:
    """A buffer as one of another device of this machine, or in parts on a mesh; a file's contents
    are read now."""
    if buffer.device == device:
        return buffer
    if type(device) is Sharding:
        found: Buffer = import_module("adjoint.runtime.sharded_buffer").laid_out(buffer, device)
        return found
    straight = buffer.copied_to(device) if type(device) is str and buffer.on_device else None
    if straight is not None:
        return straight
    array = buffer.array()
    if isinstance(array, np.memmap):
        with copying(buffer.device, device, buffer.nbytes):
            return Buffer(np.array(array), device)
    if recorders and Device.is_host(device) and Device.is_host(buffer.device):
        with copying(buffer.device, device, 0) as seen:
            seen.details["shares"] = f"the {array.nbytes} bytes that are there"
    return Buffer(array, device)


def is_slice(node: UOp) -> bool:
    """Whether a SHRINK shows a value in memory: few elements of the host's, or a run of them."""
    if node.size > MOST and not _is_run(node):
        return False
    steps, base = _steps(node)
    if base is None or type(node.device) is not str:
        return False
    whole: Buffer = storage(base)
    if whole.device != node.device:
        return False
    return not _copies_much(whole, steps) if Device.is_host(node.device) else _is_run_of(steps)


def _is_run(node: UOp) -> bool:
    """Whether the elements that a SHRINK of a value selects are contiguous."""
    return is_known(node.src[0]) and _takes_run(node)


def _takes_run(node: UOp) -> bool:
    (x,), extents = node.src, node.shape
    if any(step != 1 for step in node.arg.step):
        return False
    cut = [axis for axis, n in enumerate(extents) if n != x.shape[axis]]
    return not cut or all(n == 1 for n in extents[: cut[-1]])


def _is_run_of(steps: Sequence[UOp]) -> bool:
    """Whether the elements that views of a value show are contiguous, in its order."""
    return all(s.op.kernel.aliases or (s.op is _SHRINK and _takes_run(s)) for s in steps)


def _taken(whole: Buffer, steps: Sequence[UOp], node: UOp) -> Buffer:
    """A copy of a run of a value, in the memory of its device: the host need not wait for it."""
    place = 0
    for step in steps:
        if step.op is _SHRINK:
            shape, begin = step.src[0].shape, 0
            for extent, start in zip(shape, step.arg.start, strict=True):
                begin = begin * int(extent) + int(start)
            place += begin * step.dtype.itemsize
    return whole.part(place, node.dtype, tuple(map(int, node.shape)))


def slices_inside(constants: Sequence[UOp], roots: Sequence[UOp]) -> tuple[int, ...]:
    """The numbers of slices that may be arguments only if that changes no product: all of them, if
    there may be products, because the order in which those are added depends on the layout of their
    operands.
    """
    slices = tuple([i for i, node in enumerate(constants) if node.src])
    if slices and any(map(_may_multiply, toposort(expand(roots), stop=is_known))):
        return slices
    return ()


def _may_multiply(node: UOp) -> bool:
    product = type(node.op.kernel) is Library and node.dtype.is_inexact
    return product or node.op.takes_functions


def slice_argument(node: UOp, copy: bool) -> Buffer:
    """The elements of an `is_slice` node for a program to read: a copy if necessary or
    requested.
    """
    steps, base = _steps(node)
    assert base is not None
    if not Device.is_host(node.device):
        return _taken(storage(base), steps, node)
    array = _shown(storage(base).array(), steps)
    return Buffer(array.copy() if copy else np.ascontiguousarray(array), node.device)


def _steps(node: UOp) -> tuple[list[UOp], UOp | None]:
    """The views from a known value to the node, the last first, and the node that stores the
    value.
    """
    steps: list[UOp] = []
    while node.realized is None:
        kernel = node.op.kernel
        if kernel is STORED:
            break
        if isinstance(node.arg, Varying):  # its sizes vary
            return steps, None
        if type(kernel) is View and len(node.src) == 1 and kernel.fill is None:
            steps.append(node)
            (node,) = node.src
        elif type(kernel) is Identity:
            node = node.src[kernel.operand]
        else:
            return steps, None
    return steps, node


def _copies_much(whole: Buffer, steps: Sequence[UOp]) -> bool:
    """Whether NumPy would copy many elements on the way to few: it copies what it reshapes if that
    is not contiguous, and an expanded value may have more elements than fit in memory.
    """
    if not any(step.op.kernel.aliases and step.size > MOST for step in steps[:-1]):
        return False
    array = whole.array()
    for step in reversed(steps):
        if step.op.kernel.aliases and step.size > MOST and not _reshapes_in_place(array, step):
            return True
        array = _shown(array, [step])
    return False


def _reshapes_in_place(array: Array, step: UOp) -> bool:
    try:
        np.reshape(array, step.shape, copy=False)
    except ValueError:
        return False
    return True


def _shown(array: Array, steps: Sequence[UOp]) -> Array:
    for step in reversed(steps):
        array = np.asarray(step.op.reference(array, **attributes(step)))  # not NumPy's scalar
    return array
