"""Runs the conformance corpus: what the module format promises, case by case.

The cases are the YAML documents in `conformance/`; docs/core.md says what their keys mean. What may
live here: reading cases, doing what a case asks for, comparing. What may not: an expected value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.errors import AdjointError, InternalError
from adjoint.ir.dtype import ALL
from adjoint.module import (
    GradientOptions,
    GradientResult,
    Module,
    canonicalise,
    differentiate,
    parse,
    verify,
)

try:
    import yaml
except ImportError:  # an extra: everything else of the package works without it
    yaml = None

FOLDER = Path(__file__).parent / "conformance"
CATEGORIES = ("text", "types", "shapes", "ir_verification", "autodiff", "runtime", "backend")
ACTIONS = ("print", "check", "canon", "grad", "run")
_DTYPES = {dtype.short: dtype for dtype in ALL}


@dataclass(frozen=True, slots=True)
class Case:
    """One document of the corpus; `name` is its file and its number there."""

    name: str
    description: str
    category: str
    profile: str
    input: dict[str, Any]
    expected: dict[str, Any]

    @property
    def action(self) -> str:
        return str(self.input.get("action", "check"))


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that does not hold, and how."""

    case: Case
    reason: str


class MismatchError(Exception):
    """What came out is not what the case expects."""


def load(wanted: str = "") -> list[Case]:
    """The cases whose name, category or description contains the text, in order of their files."""
    if yaml is None:
        raise ImportError("the conformance corpus needs PyYAML: pip install 'adjoint[conformance]'")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = [case for file in sorted(FOLDER.rglob("*.yaml")) for case in _cases(file, loader)]
    return [c for c in found if any(wanted in t for t in (c.name, c.category, c.description))]


def _cases(file: Path, loader: Any) -> Iterable[Case]:
    stem = file.relative_to(FOLDER).with_suffix("").as_posix()
    documents = yaml.load_all(file.read_bytes(), Loader=loader)
    return [Case(f"{stem}:{n}", **fields) for n, fields in enumerate(documents, start=1)]


def run_all(cases: Iterable[Case]) -> list[Failure]:
    """Every case that does not hold."""
    reasons = ((case, reason_to_fail(case)) for case in cases)
    return [Failure(case, reason) for case, reason in reasons if reason]


def reason_to_fail(case: Case) -> str:
    """Why the case does not hold, or nothing."""
    try:
        try:
            outcome = _outcome(case)
        except AdjointError as error:
            _check_error(case, error)
            return ""
        if case.expected["status"] == "error":
            raise MismatchError(f"no error, expected {case.expected['error'].get('code', 'one')}")
        _check_output(case, outcome)
    except MismatchError as mismatch:
        return str(mismatch)
    except Exception as error:
        return f"not a coded error: {type(error).__name__}: {error}"
    return ""


def report(cases: list[Case], failures: list[Failure]) -> dict[str, Any]:
    """The counts by category and each failure, as plain data."""
    total = Counter(case.category for case in cases)
    failed = Counter(failure.case.category for failure in failures)
    return {
        "passed": len(cases) - len(failures),
        "failed": len(failures),
        "categories": {
            name: {"passed": total[name] - failed[name], "failed": failed[name]}
            for name in CATEGORIES
            if total[name]
        },
        "failures": [
            {"name": f.case.name, "description": f.case.description, "reason": f.reason}
            for f in failures
        ],
    }


def _outcome(case: Case) -> Any:
    """What the action gives: a module, a gradient, or the results of a run."""
    given = case.input
    module = parse(given["ir_module"], profile=case.profile)
    if case.action == "print":
        return module
    verify(module, case.profile)
    if case.action == "check":
        return module
    if case.action == "canon":
        return canonicalise(module)
    if case.action == "run":
        return _run(module, given)
    if case.action == "grad":
        return _gradient(module, case)
    raise InternalError(f"{case.name}: unknown action {case.action!r}")


