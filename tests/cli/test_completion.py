"""Completion scripts: they parse, and offer what the parsers take."""

import shutil
import subprocess

import pytest

from adjoint.cli.dispatch import COMMANDS

COMPLETE = """
source /dev/stdin
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_adjoint 2>/dev/null; printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def script(adjoint_command):
    def call(shell):
        code, out, err = adjoint_command("completion", shell)
        assert (code, err) == (0, "")
        return out

    return call


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_names_every_command_and_option(script, shell):
    text = script(shell)
    assert all(name in text for name in COMMANDS)
    assert "--resume" in text
    assert "conformance" in text


@pytest.mark.parametrize(
    ("shell", "other"), [("bash", "bash"), ("zsh", "bash"), ("zsh", "zsh"), ("fish", "fish")]
)
def test_a_script_parses(script, shell, other):
    if shutil.which(other) is None:
        pytest.skip(f"no {other} here")
    command = [other, "--no-execute" if other == "fish" else "-n"]
    done = subprocess.run(command, input=script(shell), text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "offered", "not_offered"),
    [
        ("adjoint ''", {"train", "doctor", "--version"}, {"ls"}),
        ("adjoint tr", {"train"}, {"doctor"}),
        ("adjoint cache ''", {"ls", "clear"}, {"train"}),
        ("adjoint core c", {"check", "canon", "conformance"}, {"grad"}),
        ("adjoint core grad --w", {"--wrt"}, {"--json"}),
        ("adjoint train --steps 3 --re", {"--resume"}, {"--steps"}),
        ("adjoint completion ''", {"bash", "zsh", "fish"}, {"train"}),
    ],
)
def test_bash_offers_what_may_follow(script, words, offered, not_offered):
    done = subprocess.run(
        ["bash", "-c", COMPLETE.format(words=words)],
        input=script("bash"), text=True, capture_output=True, check=True,
    )  # fmt: skip
    found = set(done.stdout.split())
    assert offered <= found
    assert not found & not_offered
