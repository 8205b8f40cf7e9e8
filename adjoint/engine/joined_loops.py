"""Equal loops are merged: a gradient runs the forward loop once more, to get every state.

Before: h, rows = loop(f, x); states = loop(g, x), where g is f that also returns its old state.
After: h, rows, states = loop of both results.

Two loops are equal if they begin with the same operands and every iteration computes the same state
from the same nodes. A loop with effects equals no other, because the gradient's loop has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.ir.function import Function
from adjoint.ir.kernel_kind import PART
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import origin_scope
from adjoint.ir.uop import UOp, rebuild, toposort
from adjoint.ir.values import is_known


def join_loops(roots: Sequence[UOp]) -> list[UOp]:
    """The roots over a graph in which no loop is run twice."""
    nodes = list(toposort(roots, stop=is_known))
    groups = _alike(nodes, roots)
    if not groups:
        return list(roots)
    merged: dict[UOp, tuple[Any, list[int]]] = {}
    for members in groups:
        arg, rows = _together([node.arg for node in members])
        merged |= {node: (arg, places) for node, places in zip(members, rows, strict=True)}
    new: dict[UOp, UOp] = {}
    for node in nodes:
        if is_known(node):
            new[node] = node
            continue
        src = tuple([new[s] for s in node.src])
        if node in merged:
            with origin_scope(node.raw_origin):
                new[node] = UOp(node.op, src, merged[node][0])
        elif node.op.kernel is PART and node.src[0] in merged:
            new[node] = src[0].part(merged[node.src[0]][1][node.arg.index])
        else:
            new[node] = node if src == node.src else rebuild(node, src)
    return [new[root] for root in roots]


def _alike(nodes: Sequence[UOp], roots: Sequence[UOp]) -> list[list[UOp]]:
    """Loops that can be one, at least two at a time; only parts of them are used."""
    loops = [node for node in nodes if node.op is OPS["loop"] and not is_known(node)]
    if len(loops) < 2:
        return []
    whole = {s for node in nodes if node.op.kernel is not PART for s in node.src} | set(roots)
    found: dict[Any, list[UOp]] = {}
    for node in loops:
        arg = node.arg
        n, body = arg.carries, arg.body
        key = (node.src, n, arg.sequences, arg.length, arg.reverse, body.inputs, body.outputs[:n])
        if node not in whole:
            found.setdefault(key, []).append(node)
    return [members for members in found.values() if len(members) > 1]


def _together(args: Sequence[Any]) -> tuple[Any, list[list[int]]]:
    """The attributes of the one loop, and for each of these where its results are."""
    first, n = args[0], args[0].carries
    rows = list(dict.fromkeys(row for arg in args for row in arg.body.outputs[n:]))
    place = {row: n + i for i, row in enumerate(rows)}
    body = Function(first.body.inputs, (*first.body.outputs[:n], *rows))
    found = [[*range(n), *(place[row] for row in arg.body.outputs[n:])] for arg in args]
    return type(first)(body, n, first.sequences, first.length, first.reverse), found
