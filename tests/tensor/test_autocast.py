"""autocast: what every op computes in, where gradients go, and where the state holds."""

import re
import threading
from contextvars import copy_context
from pathlib import Path

import numpy as np
import pytest

import adjoint
from adjoint import (
    ArgumentError,
    DTypeError,
    Tensor,
    autocast,
    checkpoint,
    cond,
    custom_vjp,
    dtypes,
    grad,
    jit,
    jvp,
    nn,
    scan,
    value_and_grad,
    vmap,
)
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import toposort

F32, F16, BF16, F64 = dtypes.float32, dtypes.float16, dtypes.bfloat16, dtypes.float64
LOW = [
    "attention",
    "addmm",
    "bmm",
    "contract",
    "conv2d",
    "conv_transpose2d",
    "einsum",
    "linear",
    "matmul",
    "mm",
    "mv",
    "prelu",
    "vecdot",
]
# torch's CUDA table; behind the bar what it leaves to the op, and what torch's CPU table adds
FULL = """acos asin cosh erfinv exp expm1 log log10 log1p log2 pow reciprocal rsqrt sinh tan sum
    prod cumsum cumprod softmax log_softmax softmin softplus logsumexp layernorm group_norm norm
    vector_norm normalize cosine_similarity dist cdist interpolate cross_entropy nll_loss kl_div
    mse_loss l1_loss huber_loss smooth_l1_loss poisson_nll_loss soft_margin_loss
    hinge_embedding_loss margin_ranking_loss triplet_margin_loss binary_crossentropy_logits
    | exp2 logaddexp logcumsumexp mean var std var_mean std_mean nansum nanmean cov corrcoef
    trapezoid batchnorm instance_norm rmsnorm pairwise_distance gaussian_nll_loss
    sparse_categorical_crossentropy logistic_loss reduce_sum reduce_prod scan_sum scan_prod
    | binary_crossentropy quantile trace cholesky inv pinv matrix_rank solve solve_triangular svd
    svdvals svd_reduced svd_full eig eigvals eigh eigvalsh qr lstsq det slogdet adjugate
    matrix_power""".replace("|", "").split()
WIDEST = [
    "addcdiv",
    "addcmul",
    "atan2",
    "cat",
    "cross",
    "dot",
    "index_add",
    "index_copy",
    "index_fill",
    "inner",
    "lerp",
    "masked_scatter",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "stack",
    "tensordot",
    "vdot",
    "where",
]
NO_FLOATS = {"matrix_rank"}  # what they give is no float
COMPLEX = {"eig", "eigvals"}


def _names(rule):
    found = (name for name, r in OPS.items() if getattr(r.precision, "__name__", "") == rule)
    return sorted(found)


def test_the_rules_of_the_records_are_those_written_down_here():
    assert _names("low") == sorted(LOW)
    assert _names("full") == sorted(FULL)
    assert _names("widest") == sorted(WIDEST)


def test_the_document_lists_the_same_ops():
    text = (Path(__file__).parents[2] / "docs" / "mixed_precision.md").read_text(encoding="utf-8")
    for head, names in (("low dtype", LOW), ("float32 at least", FULL), ("widest dtype", WIDEST)):
        (listed,) = re.findall(rf"^\*\*In the {head}|^\*\*In {head}", text, re.MULTILINE)
        part = text.partition(listed)[2].partition(".\n\n" if names is FULL else ".")[0]
        part = part.partition("; with them")[0]
        assert sorted(re.findall(r"`(\w+)`", part)) == sorted(names)


def _sample(name, kinds):
    """The first sample with a float, whose floats have these dtypes in turn."""
    record = OPS[name]
    samples = [s for s in record.samples() if s.smooth and _floats((*s.args, *s.kwargs.values()))]
    turn = iter(kinds * 9)

    def made(value):
        if isinstance(value, np.ndarray):
            tensor = Tensor(value.astype(np.float32) if value.dtype.kind == "f" else value)
            return tensor.cast(next(turn)) if value.dtype.kind == "f" else tensor
        return type(value)(map(made, value)) if isinstance(value, (list, tuple)) else value

    several = [s for s in samples if len(_floats(s.args)) > 1]
    chosen = (several or samples)[0]
    return [made(v) for v in chosen.args], {k: made(v) for k, v in chosen.kwargs.items()}


