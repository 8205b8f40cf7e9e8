"""A tensor's program as text, for people."""

from __future__ import annotations

from typing import Any

from adjoint.ir.text import text
from adjoint.ir.uop import UOp, substitute, toposort


def show(*tensors: Any, origins: bool = False, limit: int | None = None) -> str:
    """The graph that computes these tensors, a line per op, sources first.

    `origins` adds the line of your program that each op comes from; `limit` keeps the first and the
    last lines of a long program and says how many it leaves out.
    """
    roots = [getattr(tensor, "uop", tensor) for tensor in tensors]
    lines = text(*_without_identities(roots), origins=origins).rstrip("\n").split("\n")
    if limit is None or len(lines) <= limit:
        return "\n".join(lines)
    head = max(limit // 2, 1)
    tail = max(limit - head, 1)
    hidden = f"... {len(lines) - head - tail} more lines ..."
    return "\n".join([*lines[:head], hidden, *lines[-tail:]])


def _without_identities(roots: list[UOp]) -> list[UOp]:
    """Nodes that only keep equal values apart are omitted: they tell a reader nothing."""
    mapping: dict[UOp, UOp] = {}
    for node in toposort(roots):
        if node.op.name == "unique_identity":
            mapping[node] = substitute([node.src[0]], mapping)[0]
    return substitute(roots, mapping)
