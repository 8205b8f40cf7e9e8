"""Layers of images, distances and their losses: torch's values, derivatives, and errors."""

import numpy as np
import pytest

from adjoint import AdjointError, Tensor, check_grads, jit, nn

F = nn.functional
X = np.sin(np.arange(16.0) * 0.37).reshape(1, 1, 4, 4)
C = np.sin(np.arange(12.0) * 0.37).reshape(1, 6, 2)
GRID = np.array([[[[-0.9, -0.2], [0.3, 1.4], [-2.6, 0.1]]]])
LABELS = Tensor([[1.0, 0, 1], [0, 0, 1]])

# what torch 2.13 gives in float64: the result, and the gradient of its squares' sum
RECORDED = {
    "LPPool2d": (
        [1.4305923224, 1.4717606283, 1.409190478, 1.4719020003],
        [
            [
                0.0,
                0.7232308639,
                1.3485758233,
                1.7913973714,
                1.9917616891,
                1.922550406,
                1.5931309445,
                1.0480886834,
                0.3611925358,
                -0.3745893271,
                -1.0596722818,
                -1.6013335644,
                -1.9262618611,
                -1.9904796515,
                -1.7852953589,
                -1.3384797146,
            ]
        ],
    ),
    "LocalResponseNorm": (
        [
            0.0,
            0.2613828475,
            0.4680675062,
            0.6030863474,
            0.6598997112,
            0.6405897118,
            0.5441860712,
            0.3697989593,
            0.1303812044,
            -0.1351850925,
            -0.4037249877,
            -0.5912043658,
        ],
        [
            [
                0.0,
                0.3317140336,
                0.5219964376,
                0.5931707575,
                0.5982128328,
                0.599016188,
                0.571297538,
                0.4351198814,
                0.1609085538,
                -0.1638975883,
                -0.5815883196,
                -0.7737852034,
            ]
        ],
    ),
    "Softmax2d": (
        [
            0.2038719661,
            0.2941974315,
            0.4115188489,
            0.5339195729,
            0.5519033963,
            0.535880318,
            0.4650441675,
            0.3681869668,
            0.2442246376,
            0.1699222505,
            0.1234369836,
            0.0978934603,
        ],
        [
            [
                -0.0823377077,
                -0.0637796399,
                0.0087804289,
                0.1107399281,
                0.1612624032,
                0.1428516558,
                0.0597057538,
                -0.0456757402,
                -0.0789246955,
                -0.0790720158,
                -0.0684861827,
                -0.0650641879,
            ]
        ],
    ),
    "PixelUnshuffle": (
        [
            0.0,
            0.6742879116,
            0.1805962679,
            -0.5298361409,
            0.361615432,
            0.8956986857,
            -0.1872946635,
            -0.8006667822,
            0.9958808445,
            0.7965654722,
            -0.9631309306,
            -0.8926476794,
            0.961275203,
            0.5240443417,
            -0.9952398258,
            -0.6692398573,
        ],
        None,
    ),
    "ChannelShuffle": (
        [
            0.0,
            0.361615432,
            0.9958808445,
            0.961275203,
            0.1805962679,
            -0.1872946635,
            0.6742879116,
            0.8956986857,
            0.7965654722,
            0.5240443417,
            -0.5298361409,
            -0.8006667822,
        ],
        None,
    ),
    "UpsamplingNearest2d": (
        [
            0.0,
            0.0,
            0.361615432,
            0.361615432,
            0.0,
            0.0,
            0.361615432,
            0.361615432,
            0.6742879116,
            0.6742879116,
            0.8956986857,
            0.8956986857,
            0.6742879116,
            0.6742879116,
            0.8956986857,
            0.8956986857,
            0.9958808445,
            0.9958808445,
            0.961275203,
            0.961275203,
            0.9958808445,
            0.9958808445,
            0.961275203,
            0.961275203,
            0.7965654722,
            0.7965654722,
            0.5240443417,
            0.5240443417,
            0.7965654722,
            0.7965654722,
            0.5240443417,
            0.5240443417,
            0.1805962679,
            0.1805962679,
            -0.1872946635,
            -0.1872946635,
            0.1805962679,
            0.1805962679,
            -0.1872946635,
            -0.1872946635,
            -0.5298361409,
            -0.5298361409,
            -0.8006667822,
            -0.8006667822,
            -0.5298361409,
            -0.5298361409,
            -0.8006667822,
            -0.8006667822,
        ],
        None,
    ),
    "UpsamplingBilinear2d": (
        [
            0.0,
            0.1205384773,
            0.2410769546,
            0.361615432,
            0.3371439558,
            0.4343149902,
            0.5314860245,
            0.6286570588,
            0.6742879116,
            0.748091503,
            0.8218950943,
            0.8956986857,
            0.9958808445,
            0.9843456307,
            0.9728104168,
            0.961275203,
            0.8962231584,
            0.845035363,
            0.7938475677,
            0.7426597723,
            0.7965654722,
            0.7057250954,
            0.6148847185,
            0.5240443417,
            0.1805962679,
            0.0579659574,
            -0.0646643531,
            -0.1872946635,
            -0.1746199365,
            -0.281073532,
            -0.3875271274,
            -0.4939807229,
            -0.5298361409,
            -0.6201130213,
            -0.7103899018,
            -0.8006667822,
        ],
        [
            [
                1.1252852303,
                2.2527785269,
                3.6978105142,
                4.5137379043,
                5.6769587308,
                5.4294313206,
                4.668216807,
                3.8919883101,
                -0.09580709,
                -1.2681878113,
                -2.8512609117,
                -3.8079520994,
            ]
        ],
    ),
    "CosineSimilarity": (
        [0.5496077983, -0.1576483561, -0.9762255774],
        [
            [2.5394651309, 0.0, -0.2218716248, 0.1670264308, -0.2123462011, 0.2199906056],
            [-0.5293305334, 0.8046006659, -0.8614454239, -0.830636739, -0.3675966393, 0.2432547336],
        ],
    ),
    "PairwiseDistance": (
        [0.7089700749, 1.4489506932, 2.7713315462],
        [
            [-1.4054808074, -0.4207623025, 1.8549716103, 2.6184720991, 4.2451858697, 4.5431524565],
            [
                1.4054808074,
                0.4207623025,
                -1.8549716103,
                -2.6184720991,
                -4.2451858697,
                -4.5431524565,
            ],
        ],
    ),
    "grid_sample zeros": (
        [0.6400466708, 0.0, 0.0],
        [
            [
                0.0,
                0.0,
                0.0,
                0.0,
                0.8064588052,
                0.0,
                0.0,
                0.0,
                0.0896065339,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
            ],
            [2.3409128047, -1.4610965013, 0.0, 0.0, 0.0, 0.0],
        ],
    ),
    "grid_sample border": (
        [0.9143523869, -0.8703068972, 0.4251816409],
        [
            [
                0.0,
                0.0,
                0.0,
                0.0,
                1.9009432809,
                0.0,
                0.0,
                0.0,
                0.7781247746,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
                -1.566552415,
                -0.1740613794,
            ],
            [-0.0, -2.9818295945, -0.777733474, -0.0, -0.0, -1.3865761363],
        ],
    ),
    "grid_sample reflection": (
        [0.9143523869, -0.7762905896, -0.3218521086],
        [
            [
                0.0,
                0.0,
                0.0,
                0.0,
                1.6458342964,
                0.0,
                -0.0579333795,
                -0.1351778856,
                0.1828704774,
                0.0,
                -0.554374804,
                -0.3619925018,
                0.0,
                0.0,
                -0.9781261428,
                -0.1086806825,
            ],
            [-0.0, -2.9818295945, -0.2333103581, -0.9731196653, -0.3493225569, 1.7060971791],
        ],
    ),
    "affine_grid": (
        [-0.8, -0.35, -0.2, -0.15, 0.4, 0.05, -0.6, 0.75, 0.0, 0.95, 0.6, 1.15],
        [[3.2, 0.6, -1.2, 1.0666666667, 3.3, 4.8]],
    ),
    "MultiLabelSoftMarginLoss": (
        [0.8112208485],
        [[-0.1352034748, 0.1593863545, -0.091272451, 0.1920064511, 0.197464116, -0.0748007682]],
    ),
    "TripletMarginWithDistanceLoss": (
        [0.7923134152],
        [
            [-0.4311428776, -1.1613350334, 0.0, 0.0],
            [0.6787615743, 0.4087092772, 0.0, -0.0],
            [-0.2476186967, 0.7526257563, 0.0, 0.0],
        ],
    ),
}


