"""The pages that docs/viewing.md leads to."""

import pytest

from docs.build_views import pages
from docs.view_programs import PROGRAMS
from tests.support.browser import MISSING

LARGE = ("gpt", "sharded_gpt")
NAMES = [pytest.param(n, marks=pytest.mark.slow if n in LARGE else ()) for n in PROGRAMS]


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_a_program_opens_on_every_tab(browser, name):
    ((_, made),) = pages((name,))
    page = browser(made)
    page.wait("return viewer.pages[0].view.boxes.length")
    graph = made.data["graphs"][0]
    for tab in ("Passes", "Kernels", *(["Run"] if graph["run"] else [])):
        page.press(tab)
    page.run("for (const b of viewer.pages[0].view.boxes) viewer.pages[0].detail(b)")
    assert len(graph["kernels"]["steps"]) > 5
