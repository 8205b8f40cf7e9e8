"""A subject as the data of its pages: nodes, names, lines, layers; passes, kernels, memory.

What may live here: putting pages together. What may not: how they are drawn (`static/`), or what
one of the later pages is made of (`passes.py`, `kernels.py`).
"""

from __future__ import annotations

from typing import Any

from adjoint.ir.function import Function
from adjoint.ir.values import is_known
from adjoint.viz.kernels import call_of, kernels_of
from adjoint.viz.memory_over_time import memory_of
from adjoint.viz.mesh_layouts import Spoken, collective_row
from adjoint.viz.node_table import NodeTable
from adjoint.viz.passes import compiled
from adjoint.viz.source_lines import SourceLines
from adjoint.viz.subject import Subject
from adjoint.viz.timeline import recorded, timeline_of


def graph_of(subject: Subject) -> tuple[dict[str, Any], NodeTable]:
    """The picture's data, and the table of its nodes, to which other pages may add."""
    lines = SourceLines()
    lines.modules = subject.places
    table = NodeTable(lines, subject.ends, subject.layouts)
    shown = table.graph(subject.roots)
    data = {
        "name": subject.name,
        "what": subject.what,
        "modules": subject.modules,
        "graph": shown,
        "results": subject.results,
    }
    if subject.member_of is not None and subject.function is not None:
        data["mesh"] = repr(subject.member_of)
        data["collectives"] = _spoken(subject, subject.function, table)
    return data, table


def _spoken(subject: Subject, function: Function, table: NodeTable) -> list[list[Any]]:
    """What members of a mesh send: rows of `collective_row`, and the number of the node or -1."""
    inside = list(table.numbers)
    rows = Spoken(inside, subject.layouts).rows(function.outputs)
    return [
        [*collective_row(collective, times), -1 if node is None else table.numbers[node]]
        for collective, times, node in rows
    ]


def pages_of(subject: Subject, compile: bool, measure: bool) -> dict[str, Any]:
    """All pages of a subject; passes and kernels only if it is to be compiled, and can be."""
    data, table = graph_of(subject)
    made = compiled(subject, table) if compile else None
    if made is not None:
        call = call_of(subject, made) if measure else None
        data["passes"] = made.rows
        data["kernels"] = kernels_of(subject, made, table.lines, call)
        data["memory"] = memory_of(made.unit.main, table.lines)
        data["run"] = None if call is None else timeline_of(recorded(call))
    elif compile:
        data["note"] = _why_not(subject)
    return finished(data, table)


def _why_not(subject: Subject) -> str:
    if all(map(is_known, subject.roots)):
        return "there is nothing to compute: the values are known"
    if subject.backend is None:
        return "no program is made of this graph: it is on several devices, or on REF"
    return "there is nothing to compute: what is given is returned"


def finished(data: dict[str, Any], table: NodeTable) -> dict[str, Any]:
    """The same with the rows of the table, when all pages have added theirs."""
    return data | {"nodes": table.rows, "bodies": table.bodies, **table.lines.data()}