def _grid(padding):
    return lambda x, grid: F.grid_sample(x, grid, "bilinear", padding, False)


CALLS = {
    "LPPool2d": (nn.LPPool2d(2, 2), X),
    "LocalResponseNorm": (nn.LocalResponseNorm(3, 0.7, 0.6, 1.5), C),
    "Softmax2d": (nn.Softmax2d(), C.reshape(3, 2, 2)),
    "PixelUnshuffle": (nn.PixelUnshuffle(2), X),
    "ChannelShuffle": (nn.ChannelShuffle(3), C),
    "UpsamplingNearest2d": (nn.UpsamplingNearest2d(scale_factor=2), C.reshape(1, 3, 2, 2)),
    "UpsamplingBilinear2d": (nn.UpsamplingBilinear2d(size=(3, 4)), C.reshape(1, 3, 2, 2)),
    "CosineSimilarity": (nn.CosineSimilarity(), C[0, :3], C[0, 3:]),
    "PairwiseDistance": (nn.PairwiseDistance(1.5, 0.1), C[0, :3], C[0, 3:]),
    "grid_sample zeros": (_grid("zeros"), X, GRID),
    "grid_sample border": (_grid("border"), X, GRID),
    "grid_sample reflection": (_grid("reflection"), X, GRID),
    "affine_grid": (
        lambda theta: F.affine_grid(theta, (1, 1, 2, 3), align_corners=False),
        np.array([[[0.9, 0.2, -0.1], [0.3, 1.1, 0.4]]]),
    ),
    "MultiLabelSoftMarginLoss": (
        lambda x: nn.MultiLabelSoftMarginLoss()(x, LABELS),
        C[0, :3].reshape(2, 3),
    ),
    "TripletMarginWithDistanceLoss": (
        nn.TripletMarginWithDistanceLoss(swap=True),
        C[0, :2],
        C[0, 2:4],
        C[0, 4:],
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_values_and_gradients_are_torchs(name):
    function, *arrays = CALLS[name]
    values, slopes = RECORDED[name]
    inputs = [Tensor(a, requires_grad=True) for a in arrays]
    y = function(*inputs)
    np.testing.assert_allclose(y.numpy().reshape(-1), values, rtol=1e-9, atol=1e-9)
    (y * y).sum().backward()
    for x, slope in zip(inputs, slopes or (), strict=slopes is not None):
        np.testing.assert_allclose(x.grad.numpy().reshape(-1), slope, rtol=1e-9, atol=1e-9)
    jitted = jit(function)(*(Tensor(a) for a in arrays))
    np.testing.assert_array_equal(jitted.numpy(), y.numpy())


@pytest.mark.parametrize("name", CALLS)
def test_both_modes_agree_with_finite_differences(name):
    function, *arrays = CALLS[name]
    check_grads(function, tuple(map(Tensor, arrays)), order=2)


def test_the_gradient_of_a_power_pool_is_zero_where_its_sum_is():
    x = Tensor(np.zeros((1, 1, 2, 2)), requires_grad=True)
    nn.LPPool2d(2, 2)(x).sum().backward()
    assert x.grad.tolist() == [[[[0, 0], [0, 0]]]]


def test_unpooling_puts_the_largest_elements_back():
    x = Tensor(X, requires_grad=True)
    kept, places = nn.MaxPool2d(2, return_indices=True)(x)
    back = nn.MaxUnpool2d(2)(kept, places)
    mask = back.numpy() != 0
    assert mask.sum() == 4
    np.testing.assert_array_equal(back.numpy()[mask], X[mask])
    back.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy() != 0, mask)
    assert F.max_unpool2d(kept, places, 2, output_size=(1, 1, 5, 5)).shape == (1, 1, 5, 5)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_a_nearest_sample_at_the_centres_is_the_picture(padding):
    theta = Tensor([[[1.0, 0, 0], [0, 1, 0]]])
    for aligned in (False, True):
        grid = F.affine_grid(theta, X.shape, aligned)
        found = F.grid_sample(Tensor(X), grid, "nearest", padding, aligned)
        np.testing.assert_array_equal(found.numpy(), X)


def test_points_that_are_no_numbers_read_zeros():
    grid = Tensor([[[[np.nan, 0.0], [np.inf, 0.0], [0.0, -np.inf]]]])
    x = Tensor(X, requires_grad=True)
    for mode in ("nearest", "bilinear"):
        points = Tensor(grid, requires_grad=True)
        y = F.grid_sample(x, points, mode)
        assert y.tolist() == [[[[0, 0, 0]]]]
        y.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), np.zeros_like(X))
    assert points.grad.tolist() == [[[[0, 0], [0, 0], [0, 0]]]]


