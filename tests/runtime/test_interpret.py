"""The interpreter of loop programs, on kernels small enough to work out by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from adjoint.errors import AdjointError, InternalError
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import Loops, number
from adjoint.runtime.interpret import interpret
from adjoint.stages import LoopProgram

F32 = dtypes.float32


def kernel(loops: Loops, *variables: UOp) -> LoopProgram:
    return replace(loops.program(loops.buffers[0], "test", 1), variables=variables)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def elementwise(fn, n, dtype=F32, result=None, lanes=1, grid=False):
    """out[i] = fn(a[i], b[i])"""
    loops = Loops()
    out = loops.buffer("out", result or dtype, n, True)
    a, b = (loops.buffer(name, dtype, n) for name in "ab")
    with loops.loop(n, lanes, grid=grid) as i:
        loops.store(out, i, fn(loops.load(a, i), loops.load(b, i)))
    return kernel(loops)


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_elementwise(lanes):
    a, b, out = floats(*range(7)), floats(*[0.5] * 7), np.zeros(7, np.float32)
    interpret(elementwise(lambda x, y: x * y + x, 7, lanes=lanes), [out, a, b])
    np.testing.assert_array_equal(out, a * b + a)


def test_memory_may_be_asked_for_what_is_not_there():
    loops = Loops()
    out, a = loops.buffer("out", F32, 4, True), loops.buffer("a", F32, 4)
    with loops.loop(4) as i:
        loops.ask(a, i + 1000)
        loops.store(out, i, loops.load(a, i) * number(2.0, F32))
    found = np.zeros(4, np.float32)
    interpret(kernel(loops), [found, floats(1, 2, 3, 4)])
    np.testing.assert_array_equal(found, floats(2, 4, 6, 8))


def test_a_part_of_the_grid():
    a, b, out = floats(*range(7)), floats(*[1] * 7), np.zeros(7, np.float32)
    interpret(elementwise(lambda x, y: x + y, 7, grid=True), [out, a, b], {}, 2, 5)
    np.testing.assert_array_equal(out, floats(0, 0, 3, 4, 5, 0, 0))


def total(n, lanes, op="add", start=0.0, outer=1):
    loops = Loops()
    out, x = loops.buffer("out", F32, 1, True), loops.buffer("x", F32, n * outer)
    acc = loops.register(number(start, F32))
    with loops.loop(outer) as o, loops.loop(n, lanes) as i:
        value = UOp._apply(op, acc, loops.load(x, o * n + i))
        done = loops.update(acc, value, o, i)
    loops.store(out, number(0), done)
    return kernel(loops)


def test_lanes_are_joined_by_halving():
    x = np.random.default_rng(0).normal(size=22).astype(np.float32) * 1e4
    lane = np.zeros(8, np.float32)
    for k, value in enumerate(x):
        lane[k % 8] += value
    four = lane[:4] + lane[4:]
    two = four[:2] + four[2:]
    out = np.zeros(1, np.float32)
    interpret(total(22, 8), [out, x])
    assert out[0] == two[0] + two[1]


def test_lanes_start_again_in_an_outer_loop_of_the_accumulator():
    x = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    lane = np.zeros(4, np.float32)
    for row in x:
        for k, value in enumerate(row):
            lane[k % 4] += value
    out = np.zeros(1, np.float32)
    interpret(total(5, 4, outer=3), [out, x])
    assert out[0] == (lane[0] + lane[2]) + (lane[1] + lane[3])


def test_a_nan_reaches_the_maximum():
    out = np.zeros(1, np.float32)
    interpret(total(5, 4, "maximum", -np.inf), [out, floats(1, np.nan, 3, 2, 0)])
    assert np.isnan(out[0])


def test_a_loop_that_does_not_run_leaves_the_start():
    out = np.ones(1, np.float32)
    interpret(total(0, 4), [out, floats()])
    assert out[0] == 0


def test_only_known_ops_join_lanes():
    with pytest.raises(InternalError, match="'sub'"):
        interpret(total(5, 4, "sub"), [np.zeros(1, np.float32), floats(1, 2, 3, 4, 5)])


def test_an_accumulator_inside_lanes_is_not_joined():
    loops = Loops()
    out, x = loops.buffer("out", F32, 6, True), loops.buffer("x", F32, 18)
    with loops.loop(6, 4) as i:
        acc = loops.register(number(0.0, F32))
        with loops.loop(3) as k:
            done = loops.update(acc, acc + loops.load(x, k * 6 + i), k)
        loops.store(out, i, done)
    found, x = np.zeros(6, np.float32), np.arange(18, dtype=np.float32)
    interpret(kernel(loops), [found, x])
    np.testing.assert_array_equal(found, x.reshape(3, 6).sum(0))


def test_gates_keep_memory_untouched():
    loops = Loops()
    out, x = loops.buffer("out", F32, 4, True), loops.buffer("x", F32, 2)
    with loops.loop(6) as i:
        inside = i < 2
        loops.place(inside)
        shown = OPS["load"](x, i, inside, number(9.0, F32))
        loops.store(out, i, shown, i < 4)
    found = np.zeros(4, np.float32)
    interpret(kernel(loops), [found, floats(5, 6)])
    np.testing.assert_array_equal(found, floats(5, 6, 9, 9))


@pytest.mark.parametrize("index", [-1, 3])
def test_an_access_outside_is_an_error(index):
    loops = Loops()
    out = loops.buffer("out", F32, 3, True)
    with loops.loop(1) as i:
        loops.store(out, i + index, number(1.0, F32))
    with pytest.raises(AdjointError, match=f"index {index} is outside"):
        interpret(kernel(loops), [np.zeros(3, np.float32)])


def test_an_array_of_another_dtype_is_refused():
    with pytest.raises(AdjointError, match="contiguous array of float32"):
        interpret(elementwise(lambda x, y: x, 2), [np.zeros(2)] * 3)


def test_branches_and_local_memory():
    loops = Loops()
    out = loops.buffer("out", dtypes.int32, 6, True)
    memory = loops.local("memory", dtypes.int32, 6)
    with loops.loop(6) as i:
        loops.store(memory, i, (i * i).cast(dtypes.int32))
    with loops.loop(6) as i, loops.when((i % 2).eq(0)):
        loops.store(out, i, loops.load(memory, 5 - i))
    found = np.zeros(6, np.int32)
    interpret(kernel(loops), [found])
    np.testing.assert_array_equal(found, [25, 0, 9, 0, 1, 0])


def test_lengths_and_variables_known_at_the_launch():
    n = OPS["variable"]("n", 0, 5, dtypes.int64)
    loops = Loops()
    out = loops.buffer("out", dtypes.int64, 5, True)
    with loops.loop(5, 4, count=n) as i:
        loops.store(out, i, n - i)
    found = np.zeros(5, np.int64)
    interpret(kernel(loops, n), [found], {"n": 3})
    np.testing.assert_array_equal(found, [3, 2, 1, 0, 0])


def rounded_once(a, b, c, dtype):
    """a * b + c as a fraction, and the nearest float by bisection between neighbours."""
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    near = dtype(float(exact))
    around = [np.nextafter(near, dtype(s)) for s in (-np.inf, np.inf)]
    return min([near, *around], key=lambda v: abs(Fraction(float(v)) - exact))


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64])
def test_fma_is_rounded_once(dtype):
    rng = np.random.default_rng(1)
    a, b = (rng.normal(size=40).astype(dtype.np) for _ in range(2))
    out = np.zeros_like(a)
    fused = elementwise(lambda x, y: OPS["fma"](x, y, -(x * y)), 40, dtype)
    interpret(fused, [out, a, b])
    wanted = [rounded_once(p, q, -(p * q), dtype.np.type) for p, q in zip(a, b, strict=True)]
    np.testing.assert_array_equal(out, wanted)
    assert np.any(out != 0)


def test_integers_wrap_and_divide_towards_zero():
    a = np.array([127, -128, -7, 7, -7], np.int8)
    b = np.array([1, -1, 2, -2, -2], np.int8)
    for fn, wanted in [
        (lambda x, y: x + y, [-128, 127, -5, 5, -9]),
        (lambda x, y: x * y, [127, -128, -14, -14, 14]),
        (lambda x, y: UOp._apply("idiv", x, y), [127, -128, -3, -3, 3]),
        (lambda x, y: UOp._apply("fmod", x, y), [0, 0, -1, 1, -1]),
    ]:
        out = np.zeros(5, np.int8)
        interpret(elementwise(fn, 5, dtypes.int8), [out, a, b])
        np.testing.assert_array_equal(out, wanted)


def test_bools_add_as_or_and_multiply_as_and():
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    for fn, wanted in [(lambda x, y: x + y, a | b), (lambda x, y: x * y, a & b)]:
        out = np.zeros(4, bool)
        interpret(elementwise(fn, 4, dtypes.bool_), [out, a, b])
        np.testing.assert_array_equal(out, wanted)


def test_casts_and_bits():
    a = floats(1.5, -2.5, np.nan, 3e9, -0.0)
    b = np.zeros(5, np.float32)
    for fn, result, wanted in [
        (lambda x, y: x.cast(dtypes.int32), dtypes.int32, [1, -2, 0, 2**31 - 1, 0]),
        (lambda x, y: x.cast(dtypes.bool_), dtypes.bool_, [1, 1, 1, 1, 0]),
        (lambda x, y: x.bitcast(dtypes.uint32), dtypes.uint32, a.view(np.uint32)),
        (lambda x, y: (x < y).where(x, y), dtypes.float32, [0, -2.5, 0, 0, 0]),
        (lambda x, y: UOp._apply("floor", x), dtypes.float32, np.floor(a)),
        (lambda x, y: x.cast(dtypes.float16), dtypes.float16, [1.5, -2.5, np.nan, np.inf, 0]),
    ]:
        out = np.zeros(5, result.np)
        interpret(elementwise(fn, 5, F32, result), [out, a, b])
        np.testing.assert_array_equal(out, np.asarray(wanted, result.np))


def test_vectors():
    loops = Loops()
    out, x = loops.buffer("out", F32, 4, True), loops.buffer("x", F32, 4)
    row = OPS["load"](x, number(0), width=4)
    flipped = OPS["vectorize"](*(OPS["gep"](row, i) for i in (3, 2, 1, 0)))
    for node in (row, flipped, row + flipped):
        loops.place(node)
    loops.store(out, number(0), row + flipped)
    found = np.zeros(4, np.float32)
    interpret(kernel(loops), [found, floats(1, 2, 4, 8)])
    np.testing.assert_array_equal(found, floats(9, 6, 6, 9))
