"""debug_nans names the op that made the first NaN, its values, and the user's line."""

import pickle

import numpy as np
import pytest

from adjoint import (
    NumericError,
    Tensor,
    cond,
    debug,
    debug_nans,
    fori_loop,
    grad,
    jit,
    scan,
    value_and_grad,
    vmap,
    while_loop,
)
from adjoint.debug.nans import as_the_environment_says
from adjoint.engine.observers import watch
from adjoint.ir.function import UniqueName
from tests.debug.places import places_in
from tests.support.processes import python
from tests.support.tensors import vector

place = places_in(__file__)


def said(call):
    """The error of a call that gives a NaN while somebody looks."""
    with debug_nans(), pytest.raises(NumericError) as caught:
        call().realize()
    assert caught.value.code == "E6006"
    return str(caught.value)


@pytest.fixture(autouse=True)
def nobody_looks_afterwards():
    yield
    assert watch.checker is None
    assert not watch.on
    assert not UniqueName.everywhere


def test_a_lazy_result_names_op_operands_values_index_and_line():
    x = vector([1, 2, 3], [4, -5, 6])

    def call():
        doubled = x * 2  # lazy operand
        return doubled.log() + 1  # lazy log

    text = said(call)
    assert text.startswith("E6006: log: NaN at [1, 1] of the result (1 of 6 elements)")
    assert f"result     f32[2, 3]  {place('lazy log')}" in text
    assert f"operand 0  f32[2, 3]  {place('lazy operand')}" in text
    assert f"built by log at {place('lazy log')}" in text
    assert "log(-10) = nan" in text
    assert "operand 0[1, 0:3] = 8 [-10] 12" in text
    assert "result[1, 0:3] = 2.07944 [nan] 2.48491" in text


def test_a_jitted_function_names_the_line_inside_it_even_if_it_ran_before():
    @jit
    def root(x):
        y = x - 1
        return y.sqrt().sum()  # jitted root

    root(vector(4.0, 9.0)).realize()
    text = said(lambda: root(vector(4.0, 0.0)))
    assert f"built by sqrt at {place('jitted root')}" in text
    assert "sqrt(-1) = nan" in text


def test_functions_that_begin_alike_have_lines_of_their_own():
    first = jit(lambda x: x.log() * 3)
    second = jit(lambda x: x.log() * 4)  # second of two

    first(vector(1.0)).realize()
    second(vector(1.0)).realize()
    assert f"log at {place('second of two')}" in said(lambda: second(vector(-1.0)))


def test_a_gradient_names_the_forward_line():
    def loss(x):
        length = (x * x).sum().sqrt()  # length of zero
        return length * 2

    text = said(lambda: grad(loss)(vector(0.0, 0.0)))
    assert f"in the backward pass of mul at {place('length of zero')}" in text
    assert f"the infinities among the operands come from sqrt at {place('length of zero')}" in text


def test_a_gradient_inside_jit_says_that_it_is_one_and_where_the_infinity_came_from():
    def loss(x):
        safe = (x > 0).where(x.sqrt(), 0.0)  # not safe
        return safe.sum()

    text = said(lambda: jit(grad(loss))(vector(0.0, 4.0)))
    assert f"in the backward pass of sqrt at {place('not safe')}" in text
    assert f"the infinities among the operands come from sqrt at {place('not safe')}" in text
    assert "mul(0, inf) = nan" in text


def test_backward_is_looked_at_too():
    x = vector(-1.0, 2.0).requires_grad_()
    loss = (x.abs() + 1).sum() + x.pow(1.5).detach().sum() * 0
    with debug_nans():
        with pytest.raises(NumericError, match="pow"):
            loss.realize()
        x.abs().sum().backward()
        assert x.grad.tolist() == [-1, 1]


def test_a_scan_says_in_which_step():
    def body(carry, x):
        left = carry - x
        return left, left.log()  # log in a scan

    def call():
        return scan(body, Tensor(5.0), vector(0, 1, 2, 3, 4))[1]  # the scan

    text = said(call)
    assert f"built by log at {place('log in a scan')}" in text
    assert f"in step 3 of the loop of scan at {place('the scan')}" in text
    assert "log(-1) = nan" in text
    assert f"in step 3 of the loop of scan at {place('the scan')}" in said(jit(call))


