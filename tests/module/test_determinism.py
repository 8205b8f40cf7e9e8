"""The same module gives the same gradient, to the byte: in every run, process and hash seed."""

import json
from pathlib import Path

import pytest

from tests.module.sums import STORED, gradient_text, modules, sums
from tests.support.processes import printed

ROOT = Path(__file__).parents[2]


def _in_a_process(seed):
    return json.loads(printed("-m", "tests.module.sums", PYTHONHASHSEED=str(seed)))


def _stored():
    return json.loads(STORED.read_text(encoding="utf-8"))


def test_the_sums_of_at_least_fifty_gradients_are_those_stored():
    found = sums()
    assert len(found) >= 50
    networks = ("mlp", "convolution", "attention", "embedding with repeats")
    assert {f"captured {name}" for name in networks} <= found.keys()
    assert found == _stored(), "if the change is meant: python -m tests.module.sums --write"


def test_a_hundred_runs_give_the_same_text():
    for name, module in modules().items():
        first = gradient_text(module)
        assert first.strip()
        assert all(gradient_text(module) == first for _ in range(99)), name


@pytest.mark.parametrize("seed", [0, 1, 424242])
def test_another_process_with_another_hash_seed_gives_the_same_text(seed):
    assert _in_a_process(seed) == _stored()


@pytest.mark.slow
def test_a_hundred_processes_give_the_same_text():
    stored = _stored()
    assert all(_in_a_process(seed) == stored for seed in range(100))
