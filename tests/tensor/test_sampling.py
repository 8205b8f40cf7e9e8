"""Draws: their distributions within five sigma at fixed seeds, their options, their errors.

A Kolmogorov-Smirnov distance above 2.75 / sqrt(n) has a probability of 5e-7 (five sigma); for
counts the bound is conservative.
"""

import math

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, dtypes
from adjoint.ir.values import is_known

N = 20000


@pytest.fixture(autouse=True)
def _seeded():
    Tensor.manual_seed(1234)


def distance(draws, cdf):
    """The Kolmogorov-Smirnov distance times the square root of the number of draws."""
    x = np.sort(np.asarray(draws, np.float64).reshape(-1))
    f, n = np.array([cdf(v) for v in x]), len(x)
    up, down = np.arange(1, n + 1) / n - f, f - np.arange(n) / n
    return max(up.max(), down.max()) * math.sqrt(n)


def discrete_distance(draws, pmf):
    """The same for counts, compared at every count up to the largest."""
    x = np.asarray(draws, np.int64).reshape(-1)
    counts = np.bincount(x)
    exact = np.cumsum([pmf(k) for k in range(len(counts))])
    return np.abs(np.cumsum(counts) / len(x) - exact).max() * math.sqrt(len(x))


def near(value, expected, sigma):
    assert abs(value - expected) < 5 * sigma, (value, expected, sigma)


def shares(indices, weights):
    """The observed shares of categories are within five sigma of their weights."""
    p = np.asarray(weights, float) / np.sum(weights)
    got = np.bincount(np.asarray(indices).reshape(-1), minlength=len(p)) / np.size(indices)
    for value, expected in zip(got, p, strict=True):
        near(value, expected, math.sqrt(expected * (1 - expected) / np.size(indices)) + 1e-12)


def poisson_pmf(rate):
    return lambda k: math.exp(k * math.log(rate) - rate - math.lgamma(k + 1))


def erlang_cdf(order):
    return lambda x: (
        1 - sum(math.exp(k * math.log(x) - x - math.lgamma(k + 1)) for k in range(order))
    )


# ---- dropout


def test_dropout_is_the_identity_outside_training():
    x = Tensor([1.0, 2.0])
    assert x.dropout(0.5) is x


def test_dropout_keeps_a_share_and_divides_it():
    x = Tensor(np.full(N, 3.0, np.float32))
    with Tensor.train():
        y = x.dropout(0.25).numpy()
    assert set(np.unique(y)) == {0.0, 4.0}
    near((y == 0).mean(), 0.25, math.sqrt(0.25 * 0.75 / N))


def test_dropout_draws_anew_each_time():
    x = Tensor.ones(100)
    with Tensor.train():
        assert x.dropout().tolist() != x.dropout().tolist()


def test_dropout_of_zero_and_one():
    x = Tensor([np.nan, np.inf, 1.0])
    with Tensor.train():
        assert x.dropout(0) is x
        assert x.dropout(1).tolist() == [0, 0, 0]
        assert x.dropout(1.0).dtype is x.dtype


def test_what_dropout_removes_is_zero_even_if_it_was_nan():
    with Tensor.train():
        y = Tensor(np.full(100, np.nan, np.float32)).dropout(0.5).numpy()
    assert set(np.isnan(y)) == {True, False}
    assert (y[~np.isnan(y)] == 0).all()


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan"), "half"])
def test_dropout_wants_a_probability(p):
    with pytest.raises(adjoint.ArgumentError, match="from 0 to 1") as caught:
        Tensor.ones(3).dropout(p)
    assert caught.value.code == "E2006"


@pytest.mark.parametrize("p", [0.5, 1.0])
def test_gradient_of_dropout_follows_what_it_kept(p):
    x = Tensor(np.ones(50, np.float32), requires_grad=True)
    with Tensor.train():
        y = x.dropout(p)
    y.backward(Tensor.ones(50))
    np.testing.assert_array_equal(x.grad.numpy(), y.numpy())


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16, dtypes.float64])
def test_dropout_keeps_the_dtype(dtype):
    with Tensor.train():
        assert Tensor.ones(3, dtype=dtype).dropout().dtype is dtype


