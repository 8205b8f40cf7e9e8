"""The table of LLVM instructions: every op, dtype and cast against NumPy, bit for bit."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from adjoint.ir.dtype import as_dtype, dtypes
from adjoint.ir.opdef import OPS
from tests.codegen.llvm.kernels import Array, Compiled, Kernel, applied, const, data, same

F32, WIDTHS = dtypes.float32, (128, 256, 512)


SPECIAL = np.array(
    [
        0.0,
        -0.0,
        1.5,
        -1.5,
        2.5,
        0.5,
        np.inf,
        -np.inf,
        np.nan,
        1e-45,
        -1e-45,
        3e38,
        1e-38,
        7.0,
        -3.25,
    ]
)
FLOAT_OPS: list[tuple[str, Any]] = [
    ("add", np.add),
    ("sub", np.subtract),
    ("mul", np.multiply),
    ("true_div", np.true_divide),
    ("lt", np.less),
    ("le", np.less_equal),
    ("eq", np.equal),
    ("ne", np.not_equal),
    ("copysign", np.copysign),
    ("maximum", np.maximum),
    ("minimum", np.minimum),
]
FLOAT_FUNCTIONS: list[tuple[str, Any]] = [
    ("neg", np.negative),
    ("abs", np.abs),
    ("sqrt", np.sqrt),
    ("floor", np.floor),
    ("ceil", np.ceil),
    ("trunc", np.trunc),
    ("round", np.round),
    ("logical_not", np.logical_not),
]


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_ops_have_the_bits_of_numpy(dtype: Any, lanes: int) -> None:
    with np.errstate(all="ignore"):
        values = SPECIAL.astype(dtype)
        a, b = (v.ravel() for v in np.meshgrid(values, values))
        for op, numpy in FLOAT_OPS:
            found, expected = applied(OPS[op], a, b, lanes=lanes), numpy(a, b)
            if op in ("maximum", "minimum"):  # either zero may win
                found, expected = found + dtype(0), expected + dtype(0)
            same(found, expected)
        for op, numpy in FLOAT_FUNCTIONS:
            same(applied(OPS[op], values, lanes=lanes), numpy(values))


def test_extremes_with_a_constant_keep_nan() -> None:
    x = SPECIAL.astype(np.float32)
    for value in (0.0, 2.0, float("nan"), float("-inf")):
        for op, numpy in (("maximum", np.maximum), ("minimum", np.minimum)):
            expected = numpy(x, np.float32(value)) + np.float32(0)
            same(applied(lambda v, op=op, c=value: OPS[op](v, c), x) + np.float32(0), expected)
            same(
                applied(lambda v, op=op, c=value: OPS[op](const(c, F32), v), x) + np.float32(0),
                expected,
            )


def test_fma_rounds_once_and_a_product_and_a_sum_round_twice() -> None:
    a, b, c = np.float32(1 + 2**-12), np.float32(1 + 2**-12), np.float32(-1 - 2**-11)
    arrays = [np.full(9, v, np.float32) for v in (a, b, c)]
    same(applied(OPS["fma"], *arrays), np.full(9, 2**-24, np.float32))
    same(applied(lambda x, y, z: x * y + z, *arrays), np.full(9, a * b + c, np.float32))


INT_OPS: list[tuple[str, Any]] = [
    ("add", np.add),
    ("sub", np.subtract),
    ("mul", np.multiply),
    ("maximum", np.maximum),
    ("minimum", np.minimum),
    ("lt", np.less),
    ("le", np.less_equal),
    ("eq", np.equal),
    ("ne", np.not_equal),
    ("bitwise_and", np.bitwise_and),
    ("bitwise_or", np.bitwise_or),
    ("bitwise_xor", np.bitwise_xor),
]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", INTS)
def test_integer_ops_have_the_bits_of_numpy(dtype: str) -> None:
    a, b = data(dtype, 50), data(dtype, 50, seed=1)
    b[:5] = a[:5]
    with np.errstate(all="ignore"):
        for op, numpy in INT_OPS:
            same(applied(OPS[op], a, b), numpy(a, b))
        for op, numpy in (("neg", np.negative), ("abs", np.abs), ("bitwise_not", np.invert)):
            same(applied(OPS[op], a), numpy(a))
        amount = (b % (a.dtype.itemsize * 8)).astype(a.dtype)
        same(applied(OPS["lshift"], a, amount), np.left_shift(a, amount))
        same(applied(OPS["rshift"], a, amount), np.right_shift(a, amount))


@pytest.mark.parametrize("dtype", INTS)
def test_integers_are_divided_towards_zero(dtype: str) -> None:
    a, b = data(dtype, 50), data(dtype, 50, seed=1)
    b = np.where(
        (b == 0) | (b.astype(np.int64) == -1), 3, b // 16 + 17 if b.dtype.itemsize > 1 else b
    ).astype(dtype)
    b[b == 0] = 5
    quotients = [
        abs(int(x)) // abs(int(y)) * (1 if (x < 0) == (y < 0) else -1)
        for x, y in zip(a, b, strict=True)
    ]
    expected = np.array(quotients, a.dtype)
    same(applied(OPS["idiv"], a, b), expected)
    same(applied(OPS["fmod"], a, b), np.fmod(a, b))


def test_bools_add_as_or_and_multiply_as_and() -> None:
    a, b = (v.ravel() for v in np.meshgrid([True, False], [True, False]))
    for op, numpy in (
        ("add", np.logical_or),
        ("mul", np.logical_and),
        ("maximum", np.logical_or),
        ("minimum", np.logical_and),
        ("logical_xor", np.logical_xor),
        ("bitwise_or", np.logical_or),
        ("eq", np.equal),
        ("lt", np.less),
    ):
        same(applied(OPS[op], a, b), numpy(a, b))
    same(applied(OPS["bitwise_not"], a), ~a)


def test_where_takes_a_condition_per_lane_or_for_all() -> None:
    a, b, c = data(F32, 40), data(F32, 40, seed=1), data("bool", 40)
    same(applied(lambda c, a, b: c.where(a, b), c, a, b), np.where(c, a, b))
    k = Kernel()
    out, x, n = k.out(F32), k.buffer(F32), k.variable("n")
    i = k.range(40, 16)
    k.store(out, i, k.do((n < 5).where(k.load(x, i), 2.0)))
    k.end(i)
    found = np.zeros(40, np.float32)
    for n, expected in ((3, a), (9, np.full(40, 2, np.float32))):
        Compiled(k.program())(found, a, variables=[n])
        same(found, expected)


# ---- casts

NUMBERS = ["bool", *INTS, "float32", "float64"]


@pytest.mark.parametrize("after", NUMBERS)
@pytest.mark.parametrize("before", NUMBERS)
def test_casts_have_the_values_of_numpy(before: str, after: str) -> None:
    target = as_dtype(after)
    x = data(before, 41)
    if before.startswith("float"):
        x = np.concatenate([x * 50, SPECIAL]).astype(before)
        if target.is_int:
            x = np.abs(x[np.isfinite(x) & (np.abs(x) < 127)])
    with np.errstate(all="ignore"):
        expected = (x != 0) if target.is_bool else x.astype(target.np)
    same(applied(lambda v: v.cast(target), x), expected)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("lanes", [1, 32])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_every_16_bit_float_is_read_exactly(dtype: Any, lanes: int, width: int) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    with np.errstate(all="ignore"):
        same(applied(lambda v: v.cast(F32), x, lanes=lanes, width=width), x.astype(np.float32))


def around(dtype: Any) -> Array:
    """Floats at, next to, and half way between the values of a 16-bit dtype; and more."""
    with np.errstate(all="ignore"):
        exact = np.arange(1 << 16, dtype=np.uint16).view(dtype).astype(np.float32)
        exact = np.sort(exact[np.isfinite(exact)])
        half = ((exact[1:].astype(np.float64) + exact[:-1]) / 2).astype(np.float32)
        near = [np.nextafter(v, np.float32(s * np.inf)) for v in (exact, half) for s in (1, -1)]
        rest = [SPECIAL.astype(np.float32), np.array([65519, 65520, 65536, 1e6, -1e6], np.float32)]
        bits = np.random.default_rng(0).integers(0, 2**32, 50_000, np.uint32).view(np.float32)
    return np.concatenate([exact, half, *near, *rest, bits])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_floats_are_rounded_to_16_bits_as_to_nearest_even(dtype: Any, width: int) -> None:
    x = around(dtype)
    with np.errstate(all="ignore"):
        expected = x.astype(dtype)
    found = applied(lambda v: v.cast(as_dtype(dtype)), x, lanes=32, width=width)
    nan = np.isnan(x)
    assert np.isnan(found[nan].astype(np.float32)).all()
    same(found[~nan], expected[~nan])


def test_bits_are_read_as_another_dtype() -> None:
    x = data(F32, 20)
    same(applied(lambda v: v.bitcast(dtypes.int32), x), x.view(np.int32))
    h = data("float16", 20)
    same(applied(lambda v: v.bitcast(dtypes.uint16), h), h.view(np.uint16))
