"""Initial values: distributions with the parameters that their names promise."""

from math import sqrt

import numpy as np
import pytest

from adjoint import AdjointError, Tensor, jit
from adjoint.nn import init

SHAPE = (60, 40, 2, 3)  # fan in 240, fan out 360


@pytest.fixture(autouse=True)
def _seeded():
    Tensor.manual_seed(11)


UNIFORM = {
    "uniform": (lambda: init.uniform(SHAPE, -0.5, 0.5), 0.5),
    "xavier": (lambda: init.xavier_uniform(SHAPE), sqrt(6 / 600)),
    "xavier gain": (lambda: init.glorot_uniform(SHAPE, gain=2.0), 2 * sqrt(6 / 600)),
    "kaiming": (lambda: init.kaiming_uniform(SHAPE), sqrt(2) * sqrt(3 / 240)),
    "kaiming out": (lambda: init.he_uniform(SHAPE, mode="fan_out"), sqrt(2) * sqrt(3 / 360)),
    "kaiming linear": (lambda: init.kaiming_uniform(SHAPE, a=sqrt(5)), 1 / sqrt(240)),
    "kaiming tanh": (
        lambda: init.kaiming_uniform(SHAPE, nonlinearity="tanh"),
        5 / 3 * sqrt(3 / 240),
    ),
}


@pytest.mark.parametrize(("make", "bound"), UNIFORM.values(), ids=UNIFORM)
def test_uniform_values_fill_their_range(make, bound):
    values = make().numpy()
    assert values.shape == SHAPE
    assert np.abs(values).max() <= bound
    assert np.abs(values).max() > 0.99 * bound
    assert abs(values.mean()) < 0.03 * bound
    assert values.std() == pytest.approx(bound / sqrt(3), rel=0.03)


NORMAL = {
    "normal": (lambda: init.normal(SHAPE, 0.0, 0.3), 0.3),
    "xavier": (lambda: init.xavier_normal(SHAPE), sqrt(2 / 600)),
    "kaiming": (lambda: init.kaiming_normal(SHAPE), sqrt(2 / 240)),
    "kaiming relu out": (
        lambda: init.he_normal(SHAPE, mode="fan_out", nonlinearity="relu"),
        sqrt(2 / 360),
    ),
}


@pytest.mark.parametrize(("make", "std"), NORMAL.values(), ids=NORMAL)
def test_normal_values_have_their_spread(make, std):
    values = make().numpy()
    assert abs(values.mean()) < 0.05 * std
    assert values.std() == pytest.approx(std, rel=0.03)
    within = np.mean(np.abs(values) < std)
    assert within == pytest.approx(0.683, abs=0.02)


def test_few_and_many_values_are_the_same_draw():
    Tensor.manual_seed(3)
    many = init.uniform((70_000,), -1, 1).numpy()  # computed by a kernel
    Tensor.manual_seed(3)
    few = init.uniform((100,), -1, 1).numpy()  # computed in place
    np.testing.assert_array_equal(few, many[:100])


def test_draws_in_jit_are_new_at_every_call():
    draw = jit(lambda: init.normal((4,)))
    assert (draw().numpy() != draw().numpy()).any()


def test_a_truncated_normal_stays_in_its_range():
    values = init.trunc_normal((20_000,), mean=1.0, std=2.0, a=-1.0, b=3.0).numpy()
    assert values.min() >= -1
    assert values.max() <= 3
    assert values.mean() == pytest.approx(1.0, abs=0.03)
    assert values.std() == pytest.approx(2 * 0.5396, rel=0.02)  # of a normal cut off at ±1


@pytest.mark.parametrize("shape", [(5, 5), (3, 6), (6, 3), (4, 2, 3)])
def test_orthogonal_rows_or_columns(shape):
    matrix = init.orthogonal(shape, gain=2.0, dtype="float64").numpy().reshape(shape[0], -1)
    few = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    np.testing.assert_allclose(few @ few.T, 4 * np.eye(few.shape[0]), atol=1e-10)


