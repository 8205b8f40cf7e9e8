"""From a loop program to LLVM IR for an NVIDIA GPU, as text.

The kernel takes its buffers, variables and parameters, and the size of the grid. A thread does one
piece of the grid (`threads.py`), or a team of threads does (`teams.py`): the program says.
"""

from __future__ import annotations

from adjoint.codegen.nvptx.teams import TeamRenderer
from adjoint.codegen.nvptx.threads import ThreadRenderer
from adjoint.stages import LoopProgram, Source

LANGUAGE = "nvptx"


def render(program: LoopProgram) -> Source:
    """The program as LLVM IR."""
    walk = ThreadRenderer(program) if program.threads == 1 else TeamRenderer(program)
    walk.start()
    walk.block(walk.nest.root)
    return Source(LANGUAGE, program.name, walk.text())
