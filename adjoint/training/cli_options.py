"""Options of the command line for the loops of the program that it runs.

`adjoint train NAME --steps 100 --resume FILE` runs a program that knows nothing of these options;
its loops find them here.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from adjoint.ir.mesh import Mesh
from adjoint.tensor import Tensor
from adjoint.training.runs.watch import Watch


@dataclass(slots=True)
class RunOptions:
    """Options of a run; None leaves it to the program."""

    name: str = ""  # what to call the run: of an example, or the path of a script
    command: tuple[str, ...] = ()  # that runs it again
    arguments: tuple[str, ...] = ()  # for the script itself
    steps: int | None = None
    seed: int | None = None
    resume: str | None = None
    checkpoint: str | None = None
    quiet: bool = False
    watch: str | None = None  # a folder for the logs and pages of loops
    tensorboard: bool = False  # event files there, too
    mesh: dict[str, int] | None = None  # sizes of its axes
    microbatches: int | None = None  # of a mesh with stages
    schedule: str | None = None  # of these
    meshes: int = 0  # asked for so far
    by_default: bool = False  # no command line said anything
    loops: int = 0  # begun so far
    shortened: bool = False  # whether a loop was given fewer steps than it asked for
    history: dict[str, Any] = field(default_factory=dict)  # of the last loop that ended
    watched: list[Watch] = field(default_factory=list)  # of the loops that have begun

    def resume_command(self, path: str) -> str:
        """What a person types to go on from a checkpoint."""
        if not self.command and not sys.argv[0]:
            return f"Loop(..., resume={path!r})"
        again = self.command or ("adjoint", "train", program_name())
        rest = ("--", *self.arguments) if self.arguments else ()
        return shlex.join([*again, "--resume", path, *rest])


def program_name() -> str:
    """The module or the script that runs."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec.name if spec is not None else sys.argv[0]


_current: ContextVar[RunOptions | None] = ContextVar("adjoint_training", default=None)


def is_set() -> bool:
    """Whether a command line runs this."""
    found = _current.get()
    return found is not None and not found.by_default


def current() -> RunOptions:
    """The options of this run; the defaults if no command line runs it."""
    found = _current.get()
    if found is None:
        found = RunOptions(by_default=True)
        _current.set(found)
    return found


@contextmanager
def use(context: RunOptions) -> Iterator[RunOptions]:
    """Loops inside find these options."""
    token = _current.set(context)
    try:
        yield context
    finally:
        _current.reset(token)


def seed(default: int = 0) -> int:
    """Seed the random numbers of tensors: with `--seed` where there is one, else with `default`.

    Returns the seed, for loaders and for NumPy.
    """
    asked = current().seed
    number = default if asked is None else asked
    Tensor.manual_seed(number)
    return number


def mesh() -> Mesh | None:
    """The mesh of `--mesh`, or None: the program decides what it lays out there."""
    context = current()
    context.meshes += 1
    if context.mesh is None:
        return None
    return Mesh(context.mesh, microbatches=context.microbatches, schedule=context.schedule)
