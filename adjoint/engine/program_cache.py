"""Programs by what they compute: the same graph on other buffers is a look-up.

A constant is part of a program until it has had several values; then the program takes it as an
argument, so that a changing learning rate costs no compile. So it is with slices of values: where
one begins somewhere else, the program takes what the slice shows. The least recently used programs
are given up. Elsewhere: keys (`graph_key.py`), programs of earlier processes
(`stored_programs.py`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint import config
from adjoint.engine.graph_key import GraphKey, close_over_parameters
from adjoint.engine.memory_reads import moved, slice_argument, slices_inside
from adjoint.ir.collector import collector_paused
from adjoint.ir.exactness import allows_native_bfloat16, native_bfloat16
from adjoint.ir.spec import verify
from adjoint.ir.uop import UOp
from adjoint.ir.values import bindings_of
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.interrupt import undisturbed
from adjoint.runtime.spans import span

if TYPE_CHECKING:
    from adjoint.backends.protocol import Backend
    from adjoint.engine.program import Program

MAX_STRUCTURES = 1024
MAX_KEY_ENTRIES = 4_000_000  # of all structures together: a few per node
VALUES = 2  # sets of constants of one structure that get programs of their own


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CachedProgram:
    """A program for a graph: which constants are arguments, and where the roots' values are."""

    program: Program
    lifted: tuple[int, ...]  # positions in `key.constants`
    # per root: (is it a leaf, number of the leaf or output); None if it is left out
    picks: tuple[tuple[bool, int] | None, ...]

    def run(self, key: GraphKey, buffers: list[Buffer], asked: Sequence[Any]) -> list[Any]:
        """The buffers of the roots, on the devices asked for; None for those that are left out."""
        devices = asked
        if self.lifted:
            buffers = [*buffers, *self.arguments(key)]
        if len(self.picks) != len(self.program.schedule.outputs):
            chosen = [(p, d) for p, d in zip(self.picks, asked, strict=True) if p is not None]
            own = {i: d for (leaf, i), d in chosen if not leaf}
            devices = [own[i] for i in sorted(own)]
        found = self.program.run(buffers, devices)
        return [
            None if pick is None else moved(buffers[pick[1]], device) if pick[0] else found[pick[1]]
            for pick, device in zip(self.picks, asked, strict=True)
        ]

    def arguments(self, key: GraphKey) -> tuple[Buffer, ...]:
        """The constants and slices of this graph that the program takes as arguments.

        Memory of a slice is lent to the run; a result that could be such memory has a copy.
        """
        device, simple = self.program.backend.target.name, self.program.plan.simple
        copied = not simple or any(pick is not None and pick[0] for pick in self.picks)
        nodes = (key.constants[i] for i in self.lifted)
        return tuple(
            slice_argument(node, copied) if node.src else _scalar(node, device) for node in nodes
        )


def _scalar(node: UOp, device: str) -> Buffer:
    with np.errstate(over="ignore"):  # beyond a narrow float's range: an infinity, as in a kernel
        return Buffer(np.array(node.arg.value, node.dtype.np), device)