# ---- distributions


def test_a_seed_fixes_every_draw_and_draws_are_lazy():
    def all_draws():
        Tensor.manual_seed(7)
        x = Tensor.full((2, 3), 0.5)
        draws = [x.bernoulli(), x.poisson(), x.exponential(), x.gamma(2.0), x.cauchy()]
        draws += [x.log_normal(), x.geometric(0.5), x.multinomial(2)]
        assert not any(is_known(d.uop) for d in draws)
        return [d.tolist() for d in draws]

    assert all_draws() == all_draws()


@pytest.mark.parametrize("p", [0.0, 0.1, 0.75, 1.0])
def test_bernoulli_shares(p):
    for draw in (Tensor.full((N,), p).bernoulli(), Tensor.zeros(N).bernoulli(p)):
        values = draw.numpy()
        assert set(np.unique(values)) <= {0.0, 1.0}
        near(values.mean(), p, math.sqrt(p * (1 - p) / N) + 1e-12)


def test_bernoulli_of_a_tensor_of_probabilities_keeps_the_dtype():
    p = Tensor([0.0, 1.0, 0.0])
    assert Tensor.zeros(2, 3, dtype=dtypes.int8).bernoulli(p).tolist() == [[0, 1, 0], [0, 1, 0]]
    assert Tensor.zeros(2, 3, dtype=dtypes.bool).bernoulli(p).dtype is dtypes.bool


def test_exponential_has_its_distribution():
    draws = Tensor.empty(N).exponential(2.5).numpy()
    assert (draws >= 0).all()
    assert distance(draws, lambda x: 1 - math.exp(-2.5 * x)) < 2.75


def test_exponential_gradient_reaches_its_rate():
    rate = Tensor([2.0], requires_grad=True)
    y = Tensor.empty(5).exponential(rate)
    y.backward(Tensor.ones(5))
    np.testing.assert_allclose(rate.grad.numpy(), [-y.numpy().sum() / 2], rtol=1e-5)


def test_log_normal_has_its_distribution():
    draws = np.log(Tensor.empty(N).log_normal(0.5, 1.5).numpy().astype(np.float64))
    assert distance(draws, lambda x: 0.5 * (1 + math.erf((x - 0.5) / 1.5 / math.sqrt(2)))) < 2.75


def test_cauchy_has_its_distribution():
    draws = Tensor.empty(N).cauchy(1.0, 2.0).numpy()
    assert distance(draws, lambda x: 0.5 + math.atan((x - 1) / 2) / math.pi) < 2.75


@pytest.mark.parametrize("p", [0.05, 0.5, 1.0])
def test_geometric_has_its_distribution(p):
    draws = Tensor.empty(N).geometric(p).numpy()
    assert draws.min() >= 1
    assert discrete_distance(draws, lambda k: p * (1 - p) ** (k - 1) if k else 0) < 2.75


@pytest.mark.parametrize("order", [1, 2, 5, 40])
def test_gamma_of_a_whole_shape_is_erlang(order):
    draws = Tensor.empty(N, dtype=dtypes.float64).gamma(order, 3.0).numpy()
    assert distance(draws * 3, erlang_cdf(order)) < 2.75


def test_gamma_of_one_half_is_chi_square():
    draws = Tensor.empty(N, dtype=dtypes.float64).gamma(0.5).numpy()
    assert distance(draws, lambda x: math.erf(math.sqrt(x))) < 2.75


@pytest.mark.parametrize("alpha", [0.05, 0.9, 7.3, 1e6])
def test_gamma_mean_and_variance(alpha):
    draws = Tensor.empty(N, dtype=dtypes.float64).gamma(alpha, 0.5).numpy()
    assert (draws > 0).all()
    near(draws.mean(), alpha * 2, math.sqrt(alpha * 4 / N))
    fourth = (3 + 6 / alpha - 1) * (alpha * 4) ** 2  # Var of s² ≈ (κ - 1) σ⁴ / n
    near(draws.var(), alpha * 4, math.sqrt(fourth / N))


