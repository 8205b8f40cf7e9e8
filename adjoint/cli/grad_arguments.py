"""Arguments for a function, from the words of a command line, its annotations and its defaults.

What may live here: reading types and values. What may not: calling anything with them.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.cli.exits import UsageError
from adjoint.errors import AdjointError, did_you_mean
from adjoint.ir.dtype import as_dtype
from adjoint.tensor import Tensor

_TYPE = re.compile(r"\s*(\w+)\s*\[([\d\s,]*)\]\s*")
_NAMED = re.compile(r"(\w+)=(?!=)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Argument:
    """A parameter and what it is given: a tensor, or a value that is not differentiated."""

    name: str
    value: Any
    positional: bool

    @property
    def is_tensor(self) -> bool:
        return isinstance(self.value, Tensor)


def arguments(function: Callable[..., Any], words: list[str]) -> list[Argument]:
    """A value for every parameter that needs one."""
    parameters = _parameters(function, words)
    named, positional = _divided(words, parameters)
    found: list[Argument] = []
    for parameter in parameters:
        if parameter.name in named:
            value = parsed(named[parameter.name])
        elif positional and parameter.kind is not parameter.KEYWORD_ONLY:
            value = parsed(positional.pop(0))
        else:
            value = _implied(parameter)
        found.append(Argument(parameter.name, value, parameter.kind is not parameter.KEYWORD_ONLY))
    if positional:
        raise UsageError(f"--args: {len(positional)} more than the function takes: {positional[0]}")
    return found


def _parameters(function: Callable[..., Any], words: list[str]) -> list[inspect.Parameter]:
    """Those of the signature; `*rest` counts for as many as there are words left for it."""
    try:
        all_of = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        all_of = [inspect.Parameter("x", inspect.Parameter.VAR_POSITIONAL)]
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    plain = [p for p in all_of if p.kind not in several]
    rest = [p for p in all_of if p.kind is inspect.Parameter.VAR_POSITIONAL]
    before = [p for p in plain if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    count = max(len(words) - len(before), 0) if rest else 0
    kind = inspect.Parameter.POSITIONAL_ONLY
    extra = [inspect.Parameter(f"{p.name}{i}", kind) for p in rest for i in range(count)]
    return [*before, *extra, *(p for p in plain if p not in before)]


def _divided(
    words: list[str], parameters: list[inspect.Parameter]
) -> tuple[dict[str, str], list[str]]:
    known = [p.name for p in parameters]
    named: dict[str, str] = {}
    positional: list[str] = []
    for word in words:
        match = _NAMED.fullmatch(word)
        if match is None:
            positional.append(word)
        elif match[1] in known:
            named[match[1]] = match[2]
        else:
            hint = did_you_mean(match[1], known) or f"parameters: {', '.join(known)}"
            raise UsageError(f"--args {word}: the function has no parameter {match[1]!r}; {hint}")
    return named, positional


def parsed(word: str) -> Any:
    """`f32[3,4]` is a tensor of that type; lists are tensors; other literals are themselves."""
    match = _TYPE.fullmatch(word)
    try:
        if match:
            shape = [int(size) for size in match[2].replace(" ", "").split(",") if size]
            return Tensor.zeros(*shape, dtype=as_dtype(match[1]))
        value = ast.literal_eval(word)
        return Tensor(value) if isinstance(value, list) else value
    except AdjointError as error:
        raise UsageError(f"--args {word}: {error.problem}. {error.help}".rstrip(". ")) from None
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        problem = "expected a type such as f32[3,4], or a value such as 0.5"
        raise UsageError(f"--args {word[:60]}: {problem}") from None


def _implied(parameter: inspect.Parameter) -> Any:
    """What the annotation or the default says."""
    note = parameter.annotation
    text = note.strip("'\"") if isinstance(note, str) else ""
    if _TYPE.fullmatch(text):
        return parsed(text)
    if parameter.default is parameter.empty:
        raise UsageError(
            f"no type for {parameter.name!r}: give --args, or annotate it: "
            f'{parameter.name}: "f32[3,4]"'
        )
    default = parameter.default
    return Tensor(default) if isinstance(default, np.ndarray) else default
