"""`adjoint core check|fmt|canon|grad|run|conformance`: what is done with Core modules."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.cli.exits import FAILED, OK, UsageError, add_json, names, plain, say
from adjoint.cli.parser import add_subparser, subparsers
from adjoint.errors import did_you_mean
from adjoint.ir.dtype import DType
from adjoint.module import (
    GradientOptions,
    Module,
    canonicalise,
    conformance_run,
    differentiate,
    parse,
)
from adjoint.module.instruction import MAX_TEXT, PROFILES
from adjoint.transforms.capture import run as run_module

EXAMPLES = """\
  adjoint core check model.core
  adjoint core grad model.core --wrt w,b | adjoint core run - --input w=w.npy --input b=0
  adjoint core conformance --json"""


def run(options: argparse.Namespace) -> int:
    """Run the command of `core` that was asked for."""
    return int(options.command(options))


def _check(options: argparse.Namespace) -> int:
    module = _module(options)
    data = {"ok": True, "instructions": len(module.instructions), "outputs": len(module.outputs)}
    say(options, data, "")
    return OK


def _fmt(options: argparse.Namespace) -> int:
    return _show_module(options, _module(options))


def _canon(options: argparse.Namespace) -> int:
    return _show_module(options, canonicalise(_module(options)))


def _show_module(options: argparse.Namespace, module: Module) -> int:
    say(options, {"ir": module.text()}, module.text())
    return OK


def _grad(options: argparse.Namespace) -> int:
    module = _module(options)
    wrt = None if options.wrt is None else [_value_id(module, name) for name in options.wrt]
    result = differentiate(
        module, wrt, GradientOptions(profile=options.profile, output=options.output)
    )
    text = result.gradient_module.text()
    gradients = {str(value): gradient for value, gradient in result.gradients.items()}
    say(options, {"gradient_module": text, "gradients": gradients}, text)
    return OK


def _run(options: argparse.Namespace) -> int:
    module = _module(options)
    values = run_module(module, inputs(module, options.input), options.device)
    rows = [(f"%{i}", v, v.tolist()) for i, v in zip(module.outputs, values, strict=True)]
    data = [
        {"value": i, "dtype": v.dtype.short, "shape": v.shape, "values": plain(numbers)}
        for i, v, numbers in rows
    ]
    say(options, {"outputs": data}, "".join(f"{i} = {numbers}\n" for i, _, numbers in rows))
    return OK


def _conformance(options: argparse.Namespace) -> int:
    try:
        cases = conformance_run.load(options.filter)
    except ImportError as error:
        raise UsageError(str(error)) from None
    if not cases:
        raise UsageError(f"no case of the corpus contains {options.filter!r}")
    report = conformance_run.report(cases, conformance_run.run_all(cases))
    say(options, report, _report_text(report))
    return FAILED if report["failed"] else OK


def _report_text(report: dict[str, Any]) -> str:
    failures = [
        f"FAILED {f['name']}: {f['description']}\n{f['reason']}" for f in report["failures"]
    ]
    counts = [
        f"{name:<16} {count['passed']:>4} passed {count['failed']:>4} failed"
        for name, count in report["categories"].items()
    ]
    total = f"{'all':<16} {report['passed']:>4} passed {report['failed']:>4} failed"
    return "\n".join([*failures, *counts, total, ""])


def _module(options: argparse.Namespace) -> Module:
    """The module of the file, verified."""
    return parse(_read(options.file), profile=options.profile)


def _read(file: str) -> bytes:
    """The bytes of the file; not many more than a module may have."""
    most = 4 * MAX_TEXT + 1  # a character is at most four bytes
    try:
        if file == "-" and sys.stdin is None:
            raise ValueError("it is closed")
        if file == "-":
            return sys.stdin.buffer.read(most)
        with open(file, "rb") as stream:
            return stream.read(most)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot read {file}: {reason}") from None


def _value_id(module: Module, name: str) -> int:
    """The id that `x`, `3` or `%3` stands for: an input's name, or an id."""
    known = {i.attrs[0]: i.id for i in module.inputs}
    known |= {f"%{word}": value for value, word in module.names.items()}
    digits = name.removeprefix("%")
    if name in known:
        return int(known[name])
    if digits.isascii() and digits.isdigit():
        return int(digits)
    raise UsageError(f"--wrt {name}: no such input. {did_you_mean(name, known)}".rstrip())


