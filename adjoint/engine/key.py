"""The key of a graph: what it computes, with its buffers and numbers left out.

Two graphs that differ only in their buffers have one key, and so one program. Constants are kept
beside the key: a number that keeps changing becomes an argument of the program (see
`programs.py`). What may live here: the key and the graph made from it. What may not: programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from adjoint.engine.interpreter import check_device, run_function
from adjoint.ir.effect import Effect
from adjoint.ir.function import Function, Own
from adjoint.ir.kernel_kind import Identity
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, rebuild
from adjoint.runtime.reference import evaluate
from adjoint.target import targets_of

_UNIQUE, _BUFFER, _CONST, _INPUT = (
    OPS[name] for name in ("unique_identity", "buffer", "const", "input")
)
_compiled: dict[Any, bool] = {None: True}  # by device, filled as devices are seen


@dataclass(slots=True, eq=False, repr=False)
class GraphKey:
    """`structure` is hashable and says all but the buffers (`leaves`) and the `constants`."""

    structure: tuple[Any, ...]
    leaves: list[UOp]
    constants: list[UOp]
    values: tuple[Any, ...]  # of the constants


def is_compiled(device: Any) -> bool:
    """Whether graphs on the device are compiled; the interpreter runs the others."""
    found = _compiled.get(device)
    if found is None:
        found = _compiled[device] = all(t.name == "CPU" for t in targets_of(device))
    return found


def graph_key(roots: Sequence[UOp], parameters: Sequence[UOp] = ()) -> GraphKey | None:
    """One walk, sources first; None if some node on the way belongs to the interpreter.

    A node with a value is a leaf, whatever it was made of. `parameters` are INPUT nodes that count
    as leaves, in front of the others.
    """
    numbers: dict[UOp, int] = {}
    leaves: list[UOp] = list(parameters)
    constants: list[UOp] = []
    items: list[Any] = []
    count = 0
    for node in parameters:
        items += (_INPUT, node.shape, node.dtype.name)
        numbers[node] = count
        count += 1
    compiled = _compiled
    stack = list(roots)[::-1]
    while stack:
        node = stack[-1]
        if node in numbers:
            stack.pop()
            continue
        op = node.op
        if node.realized is not None or op is _BUFFER:
            items += (_BUFFER, node.shape, node.dtype.name)
            leaves.append(node)
        else:
            src = node.src
            pending = [s for s in src if s not in numbers]
            if pending:
                pending.reverse()
                stack += pending
                continue
            if op is _UNIQUE:
                numbers[node] = numbers[src[0]]
                stack.pop()
                continue
            device = node.device
            if not (compiled[device] if device in compiled else is_compiled(device)):
                check_device(node)
                return None
            if src:
                items += (op, _plain(node.arg) if op.calls else node.arg)
                if op.body is not None:  # of integers: the default float when it was made
                    items.append(node.dtype)
                items += [numbers[s] for s in src]
            elif op is _CONST:
                items += (op, node.shape, node.dtype.name)
                constants.append(node)
            else:
                evaluate(node, [], run_function)  # spent or unbound: says so
        numbers[node] = count
        count += 1
        stack.pop()
    items += [numbers[root] for root in roots]
    values = tuple([n.arg[0] for n in constants])
    return GraphKey(tuple(items), leaves, constants, values)


def _plain(arg: Any) -> tuple[Any, ...]:
    """Attributes with functions as keys of their own: what users wrote is compared by its body."""
    return tuple([_plain_value(value) for value in arg])


def _plain_value(value: Any) -> Any:
    if isinstance(value, Function):
        return _function_key(value)
    if isinstance(value, Effect):
        return value.key
    body = getattr(value, "body", None)
    return _function_key(body) if isinstance(body, Function) else value


@lru_cache(maxsize=1024)
def _function_key(function: Function) -> tuple[Any, ...]:
    key = graph_key(function.outputs, function.inputs)
    if key is None:  # it runs where the node does
        return function
    return (key.structure, key.values, *key.leaves[len(function.inputs) :])


def closed(
    roots: Sequence[UOp], leaves: Sequence[UOp], lifted: Sequence[UOp] = ()
) -> tuple[list[UOp], list[UOp]]:
    """The graph with parameters instead of leaves and of the `lifted` constants, and those.

    Identities are gone: they only keep equal values apart. So are devices and what moves between
    them: a program runs in one place.
    """
    make = OPS["input"].call
    parameters = [make(Own(f"a{i}"), n.shape, n.dtype) for i, n in enumerate(leaves)]
    new: dict[UOp, UOp] = dict(zip(leaves, parameters, strict=True))
    for i, node in enumerate(lifted):
        scalar = make(Own(f"c{i}"), (), node.dtype)
        parameters.append(scalar)
        new[node] = scalar.expand(node.shape) if node.shape else scalar
    _substitute(roots, new)
    return [new[root] for root in roots], parameters


def _substitute(roots: Sequence[UOp], new: dict[UOp, UOp]) -> None:
    stack = list(roots)[::-1]
    while stack:
        node = stack[-1]
        if node in new:
            stack.pop()
            continue
        pending = [s for s in node.src if s not in new]
        if pending:
            stack += pending[::-1]
            continue
        new[node] = _replaced(node, tuple([new[s] for s in node.src]))
        stack.pop()


def _replaced(node: UOp, src: tuple[UOp, ...]) -> UOp:
    kernel = node.op.kernel
    if type(kernel) is Identity and kernel.places:
        return src[kernel.operand]
    if node.op is _CONST:
        arg = node.arg
        return _CONST.call(arg.value, arg.dtype, arg.shape) if arg.device is not None else node
    return node if src == node.src else rebuild(node, src)
