"""Hand-built kernels on arrays, in place: arithmetic, registers, memory and wrong calls."""

import numpy as np
import pytest

from adjoint import AdjointError, Tensor, custom_kernel
from adjoint.handbuilt.uops import BinaryOps, TernaryOps, UnaryOps, UOps
from tests.handbuilt.building import (
    DEVICES,
    FLOAT,
    INT,
    Build,
    floats,
    matmul,
    ran,
    saxpy,
    total,
)

# ---- arrays, in place


@pytest.mark.parametrize("threads", [True, False])
@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16", "i8", "u16", "i32", "u64"])
def test_saxpy_in_every_dtype(dtype, threads):
    kind = Tensor([1]).cast(dtype).dtype
    x, y = (np.arange(10).astype(kind.np) * kind.np.type(k) for k in (3, 5))
    a = np.array([3]).astype(kind.np)
    found = ran(saxpy(10, kind, threads), np.zeros(10, kind.np), x, y, a)
    want = ((a * x).astype(kind.np) + y).astype(kind.np)
    np.testing.assert_array_equal(found[0], want)


def test_a_sum_is_added_from_left_to_right():
    x = floats(1000)
    (out, _) = ran(total(1000), np.zeros(1, np.float32), x)
    want = np.float32(0)
    for value in x:
        want = np.float32(want + value)
    assert out[0] == want


def test_a_tiled_matmul():
    x, y = floats(16, 16), floats(16, 16, seed=1)
    out, *_ = ran(matmul(16, 4), np.zeros((16, 16), np.float32), x, y)
    np.testing.assert_allclose(out, x @ y, rtol=1e-5, atol=1e-5)


def test_the_result_is_the_array_itself():
    k, out = total(3).g.compile("CPU"), np.zeros(1, np.float32)
    assert k(out, np.ones(3, np.float32)) is out
    assert out[0] == 3


def test_a_strided_result_is_written_and_a_strided_operand_read():
    b = saxpy(4)
    whole = np.zeros((4, 2), np.float32)
    x = np.arange(8, dtype=np.float32)[::2]
    b.g.compile("CPU")(whole[:, 1], x, np.ones(4, np.float32), np.ones(1, np.float32))
    np.testing.assert_array_equal(whole, [[0, 1], [0, 3], [0, 5], [0, 7]])


def test_an_operand_that_is_the_result_is_read_as_it_was():
    b = Build()
    out, x = b.out(), b.buffer()
    i = b.index("gidx0", 9)
    b.store(out, b.add(i, b.n(1)), b.load(x, i))
    same = np.arange(10, dtype=np.float32)
    b.g.compile("CPU")(same, same)
    np.testing.assert_array_equal(same, [0, *range(9)])


def test_two_loads_around_a_store_are_two():
    b = Build()
    x = b.out(INT)
    zero = b.n(0)
    before = b.load(x, zero)
    b.store(x, zero, b.add(before, b.n(1)))
    after = b.load(x, zero)
    b.store(x, b.n(1), b.alu(BinaryOps.SUB, after, before))
    (found,) = ran(b, np.array([41, 0], np.int32))
    assert found.tolist() == [42, 1]


