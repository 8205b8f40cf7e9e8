"""Errors are caught by the classes that Python, NumPy and their clients expect."""

import numpy as np
import pytest

import adjoint
from adjoint import AdjointError, Tensor, nn

X = Tensor([[1.0, 2.0], [3.0, 4.0]])
SCALAR = Tensor(1.0)
SINGULAR = Tensor([[1.0, 1.0], [1.0, 1.0]])

AXES = {  # every way to name an axis that is not there
    "sum": lambda x, axis: x.sum(axis),
    "max": lambda x, axis: x.max(axis),
    "argmax": lambda x, axis: x.argmax(axis),
    "mean": lambda x, axis: x.mean((0, axis)),
    "softmax": lambda x, axis: x.softmax(axis),
    "cumsum": lambda x, axis: x.cumsum(axis),
    "sort": lambda x, axis: x.sort(axis),
    "squeeze": lambda x, axis: x.squeeze(axis),
    "unsqueeze": lambda x, axis: x.unsqueeze(axis + 1 if axis > 0 else axis - 1),
    "permute": lambda x, axis: x.permute(0, axis),
    "transpose": lambda x, axis: x.transpose(0, axis),
    "flip": lambda x, axis: x.flip(axis),
    "cat": lambda x, axis: x.cat(x, dim=axis),
    "stack": lambda x, axis: Tensor.stack(x, x, dim=axis + 1 if axis > 0 else axis - 1),
    "gather": lambda x, axis: x.gather(axis, Tensor([[0]])),
    "flatten": lambda x, axis: x.flatten(axis),
    "split": lambda x, axis: x.split(1, dim=axis),
    "roll": lambda x, axis: x.roll(1, axis),
    "array API sum": lambda x, axis: adjoint.sum(x, axis=axis),
    "array API concat": lambda x, axis: adjoint.concat([x, x], axis=axis),
    "array API expand_dims": lambda x, axis: adjoint.expand_dims(x, axis=axis + (axis > 0) * 2 - 1),
}


@pytest.mark.parametrize("axis", [2, -3])
@pytest.mark.parametrize("name", AXES)
def test_an_axis_out_of_range_is_an_index_error_and_a_value_error(name, axis):
    for kind in (IndexError, ValueError):
        with pytest.raises(kind, match="axis") as caught:
            AXES[name](X, axis)
        assert isinstance(caught.value, AdjointError)


def test_an_axis_named_twice_is_a_value_error():
    with pytest.raises(ValueError, match="duplicate"):
        X.sum((0, -2))


@pytest.mark.parametrize("use", [len, iter, list, tuple, lambda x: [*x], lambda x: 1.0 in list(x)])
def test_a_scalar_has_no_length_and_no_parts(use):
    with pytest.raises(TypeError, match="scalar") as caught:
        use(SCALAR)
    assert isinstance(caught.value, AdjointError)


def test_what_asks_whether_it_can_be_iterated_gets_an_answer():
    assert np.ndim(np.asarray(SCALAR)) == 0
    with pytest.raises(TypeError):
        zip(SCALAR, [1], strict=True)
    with pytest.raises(TypeError):
        max(SCALAR)


@pytest.mark.parametrize("convert", [int, float, complex])
def test_many_elements_are_no_python_number(convert):
    with pytest.raises(TypeError, match="not one"):
        convert(X)
    with pytest.raises(ValueError, match="not one"):
        X.item()
    with pytest.raises(ValueError, match="not one"):
        bool(X)


@pytest.mark.parametrize(
    "index", [5, -3, (0, 0, 0), (slice(None), 2), 1.5, "a", Tensor([7]), Tensor([1.5]), [0.5]]
)
def test_what_cannot_be_an_index_is_an_index_error(index):
    with pytest.raises(IndexError) as caught:
        X[index].realize()
    assert isinstance(caught.value, AdjointError)


SINGLE = {
    "inv": lambda: SINGULAR.inv(),
    "solve": lambda: SINGULAR.solve(Tensor([1.0, 2.0])),
    "cholesky": lambda: (-SINGULAR).cholesky(),
    "matrix_power": lambda: SINGULAR.matrix_power(-1),
    "linalg.inv": lambda: adjoint.linalg.inv(SINGULAR),
    "linalg.solve": lambda: adjoint.linalg.solve(SINGULAR, Tensor([1.0, 2.0])),
    "not square": lambda: Tensor([[1.0, 2.0]]).inv(),
    "no matrix": lambda: Tensor([1.0, 2.0]).det(),
}


@pytest.mark.parametrize("name", SINGLE)
def test_what_linear_algebra_cannot_do_is_a_lin_alg_error(name):
    with pytest.raises(np.linalg.LinAlgError) as caught:
        SINGLE[name]().realize()
    assert isinstance(caught.value, AdjointError)
    assert isinstance(caught.value, ValueError)


OPTIONS = {
    "approximate": lambda: X.gelu("erf"),
    "rounding_mode": lambda: X.div(2, rounding_mode="up"),
    "reduction": lambda: X.mse_loss(X, reduction="max"),
    "interpolation": lambda: X.quantile(0.5, interpolation="cubic"),
    "q": lambda: X.quantile(2.0),
    "mode": lambda: X.pad((1, 1), mode="mirror"),
    "indexing": lambda: X[0].meshgrid(X[0], indexing="ji"),
    "p": lambda: X.dropout(2.0),
    "step": lambda: Tensor.arange(0, 5, 0),
    "lr": lambda: nn.optim.SGD([X], lr=-1.0),
    "padding": lambda: nn.Conv2d(1, 1, 3, padding="full"),
    "norm": lambda: X.fft(norm="none"),
    "side": lambda: adjoint.searchsorted(X[0], X[0], side="middle"),
    "overflow": lambda: Tensor([300], dtype="int8"),
    "activation": lambda: nn.RNN(2, 2, nonlinearity="sine"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_value_that_an_option_cannot_have_is_a_value_error(name):
    with pytest.raises(ValueError, match="E") as caught:
        OPTIONS[name]()
    assert isinstance(caught.value, AdjointError)


TRANSFORM_OPTIONS = {
    "vmap randomness": lambda: adjoint.vmap(lambda x: x, randomness="some"),
    "checkpoint policy": lambda: adjoint.checkpoint(lambda x: x, policy="all"),
    "check_grads modes": lambda: adjoint.check_grads(lambda x: x, (X,), modes=("back",)),
    "grad argnames": lambda: adjoint.grad(lambda x: x.sum(), argnames=(1,))(X),
    "map batch_size": lambda: adjoint.map(lambda x: x, X, batch_size=0),
    "while_loop max_iterations": lambda: adjoint.while_loop(
        lambda x: x < 3, lambda x: x + 1, SCALAR, max_iterations=-1
    ),
    "ppermute pairs": lambda: adjoint.vmap(
        lambda x: adjoint.ppermute(x, "i", [(0, 7)]), axis_name="i"
    )(X),
    "source language": lambda: adjoint.lower(lambda x: x + 1)(X).source("basic"),
}


@pytest.mark.parametrize("name", TRANSFORM_OPTIONS)
def test_a_wrong_option_of_a_transform_is_a_value_error_and_a_type_error(name):
    for kind in (ValueError, TypeError):
        with pytest.raises(kind) as caught:
            TRANSFORM_OPTIONS[name]()
        assert caught.value.code == "E2008"
        assert isinstance(caught.value, AdjointError)
