"""Collectives as steps of a GPU's program: NCCL puts them on the stream, between kernels.

Members agree on the host that they call the same before anything is put on a stream. The library's
groups are made once for the devices that are in them. What may live here: steps, and the groups of
this process. What may not: calls of NCCL (`runtime/comm/nccl.py`).
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from adjoint.backends.cuda.graphs import Entry
from adjoint.errors import AdjointError
from adjoint.ir.member import current_member, group_of
from adjoint.ir.uop import UOp
from adjoint.ops.collective import COLLECTIVES, all_gather, all_to_all, collective_permute
from adjoint.runtime.comm import nccl
from adjoint.runtime.comm.nccl import DeviceArray, NcclMember
from adjoint.runtime.cuda import Driver
from adjoint.runtime.launch import Cells
from adjoint.stages import HostStep, Step

_groups: dict[Any, NcclMember] = {}
_lock = threading.Lock()


def is_carried(step: Step) -> bool:
    """Whether NCCL does a step: a move along the first dimension, where it is installed."""
    if not isinstance(step, HostStep) or step.node.op not in COLLECTIVES or not is_installed():
        return False
    node = step.node
    if node.op is all_to_all:
        return (node.arg.split, node.arg.joined) == (0, 0) and node.shape[0] == node.arg.size
    return node.op is collective_permute or (node.op is all_gather and node.arg.dim == 0)


def is_installed() -> bool:
    """Whether NCCL is installed."""
    return nccl.library().loaded is not None


def collective_entry(step: HostStep, cells: Cells, gpu: Driver) -> Entry:
    """Puts a collective on the stream. No graph records it, because the host synchronises with the
    others.
    """
    (result,), (operand,), node = step.results, step.operands, step.node

    def call() -> None:
        if int(node.size):
            source = _array(cells[operand], node.src[0])
            _carried(node, source, _array(cells[result], node), gpu)

    return Entry(call, (result, operand), launches=0)


def _array(address: int, node: UOp) -> DeviceArray:
    return DeviceArray(address, tuple(map(int, node.shape)), np.dtype(node.dtype.np))


def _carried(node: UOp, source: DeviceArray, target: DeviceArray, gpu: Driver) -> None:
    arg, place = node.arg, "" if node.origin is None else f" ({node.origin})"
    label = f"{node.op.name} over {', '.join(arg.axes)}{place}"
    try:
        group = _group(node, gpu)
        if node.op is all_gather:
            stacked = target._replace(shape=(arg.size, *source.shape))
            group.all_gather(source, stacked, label=label)
        elif node.op is all_to_all:
            group.all_to_all(source, target, label=label)
        else:
            group.permute(source, target, arg.pairs, label=label)
    except AdjointError as error:
        built = f" (built by {node.origin})" if node.origin is not None else ""
        raise error.placed(node.op.name, built) from None


def _group(node: UOp, gpu: Driver) -> NcclMember:
    """The members along the node's axes, with the library's group of their devices."""
    host, member = group_of(node.op.name, node.arg.axes), current_member()
    assert member is not None
    ranks = member.mesh.group(member.number, node.arg.axes)
    key = (tuple(member.mesh.devices[rank] for rank in ranks), host.rank, id(gpu))
    with _lock:
        known = _groups.get(key)
    if known is None:
        known = nccl.connect(host, gpu)
        with _lock:
            _groups[key] = known
    return known.with_host(host)
