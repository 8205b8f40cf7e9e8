"""The cache key of a graph: two graphs that differ only in their buffers have one key.

Constants, and the starts of slices of buffers, are stored beside the key, so that a program may
take them as arguments. A program has parameters where the graph has buffers
(`close_over_parameters`), and runs on one backend.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from adjoint.engine.interpreter import check_device, run_function
from adjoint.engine.memory_reads import is_slice
from adjoint.ir import sizes
from adjoint.ir.effect import Effect
from adjoint.ir.function import Function, UniqueName
from adjoint.ir.kernel_kind import Identity
from adjoint.ir.mesh import Mesh, Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, rebuild, toposort
from adjoint.runtime.device import Device
from adjoint.runtime.reference import evaluate
from adjoint.target import DEFAULT_BACKEND, device_names, targets_of

_UNIQUE, _BUFFER, _CONST, _INPUT = (
    OPS[name] for name in ("unique_identity", "buffer", "const", "input")
)
_COPY, _RESHAPE, _SHRINK, _SHARD = OPS["copy"], OPS["reshape"], OPS["shrink"], OPS["shard"]
_backends: dict[Any, str | None] = {None: ""}  # by device, filled as devices are seen


@dataclass(slots=True, eq=False, repr=False)
class GraphKey:
    """`structure` is hashable and says all but the buffers (`leaves`) and the `constants`."""

    structure: tuple[Any, ...]
    leaves: list[UOp]
    constants: list[UOp]  # and slices of leaves
    values: tuple[Any, ...]  # of the constants; where the slices begin
    backend: str  # the name of the backend that all nodes are on
    wanted: int = 0  # so many roots, the last ones, are values to keep if that changes nothing
    mesh: Mesh | None = None  # that nodes are on


def backend_name(device: Any) -> str | None:
    """The backend that compiles for a device, "" where any would do; None: the interpreter's."""
    found = _backends.get(device, "?")
    if found == "?":
        names = {_numbered_backend(name) for name in device_names(device)}
        found = _backends[device] = names.pop() if len(names) == 1 else None
    return found


def _numbered_backend(name: str) -> str | None:
    """The backend of one device; each GPU has one of its own."""
    (target,), (_, _, number) = targets_of(name), name.partition(":")
    return f"{target.backend}:{number}" if target.gpu and number else target.backend


def common_backend(nodes: Iterable[UOp]) -> str | None:
    """The backend that has all nodes, "" where any would do; None if there is no such one."""
    names = {backend_name(node.device) for node in nodes} - {""}
    if len(names) > 1 or any(map(crosses, nodes)):
        return None
    return names.pop() if names else ""


def crosses(node: UOp) -> bool:
    """Whether a node is a copy from one memory to another, not just to another name of the same."""
    if node.op is not _COPY and node.op is not _SHARD:
        return False
    source, target = node.src[0].device, node.device
    if source is None or target is None or source == target:
        return False
    if node.op is _SHARD:
        return isinstance(source, Sharding) and source.mesh != target.mesh
    return _memory(source) != _memory(target)


@lru_cache(maxsize=256)
def _memory(device: Any) -> str:
    first, name = targets_of(device)[0], device_names(device)[0]
    return "host" if first.host_memory else name if first.gpu else first.name


def graph_key(
    roots: Sequence[UOp],
    parameters: Sequence[UOp] = (),
    backend: str = "",
    slices: bool = False,
    wanted: int = 0,
) -> GraphKey | None:
    """One walk, sources first; None if the visited nodes are not all on one backend.

    A node with a value is a leaf, whatever it was computed from. `parameters` are INPUT nodes that
    count as leaves, in front of the others. With `slices`, the start of a slice of a value is
    beside the key, as a constant is. A program may leave out the last `wanted` roots. Every
    computed graph passes through here, at well below a microsecond a node: the loop calls a
    function only in unusual cases.
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
            if (op is _COPY or op is _SHARD) and crosses(
                node
            ):  # between programs, never inside one
                return None
            if slices and op is _SHRINK and is_slice(node):
                items += (op, node.shape, node.arg.step, numbers[src[0]])
                constants.append(node)
                devices.add(node.device)
                continue
            items += (op, _plain(node.arg) if op.takes_functions else node.arg)
            if op.body is not None:  # of integers: the default float when it was made
                items.append(node.dtype)
            if op.told_by is not None:
                items.append(op.told_by(node))
            items += [numbers[s] for s in src]
            devices.add(node.device)
        else:
            if op is not _CONST:
                evaluate(node, [], run_function)  # spent or unbound: says so
            shape = sizes.shape_key(node.shape) if sizes.living else node.shape
            items += (op, shape, node.dtype.name)
            constants.append(node)
            devices.add(node.device)
    found, mesh = _backend_of(devices, backend), _mesh_of(devices)
    if found is None and mesh is not None and len({backend_name(d) for d in devices} - {""}) == 1:
        found = ""  # the interpreter, for each member
    if found is None:
        _check_devices(numbers)
        return None
    items += [numbers[root] for root in roots]
    items += (found, wanted)
    values = tuple([node.arg[0] for node in constants]) if constants else ()
    return GraphKey(tuple(items), leaves, constants, values, found, wanted, mesh)


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


def _mesh_of(devices: set[Any]) -> Mesh | None:
    """The mesh of some of the devices; there is one at most."""
    return next((d.mesh for d in devices if type(d) is Sharding), None)


def _check_devices(nodes: Iterable[UOp]) -> None:
    """A graph of several backends is not one program; a device that cannot compute raises an
    error.
    """
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
    """The graph with parameters instead of leaves and of `lifted` constants and slices, and those.

    Identities are gone: they only keep equal values apart. So are devices and what moves between
    them: a program runs in one place.
    """
    make = OPS["input"].call
    shapes = named_sizes(roots, leaves) if sizes.living else {}
    shape = lambda node: shapes.get(node, node.shape)  # noqa: E731
    parameters = [make(UniqueName(f"a{i}"), shape(n), n.dtype) for i, n in enumerate(leaves)]
    new: dict[UOp, UOp] = dict(zip(leaves, parameters, strict=True))
    for i, node in enumerate(lifted):
        own = node.shape if node.src else ()  # a slice is given whole, a constant once
        given = make(UniqueName(f"c{i}"), own, node.dtype)
        parameters.append(given)
        new[node] = given if own == node.shape else given.expand(node.shape)
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
