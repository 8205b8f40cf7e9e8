"""In-place twins: against the ops they are twins of, through views, and with other dtypes."""

import itertools

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, dtypes, jit, no_grad
from adjoint.ir.derivative import Partials
from adjoint.ir.opdef import OPS, OpDef
from adjoint.ir.uop import _functions

OWN = {"copy", "shard"}  # written by hand
OWN |= {"detach", "squeeze", "unsqueeze"}  # change the handle, not the values: test_turning.py
TWINS = sorted(
    name
    for name, record in _functions.items()
    if isinstance(record, OpDef) and name not in OWN and hasattr(Tensor, f"{name}_")
)
TORCH = """
abs acos add addcdiv addcmul asin atan bitwise_and bitwise_not ceil clamp clip copy cos
cosh cumprod cumsum div eq erf exp expm1 fill floor fmod frac ge gt index_add index_copy
index_fill le lerp log log10 log1p log2 logical_and logical_not lt masked_fill
masked_scatter mul nan_to_num ne neg normal pow reciprocal relu round rsqrt scatter
scatter_add sigmoid sign sin sinh sqrt square sub tan tanh tril triu trunc uniform zero
detach squeeze t unsqueeze
"""


@pytest.mark.parametrize("name", TORCH.split())
def test_the_twin_that_users_of_torch_write_is_there(name):
    assert callable(getattr(Tensor, f"{name}_"))
    assert getattr(Tensor, f"{name}_").__doc__


def test_every_elementwise_op_of_numbers_has_a_twin():
    elementwise = {n for n, r in OPS.items() if isinstance(r.ad, Partials) and r.level != "kernel"}
    hidden = {n for n in elementwise if not hasattr(Tensor, n)}
    assert elementwise - hidden - set(TWINS) <= {"complex", "where", "angle"}


@pytest.mark.parametrize("name", TWINS)
def test_a_twin_writes_what_its_op_gives_through_a_view(name):
    sample = next(iter(_functions[name].samples()))
    first, *rest = sample.args
    rest = [Tensor(a) if isinstance(a, np.ndarray) else a for a in rest]
    wanted = getattr(Tensor(first), name)(*rest, **sample.kwargs).numpy()
    base = Tensor(np.stack([first, first]))
    row = base[1]
    assert getattr(row, f"{name}_")(*rest, **sample.kwargs) is row
    assert base.dtype.np == first.dtype
    np.testing.assert_array_equal(base.numpy()[1], wanted.astype(first.dtype))
    np.testing.assert_array_equal(base.numpy()[0], first)


@pytest.mark.parametrize("name", ["sum", "sort", "matmul", "reshape", "cast", "double", "nothing"])
def test_what_does_not_keep_its_type_has_no_twin(name):
    assert not hasattr(Tensor, f"{name}_")
    with pytest.raises(AttributeError, match=f"{name}_"):
        getattr(Tensor([1.0]), f"{name}_")


KINDS = ["bool", "uint8", "int8", "int32", "int64", "float32", "float64", "complex64"]


@pytest.mark.parametrize(("own", "other"), list(itertools.product(KINDS, KINDS)))
def test_the_dtype_stays_or_the_write_is_an_error_as_in_numpy(own, other):
    a, b = np.array([1, 0], own), np.array([1, 1], other)
    t = Tensor(a)
    try:
        a += b
    except TypeError:
        with pytest.raises(adjoint.DTypeError):
            t += Tensor(b)
        assert t.tolist() == [1, 0]
    else:
        t += Tensor(b)
        assert t.dtype.np == a.dtype
        np.testing.assert_array_equal(t.numpy(), a)


def test_a_result_of_another_shape_is_an_error_and_changes_nothing():
    t = Tensor([1.0, 2.0])
    with pytest.raises(adjoint.ShapeError, match="add_"):
        t.add_(Tensor([[1.0], [2.0]]))
    with pytest.raises(adjoint.ShapeError):
        t += Tensor([[1.0], [2.0]])
    with pytest.raises(adjoint.ShapeError, match="fill_"):
        t.fill_(Tensor([1.0, 2.0]))
    assert t.tolist() == [1, 2]


def test_copy_fill_and_zero():
    t = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    t[0].copy_([9, 8, 7])
    t[1, 1:].fill_(Tensor(5, dtype="int64"))
    t.T[0].zero_()
    assert t.tolist() == [[0, 8, 7], [0, 5, 5]]
    assert t.dtype is dtypes.float32
    scalar = Tensor(3.0)
    assert scalar.fill_(4).zero_().add_(2).item() == 2


def test_draws_in_place():
    Tensor.manual_seed(0)
    t = Tensor.zeros(2, 1000)
    t[0].uniform_(2, 3)
    t[1].normal_(10, 0.1)
    low, mean = t.numpy()
    assert 2 <= low.min() < low.max() < 3
    assert abs(mean.mean() - 10) < 0.02


def test_gradients_of_twins():
    w = Tensor([1.0, 2.0], requires_grad=True)
    y = w * 3
    y.mul_(w).add_(1)
    z = Tensor.zeros(2)
    z.copy_(w)
    (y.sum() + z.sum()).backward()
    assert w.grad.tolist() == [7, 13]
    with no_grad():
        w.sub_(w.grad).clamp_(-10, 0)
    assert (w.tolist(), w.requires_grad) == ([-6, -10], True)


def test_twins_inside_jit():
    state = Tensor([[1.0, -2.0], [3.0, 4.0]])

    @jit
    def step(x):
        state[0].relu_().add_(x)
        return state.sum()

    for expected in ([[2, 1], [3, 4]], [[3, 2], [3, 4]]):
        step(Tensor([1.0, 1.0]))
        assert state.tolist() == expected
