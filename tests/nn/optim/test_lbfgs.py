"""L-BFGS: torch's steps, its line search beside values that are no numbers, and its state."""

import numpy as np
import pytest

from adjoint import FileError, Tensor
from adjoint.nn import optim
from adjoint.nn.optim.line_search import Point, strong_wolfe
from adjoint.nn.state import load_checkpoint, safe_load, safe_save, save_checkpoint

# options, and what torch 2.13 gives in float64 after calls of `step`: the loss that it returns, how
# often it has called the closure, and the place
RECORDED = {
    "search": (
        {"line_search_fn": "strong_wolfe", "max_iter": 4},
        {
            1: (24.199999999999996, 5, -1.0288795348319695, 1.0655029516848564),
            3: (3.9091442795206377, 15, -0.5160277728852024, 0.2265458257902353),
            8: (0.07798538481346325, 41, 0.8926077474569865, 0.7909177737724866),
        },
    ),
    "short memory": (
        {"line_search_fn": "strong_wolfe", "max_iter": 3, "history_size": 2, "lr": 0.3},
        {
            1: (24.199999999999996, 3, -0.9970645176585913, 1.0815901915850177),
            8: (3.953457357090848, 24, -0.8539782164997345, 0.6940666541517773),
        },
    ),
    "no search": (
        {"max_iter": 5, "lr": 0.05, "history_size": 3},
        {
            1: (24.199999999999996, 5, -1.1432996004010947, 1.0249453947341947),
            8: (4.60195320732958, 40, -1.0566452497088388, 1.0728439400995202),
        },
    ),
}


def _rosenbrock(**options):
    p = Tensor(np.array([-1.2, 1.0]))
    made = optim.LBFGS([p], **options)

    def closure():
        made.zero_grad()
        loss = (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2
        loss.backward()
        return loss

    return p, made, closure


def test_lbfgs_finds_the_end_of_rosenbrocks_valley():
    p, made, closure = _rosenbrock(line_search_fn="strong_wolfe", max_iter=100)
    assert made.step(closure).item() == pytest.approx(24.2)
    np.testing.assert_allclose(p.numpy(), [1, 1], atol=1e-4)


def test_lbfgs_minimises_a_quadratic_in_a_few_steps():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((6, 6))
    a, b = a @ a.T + np.eye(6), rng.standard_normal(6)
    p, m, v = Tensor(np.zeros(6)), Tensor(a), Tensor(b)
    made = optim.LBFGS([p], lr=0.5, max_iter=60)

    def closure():
        made.zero_grad()
        loss = 0.5 * (p * (m @ p)).sum() - (v * p).sum()
        loss.backward()
        return loss

    for _ in range(3):
        made.step(closure)
    np.testing.assert_allclose(p.numpy(), np.linalg.solve(a, b), atol=1e-5)


def test_lbfgs_does_not_move_from_a_minimum():
    p = Tensor(np.zeros(3))
    made = optim.LBFGS([p])

    def closure():
        made.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    assert made.step(closure).item() == 0
    assert p.tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", RECORDED)
def test_lbfgs_takes_torchs_steps(name):
    options, wanted = RECORDED[name]
    p, made, closure = _rosenbrock(**options)
    calls = 0

    def counted():
        nonlocal calls
        calls += 1
        return closure()

    for step in range(1, max(wanted) + 1):
        loss = made.step(counted).item()
        if step in wanted:
            first, count, *place = wanted[step]
            assert calls == count
            np.testing.assert_allclose([loss, *p.tolist()], [first, *place], rtol=1e-9)


def _search(function, first=1.0):
    """The length that the search finds for a function of it that gives value and slope."""

    def at(length):
        value, slope = function(length)
        return Point(length, value, np.array([slope]), slope)

    return strong_wolfe(at, at(0.0), first, 1.0, 1e-9).length


def test_the_search_turns_back_from_values_that_are_no_numbers():
    for wall in (np.nan, np.inf):

        def function(x, wall=wall):
            return (wall, wall) if x > 0.6 else ((x - 0.5) ** 2, 2 * (x - 0.5))

        assert _search(function) == pytest.approx(0.5, abs=0.1)
        assert _search(function, first=100.0) == pytest.approx(0.5, abs=0.45)


def test_the_search_extends_a_step_that_is_too_short():
    assert _search(lambda x: ((x - 40) ** 2, 2 * (x - 40)), first=0.01) == pytest.approx(40, abs=36)


def test_the_search_does_not_move_where_nothing_is_lower():
    def function(x):
        return (x, -1.0)  # the slope is wrong

    assert _search(function) == 0.0


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("kept", ["dict", "file", "checkpoint"])
def test_a_resumed_run_of_lbfgs_has_the_same_bits(name, kept, tmp_path):
    options, _ = RECORDED[name]
    p, made, closure = _rosenbrock(**options)
    for _ in range(3):
        made.step(closure)
    q, other, again = _rosenbrock(**options | {"lr": 0.77})
    if kept == "checkpoint":
        save_checkpoint(tmp_path / "c", step=3, p=p, optimizer=made)
        load_checkpoint(tmp_path / "c", p=q, optimizer=other)
    else:
        q.assign(p.detach()).realize()
        state = made.state_dict()
        if kept == "file":
            safe_save(state, tmp_path / "s")
            state = safe_load(tmp_path / "s")
        assert other.load_state_dict(state).ok
    for _ in range(3):
        assert made.step(closure).item() == other.step(again).item()
        np.testing.assert_array_equal(p.numpy(), q.numpy())


def test_a_state_that_does_not_fit_changes_nothing():
    _, made, closure = _rosenbrock(line_search_fn="strong_wolfe", max_iter=4)
    for _ in range(3):
        made.step(closure)
    state = made.state_dict()
    _, other, again = _rosenbrock(line_search_fn="strong_wolfe", history_size=2)
    with pytest.raises(FileError, match=r"remembers 10 changes, and history_size is 2"):
        other.load_state_dict(state)
    wide = optim.LBFGS([Tensor(np.zeros(3))])
    with pytest.raises(FileError, match="another shape"):
        wide.load_state_dict(state)
    with pytest.raises(FileError, match="missing"):
        other.load_state_dict({})
    assert other.step(again).item() == pytest.approx(24.2)
    assert wide.state_dict().keys() == {"lr", "steps"}
