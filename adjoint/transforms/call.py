"""What every transform shares: arguments as leaves, variables in their place, results checked.

What may live here: the handling of a transformed function's arguments and results. What may not:
any one transform.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.errors import AutodiffError, DTypeError
from adjoint.ir.collector import collector_paused
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import capture, origin_scope
from adjoint.ir.uop import UOp, toposort
from adjoint.tensor import Tensor
from adjoint.tensor.tensor import lift
from adjoint.tensor.views import receive
from adjoint.transforms.pytree import TreeDef, tree_flatten, tree_unflatten

Fn = Callable[..., Any]


def name_of(fn: Fn) -> str:
    """The function's name, for messages."""
    try:
        return str(fn.__name__)
    except Exception:  # an object's own __getattr__ may raise anything
        return type(fn).__name__


def as_tensor(op: str, value: Any) -> Tensor:
    """A leaf as a tensor: tensors, NumPy arrays and Python numbers are."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (bool, int, float, complex, np.ndarray, np.generic)):
        return Tensor(value)
    fix = "mark it as not differentiated (argnums), or close over it"
    raise DTypeError(
        "E2001", f"a leaf of type {type(value).__name__} is no tensor", op=op, help=fix
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Selected:
    """Some arguments of a call, taken apart: where they were and what their leaves are."""

    op: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    argnums: tuple[int, ...]
    single: bool
    leaves: list[Tensor]
    treedef: TreeDef

    def call(self, fn: Fn, values: Sequence[Any]) -> Any:
        """The function with the selected leaves replaced."""
        parts = tree_unflatten(self.treedef, values)
        args = list(self.args)
        for number, part in zip(self.argnums, parts, strict=True):
            args[number] = part
        return fn(*args, **self.kwargs)

    def restore(self, values: Sequence[Any]) -> Any:
        """Values in the shape of the selected arguments; one argument comes back bare."""
        parts = tree_unflatten(self.treedef, values)
        return parts[0] if self.single else parts


def select(op: str, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Any) -> Selected:
    """Take the arguments `argnums` names out of a call."""
    single = isinstance(argnums, int)
    numbers = _checked_numbers(op, (argnums,) if single else tuple(argnums), len(args))
    leaves, treedef = tree_flatten(tuple(args[number] for number in numbers))
    tensors = [as_tensor(op, leaf) for leaf in leaves]
    return Selected(op, args, kwargs, numbers, single, tensors, treedef)


def _checked_numbers(op: str, numbers: tuple[Any, ...], count: int) -> tuple[int, ...]:
    """Positions of arguments, from the front."""
    for number in numbers:
        if not isinstance(number, int) or not -count <= number < count:
            problem = f"argnums {number!r} does not fit a call with {count} positional arguments"
            fix = "number the arguments from 0, and give those by position, not by keyword"
            raise DTypeError("E2007", problem, op=op, help=fix)
    positions = tuple(number % count for number in numbers)
    if len(set(positions)) != len(positions):
        problem = f"argnums {numbers} names an argument twice"
        raise DTypeError("E2007", problem, op=op, help="name each argument once")
    return positions


def check_inexact(op: str, tensor: Tensor, what: str) -> None:
    """A derivative is with respect to floats, and of floats."""
    if tensor.uop.dtype.kind not in "fc":
        problem = f"{what} is {tensor.dtype.name}; a derivative needs a float"
        fix = ".cast('float32'), or leave it out of argnums"
        raise AutodiffError("E5005", problem, op=op, operands=[(what, tensor)], help=fix)


def check_real(op: str, result: Tensor) -> None:
    """A gradient is of a real number."""
    check_inexact(op, result, "the result")
    if result.dtype.is_complex:
        problem = f"the result is {result.dtype.name}; a gradient is of a real number"
        fix = "return .real(), .imag() or .abs() of it, or give a complex cotangent (vjp)"
        raise AutodiffError("E5005", problem, op=op, operands=[("result", result)], help=fix)


def variables(leaves: Sequence[Tensor]) -> list[Tensor]:
    """The leaves as tensors of their own, so that only what uses *these* depends on them."""
    own = OPS["unique_identity"].call
    with origin_scope(capture()), collector_paused():
        return [lift.handle(own(leaf.uop), None) for leaf in leaves]


def is_constant(leaf: Tensor) -> bool:
    """Whether a leaf is no float, and says that nobody wants its gradient: a counter of a model."""
    return leaf._requires_grad is False and not leaf.uop.dtype.is_inexact


Assigned = list[tuple[Tensor, UOp]]


def assigned(leaves: Sequence[Tensor], symbols: Sequence[Tensor], nodes: Sequence[UOp]) -> Assigned:
    """Leaves with requires_grad=False to which the function gave new values, and those values."""
    rows = zip(leaves, symbols, nodes, strict=True)
    return [(x, s.uop) for x, s, n in rows if x._requires_grad is False and s.uop is not n]


def hand_over(values: Assigned) -> None:
    """Once the scope is closed, the arguments have the values that the function assigned."""
    for leaf, node in values:
        receive(leaf, node)


def check_scalar(op: str, result: Any, fn: Fn) -> Tensor:
    """The result of a function whose gradient is asked for."""
    if not isinstance(result, Tensor):
        problem = f"{name_of(fn)} returns {type(result).__name__}, not a scalar tensor"
        fix = "return one scalar; with has_aux=True, (scalar, anything)"
        raise AutodiffError("E5004", problem, op=op, help=fix)
    check_real(op, result)
    if result.shape != ():
        problem = f"{name_of(fn)} returns shape {list(result.shape)}; a gradient needs a scalar"
        fix = "reduce it (.sum(), .mean()), or use vjp or jacrev"
        raise AutodiffError("E5004", problem, op=op, operands=[("result", result)], help=fix)
    return result


def result_leaves(op: str, result: Any) -> tuple[list[Tensor], TreeDef]:
    """The result of a function as tensors."""
    leaves, treedef = tree_flatten(result)
    return [as_tensor(op, leaf) for leaf in leaves], treedef


def lowered(value: Any) -> tuple[list[Any], TreeDef]:
    """A result as nodes, which outlive the scope that its handles belong to."""
    leaves, treedef = tree_flatten(value)
    return [leaf.uop if isinstance(leaf, Tensor) else leaf for leaf in leaves], treedef


def raised(value: tuple[list[Any], TreeDef]) -> Any:
    """The result with fresh handles, once the scope is closed."""
    leaves, treedef = value
    return tree_unflatten(treedef, [Tensor(v) if isinstance(v, UOp) else v for v in leaves])


_VIEWS = ("expand", "reshape", "permute")  # cost nothing, so they belong to the body


def outside(outputs: Sequence[UOp], symbols: set[UOp]) -> list[UOp]:
    """What the outputs need besides the symbols, as far up as it does not depend on one."""
    inside: dict[UOp, bool] = {}
    for node in toposort(outputs, stop=symbols.__contains__):
        inside[node] = node in symbols or any(inside[s] for s in node.src)
    ends = {n for n, within in inside.items() if not within and n.op.name not in _VIEWS} | symbols
    order = toposort(outputs, stop=ends.__contains__)
    return [n for n in order if n in ends and n not in symbols and n.op.name != "const"]
