"""Which loops of hand-built kernels are done side by side; the bits are those of one after another.

`ran` compares with the interpreter, which takes turn after turn.
"""

import numpy as np
import pytest

from adjoint.handbuilt.kernel import Handmade
from adjoint.handbuilt.uops import BinaryOps, TernaryOps, UOps
from tests.handbuilt.building import (
    FLOAT,
    INT,
    Build,
    floats,
    for_threads_and_lanes,
    matmul,
    ran,
    saxpy,
    total,
)


def lanes(b, *sizes):
    """Of every loop that runs, in order."""
    program = for_threads_and_lanes(Handmade(b.g.program()), sizes)
    return [n.arg.lanes for n in program.body if n.op.name == "range"]


def product(n):
    """A thread per element: `out[row, column] = sum(x[row, k] * y[k, column])`."""
    b = Build()
    out, x, y = b.out(), b.buffer(), b.buffer()
    column, row = b.index("gidx0", n), b.index("gidx1", n)
    first = b.mul(row, b.n(n))
    acc = b.acc(0.0)
    k = b.loop(n)
    other = b.load(y, b.add(b.mul(k, b.n(n)), column))
    sum_ = b.phi(acc, b.alu(TernaryOps.MULACC, b.load(x, b.add(first, k)), other, acc))
    b.end(k)
    b.store(out, b.add(first, column), sum_)
    return b


def test_elements_side_by_side():
    assert lanes(saxpy(100), 100, 100, 100, 1) == [64]
    found = ran(saxpy(100), np.zeros(100, np.float32), floats(100), floats(100, seed=1), floats(1))
    np.testing.assert_array_equal(found[0], found[3] * found[1] + found[2])


def test_columns_of_a_product_side_by_side():
    assert lanes(product(20), 400, 400, 400) == [1, 32, 1]
    x, y = floats(20, 20), floats(20, 20, seed=1)
    found, *_ = ran(product(20), np.zeros((20, 20), np.float32), x, y)
    np.testing.assert_allclose(found, x @ y, rtol=1e-5, atol=1e-5)


def test_threads_of_a_group_side_by_side():
    found = lanes(matmul(16, 8), 256, 256, 256)
    assert found.count(8) == 4  # the loops over lidx0
    x, y = floats(16, 16), floats(16, 16, seed=1)
    ran(matmul(16, 8), np.zeros((16, 16), np.float32), x, y)


def running_sum(b, out, x):
    acc = b.acc(0.0)
    i = b.loop(40)
    b.store(out, i, b.phi(acc, b.add(acc, b.load(x, i))))
    b.end(i)


def shift(b, out, x):
    i = b.loop(39)
    b.store(out, b.add(i, b.n(1)), b.load(out, i))
    b.end(i)


def turned(b, out, x):
    i = b.loop(40)
    b.store(out, b.alu(BinaryOps.SUB, b.n(39), i), b.load(x, i))
    b.end(i)


def apart(b, out, x):
    i = b.loop(20)
    b.store(out, b.mul(i, b.n(2)), b.load(x, i))
    b.end(i)


def one_place(b, out, x):
    i = b.loop(40)
    b.store(out, b.n(3), b.load(x, i))
    b.end(i)


def branch(b, out, x):
    i = b.loop(40)
    value = b.load(x, i)
    inside = b.when(b.alu(BinaryOps.CMPLT, value, b.n(0.0, FLOAT)))
    b.store(out, i, value)
    b.end(inside)
    b.end(i)


def gathered(b, out, x):
    i = b.loop(40)
    place = b.g.add(UOps.CAST, INT, vin=(b.alu(BinaryOps.MUL, b.load(x, i), b.n(0.0, FLOAT)),))
    b.store(out, i, b.load(x, place))
    b.end(i)


def own_memory(b, out, x):
    memory = b.local("memory", 1)
    i = b.loop(40)
    b.store(memory, b.n(0), b.load(x, i))
    b.store(out, i, b.load(memory, b.n(0)))
    b.end(i)


@pytest.mark.parametrize(
    "build", [running_sum, shift, turned, apart, one_place, branch, gathered, own_memory]
)
def test_one_after_another(build):
    b = Build()
    build(b, b.out(), b.buffer())
    assert lanes(b, 40, 40) == [1]
    ran(b, floats(40), floats(40, seed=1))


def test_a_sum_keeps_its_order():
    assert lanes(total(100), 1, 100) == [1]


@pytest.mark.parametrize("n", [1, 3, 4, 17, 64, 65, 1000])
def test_what_is_left_over_after_full_groups(n):
    b = Build()
    out, x = b.out(INT), b.buffer(INT)
    i = b.loop(n)
    gate = b.alu(BinaryOps.CMPLT, i, b.n(n - 2))
    value = b.load(x, i, gate, b.n(-1))
    b.store(out, i, b.add(b.mul(value, value), b.load(out, i)))
    b.end(i)
    values = np.arange(n, dtype=np.int32)
    found, _ = ran(b, np.full(n, 7, np.int32), values)
    kept = np.where(values < n - 2, values, -1)
    np.testing.assert_array_equal(found, kept * kept + 7)