_COMMANDS: dict[str, tuple[Callable[[argparse.Namespace], int], str]] = {
    "check": (_check, "verify a module"),
    "fmt": (_fmt, "print a module in its standard form (comments go)"),
    "canon": (_canon, "print the canonical form of a module"),
    "grad": (_grad, "print the gradient module"),
    "run": (_run, "run a module and print its outputs"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The commands of `core` and their options."""
    commands = subparsers(parser)
    made = {name: _command(commands, name, *what) for name, what in _COMMANDS.items()}
    made["grad"].add_argument(
        "--wrt", type=names, metavar="x,y", help="inputs or ids (default: every float input)"
    )
    made["grad"].add_argument(
        "--output", type=int, metavar="N", help="position of the output, where there are several"
    )
    made["run"].add_argument(
        "--input",
        type=assignment,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a .npy file, or numbers such as 3 or [[1, 2], [3, 4]]",
    )
    made["run"].add_argument("--device", help="where to run (default: the default device)")
    _add_conformance(commands)


def _command(commands: Any, name: str, command: Callable[..., int], doc: str) -> Any:
    parser = add_subparser(commands, name, doc)
    parser.set_defaults(command=command)
    parser.add_argument("file", metavar="FILE", help="the module's text; - reads stdin")
    parser.add_argument("--profile", choices=PROFILES, default="core+g", help="default: core+g")
    add_json(parser)
    return parser


def _add_conformance(commands: Any) -> None:
    parser = add_subparser(commands, "conformance", "run the conformance corpus")
    parser.set_defaults(command=_conformance, file="", profile="")
    parser.add_argument("--filter", default="", metavar="TEXT", help="cases that contain the text")
    add_json(parser, "the report")


def inputs(module: Module, words: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """A value for every input of the module."""
    types = {i.attrs[0]: i.type.dtype for i in module.inputs}
    given: dict[str, Any] = {}
    for name, text in words:
        if name in given:
            raise UsageError(f"--input {name} is given twice")
        if name not in types:
            hint = did_you_mean(name, types)
            raise UsageError(f"--input {name}: the module has no such input. {hint}".rstrip())
        given[name] = _array(name, text, types[name])
    missing = [name for name in types if name not in given]
    if missing:
        raise UsageError(f"no value for {', '.join(missing)}: give --input {missing[0]}=...")
    return given


def _array(name: str, text: str, wanted: DType) -> Any:
    """The array of a .npy file, or of a literal in the dtype of the input."""
    try:
        if text.endswith(".npy"):
            return np.load(text, allow_pickle=False)
        return _fitting(np.array(json.loads(text)), wanted)
    except (OSError, ValueError, EOFError, OverflowError, RecursionError) as error:
        raise UsageError(f"--input {name}: {error}") from None


def _fitting(array: Any, wanted: DType) -> Any:
    kinds = "biufc"
    if array.dtype.kind not in kinds or kinds.index(array.dtype.kind) > kinds.index(wanted.kind):
        raise ValueError(f"the values are no numbers of {wanted.short}")
    if wanted.is_int and array.size and not wanted.min <= array.min() <= array.max() <= wanted.max:
        raise ValueError(f"{wanted.short} goes from {wanted.min} to {wanted.max}")
    return array.astype(wanted.np)


def assignment(text: str) -> tuple[str, str]:
    """The name and the value of `NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"expected NAME=FILE.npy or NAME=VALUE, got {text!r}")
    return name, value
