"""Names, lines and texts of a program are text in its page, whatever they say."""

import pytest

import adjoint
from adjoint import Tensor, nn, view
from tests.support.browser import MISSING

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)

MARKUP = "</script><script>window.hurt = 1</script><img src=x onerror=window.hurt=1>"
UNHURT = "return window.hurt === undefined && document.querySelectorAll('img').length === 0"


def walked(page):
    """Every page of the viewer, with everything chosen that can be."""
    for name in ("Graph", "Passes", "Kernels", "Run"):
        page.press(name)
    page.run(
        "const [graph, passes, kernels, run] = viewer.pages;"
        "for (const box of graph.view.boxes) graph.detail(box);"
        "graph.search.value = 'a'; graph.searched();"
        "viewer.graph.passes.forEach((_, i) => passes.go(i));"
        "viewer.graph.kernels.steps.forEach((_, i) => kernels.choose(i));"
        "for (const span of run.spans) run.choose(span);"
    )


def test_names_with_markup_stay_text(browser):
    module = type(MARKUP, (nn.Module,), {"forward": lambda self, x: (x * self.w).exp()})()
    vars(module)["w"] = nn.Parameter(Tensor.ones(3))

    def fn(x):
        return module(x).sum()

    fn.__name__ = fn.__qualname__ = MARKUP
    made = view(fn, Tensor.ones(3), show=False)
    made.data["graphs"][0]["results"] = [MARKUP]
    page = browser(made)
    walked(page)
    assert page.run(UNHURT)
    assert MARKUP in page.run("return document.querySelector('h1').innerText")


def test_lines_with_markup_stay_text(browser, tmp_path):
    script = tmp_path / "evil.py"
    script.write_text(f"def fn(x):\n    return (x + 1).exp()  # {MARKUP}\n")
    space = {}
    exec(compile(script.read_text(), str(script), "exec"), space)
    page = browser(view(space["fn"], Tensor.ones(3), show=False))
    walked(page)
    assert page.run(UNHURT)
    page.press("Graph")
    page.run("const g = viewer.pages[0]; g.detail(g.view.boxes.find((b) => b.title === 'exp'))")
    assert MARKUP in page.run("return document.querySelector('.here').textContent")


def test_a_policy_stops_what_a_script_would_add(browser):
    page = browser(view(Tensor.ones(3) + 1, show=False))
    page.run(
        "const s = document.createElement('script'); s.textContent = 'window.hurt = 1';"
        "document.body.append(s)"
    )
    assert page.run(UNHURT)
    assert any("Content Security Policy" in row for row in page.console())


def test_ten_megabytes_of_text_are_shown_in_portions(browser):
    made = view(Tensor.ones(3) + 1, show=False)
    graph = made.data["graphs"][0]
    graph["passes"][-1]["text"] = [MARKUP] * 150_000  # more than 10 MB
    graph["kernels"]["texts"][0][1] = ["x" * 10_000_000]
    made.data["title"] = "t" * 10_000
    page = browser(made)
    page.press("Passes")
    page.run("viewer.page.go(viewer.graph.passes.length - 1)")
    assert page.run("return document.querySelectorAll('pre .row').length") < 2100
    page.press("Kernels")
    assert page.run("return viewer.page.element.textContent.length") < 100_000
    assert page.run(UNHURT)


def test_names_of_ten_megabytes_are_cut(browser):
    long = MARKUP * 130_000

    def fn(given):
        return layer(given[long])

    layer = type(long, (nn.Module,), {"forward": lambda self, x: x + 1})()
    fn.__name__ = fn.__qualname__ = long
    made = view(fn, {long: Tensor.ones(3)}, show=False)
    assert len(made.html()) < 1_000_000
    assert len(made.svg()) < 20_000
    page = browser(made)
    walked(page)
    assert page.run(UNHURT)
    assert "letters)" in page.run("return document.querySelector('h1').innerText")
    model = nn.Linear(2, 2)
    vars(model)[long] = nn.Parameter(Tensor.ones(3))
    page = browser(view(model, show=False))
    assert page.run(UNHURT)
    assert page.run("return document.body.innerText.length") < 20_000
    assert len(model._repr_html_()) < 3_000_000


def test_cyclic_data_is_drawn_and_ends(browser):
    made = view(Tensor.ones(3).realize() + 1, show=False)
    graph = made.data["graphs"][0]
    count = len(graph["nodes"])
    for i, row in enumerate(graph["nodes"]):
        row[3], row[5] = [(i + 1) % count, i], ""
    graph["bodies"] = [[{"inputs": [], "order": [0, 1], "roots": [0]}]]
    graph["nodes"][0][6] = 0  # what is inside it is itself
    page = browser(made)
    page.wait("return viewer.pages[0].view.boxes.length")
    for _ in range(3):
        page.run(
            "const g = viewer.pages[0]; for (const b of g.view.boxes) if (b.opens) g.opened(b)"
        )
    assert page.run("return viewer.pages[0].view.boxes.length") < 30


def test_a_module_that_holds_itself_can_be_looked_at():
    class Cyclic(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(Tensor.ones(3))
            self.itself = self

        def forward(self, x):
            return (x * self.weight).sum()

    cyclic = Cyclic()
    graph = view(lambda x: cyclic(x), Tensor.ones(3), show=False).data["graphs"][0]
    assert graph["modules"]
    assert adjoint.nn.Module.__call__.__name__ == "__call__"
