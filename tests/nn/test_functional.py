"""`nn.functional` beside the layers: the same numbers and gradients, with torch's orders."""

import numpy as np
import pytest

from adjoint import AdjointError, Tensor, jit, nn

F = nn.functional
X, X1, X3 = (
    np.random.default_rng(len(s)).standard_normal(s)
    for s in ((2, 4, 7, 6), (2, 4, 9), (1, 2, 5, 6, 5))
)

X2 = X[..., :6, :]
# the function, its arguments behind the input, and the layer that does the same
SAME = {
    "max_pool1d": (X1, (2,), nn.MaxPool1d(2)),
    "max_pool2d": (X, (3, 2, 1, 1, True), nn.MaxPool2d(3, 2, 1, ceil_mode=True)),
    "max_pool3d": (X3, (2,), nn.MaxPool3d(2)),
    "avg_pool1d": (X1, (3, 2), nn.AvgPool1d(3, 2)),
    "avg_pool2d": (X, ((2, 3), 1, 1, False, False), nn.AvgPool2d((2, 3), 1, 1, False, False)),
    "avg_pool3d": (X3, (2,), nn.AvgPool3d(2)),
    "adaptive_avg_pool1d": (X1, (2,), nn.AdaptiveAvgPool1d(2)),
    "adaptive_avg_pool2d": (X, ((3, 2),), nn.AdaptiveAvgPool2d((3, 2))),
    "adaptive_avg_pool3d": (X3, (2,), nn.AdaptiveAvgPool3d(2)),
    "adaptive_max_pool1d": (X1, (2,), nn.AdaptiveMaxPool1d(2)),
    "adaptive_max_pool2d": (X, (3,), nn.AdaptiveMaxPool2d(3)),
    "adaptive_max_pool3d": (X3, (2,), nn.AdaptiveMaxPool3d(2)),
    "celu": (X, (0.5,), nn.CELU(0.5)),
    "hardtanh": (X, (-0.5, 0.4), nn.Hardtanh(-0.5, 0.4)),
    "hardshrink": (X, (0.3,), nn.Hardshrink(0.3)),
    "softshrink": (X, (0.3,), nn.Softshrink(0.3)),
    "threshold": (X, (0.1, 2.0), nn.Threshold(0.1, 2.0)),
    "softmin": (X, (1,), nn.Softmin(1)),
    "interpolate": (X, (None, 2, "bilinear"), nn.Upsample(scale_factor=2, mode="bilinear")),
    "pixel_shuffle": (X, (2,), nn.PixelShuffle(2)),
    "pixel_unshuffle": (X2, (2,), nn.PixelUnshuffle(2)),
    "channel_shuffle": (X, (2,), nn.ChannelShuffle(2)),
    "lp_pool1d": (X1, (2, 2), nn.LPPool1d(2, 2)),
    "lp_pool2d": (X, (2, 3, 2), nn.LPPool2d(2, 3, 2)),
    "lp_pool3d": (X3, (4, 2), nn.LPPool3d(4, 2)),
    "local_response_norm": (X, (2, 0.1), nn.LocalResponseNorm(2, 0.1)),
    "instance_norm": (X, (), nn.InstanceNorm2d(4)),
    "alpha_dropout": (X1, (0.5, False), nn.AlphaDropout().eval()),
    "feature_alpha_dropout": (X1, (0.5, False), nn.FeatureAlphaDropout().eval()),
    "dropout1d": (X1, (0.5, False), nn.Dropout1d()),
    "dropout2d": (X, (0.5, False), nn.Dropout2d()),
    "dropout3d": (X3, (0.5, False), nn.Dropout3d()),
    "group_norm": (X, (2,), nn.GroupNorm(2, 4, affine=False)),
    "rms_norm": (X, ((7, 6),), nn.RMSNorm((7, 6), elementwise_affine=False)),
}


def answers(fn, array):
    x = Tensor(array, requires_grad=True)
    y = fn(x)
    (y * y).sum().backward()
    return y.numpy(), x.grad.numpy()


@pytest.mark.parametrize("name", SAME)
def test_a_function_is_the_layer_of_that_meaning(name):
    array, options, layer = SAME[name]
    wanted = answers(layer, array)
    for got, want in zip(
        answers(lambda x: getattr(F, name)(x, *options), array), wanted, strict=True
    ):
        np.testing.assert_array_equal(got, want)


