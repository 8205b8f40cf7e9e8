"""Which graphs with dynamic sizes are compiled for their current numbers.

The order in which loops add a matrix product depends on their lengths, and on what they are fused
with (sums have one order, `ops/tree.py`); tiles have an order of their own. A value never depends
on whether a size is dynamic: if such an order would differ, the graph is compiled with plain sizes.
What may live here: this decision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.ir import sizes
from adjoint.ir.arg import Varying
from adjoint.ir.expand import expand
from adjoint.ir.kernel_kind import Library
from adjoint.ir.plain_sizes import plain_value, with_plain_sizes
from adjoint.ir.uop import UOp, toposort
from adjoint.kernel.product_order import orders_of
from adjoint.ops.window import window
from adjoint.schedule.classify import summed_size
from adjoint.schedule.strategy import TILES, choose, library_takes, product_dtype
from adjoint.stages import Graph, Group, functions_of
from adjoint.target import Target

Fuse = Callable[[Graph], Sequence[Any]]  # the groups that a graph is divided into


def settled(graph: Graph, target: Target, groups: Fuse) -> Graph:
    """The graph itself, or with plain sizes if its values would depend on what varies."""
    if not _is_varying(graph) or not adds_by_length(graph.roots, target):
        return graph
    plain = _without_variables(graph)
    orders = [product_orders(groups(some), target) for some in (graph, plain)]
    return graph if orders[0] == orders[1] else plain


def product_orders(groups: Sequence[Group], target: Target) -> list[str]:
    """The order in which each product of some groups is added: first those of loops, then those of
    tiles, whose order follows from their lengths alone and not from fusion.
    """
    loops, tiles = [], []
    for group in groups:
        tiled = [row for row in group.reduced if choose(row[0], target).use == TILES]
        loops += [] if tiled else orders_of(group, target)
        numbers = plain_value(group.sizes)
        tiles += [
            (TILES, node.arg, node.dtype, [numbers[a] for axis in summed for a in axis])
            for node, _, summed in tiled
        ]
    return [*map(repr, loops), *sorted(map(repr, tiles))]


def _is_varying(graph: Graph) -> bool:
    return sizes.living and any(isinstance(n.arg, Varying) for n in toposort(graph.roots))


def adds_by_length(roots: Sequence[UOp], target: Target) -> bool:
    """Whether a product of floats is added up by loops or tiles, also inside functions."""
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
    short = summed_size(node) <= target.limits.loop_products
    windows = any(x.op is window for x in node.src)
    return not taken or short or windows


def _without_variables(graph: Graph) -> Graph:
    """The graph, in primitives, as plain ints would have built it."""
    roots = expand(graph.roots)
    new = with_plain_sizes([*roots, *graph.inputs], {})
    return Graph(tuple(new[n] for n in roots), tuple(new[n] for n in graph.inputs))
