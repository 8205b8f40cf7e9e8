"""Learning-rate schedules: as functions of numbers, arrays and tensors, and as objects."""

import math

import numpy as np
import pytest

from adjoint import AdjointError, Tensor, jit, vmap
from adjoint.nn import optim
from adjoint.nn.optim import schedules
from adjoint.nn.state import get_state_dict, load_checkpoint, save_checkpoint


def optimizer(lr=0.1, kind=optim.SGD, **options):
    return kind([Tensor([1.0, 2.0])], lr=lr, **options)


def rates(scheduler, steps, *args):
    found = [scheduler.get_last_lr()[0]]
    for _ in range(steps):
        scheduler.step(*args)
        found.append(scheduler.get_last_lr()[0])
    return found


# ---- functions

FUNCTIONS = {  # the schedule, and its value after so many steps
    "constant": (schedules.constant(0.25, total=2), {0: 0.25, 1: 0.25, 2: 1.0}),
    "constant for ever": (schedules.constant(0.25), {0: 0.25, 999: 0.25}),
    "step": (schedules.step(3, gamma=0.5), {0: 1, 2: 1, 3: 0.5, 8: 0.25}),
    "multistep": (schedules.multistep([2, 4, 4], 0.1), {1: 1, 2: 0.1, 3: 0.1, 4: 0.001}),
    "exponential": (schedules.exponential(0.9), {0: 1, 3: 0.729}),
    "linear": (schedules.linear(0.2, 0.6, total=4), {0: 0.2, 1: 0.3, 4: 0.6, 9: 0.6}),
    "warmup": (schedules.warmup(4), {0: 0, 1: 0.25, 4: 1, 5: 1}),
    "polynomial": (schedules.polynomial(4, power=2), {0: 1, 1: 0.5625, 4: 0, 7: 0}),
    "cosine": (schedules.cosine(4, floor=0.2), {0: 1, 2: 0.6, 4: 0.2}),
    "restarts": (schedules.cosine_restarts(4), {0: 1, 2: 0.5, 3.999999: 0, 4: 1, 6: 0.5}),
    "longer restarts": (schedules.cosine_restarts(2, 2), {1: 0.5, 2: 1, 4: 0.5, 6: 1, 14: 1}),
    "one cycle": (schedules.one_cycle(20), {0: 0.04, 5: 1, 19: 0.04 / 1e4, 50: 0.04 / 1e4}),
    "three phases": (
        schedules.one_cycle(20, 0.25, anneal_strategy="linear", three_phase=True),
        {0: 0.04, 4: 1, 8: 0.04, 19: 0.04 / 1e4},
    ),
    "a cycle that starts at the top": (schedules.one_cycle(10, pct_start=0.1), {0: 0.04, 9: 4e-6}),
    "chain": (schedules.chain(schedules.warmup(2), lambda t: 0.5 * t), {0: 0, 1: 0.25, 4: 2}),
    "product": (schedules.warmup(2) * schedules.exponential(0.5), {1: 0.25, 2: 0.25}),
    "multiple": (3e-4 * schedules.warmup(2), {1: 1.5e-4}),
    "sequential": (
        schedules.sequential([schedules.warmup(2), schedules.cosine(4), lambda t: t], [2, 5]),
        {0: 0, 1: 0.5, 2: 1, 4: 0.5, 5: 0, 7: 2},
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_schedule_is_a_function_of_numbers_arrays_and_tensors(name):
    schedule, points = FUNCTIONS[name]
    for step, value in points.items():
        assert schedule(step) == pytest.approx(value, abs=1e-6)
        assert isinstance(schedule(step), float)
    steps = np.arange(25)
    one_by_one = [schedule(int(s)) for s in steps]
    np.testing.assert_allclose(schedule(steps), one_by_one, rtol=1e-15)
    found = schedule(Tensor(steps))
    assert found.dtype.name == "float64"
    np.testing.assert_allclose(found.numpy(), one_by_one, rtol=1e-12, atol=1e-16)


def test_a_schedule_works_inside_jit_and_vmap():
    schedule = schedules.sequential([schedules.warmup(3), schedules.cosine_restarts(4, 2)], [3])
    steps = Tensor(np.arange(12))
    wanted = schedule(np.arange(12))
    np.testing.assert_allclose(jit(vmap(schedule))(steps).numpy(), wanted, rtol=1e-12)


def test_a_schedule_is_the_learning_rate_of_a_pure_optimiser():
    pure = optim.sgd(lr=0.5 * schedules.linear(1.0, 0.0, total=4))
    p = Tensor(np.array([0.0]))
    state = pure.init(p)
    seen = []
    for _ in range(5):
        new, state = pure.update(Tensor(np.array([-1.0])), state, p)
        seen.append((new - p).item())
        p = new
    np.testing.assert_allclose(seen, [0.5, 0.375, 0.25, 0.125, 0.0], atol=1e-15)


# ---- objects


def cosine(t, low, high, total):
    return low + (high - low) * (1 + math.cos(math.pi * t / total)) / 2


OBJECTS = {  # what is made, and the learning rates by hand, which start at 0.1
    "LambdaLR": (lambda o: optim.LambdaLR(o, lambda t: 0.5**t), lambda t: 0.1 * 0.5**t),
    "ConstantLR": (lambda o: optim.ConstantLR(o, 0.5, 3), lambda t: 0.05 if t < 3 else 0.1),
    "StepLR": (lambda o: optim.StepLR(o, 2), lambda t: 0.1 * 0.1 ** (t // 2)),
    "ExponentialLR": (lambda o: optim.ExponentialLR(o, 0.9), lambda t: 0.1 * 0.9**t),
    "LinearLR": (
        lambda o: optim.LinearLR(o, 0.5, 1.0, 4),
        lambda t: 0.1 * (0.5 + 0.5 * min(t, 4) / 4),
    ),
    "PolynomialLR": (lambda o: optim.PolynomialLR(o, 4), lambda t: 0.1 * max(0, 1 - t / 4)),
    "CosineAnnealingLR": (
        lambda o: optim.CosineAnnealingLR(o, 4, eta_min=0.02),
        lambda t: cosine(t, 0.02, 0.1, 4),
    ),
    "CosineAnnealingWarmRestarts": (
        lambda o: optim.CosineAnnealingWarmRestarts(o, 3, eta_min=0.02),
        lambda t: cosine(t % 3, 0.02, 0.1, 3),
    ),
    "OneCycleLR": (
        lambda o: optim.OneCycleLR(o, 0.5, 10, cycle_momentum=False),
        lambda t: cosine(t, 0.5, 0.02, 2) if t < 2 else cosine(t - 2, 2e-6, 0.5, 7),
    ),
    "SequentialLR": (
        lambda o: optim.SequentialLR(
            o, [optim.LinearLR(o, 0.5, 1.0, 2), optim.LambdaLR(o, lambda t: 1 / (t + 1))], [2]
        ),
        lambda t: 0.1 * (0.5 + 0.25 * t) if t < 2 else 0.1 / (t - 1),
    ),
    "ChainedScheduler": (
        lambda o: optim.ChainedScheduler([optim.StepLR(o, 2), optim.ExponentialLR(o, 0.5)]),
        lambda t: 0.1 * 0.1 ** (t // 2) * 0.5**t,
    ),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_a_scheduler_sets_the_learning_rate(name):
    make, wanted = OBJECTS[name]
    found = rates(make(optimizer()), 6)
    np.testing.assert_allclose(found, [wanted(t) for t in range(7)], rtol=1e-12, atol=1e-15)


def test_schedules_on_one_optimizer_multiply():
    opt = optimizer()
    one, two = optim.StepLR(opt, 1, 0.5), optim.StepLR(opt, 2, 0.1)
    for _ in range(2):
        one.step()
        two.step()
    assert opt.lr.item() == pytest.approx(0.1 * 0.25 * 0.1)


def test_groups_keep_their_proportions_and_may_have_functions_of_their_own():
    groups = [{"params": [Tensor([1.0])], "lr": lr} for lr in (0.1, 0.2)]
    opt = optim.SGD(groups)
    scheduler = optim.LambdaLR(opt, [lambda t: 0.5**t, lambda t: 1.0 + t])
    scheduler.step()
    np.testing.assert_allclose(scheduler.get_last_lr(), [0.05, 0.4])


def test_one_cycle_moves_the_momentum_the_other_way():
    sgd, adam = optimizer(momentum=0.9), optimizer(kind=optim.Adam)
    for opt in (sgd, adam):
        scheduler = optim.OneCycleLR(opt, 0.5, 10)
        for _ in range(2):
            scheduler.step()
    assert sgd.param_groups[0]["momentum"].item() == pytest.approx(0.85)
    assert adam.param_groups[0]["betas"][0].item() == pytest.approx(0.85)


METRICS = [1.0, 0.9, 0.9, 0.9, 0.9, 0.5, 0.6, 0.6, 0.6]


def test_a_plateau_reduces_the_learning_rate():
    opt = optimizer()
    scheduler = optim.ReduceLROnPlateau(opt, patience=1, factor=0.5, min_lr=0.03)
    found = []
    for metric in METRICS:
        scheduler.step(metric)
        found.append(opt.lr.item())
    np.testing.assert_allclose(found, [0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.03, 0.03])


def test_a_plateau_of_a_maximum_with_a_rest_after_each_reduction():
    opt = optimizer()
    scheduler = optim.ReduceLROnPlateau(opt, "max", 0.1, 0, 0.1, "abs", cooldown=2)
    found = []
    for metric in [1.0, 1.05, 1.0, 1.0, 1.0, 2.0]:
        scheduler.step(Tensor(metric))
        found.append(opt.lr.item())
    np.testing.assert_allclose(found, [0.1, 0.01, 0.01, 0.01, 0.001, 0.001])


def test_schedules_inside_jit_make_no_new_program_and_give_the_same_bits():
    def run(wrap):
        p = Tensor(np.linspace(-1, 1, 5))
        opt = optim.SGD([p], lr=0.3, momentum=0.9)
        cycle = optim.OneCycleLR(opt, 0.4, 12)
        plateau = optim.ReduceLROnPlateau(opt, patience=0, factor=0.7)

        def step():
            opt.zero_grad()
            loss = (p**4).sum().backward()
            opt.step()
            cycle.step()
            plateau.step(loss)

        step = wrap(step)
        for _ in range(10):
            step()
        return p.numpy(), opt.lr.item(), step

    (p, lr, _), (q, rate, jitted) = run(lambda fn: fn), run(jit)
    assert np.array_equal(p, q)
    assert lr == rate
    assert jitted.cache_size() <= 2


def test_state_is_saved_and_a_resumed_schedule_goes_on(tmp_path):
    def made():
        opt = optimizer(momentum=0.9)
        parts = [optim.LinearLR(opt, total_iters=2), optim.CosineAnnealingLR(opt, 9)]
        sequence = optim.SequentialLR(opt, parts, [2])
        return opt, sequence, optim.ReduceLROnPlateau(opt, patience=0, factor=0.5)

    def advanced(sequence, plateau, steps):
        for _ in range(steps):
            sequence.step()
            plateau.step(1.0)
        return sequence.get_last_lr()

    opt, sequence, plateau = made()
    advanced(sequence, plateau, 3)
    names = {"last_epoch", "factors.0"}
    assert get_state_dict(sequence).keys() == names
    save_checkpoint(tmp_path / "kept", step=3, opt=opt, sequence=sequence, plateau=plateau)
    kept = [{n: t.numpy() for n, t in s.state_dict().items()} for s in (opt, sequence, plateau)]
    wanted = advanced(sequence, plateau, 4)
    opt, sequence, plateau = made()
    load_checkpoint(tmp_path / "kept", opt=opt, sequence=sequence, plateau=plateau)
    assert advanced(sequence, plateau, 4) == wanted
    opt, sequence, plateau = made()
    for thing, state in zip((opt, sequence, plateau), kept, strict=True):
        thing.load_state_dict(state)
    assert advanced(sequence, plateau, 4) == wanted


def test_a_rate_set_by_hand_is_what_later_schedules_start_from():
    opt = optimizer()
    opt.lr = 0.4
    assert rates(optim.ExponentialLR(opt, 0.5), 1) == pytest.approx([0.4, 0.2])


# ---- errors

ERRORS = {
    "no optimizer": ("E2001", lambda: optim.LambdaLR([Tensor([1.0])], [])),
    "functions for other groups": ("E2007", lambda: optim.LambdaLR(optimizer(), [])),
    "a step of 0": ("E2006", lambda: optim.StepLR(optimizer(), 0)),
    "no steps": ("E2006", lambda: schedules.cosine(0)),
    "a half period": ("E2006", lambda: schedules.cosine_restarts(2, 1.5)),
    "no total": ("E2007", lambda: optim.OneCycleLR(optimizer(), 0.1)),
    "no momentum": (
        "E2001",
        lambda: optim.OneCycleLR(optimizer(kind=optim.Adagrad), 0.1, 10),
    ),
    "another shape": ("E2008", lambda: schedules.one_cycle(10, anneal_strategy="sin")),
    "too few milestones": ("E2007", lambda: schedules.sequential([schedules.warmup(2)] * 3, [1])),
    "falling milestones": (
        "E2006",
        lambda: schedules.sequential([schedules.warmup(2)] * 3, [4, 2]),
    ),
    "an empty chain": ("E2007", lambda: optim.ChainedScheduler([])),
    "no metric": ("E2007", lambda: optim.ReduceLROnPlateau(optimizer()).step()),
    "another mode": ("E2008", lambda: optim.ReduceLROnPlateau(optimizer(), "least")),
    "another threshold": (
        "E2008",
        lambda: optim.ReduceLROnPlateau(optimizer(), threshold_mode="near"),
    ),
    "a factor of 1": ("E2006", lambda: optim.ReduceLROnPlateau(optimizer(), factor=1.0)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_wrong_arguments_are_errors_with_a_code(name):
    code, call = ERRORS[name]
    with pytest.raises(AdjointError) as caught:
        call()
    assert caught.value.code == code
