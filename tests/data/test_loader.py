"""The loader in one process: order, sizes, epochs, resuming, stacking."""

import random
from collections import namedtuple

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.data import Dataset, Loader, collate
from adjoint.errors import TrainingError
from tests.data.samples import Failing, Squares, joined

TEN = Dataset(np.arange(10), np.arange(10) * 10)


def numbers(loader):
    return [batch[-1].tolist() for batch in loader]


def test_batches_come_in_order_and_the_last_is_short():
    assert numbers(Loader(Squares(7), 3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert len(Loader(Squares(7), 3)) == 3


def test_the_last_short_batch_can_be_dropped():
    assert numbers(Loader(Squares(7), 3, drop_last=True)) == [[0, 1, 2], [3, 4, 5]]
    assert len(Loader(Squares(7), 3, drop_last=True)) == 2
    assert numbers(Loader(Squares(6), 3, drop_last=True)) == [[0, 1, 2], [3, 4, 5]]


def test_shuffling_changes_with_the_epoch_and_is_a_permutation():
    loader = Loader(TEN, 4, shuffle=True)
    first, second = numbers(loader), numbers(loader)
    assert first != second
    for epoch in (first, second):
        assert sorted(n for batch in epoch for n in batch) == [10 * i for i in range(10)]


def test_the_order_follows_from_the_seed():
    one = [numbers(Loader(TEN, 4, shuffle=True, seed=s)) for s in (0, 0, 1)]
    assert one[0] == one[1] != one[2]


def test_fields_stay_together():
    for x, y in Loader(TEN, 3, shuffle=True):
        assert (y == 10 * x).all()


def test_random_numbers_in_samples_are_seeded_and_the_users_are_left_alone():
    random.seed(3), np.random.seed(3)
    expected = random.random(), np.random.rand()
    random.seed(3), np.random.seed(3)
    first = list(Loader(Squares(), 8, seed=1))
    assert (random.random(), np.random.rand()) == expected
    for one, other in zip(first, Loader(Squares(), 8, seed=1), strict=True):
        assert all((a == b).all() for a, b in zip(one, other, strict=True))
    assert (first[0][1] != next(iter(Loader(Squares(), 8, seed=2)))[1]).all()


def test_random_tensors_in_samples_are_seeded_and_the_users_are_left_alone():
    class Noisy(Squares):
        def __getitem__(self, index):
            return Tensor.rand(2)

    Tensor.manual_seed(5)
    expected = Tensor.rand(1).item()
    Tensor.manual_seed(5)
    one, other = (next(iter(Loader(Noisy(), 3))) for _ in range(2))
    assert Tensor.rand(1).item() == expected
    assert np.array_equal(one, other)


def test_any_object_with_a_length_and_items_is_a_dataset():
    assert [b.tolist() for b in Loader([5, 6, 7], 2)] == [[5, 6], [7]]
    assert [b.tolist() for b in Loader(np.arange(6).reshape(3, 2), 2)] == [
        [[0, 1], [2, 3]],
        [[4, 5]],
    ]
    assert list(Loader("abc", 2)) == [["a", "b"], ["c"]]


def test_a_subclass_of_dataset_has_its_own_samples():
    class Shifted(Dataset):
        def __getitem__(self, index):
            x, y = super().__getitem__(index)
            return x + 100, y

    assert next(iter(Loader(Shifted(np.arange(3), np.arange(3)), 2)))[0].tolist() == [100, 101]


def test_batches_can_be_tensors():
    x, y = next(iter(Loader(TEN, 4, tensors=True)))
    assert isinstance(x, Tensor)
    assert isinstance(y, Tensor)
    assert y.tolist() == [0, 10, 20, 30]


def test_an_epoch_that_was_left_early_is_over():
    loader = Loader(TEN, 4, shuffle=True)
    whole = [numbers(loader), numbers(loader)]
    again = Loader(TEN, 4, shuffle=True)
    for batch in again:
        assert batch[-1].tolist() == whole[0][0]
        break
    assert numbers(again) == whole[1]


@pytest.mark.parametrize("stop", range(8))
def test_a_loader_goes_on_where_another_stood(stop):
    def endless():
        return Loader(Squares(10), 3, shuffle=True, seed=4)

    one = endless()
    stream = one.forever()
    for _ in range(stop):
        next(stream)
    state = one.state_dict()
    expected = [next(stream) for _ in range(9)]
    other = endless()
    other.load_state_dict(state)
    resumed = other.forever()
    for batch in expected:
        for a, b in zip(batch, next(resumed), strict=True):
            assert a.tobytes() == b.tobytes()


def test_a_state_is_plain_data_and_brings_its_seed():
    one = Loader(TEN, 3, shuffle=True, seed=9)
    next(iter(one))
    state = one.state_dict()
    assert {type(value) for value in state.values()} <= {int, bool}
    other = Loader(TEN, 3, shuffle=True, seed=1)
    other.load_state_dict(state)
    assert numbers(other) == numbers(Loader(TEN, 3, shuffle=True, seed=9))[1:]


def test_the_state_after_the_last_batch_leaves_nothing_of_the_epoch():
    one = Loader(TEN, 5)
    batches = iter(one)
    next(batches), next(batches)
    other = Loader(TEN, 5)
    other.load_state_dict(one.state_dict())
    assert numbers(other) == []
    assert len(numbers(other)) == 2


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"batch_size": 4}, "batch_size was 4, and is 3"),
        ({"length": 11}, "length was 11"),
        ({"shuffle": True}, "shuffle was True"),
        ({"position": 5}, "past the 4 batches"),
        ({"position": -1}, "position is -1"),
        ({"epoch": "two"}, "epoch is 'two'"),
    ],
)
def test_a_state_of_another_loader_is_refused(change, match):
    loader = Loader(TEN, 3)
    with pytest.raises(TrainingError, match=match) as caught:
        loader.load_state_dict(loader.state_dict() | change)
    assert caught.value.code in ("E9002", "E9003")


