"""From `pip install` to the first gradient: what is downloaded, and how long it takes.

Builds the wheel, downloads it with what it needs, installs it into a new environment from those
files alone, and starts the small program of first_gradient.py there: with nothing cached, then
again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import peers

MOST_BYTES = 100e6
MOST_SECONDS = 2.0
Row = list[str]


def seconds(*command: str, **environment: str) -> float:
    """How long a command takes that must not fail."""
    start = perf_counter()
    done = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL)
    taken = perf_counter() - start
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}")
    return taken


def downloaded(folder: Path) -> list[tuple[str, int]]:
    """The wheels a user gets, and their sizes."""
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    seconds(*pip, "wheel", "--no-deps", "-w", str(folder), str(peers.HERE.parent))
    (wheel,) = folder.glob("adjoint-*.whl")
    seconds(*pip, "download", "-d", str(folder), str(wheel))
    return sorted((file.name.split("-")[0], file.stat().st_size) for file in folder.iterdir())


def installed(folder: Path, wheels: Path) -> tuple[str, float]:
    """An interpreter that has Adjoint, and the seconds of its pip."""
    seconds(sys.executable, "-m", "venv", str(folder))
    python = str(folder / "bin" / "python")
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    return python, seconds(*pip, "--no-index", "--find-links", str(wheels), "adjoint")


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = downloaded(folder / "wheels")
        total = sum(size for _, size in files)
        python, install = installed(folder / "environment", folder / "wheels")
        run = (python, str(peers.HERE / "first_gradient.py"), "adjoint")
        cache = {"ADJOINT_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": ""}
        first, second = seconds(*run, **cache), min(seconds(*run, **cache) for _ in range(3))
    parts = ", ".join(f"{name} {size / 1e6:.1f}" for name, size in files)
    return [
        ["download", f"{total / 1e6:.1f} MB ({parts})", verdict(total, MOST_BYTES, "100 MB")],
        ["`pip install`, from those files", f"{install:.1f} s", "–"],
        ["first gradient after the install", f"{first:.2f} s", verdict(first, MOST_SECONDS, "2 s")],
        ["a second process", f"{second:.2f} s", verdict(second, MOST_SECONDS, "2 s")],
    ]


def verdict(value: float, most: float, text: str) -> str:
    return f"≤ {text} {'met' if value <= most else 'MISSED'}"


def report(text: str) -> str:
    return f"""# From `pip install` to the first gradient

{text}

A new environment that has nothing but Python; wheels are downloaded first, so `pip install` is the
unpacking alone. The program imports Adjoint and prints a gradient of a small MLP (2-16-16-1);
seconds are those of the whole process, the first with no compiled code cached.

{peers.made("")}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a bar is missed")
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    rows = [["what", "measured", "bar"], *measure()]
    text = peers.markdown(rows)
    print(text)
    if not options.no_write:
        peers.write("install.md", report(text))
    return int(options.check and "MISSED" in text)


if __name__ == "__main__":
    sys.exit(main())