@dataclass(slots=True, eq=False, repr=False)
class _Family:
    """All programs of one structure."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    exact: dict[tuple[Any, ...], CachedProgram] = field(default_factory=dict)
    generic: CachedProgram | None = None
    inside: tuple[int, ...] | None = None  # slices that stay inside programs, once that is known
    fixed: tuple[Any, ...] = ()  # of the generic program: the values it has inside

    def find(self, values: tuple[Any, ...]) -> CachedProgram | None:
        found = self.exact.get(values)
        if found is None and self.generic is not None:
            inside = set(self.generic.lifted)
            if tuple(v for i, v in enumerate(values) if i not in inside) == self.fixed:
                return self.generic
        return found


class Programs:
    """The cache. Safe from threads; one thread compiles a structure, the others wait for it."""

    def __init__(self, kept: int = MAX_STRUCTURES):
        self._families: OrderedDict[tuple[Any, ...], _Family] = OrderedDict()
        self._lock = threading.Lock()
        self._weight = 0
        self.kept = kept

    def __len__(self) -> int:
        return len(self._families)

    def clear(self) -> None:
        """Give up all programs that no jitted function holds."""
        with self._lock:
            self._families.clear()
            self._weight = 0

    def find(self, key: GraphKey, roots: Sequence[UOp]) -> CachedProgram:
        """The program of the graph, made if need be."""
        structure = key.structure
        if allows_native_bfloat16():
            structure = (*structure, native_bfloat16)
        family = self._family(structure)
        found = family.exact.get(key.values)
        if found is not None:
            return found
        if family.inside is None:
            family.inside = slices_inside(key.constants, roots)
        if family.inside:
            starts = tuple([key.values[i] for i in family.inside])
            family = self._family((*structure, starts))
        with family.lock:
            found = family.find(key.values)
            return self._made(family, key, roots) if found is None else found

    def _family(self, structure: tuple[Any, ...]) -> _Family:
        with self._lock:
            family = self._families.get(structure)
            if family is None:
                family = self._families[structure] = _Family()
                self._weight += len(structure)
                while len(self._families) > max(1, self.kept) or self._weight > MAX_KEY_ENTRIES:
                    self._weight -= len(self._families.popitem(last=False)[0])
            else:
                self._families.move_to_end(structure)
            return family

    def _made(self, family: _Family, key: GraphKey, roots: Sequence[UOp]) -> CachedProgram:
        seen = [*family.exact, key.values]
        columns = list(zip(*seen, strict=True))
        lifted = tuple(i for i, column in enumerate(columns) if len(set(column)) > 1)
        sliced = all(key.constants[i].src for i in lifted)
        if len(seen) <= (1 if sliced else VALUES):
            bound = family.exact[key.values] = make(key, roots, ())
            return bound
        if family.generic is not None:  # one more constant turned out to change
            lifted = tuple(sorted({*lifted, *family.generic.lifted}))
        family.fixed = tuple(v for i, v in enumerate(key.values) if i not in set(lifted))
        family.generic = make(key, roots, lifted)
        return family.generic


@cache
def _store() -> Any:
    """Programs on disk, and how one is finished: loaded when the first program is wanted."""

    def load() -> Any:
        from adjoint.engine import finish, stored_programs

        return stored_programs, finish

    return undisturbed(load)


@cache
def _compiler() -> Any:
    """The pipeline, with the whole compiler behind it: loaded when something must be compiled."""

    def load() -> Any:
        from adjoint.engine import pipeline

        return pipeline

    return undisturbed(load)


@cache
def _keeper() -> Any:
    """What decides which values are kept, with the compiler behind it."""

    def load() -> Any:
        from adjoint.engine import kept_values

        return kept_values

    return undisturbed(load)


@cache
def load_backend(name: str) -> Backend:
    """The backend of a target, loaded when something is compiled for it."""
    module = undisturbed(partial(import_module, f"adjoint.backends.{name}"))
    found: Backend = module.BACKEND
    return found


def make(key: GraphKey, roots: Sequence[UOp], lifted: tuple[int, ...]) -> CachedProgram:
    """A program for the graph, with these constants as arguments: from the disk, or compiled."""
    bindings_of(roots)  # one value for each variable
    with collector_paused():
        return _made(key, roots, lifted)


def _made(key: GraphKey, roots: Sequence[UOp], lifted: tuple[int, ...]) -> CachedProgram:
    backend, (stored, finish) = load_backend(key.backend), _store()
    name = stored.name_of(key.structure, key.values, lifted, backend)
    kept = None if name is None else stored.read(name, roots)
    if kept is not None:
        with span("load", "compile"):
            program = finish.finished(kept.schedule, kept.sources, backend)
        return CachedProgram(program, lifted, kept.picks)
    backend.prepare()
    if config.VERIFY.value():
        verify(tuple(roots))
    nodes, parameters = close_over_parameters(roots, key.leaves, [key.constants[i] for i in lifted])
    chosen = _kept(nodes, parameters, key.wanted, backend) if key.wanted else nodes
    picks, outputs = _picks(chosen, parameters)
    with span("build", "compile"):
        unit = _compiler().build(outputs, parameters, backend)
    if name is not None:
        stored.write(name, stored.StoredProgram(unit.main, dict(unit.sources), picks), roots)
    return CachedProgram(unit.program, lifted, picks)


def _kept(
    nodes: Sequence[UOp], parameters: Sequence[UOp], wanted: int, backend: Backend
) -> list[UOp | None]:
    """The nodes, None for those of the last ones that the program does not keep."""
    needed, asked = nodes[:-wanted], nodes[-wanted:]
    found = _keeper().kept(needed, asked, parameters, backend)
    return [*needed, *[node if node in found else None for node in asked]]


def _picks(nodes: Sequence[UOp | None], parameters: Sequence[UOp]) -> tuple[Any, list[UOp]]:
    """Where the value of each node will be, and the nodes that a program must compute."""
    places = {node: i for i, node in enumerate(parameters)}
    outputs = list(dict.fromkeys(n for n in nodes if n is not None and n not in places))
    numbers = {node: i for i, node in enumerate(outputs)}
    return tuple([None if n is None else _pick(n, places, numbers) for n in nodes]), outputs


def _pick(node: UOp, places: dict[UOp, int], numbers: dict[UOp, int]) -> tuple[bool, int]:
    return (True, places[node]) if node in places else (False, numbers[node])


PROGRAMS = Programs()