def test_gamma_takes_tensors_that_broadcast():
    alpha = Tensor([[1.0], [1000.0]])
    draws = Tensor.empty(2, 500).gamma(alpha, Tensor(2.0))
    assert draws.shape == (2, 500)
    assert draws.dtype is dtypes.float32
    means = draws.numpy().mean(1)
    near(means[0], 0.5, math.sqrt(0.25 / 500))
    near(means[1], 500, math.sqrt(250 / 500))


@pytest.mark.parametrize("rate", [0.01, 1.0, 9.99, 10.0, 11.5, 40.0, 300.0])
def test_poisson_has_its_distribution(rate):
    draws = Tensor(np.full(N, rate)).poisson().numpy()
    assert (draws == np.floor(draws)).all()
    assert discrete_distance(draws, poisson_pmf(rate)) < 2.75


def test_poisson_of_a_large_rate_has_its_mean_and_variance():
    draws = Tensor(np.full(N, 1e8)).poisson().numpy()
    near(draws.mean(), 1e8, math.sqrt(1e8 / N))
    near(draws.var(), 1e8, 1e8 * math.sqrt(2 / N))


def test_poisson_corners():
    rates = Tensor([0.0, -0.0, -1.0, np.nan, np.inf])
    got = rates.poisson()
    assert got.dtype is dtypes.float32
    np.testing.assert_array_equal(got.numpy(), [0, 0, np.nan, np.nan, np.inf])


def test_draws_of_size_zero_and_of_a_scalar():
    empty, scalar = Tensor.zeros(0, 3), Tensor(0.5)
    for x in (empty, scalar):
        for draw in (x.bernoulli(), x.poisson(), x.exponential(), x.gamma(), x.geometric(0.5)):
            assert draw.numpy().shape == x.shape


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda x: x.exponential(0.0), "E2006"),
        (lambda x: x.gamma(-1.0), "E2006"),
        (lambda x: x.gamma(1.0, 0), "E2006"),
        (lambda x: x.log_normal(std=0.0), "E2006"),
        (lambda x: x.cauchy(sigma=-1.0), "E2006"),
        (lambda x: x.geometric(0.0), "E2006"),
        (lambda x: x.bernoulli(1.5), "E2006"),
        (lambda x: x.cast("int32").bernoulli(), "E2005"),
        (lambda x: x.cast("int32").poisson(), "E2005"),
        (lambda x: x.cast("complex64").exponential(), "E2005"),
        (lambda x: x.gamma(Tensor([1.0, 2.0])), "E3001"),
        (lambda x: x.multinomial(0), "E3006"),
        (lambda x: x.multinomial(True), "E3006"),
        (lambda x: x.multinomial(4), "E3006"),
        (lambda x: x.reshape(1, 1, 3).multinomial(), "E3002"),
        (lambda x: x.shrink(((0, 0),)).multinomial(), "E3006"),
        (lambda x: x.cast("complex64").multinomial(), "E2005"),
    ],
)
def test_wrong_parameters_are_errors_at_the_call(call, code):
    with pytest.raises(adjoint.AdjointError) as caught:
        call(Tensor([0.1, 0.2, 0.3]))
    assert caught.value.code == code


# ---- multinomial


@pytest.mark.parametrize(
    ("weights", "count", "says"),
    [
        ([0.0, 0.0], 1, "fewer than 1 weights are above"),
        ([[0.5, 0.5], [0.0, 1.0]], 2, "fewer than 2 weights of row 1"),
        ([-1.0, 2.0], 1, "-1.0 at .0."),
        ([[1.0, 2.0], [3.0, np.nan]], 1, "nan at .1, 1."),
        ([1.0, np.inf], 1, "inf at .1."),
    ],
)
def test_weights_that_make_no_distribution_are_an_error(weights, count, says):
    with pytest.raises(adjoint.ArgumentError, match=says):
        Tensor(weights).multinomial(count)


