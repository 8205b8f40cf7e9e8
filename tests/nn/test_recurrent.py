"""RNN, LSTM and GRU: cells, sequences, and the loop that they are."""

import numpy as np
import pytest

from adjoint import AdjointError, Tensor, grad, jit, jvp, lower, tree_leaves, tree_map, vmap
from adjoint.nn.recurrent import GRU, LSTM, RNN
from adjoint.nn.recurrent_cells import GRUCell, LSTMCell, RNNCell
from tests.support.tensors import floats

KINDS = [
    pytest.param(RNN, RNNCell, {}, id="tanh"),
    pytest.param(RNN, RNNCell, {"nonlinearity": "relu"}, id="relu"),
    pytest.param(GRU, GRUCell, {}, id="gru"),
    pytest.param(LSTM, LSTMCell, {}, id="lstm"),
]
LAYERS = [pytest.param(kind, id=kind.__name__) for kind in (RNN, GRU, LSTM)]


@pytest.fixture(autouse=True)
def _seeded():
    Tensor.manual_seed(7)


def made(kind, *args, **named):
    return kind(*args, **named, dtype="float64")


def with_values(layer, **values):
    for name, value in values.items():
        getattr(layer, name).assign(value.detach()).realize()
    return layer


def cell_of(layer, kind, suffix="_l0", **options):
    """A cell with the values of one layer."""
    size = getattr(layer, f"weight_ih{suffix}").shape[1]
    cell = made(kind, size, layer.hidden_size, bias=layer.bias, **options)
    parts = ("weight_ih", "weight_hh", *(("bias_ih", "bias_hh") if layer.bias else ()))
    return with_values(cell, **{part: getattr(layer, part + suffix) for part in parts})


def stepped(cell, x, state=None):
    """Outputs of all steps and the last state, one step after the other."""
    rows = []
    for row in x:
        state = cell(row, state)
        rows.append(state[0] if isinstance(state, tuple) else state)
    return rows[0].stack(*rows[1:]), state


def near(a, b, atol=1e-12):
    left, right = tree_leaves(a), tree_leaves(b)
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=0, atol=atol)


# ---- what they are


@pytest.mark.parametrize(("kind", "gates"), [(RNN, 1), (GRU, 3), (LSTM, 4)])
def test_parameters_have_the_names_and_shapes_of_pytorch(kind, gates):
    layer = kind(3, 4, num_layers=2, bidirectional=True)
    shapes = {name: tensor.shape for name, tensor in layer.named_parameters()}
    suffixes = ["_l0", "_l0_reverse", "_l1", "_l1_reverse"]
    parts = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    assert list(shapes) == [part + suffix for suffix in suffixes for part in parts]
    assert shapes["weight_ih_l0"] == (4 * gates, 3)
    assert shapes["weight_ih_l1_reverse"] == (4 * gates, 8)
    assert shapes["weight_hh_l1"] == (4 * gates, 4)
    assert shapes["bias_hh_l0"] == (4 * gates,)


def test_a_projection_changes_the_shapes_that_follow_from_it():
    layer = LSTM(3, 5, num_layers=2, proj_size=2)
    shapes = {name: tensor.shape for name, tensor in layer.named_parameters()}
    assert shapes["weight_hh_l0"] == (20, 2)
    assert shapes["weight_hr_l0"] == (2, 5)
    assert shapes["weight_ih_l1"] == (20, 2)


@pytest.mark.parametrize("kind", [RNN, GRU, LSTM, RNNCell, GRUCell, LSTMCell])
def test_parameters_begin_uniform_within_one_over_the_root_of_the_hidden_size(kind):
    layer = kind(20, 25)
    for tensor in layer.parameters():
        values = tensor.numpy()
        assert abs(values).max() <= 0.2
        assert abs(values).max() > 0.17
        assert abs(values.mean()) < 0.08


def test_a_layer_without_bias_has_none():
    assert list(GRU(2, 3, bias=False).state_dict()) == ["weight_ih_l0", "weight_hh_l0"]
    assert list(LSTMCell(2, 3, bias=False).state_dict()) == ["weight_ih", "weight_hh"]


def test_a_layer_shows_its_sizes():
    assert repr(GRU(2, 3, num_layers=2, batch_first=True)).startswith("GRU(2, 3, num_layers=2")
    assert repr(RNNCell(2, 3, bias=False)) == "RNNCell(2, 3, bias=False)"


# ---- what they compute


