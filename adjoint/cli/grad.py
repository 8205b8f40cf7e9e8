"""`adjoint grad FILE.py:FUNCTION`: the gradient of a Python function as a Core module."""

from __future__ import annotations

import argparse
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

from adjoint.cli.exits import FAILED, OK, UsageError, add_json, names, say
from adjoint.cli.program import exit_code, look_here, show_error
from adjoint.errors import AdjointError, FileError, did_you_mean
from adjoint.ir.dtype import as_dtype
from adjoint.module import GradientOptions, Module, canonicalise, differentiate
from adjoint.module.instruction import PROFILES
from adjoint.tensor import Tensor
from adjoint.transforms.capture import capture

EXAMPLES = """\
  adjoint grad model.py:loss --args "f32[4,3]" "f32[3]"
  adjoint grad model.py:loss --args x="f32[4,3]" beta=0.5 --wrt x
  adjoint grad package.module:loss --no-value --json

An argument is a type (f32[4,3], f64[]) or a value that is not differentiated (3, 0.5, "text");
without one, a parameter's annotation ("f32[4,3]") or its default says it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The function, its arguments, and what to print."""
    parser.add_argument("function", metavar="FILE.py:FUNCTION", help="or package.module:FUNCTION")
    parser.add_argument(
        "--args", nargs="+", action="extend", default=[], metavar="TYPE", help="types of arguments"
    )
    parser.add_argument("--wrt", type=names, metavar="x,y", help="default: every float argument")
    parser.add_argument(
        "--value", action=argparse.BooleanOptionalAction, default=True, help="also give the value"
    )
    parser.add_argument("--profile", choices=PROFILES, default="core+g", help="default: core+g")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print the gradient module."""
    file, name = _split(options.function)
    code, function = _loaded(file, name)
    if function is None:
        return code
    found = arguments(function, options.args)
    try:
        module = _captured(function, found)
    except UsageError:
        raise
    except Exception as error:
        if options.json and isinstance(error, AdjointError):
            raise
        show_error(error, getattr(getattr(function, "__code__", None), "co_filename", file))
        return FAILED
    _print(options, module, _targets(module, options.wrt))
    return OK


def _split(text: str) -> tuple[str, str]:
    file, colon, name = text.rpartition(":")
    if not (colon and file and name):
        raise UsageError(f"expected FILE.py:FUNCTION or module:FUNCTION, got {text!r}")
    return file, name


# ---- the function


def _loaded(file: str, name: str) -> tuple[int, Callable[..., Any] | None]:
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


# ---- the module


def _captured(function: Callable[..., Any], found: list[CallArgument]) -> Module:
    """The function as a module of those of its arguments that are tensors."""
    tensors = [a for a in found if a.is_tensor]
    if not tensors:
        raise UsageError("no argument is a tensor; give types: --args 'f32[3,4]'")

    def of_tensors(*values: Any) -> Any:
        given = {a.name: a.value for a in found} | dict(
            zip((a.name for a in tensors), values, strict=True)
        )
        positional = [given[a.name] for a in found if a.positional]
        return function(*positional, **{a.name: given[a.name] for a in found if not a.positional})

    kinds = inspect.Parameter.POSITIONAL_ONLY
    of_tensors.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(a.name, kinds) for a in tensors]
    )
    of_tensors.__name__ = getattr(function, "__name__", "function")
    return capture(of_tensors, *(a.value for a in tensors))


def _targets(module: Module, wrt: list[str] | None) -> list[str] | None:
    known = [ins.attrs[0] for ins in module.inputs]
    for name in wrt or ():
        if name not in known:
            hint = did_you_mean(name, known) or f"arguments: {', '.join(known)}"
            raise UsageError(f"--wrt {name}: no such argument; {hint}")
    return wrt


def _print(options: argparse.Namespace, module: Module, wrt: list[str] | None) -> None:
    result = differentiate(module, wrt, GradientOptions(profile=options.profile))
    whole = result.gradient_module
    ids = {ins.attrs[0]: ins.id for ins in whole.inputs}
    wanted = [n for n in ids if (n in wrt if wrt else ids[n] in result.gradients)]
    gradients = {name: result.gradients[ids[name]] for name in wanted}
    if not options.value:
        whole, gradients = _gradients_only(whole, gradients)
    shown = {name: f"%{value}" for name, value in gradients.items()}
    data = {"gradient_module": whole.text(), "gradients": shown}
    if options.value:
        data["value"] = f"%{whole.outputs[0]}"
    say(options, data, whole.text())


def _gradients_only(whole: Module, gradients: dict[str, int]) -> tuple[Module, dict[str, int]]:
    short = canonicalise(whole.with_outputs(gradients.values()))
    return short, dict(zip(gradients, short.outputs, strict=True))


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


def arguments(function: Callable[..., Any], words: list[str]) -> list[CallArgument]:
    """A value for every parameter that needs one."""
    parameters = _parameters(function, words)
    named, positional = _divided(words, parameters)
    found: list[CallArgument] = []
    for parameter in parameters:
        by_place = parameter.kind is not parameter.KEYWORD_ONLY
        if parameter.name in named:
            value = parsed(named[parameter.name])
        elif positional and by_place:
            value = parsed(positional.pop(0))
        else:
            value = _implied(parameter)
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
