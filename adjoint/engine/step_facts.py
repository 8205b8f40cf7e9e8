"""Facts about steps: work, memory, titles, lines and shapes, and the node to blame for a failure.

What may live here: facts that need no run.
"""

from __future__ import annotations

from typing import Any, TypeVar

from adjoint.engine.live_values import largest
from adjoint.errors import AdjointError, BoundsError, DeviceError
from adjoint.ir.origin import readable
from adjoint.ir.uop import UOp
from adjoint.stages import (
    ControlStep,
    HostStep,
    KernelStep,
    LibraryStep,
    NodeSchedule,
    Schedule,
    Step,
    WaitStep,
)

E = TypeVar("E", bound=AdjointError)
_NAMED = 5  # values that an error about memory names


class FlagError(BoundsError):
    """A kernel met an index outside its axis. `realize`, which has the graph, says which."""


def work_of(schedule: Schedule, times: int = 1) -> dict[str, int]:
    """Steps by kind, arithmetic and bytes of one run; a while-loop counts as one iteration."""
    total = dict.fromkeys(("kernels", "library", "host", "control", "flops", "bytes"), 0)
    for step in schedule.steps:
        match step:
            case KernelStep():
                total["kernels"] += times
                grid = step.program.grid
                extent = 1 if grid is None else int(grid.arg.size)
                total["flops"] += times * step.program.cost * extent
            case LibraryStep():
                total["library"] += times
                total["flops"] += times * step.call.flops
            case HostStep():
                total["host"] += times
            case WaitStep():
                continue
            case ControlStep():
                total["control"] += times
                turns = times * getattr(step.node.arg, "length", 1)
                for part in step.parts:
                    for name, amount in work_of(part, turns).items():
                        total[name] += amount
                continue
        slots = dict.fromkeys((*step.reads, *step.writes))
        total["bytes"] += times * sum(schedule.slots[i].nbytes for i in slots)
    return total


def located(kind: type[E], problem: str, node: UOp) -> E:
    """E6001 for a node: its op, its operands, the user's line."""
    operands = [(f"operand {i}", s) for i, s in enumerate(node.src)]
    place = f" (built by {node.origin})" if node.origin is not None else ""
    return kind("E6001", problem + place, op=node.op.name, operands=operands)


def memory_error(error: AdjointError, schedule: Schedule, number: int, device: str) -> AdjointError:
    """The same error, naming the op that needed the slot, and the largest values on the device."""
    writers = [step for step in schedule.steps if number in step.writes]
    if not writers:
        return error
    node, slot = writers[0].node, schedule.slots[number]
    place = f" (built by {node.origin})" if node.origin is not None else ""
    problem = f"{error.problem} for {slot.dtype.short}{list(slot.shape)}{place}"
    held = largest(device, _NAMED)
    return DeviceError(error.code, problem, op=node.op.name, operands=held, help=error.help)


# ---- how much memory


def peak_bytes(plan: NodeSchedule | Schedule) -> int:
    """The most bytes of results that are alive at once while the steps run in order.

    Every step's result counts from its step to its last use, the values of the roots to the end;
    buffers that existed before do not count. A compiled schedule needs its arena and its outputs.
    """
    if isinstance(plan, Schedule):
        made = dict.fromkeys(i for i in plan.outputs if i not in plan.inputs)
        return plan.arena + sum(plan.slots[i].nbytes for i in made if plan.slots[i].offset is None)
    alive: dict[UOp, int] = {}
    total = peak = 0
    for item in plan.items:
        alive[item.node] = _bytes(item.node)
        total += alive[item.node]
        peak = max(peak, total)
        total -= sum(alive.pop(node, 0) for node in item.last_uses)
    return peak


def _bytes(node: UOp) -> int:
    kinds = node.dtype if isinstance(node.dtype, tuple) else (node.dtype,)
    shapes = node.shape if isinstance(node.dtype, tuple) else (node.shape,)
    return sum(_count(s) * k.itemsize for s, k in zip(shapes, kinds, strict=True))


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


# ---- for people and profiles


def titles(step: Step) -> tuple[str, str]:
    """The title of a step, and its kind."""
    match step:
        case KernelStep():
            return step.program.name, "kernel"
        case LibraryStep():
            return step.call.title, "library"
        case HostStep():
            return step.node.op.name, "host"
        case WaitStep():
            return f"wait for {step.node.op.name}", "host"
        case ControlStep():
            return step.node.op.name, "control"


def lines_of(step: Step) -> list[str]:
    """The user's lines that a step computes, in the order of the graph."""
    if isinstance(step, KernelStep) and step.places:
        return readable(step.places)
    return readable([step.node.raw_origin])


def node_details(node: UOp) -> dict[str, Any]:
    """Lines and shapes of a node that Python computes."""
    kinds = [_types(s) for s in node.src]
    return {
        "lines": readable([node.raw_origin]),
        "shapes": f"{', '.join(kinds)} -> {_types(node)}",
    }


def _types(node: UOp) -> str:
    if not isinstance(node.dtype, tuple):
        return f"{node.dtype.short}{list(node.shape)}"
    pairs = zip(node.dtype, node.shape, strict=True)
    return ", ".join(f"{dtype.short}{list(shape)}" for dtype, shape in pairs)
