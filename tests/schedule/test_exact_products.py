"""Products of 8-bit integers are computed with floats, and no bit tells."""

from dataclasses import replace

import numpy as np
import pytest

from adjoint import Tensor, lower
from adjoint.backends.cpu import BACKEND
from adjoint.engine.program_cache import PROGRAMS

pytestmark = [
    pytest.mark.usefixtures("cpu", "without_units"),
    pytest.mark.skipif(BACKEND.target.tile is None, reason="no fused multiply-adds"),
]
KINDS = {"int8": (-128, 127), "uint8": (0, 255)}


@pytest.fixture
def without_units(monkeypatch):
    """A processor that has no instructions for bytes."""
    monkeypatch.setattr(BACKEND, "target", replace(BACKEND.target, matrix_units=()))
    PROGRAMS.clear()
    yield
    PROGRAMS.clear()


def drawn(shape, dtype, how, seed):
    low, high = KINDS[dtype]
    if how != "any":
        return np.full(shape, low if how == "least" else high, dtype)
    return np.random.default_rng([seed, *shape]).integers(low, high + 1, shape).astype(dtype)


def by_floats(fn, *args):
    """The result, which floats compute."""
    assert "f32" in lower(fn)(*args).schedule()
    return fn(*args).numpy()


@pytest.mark.parametrize("left", KINDS)
@pytest.mark.parametrize("right", KINDS)
@pytest.mark.parametrize("how", ["any", "least", "most"])
@pytest.mark.parametrize("k", [255, 258, 259, 1024, 1025, 3000])
def test_sums_are_those_of_integers(left, right, how, k):
    a, b = drawn((50, k), left, how, 1), drawn((k, 90), right, how, 2)
    found = by_floats(lambda a, b: a.dot(b, dtype="int32"), Tensor(a), Tensor(b))
    np.testing.assert_array_equal(found, a.astype(np.int64) @ b.astype(np.int64))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64"])
def test_sums_of_every_dtype_wrap_around_as_it_does(dtype):
    a, b = drawn((64, 700), "int8", "any", 1), drawn((700, 64), "int8", "any", 2)
    exact = a.astype(np.int64) @ b.astype(np.int64)
    x, y = Tensor(a), Tensor(b)
    fn = (lambda x, y: x @ y) if dtype == "int8" else (lambda x, y: x.dot(y, dtype=dtype))
    found = by_floats(fn, x, y) if dtype in ("int8", "int16", "int64") else fn(x, y).numpy()
    np.testing.assert_array_equal(found, exact.astype(dtype))
    assert found.dtype == dtype


def test_operands_are_seen_through_views_and_margins():
    x, w = drawn((2, 24, 20, 20), "int8", "any", 1), drawn((40, 24, 3, 3), "int8", "any", 2)

    def fn(x, w):
        return x.conv2d(w, padding=1, dtype="int32")

    found = by_floats(fn, Tensor(x), Tensor(w))
    wanted = fn(Tensor(x, device="REF"), Tensor(w, device="REF")).numpy()
    np.testing.assert_array_equal(found, wanted)


def test_numbers_that_floats_would_round_are_left_to_integers():
    a = np.full((64, 512), 40000, np.int32)
    x = Tensor(a)
    assert "f32" not in lower(lambda x: x @ x.T)(x).schedule()
    wide = Tensor(drawn((64, 512), "int8", "any", 1)).cast("int32") * 300
    assert "f32" not in lower(lambda x: x @ x.T)(wide).schedule()
    np.testing.assert_array_equal((x @ x.T).numpy(), (a.astype(np.int64) @ a.T).astype(np.int32))


def test_a_margin_of_another_number_is_kept():
    x = Tensor(drawn((64, 500), "int8", "any", 1))
    wide = x.cast("int32").pad((6, 6), value=1000)
    found = (wide @ wide.T).numpy()
    right = wide.numpy().astype(np.int64)
    np.testing.assert_array_equal(found, right @ right.T)


def test_very_long_sums_are_left_to_integers():
    x = Tensor(drawn((8, 40000), "int8", "any", 1))
    found = x.dot(x.T, dtype="int32").numpy()
    right = x.numpy().astype(np.int64)
    np.testing.assert_array_equal(found, (right @ right.T).astype(np.int32))
