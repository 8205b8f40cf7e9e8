"""The command line: `adjoint core check|fmt|canon|grad|run|conformance`.

What may live here: arguments, reading files, printing, exit codes. What may not: anything a Python
program might want to call; that lives in the packages below.

Exit codes: 0 fine, 1 the module (or the corpus) has an error, 2 wrong usage, 130 interrupted,
141 nobody reads the output any more.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

import adjoint
from adjoint.errors import AdjointError, DeviceError, did_you_mean
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
from adjoint.transforms.core import run as run_module

OK, WRONG_MODULE, WRONG_USAGE, INTERRUPTED, NO_READER = 0, 1, 2, 130, 141
_EXITS = "exit codes: 0 fine, 1 the module has an error, 2 wrong usage"


class UsageError(Exception):
    """The command line asks for something that cannot be done."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # as every module's text is
        code = run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = _abandon_output(NO_READER)
    except OSError as error:
        print(f"error: cannot write: {error.strerror}", file=sys.stderr)
        code = _abandon_output(WRONG_USAGE)
    sys.exit(code)


def _abandon_output(code: int) -> int:
    """Python flushes stdout once more at exit: give it somewhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG_USAGE
    except AdjointError as error:
        return _show_error(error, options)
    except MemoryError:
        return _show_error(
            DeviceError("E6004", "the module needs more memory than there is"), options
        )


def _show_error(error: AdjointError, options: argparse.Namespace) -> int:
    if options.json:
        print(json.dumps(error.as_json(_shown_name(options.file))))
    else:
        print(error.render(_shown_name(options.file)), file=sys.stderr)
    return WRONG_MODULE


def _shown_name(file: str) -> str:
    return "<stdin>" if file == "-" else file


def _check(options: argparse.Namespace) -> int:
    module = _module(options)
    data = {"ok": True, "instructions": len(module.instructions), "outputs": len(module.outputs)}
    _say(options, data, "")
    return OK


def _fmt(options: argparse.Namespace) -> int:
    return _show_module(options, _module(options))


def _canon(options: argparse.Namespace) -> int:
    return _show_module(options, canonicalise(_module(options)))


def _show_module(options: argparse.Namespace, module: Module) -> int:
    _say(options, {"ir": module.text()}, module.text())
    return OK


def _grad(options: argparse.Namespace) -> int:
    module = _module(options)
    wrt = None if options.wrt is None else [_value_id(module, name) for name in options.wrt]
    result = differentiate(
        module, wrt, GradientOptions(profile=options.profile, output=options.output)
    )
    text = result.gradient_module.text()
    gradients = {str(value): gradient for value, gradient in result.gradients.items()}
    _say(options, {"gradient_module": text, "gradients": gradients}, text)
    return OK


def _run(options: argparse.Namespace) -> int:
    module = _module(options)
    values = run_module(module, _inputs(module, options), options.device)
    rows = [(f"%{i}", v, v.tolist()) for i, v in zip(module.outputs, values, strict=True)]
    data = [
        {"value": i, "dtype": v.dtype.short, "shape": v.shape, "values": _plain(numbers)}
        for i, v, numbers in rows
    ]
    _say(options, {"outputs": data}, "".join(f"{i} = {numbers}\n" for i, _, numbers in rows))
    return OK


def _plain(value: Any) -> Any:
    """What JSON can say: a complex number is a pair, what is not finite a string."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, complex):
        return [_plain(value.real), _plain(value.imag)]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _conformance(options: argparse.Namespace) -> int:
    try:
        cases = conformance_run.load(options.filter)
    except ImportError as error:
        raise UsageError(str(error)) from None
    if not cases:
        raise UsageError(f"no case of the corpus contains {options.filter!r}")
    report = conformance_run.report(cases, conformance_run.run_all(cases))
    _say(options, report, _report_text(report))
    return WRONG_MODULE if report["failed"] else OK


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


def _say(options: argparse.Namespace, data: dict[str, Any], text: str) -> None:
    print(json.dumps(data) + "\n" if options.json else text, end="")


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
    names = {i.attrs[0]: i.id for i in module.inputs}
    names |= {f"%{word}": value for value, word in module.names.items()}
    digits = name.removeprefix("%")
    if name in names:
        return int(names[name])
    if digits.isascii() and digits.isdigit():
        return int(digits)
    raise UsageError(f"--wrt {name}: no such input. {did_you_mean(name, names)}".rstrip())


def _inputs(module: Module, options: argparse.Namespace) -> dict[str, Any]:
    types = {i.attrs[0]: i.type.dtype for i in module.inputs}
    given: dict[str, Any] = {}
    for name, text in options.input:
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


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"expected NAME=FILE.npy or NAME=VALUE, got {text!r}")
    return name, value


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


_COMMANDS: dict[str, tuple[Callable[[argparse.Namespace], int], str]] = {
    "check": (_check, "verify a module"),
    "fmt": (_fmt, "print a module in its standard form (comments go)"),
    "canon": (_canon, "print the canonical form of a module"),
    "grad": (_grad, "print the gradient module"),
    "run": (_run, "run a module and print its outputs"),
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("adjoint", description=adjoint.__doc__.splitlines()[0])
    parser.add_argument("--version", action="version", version=f"adjoint {adjoint.__version__}")
    groups = parser.add_subparsers(required=True, metavar="GROUP")
    core = groups.add_parser("core", help="Core modules: check, print, differentiate, run")
    commands = core.add_subparsers(required=True, metavar="COMMAND")
    made = {name: _command(commands, name, *what) for name, what in _COMMANDS.items()}
    made["grad"].add_argument(
        "--wrt", type=_names, metavar="x,y", help="inputs or ids (default: every float input)"
    )
    made["grad"].add_argument(
        "--output", type=int, metavar="N", help="position of the output, where there are several"
    )
    made["run"].add_argument(
        "--input",
        type=_assignment,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a .npy file, or numbers such as 3 or [[1, 2], [3, 4]]",
    )
    made["run"].add_argument("--device", help="where to run (default: the default device)")
    _add_conformance(commands)
    return parser


def _command(commands: Any, name: str, command: Callable[..., int], doc: str) -> Any:
    parser = commands.add_parser(name, help=doc, description=f"{doc}.", epilog=_EXITS)
    parser.set_defaults(command=command)
    parser.add_argument("file", metavar="FILE", help="the module's text; - reads stdin")
    parser.add_argument("--profile", choices=PROFILES, default="core+g", help="default: core+g")
    parser.add_argument("--json", action="store_true", help="results and errors as JSON on stdout")
    return parser


def _add_conformance(commands: Any) -> None:
    doc = "run the conformance corpus"
    parser = commands.add_parser("conformance", help=doc, description=f"{doc}.", epilog=_EXITS)
    parser.set_defaults(command=_conformance, file="", profile="")
    parser.add_argument("--filter", default="", metavar="TEXT", help="cases that contain the text")
    parser.add_argument("--json", action="store_true", help="the report as JSON on stdout")