class TestAlphaDropout:
    def test_dropped_elements_have_one_value_and_mean_and_variance_stay(self):
        Tensor.manual_seed(0)
        x = Tensor.randn(4, 5, 20_000).realize()
        y = nn.AlphaDropout(0.3).train()(x).numpy()
        values, counts = np.unique(y, return_counts=True)
        assert counts.max() / y.size == pytest.approx(0.3, abs=0.01)
        limit = -1.7580993408473766
        scale = (0.7 * (1 + 0.3 * limit**2)) ** -0.5
        assert values[counts.argmax()] == pytest.approx(scale * limit * 0.7, rel=1e-5)
        assert y.mean() == pytest.approx(0, abs=0.01)
        assert y.var() == pytest.approx(1, abs=0.01)

    def test_features_are_dropped_whole(self):
        Tensor.manual_seed(0)
        x = Tensor.randn(50, 40, 3).realize()
        y = nn.FeatureAlphaDropout(0.5).train()(x).numpy()
        equal = (y == y[..., :1]).all(-1)
        assert equal.mean() == pytest.approx(0.5, abs=0.05)

    def test_it_does_nothing_while_predicting_and_all_at_one(self):
        x = Tensor([[1.0, -2.0]])
        assert nn.AlphaDropout(0.5).eval()(x) is x
        assert nn.AlphaDropout(0.0).train()(x) is x
        assert nn.AlphaDropout(1.0).train()(x).tolist() == [[0, 0]]


