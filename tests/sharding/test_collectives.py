"""The records of collectives: what they compute together, their transposes, batches and texts."""

import numpy as np
import pytest

from adjoint import Mesh
from adjoint.autodiff.reverse import compute_gradient
from adjoint.batching import batch
from adjoint.engine.interpreter import run_function
from adjoint.ir.function import Function
from adjoint.ir.member import Member, running_as
from adjoint.ir.opdef import OPS
from adjoint.module import parse
from adjoint.module.from_graph import block_of
from adjoint.module.module import Module
from adjoint.ops import collective
from adjoint.runtime.comm import local
from tests.sharding.meshes import values

MESH = Mesh((2, 2), ("a", "b"), [f"REF:{i}" for i in range(4)])
PAIRS = ((0, 1), (1, 0))
CASES = {
    "all_reduce": lambda x: collective.all_reduce(x, ("a", "b"), 4, "sum"),
    "all_reduce over one": lambda x: collective.all_reduce(x, ("b",), 2, "sum"),
    "all_gather": lambda x: collective.all_gather(x, ("b",), 2, 1),
    "all_gather in another order": lambda x: collective.all_gather(x, ("b", "a"), 4, 0),
    "reduce_scatter": lambda x: collective.reduce_scatter(x, ("a",), 2, 0, "sum"),
    "all_to_all": lambda x: collective.all_to_all(x, ("a",), 2, 0, 1),
    "collective_permute": lambda x: collective.collective_permute(x, ("b",), 2, PAIRS),
    "half a permute": lambda x: collective.collective_permute(x, ("b",), 2, PAIRS[:1]),
}


def variable(*shape):
    return OPS["input"]("x", shape, "float64")


def together(nodes, inputs, given):
    """What every member computes, from an array for each."""

    def one(here):
        with running_as(Member(MESH, here.rank, here)):
            return run_function(Function(tuple(inputs), tuple(nodes)), list(given[here.rank]))

    return local.run(MESH.size, one)


def arrays(*shape, seed=0):
    return [values(*shape, seed=seed + i, dtype=np.float64) for i in range(MESH.size)]


@pytest.mark.parametrize("case", CASES)
def test_a_derivative_is_the_transpose_of_what_all_members_compute(case):
    x = variable(4, 6)
    y = CASES[case](x)
    g = OPS["input"]("g", y.shape, "float64")
    back = compute_gradient(y, g, [x])[x]
    xs, gs = arrays(4, 6), arrays(*y.shape, seed=9)
    forward = together([y], [x], [(a,) for a in xs])
    reverse = together([back], [x, g], list(zip(xs, gs, strict=True)))
    left = sum((a[0] * b).sum() for a, b in zip(forward, gs, strict=True))
    right = sum((a * b[0]).sum() for a, b in zip(xs, reverse, strict=True))
    assert left == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_under_vmap_every_example_is_exchanged_alike(case):
    x, rows = variable(4, 6), variable(3, 4, 6)
    y = CASES[case](x)
    ((batched, flag),) = batch([y], {x: rows}, 3)
    assert flag
    given = arrays(3, 4, 6)
    whole = together([batched], [rows], [(a,) for a in given])
    for i in range(3):
        one = together([y], [x], [(a[i],) for a in given])
        for found, wanted in zip(whole, one, strict=True):
            assert (found[0][i] == wanted[0]).all()


@pytest.mark.parametrize("case", CASES)
def test_a_module_says_a_collective_and_reads_it_back(case):
    x = variable(4, 6)
    block = block_of(Function((x,), (CASES[case](x),)))
    text = str(Module(block.instructions, block.outputs))
    assert str(parse(text)) == text
    assert CASES[case](x).op.name.split("_")[0].capitalize() in text


def test_what_members_have_is_where_it_belongs():
    x = variable(2, 2)
    given = [np.full((2, 2), float(m)) for m in range(4)]
    found = together([collective.all_gather(x, ("b", "a"), 4, 0)], [x], [(a,) for a in given])
    assert [f[0][::2, 0].tolist() for f in found] == [[0, 2, 1, 3]] * 4
    found = together([collective.all_reduce(x, ("a",), 2, "max")], [x], [(a,) for a in given])
    assert [f[0][0, 0] for f in found] == [2, 3, 2, 3]


def test_bytes_are_those_of_a_ring():
    x = variable(4, 6)  # 192 bytes
    count = {name: collective.bytes_sent(make(x)) for name, make in CASES.items()}
    assert count["all_reduce"] == 2 * 192 * 3 // 4
    assert count["all_gather"] == 192
    assert count["reduce_scatter"] == 96
    assert count["all_to_all"] == 96
    assert count["collective_permute"] == 192
