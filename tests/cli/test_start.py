"""The start of the command line: Ctrl-C while it loads its modules."""

import subprocess
import sys

import pytest

from adjoint import start

SCRIPT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it

class Interrupting:
    def find_spec(self, name, *rest):
        if name == "{module}":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from adjoint.cli import main
main(["--version"])
"""


def ended(tmp_path, program, module):
    """Run a program of that name which gets Ctrl-C as it imports the module."""
    path = tmp_path / program
    path.write_text(SCRIPT.format(module=module))
    return subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", ["numpy", "adjoint.ops", "adjoint.cli.dispatch"])
def test_an_interrupt_while_modules_are_loaded_ends_it_quietly(tmp_path, module):
    done = ended(tmp_path, "adjoint", module)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_other_programs_get_a_keyboard_interrupt(tmp_path):
    done = ended(tmp_path, "train.py", "adjoint.ops")
    assert "KeyboardInterrupt" in done.stderr


@pytest.mark.parametrize(
    ("program", "words", "is_it"),
    [
        ("/opt/bin/adjoint", ["python", "/opt/bin/adjoint"], True),
        ("-m", ["python", "-X", "dev", "-m", "adjoint", "doctor"], True),
        ("-m", ["python", "-m", "pytest", "adjoint"], False),
        ("-c", ["python", "-c", "import adjoint"], False),
        ("/home/me/adjoint.py", ["python", "adjoint.py"], False),
        ("", ["python"], False),
    ],
)
def test_the_command_line_knows_itself(monkeypatch, program, words, is_it):
    monkeypatch.setattr(sys, "argv", [program, *words[2:]])
    monkeypatch.setattr(sys, "orig_argv", words)
    assert start.is_command_line() is is_it
