"""Random kernels built by hand: every kind of node, threads and barriers, every dtype.

Every seed gives a graph. Indices stay inside their buffers and threads never race: what a thread
writes is its own, and others read it only behind a barrier. So a graph means the same in every
language and in any order of its threads. What may live here: making graphs and their memory.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from adjoint.handbuilt.uops import BinaryOps, TernaryOps, UnaryOps, UOpGraph, UOps
from adjoint.ir.dtype import DType, dtypes
from tests.codegen.c.corpus import Array

INDEX = dtypes.int32
KINDS = (
    dtypes.float32,
    dtypes.float32,
    dtypes.float64,
    dtypes.float16,
    dtypes.bfloat16,
    dtypes.int32,
    dtypes.int64,
    dtypes.uint32,
    dtypes.uint8,
    dtypes.int16,
    dtypes.uint64,
    dtypes.int8,
    dtypes.uint16,
    dtypes.bool_,
)
OWN = 4  # elements of a buffer that belong to each thread, if the kernel may write it
ROOM = 64  # elements of a buffer that is only read, and of one that a single thread writes
_WHOLE = ("ADD", "SUB", "MUL", "MAX", "MIN", "AND", "OR", "XOR", "DIV", "MOD", "SHL", "SHR")
TWO = {
    "f": ("ADD", "SUB", "MUL", "DIV", "MAX", "MIN", "MOD"),
    "i": _WHOLE,
    "u": _WHOLE,
    "b": ("AND", "OR", "XOR", "ADD", "MUL", "MAX", "MIN"),
}
ONE = {
    "f": ("NEG", "ABS", "SQRT", "RECIP", "FLOOR", "CEIL", "TRUNC", "ROUND"),
    "i": ("NEG", "NOT", "ABS"),
    "u": ("NEG", "NOT", "ABS"),
    "b": ("NOT",),
}
COMPARE = ("CMPLT", "CMPLE", "CMPEQ", "CMPNE")
START = {"ADD": 0, "MUL": 1}
SIZES = ((), (), (3,), (4,), (2, 3), (2, 1, 2))  # of a grid, or of a group


class RandomGraph:
    """One random kernel, as a graph."""

    sizes = SIZES

    def __init__(self, seed: int, kinds: tuple[DType, ...] = KINDS) -> None:
        self.r, self.known = random.Random(seed), kinds
        self.g = UOpGraph()
        self.loops: list[Any] = []  # the open ones
        self.scopes: list[list[tuple[Any, DType]]] = [[]]  # values that may be used here
        self.branches = 0  # that are open
        r = self.r
        self.grid, self.group = (r.choice(self.sizes) for _ in range(2))
        self.threads = int(np.prod(self.group))
        self.count = int(np.prod(self.grid)) * self.threads
        self.kinds = [r.choice(self.known) for _ in range(r.randint(2, 5))]
        self.mutable = [i == 0 or r.random() < 0.4 for i in range(len(self.kinds))]
        self.buffers = [
            self.g.add(UOps.DEFINE_GLOBAL, d, (), (i, f"data{i}", m))
            for i, (d, m) in enumerate(zip(self.kinds, self.mutable, strict=True))
        ]
        self.tile = self.local() if r.random() < 0.4 else None
        self.thread = self.flat_index("lidx", self.group)
        self.block = self.flat_index("gidx", self.grid)
        whole = self.alu(INDEX, (self.block, self.const(self.threads)), "MUL")
        self.me = self.alu(INDEX, (whole, self.thread), "ADD")
        for _ in range(r.choice((1, 1, 2))):
            self.loop(0)

    def room(self, which: int) -> int:
        """How many elements a buffer has."""
        return max(ROOM, self.count * OWN) if self.mutable[which] else ROOM

    # ---- threads

    def flat_index(self, name: str, sizes: tuple[int, ...]) -> Any:
        """The number of a group, or of a thread in it; the first axis runs fastest."""
        at = self.const(0)
        for axis in reversed(range(len(sizes))):
            index = self.g.add(UOps.SPECIAL, INDEX, (), (axis, f"{name}{axis}", sizes[axis]))
            at = self.alu(INDEX, (at, self.const(sizes[axis])), "MUL")
            at = self.alu(INDEX, (at, index), "ADD")
        return at

    def local(self) -> tuple[Any, DType]:
        """Memory of the group, with an element per thread."""
        dtype = self.r.choice(self.known)
        return self.g.add(UOps.DEFINE_LOCAL, dtype, (), ("tile", self.threads)), dtype

    def exchange(self) -> None:
        """Every thread writes, all wait, every thread reads what another one wrote, all wait."""
        other = self.alu(INDEX, (self.thread, self.const(self.r.randint(1, 5))), "ADD")
        other = self.alu(INDEX, (other, self.const(self.threads)), "MOD")
        if self.tile is not None and self.r.random() < 0.7:
            (memory, dtype), own = self.tile, self.thread
        else:
            which = self.r.choice([i for i, m in enumerate(self.mutable) if m])
            memory, dtype = self.buffers[which], self.kinds[which]
            first = self.alu(INDEX, (self.block, self.const(self.threads * OWN)), "MUL")
            own, other = (
                self.alu(INDEX, (t, self.const(OWN)), "MUL") for t in (self.thread, other)
            )
            own, other = (self.alu(INDEX, (first, t), "ADD") for t in (own, other))
        mine = self.g.add(UOps.CAST, dtype, (self.me,))
        value = self.alu(dtype, (self.value(dtype), mine), self.r.choice(("ADD", "MUL")))
        self.g.add(UOps.STORE, None, (memory, own, value))
        self.g.add(UOps.BARRIER)
        found = self.g.add(UOps.LOAD, dtype, (memory, other))
        self.g.add(UOps.BARRIER)
        self.scopes[-1].append((found, dtype))
        self.store(found, dtype)

    # ---- structure

    def const(self, value: Any, dtype: DType = INDEX) -> Any:
        return self.g.add(UOps.CONST, dtype, (), value)

    def loop(self, depth: int) -> None:
        r, g = self.r, self.g
        first, size = r.choice((0, 0, 2)), r.choice((1, 2, 3, 4))
        accs = [self.accumulator() for _ in range(r.choice((0, 0, 1, 2)))]
        bounds = self.const(first), self.const(first + size)
        counter = g.add(UOps.LOOP, INDEX, bounds)
        self.loops.append(counter)
        self.scopes.append([(counter, INDEX)])
        for _ in range(r.randint(1, 2)):
            if depth < 2 and r.random() < 0.4:
                self.loop(depth + 1)
            else:
                self.statement()
        done = [self.update(acc, op, dtype, counter) for acc, op, dtype in accs]
        self.scopes.pop()
        self.loops.pop()
        g.add(UOps.ENDLOOP, None, (counter,))
        results = zip(done, accs, strict=True)
        self.scopes[-1] += [
            (self.settled(phi, op, dtype), dtype) for phi, (_, op, dtype) in results
        ]
        if done:
            self.store()

    def accumulator(self) -> tuple[Any, str, DType]:
        dtype = self.r.choice([d for d in self.known if not d.is_bool])
        op = self.r.choice(("ADD", "MUL", "MAX", "MIN"))
        start = START.get(op, self.r.randint(0, 3))
        if self.r.random() < 0.5:
            return self.g.add(UOps.DEFINE_ACC, dtype, (), start), op, dtype
        return self.g.add(UOps.DEFINE_ACC, dtype, (self.const(start, dtype),)), op, dtype

    def update(self, acc: Any, op: str, dtype: DType, loop: Any) -> Any:
        """A register's next value, in some turns of the loop only or in all of them."""
        branch = self.opened() if self.r.random() < 0.2 else None
        value = self.alu(dtype, (acc, self.value(dtype)), BinaryOps[op])
        phi = self.g.add(UOps.PHI, dtype, (acc, value, loop))
        if branch is not None:
            self.closed(branch)
        return phi

    def statement(self) -> None:
        if (self.tile is not None or self.threads > 1) and self.r.random() < 0.4:
            self.exchange()
            return
        branch = self.opened() if self.r.random() < 0.25 else None
        self.store()
        if branch is not None:
            self.closed(branch)

    def opened(self) -> Any:
        branch = self.g.add(UOps.IF, None, (self.condition(),))
        self.scopes.append([])
        return branch

    def closed(self, branch: Any) -> None:
        self.scopes.pop()
        self.g.add(UOps.ENDIF, None, (branch,))

    # ---- memory

    def index(self, which: int) -> Any:
        """Some index: a sum of counters and constants, modulo the room or this thread's part."""
        at = self.const(self.r.randint(0, 9))
        for counter in self.loops:
            if self.r.random() < 0.7:
                by = self.const(self.r.choice((1, 1, 2, 3, 17)))
                at = self.alu(INDEX, (at, self.alu(INDEX, (counter, by), "MUL")), "ADD")
        if not self.mutable[which]:
            at = self.alu(INDEX, (at, self.me), "ADD") if self.r.random() < 0.7 else at
            return self.alu(INDEX, (at, self.const(ROOM)), "MOD")
        if self.count == 1:
            return self.alu(INDEX, (at, self.const(ROOM)), "MOD")
        first = self.alu(INDEX, (self.me, self.const(OWN)), "MUL")
        return self.alu(INDEX, (first, self.alu(INDEX, (at, self.const(OWN)), "MOD")), "ADD")

    def load(self) -> tuple[Any, DType]:
        which = self.r.randrange(len(self.buffers))
        dtype = self.kinds[which]
        gated: tuple[Any, ...] = ()
        if self.r.random() < 0.1:
            gated = self.condition(), self.const(self.number(dtype), dtype)
        vin = (self.buffers[which], self.index(which), *gated)
        return self.g.add(UOps.LOAD, dtype, vin), dtype

    def store(self, found: Any = None, dtype: DType | None = None) -> None:
        """A store of some value, or of one that was found."""
        which = self.r.choice([i for i, m in enumerate(self.mutable) if m])
        kind = self.kinds[which]
        value = self.value(kind) if found is None else found
        if dtype not in (None, kind):
            value = self.g.add(UOps.CAST, kind, (found,))
        gate = (self.condition(),) if self.r.random() < 0.1 else ()
        self.g.add(UOps.STORE, None, (self.buffers[which], self.index(which), value, *gate))

    # ---- values

    def alu(self, dtype: DType, vin: tuple[Any, ...], op: Any) -> Any:
        return self.g.add(UOps.ALU, dtype, vin, BinaryOps[op] if isinstance(op, str) else op)

    def condition(self) -> Any:
        dtype = self.r.choice(self.known)
        operands = (self.value(dtype, 2), self.value(dtype, 2))
        return self.alu(dtypes.bool_, operands, self.r.choice(COMPARE))

    def value(self, dtype: DType, depth: int = 0) -> Any:
        made = self.made(dtype, depth)
        self.scopes[-1].append((made, dtype))
        return made

    def made(self, dtype: DType, depth: int) -> Any:
        r, kind = self.r, dtype.kind
        shape = r.random()
        if depth > 1 or shape < 0.3:
            return self.leaf(dtype)
        if shape < 0.45:
            op: Any = UnaryOps[r.choice(ONE[kind])]
            return self.alu(dtype, (self.value(dtype, depth + 1),), op)
        if shape < 0.53:
            choice = self.condition(), self.value(dtype, depth + 1), self.leaf(dtype)
            return self.alu(dtype, choice, TernaryOps.WHERE)
        if shape < 0.6 and kind != "b":
            three = tuple(self.value(dtype, depth + 1) for _ in range(3))
            return self.alu(dtype, three, TernaryOps.MULACC)
        if shape < 0.66:
            return self.bits(dtype, depth)
        if shape < 0.72 and kind == "b":
            return self.condition()
        two = self.value(dtype, depth + 1), self.value(dtype, depth + 1)
        chosen = r.choice(TWO[kind])
        if chosen == "MOD" and kind == "f" and r.random() < 0.8:  # it is a long loop
            chosen = "SUB"
        return self.settled(self.alu(dtype, two, chosen), chosen, dtype)

    def settled(self, x: Any, op: str, dtype: DType) -> Any:
        """Of two zeros MAX and MIN may take either; a sum with 0.0 is the positive one."""
        if op not in ("MAX", "MIN") or not dtype.is_float:
            return x
        return self.alu(dtype, (x, self.const(0.0, dtype)), "ADD")

    def bits(self, dtype: DType, depth: int) -> Any:
        """The bits of another dtype of that width; of a NaN they are left open."""
        others = [d for d in self.known if d.itemsize == dtype.itemsize and not d.is_bool]
        if dtype.is_bool or not others:
            return self.leaf(dtype)
        kind = self.r.choice(others)
        x = self.value(kind, depth + 1)
        if kind.is_float:
            number = self.alu(dtypes.bool_, (x, x), "CMPEQ")
            x = self.alu(kind, (number, x, self.const(1.0, kind)), TernaryOps.WHERE)
        return self.g.add(UOps.BITCAST, dtype, (x,))

    def leaf(self, dtype: DType) -> Any:
        r = self.r
        known = [v for scope in self.scopes for v, d in scope if d is dtype]
        if known and r.random() < 0.5:
            return r.choice(known)
        if r.random() < 0.3:
            return self.const(self.number(dtype), dtype)
        found, kind = self.load()
        return found if kind is dtype else self.g.add(UOps.CAST, dtype, (found,))

    def number(self, dtype: DType) -> Any:
        if dtype.is_bool:
            return self.r.random() < 0.5
        if dtype.is_float:
            return self.r.choice((0.0, -0.0, 1.5, -2.25, 1e-3, float("inf"), float("nan")))
        return self.r.choice((0, 1, 3, 100, int(dtype.max), int(dtype.min)))

    def memory(self, seed: int) -> list[Array]:
        """Numbers for the buffers, with NaN, infinities and both zeros among floats."""
        rng = np.random.default_rng(seed)
        return [_memory(rng, d, self.room(i)) for i, d in enumerate(self.kinds)]


