"""Values and vjps against torch's, on the samples of torch's own op tests.

`make test-oracle` makes the samples in an environment with torch and runs this; without them the
tests are skipped.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.oracle.comparison import TOLERANCE, Sample, compare, read
from tests.oracle.conventions import CONVENTIONS, MISSING
from tests.oracle.elementwise import Missing
from tests.oracle.mapping import NAMES
from tests.oracle.store import Reader

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".oracle" / "samples"
FEWEST_OPS = 150

pytestmark = pytest.mark.oracle
needs_samples = pytest.mark.skipif(
    not (FOLDER / "samples.json").exists(), reason="no samples from torch: run make test-oracle"
)


@cache
def _reader() -> Reader:
    return Reader(FOLDER)


@cache
def _outcomes(name: str) -> list[tuple[Sample, dict[str, float | str] | Missing]]:
    """Every sample of an op with its comparison, or the option that ours lacks."""
    found: list[tuple[Sample, dict[str, float | str] | Missing]] = []
    for record in _reader().records:
        if record["op"] == name:
            sample = read(_reader(), record)
            try:
                found.append((sample, compare(sample)))
            except Missing as missing:
                found.append((sample, missing))
    return found


def _differing(name: str) -> list[tuple[Sample, str, str]]:
    return [
        (sample, part, result)
        for sample, outcome in _outcomes(name)
        if not isinstance(outcome, Missing)
        for part, result in outcome.items()
        if isinstance(result, str)
    ]


def _agreeing(name: str) -> list[float]:
    """The largest difference of each sample that agrees in all parts."""
    return [
        max(outcome.values(), default=0.0)  # type: ignore[type-var]
        for _, outcome in _outcomes(name)
        if not isinstance(outcome, Missing)
        if not any(isinstance(result, str) for result in outcome.values())
    ]


@needs_samples
@pytest.mark.parametrize("name", NAMES)
def test_values_and_vjps_equal_torch(name):
    unexplained = [
        f"sample {sample.number}, {part}: {result}"
        for sample, part, result in _differing(name)
        if not any(c.explains(sample, part) for c in CONVENTIONS)
    ]
    assert not unexplained, "\n".join(unexplained)


@needs_samples
def test_the_samples_are_of_the_ops_that_are_mapped():
    assert sorted(_reader().about["names"]) == NAMES, "run make test-oracle to make them anew"


@needs_samples
def test_at_least_150_ops_are_compared(capsys):
    agreeing = {name: _agreeing(name) for name in NAMES}
    compared = [name for name, differences in agreeing.items() if differences]
    worst = max((max(d), name) for name, d in agreeing.items() if d)
    samples = len(_reader().records)
    agreed = sum(map(len, agreeing.values()))
    with capsys.disabled():
        print(
            f"\ntorch {_reader().about['torch']}: {len(compared)} ops, {agreed} of {samples} "
            f"samples agree, largest difference {worst[0]:.1e} ({worst[1]})"
        )
    assert len(compared) >= FEWEST_OPS
    assert worst[0] <= TOLERANCE


@needs_samples
@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda c: c.ops[0])
def test_every_convention_explains_a_difference(convention):
    differing = [d for op in convention.ops if op in NAMES for d in _differing(op)]
    assert any(convention.explains(sample, part) for sample, part, _ in differing)


@needs_samples
def test_the_missing_options_are_listed():
    found = {str(o) for name in NAMES for _, o in _outcomes(name) if isinstance(o, Missing)}
    assert found == set(MISSING)


def test_the_document_tells_every_convention_and_every_missing_option():
    text = " ".join((ROOT / "docs" / "conventions.md").read_text(encoding="utf-8").split())
    told = [*(c.reason for c in CONVENTIONS), *MISSING]
    assert [reason for reason in told if reason not in text] == []
