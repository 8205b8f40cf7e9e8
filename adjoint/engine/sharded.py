"""Runs a graph on a mesh: one program for all members, each with its own parts.

In: a graph whose nodes are on a mesh. Out: the values of the roots, in parts. Members in this
process are threads if they communicate; otherwise they run one after another. What may live here:
finding the local program, passing it parts, running members. What may not: the local graph
(`sharding/`), or what carries bytes (`runtime/comm/`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from contextvars import copy_context
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from adjoint.engine.graph_key import GraphKey, backend_name, graph_key
from adjoint.engine.interpreter import run_function
from adjoint.engine.pipelined import PipelinedProgram, pipelined_program
from adjoint.engine.program_cache import PROGRAMS, CachedProgram
from adjoint.ir.dtype import dtypes
from adjoint.ir.effect import effects_muted
from adjoint.ir.expand import expand
from adjoint.ir.function import Function, UniqueName, functions_in
from adjoint.ir.kernel_kind import PARAMETER
from adjoint.ir.member import Member, running_as
from adjoint.ir.mesh import Mesh, Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, substitute, toposort
from adjoint.ir.values import is_known, storage
from adjoint.ops import collective
from adjoint.ops.collective import collective_line
from adjoint.runtime.buffer import Buffer, constant, row_major
from adjoint.runtime.comm import local, world
from adjoint.runtime.device import Device
from adjoint.runtime.sharded_buffer import ShardedBuffer, laid_out, own_members, spread_out
from adjoint.sharding.cost import total_bytes
from adjoint.sharding.order import current_order, order_of_products
from adjoint.sharding.partition import Partition, kept_whole
from adjoint.sharding.propagate import leaf_sharding

_MOST_KEPT = 256
Bound = tuple[GraphKey, CachedProgram]
COLLECTIVES = collective.COLLECTIVES


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LocalGraph:
    """The graph of every member: parameters for leaves and for its coordinates, and the results."""

    mesh: Mesh
    parameters: tuple[UOp, ...]  # of the leaves, then of the places
    leaves: tuple[Sharding, ...]
    places: tuple[Any, ...]  # attributes of AXIS_INDEX
    roots: tuple[UOp, ...]
    layouts: tuple[Sharding, ...]  # of the roots
    shapes: tuple[Any, ...]  # of the roots, as wholes

    @property
    def collectives(self) -> list[UOp]:
        """The collectives, in the order in which they are met."""
        return [node for node, _ in _collectives(self.roots, 1)]

    @property
    def bytes_sent(self) -> int:
        """The bytes that each member sends in one run."""
        return total_bytes(_collectives(self.roots, 1))


def _collectives(roots: Sequence[UOp], times: int) -> Iterator[tuple[UOp, int]]:
    """The collectives of a graph, those inside loops too, and how often each is met."""
    for node in toposort(roots):
        if node.op in COLLECTIVES:
            yield node, times
        for function in functions_in(node):
            yield from _collectives(function.outputs, times * getattr(node.arg, "length", 1))


def local_graph(roots: Sequence[UOp], leaves: Sequence[UOp], mesh: Mesh, order: str) -> LocalGraph:
    """The graph that a member runs for the roots, given its parts of the leaves."""
    make = OPS["input"].call
    expanded = expand(roots, kept_whole)
    layouts = [leaf_sharding(leaf, mesh) for leaf in leaves]
    parameters = [
        make(UniqueName(f"part{i}"), layout.local(leaf.shape), leaf.dtype)
        for i, (leaf, layout) in enumerate(zip(leaves, layouts, strict=True))
    ]
    partition = Partition(mesh, order, dict(zip(leaves, parameters, strict=True)))
    partition.add(expanded)
    whole = Sharding(mesh)
    asked = [
        partition.layouts[node].resolved() if isinstance(root.device, Sharding) else whole
        for root, node in zip(roots, expanded, strict=True)
    ]
    found = [partition.wanted(node, layout) for node, layout in zip(expanded, asked, strict=True)]
    indices = [node for node in toposort(found) if node.op is collective.axis_index]
    places = [make(UniqueName(f"place{i}"), (), dtypes.int64) for i in range(len(indices))]
    closed = substitute(found, dict(zip(indices, places, strict=True)))
    return LocalGraph(
        mesh,
        (*parameters, *places),
        tuple(layouts),
        tuple(node.arg for node in indices),
        tuple(closed),
        tuple(asked),
        tuple((root.shape, root.dtype) for root in roots),
    )


def collective_lines(roots: Sequence[UOp]) -> list[str]:
    """What members must say to one another for values on a mesh, a line for each collective."""
    mesh = next((r.device.mesh for r in roots if isinstance(r.device, Sharding)), None)
    if mesh is None or mesh.stages:
        return []
    own = [r for r in roots if isinstance(r.device, Sharding) and r.device.mesh == mesh]

    def given(n: UOp) -> bool:
        elsewhere = isinstance(n.device, Sharding) and n.device.mesh != mesh
        return is_known(n) or n.op.kernel is PARAMETER or elsewhere

    leaves = [n for n in toposort(own, stop=given) if given(n)]
    graph = local_graph(own, leaves, mesh, current_order())
    often = lambda times: f", {times} times" if times > 1 else ""  # noqa: E731
    return [f"{collective_line(n)}{often(times)}" for n, times in _collectives(graph.roots, 1)]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ShardedProgram:
    """A local graph with a way to run it; `places` are the devices of the roots."""

    graph: LocalGraph
    places: tuple[Any, ...]
    bound: dict[str, Bound | None]  # by backend: each GPU has one of its own
    speaks: bool
    order: str

    def run(self, buffers: Sequence[Buffer]) -> list[Buffer]:
        """The values of the roots from those of the leaves."""
        graph, mesh = self.graph, self.graph.mesh
        parts = [spread_out(b, s) for b, s in zip(buffers, graph.leaves, strict=True)]
        members = own_members(mesh)
        given = {m: [p[m] for p in parts] + self._coordinates(m) for m in members}
        found = self._run_members(members, given)
        return [self._whole(i, {m: found[m][i] for m in members}) for i in range(len(graph.roots))]

    def _coordinates(self, member: int) -> list[Buffer]:
        mesh = self.graph.mesh
        device = mesh.devices[member]
        return [
            constant(np.array(mesh.place(member, p.axes), np.int64), device)
            for p in self.graph.places
        ]

    def _run_members(
        self, members: tuple[int, ...], given: dict[int, list[Buffer]]
    ) -> dict[int, list[Buffer]]:
        if not self.speaks:
            return {m: self._run_one(m, given[m], None) for m in members}
        if len(members) == 1:
            return {members[0]: self._run_one(members[0], given[members[0]], world.member())}
        contexts = [copy_context() for _ in members]

        def one(here: Any) -> list[Buffer]:
            return contexts[here.rank].run(self._run_one, here.rank, given[here.rank], here)

        return dict(enumerate(local.run(len(members), one)))

    def _run_one(self, member: int, given: list[Buffer], communicator: Any) -> list[Buffer]:
        mesh = self.graph.mesh
        devices = [mesh.devices[member]] * len(self.graph.roots)
        quiet = nullcontext() if member == 0 else effects_muted()
        with running_as(Member(mesh, member, communicator)), quiet:
            found = self.program_for(mesh.devices[member])
            if found is None:
                return self._interpreted(given, devices)
            key, program = found
            known = [storage(leaf) for leaf in key.leaves[len(given) :]]
            return program.run(key, [*given, *known], devices)

    def program_for(self, device: str) -> Bound | None:
        """What runs on a device; None: the interpreter."""
        backend = backend_name(device)
        if not backend:
            return None
        if backend not in self.bound:
            self.bound[backend] = _program(self.graph, backend, self.order)
        return self.bound[backend]

    def _interpreted(self, given: list[Buffer], devices: list[str]) -> list[Buffer]:
        function = Function(self.graph.parameters, self.graph.roots)
        arrays = row_major(run_function(function, [b.array() for b in given]))
        return [Buffer(a, d) for a, d in zip(arrays, devices, strict=True)]

    def _whole(self, number: int, parts: dict[int, Buffer]) -> Buffer:
        device, layout = self.places[number], self.graph.layouts[number]
        shape, dtype = self.graph.shapes[number]
        if isinstance(device, Sharding):
            return ShardedBuffer(parts, layout, tuple(map(int, shape)), dtype)
        first = parts[min(parts)]
        return first if first.device == device else Buffer(first.array(), device)


MeshProgram = ShardedProgram | PipelinedProgram


def sharded_program(
    roots: Sequence[UOp], leaves: Sequence[UOp], mesh: Mesh, order: str = ""
) -> MeshProgram:
    """The program of a graph on a mesh."""
    order = order or current_order()
    if mesh.stages:
        return pipelined_program(roots, leaves, mesh, order)
    graph = local_graph(roots, leaves, mesh, order)
    default = Device.DEFAULT
    places = tuple(root.device or default for root in roots)
    made = ShardedProgram(graph, places, {}, bool(graph.collectives), order)
    for member in own_members(mesh):
        made.program_for(mesh.devices[member])
    return made


def _program(graph: LocalGraph, backend: str, order: str) -> Bound | None:
    """The program of a member whose device the backend serves; None: the interpreter's."""
    key = graph_key(graph.roots, graph.parameters, backend)
    if key is None:
        return None
    with order_of_products(order):
        return key, PROGRAMS.find(key, graph.roots)


