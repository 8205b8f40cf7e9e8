"""A function of a script or a module by name, and arguments for it: types, or values.

What may live here: what `adjoint grad` and `adjoint bench` both need of a function.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import re
import runpy
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from adjoint.cli.exits import FAILED, OK, UsageError
from adjoint.cli.program import exit_code, look_here, show_error
from adjoint.errors import AdjointError, FileError, did_you_mean
from adjoint.ir.dtype import as_dtype
from adjoint.tensor import Tensor

ARGUMENTS = """\
An argument is a type (f32[4,3], f64[]) or a value that is not differentiated (3, 0.5, "text");
without one, a parameter's annotation ("f32[4,3]") or its default says it."""


def split(text: str) -> tuple[str, str]:
    """The file or module, and the name of the function in it."""
    file, colon, name = text.rpartition(":")
    if not (colon and file and name):
        raise UsageError(f"expected FILE.py:FUNCTION or module:FUNCTION, got {text!r}")
    return file, name


def loaded(file: str, name: str) -> tuple[int, Callable[..., Any] | None]:
    """The function; or an exit code, when the program around it fails."""
    is_script = file.endswith(".py") or os.sep in file
    if is_script and not os.path.isfile(file):
        error = FileError(
            "E9006", f"there is no file {file}", help="give the path of a Python file"
        )
        raise UsageError(error)
    shown = file if is_script else _file_of(file)
    try:
        space = _script_names(file) if is_script else vars(import_module(file))
    except SystemExit as exit:
        return exit_code(exit) or FAILED, None
    except Exception as error:
        show_error(error, shown)
        return FAILED, None
    return OK, _function(space, file, name)


def _file_of(module: str) -> str:
    look_here()
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        raise UsageError(FileError("E9006", f"there is no module {module!r}"))
    return spec.origin or ""


def _script_names(file: str) -> dict[str, Any]:
    """What the script defines; `if __name__ == "__main__"` does not run."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    try:
        return runpy.run_path(file, run_name=os.path.splitext(os.path.basename(file))[0])
    finally:
        sys.path.pop(0)


def _function(space: dict[str, Any], file: str, name: str) -> Callable[..., Any]:
    first, *rest = name.split(".")
    found = space.get(first)
    for part in rest:
        found = getattr(found, part, None)
    if callable(found):
        return found
    known = [word for word, thing in space.items() if callable(thing) and word[0] != "_"]
    near = did_you_mean(name, known) or f"it has {', '.join(known) or 'no functions'}"
    raise UsageError(f"{file} has no function {name!r}; {near}")


# ---- arguments

_TYPE = re.compile(r"\s*(\w+)\s*\[([\d\s,]*)\]\s*")
_NAMED = re.compile(r"(\w+)=(?!=)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallArgument:
    """A parameter and what it is given: a tensor, or a value that is not differentiated."""

    name: str
    value: Any
    positional: bool

    @property
    def is_tensor(self) -> bool:
        return isinstance(self.value, Tensor)


def arguments(
    function: Callable[..., Any], words: list[str], filled: Callable[..., Tensor] = Tensor.zeros
) -> list[CallArgument]:
    """A value for every parameter that needs one; `filled` makes the tensor of a type."""
    parameters = _parameters(function, words)
    named, positional = _divided(words, parameters)
    found: list[CallArgument] = []
    for parameter in parameters:
        by_place = parameter.kind is not parameter.KEYWORD_ONLY
        if parameter.name in named:
            value = parsed(named[parameter.name], filled)
        elif positional and by_place:
            value = parsed(positional.pop(0), filled)
        else:
            value = _implied(parameter, filled)
        found.append(CallArgument(parameter.name, value, by_place))
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


def parsed(word: str, filled: Callable[..., Tensor] = Tensor.zeros) -> Any:
    """`f32[3,4]` is a tensor of that type; lists are tensors; other literals are themselves."""
    match = _TYPE.fullmatch(word)
    try:
        if match:
            shape = [int(size) for size in match[2].replace(" ", "").split(",") if size]
            return filled(*shape, dtype=as_dtype(match[1]))
        value = ast.literal_eval(word)
        return Tensor(value) if isinstance(value, list) else value
    except AdjointError as error:
        raise UsageError(f"--args {word}: {error.problem}. {error.help}".rstrip(". ")) from None
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        problem = "expected a type such as f32[3,4], or a value such as 0.5"
        raise UsageError(f"--args {word[:60]}: {problem}") from None


def _implied(parameter: inspect.Parameter, filled: Callable[..., Tensor]) -> Any:
    """What the annotation or the default says."""
    note = parameter.annotation
    text = note.strip("'\"") if isinstance(note, str) else ""
    if _TYPE.fullmatch(text):
        return parsed(text, filled)
    if parameter.default is parameter.empty:
        raise UsageError(
            f"no type for {parameter.name!r}: give --args, or annotate it: "
            f'{parameter.name}: "f32[3,4]"'
        )
    default = parameter.default
    return Tensor(default) if isinstance(default, np.ndarray) else default
