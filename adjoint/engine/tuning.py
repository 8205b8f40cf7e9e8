"""`ADJOINT_TUNE`: the compiler measures the fastest way to compute a product, instead of using the
table.

It computes a product alone, with its shape and the views of its operands, in each possible way:
tiles of several shapes, the library, loops. Each runs for a moment; the cache directory keeps the
fastest for this processor and number of threads. Tile shapes give the same bits; tiles, the library
and loops add in different orders. What may live here: measuring, remembering.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from adjoint import config
from adjoint.engine.program_cache import load_backend
from adjoint.ir.kernel_kind import View
from adjoint.ir.memory_limit import limited
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import varies
from adjoint.ir.text import text
from adjoint.ir.uop import UOp, toposort
from adjoint.runtime import cache
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.cores import thread_count
from adjoint.runtime.processor import description, processor
from adjoint.schedule import strategy
from adjoint.schedule.classify import product_count, summed_size
from adjoint.schedule.strategy import PLAIN_PRODUCT, ROWS, TILES, Row, library_takes
from adjoint.target import DEFAULT_BACKEND, Target, Tile

if TYPE_CHECKING:
    from collections.abc import Callable

    from adjoint.backends.protocol import Backend
    from adjoint.engine.compilation import Compilation
    from adjoint.engine.program import Program

    Build = Callable[[list[UOp], list[UOp], Backend], Compilation]

_FEWEST_PRODUCTS = 1 << 14  # of numbers: less is not worth a measurement
_LONGEST_LOOPS = 64  # products for each element
_ROUNDS, _SECONDS, _FEWEST = 5, 0.008, 2  # and in each, for each way, seconds and runs
_WORTH = 0.97  # of the time of the table's way, below which another is taken
_VECTORS = (1, 2, 4)  # registers of a row of a tile


@dataclass(frozen=True, slots=True)
class Way:
    """A row of the table and, for tiles, their shape."""

    row: str
    rows: int = 0
    row_bytes: int = 0
    narrow_rows: int = 0

    @staticmethod
    def by(row: str, tile: Tile) -> Way:
        """Tiles of that shape."""
        return Way(row, tile.rows, tile.row_bytes, tile.narrow_rows)

    @property
    def tile(self) -> Tile | None:
        if not self.rows:
            return None
        return Tile(self.rows, self.row_bytes, narrow_rows=self.narrow_rows)


class Tuner:
    """The hook that `strategy.choose` calls if measurements, not the table, shall decide."""

    def __init__(self, build: Build, mode: str):
        self.build, self.mode = build, mode
        self._known: dict[str, Way] = {}
        self._forced: ContextVar[Way | None] = ContextVar("forced", default=None)

    @property
    def measuring(self) -> bool:
        """Whether a product is being made one way, here and now."""
        return self._forced.get() is not None

    def row(self, node: UOp, target: Target, row: Row) -> Row:
        """The row for a product, where the table says another."""
        way = self._way(node, target, row)
        if way is None or way.row == row.name:
            return row
        found = next(r for r in ROWS if r.name == way.row)
        return replace(found, why=f"measured: sooner than {row.name} on this machine")

    def tile(self, node: UOp, target: Target) -> Tile | None:
        """The shape of the tiles of a product."""
        row = next(r for r in ROWS if r.use == TILES)
        way = self._way(node, target, row)
        return target.tile if way is None or way.tile is None else way.tile

    def _way(self, node: UOp, target: Target, row: Row) -> Way | None:
        forced = self._forced.get()
        if forced is not None:
            return forced
        backend = load_backend(DEFAULT_BACKEND)
        if backend.target != target or not _is_worth_it(node):
            return None
        root = alone(node)
        name = self._name(root)
        if name not in self._known:
            kept = cache.read(name)
            self._known[name] = (
                Way(**json.loads(kept)) if kept else self._measured(root, target, row, backend)
            )
            if not kept:
                cache.write(name, json.dumps(asdict(self._known[name])).encode())
        return self._known[name]

    def _name(self, root: UOp) -> str:
        facts = [self.mode, text(root), description(), str(processor()), thread_count()]
        return hashlib.sha256(json.dumps(["tuned", 2, *facts]).encode()).hexdigest()

    def _measured(self, root: UOp, target: Target, row: Row, backend: Backend) -> Way:
        """The fastest; the table's own, if none is faster by more than chance."""
        tile = target.tile if row.use == TILES else None
        own = Way(row.name) if tile is None else Way.by(row.name, tile)
        product = next(n for n in toposort([root]) if n.op is OPS["contract"])
        every = list(dict.fromkeys([own, *ways(product, target, row, self.mode)]))
        times = self.seconds(root, every, backend)
        best = min(times, key=times.__getitem__)
        return best if times[best] < _WORTH * times[own] else own

    def program(self, root: UOp, way: Way, backend: Backend) -> tuple[Program, list[UOp]]:
        """A single product, computed one way, and its inputs."""
        inputs = [n for n in toposort([root]) if n.op is OPS["input"]]
        with self._forcing(way), limited(None):
            return self.build([root], inputs, backend).program, inputs

    def seconds(self, root: UOp, every: Sequence[Way], backend: Backend) -> dict[Way, float]:
        """The least time of each, in rounds: other load on the machine affects all of them."""
        made = {way: self.program(root, way, backend) for way in every}
        inputs = made[every[0]][1]
        arrays = [np.ones([int(n) for n in node.shape], node.dtype.np) for node in inputs]
        given = [Buffer(a, backend.target.name) for a in arrays]
        best = dict.fromkeys(every, float("inf"))
        for _ in range(_ROUNDS):
            for way, (program, _) in made.items():
                best[way] = min(best[way], _least(program, given))
        return best

    @contextmanager
    def _forcing(self, way: Way) -> Iterator[None]:
        token, before = self._forced.set(way), strategy.tuner
        strategy.tuner = self
        try:
            yield
        finally:
            strategy.tuner = before
            self._forced.reset(token)


