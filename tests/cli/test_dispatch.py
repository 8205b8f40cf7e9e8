"""The door of the command line: help, versions, wrong words, what is loaded."""

import subprocess
import sys

import pytest

import adjoint
from adjoint.cli.dispatch import COMMANDS


def test_help_names_every_command_with_examples_and_exit_codes(adjoint_command):
    code, out, _ = adjoint_command("--help")
    assert code == 0
    assert all(f"  {name}" in out for name in COMMANDS)
    assert "examples:" in out
    assert "exit codes: 0 fine, 1 failed, 2 wrong usage" in out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples_and_exit_codes(adjoint_command, name):
    code, out, _ = adjoint_command(name, "--help")
    assert code == 0
    assert out.startswith(f"usage: adjoint {name}")
    assert f"  adjoint {name}" in out
    assert "exit codes" in out


def test_the_version(adjoint_command):
    assert adjoint_command("--version") == (0, f"adjoint {adjoint.__version__}\n", "")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["trian"], "did you mean 'train'?"),
        (["docter"], "did you mean 'doctor'?"),
        (["zzz"], "commands: doctor, train"),
        (["cache", "cler"], "did you mean 'clear'?"),
        (["core", "chek", "x"], "did you mean 'check'?"),
        (["completion", "bsh"], "did you mean 'bash'?"),
        (["train", "x.py", "--step", "3"], "did you mean '--steps'?"),
        (["--verison"], "did you mean '--version'?"),
        ([], "usage: adjoint"),
        (["cache"], "required"),
        (["bench", "--only", "matmull"], "did you mean 'matmul'?"),
        (["bench", "--seconds", "-1"], "number of seconds"),
    ],
)
def test_a_wrong_word_is_wrong_usage_with_the_nearest_right_one(adjoint_command, words, hint):
    code, out, err = adjoint_command(*words)
    assert (code, out) == (2, "")
    assert hint in err
    assert "Traceback" not in err


def test_help_loads_neither_a_command_nor_the_compiler():
    code = (
        "import sys; from adjoint.cli import run\n"
        "try: run(['--help'])\n"
        "except SystemExit: pass\n"
        "print(*sorted(m for m in sys.modules if m.startswith(('adjoint.', 'llvm'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    packages = {name.split(".")[1] for name in loaded if "." in name}
    assert not packages & {"schedule", "kernel", "codegen", "module", "nn", "training", "data"}
    assert not [name for name in loaded if name.startswith("llvm")]
    assert {n for n in loaded if n.startswith("adjoint.cli.")} == {
        "adjoint.cli.dispatch", "adjoint.cli.exits", "adjoint.cli.parser"}  # fmt: skip


def test_a_switch_with_a_wrong_value_is_wrong_usage(adjoint_command, monkeypatch):
    monkeypatch.setenv("ADJOINT_THREADS", "many")
    code, _, err = adjoint_command("cache", "ls")
    assert code == 2
    assert "ADJOINT_THREADS='many'" in err


def test_an_unknown_default_device_is_no_traceback(adjoint_process):
    code, _, err = adjoint_process("bench", "--only", "realize", ADJOINT_DEVICE="ABACUS")
    assert code == 1
    assert err.startswith("error[E6002]: device: unknown device 'ABACUS'")
