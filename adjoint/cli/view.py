"""`adjoint view script.py | FILE.py:FUNCTION | module.core | model.safetensors`: look inside."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from adjoint.cli.exits import FAILED, OK, UsageError
from adjoint.cli.function import ARGUMENTS, arguments, loaded, split
from adjoint.cli.program import execute, exit_code, find, show_error
from adjoint.debug import profile
from adjoint.errors import DeviceError, FileError, did_you_mean
from adjoint.module import parse
from adjoint.module.instruction import MAX_TEXT
from adjoint.viz.checkpoint import is_checkpoint
from adjoint.viz.page import policy
from adjoint.viz.script import collecting
from adjoint.viz.serve import PageServer
from adjoint.viz.subject import Subject, for_device, of_function, of_module
from adjoint.viz.view import View, of_checkpoint

EXAMPLES = f"""\
  adjoint view train.py                   run it; look at what it computes
  adjoint view digits_mlp -o mlp.html     an example, written to a file
  adjoint view train.py --graph step --svg > step.svg
  adjoint view model.py:loss --args "f32[4,3]" "f32[3]" --serve
  adjoint view module.core --no-open
  adjoint view model.safetensors

{ARGUMENTS}"""
PASSES_ON = True  # what stands behind `--` is for the program
FORMS = ("svg", "dot", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to look at, and where the page goes."""
    parser.usage = "adjoint view [options] WHAT [-- arguments of the program]"
    what = "a script, an example, FILE.py:FUNCTION, a Core module's file, or a checkpoint"
    parser.add_argument("what", metavar="WHAT", help=what)
    parser.add_argument(
        "--args", nargs="+", action="extend", default=[], metavar="TYPE", help="of a function"
    )
    parser.add_argument("--graph", metavar="NAME", help="of a script: this one's graph alone")
    parser.add_argument("-o", "--output", metavar="FILE", help="where it is written")
    parser.add_argument("--no-open", action="store_true", help="open no browser")
    parser.add_argument("--no-measure", action="store_true", help="run no kernel to time it")
    device = "what it would be on another: GPU, C"
    parser.add_argument("--device", metavar="NAME", help=device)
    parser.add_argument("--docs", metavar="ADDRESS", help="where pages of ops are: ADDRESS/OP/")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--serve", action="store_true", help="serve the page on this machine alone")
    form.add_argument("--svg", action="store_true", help="the graph as a drawing, on stdout")
    form.add_argument("--dot", action="store_true", help="the graph for Graphviz, on stdout")
    form.add_argument("--json", action="store_true", help="the data of the page, on stdout")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="of --serve: default any")


def run(options: argparse.Namespace) -> int:
    """Make the page."""
    code, page = _page(options)
    if page is not None:
        _put(options, page)
    return code


def _page(options: argparse.Namespace) -> tuple[int, View | None]:
    what = options.what
    if what.endswith(".safetensors") or is_checkpoint(what):
        return OK, _checkpoint(options)
    if what.endswith(".core"):
        return OK, _viewed([of_module(_module(what), Path(what).stem)], Path(what).name, options)
    if ":" in os.path.basename(what):
        return _function(options)
    return _program(options)


def _viewed(
    subjects: list[Subject], title: str, options: argparse.Namespace, ran: profile | None = None
) -> View:
    """The page; only graphs are made of what is asked for as a drawing."""
    try:
        wanted = [for_device(s, options.device) for s in _named(subjects, options.graph)]
    except DeviceError as error:
        raise UsageError(error) from None
    drawn = options.svg or options.dot
    measure = not options.no_measure and not drawn
    return View(wanted, title, compile=not drawn, measure=measure, run=ran, docs=options.docs)


def _named(subjects: list[Subject], name: str | None) -> list[Subject]:
    if name is None:
        return subjects
    found = [subject for subject in subjects if subject.name == name]
    if not found:
        names = [subject.name for subject in subjects]
        near = did_you_mean(name, names) or f"there are {', '.join(names[:20])}"
        raise UsageError(f"--graph {name}: no such graph; {near}")
    return found


def _checkpoint(options: argparse.Namespace) -> View:
    if options.svg or options.dot:
        raise UsageError("a checkpoint has no graph: its page is a table")
    try:
        return of_checkpoint(options.what)
    except FileError as error:
        raise UsageError(error) from None


def _module(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return parse(file.read(MAX_TEXT + 1))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(FileError("E9006", f"cannot read {path}: {reason}")) from None


def _function(options: argparse.Namespace) -> tuple[int, View | None]:
    file, name = split(options.what)
    code, function = loaded(file, name)
    if function is None:
        return code, None
    given = arguments(function, options.args)
    args = [a.value for a in given if a.positional]
    kwargs = {a.name: a.value for a in given if not a.positional}
    made = _guarded(lambda: of_function(function, args, kwargs), file)
    return (FAILED, None) if made is None else (OK, _viewed([made], options.what, options))


def _guarded(make: Callable[[], Subject], file: str) -> Subject | None:
    """What the user's function gives; its errors are shown as Python shows them."""
    try:
        return make()
    except Exception as error:
        show_error(error, file)
        return None


def _program(options: argparse.Namespace) -> tuple[int, View | None]:
    """Run a program and collect what it computes; what it had computed when it failed, too."""
    try:
        program = find(options.what)
    except FileError as error:
        raise UsageError(error) from None
    if program.file and _is_binary(program.file):
        known = "a script, a Core module, or a checkpoint (safetensors, torch's, GGUF)"
        raise UsageError(f"{options.what} is none that can be looked into: expected {known}")
    with collecting() as found, profile() as ran:
        try:
            code = execute(program, options.passed_on)
        except SystemExit as exit:
            code = exit_code(exit)
        except Exception as error:
            show_error(error, program.file)
            code = FAILED
    subjects = found.subjects()
    if not subjects:
        print("the program computes nothing: there is no graph to look at", file=sys.stderr)
        return code or FAILED, None
    return code, _viewed(subjects, program.name, options, ran)


def _is_binary(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return b"\0" in file.read(4096)
    except OSError:
        return False


# ---- where it goes


def _put(options: argparse.Namespace, page: View) -> None:
    form = next((form for form in FORMS if getattr(options, form)), None)
    if form is not None:
        text = {"svg": page.svg, "dot": page.dot, "json": page.json}[form]()
        _write(options, text if text.endswith("\n") else text + "\n")
    elif options.serve:
        _serve(options, page)
    elif options.output is not None:
        path = page.save(options.output)
        print(path)
        if not options.no_open:
            page.open(path)
    else:
        print(page.show(browser=not options.no_open))


def _serve(options: argparse.Namespace, page: View) -> None:
    try:
        server = PageServer(page.html(), policy(), options.port)
    except (OSError, OverflowError) as error:
        raise UsageError(f"--port {options.port}: {error}") from None
    print(server.address, flush=True)
    print("Ctrl-C ends it", file=sys.stderr)
    if not options.no_open:
        webbrowser.open(server.address)
    server.run()


def _write(options: argparse.Namespace, text: str) -> None:
    if options.output is None:
        print(text, end="")
        return
    try:
        Path(options.output).write_text(text, encoding="utf-8")
    except OSError as error:
        problem = f"cannot write {options.output}: {error.strerror}"
        raise UsageError(FileError("E9006", problem)) from None
