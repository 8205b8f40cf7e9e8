"""The graphs that a program computes while it runs: its jitted functions, and what it realizes.

What may live here: collecting. What may not: running programs (`cli/view.py`), or pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from adjoint.engine.observers import watch
from adjoint.ir.origin import resolve, user_place
from adjoint.ir.uop import UOp, toposort
from adjoint.transforms.jit.call import Compiled
from adjoint.viz.module_scopes import Scopes, looking
from adjoint.viz.subject import Subject, of_nodes, of_trace, with_modules

MOST = 60  # graphs of each kind that are kept


class Collected:
    """What a program computed: the last trace of each jitted function, realized graphs by line."""

    def __init__(self, scopes: Scopes):
        self._scopes = scopes
        self._traces: dict[str, Compiled] = {}
        self._realized: dict[str, Subject] = {}
        self.left_out = 0

    def traced(self, trace: Compiled) -> None:
        """A jitted function was traced."""
        if trace.name in self._traces or len(self._traces) < MOST:
            self._traces[trace.name] = trace
        else:
            self.left_out += 1

    def realized(self, roots: Sequence[UOp]) -> None:
        """Nodes are about to be computed; of those of one line the largest graph is kept."""
        origin = resolve(user_place())
        name = "realize" if origin is None else f"{origin.file}:{origin.line}"
        if name not in self._realized and len(self._realized) >= MOST:
            self.left_out += 1
            return
        subject = of_nodes(roots, name, f"computed at {name}")
        old = self._realized.get(name)
        if old is None or _size(subject) > _size(old):
            self._realized[name] = subject

    def subjects(self) -> list[Subject]:
        """Jitted functions, then realized graphs, the largest first."""
        traced = [of_trace(trace, self._scopes) for trace in self._traces.values()]
        realized = [with_modules(s, self._scopes) for s in self._realized.values()]
        return [
            *sorted(traced, key=_size, reverse=True),
            *sorted(realized, key=_size, reverse=True),
        ]


def _size(subject: Subject) -> int:
    return len(toposort(subject.roots, stop=subject.ends.__contains__))


@contextmanager
def collecting() -> Iterator[Collected]:
    """Collects everything that is computed inside, with a site for every node."""
    with looking() as scopes:
        found, before = Collected(scopes), watch.collector
        watch.collector = found
        watch.refresh()
        try:
            yield found
        finally:
            watch.collector = before
            watch.refresh()
