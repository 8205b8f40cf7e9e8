"""Layers, losses and optimisers equal torch's in float64 to 1e-9 over ten steps of training.

`make test-oracle` makes the samples in an environment with torch and runs this; without them the
tests are skipped.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.oracle.nn_replay import replay
from tests.oracle.nn_store import STORE, Reader, all_cases

FOLDER = Path(__file__).resolve().parents[2] / ".oracle" / "samples"
CASES = list(all_cases())

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        not (FOLDER / STORE).exists(), reason="no samples from torch: run make test-oracle"
    ),
]


@cache
def _reader() -> Reader:
    return Reader(FOLDER)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_ten_steps_are_those_of_torch(case):
    errors = replay(case, _reader())
    worst = max(errors, key=lambda name: errors[name])
    assert errors[worst] <= case.tolerance, f"{worst} is off by {errors[worst]:.3g}"


def test_every_stored_case_is_replayed():
    assert _reader().names == {case.name for case in CASES}
