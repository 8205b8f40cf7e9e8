"""Manipulation, indexing, searching and sorting functions against the oracle."""

import numpy as np
import pytest

import adjoint
import adjoint.tensor.array_api as xp
from adjoint import Tensor
from tests.tensor.array_api.oracle import ALL, REALS, agree, array, same

X = array((2, 3, 4), "float32")
INDEX = np.array([2, 0, 2, -1])


@pytest.mark.parametrize("dtype", ALL)
def test_movement_keeps_dtype_and_values(dtype):
    x = array((2, 3, 4), dtype)
    agree("reshape", x, (4, 6), dtype=dtype)
    agree("permute_dims", x, (2, 0, 1), dtype=dtype)
    agree("flip", x, dtype=dtype)
    agree("roll", x, 1, axis=-1, dtype=dtype)
    agree("tile", x, (2, 1, 1), dtype=dtype)
    agree("concat", [x, x], axis=1, dtype=dtype)


CALLS = [
    ("concat", ([X, X],), {}),
    ("concat", ([X, X, X],), {"axis": -1}),
    ("concat", ([X, X[0, 0]],), {"axis": None}),
    ("concat", ((X,),), {"axis": 1}),
    ("concat", ([X[:0], X],), {}),
    ("concat", ([X, X.astype("float64")],), {}),
    ("expand_dims", (X, 0), {}),
    ("expand_dims", (X, -1), {}),
    ("expand_dims", (X,), {"axis": 3}),
    ("expand_dims", (X, (0, 2, -1)), {}),
    ("expand_dims", (X[0, 0, 0:1].reshape(()), 0), {}),
    ("flip", (X,), {}),
    ("flip", (X,), {"axis": 1}),
    ("flip", (X,), {"axis": (0, -1)}),
    ("moveaxis", (X, 0, -1), {}),
    ("moveaxis", (X, (0, 1), (2, 0)), {}),
    ("permute_dims", (X, (-1, 0, 1)), {}),
    ("repeat", (X, 2), {}),
    ("repeat", (X, 2), {"axis": 1}),
    ("repeat", (X, np.array([1, 0, 3])), {"axis": 1}),
    ("repeat", (X, np.array([2])), {"axis": -1}),
    ("repeat", (X, 0), {"axis": 0}),
    ("reshape", (X, (6, -1)), {}),
    ("reshape", (X, (24,)), {"copy": True}),
    ("reshape", (X[:0], (3, 0)), {}),
    ("roll", (X, 5), {}),
    ("roll", (X, -1), {"axis": 1}),
    ("roll", (X, (1, -2)), {"axis": (0, 2)}),
    ("roll", (X, 1), {"axis": (0, 1)}),
    ("roll", (X[:0], 1), {"axis": 0}),
    ("squeeze", (X[:1], 0), {}),
    ("squeeze", (X[:1, :, :1], (0, -1)), {}),
    ("stack", ([X, X],), {}),
    ("stack", ((X, X),), {"axis": -1}),
    ("stack", ([X, X],), {"axis": 2}),
    ("tile", (X, (2,)), {}),
    ("tile", (X, (2, 1, 3, 1)), {}),
    ("tile", (X, ()), {}),
    ("tile", (X, (0, 1, 1)), {}),
    ("unstack", (X,), {}),
    ("unstack", (X,), {"axis": -1}),
    ("take", (X, INDEX % 2), {"axis": 0}),
    ("take", (X, INDEX), {"axis": 1}),
    ("take", (X[0, 0], INDEX), {}),
    ("take", (X, INDEX[:0]), {"axis": -1}),
    ("take_along_axis", (X, np.argsort(X, axis=-1)), {}),
    ("take_along_axis", (X, np.argsort(X, axis=1)), {"axis": 1}),
    ("take_along_axis", (X, INDEX.reshape(1, 1, 4)), {}),
    ("argmax", (X,), {}),
    ("argmax", (X,), {"axis": 1}),
    ("argmin", (X,), {"axis": -1, "keepdims": True}),
    ("argmin", (X,), {"keepdims": True}),
    ("count_nonzero", (X > 0,), {}),
    ("count_nonzero", (X > 0,), {"axis": (0, 2), "keepdims": True}),
    ("count_nonzero", (array((3, 4), "int64") % 2,), {"axis": 0}),
    ("nonzero", (X > 0,), {}),
    ("nonzero", (array((7,), "int64") % 2,), {}),
    ("nonzero", (X[:0],), {}),
    ("where", (X > 0, X, -X), {}),
    ("where", (X > 0, X, 0.0), {}),
    ("where", (X > 0, 1.0, X), {}),
    ("where", (X[0] > 0, X, X[:, :1]), {}),
    ("sort", (X,), {}),
    ("sort", (X,), {"axis": 0, "descending": True}),
    ("argsort", (X,), {}),
    ("argsort", (X,), {"axis": 1, "descending": True, "stable": False}),
    ("sort", (X[:0],), {"axis": 0}),
]


