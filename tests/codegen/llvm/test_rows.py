"""Transposes in registers, sums line by line, and stores past the caches: they give what the
interpreter of kernels finds, on every width of registers, for every element, at any alignment."""

from dataclasses import replace

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.backends.cpu.backend import CpuBackend
from adjoint.backends.cpu.bind import cell_of
from adjoint.engine.pipeline import compile_graph
from adjoint.ir.opdef import OPS
from adjoint.runtime.interpret import interpret
from adjoint.stages import KernelStep
from adjoint.target import TARGETS
from adjoint.tensor.tensor import lift
from tests.codegen.c.native_c import compiled
from tests.codegen.llvm.kernels import Compiled, guarded
from tests.support.covering import covering

RNG = np.random.default_rng(0)
WIDTHS = (128, 256, 512)
LARGE = replace(
    TARGETS["CPU"], little_work=0, near_bytes=0, far_bytes=1
)  # every kernel is a large one


class LargeBackend(CpuBackend):
    target = LARGE


class AlongBackend(CpuBackend):
    target = replace(LARGE, far_squares=(2, 16))  # pieces go along lines of the operand


def values(dtype, *shape):
    return (RNG.standard_normal(shape) * 50).astype(dtype)


class MiddlingBackend(CpuBackend):
    target = replace(TARGETS["CPU"], far_bytes=4 << 10)


def kernels(fn, *arrays, backend=LargeBackend):
    """The kernels of a function, as they are for large arrays, and its schedule."""
    inputs = [OPS["input"](f"x{i}", a.shape, Tensor(a).dtype, "CPU") for i, a in enumerate(arrays)]
    root = fn(*(lift.handle(node, None) for node in inputs)).uop
    plan = compile_graph([root], inputs, backend())
    assert all(isinstance(step, KernelStep) for step in plan.steps)
    return plan


def only_kernel(fn, *arrays, backend=LargeBackend):
    (step,) = kernels(fn, *arrays, backend=backend).steps
    return step.program


def shifted(array, by):
    """A copy that begins so many bytes behind a cache line."""
    room = np.empty(array.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 64 + by
    found = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def found_by(run, program, arrays, wanted, by=0):
    out = shifted(np.zeros_like(wanted), by)
    if isinstance(run, Compiled):
        run(out, *arrays, variables=[cell_of(node) for node in program.parameters])
    else:
        run(out, *arrays)
    np.testing.assert_array_equal(
        out.view(f"u{out.itemsize}"), wanted.view(f"u{out.itemsize}"), program.name
    )


DTYPES = ("bool", "int8", "uint16", "float16", "int32", "float32", "int64", "float64")
SHAPES = ((64, 64), (65, 67), (16, 100), (130, 17), (37, 600))


def squares(program):
    return "shufflevector" in Compiled(program).text


@pytest.mark.parametrize(
    ("backend", "dtype", "shape"), covering([LargeBackend, AlongBackend], DTYPES, SHAPES)
)
def test_a_transpose_of_any_element_is_one_of_registers(backend, dtype, shape):
    x = values(dtype, *shape)
    program = only_kernel(lambda x: x.T.contiguous(), x, backend=backend)
    assert squares(program)
    wanted = np.ascontiguousarray(x.T)
    found_by(lambda *a: interpret(program, a), program, [x], wanted)
    for width in WIDTHS:
        run = Compiled(program, width)
        for by in (0, 8, 16):
            found_by(run, program, [x], wanted, by)


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0), (2, 0, 1), (1, 2, 0), (1, 0, 2)])
@pytest.mark.parametrize("shape", [(3, 37, 20), (18, 2, 33), (17, 19, 23)])
def test_any_two_axes_change_places(shape, order):
    x = values("float32", *shape)
    program = only_kernel(lambda x: x.permute(*order).contiguous(), x)
    wanted = np.ascontiguousarray(x.transpose(order))
    for width in WIDTHS:
        found_by(Compiled(program, width), program, [x], wanted)


FUSED = {
    "with a sum": lambda x, y: x.T + y,
    "backwards": lambda x, y: x.flip(0).T - y,
    "twice": lambda x, y: x.T * y + x.T.flip(1),
    "of a part": lambda x, y: x[2:, 1:].T + y[1:, 2:],
    "with much to do": lambda x, y: (x.T.tanh() * y.exp()).sin() + (x.T + y).tanh().cos(),
    "of comparisons": lambda x, y: (x.T < y).where(x.T, 0.5),
}


@pytest.mark.parametrize("name", FUSED)
def test_a_transposed_operand_inside_a_kernel_gives_the_bits_of_the_interpreter(name):
    x, y = values("float32", 50, 41), values("float32", 41, 50)
    program = only_kernel(FUSED[name], x, y)
    wanted = np.empty_like(FUSED[name](Tensor(x, device="REF"), Tensor(y, device="REF")).numpy())
    interpret(program, [wanted, x, y])
    for width in WIDTHS[1:]:  # 128 bits have no fused multiply-add
        found_by(Compiled(program, width), program, [x, y], wanted)
        found_by(Compiled(program, width), program, [x, y], wanted, by=4)


