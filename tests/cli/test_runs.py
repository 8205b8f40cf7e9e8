"""`adjoint train --watch` and `adjoint runs`: pages, logs, how runs ended, wrong usage."""

import json

import pytest

SCRIPT = """\
import sys
from adjoint import training
loop = training.Loop(5, label="small <b>")
for step in loop:
    loop.report(loss=1 / (step + 1), note="text")
    loop.sample(words=f"at {step}")
    if "fail" in sys.argv and step == 2:
        raise ValueError("on purpose")
    if "leave" in sys.argv and step == 2:
        sys.exit(3)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.py").write_text(SCRIPT)
    return tmp_path


def listed(adjoint_command, *arguments):
    code, out, err = adjoint_command("runs", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def test_runs_are_listed_with_their_states_and_losses(folder, adjoint_command):
    assert adjoint_command("train", "small.py", "--watch")[0] == 0
    assert adjoint_command("train", "small.py", "--watch", "--", "fail")[0] == 1
    assert adjoint_command("train", "small.py", "--watch", "--", "leave")[0] == 3
    found = listed(adjoint_command)
    assert [run["state"] for run in found] == ["finished", "failed", "failed"]
    assert [run["step"] for run in found] == [4, 2, 2]
    assert found[0]["last"]["loss"] == 0.2
    log = (folder / found[1]["folder"] / "log.jsonl").read_text()
    assert "ValueError: on purpose" in log
    code, out, _ = adjoint_command("runs")
    assert code == 0
    assert out.splitlines()[0].split()[:3] == ["run", "began", "state"]
    assert "loss 0.2000" in out


def test_runs_go_where_they_are_told_with_event_files(folder, adjoint_command):
    options = ["--runs", "here", "--tensorboard", "--quiet"]
    code, _, err = adjoint_command("train", "small.py", *options)
    assert (code, err) == (0, "")
    assert len(list((folder / "here").glob("*/events.out.tfevents.*"))) == 1
    assert len(listed(adjoint_command, "here")) == 1


def test_a_page_compares_runs(folder, adjoint_command):
    for _ in range(2):
        adjoint_command("train", "small.py", "--watch", "--quiet")
    code, out, _ = adjoint_command("runs", "--page", "compared.html")
    assert (code, out) == (0, "2 runs in compared.html\n")
    assert "<title>2 runs</title>" in (folder / "compared.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["runs"], "there is no folder runs here"),
        (["runs", "gone"], "error[E9006]"),
        (["runs", "small.py", "--page", "no/such/x.html"], "error[E9006]: cannot write"),
        (["train", "small.py", "--runs", "small.py"], "error[E9006]: cannot write"),
    ],
)
def test_what_cannot_be_done_is_a_coded_error(folder, adjoint_command, words, what):
    code, _, err = adjoint_command(*words)
    assert code in (1, 2)
    assert what in err or "E9006" in err


def test_a_program_without_a_loop_is_told(folder, adjoint_command):
    (folder / "plain.py").write_text("print('nothing')")
    assert "--watch had no effect" in adjoint_command("train", "plain.py", "--watch")[2]
