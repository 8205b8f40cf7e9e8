"""The result of every pass on a graph, and the reasons: the data of the page Passes.

The passes run here one by one, as `engine/pipeline.py` lists them, on a graph of their own, and
nothing is stored. What may live here: states and differences. What may not: any pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from adjoint.backends.protocol import Backend
from adjoint.codegen.show import show
from adjoint.engine.compilation import MAIN, Compilation
from adjoint.engine.explain import schedule_text
from adjoint.engine.pipeline import PASSES
from adjoint.engine.program_cache import load_backend
from adjoint.ir.kernel_kind import is_constant
from adjoint.ir.rewrite import Firing, firings_noted
from adjoint.ir.uop import UOp
from adjoint.schedule.groups import Fused, Work, nodes_of
from adjoint.sharding.order import order_of_products
from adjoint.stages import Graph, Schedule
from adjoint.viz.node_table import NodeTable
from adjoint.viz.subject import Subject

UNTIL = "render"  # what is made of a page's graph: its sources, but no code
LONGEST = 4000  # lines of a text
WHERE = 40  # places of a rule that are shown
DEEPEST = 3  # ops of an expression inside one another


@dataclass(slots=True, eq=False, repr=False)
class Compiled:
    """The passes as data, and the compilation they end with."""

    rows: list[dict[str, Any]]
    unit: Compilation
    backend: Backend


def compiled(subject: Subject, table: NodeTable) -> Compiled | None:
    """Every pass of a subject; None if no backend compiles it."""
    if subject.function is None or subject.backend is None:
        return None
    backend = load_backend(subject.backend or "cpu")
    given = set(subject.function.inputs)
    roots = tuple(n for n in dict.fromkeys(subject.function.outputs) if n not in given)
    if not roots:
        return None
    unit = Compilation(backend, {MAIN: Graph(roots, subject.function.inputs)})
    with nullcontext() if subject.member_of is None else order_of_products():
        return _stepped(unit, _Writer(table))


def _stepped(unit: Compilation, writer: _Writer) -> Compiled:
    rows = [writer.state("graph", "what was traced", unit)]
    for row in PASSES:
        with firings_noted() as firings:
            unit = row.run(unit)
        rows.append(writer.state(row.name, _doc(row.run), unit))
        rows[-1]["rules"] = writer.rules(firings)
        if row.name == UNTIL:
            break
    return Compiled(rows, unit, unit.backend)


def _doc(run: Any) -> str:
    inner = [c.cell_contents for c in getattr(run, "__closure__", None) or ()]
    named = next((f for f in inner if callable(f) and f.__doc__), run)
    return " ".join((named.__doc__ or "").split())


# ---- states


class _Writer:
    """Compilations as data: graphs by numbers of nodes, kernels and steps as lines of text."""

    def __init__(self, table: NodeTable):
        self.table = table

    def state(self, name: str, doc: str, unit: Compilation) -> dict[str, Any]:
        found: dict[str, Any] = {"name": name, "doc": doc, "rules": []}
        parts = {_title(key): part for key, part in unit.parts.items()}
        first = unit.main
        if isinstance(first, Graph):
            found["graphs"] = [[title, self.table.graph(g.roots)] for title, g in parts.items()]
        elif isinstance(first, Fused):
            found["work"] = [[title, [self.work(w) for w in f.work]] for title, f in parts.items()]
            found["reasons"] = self.reasons(parts.values())
        elif name == UNTIL:
            texts = dict.fromkeys(source.text for source in unit.sources.values())
            found["text"] = _lines("\n\n".join(texts))
        else:
            found["text"] = self.schedules(name, parts)
        return found

    def schedules(self, name: str, parts: Mapping[str, Schedule]) -> list[str]:
        if name == "plan":
            return _lines(schedule_text(parts[_title(MAIN)]))
        programs = dict.fromkeys(p for part in parts.values() for p in part.programs())
        return _lines("\n".join(map(show, programs)))

    def work(self, work: Work) -> dict[str, Any]:
        """A piece of work: what it computes, what it reads, how, and why."""
        inside = [] if work.group is None else nodes_of(work.group)
        found: dict[str, Any] = {
            "kind": work.kind,
            "makes": self.table.add(work.nodes),
            "reads": self.table.add(work.reads),
            "inside": self.table.add(inside),
            "loops": [] if work.group is None else list(map(int, work.group.sizes)),
        }
        if work.strategy is not None:
            found["strategy"] = [work.strategy.name, work.strategy.why, list(work.strategy.others)]
        return found

    def rules(self, firings: Sequence[Firing]) -> list[list[Any]]:
        """The rules that applied: `[name, count, equation, where]`, for each place the node's site,
        its number, the node before and the node after.
        """
        found: dict[str, list[Any]] = {}
        for firing in firings:
            rule = firing.rule
            said = " ".join(str(rule).partition(": ")[2].split())
            row = found.setdefault(rule.name, [rule.name, 0, said, []])
            row[1] += 1
            if len(row[3]) < WHERE:
                row[3].append(self.where(firing))
        return sorted(found.values(), key=lambda row: (-row[1], row[0]))

    def where(self, firing: Firing) -> list[Any]:
        place = self.table.lines.place(firing.before.raw_origin)
        number = self.table.numbers.get(firing.before, -1)
        return [place, number, self.expression(firing.before), self.expression(firing.after)]

    def expression(self, node: UOp, depth: int = DEEPEST) -> str:
        """A node over those that the states of the page have numbers for."""
        number, said = self.table.numbers.get(node), self.table.attributes(node)
        if is_constant(node):
            return said or node.op.name
        if number is not None and depth < DEEPEST:
            return f"%{number}"
        if not depth:
            return "…"
        inside = [self.expression(s, depth - 1) for s in node.src]
        name = "" if number is None else f"%{number} = "
        return f"{name}{node.op.name}({', '.join(inside)}){f' {{{said}}}' if said else ''}"

    def reasons(self, parts: Iterable[Fused]) -> list[list[Any]]:
        """`[node, what became of it, why]`."""
        numbers = self.table.numbers
        rows = [pair for part in parts for pair in part.reasons.items() if pair[0] in numbers]
        return [[numbers[node], *reason] for node, reason in rows]


def _title(key: Any) -> str:
    return "" if key is MAIN else "the function of a loop or branch"


def _lines(text: str) -> list[str]:
    lines = text.rstrip("\n").split("\n")
    rest = len(lines) - LONGEST
    return lines if rest <= 0 else [*lines[:LONGEST], f"… and {rest} lines more"]