def _floats(values):
    found = []
    for v in values:
        if isinstance(v, (list, tuple)):
            found += _floats(v)
        elif isinstance(v, np.ndarray) and v.dtype.kind == "f":
            found.append(v)
    return found


def _dtypes(name, *kinds, low="bfloat16"):
    args, options = _sample(name, kinds)
    with autocast(low):
        result = adjoint.tensor.lift.lift(OPS[name], tuple(args), options)
    several = result if isinstance(result, (tuple, list)) else [result]
    return {r.dtype for r in several if r.dtype.is_float}


@pytest.mark.parametrize("low", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", LOW)
def test_products_are_computed_in_the_low_dtype(name, low):
    assert _dtypes(name, F32, low=low) == {dtypes.__dict__[low]}
    assert _dtypes(name, F32, BF16, low=low) == {dtypes.__dict__[low]}


@pytest.mark.parametrize("name", sorted({*FULL} - NO_FLOATS - COMPLEX))
def test_what_needs_the_digits_is_computed_in_float32(name):
    assert _dtypes(name, BF16) == {F32}
    assert _dtypes(name, F16) == {F32}
    assert _dtypes(name, F32) == {F32}


@pytest.mark.parametrize("name", WIDEST)
def test_what_puts_tensors_together_takes_the_widest(name):
    assert _dtypes(name, BF16) == {BF16}
    assert _dtypes(name, BF16, F32) == {F32}
    assert _dtypes(name, F32, BF16) == {F32}


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "minimum"])
def test_arithmetic_promotes_as_ever(name):
    assert _dtypes(name, BF16) == {BF16}
    assert _dtypes(name, BF16, F32) == _dtypes(name, F32, BF16) == {F32}


@pytest.mark.parametrize(
    "name", ["tanh", "sigmoid", "relu", "gelu", "silu", "sqrt", "abs", "max", "clamp"]
)
def test_other_ops_compute_in_what_they_are_given(name):
    assert _dtypes(name, BF16) == {BF16}
    assert _dtypes(name, F32) == {F32}


@pytest.mark.parametrize("name", [*LOW, *sorted({*FULL} - NO_FLOATS - COMPLEX), *WIDEST])
def test_float64_stays_float64(name):
    assert _dtypes(name, F64) == {F64}


@pytest.mark.parametrize("name", [n for n in LOW if n not in ("addmm", "attention")])
def test_a_product_with_a_float64_operand_is_one_of_float64(name):
    assert _dtypes(name, F64, F32) == {F64}


def test_views_have_no_rule():
    assert not [name for name, r in OPS.items() if r.views and r.precision]


