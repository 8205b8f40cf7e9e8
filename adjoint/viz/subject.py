"""The subject of a page: a graph with names for its inputs and results, and how to compile it.

What may live here: making subjects of functions, tensors, traces and Core modules. What may not:
the contents of a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adjoint.engine.graph_key import (
    backend_name,
    close_over_parameters,
    common_backend,
    crosses,
    graph_key,
)
from adjoint.engine.realize import local_function
from adjoint.errors import DeviceError
from adjoint.ir.function import Function
from adjoint.ir.mesh import Mesh, Sharding
from adjoint.ir.origin import Site
from adjoint.ir.uop import UOp, toposort
from adjoint.ir.values import is_known, mesh_among, storage
from adjoint.module import Module as CoreModule
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.device import Device
from adjoint.tensor import Tensor
from adjoint.transforms.call import name_of, positional_names
from adjoint.transforms.jit.bindings import Argument, Draw, GradientOf, Held, Read
from adjoint.transforms.jit.call import Compiled
from adjoint.transforms.jit.jitted import Jitted, jit
from adjoint.transforms.lower import Lowered
from adjoint.transforms.paths import keystr, tree_flatten_with_path
from adjoint.transforms.trace import Trace
from adjoint.viz.mesh_layouts import Shown, layouts_of, leaf_layouts
from adjoint.viz.module_scopes import Scopes, looking


@dataclass(slots=True, eq=False, repr=False)
class Subject:
    """A graph: `roots` over `ends`, which have names; closed as a function where that is known."""

    name: str
    what: str
    roots: tuple[UOp, ...]
    ends: dict[UOp, str]
    results: list[str]  # what each root is
    function: Function | None = None
    backend: str | None = None  # None: nothing compiles it
    buffers: Callable[[], list[Buffer]] | None = None  # the values that a run would read
    member_of: Mesh | None = None  # the mesh whose members run the function, where there is one
    layouts: Shown = field(default_factory=dict)  # of nodes on it
    elsewhere: bool = False  # compiled for another device than the one it is on
    modules: list[list[str]] = field(default_factory=list)
    places: dict[Site, int] = field(default_factory=dict)


def of_function(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Subject:
    """A function for these arguments; it is traced, and its effects do not happen."""
    jitted = fn if isinstance(fn, Jitted) else jit(fn)
    with looking() as scopes:
        found = jitted.recording(*args, **kwargs)
    mesh = mesh_among((*found.roots, *found.given))
    names = _Names(argument_names(jitted.__wrapped__, args, kwargs), scopes.tensor_names())
    subject = Subject(
        name_of(fn),
        "jitted function" if fn is jitted else "function",
        found.roots,
        {node: names.source(where) for node, where in found.given.items()},
        names.results(len(found.roots), found.effects),
        found.function,
        common_backend(toposort(found.roots)),
        found.buffers,
    )
    if mesh is not None:
        _lay_out(subject, leaf_layouts(list(found.given), mesh), mesh)
    return with_modules(subject, scopes)


def _lay_out(subject: Subject, leaves: dict[UOp, Sharding], mesh: Mesh) -> None:
    """On a mesh: the program of one member, and the sharding of every value. For a graph on several
    meshes there is no such program.
    """
    subject.backend, subject.buffers, subject.member_of = None, None, mesh
    subject.layouts, subject.function = layouts_of(subject.roots, leaves, mesh), None
    if not any(map(crosses, toposort(subject.roots, stop=leaves.__contains__))):
        subject.function, subject.backend = local_function(subject.roots, list(leaves), mesh), ""


def of_trace(compiled: Compiled, scopes: Scopes | None = None) -> Subject:
    """A trace that a jitted function has kept."""
    function = compiled.runner.function
    names = _Names([], {} if scopes is None else scopes.tensor_names())
    sources = zip(function.inputs, compiled.inputs.sources, strict=True)
    program = compiled.runner.program
    subject = Subject(
        compiled.name,
        "jitted function",
        function.outputs,
        {node: names.source(where) for node, where in sources},
        names.results(len(function.outputs), compiled.effects),
        function,
        None if program is None else _name_of(program.backend),
    )
    if compiled.runner.sides is not None:
        _lay_out_trace(subject, compiled.runner.sides)
    return with_modules(subject, scopes)


def _lay_out_trace(subject: Subject, sides: Any) -> None:
    """The same for a trace on a mesh, whose nodes have no device any more."""
    graph = getattr(getattr(sides, "program", None), "graph", None)
    if graph is not None and subject.function is not None:
        leaves = dict(zip(subject.function.inputs, graph.leaves, strict=False))
        subject.layouts = layouts_of(subject.roots, leaves, graph.mesh)
        subject.function = Function(graph.parameters, graph.roots)
        subject.backend, subject.member_of = "", graph.mesh


def _name_of(backend: Any) -> str:
    return str(backend.target.name.lower())


def of_tensor(*tensors: Tensor) -> Subject:
    """Tensors that may not be computed yet: the graph below them, down to known values."""
    return of_nodes([t.uop for t in tensors], "tensor", "lazy tensor")


def of_nodes(nodes: Sequence[UOp], name: str, what: str) -> Subject:
    """The graph of nodes, down to values that are known; closed if one backend has all of it."""
    roots = tuple(dict.fromkeys(nodes))
    order = toposort(roots, stop=is_known)
    ends = {node: "value" for node in order if is_known(node)}
    todo = [root for root in roots if not is_known(root)]
    key = graph_key(todo) if todo else None
    made = Subject(name, what, roots, ends, ["result"] * len(roots))
    if key is not None:
        closed, parameters = close_over_parameters(todo, key.leaves)
        made.function = Function(tuple(parameters), tuple(closed))
        made.backend = key.backend
        made.buffers = lambda: [storage(leaf) for leaf in key.leaves]
        if key.mesh is not None:
            _lay_out(made, leaf_layouts(key.leaves, key.mesh), key.mesh)
    return made


def of_traced(trace: Trace) -> Subject:
    """A trace of `adjoint.trace`."""
    ends = dict(zip(trace.input_nodes, trace.labels, strict=True))
    function = Function(trace.input_nodes, trace.output_nodes)
    backend = common_backend(toposort(trace.output_nodes))
    results = ["result"] * len(trace.output_nodes)
    return Subject(
        trace.name, "trace", trace.output_nodes, ends, results, _closed(function), backend
    )


def of_lowered(lowered: Lowered) -> Subject:
    """What `lower` has made a program of."""
    function = lowered.function
    names = {node: f"input {i}" for i, node in enumerate(function.inputs)}
    results = ["result"] * len(function.outputs)
    backend = _name_of(lowered.backend)
    return Subject(
        lowered.name, "lowered function", function.outputs, names, results, function, backend,
        lowered.buffers,
    )  # fmt: skip


def of_module(module: CoreModule, name: str) -> Subject:
    """A Core module, on inputs of the types it declares."""
    kinds = [ins.type for ins in module.inputs]
    given = [Tensor.zeros(*kind.shape, dtype=kind.dtype) for kind in kinds]
    names = [str(ins.attrs[0]) for ins in module.inputs]

    def called(*inputs: Tensor) -> Any:
        return module(*inputs)

    subject = of_function(called, given, {})
    labels = dict(zip((f"inputs[{i}]" for i in range(len(names))), names, strict=True))
    subject.ends = {node: labels.get(label, label) for node, label in subject.ends.items()}
    subject.name, subject.what = name, "Core module"
    return subject


def _closed(function: Function) -> Function:
    """The function without devices: what a program is made of."""
    roots, parameters = close_over_parameters(function.outputs, function.inputs)
    return Function(tuple(parameters), tuple(roots))


def for_device(subject: Subject, device: str | None) -> Subject:
    """The same, compiled for another device; it is not run there."""
    if device is None or subject.backend is None:
        return subject
    name = backend_name(Device.canonicalize(device))
    if not name:
        problem = f"no program is made for {device}"
        raise DeviceError("E6002", problem, op="view", help="CPU, GPU or C")
    if name != (subject.backend or backend_name(Device.DEFAULT)):
        subject.backend, subject.buffers, subject.elsewhere = name, None, True
    return subject


def with_modules(subject: Subject, scopes: Scopes | None) -> Subject:
    """The subject, with the layers that were called while it was traced."""
    if scopes is not None:
        subject.modules, subject.places = scopes.numbered()
    return subject


# ---- names


def argument_names(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[str]:
    """A name for every leaf of the arguments, in the order of `jit`."""
    named = positional_names(fn)[: len(args)]
    named += [f"inputs[{i}]" for i in range(len(named), len(args))]
    pairs: Iterable[tuple[str, Any]] = [*zip(named, args, strict=True), *sorted(kwargs.items())]
    found = []
    for name, value in pairs:
        paths, _ = tree_flatten_with_path(value)
        found += [f"{name}{keystr(path)}" for path, _ in paths]
    return found


class _Names:
    """Names of the inputs and results of a trace."""

    def __init__(self, arguments: Sequence[str], tensors: Mapping[int, str]):
        self.arguments, self.tensors = arguments, tensors

    def source(self, where: Any) -> str:
        """Of an input."""
        if isinstance(where, Read):
            return self.place(where.where)
        return "random key" if isinstance(where, Draw) else "constant"

    def place(self, where: Any) -> str:
        """Of the place of a tensor."""
        match where:
            case Argument():
                known = where.position < len(self.arguments)
                return self.arguments[where.position] if known else f"argument {where.position}"
            case GradientOf():
                return f"{self.place(where.owner)}.grad"
            case Held():
                name = self.tensors.get(id(where.tensor(())))
                return name or f"{where.place.owner}: {where.place.keys[where.position]}"
            case _:
                return self.tensors.get(id(where.tensor(())), "tensor")

    def results(self, count: int, effects: Sequence[Any]) -> list[str]:
        """Of every root."""
        found = ["result"] * count
        for effect in effects:
            if effect.output is not None and effect.output < count:
                found[effect.output] = self._effect(effect)
        return found

    def _effect(self, effect: Any) -> str:
        if not hasattr(effect, "where"):
            return f"{effect.place.owner}: {effect.place.keys[effect.position]}"
        gradient = ".grad" if hasattr(effect, "flag") else ""
        return f"new {self.place(effect.where)}{gradient}"
