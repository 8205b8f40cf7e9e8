"""Sums by index of single numbers, over a fake GPU: by buckets, with the bits of the CPU."""

import numpy as np
import pytest

from adjoint import Tensor, grad, jit, lower
from adjoint.kernel.algorithms.buckets import BUCKETS, Places
from adjoint.runtime.device import has_tools
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.support.fake_gpu import fake_gpu

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
PLACES, COUNT = 70_001, 30_011


@pytest.fixture(scope="module")
def gpu():
    with compiled_anew(), fake_gpu() as found:
        yield found


def indices(kind, places, count):
    rng = np.random.default_rng(3)
    spread = rng.integers(0, places, count)
    made = {
        "anywhere": spread,
        "from the end": spread - places,
        "all one place": np.full(count, places // 3),
        "few places": rng.integers(0, 5, count) * (places // 7),
        "often the first": (places ** rng.random(count)).astype(int) - 1,
        "in order": np.sort(spread),
        "backwards": np.sort(spread)[::-1],
        "one bucket": spread // 2048 * 2048,
        "neighbours": spread % 64,
    }
    return made[kind].astype(np.int32)


KINDS = ("anywhere", "from the end", "all one place", "few places", "often the first")
KINDS += ("in order", "backwards", "one bucket", "neighbours")


@pytest.fixture(scope="module")
def summed(gpu):
    """Sums onto zeros, and onto numbers: compiled once for all distributions."""
    return jit(lambda g, i: Tensor.zeros(PLACES, device="GPU").index_add(0, i, g)), jit(
        lambda x, g, i: x.index_add(0, i, g)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_place_adds_its_updates_in_their_order(summed, kind):
    rng = np.random.default_rng(0)
    index = indices(kind, PLACES, COUNT)
    g, x = (rng.standard_normal(n).astype(np.float32) for n in (COUNT, PLACES))
    at = index + PLACES * (index < 0)
    for fn, operands in zip(summed, [(g,), (x, g)], strict=True):
        expected = np.zeros(PLACES, np.float32) if len(operands) == 1 else x.copy()
        np.add.at(expected, at, g)
        found = fn(*(Tensor(a, "GPU") for a in operands), Tensor(index, "GPU")).numpy()
        assert np.array_equal(found.view(np.int32), expected.view(np.int32))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", ["int64", "uint32"])
def test_narrow_floats_have_the_bits_of_the_cpu(gpu, dtype, kind):
    index = indices("often the first", 1 << 14, 1 << 14).astype(kind)
    found = []
    for device in ("CPU", "GPU"):
        x = (Tensor.arange(1 << 14, device=device) % 97).cast(dtype).realize()
        g = (Tensor.arange(1 << 14, device=device) % 89 / 8).cast(dtype).realize()
        made = lower(lambda x, g, i: x.index_add(0, i, g))
        i = Tensor(index, device)
        if device == "GPU":
            assert "buckets" in made(x, g, i).schedule()
        found.append(x.index_add(0, i, g).cast("float64").numpy())
    assert np.array_equal(*found)


def test_an_index_of_every_axis_has_buckets_too(gpu):
    rng = np.random.default_rng(0)
    rows, x = rng.integers(-200, 200, (150, 130)), rng.standard_normal((200, 130))
    given = rng.standard_normal((150, 130)).astype(np.float32)
    found = []
    for device in ("CPU", "GPU"):
        operands = [Tensor(a, device) for a in (x.astype(np.float32), rows, given)]
        fn = lambda x, i, g: x.scatter_add(0, i, g)  # noqa: E731
        if device == "GPU":
            assert "buckets" in lower(fn)(*operands).schedule()
        found.append(fn(*operands).numpy())
    assert np.array_equal(found[0].view(np.int32), found[1].view(np.int32))


def test_the_gradient_of_a_gather_has_buckets(gpu):
    index = indices("often the first", 1 << 14, COUNT)
    found = []
    for device in ("CPU", "GPU"):
        x, i = Tensor.arange(1 << 14, device=device) / 7, Tensor(index, device)
        found.append(grad(lambda v, i=i: (v[i] * v[i]).sum())(x.realize()).numpy())
    assert np.array_equal(found[0].view(np.int32), found[1].view(np.int32))


def test_an_index_out_of_range_is_told_as_it_was_given(gpu):
    index, bad = indices("anywhere", PLACES, COUNT), -PLACES - 1
    index[COUNT // 2] = bad
    g = Tensor(np.ones(COUNT, np.float32), "GPU")
    with pytest.raises(IndexError, match=f"index {bad} is out of range for axis 0"):
        Tensor.zeros(PLACES, device="GPU").index_add(0, Tensor(index, "GPU"), g).numpy()


@pytest.mark.parametrize(
    ("places", "count", "dtype"),
    [(1 << 13, 1 << 15, "float32"), (1 << 15, 1 << 13, "float32"), (1 << 15, 1 << 15, "float64")],
)
def test_few_places_few_updates_and_wide_numbers_are_sorted(gpu, places, count, dtype):
    x, g = Tensor.zeros(places, dtype=dtype, device="GPU"), Tensor.ones(count, device="GPU")
    i = Tensor(np.zeros(count, np.int32), "GPU")
    text = lower(lambda x, g, i: x.index_add(0, i, g.cast(dtype)))(x, g, i).schedule()
    assert "scatter_add_apply" in text
    assert "buckets" not in text


def test_indices_that_are_summed_onto_themselves_are_read_twice(gpu):
    """The same node is what lies there, where it goes, and what is added: one of them unwrapped."""
    n = 1 << 14
    index = (np.arange(n, dtype=np.int32) * 7) % n - n // 2
    found = []
    for device in ("CPU", "GPU"):
        fn = lambda i: (w := (i < 0).where(i + n, i)).index_add(0, i, w)  # noqa: E731
        found.append(fn(Tensor(index, device)).numpy())
    at = index % n
    expected = at.copy()
    np.add.at(expected, at, at)
    assert np.array_equal(found[0], expected)
    assert np.array_equal(found[1], expected)


def test_indices_are_read_as_they_are(gpu):
    """What counts from the end is the kernel's, no pass of its own."""
    g, i = Tensor.ones(COUNT, device="GPU"), Tensor(np.zeros(COUNT, np.int32), "GPU")
    fn = lower(lambda g, i: Tensor.zeros(PLACES, device="GPU").index_add(0, i, g))
    assert "where" not in fn(g.realize(), i).schedule()


@pytest.mark.parametrize("count", [1 << 14, 70_001, (1 << 17) + 9, 1 << 22])
def test_every_place_has_a_cell_of_its_own(count):
    places, every = Places(count), np.arange(count)
    bucket, inside = places.bucket(every), places.inside(every)
    cell = places.cell(inside)
    assert np.array_equal(places.place(bucket, inside), every)
    assert 0 <= bucket.min() <= bucket.max() < BUCKETS
    assert 0 <= cell.min() <= cell.max() < places.cells
    assert len(np.unique(bucket * places.cells + cell)) == count
