"""Programs by what they compute: the same graph on other buffers is a look-up.

The key of a graph says what it computes, with its buffers and numbers left out: two graphs that
differ only in their buffers have one key, and so one program. Constants are kept beside the key: a
constant is part of a program until it has had several values; then the program takes it as an
argument, so that a changing learning rate costs no compile. The least recently used programs are
given up. What may live here: keys, and finding and keeping programs. What may not: running them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint import config
from adjoint.engine.interpreter import check_device, run_function
from adjoint.ir import sizes
from adjoint.ir.effect import Effect
from adjoint.ir.function import Function, UniqueName
from adjoint.ir.kernel_kind import Identity
from adjoint.ir.opdef import OPS
from adjoint.ir.spec import verify
from adjoint.ir.uop import UOp, rebuild, toposort
from adjoint.ir.values import bindings_of
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.device import Device
from adjoint.runtime.interrupt import undisturbed
from adjoint.runtime.reference import evaluate
from adjoint.runtime.spans import span
from adjoint.target import DEFAULT_BACKEND, targets_of

if TYPE_CHECKING:
    from adjoint.backends.protocol import Backend
    from adjoint.engine.program import Program

_UNIQUE, _BUFFER, _CONST, _INPUT = (
    OPS[name] for name in ("unique_identity", "buffer", "const", "input")
)
_COPY, _RESHAPE = OPS["copy"], OPS["reshape"]
_backends: dict[Any, str | None] = {None: ""}  # by device, filled as devices are seen


@dataclass(slots=True, eq=False, repr=False)
class GraphKey:
    """`structure` is hashable and says all but the buffers (`leaves`) and the `constants`."""

    structure: tuple[Any, ...]
    leaves: list[UOp]
    constants: list[UOp]
    values: tuple[Any, ...]  # of the constants
    backend: str  # the name of the backend that all nodes are on


def backend_name(device: Any) -> str | None:
    """The backend that compiles for a device, "" where any would do; None: the interpreter's."""
    found = _backends.get(device, "?")
    if found == "?":
        names = {target.backend for target in targets_of(device)}
        found = _backends[device] = names.pop() if len(names) == 1 else None
    return found


def common_backend(nodes: Iterable[UOp]) -> str | None:
    """The backend that has all nodes, "" where any would do; None if there is no such one."""
    names = {backend_name(node.device) for node in nodes} - {""}
    if len(names) > 1 or any(map(crosses, nodes)):
        return None
    return names.pop() if names else ""


def crosses(node: UOp) -> bool:
    """Whether a node is a copy from one memory to another, not just to another name of the same."""
    if node.op is not _COPY:
        return False
    source, target = node.src[0].device, node.device
    if source is None or target is None or source == target:
        return False
    return _memory(source) != _memory(target)


@lru_cache(maxsize=256)
def _memory(device: Any) -> str:
    first = targets_of(device)[0]
    return "host" if first.host_memory else first.name


def graph_key(
    roots: Sequence[UOp], parameters: Sequence[UOp] = (), backend: str = ""
) -> GraphKey | None:
    """One walk, sources first; None if the nodes on the way are not all on one backend.

    A node with a value is a leaf, whatever it was made of. `parameters` are INPUT nodes that count
    as leaves, in front of the others. Every graph that is computed passes here, at well below a
    microsecond a node: the loop calls a function only where something is unusual.
    """
    numbers = _numbered(roots, parameters)
    leaves: list[UOp] = [*parameters]
    constants: list[UOp] = []
    devices: set[Any] = set()
    items: list[Any] = []
    for node in parameters:
        items += (_INPUT, sizes.shape_key(node.shape), node.dtype.name)
    for node in islice(numbers, len(leaves), None) if leaves else numbers:
        op, src = node.op, node.src
        if node.realized is not None or op is _BUFFER:
            shape = sizes.shape_key(node.shape) if sizes.living else node.shape
            items += (_BUFFER, shape, node.dtype.name)
            leaves.append(node)
        elif src:
            if op is _UNIQUE:
                continue
            if op is _COPY and crosses(node):  # between programs, never inside one
                return None
            items += (op, _plain(node.arg) if op.takes_functions else node.arg)
            if op.body is not None:  # of integers: the default float when it was made
                items.append(node.dtype)
            items += [numbers[s] for s in src]
            devices.add(node.device)
        else:
            if op is not _CONST:
                evaluate(node, [], run_function)  # spent or unbound: says so
            shape = sizes.shape_key(node.shape) if sizes.living else node.shape
            items += (op, shape, node.dtype.name)
            constants.append(node)
            devices.add(node.device)
    found = _backend_of(devices, backend)
    if found is None:
        _check_devices(numbers)
        return None
    items += [numbers[root] for root in roots]
    items.append(found)
    values = tuple([node.arg[0] for node in constants]) if constants else ()
    return GraphKey(tuple(items), leaves, constants, values, found)


