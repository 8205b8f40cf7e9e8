"""Optimisers: formulas, pure and object form, groups, jit and other transforms, state, errors."""

import copy
import gc

import numpy as np
import pytest

from adjoint import (
    AdjointError,
    Tensor,
    counters,
    grad,
    jit,
    lower,
    nn,
    scan,
    tree_leaves,
    value_and_grad,
    vmap,
)
from adjoint.nn import optim
from adjoint.nn.optim.muon import orthogonalized
from adjoint.nn.state import get_parameters, get_state_dict, load_checkpoint, save_checkpoint

X = Tensor(np.random.default_rng(1).standard_normal((16, 3)))
Y = Tensor(np.random.default_rng(2).standard_normal((16, 2)))
KINDS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "Adam": {"lr": 0.05, "amsgrad": True},
    "AdamW": {"lr": 0.05},
    "RMSprop": {"lr": 0.02, "centered": True, "momentum": 0.5},
    "Adagrad": {"lr": 0.2, "lr_decay": 0.1},
    "LAMB": {"lr": 0.05, "weight_decay": 0.01},
    "LARS": {"lr": 1.0, "trust_coefficient": 0.1},
    "Muon": {"lr": 0.05},
}
ALL = [pytest.param(name, options, id=name) for name, options in KINDS.items()]


def parameters(seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return [Tensor(rng.standard_normal(s).astype(dtype)) for s in [(3, 4), (4,), (4, 2)]]


def loss_of(params, x=X, y=Y):
    w, b, v = params
    return (((x @ w + b).tanh() @ v - y) ** 2).mean()


def trained(opt, params, steps, loss=loss_of):
    for _ in range(steps):
        opt.zero_grad()
        loss(params).backward()
        opt.step()
    return [p.numpy() for p in params]


def same_bits(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def gradients(params):
    """By hand: what `loss_of` has."""
    w, b, v = params
    x, y = X.numpy(), Y.numpy()
    h = np.tanh(x @ w + b)
    e = 2 * (h @ v - y) / y.size
    d = (e @ v.T) * (1 - h * h)
    return [x.T @ d, d.sum(0), h.T @ e]


# ---- formulas, written again in NumPy


def sgd_by_hand(p, g, s, t):
    s["v"] = 0.9 * s.get("v", 0) + g
    return p - 0.1 * (g + 0.9 * s["v"])


def moments_by_hand(g, s, b1, b2):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
    return s["m"], s["v"]


def adam_by_hand(p, g, s, t):
    m, v = moments_by_hand(g, s, 0.9, 0.999)
    s["max"] = np.maximum(s.get("max", 0), v)
    return p - 0.05 * (m / (1 - 0.9**t)) / (np.sqrt(s["max"] / (1 - 0.999**t)) + 1e-8)


def adamw_by_hand(p, g, s, t, lr=0.05, decay=0.01, b2=0.999):
    m, v = moments_by_hand(g, s, 0.9, b2)
    change = (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - b2**t)) + 1e-8)
    return p - lr * decay * p - lr * change


def rmsprop_by_hand(p, g, s, t):
    s["v"] = 0.99 * s.get("v", 0) + 0.01 * g * g
    s["g"] = 0.99 * s.get("g", 0) + 0.01 * g
    s["m"] = 0.5 * s.get("m", 0) + g / (np.sqrt(s["v"] - s["g"] ** 2) + 1e-8)
    return p - 0.02 * s["m"]


def adagrad_by_hand(p, g, s, t):
    s["sum"] = s.get("sum", 0) + g * g
    return p - 0.2 / (1 + 0.1 * (t - 1)) * g / (np.sqrt(s["sum"]) + 1e-10)


def lamb_by_hand(p, g, s, t):
    m, v = moments_by_hand(g, s, 0.9, 0.999)
    r = (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-6) + 0.01 * p
    sizes = np.linalg.norm(p), np.linalg.norm(r)
    return p - 0.05 * (sizes[0] / sizes[1] if min(sizes) > 0 else 1.0) * r


