"""Graph → values. A root's node stores its value (`node.realized`), so every graph that contains
the node has it.

Graphs on a backend are compiled, and found again by their key; the interpreter runs graphs on REF
or DISK; a graph on both is cut wherever it changes sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from adjoint.engine import interpreter, memory_reads
from adjoint.engine.counters import muted
from adjoint.engine.graph_key import (
    GraphKey,
    backend_name,
    close_over_parameters,
    crosses,
    graph_key,
)
from adjoint.engine.interpreter import check_device, check_single, run, schedule
from adjoint.engine.memory_reads import moved
from adjoint.engine.observers import watch
from adjoint.engine.program_cache import PROGRAMS, CachedProgram, load_backend
from adjoint.engine.sides import borders, side_of
from adjoint.engine.step_facts import FlagError
from adjoint.errors import BoundsError, DeviceError
from adjoint.ir.effect import effects_muted
from adjoint.ir.function import Function
from adjoint.ir.kernel_kind import STORED
from adjoint.ir.mesh import Mesh, Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import readable, user_place
from adjoint.ir.uop import UOp
from adjoint.ir.values import bindings_of, by_name, is_constant, is_known, storage
from adjoint.runtime.device import Device
from adjoint.runtime.interrupt import undisturbed
from adjoint.runtime.spans import span
from adjoint.stages import ExecItem, Schedule, Step


def realize(*nodes: UOp) -> None:
    """Compute the nodes that have no value yet, together."""
    todo = [node for node in dict.fromkeys(nodes) if not is_known(node)]
    if not todo:
        return
    if not watch.on:
        compute(todo)
        return
    if watch.collector is not None:
        watch.collector.realized(todo)
    kinds = ", ".join(f"{getattr(n.dtype, 'short', n.dtype)}{list(n.shape)}" for n in todo[:8])
    with span("realize", "python", lines=readable([user_place()]), shapes=kinds):
        compute(todo)
    if watch.checker is not None:
        watch.checker.nodes(todo)


def apart(node: UOp) -> UOp:
    """The node that gets the value of a tensor. A constant is one node in all graphs that have it,
    so its value is not stored there: otherwise programs would depend on what else is alive. A node
    without a device is one on all devices, and its value would be in the memory of one of them.
    """
    shared = node.device is None or is_constant(node)
    return OPS["unique_identity"](node) if shared else node


def compute(todo: list[UOp]) -> None:
    """Store values on nodes: from memory if possible, by a program if one backend has the whole
    graph, else side by side.
    """
    for node in todo:
        node.realized = memory_reads.read(node, _check)
    todo = [node for node in todo if node.realized is None]
    if not todo:
        return
    key = graph_key(todo, slices=True)
    if key is not None:
        _run_program(todo, key)
        return
    cut = borders(todo)
    for node in (*cut, *todo):
        if not is_known(node):
            _run_side(node)
    for node in set(cut).difference(todo):
        if node.op.kernel is not STORED:
            node.realized = None


def _check(node: UOp) -> None:
    """Raise E6002 if the device of a node is absent, even though the requested value is on the
    host.
    """
    check_device(node)
    backend = None if Device.is_host(node.device) else backend_name(node.device)
    if backend:
        load_backend(backend).prepare()


def compute_keeping(node: UOp, wanted: Sequence[UOp]) -> None:
    """Compute a node, and keep those of the nodes below it that its program can keep."""
    node.realized = memory_reads.read(node, _check)
    if node.realized is not None:
        return
    todo = [node, *wanted]
    key = graph_key(todo, slices=True, wanted=len(wanted))
    if key is not None:
        _run_program(todo, key)
    elif side_of(node) is None:  # the interpreter computes a node as it does alone
        compute([*wanted, node])
    else:
        compute([node])


def _run_program(todo: list[UOp], key: GraphKey) -> None:
    for root in todo:
        if type(root.dtype) is tuple:
            check_single(root)
    if key.mesh is not None:
        _run_sharded(todo, key)
        return
    default = Device.DEFAULT
    devices = [root.device or default for root in todo]
    bound = PROGRAMS.known(key)
    found = _at_once()(todo, key, devices) if bound is None else None
    if found is None:
        found = _ran(bound or PROGRAMS.find(key, todo), todo, key, devices)
    for root, buffer in zip(todo, found, strict=True):
        root.realized = buffer


def _run_sharded(todo: list[UOp], key: GraphKey) -> None:
    try:
        found = sharded().run_sharded(todo, key)
    except FlagError as error:
        raise _explained(error, todo) from None
    for root, buffer in zip(todo, found, strict=True):
        root.realized = buffer


def over_mesh(roots: Sequence[UOp], leaves: Sequence[UOp], mesh: Mesh) -> Any:
    """The program of a traced graph on a mesh."""
    return sharded().over_mesh(roots, leaves, mesh)


def pipeline_of(roots: Sequence[UOp], leaves: Sequence[UOp], mesh: Mesh) -> Any:
    """The program of a traced graph on a mesh with stages; None if it has none."""
    return sharded().pipeline_of(roots, leaves, mesh)


def local_function(roots: Sequence[UOp], leaves: Sequence[UOp], mesh: Mesh) -> Function:
    """The function that one member of a mesh runs for a traced graph."""
    found: Function = sharded().local_function(roots, leaves, mesh)
    return found


@cache
def sharded() -> Any:
    """What runs graphs on meshes: loaded with the first."""

    def load() -> Any:
        from adjoint.engine import sharded

        return sharded

    return undisturbed(load)


@cache
def _at_once() -> Any:
    """What computes small graphs without a program: loaded with the first."""

    def load() -> Any:
        from adjoint.engine import at_once

        return at_once.computed_at_once

    return undisturbed(load)


def _ran(bound: CachedProgram, todo: list[UOp], key: GraphKey, devices: Sequence[Any]) -> list[Any]:
    """The values of the roots by their program."""
    try:
        return bound.run(key, [storage(leaf) for leaf in key.leaves], devices)
    except FlagError as error:
        raise _explained(error, todo) from None


def _explained(error: FlagError, todo: list[UOp]) -> BoundsError:
    """Which index it was, the interpreter can say."""
    with effects_muted():
        run(schedule(todo))
    return BoundsError(error.code, error.problem, help=error.help)


# ---- graphs on several sides


def _run_side(node: UOp) -> None:
    """A node below which everything without a value is on one side."""
    if crosses(node) and is_known(node.src[0]):
        node.realized = moved(storage(node.src[0]), node.device)
        return
    apart = side_of(node) is None and not isinstance(node.device, Sharding)
    key = None if apart else graph_key([node])
    if key is None:
        run(schedule([node]))
    else:
        _run_program([node], key)


# ---- schedules as things to look at


class Steps(list[Step]):
    """The steps of a compiled schedule, with what `run_schedule` needs to run them."""

    def __init__(self, plan: Schedule, roots: Sequence[UOp]):
        super().__init__(plan.steps)
        self.plan, self.roots = plan, tuple(roots)


def scheduled_with_bindings(nodes: Iterable[UOp]) -> tuple[list[Any], dict[str, int]]:
    """The steps, and the values of the variables that they were made for."""
    wanted = list(nodes)
    bound = bindings_of(wanted)
    return scheduled(wanted), bound


def scheduled(nodes: Iterable[UOp]) -> list[Any]:
    """The steps that would compute the nodes: of the compiled schedule, or of the interpreter."""
    todo = [node for node in dict.fromkeys(nodes) if not is_known(node)]
    key = graph_key(todo) if todo else None
    if key is None:
        return list(schedule(todo).items)
    from adjoint.engine.pipeline import compile_graph  # the compiler is loaded when needed

    roots, parameters = close_over_parameters(todo, key.leaves)
    wanted = [node for node in dict.fromkeys(roots) if node not in set(parameters)]
    return Steps(compile_graph(wanted, parameters, load_backend(key.backend)), todo)


def run_schedule(
    items: Iterable[Any], var_vals: Mapping[Any, int] | None = None, do_update_stats: bool = True
) -> None:
    """Compute the steps of `Tensor.schedule()`, and store their results on their nodes.

    `var_vals` are the values of variables from `Tensor.schedule_with_vars()`. With
    `do_update_stats=False` no `counters()` counts the work.
    """
    if not do_update_stats:
        with muted():
            return run_schedule(items, var_vals)
    if isinstance(items, Steps):
        _check_bindings(items.roots, var_vals)
        realize(*items.roots)
        return
    listed = list(items)
    _check_bindings([item.node for item in listed if isinstance(item, ExecItem)], var_vals)
    if not all(isinstance(item, ExecItem) for item in listed):
        problem = "compiled steps run together, as the list that Tensor.schedule() gave"
        raise DeviceError("E6003", problem, op="run_schedule", help="pass the list itself")
    interpreter.run_items(listed)


def _check_bindings(roots: Iterable[UOp], given: Mapping[Any, int] | None) -> None:
    """E3003 if a variable is to have another value than the steps were made for."""
    bound, asked = bindings_of(roots), by_name(given or {})
    for name, value in asked.items():
        if bound and bound.get(name, value) != value:
            problem = f"the steps were made for {name} = {bound[name]}, not {value}"
            fix = f"bind {name} to {value}, and ask for the schedule again: its code is used again"
            raise BoundsError("E3003", problem, op="run_schedule", help=fix)
