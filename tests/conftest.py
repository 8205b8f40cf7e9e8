"""What all tests share: where compiled code is kept, signals as a terminal has them, kept texts.

Compiled code is kept in the working tree, not among the user's. A shell without job control starts
what runs in its background with SIGINT ignored, and so would every process that a test starts and
interrupts: a process with a handler hands the default on. Texts that were looked at are kept in
files; `--update-golden` writes them anew.
"""

import difflib
import gc
import os
import random
import signal
from pathlib import Path

import pytest

os.environ.setdefault("ADJOINT_CACHE_DIR", str(Path(__file__).parent.parent / ".adjoint_cache"))
os.environ.setdefault("ADJOINT_CACHE_LIMIT", str(1 << 30))
# Tests are about what is compiled; those of graphs that are computed at once say so.
os.environ.setdefault("ADJOINT_AT_ONCE", "0")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    doc = "write the kept texts anew, instead of comparing with them"
    parser.addoption("--update-golden", action="store_true", help=doc)
    doc = "run the tests in another order: `reversed`, or shuffled by a number"
    parser.addoption("--order", default="", help=doc)


def pytest_collection_modifyitems(config, items):
    """No test may need that another ran before it, or did not."""
    order = config.getoption("--order")
    if order == "reversed":
        items.reverse()
    elif order:
        random.Random(int(order)).shuffle(items)


def pytest_collection_finish():
    """Forty thousand tests are no garbage: without them `gc.collect()` takes milliseconds again,
    and not seconds, in every test that calls it."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """Nor is what is left when the tests of a file are done: reports, and programs in tables that
    have a limit. Ten thousand programs later `gc.collect()` would take two seconds again."""
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.fixture
def stored():
    """Programs may come from the disk, and stay there, also where something is patched."""


@pytest.fixture(autouse=True)
def _compiled_anew(request):
    """A test that patches something may patch the compiler: what it compiles is for it alone."""
    if "monkeypatch" not in request.fixturenames or "stored" in request.fixturenames:
        yield
        return
    from tests.anew import compiled_anew  # not before the environment is set

    with compiled_anew():
        yield


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """An empty folder for compiled programs, for one test; no code is kept in memory either."""
    from adjoint.runtime import cache, compiler  # not before the environment is set

    def forget():
        cache._checked.cache_clear()
        cache._sizes.forget()

    monkeypatch.setenv("ADJOINT_CACHE", "1")
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path / "cache"))
    forget()
    compiler.forget()
    yield tmp_path / "cache"
    forget()


@pytest.fixture
def golden(request):
    """A function of a file and a text: the file has this text, or gets it with --update-golden."""
    update = request.config.getoption("--update-golden")

    def check(path, text):
        kept = path.read_text(encoding="utf-8") if path.exists() else ""
        if update and text != kept:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif text != kept:
            pytest.fail(_difference(path, kept, text), pytrace=False)

    return check


def _difference(path, kept, text):
    """How the text differs from the one that is kept, and what to do."""
    name = path.relative_to(Path(__file__).parent.parent)
    lines = (kept.splitlines(), text.splitlines())
    diff = "\n".join(difflib.unified_diff(*lines, f"{name}, as kept", f"{name}, now", lineterm=""))
    return f"{diff}\n\nwhere the change is meant: make golden, then look at git diff"


@pytest.fixture
def cpu(monkeypatch):
    """Tensors go to the CPU."""
    monkeypatch.setattr("adjoint.Device.DEFAULT", "CPU")
