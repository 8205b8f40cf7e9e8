"""What Python, NumPy and torch users write without thinking: names, options, protocols."""

import builtins
import inspect
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import adjoint
from adjoint import (
    AdjointError,
    ArgumentError,
    AxisError,
    BoundsError,
    Tensor,
    dtypes,
    grad,
    jit,
    vmap,
)
from adjoint.ir.spelling import spelling_of
from tests.ops.cases import RECORDS, adapted, call, outputs

VALUES = np.array([[3.0, 1.0, 2.0], [0.5, 4.0, 1.5]], np.float32)
X = Tensor(VALUES)

# ---- both spellings of an option

SPELLED = [
    (record, other, own)
    for record in RECORDS
    for other, own in spelling_of(record.name, record.signature or record.call).own.items()
]


def _named(record, sample):
    """The sample's arguments by the record's own names, or None where they have none."""
    parameters = inspect.signature(record.signature or record.call).parameters
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters.values()):
        return None
    return dict(zip(parameters, sample.args, strict=False)) | sample.kwargs


@pytest.mark.parametrize(
    ("record", "other", "own"), SPELLED, ids=[f"{r.name}-{other}" for r, other, _ in SPELLED]
)
def test_an_option_by_its_other_name_means_the_same(record, other, own):
    for raw in record.samples():
        sample = adapted(raw, dtypes.float32)
        named = _named(record, sample)
        if named is None or own not in named:
            continue
        wanted = outputs(call(record, sample))
        options = {k: Tensor(v) if isinstance(v, np.ndarray) else v for k, v in named.items()}
        first = options.pop(next(iter(options)))
        options[other] = options.pop(own)
        got = outputs(getattr(Tensor, record.name)(first, **options))
        for g, w in zip(got, wanted, strict=True):
            assert g.dtype is w.dtype
            np.testing.assert_array_equal(g.numpy(), w.numpy())
        return


@pytest.mark.parametrize("name", ["sum", "mean", "max", "argmax", "sort", "softmax", "cumsum"])
def test_both_spellings_at_once_are_refused(name):
    with pytest.raises(AdjointError, match="one option") as caught:
        getattr(X, name)(dim=0, axis=0)
    assert caught.value.code == "E2007"


def test_an_unknown_option_is_a_coded_error_that_lists_the_known():
    for wrong in (lambda: X.sum(dimension=0), lambda: X.sum(0, axis=1), lambda: X.sum(0, 1, 2, 3)):
        with pytest.raises(AdjointError, match="axis") as caught:
            wrong()
        assert caught.value.code == "E2007"


def test_an_unknown_option_is_named():
    with pytest.raises(AdjointError, match=r"correction=1\); there is no option 'unbiased'"):
        X.var(0, unbiased=False)


@pytest.mark.parametrize("name", ["mean", "nanmean"])
def test_means_can_be_asked_for_in_a_dtype(name):
    x = Tensor([60000, 60000], dtype="int32")
    assert getattr(x, name)(dtype="float64").dtype is dtypes.float64
    assert getattr(X, name)(axis=0, dtype="float16").dtype is dtypes.float16
    assert getattr(X, name)(0, True).shape == getattr(X, name)(dim=0, keepdims=True).shape == (1, 3)
    for wrong in ({"dtype": "int32"}, {"out": np.zeros(3)}, {"dim": 0, "axis": 0}, {"what": 1}):
        with pytest.raises(AdjointError):
            getattr(X, name)(**wrong)


def test_a_sum_without_nan_can_be_asked_for_in_a_dtype():
    x = Tensor([1.0, float("nan"), 2.5])
    assert x.nansum(dtype="float64").item() == 3.5
    assert Tensor([100, 100], dtype="int8").nansum(dtype="int16").dtype is dtypes.int16
    assert Tensor([100, 100], dtype="int8").nansum().item() == 200
    with pytest.raises(AdjointError, match="bool"):
        x.nansum(dtype="bool")


def test_axes_of_ops_that_take_several_can_be_named():
    assert X.flip(dims=(0,)).tolist() == X.flip(axis=0).tolist() == VALUES[::-1].tolist()
    assert X.permute(dims=(1, 0)).shape == X.permute(axes=(1, 0)).shape == (3, 2)
    assert X.cat(X, axis=1).shape == (2, 6)
    assert Tensor.stack(X, X, axis=1).shape == (2, 2, 3)
    assert X.repeat_interleave(2, dim=0).shape == (4, 3)


