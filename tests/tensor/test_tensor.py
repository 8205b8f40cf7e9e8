"""The handle: where data comes from, devices, requires_grad, assignment, realize, repr."""

import numpy as np
import pytest

import adjoint
from adjoint import Device, ShapeError, Tensor, dtypes, no_grad


@pytest.mark.parametrize(
    ("data", "dtype", "values"),
    [
        (3, "int32", 3),
        (2.5, "float32", 2.5),
        (True, "bool", True),
        (1 + 2j, "complex64", 1 + 2j),
        (2**40, "int64", 2**40),
        ([1, 2], "int32", [1, 2]),
        ((1, 2.5), "float32", [1.0, 2.5]),
        ([[True], [False]], "bool", [[True], [False]]),
        ([], "float32", []),
        ([[], []], "float32", [[], []]),
        (None, "float32", []),
        (range(3), "int32", [0, 1, 2]),
        (b"\x01\x02", "uint8", [1, 2]),
        (bytearray(b"\x03"), "uint8", [3]),
        pytest.param(memoryview(b"\x04"), "uint8", [4], id="memoryview"),
    ],
    ids=repr,
)
def test_python_data_becomes_a_tensor_of_the_default_dtypes(data, dtype, values):
    x = Tensor(data)
    assert x.dtype.name == dtype
    assert x.tolist() == values


def test_a_numpy_array_keeps_its_dtype_and_is_copied():
    source = np.arange(6, dtype=np.float64).reshape(2, 3)
    x = Tensor(source)
    source[:] = -1
    assert x.dtype is dtypes.float64
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_numpy_array_may_be_strided_or_of_the_other_byte_order():
    source = np.arange(6, dtype=">i4").reshape(2, 3).T
    assert Tensor(source).tolist() == source.tolist()


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.float64, np.bool_])
def test_a_list_of_numpy_scalars_keeps_their_dtype(kind):
    assert Tensor([kind(1), kind(0)]).dtype.np == np.dtype(kind)


def test_a_list_of_tensors_is_stacked():
    x = Tensor([Tensor([1.0, 2.0]), Tensor([3.0, 4.0])])
    assert x.tolist() == [[1, 2], [3, 4]]


def test_a_named_dtype_wins_over_the_datas_own():
    assert Tensor([1, 2], dtype="float16").dtype is dtypes.float16
    assert Tensor(np.zeros(2), dtype=dtypes.int8).dtype is dtypes.int8
    assert Tensor(1, dtype=float).dtype is dtypes.float32


def test_bytes_are_read_as_the_named_dtype():
    assert Tensor(np.float32([1.5, 2]).tobytes(), dtype="float32").tolist() == [1.5, 2]


def test_a_node_is_wrapped_as_it_is():
    x = Tensor([1.0, 2.0])
    assert Tensor(x.uop).uop is x.uop


def test_a_path_is_mapped_and_not_read_before_it_is_needed(tmp_path):
    file = tmp_path / "weights.bin"
    file.write_bytes(b"abcd")
    x = Tensor(file)
    assert x.shape == (4,)
    file.write_bytes(b"wxyz")
    assert bytes(x.tolist()) == b"wxyz"


def test_a_realized_path_no_longer_follows_its_file(tmp_path):
    file = tmp_path / "weights.bin"
    file.write_bytes(b"abcd")
    x = Tensor(file).realize()
    with file.open("r+b") as handle:
        handle.write(b"wxyz")
    assert bytes(x.tolist()) == b"abcd"


def test_a_path_is_read_as_the_named_dtype(tmp_path):
    file = tmp_path / "weights.bin"
    file.write_bytes(np.float32([1, 2, 3]).tobytes())
    assert (Tensor(file, dtype="float32") * 2).tolist() == [2, 4, 6]


def test_a_path_can_stay_on_disk(tmp_path):
    file = tmp_path / "weights.bin"
    file.write_bytes(b"ab")
    x = Tensor(file, device=f"DISK:{file}")
    assert x.device == f"DISK:{file}"
    assert x.to("CPU").tolist() == [97, 98]


def test_an_empty_file_is_an_empty_tensor(tmp_path):
    file = tmp_path / "empty.bin"
    file.write_bytes(b"")
    assert Tensor(file).tolist() == []


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"gone\.bin"):
        Tensor(tmp_path / "gone.bin")


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("GPU:0", "GPU"),
        ("cpu:0", "CPU"),
        ("cuda:1", "GPU:1"),
        ("ref", "REF"),
        ("GPU:01", "GPU:1"),
    ],
)
def test_device_strings_have_one_spelling(given, canonical):
    assert Tensor([1.0], device=given).device == canonical
    assert Device.canonicalize(given) == canonical


def test_an_unknown_device_gets_a_suggestion():
    with pytest.raises(adjoint.DeviceError, match="did you mean 'GPU'"):
        Tensor([1.0], device="GPUU")


def test_a_missing_device_is_an_error_when_it_must_run():
    on_gpu = Tensor([1.0], device="GPU:63") + 1
    assert on_gpu.shape == (1,)
    with pytest.raises(adjoint.DeviceError, match="E6002"):
        on_gpu.realize()