def lars_by_hand(p, g, s, t):
    size = np.linalg.norm(p)
    trust = 0.1 * size / (np.linalg.norm(g) + 1e-4 * size + 1e-8) if size > 0 else 1.0
    s["v"] = 0.9 * s.get("v", 0) + trust * (g + 1e-4 * p)
    return p - s["v"]


def muon_by_hand(p, g, s, t):
    if p.ndim != 2:
        return adamw_by_hand(p, g, s, t, decay=0.1, b2=0.95)
    s["v"] = 0.95 * s.get("v", 0) + 0.05 * g
    x = 0.95 * s["v"] + 0.05 * g
    x = x / max(np.linalg.norm(x), 1e-7)
    x = x.T if p.shape[0] > p.shape[1] else x
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    x = x.T if p.shape[0] > p.shape[1] else x
    return p * (1 - 0.05 * 0.1) - 0.05 * max(1, p.shape[0] / p.shape[1]) ** 0.5 * x


BY_HAND = {
    "SGD": sgd_by_hand,
    "Adam": adam_by_hand,
    "AdamW": adamw_by_hand,
    "RMSprop": rmsprop_by_hand,
    "Adagrad": adagrad_by_hand,
    "LAMB": lamb_by_hand,
    "LARS": lars_by_hand,
    "Muon": muon_by_hand,
}


@pytest.mark.parametrize(("name", "options"), ALL)
def test_ten_steps_are_those_of_the_formula(name, options):
    params = parameters()
    wanted = [p.numpy() for p in params]
    kept = [{} for _ in wanted]
    for t in range(1, 11):
        rows = zip(wanted, gradients(wanted), kept, strict=True)
        wanted = [BY_HAND[name](p, g, s, t) for p, g, s in rows]
    found = trained(getattr(optim, name)(params, **options), params, 10)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "options"), ALL)
def test_a_parameter_of_zeros_gets_finite_steps(name, options):
    p = Tensor(np.zeros((2, 2)))
    opt = getattr(optim, name)([p], **options)
    for _ in range(2):
        opt.zero_grad()
        (p * 3.0).sum().backward()
        opt.step()
    assert np.isfinite(p.numpy()).all()
    assert (p.numpy() < 0).any()


def test_orthogonalized_matrices_have_singular_values_near_one():
    matrix = Tensor(np.random.default_rng(0).standard_normal((12, 5)))
    values = np.linalg.svd(orthogonalized(matrix, (3.4445, -4.7750, 2.0315), 5, 1e-7).numpy())[1]
    assert values.min() > 0.6
    assert values.max() < 1.25


def test_maximize_goes_up():
    p, q = Tensor([1.0], dtype="float64"), Tensor([1.0], dtype="float64")
    for opt, param in ((optim.Adam([p]), p), (optim.Adam([q], maximize=True), q)):
        (param * 2).sum().backward()
        opt.step()
    np.testing.assert_allclose(p.numpy() - 1, 1 - q.numpy(), rtol=1e-12)
    assert q.item() > 1


# ---- pure and object form


@pytest.mark.parametrize(("name", "options"), ALL)
def test_the_pure_form_takes_the_same_steps(name, options):
    params = parameters()
    wanted = trained(getattr(optim, name)(params, **options), params, 4)
    pure = getattr(optim, name.lower())(**options)
    tree = dict(zip("wbv", parameters(), strict=True))
    state = pure.init(tree)
    for _ in range(4):
        gradient = grad(lambda t: loss_of([t["w"], t["b"], t["v"]]))(tree)
        tree, state = pure.update(gradient, state, tree)
    assert state.step.item() == 4
    for key, value in zip("wbv", wanted, strict=True):
        np.testing.assert_allclose(tree[key].numpy(), value, rtol=0, atol=1e-12)


def test_the_pure_form_leaves_buffers_alone():
    tree = {"w": Tensor([1.0]), "mean": Tensor([2.0], requires_grad=False), "n": Tensor([3])}
    tree["n"].requires_grad = False
    pure = optim.adamw(lr=0.1, weight_decay=0.5)
    state = pure.init(tree)
    new, state = pure.update(tree, state, tree)
    assert (new["mean"].item(), new["n"].item()) == (2.0, 3)
    assert new["w"].item() < 0.96
    assert state.slots[0] is None


