"""Programs by what they compute: the same graph on other buffers is a look-up.

A constant is part of a program until it has had several values; then the program takes it as an
argument, so that a changing learning rate costs no compile. The least recently used programs are
given up. What may live here: finding and keeping programs. What may not: running them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint import config
from adjoint.engine.key import GraphKey, closed
from adjoint.ir.spec import verify
from adjoint.ir.uop import UOp
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.interrupt import undisturbed
from adjoint.runtime.timeline import span

if TYPE_CHECKING:
    from adjoint.engine.program import Program

KEPT = 1024  # structures
WEIGHT = 4_000_000  # and all of them together: entries of their keys, a few per node
VALUES = 2  # sets of constants of one structure that get programs of their own


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bound:
    """A program for a graph: which constants are arguments, and where the roots' values are."""

    program: Program
    lifted: tuple[int, ...]  # positions in `key.values`
    picks: tuple[tuple[bool, int], ...]  # per root: (is it a leaf, number of the leaf or output)

    def run(self, key: GraphKey, buffers: list[Buffer], asked: Sequence[Any]) -> list[Buffer]:
        """The buffers of the roots, on the devices asked for."""
        devices = asked
        if self.lifted:
            buffers = [*buffers, *self.arguments(key)]
        if len(self.picks) != len(self.program.schedule.outputs):
            own = {i: d for (leaf, i), d in zip(self.picks, asked, strict=True) if not leaf}
            devices = [own[i] for i in sorted(own)]
        found = self.program.run(buffers, devices)
        return [
            moved(buffers[i], device) if leaf else found[i]
            for (leaf, i), device in zip(self.picks, asked, strict=True)
        ]

    def arguments(self, key: GraphKey) -> tuple[Buffer, ...]:
        """The constants of this graph that the program takes as arguments."""
        return tuple(_scalar(key.constants[i]) for i in self.lifted)


def moved(buffer: Buffer, device: Any) -> Buffer:
    """A buffer as one of another device of this machine; a file's contents are read now."""
    if buffer.device == device:
        return buffer
    array = buffer.array()
    return Buffer(np.array(array) if isinstance(array, np.memmap) else array, device)


def _scalar(node: UOp) -> Buffer:
    with np.errstate(over="ignore"):  # beyond a narrow float's range: an infinity, as in a kernel
        return Buffer(np.array(node.arg.value, node.dtype.np), node.device)


@dataclass(slots=True, eq=False, repr=False)
class _Family:
    """All programs of one structure."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    exact: dict[tuple[Any, ...], Bound] = field(default_factory=dict)
    generic: Bound | None = None
    fixed: tuple[Any, ...] = ()  # of the generic program: the values it has inside

    def find(self, values: tuple[Any, ...]) -> Bound | None:
        found = self.exact.get(values)
        if found is None and self.generic is not None:
            inside = set(self.generic.lifted)
            if tuple(v for i, v in enumerate(values) if i not in inside) == self.fixed:
                return self.generic
        return found


class Programs:
    """The cache. Safe from threads; one thread compiles a structure, the others wait for it."""

    def __init__(self, kept: int = KEPT):
        self._families: OrderedDict[tuple[Any, ...], _Family] = OrderedDict()
        self._lock = threading.Lock()
        self._weight = 0
        self.kept = kept

    def __len__(self) -> int:
        return len(self._families)

    def clear(self) -> None:
        """Give up all programs that nobody holds."""
        with self._lock:
            self._families.clear()
            self._weight = 0

    def find(self, key: GraphKey, roots: Sequence[UOp]) -> Bound:
        """The program of the graph, made if need be."""
        family = self._family(key.structure)
        found = family.exact.get(key.values)
        if found is not None:
            return found
        with family.lock:
            found = family.find(key.values)
            return self._made(family, key, roots) if found is None else found

    def _family(self, structure: tuple[Any, ...]) -> _Family:
        with self._lock:
            family = self._families.get(structure)
            if family is None:
                family = self._families[structure] = _Family()
                self._weight += len(structure)
                while len(self._families) > max(1, self.kept) or self._weight > WEIGHT:
                    self._weight -= len(self._families.popitem(last=False)[0])
            else:
                self._families.move_to_end(structure)
            return family

    def _made(self, family: _Family, key: GraphKey, roots: Sequence[UOp]) -> Bound:
        seen = [*family.exact, key.values]
        if len(seen) <= VALUES:
            bound = family.exact[key.values] = make(key, roots, ())
            return bound
        columns = list(zip(*seen, strict=True))
        lifted = tuple(i for i, column in enumerate(columns) if len(set(column)) > 1)
        if family.generic is not None:  # one more constant turned out to change
            lifted = tuple(sorted({*lifted, *family.generic.lifted}))
        family.fixed = tuple(v for i, v in enumerate(key.values) if i not in set(lifted))
        family.generic = make(key, roots, lifted)
        return family.generic


@lru_cache(maxsize=1)
def _compiler() -> Any:
    """`build`, with the whole compiler behind it: loaded when it is first needed."""
    return undisturbed(partial(import_module, "adjoint.engine.build")).build


def make(key: GraphKey, roots: Sequence[UOp], lifted: tuple[int, ...]) -> Bound:
    """A program for the graph, with these constants as arguments."""
    build = _compiler()
    if config.VERIFY.value():
        verify(tuple(roots))
    nodes, parameters = closed(roots, key.leaves, [key.constants[i] for i in lifted])
    places = {node: i for i, node in enumerate(parameters)}
    outputs = list(dict.fromkeys(node for node in nodes if node not in places))
    numbers = {node: i for i, node in enumerate(outputs)}
    picks = tuple((n in places, places[n] if n in places else numbers[n]) for n in nodes)
    with span("compile", "compile"):
        return Bound(build(outputs, parameters), lifted, picks)


PROGRAMS = Programs()
