"""Kernels small enough to be written by hand, and processes of their own that run them."""

import numpy as np

from adjoint.runtime.compiler import compile_source
from adjoint.runtime.launch import Cells, NativeProgram
from adjoint.runtime.pool_ir import KERNEL
from adjoint.stages import Source
from tests.support.processes import printed

# for i in [begin, end): x[i] += *step
ADD = """
define void @add(ptr %args, i64 %begin, i64 %end) {
entry:
  %x = load ptr, ptr %args
  %p = getelementptr ptr, ptr %args, i64 1
  %q = load ptr, ptr %p
  br label %next
next:
  %i = phi i64 [%begin, %entry], [%j, %one]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %one, label %done
one:
  %at = getelementptr i64, ptr %x, i64 %i
  %old = load i64, ptr %at
  %step = load i64, ptr %q
  %new = add i64 %old, %step
  store i64 %new, ptr %at
  %j = add i64 %i, 1
  br label %next
done:
  ret void
}
"""
# *out = *a < *b
LESS = """
define void @less(ptr %args, i64 %begin, i64 %end) {
  %out = load ptr, ptr %args
  %p = getelementptr ptr, ptr %args, i64 1
  %a = load ptr, ptr %p
  %q = getelementptr ptr, ptr %args, i64 2
  %b = load ptr, ptr %q
  %x = load i64, ptr %a
  %y = load i64, ptr %b
  %c = icmp slt i64 %x, %y
  %d = zext i1 %c to i8
  store i8 %d, ptr %out
  ret void
}
"""


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


class Adder:
    """A kernel that adds `step` to each of `x`, as a step of a program."""

    def __init__(self, x: np.ndarray, step: np.ndarray):
        self.code = compile_source(Source("llvm", "add", ADD))
        self.cells = Cells([address(x), address(step)])
        self.keep = (x, step)

    def step(self, extent: int, chunk: int | None = None) -> tuple[int, ...]:
        return (KERNEL, self.code.address, self.cells.address, extent, chunk or max(1, extent))


class Less:
    def __init__(self, out: np.ndarray, a: np.ndarray, b: np.ndarray):
        self.code = compile_source(Source("llvm", "less", LESS))
        self.cells = Cells([address(out), address(a), address(b)])

    def step(self) -> tuple[int, ...]:
        return (KERNEL, self.code.address, self.cells.address, 1, 1)


def integers(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


PRELUDE = """
import os, signal, sys, threading, time
import numpy as np
from adjoint.runtime.launch import Cells, NativeProgram
from adjoint.runtime.pool import native_code
from adjoint.runtime.pool_ir import KERNEL, LOOP, WHILE
from tests.runtime.kernels import Adder, Less, address, integers

def total(x=None):
    x = np.zeros(10000, np.int64)
    adder = Adder(x, integers(1))
    NativeProgram([adder.step(10000, 10)] * 20, 20, 10, adder).run()
    return int(x.sum())

def threads():
    return len(os.listdir("/proc/self/task"))
"""


def alone(text: str, **settings: str) -> str:
    return printed("-c", PRELUDE + text, **settings).strip()


# ---- kernels of one job

SIZE = 600


def chain(count: int, chunks: list[int]) -> tuple[NativeProgram, np.ndarray, np.ndarray]:
    """Kernels in one job, each of which adds to one array the last number of the other, which
    another thread may have written a moment ago."""
    x, y = np.ones(SIZE, np.int64), np.zeros(SIZE, np.int64)
    kernels = [Adder(y, x[-1:]), Adder(x, y[-1:])]
    rows = []
    for i in range(count):
        row = kernels[i % 2].step(SIZE, chunks[i % len(chunks)])
        rows.append((*row, count, SIZE) if i == 0 else row)
    return NativeProgram(rows, count, 10, kernels), x, y


def last_of(count: int, runs: int) -> tuple[int, int]:
    x, y = 1, 0
    for _ in range(runs):
        for i in range(count):
            x, y = (x, y + x) if i % 2 == 0 else (x + y, y)
    return x, y
