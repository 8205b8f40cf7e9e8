"""Running native programs: tables of steps that one native call works through.

A step is a tuple of 64-bit numbers: a kind of `pool_ir.py`, then what the kind needs. Steps of the
program come first; the bodies of loops and branches lie behind them in the same table.

    (KERNEL, function, address of its argument cells, extent of the grid, chunk, kernels that are
        one job with it, workers of use for them, scalar operations)
    (LOOP, iterations, first step, steps, address of bumps, bumps)     bump: (cell, stride in bytes)
    (WHILE, first test step, test steps, cell, first step, steps)      the cell points at a bool
    (BRANCH, cell, first step if true, steps, first step if false, steps)
    (COPY, cell of the target, cell of the source, bytes)              cells hold addresses
    (PATCH, address of fixups, fixups, address of slots)       fixup: (cell, slot, offset in bytes)

A program is run by one thread at a time: its cells and its memory are its own.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any

from adjoint.errors import InternalError
from adjoint.runtime import pool_ir as text
from adjoint.runtime.interrupt import interruptible
from adjoint.runtime.pool import native_code, the_pool
from adjoint.runtime.stacks import with_room

LONG = 100_000_000  # scalar operations from which a run must be possible to interrupt: some 50 ms
CHUNK = 40_000  # scalar operations of a chunk: some 10 µs, many times the price of sharing it
_FEW_THREADS = 4  # of which none waits long for another
_TURNS = 8  # of chunks that a thread has
_FLAG = text.PROGRAM_FLAG // 8
Run = Callable[[], int]


class Cells:
    """64-bit numbers that native code reads and writes, at an address that stays."""

    __slots__ = ("address", "values")

    def __init__(self, values: Iterable[int]):
        self.values = array("q", values)
        self.address = self.values.buffer_info()[0]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> int:
        return self.values[index]

    def __setitem__(self, index: int, value: int) -> None:
        self.values[index] = value

    def cell(self, index: int) -> int:
        """The address of one of them."""
        return self.address + 8 * index


def chunk_of(extent: int, cost: int, threads: int | None = None, lanes: int = 1) -> int:
    """How much of a grid is done at a time: all of it when it is small, else a share of it, which
    whole groups of lanes make up."""
    least = -(-CHUNK // max(1, cost))
    count = the_pool().threads if threads is None else threads
    share = -(-extent // (_TURNS * count))
    most = max(1, LONG // max(1, cost))
    if extent <= least:
        return max(1, extent)
    wanted = _even(extent, min(max(least, share), most), count)
    return max(1, min(-(-wanted // lanes) * lanes, extent))


def _even(extent: int, chunk: int, threads: int) -> int:
    """A chunk size, at most this and at least half, with which the busiest thread has least to do;
    unchanged for few threads, or fewer chunks than threads.
    """
    chunks = -(-extent // chunk)
    if threads <= _FEW_THREADS or chunks <= threads:
        return chunk
    turns = -(-chunks // threads)
    ways = [-(-extent // (n * threads)) for n in range(turns, 2 * min(turns, _TURNS) + 1)]

    def busiest(way: int) -> int:
        pieces = -(-extent // way)
        return -(-pieces // threads) * way

    return min([chunk, *ways], key=busiest)


class NativeProgram:
    """A table of steps. `keep` is what its addresses point into; `cost` is None if not known.

    `flags` are the numbers that kernels inside its loops set, each with the node that sets it. A
    `speaker` is around the runs of a table that calls back.
    """

    __slots__ = ("_call", "_keep", "_program", "_table", "cost", "flags")

    def __init__(
        self,
        steps: Sequence[Sequence[int]],
        count: int,
        cost: int | None,
        keep: Any,
        flags: Sequence[tuple[int, Any]] = (),
        speaker: Any = None,
    ):
        self._keep, self.cost, self.flags = keep, cost, flags
        self._table = Cells(_flat(steps))
        self._program = Cells([the_pool().address, self._table.address, count, 0])
        call = partial(with_room, partial(_entry(), self._program.address))
        short = cost is not None and cost < LONG
        self._call: Run = call if short else partial(_run_long, call, self._program)
        if speaker is not None:
            self._call = partial(speaker.run, self._call, partial(self._program.__setitem__, _FLAG))

    def run(self) -> int:
        """All steps; 0 when they are done, 1 if they were cancelled."""
        return self._call()

    def cancel(self) -> None:
        """Stop a long run, from another thread; it then gives 1. The next run starts afresh."""
        self._program[_FLAG] = 1


def _flat(steps: Sequence[Sequence[int]]) -> Iterable[int]:
    for step in steps:
        if not 0 < len(step) <= text.STEP_CELLS:
            raise InternalError(f"a step of a program has {len(step)} cells")
        yield from step
        yield from [0] * (text.STEP_CELLS - len(step))


@lru_cache(maxsize=1)
def _entry() -> Any:
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
    return kind(native_code().address)


def _run_long(call: Run, program: Cells) -> int:
    """A run that Ctrl-C stops; the flag of an earlier one that it stopped is taken back."""
    program[_FLAG] = 0
    return int(interruptible(call, partial(program.__setitem__, _FLAG, 1)))