ARITHMETIC = [
    (BinaryOps.DIV, "i32", (-7, 2), -3),
    (BinaryOps.DIV, "i32", (7, 0), 0),
    (BinaryOps.MOD, "i32", (-7, 2), -1),
    (BinaryOps.DIV, "f32", (1.0, 0.0), np.inf),
    (BinaryOps.MOD, "f64", (-7.5, 2.0), -1.5),
    (BinaryOps.MAX, "f32", (np.nan, 1.0), np.nan),
    (BinaryOps.MIN, "i64", (3, -4), -4),
    (BinaryOps.AND, "bool", (True, False), False),
    (BinaryOps.OR, "u8", (5, 2), 7),
    (BinaryOps.XOR, "i16", (5, 1), 4),
    (BinaryOps.SHL, "i32", (1, 33), 0),
    (BinaryOps.SHR, "i32", (-8, 1), -4),
    (BinaryOps.SUB, "u8", (1, 2), 255),
    (UnaryOps.NEG, "i8", (-128,), -128),
    (UnaryOps.NOT, "u8", (1,), 254),
    (UnaryOps.NOT, "bool", (True,), False),
    (UnaryOps.EXP2, "f32", (3.0,), 8.0),
    (UnaryOps.LOG2, "f64", (8.0,), 3.0),
    (UnaryOps.SQRT, "f16", (9.0,), 3.0),
    (UnaryOps.RECIP, "f32", (4.0,), 0.25),
    (UnaryOps.ROUND, "f32", (2.5,), 2.0),
    (UnaryOps.SIN, "f32", (0.0,), 0.0),
    (TernaryOps.MULACC, "f32", (2.0, 3.0, 4.0), 10.0),
    (TernaryOps.MULACC, "i32", (2, 3, 4), 10),
]


@pytest.mark.parametrize(("op", "dtype", "operands", "want"), ARITHMETIC, ids=str)
def test_arithmetic(op, dtype, operands, want):
    b = Build()
    kind = b.n(0, dtype).dtype
    out, x = b.out(kind), b.buffer(kind)
    b.store(out, b.n(0), b.alu(op, *(b.load(x, b.n(i)) for i in range(len(operands)))))
    found, _ = ran(b, np.zeros(1, kind.np), np.array(operands, kind.np))
    np.testing.assert_array_equal(found, np.array([want], kind.np))


def test_casts_and_bits():
    b = Build()
    out, x = b.out(INT), b.buffer()
    value = b.load(x, b.n(0))
    b.store(out, b.n(0), b.g.add(UOps.CAST, INT, vin=(value,)))
    b.store(out, b.n(1), b.g.add(UOps.BITCAST, INT, vin=(value,)))
    found, _ = ran(b, np.zeros(2, np.int32), np.array([-2.75], np.float32))
    assert found.tolist() == [-2, np.float32(-2.75).view(np.int32)]


def test_comparisons_branches_and_where():
    b = Build()
    out, x = b.out(INT), b.buffer(INT)
    i = b.loop(6)
    value, three = b.load(x, i), b.n(3)
    small = b.alu(BinaryOps.CMPLT, value, three)
    inside = b.when(small)
    b.store(out, i, b.n(-1))
    b.end(inside)
    equal = b.when(b.alu(BinaryOps.CMPEQ, value, three))
    b.store(out, i, b.alu(TernaryOps.WHERE, small, b.n(7), b.n(8)))
    b.end(equal)
    b.end(i)
    found, _ = ran(b, np.zeros(6, np.int32), np.arange(6, dtype=np.int32))
    assert found.tolist() == [-1, -1, -1, 8, 0, 0]


def test_a_gated_load_and_store():
    b = Build()
    out, x = b.out(), b.buffer()
    i = b.loop(6)
    gate = b.alu(BinaryOps.CMPLT, i, b.n(4))
    value = b.load(x, i, gate, b.n(-1.0, FLOAT))
    b.store(out, i, value)
    b.store(out, i, b.n(9.0, FLOAT), b.alu(BinaryOps.CMPLT, i, b.n(1)))
    b.end(i)
    found, _ = ran(b, np.zeros(6, np.float32), np.arange(4, dtype=np.float32))
    assert found.tolist() == [9, 1, 2, 3, -1, -1]


# ---- registers


def test_a_register_is_read_in_two_loops_before_it_is_updated():
    b = Build()
    out = b.out(INT)
    acc = b.acc(5, INT)
    one = b.n(1)
    b.store(out, b.n(0), b.add(acc, one))
    i = b.loop(3)
    b.store(out, b.add(i, one), b.add(acc, one))
    j = b.loop(4)
    b.phi(acc, b.add(acc, one))
    b.end(j)
    b.store(out, b.add(i, b.n(4)), b.add(acc, one))
    b.end(i)
    b.store(out, b.n(7), b.add(acc, one))
    (found,) = ran(b, np.zeros(8, np.int32))
    assert found.tolist() == [6, 6, 10, 14, 10, 14, 18, 18]


