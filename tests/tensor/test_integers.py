"""Widths of integers: totals have 64 bits, indices are int64, defaults are obeyed or refused."""

import numpy as np
import pytest

import adjoint
from adjoint import AdjointError, Tensor, dtypes, jit

NARROW = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32"]
DEVICES = ["CPU", "REF"]


@pytest.fixture
def defaults():
    before = dtypes.default_int, dtypes.default_float
    yield dtypes
    dtypes.default_int, dtypes.default_float = before


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", NARROW)
@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod", "nansum", "trace"])
def test_totals_of_narrow_integers_have_64_bits(name, kind, device):
    x = Tensor(np.full((3, 3), 1 if kind == "bool" else 100, kind), device=device)
    if kind == "bool" and name in ("nansum", "cumsum", "cumprod"):
        x = x.cast("int8")
    y = getattr(x, name)(0) if name.startswith("cum") else getattr(x, name)()
    wanted = {"nansum": np.sum}.get(name) or getattr(np, name)
    full = x.numpy().astype(np.uint64 if kind[0] == "u" else np.int64)
    np.testing.assert_array_equal(
        y.numpy(), wanted(full, 0) if name.startswith("cum") else wanted(full)
    )
    assert y.dtype.name == ("uint64" if kind[0] == "u" else "int64")


@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod"])
@pytest.mark.parametrize("kind", ["int8", "uint16", "int32", "float32"])
def test_a_named_dtype_of_a_total_is_the_results(name, kind):
    x = Tensor(np.array([100, 100], np.int8))
    y = getattr(x, name)(0, dtype=kind)
    assert y.dtype.name == kind
    np.testing.assert_array_equal(y.numpy(), getattr(np, name)(x.numpy(), 0, dtype=kind))


def test_a_sum_does_not_wrap_at_32_bits():
    x = Tensor(np.full(5, 2**30, np.int32))
    assert x.sum().item() == 5 * 2**30
    assert x.cumsum(0).tolist()[-1] == 5 * 2**30
    assert adjoint.sum(x).item() == 5 * 2**30
    assert jit(lambda v: v.sum())(x).item() == 5 * 2**30


