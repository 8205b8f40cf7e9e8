"""A pytest plugin that keeps a sample of the tests and writes what became of each, a line each.

`--tally FILE` names the file of lines; `--sample N` keeps one test of N, chosen by the hash of
its name, so that the same tests are chosen on every machine; `--part K` takes another of the N.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tally")
    group.addoption("--tally", type=Path, default=None, help="where outcomes are written")
    group.addoption("--sample", type=int, default=1, help="keep one test of so many")
    group.addoption("--part", type=int, default=0, help="which of them, from 0")


def plain_name(node: str) -> str:
    """The name of a test without the folders above its package."""
    return node.rpartition("site-packages/")[2] if "site-packages/" in node else node


def kept(name: str, sample: int, part: int = 0) -> bool:
    """Whether a test belongs to this part of the sample."""
    return zlib.crc32(name.encode()) % sample == part


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    sample, part = config.getoption("--sample"), config.getoption("--part")
    config.hook.pytest_deselected(
        items=[i for i in items if not kept(plain_name(i.nodeid), sample, part)]
    )
    items[:] = [i for i in items if kept(plain_name(i.nodeid), sample, part)]


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--tally") is not None:
        config.pluginmanager.register(Tally(config.getoption("--tally")), "tally-of-outcomes")


class Tally:
    """Writes one line for each test when it has ended, and for each file that cannot be read."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("w")
        self.worst: dict[str, tuple[str, str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.worst[report.nodeid] = ("failed", _last_line(report))
        elif report.skipped:
            self.worst.setdefault(report.nodeid, ("skipped", _last_line(report)))
        if report.when == "teardown":
            outcome, why = self.worst.pop(report.nodeid, ("passed", ""))
            self._write(plain_name(report.nodeid), outcome, why)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(plain_name(report.nodeid), "failed", _last_line(report))

    def _write(self, name: str, outcome: str, why: str) -> None:
        self.file.write(json.dumps({"test": name, "outcome": outcome, "why": why}) + "\n")
        self.file.flush()


def _last_line(report: pytest.TestReport | pytest.CollectReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return crash.message.strip().partition("\n")[0][:300]
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2][:300]
    return str(report.longrepr).strip().rpartition("\n")[2][:300]
