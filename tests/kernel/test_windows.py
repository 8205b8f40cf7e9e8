"""Windows that few rows meet, as in depthwise and grouped convolutions: read where they lie."""

import numpy as np
import pytest

from adjoint import Tensor, Variable, counters, einsum, grad, jit, lower, vmap
from adjoint.backends.cpu import BACKEND
from adjoint.ops.tree import tree_reduced

pytestmark = pytest.mark.usefixtures("cpu")
FEW = BACKEND.target.limits.windowed_rows
ROWS = [1, 2, FEW - 1, FEW, FEW + 1]


def whole(*shape, seed=0, dtype=np.float32):
    """Small whole numbers: no sum of their products is rounded."""
    values = np.random.default_rng([seed, *shape]).integers(-4, 5, shape)
    return Tensor(values.astype(dtype)).realize()


def real(*shape, seed=0):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return Tensor(values.astype(np.float32)).realize()


def all_three(x, w, **options):
    """A convolution and its gradients, on the device of its operands."""
    y = x.conv2d(w, **options)
    g = whole(*y.shape, seed=3, dtype=x.dtype.np).to(x.device)
    return y, *grad(lambda x, w: (x.conv2d(w, **options) * g).sum(), argnums=(0, 1))(x, w)


def agrees(x, w, **options):
    wanted = all_three(x.to("REF"), w.to("REF"), **options)
    for found, right in zip(all_three(x, w, **options), wanted, strict=True):
        np.testing.assert_array_equal(found.numpy(), right.numpy())


@pytest.mark.parametrize("outputs", ROWS)
@pytest.mark.parametrize("inputs", [1, 3, FEW])
def test_groups_of_any_size(inputs, outputs):
    x, w = whole(2, 3 * inputs, 9, 11), whole(3 * outputs, inputs, 3, 2, seed=1)
    agrees(x, w, groups=3, padding=1)


