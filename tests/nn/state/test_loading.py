"""load_state_dict: what fits is taken, what does not is said, and nothing is half done."""

import numpy as np
import pytest

from adjoint import FileError, Tensor, nn
from adjoint.nn.state import get_state_dict, load_state_dict, safe_load, safe_save


class Layer:
    def __init__(self, rows=2, columns=3):
        self.weight = Tensor.zeros(rows, columns, requires_grad=True)
        self.bias = Tensor.zeros(columns)


class Model:
    def __init__(self):
        self.first, self.second = Layer(), Layer(3, 4)


def _ones(obj, dtype=np.float32):
    return {name: np.ones(t.shape, dtype) for name, t in get_state_dict(obj).items()}


def _error(obj, state):
    before = {name: t.uop for name, t in get_state_dict(obj).items()}
    with pytest.raises(FileError) as caught:
        load_state_dict(obj, state)
    assert caught.value.code == "E9002"
    assert before == {name: t.uop for name, t in get_state_dict(obj).items()}
    return str(caught.value)


def test_values_are_loaded_and_gradients_still_flow():
    model = Model()
    report = load_state_dict(model, _ones(model))
    assert report.ok
    assert report.loaded == tuple(get_state_dict(model))
    assert model.second.bias.numpy().tolist() == [1, 1, 1, 1]
    (model.first.weight * 3).sum().backward()
    assert model.first.weight.grad.numpy().tolist() == [[3, 3, 3], [3, 3, 3]]


def test_everything_wrong_is_in_one_error():
    model = Model()
    state = _ones(model)
    state["first.wieght"] = state.pop("first.weight")
    state["first.bias"] = np.ones(4, np.float32)
    state["second.bias"] = np.ones(4, np.int32)
    text = _error(model, state)
    assert "1 fit" in text
    assert "1 missing in the state:\n  first.weight  (did you mean 'first.wieght'?)" in text
    assert "1 unexpected in the state:\n  first.wieght" in text
    assert "first.bias: f32[3] wanted, f32[4] found" in text
    assert "second.bias: f32[4] wanted, i32[4] found" in text


def test_without_strict_what_fits_is_loaded_and_the_rest_reported():
    model = Model()
    state = _ones(model)
    del state["second.bias"]
    state["extra"] = np.ones(1)
    state["first.bias"] = np.ones(7, np.float32)
    report = load_state_dict(model, state, strict=False)
    assert not report.ok
    assert report.loaded == ("first.weight", "second.weight")
    assert (report.missing, report.unexpected) == (("second.bias",), ("extra",))
    assert [(m.name, m.wanted, m.found) for m in report.mismatched] == [
        ("first.bias", "f32[3]", "f32[7]")
    ]
    assert model.first.weight.numpy().all()
    assert not model.first.bias.numpy().any()


def test_a_narrower_float_is_widened_and_a_wider_one_does_not_fit():
    model = Model()
    load_state_dict(model, _ones(model, np.float16))
    assert model.first.weight.dtype.name == "float32"
    assert "f32[3] wanted, f64[3] found" in _error(model, _ones(model, np.float64))


def test_a_prefix_that_every_name_has_is_pointed_out():
    model = Model()
    text = _error(model, {f"module.{k}": v for k, v in _ones(model).items()})
    assert "names of the state begin with 'module.'" in text


def test_a_state_inside_another_is_pointed_out():
    model = Model()
    assert "another under 'model'" in _error(model, {"epoch": 3, "model": _ones(model)})


def test_what_is_no_tensor_does_not_fit():
    model = Model()
    assert "first.bias: f32[3] wanted, str found" in _error(
        model, _ones(model) | {"first.bias": "x"}
    )
    assert "not list" in _error(model, [1, 2])


def test_tied_tensors_take_their_value_from_any_of_their_names():
    model = Model()
    model.tied, model.head = model.first, model.second.weight
    model.first.parent = model
    state = _ones(model)
    state["tied.weight"] = state.pop("first.weight")
    state["first.parent.head"] = state.pop("second.weight")
    assert load_state_dict(model, state).ok
    assert model.first.weight.numpy().all()
    assert model.second.weight.numpy().all()


def test_two_values_for_one_tensor_must_be_equal():
    model = Model()
    model.tied = model.first
    state = _ones(model)
    state["tied.weight"] = state["first.weight"].copy()
    assert load_state_dict(model, state).ok
    state["tied.weight"] = state["first.weight"] + 1
    assert "tied.weight: the value of 'first.weight'" in _error(model, state)


def test_tensors_that_got_one_value_stay_apart():
    model = {"a": Tensor.zeros(2, requires_grad=True), "b": Tensor.zeros(2, requires_grad=True)}
    value = Tensor([1.0, 2.0])
    load_state_dict(model, {"a": value, "b": value})
    (model["a"] * 2 + model["b"] * 3).sum().backward()
    assert model["a"].grad.numpy().tolist() == [2, 2]
    assert model["b"].grad.numpy().tolist() == [3, 3]


def test_a_value_computed_from_the_target_is_that_of_before():
    model = {"a": Tensor([1.0, 2.0]), "b": Tensor([3.0, 4.0])}
    load_state_dict(model, {"a": model["b"], "b": model["a"]})
    assert model["a"].numpy().tolist() == [3, 4]
    assert model["b"].numpy().tolist() == [1, 2]


def test_what_is_loaded_needs_its_file_no_longer(tmp_path):
    path = tmp_path / "m.safetensors"
    model = Model()
    safe_save(_ones(model), path)
    load_state_dict(model, safe_load(path))
    path.write_bytes(b"")
    assert model.first.weight.numpy().all()


def test_a_file_that_fails_while_it_is_read_changes_nothing(tmp_path):
    path = tmp_path / "m.safetensors"
    model = Model()
    safe_save(_ones(model), path)
    state = safe_load(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FileError) as caught:
        load_state_dict(model, state)
    assert caught.value.code == "E9001"
    assert not model.first.weight.numpy().any()


def test_another_device_is_kept():
    target = {"a": Tensor.zeros(2, device="REF")}
    load_state_dict(target, {"a": Tensor([1.0, 2.0])})
    assert target["a"].device == "REF"
    assert target["a"].numpy().tolist() == [1, 2]


def test_thousands_of_wrong_names_take_no_time():
    many = {f"layers.{i}.weight": Tensor.zeros(1) for i in range(3000)}
    text = _error(many, {f"blocks.{i}.weight": np.zeros(1, np.float32) for i in range(3000)})
    assert text.count("layers.") >= 3000


def test_a_module_loads_what_another_saved():
    one, other = nn.Linear(3, 2), nn.Linear(3, 2)
    assert other.load_state_dict(one.state_dict()).ok
    assert np.array_equal(one.weight.numpy(), other.weight.numpy())
