"""Loop programs as the lowering writes them, run by the plain interpreter in their arena: REF's
values. Kernels run whole and in pieces, on memory that nobody has cleared.
"""

import numpy as np
import pytest

from adjoint import Tensor, vjp
from adjoint.backends.cpu import BACKEND
from adjoint.codegen.show import show
from adjoint.engine.pipeline import compile_graph
from adjoint.ir.opdef import OPS
from adjoint.runtime.interpret import interpret
from adjoint.stages import KernelStep, LibraryStep
from adjoint.tensor.tensor import lift

RNG = np.random.default_rng(0)


def floats(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def whole(*shape, dtype=np.int32, low=-9, high=10):
    return RNG.integers(low, high, shape).astype(dtype)


def places(count, *shape):
    return whole(*shape, dtype=np.int64, low=0, high=count)


# ---- running a schedule by hand


def memory(plan, arrays):
    """An array per slot; what is in the arena is a view of it, and nothing is cleared."""
    arena = np.full(plan.arena, 0xA5, np.uint8)
    found = []
    for slot in plan.slots:
        start = slot.offset or 0
        room = arena[start:] if slot.offset is not None else np.full(slot.nbytes, 0xA5, np.uint8)
        found.append(room[: slot.nbytes].view(slot.dtype.np).reshape(slot.shape))
    for number, array in zip(plan.inputs, arrays, strict=True):
        found[number] = np.ascontiguousarray(array).reshape(plan.slots[number].shape)
    for number, value in plan.constants:
        found[number] = np.asarray(value)
    return found


def strided(array, shape, strides):
    sizes = [s * array.itemsize for s in strides]
    return np.lib.stride_tricks.as_strided(array.reshape(-1), shape, sizes)


def run_library(step, slots):
    """A product of matrices, as its strides say."""
    g, (out, lhs, rhs) = step.call, (slots[i] for i in step.slots)
    a = strided(lhs, (g.batch, g.m, g.k), g.lhs)
    b = strided(rhs, (g.batch, g.k, g.n), g.rhs)
    strided(out, (g.batch, g.m, g.n), g.out)[...] = a @ b


def run_kernel(step, slots, pieces):
    program, buffers = step.program, [slots[i] for i in step.slots]
    if program.grid is None or not pieces:
        interpret(program, buffers)
        return
    extent = program.grid.arg.size
    width = max(program.grid.arg.lanes, -(-extent // 3))
    for begin in reversed(range(0, extent, width)):
        interpret(program, buffers, None, begin, min(begin + width, extent))


def run(plan, arrays, pieces=False):
    """The outputs of a schedule, and the flags that its kernels set."""
    slots = memory(plan, arrays)
    flags = [s.flag[0] for s in plan.steps if isinstance(s, KernelStep) and s.flag]
    for number in flags:
        slots[number][...] = 0
    for step in plan.steps:
        match step:
            case LibraryStep():
                run_library(step, slots)
            case KernelStep():
                run_kernel(step, slots, pieces)
            case _:
                raise AssertionError(f"{step} is no native step")
    shapes = [shape for _, shape in plan.types] or [plan.slots[i].shape for i in plan.outputs]
    outputs = [slots[i].reshape(s) for i, s in zip(plan.outputs, shapes, strict=True)]
    return outputs, [int(slots[i].item()) for i in flags]


def listed(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def plan_of(fn, arrays):
    """The schedule of the function alone: no tensor of another test is looked at."""
    values = [Tensor(a, device="CPU") for a in arrays]
    inputs = [OPS["input"](f"x{i}", v.shape, v.dtype, "CPU") for i, v in enumerate(values)]
    roots = dict.fromkeys(t.uop for t in listed(fn(*(lift.handle(node, None) for node in inputs))))
    return compile_graph(list(roots), inputs, BACKEND)


TOLERANCE = {"float32": 2e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 2e-2}


def agree(fn, *arrays):
    """The loops give REF's values, and the same bits in pieces; the schedule."""
    plan = plan_of(fn, arrays)
    got, flags = run(plan, arrays)
    again, _ = run(plan, arrays, pieces=True)
    wanted = [t.numpy() for t in listed(fn(*(Tensor(a, device="REF") for a in arrays)))]
    assert not any(flags)
    for g, p, w in zip(got, again, wanted, strict=True):
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        assert g.tobytes() == p.tobytes()
        same(g, w)
    return plan


def same(got, wanted):
    tolerance = TOLERANCE.get(wanted.dtype.name)
    if tolerance is None:
        np.testing.assert_array_equal(got, wanted)
        return
    got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    finite = np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)
    np.testing.assert_allclose(got, wanted, tolerance, tolerance * finite)


# ---- functions


X, Y, IMAGE, HEADS = floats(7, 13), floats(7, 13), floats(1, 3, 5, 6), floats(2, 3, 4)

FLOATING = {
    "elementwise": (lambda x, y: (x * y + 0.5).tanh() - x.exp(), X, Y),
    "broadcast": (lambda x, y: x.reshape(7, 1, 13) + y[:3].reshape(1, 3, 13), X, Y),
    "softmax along rows": (lambda x: x.softmax(1), X),
    "softmax down columns": (lambda x: x.softmax(0), floats(5, 37)),
    "log_softmax": (lambda x: x.log_softmax(-1), X),
    "layernorm": (lambda x, w: x.layernorm(-1) * w + 1, X, floats(13)),
    "mean and variance": (lambda x: (x.mean(1), x.var(1), x.std()), X),
    "transpose in tiles": (lambda x: x.T + 1, floats(37, 45)),
    "transpose of whole tiles": (lambda x: x.T * 2, floats(32, 32)),
    "transpose and its own": (lambda x: x.T.exp() + x.reshape(29, 33), floats(33, 29)),
    "permute": (lambda x: x.permute(2, 0, 1) * 3, floats(3, 17, 18)),
    "reshape across axes": (lambda x: x.T.reshape(13, 7) + 1, X),
    "pads": (lambda x: x.pad(((1, 2), (3, 0)), value=2.0).abs(), X),
    "holes": (lambda x: x.pad(((0, 0), (1, 1))).flip(1)[:, ::3] + 1, X),
    "cat": (lambda x, y: Tensor.cat(x, y * 2, x[:2], dim=0) + 1, X, Y),
    "stack and roll": (lambda x, y: Tensor.stack(x.roll(2, 1), y) * 2, X, Y),
    "windows": (lambda x: x.reshape(1, 1, 7, 13).max_pool2d((3, 2), 2).reshape(3, 6), X),
    "average of windows": (lambda x: x.reshape(1, 1, 7, 13).avg_pool2d((2, 3)), X),
    "convolution": (lambda x, f: x.conv2d(f, padding=1, stride=2), IMAGE, floats(4, 3, 3, 3)),
    "folded windows": (lambda x, f: x.conv_transpose2d(f, stride=2), IMAGE, floats(3, 2, 3, 3)),
    "sum of rows": (lambda x: x.sum(1), floats(9, 50)),
    "sum of columns": (lambda x: x.sum(0), floats(9, 50)),
    "sum of everything": (lambda x: x.sum(), floats(11, 30)),
    "sum in the middle": (lambda x: x.sum(1), floats(4, 9, 10)),
    "sum of two axes": (lambda x: (x * 2).sum((0, 2)), floats(4, 9, 10)),
    "product and extremes": (lambda x: (x.prod(1), x.max(0), x.min()), X),
    "argmax and argmin": (lambda x: (x.argmax(1), x.argmin(0), x.argmax()), X),
    "gather": (lambda x, i: x[i].exp() + 1, X, whole(5, low=-7, high=7, dtype=np.int64)),
    "gather of columns": (lambda x, i: x.gather(1, i), X, places(13, 7, 4)),
    "embedding": (lambda x, i: x[i].sum(1), X, places(7, 4, 3)),
    "scatter_add": (lambda x, i, y: x.scatter_add(0, i, y), X, places(7, 7, 13), Y),
    "sort": (lambda x: x.sort(1), X),
    "running sums": (lambda x: (x.cumsum(1), x.cumsum(0)), X),
    "products": (lambda x, y: ((x @ y.T).tanh() @ x) + 1, X, Y),
    "cross entropy": (lambda x, t: x.cross_entropy(t), X, places(13, 7)),
    "attention": (lambda q, k: q.scaled_dot_product_attention(k, q * k), HEADS, HEADS + 1),
    "diagonal and triangle": (lambda x: (x[:, :82].tril(), x[:, :82].triu(1)), floats(81, 83)),
    "one element": (lambda x: x * 2 + 1, floats()),
    "counting": (lambda x: x + Tensor.arange(83, device=x.device), floats(7, 83)),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOATING)
def test_floats(name):
    fn, *arrays = FLOATING[name]
    agree(fn, *arrays)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("name", ["elementwise", "softmax along rows", "pads", "sum of columns"])
def test_other_floats(name, dtype):
    fn, *arrays = FLOATING[name]
    agree(fn, *(a.astype(dtype) if a.dtype == np.float32 else a for a in arrays))


WHOLE = {
    "arithmetic": lambda x, y: (x + y) * x - y,
    "division": lambda x, y: (x // (y + (y.eq(0))), x % (y + y.eq(0))),
    "bits": lambda x, y: (x & y) | (x ^ 3),
    "comparisons": lambda x, y: ((x < y) & (x != 3), x.eq(y).where(x, y)),
    "sums": lambda x, y: (x.sum(1), y.max(0), (x * y).sum()),
    "products": lambda x, y: x @ y.T,
    "sorted": lambda x, y: (x.sort(1)[0], y.argmax(1)),
    "casts": lambda x, y: ((x.float() * 1.5).int(), (y > 0).any(1)),
}


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
@pytest.mark.parametrize("name", WHOLE)
def test_integers(name, dtype):
    low = 0 if dtype.startswith("u") else -9
    agree(WHOLE[name], *(whole(5, 11, dtype=dtype, low=low) for _ in "xy"))


def test_special_numbers_get_through():
    x = np.array([[np.nan, 1, -0.0, 2], [np.inf, -np.inf, 0.0, 1]], np.float32)
    agree(lambda x: (x.max(1), x.sum(0), x.pad(((0, 0), (1, 0))), x.maximum(0)), x)


def test_the_sum_of_negative_zeros_has_the_sign_that_the_reference_gives():
    x = -np.zeros((3, 5), np.float32)
    (got,), _ = run(plan_of(lambda x: x.sum(0), [x]), [x])
    wanted = Tensor(x, device="REF").sum(0).numpy()
    assert np.signbit(got).tolist() == np.signbit(wanted).tolist()


# ---- bad indices


@pytest.mark.parametrize("bad", [7, -8, 100])
def test_a_bad_index_sets_the_flag_and_touches_nothing(bad):
    indices = np.array([0, 3, bad, -7])
    plan = plan_of(lambda x, i: x[i] * 2, [X, indices])
    (got,), flags = run(plan, [X, indices])  # the interpreter checks every access
    assert any(flags)
    np.testing.assert_array_equal(got[[0, 1, 3]], X[[0, 3, -7]] * 2)


def test_an_index_that_no_result_needs_may_be_anything():
    def fn(x, i):
        return x[i].pad(((1, 0), (0, 0)))[:2]

    indices = np.array([3, 2, 5])
    agree(fn, X, indices)


# ---- what the programs look like


def program_of(fn, *arrays):
    (step,) = plan_of(fn, arrays).steps
    return step.program


def names(program):
    return [node.op.name for node in program.body]


def test_every_node_is_computed_once_and_before_it_is_used():
    for name in (
        "softmax along rows",
        "layernorm",
        "transpose in tiles",
        "gather",
        "argmax and argmin",
    ):
        fn, *arrays = FLOATING[name]
        for step in plan_of(fn, arrays).steps:
            ordered(step.program)


def ordered(program):
    """Nodes come after their operands, loops close in order."""
    leaves, done, open_loops = {"const", "define_global", "variable"}, set(), []
    for node in program.body:
        assert node not in done
        assert all(s in done or s.op.name in leaves for s in node.src), show(program)
        done.add(node)
        if node.op.name == "range":
            open_loops.append(node)
        elif node.op.name == "end_range":
            assert open_loops.pop() is node.src[0]
    assert not open_loops


def test_a_row_kernel_goes_through_rows_once():
    program = program_of(lambda x: x.softmax(1), floats(70, 130))
    assert program.grid.arg.size == 70
    # rows, the maximum; lanes of the sum, whole rows of lanes and the rest; the quotient
    assert names(program).count("range") == 1 + 1 + 3 + 1
    assert names(program).count("define_acc") == 1 + 3


def test_a_pure_elementwise_kernel_is_one_loop():
    program = program_of(lambda x, y: (x + y).exp(), floats(40, 50), floats(40, 50))
    assert names(program).count("range") == 1
    assert program.grid.arg.size == 2000


def test_a_transpose_goes_in_tiles():
    sizes = [n.arg.size for n in program_of(lambda x: x.T + 1, floats(370, 450)).body
             if n.op.name == "range"]  # fmt: skip
    assert sizes == [6 * 29, 4, 1, 16, 16]  # four squares at a time along the 370


def test_every_kernel_of_a_pools_gradient_has_lanes():
    def fn(x, g):
        return vjp(lambda x: x.max_pool2d(3, 2, 1, 1), x)[1](g)[0]

    steps = plan_of(fn, [floats(2, 8, 56, 56), floats(2, 8, 28, 28)]).steps
    for step in steps:
        assert max(n.arg.lanes for n in step.program.body if n.op.name == "range") >= 8


def test_what_belongs_to_a_line_is_not_divided_for_in_lanes():
    def fn(x, w):
        return (x * w.reshape(1, 6, 1)).reshape(3, 1800).var(1)  # lines of 300, six to a sum

    body = program_of(fn, floats(3, 6, 300), floats(6)).body
    lanes = {n for n in body if n.op.name == "range" and n.arg.lanes > 1}
    divided = [n for n in body if n.op.name == "floordiv" and lanes & set(n.toposort())]
    assert lanes
    assert len(divided) == 2  # of the row that goes on in the next line, once a pass


def test_no_division_where_a_view_divides():
    def fn(x):
        return x.reshape(8, 5, 12).permute(1, 0, 2).reshape(5, 96) + 1

    assert names(program_of(fn, floats(40, 12))).count("mod") == 1  # of the grid itself


def test_a_kernel_names_the_users_line():
    assert any("test_lower.py" in line for line in program_of(lambda x: x.exp() + 1, X).lines)


@pytest.mark.parametrize(
    "lines", [(5, 3), (64, 9), (30, 49), (90, 49), (9, 64), (3, 100), (50, 196)]
)
def test_sums_over_lines_of_memory_give_the_bits_of_the_reference(lines):
    """Lines that are copied, and lines that rows of the tree go across, run by the interpreter."""
    count, length = lines
    x = floats(count, 2, length)
    outputs, _ = run(plan_of(lambda x: x.var((0, 2)), [x]), [x])
    wanted = Tensor(x, device="REF").var((0, 2)).numpy()
    assert outputs[0].tobytes() == wanted.tobytes()
