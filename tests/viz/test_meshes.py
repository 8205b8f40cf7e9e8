"""Programs on a mesh: how every value lies there, and what members send one another."""

import pytest

import adjoint
from adjoint import Mesh, P, Tensor, jit, scan, view
from tests.support.browser import MISSING

OP, TYPE, ATTRS, SRC, PLACE, KIND, BODY, DEVICE, LAYOUT = range(9)
MESH = Mesh((2, 2), ("dp", "tp"))


def loss(x, w):
    return (x @ w).relu().sum()


def given():
    x = Tensor.ones(8, 16).shard(MESH, P("dp")).realize()
    return x, Tensor.ones(16, 8).shard(MESH, P(None, "tp")).realize()


def seen(*args):
    (graph,) = view(*args, show=False).data["graphs"]
    return graph


def layouts(graph):
    order = [graph["nodes"][n] for n in graph["graph"]["order"]]
    return {row[OP]: row[LAYOUT] for row in order if row[KIND] != "const"}


def test_every_node_of_a_function_says_how_it_lies():
    graph = seen(adjoint.value_and_grad(loss), *given())
    found = layouts(graph)
    assert found["relu"] == "P('dp', 'tp')"
    assert found["reduce_sum"] == "whole, pending sum over dp"
    assert found["contract"] == "P('dp'), pending sum over tp"  # the last: that of the gradient
    assert found["shard"] == "P('dp')"
    assert all(found.values())


def test_the_same_of_a_lazy_tensor_and_of_a_kept_trace():
    x, w = given()
    lazy = seen((x @ w).relu())
    assert layouts(lazy) == {"buffer": "P(None, 'tp')"} | dict.fromkeys(
        ("contract", "relu"), "P('dp', 'tp')"
    )
    assert lazy["mesh"] == "Mesh(dp=2, tp=2)"
    called = jit(loss)
    called(x, w)
    kept = seen(called)
    assert layouts(kept)["relu"] == "P('dp', 'tp')"
    assert [row[0] for row in kept["collectives"]] == ["all_gather", "all_reduce"]


def test_what_is_inside_a_loop_lies_somewhere_too():
    def turned(x, w):
        def turn(h, _):
            new = (h @ w).tanh() @ w.transpose(0, 1)
            return new, new.sum()

        return scan(turn, x, None, length=3)[1].sum()

    graph = seen(turned, *given())
    inside = {row[LAYOUT] for row in graph["nodes"] if row[OP] == "tanh"}
    assert inside == {"P('dp', 'tp')", ""}  # "": in what one member runs
    (loop,) = [row for row in graph["nodes"] if row[OP] == "loop" and row[LAYOUT]]
    assert loop[LAYOUT] == "(P('dp'); whole)"
    assert {(row[0], row[3]) for row in graph["collectives"]} == {("all_reduce", 3)}


def test_collectives_have_their_bytes_and_the_node_that_they_are_for():
    graph = seen(loss, *given())
    rows = [(op, sent, kind) for op, _, sent, _, kind, _ in graph["collectives"]]
    assert rows == [("all_gather", 64, "f32[4, 8]"), ("all_reduce", 4, "f32[]")]
    nodes = [graph["nodes"][row[5]][OP] for row in graph["collectives"]]
    assert nodes == ["relu", "reduce_sum"]
    gradient = seen(adjoint.value_and_grad(loss, argnums=(0, 1)), *given())
    sent = [(row[2], gradient["nodes"][row[5]][:2]) for row in gradient["collectives"]]
    assert (256, ["contract", "f32[8, 16]"]) in sent
    assert (256, ["contract", "f32[16, 8]"]) in sent
    steps = {step["name"]: step["sends"] for step in graph["kernels"]["steps"] if step["sends"]}
    assert steps == {"all_gather": 64, "all_reduce": 4}


def test_a_graph_on_two_meshes_says_how_values_lie_on_each():
    near, far = (
        Mesh((2,), ("s",), devices=names) for names in (("CPU", "CPU:1"), ("CPU:2", "CPU:3"))
    )

    def staged(x, w):
        return (x @ w).relu().shard(far, P(None, "s")).exp().sum()

    x = Tensor.ones(4, 6).shard(near, P("s")).realize()
    graph = seen(staged, x, Tensor.ones(6, 8))
    found = layouts(graph)
    assert (found["relu"], found["shard"], found["exp"]) == ("P('s')",) + ("P(None, 's')",) * 2
    assert "on several devices" in graph["note"]


def test_what_is_on_no_mesh_says_nothing_of_one():
    graph = seen(loss, Tensor.ones(8, 16), Tensor.ones(16, 8))
    assert set(layouts(graph).values()) == {""}
    assert "collectives" not in graph


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_a_page_shows_layouts_and_leads_to_the_node_that_sends(browser):
    page = browser(view(loss, *given(), show=False))
    notes = page.run("return viewer.page.view.boxes.map((box) => box.note)")
    assert "f32[8, 8] P('dp', 'tp') ⇄ 64 B" in notes
    panel = "return document.querySelector('.panel').innerText"
    assert "each member sends 68 B in a run, by 2 collectives" in page.run(panel)
    page.run("document.querySelector('.panel tr.pick').click()")
    page.wait("return viewer.page.view.chosen")
    assert "all_gather over tp, 2 members, 64 bytes sent by each" in page.run(panel)
