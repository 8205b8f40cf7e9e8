"""LLVM IR of kernels written by hand: run, and compared with NumPy bit for bit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adjoint.codegen.llvm.render import render
from adjoint.codegen.show import show
from adjoint.errors import InternalError
from adjoint.ir.dtype import as_dtype, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.runtime.processor import processor
from adjoint.stages import LoopProgram
from tests.codegen.llvm.kernels import (
    OF_WIDTH,
    Array,
    Compiled,
    Kernel,
    const,
    data,
    guarded,
    pointwise,
    same,
    tree,
)

SIZES = (0, 1, 7, 8, 9, 31, 32, 33, 1000)
F32, F64, I64 = dtypes.float32, dtypes.float64, dtypes.int64
WIDTHS = (128, 256, 512)


def relu_chain(x: UOp, y: UOp) -> UOp:
    return (x * 2.0 + y).maximum(0.0) * x


def relu_chain_numpy(x: Array, y: Array) -> Array:
    return np.maximum(x * np.float32(2) + y, np.float32(0)) * x


# ---- loops and lanes


@pytest.mark.parametrize("grid", [True, False])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_pointwise_chain_has_the_bits_of_numpy_for_every_size(width: int, grid: bool) -> None:
    run = Compiled(pointwise(relu_chain, [F32, F32], 32, 1 << 20), width)
    for size in SIZES:
        if not grid:
            run = Compiled(pointwise(relu_chain, [F32, F32], 32, size, grid=False), width)
        x, y, out = data(F32, size), data(F32, size, seed=1), np.zeros(size, np.float32)
        run(out, x, y, end=size)
        same(out, relu_chain_numpy(x, y))


@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16", "int64", "bool"])
def test_the_masked_group_touches_nothing_outside(dtype: str, at_end: bool) -> None:
    kind = as_dtype(dtype)
    fn = (lambda x: x.logical_not()) if kind.is_bool else (lambda x: -x)
    run = Compiled(pointwise(fn, [kind], 32, 1 << 20))
    for size in (1, 5, 31, 33, 63):
        x = guarded(data(kind, size), at_end)
        out = guarded(np.zeros(size, kind.np), at_end)
        run(out, x, end=size)
        same(out, ~x if kind.is_bool else -x)


def test_a_grid_done_in_pieces_gives_the_same() -> None:
    size = 1003
    x, y = data(F32, size), data(F32, size, seed=1)
    run = Compiled(pointwise(relu_chain, [F32, F32], 16, size))
    out = np.zeros(size, np.float32)
    for begin, end in ((0, 5), (5, 5), (5, 300), (300, 316), (316, 1003)):
        run(out, x, y, begin=begin, end=end)
    same(out, relu_chain_numpy(x, y))


@pytest.mark.parametrize("size", [0, 1, 12, 16, 40])
def test_a_loop_may_start_anywhere_and_take_its_length_when_it_runs(size: int) -> None:
    k = Kernel()
    out, n = k.out(I64), k.variable("n")
    i = k.range(1 << 20, 16, start=3, count=n)
    k.store(out, i - 3, k.do(i * 2))
    k.end(i)
    found = np.zeros(64, np.int64)
    Compiled(k.program())(found, variables=[size])
    assert np.array_equal(found[:size], 2 * np.arange(3, 3 + size))
    assert not found[size:].any()


REDUCTIONS: list[tuple[str, Any, str, Any]] = [
    ("add", 0.0, "float32", np.add),
    ("mul", 1.0, "float64", np.multiply),
    ("maximum", float("-inf"), "float32", np.maximum),
    ("minimum", float("inf"), "float64", np.minimum),
    ("add", 0, "int32", np.add),
    ("maximum", -(2**63), "int64", np.maximum),
    ("minimum", 255, "uint8", np.minimum),
    ("logical_or", False, "bool", np.logical_or),
    ("logical_and", True, "bool", np.logical_and),
    ("bitwise_xor", 0, "uint16", np.bitwise_xor),
]


def row_reduction(
    rows: int, columns: int, lanes: int, op: str, start: Any, dtype: Any
) -> LoopProgram:
    k = Kernel()
    out, x = k.out(dtype), k.buffer(dtype)
    r = k.range(rows, grid=True)
    acc = k.acc(start, dtype)
    c = k.range(columns, lanes)
    total = k.update(acc, OPS[op](acc, k.load(x, r * columns + c)), c)
    k.end(c)
    k.store(out, r, total)
    k.end(r)
    return k.program()


@pytest.mark.parametrize(("op", "start", "dtype", "join"), REDUCTIONS)
def test_lanes_are_joined_by_halving(op: str, start: Any, dtype: str, join: Any) -> None:
    for columns in (0, 1, 15, 16, 17, 100):
        x = data(dtype, 3, columns)
        out = np.zeros(3, x.dtype)
        Compiled(row_reduction(3, columns, 16, op, start, dtype))(out, x)
        same(out, np.array([tree(row, 16, start, join) for row in x], x.dtype))


def test_a_reduction_keeps_nan() -> None:
    for op, start in (("maximum", float("-inf")), ("minimum", float("inf")), ("add", 0.0)):
        x = data(F32, 4, 50)
        x[1, 3], x[2, 49], x[3, 0] = np.nan, np.nan, np.nan
        out = np.zeros(4, np.float32)
        Compiled(row_reduction(4, 50, 16, op, start, F32))(out, x)
        assert np.isnan(out).tolist() == [False, True, True, True]


def test_an_accumulator_over_two_loops_is_joined_when_the_outer_one_ends() -> None:
    k = Kernel()
    out, x = k.out(F32), k.buffer(F32)
    acc = k.acc(0.0, F32)
    r = k.range(5)
    c = k.range(21, 8)
    total = k.update(acc, acc + k.load(x, r * 21 + c), r, c)
    k.end(c, r)
    k.store(out, 0, total * 1.0)
    values, found = data(F32, 5, 21), np.zeros(1, np.float32)
    Compiled(k.program())(found, values)
    lane = np.zeros(8, np.float32)
    for row in values:
        for i in range(0, 21, 8):
            part = row[i : i + 8]
            lane[: part.size] += part
    lane = lane[:4] + lane[4:]
    lane = lane[:2] + lane[2:]
    same(found, lane[:1] + lane[1:])


def test_lanes_outside_a_reduction_are_not_joined() -> None:
    rows, columns = 9, 21
    k = Kernel()
    out, x = k.out(F32), k.buffer(F32)
    c = k.range(columns, 16, grid=True)
    acc = k.acc(0.0, F32)
    r = k.range(rows)
    total = k.update(acc, acc + k.load(x, r * columns + c), r)
    k.end(r)
    k.store(out, c, total)
    k.end(c)
    values, found = data(F32, rows, columns), guarded(np.zeros(columns, np.float32), True)
    Compiled(k.program())(found, guarded(values, True))
    expected = np.zeros(columns, np.float32)
    for row in values:
        expected = expected + row
    same(found, expected)


def test_an_accumulator_that_is_the_same_in_all_lanes_stays_a_scalar() -> None:
    k = Kernel()
    out, x = k.out(F32), k.buffer(F32)
    c = k.range(20, 8)
    acc = k.acc(0.0, F32)
    r = k.range(40)
    total = k.update(acc, acc + k.load(x, r), r)
    k.end(r)
    k.store(out, c, k.do(total + c.cast(F32)))
    k.end(c)
    run = Compiled(k.program())
    values, found = data(F32, 40), np.zeros(20, np.float32)
    run(found, values)
    total_numpy = np.float32(0)
    for value in values:
        total_numpy = total_numpy + value
    same(found, total_numpy + np.arange(20, dtype=np.float32))
    assert "phi float" in run.text


@pytest.mark.parametrize("rows", [1, 2, 3, 8, 9, 10, 40])
def test_a_short_loop_without_branches_is_written_out_and_adds_in_the_same_order(rows: int) -> None:
    k = Kernel()
    out, x = k.out(F32), k.buffer(F32)
    c = k.range(20)
    acc = k.acc(1.0, F32)
    r = k.range(rows)
    inner = k.acc(0.0, F32)
    s = k.range(2)
    pair = k.update(inner, inner + k.load(x, (c * rows + r) * 2 + s), s)
    k.end(s)
    total = k.update(acc, acc + pair, r)
    k.end(r)
    k.store(out, c, total)
    k.end(c)
    run = Compiled(k.program())
    values, found = data(F32, 20, rows, 2), np.zeros(20, np.float32)
    run(found, values)
    expected = np.ones(20, np.float32)
    for row in range(rows):
        expected = expected + (values[:, row, 0] + values[:, row, 1])
    same(found, expected)
    assert run.text.count("phi i64") == (1 if rows <= 3 else 2)


@pytest.mark.parametrize("columns", [1, 30, 64])
def test_a_row_kernel_in_stages_keeps_the_row_in_scratch_memory(columns: int) -> None:
    k = Kernel()
    out, x = k.out(F32), k.buffer(F32)
    r = k.range(6, grid=True)
    row, scratch = k.do(r * columns), k.local(F32, columns)
    largest = k.acc(float("-inf"), F32)
    c = k.range(columns, 16)
    top = k.update(largest, largest.maximum(k.load(x, row + c)), c)
    k.end(c)
    start = k.acc(0.0, F32)
    c = k.range(columns, 16)
    value = k.do((k.load(x, row + c) - top) * 0.5)
    k.store(scratch, c, value)
    total = k.update(start, start + value, c)
    k.end(c)
    factor = k.do(1.0 / total)
    c = k.range(columns, 16)
    k.store(out, row + c, k.do(k.load(scratch, c) * factor))
    k.end(c, r)
    values, found = data(F32, 6, columns), np.zeros((6, columns), np.float32)
    Compiled(k.program())(found, values)
    halves = (values - values.max(1, keepdims=True)) * np.float32(0.5)
    sums = np.array([tree(v, 16, 0.0, np.add) for v in halves], np.float32)
    with np.errstate(all="ignore"):
        same(found, halves * (np.float32(1) / sums)[:, None])


def test_an_update_under_a_condition_keeps_the_old_value_elsewhere() -> None:
    k = Kernel()
    out, x, limit = k.out(I64), k.buffer(I64), k.variable("limit")
    acc = k.acc(0, I64)
    i = k.range(10)
    branch = k.when(k.do(i < limit))
    total = k.update(acc, acc + k.load(x, i), i)
    k.endif(branch)
    k.end(i)
    k.store(out, 0, total)
    run, found = Compiled(k.program()), np.zeros(1, np.int64)
    for n in (0, 4, 10):
        run(found, np.arange(10), variables=[n])
        assert found[0] == sum(range(n))


# ---- memory


def test_every_stride_reads_and_writes_its_own_elements() -> None:
    def moved(place: Callable[[UOp], Any], size: int, target: bool) -> Array:
        k = Kernel()
        out, x = k.out(F32), k.buffer(F32)
        i = k.range(size, 8)
        k.store(out, place(i) if target else i, k.load(x, i if target else place(i)))
        k.end(i)
        found = guarded(np.zeros(3 * size, np.float32), True)
        Compiled(k.program())(found, guarded(np.arange(3 * size, dtype=np.float32), True))
        return found

    size = 21
    count = np.arange(size)
    strides = [
        (lambda i: i, count),
        (lambda i: (size - 1) - i, size - 1 - count),
        (lambda i: i * 3 + 2, 3 * count + 2),
        (lambda i: i // 3, count // 3),
        (lambda i: 5 - (i - i), np.full(size, 5)),
    ]
    for place, index in strides:
        expected = np.zeros(3 * size, np.float32)
        expected[:size] = index
        same(moved(place, size, target=False), expected)
        expected = np.zeros(3 * size, np.float32)
        expected[index] = count
        same(moved(place, size, target=True), expected)


@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
def test_going_down_touches_nothing_outside(dtype: str, at_end: bool) -> None:
    for size in (1, 7, 8, 9, 20):
        k = Kernel()
        out, x = k.out(dtype), k.buffer(dtype)
        i = k.range(size, 8)
        k.store(out, i, k.load(x, (size - 1) - i))
        k.end(i)
        values = data(dtype, size)
        found = guarded(np.zeros_like(values), at_end)
        Compiled(k.program())(found, guarded(values, at_end))
        same(found, values[::-1])


def test_gathers_follow_indices_from_memory() -> None:
    for dtype in ("float32", "float64", "int64", "int16", "bool"):
        k = Kernel()
        out, x, index = k.out(dtype), k.buffer(dtype), k.buffer("int32")
        i = k.range(100, 16, grid=True)
        k.store(out, i, k.load(x, k.load(index, i).cast(I64)))
        k.end(i)
        values, places = data(dtype, 37), np.random.default_rng(3).integers(0, 37, 100)
        found = np.zeros(100, values.dtype)
        Compiled(k.program())(found, guarded(values, True), places.astype(np.int32))
        same(found, values[places])


def test_a_load_behind_a_closed_gate_is_the_alternative_and_touches_nothing() -> None:
    for dtype in ("float32", "int8", "bool", "float16"):
        for at_end in (True, False):
            k = Kernel()
            out, x = k.out(dtype), k.buffer(dtype)
            r = k.range(5)
            c = k.range(30, 8)
            inside = (c >= 4).logical_and(c < 4 + 20).logical_and((r >= 1).logical_and(r < 4))
            k.store(out, r * 30 + c, k.load(x, (r - 1) * 20 + (c - 4), inside, 1))
            k.end(c, r)
            values, found = data(dtype, 3, 20), np.zeros((5, 30), as_dtype(dtype).np)
            Compiled(k.program())(found, guarded(values, at_end))
            same(found, np.pad(values, ((1, 1), (4, 6)), constant_values=1))


def test_a_gate_that_all_lanes_share_needs_no_mask() -> None:
    k = Kernel()
    out, x = k.out(F32), k.buffer(F32)
    r = k.range(5)
    c = k.range(16, 8)
    k.store(out, r * 16 + c, k.load(x, (r - 1) * 16 + c, (r >= 1).logical_and(r < 4), 7.0))
    k.end(c, r)
    run = Compiled(k.program())
    values, found = data(F32, 3, 16), np.zeros((5, 16), np.float32)
    run(found, guarded(values, True))
    same(found, np.pad(values, ((1, 1), (0, 0)), constant_values=7))
    assert "masked" not in run.text


def test_scalar_loads_and_stores_obey_their_gates() -> None:
    k = Kernel()
    out, x = k.out(F32), k.buffer(F32)
    i = k.range(9)
    k.store(out, i, k.load(x, i - 3, i >= 3, -1.0), i < 7)
    k.end(i)
    values, found = guarded(data(F32, 6), False), guarded(np.zeros(7, np.float32), True)
    Compiled(k.program())(found, values)
    same(found, np.concatenate([np.full(3, -1, np.float32), values[:4]]))


def test_stores_obey_their_gates() -> None:
    for place in (lambda i: i, lambda i: 40 - i, lambda i: i * 2):
        k = Kernel()
        out, x = k.out("int16"), k.buffer("int16")
        i = k.range(41, 16)
        value = k.load(x, i)
        k.store(out, place(i), value, value < 0)
        k.end(i)
        values, found = data("int16", 41), np.zeros(82, np.int16)
        Compiled(k.program())(found, values)
        expected = np.zeros(82, np.int16)
        for j in np.nonzero(values < 0)[0]:
            expected[place(int(j))] = values[j]
        same(found, expected)


@pytest.mark.parametrize("bad", [None, 0, 20, 35])
def test_a_flag_is_stored_if_the_gate_of_any_lane_holds(bad: int | None) -> None:
    k = Kernel()
    flag, x = k.out(I64), k.buffer("int32")
    i = k.range(36, 16, grid=True)
    k.store(flag, 0, const(7), k.do(k.load(x, i) < 0))
    k.end(i)
    values, found = np.zeros(36, np.int32), np.zeros(1, np.int64)
    if bad is not None:
        values[bad] = -1
    Compiled(k.program())(found, values)
    assert found[0] == (0 if bad is None else 7)


def test_a_flag_that_no_lane_stores_costs_a_branch_and_no_scatter() -> None:
    k = Kernel()
    flag, x = k.out("int32"), k.buffer("int32")
    i = k.range(64, 16)
    value = k.load(x, i)
    k.store(flag, 0, value, k.do(value < 0))
    k.end(i)
    source = render(k.program(), processor()).text
    assert re.search(r"br i1 %v\d+, label %b\d+, label %b\d+\nb\d+:\n[^b]*scatter", source)


def test_updates_one_after_another_see_one_another() -> None:
    k = Kernel()
    out, index, x = k.out(F32), k.buffer(I64), k.buffer(F32)
    u = k.range(50)
    at = k.load(index, u)
    inside = k.do((at >= 0).logical_and(at < 6))
    branch = k.when(inside)
    k.store(out, at, k.do(k.load(out, at) + k.load(x, u)))
    k.endif(branch)
    k.end(u)
    places = np.random.default_rng(0).integers(-2, 8, 50)
    values, found = data(F32, 50), guarded(np.zeros(6, np.float32), True)
    Compiled(k.program())(found, places, values)
    expected = np.zeros(6, np.float32)
    for place, value in zip(places, values, strict=True):
        if 0 <= place < 6:
            expected[place] += value
    same(found, expected)


# ---- indices


def counted(fn: Callable[[UOp], UOp], size: int, start: int) -> Array:
    """fn of the counter, for every iteration."""
    k = Kernel()
    i = k.range(size, 16, start=start)
    value = k.do(fn(i))
    out = k.out(value.dtype)
    k.store(out, i - start, value)
    k.end(i)
    found = np.zeros(size, value.dtype.np)
    Compiled(k.program())(found)
    return found


@pytest.mark.parametrize("start", [0, 5, 2**31 - 9, 2**62 - 9])
def test_indices_are_compared_and_divided_exactly(start: int) -> None:
    count = np.arange(start, start + 40)
    for limit in (start + 7, start - 1, start + 90, 2**63 - 1, -(2**63)):
        for op, numpy in (
            ("lt", np.less),
            ("le", np.less_equal),
            ("eq", np.equal),
            ("ne", np.not_equal),
        ):
            same(
                counted(lambda i, op=op, n=limit: OPS[op](i, const(n)), 40, start),
                numpy(count, limit),
            )
            same(
                counted(lambda i, op=op, n=limit: OPS[op](const(n), i), 40, start),
                numpy(limit, count),
            )
    same(
        counted(lambda i: (i * 3 - start) < i * 2 + 4, 40, start), 3 * count - start < 2 * count + 4
    )
    for divisor in (1, 7, 64, 2**40):
        same(counted(lambda i, d=divisor: i // d, 40, start), count // divisor)
        same(counted(lambda i, d=divisor: i % d, 40, start), count % divisor)


def test_a_counter_that_wraps_around_is_compared_as_it_is() -> None:
    with np.errstate(over="ignore"):
        wrapped = np.arange(20) + np.int64(2**63 - 5)
    same(counted(lambda i: (i + (2**63 - 5)) < 0, 20, 0), wrapped < 0)


# ---- the text


def test_the_text_is_the_same_every_time_and_names_the_lines() -> None:
    program = pointwise(relu_chain, [F32, F32], 16, 100)
    assert render(program, OF_WIDTH[256]) == render(program, OF_WIDTH[256])
    k = Kernel("odd name-1")
    out = k.out(F32)
    k.store(out, 0, const(1.0, F32))
    source = render(k.program(("train.py:7  y = x + 1",)), OF_WIDTH[256])
    assert source.text.startswith("; train.py:7  y = x + 1\n")
    found = np.zeros(1, np.float32)
    Compiled(k.program())(found)
    assert found[0] == 1


def test_what_is_no_kernel_is_refused() -> None:
    k = Kernel()
    out, x = k.out(F32), k.buffer(F32)
    i = k.range(8, 8)
    k.store(out, i, k.load(x, i))
    with pytest.raises(InternalError, match="not closed"):
        render(k.program(), OF_WIDTH[256])
    j = k.range(8, 8)
    k.end(j, i)
    with pytest.raises(InternalError, match="lanes inside another"):
        render(k.program(), OF_WIDTH[256])
    k = Kernel()
    out = k.out(F32)
    k.store(out, 0, k.do(const(1.0, F32).exp()))
    with pytest.raises(InternalError, match="exp"):
        render(k.program(), OF_WIDTH[256])


def test_a_program_is_shown_with_its_loops() -> None:
    program = row_reduction(3, 20, 16, "add", 0.0, F32)
    assert show(program) == SHOWN
    k = Kernel("gated")
    out, x, n = k.out(F32), k.buffer(F32), k.variable("n")
    scratch = k.local(F32, 8)
    i = k.range(100, start=2, count=n)
    branch = k.when(k.do(i < 9))
    k.store(out, i, k.load(x, i, i >= 4, 1.5), i >= 3)
    k.store(scratch, 0, k.load(x, 0, branch))
    k.endif(branch)
    k.end(i)
    assert show(k.program(("a.py:1  y",))) == SHOWN_GATED


SHOWN = """\
# kernel kernel
b0: Ptr<f32, mutable>
b1: Ptr<f32>
for i0 in 0 .. 3, in parts:
    v0: f32 = define_acc(0.0)
    v1: i64 = mul(i0, 20)
    for i1 in 0 .. 20, 16 side by side:
        v2: i64 = add(v1, i1)
        v3: f32 = load(b1, v2)
        v4: f32 = add(v0, v3)
        v5: f32 = phi(v0, v4)
    store(b0, i0, v5)
"""
SHOWN_GATED = """\
# kernel gated
# a.py:1  y
b0: Ptr<f32, mutable>
b1: Ptr<f32>
n: i64, 0 .. 1099511627776
l0: Ptr<f32, local, mutable>[8]
for i0 in 2 .. 2 + n:
    v0: bool = lt(i0, 9)
    v1: bool = le(4, i0)
    v2: f32 = load(b1, i0, v1, 1.5)
    v3: bool = le(3, i0)
    if v0:
        store(b0, i0, v2) if v3
        v4: f32 = load(b1, 0)
        store(l0, 0, v4)
"""
