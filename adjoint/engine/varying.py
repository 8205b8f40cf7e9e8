"""Graphs whose sizes vary, and those that are compiled for the numbers they have now.

The order in which loops add up a product of matrices follows their lengths (sums have one order,
`ops/tree.py`). A value never depends on whether a size varies: such a graph is compiled as one of
plain sizes. What may live here: this decision, and the graph without variables.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.ir import sizes
from adjoint.ir.arg import Varying
from adjoint.ir.expand import expand
from adjoint.ir.function import Function
from adjoint.ir.kernel_kind import Library
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import origin_scope
from adjoint.ir.uop import UOp, toposort
from adjoint.ir.values import is_known
from adjoint.schedule.classify import summed_size
from adjoint.schedule.strategy import library_takes, product_dtype
from adjoint.stages import Graph, functions_of
from adjoint.target import Target


def is_varying(graph: Graph) -> bool:
    """Whether a size of the graph varies."""
    return sizes.living and any(isinstance(n.arg, Varying) for n in toposort(graph.roots))


def adds_by_length(roots: Sequence[UOp], target: Target) -> bool:
    """Whether a product of floats is added up by loops, also inside functions."""
    for node in toposort(expand(roots)):
        if type(node.op.kernel) is Library and node.dtype.is_inexact and _by_loops(node, target):
            return True
        if node.op.takes_functions and any(
            adds_by_length(f.outputs, target) for f in functions_of(node)
        ):
            return True
    return False


def _by_loops(node: UOp, target: Target) -> bool:
    taken = node.dtype.is_complex or library_takes(product_dtype(node, target), target)
    return not taken or summed_size(node) <= target.limits.loop_products


def without_variables(graph: Graph) -> Graph:
    """The graph, in primitives, as plain ints would have built it."""
    roots, new = expand(graph.roots), dict[UOp, UOp]()
    for node in toposort([*roots, *graph.inputs]):
        src = tuple(new[s] for s in node.src)
        with origin_scope(node.raw_origin):
            new[node] = node if is_known(node) else _plain(node, src)
    return Graph(tuple(new[n] for n in roots), tuple(new[n] for n in graph.inputs))


def _plain(node: UOp, src: tuple[UOp, ...]) -> UOp:
    if node.op is OPS["cast"] and _is_size(node.src[0]):  # a number beside floats
        value = float(node.src[0].arg.value)
        return OPS["const"].call(value, node.dtype, src[0].shape, src[0].device)
    arg = node.arg
    if isinstance(arg, Varying) or node.op.takes_functions:
        arg = arg.kind()(*map(_plain_value, arg))
    return node if src == node.src and arg is node.arg else UOp(node.op, src, arg)


def _is_size(node: UOp) -> bool:
    return node.op is OPS["const"] and sizes.varies(node.arg.value)


def _plain_value(value: object) -> object:
    if isinstance(value, Function):
        inside = without_variables(Graph(value.outputs, value.inputs))
        return Function(inside.inputs, inside.roots)
    if isinstance(value, tuple):
        return tuple(map(_plain_value, value))
    return int(value) if type(value) is sizes.Size else value