IN_TWO_ORDERS = {
    "few ops": lambda x: (x * 2 + 1, (x * 2 + 1).T.contiguous()),
    "many": lambda x: ((x.tanh() * x).exp().sin(), (x.tanh() * x).exp().sin().T.contiguous()),
}


@pytest.mark.parametrize(
    ("name", "dtype", "shape"),
    covering(list(IN_TWO_ORDERS), ["bool", "int8", "float32", "float64"], SHAPES),
)
def test_what_is_stored_in_two_orders_is_transposed_in_registers(name, dtype, shape):
    x = values(dtype, *shape)
    fn = IN_TWO_ORDERS[name] if dtype.startswith("float") else lambda x: (~x, (~x).T.contiguous())
    node = OPS["input"]("x", x.shape, Tensor(x).dtype, "CPU")
    roots = [made.uop for made in fn(lift.handle(node, None))]
    (step,) = compile_graph(roots, [node], LargeBackend()).steps
    program = step.program
    outs, wanted = ([np.zeros_like(x), np.zeros_like(x)] for _ in range(2))
    interpret(program, [*wanted, x])
    for width in WIDTHS[1:]:
        run = Compiled(program, width)
        assert "masked.scatter" not in run.text
        run(*outs, x, variables=[cell_of(node) for node in program.parameters])
        for out, right in zip(outs, wanted, strict=True):
            np.testing.assert_array_equal(*(a.view(f"u{a.itemsize}") for a in (out, right)))


def test_squares_that_overlap_never_write_to_an_operand():
    x, y = values("float32", 50, 41), values("float32", 41, 50)
    assert only_kernel(lambda x, y: x.T + y, x, y).in_place == ()


@pytest.mark.parametrize("width", WIDTHS)
def test_squares_that_begin_on_cache_lines_if_the_result_does_are_right_at_any_alignment(width):
    x = values("float32", 1040, 48)  # more than a piece of the grid, both ways
    run, program = transposed_for(x, width)
    for by in (0, 4, 16, 32, 60):
        found_by(run, program, [x], np.ascontiguousarray(x.T), by)


def transposed_for(x, width=512):
    program = only_kernel(lambda x: x.T.contiguous(), x)
    return Compiled(program, width), program


def test_the_stores_of_a_square_share_one_test_of_their_alignment():
    run, _ = transposed_for(values("float32", 1040, 48))
    assert run.text.count("!nontemporal") == 16
    assert run.text.count("icmp eq") == 1


def test_a_large_transpose_goes_along_two_lines_of_the_cache_and_asks_for_the_next_two():
    _, program = transposed_for(values("float32", 1040, 48))
    sizes = [node.arg.size for node in program.body if node.op.name == "range"]
    assert sizes == [3 * 2, 32, 2, 16, 16]
    assert asked(program) == 16


def test_what_is_made_of_little_is_stored_in_caches_up_to_twice_their_size():
    x, row = values("float32", 40, 40), values("float32", 40)
    far = lambda fn, *a: only_kernel(fn, *a, backend=MiddlingBackend).far  # noqa: E731
    assert far(lambda x: x * 2, x) == (0, 1)
    assert far(lambda x: x.reshape(-1, 1) * x, row) == ()
    assert far(lambda x: x.reshape(-1, 1) * x, values("float32", 46)) == (0,)