def test_training_many_models_is_vmap_of_training_one():
    pure = optim.adam(lr=0.1 * optim.schedules.cosine(20))

    def train(start):
        def body(carry, _):
            p, state = carry
            value, g = value_and_grad(lambda p: ((X @ p - Y[:, 0]) ** 2).mean())(p)
            p, state = pure.update(g, state, p)
            return (p, state), value

        return scan(body, (start, pure.init(start)), None, length=15)[1]

    starts = Tensor(np.random.default_rng(3).standard_normal((4, 3)))
    together = vmap(train)(starts).numpy()
    apart = np.stack([train(start).numpy() for start in starts])
    np.testing.assert_allclose(together, apart, rtol=1e-12)
    assert (together[:, -1] < together[:, 0]).all()


def test_a_step_has_a_gradient():
    def after(lr):
        pure, p = optim.adam(lr=lr), Tensor([[1.0, -2.0]], dtype="float64")
        state = pure.init(p)
        for _ in range(2):
            p, state = pure.update(grad(lambda p: (p**2).sum())(p), state, p)
        return (p**2).sum()

    slope = grad(after)(Tensor(0.1, dtype="float64")).item()
    ends = [after(Tensor(0.1 + d, dtype="float64")).item() for d in (-1e-6, 1e-6)]
    assert slope == pytest.approx((ends[1] - ends[0]) / 2e-6, rel=1e-6)


# ---- jit


@pytest.mark.parametrize(("name", "options"), ALL)
def test_a_jitted_step_is_one_program_with_the_same_bits(name, options):
    params = parameters(dtype=np.float32)
    data = X.cast("float32").realize(), Y.cast("float32").realize()
    wanted = trained(
        getattr(optim, name)(params, **options), params, 4, lambda p: loss_of(p, *data)
    )
    params = parameters(dtype=np.float32)
    opt = getattr(optim, name)(params, **options)

    @jit
    def step(x, y):
        opt.zero_grad()
        loss = loss_of(params, x, y)
        loss.backward()
        opt.step()
        return loss

    for _ in range(4):
        with counters() as counted:
            step(*data)
    assert counted.runs == 1
    assert step.cache_size() <= 2  # the first call finds no gradients, all others do
    assert same_bits([p.numpy() for p in params], wanted)


def test_another_learning_rate_makes_no_other_program():
    params = parameters()
    opt = optim.Adam(params)

    @jit
    def step():
        loss_of(params).backward()
        opt.step()
        opt.zero_grad()

    for i in range(6):
        before = params[0].numpy()
        opt.param_groups[0]["lr"] = opt.lr = 0.1 * i
        step()
        assert same_bits([before], [params[0].numpy()]) == (i == 0)
    assert step.cache_size() == 1


SCRIPT = """
params = parameters()
opt = optim.Adam(params)

@jit
def step():
    opt.zero_grad()
    loss = loss_of(params).backward()
    opt.step()
    return loss

for _ in range(4):
    step()
"""


def test_a_jitted_function_may_be_called_like_a_method_that_it_calls():
    names = {"parameters": parameters, "loss_of": loss_of, "optim": optim, "jit": jit}
    exec(SCRIPT, names)
    assert names["step"].cache_size() == 1


def test_a_thousand_steps_leave_nothing_behind():
    params = parameters()
    opt = optim.Adam(params)

    @jit
    def step():
        opt.zero_grad()
        loss_of(params).backward()
        opt.step()

    for _ in range(20):
        step()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(1000):
        step()
    gc.collect()
    assert len(gc.get_objects()) <= before + 20
    assert step.cache_size() == 1
    assert opt.param_groups[0].step.item() == 1020


def test_without_jit_a_step_lets_go_of_the_one_before():
    params = parameters()
    opt = optim.Adam(params)
    trained(opt, params, 3)
    gc.collect()
    before = len(gc.get_objects())
    trained(opt, params, 20)
    gc.collect()
    assert len(gc.get_objects()) <= before + 20


