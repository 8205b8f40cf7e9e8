"""Datasets: fields, choosing samples, splitting, mapping; scaling and labels."""

import pickle

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.data import (
    Dataset,
    Mapped,
    Scaling,
    Subset,
    check_labels,
    one_hot,
    standardise,
    train_test_split,
)
from adjoint.errors import AdjointError, ArgumentError, BoundsError, TrainingError, UnknownNameError

DATA = Dataset(np.arange(20.0).reshape(10, 2), np.arange(10) % 2)


def test_fields_have_names():
    data = Dataset(image=np.zeros((4, 2)), label=Tensor([1, 2, 3, 4]))
    assert data.label.tolist() == data["label"].tolist() == [1, 2, 3, 4]
    assert list(data.fields) == ["image", "label"]
    assert repr(data) == "Dataset(4 samples: image float64[2], label int32[])"
    assert list(Dataset(self=[1], map=[2]).fields) == ["self", "map"]


def test_a_number_gives_a_sample_and_several_a_dataset():
    x, y = DATA[3]
    assert (x.tolist(), y) == ([6, 7], 1)
    assert DATA[-1][1] == 1
    assert DATA[2:4].x.tolist() == [[4, 5], [6, 7]]
    assert DATA[[5, 0]].x.tolist() == [[10, 11], [0, 1]]
    assert DATA[DATA.y == 1].y.tolist() == [1] * 5
    assert len(DATA[[]]) == 0
    assert len(list(DATA)) == len(DATA) == 10


def test_names_of_features_and_classes_stay():
    data = DATA.with_fields().named(["a", "b"], ["even", "odd"])
    for part in (data[:3], *data.split(0.5), data.with_fields(y=data.y + 1)):
        assert (part.feature_names, part.class_names) == (("a", "b"), ("even", "odd"))


def test_a_split_has_every_sample_once_and_follows_from_the_seed():
    one, two = DATA.split(0.7, seed=3)
    assert (len(one), len(two)) == (7, 3)
    assert sorted([*one.x[:, 0], *two.x[:, 0]]) == list(range(0, 20, 2))
    assert np.array_equal(one.x, DATA.split(0.7, seed=3)[0].x)
    assert not np.array_equal(one.x, DATA.split(0.7, seed=4)[0].x)


@pytest.mark.parametrize("fraction", [0.01, 0.99])
def test_no_part_of_a_split_is_empty(fraction):
    assert min(map(len, DATA.split(fraction))) == 1


def test_a_split_by_class_keeps_the_shares():
    y = np.repeat([0, 1, 2], [60, 30, 10])
    train, test = Dataset(np.arange(100), y).split(0.8, by="y")
    assert np.bincount(train.y).tolist() == [48, 24, 8]
    assert np.bincount(test.y).tolist() == [12, 6, 2]
    assert np.any(np.diff(train.y) < 0)  # and is shuffled


def test_a_split_by_class_rounds_to_the_wanted_size():
    train, test = Dataset(np.arange(10), [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]).split(0.5, by="y")
    assert (len(train), len(test)) == (5, 5)


def test_a_map_is_computed_when_a_sample_is_read():
    calls = []
    mapped = DATA.map(lambda x, y: (calls.append(y), 2 * x)[1])
    assert calls == []
    assert mapped[1].tolist() == [4, 6]
    assert calls == [1]
    assert len(mapped) == 10


def test_maps_split_and_chain():
    one, two = DATA.map(lambda x, y: x.sum()).map(lambda s: s + 1).split(0.5, by="y")
    assert sorted([*one, *two]) == [4 * i + 2 for i in range(10)]
    assert {type(one), type(two)} == {Mapped}


def test_any_object_can_be_mapped_and_cut():
    part = Subset("abcdef", [4, 1])
    assert list(part) == ["e", "b"]
    halves = Mapped("abcd", str.upper).split(0.5)
    assert sorted(sample for half in halves for sample in half) == ["A", "B", "C", "D"]


def test_a_dataset_can_be_pickled():
    copy = pickle.loads(pickle.dumps(DATA.split(0.5)[0].named(["a", "b"])))
    assert copy.feature_names == ("a", "b")
    assert len(copy) == 5