@pytest.mark.parametrize(
    ("a", "b", "joined"),
    [
        (True, None, True),
        (True, False, True),
        (None, False, None),
        (None, None, None),
        (False, False, False),
    ],
)
def test_requires_grad_is_true_if_any_is_else_undecided_if_any_is(a, b, joined):
    x, y = (Tensor([1.0, 2.0], requires_grad=flag) for flag in (a, b))
    assert (x * y).requires_grad is joined
    assert (y * x).requires_grad is joined


def test_no_grad_is_a_context_and_a_decorator():
    x = Tensor([1.0], requires_grad=True)
    with no_grad():
        assert (x * 2).requires_grad is False

    @Tensor.no_grad()
    def double(v):
        return v * 2

    assert double(x).requires_grad is False
    assert (x * 2).requires_grad is True


def test_train_sets_training_inside_and_restores_it():
    assert Tensor.training is False
    with Tensor.train():
        assert Tensor.training is True
        with Tensor.train(False):
            assert Tensor.training is False
        assert Tensor.training is True
    assert Tensor.training is False


def test_train_restores_after_an_error():
    with pytest.raises(ValueError, match="stop"), Tensor.train():
        raise ValueError("stop")
    assert Tensor.training is False


def test_assign_changes_this_handle_and_nothing_made_from_it():
    x = Tensor([1.0, 2.0])
    before = x * 10
    alias = Tensor(x.uop)
    x.assign(Tensor([5.0, 6.0]))
    assert x.tolist() == [5, 6]
    assert before.tolist() == [10, 20]
    assert alias.tolist() == [1, 2]


def test_assign_takes_scalars_and_arrays_in_the_dtype_of_the_target():
    x = Tensor.zeros(2, 2)
    assert x.assign(3).tolist() == [[3, 3], [3, 3]]
    assert x.assign(np.eye(2, dtype=np.float32)).tolist() == [[1, 0], [0, 1]]


def test_assign_from_itself_sees_the_old_value():
    x = Tensor([1.0, 2.0, 3.0])
    x.assign(x.flip(0) + x)
    assert x.tolist() == [4, 4, 4]


def test_in_place_operators_move_the_handle_only():
    x = Tensor([1.0, 2.0])
    other = x
    used = x * 1
    x += 1
    x *= 2
    assert x is other
    assert x.tolist() == [4, 6]
    assert used.tolist() == [1, 2]


def test_in_place_results_must_keep_the_type():
    x = Tensor([1, 2])
    with pytest.raises(adjoint.DTypeError, match="in-place"):
        x /= 2


def test_realize_of_several_computes_them_together():
    x = Tensor([1.0, 2.0])
    a, b = x + 1, x * 2
    assert a.realize(b) is a
    assert (a.tolist(), b.tolist()) == ([2, 3], [2, 4])
    assert "lazy" not in repr(b)


def test_schedule_lists_the_steps_and_realizes_nothing():
    x = Tensor([1.0, 2.0]) * 2 + 1
    assert [step.node.op.name for step in x.schedule()][-1] == "add"
    steps, variables = x.schedule_with_vars()
    assert len(steps) == len(x.schedule())
    assert variables == {}
    assert x.uop.realized is None


def test_a_realized_tensor_has_nothing_left_to_schedule():
    assert (Tensor([1.0]) + 1).realize().schedule() == []


def test_replace_keeps_the_type():
    x = Tensor([1.0, 2.0])
    assert x.replace(Tensor([3.0, 4.0])).tolist() == [3, 4]
    with pytest.raises(adjoint.ShapeError, match="types differ"):
        x.replace(Tensor([1.0]))


def test_attributes_describe_the_tensor():
    x = Tensor.zeros(2, 3, dtype="float16")
    assert (x.shape, x.ndim, x.numel(), x.size, len(x)) == ((2, 3), 2, 6, 6, 2)
    assert (x.element_size(), x.nbytes(), x.is_floating_point()) == (2, 12, True)
    assert (x.size(), x.size(0)) == ((2, 3), 2)
    assert x.T.shape == (3, 2)


def test_an_unknown_attribute_gets_a_suggestion():
    with pytest.raises(AttributeError, match="did you mean 'reshape'"):
        Tensor([1.0]).reshap  # noqa: B018
    with pytest.raises(AttributeError):
        Tensor([1.0]).requiresgrad = True


def test_two_fresh_tensors_of_one_value_are_two_nodes():
    assert Tensor.zeros(2).uop is not Tensor.zeros(2).uop
    assert Tensor(1.0).uop is not Tensor(1.0).uop


def test_equal_graphs_are_one_node():
    x = Tensor([1.0, 2.0])
    assert (x * 2 + 1).uop is (x * 2 + 1).uop


def test_in_asks_for_an_element():
    x = Tensor([[1.0, 2.0], [3.0, np.nan]])
    assert 3.0 in x
    assert Tensor([1.0, 2.0]) in x
    for absent in (4, np.nan, "3", None):
        assert absent not in x
    assert 0 not in Tensor([])
    assert True in Tensor(1)
    with pytest.raises(ShapeError, match="E3001"):
        _ = Tensor([1.0, 2.0, 3.0]) in x
