"""Hand-built kernels for tensors: as functions of arrays and tensors, and as nodes of a graph.

`UOpGraph.compile` gives a `Kernel`. `Tensor.custom_kernel` puts a kernel into a lazy graph, where
it is a step like any other: compiled with the graph, run under `jit`, differentiated by the rule
that is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, AutodiffError
from adjoint.handbuilt.compiled import Kernel, applied_to, check_buffer, check_count
from adjoint.handbuilt.graph import UOpGraph
from adjoint.handbuilt.kernel import Handmade, prepared_for, repeated, sizes_of
from adjoint.handbuilt.record import KernelArg, Type, VjpRule
from adjoint.handbuilt.run import computed
from adjoint.ir.batch import Flags, Sources, broadcast_batches
from adjoint.ir.dtype import as_dtype
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.ops.leaves import checked_shape
from adjoint.stages import LoopProgram
from adjoint.tensor import Tensor
from adjoint.transforms.custom_rules.cotangents import counted, filled, in_tree
from adjoint.transforms.custom_rules.rules import CustomRule, applied, spread_cotangents
from adjoint.transforms.pytree import TreeDef
from adjoint.transforms.subgraph import Arguments, custom_vjp_op
from adjoint.transforms.traced import Absent, Nodes

# ---- what the record of the node asks


def type_of(src: tuple[UOp, ...], arg: KernelArg) -> tuple[Any, Any]:
    """Shapes and dtypes of the results, once the kernel is known to stay in its memory."""
    prepared_for(arg, src, checked=True)  # what certainly leaves its memory is an error here
    dtypes_, shapes = zip(*arg.types, strict=True)
    return (shapes[0], dtypes_[0]) if len(shapes) == 1 else (shapes, dtypes_)


def evaluated(*x: Any, kernel: Handmade, types: Any, given: bool, run: Any = None) -> Any:
    """The results on NumPy arrays."""
    src = [OPS["input"](f"{i}", np.shape(a), a.dtype) for i, a in enumerate(x)]
    found = computed(KernelArg(kernel, types, given), src, x)
    return found[0] if len(found) == 1 else tuple(found)


def batched(node: UOp, src: Sources, flags: Flags, size: int) -> UOp:
    """The kernel once per example. The initial contents of a result have an element per example
    too.
    """
    arg: KernelArg = node.arg
    count = len(arg.kernel.operands)
    results = [prod(shape) for _, shape in arg.types]
    sizes = sizes_of(arg.kernel, results, [s.size for s in node.src[:count]])
    moving = sizes_of(arg.kernel, [True] * len(results), flags[:count])
    kernel = repeated(arg.kernel, sizes, [bool(m) for m in moving], size)
    starts = broadcast_batches(src[count:], flags[count:], size)
    types = tuple((dtype, (size, *shape)) for dtype, shape in arg.types)
    return UOp(node.op, (*src[:count], *starts), KernelArg(kernel, types, arg.given))


# ---- checks


def _handmade(kernel: Any) -> Handmade:
    if isinstance(kernel, Kernel):
        return kernel.handmade
    if isinstance(kernel, UOpGraph):
        return Handmade(kernel.program())
    if isinstance(kernel, LoopProgram):
        return Handmade(kernel)
    problem = f"takes a UOpGraph or what it compiles to, not {type(kernel).__name__}"
    raise ArgumentError("E2001", problem, op="custom_kernel")


def _results_of(op: str, out: Any) -> list[Type]:
    """`(shape, dtype)`, something with a shape and a dtype, or a list of either."""
    listed = out if isinstance(out, list) else [out]
    found = []
    for one in listed:
        if hasattr(one, "shape") and hasattr(one, "dtype"):
            one = (tuple(one.shape), one.dtype)
        if not isinstance(one, tuple) or len(one) != 2:
            problem = f"out is (shape, dtype) or a list of them, not {one!r}"
            raise ArgumentError("E2007", problem, op=op)
        found.append((as_dtype(one[1]), checked_shape(op, one[0])))
    return found


# ---- inside a graph


def called(kernel: Any, inputs: Sequence[Any], out: Any, vjp_rule: VjpRule | None) -> Any:
    """The results of a kernel on tensors; see `custom_kernel`."""
    handmade = _handmade(kernel)
    op, types = handmade.__name__, _results_of(handmade.__name__, out)
    buffers = handmade.program.buffers
    tensors = _as_tensors(inputs)
    check_count(op, len(handmade.operands), len(tensors), "tensors to read")
    check_count(op, len(handmade.results), len(types), "results")
    if not types:
        fix = "a parameter that is written is DEFINE_GLOBAL with arg=(slot, name, True)"
        raise ArgumentError("E2007", "writes nothing, so there is no result", op=op, help=fix)
    if vjp_rule is not None and not callable(vjp_rule):
        raise ArgumentError("E2008", f"vjp_rule is a function, not {vjp_rule!r}", op=op)
    for i, tensor in zip(handmade.operands, tensors, strict=True):
        check_buffer(op, buffers[i], tensor.dtype, tensor.shape, tensor)
    for i, (dtype, shape) in zip(handmade.results, types, strict=True):
        check_buffer(op, buffers[i], dtype, shape, out)

    def execute(*values: Any) -> Any:
        return applied_to(handmade, values, types, False)

    if vjp_rule is None:
        return execute(*tensors)
    return applied(
        op,
        execute,
        tensors,
        custom_vjp_op,
        lambda arguments, tree: _ByFunction(op, vjp_rule, handmade, arguments, tree),
    )


def _as_tensors(values: Sequence[Any]) -> tuple[Tensor, ...]:
    device = next((v.device for v in values if isinstance(v, Tensor)), None)
    return tuple(v if isinstance(v, Tensor) else Tensor(v, device=device) for v in values)


@dataclass(frozen=True, eq=False, repr=False)
class _ByFunction(CustomRule):
    op: str
    rule: VjpRule
    kernel: Handmade
    arguments: Arguments
    out_tree: TreeDef
    reverse = True
    forward = False

    @property
    def source(self) -> tuple[Any, ...]:  # type: ignore[override]
        return self.rule, self.kernel, *self.arguments.plain

    def pull_back(self, g: Absent, y: Nodes, x: Nodes, needs: Flags) -> Absent:
        primals = self.arguments.rebuilt(map(Tensor, x))
        cotangent, output = in_tree(self.out_tree, filled(g, y)), in_tree(self.out_tree, y)
        found = self.rule(primals, cotangent, output)
        listed = counted(self.op, found, "vjp_rule", len(primals))
        return spread_cotangents(self.op, listed, self.arguments, y, x, needs)

    def push(self, t: Absent, y: Nodes, x: Nodes) -> Absent:
        problem = "has a reverse rule only; forward mode needs a tangent rule"
        raise AutodiffError("E5001", problem, op=self.op)
