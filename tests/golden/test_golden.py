"""What programs become at every stage is the text that was looked at and kept beside this file."""

import json

import pytest

from adjoint import Tensor
from adjoint.runtime.processor import machine_kind
from tests.golden.programs import PROGRAMS
from tests.golden.stages import FOLDER, texts
from tests.support.processes import printed

ENDINGS = (".core", ".txt", ".ll", ".c", ".cu")
OTHER = """
import json, sys
from tests.golden.stages import PROGRAMS, texts
json.dump([texts(name) for name in reversed(PROGRAMS)], sys.stdout)
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_stage_of_a_program_has_the_text_that_is_kept(name, golden):
    for file, text in texts(name).items():
        golden(FOLDER / file, text)


def test_nothing_else_is_kept(request):
    made = {FOLDER / file for name in PROGRAMS for file in texts(name)}
    gone = {path for path in FOLDER.glob("*/*") if path.suffix in ENDINGS} - made
    if request.config.getoption("--update-golden"):
        for path in gone:
            path.unlink()
    else:
        assert not gone, "make golden removes them"


def test_the_texts_are_the_same_in_another_process():
    """With another order of programs and of hashes, one thread, and a smaller processor."""
    other = {"PYTHONHASHSEED": "7", "ADJOINT_THREADS": "1"}
    other |= {"ADJOINT_CPU": "x86-64-v1"} if machine_kind() == "x86_64" else {}
    for found in json.loads(printed("-c", OTHER, **other)):
        for file, text in found.items():
            assert text == (FOLDER / file).read_text(encoding="utf-8"), file


def test_what_ran_before_changes_no_text():
    x = Tensor([[3.0, 1.0], [2.0, 5.0]], device="CPU")
    before = texts("row_softmax")
    (x.softmax(1) / x.softmax(0)).sort(1)[0].numpy()
    assert texts("row_softmax") == before


def test_a_text_that_differs_is_shown_as_a_difference(golden, request):
    if request.config.getoption("--update-golden"):
        pytest.skip("texts are written, not compared")
    name = "long_sum/module.core"
    with pytest.raises(pytest.fail.Exception, match=r"(?s)long_sum/module.core, as kept.*\+.*max"):
        golden(FOLDER / name, texts("long_sum")[name].replace("Sum", "max"))
