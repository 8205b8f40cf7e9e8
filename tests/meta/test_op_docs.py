"""The pages in `docs/ops/` are what the records say; their examples print what they show."""

import re

import pytest

from docs.build_ops import PAGES, PICTURES, RECORDS, home, index, page, picture_of
from docs.op_calls import output_of
from docs.op_groups import GROUPS, group_of
from docs.op_kinks import KINKS
from docs.op_peers import PEERS

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


def test_pictures_are_what_the_ops_compute():
    drawn = {f"{r.name}.svg": text for r in RECORDS if (text := picture_of(r)) is not None}
    kept = {f.name: f.read_text(encoding="utf-8") for f in (PAGES / PICTURES).iterdir()}
    assert kept == drawn, STALE.format(PICTURES)
    assert {"relu.svg", "gelu.svg", "exp.svg", "sin.svg"} <= set(drawn)
    assert not {"softmax.svg", "cumsum.svg", "sort.svg", "add.svg"} & set(drawn)


def test_every_group_has_ops_and_every_name_in_a_group_is_one():
    used = {group_of(r.name, home(r).__name__) for r in RECORDS}
    assert used == set(GROUPS)
    named = [name for group in GROUPS for name in group.names.split()]
    assert len(named) == len(set(named))
    assert set(named) <= {r.name for r in RECORDS}


def test_every_name_elsewhere_belongs_to_an_op():
    assert set(PEERS) <= {r.name for r in RECORDS}
    assert all(word == "-" or word.startswith("torch.") for word, _ in PEERS.values())
    assert all(word == "-" or word.startswith("jax.") for _, word in PEERS.values())


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