class TestWaysToCall:
    x, w = Tensor.randn(3, 4), Tensor.randn(4, 2)

    @pytest.mark.parametrize(
        "call",
        [
            lambda x, w: x @ w,
            lambda x, w: x.matmul(w),
            lambda x, w: x.mm(w),
            adjoint.matmul,
            lambda x, w: adjoint.array_api.matmul(x, w),
            lambda x, w: Tensor.einsum("ij,jk->ik", x, w),
            lambda x, w: x.linear(w, bias=Tensor.zeros(2)),
            lambda x, w: nn.functional.linear(x, w.T, Tensor.zeros(2)),
            lambda x, w: x.numpy() @ w,
            lambda x, w: x @ w.numpy(),
        ],
    )
    def test_products(self, call):
        with autocast("bfloat16"):
            assert call(self.x, self.w).dtype is BF16

    @pytest.mark.parametrize(
        "call",
        [
            lambda x: x.exp(),
            adjoint.exp,
            np.exp,
            lambda x: x**2,
            lambda x: 2**x,
            lambda x: x.sum(),
            lambda x: adjoint.sum(x),
            lambda x: x.mean(axis=0),
            lambda x: adjoint.mean(x),
            lambda x: x.cumsum(axis=0),
            lambda x: x.softmax(dim=-1),
            lambda x: nn.functional.softmax(x, -1),
            lambda x: nn.functional.layer_norm(x, 4),
        ],
    )
    def test_what_needs_the_digits(self, call):
        x = self.x.cast("bfloat16")
        with autocast("bfloat16"):
            assert call(x).dtype is F32

    def test_an_explicit_dtype_is_obeyed(self):
        low = self.x.cast("bfloat16")
        with autocast("bfloat16"):
            assert low.sum(dtype="bfloat16").dtype is BF16
            assert low.softmax(-1, "bfloat16").dtype is BF16
            assert self.x.linear(self.w, None, "float32").dtype is F32
            assert self.x.linear(self.w, dtype="float32").dtype is F32
            assert Tensor.einsum("ij,jk->ik", self.x, self.w, dtype="float32").dtype is F32

    def test_an_explicit_dtype_loses_no_digits(self):
        with autocast("bfloat16"):
            found = self.x.linear(self.w, None, "float32").numpy()
        np.testing.assert_array_equal(found, self.x.linear(self.w).numpy())

    def test_in_place_the_dtype_stays(self):
        x, y = self.x.clone(), self.x.cast("bfloat16")
        with autocast("bfloat16"):
            assert x.exp_().dtype is F32
            assert y.exp_().dtype is BF16

    def test_integers_and_bools_are_left_alone(self):
        n = Tensor([[1, 2], [3, 4]])
        with autocast("bfloat16"):
            assert (n @ n).dtype is dtypes.int32
            assert n.sum().dtype is dtypes.int64
            assert (n**2).dtype is dtypes.int32
            assert (n > 2).sum().dtype is dtypes.int64

    def test_complex_numbers_are_left_alone(self):
        z = Tensor(np.eye(2) * (1 + 2j))
        with autocast("bfloat16"):
            assert (z @ z).dtype is z.dtype
            assert (z @ Tensor.ones(2, 2)).dtype is z.dtype
            assert z.exp().dtype is z.dtype

    def test_eight_bit_floats_are_taken_by_products(self):
        w = self.w.cast("float8_e4m3fn")
        with autocast("bfloat16"):
            y = self.x @ w
        assert y.dtype is BF16
        wanted = (self.x.cast("bfloat16") @ w.cast("bfloat16")).float().numpy()
        np.testing.assert_array_equal(y.float().numpy(), wanted)


class TestValues:
    @pytest.mark.parametrize("device", ["CPU", "REF"])
    def test_they_are_those_of_explicit_casts(self, device):
        x, w = Tensor.randn(5, 7, device=device), Tensor.randn(7, 3, device=device)
        with autocast("bfloat16"):
            found = (x @ w).softmax(-1).numpy()
        wanted = (x.bfloat16() @ w.bfloat16()).float().softmax(-1).numpy()
        np.testing.assert_array_equal(found, wanted)

    def test_a_weight_is_cast_once_however_many_ops_use_it(self):
        x, w = Tensor.randn(4, 4), Tensor.randn(4, 4)
        with autocast("bfloat16"):
            y = ((x @ w).relu() @ w).relu() @ w
        casts = [n for n in toposort([y.uop]) if n.op.name == "cast"]
        assert [n.src[0] for n in casts].count(w.uop) == 1
        assert len(casts) == 2

    def test_nothing_is_cast_outside(self):
        x = Tensor.randn(4, 4)
        with autocast("bfloat16"):
            pass
        assert (x @ x).dtype is F32


