"""Hand-built kernels for tensors: as functions of arrays and tensors, and as nodes of a graph.

`UOpGraph.compile` gives a `Kernel`. `Tensor.custom_kernel` puts a kernel into a lazy graph, where
it is a step like any other: compiled with the graph, run under `jit`, differentiated by the rule
that is given. What may live here: calling kernels. What may not: how they are built or run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from adjoint.codegen.uopgraph import UOpGraph, connect
from adjoint.codegen.uops import LANGUAGES, source_of
from adjoint.engine.custom import computed, run_arrays
from adjoint.errors import (
    ArgumentError,
    AutodiffError,
    DeviceError,
    DTypeError,
    ShapeError,
    did_you_mean,
)
from adjoint.ir.batch import Flags, Sources, spread_all
from adjoint.ir.dtype import as_dtype
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.kernel.handmade import Handmade, prepared_for, repeated, sizes_of
from adjoint.kernel.settle import settle
from adjoint.kernel.threads import as_loops
from adjoint.ops.leaves import checked_shape
from adjoint.runtime.device import Device
from adjoint.stages import LoopProgram
from adjoint.tensor import Tensor
from adjoint.tensor.tensor import lift
from adjoint.transforms.cotangents import counted, filled, in_tree
from adjoint.transforms.kernels import KernelArg, Type, VjpRule, custom_kernel_op
from adjoint.transforms.pytree import TreeDef
from adjoint.transforms.rules import Rule, applied, spread_cotangents
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
    """The kernel once per example. What a result starts from has an element per example too."""
    arg: KernelArg = node.arg
    count = len(arg.kernel.operands)
    results = [prod(shape) for _, shape in arg.types]
    sizes = sizes_of(arg.kernel, results, [s.size for s in node.src[:count]])
    moving = sizes_of(arg.kernel, [True] * len(results), flags[:count])
    kernel = repeated(arg.kernel, sizes, [bool(m) for m in moving], size)
    starts = spread_all(src[count:], flags[count:], size)
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
    raise DTypeError("E2001", problem, op="custom_kernel")


def _check_count(op: str, wanted: int, found: int, what: str) -> None:
    if wanted != found:
        raise DTypeError("E2007", f"takes {wanted} {what}, got {found}", op=op)


def _check_buffer(op: str, buffer: UOp, dtype: Any, shape: Sequence[int], value: Any) -> None:
    """A parameter and what is given for it."""
    arg = buffer.arg
    operands = [(arg.name, value)]
    if dtype is not arg.dtype:
        problem = f"{arg.name} is {arg.dtype.name}, got {dtype}"
        raise DTypeError("E2004", problem, op=op, operands=operands, help="cast it first")
    if arg.size is not None and arg.size != prod(shape):
        problem = f"{arg.name} has {arg.size} elements, got shape {list(shape)}"
        raise ShapeError("E3007", problem, op=op, operands=operands)


def _results_of(op: str, out: Any) -> list[Type]:
    """`(shape, dtype)`, something with a shape and a dtype, or a list of either."""
    listed = out if isinstance(out, list) else [out]
    found = []
    for one in listed:
        if hasattr(one, "shape") and hasattr(one, "dtype"):
            one = (tuple(one.shape), one.dtype)
        if not isinstance(one, tuple) or len(one) != 2:
            problem = f"out is (shape, dtype) or a list of them, not {one!r}"
            raise DTypeError("E2007", problem, op=op)
        found.append((as_dtype(one[1]), checked_shape(op, one[0])))
    return found


# ---- inside a graph


def called(kernel: Any, inputs: Sequence[Any], out: Any, vjp_rule: VjpRule | None) -> Any:
    """The results of a kernel on tensors; see `custom_kernel`."""
    handmade = _handmade(kernel)
    op, types = handmade.__name__, _results_of(handmade.__name__, out)
    buffers = handmade.program.buffers
    tensors = _as_tensors(inputs)
    _check_count(op, len(handmade.operands), len(tensors), "tensors to read")
    _check_count(op, len(handmade.results), len(types), "results")
    if not types:
        fix = "a parameter that is written is DEFINE_GLOBAL with arg=(slot, name, True)"
        raise DTypeError("E2007", "writes nothing, so there is no result", op=op, help=fix)
    if vjp_rule is not None and not callable(vjp_rule):
        raise ArgumentError("E2008", f"vjp_rule is a function, not {vjp_rule!r}", op=op)
    for i, tensor in zip(handmade.operands, tensors, strict=True):
        _check_buffer(op, buffers[i], tensor.dtype, tensor.shape, tensor)
    for i, (dtype, shape) in zip(handmade.results, types, strict=True):
        _check_buffer(op, buffers[i], dtype, shape, out)

    def execute(*values: Any) -> Any:
        return _applied(handmade, values, types, False)

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


def _applied(kernel: Handmade, tensors: Sequence[Any], types: Sequence[Type], start: bool) -> Any:
    def build(*nodes: UOp) -> Any:
        node = custom_kernel_op(*nodes, kernel=kernel, types=tuple(types), given=start)
        several = isinstance(node.dtype, tuple)
        return tuple(node.part(i) for i in range(len(types))) if several else node

    return lift(build, tuple(tensors), None)


@dataclass(frozen=True, eq=False, repr=False)
class _ByFunction(Rule):
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


# ---- as a function


class Kernel:
    """A hand-built kernel to call, with one array or tensor per parameter, in order.

    Where the kernel writes, a NumPy array is written in place; a tensor is what the result starts
    from, and the result is a new tensor. Results are returned, several as a tuple.
    """

    def __init__(self, program: LoopProgram, device: str | None):
        self.handmade = Handmade(program)
        self.device = _checked_device(device)

    @property
    def name(self) -> str:
        return self.handmade.__name__

    def source(self, language: str) -> str:
        """The kernel in c, opencl, cuda, metal or wgsl."""
        if language not in LANGUAGES:
            near = did_you_mean(str(language), LANGUAGES) or f"one of {', '.join(LANGUAGES)}"
            raise ArgumentError("E2008", f"no language {language!r}", op=self.name, help=near)
        return source_of(LANGUAGES[language], self.handmade.program)

    def __call__(self, *args: Any) -> Any:
        buffers = self.handmade.program.buffers
        _check_count(self.name, len(buffers), len(args), "arguments")
        written = [args[i] for i in self.handmade.results]
        in_place = [isinstance(a, np.ndarray) for a in written]
        if any(in_place) and not all(in_place):
            problem = "results are all arrays or all tensors"
            raise DTypeError("E2001", problem, op=self.name)
        for buffer, value in zip(buffers, args, strict=True):
            self._check(buffer, value)
        if all(in_place):
            self._write(args)
            return written[0] if len(written) == 1 else tuple(written)
        return self._tensors(args)

    def _check(self, buffer: UOp, value: Any) -> None:
        if not isinstance(value, (Tensor, np.ndarray)):
            problem = f"{buffer.arg.name} is {type(value).__name__}, no tensor or array"
            raise DTypeError("E2001", problem, op=self.name)
        wanted = buffer.arg.dtype
        same = isinstance(value, np.ndarray) and value.dtype == wanted.np
        _check_buffer(self.name, buffer, wanted if same else value.dtype, value.shape, value)
        fixed = isinstance(value, np.ndarray) and not value.flags.writeable
        if fixed and buffer.arg.mutable:
            problem = f"{buffer.arg.name} is written, and the array is read-only"
            raise DTypeError("E2001", problem, op=self.name, help="pass a copy")

    def _write(self, args: Sequence[Any]) -> None:
        plain = [a.numpy() if isinstance(a, Tensor) else a for a in args]
        arrays = self._apart([np.ascontiguousarray(a) for a in plain])
        run_arrays(self.handmade, arrays, self.device == "CPU")
        for i in self.handmade.results:
            if not np.shares_memory(arrays[i], plain[i]):
                plain[i][...] = arrays[i].reshape(plain[i].shape)

    def _apart(self, arrays: list[Any]) -> list[Any]:
        """What is read as it was before, even if it is the memory of a result."""
        results = self.handmade.results
        for i, array in enumerate(arrays):
            met = [j for j in results if j != i and np.may_share_memory(array, arrays[j])]
            if met and i in results:
                names = [self.handmade.program.buffers[j].arg.name for j in (i, met[0])]
                problem = f"{names[0]} and {names[1]} are written and share memory"
                raise DTypeError("E2001", problem, op=self.name, help="pass a copy of one")
            if met:
                arrays[i] = array.copy()
        return arrays

    def _tensors(self, args: Sequence[Any]) -> Any:
        given_ = [a if isinstance(a, Tensor) else Tensor(a, device=self.device) for a in args]
        values = [t if t.device == self.device else t.to(self.device) for t in given_]
        starts = [values[i] for i in self.handmade.results]
        read = [values[i] for i in self.handmade.operands]
        types = [(t.dtype, t.shape) for t in starts]
        return _applied(self.handmade, [*read, *starts], types, True)

    def __repr__(self) -> str:
        return f"<kernel {self.name} on {self.device}>"


def _checked_device(device: str | None) -> str:
    name = Device.canonicalize(device)
    if name.partition(":")[0] not in ("CPU", "REF"):
        problem = f"kernels built by hand run on CPU and REF, not on {name}"
        raise DeviceError("E6003", problem, op="compile", help="render it with uops_to_cstyle")
    return name


connect(settle=settle, as_loops=as_loops, compile=Kernel)

__all__ = ["Kernel", "batched", "called", "evaluated", "type_of"]
