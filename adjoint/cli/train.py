"""`adjoint train NAME|script.py|module`: run a program with progress, checkpoints and resuming."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

from adjoint.cli.exits import FAILED, OK, UsageError, add_json, say
from adjoint.cli.program import UserProgram, examples, execute, exit_code, find, show_error
from adjoint.distributed import is_main
from adjoint.errors import FileError
from adjoint.nn.state.sharded_checkpoint import is_checkpoint_folder
from adjoint.training.cli_options import RunOptions, use
from adjoint.training.command_line import add_options, options_of, prepare
from adjoint.training.loop import check_place

EXAMPLES = """\
  adjoint train --list
  adjoint train digits_cnn --seed 1
  adjoint train gpt --device GPU --watch
  adjoint train digits_cnn --resume digits_cnn.ckpt
  adjoint train my_script.py --steps 200 --threads 2 -- --learning-rate 0.1

Ctrl-C saves a checkpoint after the step and says how to resume; twice leaves at once. --steps,
--resume and --checkpoint reach the program's `adjoint.training.Loop`s, --seed reaches
`adjoint.training.seed()`. --watch writes runs/NAME-TIME/index.html, which follows the run in a
browser; `adjoint runs` lists such runs and compares them."""
PASSES_ON = True  # what stands behind `--` is for the program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The program and the options of its loops."""
    parser.usage = "adjoint train [options] PROGRAM [-- arguments of the program]"
    parser.add_argument(
        "program", metavar="PROGRAM", nargs="?", help="an example, a script's path, or a module"
    )
    parser.add_argument("--list", action="store_true", help="list the examples")
    add_options(parser)
    add_json(parser, "with --list: the list")


def run(options: argparse.Namespace) -> int:
    """Run the program, or list what there is."""
    if options.list:
        return _list(options)
    if options.program is None:
        raise UsageError("which program? `adjoint train --list` shows the examples")
    program, context = _found(options)
    prepare(options)
    with use(context), _output():
        return _trained(program, context, options)


@contextmanager
def _output() -> Iterator[None]:
    """What a program of many processes prints, the first of them prints."""
    if is_main():
        yield
        return
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        yield


def _list(options: argparse.Namespace) -> int:
    found = examples()
    widest = max(map(len, found), default=0)
    text = "".join(f"{name:<{widest}}  {doc}\n" for name, doc in found.items())
    say(options, [{"name": name, "about": doc} for name, doc in found.items()], text)
    return OK


def _found(options: argparse.Namespace) -> tuple[UserProgram, RunOptions]:
    """The program and its options, or wrong usage before anything runs."""
    try:
        program = find(options.program)
        if options.resume is not None:
            _check_readable(options.resume)
        if options.checkpoint is not None:
            check_place(options.checkpoint)
    except FileError as error:
        raise UsageError(error) from None
    arguments = tuple(options.passed_on)
    return program, options_of(options, options.program, program.name, arguments)


def _check_readable(path: str) -> None:
    if is_checkpoint_folder(path):
        return
    try:
        with open(path, "rb"):
            return
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        help = "give the file that an interrupted run named"
        raise FileError(
            "E9006", f"cannot read the checkpoint {path}: {reason}", help=help
        ) from None


def _trained(program: UserProgram, context: RunOptions, options: argparse.Namespace) -> int:
    try:
        code = execute(program, options.passed_on)
    except KeyboardInterrupt:
        _tell_pages(context, "stopped")
        raise
    except SystemExit as exit:
        code = exit_code(exit)
        if code != OK:
            _tell_pages(context, "failed", f"it left with exit code {code}")
    except BrokenPipeError:
        raise
    except AssertionError as error:
        code = _failed_assertion(error, program, context)
    except Exception as error:
        _tell_pages(context, "failed", f"{type(error).__name__}: {error}")
        show_error(error, program.file)
        code = FAILED
    _warn_unused(context, options, code)
    return code


def _tell_pages(context: RunOptions, state: str, error: str = "") -> None:
    """How the program ended is how a loop did that was left without a word."""
    for watched in context.watched:
        if watched.run.state == "left early":
            watched.end(state, error)


def _failed_assertion(error: AssertionError, program: UserProgram, context: RunOptions) -> int:
    """What an example promises, it promises for all of its steps."""
    if not (program.is_example and context.shortened):
        show_error(error, program.file)
        return FAILED
    print(
        f"note: {context.steps} steps are fewer than {program.name} asks for; "
        f"its own check of the result does not hold: {error or 'assertion'}",
        file=sys.stderr,
    )
    return OK


def _warn_unused(context: RunOptions, options: argparse.Namespace, code: int) -> None:
    given = ("steps", "resume", "checkpoint", "runs")
    unused = [f"--{name}" for name in given if getattr(options, name) is not None]
    unused += [f"--{name}" for name in ("watch", "tensorboard") if getattr(options, name)]
    if unused and not context.loops and code == OK:
        print(
            f"warning: {', '.join(unused)} had no effect: the program has no adjoint.training.Loop",
            file=sys.stderr,
        )
    if options.mesh is not None and not context.meshes and code == OK:
        print(
            "warning: --mesh had no effect: the program does not ask for adjoint.training.mesh()",
            file=sys.stderr,
        )