@pytest.mark.parametrize("weights", [[1, 2, 3, 4], [0.0, 5.0, 0.0, 2.5, 0.0], [3.0]])
def test_multinomial_with_replacement_has_the_shares_of_the_weights(weights):
    got = Tensor(weights).multinomial(N, replacement=True)
    assert got.shape == (N,)
    assert got.dtype is dtypes.int64
    shares(got.numpy(), weights)


def test_multinomial_rows_have_their_own_weights():
    got = Tensor([[1.0, 0.0], [1.0, 3.0]]).multinomial(N, replacement=True).numpy()
    assert got.shape == (2, N)
    assert (got[0] == 0).all()
    shares(got[1], [1, 3])


def test_multinomial_without_replacement_takes_each_index_once():
    got = Tensor(np.ones((200, 5), np.float32)).multinomial(5).numpy()
    assert (np.sort(got, 1) == np.arange(5)).all()


def test_multinomial_without_replacement_draws_first_by_weight_and_leaves_out_zeros():
    weights = np.tile([1.0, 0.0, 2.0, 5.0], (N, 1))
    got = Tensor(weights).multinomial(2).numpy()
    shares(got[:, 0], weights[0])
    assert not (got == 1).any()


def test_one_sample_of_multinomial():
    got = Tensor(np.tile([1.0, 3.0], (N, 1))).multinomial().numpy()
    assert got.shape == (N, 1)
    shares(got, [1, 3])


# ---- attention


def attention(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def qkv(heads=2):
    rng = np.random.default_rng(0)
    return (
        rng.normal(size=(2, 5, 4)),
        rng.normal(size=(heads, 6, 4)),
        rng.normal(size=(heads, 6, 3)),
    )


MASKS = {
    "none": None,
    "bool": np.random.default_rng(1).random((5, 6)) < 0.7,
    "added": np.random.default_rng(1).normal(size=(5, 6)),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=list(MASKS))
@pytest.mark.parametrize("training", [False, True])
def test_attention_is_its_formula_and_its_dropout_part_too(mask, training):
    q, k, v = qkv()
    own = None if mask is None else Tensor(mask)
    with Tensor.train(training):
        p = 1e-9 if training else 0.9  # so small that nothing is dropped, or not training
        got = Tensor(q).scaled_dot_product_attention(Tensor(k), Tensor(v), own, dropout_p=p)
    np.testing.assert_allclose(got.numpy(), attention(q, k, v, mask), rtol=1e-6)


@pytest.mark.parametrize("p", [0.0, 1e-9])
def test_causal_attention_and_shared_heads(p):
    q, k, v = qkv(heads=1)
    with Tensor.train():
        got = Tensor(q).scaled_dot_product_attention(
            Tensor(k), Tensor(v), dropout_p=p, is_causal=True, enable_gqa=True
        )
    expected = attention(q, k.repeat(2, 0), v.repeat(2, 0), np.tril(np.ones((5, 6), bool)))
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.5])
@pytest.mark.parametrize("kind", ["bool", "added"])
def test_a_query_that_may_look_at_nothing_gathers_zeros(p, kind):
    q, k, v = map(Tensor, qkv())
    q.requires_grad = True
    seen = np.ones((5, 6), bool)
    seen[2] = False
    mask = Tensor(seen if kind == "bool" else np.where(seen, 0.0, -np.inf))
    with Tensor.train():
        got = q.scaled_dot_product_attention(k, v, mask, dropout_p=p)
    got.sum().backward()
    assert not got.numpy()[..., 2, :].any()
    assert np.isfinite(got.numpy()).all()
    assert np.isfinite(q.grad.numpy()).all()


def test_attention_dropout_of_one_leaves_nothing():
    q, k, v = map(Tensor, qkv())
    with Tensor.train():
        assert not q.scaled_dot_product_attention(k, v, dropout_p=1.0).numpy().any()


def test_attention_refuses_a_mask_beside_is_causal():
    q, k, v = map(Tensor, qkv())
    with Tensor.train(), pytest.raises(adjoint.AdjointError):
        q.scaled_dot_product_attention(k, v, Tensor(MASKS["bool"]), 0.5, is_causal=True)