@pytest.mark.parametrize(("kind", "cell_kind", "options"), KINDS)
def test_a_layer_is_its_cell_step_by_step(kind, cell_kind, options):
    layer = made(kind, 3, 4, **options)
    x = floats(5, 2, 3)
    rows, last = stepped(cell_of(layer, cell_kind, **options), x)
    output, state = layer(x)
    near(output, rows)
    near([part.squeeze(0) for part in tree_leaves(state)], tree_leaves(last))


@pytest.mark.parametrize(("kind", "cell_kind", "options"), KINDS)
def test_an_initial_state_is_where_a_layer_begins(kind, cell_kind, options):
    layer = made(kind, 3, 4, bias=False, **options)
    x, parts = floats(3, 2, 3), [floats(1, 2, 4, seed=i) for i in (1, 2)]
    hx = tuple(parts) if kind is LSTM else parts[0]
    rows, _ = stepped(cell_of(layer, cell_kind, **options), x, tree_map(lambda t: t[0], hx))
    near(layer(x, hx)[0], rows)


@pytest.mark.parametrize("kind", LAYERS)
def test_a_sequence_continues_where_its_first_half_ended(kind):
    layer, x = made(kind, 3, 4, num_layers=2), floats(6, 2, 3)
    whole, end = layer(x)
    first, middle = layer(x[:2])
    second, last = layer(x[2:], middle)
    near(whole, first.cat(second))
    near(end, last)


@pytest.mark.parametrize("kind", LAYERS)
def test_the_reverse_direction_sees_the_sequence_from_its_end(kind):
    both, x = made(kind, 3, 4, bidirectional=True), floats(5, 2, 3)
    one = made(kind, 3, 4)
    with_values(one, **{n: getattr(both, f"{n}_reverse") for n in one.state_dict()})
    output, state = both(x)
    backwards, last = one(x.flip(0))
    near(output[..., 4:], backwards.flip(0))
    near([part[1:] for part in tree_leaves(state)], tree_leaves(last))


def test_a_second_layer_takes_both_directions_of_the_first():
    layer, x = made(GRU, 3, 4, num_layers=2, bidirectional=True), floats(5, 2, 3)
    first = made(GRU, 3, 4, bidirectional=True)
    with_values(first, **{n: getattr(layer, n) for n in first.state_dict()})
    second = made(GRU, 8, 4, bidirectional=True)
    with_values(second, **{n: getattr(layer, n.replace("l0", "l1")) for n in second.state_dict()})
    inner, one = first(x)
    outer, two = second(inner)
    near(layer(x), (outer, one.cat(two)))


def projected(layer, x):
    """An LSTM with a projection, step by step."""
    h, c, rows = Tensor.zeros(2, 2, dtype="float64"), Tensor.zeros(2, 4, dtype="float64"), []
    for row in x:
        both = row @ layer.weight_ih_l0.T + h @ layer.weight_hh_l0.T
        i, f, g, o = (both + layer.bias_ih_l0 + layer.bias_hh_l0).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = (o.sigmoid() * c.tanh()) @ layer.weight_hr_l0.T
        rows.append(h)
    return rows[0].stack(*rows[1:]), (h.unsqueeze(0), c.unsqueeze(0))


def test_a_projected_lstm_is_an_lstm_whose_hidden_state_is_mapped():
    layer, x = made(LSTM, 3, 4, proj_size=2), floats(4, 2, 3)
    near(layer(x), projected(layer, x))

    def total(run):
        return lambda m, at: sum(part.sin().sum() for part in tree_leaves(run(m, at)))

    found = jit(grad(total(lambda m, at: m(at)), argnums=(0, 1)))(layer, x)
    near(found, jit(grad(total(projected), argnums=(0, 1)))(layer, x))


@pytest.mark.parametrize("kind", LAYERS)
def test_the_batch_may_come_first_or_be_absent(kind):
    layer = made(kind, 3, 4, bidirectional=True)
    turned = made(kind, 3, 4, bidirectional=True, batch_first=True)
    with_values(turned, **dict(layer.named_parameters()))
    x = floats(5, 2, 3)
    output, state = layer(x)
    near(turned(x.transpose(0, 1)), (output.transpose(0, 1), state))
    alone, end = layer(x[:, 1])
    near(alone, output[:, 1])
    near(end, tree_map(lambda t: t[:, 1], state))


