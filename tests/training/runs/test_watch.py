"""Runs that are watched: what is measured, how they end, and that they compute the same."""

import json
import math

import numpy as np
import pytest

from adjoint import FileError, Tensor, TrainingError, jit, nn
from adjoint.training import Loop, read_run, seed
from adjoint.training.cli_options import RunOptions, use
from adjoint.training.runs.page import DATA, PAGE
from adjoint.training.runs.watch import norm


def trained(steps=8, stop=None, jitted=True, **named):
    """A small run; its weights' bits and its loop. `stop(step, loop)` is called in every step."""
    seed(0)
    model = nn.Linear(3, 2)
    optimizer = nn.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    step = jit(step) if jitted else step
    loop = Loop(steps, model=model, optimizer=optimizer, label="small", quiet=True, **named)
    for i in loop:
        loop.report(loss=step(Tensor.ones(4, 3)))
        if stop is not None:
            stop(i, loop)
    return model.weight.numpy().tobytes(), loop


def only_run(folder):
    (place,) = folder.iterdir()
    return read_run(place)


@pytest.mark.parametrize("jitted", [True, False])
def test_a_run_records_losses_rates_norms_speed_and_memory(tmp_path, jitted):
    trained(jitted=jitted, watch=tmp_path)
    run = only_run(tmp_path)
    assert (run.state, run.steps, run.step) == ("finished", 8, 7)
    assert run.last("learning rate") == pytest.approx(0.1)
    assert {"loss", "weight norm", "steps per second", "memory of tensors"} <= set(run.curves)
    if jitted:
        assert run.last("gradient norm") > 0
    assert all(math.isfinite(y) for points in run.curves.values() for _, _, y in points)


def test_watching_changes_no_bits(tmp_path):
    assert trained(watch=tmp_path)[0] == trained()[0]


def test_the_page_and_its_data_are_there(tmp_path):
    _, loop = trained(watch=tmp_path)
    assert loop.watched.page.name == PAGE
    text = (loop.watched.folder / DATA).read_text(encoding="utf-8")
    inside = text.removeprefix("adjointRun(JSON.parse(").removesuffix("));\n")
    data = json.loads(json.loads(inside))
    assert data["run"]["state"] == "finished"
    assert len(data["run"]["curves"]["loss"][2]) == 8
    assert sorted(f.name for f in loop.watched.folder.iterdir()) == [DATA, PAGE, "log.jsonl"]


def test_the_norm_is_that_of_all_numbers():
    a, b = Tensor([3.0, 0.0]), Tensor([[4.0]], dtype="bfloat16")
    assert norm([a, b]) == pytest.approx(5.0)


# ---- ends


def test_a_loop_that_is_broken_off_is_left_early(tmp_path):
    loop = Loop(10, watch=tmp_path, quiet=True)
    for step in loop:
        loop.report(loss=1.0)
        if step == 3:
            break
    assert only_run(tmp_path).state == "left early"


def test_a_loss_that_is_not_finite_is_a_failure_with_its_reason(tmp_path):
    with pytest.raises(TrainingError):
        trained(stop=lambda step, loop: loop.report(worse_loss=math.nan), watch=tmp_path)
    run = only_run(tmp_path)
    assert run.state == "failed"
    assert "E9005" in run.error


def test_an_error_in_the_body_is_left_early_until_more_is_known(tmp_path):
    loops = []

    def failing(step, loop):
        loops.append(loop)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        trained(stop=failing, watch=tmp_path)
    assert only_run(tmp_path).state == "left early"
    loops[0].watched.end("failed", "ZeroDivisionError")
    loops[0].watched.end("finished")  # too late
    assert only_run(tmp_path).state == "failed"


def test_a_disk_that_takes_no_more_ends_the_log_and_not_the_run(tmp_path, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    def stop(step, loop):
        if step == 3:
            monkeypatch.setattr(loop.watched._log, "write", full)

    _, loop = trained(stop=stop, watch=tmp_path)
    assert len(loop.history["loss"]) == 8
    assert capsys.readouterr().err.count("no longer watched") == 1


# ---- folders


def test_every_run_has_a_folder_of_its_own(tmp_path):
    for _ in range(3):
        list(Loop(1, watch=tmp_path, quiet=True, label="same"))
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("label", ["../../out", "a/b", "", "...", "<b>", "x" * 500, "été", "\0"])
def test_whatever_a_run_is_called_it_stays_in_its_folder(tmp_path, label):
    list(Loop(1, watch=tmp_path / "runs", quiet=True, label=label))
    assert [p.name for p in tmp_path.iterdir()] == ["runs"]
    assert only_run(tmp_path / "runs").name == (label or "training")


def test_a_place_that_cannot_be_written_is_an_error_before_the_first_step(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "deeper"):
        with pytest.raises(FileError, match="E9006"):
            list(Loop(1, watch=place, quiet=True))


def test_a_command_line_watches_a_loop_that_knows_nothing_of_it(tmp_path, capsys):
    with use(RunOptions(name="script", watch=str(tmp_path), tensorboard=True)):
        loop = Loop(3, label="small")
        for _ in loop:
            loop.report(loss=1.0)
        list(Loop(2, label="small", quiet=True))
    assert "watch file://" in capsys.readouterr().err
    assert sorted(read_run(p).name for p in tmp_path.iterdir()) == ["small", "small"]
    assert len(list(tmp_path.glob("*/events.out.tfevents.*"))) == 2


def test_a_resumed_run_begins_with_what_was_recorded(tmp_path):
    checkpoint = str(tmp_path / "run.ckpt")
    trained(steps=4, checkpoint=checkpoint)
    trained(steps=8, resume=checkpoint, watch=tmp_path / "runs")
    points = only_run(tmp_path / "runs").curves["loss"]
    assert [step for step, _, _ in points] == list(range(8))
    assert [at is None for _, at, _ in points] == [True] * 4 + [False] * 4


# ---- samples


def test_samples_are_texts_and_images(tmp_path):
    def stop(step, loop):
        loop.sample(words="hello", picture=Tensor(np.eye(9, dtype=np.float32)), other={"a": 1})

    trained(steps=2, stop=stop, watch=tmp_path)
    samples = only_run(tmp_path).samples
    assert [s["name"] for s in samples] == ["words", "picture", "other"] * 2
    assert samples[0]["text"] == "hello"
    assert samples[1]["image"].startswith("data:image/png;base64,")
    assert samples[2]["text"] == "{'a': 1}"


def test_without_a_page_samples_are_not_read():
    class Unread:
        def __str__(self):
            raise AssertionError

    loop = Loop(1, quiet=True)
    for _ in loop:
        loop.sample(x=Unread())
