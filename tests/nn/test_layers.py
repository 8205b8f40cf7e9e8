"""Layers: names, shapes and initial values of torch's, what they compute, bad input."""

import numpy as np
import pytest

from adjoint import AdjointError, BoundsError, DTypeError, ShapeError, Tensor, jit, nn


@pytest.fixture(autouse=True)
def _seeded():
    Tensor.manual_seed(7)


def floats(*shape, seed=0):
    return Tensor(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


# ---- names, shapes, initial values

SHAPES = {
    "Linear": (lambda: nn.Linear(4, 3), {"weight": (3, 4), "bias": (3,)}),
    "Linear without bias": (lambda: nn.Linear(4, 3, bias=False), {"weight": (3, 4)}),
    "Bilinear": (lambda: nn.Bilinear(2, 3, 4), {"weight": (4, 2, 3), "bias": (4,)}),
    "Conv1d": (lambda: nn.Conv1d(4, 6, 3, groups=2), {"weight": (6, 2, 3), "bias": (6,)}),
    "Conv2d": (lambda: nn.Conv2d(3, 8, (2, 5)), {"weight": (8, 3, 2, 5), "bias": (8,)}),
    "Conv3d": (lambda: nn.Conv3d(1, 2, 2, bias=False), {"weight": (2, 1, 2, 2, 2)}),
    "ConvTranspose1d": (
        lambda: nn.ConvTranspose1d(4, 6, 3, groups=2),
        {"weight": (4, 3, 3), "bias": (6,)},
    ),
    "ConvTranspose2d": (
        lambda: nn.ConvTranspose2d(3, 8, 2),
        {"weight": (3, 8, 2, 2), "bias": (8,)},
    ),
    "BatchNorm2d": (
        lambda: nn.BatchNorm2d(3),
        {
            "weight": (3,),
            "bias": (3,),
            "running_mean": (3,),
            "running_var": (3,),
            "num_batches_tracked": (),
        },
    ),
    "BatchNorm1d bare": (lambda: nn.BatchNorm1d(3, affine=False, track_running_stats=False), {}),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(3), {}),
    "LayerNorm": (lambda: nn.LayerNorm((2, 3)), {"weight": (2, 3), "bias": (2, 3)}),
    "RMSNorm": (lambda: nn.RMSNorm(3), {"weight": (3,)}),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), {"weight": (4,), "bias": (4,)}),
    "Embedding": (lambda: nn.Embedding(5, 3), {"weight": (5, 3)}),
    "PReLU": (lambda: nn.PReLU(), {"weight": (1,)}),
}


@pytest.mark.parametrize(("build", "shapes"), SHAPES.values(), ids=SHAPES)
def test_the_state_has_torchs_names_and_shapes(build, shapes):
    assert {name: t.shape for name, t in build().state_dict().items()} == shapes


BOUNDS = {
    "Linear": (lambda: nn.Linear(64, 500), 1 / 8),
    "Bilinear": (lambda: nn.Bilinear(64, 8, 60), 1 / 8),
    "Conv2d": (lambda: nn.Conv2d(16, 64, 2), 1 / 8),
    "Conv2d in groups": (lambda: nn.Conv2d(32, 64, 2, groups=2), 1 / 8),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(64, 16, 2), 1 / 8),
}


@pytest.mark.parametrize(("build", "bound"), BOUNDS.values(), ids=BOUNDS)
def test_weights_start_uniform_within_torchs_bound(build, bound):
    for tensor in build().parameters():
        values = tensor.numpy()
        assert np.abs(values).max() <= bound
        assert np.abs(values).max() > 0.8 * bound
        assert abs(values.std() - bound / 3**0.5) < 0.25 * bound


def test_an_embedding_starts_standard_normal_with_a_row_of_zeros():
    table = nn.Embedding(400, 50, padding_idx=3).weight.numpy()
    assert not table[3].any()
    assert abs(table.std() - 1) < 0.02


