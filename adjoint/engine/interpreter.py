"""The interpreter: graph → primitive nodes in order → values, by one NumPy call per node.

It runs graphs on REF and DISK, and closed functions on arrays for host steps. What may live here:
ordering nodes, and running them one after another. What may not: the compiled path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from adjoint import config
from adjoint.engine.step_facts import node_details
from adjoint.errors import DeviceError
from adjoint.ir.expand import expand
from adjoint.ir.function import Function
from adjoint.ir.spec import verify
from adjoint.ir.uop import UOp, toposort
from adjoint.ir.values import bindings_of, is_known, known_value, storage
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.device import Device
from adjoint.runtime.reference import evaluate
from adjoint.runtime.spans import recorders, span
from adjoint.stages import ExecItem, NodeSchedule
from adjoint.target import targets_of


def schedule(roots: Iterable[UOp]) -> NodeSchedule:
    """The steps that compute the roots, sources first, each with what it is the last to use."""
    wanted = tuple(roots)
    bindings_of(wanted)  # one value for each variable
    if config.VERIFY.value():
        verify(wanted)
    values = expand(wanted)
    order = [n for n in toposort(values, stop=is_known) if not is_known(n)]
    last: dict[UOp, UOp] = {}
    for node in order:
        for source in node.src:
            last[source] = node
    dying: dict[UOp, list[UOp]] = {}
    keep = set(values)
    for source, node in last.items():
        if source not in keep:
            dying.setdefault(node, []).append(source)
    items = tuple(ExecItem(node, tuple(dying.get(node, ()))) for node in order)
    return NodeSchedule(items, wanted, tuple(values))


def run(plan: NodeSchedule) -> None:
    """Compute every step, and store the values of the roots on their nodes."""
    values = _computed(plan.items)
    for root, node in zip(plan.roots, plan.values, strict=True):
        if not is_known(root):
            root.realized = storage(node) if is_known(node) else _stored(values[node], node)


def run_items(items: Iterable[ExecItem]) -> None:
    """Compute the steps of `Tensor.schedule()`, and store their results on their nodes."""
    for node, value in _computed(items).items():
        if not is_known(node) and not isinstance(value, tuple):
            node.realized = _stored(value, node)


def _computed(
    items: Iterable[ExecItem], given: Mapping[UOp, Any] = MappingProxyType({})
) -> dict[UOp, Any]:
    """The values of the steps that no later step was the last to use."""
    values: dict[UOp, Any] = dict(given)
    for item in items:
        check_device(item.node)
        operands = [values[s] if s in values else known_value(s) for s in item.node.src]
        values[item.node] = _evaluated(item.node, operands)
        for source in item.last_uses:
            values.pop(source, None)
    return values


def _evaluated(node: UOp, operands: list[Any]) -> Any:
    if not recorders:
        return evaluate(node, operands, run_function)
    with span(node.op.name, "host", **node_details(node)):
        return evaluate(node, operands, run_function)


def run_function(function: Function, arrays: list[Any]) -> list[Any]:
    """A closed graph on arrays."""
    plan = _function_plan(function)
    given = dict(zip(function.inputs, arrays, strict=True))
    values = _computed(plan.items, given)
    return [values[node] if node in values else known_value(node) for node in plan.values]


@lru_cache(maxsize=256)
def _function_plan(function: Function) -> NodeSchedule:
    plan = schedule(function.outputs)
    items = tuple(item for item in plan.items if item.node not in set(function.inputs))
    return NodeSchedule(items, plan.roots, plan.values)


def check_single(node: UOp) -> None:
    """Raise for a node with several results, which cannot store a single value."""
    if isinstance(node.dtype, tuple):
        problem = "a node with several results has no single value"
        raise DeviceError("E6003", problem, op=node.op.name, help="take one with part(i)")


def _stored(value: Any, node: UOp) -> Buffer:
    check_single(node)
    row_major = np.ascontiguousarray(value).reshape(node.shape)
    return Buffer(row_major, node.device or Device.DEFAULT)


def check_device(node: UOp) -> None:
    """Raise E6002 if nothing here can run on the node's device."""
    if node.device is not None and not all(t.runs for t in targets_of(node.device)):
        problem = f"nothing on this machine can run on {node.device}"
        fix = f"devices that can run here: {', '.join(Device.available())}"
        raise DeviceError("E6002", problem, op=node.op.name, help=fix)
