"""A loop on a mesh: its body is partitioned as a graph of its own.

Before: loop(h: tanh(h @ w + x_t)) over x split along its batch, h whole.
After: the same loop of each member over its part of the batch, h in parts too.

Carries lie as the body leaves them, found by going through it a few times; where it leaves them
otherwise in the end, it brings them back. Sequences are whole along what the loop goes over. What
may live here: LOOP. BRANCH and WHILE have whole operands.
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
class LoopPart:
    """What a member runs of a loop, and how its results lie."""

    node: UOp
    results: tuple[Sharding, ...]


def loop_part(partition: Partition, node: UOp, outputs: Sequence[UOp]) -> LoopPart:
    """The loop of one member; `outputs` are those of its body, expanded."""
    arg, mesh = node.arg, partition.mesh
    n, m = arg.carries, arg.sequences
    given = [partition.layouts[s].resolved() for s in node.src]
    carries, rest = given[:n], [_element(g) for g in given[n : n + m]] + given[n + m :]
    for _ in range(_ROUNDS):
        inner, names = _inside(partition, arg.body.inputs, [*carries, *rest], outputs)
        found = [inner.layouts[o].resolved() for o in outputs]
        if found[:n] == carries:
            break
        carries = found[:n]
    else:
        inner, names = _inside(partition, arg.body.inputs, [*carries, *rest], outputs)
    rows = [inner.layouts[o].resolved() for o in outputs[n:]]
    made = [inner.wanted(o, s) for o, s in zip(outputs, [*carries, *rows], strict=True)]
    indices = [x for x in toposort(made) if x.op is axis_index]
    places = [_name(f"place{i}", (), dtypes.int64) for i in range(len(indices))]
    made = substitute(made, dict(zip(indices, places, strict=True)))
    outer = [*carries, *(_rows(mesh, s) for s in rest[:m]), *rest[m:]]
    src = [partition.wanted(s, layout) for s, layout in zip(node.src, outer, strict=True)]
    new = arg.replace(body=function_of([*names, *places], made))
    results = (*carries, *(_rows(mesh, s) for s in rows))
    return LoopPart(UOp(node.op, (*src, *indices), new), results)


def _inside(
    partition: Partition, inputs: Sequence[UOp], layouts: Sequence[Sharding], outputs: Sequence[UOp]
) -> tuple[Partition, list[UOp]]:
    """The body partitioned, its parameters laid out so."""
    names = [
        _name(f"own{i}", layout.local(x.shape), x.dtype)
        for i, (x, layout) in enumerate(zip(inputs, layouts, strict=True))
    ]
    parameters = dict(zip(inputs, names, strict=True))
    inner = partition.inside(parameters, dict(zip(inputs, layouts, strict=True)))
    inner.add(outputs)
    return inner, names


def _name(name: str, shape: Any, dtype: Any) -> UOp:
    made: UOp = OPS["input"].call(UniqueName(name), shape, dtype)
    return made


def _element(sequence: Sharding) -> Sharding:
    """How one element of a sequence lies."""
    return Sharding(sequence.mesh, sequence.dims[1:])


def _rows(mesh: Mesh, element: Sharding) -> Sharding:
    """How elements lie one after another."""
    return Sharding(mesh, ((), *element.dims))
