"""The site in a browser: pages load alone, from files; search finds ops; phones and dark rooms."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.browser import MISSING, Browser

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = ("http:", "https:", "//")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make site` builds it; warnings are errors."""
    pytest.importorskip("material", reason="mkdocs-material is not installed (make .venv/.ready)")
    place = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", place]
    settings = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def chromium():
    if MISSING:
        pytest.skip(MISSING)
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def browser(chromium):
    """The browser; no page may complain, or ask for anything but files."""
    yield chromium
    assert [r for r in chromium.requests() if not r.startswith(("file:", "data:"))] == []
    assert chromium.console() == []


def opened(browser, site, page):
    browser.open((site / page).as_uri())
    return browser


def test_no_page_loads_anything_from_elsewhere(site):
    for file in (site / "index.html", site / "ops/softmax.html", site / "kernels.html"):
        text = file.read_text(encoding="utf-8")
        for mark in ("<script src=", '<link rel="stylesheet" href=', "<img src="):
            for part in text.split(mark)[1:]:
                assert not part.lstrip('"').startswith(OUTSIDE), (file.name, part[:80])
        assert "fonts.g" not in text


def test_the_index_of_search_has_a_page_for_every_op(site):
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    titles = {row["location"]: row["title"] for row in index["docs"] if "#" not in row["location"]}
    ops = [file.stem for file in (ROOT / "docs/ops").glob("*.md") if file.stem != "index"]
    assert all(titles[f"ops/{name}.html"] == name for name in ops)
    assert not any(place.startswith("source/") for place in titles)


PAGES = (
    "index", "quickstart", "ops/index", "ops/softmax", "ops/gelu", "architecture", "kernels",
    "gallery", "tutorial/4_training", "how_gradients", "how_fusion", "reading_a_roofline",
)  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_without_a_complaint(browser, site, page):
    opened(browser, site, f"{page}.html")
    assert browser.run("return document.querySelectorAll('h1').length") == 1
    assert browser.run("return document.querySelector('.highlight span.n, ul') !== null")


@pytest.mark.parametrize("word", ["softmax", "relu", "exp", "max", "where", "gather", "conv2d"])
def test_search_finds_an_op_in_one_try(browser, site, word):
    opened(browser, site, "quickstart.html")
    browser.run(
        "const box = document.querySelector('input.md-search__input'); box.focus();"
        "box.value = arguments[0]; box.dispatchEvent(new Event('keyup', {bubbles: true}))",
        word,  # at once: of some single letters the theme's search warns that they are no query
    )
    first = browser.wait(
        "const a = document.querySelector('.md-search-result__item > a'); return a && a.href"
    )
    assert f"/ops/{word}.html" in first


def test_an_op_has_its_signature_formula_gradient_picture_and_links(browser, site):
    opened(browser, site, "ops/gelu.html")
    assert browser.run("return document.querySelector('.signature').textContent.trim()").startswith(
        "gelu("
    )
    assert browser.run("return document.querySelectorAll('.formula math').length") == 5
    assert browser.wait("return document.querySelector('article img').naturalWidth") > 300
    links = browser.run("return [...document.querySelectorAll('article a')].map((a) => a.href)")
    assert any(link.endswith("torch.nn.functional.gelu.html") for link in links)
    assert any(link.endswith("jax.nn.gelu.html") for link in links)
    record = next(link for link in links if "/source/" in link)
    browser.open(record)
    line = record.partition("#")[2]
    script = "return document.getElementById(arguments[0]).parentElement.textContent"
    assert "def gelu(" in browser.run(script, line)


@pytest.mark.parametrize("page", ["gallery", "how_fusion", "tutorial/4_training"])
def test_pictures_are_there(browser, site, page):
    opened(browser, site, f"{page}.html")
    widths = "[...document.querySelectorAll('article img')].map((i) => i.naturalWidth)"
    found = browser.run(f"return {widths}")
    assert found
    assert all(width > 300 for width in found)


def test_code_is_coloured_and_can_be_copied(browser, site):
    opened(browser, site, "quickstart.html")
    colours = "[...document.querySelectorAll('pre span')].map((s) => getComputedStyle(s).color)"
    assert len(set(browser.run(f"return {colours}"))) > 3
    assert browser.wait("return document.querySelectorAll('button.md-code__button').length") > 3


def test_there_is_a_dark_side(browser, site):
    opened(browser, site, "quickstart.html")
    back = "return getComputedStyle(document.body).backgroundColor"
    light = browser.run(back)
    browser.run("document.querySelector('input[data-md-color-scheme=slate]').click()")
    assert browser.run(back) != light
    browser.run("document.querySelector('input[data-md-color-scheme=default]').click()")


@pytest.mark.parametrize("page", PAGES)
def test_a_phone_needs_no_scrolling_sideways(browser, site, page):
    browser.sized(420, 800)
    try:
        opened(browser, site, f"{page}.html")
        wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth")
    finally:
        browser.sized(1280, 800)
    assert wide <= 0
