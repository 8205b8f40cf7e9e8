"""Data types: promotion, kinds, limits, casts."""

import array_api_strict as strict
import ml_dtypes
import numpy as np
import pytest

import adjoint.tensor.array_api as xp
from adjoint import AdjointError, Tensor
from tests.tensor.array_api.oracle import (
    ALL,
    COMPLEXES,
    FLOATS,
    INTS,
    NUMBERS,
    SIGNED,
    UNSIGNED,
    array,
    dtype_named,
    same,
)

PAIRS = [(a, b) for a in ALL for b in ALL]


def _strict_type(*names):
    try:
        found = strict.result_type(*(getattr(strict, n) for n in names))
    except TypeError:  # the standard leaves this pair open
        return None
    return str(found).rpartition(".")[2]


@pytest.mark.parametrize(("a", "b"), [p for p in PAIRS if _strict_type(*p)])
def test_promotion_is_the_standards_where_it_speaks(a, b):
    assert xp.result_type(dtype_named(a), dtype_named(b)).name == _strict_type(a, b)
    assert xp.result_type(Tensor(array((1,), a)), dtype_named(b)).name == _strict_type(a, b)


@pytest.mark.parametrize(("a", "b"), [p for p in PAIRS if _strict_type(*p)])
def test_can_cast_is_the_standards_where_it_speaks(a, b):
    wanted = strict.can_cast(getattr(strict, a), getattr(strict, b))
    assert xp.can_cast(dtype_named(a), dtype_named(b)) is wanted
    assert xp.can_cast(Tensor(array((1,), a)), dtype_named(b)) is wanted


def test_a_narrowing_cast_is_not_a_promotion():
    assert not xp.can_cast(xp.float64, xp.int32)
    assert not xp.can_cast(xp.complex64, xp.float32)


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        (("int8", 1), "int8"),
        (("bool", True), "bool"),
        (("float32", 1.5), "float32"),
        (("float64", 1j), "complex128"),
        (("float32", 1j), "complex64"),
        (("int8", "int16", 1), "int16"),
        ((1, "uint8"), "uint8"),
        (("int32", 1.5), "float32"),
    ],
)
def test_python_scalars_are_weak(args, wanted):
    mixed = [dtype_named(a) if isinstance(a, str) else a for a in args]
    assert xp.result_type(*mixed).name == wanted


def test_result_type_of_scalars_alone_is_an_error():
    with pytest.raises(ValueError, match="at least one"):
        xp.result_type(1, 2.0)
    with pytest.raises(TypeError, match="dtype"):
        xp.result_type("float32")


KINDS = {
    "bool": ("bool",),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": INTS,
    "real floating": FLOATS,
    "complex floating": COMPLEXES,
    "numeric": NUMBERS,
}


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("kind", KINDS)
def test_isdtype_knows_the_kinds(dtype, kind):
    assert xp.isdtype(dtype_named(dtype), kind) is (dtype in KINDS[kind])


def test_isdtype_takes_dtypes_and_tuples():
    assert xp.isdtype(xp.int8, xp.int8)
    assert not xp.isdtype(xp.int8, xp.int16)
    assert xp.isdtype(xp.bool, ("integral", "bool"))
    assert xp.isdtype(xp.bfloat16, "real floating")
    assert not xp.isdtype(xp.float32, (xp.float64, "integral"))


def test_isdtype_rejects_what_is_no_kind():
    with pytest.raises(ValueError, match="integral"):
        xp.isdtype(xp.int8, "integra")
    with pytest.raises(TypeError, match="kind"):
        xp.isdtype(xp.int8, 3)
    with pytest.raises(TypeError, match="dtype"):
        xp.isdtype("int8", "integral")


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEXES])
def test_finfo_agrees_with_the_oracle(dtype):
    mine, other = xp.finfo(dtype_named(dtype)), strict.finfo(getattr(strict, dtype))
    for field in ("bits", "eps", "max", "min", "smallest_normal"):
        assert getattr(mine, field) == getattr(other, field)
        assert type(getattr(mine, field)) in (int, float)
    assert mine.dtype.name == str(other.dtype).rpartition(".")[2]


def test_finfo_knows_bfloat16_and_tensors():
    assert xp.finfo(xp.bfloat16).eps == float(ml_dtypes.finfo(ml_dtypes.bfloat16).eps)
    assert xp.finfo(Tensor([1.0])).bits == 32


@pytest.mark.parametrize("dtype", INTS)
def test_iinfo_agrees_with_the_oracle(dtype):
    mine, other = xp.iinfo(dtype_named(dtype)), strict.iinfo(getattr(strict, dtype))
    assert (mine.bits, mine.max, mine.min) == (other.bits, other.max, other.min)
    assert mine.dtype is dtype_named(dtype)
    assert xp.iinfo(Tensor(array((1,), dtype))).bits == other.bits


def test_limits_of_the_wrong_kind_are_errors():
    with pytest.raises(TypeError, match="float"):
        xp.finfo(xp.int8)
    with pytest.raises(TypeError, match="integer"):
        xp.iinfo(xp.float32)


@pytest.mark.parametrize(
    ("a", "b"), [p for p in PAIRS if not (p[0] in COMPLEXES and p[1] not in COMPLEXES)]
)
def test_astype_casts_values(a, b):
    x = array((2, 3), a, 0, 5)
    same(xp.astype(Tensor(x), dtype_named(b)), x.astype(b))


def test_astype_of_complex_to_real_is_an_error():
    with pytest.raises(TypeError, match="real"):
        xp.astype(Tensor([1j]), xp.float32)


def test_astype_copies_unless_told_not_to():
    x = Tensor([1.0])
    assert xp.astype(x, xp.float32, copy=False) is x
    assert xp.astype(x, xp.float32) is not x
    assert xp.astype(x, xp.int8, device="REF").device == "REF"


def test_dtypes_compare_by_identity_and_print_their_names():
    assert xp.float32 is Tensor([1.0]).dtype
    assert xp.float32 != xp.float64
    assert str(xp.int8) == "int8"


@pytest.mark.parametrize(
    ("shapes", "wanted"),
    [
        ((), ()),
        (((2, 3),), (2, 3)),
        (((2, 1), (3,)), (2, 3)),
        (((), (0,)), (0,)),
        (((1, 0), (4, 1), (1,)), (4, 0)),
    ],
)
def test_shapes_broadcast(shapes, wanted):
    assert xp.broadcast_shapes(*shapes) == wanted


def test_shapes_that_do_not_broadcast_are_value_errors():
    with pytest.raises(ValueError, match="dimension 1"):
        xp.broadcast_shapes((2, 3), (2, 4))
    with pytest.raises(ValueError, match="dimension 0"):
        xp.broadcast_arrays(Tensor([1, 2]), Tensor([1, 2, 3]))
    with pytest.raises(AdjointError):
        xp.broadcast_to(Tensor([1, 2]), (3,))
    with pytest.raises(AdjointError):
        xp.broadcast_to(Tensor([1, 2]), (3, -1))


def test_arrays_broadcast_and_keep_their_dtypes():
    a, b = np.ones((2, 1), "int8"), np.arange(3.0)
    mine = xp.broadcast_arrays(Tensor(a), Tensor(b))
    assert isinstance(mine, tuple)
    for got, wanted in zip(mine, np.broadcast_arrays(a, b), strict=True):
        same(got, wanted)
    same(xp.broadcast_to(Tensor(b), (2, 3)), np.broadcast_to(b, (2, 3)))