def test_functions_of_the_namespace_take_both_names_and_an_axis_by_position():
    wanted = VALUES.sum(1, keepdims=True).tolist()
    for found in (
        adjoint.sum(X, axis=1, keepdims=True),
        adjoint.sum(X, dim=1, keepdim=True),
        adjoint.sum(X, 1, keepdims=True),
        adjoint.sum(X, 1, keepdim=True),
    ):
        assert found.tolist() == wanted
    assert adjoint.concat([X, X], dim=1).shape == (2, 6)
    assert adjoint.softmax(X, dim=1).tolist() == X.softmax(1).tolist()
    with pytest.raises(AdjointError, match="one option"):
        adjoint.sum(X, axis=0, dim=0)


def test_names_of_axes_work_under_transforms():
    f = lambda x: x.sum(dim=0, keepdims=True).sum()  # noqa: E731
    assert grad(f)(X).tolist() == np.ones((2, 3)).tolist()
    assert vmap(lambda x: x.sum(dim=0))(X).tolist() == VALUES.sum(1).tolist()
    assert jit(lambda x: x.mean(axis=1, keepdims=True))(X).shape == (2, 1)


# ---- NumPy's functions

REDUCTIONS = ["sum", "prod", "mean", "std", "var", "max", "min", "any", "all", "argmax", "argmin"]


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_numpy_give_tensors(name, axis):
    found = getattr(np, name)(X, axis=axis)
    assert isinstance(found, Tensor)
    np.testing.assert_allclose(found.numpy(), getattr(np, name)(VALUES, axis=axis), rtol=1e-6)


def test_a_place_for_the_result_is_refused():
    with pytest.raises(AdjointError, match="out"):
        X.sum(0, out=np.zeros(3))


UNARY = [
    "sin",
    "cos",
    "tan",
    "exp",
    "log",
    "sqrt",
    "abs",
    "tanh",
    "floor",
    "ceil",
    "rint",
    "square",
    "arcsin",
    "arctan",
    "isnan",
    "sign",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "power",
    "maximum",
    "minimum",
    "arctan2",
    "hypot",
    "less",
    "equal",
]


@pytest.mark.parametrize("name", UNARY)
def test_ufuncs_of_one_operand_give_tensors(name):
    x = Tensor(VALUES / 5)
    found = getattr(np, name)(x)
    assert isinstance(found, Tensor)
    np.testing.assert_allclose(found.numpy(), getattr(np, name)(VALUES / 5), rtol=1e-5)


@pytest.mark.parametrize("name", BINARY)
def test_ufuncs_of_two_operands_give_tensors(name):
    f, other = getattr(np, name), np.float32(2) * np.ones(3, np.float32)
    for found, wanted in ((f(X, other), f(VALUES, other)), (f(other, X), f(other, VALUES))):
        assert isinstance(found, Tensor)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5)


def test_gradients_flow_through_ufuncs():
    wanted = grad(lambda x: x.sin().sum())(X).tolist()
    assert grad(lambda x: np.sum(np.sin(x)))(X).tolist() == wanted


def test_an_array_updated_by_a_tensor_stays_an_array():
    a = np.ones((2, 3), np.float32)
    a += X
    assert type(a) is np.ndarray
    assert a.tolist() == (VALUES + 1).tolist()


def test_a_ufunc_that_we_do_not_have_is_a_type_error():
    with pytest.raises(TypeError):
        np.spacing(X)
    with pytest.raises(TypeError):
        np.add.reduce(X)


def test_asarray_gives_the_values():
    np.testing.assert_array_equal(np.asarray(X + 1), VALUES + 1)


# ---- Python's functions


def test_round_and_divmod_are_pythons():
    assert round(Tensor([0.5, 1.5, 2.6])).tolist() == [0.0, 2.0, 3.0]
    np.testing.assert_allclose(round(Tensor([1 / 3]), 2).numpy(), [0.33], rtol=1e-6)
    assert [t.tolist() for t in divmod(Tensor([7, -7]), 2)] == [[3, -4], [1, 1]]
    assert [t.tolist() for t in divmod(7, Tensor([2, -2]))] == [[3, -4], [1, -1]]
    assert np.round(X, 1).shape == (2, 3)


def test_none_and_text_are_no_elements():
    assert (X == None) is False  # noqa: E711
    assert (X != None) is True  # noqa: E711
    assert (X == "a") is False
    assert None not in [X]


def test_a_small_lazy_tensor_shows_its_values():
    assert repr(X + 1) == repr((X + 1).realize())
    assert "4." in str(X + 1)
    assert "lazy" in repr(Tensor.zeros(1001) + 1)
    assert "<pre" in X._repr_html_()


def test_printing_inside_a_transform_computes_nothing():
    seen = []
    jit(lambda x: (seen.append(repr(x + 1)), x)[1])(X)
    grad(lambda x: (seen.append(repr(x + 1)), x.sum())[1])(X)
    assert all("lazy" in text for text in seen)


