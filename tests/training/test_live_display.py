"""Progress in notebooks: one display that is updated, and lines where the notebook takes none."""

import sys
import types

import pytest

from adjoint.training import Loop, Progress
from adjoint.training import progress as progress_module
from adjoint.training.live_display import progress_html
from adjoint.training.progress_text import Status


class Handle:
    def __init__(self, shown):
        self.shown = shown

    def update(self, bundle, raw):
        assert raw
        self.shown.append(bundle)


@pytest.fixture
def notebook(monkeypatch):
    """An IPython whose kernel shows what it is told; the list of what was shown."""
    shown, displays = [], []

    def display(bundle, raw, display_id):
        assert raw
        assert display_id
        displays.append(bundle)
        return Handle(shown)

    shell = types.SimpleNamespace(kernel=object())
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    inner = types.ModuleType("IPython.display")
    inner.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", inner)
    monkeypatch.setattr(progress_module, "_REFRESH_LIVE", 0.0)
    return types.SimpleNamespace(displays=displays, shown=shown, shell=shell, inner=inner)


def test_a_loop_has_one_display_that_follows_it(notebook, capsys):
    loop = Loop(20, label="run")
    for step in loop:
        loop.report(loss=1.0 / (step + 1))
    assert len(notebook.displays) == 1
    assert len(notebook.shown) >= 10
    assert "20/20" in notebook.shown[-1]["text/html"]
    assert "loss 0.05000" in notebook.shown[-1]["text/plain"]
    assert capsys.readouterr() == ("", "")


def test_a_stream_that_is_named_is_written_to(notebook, capsys):
    with Progress(3, stream=sys.stdout) as progress:
        progress.update(3)
    assert notebook.displays == []
    assert "3/3" in capsys.readouterr().out


def test_a_quiet_run_shows_nothing(notebook, capsys):
    list(Loop(3, quiet=True))
    assert notebook.displays == []
    assert capsys.readouterr() == ("", "")


def test_a_notebook_that_takes_nothing_gets_lines(notebook, capsys):
    def broken(*_, **__):
        raise OSError("the front end is gone")

    notebook.inner.display = broken
    with Progress(3, "run") as progress:
        progress.update(3)
    assert "3/3" in capsys.readouterr().err


def test_a_terminal_with_ipython_is_no_notebook(notebook, capsys):
    notebook.shell.kernel = None
    with Progress(3, "run") as progress:
        progress.update(3)
    assert notebook.displays == []
    assert "3/3" in capsys.readouterr().err


def test_texts_are_escaped():
    found = progress_html(Status(1, 2, "<script>", {"<b>": "<i>"}, 3.0, 4.0, 5))
    assert "<script>" not in found
    assert "<b>" not in found
    assert "&lt;i&gt;" in found
