"""Random kernels: what LLVM makes of them against the plain interpreter of loop programs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from adjoint.ir.bounds import bounds
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.runtime.interpret import interpret
from tests.codegen.llvm.kernels import Array, Compiled, Kernel, const, guarded

KINDS = (
    dtypes.float32,
    dtypes.float64,
    dtypes.int32,
    dtypes.int64,
    dtypes.uint8,
    dtypes.int16,
    dtypes.bool_,
)
IDENTITY = {"add": 0, "mul": 1, "maximum": "min", "minimum": "max"}
NUMBER_OPS = ("add", "sub", "mul", "maximum", "minimum")
BOOL_OPS = ("logical_and", "logical_or", "logical_xor")
ROOM = 6000  # elements of every buffer that is read
SEEDS = 60


class Maker:
    """One random kernel: loops, some of them with lanes, that load, compute, sum up and store."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.k = Kernel()
        self.kinds = self.r.sample(KINDS, 3)
        self.sources = [self.k.buffer(d, False, ROOM) for d in self.kinds]
        self.open: list[UOp] = []
        self.lanes_open = False
        self.scopes: list[list[UOp]] = [[]]  # values that may be used here
        self.variable = self.k.variable("n")

    def build(self) -> None:
        self.block(0, grid=self.r.random() < 0.7)

    def block(self, depth: int, grid: bool = False) -> None:
        for _ in range(1 if grid else self.r.randint(1, 2)):
            if grid or (depth < 3 and self.r.random() < (1.0 if depth == 0 else 0.5)):
                self.loop(depth, grid)
            else:
                self.statement()
        if self.open:
            self.statement()

    def loop(self, depth: int, grid: bool) -> None:
        r, k = self.r, self.k
        lanes = 1 if self.lanes_open or r.random() < 0.4 else r.choice((2, 4, 8))
        size = r.choice((0, 1, 2, 3, 5, 8, 9, 17))
        accs = [] if grid else self.accumulators(lanes)
        count = self.variable if not grid and r.random() < 0.2 else None
        size = 40 if count is not None else size
        loop = k.range(size, lanes, grid=grid, start=r.choice((0, 0, 3)), count=count)
        self.open.append(loop)
        self.scopes.append([])
        before, self.lanes_open = self.lanes_open, self.lanes_open or lanes > 1
        self.block(depth + 1)
        phis = [k.update(a, OPS[op](a, self.value(a.dtype)), loop) for a, op in accs]
        self.lanes_open = before
        self.scopes.pop()
        self.open.pop()
        k.end(loop)
        self.scopes[-1].extend(phis)

    def accumulators(self, lanes: int) -> list[tuple[UOp, str]]:
        found = []
        for _ in range(self.r.randint(0, 2)):
            dtype = self.r.choice([d for d in self.kinds if not d.is_bool] or [dtypes.int32])
            op = self.r.choice(list(IDENTITY))
            start: Any = IDENTITY[op]
            start = getattr(dtype, start) if isinstance(start, str) else start
            found.append((self.k.acc(start, dtype), op))
        return found

    # ---- statements and values

    def statement(self) -> None:
        r, k = self.r, self.k
        if not self.open:
            return
        branch = None
        if not self.lanes_open and r.random() < 0.2:
            self.scopes.append([])
            branch = k.when(k.do(self.index() < r.randint(0, 20)))
        dtype = r.choice(KINDS)
        place = self.place()
        target = k.buffer(dtype, True, bounds(place)[1] + 1)
        gate = self.condition() if r.random() < 0.3 else None
        k.store(target, place, self.value(dtype), gate)
        if branch is not None:
            k.endif(branch)
            self.scopes.pop()

    def place(self) -> UOp:
        """An index that differs for every iteration: stores do not race."""
        at: Any = 0
        for loop in self.open:
            at = at * (loop.arg.size + 4) + loop
        down = self.r.random() < 0.3
        at = at * self.r.choice((1, 1, 2))
        lo, hi = bounds(at)
        at = hi - at if down else at - lo
        return at

    def index(self) -> UOp:
        """Some index expression."""
        r = self.r
        at: Any = const(r.randint(-5, 5))
        for loop in self.open:
            if r.random() < 0.7:
                at = at + loop * r.choice((1, 1, -1, 2, 3, 17))
        if r.random() < 0.2:
            lo, _ = bounds(at)
            at = OPS[r.choice(("floordiv", "mod"))](at - lo, const(r.randint(1, 9)))
        return at

    def condition(self) -> UOp:
        return OPS[self.r.choice(("lt", "le", "eq", "ne"))](self.index(), self.index())

    def load(self) -> UOp:
        source, at = self.r.choice(self.sources), self.index()
        lo, hi = bounds(at)
        if self.r.random() < 0.3:
            n = self.r.randint(1, 60)
            gate = (at >= 0).logical_and(at < n)
            return self.k.load(source, at, gate, 1)
        at = at - lo
        return self.k.load(source, at if hi - lo < ROOM else at.mod(ROOM))

    def value(self, dtype: DType, depth: int = 0) -> UOp:
        r = self.r
        shape = r.random()
        if depth > 3 or shape < 0.25:
            return self.leaf(dtype)
        if shape < 0.4:
            choose = self.condition().where(self.value(dtype, depth + 1), self.leaf(dtype))
            return self.keep(choose)
        op = r.choice(BOOL_OPS if dtype.is_bool else NUMBER_OPS)
        return self.keep(OPS[op](self.value(dtype, depth + 1), self.value(dtype, depth + 1)))

    def leaf(self, dtype: DType) -> UOp:
        r = self.r
        known = [v for scope in self.scopes for v in scope if v.dtype is dtype]
        if known and r.random() < 0.5:
            return r.choice(known)
        kind = r.random()
        if kind < 0.2:
            return const(r.randint(0, 1), dtype)
        found = self.load() if kind < 0.8 else self.index()
        if found.dtype.is_float and dtype.is_int:
            found = (found < 0.5).cast(dtypes.int32)
        return self.keep(found.cast(dtype))

    def keep(self, node: UOp) -> UOp:
        self.scopes[-1].append(self.k.do(node))
        return node


def memory(buffer: UOp) -> Array:
    rng, dtype, size = np.random.default_rng(0), buffer.arg.dtype, buffer.arg.size
    if dtype.is_float:
        values = rng.standard_normal(size)
        values[rng.integers(0, size, 20)] = np.nan
        return values.astype(dtype.np)
    return rng.integers(0, 2 if dtype.is_bool else 100, size).astype(dtype.np)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_random_kernel_gives_what_the_interpreter_gives(seed: int) -> None:
    maker = Maker(seed)
    maker.build()
    program = maker.k.program()
    count, width = seed % 41, (128, 256, 512)[seed % 3]
    expected = [memory(b) for b in program.buffers]
    found = [guarded(a, seed % 2 == 0) for a in expected]
    interpret(program, expected, {"n": count})
    run = Compiled(program, width)
    size = 0 if program.grid is None else program.grid.arg.size
    middle = random.Random(seed).randint(0, size)
    run(*found, variables=[count], begin=0, end=middle)
    if program.grid is not None:
        run(*found, variables=[count], begin=middle, end=size)
    for a, b in zip(found, expected, strict=True):
        zero = a.dtype.type(0)  # maximum may take either zero
        np.testing.assert_array_equal(a + zero, b + zero)
