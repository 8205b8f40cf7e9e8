"""`adjoint doctor`: a look at this installation, and what to fix.

What may live here: printing findings. What may not: the looking (see `doctor_checks.py`).
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import asdict

import adjoint
from adjoint.cli.doctor_checks import Finding, findings
from adjoint.cli.exits import FAILED, OK, add_json, say

EXAMPLES = """\
  adjoint doctor
  adjoint doctor --json
  adjoint doctor || echo "something is wrong"

Every line is ok, warn (works, but look at it) or fail; the exit code is 1 if something fails."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How to print."""
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Look at everything; 1 if something fails."""
    found: list[Finding] = []
    for finding in findings():
        found.append(finding)
        if not options.json:
            print(_line(finding), flush=True)
    counts = Counter(finding.status for finding in found)
    data = {
        "version": adjoint.__version__,
        "ok": not counts["fail"],
        "counts": {status: counts[status] for status in ("ok", "warn", "fail")},
        "checks": [asdict(finding) for finding in found],
    }
    say(options, data, _verdict(counts))
    return FAILED if counts["fail"] else OK


def _line(finding: Finding) -> str:
    fix = f"\n      fix: {finding.fix}" if finding.fix else ""
    return f"{finding.status:<4}  {finding.name:<12} {finding.text}{fix}"


def _verdict(counts: Counter[str]) -> str:
    if counts["fail"]:
        return f"{counts['fail']} failed, {counts['warn']} to look at\n"
    return f"all is well, {counts['warn']} to look at\n" if counts["warn"] else "all is well\n"
