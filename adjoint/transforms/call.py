"""What every transform shares: arguments as leaves, variables in their place, results checked.

What may live here: the handling of a transformed function's arguments and results. What may not:
any one transform.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, AutodiffError, DTypeError
from adjoint.ir.collector import collector_paused
from adjoint.ir.kernel_kind import CONSTANT, View
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import capture, origin_scope
from adjoint.ir.uop import UOp, toposort
from adjoint.tensor import Tensor
from adjoint.tensor.layouts import row_place
from adjoint.tensor.lift import passed_on
from adjoint.tensor.modes import Mode
from adjoint.tensor.tensor import lift
from adjoint.tensor.tracing import Scope, grad_enabled
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
    problem = f"a leaf of type {type(value).__name__} is no tensor"
    fix = "mark it as not differentiated (argnums), or close over it"
    raise ArgumentError("E2001", problem, op=op, help=fix)


class Differentiating(Mode):
    """Results have a history, also inside `no_grad`: what is differentiated is the transform's."""

    variable = grad_enabled
    value = True


def handed_out(node: UOp, wanted: bool | None = None) -> Tensor:
    """A handle of a result, whose history ends inside `no_grad`."""
    return lift.handle(node, passed_on(wanted))


def wanted_of(values: Iterable[Any]) -> bool | None:
    """True if one of them is a tensor that requires a gradient."""
    return True in [v._requires_grad for v in values if isinstance(v, Tensor)] or None


def flags_like(tensors: Sequence[Tensor], wanted: bool | None) -> list[bool | None]:
    """What `requires_grad` is of a result for each tensor: a buffer's is no parameter."""
    return [None if t._requires_grad is False else wanted for t in tensors]


Place = int | str  # of an argument: a position, or a keyword


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Selected:
    """Some arguments of a call, taken apart: where they were and what their leaves are."""

    op: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    places: tuple[Place, ...]
    form: Callable[[tuple[Any, ...]], Any]  # how values for the arguments are handed back
    leaves: list[Tensor]
    treedef: TreeDef

    def call(self, fn: Fn, values: Sequence[Any]) -> Any:
        """The function with the selected leaves replaced."""
        parts = tree_unflatten(self.treedef, values)
        args, kwargs = list(self.args), dict(self.kwargs)
        for place, part in zip(self.places, parts, strict=True):
            if isinstance(place, str):
                kwargs[place] = part
            else:
                args[place] = part
        return fn(*args, **kwargs)

    def run(self, fn: Fn, inner: Scope, has_aux: bool) -> tuple[list[Tensor], list[UOp], Any, Any]:
        """The function on variables of the scope: these, their nodes, the result, the auxiliary
        value.
        """
        symbols = variables(self.leaves)
        nodes = [s.uop for s in symbols]
        inner.variables.update(nodes)
        inner.known = True
        with Differentiating():
            returned = self.call(fn, symbols)
        return symbols, nodes, *split_aux(self.op, returned, has_aux)

    def restore(self, values: Sequence[Any]) -> Any:
        """Values in the shape of the selected arguments; one argument comes back bare."""
        return self.form(tree_unflatten(self.treedef, values))


def select(
    op: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: Any,
    argnames: Any = None,
    fn: Fn | None = None,
) -> Selected:
    """Take the arguments that `argnums` and `argnames` name out of a call of `fn`."""
    if argnums is None:
        argnums = 0 if argnames is None else ()
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    positions = _checked_numbers(op, numbers, len(args))
    names = () if argnames is None else _checked_names(op, argnames)
    named = tuple(_place_of(op, name, args, kwargs, fn) for name in names)
    places = _once(op, (*positions, *named))
    form = _form(argnums, argnames, names, len(positions))
    parts = tuple(kwargs[p] if isinstance(p, str) else args[p] for p in places)
    return Selected(op, args, kwargs, places, form, *tensor_leaves(op, parts))


def _form(argnums: Any, argnames: Any, names: tuple[str, ...], count: int) -> Any:
    """One value by its number or its name is bare; several are a tuple, or a dict by name."""

    def numbered(parts: tuple[Any, ...]) -> Any:
        return parts[0] if isinstance(argnums, int) else parts

    def called(parts: tuple[Any, ...]) -> Any:
        return parts[0] if isinstance(argnames, str) else dict(zip(names, parts, strict=True))

    if argnames is None:
        return numbered
    if not count:
        return called
    return lambda parts: (numbered(parts[:count]), called(parts[count:]))


def _checked_numbers(op: str, numbers: tuple[Any, ...], count: int) -> tuple[int, ...]:
    """Positions of arguments, from the front."""
    for number in numbers:
        if not isinstance(number, int) or not -count <= number < count:
            problem = f"argnums {number!r} does not fit a call with {count} positional arguments"
            fix = "number those given by position from 0; name those given by keyword in argnames"
            raise ArgumentError("E2007", problem, op=op, help=fix)
    return tuple(number % count for number in numbers)


def _checked_names(op: str, argnames: Any) -> tuple[str, ...]:
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError("E2008", f"argnames are strings, not {name!r}", op=op)
    return names


