"""jit: the same answers as without it, whatever changes around the function."""

import numpy as np
import pytest

from adjoint import (
    Tensor,
    cond,
    fori_loop,
    grad,
    jit,
    no_grad,
    scan,
    value_and_grad,
    vmap,
    while_loop,
)
from adjoint.errors import AdjointError, DeviceError, JitWarning
from tests.support.tensors import vector
from tests.support.threads import in_threads

SCALE = 3.0


pytestmark = pytest.mark.usefixtures("device")


# ---- calls and signatures


def test_a_second_call_does_not_run_the_function():
    f = jit(lambda x: x + 1)
    assert f(vector(1, 2)).tolist() == [2, 3]
    assert f(vector(5, 6)).tolist() == [6, 7]
    assert f(vector(5, 6) + 1).tolist() == [7, 8]
    assert f.traces == 1


def test_every_shape_and_dtype_has_its_own_trace():
    f = jit(lambda x: x * 2)
    f(vector(1, 2))
    f(vector(1, 2, 3))
    f(Tensor([1, 2]))
    assert f(vector(4, 5)).tolist() == [8, 10]
    assert f.cache_size() == 3
    f.clear_cache()
    assert f.cache_size() == 0


def test_arguments_are_pytrees_with_numbers_and_arrays():
    f = jit(lambda tree, k, *, scale=1.0: {"s": tree["a"] + tree["b"][0] * k, "k": (scale, None)})
    tree = {"a": vector(1, 2), "b": (np.ones(2, np.float32),)}
    for k in (2, 3.0, 2):
        out = f(tree, k, scale=0.5)
        assert out["s"].tolist() == [1 + k, 2 + k]
        assert out["k"] == (0.5, None)


def test_a_weak_number_keeps_its_kind():
    f = jit(lambda x, k: x * k)
    x = Tensor(np.array([1, 2], np.int32))
    assert str(f(x, 2).dtype) == str((x * 2).dtype)
    assert str(f(x, 2.0).dtype) == str((x * 2.0).dtype)
    assert str(f(x, True).dtype) == str((x * True).dtype)


def test_many_values_of_a_number_give_the_right_answers_and_one_warning():
    f = jit(lambda x, k: x * k + k)
    values = [k / 8 for k in range(20)]
    with pytest.warns(JitWarning, match="because of the value of argument 1") as said:
        found = [f(vector(1, 2), value).tolist() for value in values]
    assert found == [[2 * value, 3 * value] for value in values]
    assert [w.message.code for w in said] == ["W8002"]


def test_minus_zero_is_not_zero():
    f = jit(lambda x, k: 1 / (x * k))
    assert f(vector(1), 0.0).tolist() == [np.inf]
    assert f(vector(1), -0.0).tolist() == [-np.inf]


def test_static_arguments_are_python_values():
    f = jit(lambda x, n, mode: x.reshape(n) if mode == "r" else x, static_argnums=1)
    assert f(Tensor.ones(6), (2, 3), "r").shape == (2, 3)
    assert f(Tensor.ones(6), (3, 2), "r").shape == (3, 2)
    g = jit(lambda x, n=1: x * n, static_argnames="n")
    assert g(vector(2), n=3).tolist() == [6]


def test_a_static_tensor_is_an_error():
    f = jit(lambda x, y: x + y, static_argnums=1)
    with pytest.raises(AdjointError, match="static argument"):
        f(vector(1), vector(1))


def test_the_same_tensor_twice():
    f = jit(lambda a, b: a + 2 * b)
    x, y = vector(1, 2), vector(3, 4)
    assert f(x, x).tolist() == [3, 6]
    assert f(x, y).tolist() == [7, 10]
    assert f(y, y).tolist() == [9, 12]


def test_an_identity_returns_a_tensor_of_its_own():
    f = jit(lambda x: x)
    x = vector(1, 2)
    y = f(x)
    assert y is not x
    assert f(x).tolist() == [1, 2]


def test_results_are_fresh_at_every_call():
    f = jit(lambda x: x + 1)
    first = f(vector(1))
    second = f(vector(2))
    assert (first.item(), second.item()) == (2, 3)


def test_results_may_hold_what_is_no_tensor():
    f = jit(lambda x: (x + 1, "name", 7, [x, {"k": 2.5}]))
    for _ in range(2):
        a, name, seven, (b, rest) = f(vector(1))
        assert (a.item(), name, seven, b.item(), rest) == (2, "name", 7, 1, {"k": 2.5})


def test_lazy_arguments_are_computed():
    f = jit(lambda x: x * 2)
    assert f(vector(1, 2) + 1).tolist() == [4, 6]
    assert f(vector(1, 2) + 2).tolist() == [6, 8]