def _least(program: Program, given: list[Buffer]) -> float:
    best, runs, until = float("inf"), 0, perf_counter() + _SECONDS
    while runs < _FEWEST or perf_counter() < until:
        start = perf_counter()
        program.run(given)
        best, runs = min(best, perf_counter() - start), runs + 1
    return best


def ways(product: UOp, target: Target, row: Row, mode: str) -> list[Way]:
    """How a product can be computed; in the mode "shapes", with the bits that the table gives."""
    found = []
    every = mode == "all"
    tile = target.tile
    if tile is not None and product.dtype.name in tile.dtypes and (every or row.use == TILES):
        found += [Way.by("tiles", t) for t in shapes(tile)]
    if every and library_takes(product.dtype, target):
        found.append(Way(PLAIN_PRODUCT.name))
    if every and summed_size(product) <= _LONGEST_LOOPS:
        found.append(Way("short product"))
    return found


def shapes(tile: Tile) -> list[Tile]:
    """Tiles that need as many registers."""
    register = tile.row_bytes // 2
    every = [replace(tile, rows=2 * tile.rows // n, row_bytes=n * register) for n in _VECTORS]
    return [t if t == tile else replace(t, narrow_rows=0) for t in every]


def _is_worth_it(node: UOp) -> bool:
    sized = len(node.shape) == 3 and not varies(*node.shape, *node.src[0].shape)
    plain = node.op is OPS["contract"] and sized
    return plain and bool(node.dtype.is_float) and product_count(node) >= _FEWEST_PRODUCTS


def alone(node: UOp) -> UOp:
    """The product with the views of its operands, over inputs."""
    names = iter("ab")
    return UOp(node.op, tuple(_viewed(x, next(names)) for x in node.src), node.arg)


def _viewed(x: UOp, name: str) -> UOp:
    if type(x.op.kernel) is View and len(x.src) == 1:
        return UOp(x.op, (_viewed(x.src[0], name),), x.arg)
    found: UOp = OPS["input"](name, x.shape, x.dtype, x.device)
    return found


def switch(build: Build) -> None:
    """Measure or not from here on, as `ADJOINT_TUNE` says."""
    if strategy.tuner is not None and strategy.tuner.measuring:
        return
    mode = config.TUNE.value()
    if not mode:
        strategy.tuner = None
    elif strategy.tuner is None or strategy.tuner.mode != mode:
        strategy.tuner = Tuner(build, mode)
