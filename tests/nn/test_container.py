"""Containers of modules: torch's names for state, and Python's ways to change them."""

from collections import OrderedDict

import numpy as np
import pytest

from adjoint import AdjointError, ArgumentError, Tensor, UnknownNameError, grad, nn


def loss(model, x):
    return (model(x) ** 2).mean()


def test_sequential_calls_one_after_another():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert list(model.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert len(model) == 3
    assert model[-1].out_features == 1
    assert isinstance(model[:2], nn.Sequential)
    assert len(model[:2]) == 2


def test_sequential_takes_names():
    model = nn.Sequential(OrderedDict(first=nn.Linear(2, 3), act=nn.ReLU()))
    assert list(model.state_dict()) == ["first.weight", "first.bias"]
    assert model.first is model[0]
    assert model(Tensor.ones(1, 2)).shape == (1, 3)


def test_sequential_is_changed_like_a_list():
    model = nn.Sequential(nn.Identity())
    model.append(nn.Flatten()).extend([nn.ReLU()]).insert(1, nn.Tanh())
    assert [type(m).__name__ for m in model] == ["Identity", "Tanh", "Flatten", "ReLU"]
    assert type(model.pop(1)).__name__ == "Tanh"
    del model[0]
    model[0] = nn.Sigmoid()
    assert [type(m).__name__ for m in model] == ["Sigmoid", "ReLU"]
    assert len(model + nn.Sequential(nn.Tanh())) == 3
    with pytest.raises(AdjointError, match="one of 2 parts"):
        model[2]
    with pytest.raises(ArgumentError, match="holds modules, not builtin"):
        model.append(print)


def test_module_lists_have_torchs_names():
    class Deep(nn.Module):
        def __init__(self):
            self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(2))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    model = Deep()
    assert list(model.state_dict())[:2] == ["layers.0.weight", "layers.0.bias"]
    grads = grad(loss)(model, Tensor.ones(1, 2))
    assert grads.layers[1].weight.shape == (2, 2)
    assert model.layers[0] in model.layers


def test_module_dicts_hold_modules_by_name():
    parts = nn.ModuleDict({"a": nn.Linear(1, 1)})
    parts["b"] = nn.ReLU()
    assert list(parts) == ["a", "b"]
    assert [name for name, _ in parts.items()] == ["a", "b"]
    assert list(parts.state_dict()) == ["a.weight", "a.bias"]
    assert "a" in parts
    assert isinstance(parts.pop("b"), nn.ReLU)
    with pytest.raises(UnknownNameError, match="no module 'c'"):
        parts["c"]
    with pytest.raises(ArgumentError, match="'keys' is the name"):
        parts["keys"] = nn.ReLU()
    with pytest.raises(ArgumentError, match="holds modules"):
        parts["d"] = 3
    parts.clear()
    assert len(parts) == 0


def test_parameter_lists_hold_parameters():
    values = nn.ParameterList([Tensor([1.0]), np.ones((2, 2), np.float32)])
    assert [t.requires_grad for t in values.parameters()] == [True, True]
    assert list(values.state_dict()) == ["0", "1"]
    assert "f32[2, 2]" in repr(values)


def test_parameter_dicts_hold_parameters_by_name():
    values = nn.ParameterDict({"b": Tensor([1.0]), "a": np.ones((2, 2), np.float32)})
    values["frozen"] = Tensor([2.0], requires_grad=False)
    assert values.keys() == ["b", "a", "frozen"]
    assert [t.requires_grad for t in values.values()] == [True, True, False]
    assert len(values.parameters()) == 2
    assert list(values.state_dict()) == ["b", "a", "frozen"]
    assert repr(values) == "ParameterDict(b: f32[1], a: f32[2, 2], frozen: f32[1])"
    assert values.get("b") is values["b"]
    assert values.get("c") is None
    values.update([("c", Tensor(3.0))])
    assert values.pop("c").item() == 3
    with pytest.raises(UnknownNameError, match="no parameter 'c'"):
        values["c"]
    with pytest.raises(ArgumentError, match="without dots"):
        values["a.b"] = Tensor(1.0)
    grads = grad(lambda v: (v["a"] * v["b"]).sum())(values)
    assert grads["a"].tolist() == [[1, 1], [1, 1]]
    assert grads["b"].tolist() == [4]
