"""What a step reads, writes and costs, and whom to blame when it fails."""

from __future__ import annotations

from typing import TypeVar

from adjoint.errors import AdjointError, BoundsError, DeviceError
from adjoint.ir.uop import UOp
from adjoint.stages import ControlStep, HostStep, KernelStep, LibraryStep, Schedule, Step

E = TypeVar("E", bound=AdjointError)


class FlagError(BoundsError):
    """A kernel met an index outside its axis. Whoever has the graph can say more."""


def written(step: Step) -> tuple[int, ...]:
    """The slots that a step writes."""
    match step:
        case KernelStep():
            pairs = zip(step.slots, step.program.buffers, strict=True)
            return tuple(slot for slot, buffer in pairs if buffer.arg.mutable)
        case LibraryStep():
            return step.slots[:1]
        case HostStep() | ControlStep():
            return step.results


def read(step: Step) -> tuple[int, ...]:
    """The slots that a step may read."""
    match step:
        case KernelStep():
            return step.slots
        case LibraryStep():
            return step.slots[1:]
        case HostStep() | ControlStep():
            return step.operands


def work_of(schedule: Schedule, times: int = 1) -> dict[str, int]:
    """Steps by kind, arithmetic and bytes of one run; a while-loop counts as one turn."""
    total = dict.fromkeys(("kernels", "library", "host", "control", "flops", "bytes"), 0)
    for step in schedule.steps:
        match step:
            case KernelStep():
                total["kernels"] += times
                grid = step.program.grid
                extent = 1 if grid is None else grid.arg.size
                total["flops"] += times * step.program.cost * extent
            case LibraryStep():
                total["library"] += times
                g = step.gemm
                total["flops"] += times * 2 * g.batch * g.m * g.n * g.k
            case HostStep():
                total["host"] += times
            case ControlStep():
                total["control"] += times
                turns = times * getattr(step.node.arg, "length", 1)
                for part in step.parts:
                    for name, amount in work_of(part, turns).items():
                        total[name] += amount
                continue
        slots = dict.fromkeys((*read(step), *written(step)))
        total["bytes"] += times * sum(schedule.slots[i].nbytes for i in slots)
    return total


def located(kind: type[E], problem: str, node: UOp) -> E:
    """E6001 for a node: its op, its operands, the user's line."""
    operands = [(f"operand {i}", s) for i, s in enumerate(node.src)]
    place = f" (built by {node.origin})" if node.origin is not None else ""
    return kind("E6001", problem + place, op=node.op.name, operands=operands)


def memory_error(error: AdjointError, schedule: Schedule, number: int) -> AdjointError:
    """The same error, naming the op that wanted the slot."""
    writers = [step for step in schedule.steps if number in written(step)]
    if not writers:
        return error
    node, slot = writers[0].node, schedule.slots[number]
    place = f" (built by {node.origin})" if node.origin is not None else ""
    problem = f"{error.problem} for {slot.dtype.short}{list(slot.shape)}{place}"
    return DeviceError(error.code, problem, op=node.op.name, help=error.help)
