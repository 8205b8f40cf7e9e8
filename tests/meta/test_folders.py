"""Every folder of tests mirrors a part of the package, or is a suite that tests/README.md names."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PACKAGE = TESTS.parent / "adjoint"
SUITES = ("agreement", "clients", "fuzz", "golden", "meta", "oracle")
SHARED = "support"  # no tests: what those of several folders use


def _folders():
    """Every folder with Python files outside of the suites, as a path from tests/."""
    found = {file.parent.relative_to(TESTS) for file in TESTS.rglob("*.py")}
    return sorted(path for path in found if path.parts and path.parts[0] not in (*SUITES, SHARED))


@pytest.mark.parametrize("folder", _folders(), ids=str)
def test_a_folder_mirrors_a_part_of_the_package(folder):
    there = PACKAGE / folder
    assert there.is_dir() or there.with_suffix(".py").is_file(), (
        f"adjoint/{folder} is neither a folder nor a module: see tests/README.md"
    )


@pytest.mark.parametrize("part", sorted(p.parent.name for p in PACKAGE.glob("*/__init__.py")))
def test_a_part_of_the_package_has_tests_of_its_own(part):
    assert list((TESTS / part).rglob("test_*.py"))


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_is_a_folder_of_its_own_that_the_page_names(suite):
    assert (TESTS / suite).is_dir()
    assert not (PACKAGE / suite).exists()
    assert f"`{suite}/`" in (TESTS / "README.md").read_text(encoding="utf-8")


def test_tests_stand_in_folders():
    assert not list(TESTS.glob("test_*.py"))


def test_what_tests_share_is_no_test_itself():
    """pytest would import the other file twice; `tests/meta` reads the tables of `tests/ops`."""
    found = [
        f"{file.relative_to(TESTS)}: {node.module}"
        for file in TESTS.rglob("*.py")
        if file.name != "test_coverage.py"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and ".test_" in f".{node.module}"
    ]
    assert found == []
