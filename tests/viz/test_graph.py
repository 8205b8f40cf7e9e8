"""What the page Graph is given: nodes, names, lines, layers, what is inside."""

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, scan, trace, view
from adjoint.viz.view import View
from tests.viz.programs import Network, softmax_loss, training_step

OP, TYPE, ATTRS, SRC, PLACE, KIND, BODY, DEVICE = range(8)


def seen(*args, **kwargs):
    (graph,) = view(*args, show=False, **kwargs).data["graphs"]
    return graph


def rows(graph):
    return [graph["nodes"][n] for n in graph["graph"]["order"]]


def named(graph, op):
    return [row for row in rows(graph) if row[OP] == op]


def place(graph, row):
    return graph["places"][row[PLACE]]


def test_a_function_has_the_names_of_its_arguments():
    graph = seen(softmax_loss, Tensor.ones(2, 3), Tensor.ones(3, 4))
    given = {row[ATTRS]: row[TYPE] for row in rows(graph) if row[KIND] == "input"}
    assert given == {"x": "f32[2, 3]", "w": "f32[3, 4]"}
    assert [graph["nodes"][n][OP] for n in graph["graph"]["roots"]] == ["reduce_sum"]


def test_a_node_has_the_users_line_and_its_neighbours():
    graph = seen(softmax_loss, Tensor.ones(2, 3), Tensor.ones(3, 4))
    (softmax,) = named(graph, "softmax")
    file, line, method, backward, _, _ = place(graph, softmax)
    assert (method, backward) == ("softmax", 0)
    assert graph["files"][file]["name"].endswith("programs.py")
    assert "(x @ w).softmax(-1)" in graph["files"][file]["lines"][line]
    assert "(y * y).sum()" in graph["files"][file]["lines"][line + 1]


def test_every_node_is_paired_with_the_nodes_of_its_own_gradient():
    def loss(x):
        return (x.exp() * x.sin()).sum()  # one line, several nodes

    graph = seen(adjoint.grad(loss), Tensor.ones(3))
    (exp,), (sin,) = named(graph, "exp"), named(graph, "sin")
    pairs = {op: place(graph, row)[4] for op, row in (("exp", exp), ("sin", sin))}
    assert pairs["exp"] != pairs["sin"]
    (cos,) = named(graph, "cos")
    assert place(graph, cos)[3:5] == [1, pairs["sin"]]


def test_a_composite_opens_to_its_body_over_its_operands():
    graph = seen(softmax_loss, Tensor.ones(2, 3), Tensor.ones(3, 4))
    (softmax,) = named(graph, "softmax")
    (body,) = graph["bodies"][softmax[BODY]]
    inner = [graph["nodes"][n][OP] for n in body["order"]]
    assert "exp" in inner
    assert body["inputs"] == softmax[SRC]


def test_equal_composites_have_one_body():
    graph = seen(lambda x: x.softmax(-1) + (2 * x).softmax(-1), Tensor.ones(2, 3))
    first, second = named(graph, "softmax")
    assert first[BODY] == second[BODY]


def test_a_loop_opens_to_the_function_of_a_turn():
    def turns(x):
        return scan(lambda c, y: (c + y.sin(), c), x[0], x)[1]

    graph = seen(turns, Tensor.ones(5, 3))
    (loop,) = named(graph, "loop")
    (body,) = graph["bodies"][loop[BODY]]
    assert loop[KIND] == "control"
    assert "sin" in [graph["nodes"][n][OP] for n in body["order"]]


def test_layers_and_parameters_have_their_names():
    step, x = training_step()
    graph = seen(step, x)
    assert [path for path, _ in graph["modules"]] == ["Network.first", "Network", "Network.second"]
    names = {row[ATTRS] for row in rows(graph) if row[KIND] == "input"}
    assert {"x", "Network.first.weight", "Network.second.bias"} <= names
    assert "new Network.first.weight" in graph["results"]
    layers = {graph["modules"][place(graph, r)[5]][0] for r in named(graph, "contract")}
    assert layers == {"Network.first", "Network.second"}  # those of gradients, too


def test_looking_changes_nothing():
    network, x = Network(), Tensor.ones(2, 4)
    plain = network(x).numpy().copy()
    step, y = training_step()
    before = view(step, y, show=False).data
    assert (network(x).numpy() == plain).all()
    assert type(network).__call__ is adjoint.nn.Module.__call__
    assert len(before["graphs"]) == 1


def test_a_lazy_tensor_ends_at_what_is_known():
    x = Tensor.ones(3).realize()
    graph = seen((x + 1).exp())
    assert [row[OP] for row in rows(graph) if row[KIND] not in ("input", "const")] == ["add", "exp"]


def test_a_jitted_function_without_arguments_shows_what_it_has_traced():
    jitted = adjoint.jit(softmax_loss)
    jitted(Tensor.ones(2, 3), Tensor.ones(3, 4))
    assert named(seen(jitted), "softmax")


def test_a_trace_and_a_core_module_can_be_looked_at():
    x, w = Tensor.ones(2, 3), Tensor.ones(3, 4)
    assert named(seen(trace(softmax_loss, x, w)), "softmax")
    graph = seen(adjoint.capture(softmax_loss, x, w))
    assert {"x", "w"} <= {row[ATTRS] for row in rows(graph) if row[KIND] == "input"}


def test_sizes_are_a_shape_as_before():
    assert adjoint.view(Tensor.ones(4, 4), 2, 8).shape == (2, 8)
    assert adjoint.view(Tensor.ones(4, 4), (2, 8)).shape == (2, 8)
    assert adjoint.view(np.ones((4, 4)), shape=(2, 8)).shape == (2, 8)


def test_what_has_no_graph_is_an_error_that_says_what_has():
    with pytest.raises(adjoint.ArgumentError, match="a function and its arguments") as caught:
        view(3)
    assert caught.value.code == "E2001"


def test_a_view_that_is_not_shown_opens_nothing(monkeypatch):
    opened = []
    monkeypatch.setattr(View, "open", staticmethod(opened.append))
    view(Tensor.ones(2) + 1, show=False).html()
    assert opened == []