WRONG = {
    "channels": lambda: nn.ChannelShuffle(4)(Tensor(C)),
    "groups": lambda: nn.ChannelShuffle(0),
    "no channels": lambda: nn.ChannelShuffle(1)(Tensor([[1.0]])),
    "unshuffle": lambda: nn.PixelUnshuffle(3)(Tensor(X)),
    "norm type": lambda: nn.LPPool1d(0, 2),
    "neighbours": lambda: nn.LocalResponseNorm(0),
    "rank of a response norm": lambda: nn.LocalResponseNorm(2)(Tensor([[1.0]])),
    "rank of upsampling": lambda: nn.UpsamplingNearest2d(scale_factor=2)(Tensor(C)),
    "rank of softmax": lambda: nn.Softmax2d()(Tensor([1.0])),
    "integers": lambda: nn.CosineSimilarity()(Tensor([[1]]), Tensor([[1]])),
    "features": lambda: nn.FeatureAlphaDropout().train()(Tensor([1.0])),
    "mode": lambda: F.grid_sample(Tensor(X), Tensor(GRID), "bicubic"),
    "padding": lambda: F.grid_sample(Tensor(X), Tensor(GRID), padding_mode="wrap"),
    "points": lambda: F.grid_sample(Tensor(X), Tensor(GRID[..., :1])),
    "batches": lambda: F.grid_sample(Tensor(X), Tensor(GRID).repeat(2, 1, 1, 1)),
    "maps": lambda: F.affine_grid(Tensor.ones(1, 2, 2), (1, 1, 2, 2)),
    "statistics": lambda: F.instance_norm(Tensor(C), use_input_stats=False),
    "weight": lambda: F.bilinear(Tensor(C), Tensor(C), Tensor(C[0])),
    "class weights": lambda: F.multilabel_soft_margin_loss(
        Tensor(C[0]), Tensor(C[0]).sigmoid(), Tensor([1.0])
    ),
    "reduction": lambda: nn.TripletMarginWithDistanceLoss(reduction="max"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_names_what_is_wrong(name):
    with pytest.raises(AdjointError):
        WRONG[name]()
