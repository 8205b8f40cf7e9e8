"""Python in processes of their own, for what must not see this one: imports, settings, crashes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def python(
    *arguments: object, timeout: int = 600, **settings: str
) -> subprocess.CompletedProcess[str]:
    """A process that has ended: Python with these arguments, in the root of the repository;
    settings are variables of its environment, `timeout` is in seconds."""
    command = [sys.executable, *map(str, arguments)]
    env = os.environ | settings
    return subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=timeout, check=False
    )


def printed(*arguments: object, timeout: int = 600, **settings: str) -> str:
    """What such a process prints; it must end well."""
    done = python(*arguments, timeout=timeout, **settings)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