@pytest.mark.parametrize("shapes", [[(64, 32)], [(64, 32), (32,), (32, 8), (8,)]])
def test_adam_is_at_most_two_kernels_per_parameter(shapes):
    params = [Tensor(np.ones(s, np.float32)) for s in shapes]
    pure = optim.adam()
    shown = lower(pure.update)(params, pure.init(params), params)
    assert shown.counts["kernels"] <= len(params) + 2
    assert shown.counts["kernels"] <= 2 * len(params)
    assert shown.counts["library"] == shown.counts["host"] == 0


def test_a_lazy_step_is_one_run_with_the_loss():
    params = parameters()
    opt = optim.SGD(params, lr=0.1)
    loss = loss_of(params)
    loss.backward()
    with counters() as counted:
        assert opt.step(loss) is loss
        loss.item()
        params[0].grad.numpy()
    assert counted.runs == 1


def test_a_closure_is_called_first():
    params = parameters()
    opt = optim.SGD(params, lr=0.1)

    def closure():
        opt.zero_grad()
        return loss_of(params).backward()

    first = opt.step(closure).item()
    assert opt.step(closure).item() < first


# ---- gradients


def test_gradients_accumulate_over_several_backwards():
    whole, parts = parameters(), parameters()
    opt = optim.SGD(whole, lr=0.1)
    loss_of(whole).backward()
    opt.step()
    opt = optim.SGD(parts, lr=0.1)
    for rows in (slice(0, 8), slice(8, 16)):
        (loss_of(parts, X[rows], Y[rows]) / 2).backward()
    opt.step()
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=0, atol=1e-14)


def test_zero_grad_forgets_or_sets_zeros():
    params = parameters()
    opt = optim.SGD(params)
    loss_of(params).backward()
    opt.zero_grad(set_to_none=False)
    assert (params[0].grad.numpy() == 0).all()
    opt.zero_grad()
    assert params[0].grad is None


def test_what_nobody_decided_is_trained_and_what_is_frozen_is_not():
    a, b = Tensor([1.0]), Tensor([1.0], requires_grad=False)
    opt = optim.SGD([a, b], lr=1.0)
    assert (a.requires_grad, b.requires_grad) == (True, False)
    (a * b).sum().backward()
    opt.step()
    assert (a.item(), b.item()) == (0.0, 1.0)


def test_a_parameter_that_is_frozen_later_stays_as_it_is():
    a, b = Tensor([1.0]), Tensor([1.0])
    opt = optim.Adam([a, b], lr=0.1)
    a.requires_grad = False
    (a * b).sum().backward()
    opt.step()
    assert a.item() == 1.0
    assert b.item() < 1.0


# ---- groups


def test_groups_have_options_of_their_own():
    a, b, c = (Tensor([1.0], dtype="float64") for _ in range(3))
    opt = optim.SGD([{"params": [a], "lr": 0.5}, {"params": [b]}], lr=0.1)
    opt.add_param_group({"params": [("third", c)], "lr": 0.2, "momentum": 0.9})
    for _ in range(2):
        opt.zero_grad()
        (a + b + c).sum().backward()
        opt.step()
    assert a.item() == pytest.approx(0.0)
    assert b.item() == pytest.approx(0.8)
    assert c.item() == pytest.approx(1 - 0.2 - 0.2 * 1.9)
    assert len(opt.params) == 3


def test_a_group_reads_and_writes_like_a_dict():
    params = parameters()
    opt = optim.SGD(params, lr=0.1)
    group = opt.param_groups[0]
    assert group["params"] == params
    assert group["lr"].item() == 0.1
    assert "momentum" in group
    group["lr"] *= 0.5
    assert opt.lr.item() == 0.05
    group["momentum"] = 0.9
    trained(opt, params, 2)
    assert "momentum_buffer" in group.slots[0]
    opt.lr = 0.25
    assert group["initial_lr"].item() == 0.25
    assert "lr=0.25" in repr(opt)


