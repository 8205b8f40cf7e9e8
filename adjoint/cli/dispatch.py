"""Dispatch of the command line: which command, how its errors look, the exit code.

A command is a module of this package with `EXAMPLES` (lines of its help), `add_arguments(parser)`
and `run(options)`. It is loaded on demand, so that `adjoint --help` loads none of the compiler.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import adjoint
from adjoint import config, start
from adjoint.cli.exits import FAILED, NO_READER, WRONG_USAGE, UsageError
from adjoint.cli.parser import Parser, parser
from adjoint.errors import AdjointError, ArgumentError, DeviceError, did_you_mean

COMMANDS = {
    "doctor": "look at this installation: devices, caches, libraries, a smoke test, what to fix",
    "train": "run an example by its name, or a script, with progress and checkpoints",
    "view": "look into a program: its graphs, passes, kernels and runs, as a page for a browser",
    "runs": "list the runs that were watched, and compare them on a page",
    "launch": "run a program as many processes, by MPI",
    "grad": "print the gradient of a Python function as a Core module",
    "core": "Core modules: check, print, differentiate, run",
    "bench": "measure this machine in a few seconds: products, bandwidth, overheads, a step",
    "cache": "list or clear the compiled code that is kept on disk",
    "completion": "print a completion script for a shell",
}
_EXAMPLES = """\
  adjoint doctor
  adjoint train digits_cnn
  adjoint grad model.py:loss --args "f32[3,4]" "f32[4]"
  adjoint train --help"""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    try:
        start.ready()
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # as every module's text is
        code = run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        code = start.INTERRUPTED
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
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0].startswith("-"):
        top = top_parser()
        top.parse_args(words)
        top.print_help(sys.stderr)
        return WRONG_USAGE
    name, *rest = words
    if name not in COMMANDS:
        hint = did_you_mean(name, COMMANDS) or f"commands: {', '.join(COMMANDS)}"
        print(f"error: no command {name!r}; {hint}", file=sys.stderr)
        return WRONG_USAGE
    return _run_command(name, rest)


def _run_command(name: str, words: list[str]) -> int:
    module = command_module(name)
    own, passed_on = _divided(words) if getattr(module, "PASSES_ON", False) else (words, [])
    options = command_parser(name).parse_args(own)
    options.passed_on = passed_on
    try:
        if name != "doctor":
            _check_switches()
        return int(module.run(options))
    except UsageError as error:
        return _wrong_usage(error, options)
    except AdjointError as error:
        return _show_error(error, options, FAILED)
    except MemoryError:
        problem = "the module needs more memory than there is"
        return _show_error(DeviceError("E6004", problem), options, FAILED)


def _divided(words: list[str]) -> tuple[list[str], list[str]]:
    """What stands before and behind the first `--`."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def _check_switches() -> None:
    for option in config.OPTIONS:
        try:
            option.value()
        except ArgumentError as error:
            raise UsageError(error) from None


def _wrong_usage(error: UsageError, options: argparse.Namespace) -> int:
    if isinstance(error.problem, AdjointError):
        return _show_error(error.problem, options, WRONG_USAGE)
    print(f"error: {error.problem}", file=sys.stderr)
    return WRONG_USAGE


def _show_error(error: AdjointError, options: argparse.Namespace, code: int) -> int:
    file = getattr(options, "file", "")
    shown = "<stdin>" if file == "-" else file
    if getattr(options, "json", False):
        print(json.dumps(error.as_json(shown)))
    else:
        print(error.render(shown), file=sys.stderr)
    return code


# ---- parsers


def top_parser() -> Parser:
    """The parser of what stands before a command."""
    lines = [f"  {name:<12}{what}" for name, what in COMMANDS.items()]
    text = "\n".join([(adjoint.__doc__ or "").splitlines()[0], "", "commands:", *lines])
    usage = "adjoint [-h] [--version] COMMAND ..."
    top = parser("adjoint", text, _EXAMPLES, usage=usage)
    top.add_argument("--version", action="version", version=f"adjoint {adjoint.__version__}")
    return top


def command_parser(name: str) -> Parser:
    """The parser of what stands behind a command."""
    module = command_module(name)
    made = parser(f"adjoint {name}", f"{COMMANDS[name]}.", module.EXAMPLES)
    module.add_arguments(made)
    return made


def command_module(name: str) -> Any:
    """The module of a command."""
    return import_module(f"adjoint.cli.{name}")
