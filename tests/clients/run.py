"""Runs suites of other libraries with Adjoint in the place of their arrays; prints one table.

    python -m tests.clients.run [SUITE ...] [--device REF] [--sample N] [--part K] [--show]

`--device` names another device than the suite's own; `--sample 1` runs suites whole; `--show`
prints pytest's own report, too. Each test that fails is named, with the reason that
`remaining.toml` gives or a word that it is new there. The exit status is 0 where every bar holds
and no failure is without a reason.
"""

from __future__ import annotations

import argparse
import collections
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests.clients.suites import SUITES, Suite

_HERE = Path(__file__).parent
_ROOT = _HERE.parent.parent
_PARTS = _ROOT / ".clients"
_SECONDS_EACH = 300


@dataclass(frozen=True, slots=True)
class Score:
    """What became of one suite's tests; `ended` says whether pytest came to its end."""

    suite: Suite
    counts: collections.Counter[str]
    failures: dict[str, str]
    ended: bool
    device: str

    @property
    def met(self) -> bool:
        ran = self.counts["passed"] + self.counts["failed"]
        return self.ended and ran > 0 and self.counts["passed"] >= self.suite.bar * ran

    def row(self) -> tuple[str, ...]:
        """The line of the table."""
        version = importlib.metadata.version(self.suite.package)
        counts = (str(self.counts[kind]) for kind in ("passed", "failed", "skipped"))
        bar = f"{float(self.suite.bar):.2%}"
        name = f"{self.suite.name} {version}"
        return (name, self.device, *counts, bar, "yes" if self.met else "NO")


def main() -> int:
    """Run the suites that are named, or all, and print what they scored."""
    options = _options()
    reasons = tomllib.loads((_HERE / "remaining.toml").read_text())
    usual = [suite.name for suite in SUITES if not suite.when_named]
    chosen = [suite for suite in SUITES if suite.name in (options.suites or usual)]
    scores = [_score(suite, options) for suite in chosen]
    _print_table(scores)
    new = sum(_print_failures(score, reasons.get(score.suite.name, {})) for score in scores)
    return 0 if all(score.met for score in scores) and not new else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("suites", nargs="*", choices=[[], *(s.name for s in SUITES)])
    parser.add_argument("--device")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--show", action="store_true")
    return parser.parse_args()


def _score(suite: Suite, options: argparse.Namespace) -> Score:
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "tally"
        done = subprocess.run(
            [*_command(suite, options), "--tally", str(lines)],
            cwd=_ROOT,
            env=_environment(suite, options.device or suite.device),
            stdout=None if options.show else subprocess.DEVNULL,
            stderr=None if options.show else subprocess.DEVNULL,
            check=False,
        )
        records = [json.loads(line) for line in lines.read_text().splitlines()]
    failures = {r["test"]: r["why"] for r in records if r["outcome"] == "failed"}
    counts = collections.Counter(r["outcome"] for r in records)
    device = options.device or suite.device
    return Score(suite, counts, failures, done.returncode in (0, 1), device)


def _command(suite: Suite, options: argparse.Namespace) -> list[str]:
    paths = [str(_PARTS / t) if "/" in t else t for t in suite.targets]
    return [
        *(sys.executable, "-m", "pytest", "-c", str(_HERE / "pytest.ini")),
        *("--rootdir", str(_PARTS), "-p", f"tests.clients.{suite.plugin}"),
        *("--continue-on-collection-errors", "--timeout", str(_SECONDS_EACH)),
        *("--sample", str(options.sample or suite.sample), "--part", str(options.part)),
        *("--pyargs", *paths),
    ]


def _environment(suite: Suite, device: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
    cache = os.environ.get("ADJOINT_CACHE_DIR", str(_ROOT / ".adjoint_cache"))
    ours = {"PYTHONPATH": path, "ADJOINT_DEVICE": device, "ADJOINT_CACHE_DIR": cache}
    return os.environ | suite.environment | ours


def _print_table(scores: list[Score]) -> None:
    head = ("suite", "device", "passed", "failed", "skipped", "bar", "met")
    rows = [head, *(score.row() for score in scores)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)))


def _print_failures(score: Score, reasons: dict[str, str]) -> int:
    """Name each failure with its reason; how many have none."""
    if not score.ended:
        print(f"\n{score.suite.name}: pytest did not come to its end")
    for test, why in sorted(score.failures.items()):
        print(f"\n{score.suite.name}  {test}\n    {reasons.get(test, f'NEW: {why}')}")
    return sum(test not in reasons for test in score.failures)


if __name__ == "__main__":
    sys.exit(main())