def test_muon_gives_adamw_what_is_no_matrix_and_what_it_is_told_to():
    w, b, e = Tensor(np.ones((4, 4))), Tensor(np.ones(4)), Tensor(np.ones((3, 4)))
    groups = [{"params": [w, b]}, {"params": [e], "use_muon": False, "lr": 0.3}]
    opt = optim.Muon(groups, lr=0.1, adamw_lr=0.01)
    shown = [(g["use_muon"], g["lr"].item(), sorted(g.slots[0])) for g in opt.param_groups]
    adam = ["exp_avg", "exp_avg_sq"]
    assert shown == [
        (True, 0.1, ["momentum_buffer"]),
        (False, 0.01, adam),
        (False, 0.3, adam),
    ]


def test_devices_and_dtypes_of_parameters_are_kept():
    a = Tensor(np.ones((2, 2), np.float32), device="REF")
    b = Tensor(np.ones((2, 2), np.float16), device="CPU:1")
    opt = optim.Adam([{"params": [a]}, {"params": [b]}], lr=0.1)
    ((a * a).sum().to("CPU:1") + (b * b).sum().cast("float32")).backward()
    opt.step()
    assert (a.device, b.device) == ("REF", "CPU:1")
    assert (a.dtype.name, b.dtype.name) == ("float32", "float16")
    np.testing.assert_allclose(a.numpy(), 0.9, rtol=1e-6)
    np.testing.assert_allclose(b.numpy(), 0.9, rtol=1e-3)


# ---- models and state


def test_a_model_learns_with_names_for_its_parameters():
    Tensor.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = optim.AdamW(model.named_parameters(), lr=0.05)
    x, y = X.cast("float32"), Y.cast("float32")

    @jit
    def step():
        opt.zero_grad()
        loss = ((model(x) - y) ** 2).mean().backward()
        opt.step()
        return loss

    losses = [step().item() for _ in range(20)]
    assert losses[-1] < 0.7 * losses[0]


def test_the_pure_form_takes_models_whole():
    Tensor.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
    x, y = X.cast("float32"), Y.cast("float32")
    pure = optim.adam(lr=0.05)

    @jit
    def step(model, state):
        loss, g = value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
        return loss, *pure.update(g, state, model)

    state, losses = pure.init(model), []
    for _ in range(20):
        loss, model, state = step(model, state)
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    assert step.cache_size() <= 2
    assert len(tree_leaves(state)) == 1 + 2 * 4


def test_state_is_found_by_walking_and_parameters_are_not_part_of_it():
    params = parameters()
    opt = optim.Adam(params)
    names = list(get_state_dict(opt))
    assert "param_groups.0.options.lr" in names
    assert "param_groups.0.slots.2.exp_avg_sq" in names
    assert "param_groups.0.step" in names
    assert len(names) == 3 + 2 * 3
    assert opt.state_dict().keys() == set(names)
    assert get_parameters(opt) == []


def test_a_copy_of_model_and_optimizer_trains_the_copy():
    params = parameters()
    opt = optim.Adam(params, lr=0.1)
    trained(opt, params, 2)
    before = [p.numpy() for p in params]
    twin, other = copy.deepcopy((params, opt))
    wanted = trained(other, twin, 2)
    assert same_bits([p.numpy() for p in params], before)
    assert same_bits(trained(opt, params, 2), wanted)


@pytest.mark.parametrize(("name", "options"), ALL)
def test_a_resumed_run_has_the_same_bits(name, options, tmp_path):
    params = parameters(dtype=np.float32)
    opt = getattr(optim, name)(params, **options)
    trained(opt, params, 2)
    save_checkpoint(tmp_path / "kept", step=2, params=params, opt=opt)
    wanted = trained(opt, params, 3)
    params = parameters(seed=5, dtype=np.float32)
    opt = getattr(optim, name)(params, **{**options, "lr": 0.7})
    assert load_checkpoint(tmp_path / "kept", params=params, opt=opt).step == 2
    assert same_bits(trained(opt, params, 3), wanted)


# ---- errors

