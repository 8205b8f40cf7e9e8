"""Traces: a function's graph from its inputs to its outputs, as something to hold and to read.

A trace is a slice of the one graph; its gradients are those of `autodiff`. What may live here: the
trace, its values, and its derivatives. What may not: derivatives of ops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.autodiff.forward import push_forward
from adjoint.autodiff.reverse import or_zeros, results
from adjoint.display import Displayed
from adjoint.engine import realize as engine
from adjoint.errors import AutodiffError
from adjoint.ir.function import input_like
from adjoint.ir.kernel_kind import PART
from adjoint.ir.opdef import OPS, attributes
from adjoint.ir.origin import Origin, origin_scope
from adjoint.ir.text import short_type, text, type_text
from adjoint.ir.uop import UOp, substitute, toposort
from adjoint.ir.values import is_known, storage
from adjoint.tensor import Tensor
from adjoint.tensor.tracing import DROPPED, check_concrete, scope
from adjoint.transforms.call import (
    check_real,
    name_of,
    positional_names,
    select,
    tensor_leaves,
    variables,
)
from adjoint.transforms.custom_rules.cotangents import _accumulate_cotangent, _reduce_to_shape
from adjoint.transforms.forward import checked_tangents
from adjoint.transforms.loops import joint_gradient
from adjoint.transforms.pytree import TreeDef, matching_leaves, tree_flatten, tree_unflatten
from adjoint.transforms.reverse import checked_cotangent, finished
from adjoint.transforms.subgraph import listed


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OpNode:
    """One op of a trace: its operands, its attributes, and its results."""

    op: str
    op_args: tuple[UOp, ...]
    op_kwargs: dict[str, Any]
    outputs: tuple[UOp, ...]
    uop: UOp

    def __repr__(self) -> str:
        results = ", ".join(short_type(n.shape, n.dtype) for n in self.outputs)
        place = f", {self.origin}" if self.origin else ""
        return f"<{self.op} of {len(self.op_args)} operands -> {results}{place}>"

    @property
    def origin(self) -> Origin | None:
        """The user's method, file and line."""
        return self.uop.origin

    @property
    def values(self) -> tuple[Tensor | None, ...]:
        """The present results; None for one that is not computed."""
        return tuple(
            Tensor(OPS["buffer"](storage(n))) if is_known(n) else None for n in self.outputs
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trace(Displayed):
    """A traced function. Nodes never change, so neither does a trace; only values come and go."""

    name: str
    arguments: tuple[UOp, ...]  # the original values of the inputs
    input_nodes: tuple[UOp, ...]
    output_nodes: tuple[UOp, ...]
    in_tree: TreeDef
    out_tree: TreeDef
    labels: tuple[str, ...]
    nodes: tuple[OpNode, ...]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The leaves of the arguments, in order."""
        return tuple(map(Tensor, self.input_nodes))

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The leaves of the function's result, in order."""
        return tuple(map(Tensor, self.output_nodes))

    @property
    def result(self) -> Any:
        """What the function returned."""
        return tree_unflatten(self.out_tree, self.outputs)

    def refresh_graph_values(self) -> None:
        """Bind every input to its original argument again, and compute every node anew."""
        check_concrete(self.arguments)
        engine.realize(*self.arguments)
        bound = [n for node in self.nodes for n in (node.uop, *node.outputs)]
        for node in bound:
            node.realized = None
        for node, argument in zip(self.input_nodes, self.arguments, strict=True):
            node.realized = storage(argument)
        engine.realize(*(n for node in self.nodes for n in node.outputs))

    def __repr__(self) -> str:
        return f"<{self.head()}: {len(self.nodes)} ops>"

    def __str__(self) -> str:
        return f"{self.head()}\n{self._body()}"

    def head(self) -> str:
        """`trace f(x: f32[3])`."""
        types = (type_text(n.shape, n.dtype) for n in self.input_nodes)
        pairs = zip(self.labels, types, strict=True)
        return f"trace {self.name}({', '.join(f'{n}: {t}' for n, t in pairs)})"

    def _body(self) -> str:
        """The graph with the inputs under their names."""
        pairs = zip(self.input_nodes, self.labels, strict=True)
        named = {node: _named_input(label, node) for node, label in pairs}
        return text(*substitute(self.output_nodes, named), origins=True)


def _named_input(label: str, node: UOp) -> UOp:
    """An input under its parameter's name, from the line that made the trace."""
    with origin_scope(node.raw_origin):
        return input_like(label, node)


def trace(fn: Callable[..., Any], *args: Any) -> Trace:
    """The graph that the function builds for these arguments."""
    op = f"trace of {name_of(fn)}"
    chosen = select(op, args, {}, tuple(range(len(args))))
    with scope(op) as inner:
        inner.effects = DROPPED
        symbols = [s.uop for s in variables(chosen.leaves)]
        inner.variables.update(symbols)
        leaves, out_tree = tensor_leaves(op, chosen.call(fn, [Tensor(s) for s in symbols]))
        outputs = tuple(leaf.uop for leaf in leaves)
    return Trace(
        name_of(fn),
        tuple(leaf.uop for leaf in chosen.leaves),
        tuple(symbols),
        outputs,
        chosen.treedef,
        out_tree,
        _labels(fn, args),
        _op_nodes(symbols, outputs),
    )


def _op_nodes(inputs: Sequence[UOp], outputs: Sequence[UOp]) -> tuple[OpNode, ...]:
    """The ops between, sources first; a result picked out of several belongs to its op."""
    ends = set(inputs)
    order = toposort(outputs, stop=ends.__contains__)
    return tuple(_op_node(n) for n in order if n.src and n not in ends and n.op.kernel is not PART)


def _op_node(node: UOp) -> OpNode:
    outputs = tuple(listed(results(node)))
    return OpNode(node.op.name, node.src, attributes(node), outputs, node)


def _labels(fn: Callable[..., Any], args: tuple[Any, ...]) -> tuple[str, ...]:
    """A name per leaf: its parameter's, with a number where the argument has several."""
    labels: list[str] = []
    named = positional_names(fn)[: len(args)]
    named += [f"x{i}" for i in range(len(named), len(args))]
    for name, arg in zip(named, args, strict=True):
        count = len(tree_flatten(arg)[0])
        labels += [name] if count == 1 else [f"{name}.{i}" for i in range(count)]
    return tuple(labels)


def backward_on_trace(trace: Trace, cotangents: Any = None) -> tuple[Any, ...]:
    """The gradient of each argument, from a cotangent for the function's result.

    Without a cotangent the function must have returned one scalar. An input to which no path leads
    gets zeros; an integer or bool input has no gradient, so its place holds None.
    """
    op = f"backward_on_trace of {trace.name}"
    cotangent_map: dict[UOp, UOp] = {}
    for root, given in zip(trace.output_nodes, _seeds(op, trace, cotangents), strict=True):
        seed = checked_cotangent(op, root, given)
        if seed is not None:
            _accumulate_cotangent(cotangent_map, root, seed)
    roots = list(cotangent_map)
    found = joint_gradient(roots, list(cotangent_map.values()), trace.input_nodes)
    finals = [finished(found, node) for node in trace.input_nodes]
    return tree_unflatten(trace.in_tree, finals)


def _seeds(op: str, trace: Trace, cotangents: Any) -> list[Any]:
    if cotangents is not None:
        return matching_leaves(op, trace.out_tree, cotangents)
    if len(trace.output_nodes) == 1 and trace.output_nodes[0].shape == ():
        root = trace.output_nodes[0]
        check_real(op, trace.outputs[0])
        return [Tensor(OPS["const"](1, root.dtype, (), root.device))]
    problem = "the function returned more than one number; only a scalar has one gradient"
    fix = "pass cotangents in the pytree of its result"
    raise AutodiffError("E5004", problem, op=op, operands=[("result", trace.result)], help=fix)


def forward_on_trace(trace: Trace, tangents: Sequence[Any]) -> Any:
    """The tangent of the function's result, from a tangent per argument."""
    op = f"forward_on_trace of {trace.name}"
    args = tree_unflatten(trace.in_tree, trace.inputs)
    chosen = select(op, args, {}, tuple(range(len(args))))
    pairs = zip(trace.input_nodes, checked_tangents(op, chosen, tangents), strict=True)
    given = {node: t for node, t in pairs if t is not None}
    moved = or_zeros(push_forward(trace.output_nodes, given), trace.output_nodes)
    return tree_unflatten(trace.out_tree, map(Tensor, moved))


__all__ = [
    "OpNode",
    "Trace",
    "_accumulate_cotangent",
    "_reduce_to_shape",
    "backward_on_trace",
    "forward_on_trace",
    "trace",
]