def test_integers_and_bools():
    f = jit(lambda i, m: m.where(i, -i))
    i, m = Tensor([1, 2, 3]), Tensor([True, False, True])
    for _ in range(2):
        assert f(i, m).tolist() == [1, -2, 3]


def test_the_wrapper_keeps_name_and_doc():
    @jit
    def wanted(x):
        """What it says."""
        return x

    assert (wanted.__name__, wanted.__doc__) == ("wanted", "What it says.")


def test_methods_can_be_jitted():
    class Model:
        def __init__(self, k):
            self.k = k

        @jit
        def forward(self, x):
            return x * self.k

    a, b = Model(2.0), Model(3.0)
    for _ in range(2):
        assert a.forward(vector(1)).item() == 2
        assert b.forward(vector(1)).item() == 3
    a.k = 5.0
    assert a.forward(vector(1)).item() == 5


def test_an_error_inside_passes_through_and_nothing_is_left_behind():
    w = vector(1, 2)

    @jit
    def f(x):
        w.assign(x)
        return x.reshape(7)

    with pytest.raises(AdjointError, match="reshape"):
        f(vector(3, 4))
    assert w.tolist() == [1, 2]


def test_reading_a_value_inside_is_an_error_with_a_fix():
    f = jit(lambda x: x * 2 if x.sum().item() > 0 else x)
    with pytest.raises(AdjointError, match="not known inside jit of"):
        f(vector(1))


def test_realize_inside_is_left_to_the_end():
    f = jit(lambda x: (x + 1).realize() * 2)
    for _ in range(2):
        assert f(vector(1)).item() == 4


# ---- surroundings


def test_a_changed_global_is_seen():
    global SCALE
    f = jit(lambda x: x * SCALE)
    assert f(vector(1)).item() == 3
    SCALE = 4.0
    try:
        assert f(vector(1)).item() == 4
    finally:
        SCALE = 3.0
    assert f(vector(1)).item() == 3


def test_a_changed_closure_is_seen():
    k = 1.0

    def f(x):
        return x * k

    jitted = jit(f)
    assert jitted(vector(2)).item() == 2
    k = 5.0
    assert jitted(vector(2)).item() == 10


def test_a_changed_list_dict_and_attribute_are_seen():
    class Config:
        rate = 2.0

    table, rows, config = {"a": 1.0}, [1.0], Config()
    f = jit(lambda x: x * table["a"] + rows[-1] + config.rate)
    assert f(vector(1)).item() == 4
    table["a"] = 2.0
    assert f(vector(1)).item() == 5
    rows.append(7.0)
    assert f(vector(1)).item() == 11
    config.rate = 3.0
    assert f(vector(1)).item() == 12
    Config.rate = 100.0
    assert f(vector(1)).item() == 12
    del config.rate
    assert f(vector(1)).item() == 109


def helper(x):
    return x * SCALE


def test_a_global_of_a_called_function_is_seen():
    global SCALE
    f = jit(lambda x: helper(x) + 1)
    assert f(vector(1)).item() == 4
    SCALE = 10.0
    try:
        assert f(vector(1)).item() == 11
    finally:
        SCALE = 3.0


def test_a_captured_array_is_compared_by_its_contents():
    table = np.array([1.0, 2.0], np.float32)
    f = jit(lambda x: x + Tensor(table))
    assert f(vector(0, 0)).tolist() == [1, 2]
    table[0] = 9
    assert f(vector(0, 0)).tolist() == [9, 2]


def test_a_default_argument_is_seen():
    def f(x, k=[2.0]):  # noqa: B006
        return x * k[0]

    jitted = jit(f)
    assert jitted(vector(1)).item() == 2
    f.__defaults__[0][0] = 3.0
    assert jitted(vector(1)).item() == 3


def test_a_captured_tensor_is_an_input():
    w = vector(1, 2)
    f = jit(lambda x: x + w)
    assert f(vector(0, 0)).tolist() == [1, 2]
    w.assign(vector(5, 6))
    assert f(vector(0, 0)).tolist() == [5, 6]
    w.replace(vector(7, 8))
    assert f(vector(0, 0)).tolist() == [7, 8]
    assert f.traces == 1


def test_another_tensor_in_its_place_needs_no_new_trace():
    class Model:
        pass

    model = Model()
    model.w = vector(1, 2)
    f = jit(lambda x: x + model.w)
    f(vector(0, 0))
    model.w = vector(3, 4)
    assert f(vector(0, 0)).tolist() == [3, 4]
    assert f.cache_size() == 1
    model.w = vector(3, 4, 5)
    assert f(Tensor.zeros(3)).tolist() == [3, 4, 5]


def test_training_mode_is_part_of_the_key():
    f = jit(lambda x: x * (2 if Tensor.training else 1))
    assert f(vector(1)).item() == 1
    with Tensor.train():
        assert f(vector(1)).item() == 2
    assert f(vector(1)).item() == 1


