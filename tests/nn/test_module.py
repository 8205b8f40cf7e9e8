"""`nn.Module`: a pytree that transforms take whole, found by its attributes, readable as text."""

import copy
import pickle
from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum
from functools import partial

import numpy as np
import pytest

from adjoint import (
    AdjointError,
    ArgumentError,
    DTypeError,
    Tensor,
    UnknownNameError,
    checkpoint,
    grad,
    jit,
    jvp,
    nn,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_unflatten,
    value_and_grad,
    vmap,
)

SCALE = 1.0


class Net(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.first = nn.Linear(2, width)
        self.rest = [nn.Linear(width, width), Tensor.tanh, nn.Linear(width, 1)]
        self.slope = 0.5

    def forward(self, x):
        x = self.first(x) * self.slope
        for layer in self.rest:
            x = layer(x)
        return x


@pytest.fixture
def x():
    return Tensor(np.linspace(-1, 1, 8).reshape(4, 2).astype(np.float32))


def loss(model, x):
    return (model(x) ** 2).mean()


def close(a, b, tolerance=1e-5):
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=tolerance, atol=tolerance)


# ---- parts


def test_parts_are_found_by_walking_attributes():
    names = list(Net().state_dict())
    assert names == [
        "first.weight",
        "first.bias",
        "rest.0.weight",
        "rest.0.bias",
        "rest.2.weight",
        "rest.2.bias",
    ]


def test_a_class_needs_no_super_init():
    class Bare(nn.Module):
        def __init__(self):
            self.w = Tensor([2.0])

        def forward(self, x):
            return x * self.w

    assert Bare()(Tensor([3.0])).item() == 6
    assert list(Bare().state_dict()) == ["w"]


def test_tensors_that_never_want_gradients_are_buffers():
    layer = nn.BatchNorm1d(2)
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    assert [name for name, _ in layer.named_buffers()] == [
        "running_mean",
        "running_var",
        "num_batches_tracked",
    ]
    assert len(layer.buffers()) == 3


def test_named_modules_lists_each_once_in_order():
    model = Net()
    model.again = model.first
    names = [name for name, _ in model.named_modules()]
    assert names == ["", "first", "rest.0", "rest.2"]
    assert next(iter(model.children())) is model.first


def test_get_submodule_suggests_a_name():
    model = Net()
    assert model.get_submodule("rest.2") is model.rest[2]
    with pytest.raises(UnknownNameError, match="first"):
        model.get_submodule("frist")


def test_tensors_are_found_by_name():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    assert model.get_parameter("0.weight") is model[0].weight
    assert model.get_buffer("1.running_mean") is model[1].running_mean
    with pytest.raises(UnknownNameError, match=r"no parameter '1\.running_mean'"):
        model.get_parameter("1.running_mean")
    with pytest.raises(UnknownNameError, match=r"did you mean '1\.running_var'"):
        model.get_buffer("1.runing_var")


def test_apply_reaches_every_module():
    seen = []
    model = Net()
    model.apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["Linear", "Linear", "Linear", "Net"]


def test_forward_that_is_missing_is_an_error_with_the_class():
    class Empty(nn.Module):
        pass

    with pytest.raises(UnknownNameError, match="Empty has no forward"):
        Empty()(1)


def test_modes_are_set_for_all_parts_and_follow_the_global_one_otherwise():
    model = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.BatchNorm1d(2)))
    inner = model[1][0]
    assert not inner.training
    with Tensor.train():
        assert inner.training
        assert not model.eval()[1][0].training
    assert model.train()[1][0].training
    model.train(None)
    assert not inner.training
    with pytest.raises(ArgumentError, match="True, False or None"):
        model.train("yes")


def test_requires_grad_freezes_parameters_and_leaves_buffers_alone():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    model.requires_grad_(False)
    assert model.parameters() == []
    model.requires_grad_(True)
    assert len(model.parameters()) == 4
    assert model[1].running_mean.requires_grad is False


class Masked(nn.Module):
    def __init__(self):
        self.layer = nn.Linear(2, 2)
        self.mask = Tensor([1.0, 0.0], requires_grad=False)


@pytest.mark.parametrize("copied", [lambda m: m, copy.deepcopy, lambda m: tree_map(lambda x: x, m)])
def test_a_tensor_that_was_set_without_gradients_stays_a_buffer_when_a_model_is_unfrozen(copied):
    model = copied(Masked().requires_grad_(False)).requires_grad_(True)
    assert [name for name, _ in model.named_parameters()] == ["layer.weight", "layer.bias"]
    model.mask = Tensor([1.0, 1.0], requires_grad=True)
    assert len(model.parameters()) == 3
    assert model.requires_grad_(False).parameters() == []
    assert len(model.requires_grad_(True).parameters()) == 3


