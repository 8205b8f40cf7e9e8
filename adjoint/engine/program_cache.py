"""The cache of compiled programs in memory: the same graph on other buffers is a look-up.

A constant is part of a program until it has had several values; then the program takes it as an
argument, so a changing learning rate costs no compile. The same holds for slices of values: when
another start occurs, the program takes the slice as an argument. The least recently used programs
are evicted. Elsewhere: keys (`graph_key.py`), programs of earlier processes (`stored_programs.py`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint import config
from adjoint.engine import counters
from adjoint.engine.graph_key import GraphKey, close_over_parameters
from adjoint.engine.later import LATER
from adjoint.engine.memory_reads import moved, slice_argument, slices_inside
from adjoint.ir.collector import collector_paused
from adjoint.ir.exactness import settings
from adjoint.ir.spec import verify
from adjoint.ir.uop import UOp
from adjoint.ir.values import bindings_of
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.interrupt import undisturbed, unforked
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
        """The buffers of the roots, on the requested devices; None for roots that are left out."""
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
        device, simple = self.program.backend.device, self.program.plan.simple
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
    # a program that takes what changes as arguments, and the values that it has inside
    generic: tuple[CachedProgram, tuple[Any, ...]] | None = None
    inside: tuple[int, ...] | None = None  # slices beside products, once that is known
    met: dict[tuple[Any, ...], Any] = field(default_factory=dict)  # how it is computed without one
    times: int = 0  # that it was
    failed: bool = False  # another thread could not compile it
    apart: bool = False  # slices as arguments would change how products are added up

    def find(self, values: tuple[Any, ...]) -> CachedProgram | None:
        found, generic = self.exact.get(values), self.generic
        if found is None and generic is not None and _others(values, generic[0]) == generic[1]:
            return generic[0]
        return found

    def lifted(self, key: GraphKey) -> tuple[int, ...]:
        """The constants that the next program takes as arguments: those that have changed."""
        seen = list(dict.fromkeys([*self.exact, *self.met, key.values]))
        columns = list(zip(*seen, strict=True))
        lifted = tuple(i for i, column in enumerate(columns) if len(set(column)) > 1)
        sliced = all(key.constants[i].src for i in lifted)
        if len(seen) <= (1 if sliced else VALUES):
            return ()
        if self.generic is not None:  # one more constant turned out to change
            lifted = tuple(sorted({*lifted, *self.generic[0].lifted}))
        return lifted

    def entered(self, values: tuple[Any, ...], make: Callable[[], CachedProgram]) -> None:
        """The same for a program that is not made yet; an error stops here."""
        try:
            self.enter(values, make())
        except BaseException:
            self.failed = True

    def enter(self, values: tuple[Any, ...], made: CachedProgram) -> CachedProgram:
        """A program for a graph with these constants; from any thread."""
        self.met, self.times = {}, 0
        if made.lifted:
            self.generic = made, _others(values, made)
        else:
            self.exact[values] = made
        return made


def _others(values: tuple[Any, ...], program: CachedProgram) -> tuple[Any, ...]:
    """The values that are not arguments of a program."""
    arguments = set(program.lifted)
    return tuple([v for i, v in enumerate(values) if i not in arguments])


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
        """Drop all programs that no jitted function holds."""
        with self._lock:
            self._families.clear()
            self._weight = 0

    def known(self, key: GraphKey) -> CachedProgram | None:
        """The program of the graph if there is one already."""
        family = self._family(structure_of(key))
        found = family.exact.get(key.values)
        if found is not None or not family.inside:
            return found or family.find(key.values)
        for structure in (_with_zeros(family, key), _with_starts(family, key)):
            other = self._families.get(structure)
            found = found or (None if other is None else other.find(key.values))
        return found

    def find(self, key: GraphKey, roots: Sequence[UOp]) -> CachedProgram:
        """The program of the graph, made if need be."""
        family = self._family(structure_of(key))
        found = family.exact.get(key.values)
        if found is not None:
            return found
        if family.inside is None:
            family.inside = slices_inside(key.constants, roots)
        if family.inside:
            family = self._of_products(family, key, roots)
        LATER.settle(structure_of(key))
        with family.lock:
            found = family.find(key.values)
            if found is None:
                found = family.enter(key.values, make(key, roots, family.lifted(key)))
            return found

    def _of_products(self, family: _Family, key: GraphKey, roots: Sequence[UOp]) -> _Family:
        """Where the program of a graph with products and slices is stored: beside those of other
        starts, if its products are added in the same order with the slices as arguments; else
        apart.
        """
        around = self._family(_with_zeros(family, key))
        slices = [i for i in around.lifted(key) if key.constants[i].src]
        if not slices or around.find(key.values) is not None:
            return around
        if not around.apart and _decider()(key, roots, slices, load_backend(key.backend)):
            return around
        around.apart = True
        return self._family(_with_starts(family, key))

    # ---- graphs that are computed without a program until they have come often

    def met(self, key: GraphKey) -> dict[tuple[Any, ...], Any]:
        """How graphs of this structure are computed without a program, by their constants."""
        return self._family(structure_of(key)).met

    def times(self, key: GraphKey, more: int) -> int:
        """How often a graph of this structure has come without being compiled, `more` included."""
        family = self._family(structure_of(key))
        family.times += more
        return family.times

    def load(self, key: GraphKey, roots: Sequence[UOp]) -> bool:
        """Whether the program of a graph without products is on disk; it is known from then on."""
        family, backend = self._family(structure_of(key)), load_backend(key.backend)
        lifted = family.lifted(key)
        name = _store()[0].name_of(key.structure, key.values, lifted, backend)
        kept = None if name is None else _read(name, _store()[0].sites_of(roots), backend, lifted)
        if kept is not None:
            family.inside = ()
            family.enter(key.values, kept)
        return kept is not None

    def find_later(self, key: GraphKey, roots: Sequence[UOp]) -> bool:
        """Have another thread make the program of a graph without products; False if that went
        wrong before: the error is this thread's to see."""
        family = self._family(structure_of(key))
        if not family.failed and LATER.has_room_for(structure_of(key)):
            family.inside = ()
            compiled, values = _begun(key, roots, family.lifted(key)), key.values
            LATER.ask(structure_of(key), lambda: family.entered(values, compiled))
        return not family.failed

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


