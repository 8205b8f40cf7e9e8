"""Graphs that are large, deep or used by several threads."""

import numpy as np
import pytest

from adjoint import AdjointError
from adjoint.handbuilt.uops import LANGUAGES as ALL
from adjoint.handbuilt.uops import BinaryOps, UOps, uops_to_cstyle
from tests.handbuilt.building import INT, Build, saxpy
from tests.support.threads import in_threads

BOOL = "bool"


def nested(depth, loops):
    b = Build()
    out = b.out(INT)
    heads = [b.loop(1) if loops else b.when(b.n(True, BOOL)) for _ in range(depth)]
    b.store(out, b.n(0), b.n(7))
    for head in reversed(heads):
        b.end(head)
    return b


@pytest.mark.parametrize("loops", [True, False])
def test_what_is_deep_runs_and_what_is_deeper_is_an_error(loops):
    b = nested(64, loops)
    for device in ("CPU", "REF"):
        assert b.g.compile(device)(np.zeros(1, np.int32))[0] == 7
    for language in ALL.values():
        assert "data0" in uops_to_cstyle(language, "deep", b.g)
    with pytest.raises(AdjointError, match=r"E6003.*node \d+.*inside 64 loops and conditions"):
        nested(65, loops)


def test_a_long_chain():
    b = Build()
    x = b.out(INT)
    value, want = b.load(x, b.n(0)), 1
    for k in range(5000):
        op = (BinaryOps.ADD, BinaryOps.MUL, BinaryOps.XOR)[k % 3]
        value, n = b.alu(op, value, b.n(k % 7 + 1)), k % 7 + 1
        want = (want + n if k % 3 == 0 else want * n if k % 3 == 1 else want ^ n) % 2**32
    b.store(x, b.n(0), value)
    assert len(b.g.nodes) > 5000
    assert b.g.compile("CPU")(np.ones(1, np.int32)).view(np.uint32)[0] == want
    assert "data0" in uops_to_cstyle(ALL["c"], "chain", b.g)


def test_many_loads_and_stores():
    b = Build()
    x = b.out(INT)
    for k in range(1500):
        b.store(x, b.n(k), b.load(x, b.n(k + 1)))
    found = b.g.compile("CPU")(np.arange(1501, dtype=np.int32))
    np.testing.assert_array_equal(found, [*range(1, 1501), 1500])


def test_a_register_that_many_loops_read():
    b = Build()
    out = b.out(INT)
    acc = b.acc(5, INT)
    for turn in range(300):
        i = b.loop(2)
        b.store(out, i, b.add(acc, i))
        if turn == 299:
            b.phi(acc, b.add(acc, i))
        b.end(i)
    b.store(out, b.n(2), acc)
    assert b.g.compile("CPU")(np.zeros(3, np.int32)).tolist() == [5, 6, 6]


def test_an_index_that_doubles_itself():
    """Every use of a node has two uses of the one before: walks must not go through them all."""
    b = Build()
    out = b.out(INT)
    i = place = b.index("gidx0", 4)
    for _ in range(60):
        place = b.add(place, place)
    b.store(out, place, i)
    assert b.g.compile("CPU")(np.zeros(2, np.int32)).tolist() == [3, 0]


def test_several_threads_build_and_call():
    kernel = saxpy(100).g.compile("CPU")
    found = []

    def work():
        x = np.arange(100, dtype=np.float32)
        own = saxpy(100, threads=False).g.compile("CPU")
        for each in (kernel, own) * 10:
            found.append((each(np.zeros_like(x), x, x, np.float32([2])) == 3 * x).all())

    in_threads(4, lambda _: work())
    assert found == [True] * 80


def test_barriers_in_a_row():
    b = Build()
    out = b.out(INT)
    thread = value = b.index("lidx0", 4)
    for _ in range(30):
        b.store(out, thread, value)
        b.barrier()
        value = b.load(out, b.alu(BinaryOps.MOD, b.add(thread, b.n(1)), b.n(4)))
        b.barrier()
    b.g.add(UOps.STORE, vin=(out, thread, value))
    assert b.g.compile("CPU")(np.zeros(4, np.int32)).tolist() == [2, 3, 0, 1]