def test_a_seed_gives_the_same_weights_again():
    Tensor.manual_seed(1)
    first = nn.Linear(3, 3).weight.numpy()
    second = nn.Linear(3, 3).weight.numpy()
    Tensor.manual_seed(1)
    np.testing.assert_array_equal(nn.Linear(3, 3).weight.numpy(), first)
    assert (first != second).any()


def test_layers_are_made_in_other_dtypes():
    assert nn.Linear(2, 2, dtype="float64")(Tensor([[1.0, 2.0]], dtype="float64")).dtype.name == (
        "float64"
    )
    assert nn.LayerNorm(2, dtype="float16").weight.dtype.name == "float16"


def test_parameters_want_gradients_from_the_start():
    layer = nn.Linear(2, 1)
    layer(Tensor([[1.0, 2.0]])).sum().backward()
    np.testing.assert_allclose(layer.weight.grad.numpy(), [[1.0, 2.0]])


# ---- what they compute (against torch: tests/oracle)


def test_padding_modes_pad_by_what_is_there():
    x = floats(1, 1, 4, 4)
    for mode, numpy_mode in (("reflect", "reflect"), ("circular", "wrap"), ("replicate", "edge")):
        layer = nn.Conv2d(1, 2, 3, padding=1, padding_mode=mode)
        plain = nn.Conv2d(1, 2, 3)
        plain.load_state_dict(layer.state_dict())
        padded = Tensor(np.pad(x.numpy(), ((0, 0), (0, 0), (1, 1), (1, 1)), numpy_mode))
        np.testing.assert_allclose(layer(x).numpy(), plain(padded).numpy(), rtol=1e-5, atol=1e-6)


def test_same_padding_keeps_the_size():
    assert nn.Conv1d(1, 1, 4, padding="same", dilation=3)(floats(2, 1, 9)).shape == (2, 1, 9)


def test_a_transposed_convolution_reaches_an_output_size():
    layer = nn.ConvTranspose2d(1, 1, 3, stride=2)
    assert layer(floats(1, 1, 4, 4), output_size=(10, 9)).shape == (1, 1, 10, 9)
    with pytest.raises(ShapeError, match="not between"):
        layer(floats(1, 1, 4, 4), output_size=(12, 9))


def test_dropout_drops_only_in_training_and_keeps_the_mean():
    layer, x = nn.Dropout(0.25), Tensor.ones(4000)
    assert (layer(x).numpy() == 1).all()
    y = layer.train()(x).numpy()
    assert set(np.unique(y)) == {0, np.float32(1 / 0.75)}
    assert abs(y.mean() - 1) < 0.05
    assert (layer.eval()(x).numpy() == 1).all()


def test_dropout_draws_anew_at_every_call_of_a_jitted_model():
    layer = nn.Dropout(0.5).train()
    call = jit(lambda m, x: m(x))
    one, two = call(layer, Tensor.ones(64)).numpy(), call(layer, Tensor.ones(64)).numpy()
    assert (one != two).any()


def test_channel_dropout_drops_whole_channels():
    y = nn.Dropout2d(0.5).train()(Tensor.ones(4, 8, 3, 3)).numpy()
    assert {len(np.unique(channel)) for channel in y.reshape(32, 9)} == {1}
    assert set(np.unique(y)) == {0, 2}
    assert nn.Dropout1d(0.5).train()(Tensor.ones(8, 3)).shape == (8, 3)
    assert nn.Dropout3d(0.5).train()(Tensor.ones(1, 8, 2, 2, 2)).shape == (1, 8, 2, 2, 2)


def test_batch_norm_uses_running_statistics_when_predicting():
    layer = nn.BatchNorm1d(2)
    layer.running_mean.assign(Tensor([1.0, 2.0]))
    layer.running_var.assign(Tensor([4.0, 9.0]))
    y = layer(Tensor([[3.0, 5.0]])).numpy()
    np.testing.assert_allclose(y, [[1.0, 1.0]], rtol=1e-4)
    assert layer.num_batches_tracked.item() == 0


