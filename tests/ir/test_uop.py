"""Nodes: one object per value, immutable, in any number and depth, from any thread."""

import copy
import gc
import pickle
import subprocess
import sys
import threading

import pytest

from adjoint.errors import DeviceError, ShapeError
from adjoint.ir.arg import Complex, Real
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import live_nodes, rebuild, substitute, toposort
from tests.support.threads import in_threads

DEPTH = 100_000


def leaf(name="x", shape=(2, 3), dtype="float32", device=None):
    return OPS["input"](name, shape, dtype, device)


def chain(depth, start=None):
    node = leaf() if start is None else start
    for _ in range(depth):
        node = -node
    return node


# ---- identity


def test_equal_nodes_are_one():
    assert leaf() is leaf()
    assert leaf() + 1 is leaf() + 1
    assert leaf().reshape(3, 2) is leaf().reshape(3, 2)


def test_different_nodes_are_two():
    x = leaf()
    assert x + 1 is not x + 2
    assert x.reshape(3, 2) is not x.reshape(6)
    assert x - leaf("y") is not leaf("y") - x
    assert x + 1.0 is not x.cast("float64") + 1.0


def test_zeros_of_either_sign_and_nans_are_told_apart():
    x = leaf()
    assert x + 0.0 is not x + -0.0
    assert x + float("nan") is x + float("nan")
    assert Real(1.0) != 1
    assert Complex(complex(0.0, -0.0)) != Complex(complex(0.0, 0.0))


def test_numbers_that_hash_alike_are_told_apart():
    assert OPS["const"](1, "int32") is not OPS["const"](1, "float32")
    assert OPS["const"](True, "bool") is not OPS["const"](1, "int8")


def test_equality_is_identity():
    x = leaf()
    assert x == x
    assert x != leaf("y")
    assert len({x, leaf(), leaf("y")}) == 2


# ---- immutability


@pytest.mark.parametrize("name", ["op", "src", "arg", "shape", "dtype", "device"])
def test_a_node_cannot_be_changed(name):
    with pytest.raises(AttributeError, match="immutable"):
        setattr(leaf(), name, None)


def test_a_node_takes_no_new_attributes():
    with pytest.raises(AttributeError):
        leaf().colour = "red"


def test_attributes_cannot_be_changed():
    with pytest.raises((AttributeError, TypeError)):
        leaf().reshape(6).arg.shape = (3, 2)


def test_a_node_has_no_truth_value():
    with pytest.raises(TypeError, match="truth value"):
        bool(leaf() < 1)


def test_copies_are_the_node():
    x = leaf().exp()
    assert copy.copy(x) is x
    assert copy.deepcopy([x])[0] is x


# ---- what is derived


def test_shape_dtype_and_device_follow_from_the_sources():
    x = leaf(device="CPU")
    y = (x < 0).where(x, 1).reshape(6)
    assert (y.shape, y.dtype.short, y.device) == ((6,), "f32", "CPU")
    assert (y.ndim, y.size) == (1, 6)


def test_errors_are_raised_where_the_node_is_built():
    with pytest.raises(ShapeError) as caught:
        leaf().reshape(7)
    assert caught.value.code == "E3007"
    with pytest.raises(DeviceError, match="different devices"):
        leaf(device="CPU") + leaf(device="REF")


# ---- walks


def test_sources_come_before_users_and_each_node_once():
    x, y = leaf(), leaf("y")
    node = (x * y + x).exp() - y
    order = toposort([node])
    assert order[-1] is node
    assert len(order) == len(set(order)) == 6
    assert all(order.index(s) < order.index(n) for n in order for s in n.src)


def test_the_order_is_that_of_the_sources():
    x, y = leaf(), leaf("y")
    assert toposort([y + x]) == [y, x, y + x]
    assert toposort([x, y + x]) == [x, y, y + x]


def test_stop_keeps_the_walk_out():
    x = leaf()
    middle = x.exp()
    assert toposort([middle.log()], stop=lambda n: n is middle) == [middle, middle.log()]


