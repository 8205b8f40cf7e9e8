"""The loop around a training step: progress, checkpoints, Ctrl-C, resuming.

Public names only.
"""

from adjoint.training.cli_options import mesh, seed
from adjoint.training.command_line import run
from adjoint.training.interrupt import Interrupted
from adjoint.training.loop import Loop
from adjoint.training.plot_svg import save_curves
from adjoint.training.progress import Progress
from adjoint.training.runs import Run, find_runs, read_run, save_page

__all__ = [
    "Interrupted",
    "Loop",
    "Progress",
    "Run",
    "find_runs",
    "mesh",
    "read_run",
    "run",
    "save_curves",
    "save_page",
    "seed",
]