class TestGradients:
    def test_they_have_the_dtype_of_the_parameters(self):
        w = Tensor.randn(4, 3, requires_grad=True)
        h = Tensor.randn(3, 2, dtype="bfloat16", requires_grad=True)
        with autocast("bfloat16"):
            loss = ((Tensor.ones(2, 4) @ w).tanh() @ h).softmax(-1).log().sum()
        loss.backward()
        assert loss.dtype is F32
        assert (w.grad.dtype, h.grad.dtype) == (F32, BF16)

    @pytest.mark.parametrize("inside", [True, False])
    def test_it_does_not_matter_where_backward_is_called(self, inside):
        x, w = Tensor(np.linspace(-1, 1, 8).reshape(2, 4)), Tensor.randn(4, 3, requires_grad=True)
        with autocast("bfloat16"):
            loss = (x.float() @ w).exp().sum()
            if inside:
                loss.backward()
        if not inside:
            loss.backward()
        seed = (x.float().bfloat16() @ w.bfloat16()).float().exp().bfloat16()
        wanted = (x.float().bfloat16().T @ seed).float()
        np.testing.assert_array_equal(w.grad.numpy(), wanted.numpy())

    @pytest.mark.parametrize("inside", [True, False])
    def test_rules_of_users_run_as_their_function_did(self, inside):
        seen = []

        @custom_vjp
        def product(x, w):
            return x @ w

        def bwd(kept, g):
            seen.append(((kept[0] @ kept[1]).dtype, autocast.dtype_on()))
            return g @ kept[1].T, kept[0].T @ g

        product.defvjp(lambda x, w: (x @ w, (x, w)), bwd)
        x, w = Tensor.randn(2, 3, requires_grad=True), Tensor.randn(3, 3, requires_grad=True)
        with autocast("bfloat16", enabled=inside):
            y = product(x, w).sum()
        with autocast("bfloat16", enabled=not inside):
            y.backward()
        assert seen == [(BF16, BF16) if inside else (F32, None)]
        assert (x.grad.dtype, w.grad.dtype) == (F32, F32)

    def test_forward_mode(self):
        x = Tensor.randn(3, 3)
        with autocast("bfloat16"):
            y, t = jvp(lambda x: (x @ x).exp(), (x,), (x.ones_like(),))
        assert (y.dtype, t.dtype) == (F32, F32)

    def test_a_checkpointed_function_is_computed_again_in_the_same_dtypes(self):
        x, w = Tensor.randn(2, 3), Tensor.randn(3, 3)

        def loss(w, wrap):
            with autocast("bfloat16"):
                inner = lambda w: ((x @ w).tanh() @ w).sum()  # noqa: E731
                return (checkpoint(inner) if wrap else inner)(w)

        one, other = (grad(lambda w, wrap=wrap: loss(w, wrap))(w) for wrap in (True, False))
        np.testing.assert_array_equal(one.numpy(), other.numpy())
        assert one.dtype is F32


class TestTransforms:
    def test_jit_keeps_a_trace_per_state(self):
        f = jit(lambda x: x @ x)
        x = Tensor.randn(3, 3)
        kinds = []
        for low in ("bfloat16", "float16", "bfloat16", None, "float16", None):
            with autocast(low or "float16", enabled=low is not None):
                kinds.append(f(x).dtype)
        assert kinds == [BF16, F16, BF16, F32, F16, F32]
        assert f.traces == 3

    def test_jit_of_a_function_that_casts_inside(self):
        mode = autocast("bfloat16")

        @jit
        def f(x):
            with mode:
                y = x @ x
            return y, x @ x

        x = Tensor.randn(3, 3)
        assert [y.dtype for y in f(x)] == [BF16, F32]
        assert [y.dtype for y in f(x)] == [BF16, F32]
        assert f.traces == 1

    def test_an_inner_jit_follows_the_state_around_it(self):
        inner = jit(lambda x: x @ x)
        with autocast("bfloat16"):
            assert jit(lambda x: inner(x))(Tensor.ones(2, 2)).dtype is BF16
        assert jit(lambda x: inner(x))(Tensor.ones(2, 2)).dtype is F32

    def test_grad_vmap_and_jit_in_one_another(self):
        x, w = Tensor.randn(4, 3), Tensor.randn(3, 2)
        loss = lambda w, x: (x @ w).softmax(-1).square().sum()  # noqa: E731
        with autocast("bfloat16"):
            one = vmap(grad(loss), in_axes=(None, 0))(w, x)
            value, other = jit(value_and_grad(loss))(w, x)
        assert (one.dtype, value.dtype, other.dtype) == (F32, F32, F32)
        with autocast("bfloat16"):
            rows = [grad(loss)(w, x[i]).numpy() for i in range(4)]
        np.testing.assert_allclose(one.numpy(), np.stack(rows), rtol=1e-2, atol=1e-3)

    def test_branches_and_loops_are_traced_in_the_state(self):
        x = Tensor.randn(2, 2)
        with autocast("bfloat16"):
            y = cond(x.max() > 0, lambda x: x @ x, lambda x: (x @ x).relu(), x)
            _, rows = scan(lambda c, row: (c, row @ x), Tensor(0.0), x)
        assert (y.dtype, rows.dtype) == (BF16, BF16)

    def test_two_devices_in_one_process(self):
        here, there = Tensor.ones(2, 2), Tensor.ones(2, 2, device="REF")
        with autocast("bfloat16", device="REF"):
            assert ((here @ here).dtype, (there @ there).dtype) == (F32, BF16)
            with autocast("float16", device="cpu:0"):
                assert ((here @ here).dtype, (there @ there).dtype) == (F16, BF16)
                with autocast(enabled=False):
                    assert ((here @ here).dtype, (there @ there).dtype) == (F32, F32)
            assert autocast.dtype_on("CPU") is None
            assert autocast.dtype_on("REF") is BF16
        assert autocast.dtype_on("REF") is None

    def test_a_graph_for_a_device_that_is_not_there_is_cast_as_well(self):
        x = Tensor.ones(2, 2, device="GPU")
        with autocast("bfloat16", device="cuda"):
            assert (x @ x).dtype is BF16


