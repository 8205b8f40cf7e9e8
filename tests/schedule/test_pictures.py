"""Pictures between convolutions, whose channels lie last in memory."""

from textwrap import dedent

import numpy as np
import pytest

from adjoint import Tensor, grad, lower, vmap
from adjoint.backends.cpu import BACKEND
from tests.support.levels import levels_with_tiles
from tests.support.processes import printed

pytestmark = [
    pytest.mark.usefixtures("cpu"),
    pytest.mark.skipif(BACKEND.target.tile is None, reason="no fused multiply-adds"),
]

TURNED = "Ptr<i64, local, mutable>"  # scratch for how far numbers of windows lie apart


def some(*shape, seed=0, scale=1.0):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return (scale * values).astype(np.float32)


def are_turned(low):
    """Whether a kernel of the program reads windows with channels last where they lie."""
    return any(TURNED in kernel for kernel in low.kernels())


def layers(x, weights, between, **how):
    """Convolutions one after another, and what is done to each of their results."""
    for w in weights:
        x = between(x.conv2d(w, None, 1, padding=w.shape[-1] // 2, **how))
    return x


def normed(x):
    mean = x.mean((0, 2, 3)).reshape(1, -1, 1, 1)
    return (
        (x - mean) * (((x - mean) ** 2).mean((0, 2, 3)) + 1e-5).rsqrt().reshape(1, -1, 1, 1)
    ).relu()


def operands(channels=64, side=16, batch=4, count=4, taps=3):
    x = some(batch, channels, side, side)
    scale = (channels * taps * taps) ** -0.5
    weights = [some(channels, channels, taps, taps, seed=i + 1, scale=scale) for i in range(count)]
    return Tensor(x), [Tensor(w) for w in weights]


def same(a, b):
    np.testing.assert_array_equal(a.numpy().view(np.uint32), b.numpy().view(np.uint32))


def one_by_one(x, weights, between, **how):
    """The same with every result in memory, channels second."""
    for w in weights:
        x = between(x.conv2d(w, None, 1, padding=w.shape[-1] // 2, **how).realize()).realize()
    return x


SHAPES = [(64, 16, 4), (64, 28, 2), (64, 14, 6), (96, 12, 4), (64, 20, 3), (64, 7, 16)]


@pytest.mark.parametrize(("channels", "side", "batch"), SHAPES)
@pytest.mark.parametrize("between", [Tensor.relu, normed], ids=["relu", "normed"])
def test_layers_have_the_bits_that_each_has_alone(channels, side, batch, between):
    x, weights = operands(channels, side, batch, count=6)
    fn = lambda x, weights: layers(x, weights, between)  # noqa: E731
    assert are_turned(lower(fn)(x, weights))
    same(fn(x, weights), one_by_one(x, weights, between))


def test_a_gap_between_taps():
    x, weights = operands(side=24, count=8)
    fn = lambda x, ws: layers(x, ws, Tensor.relu, dilation=2)  # noqa: E731
    assert are_turned(lower(fn)(x, weights))
    same(fn(x, weights), one_by_one(x, weights, Tensor.relu, dilation=2))


def by_hand(x, weights, g):
    """Gradients of layers with relu, each product in memory, channels second."""
    inputs = [x]
    for w in weights:
        inputs.append(inputs[-1].conv2d(w, None, 1, padding=1).relu().realize())
    found = []
    for w, before, after in zip(weights[::-1], inputs[-2::-1], inputs[:0:-1], strict=True):
        g = (after > 0).where(g, 0.0).realize()
        one = lambda x, w, g=g: (x.conv2d(w, None, 1, padding=1) * g).sum()  # noqa: E731
        found.append(grad(lambda w, x=before, one=one: one(x, w))(w).realize())
        g = grad(lambda x, w=w, one=one: one(x, w))(before).realize()
    return [g, *found[::-1]]


@pytest.mark.parametrize(("channels", "side", "batch"), SHAPES)
def test_gradients_have_the_bits_that_each_has_alone(channels, side, batch):
    x, weights = operands(channels, side, batch, count=5)
    g = Tensor(some(*x.shape, seed=9))

    def loss(x, *weights):
        return (layers(x, weights, Tensor.relu) * g).sum()

    fn = grad(loss, argnums=tuple(range(6)))
    assert are_turned(lower(fn)(x, *weights))
    for found, wanted in zip(fn(x, *weights), by_hand(x, weights, g), strict=True):
        same(found, wanted)


def test_gradients_by_weights_ask_for_the_places_to_come():
    x, weights = operands(count=5)
    loss = lambda x, *w: (layers(x, w, Tensor.relu) ** 2).sum()  # noqa: E731
    low = lower(grad(loss, argnums=(1, 2, 3)))(x, *weights)
    assert any("= ask(" in kernel for kernel in low.kernels())
    assert "llvm.prefetch" in low.source()
    assert "prefetch" not in low.source("c")  # where nobody knows how


def test_steps_between_windows_and_windows_of_one_place():
    x, weights = operands(count=6)
    skip = [Tensor(some(64, 64, 1, 1, seed=20 + i, scale=0.1)) for i in range(2)]
    g = Tensor(some(4, 64, 4, 4, seed=9))

    def net(x, *weights):
        for i in range(2):
            a, b, c = weights[3 * i : 3 * i + 3]
            y = x.conv2d(a, None, 1, stride=2, padding=1).relu().conv2d(b, None, 1, padding=1)
            x = (
                (y + x.conv2d(weights[6 + i], None, 1, stride=2))
                .relu()
                .conv2d(c, None, 1, padding=1)
            )
        return x

    loss = lambda *args: (net(*args) * g).sum()  # noqa: E731
    args = (x, *weights, *skip)
    found = grad(loss, argnums=tuple(range(9)))(*args)
    wanted = grad(lambda *args: (net(*args) * g.to("REF")).sum(), argnums=tuple(range(9)))(
        *[t.to("REF") for t in args]
    )
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
def test_zero_times_an_infinity_is_not_a_number_beside_the_picture(odd):
    x, weights = operands(count=4)
    spoilt = weights[3].numpy().copy()
    spoilt[3, 5, 0, 0] = odd
    weights[3] = Tensor(spoilt)
    found = layers(x, weights, lambda y: y)
    same(found, one_by_one(x, weights, lambda y: y))
    assert np.isnan(found.numpy()[:, 3, 0, 0]).all()


def test_one_convolution_alone_is_left_as_it_is():
    x, weights = operands(count=1)
    assert not are_turned(lower(lambda x, w: x.conv2d(w, None, 1, padding=1))(x, weights[0]))


def test_pools_sums_and_batches_follow():
    x, weights = operands(count=4)

    def net(x):
        y = layers(x, weights[:3], Tensor.relu).max_pool2d(2)
        return y.conv2d(weights[3], None, 1, padding=1).mean((2, 3))

    wanted = one_by_one(x, weights[:3], Tensor.relu).max_pool2d(2).realize()
    wanted = wanted.conv2d(weights[3], None, 1, padding=1).realize().mean((2, 3))
    same(net(x), wanted)
    same(vmap(lambda x: net(x[None])[0])(x), wanted)


def test_processors_agree():
    code = """
        import hashlib
        from adjoint import Tensor, grad
        from tests.schedule.test_pictures import layers, operands
        x, weights = operands(count=5)
        loss = lambda x, *w: (layers(x, w, Tensor.relu) ** 2).sum()
        found = grad(loss, argnums=(0, 1, 3))(x, *weights)
        print(hashlib.sha1(b"".join(t.numpy().tobytes() for t in found)).hexdigest())
    """
    found = {printed("-c", dedent(code), ADJOINT_CPU=level) for level in levels_with_tiles()}
    assert len(found) == 1
