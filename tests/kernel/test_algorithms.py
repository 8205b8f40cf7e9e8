"""Kernels of scan, scatter and sort against the reference of their records, bit for bit."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from adjoint.codegen.llvm.render import render
from adjoint.ir.dtype import ALL, DType, as_dtype, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.spec import verify_order
from adjoint.ir.uop import UOp, toposort
from adjoint.kernel.algorithms.loops import AlgorithmKernel
from adjoint.kernel.algorithms.scatter import build_scatter, read_by
from adjoint.kernel.algorithms.sort import sort_program
from adjoint.kernel.algorithms.table import build
from adjoint.ops.indexing import MODES, ArgsortArg, GatherArg, ScatterArg
from adjoint.ops.scan import ScanArg
from adjoint.runtime.compiler import compile_source
from adjoint.runtime.interpret import interpret
from adjoint.runtime.processor import processor
from adjoint.runtime.reference import evaluate
from adjoint.target import TARGETS

CPU = TARGETS["CPU"]
REAL = [d for d in ALL if not d.is_complex]
SCANS = ["scan_sum", "scan_prod", "scan_max", "scan_min"]
ODD = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan, 1e-7, 2.5, 2.5, 65504.0]


def bad_index(code: int) -> tuple[int, int]:
    """The axis and the index of a flag's code: 56 bits of the index, above it the axis."""
    above, index = divmod(code, 1 << 56)
    return above - 1, index - (1 << 55)


def ids(dtype: DType) -> str:
    return dtype.short


def numbers(dtype: DType, *shape: int, seed: int = 0) -> np.ndarray:
    """Repeated values, some negative; floats with all the special ones."""
    rng = np.random.default_rng(seed)
    if dtype.is_bool:
        return rng.random(shape) > 0.5
    if dtype.is_int:
        wide = rng.integers(dtype.min, dtype.max, shape, dtype.np, endpoint=True)
        return np.where(rng.random(shape) > 0.5, wide, wide % dtype.np.type(5)).astype(dtype.np)
    plain = rng.normal(size=shape)
    with np.errstate(all="ignore"):
        return np.where(rng.random(shape) > 0.3, plain, rng.choice(ODD, shape)).astype(dtype.np)


def finite(dtype: DType, *shape: int, seed: int = 0) -> np.ndarray:
    x = numbers(dtype, *shape, seed=seed)
    return np.random.default_rng(seed).normal(size=shape).astype(x.dtype) if dtype.is_float else x


def node_of(op: str, arrays: list[np.ndarray], arg: object) -> UOp:
    src = [OPS["input"](f"{i}", a.shape, as_dtype(a.dtype)) for i, a in enumerate(arrays)]
    return UOp(OPS[op], tuple(src), arg)


def verified(kernel: AlgorithmKernel) -> AlgorithmKernel:
    """The kernel, after the check that it is a list in running order."""
    body = kernel.program.body
    leaves = [n for n in toposort(body) if not n.src and n not in set(body)]
    verify_order([*leaves, *body])
    return kernel


def launch(kernel: AlgorithmKernel, results: list[np.ndarray], operands: list[np.ndarray]) -> int:
    """Interpret the kernel, a grid in two parts, and compile it too; what the flag says."""
    verified(kernel)
    natively = [r.copy() for r in results]
    flags = [_run(kernel, out, operands) for out, _run in ((results, _slow), (natively, _fast))]
    assert flags[0] == flags[1]
    for a, b in zip(results, natively, strict=True):
        same(a, b)
    return flags[0]


def _slow(kernel: AlgorithmKernel, results: list[np.ndarray], operands: list[np.ndarray]) -> int:
    arrays = memory(kernel, results, operands)
    for begin, end in parts(kernel):
        interpret(kernel.program, arrays, {}, begin, end)
    return int(arrays[-1][0]) if kernel.flag else 0


def _fast(kernel: AlgorithmKernel, results: list[np.ndarray], operands: list[np.ndarray]) -> int:
    arrays = memory(kernel, results, operands)
    code = compile_source(render(kernel.program, processor()))
    number = ctypes.c_int64
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, number, number)(code.address)
    cells = (number * len(arrays))(*(a.ctypes.data for a in arrays))
    for begin, end in parts(kernel):
        function(ctypes.addressof(cells), begin or 0, end or 0)
    return int(arrays[-1][0]) if kernel.flag else 0


