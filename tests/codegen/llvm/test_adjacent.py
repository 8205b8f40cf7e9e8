"""Lanes that together touch adjacent elements, of complex numbers and of stacks along a last axis:
one plain access for all of them, and NumPy's values."""

import re

import numpy as np
import pytest

from adjoint import Tensor, dtypes, jit, lower
from tests.codegen.llvm.kernels import Compiled, Kernel, data

SIZES = (1, 2, 7, 8, 9, 16, 31, 33, 100, 1000)


def complex_numbers(*shape, dtype="complex64", seed=0):
    random = np.random.default_rng(seed)
    return (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(dtype)


def product(a, b):
    """As Adjoint computes it: each product and each sum is rounded."""
    found = np.empty_like(a)
    found.real = a.real * b.real - a.imag * b.imag
    found.imag = a.real * b.imag + a.imag * b.real
    return found


def main_loop(source: str) -> str:
    """The loop over full vectors."""
    return re.search(r"\nb\d+:\n  %v\d+ = phi.*?br i1", source, re.S).group(0)


def test_a_complex_product_loads_and_stores_whole_vectors():
    x = Tensor(complex_numbers(1000), device="CPU")
    loop = main_loop(lower(lambda a, b: a * b)(x, x + 1).source())
    assert "masked" not in loop
    assert len(re.findall(r"= load <", loop)) == 2
    assert len(re.findall(r"store <", loop)) == 1


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_arithmetic_of_every_length(dtype):
    for size in SIZES:
        a, b = complex_numbers(3, size, dtype=dtype), complex_numbers(3, size, dtype=dtype, seed=1)
        x, y = Tensor(a), Tensor(b)
        np.testing.assert_array_equal((x * y).numpy(), product(a, b))
        np.testing.assert_array_equal((x + y).numpy(), a + b)
        np.testing.assert_array_equal((x.conj() - y).numpy(), a.conj() - b)
        np.testing.assert_array_equal((x[:, ::2] + y[:, ::2]).numpy(), a[:, ::2] + b[:, ::2])
        np.testing.assert_array_equal((x.flip(1) * 1).numpy(), product(a[:, ::-1], np.ones_like(a)))


def test_parts_that_are_not_numbers_stay_in_their_places():
    a = np.array([complex(np.nan, 1), complex(-0.0, np.inf), complex(2, -0.0)] * 9, np.complex64)
    for found, wanted in ((-Tensor(a), -a), (Tensor(a).conj(), a.conj())):
        parts = found.numpy().view(np.float32)
        np.testing.assert_array_equal(parts, wanted.view(np.float32))
        zeros = parts == 0
        np.testing.assert_array_equal(
            np.signbit(parts[zeros]), np.signbit(wanted.view("f4")[zeros])
        )


def test_a_complex_product_may_overwrite_its_operand():
    a, b = complex_numbers(70_000), complex_numbers(70_000, seed=1)
    step = jit(lambda x, y: x * y, donate_argnums=0)
    for _ in range(2):
        found = step(Tensor(a), Tensor(b)).numpy()
        np.testing.assert_array_equal(found, product(a, b))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int64", "bool"])
@pytest.mark.parametrize("count", [2, 3])
def test_stacks_along_the_last_axis_of_every_length(dtype, count):
    random = np.random.default_rng(0)
    for size in SIZES:
        parts = [random.integers(0, 2 + 90 * (dtype != "bool"), (2, size)) for _ in range(count)]
        arrays = [p.astype(dtype) for p in parts]
        found = Tensor.stack(*map(Tensor, arrays), dim=-1).contiguous().numpy()
        np.testing.assert_array_equal(found, np.stack(arrays, -1))


def test_a_stack_of_three_has_lanes_and_whole_stores():
    parts = [Tensor(np.ones(1000, np.float32), device="CPU") + i for i in range(3)]
    lowered = lower(lambda *p: Tensor.stack(*p, dim=-1))(*parts)
    assert "side by side" in lowered.kernels()[0]
    assert "masked" not in main_loop(lowered.source())


def test_rows_of_three_with_a_vector_of_three():
    x = np.random.default_rng(0).standard_normal((333, 3)).astype(np.float32)
    v = np.array([1.5, -2.0, np.inf], np.float32)
    np.testing.assert_array_equal((Tensor(x) * Tensor(v)).numpy(), x * v)
    np.testing.assert_array_equal((Tensor(x).flip(1) + Tensor(x)).numpy(), x[:, ::-1] + x)
    cross = np.cross(x, x[::-1])
    np.testing.assert_allclose(
        Tensor(x).cross(Tensor(x).flip(0)).numpy(), cross, rtol=1e-5, atol=1e-6
    )


def test_sums_of_complex_numbers_are_those_of_their_parts():
    for shape in ((5,), (4096,), (20_001,), (7, 300)):
        a = complex_numbers(*shape)
        for axis in range(len(shape)):
            found = Tensor(a).sum(axis).numpy()
            re, im = (Tensor(np.ascontiguousarray(p)).sum(axis).numpy() for p in (a.real, a.imag))
            np.testing.assert_array_equal(found.real, re)
            np.testing.assert_array_equal(found.imag, im)


def test_a_store_between_two_adjacent_ones_comes_between():
    k = Kernel()
    out, x = k.out(dtypes.float32), k.buffer("float32")
    i = k.range(16, 8)
    value, even = k.load(x, i), k.do(i * 2)
    k.store(out, even, value)
    k.store(out, even, k.do(value + 1), k.do(value < 0))
    k.store(out, k.do(even + 1), k.do(value * 2))
    k.end(i)
    values, found = data("float32", 16), np.zeros(32, np.float32)
    Compiled(k.program())(found, values)
    np.testing.assert_array_equal(found[::2], np.where(values < 0, values + 1, values))
    np.testing.assert_array_equal(found[1::2], values * 2)
