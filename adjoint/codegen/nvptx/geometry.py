"""The mapping of a kernel's pieces to threads: the renderer decides it, and a launch must know it.

A *team* is the threads that work on one iteration of the grid: one thread, or as many as the lanes
of its loops are spread over. Small teams share a block. The numbers are part of the text, as
metadata, so that a program from disk has them too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from adjoint.ir.dtype import dtypes
from adjoint.ir.kernel_kind import IF, LOAD, RANGE
from adjoint.ir.sizes import highest, varies
from adjoint.ir.uop import toposort
from adjoint.stages import LoopProgram, Source

WARP = 32
_BLOCK = 256  # threads of a block of teams of one
_TEAMS = 128  # of a block of small teams
_FEW = 1 << 15  # pieces, below which blocks are smaller so that all processors have some
_WAITING = 4  # pieces of a thread that waits for indices
_LONG = 24  # ops on floats that take long
_FEW_LANES, _FEW_LOADS = 4, 2  # of which registers hold twice as many
_ENOUGH = 256  # blocks, so that all processors have some
_MARK = "adjoint.geometry"
_READ = re.compile(rf"!{_MARK}\.numbers = !\{{!\d+\}}\n!\d+ = !\{{([^}}]*)\}}")


class Geometry(NamedTuple):
    """Threads that share a piece, pieces of a block at a time, lanes of the grid that are a piece,
    bytes of shared memory of a block, and how often a block does so many pieces."""

    team: int
    pieces: int
    lanes: int
    shared: int = 0
    turns: int = 1

    @property
    def threads(self) -> int:
        """Of a block."""
        return self.team * self.pieces

    def blocks(self, extent: int) -> int:
        """For so many iterations of the grid."""
        return -(-extent // (self.lanes * self.pieces * self.turns))

    def text(self, number: int) -> list[str]:
        """As metadata of a module."""
        values = ", ".join(f"i32 {n}" for n in self)
        return [f"!{_MARK}.numbers = !{{!{number}}}", f"!{number} = !{{{values}}}"]


def geometry_of(program: LoopProgram) -> Geometry:
    """For a program as the lowering wrote it; shared memory comes when it is rendered."""
    grid = program.grid
    if grid is None:
        return Geometry(max(program.threads, 1), 1, 1)
    lanes, pieces = int(grid.arg.lanes), -(-highest(grid.arg.size) // int(grid.arg.lanes))
    if program.threads > WARP:
        return Geometry(program.threads, 1, lanes)
    if program.threads > 1:
        return Geometry(program.threads, _TEAMS // program.threads, lanes)
    if pieces < _FEW:
        return Geometry(1, WARP, lanes)
    return Geometry(1, _BLOCK, lanes, turns=_turns(program, lanes * _BLOCK))


def _turns(program: LoopProgram, together: int) -> int:
    """How many pieces a thread does, if there are whole ones for all, and enough."""
    grid = program.grid
    assert grid is not None
    wanted, size = _pieces_of_a_thread(program), grid.arg.size
    if varies(size) or size % (together * wanted) or size < _ENOUGH * together * wanted:
        return 1
    return wanted


def _pieces_of_a_thread(program: LoopProgram) -> int:
    """Several if it waits for an index before a load: one latency covers all. Two if it computes
    for long, if registers suffice: one loads meanwhile.
    """
    if sum(n.op.kernel in (RANGE, IF) for n in program.body) > 1:
        return 1
    loads = [n for n in program.body if n.op.kernel is LOAD]
    waits = any(n.op.kernel is LOAD for n in toposort([n.src[1] for n in loads]))
    if waits:
        return _WAITING
    lanes = 1 if program.grid is None else int(program.grid.arg.lanes)
    floats = sum(n.dtype is dtypes.float32 and bool(n.src) for n in program.body)
    light = lanes <= _FEW_LANES and len(loads) <= _FEW_LOADS
    return 2 if floats >= _LONG and light else 1


def read_geometry(source: Source) -> Geometry:
    """The geometry in the text of a kernel."""
    found = _READ.search(source.text)
    assert found is not None, source.name
    return Geometry(*(int(part.split()[1]) for part in found[1].split(",")))


def kernel_name(name: str) -> str:
    """The name of a kernel as PTX takes it."""
    return "k_" + "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