class WideGraph(RandomGraph):
    """One loop over neighbouring elements, sometimes with another inside: lanes can do that."""

    sizes = ((),)

    def loop(self, depth: int) -> None:
        bounds = self.const(0), self.const(self.r.choice((5, 16, 37, 60)))
        self.counter = self.g.add(UOps.LOOP, INDEX, bounds)
        self.scopes.append([(self.counter, INDEX)])
        for _ in range(self.r.randint(1, 3)):
            self.store()
        if self.r.random() < 0.3:
            super().loop(2)
        self.scopes.pop()
        self.g.add(UOps.ENDLOOP, None, (self.counter,))

    def statement(self) -> None:
        self.store()

    def update(self, acc: Any, op: str, dtype: DType, loop: Any) -> Any:
        value = self.alu(dtype, (acc, self.value(dtype)), BinaryOps[op])
        return self.g.add(UOps.PHI, dtype, (acc, value, loop))

    def index(self, which: int) -> Any:
        same = not self.mutable[which] and self.r.random() < 0.3
        return self.const(self.r.randint(0, 9)) if same else self.counter


def _memory(rng: np.random.Generator, dtype: DType, size: int) -> Array:
    if dtype.is_float:
        values = np.round(rng.standard_normal(size) * 4, 2)
        values[:8] = np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, 6e4, -1e-5
        return rng.permutation(values).astype(dtype.np)
    if dtype.is_bool:
        return rng.integers(0, 2, size).astype(np.bool_)
    few = rng.integers(0, 100, size).astype(dtype.np)
    few[:3] = dtype.min, dtype.max, np.array(-1).astype(dtype.np)
    return rng.permutation(few)