def with_parameters(layer):
    for number, p in enumerate(layer.parameters()):
        shape = p.shape
        p.assign(Tensor(np.random.default_rng(number).random(shape)).cast(p.dtype))
    return layer


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_transposed_convolutions_take_the_options_in_torchs_order(rank):
    array = {1: X1, 2: X, 3: X3}[rank]
    made = getattr(nn, f"ConvTranspose{rank}d")
    layer = with_parameters(made(array.shape[1], 4, 3, 2, 1, 1, 2, dtype="float64"))
    fn = getattr(F, f"conv_transpose{rank}d")
    got = fn(Tensor(array), layer.weight, layer.bias, 2, 1, 1, 2)
    np.testing.assert_array_equal(got.numpy(), layer(Tensor(array)).numpy())
    one = fn(Tensor(array[0]), layer.weight, layer.bias, 2, 1, 1, 2)
    np.testing.assert_allclose(one.numpy(), got.numpy()[0], rtol=1e-12)


@pytest.mark.parametrize("stepped", [lambda f: f, jit], ids=["lazy", "jit"])
def test_batch_norm_moves_the_running_statistics_it_is_given(stepped):
    layer = with_parameters(nn.BatchNorm2d(4, momentum=0.3, dtype="float64")).train()
    mean, var = Tensor(np.zeros(4), requires_grad=False), Tensor(np.ones(4), requires_grad=False)

    @stepped
    def normed(x):
        return F.batch_norm(x, mean, var, layer.weight, layer.bias, True, 0.3)

    for scale in (1.0, 2.0, 3.0):
        x = Tensor(X * scale)
        np.testing.assert_array_equal(normed(x).numpy(), layer(x).numpy())
    np.testing.assert_array_equal(mean.numpy(), layer.running_mean.numpy())
    np.testing.assert_array_equal(var.numpy(), layer.running_var.numpy())
    still = F.batch_norm(Tensor(X), mean, var, layer.weight, layer.bias)
    np.testing.assert_array_equal(still.numpy(), layer.eval()(Tensor(X)).numpy())


def test_norms_and_prelu_take_weights():
    weight, bias = Tensor(np.arange(1.0, 5)), Tensor(np.arange(4.0))
    plain = F.group_norm(Tensor(X), 2).numpy()
    rows = np.arange(1.0, 5)[:, None, None], np.arange(4.0)[:, None, None]
    got = F.group_norm(Tensor(X), 2, weight, bias)
    np.testing.assert_allclose(got.numpy(), plain * rows[0] + rows[1], rtol=1e-12)
    got = F.prelu(Tensor(X), weight)
    np.testing.assert_allclose(got.numpy(), np.where(X > 0, X, X * rows[0]), rtol=1e-12)


def test_a_hard_draw_picks_a_class_by_its_probability_and_has_the_gradient_of_the_soft_one():
    Tensor.manual_seed(0)
    logits = Tensor(np.log([0.2, 0.3, 0.5]), requires_grad=True)
    picked = F.gumbel_softmax(logits.expand(20000, 3), tau=0.7, hard=True)
    assert set(np.unique(picked.numpy().round(12))) == {0.0, 1.0}
    np.testing.assert_allclose(picked.numpy().mean(0), [0.2, 0.3, 0.5], atol=0.02)
    (picked * Tensor([1.0, 2.0, 3.0])).sum().backward()
    assert np.abs(logits.grad.numpy()).min() > 1


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: F.max_pool2d(Tensor.ones(3), 2), "E3002"),
        (lambda: F.group_norm(Tensor.ones(2, 3), 2), "E3003"),
        (lambda: F.batch_norm(Tensor.ones(3), None, None, training=True), "E3002"),
        (lambda: F.prelu(Tensor.ones(2, 3), Tensor.ones(4)), "E3003"),
        (lambda: F.interpolate(Tensor.ones(1, 1, 2, 2)), "E2007"),
        (lambda: F.conv_transpose2d(Tensor.ones(1, 1, 2), Tensor.ones(1, 1, 2)), "E3002"),
    ],
)
def test_wrong_arguments_are_errors(call, code):
    with pytest.raises(AdjointError) as caught:
        call()
    assert caught.value.code == code
