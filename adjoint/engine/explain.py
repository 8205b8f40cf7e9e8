"""The stages of a program as text for people: graph, schedule, loops, source.

`ADJOINT_SHOW` prints a stage of every new program. What may live here: text. What may not: anything
that changes the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adjoint.backends.protocol import Backend
from adjoint.codegen.c.render import LANGUAGES, render_all
from adjoint.codegen.show import show
from adjoint.engine.compilation import Compilation
from adjoint.engine.program import Program
from adjoint.engine.run_plan import HostSegment
from adjoint.engine.step_costs import StepCost, cost_text, total_text
from adjoint.errors import DeviceError
from adjoint.ir.text import text
from adjoint.ir.uop import UOp
from adjoint.schedule.groups import Fused
from adjoint.stages import (
    ControlStep,
    Gemm,
    Graph,
    KernelStep,
    LibraryStep,
    LoopProgram,
    Schedule,
    Source,
)

STAGES = ("graph", "schedule", "loops")
_OTHER_NAMES = {"plan": "schedule", "optimise": "loops", "render": "source"}  # pass → stage


def titles_of(name: str) -> tuple[str, ...]:
    """The names in `ADJOINT_SHOW` that select the result of a pass."""
    return (name, _OTHER_NAMES[name]) if name in _OTHER_NAMES else (name,)


def compilation_text(name: str, before: Compilation, unit: Compilation) -> str:
    """The result of the pass of that name, as text."""
    match name:
        case "render":
            return "\n\n".join(dict.fromkeys(s.text for s in unit.sources.values()))
        case "compile":
            return "\n".join(program.name for program in unit.kernels)
        case "bind":
            return program_text(unit.program)
        case "graph":
            return _part_text(name, unit.main)
        case _:
            texts = [_part_text(name, part) for part in unit.parts.values()]
            old = [_part_text(name, part) for part in before.parts.values()]
            same = texts == old and name not in _OTHER_NAMES  # by those a stage is asked for
            return "(unchanged)" if same else "\n\n".join(texts)


def _part_text(name: str, part: Graph | Fused | Schedule) -> str:
    match part:
        case Graph():
            return text(*part.roots, origins=True).rstrip("\n")
        case Fused():
            return "\n".join(map(str, part.work))
        case Schedule():
            return (
                "\n".join(loops_of(part)) if name in ("lower", "optimise") else schedule_text(part)
            )


def program_text(program: Program) -> str:
    """The segments of a program."""
    return "\n".join(
        f"host: {segment.step}"
        if isinstance(segment, HostSegment)
        else f"launch of {len(segment.steps)} steps on {program.backend.target.name}"
        for segment in program.plan.segments
    )


def stage_text(stage: str, roots: Sequence[UOp], schedule: Schedule) -> str:
    """One stage of a program."""
    match stage:
        case "graph":
            return text(*roots, origins=True).rstrip("\n")
        case "schedule":
            return schedule_text(schedule)
        case "loops":
            return "\n".join(loops_of(schedule))
        case _:
            raise ValueError(f"no stage {stage!r}; stages: {', '.join(STAGES)}")


def schedule_text(schedule: Schedule, indent: str = "") -> str:
    """Slots with their places, then steps."""
    lines = [f"{indent}arena {schedule.arena} bytes"] if schedule.arena else []
    roles = dict.fromkeys(schedule.inputs, "input")
    roles |= {i: "constant" for i, _ in schedule.constants}
    outputs = set(schedule.outputs)
    for number, slot in enumerate(schedule.slots):
        role = [roles[number]] if number in roles else []
        role += ["output"] if number in outputs else []
        place = role if slot.offset is None else [*role, f"at {slot.offset}"]
        kind = f"{slot.dtype.short}{list(slot.shape)}"
        lines.append(f"{indent}s{number} : {kind} {' '.join(place)}".rstrip())
    for step in schedule.steps:
        results = (
            f" -> {', '.join(f's{i}' for i in step.results)}" if hasattr(step, "results") else ""
        )
        lines.append(f"{indent}{step}{results}")
        if isinstance(step, ControlStep):
            lines += [schedule_text(part, indent + "  ") for part in step.parts]
    return "\n".join(lines)


def strategies_text(schedule: Schedule, indent: str = "") -> str:
    """The steps in order, each with the row of the strategy table that was taken, and why."""
    lines = []
    for step in schedule.steps:
        lines += [f"{indent}{step}", f"{indent}  {step.strategy}"]
        if isinstance(step, ControlStep):
            lines += [strategies_text(part, indent + "  ") for part in step.parts]
    return "\n".join(lines)


def costs_text(schedule: Schedule, rows: Sequence[StepCost], note: str = "") -> str:
    """The steps in order: the strategy of each, why, and its cost; then the totals."""
    lines = []
    for row in rows:
        lines.append(strategies_text(replace(schedule, steps=(row.step,))))
        lines.append(f"  {cost_text(row)}")
    if any(row.seconds is not None for row in rows):
        lines.append(total_text(rows))
    return "\n".join([*lines, *([note] if note else [])])


def loops_of(schedule: Schedule) -> list[str]:
    """The loops of the kernels."""
    return [show(program) for program in schedule.programs()]


def _rendered(programs: Sequence[LoopProgram], backend: Backend, language: str) -> list[Source]:
    """In a language whose files hold many kernels, the texts are one file."""
    if language == backend.language:
        return [backend.render(program) for program in programs]
    return render_all(programs, LANGUAGES[language])


def source_text(schedule: Schedule, backend: Backend, language: str) -> str:
    """The code of the kernels as one text, below a comment on what else there is to do. A kernel
    that the language cannot say is left out, and the comment says why; an error if all are."""
    programs = list(schedule.programs())
    refused = _refused(programs, backend, language)
    if programs and len(refused) == len(programs):
        raise next(iter(refused.values()))
    sources = _rendered([p for p in programs if p not in refused], backend, language)
    mark = "//" if language in LANGUAGES else ";"
    notes = [f"{mark} {line}" for line in _notes(schedule, refused)]
    texts = list(dict.fromkeys(source.text for source in sources))
    return "\n\n".join(["\n".join(notes), *texts] if notes else texts)


def _refused(
    programs: Sequence[LoopProgram], backend: Backend, language: str
) -> dict[LoopProgram, DeviceError]:
    """The kernels that the language cannot say, and why."""
    found = {}
    for program in programs if language != backend.language else ():
        try:
            _rendered([program], backend, language)
        except DeviceError as error:
            found[program] = error
    return found


def _notes(schedule: Schedule, refused: Mapping[LoopProgram, DeviceError]) -> list[str]:
    """Facts that the kernels do not show: steps of other kinds, in order, and omitted kernels."""
    lines = [f"kernel {p.name} is left out: {error.problem}" for p, error in refused.items()]
    if all(isinstance(step, KernelStep) for step in schedule.steps):
        return lines
    return [*lines, "the steps, in the order they run:", *_step_lines(schedule, "  ")]


def _step_lines(schedule: Schedule, indent: str) -> Iterator[str]:
    for step in schedule.steps:
        yield f"{indent}{step}{_product(step) if isinstance(step, LibraryStep) else ''}"
        for part in step.parts if isinstance(step, ControlStep) else ():
            yield from _step_lines(part, indent + "  ")


def _product(step: LibraryStep) -> str:
    """What a library step computes."""
    if not isinstance(step.call, Gemm):
        return ""
    left, right, *_ = (f"s{i}" for i in step.reads)
    return f": s{step.writes[0]} = {left} @ {right}, by the library of matrix products"