def test_no_grad_is_part_of_the_key():
    w = vector(2.0).requires_grad_()
    f = jit(lambda x: (x * w).sum())
    assert f(vector(1)).requires_grad
    with no_grad():
        assert not f(vector(1)).requires_grad
    assert f(vector(1)).requires_grad


# ---- effects


def test_an_assignment_happens_at_every_call():
    w = vector(0)

    @jit
    def step(x):
        w.assign(w + x)
        return w * 10

    assert [step(vector(2)).item() for _ in range(3)] == [20, 40, 60]
    assert w.item() == 6
    assert step.traces == 1


def test_an_argument_can_be_assigned():
    f = jit(lambda x, y: x.assign(x + y))
    x = vector(1)
    for _ in range(3):
        f(x, vector(2))
    assert x.item() == 7


def test_a_counter_of_python_is_kept_right():
    class Model:
        steps = 0

    model = Model()

    @jit
    def step(x):
        model.steps += 1
        return x * model.steps

    assert [step(vector(1)).item() for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    assert model.steps == 6


def test_a_flag_that_flips():
    state = {"on": True}

    @jit
    def f(x):
        state["on"] = not state["on"]
        return x * (1 if state["on"] else -1)

    assert [f(vector(1)).item() for _ in range(6)] == [-1, 1, -1, 1, -1, 1]


def test_a_state_that_is_another_tensor_each_time():
    class Cell:
        hidden = None

    cell = Cell()
    cell.hidden = vector(0)

    @jit
    def step(x):
        cell.hidden = cell.hidden * 2 + x
        return cell.hidden + 0

    assert [step(vector(1)).item() for _ in range(4)] == [1, 3, 7, 15]
    assert cell.hidden.item() == 15
    assert step.cache_size() == 1


def test_a_list_that_grows():
    kept = []

    @jit
    def f(x):
        kept.append(x + 1)
        return x

    for i in range(3):
        f(vector(i))
    assert [t.item() for t in kept] == [1, 2, 3]


def test_an_argument_that_the_function_keeps_has_the_value_of_its_call():
    kept = []

    @jit
    def f(x):
        kept.append(x)
        return x + 1

    for value in (1.0, 2.0, 3.0):
        f(Tensor([value]))
    assert [t.item() for t in kept] == [1, 2, 3]


def test_an_argument_that_is_kept_under_a_new_name_is_the_state_of_the_next_call():
    class Cell:
        state = None

    cell = Cell()

    @jit
    def f(x):
        cell.state = x if cell.state is None else cell.state * 0.5 + x
        return cell.state * 1

    assert [f(Tensor(value)).item() for value in (1.0, 2.0, 4.0)] == [1.0, 2.5, 5.25]
    assert cell.state.item() == 5.25


def train(jitted):
    Tensor.manual_seed(5)
    w = Tensor.randn(4, 3, requires_grad=True)
    m = Tensor.zeros(4, 3)
    x, y = Tensor.randn(8, 4), Tensor.randn(8, 3)

    def step(x, y):
        w.grad = None
        loss = ((x @ w).tanh() - y).square().mean()
        loss.backward()
        m.assign(0.9 * m + w.grad)
        w.assign(w.detach() - 0.1 * m)
        return loss

    run = jit(step) if jitted else step
    losses = [run(x, y).item() for _ in range(5)]
    assert not jitted or run.traces == 1
    return losses, w.numpy(), w.grad.numpy()


def test_a_training_step():
    ours, plain = train(True), train(False)
    for a, b in zip(ours, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_gradients_add_up_as_without_jit():
    w = vector(1, 2).requires_grad_()

    @jit
    def f(x):
        (w * x).sum().backward()

    for _ in range(4):
        f(vector(3, 4))
    assert w.grad.tolist() == [12, 16]


def test_the_gradient_of_an_argument_is_set():
    f = jit(lambda x: (x * x).sum().backward())
    x = vector(1, 2).requires_grad_()
    f(x)
    assert x.grad.tolist() == [2, 4]
    y = vector(3, 4).requires_grad_()
    f(y)
    assert y.grad.tolist() == [6, 8]


def test_a_gradient_can_be_asked_for_from_outside():
    w = vector(2, 3).requires_grad_()
    f = jit(lambda x: (x * w * w).sum())
    for n in range(3):
        w.grad = None
        f(vector(1, n)).backward()
        assert w.grad.tolist() == [4, 6 * n]


def test_random_numbers_advance():
    f = jit(lambda x: Tensor.rand(3) + x)
    g = jit(lambda x: x.dropout(0.5))
    x = Tensor.ones(3)
    with Tensor.train():
        Tensor.manual_seed(1)
        ours = [t.tolist() for _ in range(3) for t in (f(x), g(x))]
        Tensor.manual_seed(1)
        plain = [t.tolist() for _ in range(3) for t in (Tensor.rand(3) + x, x.dropout(0.5))]
    assert ours == plain


def test_donated_arguments_give_the_same_answers():
    f = jit(lambda x, y: (x + y, x * 2), donate_argnums=0)
    for i in range(4):
        a, b = f(vector(i, 2) + 0, vector(1, 1))
        assert (a.tolist(), b.tolist()) == ([i + 1, 3], [2 * i, 4])


def test_a_tensor_made_from_numpy_is_donated_at_the_first_call():
    array = np.arange(1 << 16, dtype=np.float32)
    x, seen = (Tensor(array, device="CPU").realize() for _ in range(2))
    shown = seen.numpy()
    f = jit(lambda x: x * 2 + 1, donate_argnums=0)
    for donated in (x, seen):
        np.testing.assert_array_equal(f(donated).numpy(), array * 2 + 1)
    with pytest.raises(DeviceError, match="donated"):
        x.numpy()
    np.testing.assert_array_equal(shown, np.arange(1 << 16))  # an array that a user has stays
    np.testing.assert_array_equal(array, np.arange(1 << 16))


# ---- with other transforms


def loss(w, x):
    return ((x * w).tanh()).sum()


def test_jit_of_grad_and_grad_of_jit():
    w, x = vector(0.5, -1), vector(1, 2)
    want = grad(loss)(w, x).numpy()
    for f in (jit(grad(loss)), grad(jit(loss)), jit(grad(jit(loss)))):
        for _ in range(2):
            np.testing.assert_allclose(f(w, x).numpy(), want, rtol=1e-6)
    value, g = jit(value_and_grad(loss))(w, x)
    np.testing.assert_allclose(g.numpy(), want, rtol=1e-6)
    np.testing.assert_allclose(value.numpy(), loss(w, x).numpy(), rtol=1e-6)


def test_jit_of_vmap_and_vmap_of_jit():
    xs = Tensor(np.arange(6, dtype=np.float32).reshape(3, 2))
    want = vmap(lambda x: x.softmax())(xs).numpy()
    for f in (jit(vmap(lambda x: x.softmax())), vmap(jit(lambda x: x.softmax()))):
        for _ in range(2):
            np.testing.assert_allclose(f(xs).numpy(), want, rtol=1e-6)


def test_nested_jit():
    inner = jit(lambda x: x + 1)
    outer = jit(lambda x: inner(x) * 2)
    for _ in range(2):
        assert outer(vector(1)).item() == 4


def test_control_flow_inside():
    @jit
    def f(x, n):
        a = cond(x.sum() > 0, lambda v: v * 2, lambda v: -v, x)
        last, rows = scan(lambda c, v: (c + v, c * v), Tensor(0.0), x)
        b = fori_loop(0, 3, lambda i, v: v + i, x)
        c = while_loop(lambda v: v < n, lambda v: v * 2, x.sum())
        return a, last, rows, b, c

    for values in ((1.0, 2.0), (3.0, 4.0), (-1.0, 3.0)):
        x = vector(*values)
        a, last, rows, b, c = f(x, Tensor(10.0))
        total = sum(values)
        assert a.tolist() == ([2 * v for v in values] if total > 0 else [-v for v in values])
        assert last.item() == total
        assert rows.tolist() == [0, values[0] * values[1]]
        assert b.tolist() == [v + 3 for v in values]
        expected = total
        while expected < 10:
            expected *= 2
        assert c.item() == expected


def test_an_index_out_of_range_is_the_error_it_is_without_jit():
    f = jit(lambda x, i: x[i])
    x = vector(1, 2, 3)
    assert f(x, Tensor([2])).tolist() == [3]
    with pytest.raises(AdjointError, match="E6001"):
        f(x, Tensor([3])).tolist()
    assert f(x, Tensor([0])).tolist() == [1]


def test_threads_share_a_jitted_function():
    w = vector(2, 3)
    f = jit(lambda x: (x * w).exp().sum() + x.sum())
    inputs = [vector(i / 8, 1 - i / 8) for i in range(8)]
    want = [((x * w).exp().sum() + x.sum()).item() for x in inputs]
    wrong = []

    def work(i):
        for _ in range(50):
            if f(inputs[i]).item() != want[i]:
                wrong.append(i)

    in_threads(8, work)
    assert wrong == []


def test_a_constant_that_somebody_computed_before():
    Tensor(1.0).realize()
    one = Tensor.ones(())
    one.realize()  # the node of the cotangent that .mean().backward() starts from
    x = vector(3)
    f = jit(lambda x: grad(lambda x: (x * x).sum())(x))
    assert f(x).tolist() == [6.0]
