"""The loop around a training step: progress, checkpoints, Ctrl-C, resuming.

Public names only.
"""

from adjoint.training.cli_options import seed
from adjoint.training.command_line import run
from adjoint.training.interrupt import Interrupted
from adjoint.training.loop import Loop
from adjoint.training.plot_svg import save_curves
from adjoint.training.progress import Progress

__all__ = ["Interrupted", "Loop", "Progress", "run", "save_curves", "seed"]