def test_a_state_with_a_part_missing_is_refused():
    loader = Loader(TEN, 3)
    with pytest.raises(TrainingError, match="has no epoch, seed") as caught:
        loader.load_state_dict({k: v for k, v in loader.state_dict().items() if k[0] not in "es"})
    assert caught.value.code == "E9002"


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"batch_size": 0}, "batch_size is 0"),
        ({"batch_size": 2.5}, "batch_size is 2.5"),
        ({"batch_size": True}, "batch_size is True"),
        ({"workers": -1}, "workers is -1"),
        ({"prefetch": 0}, "prefetch is 0"),
        ({"seed": -3}, "seed is -3"),
        ({"timeout": 0}, "timeout is 0"),
    ],
)
def test_a_setting_that_makes_no_sense_is_an_error(settings, match):
    with pytest.raises(TrainingError, match=match) as caught:
        Loader(TEN, **{"batch_size": 2, **settings})
    assert caught.value.code == "E9003"


@pytest.mark.parametrize("data", [iter([1]), 3, None, {1, 2}])
def test_what_has_no_numbered_samples_is_no_dataset(data):
    with pytest.raises(TrainingError, match="no numbered samples") as caught:
        Loader(data, 2)
    assert caught.value.code == "E9003"


def test_an_empty_dataset_has_no_batches_and_cannot_be_repeated():
    assert list(Loader([], 2)) == []
    with pytest.raises(TrainingError, match="no batch"):
        next(Loader([], 2).forever())


def test_an_error_in_a_sample_says_which():
    with pytest.raises(ValueError, match="no picture") as caught:
        list(Loader(Failing("raise_error"), 8))
    assert caught.value.__notes__ == ["while loading sample 17 (batch 2 of epoch 0)"]


def test_stop_iteration_in_a_sample_does_not_end_the_epoch_quietly():
    with pytest.raises(TrainingError, match="StopIteration"):
        list(Loader(Failing("raise_stop"), 8))


def test_another_collate_function_is_used():
    assert list(Loader(Squares(5), 2, collate=joined)) == [[0, 1], [2, 3], [4]]


def test_collate_keeps_the_structure():
    Pair = namedtuple("Pair", "first second")
    samples = [
        {"a": (1, 2.5), "b": [np.zeros(2, np.float16), "x"], "c": Pair(True, Tensor([1.0]))}
    ] * 2
    batch = collate(samples)
    assert batch["a"][0].dtype == np.int64
    assert batch["a"][1].dtype == np.float32
    assert batch["b"][0].shape == (2, 2)
    assert batch["b"][0].dtype == np.float16
    assert batch["b"][1] == ["x", "x"]
    assert batch["c"].first.dtype == bool
    assert batch["c"].second.shape == (2, 1)


@pytest.mark.parametrize(
    ("samples", "match"),
    [
        ([np.zeros(3), np.zeros(4)], r"shape of sample: \(3,\) in the first, \(4,\) in number 1"),
        ([(1, 2), (1, 2), (1,)], "in number 2"),
        ([(1, np.zeros(2)), (1, np.zeros(1))], r"shape of sample\[1\]"),
        ([{"a": 1}, {"b": 1}], "in number 1"),
        ([{"a": 1}, 3], "in number 1"),
        ([1, "a"], "int.* in the first, text in number 1"),
        ([("a", 1), (2.5, 1)], r"sample\[0\]: text in the first, .*float.* in number 1"),
        ([None, None], "NoneType"),
        ([{"a": object()}], r"sample\['a'\] is a object"),
    ],
)
def test_samples_that_do_not_stack_are_an_error_that_says_where(samples, match):
    with pytest.raises(TrainingError, match=match) as caught:
        collate(samples)
    assert caught.value.code == "E9003"


def test_an_error_while_stacking_names_the_samples():
    with pytest.raises(TrainingError) as caught:
        list(Loader([np.zeros(i // 3) for i in range(6)], 4))
    assert caught.value.__notes__ == [
        "while joining samples 0, 1, 2 and 1 more to batch 0 of epoch 0"
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("shuffle", [False, True])
def test_parts_of_all_members_are_the_batch_of_one(size, shuffle):
    rows = np.arange(23)
    whole = Loader(rows, 8, shuffle, seed=3)
    parts = [Loader(rows, 8, shuffle, seed=3, rank=rank, size=size) for rank in range(size)]
    for _ in range(2):
        for batch, *found in zip(whole, *parts, strict=True):
            assert np.concatenate(found).tolist() == batch.tolist()
            assert max(map(len, found)) - min(map(len, found)) <= 1


def test_the_state_of_a_loader_is_of_use_to_another_number_of_members():
    rows = np.arange(24)
    two = Loader(rows, 8, shuffle=True, seed=1, rank=1, size=2)
    next(iter(two))
    one = Loader(rows, 8, shuffle=True, seed=1)
    one.load_state_dict(two.state_dict())
    rest = list(Loader(rows, 8, shuffle=True, seed=1))[1:]
    assert [batch.tolist() for batch in one] == [batch.tolist() for batch in rest]


def test_a_member_is_one_of_those_there_are():
    with pytest.raises(TrainingError, match="rank is 2, of 2 members"):
        Loader(np.arange(4), 2, rank=2, size=2)
