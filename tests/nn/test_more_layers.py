"""Padding layers, Fold and Unfold, EmbeddingBag, CTC, BatchNorm of any rank, hooks, functional."""

import itertools

import numpy as np
import pytest

from adjoint import AdjointError, Tensor, dtypes, grad, jit, nn
from adjoint.nn import functional as F  # noqa: N812 - as torch's users write it

RNG = np.random.default_rng(0)

# ---- padding

MODES = {"Reflection": "reflect", "Replication": "edge", "Circular": "wrap", "Zero": "constant"}


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("kind", [*MODES, "Constant"])
@pytest.mark.parametrize("batched", [True, False])
def test_padding_layers_are_numpys_pad(kind, rank, batched):
    x = RNG.standard_normal((*((2,) if batched else ()), 3, *range(4, 4 + rank)))
    sides = [(1, 2), (2, 0), (0, 1)][:rank]
    flat = [n for pair in sides for n in pair]
    named = getattr(nn, f"{kind}Pad{rank}d")
    layer = named(tuple(flat), 1.5) if kind == "Constant" else named(tuple(flat))
    amounts = [(0, 0)] * (x.ndim - rank) + sides[::-1]
    more = {"constant_values": 1.5} if kind == "Constant" else {}
    wanted = np.pad(x, amounts, MODES.get(kind, "constant"), **more)
    np.testing.assert_array_equal(layer(Tensor(x)).numpy(), wanted)
    one = named(1, 0.0) if kind == "Constant" else named(1)
    assert one(Tensor(x)).shape[-1] == x.shape[-1] + 2


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: nn.ZeroPad2d((1, 2)),
        lambda: nn.ZeroPad1d(1.5),
        lambda: nn.ReflectionPad1d((True, False)),
        lambda: nn.ZeroPad2d(1)(Tensor.ones(3)),
        lambda: nn.ReflectionPad1d(4)(Tensor.ones(1, 1, 3)),
    ],
)
def test_padding_that_does_not_fit_is_refused(wrong):
    with pytest.raises(AdjointError):
        wrong()


# ---- blocks


def unfold_by_hand(x, k, d, p, s):
    x = np.pad(x, ((0, 0), (0, 0), (p, p), (p, p)))
    reach = (k - 1) * d + 1
    rows, columns = ((n - reach) // s + 1 for n in x.shape[2:])
    parts = [
        x[:, :, i * s : i * s + reach : d, j * s : j * s + reach : d].reshape(len(x), -1)
        for i in range(rows)
        for j in range(columns)
    ]
    return np.stack(parts, -1)


BLOCKS = [(2, 1, 0, 1), (3, 1, 1, 2), (2, 2, 1, 1), (1, 1, 0, 3)]


@pytest.mark.parametrize("options", BLOCKS)
def test_unfold_gives_the_blocks_as_columns(options):
    x = RNG.standard_normal((2, 3, 6, 7))
    layer = nn.Unfold(*options)
    np.testing.assert_array_equal(layer(Tensor(x)).numpy(), unfold_by_hand(x, *options))
    np.testing.assert_array_equal(layer(Tensor(x[0])).numpy(), unfold_by_hand(x[:1], *options)[0])


@pytest.mark.parametrize("options", BLOCKS)
def test_fold_is_unfold_transposed(options):
    x = RNG.standard_normal((2, 3, 6, 7))
    columns = Tensor(RNG.standard_normal(unfold_by_hand(x, *options).shape))
    back = nn.Fold((6, 7), *options)(columns)
    assert back.shape == x.shape
    left = (nn.Unfold(*options)(Tensor(x)) * columns).sum().item()
    assert left == pytest.approx((Tensor(x) * back).sum().item())
    slope = grad(lambda c: (nn.Fold((6, 7), *options)(c) * Tensor(x)).sum())(columns)
    np.testing.assert_allclose(slope.numpy(), unfold_by_hand(x, *options), rtol=1e-12)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: F.unfold(Tensor.ones(1, 1, 2, 2), 3),
        lambda: F.unfold(Tensor.ones(1, 1, 2, 2), 0),
        lambda: F.fold(Tensor.ones(1, 5, 4), (3, 3), 2),
        lambda: F.fold(Tensor.ones(1, 4, 5), (3, 3), 2),
    ],
)
def test_blocks_that_do_not_fit_are_refused(wrong):
    with pytest.raises(AdjointError):
        wrong()


