"""Progress on terminals of any width, on none, and on streams that break."""

import errno
import io
import re
import sys
import time

import pytest

from adjoint.training import Progress
from adjoint.training.progress_text import columns
from tests.training.terminal import drawn, on_terminal

BARS = """
import sys
from adjoint.training import progress
progress._REFRESH = 0
with progress.Progress(50, "näme of it") as bar:
    for step in range(50):
        bar.update(step + 1, {"loss": 1.5 / (step + 1), "accuracy": step / 50})
        if step == 20:
            bar.print("a word in between")
print("done")
"""


@pytest.mark.parametrize("width", [20, 3, 80])
def test_a_bar_fits_its_terminal(width):
    text = on_terminal([sys.executable, "-c", BARS], width)
    lines = drawn(text)
    assert max(columns(line) for line in lines if "word" not in line and line != "done") < width
    assert "a word in between" in lines
    assert lines[-2:] == ["done", ""]
    if width >= 20:
        assert any("100%" in line and "loss 0.03000" in line for line in lines)


def test_colours_are_left_out_when_nobody_wants_them():
    assert "\x1b[36m" in on_terminal([sys.executable, "-c", BARS], 80)
    assert "\x1b[36m" not in on_terminal([sys.executable, "-c", BARS], 80, NO_COLOR="1")


def test_a_dumb_terminal_gets_plain_lines():
    text = on_terminal([sys.executable, "-c", BARS], 80, TERM="dumb")
    assert "\x1b" not in text
    assert "100%  50/50  loss 0.03000" in text


def test_a_terminal_without_unicode_gets_signs_that_it_has():
    text = on_terminal([sys.executable, "-c", BARS], 80, PYTHONIOENCODING="ascii")
    assert "##" in text
    assert "━" not in text


def test_a_file_gets_a_line_at_the_end_and_few_before():
    stream = io.StringIO()
    with Progress(1000, "run", stream=stream) as bar:
        for step in range(1000):
            bar.update(step + 1, {"loss": 2.0})
    lines = stream.getvalue().splitlines()
    assert 1 <= len(lines) <= 3
    assert lines[-1].startswith("run  100%  1000/1000  loss 2")
    assert stream.getvalue().isascii()
    assert "\x1b" not in stream.getvalue()


def test_lines_come_with_the_share_that_is_done(monkeypatch):
    monkeypatch.setattr("adjoint.training.progress._PLAIN_LEAST", 0.0)
    stream = io.StringIO()
    with Progress(1000, stream=stream) as bar:
        for step in range(1000):
            bar.update(step + 1)
    assert 10 <= len(stream.getvalue().splitlines()) <= 12


def test_a_bar_is_not_drawn_more_often_than_its_rate(monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setenv("TERM", "xterm")
    with Progress(100_000, stream=stream) as bar:
        began = time.perf_counter()
        for step in range(20_000):
            bar.update(step + 1)
        taken = time.perf_counter() - began
    assert stream.getvalue().count("\r") <= taken / 0.1 + 2


def test_nothing_is_shown_when_it_is_quiet(capsys):
    with Progress(10, quiet=True) as bar:
        bar.update(10, {"loss": 1.0})
        bar.print("not this")
    assert capsys.readouterr() == ("", "")


class Broken(io.StringIO):
    def write(self, text):
        raise BrokenPipeError(errno.EPIPE, "nobody reads")


def test_a_stream_that_nobody_reads_does_not_stop_the_work():
    with Progress(10, stream=Broken()) as bar:
        bar.show()
        bar.update(10)


def test_no_stream_at_all_is_fine(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with Progress(10) as bar:
        bar.update(10)
        bar.show()


def test_the_environment_can_make_it_narrower(monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "12")
    with Progress(10, "a long label of a run", stream=stream) as bar:
        bar.update(3, {"loss": 0.123456})
        bar.show()
    assert max(map(columns, drawn(stream.getvalue()))) < 12


def test_the_rate_and_the_time_left_are_of_the_steps_in_this_run():
    stream = io.StringIO()
    bar = Progress(100, stream=stream, start=90)
    time.sleep(0.01)
    bar.step = 91
    bar.show()
    rate, left = re.search(r"([\d.]+) it/s  eta (\d+):(\d+)", stream.getvalue()).group(1, 3)
    assert float(rate) <= 100
    assert int(left) <= 60
