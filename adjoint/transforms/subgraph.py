"""User functions that stay whole in the graph as one node, and the records of such nodes.

CUSTOM_VJP and CUSTOM_JVP carry a derivative that the user wrote, CHECKPOINT one that computes its
body again. Each is a composite: its body is the traced function. Captured values become operands
too, after the arguments, so that gradients and vmap see them. What may live here: the records, and
how a function becomes such a node. What may not: any one transform.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.autodiff.reverse import results
from adjoint.ir.arg import Arg
from adjoint.ir.batch import Flags, Sources
from adjoint.ir.derivative import Jvp, Linear, Vjp
from adjoint.ir.function import Function, function_of
from adjoint.ir.kernel_kind import EXPAND, Read, View
from adjoint.ir.opdef import OPS, OpDef, internal
from adjoint.ir.uop import UOp
from adjoint.tensor import Tensor
from adjoint.tensor.tensor import lift
from adjoint.transforms.call import Fn, outside, tensor_leaves
from adjoint.transforms.effects import without_effects
from adjoint.transforms.loops import bundle
from adjoint.transforms.pytree import TreeDef, tree_flatten, tree_unflatten
from adjoint.transforms.traced import Absent, Call, TracedCall


class CallArg(Arg):
    function: Call


def _call_type(src: tuple[UOp, ...], arg: CallArg) -> tuple[Any, Any]:
    shapes, kinds = arg.function.body.types
    return (shapes[0], kinds[0]) if len(shapes) == 1 else (shapes, kinds)


def _body(*x: UOp, function: Call) -> UOp:
    outputs = function.body(*x)
    return outputs[0] if len(outputs) == 1 else bundle(outputs)


def listed(value: Any) -> list[Any]:
    """One result or several, as a list."""
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _pulled(g: Any, y: Any, *x: UOp, function: Call, needs: Flags) -> Absent:
    return function.pull_back(listed(g), listed(y), x, needs)


def _pushed(t: Any, y: Any, *x: UOp, function: Call) -> Any:
    tangents = function.push(t, listed(y), x)
    return tuple(tangents) if isinstance(y, tuple) else tangents[0]


def _batched(node: UOp, src: Sources, flags: Flags, size: int) -> UOp:
    return UOp(node.op, src, CallArg(node.arg.function.batched(flags, size)))


def _evaluated(*x: Any, function: Call, run: Any) -> Any:
    values = run(function.body, list(x))
    return values[0] if len(values) == 1 else tuple(values)


def _record(name: str, doc: str, ad: Any) -> OpDef:
    def call(*x: UOp, function: Call | None = None, **parts: Any) -> UOp:
        """A node of this function, or of one that is made of these parts."""
        return UOp(OPS[name], x, CallArg(function or TracedCall(**parts)))

    return internal(
        name,
        doc,
        "composite",
        call=call,
        ad=ad,
        reference=_evaluated,
        arg=CallArg,
        infer=_call_type,
        body=_body,
        batch=_batched,
        takes_functions=True,
        kernel=EXPAND,
        opcode=name != "checkpoint",
    )


_BY_RULE = Vjp(_pulled, tangent=_pushed, selective=True)
custom_vjp_op = _record("custom_vjp", "A function whose reverse rule the user wrote.", _BY_RULE)
custom_jvp_op = _record("custom_jvp", "A function whose tangent rule the user wrote.", Jvp(_pushed))
checkpoint_op = _record(
    "checkpoint", "A function whose gradient computes its body again.", _BY_RULE
)


wait_op: OpDef = internal(
    "wait",
    "The first operand, once the others are computed; nodes that use it are recomputed.",
    "primitive",
    call=lambda x, *before: UOp(wait_op, (x, *before)),
    infer=lambda src, arg: (src[0].shape, src[0].dtype),
    ad=Linear(lambda g, x, *before: g, tangent=lambda t, y, x, *before: t[0]),
    reference=lambda x, *before: np.asarray(x),
    # what comes first may have the axis without the value having it
    batch=lambda node, src, flags, size: (UOp(node.op, src), flags[0]),
    kernel=View(
        lambda node, at, space: (Read(node.src[0], at),),
        strided=True,
        aliases=True,
        waits=True,
    ),
    opcode=False,
)


# ---- from a Python function to a node


_TENSOR: Any = object()  # stands in `static` where a tensor was


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Arguments:
    """The arguments of a call: which leaves are tensors, and everything else unchanged."""

    treedef: TreeDef
    static: tuple[Any, ...]

    @property
    def plain(self) -> tuple[Any, ...]:
        """Everything but the tensors, in one row."""
        return self.treedef, *self.static

    def rebuilt(self, tensors: Iterable[Tensor]) -> Any:
        """The arguments with these tensors."""
        fresh = iter(tensors)
        leaves = [next(fresh) if v is _TENSOR else v for v in self.static]
        return tree_unflatten(self.treedef, leaves)

    def tangents(self, values: Iterable[Tensor | None]) -> Any:
        """Values in the places of the tensors; None where an argument is no tensor."""
        fresh = iter(values)
        leaves = [next(fresh) if v is _TENSOR else None for v in self.static]
        return tree_unflatten(self.treedef, leaves)

    def at_tensors(self, leaves: Sequence[Any]) -> list[Any]:
        """Of one value per leaf, those where tensors are."""
        return [v for v, s in zip(leaves, self.static, strict=True) if s is _TENSOR]


def taken_apart(args: tuple[Any, ...]) -> tuple[list[Tensor], Arguments]:
    """The tensors of a call's arguments, and what puts them back; NumPy arrays become tensors."""
    leaves, treedef = tree_flatten(args)
    leaves = [Tensor(v) if isinstance(v, np.ndarray) else v for v in leaves]
    static = tuple(_TENSOR if isinstance(v, Tensor) else v for v in leaves)
    return [v for v in leaves if isinstance(v, Tensor)], Arguments(treedef, static)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Whole:
    """A function traced on its arguments, ready to become a node."""

    name: str
    operands: tuple[UOp, ...]  # the arguments, then what is used from outside
    count: int  # how many are arguments
    body: Function
    out_tree: TreeDef
    flags: list[bool | None]  # requires_grad of everything that goes in

    def call(self, record: OpDef, function: Call) -> Any:
        """The results of the node, in the shape that the function returns."""
        node = record(*self.operands, function=function)
        parts = tuple(listed(results(node))[: self.out_tree.leaves])
        return tree_unflatten(self.out_tree, lift.wrap(parts, self.flags))


def traced_whole(name: str, fn: Fn, tensors: list[Tensor], arguments: Arguments) -> Whole:
    """Run the function on tensors of its own that hold the arguments' values."""
    own = [_own(t) for t in tensors]
    symbols = [t.uop for t in own]
    leaves, out_tree = tensor_leaves(name, fn(*arguments.rebuilt(own)))
    outputs = [leaf.uop for leaf in leaves]
    captured = outside(outputs, set(symbols))
    body = without_effects(function_of([*symbols, *captured], outputs))
    operands = (*(t.uop for t in tensors), *captured)
    flags = [t._requires_grad for t in (*tensors, *leaves)]
    return Whole(name, operands, len(tensors), body, out_tree, flags)


def _own(tensor: Tensor) -> Tensor:
    """The value as a node of its own, so that only what uses *this* depends on the argument."""
    fresh = Tensor(OPS["unique_identity"](tensor.uop))
    fresh._requires_grad = tensor._requires_grad
    return fresh