# ---- bags


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_are_reduced_rows(mode):
    layer = nn.EmbeddingBag(10, 4, mode=mode)
    w = layer.weight.numpy()
    reduce = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode]
    index = np.array([[1, 2, 2], [9, 0, 1]])
    wanted = np.stack([reduce(w[row], 0) for row in index])
    np.testing.assert_allclose(layer(Tensor(index)).numpy(), wanted, rtol=1e-6)
    flat, offsets = Tensor([1, 2, 2, 9]), Tensor([0, 0, 3])
    rows = [np.zeros(4), reduce(w[[1, 2, 2]], 0), w[9]]
    np.testing.assert_allclose(layer(flat, offsets).numpy(), np.stack(rows), rtol=1e-6)
    last = nn.functional.embedding_bag(
        flat, layer.weight, Tensor([0, 0, 3, 4]), mode, include_last_offset=True
    )
    np.testing.assert_allclose(last.numpy(), np.stack(rows), rtol=1e-6)


def test_bags_leave_padding_out_and_weigh_samples():
    w = Tensor(RNG.standard_normal((5, 3)))
    index = Tensor([[1, 0, 2]])
    kept = F.embedding_bag(index, w, padding_idx=0)
    np.testing.assert_allclose(kept.numpy()[0], w.numpy()[[1, 2]].mean(0))
    weights = Tensor(np.array([[1.0, 2.0, 3.0]]))
    found = F.embedding_bag(index, w, mode="sum", per_sample_weights=weights)
    np.testing.assert_allclose(found.numpy(), (weights.numpy() @ w.numpy()[[1, 0, 2]]))
    slope = grad(lambda v: F.embedding_bag(index, v, mode="sum").sum())(w).numpy()
    assert slope.sum(1).tolist() == [3, 3, 3, 0, 0]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda w: F.embedding_bag(Tensor([[1]]), w, mode="min"),
        lambda w: F.embedding_bag(Tensor([1]), w),
        lambda w: F.embedding_bag(Tensor([[1.0]]), w),
        lambda w: F.embedding_bag(Tensor([[7]]), w),
        lambda w: F.embedding_bag(Tensor([[1]]), w, per_sample_weights=Tensor([[1.0]])),
    ],
)
def test_bags_that_cannot_be_are_refused(wrong):
    with pytest.raises(AdjointError):
        wrong(Tensor.ones(5, 3))


# ---- CTC


def ctc_by_hand(log_probs, target, blank):
    """The sum over all paths that spell the target, one by one."""
    total = 0.0
    for path in itertools.product(range(log_probs.shape[1]), repeat=len(log_probs)):
        merged = [c for c, _ in itertools.groupby(path) if c != blank]
        if merged == list(target):
            total += np.exp(sum(row[c] for row, c in zip(log_probs, path, strict=True)))
    return -np.log(total) if total else np.inf


def _sequences(seed=0, times=5, count=4, classes=3):
    x = np.random.default_rng(seed).standard_normal((times, count, classes))
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


TARGETS = np.array([[1, 1, 0], [2, 1, 2], [1, 0, 0], [0, 0, 0]])
TIMES, SIZES = [5, 4, 3, 5], [2, 3, 1, 0]


@pytest.mark.parametrize("blank", [0, 2])
def test_ctc_is_the_sum_over_all_paths(blank):
    x = _sequences()
    targets = TARGETS if blank == 0 else np.array([[1, 1, 0], [0, 1, 0], [1, 0, 0], [0, 0, 0]])
    got = F.ctc_loss(Tensor(x), Tensor(targets), TIMES, SIZES, blank, reduction="none").numpy()
    wanted = [
        ctc_by_hand(x[:t, n], targets[n][:s], blank)
        for n, (t, s) in enumerate(zip(TIMES, SIZES, strict=True))
    ]
    np.testing.assert_allclose(got, wanted, rtol=1e-10)


def test_ctc_has_the_gradient_of_differences():
    x = _sequences(1)
    f = lambda v: F.ctc_loss(v, Tensor(TARGETS), TIMES, SIZES, reduction="sum")  # noqa: E731
    slope = grad(f)(Tensor(x)).numpy()
    for place in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-5
        around = (f(Tensor(x + step)).item() - f(Tensor(x - step)).item()) / 2e-5
        assert slope[place] == pytest.approx(around, abs=1e-7)


def test_ctc_reduces_as_torch_does_and_runs_jitted():
    x = Tensor(_sequences(2))
    each = F.ctc_loss(x, Tensor(TARGETS), TIMES, SIZES, reduction="none").numpy()
    mean = nn.CTCLoss()(x, Tensor(TARGETS), Tensor(TIMES), Tensor(SIZES)).item()
    assert mean == pytest.approx((each / np.maximum(SIZES, 1)).mean())
    joined = Tensor(np.concatenate([row[:n] for row, n in zip(TARGETS, SIZES, strict=True)]))
    assert F.ctc_loss(x, joined, TIMES, SIZES).item() == pytest.approx(mean)
    jitted = jit(lambda v: F.ctc_loss(v, Tensor(TARGETS), TIMES, SIZES, reduction="sum"))
    assert jitted(x).item() == pytest.approx(each.sum())
    alone = F.ctc_loss(x[:, 0], Tensor(TARGETS[0]), [5], [2], reduction="none")
    assert alone.item() == pytest.approx(each[0])