class _Kept:
    """Programs by the graphs that they compute."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: OrderedDict[Any, MeshProgram] = OrderedDict()

    def program(self, key: GraphKey, roots: Sequence[UOp], mesh: Mesh) -> MeshProgram:
        """The program of a graph, made if need be."""
        order = current_order()
        layouts = tuple(leaf_sharding(leaf, mesh) for leaf in key.leaves)
        places = tuple(root.device for root in roots)
        name = (key.structure, key.values, layouts, places, mesh, order)
        with self._lock:
            found = self._found.get(name)
        if found is None:
            found = sharded_program(roots, key.leaves, mesh, order)
            with self._lock:
                self._found[name] = found
                while len(self._found) > _MOST_KEPT:
                    self._found.popitem(last=False)
        return found


KEPT = _Kept()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OverMesh:
    """A graph on a mesh above leaves that every run gives; what else has a value is held."""

    program: MeshProgram
    known: tuple[Buffer, ...]

    def run(self, buffers: Sequence[Buffer]) -> list[Buffer]:
        """The outputs for these inputs."""
        return self.program.run([*buffers, *self.known])


def local_function(roots: Sequence[UOp], leaves: Sequence[UOp], mesh: Mesh) -> Function:
    """The graph that a member runs, over its inputs."""
    graph = local_graph(roots, leaves, mesh, current_order())
    return Function(graph.parameters, graph.roots)


def pipeline_of(roots: Sequence[UOp], leaves: Sequence[UOp], mesh: Mesh) -> PipelinedProgram | None:
    """The program of a traced graph on a mesh with stages."""
    made = over_mesh(roots, leaves, mesh).program if mesh.stages else None
    return made if isinstance(made, PipelinedProgram) else None


def over_mesh(roots: Sequence[UOp], leaves: Sequence[UOp], mesh: Mesh) -> OverMesh:
    """The program of a traced graph."""
    given = set(leaves)
    stops = lambda n: n in given or is_known(n)  # noqa: E731
    known = [n for n in toposort(roots, stop=stops) if is_known(n) and n not in given]
    program = sharded_program(roots, [*leaves, *known], mesh)
    return OverMesh(program, tuple(map(storage, known)))


def run_sharded(todo: Sequence[UOp], key: GraphKey) -> list[Any]:
    """The values of the roots of a graph on a mesh; None for those that need not be kept."""
    roots = list(todo[: len(todo) - key.wanted] if key.wanted else todo)
    if key.wanted:
        again = graph_key(roots, slices=False)
        assert again is not None
        key = again
    mesh = key.mesh
    assert mesh is not None
    program = KEPT.program(key, roots, mesh)
    found: list[Any] = program.run([storage(leaf) for leaf in key.leaves])
    return found + [None] * (len(todo) - len(found))


__all__ = ["KEPT", "ShardedProgram", "laid_out", "local_graph", "run_sharded", "sharded_program"]