def test_a_register_is_read_before_and_after_its_update_and_after_the_loop():
    b = Build()
    out = b.out(INT)
    acc = b.acc(0, INT)
    ten, three = b.n(10), b.n(3)
    i = b.loop(3)
    b.store(out, i, b.mul(acc, ten))
    new = b.phi(acc, b.add(acc, i), i)
    b.store(out, b.add(i, three), b.mul(acc, ten))
    b.store(out, b.add(i, b.n(6)), b.mul(new, ten))
    b.end(i)
    b.store(out, b.n(9), b.mul(new, ten))
    (found,) = ran(b, np.zeros(10, np.int32))
    assert found.tolist() == [0, 0, 10, 0, 10, 30, 0, 10, 30, 30]


def test_a_register_is_updated_in_a_branch():
    b = Build()
    out, x = b.out(INT), b.buffer(INT)
    acc = b.acc(0, INT)
    i = b.loop(6)
    value = b.load(x, i)
    inside = b.when(b.alu(BinaryOps.CMPLT, value, b.n(3)))
    new = b.phi(acc, b.add(acc, value))
    b.end(inside)
    b.store(out, i, b.add(new, b.n(100)))
    b.end(i)
    b.store(out, b.n(6), b.add(acc, b.n(100)))
    found, _ = ran(b, np.zeros(7, np.int32), np.array([1, 5, 2, 9, 0, 2], np.int32))
    assert found.tolist() == [101, 101, 103, 103, 103, 105, 105]


def test_a_loop_inside_a_branch_that_is_not_taken_leaves_its_register():
    b = Build()
    out, x = b.out(INT), b.buffer(INT)
    i = b.loop(3)
    acc = b.acc(7, INT)
    inside = b.when(b.alu(BinaryOps.CMPLT, b.load(x, i), b.n(1)))
    j = b.loop(4)
    new = b.phi(acc, b.add(acc, j))
    b.end(j)
    b.end(inside)
    b.store(out, i, new)
    b.end(i)
    found, _ = ran(b, np.zeros(3, np.int32), np.array([0, 1, 0], np.int32))
    assert found.tolist() == [13, 7, 13]


def test_a_register_that_nobody_updates_is_where_it_starts():
    b = Build()
    out = b.out(INT)
    acc = b.acc(7, INT)
    i = b.loop(2)
    b.store(out, i, b.add(acc, i))
    b.end(i)
    (found,) = ran(b, np.zeros(2, np.int32))
    assert found.tolist() == [7, 8]


def test_a_register_starts_from_a_value():
    b = Build()
    out, x = b.out(), b.buffer()
    acc = b.g.add(UOps.DEFINE_ACC, vin=(b.load(x, b.n(0)),))
    i = b.loop(4, start=1)
    largest = b.phi(acc, b.alu(BinaryOps.MAX, acc, b.load(x, i)))
    b.end(i)
    b.store(out, b.n(0), largest)
    found, _ = ran(b, np.zeros(1, np.float32), np.array([3, 1, 9, 2], np.float32))
    assert found.tolist() == [9]


# ---- memory


@pytest.mark.parametrize("device", DEVICES)
def test_an_index_that_certainly_leaves_its_memory_is_an_error_at_the_call(device):
    b = saxpy(10)
    arrays = [np.zeros(n, np.float32) for n in (10, 9, 10, 1)]
    with pytest.raises(AdjointError, match=r"E6001.*index 0 to 9 leaves data1.*9 elements"):
        b.g.compile(device)(*arrays)
    tensors = [Tensor(a, device=device) for a in arrays[1:]]
    with pytest.raises(AdjointError, match="E6001"):
        custom_kernel(b.g, *tensors, out=(10, "float32"))