class TestScopes:
    def test_they_nest(self):
        x = Tensor.ones(2, 2)
        kinds = []
        with autocast("bfloat16"):
            kinds.append((x @ x).dtype)
            with autocast("float16"):
                kinds.append((x @ x).dtype)
                with autocast("float16", enabled=False):
                    kinds.append((x @ x).dtype)
                kinds.append((x @ x).dtype)
            kinds.append((x @ x).dtype)
        assert kinds == [BF16, F16, F32, F16, BF16]

    def test_one_object_is_entered_again(self):
        mode, x = autocast("bfloat16"), Tensor.ones(2, 2)
        with mode, mode:
            pass
        assert (x @ x).dtype is F32

    def test_an_error_ends_it(self):
        with pytest.raises(ZeroDivisionError), autocast("bfloat16"):
            raise ZeroDivisionError
        assert autocast.dtype_on() is None

    def test_it_decorates_functions(self):
        @autocast("float16")
        def f(x):
            """Doc."""
            return x @ x

        assert f(Tensor.ones(2, 2)).dtype is F16
        assert (f.__name__, f.__doc__) == ("f", "Doc.")
        assert jit(f)(Tensor.ones(2, 2)).dtype is F16

    def test_it_decorates_a_layer(self):
        class Half(nn.Linear):
            forward = autocast("float16")(nn.Linear.forward)

        assert Half(2, 3)(Tensor.ones(1, 2)).dtype is F16

    def test_a_thread_has_its_own(self):
        found = []
        run = lambda: found.append((Tensor.ones(2, 2) @ Tensor.ones(2, 2)).dtype)  # noqa: E731
        with autocast("bfloat16"):
            context = copy_context()
            for target in (run, lambda: context.run(run)):
                thread = threading.Thread(target=target)
                thread.start()
                thread.join()
        assert found == [F32, BF16]

    def test_threads_at_the_same_time(self):
        barrier, found = threading.Barrier(2), {}
        f = jit(lambda x: x @ x)

        def run(low):
            with autocast(low):
                barrier.wait()
                found[low] = {f(Tensor.ones(2, 2)).dtype for _ in range(20)}

        threads = [threading.Thread(target=run, args=(low,)) for low in ("bfloat16", "float16")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == {"bfloat16": {BF16}, "float16": {F16}}


class TestErrors:
    @pytest.mark.parametrize("value", ["bfloat17", 3.5, None, object()])
    def test_what_is_no_dtype(self, value):
        with pytest.raises(DTypeError, match="E20") as error:
            autocast(value)
        assert "autocast" in str(error.value)
        assert "bfloat16" in error.value.help

    @pytest.mark.parametrize("value", ["int32", "bool", "complex64", "float8_e5m2"])
    def test_a_dtype_that_products_are_not_computed_in(self, value):
        with pytest.raises(DTypeError, match="E2005") as error:
            autocast(value)
        assert 'autocast("bfloat16")' in error.value.help

    @pytest.mark.parametrize("value", ["float32", "float64"])
    def test_a_dtype_that_is_not_low(self, value):
        with pytest.raises(DTypeError, match="E2005") as error:
            autocast(value)
        assert "enabled=False" in error.value.help

    def test_a_device_in_the_place_of_the_dtype(self):
        with pytest.raises(ArgumentError, match="E2001") as error:
            autocast("cuda")
        assert "device='cuda'" in error.value.help

    def test_a_device_that_does_not_exist(self):
        with pytest.raises(adjoint.DeviceError, match="E6002"):
            autocast("bfloat16", device="TPU")

    def test_a_carry_that_changes_its_type_says_so(self):
        x = Tensor.ones(2, 2)
        with pytest.raises(DTypeError, match="E2004"), autocast("bfloat16"):
            scan(lambda c, _: (c @ x, None), x, None, length=3)
