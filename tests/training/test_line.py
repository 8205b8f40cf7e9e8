"""One line about progress: what it says, and that it fits."""

import re

import pytest

from adjoint.training.progress_text import Status, columns, duration, fitted, number, plain, size

FULL = Status(45, 100, "digits", {"loss": 0.12345, "acc": 0.987}, 12.5, 4.4, 85_000_000)


def test_a_plain_line_says_everything():
    line = plain(FULL)
    for part in ("digits", "45%", "45/100", "loss 0.1235", "acc 0.9870", "12.50 it/s", "eta 0:04"):
        assert part in line
    assert line.endswith("85 MB")


@pytest.mark.parametrize("width", range(0, 200, 3))
def test_a_line_never_passes_its_width(width):
    assert columns(fitted(FULL, width)) <= width


def test_twenty_columns_keep_the_percentage_and_the_loss():
    line = fitted(FULL, 19)
    assert "45%" in line
    assert "loss 0.1235" in line


def test_a_wide_line_has_a_bar_of_the_right_length():
    bar = re.search("━+─+", fitted(FULL, 140))
    assert bar is not None
    assert bar[0].count("━") == round(0.45 * len(bar[0]))


def test_a_line_without_an_end_counts():
    assert plain(Status(7)) == "7"
    assert fitted(Status(7), 40) == "7"


@pytest.mark.parametrize(
    "label", ["两只老虎两只老虎", "e\u0301" * 30, "x" * 500, "a\nb\x1b[31mc\rd"]
)
def test_a_strange_label_neither_wraps_nor_moves_the_cursor(label):
    for width in (10, 20, 40, 100):
        line = fitted(Status(1, 2, label), width)
        assert columns(line) <= width
        assert line.isprintable() or "\u0301" in line


def test_colours_take_no_room():
    coloured = fitted(FULL, 100, colour=("\x1b[36m", "\x1b[0m"))
    assert re.sub(r"\x1b\[\d+m", "", coloured) == fitted(FULL, 100)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1e-9, "1.00e-09"), (0.5, "0.5000"), (123456.7, "123457"), (float("nan"), "nan"),
     (2.0, "2"), (-3.25, "-3.250"), (1e12, "1.00e+12"), (float("-inf"), "-inf"), ("a\nb", "a b")],
)  # fmt: skip
def test_numbers_are_short(value, text):
    assert number(value) == text


def test_times_and_sizes_are_for_people():
    assert [duration(s) for s in (0, 59.6, 3600, 90061, float("inf"), -1)] == [
        "0:00", "1:00", "1:00:00", "25:01:01", "?", "0:00"]  # fmt: skip
    assert [size(n) for n in (0, 999, 12_345, 85e6, 1.21e9, 5e12)] == [
        "0 B", "999 B", "12.3 kB", "85 MB", "1.21 GB", "5 TB"]  # fmt: skip
