"""Python programs by name: an example, a script, a module; running one as if Python did."""

from __future__ import annotations

import ast
import importlib.util
import os
import runpy
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from adjoint import examples as shipped
from adjoint.cli.exits import FAILED, OK
from adjoint.errors import AdjointError, FileError, did_you_mean

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_EXAMPLES = os.path.dirname(os.path.abspath(shipped.__file__))


@dataclass(frozen=True, slots=True)
class UserProgram:
    """What was asked for: `word`; the file it is; the module, if it is one."""

    word: str
    file: str
    module: str = ""

    @property
    def name(self) -> str:
        """A short name, good for a file."""
        return Path(self.file).stem if not self.module else self.module.rpartition(".")[2]

    @property
    def is_example(self) -> bool:
        return self.module.startswith(f"{shipped.__name__}.")


def examples() -> dict[str, str]:
    """The examples that come with Adjoint, with the first sentence of each."""
    files = sorted(Path(_EXAMPLES).glob("[!_]*.py"))
    return {file.stem: _first_line(file) for file in files}


def _first_line(file: Path) -> str:
    text = ast.get_docstring(ast.parse(file.read_bytes())) or ""
    return text.partition("\n")[0]


def find(word: str) -> UserProgram:
    """The program of that name; E9006 if there is none."""
    if word.endswith(".py") or os.sep in word or os.path.isfile(word):
        return _script(word)
    known = examples()
    if word in known:
        module = f"{shipped.__name__}.{word}"
        return UserProgram(word, os.path.join(_EXAMPLES, f"{word}.py"), module)
    file = _module_file(word)
    if file:
        return UserProgram(word, file, word)
    near = did_you_mean(word, known) or f"examples: {', '.join(known)}"
    problem = f"no example, script or module is called {word!r}"
    raise FileError("E9006", problem, help=f"{near}; `adjoint train --list` shows all")


def _script(path: str) -> UserProgram:
    try:
        with open(path, "rb"):
            return UserProgram(path, path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        folder, name = os.path.split(path)
        near = did_you_mean(name, _scripts(folder)) or "give the path of a Python script"
        raise FileError("E9006", f"cannot read the script {path}: {reason}", help=near) from None


def _scripts(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder or ".") if name.endswith(".py")]
    except OSError:
        return []


def _module_file(name: str) -> str:
    """The file of a module that can be run; nothing if there is none."""
    if not all(part.isidentifier() for part in name.split(".")):
        return ""
    look_here()
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except (ImportError, ValueError):
        return ""
    return spec.origin or "" if spec is not None else ""


def look_here() -> None:
    """Modules are found in the working directory, as `python -m` finds them."""
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


# ---- running


def execute(program: UserProgram, arguments: list[str]) -> int:
    """Run it as `__main__`; its exit code. Errors are shown as Python would show them."""
    before_argv, before_path = sys.argv, list(sys.path)
    sys.argv = [program.file, *arguments]
    try:
        if program.module:
            sys.modules.pop(program.module, None)  # it may be imported already: it runs anew
            runpy.run_module(program.module, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(program.file)))
            runpy.run_path(program.file, run_name="__main__")
        return OK
    finally:
        sys.argv, sys.path[:] = before_argv, before_path


def exit_code(exit: SystemExit) -> int:
    """The code that Python would leave with; a message is printed."""
    if exit.code is None or isinstance(exit.code, int):
        return exit.code or OK
    print(exit.code, file=sys.stderr)
    return FAILED


def show_error(error: BaseException, file: str) -> None:
    """The traceback from the first line of that file on, without what ran it."""
    lines = traceback.format_exception(type(error), error, _from_program(error, file))
    print("".join(lines), end="", file=sys.stderr)


def _from_program(error: BaseException, file: str) -> TracebackType | None:
    """Frames before the program are ours; of a coded error, so are those inside Adjoint."""
    wanted = os.path.abspath(file)
    found = error.__traceback__
    while found is not None and os.path.abspath(found.tb_frame.f_code.co_filename) != wanted:
        found = found.tb_next
    if found is None and not isinstance(error, SyntaxError):  # which says itself where it is
        return error.__traceback__
    return _outside(found) if isinstance(error, AdjointError) else found


def _outside(found: TracebackType | None) -> TracebackType | None:
    """Up to the last frame that is not inside Adjoint."""
    frames: list[Any] = []
    while found is not None:
        frames.append(found)
        found = found.tb_next
    while len(frames) > 1 and _is_ours(frames[-1].tb_frame.f_code.co_filename):
        frames.pop()
    rest = None
    for frame in reversed(frames):
        rest = TracebackType(rest, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return rest


def _is_ours(file: str) -> bool:
    inside = os.path.abspath(file).startswith(_PACKAGE + os.sep)
    return inside and not os.path.abspath(file).startswith(_EXAMPLES + os.sep)
