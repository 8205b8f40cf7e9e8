"""Checkpoints: everything a run needs to go on, in one file that is never half written."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from adjoint import ArgumentError, FileError, Tensor, nn
from adjoint.nn.state import load_checkpoint, safe_load, safe_metadata, safe_save, save_checkpoint
from tests.nn.state import killing
from tests.support.processes import printed

ROOT = Path(__file__).parents[3]


class Plain:
    """An object without a base class."""

    def __init__(self, value=0.0):
        self.weight = Tensor(np.full((2, 3), value, np.float32), requires_grad=True)


class Momentum:
    def __init__(self, model):
        self.model = model
        self.velocity = Tensor.zeros(2, 3)


class Clock:
    """An object whose state is no tensor."""

    def __init__(self, now=0):
        self.now = now

    def state_dict(self):
        return {"now": self.now}

    def load_state_dict(self, state):
        self.now = state["now"]


def _saved(path, **objects):
    save_checkpoint(path, step=3, **objects)
    return path


def _error(code, path, **objects):
    with pytest.raises(FileError) as caught:
        load_checkpoint(path, **objects)
    assert caught.value.code == code
    return str(caught.value)


# ---- what comes back


def test_tensors_step_extra_and_own_states_come_back(tmp_path):
    model, clock = Plain(2.0), Clock(17)
    save_checkpoint(tmp_path / "c", step=12, extra={"loss": 0.5}, model=model, clock=clock)
    other, later = Plain(), Clock()
    found = load_checkpoint(tmp_path / "c", model=other, clock=later)
    assert (found.step, found.extra, found.objects) == (12, {"loss": 0.5}, ("model", "clock"))
    assert (other.weight.numpy() == 2).all()
    assert later.now == 17


def test_extra_may_be_any_plain_value(tmp_path):
    extra = {
        "numbers": [0, -1, 1 << 100, 0.1, float("inf"), -float("inf"), True, None],
        "texts": ("é", "", "$"),
        "keys": {1: "a", (2, "b"): {"$": "tuple"}},
        "bytes": b"\x00\xff",
        "generator": np.random.default_rng(1).bit_generator.state,
    }
    save_checkpoint(tmp_path / "c", step=0, extra=extra)
    assert load_checkpoint(tmp_path / "c").extra == extra
    save_checkpoint(tmp_path / "c", step=0, extra=float("nan"))
    assert np.isnan(load_checkpoint(tmp_path / "c").extra)


def test_extra_may_hold_tensors_and_arrays(tmp_path):
    extra = {"t": Tensor([1, 2]), "a": np.arange(3.0), "n": np.float32(0.5), 1: {"1": np.zeros(1)}}
    save_checkpoint(tmp_path / "c", step=0, extra=extra | {"1": {"1": np.ones(1)}})
    found = load_checkpoint(tmp_path / "c").extra
    assert isinstance(found["t"], Tensor)
    assert found["t"].tolist() == [1, 2]
    assert found["a"].tolist() == [0, 1, 2]
    assert found["a"].flags.writeable
    assert (type(found["n"]), found["n"]) == (np.float32, 0.5)
    assert (found[1]["1"], found["1"]["1"]) == (0, 1)


def test_the_random_state_is_restored_unless_told_otherwise(tmp_path):
    Tensor.manual_seed(5)
    Tensor.rand(3).realize()
    save_checkpoint(tmp_path / "c", step=0)
    expected = [Tensor.rand(3).tolist(), Tensor.randn(2).tolist()]
    Tensor.manual_seed(99)
    load_checkpoint(tmp_path / "c")
    assert [Tensor.rand(3).tolist(), Tensor.randn(2).tolist()] == expected
    Tensor.manual_seed(5)
    load_checkpoint(tmp_path / "c", restore_random=False)
    assert Tensor.rand(3).tolist() != expected[0]


def test_what_objects_share_is_saved_once_and_stays_shared(tmp_path):
    model = Plain(1.0)
    save_checkpoint(tmp_path / "c", step=0, optimizer=Momentum(model), model=model)
    assert sorted(safe_load(tmp_path / "c")) == ["optimizer.model.weight", "optimizer.velocity"]
    for order in (("optimizer", "model"), ("model", "optimizer"), ("model",), ("optimizer",)):
        fresh = Plain()
        made = {"model": fresh, "optimizer": Momentum(fresh)}
        load_checkpoint(tmp_path / "c", **{name: made[name] for name in order})
        assert (fresh.weight.numpy() == 1).all()


def test_objects_that_no_longer_share_get_the_same_value(tmp_path):
    model = Plain(1.0)
    save_checkpoint(tmp_path / "c", step=0, model=model, average=model)
    one, other = Plain(), Plain()
    load_checkpoint(tmp_path / "c", model=one, average=other)
    assert (one.weight.numpy() == 1).all()
    assert (other.weight.numpy() == 1).all()


def test_modules_and_optimisers_come_back(tmp_path):
    def made():
        model = nn.Linear(3, 2)
        return model, nn.optim.Adam(model.parameters(), lr=0.1)

    def step(model, optimiser):
        optimiser.zero_grad()
        (model(Tensor.ones(1, 3)) ** 2).sum().backward()
        optimiser.step()
        return model.weight.numpy().tobytes()

    model, optimiser = made()
    step(model, optimiser)
    save_checkpoint(tmp_path / "c", step=1, model=model, optimiser=optimiser)
    expected = step(model, optimiser)
    again, other = made()
    load_checkpoint(tmp_path / "c", model=again, optimiser=other)
    assert step(again, other) == expected


def test_a_schedule_sets_the_learning_rate_when_it_is_loaded(tmp_path):
    def made():
        optimiser = nn.optim.SGD([Tensor.zeros(2)], lr=1.0)
        return optimiser, nn.optim.lr_scheduler.StepLR(optimiser, 1, 0.5)

    _, schedule = made()
    schedule.step()
    save_checkpoint(tmp_path / "c", step=1, schedule=schedule)
    optimiser, schedule = made()
    load_checkpoint(tmp_path / "c", schedule=schedule)
    assert optimiser.lr.item() == 0.5


def test_other_programs_can_read_the_tensors(tmp_path):
    _saved(tmp_path / "c", model=Plain(2.0))
    assert list(safe_load(tmp_path / "c")) == ["model.weight"]
    assert json.loads(safe_metadata(tmp_path / "c")["adjoint.checkpoint"])["step"] == 3


def test_the_same_state_gives_the_same_bytes(tmp_path):
    Tensor.manual_seed(0)
    one, two = _saved(tmp_path / "1", model=Plain(2.0)), _saved(tmp_path / "2", model=Plain(2.0))
    assert one.read_bytes() == two.read_bytes()


# ---- what does not fit


def test_a_name_that_was_not_saved_is_an_error_that_lists_the_others(tmp_path):
    text = _error("E9002", _saved(tmp_path / "c", model=Plain()), modle=Plain())
    assert "has no object 'modle'; it has model" in text
    assert "did you mean 'model'?" in text


def test_nothing_is_changed_if_anything_does_not_fit(tmp_path):
    path = _saved(tmp_path / "c", model=Plain(1.0), clock=Clock(5), other=Plain(1.0))
    model, clock, wrong = Plain(), Clock(), Momentum(None)
    Tensor.manual_seed(1)
    before = Tensor.rand(2).tolist()
    Tensor.manual_seed(1)
    text = _error("E9002", path, model=model, clock=clock, other=wrong)
    assert "other.velocity" in text
    assert "other.weight" in text
    assert not model.weight.numpy().any()
    assert clock.now == 0
    assert Tensor.rand(2).tolist() == before


def test_an_object_that_refuses_its_state_undoes_the_others(tmp_path):
    class Refusing(Clock):
        def load_state_dict(self, state):
            raise KeyError("later")

    path = _saved(tmp_path / "c", model=Plain(1.0), first=Clock(5), second=Clock(6))
    model, first = Plain(), Clock()
    text = _error("E9002", path, model=model, first=first, second=Refusing())
    assert "'second' (Refusing) does not take its state: KeyError('later')" in text
    assert first.now == 0
    assert not model.weight.numpy().any()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"step": -1}, "number of steps"),
        ({"step": 1.5}, "number of steps"),
        ({"step": 1, "extra": object()}, "extra is a object"),
        ({"step": 1, "extra": {"a": [{1}]}}, r"extra\.a\.0 is a set"),
        ({"step": 1, "a.b": Plain()}, "no dots"),
    ],
)
def test_what_cannot_be_saved_is_said_and_leaves_the_old_file(options, problem, tmp_path):
    path = _saved(tmp_path / "c", model=Plain())
    before = path.read_bytes()
    with pytest.raises(ArgumentError, match=problem):
        save_checkpoint(path, **options)
    assert path.read_bytes() == before


def test_a_value_that_holds_itself_is_an_error(tmp_path):
    extra = []
    extra.append(extra)
    with pytest.raises(ArgumentError, match="contains itself"):
        save_checkpoint(tmp_path / "c", step=0, extra=extra)


def test_an_object_without_any_state_is_an_error(tmp_path):
    with pytest.raises(FileError, match=r"'rate' .* has nothing to save") as caught:
        save_checkpoint(tmp_path / "c", step=0, model=Plain(), rate=0.1)
    assert caught.value.code == "E9002"


# ---- damaged files


def test_a_flipped_bit_of_a_tensor_is_found_out(tmp_path):
    path = _saved(tmp_path / "c", model=Plain(1.0))
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    model = Plain()
    text = _error("E9001", path, model=model)
    assert f"'model.weight': the checksum differs (at byte {len(raw) - 24})" in text
    assert not model.weight.numpy().any()


def test_a_changed_header_is_found_out(tmp_path):
    path = _saved(tmp_path / "c", model=Plain(1.0))
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b'\\"step\\":3', b'\\"step\\":4'))
    assert "the checksum of the header differs" in _error("E9001", path, model=Plain())


def test_other_files_are_no_checkpoints(tmp_path):
    safe_save({"x": np.ones(1)}, tmp_path / "c")
    assert "no checkpoint" in _error("E9001", tmp_path / "c")
    assert "no such file" in _error("E9006", tmp_path / "none")


# ---- whole processes


def test_killed_while_saving_200_times_the_file_is_the_old_or_the_new(tmp_path):
    path = tmp_path / "c"
    found = json.loads(printed("-m", "tests.nn.state.killing", path, 200))
    assert found["kills"] == 200
    assert found["saves"] > 0
    assert found["most_files"] <= 2
    number = killing.number_in(path)
    save_checkpoint(path, step=number + 1, model=killing.Model(number + 1))
    assert os.listdir(tmp_path) == ["c"]


def _train(*args):
    return json.loads(printed("-m", "tests.nn.state.training_run", *args))


def test_a_run_that_is_resumed_in_another_process_is_bit_equal(tmp_path):
    whole = _train(20, tmp_path / "whole")
    first = _train(10, tmp_path / "half")
    second = _train(20, tmp_path / "resumed", tmp_path / "half")
    assert first + second == whole
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()