def test_batch_norm_without_running_statistics_always_uses_the_batch():
    x = floats(8, 3)
    y = nn.BatchNorm1d(3, track_running_stats=False).eval()(x).numpy()
    np.testing.assert_allclose(y.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(y.std(0), 1, rtol=1e-3)


def test_half_precision_statistics_are_kept_in_float32():
    layer = nn.BatchNorm1d(1).train()
    x = Tensor(np.full((4096, 1), 300.0, np.float16) + np.arange(4096)[:, None] % 2)
    layer(x.cast("float16"))
    assert layer.running_mean.dtype.name == "float32"
    np.testing.assert_allclose(layer.running_mean.numpy(), [30.05], rtol=1e-3)


def test_an_embedding_looks_rows_up_in_any_shape():
    layer = nn.Embedding(5, 2)
    index = np.array([[0, 4], [2, 2]])
    np.testing.assert_array_equal(layer(Tensor(index)).numpy(), layer.weight.numpy()[index])
    table = Tensor([[1.0, 2.0], [3.0, 4.0]])
    fixed = nn.Embedding.from_pretrained(table)
    assert fixed.parameters() == []
    np.testing.assert_array_equal(fixed(Tensor([1])).numpy(), [[3.0, 4.0]])


def test_the_row_of_padding_gets_no_gradient():
    layer = nn.Embedding(4, 2, padding_idx=-1)
    layer(Tensor([3, 1, 3, 1])).sum().backward()
    np.testing.assert_array_equal(layer.weight.grad.numpy()[:, 0], [0, 2, 0, 0])


def test_max_pool_gives_indices():
    values, places = nn.MaxPool1d(2, return_indices=True)(Tensor([[[1.0, 3.0, 5.0, 4.0]]]))
    assert values.tolist() == [[[3.0, 5.0]]]
    assert places.tolist() == [[[1, 2]]]


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("nearest", [0, 0, 0, 1, 1, 2]),  # floor(i / 2.3), as torch has it; the sizes say i / 2
        ("linear", np.clip((np.arange(6) + 0.5) / 2.3 - 0.5, 0, 2)),
    ],
)
def test_a_factor_tells_where_elements_of_a_larger_image_lie(mode, wanted):
    x = Tensor(np.arange(3.0), dtype="float64").reshape(1, 1, 3)
    y = nn.Upsample(scale_factor=2.3, mode=mode)(x)
    np.testing.assert_allclose(y.numpy()[0, 0], wanted, rtol=1e-12)
    half = nn.Upsample(scale_factor=(2.3, 0.7), mode="nearest")(x.reshape(1, 1, 1, 3).half())
    assert half.dtype.name == "float16"
    assert half.tolist() == [[[[0, 1], [0, 1]]]]


def test_identity_takes_anything():
    assert nn.Identity(3, some="thing")("x") == "x"


# ---- bad arguments