@pytest.mark.parametrize(
    ("call", "kind", "code", "match"),
    [
        (lambda: Dataset(np.zeros(3), np.zeros(4)), TrainingError, "E9003", "differ in length"),
        (lambda: Dataset(), TrainingError, "E9003", "needs a field"),
        (lambda: Dataset(3.0), TrainingError, "E9003", "'x' is one number"),
        (lambda: Dataset([[1], [2, 3]]), TrainingError, "E9003", "'x' is not an array"),
        (lambda: Dataset([None, {}]), TrainingError, "E9003", "Python objects"),
        (lambda: Dataset([1], [2], [3]), ArgumentError, "E2007", "without a name"),
        (lambda: DATA[10], BoundsError, "E6001", "sample 10 of 10"),
        (lambda: DATA[[3, -11]], BoundsError, "E6001", "sample -11 of 10"),
        (lambda: DATA[[0.5]], TrainingError, "E9003", "whole numbers"),
        (lambda: DATA[np.ones(3, bool)], TrainingError, "E9003", "mask of 10"),
        (lambda: DATA.z, UnknownNameError, "E2002", "it has x, y"),
        (lambda: DATA["yy"], UnknownNameError, "E2002", "did you mean 'y'"),
        (lambda: DATA.split(0), TrainingError, "E9003", "cannot split off 0"),
        (lambda: DATA.split(1.0), TrainingError, "E9003", "cannot split off 1.0"),
        (lambda: DATA.split("half"), TrainingError, "E9003", "'half'"),
        (lambda: DATA[:1].split(0.5), TrainingError, "E9003", "1 samples cannot"),
        (lambda: DATA.split(0.5, by=[1, 2]), TrainingError, "E9003", "as many labels"),
        (lambda: DATA.split(0.5, by="z"), UnknownNameError, "E2002", "no field 'z'"),
        (lambda: Subset("abc", [0]).split(0.5, by="y"), TrainingError, "E9003", "no field 'y'"),
        (lambda: Subset("abc", [3]), BoundsError, "E6001", "sample 3 of 3"),
        (lambda: Subset("abc", [0])[1], BoundsError, "E6001", "sample 1 of 1"),
    ],
)
def test_what_does_not_fit_is_an_error(call, kind, code, match):
    with pytest.raises(kind, match=match) as caught:
        call()
    assert caught.value.code == code


# ---- scaling and labels


def test_standardised_data_has_mean_0_and_deviation_1_over_the_first_part():
    rng = np.random.default_rng(0)
    data = Dataset(rng.normal(5, 3, (50, 4)).astype(np.float32), np.arange(50))
    train, test = data.split(0.6)
    scaled_train, scaled_test = standardise(train, test)
    assert np.allclose(scaled_train.x.mean(0), 0, atol=1e-6)
    assert np.allclose(scaled_train.x.std(0), 1, atol=1e-6)
    assert np.allclose(scaled_test.x, (test.x - train.x.mean(0)) / train.x.std(0), atol=1e-5)
    assert np.array_equal(scaled_test.y, test.y)
    assert scaled_train.x.dtype == np.float32


def test_a_feature_that_never_changes_becomes_0():
    assert standardise(np.array([[3, 1], [3, 2]])).tolist() == [[0, -1], [0, 1]]


def test_scaling_can_be_undone():
    x = np.random.default_rng(1).normal(2, 5, (20, 3))
    scaling = Scaling.of(x)
    assert np.allclose(scaling.undo(scaling.apply(x)), x)


def test_one_hot_has_a_1_at_each_label():
    assert one_hot([2, 0]).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert one_hot([1], 4).tolist() == [[0, 1, 0, 0]]
    assert one_hot(Tensor([[1.0], [0.0]])).shape == (2, 1, 2)
    assert one_hot([], 3).shape == (0, 3)
    assert one_hot([True, False]).dtype == np.float32


def test_arrays_are_split_alike():
    x, y = np.arange(10), np.arange(10) * 2
    x_train, x_test, y_train, y_test = train_test_split(x, y, test=0.3, by=x % 2)
    assert np.array_equal(y_train, 2 * x_train)
    assert np.array_equal(y_test, 2 * x_test)
    assert (len(x_train), len(x_test)) == (7, 3)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: one_hot([0, 3], 3), "label 3 of sample 1 is not a class: they are 0 to 2"),
        (lambda: one_hot([0, -1]), "label -1 of sample 1 is not a class: they are 0 and up"),
        (lambda: one_hot([0.5]), "label 0.5 of sample 0"),
        (lambda: one_hot([1.0, float("nan")]), "label nan of sample 1"),
        (lambda: check_labels([[0, 1], [2, 9]], 3), r"label 9 of sample \[1, 1\]"),
        (lambda: one_hot(["cat"]), "not numbers"),
        (lambda: standardise(np.array([[1.0, np.nan]])), r"x\[0, 1\] is nan"),
        (lambda: standardise(np.array(["a"])), "array of numbers"),
        (lambda: standardise(np.zeros((0, 2))), "no samples"),
        (lambda: standardise(np.zeros((2, 2)), np.zeros((2, 3))), r"features \[2\]"),
        (lambda: train_test_split(np.zeros(2), np.zeros(3)), "differ in length"),
        (lambda: train_test_split(np.zeros(2), test=1.5), "between 0 and 1"),
        (lambda: train_test_split(), "nothing to split"),
    ],
)
def test_wrong_labels_and_numbers_are_errors_that_say_where(call, match):
    with pytest.raises(AdjointError, match=match) as caught:
        call()
    assert caught.value.code == "E9003"
