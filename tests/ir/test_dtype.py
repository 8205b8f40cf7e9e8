"""Dtypes: names, limits, promotion."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

from adjoint.errors import DTypeError
from adjoint.ir.dtype import (
    ALL,
    COMPLEXES,
    FLOATS,
    INTS,
    VOID,
    accumulator,
    as_dtype,
    complex_of,
    dtype_of_scalar,
    dtypes,
    fits,
    pointer,
    promote,
    promote_scalar,
    real_of,
    to_float,
)

PAIRS = [(a, b) for a in ALL for b in ALL]
EVERY = pytest.mark.parametrize("dtype", ALL, ids=str)

# ---- names


def test_there_are_fifteen():
    names = "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128"
    assert sorted(d.short for d in ALL) == sorted(names.split())


@EVERY
def test_every_name_leads_to_the_one_object(dtype):
    for name in (dtype, dtype.name, dtype.short, dtype.np, dtype.np.type):
        assert as_dtype(name) is dtype
    assert getattr(dtypes, dtype.name if dtype.name != "bool" else "bool_") is dtype


@EVERY
def test_copies_and_pickles_are_the_same_object(dtype):
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert copy.deepcopy([dtype])[0] is dtype


def test_python_types_are_dtypes():
    assert as_dtype(bool) is dtypes.bool_
    assert as_dtype(int) is dtypes.default_int
    assert as_dtype(float) is dtypes.default_float


def test_familiar_names():
    assert (dtypes.half, dtypes.float, dtypes.double) == (
        dtypes.float16,
        dtypes.float32,
        dtypes.float64,
    )
    assert (dtypes.char, dtypes.short, dtypes.int, dtypes.long) == INTS[:4]
    assert dtypes.bfloat16.np == np.dtype(ml_dtypes.bfloat16)


def test_an_unknown_name_is_met_with_a_suggestion():
    with pytest.raises(DTypeError, match="float32") as caught:
        as_dtype("flaot32")
    assert caught.value.code == "E2001"
    with pytest.raises(DTypeError, match="known dtypes"):
        as_dtype("zzz")


@EVERY
def test_a_dtype_prints_as_its_name(dtype):
    assert (str(dtype), repr(dtype)) == (dtype.name, f"dtypes.{dtype.name}")


# ---- facts


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_limits_of_integers_are_numpys(dtype):
    assert (dtype.min, dtype.max) == (np.iinfo(dtype.np).min, np.iinfo(dtype.np).max)
    assert fits(dtype.max, dtype)
    assert not fits(dtype.max + 1, dtype)
    assert not fits(dtype.min - 1, dtype)


def test_limits_of_others():
    assert (dtypes.bool_.min, dtypes.bool_.max) == (False, True)
    assert all((d.min, d.max) == (-np.inf, np.inf) for d in (*FLOATS, *COMPLEXES))


@EVERY
def test_a_dtype_is_of_one_kind(dtype):
    assert [dtype.is_bool, dtype.is_int, dtype.is_float, dtype.is_complex].count(True) == 1
    assert dtype.bits == (1 if dtype.is_bool else 8 * dtype.itemsize)


# ---- promotion


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=str)
def test_promotion_is_symmetric_and_holds_both_kinds(a, b):
    result = promote(a, b)
    assert result is promote(b, a)
    order = "biufc"
    highest = max(order.index(d.kind) for d in (a, b))
    mixed = {a.kind, b.kind} == {"i", "u"}
    assert order.index(result.kind) >= highest - mixed


@EVERY
def test_promotion_with_itself_is_itself(dtype):
    assert promote(dtype, dtype) is dtype


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=str)
def test_promotion_is_numpys_within_a_kind_and_between_integers(a, b):
    standard = a.kind == b.kind or {a.kind, b.kind} <= set("biu") or "c" in (a.kind, b.kind)
    if dtypes.bfloat16 in (a, b) or not standard or {a.kind, b.kind} & set("iu") == {"i", "u"}:
        return
    if (a.is_int or b.is_int) and (a.is_complex or b.is_complex):
        return  # an integer takes the width of the complex dtype here
    assert promote(a, b) is as_dtype(np.promote_types(a.np, b.np))


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=str)
def test_signed_with_unsigned_is_the_next_wider_signed(a, b):
    if {a.kind, b.kind} == {"i", "u"}:
        assert promote(a, b) is as_dtype(np.promote_types(a.np, b.np))


@pytest.mark.parametrize("integer", [dtypes.bool_, *INTS], ids=str)
@pytest.mark.parametrize("inexact", [*FLOATS, *COMPLEXES], ids=str)
def test_an_integer_takes_the_width_of_a_float(integer, inexact):
    assert promote(integer, inexact) is inexact


def test_the_two_halves_meet_in_float32():
    assert promote(dtypes.float16, dtypes.bfloat16) is dtypes.float32


def test_a_wide_float_makes_a_complex_wide():
    assert promote(dtypes.float64, dtypes.complex64) is dtypes.complex128
    assert promote(dtypes.float32, dtypes.complex64) is dtypes.complex64


@pytest.mark.parametrize("c", ALL, ids=str)
def test_promotion_of_three_integers_or_floats_does_not_depend_on_the_order(c):
    for a, b in PAIRS:
        kinds = {a.kind, b.kind, c.kind}
        if kinds <= set("bi") or kinds <= set("bu") or kinds <= set("bf"):
            assert promote(promote(a, b), c) is promote(a, promote(b, c))


# ---- Python scalars are weak


@EVERY
def test_a_scalar_of_no_higher_kind_changes_nothing(dtype):
    assert promote_scalar(dtype, True) is dtype
    if not dtype.is_bool:
        assert promote_scalar(dtype, 3) is dtype
    if dtype.is_inexact:
        assert promote_scalar(dtype, 3.0) is dtype


def test_a_scalar_of_higher_kind_brings_its_default():
    assert promote_scalar(dtypes.bool_, 3) is dtypes.default_int
    assert promote_scalar(dtypes.int8, 3.0) is dtypes.default_float
    assert promote_scalar(dtypes.float32, 3j) is dtypes.complex64
    assert promote_scalar(dtypes.float64, 3j) is dtypes.complex128
    assert promote_scalar(dtypes.int64, 3j) is dtypes.complex64


def test_a_scalar_alone():
    assert dtype_of_scalar(True) is dtypes.bool_
    assert dtype_of_scalar(7) is dtypes.int32
    assert dtype_of_scalar(2**31) is dtypes.int64
    assert dtype_of_scalar(2**63) is dtypes.uint64
    assert dtype_of_scalar(1.0) is dtypes.float32
    assert dtype_of_scalar(1j) is dtypes.complex64


# ---- NumPy


@EVERY
def test_numpy_takes_a_dtype_for_its_own(dtype):
    assert np.dtype(dtype) == dtype.np
    assert np.zeros(2, dtype=dtype).astype(dtype).dtype == dtype.np


# ---- related dtypes


@EVERY
def test_related_dtypes(dtype):
    assert to_float(dtype) is (dtype if dtype.is_inexact else dtypes.float32)
    assert complex_of(dtype).is_complex
    assert real_of(complex_of(dtype)).is_float
    assert accumulator(dtype).itemsize >= min(4, dtype.itemsize * 4)
    assert accumulator(dtype).is_float == dtype.is_float


# ---- kernel level


def test_pointers_are_one_object_per_type():
    assert pointer(dtypes.float32) is pointer(dtypes.float32, mutable=False)
    assert pointer(dtypes.float32, True) is not pointer(dtypes.float32)
    assert pickle.loads(pickle.dumps(pointer(dtypes.int8, True, True))) is pointer(
        dtypes.int8, True, True
    )
    assert str(pointer(dtypes.int8, True, True)) == "Ptr<i8, local, mutable>"


def test_void_is_no_dtype_of_tensors():
    assert VOID not in ALL
    with pytest.raises(DTypeError):
        as_dtype("void")
