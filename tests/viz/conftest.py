"""A browser for all tests of a process, and pages in files."""

import pytest

from tests.support.browser import MISSING, Browser


@pytest.fixture(scope="session")
def _chromium():
    if MISSING:
        pytest.skip(MISSING)
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def browser(_chromium, tmp_path):
    """The browser, which opens views; no page may complain or ask for anything from elsewhere."""

    def opened(view):
        path = view.save(tmp_path / "page.html")
        _chromium.open(path.as_uri())
        return _chromium

    yield opened
    outside = [r for r in _chromium.requests() if not r.startswith(("file:", "blob:", "data:"))]
    assert outside == []
    assert _chromium.console() == []