def test_a_frozen_table_of_embeddings_can_be_unfrozen():
    layer = nn.Embedding.from_pretrained(Tensor([[1.0, 2.0]]))
    assert layer.parameters() == []
    assert layer.requires_grad_(True).parameters() == [layer.weight]


def test_to_changes_floats_and_keeps_the_tensors():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    weight = model[0].weight
    model.double()
    assert model[0].weight is weight
    assert weight.dtype.name == "float64"
    assert weight.requires_grad is True
    assert model[1].num_batches_tracked.dtype.name == "int64"
    assert model.to("float32")[1].running_var.dtype.name == "float32"
    with pytest.raises(DTypeError, match="int32"):
        model.to("int32")


def test_a_model_moves_to_another_device(x):
    model = Net()
    wanted = model(x).numpy()
    model.to("CPU:1")
    assert {t.device for t in model.parameters()} == {"CPU:1"}
    np.testing.assert_allclose(model(x.to("CPU:1")).numpy(), wanted, rtol=1e-6)


def test_a_model_moves_to_the_cpu_and_becomes_bfloat16():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).to("CPU:1")
    weight = model[0].weight
    assert model.cpu() is model
    assert {t.device for t in model.state_dict().values()} == {"CPU"}
    assert model.bfloat16()[0].weight is weight
    assert weight.dtype.name == "bfloat16"


def test_a_model_goes_to_a_gpu_and_back_with_its_values():
    model = nn.Linear(2, 3)
    before = model.weight.numpy()
    assert model.cuda() is model
    assert model.weight.device == "GPU"
    assert model.cpu().weight.device == "CPU"
    np.testing.assert_array_equal(model.weight.numpy(), before)


def test_register_buffer_and_parameter_say_what_a_tensor_is():
    module = nn.Module()
    module.register_buffer("mask", Tensor([1.0]))
    module.register_parameter("w", Tensor([1.0]))
    module.add_module("part", nn.Linear(1, 1))
    assert [n for n, _ in module.named_parameters()] == ["w", "part.weight", "part.bias"]
    assert [n for n, _ in module.named_buffers()] == ["mask"]


def test_state_goes_into_another_model():
    one, two = Net(), Net()
    report = two.load_state_dict(one.state_dict())
    assert report.ok
    close(one.first.weight, two.first.weight, 0)


def test_copies_and_pickles_are_models_of_their_own(x):
    model = Net()
    model.rest[1] = nn.Tanh()  # a function of a class cannot be pickled by name alone
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        close(model(x), other(x))
        other.first.weight.assign(other.first.weight.detach() * 0).realize()
        assert model.first.weight.numpy().any()
        assert len(other.parameters()) == 6


# ---- text


def test_the_text_is_a_tree_with_equal_neighbours_once():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.ReLU())
    model.add_module("head", nn.Sequential(nn.Linear(3, 1, bias=False)))
    assert repr(model) == (
        "Sequential(\n"
        "  (0): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (1-2): 2 x ReLU()\n"
        "  (head): Sequential(\n"
        "    (0): Linear(in_features=3, out_features=1, bias=False)\n"
        "  )\n"
        ")"
    )


def test_modules_in_lists_have_their_place_in_the_text():
    assert "(rest.2): Linear(in_features=3, out_features=1, bias=True)" in repr(Net())


# ---- transforms


def test_grad_takes_a_model_whole_and_agrees_with_backward(x):
    model = Net()
    grads = grad(loss)(model, x)
    loss(model, x).backward()
    assert type(grads) is Net
    for name, tensor in model.named_parameters():
        close(grads.state_dict()[name], tensor.grad)


def test_jit_of_value_and_grad_trains_a_model(x):
    @jit
    def step(model, x):
        value, grads = value_and_grad(loss)(model, x)
        return value, tree_map(lambda p, g: p - 0.1 * g, model, grads)

    model, values = Net(), []
    for _ in range(5):
        value, model = step(model, x)
        values.append(value.item())
    assert values[-1] < values[0]
    assert step.cache_size() == 1
    assert len(model.parameters()) == 6
    assert model.first.weight.requires_grad is True


