"""Pytrees: what is a container, what a leaf, and that the transforms keep the shape."""

import dataclasses
from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

from adjoint import (
    ShapeError,
    Tensor,
    grad,
    jit,
    jvp,
    keystr,
    ravel_pytree,
    register_pytree_node,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_map_with_path,
    tree_unflatten,
    vjp,
    vmap,
)
from adjoint.transforms.pytree import (
    OtherTreeError,
    broadcast_prefix,
    leaf_reader,
    tree_builder,
    tree_structure,
)

Layer = namedtuple("Layer", "weight bias")


@dataclasses.dataclass
class Model:
    first: Layer
    scale: Tensor
    extra: None = None


@dataclasses.dataclass(frozen=True)
class Frozen:
    value: object


class Registered:
    def __init__(self, values, name):
        self.values, self.name = values, name


register_pytree_node(Registered, lambda r: (r.values, r.name), lambda name, v: Registered(v, name))

TREES = [
    3,
    None,
    [],
    (),
    {},
    [1, 2],
    (1, (2, [3])),
    {"b": 1, "a": (2, None)},
    Layer(1, Layer(2, 3)),
    Model(Layer(1, 2), 3),
    Frozen([1, 2]),
    {"x": [None, {"y": 1}], "z": ()},
]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_what_is_taken_apart_is_put_together_again(tree):
    leaves, treedef = tree_flatten(tree)
    assert treedef.leaves == len(leaves)
    assert tree_unflatten(treedef, leaves) == tree
    build = tree_builder(treedef)
    assert build(leaves) == build(leaves) == tree
    assert type(build(tuple(leaves))) is type(tree)


def test_trees_of_one_builder_share_no_container():
    build = tree_builder(tree_structure({"a": [1, {}], "b": {}}))
    one, other = build([1]), build([2])
    one["a"][1]["new"] = one["b"]["new"] = 3
    assert other == {"a": [2, {}], "b": {}}


def test_a_registered_class_is_put_together_with_its_meta():
    tree = Registered([1, [2]], "r")
    leaves, treedef = tree_flatten(tree)
    again = tree_unflatten(treedef, [x * 10 for x in leaves])
    assert (again.values, again.name) == ([10, [20]], "r")


def test_none_has_no_leaves():
    assert tree_leaves([None, 1, (None,)]) == [1]


def test_dict_leaves_come_in_sorted_key_order():
    assert tree_leaves({"b": 2, "a": 1, "c": 3}) == [1, 2, 3]
    assert tree_structure({"b": 2, "a": 1}) == tree_structure({"a": 1, "b": 2})


@pytest.mark.parametrize("kind", [dict, lambda items: defaultdict(list, items)])
def test_a_dict_that_is_put_together_again_has_its_order(kind):
    tree = kind({"b": 2, "c": {"z": 3, "y": 4}, "a": 1})
    leaves, treedef = tree_flatten(tree)
    for back in (tree_unflatten(treedef, leaves), tree_builder(treedef)(leaves)):
        assert type(back) is type(tree)
        assert back == tree
        assert list(back) == ["b", "c", "a"]
        assert list(back["c"]) == ["z", "y"]
    assert list(tree_map(lambda a, b: a + b, {"b": 1, "a": 2}, {"a": 3, "b": 4})) == ["b", "a"]


def test_the_leaves_of_dicts_of_another_order_are_not_read_as_if_they_had_it():
    read = leaf_reader(tree_structure({"b": 2, "a": 1}))
    assert list(read({"b": 4, "a": 3})) == [3, 4]
    with pytest.raises(OtherTreeError):
        read({"a": 3, "b": 4})
    assert leaf_reader(tree_structure({1: 2})) is None


@pytest.mark.parametrize("transform", [grad, jit, vmap])
def test_a_function_sees_a_dict_in_the_order_that_it_has(transform):
    def f(layers):
        x = Tensor(1.0)
        for value in layers.values():
            x = x * 2 + value.sum()
        return x

    layers = {f"layer{i}": Tensor([float(i)]) for i in (9, 10)}
    seen = []
    transform(lambda d: seen.append(list(d)) or f(d))(layers)
    assert seen == [["layer9", "layer10"]]


def test_an_unknown_class_is_a_leaf():
    thing = object()
    assert tree_leaves([thing, {1}]) == [thing, {1}]
    assert len(tree_leaves(OrderedDict(a=1))) == 1