def _numbered(roots: Sequence[UOp], parameters: Sequence[UOp]) -> dict[UOp, int]:
    """A number for every node down to the parameters and to those that have a value, sources first.
    An identity has that of its source: it only keeps equal values apart."""
    numbers = {node: number for number, node in enumerate(parameters)} if parameters else {}
    count, stack = len(numbers), list(roots)[::-1]
    while stack:
        node = stack[-1]
        if node not in numbers:
            if node.realized is None:
                pending = [s for s in node.src if s not in numbers]
                if pending:
                    pending.reverse()
                    stack += pending
                    continue
                if node.op is _UNIQUE:
                    numbers[node] = numbers[node.src[0]]
                    continue
            numbers[node] = count
            count += 1
        stack.pop()
    return numbers


def _backend_of(devices: set[Any], backend: str) -> str | None:
    """The backend of all these devices and of the one that is named, if any is."""
    for device in devices:
        name = backend_name(device)
        if name != backend and name != "":
            if name is None or backend:
                return None
            backend = name
    return backend or backend_name(Device.DEFAULT) or DEFAULT_BACKEND


def _check_devices(nodes: Iterable[UOp]) -> None:
    """A graph of several backends is no program; a device that cannot compute says so."""
    for node in nodes:
        if node.realized is None and node.op is not _BUFFER:
            check_device(node)


def _plain(arg: Any) -> tuple[Any, ...]:
    """Attributes with functions as keys of their own: what users wrote is compared by its body."""
    return tuple([_plain_value(value) for value in arg])


def _plain_value(value: Any) -> Any:
    if isinstance(value, Function):
        return _function_key(value)
    if isinstance(value, Effect):
        return value.key
    body = getattr(value, "body", None)
    return _function_key(body) if isinstance(body, Function) else value


@lru_cache(maxsize=1024)
def _function_key(function: Function) -> tuple[Any, ...]:
    key = graph_key(function.outputs, function.inputs)
    if key is None:  # it runs where the node does
        return function
    return (key.structure, key.values, *key.leaves[len(function.inputs) :])


def close_over_parameters(
    roots: Sequence[UOp], leaves: Sequence[UOp], lifted: Sequence[UOp] = ()
) -> tuple[list[UOp], list[UOp]]:
    """The graph with parameters instead of leaves and of the `lifted` constants, and those.

    Identities are gone: they only keep equal values apart. So are devices and what moves between
    them: a program runs in one place.
    """
    make = OPS["input"].call
    shapes = named_sizes(roots, leaves) if sizes.living else {}
    shape = lambda node: shapes.get(node, node.shape)  # noqa: E731
    parameters = [make(UniqueName(f"a{i}"), shape(n), n.dtype) for i, n in enumerate(leaves)]
    new: dict[UOp, UOp] = dict(zip(leaves, parameters, strict=True))
    for i, node in enumerate(lifted):
        scalar = make(UniqueName(f"c{i}"), (), node.dtype)
        parameters.append(scalar)
        new[node] = scalar.expand(node.shape) if node.shape else scalar
    _substitute(roots, new)
    return [new[root] for root in roots], parameters


def named_sizes(roots: Sequence[UOp], leaves: Sequence[UOp]) -> dict[UOp, tuple[int, ...]]:
    """Shapes of leaves that a reshape only says the variables of: x.reshape(n.bind(5), 4)."""
    given = set(leaves)
    found: dict[UOp, tuple[int, ...]] = {}
    for node in toposort(roots, stop=given.__contains__):
        if node.op is _RESHAPE and node.src[0] in given and node.shape == node.src[0].shape:
            found.setdefault(node.src[0], node.shape)
    return found