W = Tensor([[1.0, 2.0]])
ERRORS = {
    "no parameters": ("E2007", "no parameters", lambda: optim.Adam([])),
    "an empty group": ("E2007", "of group 1", lambda: optim.SGD([{"params": [W]}, {"params": []}])),
    "a group without params": ("E2007", "group 0 has no", lambda: optim.SGD([{"lr": 0.1}])),
    "a tensor": ("E2001", "a list of tensors", lambda: optim.SGD(W)),
    "a number": ("E2001", "is a Tensor, not a float", lambda: optim.SGD([1.0])),
    "integers": ("E2005", "not int64", lambda: optim.SGD([("steps", Tensor([1]))])),
    "the same twice": ("E4002", "parameter 0 and parameter 1 are", lambda: optim.SGD([W, W])),
    "in two groups": (
        "E4002",
        "another group",
        lambda: optim.SGD([{"params": [W]}, {"params": [W]}]),
    ),
    "all frozen": (
        "E2007",
        "nothing to train",
        lambda: optim.SGD([Tensor([1.0], requires_grad=False)]),
    ),
    "a negative rate": ("E2006", "lr is 0 or more", lambda: optim.Adam([W], lr=-0.1)),
    "a rate that is nan": ("E2006", "lr is 0 or more", lambda: optim.Adam([W], lr=float("nan"))),
    "a rate that is text": ("E2001", "lr is a number", lambda: optim.Adam([W], lr="fast")),
    "a function as rate": ("E2001", "LambdaLR", lambda: optim.Adam([W], lr=lambda t: 0.1)),
    "rates": ("E3002", "lr is a scalar", lambda: optim.Adam([W], lr=Tensor([0.1, 0.2]))),
    "a beta of 1": ("E2006", "in \\[0, 1\\)", lambda: optim.Adam([W], betas=(0.9, 1.0))),
    "one beta": ("E2007", "two numbers", lambda: optim.Adam([W], betas=0.9)),
    "negative decay": ("E2006", "weight_decay", lambda: optim.SGD([W], weight_decay=-1.0)),
    "nesterov alone": ("E2006", "nesterov needs", lambda: optim.SGD([W], nesterov=True)),
    "an unknown option": ("E2007", "options are lr, betas", lambda: optim.Adam([W], fused=True)),
    "in a group": (
        "E2001",
        "did you mean 'momentum'",
        lambda: optim.SGD([{"params": [W], "momentun": 0.9}]),
    ),
    "of a group": ("E2001", "no option 'x'", lambda: optim.SGD([W]).param_groups[0]["x"]),
    "a ratio": ("E2008", "adjust_lr_fn", lambda: optim.Muon([W], adjust_lr_fn="best")),
    "no matrix": ("E3002", "for matrices", lambda: optim.Muon([Tensor([1.0])], use_muon=True)),
    "no tree": ("E2007", "nothing to train", lambda: optim.adam().init({})),
    "a tree of integers": ("E2005", "not int64", lambda: optim.adam().init({"n": Tensor([1])})),
    "another tree": (
        "E3010",
        "pytrees differ",
        lambda: optim.adam().update([W], optim.adam().init({"w": W}), {"w": W}),
    ),
    "another shape": (
        "E3003",
        "shape of its parameter",
        lambda: optim.sgd().update([W.T], optim.sgd().init([W]), [W]),
    ),
    "the state of others": (
        "E9002",
        "of 1 parameters, there are 2",
        lambda: optim.sgd().update([W, W], optim.sgd().init([W]), [W, W]),
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_wrong_arguments_are_errors_with_a_code(name):
    code, text, call = ERRORS[name]
    with pytest.raises(AdjointError, match=text) as caught:
        call()
    assert caught.value.code == code


def test_a_parameter_without_a_gradient_is_named():
    used, unused = Tensor([1.0]), Tensor([[2.0]])
    opt = optim.Adam([("used", used), ("head.weight", unused)])
    used.sum().backward()
    with pytest.raises(AdjointError, match=r"(?s)head.weight has no gradient.*f32\[1, 1\]") as e:
        opt.step()
    assert e.value.code == "E9002"
    assert used.item() == 1.0  # nothing has been done