def test_a_model_that_jit_returns_keeps_no_history(x):
    model = Net()
    step = jit(lambda m: tree_map(lambda p: p * 0.9, m))
    for _ in range(3):
        model = step(model)
    assert model.first.weight.uop.op.name == "buffer"
    loss(model, x).backward()
    assert model.first.weight.grad is not None


def test_vmap_maps_over_an_ensemble(x):
    models = [Net() for _ in range(3)]
    together = tree_map(lambda *tensors: Tensor.stack(*tensors), *models)
    outputs = vmap(lambda m, x: m(x), in_axes=(0, None))(together, x)
    for number, model in enumerate(models):
        close(outputs[number], model(x))


def test_vmap_gives_gradients_per_sample(x):
    model = Net()
    each = vmap(grad(lambda m, row: loss(m, row.reshape(1, 2))), in_axes=(None, 0))(model, x)
    assert each.first.weight.shape == (4, 3, 2)
    close(each.first.weight.mean(0), grad(loss)(model, x).first.weight)


def test_axes_may_be_given_for_each_tensor(x):
    model = Net()
    axes = tree_map(lambda p: 0 if p.shape == (3, 2) else None, model)
    wide = tree_map(lambda p: Tensor.stack(p, p * 2) if p.shape == (3, 2) else p, model)
    outputs = vmap(lambda m: m(x), in_axes=(axes,))(wide)
    close(outputs[0], model(x))
    assert outputs.shape == (2, 4, 1)


def test_a_tree_of_other_things_than_tensors_is_taken_apart_again():
    shapes = tree_map(lambda p: str(p.shape), nn.Linear(2, 3))
    assert tree_leaves(shapes) == ["(3, 2)", "(3,)"]
    assert tree_leaves(tree_map(len, shapes)) == [6, 4]


def test_jvp_pushes_a_model_along_a_model(x):
    model = Net()
    step = tree_map(lambda p: p * 0 + 1, model)
    _, slope = jvp(lambda m: loss(m, x), (model,), (step,))
    ahead = loss(tree_map(lambda p: p + 1e-3, model), x)
    behind = loss(tree_map(lambda p: p - 1e-3, model), x)
    assert slope.item() == pytest.approx((ahead.item() - behind.item()) / 2e-3, rel=1e-2)


def test_jit_takes_a_model_as_a_function(x):
    model = Net()
    close(jit(model)(x), model(x))


def test_checkpoint_takes_a_model(x):
    model = Net()
    plain = grad(loss)(model, x)
    again = grad(lambda m, x: (checkpoint(m)(x) ** 2).mean())(model, x)
    close(plain.first.weight, again.first.weight)


def test_a_shared_layer_stays_shared(x):
    class Tied(nn.Module):
        def __init__(self):
            self.one = nn.Linear(2, 2)
            self.two = self.one
            self.scale = self.one.weight

        def forward(self, x):
            return self.two(self.one(x)) * self.scale.sum()

    model = Tied()
    leaves, tree = tree_flatten(model)
    assert len(leaves) == 2
    other = tree_unflatten(tree, leaves)
    assert other.one is other.two
    assert other.scale is other.one.weight
    grads = grad(loss)(model, x)
    loss(model, x).backward()
    close(grads.one.weight, model.one.weight.grad)


def test_cycles_end():
    model = nn.Linear(1, 1)
    model.itself = model
    leaves, tree = tree_flatten(model)
    again = tree_unflatten(tree, leaves)
    assert again.itself is again
    assert len(leaves) == 2


def test_methods_and_partials_in_attributes_move_with_the_model(x):
    class Chooses(nn.Module):
        def __init__(self):
            self.w = nn.Parameter([2.0])
            self.way = self.twice
            self.last = partial(Tensor.mul, self.w)

        def twice(self, x):
            return x * self.w * 2

        def forward(self, x):
            return self.last(self.way(x))

    model = Chooses()
    assert grad(lambda m: m(Tensor([3.0])).sum())(model).w.item() == 24
    doubled = tree_map(lambda p: p * 2, model)
    assert doubled(Tensor([1.0])).item() == 32


# ---- structure


def test_jit_traces_again_when_a_plain_attribute_changes(x):
    model = Net()
    call = jit(lambda m, x: m(x))
    call(model, x)
    call(model, x)
    assert call.cache_size() == 1
    model.slope = 0.25
    close(call(model, x), model(x))
    assert call.cache_size() == 2
    model.slope = 0.5
    close(call(model, x), model(x))
    assert call.cache_size() == 2


