"""Random numbers: the published generator, reproducible streams, the right distributions."""

import numpy as np
import pytest

from adjoint import Tensor

# Random123's known answers for threefry2x32 with 20 rounds: counter, key, result (two words each).
KNOWN = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]


def _joined(words):
    low, high = words
    return Tensor(np.array([low | high << 32], np.uint64))


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_threefry_gives_the_published_words(counter, key, result):
    (bits,) = _joined(counter).threefry(_joined(key)).tolist()
    assert (bits & 0xFFFFFFFF, bits >> 32) == result


def test_the_same_seed_gives_the_same_draws():
    Tensor.manual_seed(7)
    first = [Tensor.rand(3).tolist(), Tensor.randn(2, 2).tolist(), Tensor.randint(4).tolist()]
    Tensor.manual_seed(7)
    again = [Tensor.rand(3).tolist(), Tensor.randn(2, 2).tolist(), Tensor.randint(4).tolist()]
    assert first == again


def test_another_seed_gives_other_draws():
    Tensor.manual_seed(7)
    first = Tensor.rand(8).tolist()
    Tensor.manual_seed(8)
    assert Tensor.rand(8).tolist() != first


def test_successive_draws_differ():
    Tensor.manual_seed(7)
    assert Tensor.rand(8).tolist() != Tensor.rand(8).tolist()


def test_a_draw_keeps_its_values_whenever_it_is_realized():
    Tensor.manual_seed(7)
    early = Tensor.rand(3)
    Tensor.rand(3).realize()
    late = early.tolist()
    Tensor.manual_seed(7)
    assert Tensor.rand(3).tolist() == late


def test_every_device_draws_from_the_start_of_the_same_stream():
    Tensor.manual_seed(7)
    on_reference = Tensor.rand(4, device="REF").tolist()
    assert Tensor.rand(4, device="CPU").tolist() == on_reference


def test_devices_of_one_kind_have_streams_of_their_own():
    Tensor.manual_seed(7)
    assert Tensor.rand(4, device="CPU").tolist() != Tensor.rand(4, device="CPU:1").tolist()


def test_a_longer_draw_begins_like_a_shorter_one():
    Tensor.manual_seed(7)
    short = Tensor.rand(5).tolist()
    Tensor.manual_seed(7)
    assert Tensor.rand(50).tolist()[:5] == short


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_draws_stay_below_one_and_have_the_right_moments(dtype):
    Tensor.manual_seed(7)
    draw = Tensor.rand(20_000, dtype=dtype).numpy().astype(np.float64)
    assert 0 <= draw.min()
    assert draw.max() < 1
    assert abs(draw.mean() - 1 / 2) < 0.01
    assert abs(draw.var() - 1 / 12) < 0.005


def test_normal_draws_are_finite_and_have_the_right_moments():
    Tensor.manual_seed(7)
    draw = Tensor.randn(20_000).numpy()
    assert np.isfinite(draw).all()
    assert abs(draw.mean()) < 0.03
    assert abs(draw.std() - 1) < 0.02
    assert abs((draw**4).mean() - 3) < 0.3


def test_integers_fill_the_half_open_range():
    Tensor.manual_seed(7)
    draw = Tensor.randint(2_000, low=-3, high=4).numpy()
    assert sorted(set(draw.tolist())) == [-3, -2, -1, 0, 1, 2, 3]


def test_a_permutation_has_every_number_once():
    Tensor.manual_seed(7)
    draw = Tensor.randperm(100).tolist()
    assert sorted(draw) == list(range(100))
    assert draw != sorted(draw)


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("scaled_uniform", (40 * 50) ** -0.5),
        ("glorot_uniform", (6 / 90) ** 0.5),
        ("kaiming_uniform", (3 * 2 / (1 + 0.01**2) / 50) ** 0.5),
    ],
)
def test_initialisers_fill_their_interval(name, bound):
    Tensor.manual_seed(7)
    draw = np.abs(getattr(Tensor, name)(40, 50).numpy())
    assert 0.98 * bound < draw.max() <= bound


def test_like_variants_take_shape_dtype_and_device():
    x = Tensor.zeros(2, 3, dtype="float64", device="CPU")
    for draw in (x.rand_like(), x.randn_like()):
        assert (draw.shape, draw.dtype, draw.device) == (x.shape, x.dtype, x.device)
