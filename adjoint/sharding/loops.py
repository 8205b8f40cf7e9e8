"""A loop on a mesh: its body is partitioned as a graph of its own.

Before: loop(h: tanh(h @ w + x_t)) over x split along its batch, h whole.
After: the same loop of each member over its part of the batch, h in parts too.

Carries have the sharding in which the body leaves them, found by partitioning the body a few times;
if the body finally leaves them in another, it converts them back. Sequences are whole along the
axis of iteration. What may live here: LOOP. BRANCH and WHILE have whole operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adjoint.ir.dtype import dtypes
from adjoint.ir.function import UniqueName, function_of
from adjoint.ir.kernel_kind import Control
from adjoint.ir.mesh import Mesh, Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, substitute, toposort
from adjoint.ops.collective import axis_index

if TYPE_CHECKING:
    from adjoint.sharding.partition import Partition

_ROUNDS = 3  # through the body, to see how it leaves the carries


def is_loop(node: UOp) -> bool:
    """Whether a node is a LOOP."""
    kernel = node.op.kernel
    return type(kernel) is Control and kernel.how == "loop"


@dataclass(frozen=True, slots=True, eq=False)
class LoopPlan:
    """The shardings of a loop's operands and results; its body, planned."""

    operands: tuple[Sharding, ...]
    results: tuple[Sharding, ...]
    inner: Partition
    order: Sequence[UOp]  # the nodes of the body
    names: list[UOp]  # the body's parameters
    outputs: Sequence[UOp]
    left: list[Sharding]  # how the body leaves its outputs


def loop_plan(partition: Partition, node: UOp, outputs: Sequence[UOp]) -> LoopPlan:
    """The plan of a loop; `outputs` are those of its body, expanded."""
    arg, mesh = node.arg, partition.mesh
    n, m = arg.carries, arg.sequences
    given = [partition.layouts[s].resolved() for s in node.src]
    carries, rest = given[:n], [_element(g) for g in given[n : n + m]] + given[n + m :]
    for _ in range(_ROUNDS):
        inner, order, names = _inside(partition, arg.body.inputs, [*carries, *rest], outputs)
        found = [inner.layouts[o].resolved() for o in outputs]
        if found[:n] == carries:
            break
        carries = found[:n]
    else:
        inner, order, names = _inside(partition, arg.body.inputs, [*carries, *rest], outputs)
    rows = [inner.layouts[o].resolved() for o in outputs[n:]]
    operands = (*carries, *(_rows(mesh, s) for s in rest[:m]), *rest[m:])
    results = (*carries, *(_rows(mesh, s) for s in rows))
    return LoopPlan(operands, results, inner, order, names, outputs, [*carries, *rows])


def loop_part(partition: Partition, node: UOp, plan: LoopPlan) -> UOp:
    """The loop of one member."""
    plan.inner.build(plan.order)
    made = [plan.inner.wanted(o, s) for o, s in zip(plan.outputs, plan.left, strict=True)]
    indices = [x for x in toposort(made) if x.op is axis_index]
    places = [_name(f"place{i}", (), dtypes.int64) for i in range(len(indices))]
    made = substitute(made, dict(zip(indices, places, strict=True)))
    src = [partition.wanted(s, layout) for s, layout in zip(node.src, plan.operands, strict=True)]
    new = node.arg.replace(body=function_of([*plan.names, *places], made))
    return UOp(node.op, (*src, *indices), new)


def _inside(
    partition: Partition, inputs: Sequence[UOp], layouts: Sequence[Sharding], outputs: Sequence[UOp]
) -> tuple[Partition, list[UOp], list[UOp]]:
    """The body planned, its parameters laid out so; its nodes, and the parameters."""
    names = [
        _name(f"own{i}", layout.local(x.shape), x.dtype)
        for i, (x, layout) in enumerate(zip(inputs, layouts, strict=True))
    ]
    parameters = dict(zip(inputs, names, strict=True))
    inner = partition.inside(parameters, dict(zip(inputs, layouts, strict=True)))
    return inner, inner.plan(outputs), names


def _name(name: str, shape: Any, dtype: Any) -> UOp:
    made: UOp = OPS["input"].call(UniqueName(name), shape, dtype)
    return made


def _element(sequence: Sharding) -> Sharding:
    """The sharding of one element of a sequence."""
    return Sharding(sequence.mesh, sequence.dims[1:])


def _rows(mesh: Mesh, element: Sharding) -> Sharding:
    """The sharding of stacked elements."""
    return Sharding(mesh, ((), *element.dims))