def _place_of(
    op: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], fn: Fn | None
) -> Place:
    """Where a call has the argument of that name."""
    if name in kwargs:
        return name
    listed = [] if fn is None else positional_names(fn)
    if name in listed and listed.index(name) < len(args):
        return listed.index(name)
    problem = f"argnames {name!r} is not among the arguments of the call"
    fix = f"the function takes ({', '.join(listed)}); give a value for it in the call"
    raise ArgumentError("E2007", problem, op=op, help=fix)


def positional_names(fn: Fn) -> list[str]:
    """The names of the arguments that a function takes by position; none if they are unknown."""
    try:
        found = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _once(op: str, places: tuple[Place, ...]) -> tuple[Place, ...]:
    if len(set(places)) != len(places):
        problem = f"argnums and argnames {places} name an argument twice"
        raise ArgumentError("E2007", problem, op=op, help="name each argument once")
    return places


def argument_spans(treedef: TreeDef) -> list[tuple[Place, range]]:
    """Of the tree of `(args, kwargs)`: the place of every argument, and where its leaves are."""
    args, kwargs = treedef.children
    places = (*range(len(args.children)), *kwargs.meta)
    ends = [0, *accumulate(child.leaves for child in (*args.children, *kwargs.children))]
    return list(zip(places, map(range, ends, ends[1:]), strict=True))


def split_aux(op: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    """The result, and with `has_aux` the auxiliary value."""
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        problem = "with has_aux=True the function returns (result, auxiliary)"
        raise AutodiffError("E5004", problem, op=op, help="return a tuple of two")
    return result


def check_inexact(op: str, tensor: Tensor, what: str) -> None:
    """A derivative is with respect to floats, and of floats."""
    if tensor.uop.dtype.kind not in "fc":
        problem = f"{what} is {tensor.dtype.name}; a derivative needs a float"
        fix = ".cast('float32'), or leave it out of argnums"
        raise AutodiffError("E5005", problem, op=op, operands=[(what, tensor)], help=fix)


def checked_derivative(
    op: str, name: str, value: Any, whose: str, like: Tensor | UOp
) -> UOp | None:
    """A tangent or a cotangent from a user: it must have the shape and dtype of its primal. Values
    that are not floats have none.
    """
    tensor = value if isinstance(value, Tensor) else Tensor(value, device=like.device)
    operands = [(whose.split()[-1], like), (name, tensor)]
    if tensor.shape != like.shape:
        problem = f"the {name} has another shape than {whose}"
        fix = f"give one of shape {list(like.shape)}"
        raise AutodiffError("E5004", problem, op=op, operands=operands, help=fix)
    if not like.dtype.is_inexact:
        return None
    if isinstance(value, Tensor) and tensor.dtype is not like.dtype:
        problem = f"the {name} has another dtype than {whose}"
        fix = f".cast('{like.dtype.name}')"
        raise DTypeError("E2004", problem, op=op, operands=operands, help=fix)
    return tensor.uop.cast(like.dtype)


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


def example_of(node: UOp, name: str, inner: Scope, given: dict[UOp, UOp]) -> UOp:
    """A variable of the scope for one example of a batched node; the node is given for it."""
    one = OPS["input"](name, node.shape[1:], node.dtype, row_place(node))
    symbol: UOp = OPS["unique_identity"](one)
    inner.variables.add(symbol)
    given[symbol] = node
    return symbol


def is_constant(leaf: Tensor) -> bool:
    """Whether a leaf is no float, and says that it has no gradient: a counter of a model."""
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
    """Check the result of a function that is to be differentiated."""
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


def tensor_leaves(op: str, tree: Any) -> tuple[list[Tensor], TreeDef]:
    """The leaves of arguments or of a result, as tensors."""
    leaves, treedef = tree_flatten(tree)
    return [as_tensor(op, leaf) for leaf in leaves], treedef


def lowered(value: Any) -> tuple[list[Any], TreeDef]:
    """A result as nodes, which outlive the scope that its handles belong to."""
    leaves, treedef = tree_flatten(value)
    return [leaf.uop if isinstance(leaf, Tensor) else leaf for leaf in leaves], treedef


def raised(value: tuple[list[Any], TreeDef], wanted: bool | None = None) -> Any:
    """The result with fresh handles, once the scope is closed."""
    leaves, treedef = value
    made = [handed_out(v, wanted) if isinstance(v, UOp) else v for v in leaves]
    return tree_unflatten(treedef, made)


def _is_free(node: UOp) -> bool:
    """Whether the node is all of its operand in another arrangement: it belongs to the body."""
    kernel = node.op.kernel
    whole = type(kernel) is View and kernel.strided and not kernel.waits
    return whole and bool(node.size >= node.src[0].size)


def outside(outputs: Sequence[UOp], symbols: set[UOp]) -> list[UOp]:
    """The nodes that the outputs need besides the symbols, as far up as they do not depend on
    one.
    """
    inside: dict[UOp, bool] = {}
    for node in toposort(outputs, stop=symbols.__contains__):
        inside[node] = node in symbols or any(inside[s] for s in node.src)
    ends = {n for n, within in inside.items() if not within and not _is_free(n)} | symbols
    order = toposort(outputs, stop=ends.__contains__)
    return [n for n in order if n in ends and n not in symbols and n.op.kernel is not CONSTANT]
