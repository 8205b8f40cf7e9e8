"""The command line: `adjoint core check|fmt|canon|grad|run|conformance`.

What may live here: arguments, reading files, printing, exit codes. What may not: anything a Python
program might want to call; that lives in the packages below.

Exit codes: 0 fine, 1 the module (or the corpus) has an error, 2 wrong usage, 130 interrupted,
141 nobody reads the output any more.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

import adjoint
from adjoint.errors import AdjointError, DeviceError, did_you_mean
from adjoint.module import (
    GradientOptions,
    Module,
    canonicalise,
    conformance_run,
    differentiate,
    parse,
    verify,
)
from adjoint.module.instruction import MAX_TEXT, PROFILES

OK, WRONG_MODULE, WRONG_USAGE, INTERRUPTED, NO_READER = 0, 1, 2, 130, 141
_EXITS = "exit codes: 0 fine, 1 the module has an error, 2 wrong usage"


class UsageError(Exception):
    """The command line asks for something that cannot be done."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    try:
        code = run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        # Python flushes stdout once more at exit: give it somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = NO_READER
    sys.exit(code)


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
    result = differentiate(module, wrt, GradientOptions(profile=options.profile))
    text = result.gradient_module.text()
    gradients = {str(value): gradient for value, gradient in result.gradients.items()}
    _say(options, {"gradient_module": text, "gradients": gradients}, text)
    return OK


def _run(options: argparse.Namespace) -> int:
    module = _module(options)
    values = [np.asarray(v.numpy()) for v in module.run(_inputs(module, options), options.device)]
    rows = list(zip(module.outputs, values, strict=True))
    data = [
        {"id": i, "dtype": str(v.dtype), "shape": v.shape, "values": v.tolist()} for i, v in rows
    ]
    _say(options, {"outputs": data}, "".join(f"%{i} = {v.tolist()}\n" for i, v in rows))
    return OK


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
    sys.stdout.write(json.dumps(data) + "\n" if options.json else text)


def _module(options: argparse.Namespace) -> Module:
    """The module of the file, verified."""
    module = parse(_read(options.file), profile=options.profile)
    verify(module)
    return module


def _read(file: str) -> bytes:
    """The bytes of the file; not many more than a module may have."""
    most = 4 * MAX_TEXT + 1  # a character is at most four bytes
    try:
        if file == "-":
            return sys.stdin.buffer.read(most)
        with open(file, "rb") as stream:
            return stream.read(most)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot read {file}: {reason}") from None


def _value_id(module: Module, name: str) -> int:
    """The id that `x`, `3` or `%3` stands for: an input's name, or an id."""
    names = {i.attrs.name: i.id for i in module.instructions if i.opcode == "Input"}
    digits = name.removeprefix("%")
    if name in names:
        return int(names[name])
    if digits.isascii() and digits.isdigit():
        return int(digits)
    raise UsageError(f"--wrt {name}: no such input. {did_you_mean(name, names)}".rstrip())


def _inputs(module: Module, options: argparse.Namespace) -> dict[str, Any]:
    types = {i.attrs.name: i.type for i in module.instructions if i.opcode == "Input"}
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


def _array(name: str, text: str, wanted: Any) -> Any:
    """The array of a .npy file, or of a literal in the dtype of the input."""
    try:
        if text.endswith(".npy"):
            return np.load(text, allow_pickle=False)
        array = np.array(json.loads(text))
        if not np.can_cast(array.dtype, wanted.dtype.np, "same_kind"):
            raise ValueError(f"{array.dtype} values for an input of {wanted.dtype.short}")
        return array.astype(wanted.dtype.np)
    except (OSError, ValueError, EOFError, OverflowError, RecursionError) as error:
        raise UsageError(f"--input {name}: {error}") from None


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