def test_sparse_has_its_zeros_in_every_column():
    values = init.sparse((10, 4), 0.25, std=0.5).numpy()
    assert ((values == 0).sum(0) == 3).all()
    assert values.std() > 0.2


def test_eye_and_dirac_pass_values_through():
    np.testing.assert_array_equal(init.eye((2, 3)).numpy(), np.eye(2, 3))
    weight = init.dirac((4, 2, 3, 3), groups=2)
    x = Tensor(np.arange(64.0).reshape(1, 4, 4, 4))
    y = x.conv2d(weight.cast("float64"), groups=2, padding=1)
    np.testing.assert_array_equal(y.numpy(), x.numpy())


FILLS = {
    "zeros_": (init.zeros_, lambda v: (v == 0).all()),
    "ones_": (init.ones_, lambda v: (v == 1).all()),
    "constant_": (lambda t: init.constant_(t, 0.5), lambda v: (v == 0.5).all()),
    "uniform_": (lambda t: init.uniform_(t, 2, 3), lambda v: ((v >= 2) & (v < 3)).all()),
    "normal_": (lambda t: init.normal_(t, 9, 0.1), lambda v: abs(v.mean() - 9) < 0.3),
    "xavier_uniform_": (init.xavier_uniform_, lambda v: np.abs(v).max() < 1),
    "xavier_normal_": (init.xavier_normal_, lambda v: v.any()),
    "kaiming_uniform_": (init.kaiming_uniform_, lambda v: np.abs(v).max() < 1.5),
    "kaiming_normal_": (init.kaiming_normal_, lambda v: v.any()),
    "trunc_normal_": (lambda t: init.trunc_normal_(t, std=0.02), lambda v: np.abs(v).max() < 0.2),
    "orthogonal_": (init.orthogonal_, lambda v: np.allclose(v @ v.T, np.eye(4), atol=1e-5)),
    "sparse_": (lambda t: init.sparse_(t, 0.5), lambda v: ((v == 0).sum(0) == 2).all()),
    "eye_": (init.eye_, lambda v: (v == np.eye(4)).all()),
}


@pytest.mark.parametrize(("fill", "holds"), FILLS.values(), ids=FILLS)
def test_fills_keep_the_tensor_and_that_it_wants_a_gradient(fill, holds):
    tensor = Tensor(np.full((4, 4), 7, np.float32), requires_grad=True)
    assert fill(tensor) is tensor
    assert holds(tensor.numpy())
    (tensor * 2).sum().backward()
    assert (tensor.grad.numpy() == 2).all()


def test_gains_are_torchs():
    gains = {"linear": 1, "conv2d": 1, "conv_transpose3d": 1, "sigmoid": 1, "tanh": 5 / 3}
    gains |= {"relu": sqrt(2), "selu": 0.75, "leaky_relu": sqrt(2 / (1 + 1e-4))}
    assert {name: init.calculate_gain(name) for name in gains} == pytest.approx(gains)
    assert init.calculate_gain("leaky_relu", 0.2) == pytest.approx(sqrt(2 / 1.04))


BAD = {
    "gain": (lambda: init.calculate_gain("sine"), "E2008", "sine"),
    "fan of a vector": (lambda: init.kaiming_normal((3,)), "E3002", "rank 1"),
    "mode": (lambda: init.kaiming_normal((3, 3), mode="fan"), "E2008", "fan_in"),
    "eye": (lambda: init.eye((2, 2, 2)), "E3002", "matrix"),
    "dirac": (lambda: init.dirac((2, 2)), "E3002", "convolution"),
    "truncated": (lambda: init.trunc_normal((2,), a=1, b=0), "E2006", "hold no numbers"),
    "orthogonal": (lambda: init.orthogonal((2,)), "E3002", "rank 2"),
    "sparse": (lambda: init.sparse((2, 2), 1.5), "E3002", "fraction"),
    "negative size": (lambda: init.uniform((-1,)), "E3006", "-1"),
}


@pytest.mark.parametrize(("call", "code", "text"), BAD.values(), ids=BAD)
def test_bad_calls_are_errors(call, code, text):
    with pytest.raises(AdjointError, match=text) as error:
        call()
    assert error.value.code == code
