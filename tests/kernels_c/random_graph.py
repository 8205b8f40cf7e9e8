"""Random kernels built by hand: loops, branches, accumulators, loads and stores of every dtype.

Every seed gives a graph. Indices stay inside their buffers and stores do not race, so a graph means
the same in every language. What may live here: making graphs and their memory.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from adjoint.codegen.uops import BinaryOps, TernaryOps, UnaryOps, UOpGraph, UOps
from adjoint.ir.dtype import DType, dtypes
from tests.kernels_c.corpus import Array

INDEX = dtypes.int32
KINDS = (
    dtypes.float32,
    dtypes.float64,
    dtypes.int32,
    dtypes.int64,
    dtypes.uint32,
    dtypes.uint8,
    dtypes.int16,
    dtypes.bool_,
)
ROOM = 64  # elements of every buffer; indices are taken modulo it
TWO = {
    "f": ("ADD", "SUB", "MUL", "DIV", "MAX", "MIN"),
    "i": ("ADD", "SUB", "MUL", "MAX", "MIN", "AND", "OR", "XOR"),
    "u": ("ADD", "SUB", "MUL", "MAX", "MIN", "AND", "OR", "XOR"),
    "b": ("AND", "OR", "XOR"),
}
ONE = {
    "f": ("NEG", "ABS", "SQRT", "FLOOR", "CEIL", "TRUNC", "ROUND"),
    "i": ("NEG", "NOT", "ABS"),
    "u": ("NOT",),
    "b": ("NOT",),
}
COMPARE = ("CMPLT", "CMPLE", "CMPEQ", "CMPNE")
START = {"ADD": 0, "MUL": 1}


class RandomGraph:
    """One random kernel, as a graph."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.g = UOpGraph()
        self.loops: list[tuple[Any, int]] = []  # the open ones with their lengths
        self.scopes: list[list[tuple[Any, DType]]] = [[]]  # values that may be used here
        r = self.r
        self.kinds = [r.choice(KINDS) for _ in range(r.randint(2, 5))]
        self.mutable = [i == 0 or r.random() < 0.4 for i in range(len(self.kinds))]
        self.buffers = [
            self.g.add(UOps.DEFINE_GLOBAL, d, (), (i, f"data{i}", m))
            for i, (d, m) in enumerate(zip(self.kinds, self.mutable, strict=True))
        ]
        for _ in range(r.randint(1, 2)):
            self.loop(0)

    # ---- structure

    def const(self, value: Any, dtype: DType = INDEX) -> Any:
        return self.g.add(UOps.CONST, dtype, (), value)

    def loop(self, depth: int) -> None:
        r, g = self.r, self.g
        first, size = r.choice((0, 0, 2)), r.choice((1, 2, 3, 4))
        accs = [self.accumulator() for _ in range(r.choice((0, 0, 1, 2)))]
        bounds = self.const(first), self.const(first + size)
        counter = g.add(UOps.LOOP, INDEX, bounds)
        self.loops.append((counter, size))
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
        dtype = self.r.choice([d for d in KINDS if not d.is_bool])
        op = self.r.choice(("ADD", "MUL", "MAX", "MIN"))
        start = START.get(op, self.r.randint(0, 3))
        return self.g.add(UOps.DEFINE_ACC, dtype, (self.const(start, dtype),)), op, dtype

    def update(self, acc: Any, op: str, dtype: DType, loop: Any) -> Any:
        value = self.alu(dtype, (acc, self.value(dtype)), BinaryOps[op])
        return self.g.add(UOps.PHI, dtype, (acc, value, loop))

    def statement(self) -> None:
        branch = None
        if self.r.random() < 0.25:
            branch = self.g.add(UOps.IF, None, (self.condition(),))
            self.scopes.append([])
        self.store()
        if branch is not None:
            self.scopes.pop()
            self.g.add(UOps.ENDIF, None, (branch,))

    # ---- memory

    def index(self) -> Any:
        """Some index: a sum of counters and constants, modulo the room."""
        at = self.const(self.r.randint(0, 9))
        for counter, _ in self.loops:
            if self.r.random() < 0.7:
                by = self.const(self.r.choice((1, 1, 2, 3, 17)))
                at = self.alu(INDEX, (at, self.alu(INDEX, (counter, by), "MUL")), "ADD")
        return self.alu(INDEX, (at, self.const(ROOM)), "MOD")

    def load(self) -> tuple[Any, DType]:
        which = self.r.randrange(len(self.buffers))
        dtype = self.kinds[which]
        return self.g.add(UOps.LOAD, dtype, (self.buffers[which], self.index())), dtype

    def store(self) -> None:
        which = self.r.choice([i for i, m in enumerate(self.mutable) if m])
        value = self.value(self.kinds[which])
        self.g.add(UOps.STORE, None, (self.buffers[which], self.index(), value))

    # ---- values

    def alu(self, dtype: DType, vin: tuple[Any, ...], op: Any) -> Any:
        return self.g.add(UOps.ALU, dtype, vin, BinaryOps[op] if isinstance(op, str) else op)

    def condition(self) -> Any:
        dtype = self.r.choice(KINDS)
        operands = (self.value(dtype, 2), self.value(dtype, 2))
        return self.alu(dtypes.bool_, operands, self.r.choice(COMPARE))

    def value(self, dtype: DType, depth: int = 0) -> Any:
        made = self.made(dtype, depth)
        self.scopes[-1].append((made, dtype))
        return made

    def made(self, dtype: DType, depth: int) -> Any:
        r, kind = self.r, dtype.kind
        shape = r.random()
        if depth > 2 or shape < 0.3:
            return self.leaf(dtype)
        if shape < 0.45:
            op: Any = UnaryOps[r.choice(ONE[kind])]
            return self.alu(dtype, (self.value(dtype, depth + 1),), op)
        if shape < 0.55:
            choice = self.condition(), self.value(dtype, depth + 1), self.leaf(dtype)
            return self.alu(dtype, choice, TernaryOps.WHERE)
        if shape < 0.62 and kind == "f":
            three = tuple(self.value(dtype, depth + 1) for _ in range(3))
            return self.alu(dtype, three, TernaryOps.MULACC)
        if shape < 0.68 and kind in "iu":
            return self.special_integer(dtype, depth)
        if shape < 0.72 and kind == "b":
            return self.condition()
        two = self.value(dtype, depth + 1), self.value(dtype, depth + 1)
        chosen = r.choice(TWO[kind])
        return self.settled(self.alu(dtype, two, chosen), chosen, dtype)

    def settled(self, x: Any, op: str, dtype: DType) -> Any:
        """Of two zeros MAX and MIN may take either; a sum with 0.0 is the positive one."""
        if op not in ("MAX", "MIN") or not dtype.is_float:
            return x
        return self.alu(dtype, (x, self.const(0.0, dtype)), "ADD")

    def special_integer(self, dtype: DType, depth: int) -> Any:
        """A quotient or a remainder by a constant, or a shift."""
        op = self.r.choice(("DIV", "MOD", "SHL", "SHR"))
        amount = self.r.randint(1, 7)
        return self.alu(dtype, (self.value(dtype, depth + 1), self.const(amount, dtype)), op)

    def leaf(self, dtype: DType) -> Any:
        r = self.r
        known = [v for scope in self.scopes for v, d in scope if d is dtype]
        if known and r.random() < 0.5:
            return r.choice(known)
        if r.random() < 0.3:
            return self.const(self.number(dtype), dtype)
        found, kind = self.load()
        return found if kind is dtype else self.cast(found, kind, dtype)

    def number(self, dtype: DType) -> Any:
        if dtype.is_bool:
            return self.r.random() < 0.5
        if dtype.is_float:
            return self.r.choice((0.0, -0.0, 1.5, -2.25, 1e-3, float("inf"), float("nan")))
        return self.r.choice((0, 1, 3, 100, int(dtype.max), int(dtype.min)))

    def cast(self, x: Any, before: DType, after: DType) -> Any:
        """A cast; floats become integers only where that is defined."""
        if before.is_float and after.is_int:
            x = self.alu(dtypes.bool_, (x, self.const(0.5, before)), "CMPLT")
        return self.g.add(UOps.CAST, after, (x,))


def memory(buffer: Any, seed: int) -> Array:
    """Numbers for a buffer, with NaN, infinities and both zeros among floats."""
    rng, dtype = np.random.default_rng(seed), buffer.arg.dtype
    if dtype.is_float:
        values = np.round(rng.standard_normal(ROOM) * 4, 2)
        values[:6] = np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5
        return rng.permutation(values).astype(dtype.np)
    if dtype.is_bool:
        return rng.integers(0, 2, ROOM).astype(np.bool_)
    few = rng.integers(0, 100, ROOM).astype(dtype.np)
    few[:2] = dtype.min, dtype.max
    return few
