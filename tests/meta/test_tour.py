"""`docs/tour.md` shows what its programs print, in a process that has done nothing else."""

import os
import subprocess
import sys
from pathlib import Path

from docs.build_tour import PAGE

ROOT = Path(__file__).resolve().parents[2]
RUN = "import sys; from docs.build_tour import written; sys.stdout.buffer.write(written().encode())"


def test_the_tour_prints_what_it_shows():
    kept = ("ADJOINT_CACHE", "ADJOINT_CACHE_DIR")  # the other settings would show in the texts
    given = {k: v for k, v in os.environ.items() if k in kept or not k.startswith("ADJOINT_")}
    run = subprocess.run(
        [sys.executable, "-c", RUN], cwd=ROOT, env=given, capture_output=True, check=False
    )
    assert run.returncode == 0, run.stderr.decode()
    written = run.stdout.decode()
    assert PAGE.read_text(encoding="utf-8") == written, "docs/tour.md is stale: run `make docs`"


def test_every_stage_has_a_text():
    titles = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:3] == "## "]
    for stage in ("graph", "gradient", "Core module", "schedule", "Loops", "Code", "Running"):
        assert any(stage in title for title in titles), stage
