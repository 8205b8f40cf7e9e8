"""Logs of runs: what is written is read again, whatever else stands in the file."""

import json
import math

import pytest

from adjoint import FileError
from adjoint.training import find_runs, read_run
from adjoint.training.runs.log import LOG, LogFile


def written(folder, *lines):
    folder.mkdir(parents=True, exist_ok=True)
    log = LogFile(folder)
    for line in lines:
        log.write(line)
    log.close()
    return folder


BEGIN = {"run": "small", "started": 5.0, "steps": 3, "command": ["adjoint", "train"]}


def test_what_is_written_is_read_again(tmp_path):
    points = [{"step": i, "time": i / 2, "values": {"loss": 1.0 / (i + 1)}} for i in range(3)]
    sample = {"step": 2, "time": 1.0, "sample": "words", "text": "a <b>"}
    run = read_run(written(tmp_path, BEGIN, *points, sample, {"ended": "finished", "time": 2.0}))
    assert (run.name, run.steps, run.state, run.seconds, run.step) == ("small", 3, "finished", 2, 2)
    assert run.curves["loss"] == [(0, 0.0, 1.0), (1, 0.5, 0.5), (2, 1.0, 1 / 3)]
    assert run.samples == [{"step": 2, "name": "words", "text": "a <b>"}]


def test_numbers_that_are_not_finite_are_numbers_again(tmp_path):
    values = {"a": math.nan, "b": math.inf, "c": -math.inf}
    file = written(tmp_path, {"step": 0, "time": 0.0, "values": values}) / LOG
    assert "NaN" not in file.read_text()
    run = read_run(file)
    assert math.isnan(run.last("a"))
    assert (run.last("b"), run.last("c")) == (math.inf, -math.inf)


@pytest.mark.parametrize(
    "rubbish",
    [b"", b"\xff\xfe", b"[1, 2]", b"null", b"{", b'{"step": "x", "values": {"a": 1}}',
     b'{"step": 1, "values": 5}', b'{"step": true, "values": {"a": 1}}', b'{"run": 5}',
     b'{"step": 1, "values": {"a": "<script>"}}', b'{"sample": "x"}', b"[" * 100_000,
     b'{"run": "x", "command": 5, "steps": "many", "started": {}}'],
)  # fmt: skip
def test_lines_that_say_nothing_are_passed_over(tmp_path, rubbish):
    written(tmp_path, BEGIN, {"step": 0, "time": 0.0, "values": {"loss": 1.0}})
    with open(tmp_path / LOG, "ab") as file:
        file.write(rubbish + b"\n" + json.dumps({"step": 1, "values": {"loss": 2.0}}).encode())
    run = read_run(tmp_path)
    assert [y for _, _, y in run.curves["loss"]] == [1.0, 2.0]


def test_a_torn_last_line_is_passed_over(tmp_path):
    file = written(tmp_path, BEGIN, {"step": 0, "values": {"loss": 1.0}}) / LOG
    file.write_bytes(file.read_bytes() + b'{"step": 1, "val')
    assert read_run(tmp_path).step == 0


def test_runs_are_found_in_folders_and_by_themselves_each_once(tmp_path):
    written(tmp_path / "runs" / "b", BEGIN | {"started": 9.0})
    written(tmp_path / "runs" / "a", BEGIN | {"started": 10.0})
    (tmp_path / "runs" / "no run").mkdir()
    found = find_runs([tmp_path / "runs", tmp_path / "runs" / "a", tmp_path / "runs" / "b" / LOG])
    assert [run.started for run in found] == [9.0, 10.0]


def test_a_place_without_a_run_is_a_coded_error(tmp_path):
    with pytest.raises(FileError, match="E9006"):
        find_runs([tmp_path / "gone"])
    with pytest.raises(FileError, match="E9006"):
        find_runs([tmp_path])
