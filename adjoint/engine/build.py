"""A graph → a program that can run: the door to the compiler, which is loaded with this module.

What may live here: that one way. What may not: stages of the compiler, or finding programs again.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjoint import config
from adjoint.engine.pipeline import compile_graph
from adjoint.engine.program import Program
from adjoint.ir.uop import UOp


def build(outputs: Sequence[UOp], parameters: Sequence[UOp]) -> Program:
    """The program of a closed graph; its stages are printed if `ADJOINT_SHOW` asks for them."""
    schedule = compile_graph(outputs, parameters)
    if config.SHOW.value():
        from adjoint.engine import explain  # with all the languages it can show

        explain.announce(outputs, schedule)
    return Program(schedule)