@pytest.mark.parametrize(
    "options",
    [
        {"stride": 2},
        {"dilation": 3, "padding": 4},
        {"padding": (0, 2, 1, 0)},
        {"padding": -1},
        {"stride": (1, 2), "dilation": (2, 1), "padding": 2},
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_depthwise_with_every_option(options, dtype):
    agrees(
        whole(2, 5, 13, 12, dtype=dtype),
        whole(5, 1, 3, 3, seed=1, dtype=dtype),
        groups=5,
        **options,
    )


@pytest.mark.parametrize("space", [(1,), (7,), (130,), (2, 1), (3, 5, 4), (1, 1, 1)])
def test_pictures_of_every_rank(space):
    taps = [min(n, 3) for n in space]
    agrees(whole(2, 4, *space), whole(4, 1, *taps, seed=1), groups=4)


def test_large_groups_are_tiles_and_their_weights_are_not_repeated():
    x, w = whole(3, 64, 28, 28), whole(64, 16, 3, 3, seed=1)
    lowered = lower(lambda x, w: x.conv2d(w, groups=4, padding=1))(x, w)
    if BACKEND.target.tile is not None:
        assert "tiles: " in lowered.explain()
        assert "expand" not in lowered.schedule()
    agrees(x, w, groups=4, padding=1)


@pytest.mark.parametrize("groups", [1, 2, 48])
def test_no_windows_are_written(groups):
    """Nothing is larger in memory than a picture with its margins."""
    x, w = real(2, 48, 24, 24), real(48, 48 // groups, 5, 5)

    def both(x, w):
        return grad(lambda x, w: (x.conv2d(w, groups=groups, padding=2) ** 2).sum(), (0, 1))(x, w)

    largest = max(slot.nbytes for slot in lower(both)(x, w).plan.slots)
    margins = 2 * 48 * 32 * 32 * 4
    assert largest <= (margins if BACKEND.target.tile is not None or groups == 48 else largest)


# ---- the order of sums


@pytest.mark.parametrize("width", [1, 2, 5, 8, 31, 70])
def test_taps_are_added_one_after_another(width):
    x, w = real(2, 3, 6, width + 2), real(3, 1, 4, 3, seed=1)
    assert "windows: " in lower(lambda x, w: x.conv2d(w, groups=3))(x, w).explain()
    total = np.zeros((2, 3, 3, width), np.float32)
    for i in range(4):
        for j in range(3):
            part = x.numpy()[:, :, i : i + 3, j : j + width]
            total = total + part * w.numpy()[:, 0, i, j][:, None, None]
    np.testing.assert_array_equal(x.conv2d(w, groups=3).numpy(), total)


@pytest.mark.parametrize("width", [1, 2, 5, 8, 31, 70])
def test_a_gradient_by_the_weights_goes_down_each_column_then_along_the_line(width):
    x, w, g = real(2, 3, 6, width + 2), real(3, 1, 4, 3, seed=1), real(2, 3, 3, width, seed=2)
    found = grad(lambda w: (x.conv2d(w, groups=3) * g).sum())(w)
    total = np.zeros((3, 4, 3, width), np.float32)
    for b in range(2):
        for u in range(3):
            for i in range(4):
                for j in range(3):
                    seen = x.numpy()[b, :, u + i, j : j + width]
                    total[:, i, j] = total[:, i, j] + g.numpy()[b, :, u] * seen
    wanted = tree_reduced(np.add, 0.0, total, (3,), False)
    np.testing.assert_array_equal(found.numpy()[:, 0], wanted)


@pytest.mark.parametrize("varying", [0, 2, 3])
def test_sizes_that_vary_give_the_same_bits_and_one_program(varying):
    def step(x, w):
        return x.conv2d(w, groups=3, padding=1), grad(
            lambda w: (x.conv2d(w, groups=3, padding=1) ** 2).sum()
        )(w)

    n, compiled, w = Variable("n", 4, 40), jit(step), real(3, 1, 3, 3, seed=1)
    for turn, size in enumerate((5, 40, 17, 4)):
        shape = [2, 3, 9, 9]
        shape[varying] = size
        x = real(*shape)
        shape[varying] = n.bind(size)
        with counters() as counted:
            found = compiled(x.shrink([(0, m) for m in shape]), w)
        assert turn == 0 or counted.sources == 0
        for mine, plain in zip(found, step(x, w), strict=True):
            np.testing.assert_array_equal(mine.numpy(), plain.numpy())


@pytest.mark.parametrize("spec", ["mk,k->m", "k,kn->n", "k,k->", "mn,mn->", "bmk,bk->bm"])
def test_large_products_without_rows_or_columns_beside_windows(spec):
    """Rules about windows look at every large product of a graph that has some."""
    sizes = {"b": 2, "m": 1024, "k": 1024, "n": 1024} | ({"k": 1 << 20} if spec == "k,k->" else {})
    a, b = (whole(*(sizes[c] for c in term)) for term in spec.partition("->")[0].split(","))
    pooled = whole(1, 1, 8, 8).max_pool2d((3, 3), stride=1).sum()
    found = einsum(spec, a, b).sum() + pooled
    wanted = np.einsum(spec, a.numpy().astype(np.float64), b.numpy()).sum() + pooled.numpy()
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5)


def test_under_vmap_every_picture_may_have_weights_of_its_own():
    x, w = whole(4, 2, 3, 8, 9), whole(4, 3, 1, 3, 3, seed=1)
    found = vmap(lambda x, w: x.conv2d(w, groups=3))(x, w).numpy()
    for i in range(4):
        np.testing.assert_array_equal(found[i], x[i].conv2d(w[i], groups=3).numpy())


def test_infinities_and_nans_stay_where_their_windows_are():
    x, w = np.ones((1, 2, 6, 6), np.float32), Tensor(np.ones((2, 1, 3, 3), np.float32))
    x[0, 1, 4, 4] = np.inf
    x[0, 0, 0, 0] = np.nan
    found = Tensor(x).conv2d(w, groups=2, padding=1).numpy()
    np.testing.assert_array_equal(
        np.argwhere(np.isnan(found[0, 0])), [[0, 0], [0, 1], [1, 0], [1, 1]]
    )
    assert np.isinf(found[0, 1, 3:, 3:]).all()
    assert np.isfinite(found[0, 1, :3]).all()


@pytest.mark.parametrize(("size", "stride"), [(6, 3), (5, 2), (4, 2), (4, 1)])
@pytest.mark.parametrize("op", ["max_pool2d", "avg_pool2d"])
def test_overlapping_windows_are_added_one_after_another(op, size, stride):
    """Wherever the channels lie, whatever is in the kernel with the sum."""
    rng = np.random.default_rng(0)
    x = (rng.integers(-8, 9, (2, 15, 15, 4)) / 8).astype(np.float32)
    places = (15 - size) // stride + 1
    g = rng.standard_normal((2, 4, places, places)).astype(np.float32)

    def gradient(x, g):
        def total(x):
            return (getattr(x.permute(0, 3, 1, 2), op)(size, stride) * g).sum()

        return grad(total)(x)

    wanted = gradient(Tensor(x, "REF"), Tensor(g, "REF")).numpy()
    for call in (gradient, jit(gradient)):
        assert np.array_equal(call(Tensor(x, "CPU"), Tensor(g, "CPU")).numpy(), wanted)
