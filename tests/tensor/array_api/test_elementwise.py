"""Elementwise functions against the oracle: every dtype it takes, every kind of shape."""

import array_api_strict as strict
import numpy as np
import pytest

import adjoint.tensor.array_api as xp
from adjoint import Tensor
from adjoint.ir.opdef import OPS
from tests.tensor.array_api.oracle import (
    ALL,
    COMPLEXES,
    FLOATS,
    INTS,
    NUMBERS,
    PAIRS,
    REALS,
    SHAPES,
    agree,
    array,
    same,
)

DOMAIN = {"acosh": (1.1, 4), "log": (0.1, 4), "log2": (0.1, 4), "log10": (0.1, 4)}
DOMAIN |= {"sqrt": (0.1, 4), "log1p": (-0.9, 3), "reciprocal": (0.5, 3)}
DOMAIN |= {"asin": (-0.9, 0.9), "acos": (-0.9, 0.9), "atanh": (-0.9, 0.9)}
SMOOTH = "acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 sin sinh sqrt"
SMOOTH += " tan tanh reciprocal"
UNARY = dict.fromkeys(SMOOTH.split(), FLOATS + COMPLEXES)
UNARY |= {"ceil": REALS, "floor": REALS, "round": REALS, "trunc": REALS, "abs": NUMBERS}
UNARY |= {"negative": NUMBERS, "positive": NUMBERS, "square": NUMBERS, "sign": NUMBERS}
UNARY |= {"isfinite": NUMBERS, "isinf": NUMBERS, "isnan": NUMBERS, "signbit": FLOATS}
UNARY |= {"logical_not": ("bool",), "bitwise_invert": ("bool", *INTS), "real": COMPLEXES}
UNARY |= {"imag": COMPLEXES, "conj": NUMBERS}
BINARY = dict.fromkeys(("add", "subtract", "multiply"), NUMBERS)
BINARY |= {"divide": FLOATS + COMPLEXES, "pow": NUMBERS}
BINARY |= {"equal": ALL, "not_equal": ALL, "atan2": FLOATS, "copysign": FLOATS, "hypot": FLOATS}
BINARY |= {"logaddexp": FLOATS, "nextafter": FLOATS, "floor_divide": REALS, "remainder": REALS}
BINARY |= dict.fromkeys(("less", "less_equal", "greater", "greater_equal"), REALS)
BINARY |= {"maximum": REALS, "minimum": REALS}
BINARY |= dict.fromkeys(("logical_and", "logical_or", "logical_xor"), ("bool",))
BINARY |= dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), ("bool", *INTS))
BINARY |= dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), INTS)
POSITIVE = {"pow", "floor_divide", "remainder", "divide"}
POSITIVE |= {"bitwise_left_shift", "bitwise_right_shift"}
RECORD = {"negative": "neg", "bitwise_invert": "bitwise_not"}


def _supported(name, dtype):
    """Complex functions are tried where the record takes complex numbers."""
    record = OPS.get(RECORD.get(name, name))
    return dtype not in COMPLEXES or record is None or "c" in record.kinds


@pytest.mark.parametrize(
    ("name", "dtype"), [(n, d) for n, ds in UNARY.items() for d in ds if _supported(n, d)]
)
def test_unary_functions_agree_with_the_oracle(name, dtype):
    lo, hi = DOMAIN.get(name, (-3, 3))
    for shape in SHAPES:
        agree(name, array(shape, dtype, lo, hi))


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n, ds in BINARY.items() for d in ds])
def test_binary_functions_agree_with_the_oracle(name, dtype):
    lo = 1 if name in POSITIVE else -3
    for left, right in PAIRS:
        agree(name, array(left, dtype, lo, 3), array(right, dtype, lo, 3, seed=1))


@pytest.mark.parametrize("name", sorted(BINARY))
def test_one_operand_may_be_a_python_number(name):
    dtype = "bool" if BINARY[name] == ("bool",) else BINARY[name][-1]
    dtype = "float32" if dtype in FLOATS + COMPLEXES else dtype
    number = {"bool": True, "float32": 2.0}.get(dtype, 2)
    x = array((3,), dtype, 1, 3)
    agree(name, x, number, dtype=_result(name, dtype))
    agree(name, number, x, dtype=_result(name, dtype))


def _result(name, dtype):
    compare = name in ("equal", "not_equal") or name.startswith(("less", "greater"))
    return "bool" if compare else dtype


PROMOTIONS = [
    ("int8", "int16"),
    ("uint8", "int8"),
    ("uint16", "int8"),
    ("uint32", "int64"),
    ("uint8", "uint32"),
    ("float32", "float64"),
    ("float32", "complex64"),
    ("float64", "complex64"),
    ("complex64", "complex128"),
]


@pytest.mark.parametrize(("a", "b"), PROMOTIONS)
def test_mixed_dtypes_promote_as_the_oracle_does(a, b):
    agree("add", array((3,), a, 0), array((3,), b, 0))
    agree("multiply", array((3,), b, 0), array((3,), a, 0))


@pytest.mark.parametrize("dtype", REALS)
def test_clip_agrees_with_the_oracle(dtype):
    x = array((2, 3), dtype, 0, 9)
    low, high = array((3,), dtype, 1, 2), array((2, 1), dtype, 4, 6)
    for bounds in ((low, high), (low, None), (None, high), (2, 5), (None, None)):
        agree("clip", x, *bounds, dtype=dtype)
    agree("clip", x, min=2, dtype=dtype)
    agree("clip", x, max=5, dtype=dtype)


def test_clip_keeps_the_dtype_of_its_operand_and_nan():
    x = Tensor(np.array([np.nan, 9.0], np.float32))
    same(xp.clip(x, Tensor(np.array(1.0)), 5.0), np.array([np.nan, 5], np.float32))


def test_negative_shifts_and_wide_shifts_give_what_bit_by_bit_shifting_would():
    x = Tensor(np.array([1, -8], np.int32))
    assert xp.bitwise_right_shift(x, 40).tolist() == [0, -1]
    assert xp.bitwise_left_shift(x, 40).tolist() == [0, 0]


def test_positive_is_a_handle_of_its_own():
    x = Tensor([1.0])
    y = xp.positive(x)
    x += 1
    assert y.tolist() == [1.0]


def test_unary_and_binary_tables_hold_every_elementwise_function():
    module = strict._elementwise_functions
    functions = {n: getattr(module, n) for n in strict.__all__ if hasattr(module, n)}
    names = {n for n, f in functions.items() if getattr(f, "__module__", "") == module.__name__}
    assert names - {"clip"} <= set(UNARY) | set(BINARY)
    assert len(names) > 60


def test_functions_of_two_numbers_are_an_error():
    with pytest.raises(TypeError, match="tensor"):
        xp.add(1, 2)
    with pytest.raises(TypeError, match="asarray"):
        xp.abs(-1)
    with pytest.raises(TypeError, match="tensor"):
        xp.add([1], Tensor([1]))


def test_numpy_arrays_are_taken_as_tensors():
    assert xp.add(np.array([1, 2]), 1).tolist() == [2, 3]
    assert xp.abs(np.array([-1])).tolist() == [1]
    assert xp.add(1, np.array([1, 2])).tolist() == [2, 3]