def test_a_target_that_does_not_fit_is_infinite_or_nothing():
    x, short = Tensor(_sequences(3)), [1, 4, 3, 5]
    each = F.ctc_loss(x, Tensor(TARGETS), short, SIZES, reduction="none").numpy()
    assert np.isinf(each[0])
    assert np.isfinite(each[1:]).all()
    f = lambda v: F.ctc_loss(  # noqa: E731
        v, Tensor(TARGETS), short, SIZES, reduction="sum", zero_infinity=True
    )
    assert np.isfinite(f(x).item())
    slope = grad(f)(x).numpy()
    assert np.isfinite(slope).all()
    assert (slope[:, 0] == 0).all()


def test_a_sequence_without_steps_spells_the_empty_target_and_no_other():
    x = Tensor(_sequences(4))
    times = [0, 4, 3, 0]
    each = F.ctc_loss(x, Tensor(TARGETS), times, SIZES, reduction="none")
    assert (each[0].item(), each[3].item()) == (np.inf, 0)
    f = lambda v: F.ctc_loss(v, Tensor(TARGETS), times, SIZES, zero_infinity=True)  # noqa: E731
    assert (grad(f)(x)[:, ::3] == 0).all().item()


def test_targets_may_all_be_empty():
    x = _sequences(5)
    wanted = [-x[:t, n, 0].sum() for n, t in enumerate(TIMES)]
    for shape in ((4, 0), (0,)):
        targets = Tensor.zeros(*shape, dtype="int64")
        got = F.ctc_loss(Tensor(x), targets, TIMES, [0] * 4, reduction="none")
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-12)


def test_what_lies_behind_a_target_may_be_anything():
    x, behind = Tensor(_sequences(6)), np.arange(3) >= np.array(SIZES)[:, None]
    wanted = F.ctc_loss(x, Tensor(TARGETS), TIMES, SIZES)
    got = F.ctc_loss(x, Tensor(np.where(behind, -100, TARGETS)), TIMES, SIZES)
    assert got.item() == wanted.item()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: F.ctc_loss(x, Tensor(TARGETS), [9, 4, 3, 5], SIZES),
        lambda x: F.ctc_loss(x, Tensor(TARGETS), TIMES, [1, 2]),
        lambda x: F.ctc_loss(x, Tensor(TARGETS), TIMES, SIZES, blank=3),
        lambda x: F.ctc_loss(x, Tensor([[1.0]]), TIMES, SIZES),
        lambda x: nn.CTCLoss(reduction="max"),
    ],
)
def test_wrong_ctc_calls_are_refused(wrong):
    with pytest.raises(AdjointError):
        wrong(Tensor(_sequences()))


# ---- batch norm


@pytest.mark.parametrize("shape", [(8, 3), (4, 3, 5), (2, 3, 4, 5), (2, 3, 2, 2, 2, 2)])
def test_batch_norm_takes_any_rank(shape):
    x = RNG.standard_normal(shape)
    layer = nn.BatchNorm(3).train().double()
    axes = (0, *range(2, len(shape)))
    wanted = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)
    np.testing.assert_allclose(layer(Tensor(x)).numpy(), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: nn.BatchNorm2d(32, 1e-5, True, True, 0.1),
        lambda: nn.BatchNorm2d(32, 1e-5, 0.1, 1.0),
        lambda: nn.InstanceNorm2d(32, True),
    ],
)
def test_options_of_norms_in_another_order_are_refused(wrong):
    with pytest.raises(AdjointError, match=r"number|True or False"):
        wrong()


# ---- hooks


def test_forward_hooks_see_and_replace():
    layer, seen = nn.Linear(3, 2), []
    x = Tensor(RNG.standard_normal((4, 3)).astype(np.float32))
    plain = layer(x).numpy()
    before = layer.register_forward_pre_hook(lambda m, args: seen.append(args) or (args[0] * 2,))
    after = layer.register_forward_hook(lambda m, args, y: seen.append(y) or y + 1)
    assert not np.allclose(layer(x).numpy(), plain)
    np.testing.assert_allclose(layer(x).numpy(), layer.forward(x * 2).numpy() + 1, rtol=1e-6)
    assert len(seen) == 4
    before.remove()
    with after:
        np.testing.assert_allclose(layer(x).numpy(), plain + 1, rtol=1e-6)
    np.testing.assert_array_equal(layer(x).numpy(), plain)
    assert list(layer.state_dict()) == ["weight", "bias"]


