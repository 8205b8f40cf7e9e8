"""The pages in `docs/ops/` are what the records say; their examples print what they show."""

import re

import pytest

from docs.build_ops import PAGES, RECORDS, index, page
from docs.op_calls import output_of
from docs.op_kinks import KINKS

PARTS = re.compile(r"^```python\n(.*?)\n```\n\n```text\n(.*?)\n```", re.MULTILINE | re.DOTALL)
STALE = "docs/ops/{} is not what the record says: run `make docs`"
BY_NAME = [pytest.param(r, id=r.name) for r in RECORDS]


def _read(name):
    file = PAGES / name
    return file.read_text(encoding="utf-8") if file.exists() else ""


@pytest.mark.parametrize("record", BY_NAME)
def test_the_page_is_what_the_record_says(record):
    name = f"{record.name}.md"
    assert _read(name) == page(record), STALE.format(name)


@pytest.mark.parametrize("record", BY_NAME)
def test_the_example_prints_what_it_shows(record):
    shown = PARTS.findall(_read(f"{record.name}.md"))
    assert len(shown) == 1
    program, printed = shown[0]
    assert output_of(program) == printed


def test_the_index_lists_every_op():
    assert _read("index.md") == index(), STALE.format("index.md")


def test_there_is_no_page_of_an_op_that_is_gone():
    assert {f.stem for f in PAGES.glob("*.md")} == {r.name for r in RECORDS} | {"index"}


def test_every_kink_belongs_to_an_op():
    assert set(KINKS) <= {r.name for r in RECORDS}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("tanh", "dx = g · (1 − y²)"),
        ("reciprocal", "dx = −g · y²"),
        ("true_div", "db = −g · y / b"),
        ("contract", 'da = contract(g, b, "mn,kn->mk")'),
        ("relu", "dx = where(y > 0, g, 0)"),
        ("max", "dx = where(u, g / Σ([u]), 0)"),
        ("softmax", "dx = g · y − Σ₁(g · y) · y"),
        ("sqrt", "| zero | `sqrt([0])` | `dx = [inf]` |"),
        ("maximum", "| a tie | `maximum([2], [2])` | `da = [0.5], db = [0.5]` |"),
    ],
)
def test_the_page_reads_like_the_textbook(name, line):
    assert line in _read(f"{name}.md").splitlines()
