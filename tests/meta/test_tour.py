"""Pages show what their programs print, in a process that has done nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from docs.build_tour import PAGE, PAGES

ROOT = Path(__file__).resolve().parents[2]
RUN = """
import sys
from docs.build_tour import PAGES, written
sys.stdout.buffer.write(written(PAGES[int(sys.argv[1])]).encode())
"""


@pytest.mark.parametrize("number", range(len(PAGES)), ids=[page.stem for page in PAGES])
def test_the_page_prints_what_it_shows(number):
    kept = ("ADJOINT_CACHE", "ADJOINT_CACHE_DIR")  # the other settings would show in the texts
    given = {k: v for k, v in os.environ.items() if k in kept or not k.startswith("ADJOINT_")}
    run = subprocess.run(
        [sys.executable, "-c", RUN, str(number)],
        cwd=ROOT,
        env=given,
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr.decode()
    written = run.stdout.decode()
    page = PAGES[number]
    assert page.read_text(encoding="utf-8") == written, f"{page.name} is stale: run `make docs`"


def test_every_stage_has_a_text():
    titles = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:3] == "## "]
    for stage in ("graph", "gradient", "Core module", "schedule", "Loops", "Code", "Running"):
        assert any(stage in title for title in titles), stage