def parts(kernel: AlgorithmKernel) -> list[tuple[int | None, int | None]]:
    if kernel.program.grid is None:
        return [(None, None)]
    size = kernel.program.grid.arg.size
    return [(size // 2, size), (0, size // 2)]


def memory(kernel: AlgorithmKernel, results: list[np.ndarray], operands: list[np.ndarray]) -> list:
    """An array per buffer; scratch is full of something."""
    spare = [np.full(count, 3, kind.np) for kind, count in kernel.scratch]
    flag = [np.zeros(1, np.int64)] * kernel.flag
    filled = [a if a.size else np.zeros(1, a.dtype) for a in operands]
    return [*results, *filled, *spare, *flag]


def same(found: np.ndarray, wanted: np.ndarray) -> None:
    """The same bits, but for which NaN it is."""
    assert found.dtype == wanted.dtype
    if found.dtype.kind not in "biu":
        found, wanted = (a.astype(np.float64) for a in (found, wanted))
        signs = [np.signbit(a) & (a == 0) for a in (found, wanted)]
        np.testing.assert_array_equal(*signs)
    np.testing.assert_array_equal(found, wanted)


def check(node: UOp, arrays: list[np.ndarray], kernel: AlgorithmKernel | None = None) -> None:
    out = np.zeros(node.shape, node.dtype.np)
    assert launch(kernel or build(node, CPU), [out], arrays) == 0
    same(out, evaluate(node, arrays, None))


# ---- scan


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("op", SCANS)
def test_scan_along_every_axis(op, reverse):
    for shape in [(5,), (1,), (2, 3, 5), (4, 1, 1), (2, 2, 70)]:
        x = finite(dtypes.float32, *shape)
        for axis in range(len(shape)):
            check(node_of(op, [x], ScanArg(axis, reverse)), [x])


@pytest.mark.parametrize("dtype", REAL, ids=ids)
@pytest.mark.parametrize("op", SCANS)
def test_scan_of_every_dtype(op, dtype):
    x = numbers(dtype, 9, 6)
    for axis in (0, 1):
        check(node_of(op, [x], ScanArg(axis)), [x])


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.int32, dtypes.bool_], ids=ids)
@pytest.mark.parametrize("op", SCANS)
def test_scan_of_rows_by_blocks(op, dtype):
    for size in (15, 16, 17, 24, 39, 200):
        x = numbers(dtype, 3, size, seed=size)
        for reverse in (False, True):
            check(node_of(op, [x], ScanArg(1, reverse)), [x])


def test_scan_sum_keeps_negative_zero_and_propagates_nan():
    x = np.array([-0.0, -0.0, 1.0, np.nan, 2.0], np.float32)
    for op in SCANS:
        check(node_of(op, [x], ScanArg(0)), [x])


def test_narrow_scan_is_rounded_once_per_element():
    x = np.full(64, 0.1, np.float16)
    out = np.zeros_like(x)
    launch(build(node_of("scan_sum", [x], ScanArg(0)), CPU), [out], [x])
    np.testing.assert_array_equal(out, np.cumsum(x.astype(np.float32)).astype(np.float16))


# ---- scatter


def scatter_node(x, indices, updates, axes, mode):
    arrays = [x, *indices, updates]
    if mode == "add":
        return node_of("scatter_add", arrays, GatherArg(axes)), arrays
    return node_of("scatter", arrays, ScatterArg(axes, mode)), arrays


def places(shape, axes, count, dtype=np.int32, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, shape[a], count).astype(dtype) for a in axes]


CASES = [
    ((6,), (0,), (9,)),
    ((4, 3), (0,), (5,)),
    ((4, 3), (1,), (2, 3)),
    ((4, 3), (0, 1), (7,)),
    ((4, 3), (1, 0), (7,)),
    ((3, 70), (0,), (6,)),
    ((2, 3, 5), (1,), (4,)),
    ((2, 3, 5), (0, 2), (4,)),
    ((2, 3, 4, 9), (0, 1), (6,)),
    ((1, 1), (0,), (3,)),
    ((5, 2), (0,), (0,)),
    ((5, 7), (0,), ()),
]


@pytest.mark.parametrize("mode", ["add", *MODES])
@pytest.mark.parametrize(("shape", "axes", "count"), CASES)
def test_scatter_of_every_layout(mode, shape, axes, count):
    rest = [n for a, n in enumerate(shape) if a not in axes]
    x = finite(dtypes.float32, *shape)
    updates = finite(dtypes.float32, *count, *rest, seed=1)
    node, arrays = scatter_node(x, places(shape, axes, count), updates, axes, mode)
    check(node, arrays)


@pytest.mark.parametrize("dtype", REAL, ids=ids)
@pytest.mark.parametrize("mode", ["add", *MODES])
def test_scatter_of_every_dtype(mode, dtype):
    x, updates = numbers(dtype, 4, 5), numbers(dtype, 12, 5, seed=1)
    node, arrays = scatter_node(x, places(x.shape, (0,), 12), updates, (0,), mode)
    check(node, arrays)


@pytest.mark.parametrize("dtype", [d for d in ALL if d.is_int], ids=ids)
def test_scatter_by_every_index_dtype(dtype):
    x, updates = numbers(dtypes.int32, 200), numbers(dtypes.int32, 6, seed=1)
    index = np.array([0, 127, 3, 3, 100, 127]).astype(dtype.np)
    node, arrays = scatter_node(x, [index], updates, (0,), "set")
    check(node, arrays)


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float16], ids=ids)
def test_scatter_in_place(dtype):
    x, updates = numbers(dtype, 4, 5), numbers(dtype, 12, 5, seed=1)
    node, arrays = scatter_node(x, places(x.shape, (0,), 12), updates, (0,), "add")
    out = x.copy()
    launch(build_scatter(node, CPU, in_place=True), [out], arrays)
    same(out, evaluate(node, arrays, None))


