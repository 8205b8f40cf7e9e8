"""check_grads finds wrong derivatives and passes right ones; eval_shape computes nothing."""

import numpy as np
import pytest

from adjoint import ArgumentError, AutodiffError, ShapeError, Tensor
from adjoint.transforms.checking import ShapeDtype, check_grads, eval_shape
from adjoint.transforms.custom_rules.custom import custom_jvp, custom_vjp

X = np.array([[0.3, -1.2, 0.7], [2.1, 0.4, -0.5]])


class TestCheckGrads:
    def test_right_derivatives_pass_in_both_modes_to_the_second_order(self):
        check_grads(lambda x, w: (x @ w).tanh().softmax(-1), (Tensor(X), Tensor(X.T.copy())))

    def test_the_third_order(self):
        check_grads(lambda x: (x**4).sum(), (Tensor(X),), order=3, atol=1e-5, rtol=1e-5)

    def test_pytrees_integers_and_several_results(self):
        def fn(p, index):
            return {"picked": p["x"][index] * p["s"], "whole": index + 1}

        check_grads(fn, ({"x": Tensor(X[0]), "s": 2.0}, Tensor([0, 2, 2])))

    @pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
    def test_narrow_dtypes_have_steps_of_their_own(self, dtype):
        check_grads(lambda x: x.sin() * x, (Tensor(X).cast(dtype),), order=1)

    def test_the_error_shows_the_worst_element(self):
        wrong = custom_vjp(lambda x: x * x)
        wrong.defvjp(lambda x: (x * x, x), lambda x, g: (2 * g * x + Tensor([0.0, 0.0, 5.0]),))
        with pytest.raises(AutodiffError) as error:
            check_grads(wrong, (Tensor(X[0]),), order=1, modes=("rev",))
        message = str(error.value)
        assert "E5002" in message
        assert "1 of 3 elements" in message or "3 of 3 elements" in message
        assert "argument 0 at [2]" in message
        for word in ("numeric", "computed", "absolute difference 5", "relative"):
            assert word in message

    def test_a_wrong_tangent_is_found_in_forward_mode(self):
        wrong = custom_jvp(lambda x: x.sin())
        wrong.defjvp(lambda x, t: (x[0].sin(), t[0] * x[0].cos() * 1.01))
        with pytest.raises(AutodiffError, match=r"jvp of .*result 0 at"):
            check_grads(wrong, (Tensor(X),), order=1, modes=("fwd",))

    def test_a_wrong_second_derivative_is_found(self):
        right_once = custom_jvp(lambda x: x**3)
        right_once.defjvp(lambda x, t: (x[0] ** 3, t[0] * 3 * x[0] * x[0].detach()))
        check_grads(right_once, (Tensor(X),), order=1)
        with pytest.raises(AutodiffError, match=r"of jvp of|of vjp of"):
            check_grads(right_once, (Tensor(X),), order=2)

    def test_a_nan_is_never_equal(self):
        with pytest.raises(AutodiffError, match="nan"):
            check_grads(lambda x: x.sqrt(), (Tensor(np.array([0.0])),), order=1)

    def test_a_mode_that_does_not_exist(self):
        with pytest.raises(ArgumentError, match="'fwd' and 'rev'"):
            check_grads(lambda x: x, (Tensor(X),), modes=("both",))

    def test_nothing_to_move(self):
        with pytest.raises(AutodiffError, match="no argument is a float tensor"):
            check_grads(lambda x: x, (Tensor([1, 2]),))

    def test_nothing_to_differentiate(self):
        with pytest.raises(AutodiffError, match="returns no float"):
            check_grads(lambda x: x.argmax(), (Tensor(X),))


class TestEvalShape:
    def test_the_types_of_a_pytree(self):
        got = eval_shape(lambda p: {"y": p["x"] @ p["x"].transpose(), "n": (p["x"] > 0).sum()}, {
            "x": ShapeDtype((2, 3), "float16")
        })  # fmt: skip
        assert got["y"] == ShapeDtype((2, 2), "float16")
        assert got["n"].shape == ()
        assert got["n"].dtype.is_int

    def test_nothing_is_computed(self):
        huge = ShapeDtype((10**6, 10**6), "float32")
        got = eval_shape(lambda x: (x @ x).sum(0), huge)
        assert got == ShapeDtype((10**6,), "float32")

    def test_tensors_arrays_and_plain_values(self):
        got = eval_shape(lambda x, a, n: (x + a).reshape(n, -1), Tensor(X), X, 3)
        assert got == ShapeDtype((3, 2), "float64")

    def test_a_value_that_is_asked_for_is_an_error(self):
        with pytest.raises(AutodiffError, match="not known inside eval_shape"):
            eval_shape(lambda x: x * x.sum().item(), Tensor(X))

    def test_errors_are_those_of_the_call(self):
        with pytest.raises(ShapeError):
            eval_shape(lambda x: x @ x, Tensor(X))

    def test_a_type_reads_well_and_is_a_key(self):
        one = ShapeDtype((2,), "float32")
        assert repr(one) == "ShapeDtype(f32[2])"
        assert {one: 1}[ShapeDtype((2,), "float32")] == 1
        assert one != ShapeDtype((2,), "float64")
        assert one != (2,)
