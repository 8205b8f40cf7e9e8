"""`adjoint grad FILE.py:FUNCTION`: the gradient of a Python function as a Core module."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from typing import Any

from adjoint.cli.exits import FAILED, OK, UsageError, add_json, names, say
from adjoint.cli.function import ARGUMENTS, CallArgument, arguments, loaded, split
from adjoint.cli.program import show_error
from adjoint.errors import AdjointError, did_you_mean
from adjoint.module import GradientOptions, Module, canonicalise, differentiate
from adjoint.module.instruction import PROFILES
from adjoint.transforms.capture import capture

EXAMPLES = f"""\
  adjoint grad model.py:loss --args "f32[4,3]" "f32[3]"
  adjoint grad model.py:loss --args x="f32[4,3]" beta=0.5 --wrt x
  adjoint grad package.module:loss --no-value --json

{ARGUMENTS}"""


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
    file, name = split(options.function)
    code, function = loaded(file, name)
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
