"""The loop around training: values, checkpoints, Ctrl-C, resuming, losses that are not finite."""

import os
import signal
import threading

import numpy as np
import pytest

from adjoint import AdjointError, ArgumentError, FileError, Tensor, TrainingError, data
from adjoint.training import Interrupted, Loop, seed
from adjoint.training.cli_options import RunOptions, use
from adjoint.training.loop import _number

INPUTS = np.linspace(-1, 1, 60, dtype=np.float32).reshape(20, 3)


class Model:
    """A weight that is pulled towards noisy batches: every kind of state matters."""

    def __init__(self):
        self.weight = Tensor.randn(3).realize()
        self.loader = data.Loader(list(INPUTS), 4, shuffle=True)
        self.batches = self.loader.forever()

    def step(self):
        batch = Tensor(next(self.batches)).mean(0) + 0.1 * Tensor.randn(3)
        self.weight.assign(0.9 * self.weight + 0.1 * batch).realize()
        return (self.weight * self.weight).sum()


def trained(steps=12, stop_at=None, **named):
    """Train; the bits of the weight and the history. `stop_at` presses Ctrl-C in that step."""
    seed(3)
    model = Model()
    loop = Loop(steps, model={"w": model.weight}, loader=model.loader, quiet=True, **named)
    for step in loop:
        if step == stop_at:
            os.kill(os.getpid(), signal.SIGINT)
        loop.report(loss=model.step())
    return model.weight.numpy().tobytes(), loop.history


# ---- values


def test_steps_are_counted_from_zero():
    assert list(Loop(3, quiet=True)) == [0, 1, 2]
    assert list(Loop(0, quiet=True)) == []
    assert len(Loop(7)) == 7


def test_the_history_has_a_point_for_every_hundredth_and_the_last():
    loop = Loop(1000, quiet=True)
    for step in loop:
        loop.report(loss=1.0 / (step + 1))
    assert [s for s, _ in loop.history["loss"]] == [*range(0, 1000, 10), 999]
    assert loop.values["loss"] == 1 / 1000


def test_a_value_that_is_reported_rarely_is_recorded_each_time():
    loop = Loop(100, every=10, quiet=True)
    for step in loop:
        loop.report(loss=1.0)
        if step % 25 == 7:
            loop.report(accuracy=step)
    assert loop.history["accuracy"] == [(7, 7.0), (32, 32.0), (57, 57.0), (82, 82.0)]


def test_values_are_read_only_when_they_are_shown_or_recorded():
    reads = []

    class Counting(Tensor):
        def item(self):
            reads.append(1)
            return super().item()

    loop = Loop(1000, every=250, quiet=True)
    for _ in loop:
        loop.report(loss=Counting(1.0))
    assert len(reads) == 5  # steps 0, 250, 500, 750, 999


@pytest.mark.parametrize("value", [Tensor(2.0), Tensor([2]), np.float64(2), np.array(2.0), 2, True])
def test_anything_that_is_one_number_is_a_value(value):
    loop = Loop(1, quiet=True)
    for _ in loop:
        loop.report(x=value, note="a text")
    assert loop.history == {"x": [(0, float(value.item() if hasattr(value, "item") else value))]}
    assert loop.values["note"] == "a text"


@pytest.mark.parametrize("value", [None, [1.0, 2.0], object(), Tensor([1.0, 2.0]), np.ones(3), 1j])
def test_what_is_no_number_is_an_error_with_its_name(value):
    with pytest.raises(AdjointError, match="accuracy"):
        _number("accuracy", value)


def test_progress_goes_to_the_error_stream(capsys):
    loop = Loop(2, label="run")
    for _ in loop:
        loop.report(loss=0.5)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("run  100%  2/2  loss 0.5000")


@pytest.mark.parametrize("bad", [-1, 2.5, "3", None, True])
def test_a_number_of_steps_is_a_whole_number(bad):
    with pytest.raises(ArgumentError, match="E2006"):
        Loop(bad)


# ---- losses


def reported(steps, every, loss):
    loop = Loop(steps, every=every, quiet=True)
    for step in loop:
        loop.report(loss=loss(step))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Tensor(float("-inf"))])
def test_a_loss_that_is_not_finite_names_its_step_and_the_way_to_find_it(value):
    with pytest.raises(TrainingError) as caught:
        reported(10, 1, lambda step: value if step == 6 else 2.5)
    text = str(caught.value)
    assert caught.value.code == "E9005"
    assert "at step 6; it was 2.5 at step 5" in text
    assert "debug_nans" in text


def test_a_nan_between_two_looks_is_found_at_the_end_at_the_latest():
    with pytest.raises(TrainingError, match="loss is nan at step 49"):
        reported(50, 100, lambda step: float("nan") if step else 1.0)