def gathering():
    b = Build()
    out, x, places = b.out(), b.buffer(), b.buffer(INT)
    i = b.loop(4)
    b.store(out, i, b.load(x, b.load(places, i)))
    b.end(i)
    return b


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("bad", [-1, 3, 2**31 - 1, -(2**31)])
def test_an_index_from_memory_is_checked_as_it_runs(device, bad):
    k = gathering().g.compile(device)
    x, good = np.float32([7, 8, 9]), np.int32([2, 0, 1, 2])
    assert k(np.zeros(4, np.float32), x, good).tolist() == [9, 7, 8, 9]
    wrong = np.int32([2, bad, 1, 2])
    with pytest.raises(AdjointError, match="E6001"):
        k(np.zeros(4, np.float32), x, wrong)
    out = custom_kernel(
        k, Tensor(x, device=device), Tensor(wrong, device=device), out=((4,), "float32")
    )
    with pytest.raises(AdjointError, match="E6001"):
        out.realize()


def test_the_error_of_a_run_names_the_memory_and_the_line():
    k = gathering().g.compile("CPU")
    wrong = np.int32([2, 3, 1, 2])
    with pytest.raises(AdjointError, match=r"leaves data1, which has 3.*building.py:\d+"):
        k(np.zeros(4, np.float32), np.zeros(3, np.float32), wrong)


def test_a_scattered_store_outside_touches_nothing():
    b = Build()
    out, places = b.out(INT), b.buffer(INT)
    i = b.loop(3)
    b.store(out, b.load(places, i), i)
    b.end(i)
    whole = np.full(6, -7, np.int32)
    with pytest.raises(AdjointError, match="E6001"):
        b.g.compile("CPU")(whole[2:4], np.int32([0, 2, -1]))
    assert whole.tolist() == [-7, -7, 0, -7, -7, -7]


def test_a_branch_guards_its_accesses():
    b = Build()
    out, x = b.out(), b.buffer()
    i = b.index("gidx0", 16)
    inside = b.when(b.alu(BinaryOps.CMPLT, i, b.n(10)))
    b.store(out, i, b.load(x, i))
    b.end(inside)
    after = b.when(b.alu(BinaryOps.CMPLT, i, b.n(10)))
    b.store(out, i, b.add(b.load(out, i), b.n(1.0, FLOAT)))
    b.end(after)
    x_ = floats(10)
    out_ = np.zeros(10, np.float32)
    b.g.compile("CPU")(out_, x_)
    np.testing.assert_array_equal(out_, x_ + np.float32(1))


def test_results_start_as_zeros_where_the_kernel_does_not_write_all():
    b = Build()
    out = b.out(INT)
    b.store(out, b.n(1), b.add(b.load(out, b.n(2)), b.n(5)))
    for device in DEVICES:
        with_device = Tensor([0], device=device)
        b2 = Build()
        out2, x = b2.out(INT), b2.buffer(INT)
        b2.store(out2, b2.n(1), b2.add(b2.load(out2, b2.n(2)), b2.load(x, b2.n(0))))
        found = custom_kernel(b2.g, with_device + 5, out=((4,), "int32"))
        assert found.tolist() == [0, 5, 0, 0]
    assert custom_kernel(b.g, out=((4,), "int32")).tolist() == [0, 5, 0, 0]


def test_too_much_local_memory_is_an_error():
    b = Build()
    out = b.out()
    tile = b.local("tile", 1 << 20)
    b.store(tile, b.n(0), b.n(1.0, FLOAT))
    b.store(out, b.n(0), b.load(tile, b.n(0)))
    with pytest.raises(AdjointError, match="E6004"):
        b.g.compile("CPU")(np.zeros(1, np.float32))


# ---- wrong calls

