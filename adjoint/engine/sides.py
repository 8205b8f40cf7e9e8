"""Graphs on several devices: where they are cut, and such a graph as a sequence of programs.

A side is everything that one backend, or the interpreter, computes.

Before: (x.to("C") * 2).to("CPU") + x.
After: a copy of x; a program of the one backend, * 2; a copy of that; a program of the other, + x.

What may live here: where a graph changes sides, and running its pieces. What may not: any piece.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import Any

from adjoint.engine.graph_key import GraphKey, backend_name, crosses, graph_key
from adjoint.engine.memory_reads import moved
from adjoint.engine.program_cache import PROGRAMS, CachedProgram
from adjoint.ir.function import UniqueName
from adjoint.ir.mesh import Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, substitute, toposort
from adjoint.ir.values import is_known, storage
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.device import Device
from adjoint.runtime.interrupt import undisturbed


def side_of(node: UOp) -> str | None:
    """The backend that computes a node; None for the interpreter."""
    return backend_name(node.device or Device.DEFAULT)


def borders(roots: Sequence[UOp], known: Callable[[UOp], bool] = is_known) -> list[UOp]:
    """Nodes whose users are on another side, and copies between memories, sources first."""
    found: dict[UOp, None] = {}
    order = [n for n in toposort(roots, stop=known) if not known(n)]
    for node in order:
        if crosses(node):
            found[node] = None
        for source in node.src:
            apart = source.device is not None and side_of(source) != side_of(node)
            if apart and not known(source):
                found[source] = None
    return [node for node in order if node in found]


# ---- a sequence of programs

Values = dict[UOp, Buffer]  # by the parameter that stands for the value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Move:
    """A copy from one memory to another."""

    source: UOp
    result: UOp
    device: Any

    def run(self, values: Values) -> None:
        """Add the result to the values."""
        values[self.result] = moved(values[self.source], self.device)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Piece:
    """The nodes that one backend computes at once."""

    key: GraphKey
    bound: CachedProgram
    results: tuple[UOp, ...]
    devices: tuple[Any, ...]

    def run(self, values: Values) -> None:
        """Add the results to the values."""
        given = [values[n] if n in values else storage(n) for n in self.key.leaves]
        values.update(zip(self.results, self.bound.run(self.key, given, self.devices), strict=True))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MeshPiece:
    """The nodes that the members of one mesh compute."""

    given: tuple[UOp, ...]
    program: Any  # `sharded.OverMesh`
    results: tuple[UOp, ...]

    def run(self, values: Values) -> None:
        """Add the results to the values."""
        found = self.program.run([values[n] for n in self.given])
        values.update(zip(self.results, found, strict=True))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sides:
    """Copies and pieces in the order in which they run."""

    inputs: tuple[UOp, ...]
    steps: tuple[Move | Piece | MeshPiece, ...]
    outputs: tuple[UOp, ...]

    def run(self, buffers: Sequence[Buffer]) -> list[Buffer]:
        """The outputs for these inputs."""
        values = dict(zip(self.inputs, buffers, strict=True))
        for step in self.steps:
            step.run(values)
        return [values[node] for node in self.outputs]


def divided(roots: Sequence[UOp], leaves: Sequence[UOp]) -> Sides | None:
    """The graph above the leaves, which every run gives; None if a part of it is on no backend."""
    new: dict[UOp, UOp] = {}
    for leaf in leaves:
        new[leaf] = _parameter(leaf)
    inputs, steps = tuple(new.values()), list[Move | Piece | MeshPiece]()
    for group in _groups(roots, new):
        step = _step(group, new)
        if step is None:
            return None
        steps.append(step)
    return Sides(inputs, tuple(steps), tuple(new[root] for root in roots))


def _parameter(node: UOp) -> UOp:
    made: UOp = OPS["input"].call(UniqueName("side"), node.shape, node.dtype, node.device)
    return made


def _groups(roots: Sequence[UOp], given: Mapping[UOp, UOp]) -> list[list[UOp]]:
    """The nodes that are computed together: every border by itself, then the roots of each side."""
    leaves = set(given)
    cut = borders(roots, lambda n: n in leaves or is_known(n))
    ends: dict[str | None, list[UOp]] = {}
    for root in dict.fromkeys(roots):
        if root not in leaves and root not in set(cut):
            ends.setdefault(side_of(root), []).append(root)
    return [*([node] for node in cut), *ends.values()]


@cache
def _sharded() -> Any:
    return undisturbed(partial(import_module, "adjoint.engine.sharded"))


def _step(nodes: list[UOp], new: dict[UOp, UOp]) -> Move | Piece | MeshPiece | None:
    """The step that computes the nodes; it records the parameters that stand for them."""
    known = dict(new)
    results = tuple(_parameter(node) for node in nodes)
    new.update(zip(nodes, results, strict=True))
    (first, *_) = nodes
    if crosses(first) and first.src[0] in known:
        return Move(known[first.src[0]], results[0], first.device)
    roots = substitute(nodes, known)
    used = [n for n in dict.fromkeys(known.values()) if n in set(toposort(roots))]
    apart = side_of(first) is None and not isinstance(first.device, Sharding)
    key = None if apart else graph_key(roots, used)
    if key is None:
        return None
    if key.mesh is not None:
        return MeshPiece(tuple(used), _sharded().over_mesh(roots, used, key.mesh), results)
    devices = tuple(node.device or Device.DEFAULT for node in nodes)
    return Piece(key, PROGRAMS.find(key, roots), results, devices)


__all__ = ["Sides", "borders", "divided", "side_of"]
