"""Formulas as MathML: every one on a page of an op is well-formed, and says what the text says."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from docs.build_ops import PAGES
from docs.mathml import LONGEST, FormulaError, formula_html, mathml
from docs.site_hooks import FORMULA


def tree(text):
    return ElementTree.fromstring(f"<math>{mathml(text)}</math>")


def words(text):
    return "".join(tree(text).itertext())


def test_every_formula_of_every_op_is_typeset():
    found = 0
    for file in sorted(PAGES.glob("*.md")):
        for block in FORMULA.findall(file.read_text(encoding="utf-8")):
            for line in block.split("\n"):
                tree(line)
                found += 1
    assert found > 900


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("dx = g / (1 + x²)", ["mfrac", "msup"]),
        ("y = √(a² + b²)", ["msqrt"]),
        ("y = x^p", ["msup"]),
        ("u = Σ₁(x)", ["msub"]),
        ("y = where(x > 0, x, 0)", ["mtable"]),
        ("y = xᵀ", ["msup"]),
        ("y = 1e-12", ["msup"]),
    ],
)
def test_the_shape_of_a_formula_is_in_the_markup(text, tags):
    names = [node.tag for node in tree(text).iter()]
    assert all(tag in names for tag in tags)


def test_a_fraction_needs_no_brackets_and_keeps_those_inside():
    assert words("y = (a + b) / (c · (a − 1))") == "y=a+bc·(a−1)"
    assert words("y = (a) · (b) / 2") == "y=(a)·(b)2"  # not one pair around the whole


def test_a_choice_beside_something_is_written_out():
    assert "where(" in words("y = where(x > 0, x, 0) · 2")
    assert "where(" in words("y = Σ(where(x > 0, x, 0))")


def test_what_stands_before_the_stroke_is_above_it():
    fraction = next(node for node in tree("dx = g · y / b · c").iter() if node.tag == "mfrac")
    above, below = ("".join(part.itertext()) for part in fraction)
    assert (above, below) == ("g·y", "b")


@pytest.mark.parametrize("text", ["", "y = ", "(", "y = a)", "y = a b", "[", "a · · b", "f(x"])
def test_what_is_no_formula_is_refused(text):
    with pytest.raises(FormulaError):
        mathml(text)


def test_what_is_refused_or_too_long_stays_as_text():
    text = formula_html(["y = <script>", "y = " + " + ".join(["x"] * LONGEST), "y = x"])
    assert text.count("<pre>") == 2
    assert text.count("<math") == 1
    assert "<script>" not in text
    assert re.search(r"&lt;script&gt;", text)
