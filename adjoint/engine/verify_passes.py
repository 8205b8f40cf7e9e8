"""The postconditions of every pass, checked if `ADJOINT_VERIFY` is set.

Graphs: every node is well formed, roots keep their types. Groups and schedules: a value is computed
once, before its first use. Loops: so is a node, in a scope around its users. Plans: no two live
values share memory. Code: every kernel has some. What may live here: these checks; a failure is an
InternalError.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjoint.engine.compilation import MAIN, Compilation
from adjoint.errors import InternalError
from adjoint.ir.kernel_kind import PART
from adjoint.ir.spec import verify, verify_order
from adjoint.ir.uop import UOp
from adjoint.schedule.groups import Fused
from adjoint.stages import Graph, KernelStep, Schedule, Step


def check(name: str, before: Compilation, unit: Compilation) -> None:
    """Raise if the compilation after the pass breaks a rule."""
    for problem in _problems(before, unit):
        raise InternalError(f"after the pass {name}: {problem}")


def _problems(before: Compilation, unit: Compilation) -> Iterator[str]:
    for part in unit.parts.values():
        match part:
            case Graph():
                verify(part.roots)
            case Fused():
                yield from _early_reads(part)
            case Schedule():
                yield from _early_uses(part)
                yield from _overlaps(part)
                for step in part.steps:
                    _check_loops(step)
    yield from _changed_types(before.parts.get(MAIN), unit.parts.get(MAIN))
    yield from (f"{p.name} has no source" for p in unit.sources if not unit.sources[p].text)
    if unit.kernels:
        yield from (f"{p.name} has no code" for p in unit.main.programs() if p not in unit.kernels)


def _changed_types(before: object, after: object) -> Iterator[str]:
    if not isinstance(before, Graph) or not isinstance(after, Graph):
        return
    for number, (old, new) in enumerate(zip(before.roots, after.roots, strict=True)):
        if (old.shape, old.dtype) != (new.shape, new.dtype):
            yield f"root {number} was {old.dtype}{old.shape} and is {new.dtype}{new.shape}"


def _early_reads(fused: Fused) -> Iterator[str]:
    """Reads of memory that no earlier work fills."""
    filled = {*fused.graph.inputs, *(node for node, _ in fused.graph.constants)}
    for work in fused.work:
        for node in work.reads:
            held = _made(fused, node)
            if held not in filled and held not in work.nodes and not _is_empty(held):
                yield f"{work} reads {held.op.name} before it is made"
        filled |= set(work.nodes)


def _made(fused: Fused, node: UOp) -> UOp:
    """The node whose memory a step writes, of which this one is a view."""
    node = fused.storage(node)
    return _made(fused, node.src[0]) if node.op.kernel is PART else node


def _is_empty(node: UOp) -> bool:
    return not isinstance(node.dtype, tuple) and node.size == 0


def _early_uses(schedule: Schedule) -> Iterator[str]:
    filled = {*schedule.inputs, *(i for i, _ in schedule.constants)}
    for step in schedule.steps:
        made = set(step.writes)
        for slot in step.reads:
            if slot not in filled and slot not in made and schedule.slots[slot].nbytes:
                yield f"{step} reads s{slot} before it is made"
        filled |= made


def _check_loops(step: Step) -> None:
    """A kernel's nodes come after their sources, once, in a scope around their users."""
    if isinstance(step, KernelStep):
        body = dict.fromkeys(step.program.body)
        leaves = dict.fromkeys(s for n in body for s in n.src if s not in body and not s.src)
        verify_order([*leaves, *step.program.body])


def _overlaps(schedule: Schedule) -> Iterator[str]:
    """Slots in one place of the arena at one time, unless the kernel may write over its operand."""
    last: dict[int, int] = {}
    first: dict[int, int] = {}
    for number, step in enumerate(schedule.steps):
        for slot in (*step.reads, *step.writes):
            first.setdefault(slot, number)
            last[slot] = number
    for flag, _ in schedule.flags():
        first[flag], last[flag] = 0, len(schedule.steps)
    alive: list[int] = []
    for slot in sorted(first, key=first.__getitem__):
        if schedule.slots[slot].offset is None:
            continue
        alive = [other for other in alive if last[other] >= first[slot]]
        for other in alive:
            if _share(schedule, slot, other) and not _in_place(schedule, first[slot], slot, other):
                yield f"s{slot} and s{other} are alive together in one place"
        alive.append(slot)


def _share(schedule: Schedule, a: int, b: int) -> bool:
    one, two = schedule.slots[a], schedule.slots[b]
    if one.offset is None or two.offset is None or not one.nbytes or not two.nbytes:
        return False
    return one.offset < two.offset + two.nbytes and two.offset < one.offset + one.nbytes


def _in_place(schedule: Schedule, number: int, new: int, old: int) -> bool:
    step = schedule.steps[number]
    if not isinstance(step, KernelStep):
        return False
    return any(
        (step.slots[result], step.slots[operand]) == (new, old)
        for result, operand in step.program.in_place
    )