def test_jit_traces_again_when_a_global_that_forward_reads_changes(x, monkeypatch):
    class Scaled(nn.Module):
        def forward(self, x):
            return x * SCALE

    call = jit(lambda m, x: m(x))
    close(call(Scaled(), x), x)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    close(call(Scaled(), x), x * 3)


def test_jit_knows_train_from_eval(x):
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    call = jit(lambda m, x: m(x))
    trained = call(model.train(), x).numpy()
    predicted = call(model.eval(), x)
    close(predicted, model(x))
    assert not np.allclose(trained, predicted.numpy())


class Kind(Enum):
    A = 1
    B = 2


@dataclass
class Config:
    width: int = 3
    kind: Kind = Kind.A


VALUES = [
    (1, 1.0),
    (True, 1),
    (0.0, -0.0),
    ("a", "b"),
    ((1, 2), [1, 2]),
    ({"a": 1}, {"a": 2}),
    (OrderedDict(a=1), {"a": 1}),
    ({1, 2}, {1, 3}),
    (np.arange(3), np.arange(3) + 1),
    (np.float32(1), np.float64(1)),
    (Kind.A, Kind.B),
    (Config(3), Config(4)),
    (Config(kind=Kind.A), Config(kind=Kind.B)),
    (np.dtype("f4"), np.dtype("f8")),
    (Tensor.relu, Tensor.tanh),
    (int, float),
    (slice(1), slice(2)),
]


@pytest.mark.parametrize(("one", "other"), VALUES, ids=[repr(a)[:20] for a, _ in VALUES])
def test_attributes_are_compared_by_value(one, other):
    def tree(value):
        module = nn.Module()
        module.value = value
        return tree_flatten(module)[1]

    assert tree(one) == tree(copy.copy(one))
    assert hash(tree(one)) == hash(tree(copy.copy(one)))
    assert tree(one) != tree(other)


def test_values_in_attributes_come_back_as_they_were():
    module = nn.Module()
    module.parts = OrderedDict(a=[1, Tensor([1.0])], b=(Config(), {"k": nn.Identity()}))
    again = tree_map(lambda t: t + 1, module)
    assert type(again.parts) is OrderedDict
    assert again.parts["a"][1].item() == 2
    assert again.parts["b"][0] == Config()
    assert isinstance(again.parts["b"][1]["k"], nn.Identity)


def test_tensors_in_dataclasses_are_parts():
    @dataclass
    class State:
        value: Tensor
        count: int = 0

    module = nn.Module()
    module.state = State(Tensor([1.0]), 3)
    again = tree_map(lambda t: t + 1, module)
    assert again.state.value.item() == 2
    assert again.state.count == 3


class Opaque:
    pass


def test_an_attribute_that_cannot_be_compared_is_an_error_with_its_path(x):
    model = Net()
    model.rest[0].helper = {"inner": [Opaque()]}
    with pytest.raises(ArgumentError, match=r"Net\.rest\[0\]\.helper\.inner\[0\] is a Opaque") as e:
        grad(loss)(model, x)
    assert "nn.Module" in e.value.help


def test_a_function_that_closes_over_a_module_is_an_error(x):
    model = Net()
    model.way = lambda x: model.first(x)
    with pytest.raises(ArgumentError, match=r"Net\.way is a function that holds a module"):
        jit(lambda m: m(x))(model)


def test_a_jitted_method_in_an_attribute_is_an_error(x):
    model = Net()
    model.fast = jit(model.forward)
    with pytest.raises(ArgumentError, match="holds a module"):
        grad(loss)(model, x)


def test_models_that_differ_are_no_matching_pytrees():
    with pytest.raises(AdjointError, match="pytrees differ"):
        tree_map(lambda a, b: a, nn.Linear(2, 2), nn.Linear(2, 2, bias=False))
    with pytest.raises(AdjointError, match="beside their leaves"):
        tree_map(lambda a, b: a, nn.ELU(1.0), nn.ELU(2.0))


# ---- roles


def test_buffers_stay_buffers_under_tree_map():
    model = tree_map(lambda p: p + 0, nn.BatchNorm1d(3))
    assert model.running_mean.requires_grad is False
    assert len(model.parameters()) == 2


def test_parameters_computed_without_gradients_stay_parameters():
    with Tensor.no_grad():
        model = tree_map(lambda p: p * 0.5, Net())
    assert len(model.parameters()) == 6


def test_freezing_by_tree_map_stays():
    model = tree_map(lambda p: p.requires_grad_(False), Net())
    assert model.parameters() == []
