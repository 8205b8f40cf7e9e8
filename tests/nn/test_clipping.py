"""Clipping of gradients, and moving averages of parameters."""

import numpy as np
import pytest

from adjoint import AdjointError, Tensor, counters, jit, scan
from adjoint.nn import optim
from adjoint.nn.state import get_state_dict

RNG = np.random.default_rng(0)
ARRAYS = [RNG.standard_normal((3, 4)), RNG.standard_normal(5)]


def with_gradients(arrays=ARRAYS):
    made = [Tensor(np.ones_like(a)) for a in arrays]
    for p, a in zip(made, arrays, strict=True):
        p.grad = Tensor(a)
    return made


def size(arrays, power=2.0):
    return np.linalg.norm(np.concatenate([np.ravel(a) for a in arrays]), power)


@pytest.mark.parametrize("power", [1.0, 2.0, 3.0, float("inf")])
def test_the_norm_of_all_gradients_is_bounded(power):
    params = with_gradients()
    norm = optim.clip_grad_norm_(params, 0.5, norm_type=power)
    assert norm.item() == pytest.approx(size(ARRAYS, power))
    assert size([p.grad.numpy() for p in params], power) == pytest.approx(0.5, rel=1e-5)


def test_small_gradients_stay_as_they_are():
    params = with_gradients()
    optim.clip_grad_norm_(params, 100.0)
    assert np.array_equal(params[0].grad.numpy(), ARRAYS[0])


def test_parameters_without_gradients_do_not_count():
    params = [Tensor([1.0]), *with_gradients()]
    assert optim.clip_grad_norm_(iter(params), 1.0).item() == pytest.approx(size(ARRAYS))
    assert params[0].grad is None
    assert optim.clip_grad_norm_([Tensor([1.0])], 1.0).item() == 0.0


def test_half_floats_neither_overflow_nor_change_their_dtype():
    p = Tensor(np.ones(4, np.float16))
    p.grad = Tensor(np.full(4, 1000, np.float16))
    assert optim.clip_grad_norm_(p, 1.0).item() == pytest.approx(2000)
    assert p.grad.dtype.name == "float16"
    np.testing.assert_allclose(p.grad.numpy(), 0.5, rtol=1e-3)


def test_values_are_bounded():
    params = with_gradients()
    optim.clip_grad_value_(params, 0.5)
    for p, a in zip(params, ARRAYS, strict=True):
        assert np.array_equal(p.grad.numpy(), np.clip(a, -0.5, 0.5))


def test_trees_of_gradients_are_clipped_without_changing_them():
    tree = {"a": Tensor(ARRAYS[0]), "b": [Tensor(ARRAYS[1])]}
    clipped = jit(lambda t: optim.clip_by_global_norm(t, 0.5))(tree)
    assert optim.global_norm(clipped).item() == pytest.approx(0.5, rel=1e-5)
    assert optim.global_norm(tree).item() == pytest.approx(size(ARRAYS))
    assert np.abs(optim.clip_by_value(tree, 0.1)["a"].numpy()).max() == 0.1


def test_clipping_is_part_of_the_program_of_the_step():
    p = Tensor(np.arange(4.0))
    opt = optim.SGD([p], lr=1.0)
    (p * p).sum().backward()
    norm = optim.clip_grad_norm_([p], 1.0)
    with counters() as counted:
        opt.step(norm)
    assert counted.runs == 1
    assert norm.item() == pytest.approx(2 * np.sqrt(14))
    np.testing.assert_allclose(p.numpy(), np.arange(4) * (1 - 1 / np.sqrt(14)), rtol=1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_gradients_that_are_not_finite_are_an_error_if_wanted(bad):
    p = Tensor([1.0])
    p.grad = Tensor([bad])
    optim.clip_grad_norm_([p], 1.0)
    p.grad = Tensor([bad])
    with pytest.raises(AdjointError, match="norm of the gradients is") as caught:
        optim.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)
    assert caught.value.code == "E9005"


@pytest.mark.parametrize("call", [lambda: optim.clip_grad_norm_(3, 1.0)])
def test_what_is_no_list_of_parameters_is_an_error(call):
    with pytest.raises(AdjointError, match=r"give model.parameters\(\)") as caught:
        call()
    assert caught.value.code == "E2001"


@pytest.mark.parametrize("power", [0.0, -1.0, float("nan")])
def test_a_norm_has_a_positive_power(power):
    with pytest.raises(AdjointError, match="norm_type is above 0") as caught:
        optim.clip_grad_norm_(with_gradients(), 1.0, norm_type=power)
    assert caught.value.code == "E2006"


# ---- moving averages


def averages_by_hand(values, decay, warmup):
    average = values[0]
    for t, value in enumerate(values[1:], 1):
        d = min(decay, (1 + t) / (10 + t)) if warmup else decay
        average = d * average + (1 - d) * value
    return average


@pytest.mark.parametrize("warmup", [False, True])
def test_averages_follow_the_parameters(warmup):
    p = Tensor(np.array([0.0, 1.0]))
    ema = optim.EMA([p], decay=0.5, warmup=warmup)
    values = [p.numpy()]
    for i in range(5):
        p.assign(Tensor(np.array([i + 1.0, -i]))).realize()
        values.append(p.numpy())
        ema.update()
    wanted = averages_by_hand(values, 0.5, warmup)
    np.testing.assert_allclose(ema.averages[0].numpy(), wanted, rtol=1e-14)


@pytest.mark.parametrize("warmup", [False, True])
def test_the_pure_form_gives_the_same_averages_inside_scan(warmup):
    pure = optim.ema(0.5, warmup)
    rows = RNG.standard_normal((6, 3))

    def body(state, row):
        return pure.update(state, {"w": row}), None

    state, _ = scan(body, pure.init({"w": Tensor(rows[0])}), Tensor(rows[1:]))
    np.testing.assert_allclose(
        state.average["w"].numpy(), averages_by_hand(list(rows), 0.5, warmup), rtol=1e-14
    )


def test_averages_are_swapped_in_and_out():
    p = Tensor([4.0])
    ema = optim.EMA({"w": p}, decay=0.75)
    p.assign(Tensor([8.0])).realize()
    ema.update()
    with ema.swapped():
        assert p.item() == 5.0
        assert ema.averages[0].item() == 8.0
    assert (p.item(), ema.averages[0].item()) == (8.0, 5.0)
    with pytest.raises(ZeroDivisionError), ema.swapped():
        _ = 1 / 0
    assert p.item() == 8.0
    ema.copy_to()
    assert p.item() == 5.0


def test_averages_inside_jit_have_the_same_bits():
    def run(wrap):
        p = Tensor(np.linspace(0, 1, 4))
        opt, ema = optim.SGD([p], lr=0.1), None
        ema = optim.EMA([p], 0.9, warmup=True)

        def step():
            opt.zero_grad()
            (p**2).sum().backward()
            opt.step()
            ema.update()

        step = wrap(step)
        for _ in range(6):
            step()
        return ema.averages[0].numpy()

    assert np.array_equal(run(jit), run(lambda fn: fn))


def test_the_state_of_averages_does_not_hold_the_parameters():
    ema = optim.EMA([Tensor([1.0])])
    assert list(get_state_dict(ema)) == ["step", "averages.0"]


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("E2006", lambda: optim.EMA([Tensor([1.0])], decay=1.5)),
        ("E2007", lambda: optim.EMA([])),
        ("E2005", lambda: optim.EMA([Tensor([1])])),
    ],
)
def test_wrong_averages_are_errors(code, call):
    with pytest.raises(AdjointError) as caught:
        call()
    assert caught.value.code == code
