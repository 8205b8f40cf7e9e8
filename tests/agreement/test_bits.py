"""The same bits on every level of x86-64, and from one version to the next."""

import json
from functools import cache
from pathlib import Path

import pytest

from adjoint import DeviceError
from adjoint.runtime.processor import features, machine_kind
from adjoint.target import known_processor
from tests.agreement.bits import STORED
from tests.support.processes import printed, python

pytestmark = pytest.mark.skipif(machine_kind() != "x86_64", reason="levels of x86-64")
ROOT = Path(__file__).parents[2]
LEVELS = ("x86-64-v1", "native")
LONG = 7200  # seconds: all records take minutes of a processor that may be busy
FIX = "where the change is meant, `make bits` stores the new ones"


def require(level):
    try:
        if level != "native":
            known_processor(level, machine_kind(), features())
    except DeviceError as error:
        pytest.skip(str(error).partition("\n")[0])


@cache
def bits(level, every=False, loader="auto"):
    """The hashes of the records, computed by a process for that processor."""
    options = ["--all"] if every else []
    settings = {"ADJOINT_CPU": level, "ADJOINT_LOADER": loader}
    return json.loads(printed("-m", "tests.agreement.bits", *options, timeout=LONG, **settings))


def differing(found, wanted):
    return [name for name in found if name in wanted and found[name] != wanted[name]]


@pytest.mark.parametrize("level", LEVELS)
def test_a_part_of_the_records_has_the_bits_that_are_stored(level):
    require(level)
    wanted, found = json.loads(STORED.read_text()), bits(level)
    assert differing(found, wanted) == [], FIX
    assert len(found.keys() & wanted.keys()) > 0.9 * len(found), FIX


@pytest.mark.cpus
def test_llvms_loader_runs_the_records_to_the_same_bits():
    assert differing(bits("native", loader="llvm"), bits("native")) == []


@pytest.mark.cpus
@pytest.mark.parametrize("level", ["x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_every_record_has_the_same_bits_on_every_level(level):
    require(level)
    assert differing(bits(level, every=True), bits("native", every=True)) == []


@pytest.mark.cpus
@pytest.mark.parametrize("level", ["x86-64-v1", "x86-64-v3"])
def test_every_record_agrees_with_the_reference_on_a_level(level):
    require(level)
    done = python(
        "-m", "pytest", "-x", "tests/agreement/test_records.py", timeout=LONG, ADJOINT_CPU=level
    )
    assert done.returncode == 0, done.stdout[-4000:]