def test_other_values_may_be_nan():
    loop = Loop(2, quiet=True)
    for _ in loop:
        loop.report(loss=1.0, ratio=float("nan"))


# ---- checkpoints


def test_ctrl_c_ends_the_step_saves_and_says_how_to_resume(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    whole = trained()
    with pytest.raises(Interrupted) as caught:
        trained(stop_at=4, label="run")
    assert (caught.value.code, isinstance(caught.value, KeyboardInterrupt)) == (130, True)
    err = capsys.readouterr().err
    assert "stopped after step 5 of 12; saved run.ckpt" in err
    assert "--resume run.ckpt" in err
    assert trained(resume="run.ckpt") == whole
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def pressed(times, after, **objects):
    """A loop whose first step presses Ctrl-C so many times."""
    for step in Loop(5, quiet=True, **objects):
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
        after.append(step)


def test_a_second_ctrl_c_leaves_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    after = []
    with pytest.raises(KeyboardInterrupt) as caught:
        pressed(2, after, model={"w": Tensor([1.0])})
    assert not isinstance(caught.value, Interrupted)
    assert after == []
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_with_nothing_to_save_ctrl_c_is_ctrl_c():
    with pytest.raises(KeyboardInterrupt) as caught:
        pressed(1, [])
    assert not isinstance(caught.value, Interrupted)


def test_a_loop_in_another_thread_leaves_signals_alone():
    seen = []

    def work():
        seen.extend(Loop(3, model={"w": Tensor([1.0])}, quiet=True))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("stop_at", [0, 11])
def test_a_run_goes_on_bit_for_bit_from_its_first_and_its_last_step(tmp_path, stop_at):
    path = str(tmp_path / "a.ckpt")
    with pytest.raises(Interrupted):
        trained(stop_at=stop_at, checkpoint=path)
    assert trained(resume=path) == trained()


def test_a_run_that_is_stopped_twice_goes_on_bit_for_bit(tmp_path):
    path = str(tmp_path / "a.ckpt")
    with pytest.raises(Interrupted):
        trained(stop_at=2, checkpoint=path)
    with pytest.raises(Interrupted):
        trained(stop_at=7, checkpoint=path, resume=path)
    assert trained(resume=path) == trained()


def test_a_checkpoint_is_written_at_the_end_and_now_and_then(tmp_path, monkeypatch):
    path, steps = str(tmp_path / "a.ckpt"), []
    save = Loop.save
    monkeypatch.setattr(Loop, "save", lambda self, p, s: (steps.append(s), save(self, p, s)))
    whole = trained(checkpoint=path, save_every=5)
    assert steps == [5, 10, 12]
    assert trained(resume=path) == whole


def test_a_checkpoint_that_cannot_be_written_is_found_out_before_the_first_step(tmp_path):
    with pytest.raises(FileError, match="E9006"):
        next(iter(Loop(3, checkpoint=str(tmp_path / "gone" / "a.ckpt"), quiet=True)))


def test_more_steps_go_on_from_the_end_of_a_run(tmp_path):
    path = str(tmp_path / "a.ckpt")
    trained(steps=12, checkpoint=path)
    assert trained(steps=20, resume=path)[0] == trained(steps=20)[0]


def test_resuming_needs_something_to_restore(tmp_path):
    path = str(tmp_path / "a.ckpt")
    trained(checkpoint=path)
    with pytest.raises(TrainingError, match="E9002"):
        list(Loop(12, resume=path, quiet=True))


# ---- what a command line says


def test_a_context_gives_steps_seed_and_files(tmp_path):
    path = str(tmp_path / "a.ckpt")
    with use(RunOptions(steps=4, seed=9, checkpoint=path, quiet=True)) as context:
        assert seed(1) == 9
        loop = Loop(100, model={"w": Tensor([1.0])})
        assert list(loop) == [0, 1, 2, 3]
    assert (context.loops, context.shortened) == (1, True)
    assert os.path.exists(path)
    assert seed(1) == 1


def test_of_several_loops_the_one_that_was_stopped_is_resumed(tmp_path):
    path = str(tmp_path / "a.ckpt")

    def both(stop_at=None, **named):
        with use(RunOptions(checkpoint=path, quiet=True, **named)):
            first = trained(steps=5)
            os.unlink(path) if "resume" not in named else None
            return first, trained(steps=9, stop_at=stop_at)

    whole = both()
    with pytest.raises(Interrupted):
        both(stop_at=3)
    os.rename(path, tmp_path / "b.ckpt")
    assert both(resume=str(tmp_path / "b.ckpt")) == whole


def test_the_command_that_resumes_repeats_what_was_said():
    context = RunOptions(
        command=("adjoint", "train", "my net.py", "--steps", "5"), arguments=("-v",)
    )
    assert context.resume_command("a.ckpt") == (
        "adjoint train 'my net.py' --steps 5 --resume a.ckpt -- -v"
    )