BAD_ARGUMENTS = {
    "Linear 0": (lambda: nn.Linear(0, 3), "E3006", "in_features is at least 1"),
    "Linear float": (lambda: nn.Linear(2.0, 3), "E2001", "in_features is a whole number"),
    "Bilinear": (lambda: nn.Bilinear(1, 0, 2), "E3006", "in2_features"),
    "Conv groups in": (lambda: nn.Conv2d(3, 4, 3, groups=2), "E3003", "in_channels=3"),
    "Conv groups out": (lambda: nn.Conv2d(4, 3, 3, groups=2), "E3003", "out_channels=3"),
    "Conv stride": (lambda: nn.Conv1d(1, 1, 3, stride=0), "E4010", "stride"),
    "Conv kernel": (lambda: nn.Conv2d(1, 1, (3, 3, 3)), "E2007", "kernel_size"),
    "Conv padding word": (lambda: nn.Conv1d(1, 1, 3, padding="full"), "E2008", "full"),
    "Conv padding": (lambda: nn.Conv1d(1, 1, 3, padding=-1), "E4010", "padding"),
    "Conv same": (lambda: nn.Conv1d(1, 1, 3, stride=2, padding="same"), "E3006", "stride 1"),
    "Conv mode": (lambda: nn.Conv1d(1, 1, 3, padding_mode="mirror"), "E2008", "mirror"),
    "Transpose mode": (
        lambda: nn.ConvTranspose1d(1, 1, 3, padding_mode="reflect"),
        "E2008",
        "reflect",
    ),
    "BatchNorm": (lambda: nn.BatchNorm1d(0), "E3006", "num_features"),
    "GroupNorm": (lambda: nn.GroupNorm(3, 4), "E3003", "4 channels do not divide into 3"),
    "LayerNorm": (lambda: nn.LayerNorm(()), "E3002", "at least one axis"),
    "Embedding": (lambda: nn.Embedding(0, 2), "E3006", "num_embeddings"),
    "Embedding padding": (lambda: nn.Embedding(3, 2, padding_idx=3), "E3004", "padding_idx 3"),
    "Dropout": (lambda: nn.Dropout(1.5), "E2006", "1.5"),
    "MaxPool padding": (lambda: nn.MaxPool2d(2, padding=2), "E3006", "half"),
    "MaxPool kernel": (lambda: nn.MaxPool2d(0), "E3006", "kernel_size"),
    "AvgPool divisor": (lambda: nn.AvgPool2d(2, divisor_override=0), "E3006", "divisor"),
    "Adaptive": (lambda: nn.AdaptiveAvgPool2d((1, 2, 3)), "E2007", "3 values"),
    "Adaptive 0": (lambda: nn.AdaptiveMaxPool1d(0), "E2008", "output_size"),
    "GELU": (lambda: nn.GELU("sigmoid"), "E2008", "approximate"),
    "Hardtanh": (lambda: nn.Hardtanh(1, -1), "E2006", "min_val"),
    "Upsample": (lambda: nn.Upsample(), "E2007", "size or scale_factor"),
    "Upsample mode": (lambda: nn.Upsample(2, mode="cubic"), "E2008", "cubic"),
}


@pytest.mark.parametrize(("build", "code", "text"), BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS)
def test_bad_arguments_are_errors_that_name_them(build, code, text):
    with pytest.raises(AdjointError, match=text) as error:
        build()
    assert error.value.code == code


# ---- bad input

