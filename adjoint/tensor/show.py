"""A tensor's program as text, for people."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from adjoint.ir.mesh import Sharding
from adjoint.ir.text import text
from adjoint.ir.uop import UOp, substitute, toposort


def show(*tensors: Any, origins: bool = False, limit: int | None = None) -> str:
    """The graph that computes these tensors, a line per op, sources first.

    `origins` adds the line of your program that each op comes from; `limit` keeps the first and the
    last lines of a long program and says how many it leaves out. On a mesh a line for each
    collective follows, with the bytes that a member sends.
    """
    roots = [getattr(tensor, "uop", tensor) for tensor in tensors]
    lines = text(*_without_identities(roots), origins=origins).rstrip("\n").split("\n")
    return "\n".join(_shortened(lines, limit) + _shortened(_collectives(roots), limit))


def _shortened(lines: list[str], limit: int | None) -> list[str]:
    if limit is None or len(lines) <= limit:
        return lines
    head = max(limit // 2, 1)
    tail = max(limit - head, 1)
    return [*lines[:head], f"... {len(lines) - head - tail} more lines ...", *lines[-tail:]]


def _collectives(roots: list[UOp]) -> list[str]:
    if not any(isinstance(root.device, Sharding) for root in roots):
        return []
    found: list[str] = import_module("adjoint.engine.sharded").collective_lines(roots)
    return [f"collective: {line}" for line in found]


def _without_identities(roots: list[UOp]) -> list[UOp]:
    """Nodes that only keep equal values apart are omitted: they tell a reader nothing."""
    mapping: dict[UOp, UOp] = {}
    for node in toposort(roots):
        if node.op.name == "unique_identity":
            mapping[node] = substitute([node.src[0]], mapping)[0]
    return substitute(roots, mapping)
