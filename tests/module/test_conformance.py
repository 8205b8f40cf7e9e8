"""The conformance corpus: every case holds, and the cases are enough."""

import re
from collections import Counter
from importlib.util import find_spec

import pytest

from adjoint.errors import CODES
from adjoint.module import conformance_run
from adjoint.module.conformance_run import (
    ACTIONS,
    CATEGORIES,
    FOLDER,
    Case,
    load,
    reason_to_fail,
    report,
    run_all,
)
from adjoint.module.generic import generic_opcodes
from adjoint.module.instruction import PROFILES
from adjoint.module.opcode import OPCODES

CASES = load()
# Codes that no text can cause: sources of another language, faults of ours, or of a machine.
ELSEWHERE = {
    "E1006": "texts have no block comments",
    "E2003": "every type is written out",
    "E4012": "a module has no views to write through",
    "E5002": "a gradient program that does not verify is a fault of the library",
    "E5003": "axes are verified before a gradient is made",
    "E6003": "every device runs every opcode",
    "E6004": "depends on the machine",
    "E6005": "integers wrap",
    "E6006": "floats keep NaN and infinities",
    "E6007": "nothing has a time limit",
    "E6008": "a module runs on one device",
    "E6009": "a module has no limit of memory",
}
KEYS = {
    "input": {"action", "ir_module", "wrt", "output", "device", "inputs"},
    "expected": {"status", "output", "error"},
    "output": {"ir", "gradient_module", "gradients", "result"},
    "error": {"code", "message_contains"},
}


def _text(case):
    source = case.input["ir_module"]
    return source if isinstance(source, str) else source.decode("latin-1")


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_case_holds(case):
    assert reason_to_fail(case) == ""


def test_there_are_enough_cases():
    assert len(CASES) >= 175
    assert set(Counter(case.category for case in CASES)) == set(CATEGORIES)


def test_every_case_has_the_shape_that_the_page_describes():
    for case in CASES:
        expected = case.expected
        assert case.action in ACTIONS, case.name
        assert case.profile in PROFILES, case.name
        assert case.description, case.name
        assert case.input.keys() <= KEYS["input"], case.name
        assert expected.keys() <= KEYS["expected"], case.name
        assert expected.get("output", {}).keys() <= KEYS["output"], case.name
        assert expected.get("error", {}).keys() <= KEYS["error"], case.name
        assert ("error" in expected) == (expected["status"] == "error"), case.name


def test_no_two_cases_have_one_description():
    seen = Counter((case.category, case.description) for case in CASES)
    assert [what for what, count in seen.items() if count > 1] == []


def test_every_opcode_is_covered():
    used = {name for case in CASES for name in re.findall(r"= (\w+)\(", _text(case))}
    together = {"AllGather", "AllReduce", "AllToAll", "AxisIndex", "CollectivePermute"}
    together |= {"ReduceScatter", "SendRows", "ToStage"}  # of a mesh; a case is one process
    missing = (OPCODES.keys() | generic_opcodes().keys()) - used
    assert missing == {"CustomKernel", "Tap", *together}


def test_every_gradient_rule_runs():
    differentiated = [c for c in CASES if c.action == "grad" and c.expected["status"] == "success"]
    used = {name for case in differentiated for name in re.findall(r"= (\w+)\(", _text(case))}
    ruled = {n for n, record in OPCODES.items() if record.record is None and record.pull}
    assert ruled - used == set()


def test_every_code_has_a_case_or_a_reason():
    codes = {case.expected["error"].get("code") for case in CASES if "error" in case.expected}
    assert codes.isdisjoint(ELSEWHERE)
    core = {code for code in CODES if code[1] not in "789"}  # not of devices or files
    assert core - codes == ELSEWHERE.keys()


def test_the_filter_looks_at_names_categories_and_descriptions():
    assert {case.category for case in load("backend")} >= {"backend"}
    assert all("Conv2d" in case.description for case in load("Conv2d"))
    assert load("no case says this") == []


def _case(text, action="check", **expected):
    return Case("made:1", "made", "text", "core+g", {"action": action, "ir_module": text}, expected)


ONE = '%0 = Input() {name: "x"} : Tensor<f32, [2]>\noutputs: %0\n'


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (_case(ONE, status="error", error={"code": "E4001"}), "no error"),
        (_case("%", status="success"), "unexpected E"),
        (_case(ONE, status="success", output={"ir": "other"}), "text is"),
        (_case("%", status="error", error={"code": "E4001"}), "error code is"),
        (_case("%", status="error", error={"message_contains": "moon"}), "'moon' is not in"),
        (_case(ONE, action="dance", status="success"), "not a coded error"),
        (_case(ONE, "grad", status="success", output={"gradient_module": ""}), ""),
    ],
)
def test_the_runner_sees_what_does_not_hold(case, reason):
    assert reason in reason_to_fail(case)
    assert reason_to_fail(case)


@pytest.mark.parametrize(
    ("values", "tolerance", "holds"),
    [
        ([1.0], None, True),
        ([1.0000001], None, False),
        ([1.01], 0.1, True),
        ([1.5], 0.1, False),
        ([1.0, 1.0], 0.1, False),
    ],
)
def test_the_runner_compares_values_within_the_tolerance(values, tolerance, holds):
    wanted = {"dtype": "f64", "shape": [len(values)], "values": values}
    wanted |= {} if tolerance is None else {"tolerance": tolerance}
    text = "%0 = ConstTensor([1.0]) : Tensor<f64, [1]>\noutputs: %0\n"
    case = _case(text, "run", status="success", output={"result": wanted})
    assert (reason_to_fail(case) == "") is holds


def test_the_report_counts_by_category():
    cases = [_case(ONE, status="success"), _case("%", status="success")]
    found = report(cases, run_all(cases))
    assert found["passed"] == found["failed"] == 1
    assert found["categories"] == {"text": {"passed": 1, "failed": 1}}
    assert found["failures"][0]["name"] == "made:1"


def test_without_pyyaml_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(conformance_run, "yaml", None)
    with pytest.raises(ImportError, match=r"pip install 'adjoint\[conformance\]'"):
        load()


def test_the_corpus_lies_inside_the_package():
    package = find_spec("adjoint").submodule_search_locations[0]
    assert FOLDER.is_relative_to(package)
