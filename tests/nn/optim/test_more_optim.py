"""Adadelta, Rprop, ASGD, NAdam, RAdam, Adamax and L-BFGS: formulas, forms, refusals."""

import numpy as np
import pytest

from adjoint import AdjointError, Tensor, jit
from adjoint.nn import optim

START = [np.array([[1.0, -2.0], [0.5, 3.0]]), np.array([0.3, -0.7, 0.0])]


def gradient_of(p):
    return 4 * p**3 - 1  # of Σ p⁴ - p


def loss_of(params):
    return sum((p**4 - p).sum() for p in params)


# ---- formulas, written again in NumPy


def adadelta(p, g, s, t):
    s["sq"] = 0.8 * s.get("sq", 0) + 0.2 * g * g
    d = np.sqrt(s.get("acc", 0 * p) + 1e-6) / np.sqrt(s["sq"] + 1e-6) * g
    s["acc"] = 0.8 * s.get("acc", 0) + 0.2 * d * d
    return p - 0.5 * d


def rprop(p, g, s, t):
    old, size = s.get("g", 0 * p), s.get("size", np.full_like(p, 0.05))
    sign = np.sign(g * old)
    size = np.clip(size * np.where(sign > 0, 1.2, np.where(sign < 0, 0.5, 1)), 1e-6, 50)
    g = np.where(sign < 0, 0, g)
    s["g"], s["size"] = g, size
    return p - np.sign(g) * size


def asgd(p, g, s, t):
    eta = 0.02 / (1 + 1e-2 * 0.02 * (t - 1)) ** 0.75
    p = p * (1 - 1e-2 * eta) - eta * g
    mu = 1 / max(1, t - 1 - 2)
    s["ax"] = s.get("ax", 0) + (p - s.get("ax", 0)) * mu
    return p


def means(g, s, t):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.99 * s.get("v", 0) + 0.01 * g * g
    return s["m"], s["v"]


def nadam(p, g, s, t):
    g = g + 0.1 * p
    m, v = means(g, s, t)
    mu, after = (0.9 * (1 - 0.5 * 0.96 ** (i * 0.004)) for i in (t, t + 1))
    s["mu"] = s.get("mu", 1) * mu
    size = np.sqrt(v / (1 - 0.99**t)) + 1e-8
    p = p - 0.02 * (1 - mu) / (1 - s["mu"]) * g / size
    return p - 0.02 * after / (1 - s["mu"] * after) * m / size


def radam(p, g, s, t):
    m, v = means(g, s, t)
    most = 2 / (1 - 0.99) - 1
    length = most - 2 * t * 0.99**t / (1 - 0.99**t)
    m = m / (1 - 0.9**t)
    if length <= 5:
        return p - 0.02 * m
    ratio = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
    return p - 0.02 * m * np.sqrt(1 - 0.99**t) / (np.sqrt(v) + 1e-8) * np.sqrt(ratio)


def adamax(p, g, s, t):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["u"] = np.maximum(0.99 * s.get("u", 0), np.abs(g) + 1e-8)
    return p - 0.02 / (1 - 0.9**t) * s["m"] / s["u"]


FORMULAS = {
    "Adadelta": (adadelta, {"lr": 0.5, "rho": 0.8}),
    "Rprop": (rprop, {"lr": 0.05}),
    "ASGD": (asgd, {"lr": 0.02, "lambd": 1e-2, "t0": 2}),
    "NAdam": (nadam, {"lr": 0.02, "betas": (0.9, 0.99), "weight_decay": 0.1}),
    "RAdam": (radam, {"lr": 0.02, "betas": (0.9, 0.99)}),
    "Adamax": (adamax, {"lr": 0.02, "betas": (0.9, 0.99)}),
}


def _trained(name, options, steps, stepped=lambda f: f):
    params = [Tensor(p.copy()) for p in START]
    made = getattr(optim, name)(params, **options)

    def step():
        made.zero_grad()
        loss = loss_of(params)
        loss.backward()
        made.step()
        return loss

    taken = stepped(step)
    for _ in range(steps):
        taken()
    return [p.numpy() for p in params], made


