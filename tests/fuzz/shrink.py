"""Programs made smaller while they keep failing.

Moves, tried until none helps: ask for fewer outputs and gradients, put an operand or an input in a
step's place, make an extent smaller wherever it is written. What may live here: the moves and the
search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from adjoint import AdjointError, Tensor
from tests.fuzz.program import (
    Input,
    Program,
    Ref,
    alive,
    build,
    differences,
    mapped,
    refs,
    run,
)

Fails = Callable[[Program], str]


def failure(program: Program) -> str:
    """The kind of failure on CPU: empty if REF refuses the program or CPU agrees with it."""
    try:
        ref = run(program, "REF")
    except Exception:  # not a program any more
        return ""
    try:
        found = differences(program, ref, run(program, "CPU"))
    except Exception as error:  # whatever the compiler raises is a finding
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return "values: " + "; ".join(found) if found else ""


def _kind(found: str) -> str:
    return found.partition(":")[0]


def shrunk(program: Program, fails: Fails = failure, most: int = 600) -> tuple[Program, str]:
    """The smallest program found that fails in the same way, and how it does."""
    found = fails(program)
    kind, tries, better = _kind(found), 0, True
    while better and found:
        better = False
        for candidate in _candidates(program):
            tries += 1
            if tries > most:
                return program, found
            now = fails(candidate) if _cost(candidate) < _cost(program) else ""
            if now and _kind(now) == kind:
                program, found, better = candidate, now, True
                break
    return program, found


def _cost(program: Program) -> tuple[int, int, int, int]:
    sizes = [n for i in program.inputs.values() for n in i.shape]
    sizes += [n for s in program.steps for n in _numbers(s.args)]
    asked = len(program.outputs) + len(program.grads)
    return len(program.steps), asked, len(program.inputs), sum(sizes) + len(sizes)


def _numbers(value: object) -> list[int]:
    found: list[int] = []
    mapped(value, lambda v: found.append(abs(v)) if type(v) is int else v)
    return found


def _candidates(program: Program) -> Iterator[Program]:
    yield from _fewer_results(program)
    values = _built(program)
    yield from _replaced(program, values)
    yield from _smaller(program)


def _built(program: Program) -> dict[str, Tensor]:
    try:
        return build(program, "REF")
    except AdjointError:
        return {}


def _fewer_results(program: Program) -> Iterator[Program]:
    if program.grads:
        yield replace(program, grads=())
    for name in program.outputs:
        yield alive(replace(program, outputs=(name,)))
    for step in program.steps:
        yield alive(replace(program, outputs=(step.name,)))
    for name in program.grads:
        yield replace(program, grads=tuple(n for n in program.grads if n != name))
    for name in program.outputs:
        rest = tuple(n for n in program.outputs if n != name)
        if rest:
            yield alive(replace(program, outputs=rest))


def _replaced(program: Program, values: dict[str, Tensor]) -> Iterator[Program]:
    """A step gives way to one of its operands, or to an input of its kind."""
    for step in reversed(program.steps):
        if step.name not in values:
            continue
        own = values[step.name]
        for other in dict.fromkeys(refs((step.args, step.kwargs))):
            if values[other].shape == own.shape and values[other].dtype is own.dtype:
                yield _without(program, step.name, other)
        if not own.dtype.is_complex:
            yield _with_input(program, step.name, own)


def _without(program: Program, name: str, other: str) -> Program:
    change = lambda v: Ref(other) if v == Ref(name) else v  # noqa: E731
    steps = tuple(
        replace(s, args=mapped(s.args, change), kwargs=mapped(s.kwargs, change))
        for s in program.steps
        if s.name != name
    )
    known = {s.name for s in steps}
    outputs = tuple(dict.fromkeys(other if n == name else n for n in program.outputs))
    return alive(replace(program, steps=steps, outputs=tuple(n for n in outputs if n in known)))


def _with_input(program: Program, name: str, own: Tensor) -> Program:
    kind = "flags" if own.dtype.is_bool else "unit" if own.dtype.is_float else "small"
    fresh = next(f"b{i}" for i in range(1000) if f"b{i}" not in program.inputs)
    inputs = {**program.inputs, fresh: Input(kind, own.shape, own.dtype.name, len(fresh))}
    wants = kind == "unit" and program.grads and own.requires_grad
    grads = (*program.grads, fresh) if wants else program.grads
    return _without(replace(program, inputs=inputs, grads=grads), name, fresh)


def _smaller(program: Program) -> Iterator[Program]:
    """An extent replaced wherever it is written, and inputs of lower rank."""
    extents = {n for i in program.inputs.values() for n in i.shape}
    extents |= {n for s in program.steps for n in _numbers(s.args)}
    for old in sorted(extents, reverse=True):
        for new in sorted({1, 2, 3, old // 2, old - 1}):
            if 0 < new < old:
                yield _resized(program, old, new)
    for name, source in program.inputs.items():
        if len(source.shape) > 1 and 1 in source.shape:
            shape = tuple(n for n in source.shape if n != 1)
            yield replace(program, inputs=program.inputs | {name: replace(source, shape=shape)})


def _resized(program: Program, old: int, new: int) -> Program:
    change = lambda v: new if type(v) is int and v == old else v  # noqa: E731
    inputs = {
        name: replace(i, shape=mapped(i.shape, change), limit=change(i.limit))
        for name, i in program.inputs.items()
    }
    steps = tuple(
        replace(s, args=mapped(s.args, change), kwargs=mapped(s.kwargs, change))
        for s in program.steps
    )
    return replace(program, inputs=inputs, steps=steps)


__all__ = ["failure", "shrunk"]
