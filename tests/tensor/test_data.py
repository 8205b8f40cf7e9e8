"""What `Tensor(data)` and its kin take, and what they refuse rather than guess."""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, no_grad

DTYPES = [
    ([np.float64(1e300), 1], "float64", [1e300, 1]),
    ([[np.float64(1)], [2.0]], "float64", [[1], [2]]),
    ([np.int8(1), 2], "int8", [1, 2]),
    ([np.int8(1), 300], "int32", [1, 300]),
    ([np.int8(1), np.int16(2)], "int16", [1, 2]),
    ([np.int8(1), 2.5], "float32", [1, 2.5]),
    ([np.float16(1), 2.5], "float16", [1, 2.5]),
    ([np.float64(1), 2j], "complex128", [1, 2j]),
    ([np.bool_(True), 3], "int32", [1, 3]),
    ([np.array([1, 2]), [3, 4]], "int64", [[1, 2], [3, 4]]),
    ([1, True], "int32", [1, 1]),
    ([True, 2.5], "float32", [1, 2.5]),
    ([Decimal("1.5"), Fraction(1, 4)], "float32", [1.5, 0.25]),
    ([Tensor([1, 2]), [3.5, 4]], "float32", [[1, 2], [3.5, 4]]),
    ([[Tensor(1.0), 2], [3, Tensor(4)]], "float32", [[1, 2], [3, 4]]),
    ([Tensor([1], dtype="int8"), np.array([2], np.int16)], "int16", [[1], [2]]),
]


@pytest.mark.parametrize(("data", "dtype", "values"), DTYPES, ids=str)
def test_the_dtype_of_a_list_holds_all_that_is_typed_in_it(data, dtype, values):
    t = Tensor(data)
    assert (t.dtype.name, t.tolist()) == (dtype, values)


