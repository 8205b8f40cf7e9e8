"""Pages of runs in a browser: they load alone, follow and compare runs, and run no text."""

import base64
import hashlib
import re

import numpy as np
import pytest

from adjoint.training import Run, save_page
from adjoint.training.runs.page import page_html
from adjoint.training.runs.watch import begin_run
from tests.support.browser import MISSING, Browser

HOSTILE = "</script><script>window.hurt=1</script><img src=x onerror='window.hurt=1'>&\u2028"


@pytest.fixture(scope="module")
def chromium():
    if MISSING:
        pytest.skip(MISSING)
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def browser(chromium):
    """The browser; no page may complain or ask for anything but files."""
    chromium.run("window.hurt = 0")
    yield chromium
    assert [r for r in chromium.requests() if not r.startswith(("file:", "data:"))] == []
    assert chromium.console() == []


def run_of(name="small", points=40, **more):
    values = [(i, i / 10, 2.0 * 0.9**i) for i in range(points)]
    rates = [(i, i / 10, 0.003) for i in range(points)]
    curves = {"loss": values, "learning rate": rates, **more}
    return Run(name, f"runs/{name}", 1e9, points, ["adjoint"], "finished", "", 4.0, curves)


def charts(browser):
    script = "return [...document.querySelectorAll('[data-chart]')].map((c) => c.dataset.chart)"
    return browser.run(script)


def found(browser, selector, what):
    """Something of all such elements of the chart of losses."""
    inside = f"[...document.querySelectorAll('[data-chart=losses] {selector}')]"
    return browser.run(f"return {inside}.map((t) => {what})")


# ---- what the file is


def test_the_policy_names_the_script_and_the_style_and_nothing_else():
    text = page_html("x", [])
    policy = re.search(r'Security-Policy" content="([^"]*)"', text)[1]
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        (inside,) = re.findall(rf"(?s)<{tag}>(.*?)</{tag}>", text)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_the_script_makes_no_markup_of_text():
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert way not in page_html("x", [])


def test_texts_cannot_leave_the_data():
    text = page_html(HOSTILE, [{"name": HOSTILE}])
    assert text.count("<script") == 2
    assert "<img" not in text


# ---- in a browser


def test_a_page_shows_its_charts_and_log_is_a_click(browser, tmp_path):
    browser.open(save_page(tmp_path / "page.html", [run_of()]).as_uri())
    assert charts(browser) == ["losses", "learning rate"]
    assert {"0.05", "0.1", "0.2", "0.5", "1"} <= set(found(browser, "text", "t.textContent"))
    browser.run("document.querySelector('[data-chart=losses] input').click()")
    assert "1.5" in found(browser, "text", "t.textContent")
    assert found(browser, "polyline", "t.getAttribute('class')") == ["raw", "mean"]


def test_runs_are_compared_and_one_can_be_left_out(browser, tmp_path):
    browser.open(
        save_page(tmp_path / "page.html", [run_of("a"), run_of("b"), run_of("a")]).as_uri()
    )
    count = "return document.querySelectorAll('[data-chart=losses] .mean').length"
    assert browser.run(count) == 3
    browser.run("document.querySelector('td input').click()")
    assert browser.run(count) == 2


def test_a_page_follows_its_run(browser, tmp_path):
    watch = begin_run(tmp_path, "live", steps=3)
    browser.open(watch.page.as_uri())
    assert browser.wait("return document.body.textContent.includes('Nothing is recorded yet')")
    watch.values(0, {"loss": 1.0})
    watch.publish()
    assert browser.wait("return document.querySelector('[data-chart=losses]') !== null")
    watch.values(2, {"loss": 0.5})
    watch.end("finished")
    assert browser.wait("return document.querySelector('.state.finished') !== null")
    assert "step 3 of 3" in browser.run("return document.body.textContent")


def test_nothing_that_a_run_says_runs(browser, tmp_path):
    watch = begin_run(tmp_path, HOSTILE, steps=3, command=[HOSTILE])
    watch.values(0, {HOSTILE: 1.0, "loss": 1.0, "__proto__": 2.0, "constructor": 3.0})
    watch.sample(0, HOSTILE, HOSTILE)
    watch.end("failed", HOSTILE)
    browser.open(watch.page.as_uri())
    assert browser.wait("return document.querySelector('.state.failed') !== null")
    shown = browser.run("return document.body.textContent")
    assert shown.count("window.hurt=1") >= 4
    assert set(charts(browser)) == {"losses", HOSTILE, "__proto__", "constructor"}
    assert browser.run("return window.hurt") in (0, None)
    assert browser.run("return document.querySelectorAll('img').length") == 0


def test_strange_values_are_charts_too(browser, tmp_path):
    strange = {
        "nothing": [],
        "one": [(0, 0.0, 5.0)],
        "flat": [(i, None, 0.0) for i in range(20)],
        "bad": [(0, 0.0, float("nan")), (1, 0.1, float("inf"))],
        "wide": [(0, 0.0, 1e-300), (1, 0.1, 1e300)],
    }
    browser.open(save_page(tmp_path / "page.html", [run_of(**strange)]).as_uri())
    assert set(charts(browser)) == {"losses", "learning rate", "one", "flat", "wide"}
    assert "NaN" not in browser.run("return document.querySelector('.grid').outerHTML")


def test_a_long_text_and_an_image_are_shown(browser, tmp_path):
    watch = begin_run(tmp_path, "samples")
    watch.sample(0, "text", "x" * 10_000_000)
    watch.sample(1, "image", np.eye(16, dtype=np.float32))
    watch.end("finished")
    assert (watch.folder / "data.js").stat().st_size < 100_000
    browser.open(watch.page.as_uri())
    assert browser.wait("return document.querySelector('img')?.naturalWidth") == 16


def test_many_points_are_thinned_and_keep_their_last(tmp_path):
    run = run_of(points=100_001)
    text = save_page(tmp_path / "page.html", [run]).read_text(encoding="utf-8")
    assert len(text) < 250_000
    assert "100000" in text


def test_a_phone_needs_no_scrolling_sideways(browser, tmp_path):
    browser.open(save_page(tmp_path / "page.html", [run_of("x" * 200)]).as_uri())
    browser.sized(420, 800)
    wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth")
    browser.sized(1280, 800)
    assert wide <= 0