def test_a_scan_from_the_end_counts_its_steps_from_the_front():
    def body(carry, x):
        return carry + x.log(), None

    text = said(lambda: scan(body, Tensor(0.0), vector(1, -1, 2, 3), reverse=True)[0])
    assert "in step 1 of the loop" in text


def test_scans_that_begin_alike_have_lines_of_their_own():
    def one(carry, x):
        return carry + x.log(), None

    def other(carry, x):
        return carry - x.log(), None  # the other body

    def run(body, x):
        return jit(lambda x: scan(body, Tensor(0.0), x)[0])(x)

    run(one, vector(1, 2)).realize()
    run(other, vector(1, 2)).realize()
    assert f"log at {place('the other body')}" in said(lambda: run(other, vector(1, -2)))


def test_the_gradient_of_a_scan_names_the_line_in_its_body():
    def body(carry, x):
        return carry * (x - x).sqrt(), carry  # in the body

    def loss(c, x):
        return scan(body, c, x)[1].sum()

    text = said(lambda: jit(grad(loss, argnums=1))(Tensor(2.0), vector(1, 2, 3)))
    assert f"at {place('in the body')}" in text
    assert "backward" in text


def test_vmap_names_the_line_of_one_example():
    def one(row):
        return row.log().sum()  # one example

    text = said(lambda: vmap(one)(vector([1, 2], [3, -4])))
    assert f"log at {place('one example')}" in text
    assert "NaN at [1, 1]" in text
    assert f"log at {place('one example')}" in said(lambda: jit(vmap(one))(vector([1, -2])))


def test_a_loop_in_python_names_its_line():
    def call():
        x = Tensor(3.0)
        for _ in range(5):
            x = (x - 1).sqrt()  # in a Python loop
        return x

    text = said(call)
    assert f"sqrt at {place('in a Python loop')}" in text


def test_while_loops_and_fori_loops_say_which_turn():
    def call():
        return while_loop(lambda v: v > -3, lambda v: v - 2 + v.log() * 0, Tensor(1.5))

    assert "in turn 1 of the loop" in said(call)
    text = said(lambda: fori_loop(0, 4, lambda i, v: (v - 1).sqrt() + v * 0, Tensor(1.5)))
    assert "in step 1 of the loop" in text


def test_a_branch_is_looked_into():
    def call():
        x = vector(-1.0, 2.0)
        return cond(x.sum() > 0, lambda v: v.log(), lambda v: v, x)  # a branch

    assert f"in a branch of cond at {place('a branch')}" in said(call)


def test_an_input_that_is_nan_already_is_said_to_be_so():
    bad = Tensor(np.array([1, np.nan], np.float32))  # a bad input
    text = said(lambda: bad.exp() + 1)
    assert text.startswith("E6006: an input has NaN already, at [1] (1 of 2 elements)")
    assert place("a bad input") in text
    assert "input[0:2] = 1 [nan]" in text
    assert "an input has NaN already" in said(lambda: jit(lambda x: x.exp())(bad))
    assert "a constant has NaN already" in said(lambda: Tensor.full((2,), float("nan")) + 1)


def test_what_where_does_not_choose_is_not_to_blame():
    x = vector(-1.0, 2.0)
    kept = x.log() * 0  # the same constant, made at another line

    def call():
        masked = (x > 0).where(x.log(), 1.0)
        return masked / (masked - masked)

    text = said(lambda: call() * 0)
    assert "mul" in text
    assert "log(" not in text
    with debug_nans():
        assert np.isfinite((x > 0).where(x.log(), 1.0).numpy()).all()
    del kept


def test_infinities_are_looked_for_if_asked_for():
    x = vector(0.0, 1.0)
    with debug_nans():
        assert x.log().tolist()[0] == -np.inf
    with debug_nans(inf=True), pytest.raises(NumericError, match=r"log: -inf at \[0\]"):
        (x.log() + 1).realize()
    with debug_nans(inf=True):
        masked = vector(1.0, 2.0) + Tensor(np.array([0, -np.inf], np.float32))
        assert masked.softmax(-1).tolist() == [1, 0]


def test_a_composite_names_the_op_inside_and_the_line_of_the_whole():
    def call():
        return (vector(1.0, 2.0) * 1e30 * 1e30).softmax(-1)  # whole softmax

    text = said(call)
    assert text.startswith("E6006: sub:")
    assert f"built by softmax at {place('whole softmax')}" in text
    assert "sub(inf, inf) = nan" in text


