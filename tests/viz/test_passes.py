"""What the pages Passes and Kernels are given: states of a graph, reasons, code, costs, memory."""

import pytest

import adjoint
from adjoint import Tensor, lower, view
from adjoint.engine.pipeline import PASSES
from adjoint.ir.rewrite import firings_noted
from tests.viz.programs import Network, softmax_loss

X, W = Tensor.ones(4, 8), Tensor.ones(8, 3)


@pytest.fixture(scope="module")
def graph():
    made = view(adjoint.value_and_grad(softmax_loss, argnums=(0, 1)), X, W, show=False)
    return made.data["graphs"][0]


def state(graph, name):
    return next(p for p in graph["passes"] if p["name"] == name)


def test_the_passes_are_those_of_the_pipeline_up_to_the_sources(graph):
    names = [row.name for row in PASSES]
    assert [p["name"] for p in graph["passes"]] == ["graph", *names[: names.index("render") + 1]]
    assert all(p["doc"] for p in graph["passes"])


def test_states_say_what_is_there_before_and_after(graph):
    ops = {}
    for name in ("graph", "expand"):
        ((_, shown),) = state(graph, name)["graphs"]
        ops[name] = {graph["nodes"][n][0] for n in shown["order"]}
    assert "softmax" in ops["graph"]
    assert "softmax" not in ops["expand"]
    assert "exp" in ops["expand"]


def test_rules_that_fired_have_names_counts_and_equations():
    made = view(lambda x: -(-x) * 1.0 + 0.5, X, show=False).data["graphs"][0]
    fired = {name: (times, says) for name, times, says, _ in state(made, "simplify")["rules"]}
    assert fired["times_one"] == (1, "x * 1 = x when is_float(x)")
    assert sum(times for times, _ in fired.values()) >= 2


def test_a_rule_says_where_it_fired_what_was_there_and_what_is_now():
    def twice_negated(x):
        y = x.exp() * 1.0
        return -(-y)

    made = view(twice_negated, X, show=False).data["graphs"][0]
    where = {name: places for name, _, _, places in state(made, "simplify")["rules"]}
    ((place, number, was, now),) = where["times_one"]
    file, line, method, *_ = made["places"][place]
    assert (made["files"][file]["lines"][line].strip(), method) == ("y = x.exp() * 1.0", "mul")
    assert made["nodes"][number][0] == "mul"
    ((_, traced),) = state(made, "graph")["graphs"]
    exp = next(n for n in traced["order"] if made["nodes"][n][0] == "exp")
    assert was == f"%{number} = mul(%{exp}, 1.0)"
    assert now.startswith(f"%{exp} = exp(")


def test_many_firings_of_a_rule_are_counted_and_some_are_shown():
    def scaled(x):
        for i in range(60):
            x = (x + float(i + 2)) * 1.0
        return x

    made = view(scaled, X, show=False).data["graphs"][0]
    ((_, times, _, where),) = [r for r in state(made, "simplify")["rules"] if r[0] == "times_one"]
    assert times == 60
    assert len(where) == 40


def test_firings_are_noted_only_where_they_are_asked_for():
    with firings_noted() as outer:
        with firings_noted() as inner:
            lower(lambda x: x * 1.0 + 2.0)(X)
        assert [f.rule.name for f in inner].count("times_one") == 1
    assert outer == []


def test_a_program_can_be_looked_at_for_a_gpu_that_is_not_there():
    made = view(softmax_loss, X, W, show=False, device="GPU").data["graphs"][0]
    kernels = made["kernels"]
    assert (kernels["target"], kernels["measured"], made["run"]) == ("GPU", "not measured", None)
    languages = {kernels["texts"][n][0] for step in kernels["steps"] for n in step["texts"]}
    assert {"loops", "ptx"} <= languages
    ptx = [lines for name, lines in kernels["texts"] if name == "ptx"]
    assert all(any(".visible .entry" in line for line in lines) for lines in ptx)


def test_a_device_that_nothing_is_compiled_for_is_refused():
    with pytest.raises(adjoint.DeviceError, match="E6002"):
        view(softmax_loss, X, W, show=False, device="REF")


def test_every_node_that_is_computed_says_what_became_of_it_and_why(graph):
    fused = state(graph, "fuse")
    reasons = {n: (what, why) for n, what, why in fused["reasons"]}
    ((_, work),) = fused["work"]
    made = {n for piece in work for n in piece["makes"]}
    inside = {n for piece in work for n in piece["inside"]}
    for n in made | inside:
        if graph["nodes"][n][5] not in ("const", "input"):
            assert all(reasons[n]), graph["nodes"][n]
    whats = {graph["nodes"][n][0]: reasons[n][0] for n in inside if n in reasons}
    assert whats["exp"] == "inside its consumers' kernels"