@pytest.mark.parametrize(
    ("index", "reported"),
    [
        (np.array([0, 4, -1], np.int64), 4),
        (np.array([0, -7, 9], np.int8), -7),
        (np.array([2**40], np.int64), 2**40),
        (np.array([-(2**40)], np.int64), -(2**40)),
        (np.array([2**64 - 1], np.uint64), 2**55 - 1),
        (np.array([2**63 - 1], np.int64), 2**55 - 1),
        (np.array([-(2**63)], np.int64), -(2**55)),
    ],
)
@pytest.mark.parametrize("rest", [(), (3,), (9,)])
def test_a_bad_index_is_reported_and_touches_nothing(index, reported, rest):
    x = finite(dtypes.float32, 4, *rest)
    updates = finite(dtypes.float32, len(index), *rest, seed=1)
    node, arrays = scatter_node(x, [index], updates, (0,), "set")
    out = np.zeros_like(x)
    assert bad_index(launch(build(node, CPU), [out], arrays)) == (0, reported)
    np.testing.assert_array_equal(out[1:], x[1:])


@pytest.mark.parametrize("target", ["CPU", "GPU"])
def test_a_scatter_has_a_buffer_for_every_operand_that_it_reads(target):
    x = OPS["input"]("x", (6, 8), dtypes.float32)
    index = OPS["input"]("index", (6, 5), dtypes.int64)
    updates = OPS["input"]("updates", (6, 5), dtypes.float32)
    node = x.scatter_add(1, index, updates)
    kernel = build_scatter(node, TARGETS[target])
    read = read_by(node, TARGETS[target])
    assert len(kernel.program.buffers) == 1 + len(read) + len(kernel.scratch) + kernel.flag
    assert len(read) == (3 if target == "CPU" else 4)  # not the numbers of the rows


def test_the_first_bad_axis_is_reported():
    x = finite(dtypes.float32, 4, 5)
    indices = [np.array([0, 3, 4, 9]), np.array([5, 0, 0, 0])]
    node, arrays = scatter_node(x, indices, finite(dtypes.float32, 4), (1, 0), "set")
    assert bad_index(launch(build(node, CPU), [np.zeros_like(x)], arrays)) == (1, 9)
    node, arrays = scatter_node(x, indices, finite(dtypes.float32, 4), (0, 1), "set")
    assert bad_index(launch(build(node, CPU), [np.zeros_like(x)], arrays)) == (0, 4)


# ---- sort


def check_sort(x: np.ndarray, axis: int, descending: bool) -> None:
    node = node_of("argsort", [x], ArgsortArg(axis, descending))
    order = evaluate(node, [x], None)
    sorted_ = np.take_along_axis(x, order, axis)
    check(node, [x])
    values, indices = np.zeros_like(x), np.zeros(x.shape, np.int64)
    launch(sort_program(node, CPU), [values, indices], [x])
    np.testing.assert_array_equal(indices, order)
    same(values, sorted_)
    only = np.zeros_like(x)
    launch(sort_program(node, CPU, indices=False), [only], [x])
    same(only, sorted_)


@pytest.fixture(params=["ranks", "digits", "scratch"])
def way(request, monkeypatch):
    """Both algorithms, and the second with scratch outside the kernel, on short rows."""
    if request.param != "ranks":
        scratch = {"local_bytes": 0, "scratch_groups": 4} if request.param == "scratch" else {}
        limits = replace(CPU.limits, ranked_row=0, **scratch)
        monkeypatch.setitem(globals(), "CPU", replace(CPU, limits=limits))
    return request.param


@pytest.mark.parametrize("descending", [False, True])
def test_sort_along_every_axis(way, descending):
    for shape in [(7,), (1,), (2, 3), (2, 2, 3)]:
        for axis in range(len(shape)):
            check_sort(numbers(dtypes.int16, *shape), axis, descending)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", REAL, ids=ids)
def test_sort_of_every_dtype(way, dtype, descending):
    check_sort(numbers(dtype, 40), 0, descending)


@pytest.mark.parametrize("descending", [False, True])
def test_sort_is_stable_and_puts_nan_last(way, descending):
    x = np.array([np.nan, 0.0, -0.0, np.inf, -np.nan, 0.0, -np.inf, 1e-45, -1e-45], np.float32)
    check_sort(x, 0, descending)
    check_sort(np.zeros(20, np.int8), 0, descending)


def test_long_rows_by_size():
    for n in (128, 129, 2000):
        check(*_argsort(numbers(dtypes.float32, n)))
    check(*_argsort(numbers(dtypes.int64, 150)))


def _argsort(x):
    return node_of("argsort", [x], ArgsortArg(0)), [x]


def test_scratch_does_not_grow_with_the_rows():
    few, many = (
        build(node_of("argsort", [np.zeros((rows, 5000), np.float32)], ArgsortArg(1)), CPU)
        for rows in (64, 1000)
    )
    assert few.scratch == many.scratch
    assert len(few.program.buffers) == 2 + len(few.scratch)
