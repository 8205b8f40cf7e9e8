"""The program of a trace: one, or several with copies between memories, else the interpreter.

What may live here: running a closed graph on buffers. What may not: where these come from
(`bindings.py`), or when (`call.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.engine.graph_key import common_backend, crosses, graph_key
from adjoint.engine.interpreter import check_device, run_function
from adjoint.engine.memory_reads import moved
from adjoint.engine.observers import watch
from adjoint.engine.program_cache import PROGRAMS
from adjoint.engine.realize import over_mesh
from adjoint.engine.sides import divided
from adjoint.engine.step_facts import FlagError
from adjoint.errors import DeviceError
from adjoint.ir.effect import effects_muted
from adjoint.ir.function import Function
from adjoint.ir.memory_limit import current_limit, limited, without_donations
from adjoint.ir.uop import UOp
from adjoint.ir.values import mesh_among, storage
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.device import Device


@dataclass(slots=True, eq=False, repr=False)
class Runner:
    """A closed graph with a way to run it: compiled where it can be, else interpreted."""

    function: Function
    devices: tuple[Any, ...]
    program: Any = None
    extra: tuple[Buffer, ...] = ()
    picks: tuple[tuple[bool, int], ...] = ()
    place: tuple[Any, ...] = ()  # devices of the program's own outputs
    direct: bool = False  # whether the outputs are the program's own, in their order
    sides: Any = None  # instead of a program, where the graph is on several devices: `Sides`, ...

    @staticmethod
    def of(
        function: Function, nodes: Sequence[UOp], order: Sequence[UOp], free: Sequence[UOp]
    ) -> Runner:
        """The runner of a closed function; `nodes` are its outputs, `order` all that is computed,
        `free` its inputs, as they were before."""
        for node in order:
            check_device(node)
        default = Device.DEFAULT
        made = Runner(function, devices := tuple(node.device or default for node in nodes))
        mesh = mesh_among((*order, *nodes, *free))
        if mesh is not None and nodes and not any(map(crosses, order)):
            with limited(without_donations(current_limit())):
                made.sides = over_mesh(nodes, free, mesh)
            return made
        backend = common_backend((*order, *nodes)) if nodes else None
        key = None
        if backend is not None and mesh is None:
            key = graph_key(function.outputs, function.inputs, backend)
        if key is not None:
            bound = PROGRAMS.find(key, function.outputs)
            made.program, made.picks = bound.program, tuple(filter(None, bound.picks))
            known = key.leaves[len(function.inputs) :]  # constants that were computed before
            made.extra = (*map(storage, known), *bound.arguments(key))
            own = {i: d for (leaf, i), d in zip(made.picks, devices, strict=True) if not leaf}
            made.place = tuple(own[i] for i in sorted(own))
            made.direct = bound.picks == tuple((False, i) for i in range(len(nodes)))
        elif nodes:
            _check_no_limit()
            made.sides = divided(nodes, free)
        return made

    @property
    def refills(self) -> bool:
        """Whether the program can write its outputs into buffers that it is given."""
        return self.program is not None and self.direct and self.program.plan.simple

    @property
    def elsewhere(self) -> bool:
        """Whether the outputs are in memory that the host cannot address."""
        return self.program is not None and not self.program.backend.memory.addressable

    def run(
        self, buffers: list[Buffer], donated: Sequence[int] = (), into: Sequence[Any] = ()
    ) -> list[Buffer]:
        """The outputs; in the buffers `into`, None where there is none, if it `refills`."""
        if watch.checker is not None:
            return self._checked(buffers, watch.checker)
        return self._run(buffers, donated, into)

    def _checked(self, buffers: list[Buffer], checker: Any) -> list[Buffer]:
        """The inputs are needed again if a check fails, so none of them is donated."""
        found = self._run(buffers)
        checker.call(self.function, buffers, found)
        return found

    def _run(
        self, buffers: list[Buffer], donated: Sequence[int] = (), into: Sequence[Any] = ()
    ) -> list[Buffer]:
        given = [*buffers, *self.extra] if self.extra else buffers
        try:
            if self.program is None:
                return self._interpreted(buffers) if self.sides is None else self.sides.run(buffers)
            found: list[Buffer] = self.program.run(given, self.place, donated, into)
        except FlagError:
            with effects_muted():
                self._interpreted(buffers)  # says which index it was
            raise
        if self.direct:
            return found
        return [
            moved(given[i], device) if leaf else found[i]
            for (leaf, i), device in zip(self.picks, self.devices, strict=True)
        ]

    def _interpreted(self, buffers: Sequence[Buffer]) -> list[Buffer]:
        values = run_function(self.function, [b.array() for b in buffers])
        rows = zip(values, self.function.outputs, self.devices, strict=True)
        return [
            Buffer(np.ascontiguousarray(v).reshape(node.shape), device) for v, node, device in rows
        ]


def _check_no_limit() -> None:
    """E6003 if memory is limited: only the plan of one program keeps to that."""
    limit = current_limit()
    if limit is not None:
        problem = "memory_limit is for functions that are compiled to one program on one device"
        fix = "leave it out, or jit the part that is on one compiled device"
        raise DeviceError("E6003", problem, op=limit.name, help=fix)
