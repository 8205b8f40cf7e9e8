"""The runner of other libraries' suites: samples, names, scores and reasons."""

from __future__ import annotations

import collections
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

from tests.clients.run import Score
from tests.clients.suites import SUITES, Suite
from tests.clients.tally import kept, plain_name

CLIENTS = Path(__file__).parent.parent / "clients"


@pytest.mark.parametrize("sample", [1, 2, 7])
def test_every_test_belongs_to_exactly_one_part_of_a_sample(sample):
    for name in ("a.py::test_one[x-adjoint]", "b.py::test_two", ""):
        assert sum(kept(name, sample, part) for part in range(sample)) == 1


def test_a_name_does_not_say_where_a_library_is_installed():
    node = "venv/lib/python3.11/site-packages/scipy/fft/tests/test_basic.py::TestFFT::test_1d"
    assert plain_name(node) == "scipy/fft/tests/test_basic.py::TestFFT::test_1d"
    assert (
        plain_name("autograd/tests/test_fft.py::test_fft") == "autograd/tests/test_fft.py::test_fft"
    )


def score(passed: int, failed: int, bar: Fraction, ended: bool = True) -> Score:
    suite = Suite("s", "p", "plugin", ("t",), bar)
    return Score(suite, collections.Counter(passed=passed, failed=failed), {}, ended, "CPU")


def test_a_bar_is_met_by_the_share_of_those_that_ran():
    assert score(1195, 8, Fraction(1195, 1203)).met
    assert not score(1194, 9, Fraction(1195, 1203)).met


def test_a_bar_is_not_met_by_a_suite_that_broke_off_or_ran_nothing():
    assert not score(10, 0, Fraction(1), ended=False).met
    assert not score(0, 0, Fraction(0)).met


def test_reasons_are_of_suites_that_are_run_and_say_something():
    reasons = tomllib.loads((CLIENTS / "remaining.toml").read_text())
    assert set(reasons) <= {suite.name for suite in SUITES}
    assert all(len(why) > 20 for each in reasons.values() for why in each.values())


def test_every_suite_has_a_plugin():
    assert all((CLIENTS / f"{suite.plugin}.py").exists() for suite in SUITES)