def test_backward_hooks_see_gradients_and_replace_them():
    layer, seen = nn.Linear(3, 2), []
    x = Tensor(np.ones((4, 3), np.float32), requires_grad=True)
    layer(x).sum().backward()
    plain = x.grad.numpy()
    x.grad = None

    def hook(module, inward, outward):
        seen.append((module, inward[0].shape, outward[0].shape))
        return (inward[0] * 10,)

    handle = layer.register_full_backward_hook(hook)
    layer(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 10 * plain, rtol=1e-6)
    assert seen == [(layer, (4, 3), (4, 2))]
    handle.remove()
    x.grad = None
    layer(x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), plain)


def test_hooks_may_read_values_and_keep_them():
    layer, seen = nn.Linear(3, 2), []
    x = Tensor(np.ones((4, 3), np.float32), requires_grad=True)
    layer.register_full_backward_hook(lambda m, inward, outward: seen.append(outward[0].numpy()))
    layer.register_forward_hook(lambda m, args, y: seen.append(y))
    y = layer(x)
    y.sum().backward()
    np.testing.assert_array_equal(seen[0].numpy(), y.numpy())
    assert (seen[1] == 1).all()


def test_jit_traces_again_when_a_hook_comes_or_goes():
    layer, x = nn.Linear(3, 2), Tensor.ones(1, 3)
    f = jit(lambda m, v: m(v))
    plain = f(layer, x).numpy()
    handle = layer.register_forward_hook(lambda m, args, y: y * 0)
    assert (f(layer, x).numpy() == 0).all()
    handle.remove()
    np.testing.assert_array_equal(f(layer, x).numpy(), plain)


def test_a_hook_is_a_function():
    with pytest.raises(AdjointError, match="function"):
        nn.Linear(1, 1).register_forward_hook(3)


# ---- functions, names


def test_functions_have_torchs_defaults():
    x = Tensor(RNG.standard_normal((2, 3)))
    layer = nn.Linear(3, 4).double()
    np.testing.assert_allclose(
        F.linear(x, layer.weight, layer.bias).numpy(), layer(x).numpy(), rtol=1e-12
    )
    np.testing.assert_allclose(F.gelu(x).numpy(), nn.GELU()(x).numpy(), rtol=1e-12)
    np.testing.assert_allclose(F.selu(x).numpy(), nn.SELU()(x).numpy(), rtol=1e-12)
    np.testing.assert_allclose(F.layer_norm(x, 3).numpy(), nn.LayerNorm(3).double()(x).numpy())
    image, kernel = Tensor.rand(1, 2, 5, 5), Tensor.rand(3, 2, 3, 3)
    assert F.conv2d(image, kernel, stride=2, padding=1).shape == (1, 3, 3, 3)
    assert F.conv2d(image[0], kernel).shape == (3, 3, 3)
    assert F.conv1d(Tensor.rand(1, 2, 5), Tensor.rand(3, 2, 3)).shape == (1, 3, 3)
    assert F.dropout(x, 0.5, training=False).tolist() == x.tolist()
    with pytest.raises(AdjointError, match="inplace"):
        F.relu(x, inplace=True)
    for name in F.__all__:
        assert callable(getattr(F, name))


def test_the_report_of_a_load_is_printed_when_asked_for(capsys):
    layer = nn.Linear(2, 2)
    layer.load_state_dict(layer.state_dict())
    assert capsys.readouterr().out == ""
    layer.load_state_dict(layer.state_dict(), verbose=True)
    assert capsys.readouterr().out


def test_tinygrads_facts_about_dtypes():
    assert dtypes.min("int8") == -128
    assert dtypes.max(dtypes.uint16) == 65535
    assert dtypes.fields()["float32"] is dtypes.float32
    assert dtypes.finfo("float16") == (5, 10)
    assert dtypes.finfo("bfloat16") == (8, 7)
    assert dtypes.float64 in dtypes.floats
    assert dtypes.uint8 in dtypes.ints
    assert len(dtypes.all) == len(dtypes.fields())


def test_infinities_can_be_told_apart():
    x = Tensor([np.inf, -np.inf, 1.0, np.nan])
    assert x.isinf().tolist() == [True, True, False, False]
    assert x.isinf(detect_negative=False).tolist() == [True, False, False, False]
    assert x.isinf(detect_positive=False).tolist() == [False, True, False, False]
    assert not x.isinf(False, False).any().item()