def test_a_lazy_tensor_that_cannot_be_computed_is_printed_as_lazy():
    assert "lazy" in repr(X[Tensor([7])])


# ---- torch's names


def test_familiar_methods_mean_what_they_mean_in_torch():
    assert X.dim() == X.ndimension() == 2
    assert X.nelement() == 6
    assert X.ravel().tolist() == VALUES.ravel().tolist()
    assert X.t().tolist() == VALUES.T.tolist()
    assert X[0].t().tolist() == VALUES[0].tolist()
    assert X.astype("int8").dtype is X.type("int8").dtype is dtypes.int8
    assert X.type() == "float32"
    assert X.cpu().device == "CPU"
    assert X.double().dtype is dtypes.float64
    assert not X.is_complex()
    with pytest.raises(AdjointError, match="two axes at most"):
        X.reshape(1, 2, 3).t()


@pytest.mark.parametrize(
    ("target", "device", "kind"),
    [
        (("REF",), "REF", "float32"),
        (("float16",), "CPU", "float16"),
        ((dtypes.int8,), "CPU", "int8"),
        ((np.int16,), "CPU", "int16"),
        (("REF", "int8"), "REF", "int8"),
        ((Tensor([1], device="REF"),), "REF", "int32"),
        ((None,), "CPU", "float32"),
    ],
)
def test_to_takes_a_device_a_dtype_or_a_tensor(target, device, kind):
    moved = X.cpu().to(*target)
    assert (moved.device, moved.dtype.name) == (device, kind)


@pytest.mark.parametrize(
    ("args", "named"),
    [((), {}), (("CPU", "REF"), {}), (("int8", "int16"), {}), (("CPU",), {"x": 1})],
)
def test_to_refuses_what_it_cannot_mean(args, named):
    with pytest.raises(AdjointError):
        X.to(*args, **named)


# ---- einops

FAKE = """
class AbstractBackend:
    framework_name: str
    def shape(self, x): return x.shape
    def reshape(self, x, shape): return x.reshape(shape)
"""
USE = """
{first}
{second}
import einops._backends as b
(ours,) = [c for c in b.AbstractBackend.__subclasses__() if c.framework_name == "adjoint"]
backend, x = ours(), adjoint.Tensor([[1.0, 2.0]])
assert backend.is_appropriate_type(x) and not backend.is_appropriate_type([1.0])
assert backend.transpose(x, (1, 0)).shape == (2, 1)
assert backend.reduce(x, "sum", (0, 1)).item() == 3
assert backend.tile(backend.add_axis(x, 0), (2, 1, 1)).shape == (2, 1, 2)
assert backend.concat([x, x], 1).shape == (1, 4)
assert backend.stack_on_zeroth_dimension([x, x]).shape == (2, 1, 2)
assert backend.einsum("ij,ij->i", x, x).tolist() == [5.0]
assert backend.is_float_type(x)
"""


@pytest.mark.parametrize("order", [("import adjoint", "import einops"), ("import einops", "")])
def test_einops_finds_our_backend_whichever_comes_first(tmp_path, order):
    package = tmp_path / "einops"
    package.mkdir()
    (package / "__init__.py").write_text("from einops import _backends\n")
    (package / "_backends.py").write_text(FAKE)
    first, second = order
    text = USE.format(first=first, second=second or "import adjoint")
    path = os.pathsep.join([str(tmp_path), str(Path(adjoint.__file__).parent.parent)])
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---- messages


def test_a_negative_index_out_of_range_is_named_as_it_was_given():
    for device in ("CPU", "REF"):
        with pytest.raises(IndexError, match="index -3 is"):
            Tensor([1.0, 2.0], device=device)[Tensor([-3], device=device)].realize()


def test_two_unknown_sizes_are_refused():
    with pytest.raises(ValueError, match="only one size can be -1"):
        X.reshape(-1, -1)


@pytest.mark.parametrize("seed", ["a", 1.5, None, True])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(AdjointError, match="whole number"):
        Tensor.manual_seed(seed)


def test_devices_come_as_a_list():
    assert isinstance(adjoint.__array_namespace_info__().devices(), list)


# ---- the package


def test_a_star_import_is_small_and_hides_nothing_of_python():
    names = {}
    exec("from adjoint import *", names)
    names.pop("__builtins__")
    assert not set(names) & set(dir(builtins))
    assert {"Tensor", "grad", "jit", "vmap", "nn", "dtypes"} <= set(names)
    assert len(names) < 120


def test_the_namespace_of_an_array_is_complete_all_the_same():
    xp = X.__array_namespace__()
    for name in adjoint.array_api.STANDARD:
        assert hasattr(xp, name)
        assert hasattr(adjoint, name)
        assert name in dir(adjoint)


