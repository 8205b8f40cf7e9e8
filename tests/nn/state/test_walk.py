"""Tensors by name, found in any object."""

from collections import namedtuple
from dataclasses import dataclass, field

import numpy as np
import pytest

from adjoint import FileError, Tensor, jit, nn
from adjoint.nn.state import get_parameters, get_state_dict


class Layer:
    def __init__(self, rows=2, columns=3):
        self.weight = Tensor.zeros(rows, columns)
        self.bias = Tensor.zeros(columns)


class Model:
    def __init__(self):
        self.layers = [Layer(), Layer(3, 4)]
        self.name, self.size, self.table = "model", 3, np.zeros(3)
        self.heads = {"left": Layer(), 7: (Tensor.zeros(1), None)}


def test_names_are_those_of_torch():
    assert list(get_state_dict(Model())) == [
        "layers.0.weight",
        "layers.0.bias",
        "layers.1.weight",
        "layers.1.bias",
        "heads.left.weight",
        "heads.left.bias",
        "heads.7.0",
    ]


def test_a_prefix_may_end_with_a_dot_or_not():
    assert list(get_state_dict(Layer(), "a.b")) == ["a.b.weight", "a.b.bias"]
    assert list(get_state_dict(Layer(), "a.b.")) == ["a.b.weight", "a.b.bias"]


def test_a_tensor_alone_is_found_under_the_prefix():
    x = Tensor.zeros(1)
    assert get_state_dict(x, "x") == {"x": x}


def test_the_tensors_themselves_are_given_out():
    model = Model()
    assert get_state_dict(model)["layers.0.weight"] is model.layers[0].weight


def test_a_shared_tensor_has_its_first_name():
    model = Model()
    model.tied = model.layers[0].weight
    model.again = model.layers[1]
    assert list(get_state_dict(model)) == list(get_state_dict(Model()))


def test_cycles_end():
    model = Model()
    model.me, model.layers[0].parent = model, model
    assert list(get_state_dict(model)) == list(get_state_dict(Model()))


def test_depth_costs_no_recursion():
    inner = Tensor.zeros(1)
    for _ in range(20_000):
        inner = [inner]
    assert len(get_state_dict(inner)) == 1


def test_sharing_at_every_level_takes_no_time():
    inner = [Tensor.zeros(1)]
    for _ in range(100):
        inner = [inner, inner]
    assert len(get_state_dict(inner)) == 1


def test_namedtuples_and_dataclasses_are_entered():
    pair = namedtuple("pair", "first second")

    @dataclass(slots=True)
    class Slotted:
        a: Tensor = field(default_factory=lambda: Tensor.zeros(1))

    @dataclass(frozen=True)
    class Frozen:
        b: object

    found = get_state_dict({"p": pair(Tensor.zeros(1), Slotted()), "q": Frozen([Tensor.zeros(1)])})
    assert list(found) == ["p.first", "p.second.a", "q.b.0"]


def test_private_slots_and_subclasses_are_entered():
    class Base:
        __slots__ = ("__hidden",)

        def __init__(self):
            self.__hidden = Tensor.zeros(1)

    class Derived(Base):
        __slots__ = ("__dict__", "empty", "own")

        def __init__(self):
            super().__init__()
            self.own, self.free = Tensor.zeros(1), Tensor.zeros(1)

    assert list(get_state_dict(Derived())) == ["__hidden", "own", "free"]


def test_a_list_and_a_dict_with_attributes_give_both():
    class Layers(list):
        def __init__(self, *items):
            super().__init__(items)
            self.scale = Tensor.zeros(1)

    assert list(get_state_dict(Layers(Tensor.zeros(1)))) == ["0", "scale"]


def test_what_a_jitted_function_keeps_is_nobodys_state():
    layer = Layer()
    other = Tensor.ones(3)
    layer.run = jit(lambda x: x + other)
    layer.run(Tensor.ones(3)).realize()
    layer.kind, layer.bound, layer.module = Layer, Model().__init__, np
    assert list(get_state_dict(layer)) == ["weight", "bias"]


def test_two_tensors_of_one_name_are_an_error():
    with pytest.raises(FileError, match=r"two tensors have the name 'a\.1'") as caught:
        get_state_dict({"a": {1: Tensor.zeros(1), "1": Tensor.zeros(1)}})
    assert caught.value.code == "E9002"


def test_modules_and_optimisers_are_walked():
    model = nn.Linear(2, 3)
    optimiser = nn.optim.Adam(model.parameters())
    found = get_state_dict({"model": model, "optimiser": optimiser})
    assert list(found)[:2] == ["model.weight", "model.bias"]
    assert not any(found[name] is model.weight for name in found if name != "model.weight")


def test_parameters_are_floats_that_may_want_a_gradient_each_once():
    layer = Layer()
    layer.frozen = Tensor.zeros(1, requires_grad=False)
    layer.wanting = Tensor.zeros(1, requires_grad=True)
    layer.count = Tensor.zeros(1, dtype="int32")
    layer.tied = layer.weight
    expected = [layer.weight, layer.bias, layer.wanting]
    assert all(a is b for a, b in zip(get_parameters(layer), expected, strict=True))