X = np.array([[3.0, 1.0, 2.0], [0.0, 0.0, 5.0]], np.float32)
INDICES = {
    "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(),
    "argsort": lambda x: x.argsort(1),
    "argsort of a scalar": lambda x: x[0, 0].argsort(),
    "sort": lambda x: x.sort(1)[1],
    "topk": lambda x: x.topk(2)[1],
    "kthvalue": lambda x: x.kthvalue(2)[1],
    "median": lambda x: x.median(1)[1],
    "mode": lambda x: x.mode(1)[1],
    "cummax": lambda x: x.cummax(1)[1],
    "cummin of one": lambda x: x[:, :1].cummin(1)[1],
    "nonzero": lambda x: x.nonzero(),
    "nonzero of a size": lambda x: x.nonzero(size=3),
    "argwhere": lambda x: x.argwhere(),
    "searchsorted": lambda x: x[0].sort()[0].searchsorted(x),
    "bucketize": lambda x: x.bucketize(x[0].sort()[0]),
    "max_pool2d": lambda x: x.reshape(1, 1, 2, 3).max_pool2d(2, 1, return_indices=True)[1],
    "unique first": lambda x: x.unique(return_index=True)[1],
    "unique inverse": lambda x: x.unique(return_inverse=True)[1],
    "unique counts": lambda x: x.unique(return_counts=True)[1],
    "count_nonzero": lambda x: x.count_nonzero(),
    "bincount": lambda x: x[0].cast("int8").bincount(),
    "matrix_rank": lambda x: x.matrix_rank(),
    "multinomial": lambda x: x[0].multinomial(2),
    "randperm": lambda x: Tensor.randperm(3, device=x.device),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", INDICES)
def test_indices_and_counts_are_int64_and_hold_what_they_say(name, device):
    y = INDICES[name](Tensor(X, device=device))
    assert y.dtype is dtypes.int64
    assert y.realize().numpy().dtype == np.int64
    assert (y.numpy() >= 0).all()
    assert (y.numpy() < 10).all()


MADE = {
    "Tensor of an int": lambda: Tensor(1),
    "Tensor of a list": lambda: Tensor([1]),
    "full": lambda: Tensor.full((2,), 3),
    "arange": lambda: Tensor.arange(3),
    "randint": lambda: Tensor.randint(2, high=3),
    "asarray": lambda: adjoint.asarray([1, 2]),
    "array API arange": lambda: adjoint.arange(3),
    "bool + int": lambda: Tensor([True]) + 1,
    "where": lambda: Tensor([True]).where(1, 0),
    "one_hot": lambda: Tensor([1]).one_hot(3),
    "cast to int": lambda: Tensor([1.5]).cast(int),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_the_default_integer_is_what_python_ints_make(name, kind, defaults):
    defaults.default_int = kind
    y = MADE[name]()
    assert y.dtype.name == kind
    assert y.numpy().dtype == kind


REAL = {
    "Tensor of a float": lambda x: Tensor([1.5]),
    "zeros": lambda x: Tensor.zeros(2),
    "rand": lambda x: Tensor.rand(2),
    "linspace": lambda x: adjoint.linspace(0, 1, 3),
    "exp": lambda x: x.exp(),
    "true division": lambda x: x / 2,
    "int + float": lambda x: x + 0.5,
    "mean": lambda x: x.mean(),
    "softmax": lambda x: x.softmax(0),
    "var": lambda x: x.var(),
    "cast to float": lambda x: x.cast(float),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", REAL)
def test_the_default_float_is_what_functions_of_integers_give(name, device, defaults):
    x = Tensor([1, 2, 4], device=device)
    for kind in ("float64", "float32", "float16", "float64"):
        defaults.default_float = kind
        y = REAL[name](x)
        assert y.dtype.name == kind
        assert y.numpy().dtype == kind


def test_a_lazy_value_keeps_the_type_it_was_made_with(defaults):
    x = Tensor([1, 2, 4])
    before = x.softmax(0)
    defaults.default_float = "float64"
    after = x.softmax(0)
    assert before.dtype is dtypes.float32
    assert after.dtype is dtypes.float64
    assert (before.numpy().dtype, after.numpy().dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(before.numpy(), after.numpy(), rtol=1e-6)


def test_a_jitted_function_follows_the_defaults(defaults):
    f = jit(lambda x: (x / 3, (x > 1) + 1))
    x = Tensor([1, 2])
    assert [y.dtype.name for y in f(x)] == ["float32", "int32"]
    defaults.default_float, defaults.default_int = "float64", "int64"
    assert [y.dtype.name for y in f(x)] == ["float64", "int64"]


COMPLEX = {
    "Tensor": lambda: Tensor([1j]),
    "scalar": lambda: Tensor(1j),
    "int + complex": lambda: Tensor([1]) + 1j,
    "asarray": lambda: adjoint.asarray([1j]),
    "full": lambda: adjoint.full((2,), 1j),
    "linspace": lambda: adjoint.linspace(0j, 1j, 3),
    "fft": lambda: adjoint.fft.fft(adjoint.asarray([1.0, 2.0])),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_the_default_complex_follows_the_default_float(name, defaults):
    assert COMPLEX[name]().dtype is dtypes.complex64
    defaults.default_float = "float64"
    assert defaults.default_complex is dtypes.complex128
    assert COMPLEX[name]().dtype is dtypes.complex128
    assert COMPLEX[name]().numpy().dtype == np.complex128


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("default_int", "int16"),
        ("default_int", "float32"),
        ("default_int", "uint64"),
        ("default_float", "int32"),
        ("default_float", "complex64"),
        ("default_float", "f33"),
        ("float32", "float64"),
        ("default_complex", "complex128"),
        ("anything", "int32"),
    ],
)
def test_a_default_that_cannot_be_obeyed_is_refused(name, value, defaults):
    with pytest.raises(AdjointError):
        setattr(defaults, name, value)
    assert (dtypes.default_int, dtypes.default_float) == (dtypes.int32, dtypes.float32)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64"])
def test_a_power_by_the_least_integer_is_truncated_like_any_other(kind, device):
    base = Tensor(np.array([0, 1, -1, 2, -2], kind), device=device)
    least = Tensor(np.full(5, np.iinfo(kind).min, kind), device=device)
    assert (base**least).tolist() == [0, 1, 1, 0, 0]
    assert (base ** (least + 1)).tolist() == [0, 1, -1, 0, 0]
