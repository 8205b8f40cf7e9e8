"""The loop tree: a list of nodes and the nested blocks that it stands for."""

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.engine.realize import scheduled
from adjoint.errors import InternalError
from adjoint.ir.loop_tree import Block, nested
from adjoint.ir.opdef import OPS


def loop(id):
    return OPS["range"](id, 4, 0)


def end(head):
    return OPS["end_range" if head.op.name == "range" else "endif"](head)


def test_a_list_goes_to_a_tree_and_back():
    outer, inner = loop(0), loop(1)
    test = OPS["if"](OPS["lt"](outer, inner))
    total = OPS["add"](outer, inner)
    body = [outer, inner, test, total, end(test), end(inner), inner, end(inner), end(outer)]
    root = nested(body)
    assert root.flat() == body
    (first,) = root.blocks
    assert [b.head for b in first.blocks] == [inner, inner]
    assert list(root.nodes()) == [total]
    assert root.holds("add")
    assert not root.holds("store")
    deepest = first.blocks[0].blocks[0]
    assert [b.head for b in deepest.chain()] == [None, outer, inner, test]
    assert [b.is_loop for b in deepest.chain()] == [False, True, True, False]


def test_an_empty_list_is_an_empty_tree():
    assert nested([]).items == []
    assert Block().flat() == []


@pytest.mark.parametrize(
    "body",
    [
        [end(loop(0))],
        [loop(0)],
        [loop(0), loop(1), end(loop(0)), end(loop(1))],
        [loop(0), end(loop(0)), end(loop(0))],
    ],
    ids=["ends nothing", "never ends", "ends out of order", "ends twice"],
)
def test_blocks_that_do_not_nest_are_an_error(body):
    with pytest.raises(InternalError):
        nested(body)


PROGRAMS = {
    "rows": lambda x: x.softmax(-1),
    "a long sum": lambda x: x.reshape(-1).sum(),
    "a sort": lambda x: x.sort(0)[0],
    "a scan": lambda x: x.cumsum(1),
    "a transpose": lambda x: x.T + 1,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_kernels_of_the_compiler_are_trees(name):
    x = Tensor(np.ones((64, 80), np.float32), device="CPU")
    for program in scheduled([PROGRAMS[name](x).uop]).plan.programs():
        assert tuple(nested(program.body).flat()) == program.body
