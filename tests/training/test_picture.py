"""Pictures of curves: well-formed, with every finite point."""

import math
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

from adjoint import FileError
from adjoint.training import save_curves
from adjoint.training.plot_scales import Scale, scale_of, spaced, tick_text
from adjoint.training.plot_svg import smoothed, svg

NAMESPACE = "{http://www.w3.org/2000/svg}"


def points(text):
    root = ElementTree.fromstring(text)
    lines = root.findall(f"{NAMESPACE}polyline")
    return [[tuple(map(float, p.split(","))) for p in line.get("points").split()] for line in lines]


def words(text):
    return [node.text for node in ElementTree.fromstring(text).iter(f"{NAMESPACE}text")]


def test_a_falling_loss_falls_in_the_picture():
    (line,) = points(svg({"loss": [(i, 10 - i) for i in range(10)]}))
    assert [x for x, _ in line] == sorted(x for x, _ in line)
    assert [y for _, y in line] == sorted(y for _, y in line)  # down the page
    assert all(0 <= x <= 640 and 0 <= y <= 360 for x, y in line)


def test_every_curve_has_its_name_and_markup_is_escaped():
    found = words(svg({"loss": [(0, 1), (1, 2)], "a<b": [(0, 1), (1, 2)]}, title="x & <y>"))
    assert {"loss", "a<b", "x & <y>", "step"} <= set(found)


def test_a_curve_over_many_decades_is_logarithmic():
    (line,) = points(svg({"loss": [(i, 10.0**-i) for i in range(6)]}))
    steps = [b[1] - a[1] for a, b in pairwise(line)]
    assert max(steps) - min(steps) < 0.3


@pytest.mark.parametrize(
    "curves",
    [{}, {"loss": []}, {"loss": [(0, 1.0)]}, {"loss": [(5, 0.0), (5, 0.0)]},
     {"loss": [(0, math.nan), (1, math.inf)]}, {"loss": [(0, -1e30), (1, 1e30)]},
     {"loss": [(0, 1e-300), (1, 1.0)]}],
)  # fmt: skip
def test_strange_curves_are_pictures_too(curves):
    assert all(math.isfinite(v) for line in points(svg(curves)) for point in line for v in point)


def test_a_place_that_cannot_be_written_is_a_coded_error(tmp_path):
    assert save_curves(tmp_path / "a.svg", {"loss": [(0, 1.0)]}).read_text().startswith("<svg")
    with pytest.raises(FileError, match="E9006"):
        save_curves(tmp_path / "gone" / "a.svg", {})


# ---- ticks, means, labels


@pytest.mark.parametrize(
    ("low", "high", "log", "texts"),
    [
        (0.012, 2.4, True, "0.02 0.05 0.1 0.2 0.5 1 2"),
        (1e-9, 1.0, True, "1e-08 1e-06 0.0001 0.01 1"),
        (0.0, 299.0, False, "0 100 200"),
        (0.0, 1.0, False, "0 0.2 0.4 0.6 0.8 1"),
        (-3.0, 3.0, False, "-2 0 2"),
        (0.0, 250000.0, False, "0 50k 100k 150k 200k 250k"),
    ],
)
def test_ticks_are_one_two_and_five(low, high, log, texts):
    assert " ".join(map(tick_text, Scale(low, high, 0, 1, log).ticks())) == texts


@pytest.mark.parametrize("values", [[0.0], [5.0, 5.0], [1e-300], [1e300, 1e300], [-1e308, 1e308]])
@pytest.mark.parametrize("log", [True, False, None])
def test_every_scale_has_a_few_ticks_inside(values, log):
    scale = scale_of(values, 0, 100, log)
    places = [scale(tick) for tick in scale.ticks()]
    assert 1 <= len(places) <= 12
    assert all(-1 <= place <= 101 for place in places)


def test_a_mean_keeps_a_constant_and_the_height_of_a_slope():
    assert {y for _, y in smoothed([(i, 2.0) for i in range(50)])} == {2.0}
    slope = [(i, 100.0 - i) for i in range(101)]
    assert smoothed(slope)[50][1] == pytest.approx(50.0)  # not late
    falling = [(i, math.exp(-i)) for i in range(21)]
    assert smoothed(falling, log=True)[10][1] == pytest.approx(math.exp(-10))


def test_a_noisy_curve_is_drawn_as_it_was_and_as_its_mean():
    raw, mean = points(svg({"loss": [(i, 2.0 + (-1) ** i) for i in range(40)]}))
    rises = [abs(b[1] - a[1]) for a, b in pairwise(raw)]
    assert max(abs(b[1] - a[1]) for a, b in pairwise(mean)) < min(rises) / 2


def test_the_last_step_is_labelled_with_its_value():
    found = words(svg({"loss": [(0, 4.0), (299, 0.01234)], "other": [(0, 1.0), (299, 0.0123)]}))
    assert found.count("step 299: 0.01234") == 1
    assert found.count("step 299: 0.01230") == 1


def test_labels_are_moved_apart_and_keep_their_order():
    moved = spaced([50.0, 50.0, 49.0, 100.0], 14, 0, 100)
    assert moved[2] < moved[0] < moved[1] < moved[3]
    assert all(b - a >= 14 for a, b in pairwise(sorted(moved)))