def test_ops_that_mix_elements_show_the_range_of_their_operands():
    big = vector([1e30, 2e30], [3e30, 4e30]) * 1e30
    text = said(lambda: big @ vector([0, 0], [0, 0]))
    assert text.startswith("E6006: contract:")
    assert "operand 0: 4 elements from inf to inf, 4 infinite" in text
    assert "operand 1: 4 elements from 0 to 0" in text


@pytest.mark.parametrize("device", ["CPU", "REF"])
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "complex64"])
def test_every_float_dtype_and_device(device, dtype):
    x = Tensor([0.0, 2.0], device=device, dtype="float32").cast(dtype)
    assert "true_div" in said(lambda: x / x)


def test_a_value_that_was_refused_is_not_kept():
    y = vector(-1.0).log()
    with debug_nans():
        for _ in range(2):
            with pytest.raises(NumericError):
                y.realize()
    assert np.isnan(y.numpy()).all()


def test_a_refused_step_changes_nothing():
    weight = vector(1.0, 2.0)

    @jit
    def step(x):
        weight.assign(weight - x.log())
        return weight.sum()

    with debug_nans():
        step(vector(1.0, 1.0))
        with pytest.raises(NumericError):
            step(vector(1.0, -1.0))
    assert weight.tolist() == [1, 2]


def test_donated_arguments_are_looked_at():
    step = jit(lambda x: x.log(), donate_argnums=0)
    assert "log(-2) = nan" in said(lambda: step(vector(-2.0)))


def test_prints_are_not_done_again_while_looking(capsys):
    @jit
    def noisy(x):
        debug.print("x = {x}", x=x)
        return x.log()

    said(lambda: noisy(vector(-1.0)))
    assert capsys.readouterr().out == "x = [-1.]\n"


def test_a_call_switches_it_on_and_off():
    x = vector(-1.0)
    debug_nans()
    try:
        with pytest.raises(NumericError):
            x.log().realize()
    finally:
        debug_nans(False)
    assert np.isnan(x.log().numpy()).all()


def test_contexts_nest_and_put_back_what_was():
    x = vector(0.0)
    with debug_nans():
        with debug_nans(inf=True), pytest.raises(NumericError):
            x.log().realize()
        assert x.log().tolist() == [-np.inf]
        with debug_nans(False):
            assert np.isnan((x / x).numpy()).all()
        with pytest.raises(NumericError):
            (x / x * 1).realize()
    assert np.isnan((x / x).numpy()).all()


def test_what_is_fine_stays_as_it_is():
    def loss(w, x):
        return ((x @ w).tanh() ** 2).mean()

    w, x = Tensor.randn(4, 3), Tensor.randn(5, 4)
    plain = jit(value_and_grad(loss))(w, x)
    with debug_nans(inf=True):
        watched = jit(value_and_grad(loss))(w, x)
    for a, b in zip(plain, watched, strict=True):
        assert a.numpy().tobytes() == b.numpy().tobytes()


def test_the_error_is_a_floating_point_error_and_can_be_sent_to_another_process():
    with debug_nans(), pytest.raises(FloatingPointError) as caught:
        vector(-1.0).log().realize()
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.notes == caught.value.notes
    assert "note: log(-1) = nan" in caught.value.render()


@pytest.mark.parametrize(("setting", "status"), [("1", 1), ("inf", 3)])
def test_the_environment_can_switch_it_on(setting, status):
    code = (
        "import sys\nfrom adjoint import NumericError, Tensor\nstatus = 0\n"
        "for mark, value in ((1, -1.0), (2, 0.0)):\n"
        "    try:\n        Tensor([value]).log().realize()\n"
        "    except NumericError:\n        status += mark\n"
        "sys.exit(status)\n"
    )
    assert python("-c", code, ADJOINT_DEBUG_NANS=setting).returncode == status


def test_a_setting_that_makes_no_sense_is_said_and_harmless(monkeypatch):
    monkeypatch.setenv("ADJOINT_DEBUG_NANS", "maybe")
    with pytest.warns(UserWarning, match="ADJOINT_DEBUG_NANS"):
        as_the_environment_says()
    monkeypatch.setenv("ADJOINT_DEBUG_NANS", "0")
    as_the_environment_says()
