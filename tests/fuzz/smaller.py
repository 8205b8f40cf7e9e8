"""Whole programs made smaller while they keep failing in the same way.

Moves: fewer outputs; a statement less; a value, or an input of its type, in place of another; a
smaller number wherever it is written; a plainer input. What may live here: the moves, the search,
and what two failures have in common.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from adjoint import Tensor
from tests.fuzz.program import EPS
from tests.fuzz.source import (
    Source,
    Whole,
    alive,
    changed,
    execute,
    function_text,
    made,
    names,
    namespace,
)
from tests.fuzz.writer import on

Fails = Callable[[Whole], str]
NUMBER = re.compile(r"(?<![\w.'])\d+(?![\w.'])")
FRACTION = re.compile(r"(?<![\w.])-?\d+\.\d+")


def kind(found: str) -> str:
    """What stays the same of a failure while the program shrinks."""
    known = re.search(
        r"\b(\w+Error|E\d{4}|not symmetric|not the hessian|differences|in bits)\b", found
    )
    return known.group(1) if known else "values" if found else ""


def shrunk(program: Whole, fails: Fails, seconds: float = 30.0) -> tuple[Whole, str]:
    """The smallest program found that fails in the same way, and how it does."""
    end, found, better = time.monotonic() + seconds, fails(program), True
    same = kind(found)
    while better and found:
        better = False
        for candidate in _candidates(program):
            if time.monotonic() > end:
                return program, found
            if cost(candidate) >= cost(program):
                continue
            now = fails(candidate)
            if now and kind(now) == same:
                program, found, better = candidate, now, True
                break
    return program, found


def cost(program: Whole) -> tuple[int, ...]:
    """How large a program is."""
    text = function_text(program) + "".join(s.text for s in program.inputs.values())
    sizes = sum(int(n) for n in NUMBER.findall(text) if len(n) < 6)
    plain = sum(s.text.count("(") + s.captured for s in program.inputs.values())
    returned = sum(n not in program.inputs for n in program.outputs)
    return (
        len(program.statements),
        returned,
        len(program.outputs),
        len(program.inputs),
        plain,
        sizes,
        len(text),
    )


def handles(program: Whole) -> dict[str, Any]:
    """The values of a program by name, nothing computed; those up to a statement that fails."""
    with on("REF"):
        space = namespace() | made(program, list(program.inputs))
        for statement in program.statements:
            try:
                execute(statement.text, space)
            except Exception:  # that statement is what fails
                break
    return {n: v for n, v in space.items() if isinstance(v, Tensor)}


def _candidates(program: Whole) -> Iterator[Whole]:
    try:
        known = handles(program)
    except Exception:  # an input cannot be made any more
        return
    yield from _fewer(program)
    yield from _without(program, known)
    yield from _simpler(program, known)
    yield from _smaller(program)


def _fewer(program: Whole) -> Iterator[Whole]:
    for name in program.inputs:
        if program.outputs != (name,) and not name.startswith("l"):
            yield alive(replace(program, outputs=(name,)))
    for name in program.outputs:
        if len(program.outputs) > 1:
            yield alive(replace(program, outputs=(name,)))
    for name in program.outputs:
        rest = tuple(n for n in program.outputs if n != name)
        if rest:
            yield alive(replace(program, outputs=rest))


def _without(program: Whole, known: dict[str, Any]) -> Iterator[Whole]:
    """A statement less; what it made is another value, or an input."""
    for i in reversed(range(len(program.statements))):
        statement = program.statements[i]
        rest = program.statements[:i] + program.statements[i + 1 :]
        shorter, own = replace(program, statements=rest), statement.defines
        if own is None:
            yield alive(shorter)
            continue
        value = known.get(own)
        for other in names(statement.text[len(own) :]):
            like = known.get(other)
            if (
                like is not None
                and value is not None
                and like.shape == value.shape
                and like.dtype is value.dtype
            ):
                yield _renamed(shorter, own, other)
        for other, like in known.items():
            if (
                value is not None
                and other != own
                and like.shape == value.shape
                and like.dtype is value.dtype
            ):
                yield _renamed(shorter, own, other)
        if value is not None and not value.dtype.is_complex:
            fresh = f"b{sum(n.startswith('b') for n in program.inputs)}"
            inputs = program.inputs | {fresh: Source(plain(value), 5)}
            yield _renamed(replace(shorter, inputs=inputs), own, fresh)


def _renamed(program: Whole, old: str, new: str) -> Whole:
    pattern = re.compile(rf"\b{old}\b")
    outputs = tuple(dict.fromkeys(new if n == old else n for n in program.outputs))
    other = replace(program, outputs=outputs)
    texts = tuple(replace(s, text=pattern.sub(new, s.text)) for s in other.statements)
    return alive(replace(other, statements=texts))


def plain(value: Tensor) -> str:
    """An input of that type."""
    name = value.dtype.name
    sort = "unit" if name in EPS else "flags" if name == "bool" else "small"
    return f"Tensor(data({sort!r}, {value.shape}, {name!r}, {{seed}}))"


def _simpler(program: Whole, known: dict[str, Any]) -> Iterator[Whole]:
    """Plainer inputs, passed and not captured."""
    for name, source in program.inputs.items():
        if name in known and not known[name].dtype.is_complex:
            yield replace(
                program, inputs=program.inputs | {name: replace(source, text=plain(known[name]))}
            )
        if source.captured and name.startswith("s"):
            fresh = replace(source, captured=False)
            yield _renamed(replace(program, inputs=program.inputs | {name: fresh}), name, name)
    yield changed(program, lambda text: re.sub("'(?:bfloat16|float16|float64)'", "'float32'", text))


def _smaller(program: Whole) -> Iterator[Whole]:
    """A number replaced wherever it is written."""
    text = function_text(program) + "".join(s.text for s in program.inputs.values())
    for old in sorted({int(n) for n in NUMBER.findall(text)}, reverse=True):
        for new in sorted({0, 1, 2, 3, old // 2, old - 1}):
            if new < old:
                yield changed(
                    program, lambda t, o=old, n=new: re.sub(rf"(?<![\w.']){o}(?![\w.'])", str(n), t)
                )
    for name, source in program.inputs.items():
        for new in ("(2, 2)", "(3,)", "(2,)", "(1,)", "()"):
            text = re.sub(r"\((?:\d+, )*\d*,?\)", new, source.text, count=1)
            if text != source.text:
                yield replace(program, inputs=program.inputs | {name: replace(source, text=text)})


def signature(program: Whole, mode: str, found: str) -> str:
    """What failures of one cause have in common, as well as a shrunk program can tell: the mode,
    the kind of failure, and the forms of its statements."""
    text = "; ".join(s.text for s in program.statements)
    text = re.sub(r"'?\b(?:bfloat16|float16|float32|float64|u?int\d+)\b'?", "D", text)
    text = re.sub(r"\b[abvs]\d+\b", "x", text)
    text = re.sub(r"-?\d+(?:\.\d+)?", "n", text)
    calls = sorted(set(re.findall(r"\.(\w+)\(|(\w+)\(lambda|(\] [-+*/]?=)|(\b[-+*]=)", text)))
    words = sorted({w for group in calls for w in group if w})
    return f"{mode}, {kind(found)}: {', '.join(words) or text[:60]}"
