"""Short words for building graphs, and the kernels that several tests run."""

from __future__ import annotations

import numpy as np

from adjoint import dtypes
from adjoint.handbuilt.kernel import prepared
from adjoint.handbuilt.parallelise import shared_out
from adjoint.handbuilt.uops import BinaryOps, UOpGraph, UOps
from adjoint.runtime.device import has_tools
from adjoint.target import TARGETS

DEVICES = ("CPU", "REF", *(["C"] if has_tools(TARGETS["C"]) else []))
INT, FLOAT = dtypes.int, dtypes.float


class Build:
    """A graph with short words for what is added to it."""

    def __init__(self):
        self.g = UOpGraph()
        self.slots = 0

    def buffer(self, dtype=FLOAT, mutable=False, size=None):
        slot, self.slots = self.slots, self.slots + 1
        sized = () if size is None else (size,)
        return self.g.add(UOps.DEFINE_GLOBAL, dtype, arg=(slot, f"data{slot}", mutable, *sized))

    def out(self, dtype=FLOAT, size=None):
        return self.buffer(dtype, True, size)

    def n(self, value, dtype=INT):
        return self.g.add(UOps.CONST, dtype, arg=value)

    def loop(self, stop, start=0):
        return self.g.add(UOps.LOOP, INT, vin=(self.n(start), self.n(stop)))

    def end(self, node):
        self.g.add(UOps.ENDLOOP if node.kind is UOps.LOOP else UOps.ENDIF, vin=(node,))

    def when(self, condition):
        return self.g.add(UOps.IF, vin=(condition,))

    def index(self, name, size):
        return self.g.add(UOps.SPECIAL, INT, arg=(int(name[-1]), name, size))

    def local(self, name, size, dtype=FLOAT):
        return self.g.add(UOps.DEFINE_LOCAL, dtype, arg=(name, size))

    def load(self, *vin):
        return self.g.add(UOps.LOAD, vin=vin)

    def store(self, *vin):
        self.g.add(UOps.STORE, vin=vin)

    def acc(self, value, dtype=FLOAT):
        return self.g.add(UOps.DEFINE_ACC, dtype, arg=value)

    def phi(self, *vin):
        return self.g.add(UOps.PHI, vin=vin)

    def barrier(self):
        self.g.add(UOps.BARRIER)

    def alu(self, op, *vin):
        return self.g.add(UOps.ALU, vin=vin, arg=op)

    def add(self, a, b):
        return self.alu(BinaryOps.ADD, a, b)

    def mul(self, a, b):
        return self.alu(BinaryOps.MUL, a, b)


def ran(b, *arrays):
    """The results on every device, which must agree to the bit; those of the CPU are returned."""
    found = []
    for device in DEVICES:
        given = [np.array(a) for a in arrays]
        b.g.compile(device)(*given)
        found.append(given)
    for mine, *others in zip(*found, strict=True):
        assert all(mine.tobytes() == other.tobytes() for other in others)
    leaves = [n for n in b.g.program().body if n.op.name not in ("if", "endif", "store")]
    assert len(leaves) == len(set(leaves)), "every value stands in the program once"
    return found[0]


def saxpy(n=10, dtype=FLOAT, threads=True):
    b = Build()
    out, x, y, a = b.out(dtype), b.buffer(dtype), b.buffer(dtype), b.buffer(dtype)
    i = b.index("gidx0", n) if threads else b.loop(n)
    factor = b.load(a, b.n(0))
    b.store(out, i, b.add(b.mul(factor, b.load(x, i)), b.load(y, i)))
    if not threads:
        b.end(i)
    return b


def total(n):
    b = Build()
    out, x = b.out(), b.buffer()
    acc = b.acc(0.0)
    i = b.loop(n)
    sum_ = b.phi(acc, b.add(acc, b.load(x, i)))
    b.end(i)
    b.store(out, b.n(0), sum_)
    return b


def matmul(n, t):
    """Tiles of both matrices go through memory that the threads of a group share."""
    b = Build()
    out, x, y = b.out(), b.buffer(), b.buffer()
    left, right = b.local("left", t * t), b.local("right", t * t)
    gx, gy = b.index("gidx0", n // t), b.index("gidx1", n // t)
    lx, ly = b.index("lidx0", t), b.index("lidx1", t)
    wide, tile = b.n(n), b.n(t)
    row, col = b.add(b.mul(gy, tile), ly), b.add(b.mul(gx, tile), lx)
    here = b.add(b.mul(ly, tile), lx)
    acc = b.acc(0.0)
    k = b.loop(n // t)
    first = b.mul(k, tile)
    b.store(left, here, b.load(x, b.add(b.mul(row, wide), b.add(first, lx))))
    b.store(right, here, b.load(y, b.add(b.mul(b.add(first, ly), wide), col)))
    b.barrier()
    j = b.loop(t)
    product = b.mul(
        b.load(left, b.add(b.mul(ly, tile), j)), b.load(right, b.add(b.mul(j, tile), lx))
    )
    sum_ = b.phi(acc, b.add(acc, product))
    b.end(j)
    b.barrier()
    b.end(k)
    b.store(out, b.add(b.mul(row, wide), col), sum_)
    return b


def floats(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def for_threads_and_lanes(kernel, sizes, start="kept"):
    """The program of a kernel on memory of these sizes, as the compiled device runs it."""
    return shared_out(prepared(kernel, sizes, start, True), TARGETS["CPU"]).program
