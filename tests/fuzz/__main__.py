"""`python -m tests.fuzz --seed S --programs N --jobs J --minutes M`: whole programs, checked.

Exit status 1 if something is wrong; each class of failure is printed as a program that runs by
itself. `--on GPU` runs them on a GPU (or on a "fake GPU") against the CPU, bit for bit. `--first K`
begins at another program, `--json` writes the report to a file, `--keep` adds the programs that
made the compiler do something new to those that later runs begin with.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from adjoint.runtime.cuda import problem
from tests.fuzz.campaign import Campaign
from tests.fuzz.chunk import KEPT, Report
from tests.fuzz.gpu import PLACES
from tests.fuzz.small_tiles import VARIABLE

MOST_KEPT = 120
LONGEST = 7  # statements of a program that is kept: it will be continued


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=int(datetime.now(UTC).strftime("%Y%m%d")))
    parser.add_argument("--programs", type=int, default=None)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--minutes", type=float, default=None)
    parser.add_argument("--modes", default="", help="these alone, with commas between them")
    parser.add_argument("--not-modes", default="", help="modes left out")
    parser.add_argument("--small-tiles", action="store_true", help="tiles for products of any size")
    parser.add_argument("--without", default="", help="families of statements left out")
    parser.add_argument("--on", default="", choices=PLACES, help="against the CPU, bit for bit")
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    if given.on == "GPU" and problem():
        parser.error(f"--on GPU: {problem()}")
    return given


def main() -> int:
    given = arguments()
    if given.small_tiles:
        os.environ[VARIABLE] = "1"
    endless = given.minutes is not None and given.programs is None
    count = 10_000_000 if endless else given.programs or 300
    seconds = float("inf") if given.minutes is None else 60 * given.minutes
    options = [f"--seed={given.seed}", f"--modes={given.modes}", f"--without={given.without}"]
    options += [f"--not-modes={given.not_modes}", f"--on={given.on}"]
    campaign = Campaign(options, given.jobs, given.first, given.first + count, seconds)
    report = campaign.run()
    print(summary(campaign, given.seed))
    if given.json:
        given.json.write_text(json.dumps(as_data(campaign, given.seed), indent=1))
    if given.keep:
        keep(report)
    return bool(report.finds)


def summary(campaign: Campaign, seed: int) -> str:
    """The end of a run, in words."""
    report, spent = campaign.report, time.monotonic() - campaign.began
    kinds: dict[str, int] = {}
    for word in report.words:
        kinds[word.split()[0]] = kinds.get(word.split()[0], 0) + 1
    lines = [
        f"seed {seed}: {report.programs} programs in {spent:.0f} s on {campaign.jobs} processes"
    ]
    lines.append("reached: " + ", ".join(f"{n} {k}s" for k, n in sorted(kinds.items())))
    refused = ", ".join(f"{k}: {n}" for k, n in sorted(report.refusals.items()))
    lines.append(f"refused with a code: {refused or 'none'}")
    lines += [
        f"{n} x {s} (program {campaign.classes[s].index})" for s, n in campaign.counts.items()
    ]
    lines += [f"{n} more like {s}" for s, n in report.alike.items()]
    lines.append(f"{len(campaign.classes)} classes of finds")
    return "\n".join(lines)


def as_data(campaign: Campaign, seed: int) -> dict[str, Any]:
    report = campaign.report
    return {
        "seed": seed,
        "programs": report.programs,
        "seconds": round(time.monotonic() - campaign.began),
        "finds": [asdict(f) for f in campaign.classes.values()],
        "counts": campaign.counts,
        "refusals": dict(report.refusals),
        "refused": report.examples,
        "words": sorted(report.words),
    }


def keep(report: Report) -> None:
    """The fewest programs, greedily, that reach the most; those kept before come first."""
    before = json.loads(KEPT.read_text()) if KEPT.exists() else []
    seen: set[str] = set()
    chosen = list(before)
    rest = sorted(report.kept, key=lambda p: -len(p["words"]))
    for program in rest:
        new = set(program["words"]) - seen
        if len(new) >= 3 and len(chosen) < MOST_KEPT and len(program["statements"]) <= LONGEST:
            chosen.append({k: v for k, v in program.items() if k != "words"})
            seen |= new
    lines = ",\n".join(json.dumps(program) for program in chosen)
    KEPT.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    sys.exit(main())
