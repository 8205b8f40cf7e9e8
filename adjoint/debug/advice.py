"""Advice on a slow step: a table whose first matching row is printed.

What may live here: conditions on one step and sentences. A sentence names what a user can do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from adjoint.engine.step_costs import StepCost
from adjoint.schedule.strategy import TILES
from adjoint.stages import ControlStep, HostStep, KernelStep, LibraryStep

_SOON = 20e-6  # seconds: a step this short is mostly begun and ended
_WELL = 0.6  # of the roofline: there is little left to gain where it is


class Advice(NamedTuple):
    """A condition, and the sentence for it."""

    when: Callable[[StepCost], bool]
    words: str


def _is(kind: type) -> Callable[[StepCost], bool]:
    return lambda row: isinstance(row.step, kind)


def _short(row: StepCost) -> bool:
    return (row.seconds or 0.0) < _SOON


def _well(row: StepCost) -> bool:
    return (row.share or 0.0) >= _WELL


def _memory(row: StepCost) -> bool:
    return row.bound == "memory"


def _moves(row: StepCost) -> bool:
    return isinstance(row.step, KernelStep) and row.flops == 0


def _multiplies(row: StepCost) -> bool:
    strategy = row.step.strategy
    return isinstance(row.step, LibraryStep) or (strategy is not None and strategy.use == TILES)


TABLE = (
    Advice(
        _is(HostStep),
        "NumPy computes it on the host; use an op that kernels can compute, or call it less often",
    ),
    Advice(
        _is(ControlStep),
        "a loop or branch; profile(loops=True) shows what takes its time inside",
    ),
    Advice(
        _short,
        "it is so short that starting it counts; larger batches, or more work in one jitted "
        "function, make that matter less",
    ),
    Advice(
        lambda row: _moves(row) and not _well(row),
        "it only moves values; a view (permute, reshape, slices) that its reader can follow, or "
        "data that lies as it is read, would save it",
    ),
    Advice(
        lambda row: _memory(row) and _well(row),
        "it runs at the memory's speed: only fewer bytes help, by a narrower dtype (autocast) or "
        "by computing it beside what makes or reads them (see fusion below)",
    ),
    Advice(
        _memory,
        "it waits for memory without filling it: operands that lie along the last axis are read "
        "faster (contiguous); lower(f)(x).kernels() shows its loops",
    ),
    Advice(
        _well,
        "it runs at the speed of arithmetic: fewer operations, a narrower dtype (autocast, "
        "native_bfloat16()) or more threads help, nothing else",
    ),
    Advice(
        _multiplies,
        "a product whose sizes do not fill the machine; larger batches do, and ADJOINT_TUNE=1 "
        "measures other ways to compute it",
    ),
    Advice(
        lambda row: True,
        "arithmetic that does not fill the lanes: larger last axes do, and functions such as exp "
        "count as one operation here though they are many",
    ),
)


def advice(row: StepCost) -> str:
    """The first that holds."""
    return next(one.words for one in TABLE if one.when(row))