@pytest.mark.parametrize("name", FORMULAS)
def test_the_object_follows_the_formula(name):
    formula, options = FORMULAS[name]
    found, _ = _trained(name, options, 9)
    for got, p in zip(found, START, strict=True):
        state = {}
        for t in range(1, 10):
            p = formula(p, gradient_of(p), state, t)
        np.testing.assert_allclose(got, p, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
def test_the_pure_form_and_the_jitted_step_agree_with_the_object(name):
    _, options = FORMULAS[name]
    wanted, _ = _trained(name, options, 4)
    jitted, _ = _trained(name, options, 4, jit)
    pure = getattr(optim, name.lower())(**options)
    params = [Tensor(p) for p in START]
    state = pure.init(params)
    for _ in range(4):
        params, state = pure.update([4 * p**3 - 1 for p in params], state, params)
    for a, b, c in zip(wanted, jitted, params, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
        np.testing.assert_allclose(a, c.numpy(), rtol=1e-12)


def test_the_first_step_of_rprop_is_as_long_as_the_rate_is_then():
    p, q = Tensor([1.0]), Tensor([1.0])
    made = optim.Rprop([p], lr=0.1)
    optim.lr_scheduler.ConstantLR(made, factor=0.5, total_iters=3)
    p.grad = Tensor([1.0])
    made.step()
    np.testing.assert_allclose(p.numpy(), [0.95])
    pure = optim.rprop(lr=lambda done: 0.05 / (1 + done))
    new, state = pure.update([Tensor([1.0])], pure.init([q]), [q])
    np.testing.assert_allclose(new[0].numpy(), [0.95])
    (new,), _ = pure.update([Tensor([1.0])], state, new)
    np.testing.assert_allclose(new.numpy(), [0.95 - 0.05 * 1.2])


def test_the_first_step_of_rprop_is_that_of_the_parameter():
    p, late = Tensor([1.0]), Tensor([1.0])
    made = optim.Rprop([p, late], lr=0.1)
    late.requires_grad = False
    for _ in range(3):
        p.grad = Tensor([1.0])
        made.step()
    late.requires_grad, late.grad = True, Tensor([1.0])
    made.step()
    np.testing.assert_allclose(late.numpy(), [0.9])


def test_asgd_keeps_the_mean_of_the_parameters():
    formula, options = FORMULAS["ASGD"]
    _, made = _trained("ASGD", options, 9)
    kept = [t for n, t in made.state_dict().items() if n.endswith("ax")]
    state, p = {}, START[0]
    for t in range(1, 10):
        p = formula(p, gradient_of(p), state, t)
    np.testing.assert_allclose(kept[0].numpy(), state["ax"], rtol=1e-9)


@pytest.mark.parametrize("name", FORMULAS)
def test_an_optimiser_that_loads_a_state_goes_on_with_the_same_bits(name):
    options = FORMULAS[name][1]
    values, made = _trained(name, options, 3)
    twins = [Tensor(p.copy()) for p in values]
    other = getattr(optim, name)(twins, **options | {"lr": 0.5})
    assert other.load_state_dict({k: t.numpy() for k, t in made.state_dict().items()}).ok
    for _ in range(3):
        for optimiser in (made, other):
            for p in optimiser.params:
                p.grad = Tensor(gradient_of(p.numpy()))
            optimiser.step()
        for p, twin in zip(made.params, twins, strict=True):
            np.testing.assert_array_equal(p.numpy(), twin.numpy())


# ---- refusals

W = Tensor([1.0])
REFUSED = {
    "a bool for a momentum": lambda: optim.SGD([W], 0.1, True),
    "weight decay by position": lambda: optim.SGD([W], 0.1, 0.9, 1e-4),
    "a number for betas": lambda: optim.Adam([W], 1e-3, 0.9),
    "betas twice": lambda: optim.Adam([W], betas=(0.8, 0.9), b1=0.5),
    "a rho of 1": lambda: optim.Adadelta([W], rho=1.0),
    "etas on one side": lambda: optim.Rprop([W], etas=(1.1, 1.2)),
    "a negative decay": lambda: optim.NAdam([W], momentum_decay=-1.0),
    "an unknown search": lambda: optim.LBFGS([W], line_search_fn="armijo"),
    "no closure": lambda: optim.LBFGS([W]).step(None),
    "two groups": lambda: optim.LBFGS([{"params": [W]}, {"params": [Tensor([2.0])]}]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_meant_is_refused(name):
    with pytest.raises(AdjointError):
        REFUSED[name]()


def test_tinygrads_names_of_betas_are_taken():
    made = optim.Adam([Tensor([1.0])], b1=0.8)
    assert made.defaults["betas"] == (0.8, 0.999)
    assert optim.AdamW([Tensor([1.0])], b1=0.8, b2=0.9).defaults["betas"] == (0.8, 0.9)
