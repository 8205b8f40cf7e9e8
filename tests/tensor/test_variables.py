"""Shapes that hold variables, as users meet them: slices, views, writes, schedules, errors."""

import threading

import numpy as np
import pytest

from adjoint import AdjointError, Tensor, Variable, capture, counters, jit, scan
from adjoint.engine.graph_key import graph_key
from adjoint.engine.realize import run_schedule
from adjoint.ir.sizes import Size

N = Variable("n", 1, 16)
X = np.arange(64, dtype=np.float32).reshape(16, 4)

DOORS = {
    "slice": lambda n: Tensor(X)[:n],
    "slice from": lambda n: Tensor(X)[n:],
    "slice between": lambda n: Tensor(X)[n - 1 : n + 2],
    "slice from the end": lambda n: Tensor(X)[-n:],
    "slice until the end": lambda n: Tensor(X)[:-n],
    "slice of a slice": lambda n: Tensor(X)[1:][: n - 1, 1:],
    "slice beyond the end": lambda n: Tensor(X)[8 : 8 + n],
    "slice with a step": lambda n: Tensor(X)[:n:2],
    "backwards": lambda n: Tensor(X)[n - 1 :: -1],
    "an element": lambda n: Tensor(X)[n - 1],
    "shrink": lambda n: Tensor(X).shrink(((0, n), (0, 4))),
    "reshape": lambda n: Tensor(X[:n]).reshape(n, 2, 2),
    "flatten": lambda n: Tensor(X)[:n].reshape(n * 4),
    "worked out": lambda n: Tensor(X)[:n].reshape(-1, 2),
    "expand": lambda n: Tensor(X[0]).expand(n, 4),
    "pad": lambda n: Tensor(X).pad(((0, n), (0, 0))),
    "repeat": lambda n: Tensor(X).repeat(n, 1),
    "zeros": lambda n: Tensor.zeros((n, 4)),
    "ones": lambda n: Tensor.ones(n, 4),
    "full": lambda n: Tensor.full((n, 2), 7.0),
    "arange": lambda n: Tensor.arange(n),
    "eye": lambda n: Tensor.eye(n),
    "split": lambda n: Tensor(X)[:n].split(2)[0],
    "cat": lambda n: Tensor(X)[:n].cat(Tensor(X)),
    "stack": lambda n: Tensor.stack(Tensor(X)[:n], Tensor(X)[:n]),
    "tril": lambda n: Tensor.ones(n, n).tril(),
    "numbers": lambda n: Tensor(X) * n + n,
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("value", [1, 2, 7, 16])
def test_a_bound_size_gives_what_the_int_gives(door, value):
    plain, bound = DOORS[door](value).numpy(), DOORS[door](N.bind(value)).numpy()
    assert bound.shape == plain.shape
    assert bound.dtype == plain.dtype
    assert bound.tobytes() == plain.tobytes()


@pytest.mark.parametrize("door", ["slice", "reshape", "expand", "zeros", "repeat", "cat"])
def test_shapes_hold_the_variable(door):
    assert any(type(n) is Size for n in DOORS[door](N.bind(5)).shape)


def test_random_numbers_are_those_of_the_plain_size():
    Tensor.manual_seed(3)
    bound = Tensor.rand(N.bind(5), 4).numpy()
    Tensor.manual_seed(3)
    assert (Tensor.rand(5, 4).numpy() == bound).all()


def test_writing_to_a_view_of_a_bound_size_writes_to_its_base():
    for value in (3, 5, 16):
        x = Tensor(X.copy())
        part = x[: N.bind(value)]
        part += 1
        x[: N.bind(value), 1] = -1.0
        wanted = X.copy()
        wanted[:value] += 1
        wanted[:value, 1] = -1.0
        assert (x.numpy() == wanted).all()
        assert (part.numpy() == wanted[:value]).all()


def test_a_write_is_one_source_for_all_sizes():
    made = []
    for value in (3, 5, 9, 16):
        x = Tensor(X.copy())
        with counters() as counted:
            x[: N.bind(value)] = Tensor(X[0]).expand(N.bind(value), 4) * 2
            x.realize()
        made.append(counted.sources)
    assert made[1:] == [0, 0, 0]


def test_gradients_flow_through_bound_sizes():
    for value in (2, 7):
        x = Tensor(X, requires_grad=True)
        (x[: N.bind(value)] ** 2).mean().backward()
        y = Tensor(X, requires_grad=True)
        (y[:value] ** 2).mean().backward()
        assert x.grad.numpy().tobytes() == y.grad.numpy().tobytes()


def test_a_schedule_comes_with_the_values_of_its_variables():
    m = Variable("m", 1, 4)
    y = (Tensor(X)[: N.bind(6), : m.bind(3)] * 2).sum(0)
    steps, bound = Tensor.schedule_with_vars(y)
    assert bound == {"m": 3, "n": 6}
    run_schedule(steps, bound)
    assert y.uop.realized is not None
    assert y.tolist() == (X[:6, :3] * 2).sum(0).tolist()


@pytest.mark.parametrize("device", ["CPU", "REF"])
def test_run_schedule_takes_what_schedule_with_vars_gives(device):
    y = Tensor(X, device=device)[: N.bind(6)].sum()
    run_schedule(*Tensor.schedule_with_vars(y))
    assert y.item() == X[:6].sum()


@pytest.mark.parametrize("key", ["n", N])
def test_steps_are_run_for_the_values_they_were_made_for(key):
    steps, _ = Tensor.schedule_with_vars(Tensor(X)[: N.bind(6)].sum())
    with pytest.raises(AdjointError, match="E3003") as caught:
        run_schedule(steps, {key: 7})
    assert "n = 6, not 7" in str(caught.value)


def test_a_plain_schedule_has_no_variables():
    steps, bound = Tensor.schedule_with_vars(Tensor(X) + 1)
    assert len(steps) == 1
    assert bound == {}


@pytest.mark.parametrize("device", ["CPU", "REF"])
def test_a_variable_with_two_values_in_one_graph_is_an_error(device):
    x = Tensor(X, device=device)
    y = x[: N.bind(3)].sum() + x[: N.bind(4)].sum()
    for _ in range(2):
        with pytest.raises(AdjointError, match="E3003") as caught:
            y.realize()
        assert "'n' is bound to 3 and to 4" in str(caught.value)
    with pytest.raises(AdjointError, match="E3003"):
        y.schedule_with_vars()


def test_two_variables_of_one_name_in_one_graph_are_an_error():
    x = Tensor(X)
    y = x[: N.bind(3)].sum() + x[: Variable("n", 1, 8).bind(3)].sum()
    with pytest.raises(AdjointError, match="E4002") as caught:
        y.realize()
    assert "Variable('n', 1, 16) and Variable('n', 1, 8)" in str(caught.value)


def test_a_computed_tensor_binds_nothing_any_more():
    before = (Tensor(X)[: N.bind(3)] * 2).realize()
    now = Tensor(X)[: N.bind(4)] * 2
    assert type(before.shape[0]) is Size
    assert before.cat(now).numpy().tolist() == np.concatenate([X[:3] * 2, X[:4] * 2]).tolist()
    assert Tensor.schedule_with_vars(before.cat(now))[1] == {"n": 4}


def test_two_variables_of_one_value_are_apart():
    a, b = Variable("a", 1, 8), Variable("b", 1, 8)
    sources = []
    for i, j in [(4, 4), (3, 5), (5, 5), (8, 1), (2, 7)]:
        with counters() as counted:
            y = (Tensor(X)[: a.bind(i), None] * Tensor(X)[None, : b.bind(j)]).sum(0).numpy()
        sources.append(counted.sources)
        assert y.tobytes() == (Tensor(X)[:i, None] * Tensor(X)[None, :j]).sum(0).numpy().tobytes()
    assert sources[1:3] + sources[4:] == [0, 0, 0]


def test_a_plain_graph_that_was_there_first_changes_nothing():
    x = Tensor(X)
    plain = x[:5] * 3
    bound = x[: N.bind(5)] * 3
    assert plain.uop is not bound.uop
    assert type(plain.shape[0]) is int
    assert type(bound.shape[0]) is Size
    assert (plain.numpy() == bound.numpy()).all()


def test_empty_and_single_sizes_are_right():
    zero = Variable("z", 0, 16)
    for value in (0, 1, 2, 0):
        x = Tensor(X)[: zero.bind(value)]
        assert x.sum(0).tolist() == X[:value].sum(0).tolist()
        assert (x.softmax(-1) * 2).shape == (value, 4)
        assert x.exp().numpy().shape == (value, 4)
        assert x.reshape(-1).cat(Tensor([1.0])).shape == (4 * value + 1,)


def test_threads_bind_values_of_their_own():
    found = {}

    def work(value):
        found[value] = [(Tensor(X)[: N.bind(value)] * 2).sum().item() for _ in range(5)]

    threads = [threading.Thread(target=work, args=(v,)) for v in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {v: [float((X[:v] * 2).sum())] * 5 for v in range(1, 9)}


def test_python_that_reads_a_size_as_an_int_is_right():
    """Branches, ranges and arrays of NumPy see the value; what they build is for it."""

    @jit
    def mean(x):
        n = x.shape[0]
        scale = np.linspace(0, 1, n) if n % 2 else np.ones(n)
        rows = [x[i] * float(scale[i]) for i in range(n)]
        return sum(rows[1:], rows[0]) / n

    for value in (3, 4, 5, 3):
        bound = mean(Tensor(X)[: N.bind(value)]).numpy()
        assert bound.tobytes() == mean.__wrapped__(Tensor(X)[:value]).numpy().tobytes()


def test_a_program_of_a_size_that_varies_is_not_that_of_the_number():
    """The key of a program holds the variable and its range."""
    data = [Tensor(X[:5].copy()).reshape(N.bind(5), 4).realize(), Tensor(X[:5].copy())]
    keys = [graph_key([(x * 1.25 + 77).uop]).structure for x in data]
    assert keys[0] != keys[1]
    assert keys[0] == graph_key([(data[0] * 1.25 + 77).uop]).structure


KEPT = (Tensor(X)[: N.bind(5)] * 2).realize()
CAPTURED = {
    "a slice": lambda n: lambda t: (t[:n] * t.shape[0]).softmax(-1).mean(0),
    "a loop": lambda n: lambda t: scan(lambda c, r: (c + r.sum(), r * c), Tensor(0.0), t[:n])[1],
    "a literal": lambda n: lambda t: (t[:n] + KEPT).reshape(n * 4).sum(),
}


@pytest.mark.parametrize("case", CAPTURED)
def test_a_captured_module_has_plain_sizes(case):
    make = CAPTURED[case]
    assert str(capture(make(N.bind(5)), Tensor(X))) == str(capture(make(5), Tensor(X)))


def test_graphs_with_variables_are_verified(monkeypatch):
    monkeypatch.setenv("ADJOINT_VERIFY", "1")
    assert (Tensor(X)[: N.bind(6)] * 3.5).sum().item() == (X[:6] * 3.5).sum()
