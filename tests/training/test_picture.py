"""Pictures of curves: well-formed, with every finite point."""

import math
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

from adjoint import FileError
from adjoint.training import save_curves
from adjoint.training.plot_svg import svg

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