ONE = np.zeros(1, np.float32)
FIXED = np.zeros(1, np.float32)
FIXED.flags.writeable = False
CALLS = [
    ("E2007", "takes 2 arguments, got 1", (ONE,)),
    ("E2004", "data1 is float32, got float64", (ONE, np.zeros(4))),
    ("E2001", "data1 is list", (ONE, [1.0, 2.0])),
    ("E2001", "read-only", (FIXED, np.zeros(4, np.float32))),
    ("E2004", "data1 is float32, got >f4", (ONE, np.zeros(4, ">f4"))),
    ("E2004", "data1 is float32, got object", (ONE, np.zeros(4, object))),
    ("E6001", "data1, which has 0 elements", (ONE, np.zeros(0, np.float32))),
    ("E6001", "data0, which has 0 elements", (np.zeros(0, np.float32), np.zeros(4, np.float32))),
]


@pytest.mark.parametrize(("code", "words", "args"), CALLS, ids=[c[1] for c in CALLS])
def test_a_wrong_call_is_an_error(code, words, args):
    with pytest.raises(AdjointError) as caught:
        total(4).g.compile("CPU")(*args)
    assert (caught.value.code, words in str(caught.value)) == (code, True)


def test_a_kernel_that_writes_nothing_gives_nothing():
    b = Build()
    b.load(b.buffer(), b.n(3))
    for device in DEVICES:
        assert b.g.compile(device)(floats(4)) == ()
        with pytest.raises(AdjointError, match="E6001"):
            b.g.compile(device)(floats(3))
    with pytest.raises(AdjointError, match=r"E2007.*writes nothing"):
        custom_kernel(b.g, Tensor(floats(4)), out=[])


OUTS = [
    ("E2001", (("4",), "float32")),
    ("E2001", (2.5, "float32")),
    ("E3006", ((-4,), "float32")),
    ("E2001", ((1,), "float33")),
    ("E2007", "float32"),
    ("E2007", [((1,), "float32")] * 2),
]


@pytest.mark.parametrize(("code", "out"), OUTS, ids=[str(o) for _, o in OUTS])
def test_a_wrong_result_is_an_error(code, out):
    with pytest.raises(AdjointError) as caught:
        custom_kernel(total(4).g, Tensor(floats(4)), out=out)
    assert caught.value.code == code


def test_a_rule_that_is_no_function_is_an_error():
    with pytest.raises(AdjointError, match=r"E2008.*vjp_rule is a function"):
        custom_kernel(total(4).g, Tensor(floats(4)), out=(1, "float32"), vjp_rule=3)


def test_a_declared_size_is_checked():
    b = Build()
    out = b.out(FLOAT, 3)
    b.store(out, b.n(2), b.n(1.0, FLOAT))
    with pytest.raises(AdjointError, match=r"E3007.*data0 has 3 elements"):
        b.g.compile("CPU")(np.zeros(4, np.float32))
    with pytest.raises(AdjointError, match="E3007"):
        custom_kernel(b.g, out=(4, "float32"))


def test_results_that_share_memory_are_an_error():
    b = Build()
    first, second = b.out(), b.out()
    for out in (first, second):
        b.store(out, b.n(0), b.n(1.0, FLOAT))
    same = np.zeros(4, np.float32)
    with pytest.raises(AdjointError, match="share memory"):
        b.g.compile("CPU")(same, same)
    with pytest.raises(AdjointError, match="all arrays or all tensors"):
        b.g.compile("CPU")(same, Tensor(same))


def test_other_devices_are_an_error():
    with pytest.raises(AdjointError, match="E600"):
        total(4).g.compile("CUDA")


def test_the_source_of_a_compiled_kernel():
    k = matmul(8, 4).g.compile("CPU")
    assert "__syncthreads();" in k.source("cuda")
    assert "for (int" in k.source("c")
    with pytest.raises(AdjointError, match="no language 'cude'"):
        k.source("cude")
