"""A process of the fuzzer: chunks in by number, reports out as lines of JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from typing import Any

from tests.fuzz.chunk import Chunk, Report, from_data, to_data
from tests.fuzz.modes import checked
from tests.fuzz.small_tiles import force
from tests.fuzz.source import Whole


def written(report: Report) -> dict[str, Any]:
    """A report as plain data."""
    finds = [asdict(f) for f in report.finds]
    return {
        "programs": report.programs,
        "finds": finds,
        "alike": report.alike,
        "refusals": report.refusals,
        "examples": report.examples,
        "words": sorted(report.words),
        "kept": report.kept,
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without", default="")
    parser.add_argument("--modes", default="")
    parser.add_argument("--not-modes", default="")
    parser.add_argument("--on", default="")
    parser.add_argument("--alone", action="store_true")
    options = parser.parse_args()
    force()
    if options.alone:
        given = json.loads(sys.stdin.read())
        return bool(checked(from_data(given["program"]), given["mode"])[0])
    out = os.fdopen(os.dup(1), "w")  # programs may print
    os.dup2(2, 1)
    words = lambda text: [w for w in text.split(",") if w]  # noqa: E731

    def tell(index: int, mode: str, program: Whole) -> None:
        said = {"index": index, "mode": mode, "program": to_data(program)}
        print(json.dumps(said), file=out, flush=True)

    for line in sys.stdin:
        chunk, first, last = map(int, line.split())
        left_out = words(options.without), words(options.not_modes)
        run = Chunk(options.seed, chunk, *left_out, options.on)
        report = run.run(first, last, words(options.modes), tell)
        print(json.dumps(written(report)), file=out, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