def test_substitution_replaces_and_keeps_the_rest():
    x, y = leaf(), leaf("y")
    node = x.exp() + y.log()
    moved = node.substitute({x: y})
    assert moved is y.exp() + y.log()
    assert moved.src[1] is node.src[1]
    assert node.substitute({}) is node


def test_substitution_does_not_walk_replacements():
    x = leaf()
    assert substitute([x.exp()], {x: x.log()}) == [x.log().exp()]


def test_a_node_on_other_sources_is_where_they_are_and_keeps_its_line():
    node = leaf().reshape(6)
    for device in ("CPU", "REF"):
        new = rebuild(node, (OPS["input"]("other", (2, 3), "float32", device),))
        assert (new.device, new.shape, new.raw_origin) == (device, (6,), node.raw_origin)
    narrow = rebuild(node, (OPS["input"]("other", (2, 3), "float16", "CPU"),))
    assert (narrow.dtype.name, narrow.raw_origin) == ("float16", node.raw_origin)


def test_rebuilding_checks_the_new_sources():
    with pytest.raises(ShapeError):
        rebuild(leaf().reshape(6), (leaf("y", (5,)),))


def test_deep_graphs_are_walked_replaced_and_dropped_without_recursion():
    gc.collect()
    before = live_nodes()
    node = chain(DEPTH)
    assert len(toposort([node])) == DEPTH + 1
    moved = node.substitute({leaf(): leaf("z")})
    assert len(moved.toposort()) == DEPTH + 1
    del node, moved
    gc.collect()
    assert live_nodes() <= before


def test_a_graph_that_doubles_at_every_step_is_walked_once():
    node = leaf()
    for _ in range(200):
        node = node + node
    assert len(node.toposort()) == 201


# ---- memory


def test_nodes_that_nobody_holds_are_gone():
    gc.collect()
    before = live_nodes()
    kept = [leaf(f"kept {i}").exp() for i in range(100)]
    assert live_nodes() >= before + 200
    kept.clear()
    gc.collect()
    assert live_nodes() <= before


def test_a_cycle_through_a_value_is_collected():
    class Holder:
        """Stands for a value that knows its node."""

    gc.collect()
    before = live_nodes()
    node = leaf("cycle").exp()
    node.realized = Holder()
    node.realized.node = node
    del node
    gc.collect()
    assert live_nodes() <= before + 2


# ---- pickling


def test_a_pickled_graph_comes_back_as_the_same_nodes():
    node = (leaf().exp() * 2.5).reshape(6).cast("int8")
    assert pickle.loads(pickle.dumps(node)) is node


def test_a_graph_can_be_sent_to_another_process():
    data = pickle.dumps(leaf().reduce_sum(1) + -0.0)
    program = (
        "import sys, pickle, adjoint\n"
        "from adjoint.ir.text import text\n"
        "print(text(pickle.loads(sys.stdin.buffer.read())), end='')"
    )
    done = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().splitlines()[1].startswith("%1 = reduce_sum(%0)")


def test_the_order_is_the_same_whatever_the_hash_seed():
    program = (
        "import adjoint\n"
        "from adjoint.ir.text import text\n"
        "x = adjoint.Tensor.empty(2, 3)\n"
        "print(text(((x @ x.T).softmax(0) + x.sum()).uop))"
    )
    outputs = set()
    for seed in ("0", "1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        )
        assert done.returncode == 0, done.stderr.decode()
        outputs.add(done.stdout)
    assert len(outputs) == 1


# ---- threads


def test_threads_that_build_the_same_graph_get_the_same_nodes():
    results, start = [], threading.Barrier(8)

    def build():
        start.wait()
        made = []
        for i in range(300):
            x = leaf(f"t{i}")
            made.append((x * 2 + i).exp().reshape(6))
        results.append(made)

    in_threads(8, lambda _: build())
    assert len(results) == 8
    assert all(a is b for made in results[1:] for a, b in zip(results[0], made, strict=True))