def test_a_float32_state_joins_a_float64_layer():
    layer = made(LSTM, 3, 4)
    start = Tensor.zeros(1, 2, 4)
    assert layer(floats(3, 2, 3), (start, start))[0].dtype.name == "float64"


# ---- dropout


def test_dropout_acts_between_layers_and_only_while_training():
    layer, x = made(RNN, 3, 4, num_layers=2, dropout=1.0), floats(4, 2, 3)
    still = layer(x)[0]
    near(layer(x)[0], still)
    layer.train()
    empty = made(RNN, 4, 4)
    names = {n: getattr(layer, n.replace("l0", "l1")) for n in empty.state_dict()}
    dropped = with_values(empty, **names)(Tensor.zeros(4, 2, 4, dtype="float64"))[0]
    near(layer(x)[0], dropped)
    near(layer.eval()(x)[0], still)


# ---- derivatives


def loss_of(layer, x, hx=None):
    output, state = layer(x, hx)
    return output.sin().sum() + sum((part.cos() * 2).sum() for part in tree_leaves(state))


def stepped_loss(cell, x, hx):
    output, state = stepped(cell, x, tree_map(lambda t: t[0], hx))
    return output.sin().sum() + sum((part.cos() * 2).sum() for part in tree_leaves(state))


@pytest.mark.parametrize(("kind", "cell_kind", "options"), KINDS)
def test_gradients_are_those_of_the_steps_one_by_one(kind, cell_kind, options):
    layer, x = made(kind, 3, 4, **options), floats(4, 2, 3)
    parts = [floats(1, 2, 4, seed=i) for i in (1, 2)]
    hx = tuple(parts) if kind is LSTM else parts[0]
    cell = cell_of(layer, cell_kind, **options)
    found = jit(grad(loss_of, argnums=(0, 1, 2)))(layer, x, hx)
    wanted = jit(grad(stepped_loss, argnums=(0, 1, 2)))(cell, x, hx)
    near(found, wanted)


@pytest.mark.parametrize(("kind", "cell_kind"), [(GRU, GRUCell), (LSTM, LSTMCell)])
def test_second_derivatives_are_those_of_the_steps_one_by_one(kind, cell_kind):
    layer, x, v = made(kind, 2, 3), floats(3, 1, 2), floats(3, 1, 2, seed=3)
    state = floats(1, 1, 3, seed=1)
    hx = (state, state) if kind is LSTM else state
    cell = cell_of(layer, cell_kind)

    def product(loss):  # gradient of (gradient · v), with respect to parameters and input
        slope = lambda model, at: (grad(loss, argnums=1)(model, at, hx) * v).sum()  # noqa: E731
        return jit(grad(slope, argnums=(0, 1)))

    near(product(loss_of)(layer, x), product(stepped_loss)(cell, x))


@pytest.mark.parametrize("kind", LAYERS)
def test_forward_mode_agrees_with_reverse_mode(kind):
    layer, x, t = made(kind, 2, 3, bidirectional=True), floats(3, 2, 2), floats(3, 2, 2, seed=5)
    loss = lambda at: loss_of(layer, at)  # noqa: E731
    moved = jit(lambda at, along: jvp(loss, (at,), (along,))[1])(x, t)
    near(moved, (jit(grad(loss))(x) * t).sum())


def test_backward_fills_the_gradients_of_parameters_inside_jit():
    layer, x = made(LSTM, 3, 4, num_layers=2), floats(4, 2, 3)
    wanted = jit(grad(loss_of))(layer, x)

    @jit
    def step(x):
        layer.zero_grad()
        return loss_of(layer, x).backward()

    for _ in range(4):
        step(x)
    assert step.cache_size() == 1
    near([p.grad for p in layer.parameters()], wanted.parameters())


def test_the_program_of_a_layer_has_one_size_for_any_length():
    layer = GRU(3, 4)
    steps = [
        lower(grad(lambda m, x: m(x)[0].sum()))(layer, Tensor.zeros(n, 2, 3)).schedule()
        for n in (8, 80)
    ]
    assert len(steps[0].splitlines()) == len(steps[1].splitlines())


def test_a_jitted_layer_keeps_one_trace():
    layer = LSTM(3, 4)
    run = jit(lambda m, x: m(x)[0])
    x = Tensor.ones(4, 2, 3)
    run(layer, x)
    run(layer, x + 1)
    assert run.cache_size() == 1


# ---- vmap