def test_a_dataclass_type_is_a_leaf():
    assert tree_leaves(Model) == [Model]


def test_structures_differ_by_container_and_by_meta():
    assert tree_structure([1]) != tree_structure((1,))
    assert tree_structure({"a": 1}) != tree_structure({"b": 1})
    assert tree_structure(Registered([1], "r")) != tree_structure(Registered([1], "s"))


def test_tree_map_over_several_trees():
    got = tree_map(lambda a, b: a + b, {"x": (1, 2), "y": None}, {"x": (10, 20), "y": None})
    assert got == {"x": (11, 22), "y": None}


def test_tree_map_over_trees_that_differ_is_an_error():
    with pytest.raises(ShapeError, match="pytrees differ") as caught:
        tree_map(lambda a, b: a, {"x": 1}, {"y": 1})
    assert caught.value.code == "E3010"
    assert caught.value.help


def test_a_structure_prints_short():
    assert str(tree_structure({"a": [1, None]})) == "dict(list(*, None)) ('a',)"


def test_a_prefix_ends_early():
    whole = tree_structure({"a": (1, 2), "b": 3})
    assert broadcast_prefix("vmap", {"a": 0, "b": None}, whole) == [0, 0, None]
    assert broadcast_prefix("vmap", {"a": (0, 1), "b": 2}, whole) == [0, 1, 2]
    assert broadcast_prefix("vmap", 5, whole) == [5, 5, 5]


def test_a_dataclass_is_a_prefix_of_its_like():
    assert broadcast_prefix("vmap", Model(0, None), tree_structure(Model(Layer(1, 2), 3))) == [
        0,
        0,
        None,
    ]


@pytest.mark.parametrize("prefix", [{"a": 0, "c": 1}, {"a": 0}, [0, 1], {"a": (0, 1), "b": 0}])
def test_a_prefix_of_another_shape_is_an_error(prefix):
    with pytest.raises(ShapeError, match="not a prefix") as caught:
        broadcast_prefix("vmap", prefix, tree_structure({"a": 1, "b": 2}))
    assert caught.value.help


def model():
    weight = Tensor(np.array([1.0, 2.0]))
    return Model(Layer(weight, Tensor(np.float64(3.0))), Tensor(np.float64(0.5)))


def loss(m):
    return ((m.first.weight**2).sum() + m.first.bias) * m.scale


class TestThroughTransforms:
    def test_grad_of_a_dataclass_with_a_namedtuple(self):
        got = grad(loss)(model())
        assert isinstance(got, Model)
        assert isinstance(got.first, Layer)
        assert got.extra is None
        np.testing.assert_array_equal(got.first.weight.numpy(), [1.0, 2.0])
        assert got.first.bias.item() == 0.5
        assert got.scale.item() == 8.0

    def test_grad_of_a_registered_class(self):
        got = grad(lambda r: (r.values[0] * r.values[1]).sum())(
            Registered([Tensor([2.0]), Tensor([3.0])], "r")
        )
        assert got.name == "r"
        assert [v.item() for v in got.values] == [3.0, 2.0]

    def test_grad_of_lists_tuples_and_dicts(self):
        tree = {"a": [Tensor([1.0])], "b": (Tensor([2.0]), None)}
        got = grad(lambda t: (t["a"][0] ** 2 * t["b"][0]).sum())(tree)
        assert got["a"][0].item() == 4.0
        assert got["b"][0].item() == 1.0
        assert got["b"][1] is None

    def test_an_empty_tree_has_an_empty_gradient(self):
        assert grad(lambda x, e: x.sum(), 1)(Tensor([1.0]), {}) == {}

    def test_jvp_keeps_the_tree_of_the_result(self):
        value, tangent = jvp(lambda x: {"y": x * 2, "n": None}, (Tensor([1.0]),), (Tensor([1.0]),))
        assert value["n"] is None
        assert tangent["n"] is None
        assert tangent["y"].item() == 2.0

    def test_vjp_takes_the_tree_of_the_result(self):
        _, pullback = vjp(lambda x: Layer(x * 2, x * 3), Tensor([1.0]))
        assert pullback(Layer(Tensor([1.0]), Tensor([10.0])))[0].item() == 32.0

    def test_vmap_maps_every_leaf(self):
        got = vmap(lambda t: Layer(t["a"] + t["b"], None))(
            {"a": Tensor([1.0, 2.0]), "b": Tensor([10.0, 20.0])}
        )
        assert got.weight.tolist() == [11.0, 22.0]
        assert got.bias is None