REFUSED = {
    "None": lambda: Tensor([None]),
    "None among numbers": lambda: Tensor([[1.0], [None]]),
    "string": lambda: Tensor(["1.5"]),
    "string among numbers": lambda: Tensor([1.0, "2"]),
    "NumPy string": lambda: Tensor([np.str_("1")]),
    "bytes": lambda: Tensor([b"1"]),
    "date": lambda: Tensor([datetime.datetime(2020, 1, 1)]),
    "datetime64": lambda: Tensor([np.datetime64("2020")]),
    "timedelta64": lambda: Tensor([np.timedelta64(3, "s")]),
    "object array": lambda: Tensor(np.array([1, 2], object)),
    "records": lambda: Tensor(np.array([(1, 2.0)], "i4,f4")),
    "masked": lambda: Tensor(np.ma.array([1, 2], mask=[0, 1])),
    "set": lambda: Tensor([{1}]),
    "ragged": lambda: Tensor([[1, 2], [3]]),
    "ragged tensors": lambda: Tensor([Tensor([1, 2]), Tensor([3])]),
    "ragged mixture": lambda: Tensor([Tensor([1, 2]), 3]),
    "complex as float": lambda: Tensor([1j], dtype="float32"),
    "complex array as float": lambda: Tensor(np.array([1j]), dtype="float32"),
    "NaN as int": lambda: Tensor([float("nan")], dtype="int32"),
    "infinity as int": lambda: Tensor([1.0, float("inf")], dtype="int32"),
    "large float as int": lambda: Tensor([1e10], dtype="int32"),
    "300 as uint8": lambda: Tensor([300], dtype="uint8"),
    "fill with text": lambda: Tensor.full((2,), "1"),
    "arange beyond its dtype": lambda: Tensor.arange(300, dtype="uint8"),
    "arange of bools": lambda: Tensor.arange(3, dtype="bool"),
    "randint beyond its dtype": lambda: Tensor.randint(3, low=-1, high=3, dtype="uint8"),
    "uniform ints between floats": lambda: Tensor.uniform(3, low=-2.5, high=2, dtype="int32"),
    "uniform bools": lambda: Tensor.uniform(3, dtype="bool"),
    "uniform complex": lambda: Tensor.uniform(3, dtype="complex64"),
    "glorot ints": lambda: Tensor.glorot_uniform(3, 3, dtype="int32"),
    "stack along a position": lambda: Tensor.stack((Tensor([1.0]), Tensor([2.0])), 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_number_of_the_dtype_is_refused(name):
    with pytest.raises(adjoint.AdjointError):
        REFUSED[name]()


def test_floats_are_cut_to_integers_where_they_fit():
    assert Tensor([2.7, -0.5, 255.5], dtype="uint8").tolist() == [2, 0, 255]


@pytest.mark.parametrize("name", ["stack", "vstack", "hstack", "dstack", "column_stack"])
def test_tensors_that_are_joined_may_come_in_lists_and_alone(name):
    a, b, c = (Tensor(np.arange(3.0) + i) for i in range(3))
    join = getattr(Tensor, name)
    wanted = join([a, b, c]).tolist()
    for got in (join((a, b), c), join(a, [b, c]), join(a, b, c), join([a], [b], c)):
        assert got.tolist() == wanted


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_uniform_integers_take_every_value_equally_often(dtype):
    Tensor.manual_seed(3)
    drawn = Tensor.uniform(40_000, low=-2, high=2, dtype=dtype).numpy()
    values, counts = np.unique(drawn, return_counts=True)
    assert values.tolist() == [-2, -1, 0, 1]
    assert np.abs(counts - 10_000).max() < 500


def test_a_tensor_made_of_tensors_has_their_gradients():
    a = Tensor([1.0, 2.0], requires_grad=True)
    joined = Tensor([a, a * 2, [5.0, 6.0]])
    assert joined.requires_grad
    (joined.realize() * Tensor([[1.0, 1.0], [10.0, 10.0], [0.0, 0.0]])).sum().backward()
    assert a.grad.tolist() == [21, 21]
    a.grad = None
    (Tensor([[a[0], 3.0], [a[1] * 5, a[0]]]).sum() + Tensor(a).realize().sum()).backward()
    assert a.grad.tolist() == [3, 6]


def test_a_tensor_made_of_tensors_without_gradients_has_none():
    a = Tensor([1.0, 2.0], requires_grad=True)
    with no_grad():
        joined = Tensor([a, a])
    assert joined.requires_grad is False
    assert Tensor([a, a], requires_grad=False).requires_grad is False
    assert not Tensor([a], dtype="int32").requires_grad


def test_lists_of_tensors_stay_lazy_inside_transforms():
    def f(x):
        return (Tensor([x[0], x[1] * x[0], 2.0]) ** 2).sum()

    assert adjoint.grad(f)(Tensor([3.0, 5.0])).tolist() == [2 * 3 + 2 * 15 * 5, 2 * 15 * 3]
    assert adjoint.jit(f)(Tensor([3.0, 5.0])).item() == 9 + 225 + 4


PLACES = ("CPU:0", "CPU:1")


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_a_sharded_tensor_keeps_its_axis_when_it_is_computed(axis):
    x = Tensor([[1.0, 2.0], [3.0, 4.0]]).shard(PLACES, axis).realize()
    for like in (x, x * 2, (x * 2).realize(), (x.exp() + x).realize() + 1):
        y = Tensor([[5.0, 6.0], [7.0, 8.0]]).shard_like(like)
        assert y.sharding == x.sharding
        assert y.sharding.dims == (() if axis is None else ((),) * axis + (("devices",),))
        assert y.device == x.device
        assert y.realize().tolist() == [[5, 6], [7, 8]]


def test_a_layout_follows_from_what_a_tensor_was_made_of():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]]).shard(PLACES, 1)
    for other in (x.T, x.sum(0), (x.T * 1).realize()):
        made = Tensor(np.ones(other.shape)).shard_like(other)
        assert made.sharding.dims == (("devices",),)


def test_a_file_is_spread_over_several_devices(tmp_path):
    (tmp_path / "numbers").write_bytes(bytes(range(4)))
    x = Tensor(tmp_path / "numbers", device=("CPU", "REF"))
    assert x.device == ("CPU", "REF")
    assert x.numpy().tolist() == [0, 1, 2, 3]
