"""The pages Passes, Kernels and Run in a browser."""

import json

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, view
from tests.support.browser import MISSING
from tests.viz.programs import softmax_loss

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)

TEXT = "return document.querySelector('.page:not([hidden])').innerText"


@pytest.fixture(scope="module")
def seen():
    fn = adjoint.value_and_grad(softmax_loss, argnums=(0, 1))
    return view(fn, Tensor.ones(4, 8), Tensor.ones(8, 3), show=False)


def test_one_can_step_through_the_passes(browser, seen):
    page = browser(seen)
    page.press("Passes")
    names = [p["name"] for p in seen.data["graphs"][0]["passes"]]
    titles = [page.run("return document.querySelector('.text h2').innerText")]
    while page.run("return !viewer.page.next.disabled"):
        page.press("next ▶")
        titles.append(page.run("return viewer.page.body.querySelector('h2').innerText"))
    assert titles == names
    page.press("◀ back")
    assert page.run("return viewer.page.body.querySelector('h2').innerText") == names[-2]


def test_what_a_pass_changed_is_marked(browser, seen):
    page = browser(seen)
    page.press("Passes")
    page.run("viewer.page.go(1)")
    rows = "return [...document.querySelectorAll('.{}')].map((r) => r.innerText)"
    gone, new = page.run(rows.format("removed")), page.run(rows.format("added"))
    assert any("softmax(" in row for row in gone)
    assert any("exp(" in row for row in new)
    assert not any("softmax(" in row for row in new)


def test_rules_and_reasons_are_shown(browser, seen):
    page = browser(seen)
    page.press("Passes")
    page.run("viewer.page.go(2)")
    rules = page.run("return [...document.querySelectorAll('.rule')].map((r) => r.innerText)")
    assert any("times_one" in text and "x * 1 = x when is_float(x)" in text for text in rules)
    page.run("viewer.page.go(5)")
    text = page.run(TEXT)
    assert "an element is computed where it is needed" in text
    assert "inside its consumers' kernels" in text


def test_a_rule_leads_to_the_node_where_it_fired(browser, seen):
    page = browser(seen)
    page.press("Passes")
    page.run(
        "viewer.page.go(2);"
        "const rules = [...document.querySelectorAll('.rule')];"
        "rules.find((r) => r.innerText.includes('times_one')).open = true"
    )
    page.wait("return document.querySelector('.rule table')")
    assert "mul(" in page.run("return document.querySelector('.rule table').innerText")
    page.press("in the graph")
    chosen = page.wait("return viewer.page.name === 'Graph' && viewer.page.view.chosen")
    place = page.run("return viewer.graph.nodes[Number(arguments[0])][4]", chosen)
    rules = seen.data["graphs"][0]["passes"][2]["rules"]
    assert place == next(where[0][0] for name, _, _, where in rules if name == "times_one")


def test_a_line_of_a_pass_leads_to_its_node(browser, seen):
    page = browser(seen)
    page.press("Passes")
    page.run(
        "const rows = [...document.querySelectorAll('.leads')];"
        "rows.find((r) => r.innerText.includes('softmax(')).click()"
    )
    chosen = page.wait("return viewer.page.name === 'Graph' && viewer.page.view.chosen")
    assert page.run("return viewer.graph.nodes[Number(arguments[0])][0]", chosen) == "softmax"


def test_ptx_stands_beside_the_lines(browser):
    page = browser(
        view(softmax_loss, Tensor.ones(4, 8), Tensor.ones(8, 3), show=False, device="GPU")
    )
    page.press("Kernels")
    page.press("ptx")
    text = page.run(TEXT)
    assert ".visible .entry" in text
    assert "(x @ w).softmax(-1)" in text


