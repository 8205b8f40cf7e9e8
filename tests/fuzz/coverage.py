"""What the compiler did with a program, as a set of words.

Which ops came to lie next to one another in a kernel, which kinds of step there were, how kernels
run, which rules fired. What may live here: looking at the compiler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from adjoint.engine import build_schedule, passes
from adjoint.kernel import optimise
from adjoint.schedule import legalise, simplify
from adjoint.schedule.groups import Fused, Work


class Coverage:
    """Words seen since the last `taken`."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._fired = _fired()

    def taken(self) -> set[str]:
        """What was seen; from now on nothing was."""
        before, self._fired = self._fired, _fired()
        seen, self.seen = self.seen, set()
        return seen | {f"rule {name}" for name in self._fired - before}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """The compiler is looked at inside."""
        fuse, lowerings = passes.fuse_groups, dict(build_schedule.LOWERINGS)

        def fused(graph: Any, target: Any) -> Fused:
            found = fuse(graph, target)
            for work in found.work:
                self.seen |= set(_words(work))
            return found

        def lowered(use: str, group: Any, name: str, target: Any) -> Any:
            found = lowerings[use](group, name, target)
            program = found[0]
            lanes = max((n.arg.lanes for n in program.body if n.op.name == "range"), default=1)
            grid = "pieces" if program.grid is not None else "one piece"
            self.seen.add(f"strategy: {use}, {'lanes' if lanes > 1 else 'single'}, {grid}")
            if program.in_place:
                self.seen.add("strategy: in place")
            return found

        passes.fuse_groups = fused
        build_schedule.LOWERINGS.update({use: partial(lowered, use) for use in lowerings})
        try:
            yield
        finally:
            passes.fuse_groups = fuse
            build_schedule.LOWERINGS.update(lowerings)


def _fired() -> Counter[str]:
    """How often rules applied: those of graphs, of what a target has, of kernels."""
    return simplify.fired + legalise.fired + optimise.fired


def _words(work: Work) -> Iterator[str]:
    if work.group is None:
        yield f"step {work.kind} {work.nodes[0].op.name}"
        return
    inputs = set(work.group.inputs)
    yield f"kernel of {min(len(work.nodes), 4)} results, {min(len(work.group.reduced), 3)} sums"
    stack, seen = list(work.nodes), set(work.nodes)
    while stack:
        node = stack.pop()
        for source in node.src:
            where = "memory" if source in inputs else source.op.name
            yield f"pair {where} > {node.op.name}"
            if source not in inputs and source not in seen:
                seen.add(source)
                stack.append(source)
