"""Products of bfloat16 by the processor's instruction have the bits of float32's order of sums."""

import numpy as np
import pytest

from adjoint import Tensor, autocast, grad, jit, lower, nn
from adjoint.backends.cpu import BACKEND

UNITS = any(unit.dtype == "bfloat16" for unit in BACKEND.target.matrix_units)
pytestmark = pytest.mark.usefixtures("cpu")
M, K, N = 40, 640, 96


def values(*shape, spread=0.0, seed=0):
    draw = np.random.default_rng([seed, *shape])
    return draw.standard_normal(shape) * np.exp(spread * draw.standard_normal(shape))


def narrow(array):
    return Tensor(np.ascontiguousarray(array, np.float32)).cast("bfloat16").realize()


def sums(a, b):
    return a.dot(b, dtype="float32")


def bits_of(fn, *operands):
    return jit(fn)(*operands).numpy().view(np.uint32)


def assert_in_order(a, b, fn=sums, unit=UNITS):
    """The same bits as those of a function of the numbers in float32, which lie in memory."""
    a, b = narrow(a), narrow(b)
    wide = [x.cast("float32").realize() for x in (a, b)]
    found = "".join(lower(fn)(a, b).kernels())
    assert ("dot_words(" in found) == unit
    assert np.array_equal(bits_of(fn, a, b), bits_of(fn, *wide))


@pytest.mark.parametrize("spread", [0.0, 3.0, 12.0])
@pytest.mark.parametrize("size", [(K, N), (256, 128), (1024, 160), (700, 130), (5000, 65)], ids=str)
def test_sums_of_all_lengths(size, spread):
    k, n = size
    assert_in_order(values(M, k, spread=spread), values(k, n, spread=spread, seed=1))


SPECIAL = {
    "a subnormal": 1e-39,
    "an infinity": np.inf,
    "a NaN": np.nan,
    "zero": 0.0,
    "minus zero": -0.0,
    "the least normal number": 2.0**-126,
    "the largest number": 3.3e38,
}


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("name", SPECIAL)
def test_one_number_that_is_special(name, side):
    operands = [values(M, K), values(K, N)]
    operands[side][3, 5] = SPECIAL[name]
    assert_in_order(*operands)


@pytest.mark.parametrize("exponents", [(-70, -56), (-63, -63), (-60, -59), (-55, -56), (-126, 0)])
def test_sums_at_the_end_of_the_range(exponents):
    a, b = (2.0**e * (1 + values(*s) % 1) for e, s in zip(exponents, ((M, K), (K, N)), strict=True))
    signs = np.sign(values(M, K, seed=2))
    assert_in_order(a * signs, b)


def test_sums_that_overflow():
    assert_in_order(1e37 * values(M, K), 1e20 * values(K, N))


def test_nothing_but_zeros():
    assert_in_order(np.zeros((M, K)), -values(K, N))


WAYS = {
    "turned rows": ((K, M), (K, N), lambda a, b: sums(a.T, b)),
    "turned columns": ((M, K), (N, K), lambda a, b: sums(a, b.T)),
    "a batch": ((3, M, K), (3, K, N), sums),
    "work on the result": ((M, K), (K, N), lambda a, b: (sums(a, b) + 1).relu() * 2),
    "some columns": ((M, K), (K, N), lambda a, b: sums(a, b)[:, 8:72]),
    "two columns each": (
        (M, K),
        (K, 128),
        lambda a, b: (lambda h: h[:, :64] * h[:, 64:])(sums(a, b)),
    ),
    "two products": ((M, K), (K, N), lambda a, b: sums(a, b) * sums(a * -2, b)),
}


@pytest.mark.parametrize("name", WAYS)
def test_however_the_product_is_used(name):
    first, second, fn = WAYS[name]
    assert_in_order(values(*first), values(*second), fn)


def test_results_in_bfloat16_are_rounded_once():
    a, b = narrow(values(M, K)), narrow(values(K, N))
    wide = [x.cast("float32").realize() for x in (a, b)]
    once = jit(lambda a, b: (a @ b).cast("bfloat16").cast("float32"))(*wide)
    assert np.array_equal(jit(lambda a, b: (a @ b).cast("float32"))(a, b).numpy(), once.numpy())


def test_gradients_too():
    a, b = narrow(values(M, K)), narrow(values(K, N))
    wide = [x.cast("float32").realize() for x in (a, b)]
    slope = grad(lambda a, b: (sums(a, b) ** 2).sum())
    found = jit(slope)(a, b).cast("float32").numpy()
    assert np.array_equal(found, jit(slope)(*wide).cast("bfloat16").cast("float32").numpy())


@pytest.mark.parametrize("k", [255, 641, 200])
def test_short_sums_and_odd_ones_stay_with_float32(k):
    assert_in_order(values(M, k), values(k, N), unit=False)


def test_the_next_call_asks_again():
    product = jit(sums)
    b, wide = narrow(values(K, N)), narrow(values(K, N)).cast("float32").realize()
    for scale in (1.0, 1e-36, 1.0, 1e-30):
        a = narrow(scale * values(M, K))
        want = jit(sums)(a.cast("float32").realize(), wide).numpy()
        assert np.array_equal(product(a, b).numpy(), want)


def test_a_product_of_words_is_no_part_of_a_panel():
    """Its columns lie in words; a panel, of rows between two products, would read them as numbers.
    What is behind a norm is as long as what is before it, as in a small language model."""
    norm, last = nn.LayerNorm(64), nn.LayerNorm(64)
    up, down = nn.Linear(64, 256), nn.Linear(256, 64)
    words, x = Tensor(values(512, 64, seed=3) / 8), Tensor(values(2, 64, 64, seed=4))

    def loss(x):
        with autocast("bfloat16", enabled=low):
            y = x + down(up(norm(x)).gelu())
            return last(y).linear(words.float().T).float().square().mean()

    low = True
    found = jit(grad(loss))(x.float()).numpy()
    low = False
    wanted = jit(grad(loss))(x.float()).numpy()
    assert np.abs(found - wanted).max() < 0.03 * np.abs(wanted).max()