def test_dir_lists_public_names_alone():
    assert not [n for n in dir(adjoint) if n.startswith("_") and not n.startswith("__")]
    assert "ir" not in dir(adjoint)
    assert "TYPE_CHECKING" not in dir(adjoint)


def test_torchs_functions_of_the_package():
    adjoint.manual_seed(3)
    first = adjoint.randn(2, 3).tolist()
    adjoint.manual_seed(3)
    assert adjoint.randn(2, 3).tolist() == first
    assert adjoint.rand(4).shape == adjoint.rand((4,)).shape == (4,)
    draws = adjoint.randint(2, 5, (100,)).numpy()
    assert (draws.min(), draws.max()) == (2, 4)
    assert adjoint.randint(5, (100,)).numpy().max() == 4
    assert sorted(adjoint.randperm(4).tolist()) == [0, 1, 2, 3]
    x = adjoint.tensor([[1.0, 2.0]], requires_grad=True)
    assert isinstance(x, Tensor)
    assert x.requires_grad
    assert adjoint.is_tensor(x)
    assert not adjoint.is_tensor(1.0)
    assert adjoint.from_numpy(VALUES).tolist() == VALUES.tolist()


def test_bounds_have_the_names_of_torch_and_numpy_too():
    x = Tensor([-1.0, 0.5, 2.0])
    assert x.clamp(min=0).tolist() == x.clip(min_=0).tolist() == [0, 0.5, 2]
    assert x.clamp(0, max=1).tolist() == x.clamp(min=0, max_=1).tolist() == [0, 0.5, 1]
    assert x.clone().clamp_(max=1).tolist() == [-1, 0.5, 1]
    with pytest.raises(AdjointError, match="E2007"):
        x.clamp(0, min=1)


class TestNewTensorsLikeThisOne:
    X = Tensor([[1.0, -2.0], [3.0, 4.0]], dtype="float64", device="CPU:1")

    @pytest.mark.parametrize(
        ("made", "values"),
        [
            (X.new_zeros(2), [0, 0]),
            (X.new_zeros((1, 2)), [[0, 0]]),
            (X.new_ones(2), [1, 1]),
            (X.new_full((2,), 7), [7, 7]),
            (X.new_tensor([1, 2]), [1, 2]),
            (X.new_tensor(Tensor([1, 2])), [1, 2]),
        ],
    )
    def test_they_have_its_dtype_and_device(self, made, values):
        assert made.tolist() == values
        assert (made.dtype, made.device) == (self.X.dtype, "CPU:1")
        assert not made.requires_grad

    def test_options_are_taken_by_name(self):
        made = self.X.new_empty(3, dtype="int32", device="CPU")
        assert (made.shape, made.dtype.name, made.device) == ((3,), "int32", "CPU")
        assert self.X.new_ones(1, requires_grad=True).requires_grad
        source = Tensor([1.0], requires_grad=True)
        assert self.X.new_tensor(source, requires_grad=True).requires_grad
        assert not self.X.new_tensor(source * 2).requires_grad
        with pytest.raises(ArgumentError, match="no option 'dtyp'"):
            self.X.new_zeros(2, dtyp="int32")

    def test_a_new_tensor_shares_nothing_with_its_source(self):
        source = Tensor([1.0, 2.0])
        made = source.new_tensor(source)
        source[0] = 5.0
        assert made.tolist() == [1, 2]


def test_names_of_torch_have_torchs_meaning():
    x = Tensor([[1.0, -2.0], [3.0, 4.0]])
    assert x.clamp_min(0).tolist() == [[1, 0], [3, 4]]
    assert x.clamp_max(1).tolist() == [[1, -2], [1, 1]]
    assert x.floor_divide(2).tolist() == [[0, -1], [1, 2]]
    assert x.remainder(3).tolist() == [[1, 1], [0, 1]]
    assert x.moveaxis(0, 1).tolist() == x.T.tolist()
    assert x.inverse().tolist() == x.inv().tolist()
    assert Tensor([1.0, 255.0]).byte().dtype.name == "uint8"
    assert x.is_cuda is False
    assert Tensor([1.0], device="GPU:1").is_cuda is True


def test_select_is_a_view():
    x = Tensor([[1.0, -2.0], [3.0, 4.0]])
    row = x.select(0, -1)
    assert row.tolist() == [3, 4]
    assert x.select(axis=1, index=0).tolist() == [1, 3]
    row[0] = 9.0
    assert x.tolist() == [[1, -2], [9, 4]]
    with pytest.raises(AxisError):
        x.select(2, 0)
    with pytest.raises(BoundsError):
        x.select(0, 2)