def _substitute(roots: Sequence[UOp], new: dict[UOp, UOp]) -> None:
    stack = list(roots)[::-1]
    while stack:
        node = stack[-1]
        if node in new:
            stack.pop()
            continue
        pending = [s for s in node.src if s not in new]
        if pending:
            stack += pending[::-1]
            continue
        new[node] = _replaced(node, tuple([new[s] for s in node.src]))
        stack.pop()


def _replaced(node: UOp, src: tuple[UOp, ...]) -> UOp:
    kernel = node.op.kernel
    if type(kernel) is Identity and kernel.places:
        return src[kernel.operand]
    if node.op is _CONST:
        arg = node.arg
        return _CONST.call(arg.value, arg.dtype, arg.shape) if arg.device is not None else node
    return node if src == node.src else rebuild(node, src)


# ---- programs

MAX_STRUCTURES = 1024
MAX_KEY_ENTRIES = 4_000_000  # of all structures together: a few per node
VALUES = 2  # sets of constants of one structure that get programs of their own


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CachedProgram:
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
        device = self.program.backend.target.name
        return tuple(_scalar(key.constants[i], device) for i in self.lifted)


def moved(buffer: Buffer, device: Any) -> Buffer:
    """A buffer as one of another device of this machine; a file's contents are read now."""
    if buffer.device == device:
        return buffer
    array = buffer.array()
    return Buffer(np.array(array) if isinstance(array, np.memmap) else array, device)


def _scalar(node: UOp, device: str) -> Buffer:
    with np.errstate(over="ignore"):  # beyond a narrow float's range: an infinity, as in a kernel
        return Buffer(np.array(node.arg.value, node.dtype.np), device)


@dataclass(slots=True, eq=False, repr=False)
class _Family:
    """All programs of one structure."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    exact: dict[tuple[Any, ...], CachedProgram] = field(default_factory=dict)
    generic: CachedProgram | None = None
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
                while len(self._families) > max(1, self.kept) or self._weight > MAX_KEY_ENTRIES:
                    self._weight -= len(self._families.popitem(last=False)[0])
            else:
                self._families.move_to_end(structure)
            return family

    def _made(self, family: _Family, key: GraphKey, roots: Sequence[UOp]) -> CachedProgram:
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


@cache
def _loaded(name: str) -> Any:
    """A module of the engine that is loaded when it is first needed."""
    return undisturbed(partial(import_module, f"adjoint.engine.{name}"))


@cache
def load_backend(name: str) -> Backend:
    """The backend of a target, loaded when something is compiled for it."""
    module = undisturbed(partial(import_module, f"adjoint.backends.{name}"))
    found: Backend = module.BACKEND
    return found


def make(key: GraphKey, roots: Sequence[UOp], lifted: tuple[int, ...]) -> CachedProgram:
    """A program for the graph, with these constants as arguments: from the disk, or compiled."""
    bindings_of(roots)  # one value for each variable
    backend, stored = load_backend(key.backend), _loaded("stored_programs")
    name = stored.name_of(key.structure, key.values, lifted, backend)
    kept = None if name is None else stored.read(name, roots)
    if kept is not None:
        with span("load", "compile"):
            program = _loaded("finish").finished(kept.schedule, kept.sources, backend)
        return CachedProgram(program, lifted, kept.picks)
    if config.VERIFY.value():
        verify(tuple(roots))
    nodes, parameters = close_over_parameters(roots, key.leaves, [key.constants[i] for i in lifted])
    picks, outputs = _picks(nodes, parameters)
    with span("build", "compile"):
        unit = _loaded("pipeline").build(outputs, parameters, backend)
    if name is not None:
        stored.write(name, stored.StoredProgram(unit.main, dict(unit.sources), picks), roots)
    return CachedProgram(unit.program, lifted, picks)


def _picks(nodes: Sequence[UOp], parameters: Sequence[UOp]) -> tuple[Any, list[UOp]]:
    """Where the value of each node will be, and the nodes that a program must compute."""
    places = {node: i for i, node in enumerate(parameters)}
    outputs = list(dict.fromkeys(node for node in nodes if node not in places))
    numbers = {node: i for i, node in enumerate(outputs)}
    return tuple((n in places, places[n] if n in places else numbers[n]) for n in nodes), outputs


PROGRAMS = Programs()