class Row(tuple):
    """A tuple with a name of its own."""


class TestMoreContainers:
    def test_an_ordered_dict_keeps_its_order(self):
        leaves, treedef = tree_flatten(OrderedDict(z=1, a=2))
        assert leaves == [1, 2]
        back = tree_unflatten(treedef, [3, 4])
        assert type(back) is OrderedDict
        assert list(back.items()) == [("z", 3), ("a", 4)]
        assert treedef != tree_flatten(OrderedDict(a=2, z=1))[1]

    def test_a_defaultdict_keeps_its_factory(self):
        back = tree_map(lambda v: v + 1, defaultdict(list, {"b": 1, "a": 2}))
        assert type(back) is defaultdict
        assert dict(back) == {"a": 3, "b": 2}
        assert back["new"] == []

    def test_a_subclass_of_tuple_stays_one(self):
        got = grad(lambda r: (r[0] * r[1]).sum())(Row((Tensor([2.0]), Tensor([3.0]))))
        assert type(got) is Row
        assert [v.item() for v in got] == [3.0, 2.0]

    @pytest.mark.parametrize("kind", ["list", "dict"])
    def test_one_that_contains_itself_is_an_error(self, kind):
        tree = [1.0] if kind == "list" else {"x": 1.0}
        tree.append(tree) if kind == "list" else tree.update(self=tree)
        with pytest.raises(ShapeError, match=r"E3010.*contains itself"):
            tree_flatten(tree)
        with pytest.raises(ShapeError, match=r"E3010.*contains itself"):
            grad(lambda t: t)(tree)

    def test_keys_without_an_order_are_an_error(self):
        with pytest.raises(ShapeError, match="have no order"):
            tree_flatten({1j: 1, 2j: 2})


class TestPaths:
    TREE = {  # noqa: RUF012
        "o": OrderedDict(z=1, a=2),
        "l": [3, (4, None)],
        "n": Layer(5, defaultdict(int, k=6)),
    }
    WRITTEN = (
        "['l'][0]",
        "['l'][1][0]",
        "['n'].weight",
        "['n'].bias['k']",
        "['o']['z']",
        "['o']['a']",
    )

    def test_every_leaf_has_one(self):
        pairs, treedef = tree_flatten_with_path(self.TREE)
        assert tuple(keystr(path) for path, _ in pairs) == self.WRITTEN
        assert [leaf for _, leaf in pairs] == tree_leaves(self.TREE)
        assert treedef == tree_flatten(self.TREE)[1]
        assert tree_leaves_with_path(self.TREE) == pairs

    def test_a_map_knows_them(self):
        got = tree_map_with_path(lambda p, a, b: f"{keystr(p)}={a + b}", self.TREE, self.TREE)
        assert got["l"][1][0] == "['l'][1][0]=8"
        assert got["n"].weight == "['n'].weight=10"

    def test_a_leaf_alone_has_an_empty_one(self):
        assert tree_leaves_with_path(3) == [((), 3)]
        assert keystr(()) == ""


class TestOneVector:
    def test_there_and_back(self):
        tree = {"w": Tensor([[1.0, 2.0]]), "n": Tensor([3, 4]), "s": Tensor(5.0)}
        flat, unravel = ravel_pytree(tree)
        assert flat.tolist() == [3, 4, 5, 1, 2]
        back = unravel(flat * 2)
        assert back["w"].tolist() == [[2, 4]]
        assert back["n"].tolist() == [6, 8]
        assert [back[k].dtype for k in tree] == [tree[k].dtype for k in tree]
        assert back["s"].shape == ()

    def test_gradients_pass(self):
        flat, unravel = ravel_pytree([Tensor([1.0, 2.0]), Tensor([3.0])])
        assert grad(lambda v: (unravel(v)[0] ** 2).sum())(flat).tolist() == [2, 4, 0]

    def test_nothing_is_an_empty_vector(self):
        flat, unravel = ravel_pytree({})
        assert flat.shape == (0,)
        assert unravel(flat) == {}

    def test_another_length_is_an_error(self):
        with pytest.raises(ShapeError, match="E3003"):
            ravel_pytree([Tensor([1.0])])[1](Tensor([1.0, 2.0]))