@pytest.mark.parametrize(
    ("name", "args", "kwargs"), CALLS, ids=[f"{c[0]}-{i}" for i, c in enumerate(CALLS)]
)
def test_calls_agree_with_the_oracle(name, args, kwargs):
    arrays = [a for v in (*args, *kwargs.values()) for a in (v if isinstance(v, list) else [v])]
    wide = any(getattr(a, "dtype", None) == np.float64 for a in arrays)
    index = {"argmax", "argmin", "count_nonzero", "nonzero", "argsort"}
    agree(name, *args, dtype="int64" if name in index else "float64" if wide else "", **kwargs)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_agrees_with_the_oracle(dtype, side):
    x = np.sort(array((6,), dtype, 0, 9))
    agree("searchsorted", x, array((2, 3), dtype, 0, 9, seed=1), side=side, dtype="int64")
    agree("searchsorted", x, x, side=side, dtype="int64")
    agree("searchsorted", x, 4, side=side, dtype="int64")


def test_searchsorted_takes_the_order_of_an_unsorted_vector():
    x = np.array([3.0, 1.0, 2.0], "float32")
    wanted = np.array([1.5, 3.0], "float32")
    agree("searchsorted", x, wanted, sorter=np.argsort(x), dtype="int64")


@pytest.mark.parametrize("descending", [False, True])
def test_sorting_is_stable_in_both_directions(descending):
    x = np.array([1, 0, 1, 0, 2], "int32")
    agree("argsort", x, descending=descending, dtype="int64")


def test_where_needs_a_boolean_condition():
    with pytest.raises(TypeError, match="boolean"):
        xp.where(Tensor([1, 0]), Tensor([1]), Tensor([2]))


def test_reshape_copies_when_asked():
    x = Tensor([1.0, 2.0])
    assert xp.reshape(x, (2, 1), copy=True).tolist() == [[1.0], [2.0]]
    assert xp.reshape(x, (2,), copy=False).tolist() == [1.0, 2.0]


def test_a_copy_is_not_changed_with_its_source_and_a_view_is():
    x = Tensor([1.0, 2.0])
    view, copy = xp.reshape(x, (2,)), xp.reshape(x, (2,), copy=True)
    x += 1
    assert (view.tolist(), copy.tolist()) == ([2.0, 3.0], [1.0, 2.0])


T, S = Tensor(X), Tensor(1.0)
ERRORS = [
    (lambda: xp.concat([]), TypeError, "list"),
    (lambda: xp.concat(T), TypeError, "list"),
    (lambda: xp.concat([S, S]), ValueError, "axis"),
    (lambda: xp.concat([T, T], axis=3), IndexError, "axis 3"),
    (lambda: xp.concat([T, 1]), TypeError, "tensor"),
    (lambda: xp.expand_dims(T, 4), IndexError, "axis 4"),
    (lambda: xp.expand_dims(T, (0, 0)), ValueError, "duplicate"),
    (lambda: xp.flip(T, axis=3), IndexError, "axis 3"),
    (lambda: xp.permute_dims(T, (0, 0, 1)), ValueError, "permutation"),
    (lambda: xp.permute_dims(T, (0, 1)), ValueError, "permutation"),
    (lambda: xp.repeat(T, -1), ValueError, "0"),
    (lambda: xp.repeat(T, Tensor([1, 2]), axis=1), ValueError, "3"),
    (lambda: xp.repeat(T, Tensor([1.5]), axis=1), TypeError, "integer"),
    (lambda: xp.reshape(T, (5,)), ValueError, "24 elements"),
    (lambda: xp.roll(T, (1, 2)), TypeError, "shift"),
    (lambda: xp.squeeze(T, 0), ValueError, "not 1"),
    (lambda: xp.squeeze(T, None), TypeError, "None"),
    (lambda: xp.stack([T, S]), ValueError, "shapes differ"),
    (lambda: xp.tile(T, (-1,)), ValueError, "negative"),
    (lambda: xp.unstack(S), ValueError, "scalar"),
    (lambda: xp.take(T, Tensor([0])), ValueError, "axis"),
    (lambda: xp.take(T, Tensor([0.5]), axis=0), TypeError, "integer"),
    (lambda: xp.take_along_axis(T, Tensor([0])), ValueError, "rank"),
    (lambda: xp.nonzero(S), ValueError, "axis"),
    (lambda: xp.argmax(T[:0]), ValueError, "empty"),
    (lambda: xp.sort(S), ValueError, "axis"),
    (lambda: xp.argsort(T, axis=3), IndexError, "axis 3"),
    (lambda: xp.searchsorted(T, T), ValueError, "vector"),
    (lambda: xp.searchsorted(T[0, 0], T, side="up"), ValueError, "side"),
]


@pytest.mark.parametrize(("call", "kind", "words"), ERRORS)
def test_calls_that_cannot_work_are_errors_at_once(call, kind, words):
    with pytest.raises(kind, match=words) as caught:
        call()
    assert isinstance(caught.value, adjoint.AdjointError)


def test_an_index_out_of_range_is_an_error_when_it_runs():
    with pytest.raises(IndexError, match="out of range"):
        xp.take(T, Tensor([5]), axis=0).realize()


def test_gradients_flow_through_manipulation():
    x = Tensor([[1.0, 2.0]], requires_grad=True)
    for y in (xp.roll(x, 1), xp.repeat(x, 2), xp.sort(x), xp.take(x, Tensor([0]), axis=1)):
        assert y.requires_grad is True
    same(xp.sort(x), np.array([[1, 2]], "float32"))
