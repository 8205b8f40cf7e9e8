"""Core modules meet tensors: `capture` a function as a module, run a module, call it on tensors.

A module that is called builds its nodes on the tensors' own, so it can stand inside any transform.
What may live here: these three. What may not: anything about modules alone (see `module/`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adjoint.engine import realize as engine
from adjoint.errors import AdjointError, ArgumentError, DTypeError, ShapeError, VerificationError
from adjoint.ir import sizes
from adjoint.ir.plain_sizes import with_plain_sizes
from adjoint.ir.text import type_text
from adjoint.ir.uop import UOp
from adjoint.module import Instruction, Module, TensorType
from adjoint.module.canonical import canonicalise
from adjoint.module.from_graph import Lift, type_of
from adjoint.module.generic import opcode_named
from adjoint.module.numbers import literal_array
from adjoint.module.tape import Tape
from adjoint.module.to_graph import lowered
from adjoint.runtime.device import Device
from adjoint.tensor import Tensor
from adjoint.tensor.tensor import lift
from adjoint.tensor.tracing import check_concrete
from adjoint.tensor.types import DeviceLike
from adjoint.transforms.custom_rules.closing import closing
from adjoint.transforms.trace import trace


def capture(fn: Callable[..., Any], *example_args: Any) -> Module:
    """The function as a module, for arguments of these shapes and dtypes.

    Inputs are the leaves of the arguments, under the names of the function's parameters; outputs
    are the leaves of its result. Captured tensors become literals, and rules that users wrote
    become functions.
    """
    traced = trace(closing(fn), *example_args)
    inputs, results = _plain(traced.input_nodes), _plain(traced.output_nodes)
    rows = [
        Instruction(i, "Input", (), (name,), type_of(node))
        for i, (node, name) in enumerate(zip(inputs, _distinct(traced.labels), strict=True))
    ]
    ids = {node: i for i, node in enumerate(inputs)}
    outputs = Lift(Tape(rows, [], strict=False), ids, sharing=True)(results)
    return canonicalise(Module(tuple(rows), tuple(outputs)))


def _plain(nodes: Sequence[UOp]) -> list[UOp]:
    """Nodes with plain sizes: a module has no variables."""
    if not sizes.living:
        return list(nodes)
    new = with_plain_sizes(nodes, {}, whole=True)
    return [new[node] for node in nodes]


def _distinct(labels: Sequence[str]) -> list[str]:
    names: list[str] = []
    for label in labels:
        while label in names:
            label += "_"
        names.append(label)
    return names


Inputs = Mapping[str, Any] | Sequence[Any]


def run(module: Module, inputs: Inputs = (), device: DeviceLike = None) -> list[Tensor]:
    """The outputs for these inputs, by name or in order: tensors, NumPy arrays, lists, numbers."""
    place = Device.canonicalize(device)
    bound = _bound(module, inputs, place)
    tensors = bound if device is None else [t.to(place) for t in bound]
    found = _nodes(canonicalise(module), tensors, place)
    check_concrete(found)
    nodes = [engine.apart(node) for node in found]
    try:
        engine.realize(*nodes)
    except AdjointError:
        raise
    except (TypeError, ValueError, LookupError, ArithmeticError) as error:
        problem = f"the attributes of an instruction cannot be run: {error}"
        raise VerificationError("E6003", problem) from error
    return [Tensor(node) for node in nodes]


def call(module: Module, *args: Any, **named: Any) -> Any:
    """The outputs as tensors that are not computed yet: one, or a tuple of several."""
    inputs: Inputs = args
    if named:
        names = [ins.attrs[0] for ins in module.inputs]
        inputs = dict(zip(names, args, strict=False)) | named
    place = next((a.device for a in (*args, *named.values()) if isinstance(a, Tensor)), None)
    tensors = _bound(module, inputs, place or Device.DEFAULT)
    nodes = _nodes(canonicalise(module), tensors, place or Device.DEFAULT)
    found = lift.wrap(tuple(nodes), [t._requires_grad for t in tensors])
    return found[0] if len(found) == 1 else found


def _nodes(module: Module, tensors: list[Tensor], device: Any) -> list[UOp]:
    def literal(data: bytes, kind: TensorType) -> UOp:
        array = literal_array(data, kind.dtype, kind.shape)
        return Tensor(array, device=device if isinstance(device, str) else None).uop

    nodes = [t.uop for t in tensors]
    return lowered(module.instructions, module.outputs, nodes, literal, opcode_named)


# ---- inputs


def _bound(module: Module, inputs: Any, device: Any) -> list[Tensor]:
    """A tensor of the declared type for every input."""
    declared = module.inputs
    if not isinstance(inputs, (Mapping, Sequence, np.ndarray, Tensor)):
        problem = f"inputs are a mapping by name or a sequence, not {type(inputs).__name__}"
        fix = "write module.run([x, y]) or module.run({'x': x})"
        raise ArgumentError("E2001", problem, help=fix)
    values = (
        _by_name(declared, inputs) if isinstance(inputs, Mapping) else _in_order(declared, inputs)
    )
    return [_tensor(ins, value, device) for ins, value in zip(declared, values, strict=True)]


def _by_name(declared: Sequence[Instruction], inputs: Mapping[str, Any]) -> list[Any]:
    names = [ins.attrs[0] for ins in declared]
    unknown = [name for name in inputs if name not in names]
    if unknown:
        problem = f"the module has no input {unknown[0]!r}"
        raise ArgumentError("E2002", problem, help=f"inputs: {', '.join(names)}")
    missing = [name for name in names if name not in inputs]
    if missing:
        raise ArgumentError("E2002", f"input {missing[0]!r} has no value")
    return [inputs[name] for name in names]


def _in_order(declared: Sequence[Instruction], inputs: Any) -> list[Any]:
    if len(inputs) != len(declared):
        names = ", ".join(ins.attrs[0] for ins in declared)
        problem = f"the module has {len(declared)} inputs ({names}), got {len(inputs)}"
        raise ArgumentError("E2007", problem)
    return list(inputs)


def _tensor(ins: Instruction, value: Any, device: Any) -> Tensor:
    """Numbers and lists take the declared dtype; what has a dtype must have that one."""
    (name,), (dtype, shape) = ins.attrs, ins.type
    typed = isinstance(value, (Tensor, np.ndarray, np.generic))
    try:
        tensor = value
        if not isinstance(value, Tensor):
            data, kind = (np.asarray(value), None) if typed else (value, dtype)
            tensor = Tensor(data, device if isinstance(device, str) else None, kind)
    except AdjointError as error:
        raise type(error)(error.code, f"input {name!r}: {error.problem}", help=error.help) from None
    if tensor.dtype is not dtype:
        problem = f"input {name!r} is {tensor.dtype.short}, declared is {dtype.short}"
        raise DTypeError("E2001", problem, help=f"convert it to {dtype.name} first")
    if tensor.shape != shape:
        found = type_text(tensor.shape, tensor.dtype)
        problem = f"input {name!r} is {found}, declared is {type_text(shape, dtype)}"
        raise ShapeError("E3003", problem)
    return tensor


__all__ = ["capture"]
