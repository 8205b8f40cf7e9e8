"""Running commands, in this process and in one of their own."""

import os
import subprocess
import sys

import pytest

from adjoint.cli import run


@pytest.fixture
def adjoint_command(capsys):
    """Run a command here: (exit code, stdout, stderr)."""

    def call(*arguments):
        try:
            code = run([*map(str, arguments)])
        except SystemExit as exit:  # argparse leaves by itself
            code = exit.code
        return (code, *capsys.readouterr())

    return call


@pytest.fixture
def adjoint_process():
    """Run a command in a process of its own: (exit code, stdout, stderr)."""

    def call(*arguments, **environment):
        command = [sys.executable, "-m", "adjoint", *map(str, arguments)]
        settings = os.environ | environment
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=settings)
        return done.returncode, done.stdout, done.stderr

    return call