@pytest.mark.parametrize("kind", [RNNCell, GRUCell, LSTMCell])
def test_vmap_of_a_cell_is_the_cell_on_each(kind):
    cell, x = made(kind, 3, 4), floats(5, 3)
    near(vmap(cell)(x), cell(x))


def test_vmap_over_cells_runs_one_cell_each():
    cells = [made(GRUCell, 2, 3) for _ in range(3)]
    stacked = tree_map(lambda *t: t[0].stack(*t[1:]), *cells)
    x = floats(3, 2)
    each = [cell(row) for cell, row in zip(cells, x, strict=True)]
    near(vmap(lambda cell, row: cell(row))(stacked, x), each[0].stack(*each[1:]))


def test_vmap_of_a_gradient_gives_one_per_sequence():
    layer, x = made(GRU, 2, 3), floats(3, 4, 2)
    loss = lambda m, one: m(one)[0].sin().sum()  # noqa: E731
    each = jit(vmap(grad(loss), in_axes=(None, 1)))(layer, x)
    near(tree_map(lambda t: t[2], each), grad(loss)(layer, x[:, 2]))


# ---- errors


@pytest.mark.parametrize(
    ("code", "call", "says"),
    [
        ("E3006", lambda: LSTM(0, 4), "input_size"),
        ("E3006", lambda: GRU(3, 4, num_layers=0), "num_layers"),
        ("E2001", lambda: RNNCell(3, 4.0), "hidden_size"),
        ("E3006", lambda: LSTM(3, 4, proj_size=4), "proj_size"),
        ("E2006", lambda: GRU(3, 4, dropout=1.5), "probability"),
        ("E2008", lambda: RNN(3, 4, nonlinearity="sine"), "'tanh' or 'relu'"),
        ("E2008", lambda: RNNCell(3, 4, nonlinearity="sine"), "'tanh' or 'relu'"),
        ("E3003", lambda: GRU(3, 4)(Tensor.zeros(5, 2, 2)), "features"),
        ("E3002", lambda: GRU(3, 4)(Tensor.zeros(5)), "rank"),
        ("E3006", lambda: GRU(3, 4)(Tensor.zeros(0, 2, 3)), "step"),
        ("E2001", lambda: GRU(3, 4)([[1.0, 2.0, 3.0]]), "Tensor"),
        ("E2005", lambda: GRU(3, 4)(Tensor([[1, 2, 3]])), "floats"),
        ("E3003", lambda: GRU(3, 4)(Tensor.zeros(5, 2, 3), Tensor.zeros(1, 3, 4)), "h_0"),
        ("E3003", lambda: GRU(3, 4)(Tensor.zeros(5, 3), Tensor.zeros(1, 1, 4)), "h_0"),
        ("E2007", lambda: LSTM(3, 4)(Tensor.zeros(5, 2, 3), Tensor.zeros(1, 2, 4)), "pair"),
        (
            "E3003",
            lambda: LSTM(3, 4)(
                Tensor.zeros(5, 2, 3), (Tensor.zeros(1, 2, 4), Tensor.zeros(1, 2, 5))
            ),
            "c_0",
        ),
        ("E2007", lambda: GRU(3, 4)(Tensor.zeros(5, 2, 3), (Tensor.zeros(1, 2, 4),)), "one tensor"),
        ("E3003", lambda: GRUCell(3, 4)(Tensor.zeros(2, 4)), "features"),
        ("E3003", lambda: GRUCell(3, 4)(Tensor.zeros(2, 3), Tensor.zeros(4)), "h_0"),
        ("E2007", lambda: LSTMCell(3, 4)(Tensor.zeros(2, 3), Tensor.zeros(2, 4)), "pair"),
    ],
)
def test_what_does_not_fit_is_an_error_that_says_so(code, call, says):
    with pytest.raises(AdjointError, match=says) as caught:
        call()
    assert caught.value.code == code


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("kind", LAYERS)
def test_a_batch_of_no_examples_has_no_outputs_and_a_gradient_of_zeros(kind, batch_first):
    layer = made(kind, 4, 3, num_layers=2, bidirectional=True, batch_first=batch_first)
    x = Tensor.zeros(*((0, 5, 4) if batch_first else (5, 0, 4)), dtype="float64")
    y, last = layer(x)
    assert y.shape == ((0, 5, 6) if batch_first else (5, 0, 6))
    assert {part.shape for part in tree_leaves(last)} == {(4, 0, 3)}
    gradients = y.sum().gradient(*layer.parameters())
    assert all(g.tolist() == g.zeros_like().tolist() for g in gradients)