def _gradient(module: Module, case: Case) -> Any:
    options = GradientOptions(profile=case.profile, output=case.input.get("output"))
    result = differentiate(module, case.input.get("wrt"), options)
    again = differentiate(module, case.input.get("wrt"), options)
    _check_equal("gradient of the second run", again.gradient_module.text(), _text_of(result))
    _check_laws(result.gradient_module, case.profile)
    _check_equal(
        "canonical gradient", canonicalise(result.gradient_module).text(), _text_of(result)
    )
    given = case.input
    values = _run(result.gradient_module, given) if _wanted(case, "result") else None
    return result, values


def _text_of(result: GradientResult) -> str:
    return str(result.gradient_module.text())


def _run(module: Module, given: dict[str, Any]) -> list[Any]:
    inputs = {name: _array(data) for name, data in given.get("inputs", {}).items()}
    return [value.numpy() for value in module.run(inputs, device=given.get("device"))]


def _array(data: dict[str, Any]) -> Any:
    """Values in row-major order; a complex one is a pair."""
    dtype, values = _DTYPES[data["dtype"]], data["values"]
    numbers = [complex(*pair) for pair in values] if dtype.is_complex else values
    return np.array(numbers, dtype.np).reshape(data["shape"])


def _wanted(case: Case, key: str) -> Any:
    return case.expected.get("output", {}).get(key)


def _check_error(case: Case, error: AdjointError) -> None:
    if case.expected["status"] != "error":
        raise MismatchError(f"unexpected {error}")
    wanted = case.expected["error"]
    if "code" in wanted:
        _check_equal("error code", error.code, wanted["code"])
    if wanted.get("message_contains", "") not in str(error):
        raise MismatchError(f"{wanted['message_contains']!r} is not in {str(error)!r}")


def _check_output(case: Case, outcome: Any) -> None:
    if case.action == "run":
        _check_results(outcome, _wanted(case, "result"))
    elif case.action == "grad":
        _check_gradient(case, *outcome)
    else:
        _check_laws(outcome, case.profile)
        if _wanted(case, "ir") is not None:
            _check_equal("text", outcome.text(), _wanted(case, "ir"))


def _check_gradient(case: Case, result: GradientResult, values: list[Any] | None) -> None:
    text, ids = _wanted(case, "gradient_module"), _wanted(case, "gradients")
    if text is not None:
        _check_equal("gradient module", _text_of(result), text)
    if ids is not None:
        _check_equal("gradients", dict(result.gradients), ids)
    if values is not None:
        _check_results(values, _wanted(case, "result"))


def _check_laws(module: Module, profile: str) -> None:
    """What holds of every module: it prints and parses to itself, and has one canonical form."""
    text = module.text()
    _check_equal("print, parse, print", parse(text, profile=profile).text(), text)
    once = canonicalise(module)
    _check_equal("canonicalise twice", canonicalise(once).text(), once.text())


def _check_equal(what: str, got: Any, wanted: Any) -> None:
    if got != wanted:
        many = "\n" in str(got)
        both = f"\n{got}\nexpected\n{wanted}" if many else f" {got}, expected {wanted}"
        raise MismatchError(f"{what} is{both}")


def _check_results(values: list[Any], wanted: Any) -> None:
    expected = wanted if isinstance(wanted, list) else [wanted]
    _check_equal("number of results", len(values), len(expected))
    for number, (value, data) in enumerate(zip(values, expected, strict=True)):
        _check_value(f"result {number}", value, data)


def _check_value(what: str, value: Any, data: dict[str, Any]) -> None:
    _check_equal(f"dtype of {what}", str(value.dtype), str(_DTYPES[data["dtype"]].np))
    _check_equal(f"shape of {what}", list(value.shape), data["shape"])
    near, limit = _array(data), data.get("tolerance", 0.0)
    if not np.allclose(value, near, rtol=limit, atol=limit, equal_nan=True):
        raise MismatchError(f"{what} is {value.tolist()}, expected {near.tolist()} within {limit}")
    if not limit and not np.array_equal(np.signbit(value), np.signbit(near)):
        raise MismatchError(f"{what} is {value.tolist()}, expected {near.tolist()} with its signs")