def structure_of(key: GraphKey) -> tuple[Any, ...]:
    """What a graph computes, and by which products: it may be requested for either."""
    return (*key.structure, *changed) if (changed := settings()) else key.structure


def _with_zeros(family: _Family, key: GraphKey) -> tuple[Any, ...]:
    """The structure of a graph, and which slices have a start of 0: a library may read these in
    place.
    """
    starts = [key.values[i] for i in family.inside or ()]
    zeros = tuple([tuple([begin == 0 for begin in start]) for start in starts])
    return (*structure_of(key), "zeros", zeros)


def _with_starts(family: _Family, key: GraphKey) -> tuple[Any, ...]:
    """The structure of a graph with slices inside: where they begin is a part of it."""
    return (*structure_of(key), tuple([key.values[i] for i in family.inside or ()]))


@cache
def _store() -> Any:
    """Programs on disk, and how to finish one: loaded when the first program is needed."""

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
def simplifier() -> Any:
    """The pass of rules about nodes, without the others."""

    def load() -> Any:
        from adjoint.schedule import simplify

        return simplify.simplified

    return undisturbed(load)


@cache
def _decider() -> Any:
    """What decides whether slices may be arguments where there are products."""

    def load() -> Any:
        from adjoint.engine import slice_orders

        return slice_orders.adds_alike

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
    """The backend of a target, or of one of several devices, loaded when something is compiled for
    it."""
    folder, _, number = name.partition(":")
    module = undisturbed(partial(import_module, f"adjoint.backends.{folder}"))
    found: Backend = module.numbered(int(number)) if number else module.BACKEND
    return found


def make(key: GraphKey, roots: Sequence[UOp], lifted: tuple[int, ...]) -> CachedProgram:
    """A program for the graph, with these constants as arguments: from the disk, or compiled."""
    bindings_of(roots)  # one value for each variable
    with collector_paused():
        backend = load_backend(key.backend)
        name = _store()[0].name_of(key.structure, key.values, lifted, backend)
        kept = None if name is None else _read(name, _store()[0].sites_of(roots), backend, lifted)
        return kept or _compiled(name, _closed(key, roots, lifted), backend)


def _begun(
    key: GraphKey, roots: Sequence[UOp], lifted: tuple[int, ...]
) -> Callable[[], CachedProgram]:
    """The remaining work on a program, for another thread; it holds no object of the user."""
    backend, wanted = load_backend(key.backend), _closed(key, roots, lifted)
    name = _store()[0].name_of(key.structure, key.values, lifted, backend)

    def compiled() -> CachedProgram:
        unforked(_compiler)
        with counters.muted():
            kept = None if name is None else _read(name, wanted.sites, backend, lifted)
            return kept or _compiled(name, wanted, backend)

    return compiled


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Closed:
    """A graph over parameters alone, and where its nodes come from."""

    nodes: list[UOp]
    parameters: list[UOp]
    wanted: int
    lifted: tuple[int, ...]
    sites: list[Any]


def _closed(key: GraphKey, roots: Sequence[UOp], lifted: tuple[int, ...]) -> _Closed:
    if config.VERIFY.value():
        verify(tuple(roots))
    nodes, parameters = close_over_parameters(roots, key.leaves, [key.constants[i] for i in lifted])
    return _Closed(nodes, parameters, key.wanted, lifted, _store()[0].sites_of(roots))


def _read(
    name: str, sites: list[Any], backend: Backend, lifted: tuple[int, ...]
) -> CachedProgram | None:
    """The program of that name from the disk."""
    stored, finish = _store()
    kept = stored.read(name, sites)
    if kept is None:
        return None
    with span("load", "compile"):
        return CachedProgram(
            finish.finished(kept.schedule, kept.sources, backend), lifted, kept.picks
        )


def _compiled(name: str | None, graph: _Closed, backend: Backend) -> CachedProgram:
    backend.prepare()
    nodes, parameters = graph.nodes, graph.parameters
    chosen = _kept(nodes, parameters, graph.wanted, backend) if graph.wanted else nodes
    picks, outputs = _picks(chosen, parameters)
    with span("build", "compile"):
        unit = _compiler().build(outputs, parameters, backend)
    if name is not None:
        stored = _store()[0]
        stored.write(name, stored.StoredProgram(unit.main, dict(unit.sources), picks), graph.sites)
    return CachedProgram(unit.program, graph.lifted, picks)


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