@pytest.mark.parametrize("length", [2, 15, 16, 31, 32, 33, 1000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_stores_past_the_caches_write_what_others_do_at_any_alignment(dtype, length):
    x = values(dtype, 3, length)
    program = only_kernel(lambda x: x[:, ::-1].contiguous(), x)
    wanted = np.ascontiguousarray(x[:, ::-1])
    assert 0 in program.far
    for width in WIDTHS:
        run = Compiled(program, width)
        for by in range(0, 64, max(8, x.itemsize)):
            found_by(run, program, [x], wanted, by)


def test_a_kernel_that_stores_past_the_caches_ends_with_a_fence():
    x = values("float32", 4, 256)
    text = Compiled(only_kernel(lambda x: x * 2, x)).text
    assert "!nontemporal" in text
    assert text.index("!nontemporal") < text.index("sfence()") < text.index("ret void")


def test_short_results_stay_in_the_caches():
    x = Tensor(values("float32", 4, 256))
    assert "nontemporal" not in Compiled(small_kernel(x)).text


def small_kernel(x):
    node = OPS["input"]("x", x.shape, x.dtype, "CPU")
    root = (lift.handle(node, None) * 2).uop
    (step,) = compile_graph([root], [node], CpuBackend()).steps
    return step.program


SUMS = {
    "a sum": lambda x: x.sum(0),
    "a mean of what is computed": lambda x: (x * x + 1).mean(0),
    "a product": lambda x: (1 + x / 64).prod(0),
    "a variance, both ways": lambda x: x.sum(0) * (x * 2).sum(0),
}
LINES = (64, 100, 256, 257, 300, 768, 4096, 4097, 8200)


@pytest.mark.parametrize("count", LINES)
@pytest.mark.parametrize("name", SUMS)
def test_sums_down_columns_go_line_by_line_and_give_the_bits_of_the_reference(name, count):
    for columns in (256, 300) if count < 1000 else (256,):
        x = RNG.standard_normal((count, columns)).astype(np.float32)
        program = only_kernel(SUMS[name], x)
        assert any(n.op.name == "define_local" for n in program.body)
        wanted = SUMS[name](Tensor(x, device="REF")).numpy()
        for width in WIDTHS[1:]:
            found_by(Compiled(program, width), program, [x], wanted)


@pytest.mark.parametrize("axes", [0, 1, (0, 1), (0, 2), (1, 2)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_sums_of_any_axes_and_floats_give_the_bits_of_the_reference(dtype, axes):
    x = RNG.standard_normal((5, 70, 4, 256)).astype(dtype)
    program = only_kernel(lambda x: x.sum(axes), x)
    wanted = Tensor(x, device="REF").sum(axes).numpy()
    found_by(Compiled(program), program, [x], wanted)


@pytest.mark.parametrize("count", [64, 100, 300])
def test_the_interpreter_finds_the_same_sums_of_columns(count):
    x = RNG.standard_normal((count, 256)).astype(np.float32)
    program = only_kernel(lambda x: x.sum(0), x)
    wanted = Tensor(x, device="REF").sum(0).numpy()
    found_by(lambda *a: interpret(program, a), program, [x], wanted)


def test_a_sum_of_zeros_that_are_negative_is_positive():
    x = np.full((70, 256), -0.0, np.float32)
    program = only_kernel(lambda x: x.sum(0), x)
    found_by(Compiled(program), program, [x], np.zeros(256, np.float32))


def asked(program):
    """How many lines of memory a kernel asks for, as its text has it."""
    return Compiled(program).text.count("call void @llvm.prefetch")


def test_a_kernel_that_goes_over_its_rows_again_asks_for_the_next():
    x = values("float32", 64, 4096)
    assert asked(only_kernel(lambda x: x.softmax(1), x)) > 0
    assert asked(only_kernel(lambda x: x * 2 + 1, x)) == 0  # memory is read as it lies
    assert asked(only_kernel(lambda x: x.sum(0), x)) == 0  # beside a strip is another's
    assert asked(small_kernel(Tensor(x))) == 0


@pytest.mark.parametrize("length", [100, 1000, 4096])
@pytest.mark.parametrize("name", ["softmax", "layernorm", "var"])
def test_what_is_asked_for_behind_the_last_row_is_never_read(name, length):
    x = values("float32", 5, length)
    program = only_kernel(lambda x: getattr(x, name)(-1), x)
    room = guarded(x, True)
    wanted = np.empty_like(getattr(Tensor(x, device="REF"), name)(-1).numpy())
    interpret(program, [wanted, x])
    for width in WIDTHS[1:]:
        found_by(Compiled(program, width), program, [room], wanted)


def test_the_rest_of_a_row_and_rows_of_two_operands_are_found_in_every_way(tmp_path):
    """The same programs as C, where nothing is asked for, stored past caches or transposed."""
    x, y = values("float32", 70, 300), values("float32", 300, 70)
    functions = [
        lambda x, y: (x * y.T).softmax(1),
        lambda x, y: (x.T * y).sum(1),
        lambda x, y: (x * y.T).sum(0),
        lambda x, y: x.layernorm() * y.T,
    ]
    programs = [s.program for fn in functions for s in kernels(fn, x, y).steps[:1]]
    wanted = [np.full(p.buffers[0].arg.size, 0.5, np.float32) for p in programs]
    for program, function, out in zip(programs, compiled(programs, tmp_path), wanted, strict=True):
        inputs = operands(program, x, y)
        cells = [out, *inputs]
        parameters = [cell_of(node) for node in program.parameters]
        given = np.array([*(a.ctypes.data for a in cells), *parameters], np.int64)
        function(given.ctypes.data, 0, 1 if program.grid is None else program.grid.arg.size)
        found_by(Compiled(program), program, inputs, out)


def operands(program, x, y):
    """The inputs of a program: those of its buffers that it only reads, by their order."""
    read = [buffer.arg for buffer in program.buffers if not buffer.arg.mutable]
    return [x, y][: len(read)]