BAD_INPUT = {
    "Linear features": (lambda: nn.Linear(4, 3), [floats(2, 5)], "E3003", "takes 4 features"),
    "Linear scalar": (lambda: nn.Linear(4, 3), [Tensor(1.0)], "E3003", "takes 4 features"),
    "Linear ints": (lambda: nn.Linear(2, 3), [Tensor([[1, 2]])], "E2005", "takes floats"),
    "Linear array": (lambda: nn.Linear(2, 3), [np.ones((1, 2))], "E2001", "takes a Tensor"),
    "Bilinear": (
        lambda: nn.Bilinear(2, 3, 1),
        [floats(4, 2), floats(5, 3)],
        "E3003",
        "more than their last",
    ),
    "Conv channels": (lambda: nn.Conv2d(3, 4, 3), [floats(2, 1, 5, 5)], "E3003", "takes 3 chan"),
    "Conv rank": (lambda: nn.Conv2d(3, 4, 3), [floats(3, 5)], "E3002", r"\(N, C, H, W\)"),
    "Conv kernel": (lambda: nn.Conv2d(1, 1, 7), [floats(1, 1, 5, 5)], "E3003", "spans"),
    "Conv ints": (lambda: nn.Conv1d(1, 1, 1), [Tensor([[[1, 2]]])], "E2005", "takes floats"),
    "Transpose channels": (
        lambda: nn.ConvTranspose2d(3, 4, 3),
        [floats(2, 4, 5, 5)],
        "E3003",
        "takes 3 chan",
    ),
    "BatchNorm rank": (lambda: nn.BatchNorm2d(3), [floats(2, 3)], "E3002", "rank 4"),
    "BatchNorm channels": (lambda: nn.BatchNorm1d(3), [floats(2, 4)], "E3003", "takes 3 chan"),
    "BatchNorm of one": (
        lambda: nn.BatchNorm1d(3).train(),
        [floats(1, 3)],
        "E3006",
        "has no variance",
    ),
    "InstanceNorm of one": (
        lambda: nn.InstanceNorm1d(3),
        [floats(2, 3, 1)],
        "E3006",
        "has no variance",
    ),
    "InstanceNorm channels": (
        lambda: nn.InstanceNorm1d(3, affine=True),
        [floats(2, 4, 5)],
        "E3003",
        "takes 3 chan",
    ),
    "LayerNorm": (lambda: nn.LayerNorm((3, 4)), [floats(4, 3)], "E3003", "end in"),
    "RMSNorm": (lambda: nn.RMSNorm(4), [floats(4, 3)], "E3003", "end in"),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), [floats(2, 6, 3)], "E3003", "takes 4 channels"),
    "Embedding float": (lambda: nn.Embedding(5, 3), [floats(2)], "E4011", "takes integers"),
    "Embedding high": (lambda: nn.Embedding(5, 3), [Tensor([[1, 5]])], "E6001", r"5 at \[0, 1\]"),
    "Embedding negative": (lambda: nn.Embedding(5, 3), [Tensor([-1])], "E6001", r"-1 at \[0\]"),
    "MaxPool rank": (lambda: nn.MaxPool2d(2), [floats(4)], "E3002", "rank 3 or 4"),
    "MaxPool size": (lambda: nn.MaxPool2d(5), [floats(1, 1, 4, 4)], "E3003", "does not fit"),
    "AvgPool ints": (lambda: nn.AvgPool1d(2), [Tensor([[1, 2]])], "E2005", "takes floats"),
    "Adaptive rank": (lambda: nn.AdaptiveAvgPool2d(1), [floats(2, 2)], "E3002", "rank"),
    "Dropout2d rank": (lambda: nn.Dropout2d(), [floats(2, 2)], "E3002", "rank 3 or 4"),
    "ReLU number": (lambda: nn.ReLU(), [1.0], "E2001", "takes a Tensor"),
    "Softmax axis": (lambda: nn.Softmax(dim=3), [floats(2, 2)], "E3004", "axis 3"),
    "PReLU channels": (lambda: nn.PReLU(3), [floats(2, 2)], "E3003", "takes 3 channels"),
    "Unflatten": (lambda: nn.Unflatten(1, (2, 3)), [floats(2, 5)], "E3007", "taken apart"),
    "Upsample": (lambda: nn.Upsample(scale_factor=2), [floats(2, 2)], "E3002", "rank 3 to 5"),
}


@pytest.mark.parametrize(("build", "given", "code", "text"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_an_error_that_names_the_layer(build, given, code, text):
    layer = build()
    with pytest.raises(AdjointError, match=text) as error:
        layer(*given)
    assert error.value.code == code


def test_an_error_shows_the_operand_and_the_users_line():
    with pytest.raises(ShapeError) as error:
        nn.Linear(4, 3)(Tensor.ones(2, 5))
    assert "Linear" in str(error.value)
    assert "f32[2, 5]" in str(error.value)
    assert "test_layers.py" in str(error.value)
    assert "make the layer for 5 features" in error.value.help


def test_a_bad_index_that_is_computed_is_found_when_it_runs():
    layer = nn.Embedding(5, 3)
    with pytest.raises(BoundsError, match=r"index 9 .* at \[1\]"):
        jit(lambda index: layer(index + 1))(Tensor([1, 8]))
    with pytest.raises(BoundsError, match="-1"):
        layer(Tensor([1, 0]) - 1).numpy()


def test_a_layer_of_another_dtype_promotes():
    assert nn.Linear(2, 2)(Tensor([[1.0, 2.0]], dtype="float64")).dtype.name == "float64"
    with pytest.raises(DTypeError):
        nn.Linear(2, 2)(Tensor([[True, False]]))
