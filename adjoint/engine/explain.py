"""The stages of a program as text, for people: graph, schedule, loops, source.

`ADJOINT_SHOW` prints a stage of every new program. What may live here: text. What may not:
anything that changes what is shown.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

from adjoint import config
from adjoint.codegen.c.render import LANGUAGES, render_all
from adjoint.codegen.llvm.render import render
from adjoint.codegen.show import show
from adjoint.errors import DeviceError
from adjoint.ir.text import text
from adjoint.ir.uop import UOp
from adjoint.runtime.processor import processor
from adjoint.stages import (
    ControlStep,
    KernelStep,
    LibraryStep,
    LoopProgram,
    Schedule,
    Source,
)

STAGES = ("graph", "schedule", "loops", "source")


def announce(roots: Sequence[UOp], schedule: Schedule) -> None:
    """Print the stages that `ADJOINT_SHOW` names, to the standard error stream."""
    wanted = config.SHOW.value()
    if not wanted:
        return
    for stage in STAGES:
        if stage in wanted or "all" in wanted:
            print(f"---- {stage}\n{stage_text(stage, roots, schedule)}", file=sys.stderr)


def stage_text(stage: str, roots: Sequence[UOp], schedule: Schedule) -> str:
    """One stage of a program."""
    match stage:
        case "graph":
            return text(*roots, origins=True).rstrip("\n")
        case "schedule":
            return schedule_text(schedule)
        case "loops":
            return "\n".join(loops_of(schedule))
        case "source":
            return source_text(schedule)
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


def programs_of(schedule: Schedule) -> Iterator[LoopProgram]:
    """The kernels, those inside loops and branches too, each once."""
    seen: dict[LoopProgram, None] = {}
    for step in schedule.steps:
        if isinstance(step, KernelStep):
            seen[step.program] = None
        elif isinstance(step, ControlStep):
            seen |= dict.fromkeys(p for part in step.parts for p in programs_of(part))
    yield from seen


def loops_of(schedule: Schedule) -> list[str]:
    """The loops of the kernels."""
    return [show(program) for program in programs_of(schedule)]


def sources_of(schedule: Schedule, language: str = "llvm") -> list[Source]:
    """The code of the kernels. In a language whose files hold many, the texts are one file."""
    return _rendered(list(programs_of(schedule)), language)


def _rendered(programs: Sequence[LoopProgram], language: str) -> list[Source]:
    if language == "llvm":
        return [render(program, processor()) for program in programs]
    return render_all(programs, LANGUAGES[language])


def source_text(schedule: Schedule, language: str = "llvm") -> str:
    """The code of the kernels as one text, below a comment on what else there is to do. A kernel
    that the language cannot say is left out, and the comment says why; an error if all are."""
    programs = list(programs_of(schedule))
    refused = _refused(programs, language)
    if programs and len(refused) == len(programs):
        raise next(iter(refused.values()))
    sources = _rendered([p for p in programs if p not in refused], language)
    mark = ";" if language == "llvm" else "//"
    notes = [f"{mark} {line}" for line in _notes(schedule, refused)]
    texts = list(dict.fromkeys(source.text for source in sources))
    return "\n\n".join(["\n".join(notes), *texts] if notes else texts)


def _refused(programs: Sequence[LoopProgram], language: str) -> dict[LoopProgram, DeviceError]:
    """The kernels that the language cannot say, and why."""
    found = {}
    for program in programs if language != "llvm" else ():
        try:
            _rendered([program], language)
        except DeviceError as error:
            found[program] = error
    return found


def _notes(schedule: Schedule, refused: Mapping[LoopProgram, DeviceError]) -> list[str]:
    """What the kernels alone do not tell: steps of other kinds, in order, and what is left out."""
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
    out, left, right = (f"s{i}" for i in step.slots)
    return f": {out} = {left} @ {right}, by the library of matrix products"
