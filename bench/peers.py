"""What the benchmarks share: peers in environments of their own, worker processes, and tables.

What may live here: nothing that is about one question.
"""

from __future__ import annotations

import json
import os
import platform
import select
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REQUIREMENTS = {
    "jax": ["jax==0.10.2", "jaxlib"],
    "torch": ["torch==2.13.0", "numpy"],
    "autograd": ["autograd==1.9.1"],
    "tinygrad": ["tinygrad==0.14.0"],
}


class TimedOutError(Exception):
    """A worker gave no answer in time."""


class DiedError(Exception):
    """A worker ended without an answer."""


def commit_options(doc: str | None, rounds: int) -> Namespace:
    """The options of a bench that measures this commit beside another, each in processes."""
    parser = ArgumentParser(description=doc)
    parser.add_argument("--measure", action="store_true", help="this process, as JSON")
    parser.add_argument("--old", type=Path, help="a checkout of another commit")
    parser.add_argument("--rounds", type=int, default=rounds)
    add_options(parser)
    return parser.parse_args()


def checkouts(options: Namespace) -> list[Path]:
    """This one, and the other that is asked for."""
    return [HERE.parent, *([options.old.resolve()] if options.old else [])]


def add_options(parser: ArgumentParser) -> None:
    """The options that every benchmark has."""
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="PEER=PATH",
        help="an interpreter that has the peer; may be given several times",
    )
    parser.add_argument("--check", action="store_true", help="fail if a bar is missed")
    parser.add_argument("--no-write", action="store_true", help="print only")


def interpreter(peer: str, given: list[str]) -> str:
    """The interpreter that has a peer: as given, in ADJOINT_PEERS, or made in bench/.peers."""
    named = dict(entry.split("=", 1) for entry in given)
    if peer == "adjoint" or peer in named:
        return named.get(peer, sys.executable)
    folder = Path(os.environ.get("ADJOINT_PEERS", HERE / ".peers")) / peer
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        print(f"setting up {folder} with {' '.join(REQUIREMENTS[peer])}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *REQUIREMENTS[peer]], check=True)
        (folder / ".ready").touch()
    return str(python)


class Worker:
    """A process that measures one library: it says its version, then answers line for line."""

    def __init__(self, python: str, script: str, library: str, *options: str):
        # tinygrad insists on a device that can run, though nothing runs here.
        path = str(HERE.parent) if library == "adjoint" else ""
        environment = {**os.environ, "DEV": "CPU", "JAX_PLATFORMS": "cpu", "PYTHONPATH": path}
        self.process = subprocess.Popen(
            [python, str(HERE / script), library, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.version = self._answer(None)

    def _answer(self, limit: float | None) -> Any:
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], limit)[0]:
            self.process.kill()
            self.process.wait()
            raise TimedOutError
        line = self.process.stdout.readline()
        if not line:
            raise DiedError(f"exit status {self.process.wait()}")
        return json.loads(line)

    def ask(self, limit: float | None = None, **request: Any) -> Any:
        """The answer to a request; after `limit` seconds the process is ended."""
        assert self.process.stdin is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return self._answer(limit)

    def close(self) -> None:
        """Let the process end."""
        assert self.process.stdin is not None
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait()


def markdown(table: list[list[str]]) -> str:
    """A table whose first row is its head."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) + " |" for r in table
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]])


def processor() -> str:
    """The name of this machine's processor."""
    info = Path("/proc/cpuinfo")
    names = [
        line.partition(":")[2].strip()
        for line in (info.read_text().splitlines() if info.exists() else [])
        if line.startswith("model name")
    ]
    return names[0] if names else platform.processor() or platform.machine()


def made(versions: str) -> str:
    """When and where a report was made, and with what."""
    return f"""{datetime.now(UTC):%Y-%m-%d}, {processor()}, {os.cpu_count()} logical processors,
Python {platform.python_version()}{versions}.
Made by `make bench`.
"""


def write(name: str, text: str) -> None:
    """Keep a report under results/."""
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / name).write_text(text, encoding="utf-8")
