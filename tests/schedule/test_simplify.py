"""The pass `simplify`: what it removes, and what must stay as it was: memory, effects, checks,
lines."""

import numpy as np
import pytest

from adjoint import Tensor, grad, jit, lower, scan, vmap
from adjoint.errors import BoundsError
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import toposort
from adjoint.schedule.simplify import simplified

X = OPS["input"]("x", (2, 3), "float32")
Y = OPS["input"]("y", (2, 3), "float32")
N = OPS["input"]("n", (3,), "int32")


def ops(*roots):
    return [n.op.name for n in toposort(roots) if n.op.name not in ("input", "const")]


def address(tensor):
    return tensor.realize().uop.arg.buffer.address


def numbers(*shape, dtype=np.float32):
    values = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    return Tensor(values, device="CPU").realize()


# ---- what it removes


def test_what_undoes_itself_does_not_reach_the_kernel():
    kernel = lower(lambda x: (-(-x)).abs().abs() * 1)(numbers(4)).kernels()[0]
    body = [line.strip() for line in kernel.splitlines() if line.strip().startswith(("v", "store"))]
    assert body == ["v0: f32 = load(b1, i0)", "v1: f32 = abs(v0)", "store(b0, i0, v1)"]


def test_integers_times_zero_are_gone():
    assert ops(*simplified([(N * 0 + N - 0).exp2()])) == ["cast", "exp2"]


@pytest.mark.parametrize(
    ("node", "left"),
    [
        (X * 1 + (Y + -0.0), ["add"]),
        (X + 0.0, ["add"]),  # of -0.0 it is 0.0
        (X * 0, ["mul"]),  # of inf it is NaN
        (X - X, ["sub"]),
        (X / 8, ["mul"]),
        (X / 3, ["true_div"]),
        (X - (-Y), ["add"]),
        ((-X) * (-Y), ["mul"]),
        (X.reshape(6).reshape(3, 2).exp(), ["reshape", "exp"]),
    ],
    ids=str,
)
def test_only_what_keeps_every_bit_is_done(node, left):
    assert ops(*simplified([node])) == left


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int8", "int64"])
def test_a_negated_unsigned_number_is_a_large_one(dtype):
    x = np.array([0, 1, 7, 100], dtype)
    assert np.array_equal(abs(-Tensor(x, device="CPU")).numpy(), np.abs(-x))


def test_a_gradient_has_no_products_with_one():
    kernels = lower(grad(lambda x: (x * x).sum()))(numbers(4)).kernels()
    assert "mul(1.0" not in "".join(kernels)
    assert ", 1.0)" not in "".join(kernels)


def test_bodies_of_loops_are_simplified():
    def total(x):
        return scan(lambda carry, row: (carry + -(-row) * 1, carry), x[0] * 0.5, x)[0]

    text = "".join(lower(total)(numbers(3, 4)).kernels())
    assert "neg" not in text
    assert "1.0" not in text
    assert jit(total)(numbers(3, 4)).numpy().tolist() == [12.0, 15.5, 19.0, 22.5]


# ---- memory of results


SAME = [
    lambda x: x * 1,
    lambda x: -(-x),
    lambda x: x.reshape(3, 2) * 1,
    lambda x: (x * 1).reshape(3, 2),
    lambda x: x - 0,
    lambda x: x.cast("float64").cast("float32"),
    lambda x: Tensor.where(Tensor([True], device="CPU"), x, x),
]


@pytest.mark.parametrize("number", range(len(SAME)))
@pytest.mark.parametrize("wrap", [lambda f: f, jit, vmap], ids=["lazy", "jit", "vmap"])
def test_a_computed_result_has_memory_of_its_own(number, wrap):
    given = np.ones((2, 3), np.float32)
    x = Tensor.from_dlpack(given)
    fn = SAME[number] if wrap is not vmap else (lambda x: x * 1)
    result = wrap(fn)(x).realize()
    given[:] = 7
    assert result.numpy().max() == 1


def test_results_that_become_equal_stay_apart():
    x = numbers(2, 3)
    for fn in (jit(several), several):
        fn(x)
        places = [address(t) for t in fn(x)]
        assert len({*places, address(x)}) == len(places) + 1


def several(x):
    return x * 1, -(-x), x + 1, (x + 1) * 1, (x + 1) / 1


def test_results_that_were_an_input_still_are():
    x = numbers(2, 3)
    same, row = jit(lambda x: (x, x.reshape(6)))(x)
    assert address(same) == address(x) == address(row)


def test_a_donated_input_that_is_a_result_keeps_its_values():
    step = jit(lambda x: (x * 1, x + 1), donate_argnums=0)
    for _ in range(3):
        first, second = step(numbers(2, 3) + 0.5)
        assert np.array_equal(first.numpy() + 1, second.numpy())


def test_a_result_may_become_a_constant():
    fn = jit(lambda n: (n * 0, n - n, n.eq(n)))
    for _ in range(3):
        zero, none, true = fn(numbers(3, dtype=np.int32))
        assert zero.numpy().tolist() == none.numpy().tolist() == [0, 0, 0]
        assert true.numpy().all()
        assert address(zero) != address(none)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1, 1)], ids=str)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "bfloat16", "complex64"])
def test_copies_work_for_every_kind_of_result(dtype, shape):
    x = Tensor(np.ones(shape), device="CPU").cast(dtype).realize()
    result = jit(twice)(x)
    assert (result.dtype, result.shape) == (x.dtype, x.shape)
    assert np.array_equal(result.numpy(), x.numpy())


def twice(x):
    return x.logical_not().logical_not() if x.dtype.is_bool else x.neg().neg()


# ---- what a graph does besides its values


def test_an_index_outside_is_noticed_even_if_the_value_is_not_needed():
    x = numbers(3, dtype=np.int32)
    for fn in (lambda x, i: x[i] * 0, jit(lambda x, i: x[i] * 0)):
        with pytest.raises(BoundsError):
            fn(x, Tensor([5], device="CPU")).realize()


def test_known_values_are_not_computed_again():
    x = numbers(4)
    negative = (-x.exp()).realize()
    kernel = lower(lambda: -negative)().kernels()[0]
    assert "load" in kernel


def test_new_nodes_have_the_users_line():
    node = (X / 8).exp()
    (result,) = simplified([node])
    assert result.src[0].op.name == "mul"
    assert result.src[0].origin.line == node.src[0].origin.line


def test_ten_thousand_nodes_in_one_chain_are_no_problem():
    node = X
    for _ in range(5000):
        node = -(-node * 1)
    assert simplified([node.exp()]) == [X.exp()]
