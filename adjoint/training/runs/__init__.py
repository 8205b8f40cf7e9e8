"""Runs that are kept: a folder each with a log, a page that follows it, and event files if asked.

Public names only.
"""

from adjoint.training.runs.log import Run, find_runs, read_run
from adjoint.training.runs.page import save_page
from adjoint.training.runs.watch import Watch

__all__ = ["Run", "Watch", "find_runs", "read_run", "save_page"]
