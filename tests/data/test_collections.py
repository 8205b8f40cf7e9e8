"""Data that are there offline: scikit-learn's files, and what is made up."""

import numpy as np
import pytest

from adjoint import data
from adjoint.data import bundled
from adjoint.errors import AdjointError, FileError
from tests.support.processes import printed

SAVE = """
import sys
import numpy as np
from sklearn import datasets as s
for name in ("digits", "wine", "breast_cancer", "iris", "diabetes"):
    found = getattr(s, f"load_{name}")()
    names = [str(n) for n in found.feature_names]
    np.savez(f"{sys.argv[1]}/{name}.npz", x=found.data, y=found.target, names=names)
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """What scikit-learn's own functions give, computed in a process that may load it."""
    folder = tmp_path_factory.mktemp("sklearn")
    printed("-c", SAVE, folder)
    return folder


@pytest.mark.parametrize("name", ["digits", "wine", "breast_cancer", "iris", "diabetes"])
def test_bundled_data_equal_those_of_scikit_learn(name, theirs):
    found = getattr(data, name)()
    with np.load(theirs / f"{name}.npz") as expected:
        np.testing.assert_allclose(found.x, expected["x"], rtol=1e-6, atol=1e-8)
        np.testing.assert_array_equal(found.y, expected["y"])
        assert len(found.feature_names) == len(expected["names"])
    assert found.x.dtype == np.float32
    assert found.y.dtype == (np.float32 if name == "diabetes" else np.int64)
    assert name == "diabetes" or len(found.class_names) == found.y.max() + 1


def test_bundled_data_are_read_without_loading_scikit_learn():
    code = "import sys; from adjoint import data; data.digits(); print('sklearn' in sys.modules)"
    assert printed("-c", code).strip() == "False"


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(bundled, "find_spec", lambda name: None)
    with pytest.raises(FileError, match="not installed") as caught:
        data.digits()
    assert caught.value.code == "E9006"
    assert "pip install adjoint[data]" in str(caught.value)


def test_a_broken_installation_of_scikit_learn_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(bundled, "_folder", lambda: tmp_path)
    with pytest.raises(FileError, match=r"wine_data\.csv cannot be read") as caught:
        data.wine()
    assert caught.value.code == "E9006"


@pytest.mark.parametrize(
    "make",
    [
        data.spirals,
        data.two_moons,
        data.blobs,
        data.copying,
        data.sorting,
        data.adding,
        data.sine_waves,
        data.shapes,
    ],
    ids=lambda make: make.__name__,
)
def test_made_up_data_follow_from_their_seed(make):
    one, same, other = (make(60, seed=s) for s in (1, 1, 2))
    assert len(one) == 60
    assert np.array_equal(one.x, same.x)
    assert np.array_equal(one.y, same.y)
    assert not np.array_equal(one.x, other.x)
    assert one.x.dtype in (np.float32, np.int64)
    with pytest.raises(AdjointError, match="samples is 0"):
        make(0)


@pytest.mark.parametrize(
    ("made", "classes"),
    [
        (data.spirals(90, 3), 3),
        (data.two_moons(90), 2),
        (data.blobs(90, 5), 5),
        (data.shapes(90), 5),
    ],
)
def test_classes_are_of_one_size(made, classes):
    assert np.ptp(np.bincount(made.y, minlength=classes)) <= 1
    assert made.y.max() == classes - 1


def test_points_of_a_class_are_nearer_to_one_another():
    """A nearest-neighbour classifier learns the spirals, so they are there to be learned."""
    train, test = data.spirals(600, noise=0.05).split(0.5, by="y")
    distance = np.linalg.norm(test.x[:, None] - train.x[None], axis=2)
    assert (train.y[distance.argmin(1)] == test.y).mean() > 0.95


def test_sequences_are_what_they_say():
    copying, sorting, adding = data.copying(5, 4), data.sorting(5, 6), data.adding(5, 9)
    assert np.array_equal(copying.x[:, :4], copying.y[:, 4:])
    assert (copying.x[:, 4:] == 0).all()
    assert np.array_equal(np.sort(sorting.x, 1), sorting.y)
    assert (adding.x[..., 1].sum(1) == 2).all()
    assert np.allclose((adding.x[..., 0] * adding.x[..., 1]).sum(1), adding.y[:, 0])
    waves = data.sine_waves(5, 12, noise=0)
    assert waves.x.shape == (5, 12, 1)
    assert np.array_equal(waves.x[:, 1:], waves.y[:, :-1])


def test_shapes_differ_from_their_ground():
    images = data.shapes(100, size=12, noise=0)
    assert images.x.shape == (100, 3, 12, 12)
    for image in images.x:
        assert len(np.unique(image.reshape(3, -1), axis=1).T) == 2  # two colours
        assert 10 < (image[0] == image[0].max()).sum() < 120


def test_docstrings_are_text_of_this_python():
    text = data.docstrings(5000)
    assert len(text) == 5000
    assert text.isascii()
    assert data.docstrings(200) == text[:200]
    assert "argument" in text


def test_text_is_cut_into_windows_and_what_follows():
    text = data.Text("hello world", 4)
    x, y = text[2]
    assert (text.decode(x), text.decode(y)) == ("llo ", "lo w")
    assert text.decode(text[-1][1]) == "orld"
    assert len(text) == 7
    assert text.encode("low").tolist() == [text.vocabulary.index(c) for c in "low"]
    assert data.Text("aa", 1, vocabulary="ab").vocabulary == "ab"


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: data.Text("abc", 3), "no window of 3"),
        (lambda: data.Text("abc", 2).encode("x"), "'x' is not in the vocabulary"),
        (lambda: data.Text("abc", 2).decode([3]), "3 is no character"),
        (lambda: data.Text("abc", 2)[1], "window 1 of 1"),
        (lambda: data.blobs(classes=0), "classes is 0"),
        (lambda: data.shapes(size=2), "size is 2"),
        (lambda: data.adding(length=1), "length is 1"),
        (lambda: data.spirals(seed=-1), "seed is -1"),
    ],
)
def test_bad_arguments_are_errors(call, match):
    with pytest.raises(AdjointError, match=match):
        call()
