"""The Python in the documents runs, file by file, block after block."""

import re
from pathlib import Path

import pytest

from adjoint import Tensor
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, _functions

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)[^)]*\)")


def _name(file):
    return str(file.relative_to(ROOT))


def _blocks(file):
    """The code blocks, each preceded by as many lines as stand before it in the file."""
    text = file.read_text(encoding="utf-8")
    return [
        "\n" * text.count("\n", 0, found.start(1)) + found.group(1)
        for found in BLOCK.finditer(text)
    ]


@pytest.fixture
def records_put_back():
    """A document may define an op; it is gone again afterwards."""
    before = set(OPS)
    yield
    for name in set(OPS) - before:
        del OPS[name], _functions[name]
        delattr(UOp, name)
        if name in Tensor.__dict__:
            delattr(Tensor, name)


WRITTEN = [f for f in DOCUMENTS if f.parent.name != "ops"]  # pages of ops: test_op_docs.py


@pytest.mark.parametrize("file", [f for f in WRITTEN if _blocks(f)], ids=_name)
def test_the_python_in_the_document_runs(file, records_put_back, capsys):
    namespace = {"__name__": "__main__"}
    for block in _blocks(file):
        exec(compile(block, str(file), "exec", dont_inherit=True), namespace)


def test_links_between_documents_lead_somewhere():
    broken = [
        f"{_name(file)}: {to}"
        for file in DOCUMENTS
        for to in LINK.findall(BLOCK.sub("", file.read_text(encoding="utf-8")))
        if not (file.parent / to).exists()
    ]
    assert broken == []


def test_every_decision_has_context_a_decision_and_consequences():
    records = sorted((ROOT / "docs" / "adr").glob("*.md"))
    assert len(records) >= 8
    numbers = [re.match(r"(\d{4})-", file.name)[1] for file in records]
    assert len(set(numbers)) == len(numbers)  # they land in any order, each with its own number
    for file in records:
        text = file.read_text(encoding="utf-8")
        for heading in ("## Context", "## Decision", "## Consequences"):
            assert heading in text, f"{file.name} lacks {heading}"


def test_examples_are_short():
    for file in (ROOT / "adjoint" / "examples").glob("*.py"):
        most = 120 if file.stem == "gpt2" else 80  # it has what the public model has
        assert len(file.read_text(encoding="utf-8").splitlines()) < most, file.name