def test_a_kernel_has_its_lines_beside_its_code(browser, seen):
    page = browser(seen)
    page.press("Kernels")
    steps = seen.data["graphs"][0]["kernels"]["steps"]
    number = next(i for i, s in enumerate(steps) if s["kind"] == "kernel" and len(s["places"]) > 3)
    page.run("viewer.page.choose(arguments[0])", number)
    lines = page.run(
        "return [...document.querySelectorAll('.columns .here')].map((r) => r.innerText)"
    )
    assert any("softmax(-1)" in line for line in lines)
    assert "for i0 in" in page.run(TEXT)
    page.press("assembly")
    assert ".text" in page.run(TEXT)
    page.press("llvm")
    assert "define" in page.run(TEXT)
    assert page.run("return document.querySelectorAll('svg.roofline .dot').length") == len(steps)
    assert page.run("return document.querySelectorAll('svg.memory .held.peak').length") >= 1


def test_the_timeline_zooms_and_is_a_chrome_trace(browser, seen):
    page = browser(seen)
    page.press("Run")
    page.wait("return viewer.page.scale > 0")
    before = page.run("return viewer.page.scale")
    page.press("+")
    assert page.run("return viewer.page.scale") > before
    trace = json.loads(page.run("return JSON.stringify(viewer.page.trace())"))
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert len(spans) == len(seen.data["graphs"][0]["run"]["spans"])
    assert all(e["dur"] >= 0 for e in spans)
    page.run("viewer.page.goTo(viewer.page.spans.find((s) => s.kind === 'kernel'))")
    assert "programs.py" in page.run("return viewer.page.panel.innerText")


def test_several_graphs_can_be_chosen(browser, seen):
    other = view((Tensor.ones(3) + 1).exp(), show=False)
    both = type(seen)([*seen.subjects, *other.subjects], "both", measure=False)
    page = browser(both)
    page.run(
        "const s = document.querySelector('header select'); s.value = 1;"
        "s.dispatchEvent(new Event('change'))"
    )
    page.wait("return viewer.pages[0].view.boxes.some((b) => b.title === 'exp')")
    assert page.run("return viewer.pages[0].view.boxes.length") < 5


def test_the_table_of_a_model_folds_and_is_searched(browser):
    model = adjoint.nn.Sequential(adjoint.nn.Linear(4, 8), adjoint.nn.Linear(8, 2))
    page = browser(view(model, show=False))
    rows = "return [...document.querySelectorAll('.tensors tr')].map((r) => r.innerText)"
    assert len(page.run(rows)) == 3  # the head and two layers, folded
    page.press("open all")
    assert any("[8, 4]" in row for row in page.run(rows))
    page.type("input[type=search]", "bias")
    found = page.run(rows)
    assert len(found) == 3
    assert all("bias" in row for row in found[1:])


def test_a_profile_has_its_lanes_on_the_page_and_in_the_trace(browser):
    with adjoint.profile() as run:
        x = Tensor(np.ones((8, 8), np.float32))
        (x + 1).realize().tolist()
    page = browser(view(run, show=False))
    lanes = page.wait("return window.viewer && viewer.page.run.lanes")
    assert lanes == list(run.lanes.names.values())
    assert lanes[-1] == "copies"
    drawn = page.run("return viewer.page.spans.map((s) => [s.name, viewer.page.run.lanes[s.lane]])")
    assert ["NumPy → host", "copies"] in drawn
    events = page.run("return viewer.page.trace().traceEvents")
    own = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    saved = {e["name"]: own[e["tid"]] for e in events if e["ph"] == "X"}
    assert saved["NumPy → host"] == saved["host → Python"] == "copies"


def test_each_trace_of_a_jitted_function_can_be_chosen(browser):
    @adjoint.jit
    def double(x):
        return x * 2

    for size in (2, 3, 4):
        double(Tensor.ones(size))
    page = browser(view(double, show=False))
    names = page.run("return viewer.data.graphs.map((g) => g.name)")
    assert names == [f"double(x: f32[{size}])" for size in (4, 3, 2)]
    page.run("viewer.choose(2)")
    assert "f32[2]" in page.run(TEXT)


def test_a_single_constant_is_drawn(browser):
    page = browser(view(Tensor(3.0), show=False))
    assert page.wait("return viewer.page.view.boxes.length") == 1
    assert "<rect" in view(Tensor(3.0), show=False).svg()