def test_the_strategy_says_which_row_was_taken_and_which_were_not():
    a = Tensor.ones(256, 256)
    made = view(lambda x, y: x @ y, a, a, show=False).data["graphs"][0]
    ((_, (piece,)),) = state(made, "strategy")["work"]
    name, why, others = piece["strategy"]
    assert name
    assert why
    assert "loops" in others


def test_kernels_have_loops_source_and_assembly_beside_their_lines(graph):
    kernels = graph["kernels"]
    step = next(s for s in kernels["steps"] if s["kind"] == "kernel")
    texts = {kernels["texts"][n][0]: "\n".join(kernels["texts"][n][1]) for n in step["texts"]}
    assert list(texts) == ["loops", "llvm", "assembly"]
    assert texts["loops"].startswith("# kernel")
    assert "define" in texts["llvm"]
    assert "ret" in texts["assembly"]
    places = [graph["places"][n] for n in step["places"]]
    assert {graph["files"][p[0]]["name"].rsplit("/", 1)[-1] for p in places} == {"programs.py"}


def test_kernels_are_those_of_lower_with_times_and_the_roofline(graph):
    lowered = lower(adjoint.value_and_grad(softmax_loss, argnums=(0, 1)))(X, W)
    costs = lowered.costs()
    steps = graph["kernels"]["steps"]
    assert [(s["flops"], s["bytes"]) for s in steps] == [(c.flops, c.bytes) for c in costs]
    assert all(s["seconds"] > 0 and s["least"] > 0 for s in steps)
    assert graph["kernels"]["roof"]["float32"] > 0


def test_memory_is_that_of_the_plan(graph):
    lowered = lower(adjoint.value_and_grad(softmax_loss, argnums=(0, 1)))(X, W)
    memory = graph["memory"]
    assert memory["arena"] == lowered.plan.arena
    assert len(memory["alive"]) == len(memory["steps"]) == len(lowered.plan.steps)
    assert 0 < max(memory["alive"]) <= memory["arena"]
    for offset, nbytes, first, last, _, place in memory["held"]:
        assert 0 <= first <= last < len(memory["steps"])
        assert offset + nbytes <= memory["arena"]
        assert place >= 0


def test_a_loop_has_its_steps_behind_it():
    def turns(x):
        return adjoint.scan(lambda c, y: (c + y.sin(), c), x[0], x)[1]

    graph = view(adjoint.value_and_grad(lambda x: turns(x).sum()), Tensor.ones(5, 3), show=False)
    (graph,) = graph.data["graphs"]
    steps = graph["kernels"]["steps"]
    assert {s["depth"] for s in steps} == {0, 1}
    loops = [s for s in steps if s["kind"] == "control"]
    lines = {graph["places"][n][1] for s in loops for n in s["places"]}
    assert lines == {turns.__code__.co_firstlineno + 1}  # the user's, not the one that compiles


def test_a_loop_that_may_not_end_is_not_run_on_zeros():
    jitted = adjoint.jit(lambda x: adjoint.while_loop(lambda c: c < 3.0, lambda c: c + x, x * 0))
    jitted(Tensor(1.0))
    graph = view(jitted, show=False).data["graphs"][0]
    assert graph["kernels"]["roof"] is None
    assert "not measured" in graph["kernels"]["measured"]


def test_what_runs_node_by_node_has_a_graph_and_says_so():
    graph = view(Tensor.ones(3, device="REF") + 1, show=False).data["graphs"][0]
    assert "passes" not in graph
    assert "no program" in graph["note"]


def test_looking_at_a_step_of_training_changes_no_weight():
    network, x = Network(), Tensor.ones(2, 4)
    optimizer = adjoint.nn.optim.SGD(network.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        network(x).sum().backward()
        optimizer.step()

    before = network.first.weight.numpy().copy()
    view(step, x, show=False).html()
    assert (network.first.weight.numpy() == before).all()


def test_a_run_has_the_steps_of_every_call(graph):
    run = graph["run"]
    names = [name for _, name, kind, *_ in run["spans"] if kind == "kernel"]
    assert len(names) == 3 * len(graph["kernels"]["steps"])
    assert all(start <= end for *_, start, end, _ in run["spans"])
    assert run["lanes"]


def test_random_numbers_are_those_that_would_have_been_drawn():
    adjoint.manual_seed(3)
    plain = Tensor.rand(4).numpy()
    adjoint.manual_seed(3)
    view(lambda x: x + Tensor.rand(4), Tensor.ones(4), show=False).html()
    assert (Tensor.rand(4).numpy() == plain).all()
