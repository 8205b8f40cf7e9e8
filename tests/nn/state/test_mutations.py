"""A damaged file is a coded error that says where, or loads; never a crash, a hang or a flood."""

import json
import sys
from pathlib import Path

import pytest

from tests.nn.state.mutations import FORMATS
from tests.support.processes import printed

ROOT = Path(__file__).parents[3]


def _run(name, count, seed, folder):
    return json.loads(printed("-m", "tests.nn.state.mutations", name, count, seed, folder))


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is Linux's")
@pytest.mark.parametrize("name", FORMATS)
def test_a_thousand_damaged_files(name, tmp_path):
    found = _run(name, 1000, 0, str(tmp_path))
    assert found["wrong"] == []
    assert found["refused"] > 300
    assert found["grown_mb"] < 100


@pytest.mark.fuzz
@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is Linux's")
@pytest.mark.parametrize("name", FORMATS)
def test_ten_thousand_damaged_files_and_every_byte_of_the_header(name, tmp_path):
    found = _run(name, 10_000, 1, str(tmp_path))
    assert found["header"] < 10_000
    assert found["wrong"] == []
    assert found["grown_mb"] < 100
