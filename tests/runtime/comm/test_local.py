"""Members that are threads: every collective, every dtype, every way to go wrong."""

import threading
import time

import ml_dtypes
import numpy as np
import pytest

from adjoint.errors import CommunicationError
from adjoint.runtime.comm import local
from adjoint.runtime.comm.joins import CHUNK, join_all
from tests.runtime.comm.mpi_collectives import check_messages
from tests.runtime.comm.values import dtype_of, tree, values

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
SIZES = [1, 2, 3, 4, 5, 7]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["sum", "max", "min", "prod"])
def test_all_reduce_joins_in_the_tree_of_ranks(size, kind):
    def body(member):
        source, target = values(member.rank, (5, 3)), np.empty((5, 3), np.float32)
        member.all_reduce(source, target, kind, label="here")
        return target

    expected = tree(kind, [values(rank, (5, 3)) for rank in range(size)])
    for got in local.run(size, body):
        assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [*DTYPES, *FLOATS])
@pytest.mark.parametrize("kind", ["sum", "max", "min", "prod"])
def test_reductions_of_every_dtype_or_a_refusal(dtype, kind):
    def body(member):
        source = values(member.rank, (3, 4), dtype)
        whole, part = np.empty((3, 4), source.dtype), np.empty((4,), source.dtype)
        member.all_reduce(source, whole, kind, label="")
        member.reduce_scatter(source, part, kind, label="")
        return whole, part

    if (dtype == "bool" and kind in ("sum", "prod")) or (
        dtype[0] == "c" and kind in ("max", "min")
    ):
        with pytest.raises(CommunicationError, match=f"E7023.*{dtype} has no {kind}"):
            local.run(3, body)
        return
    expected = tree(kind, [values(rank, (3, 4), dtype) for rank in range(3)])
    for rank, (whole, part) in enumerate(local.run(3, body)):
        assert whole.tobytes() == expected.tobytes()
        assert part.tobytes() == expected[rank].tobytes()


def test_sums_of_16_bits_are_rounded_once_per_addition():
    parts = [np.array([x], ml_dtypes.bfloat16) for x in (256, 1, 1, 1)]
    out = np.empty(1, ml_dtypes.bfloat16)
    join_all("sum", parts, out)
    assert out[0] == 258  # (256 + 1 -> 256) + (1 + 1)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 8])
def test_long_parts_are_joined_in_the_same_tree(size):
    shape = (2, CHUNK // 4 + 5)  # of which no part of the memory is a multiple
    parts = [values(rank, shape) for rank in range(size)]
    before, out = [part.copy() for part in parts], np.empty(shape, np.float32)
    join_all("sum", parts, out)
    assert out.tobytes() == tree("sum", before).tobytes()
    assert all((part == old).all() for part, old in zip(parts, before, strict=True))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "bool", "float8_e4m3fn", "int64"])
def test_moves_of_every_member_to_every_other(size, dtype):
    pairs = [(r, (r + 1) % size) for r in range(size - 1)]

    def body(member):
        kind = dtype_of(dtype)
        one, many = values(member.rank, (2, 3), dtype), values(member.rank, (size, 3), dtype)
        gathered, turned = np.empty((size, 2, 3), kind), np.empty((size, 3), kind)
        moved = np.full((2, 3), 1, kind)
        member.all_gather(one, gathered, label="")
        member.all_to_all(many, turned, label="")
        member.permute(one, moved, pairs, label="")
        member.barrier(label="")
        return gathered, turned, moved

    for rank, (gathered, turned, moved) in enumerate(local.run(size, body)):
        assert gathered.tobytes() == b"".join(
            values(r, (2, 3), dtype).tobytes() for r in range(size)
        )
        assert turned.tobytes() == b"".join(
            values(r, (size, 3), dtype)[rank].tobytes() for r in range(size)
        )
        sent = rank > 0 and rank < size
        expected = values(rank - 1, (2, 3), dtype) if sent else np.zeros((2, 3), dtype_of(dtype))
        assert moved.tobytes() == expected.tobytes()


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1,), (1023,)])
def test_scalars_empty_and_odd_sizes(shape):
    def body(member):
        source, target = values(member.rank, shape), np.empty(shape, np.float32)
        gathered = np.empty((3, *shape), np.float32)
        member.all_reduce(source, target, "sum", label="")
        member.all_gather(source, gathered, label="")
        return target, gathered

    expected = tree("sum", [values(rank, shape) for rank in range(3)])
    for target, gathered in local.run(3, body):
        assert target.tobytes() == np.asarray(expected).tobytes()
        assert gathered[2].tobytes() == values(2, shape).tobytes()


def test_a_source_may_be_its_target():
    def body(member):
        reduced, turned = (
            np.full(5, member.rank, np.float32),
            np.arange(4, dtype=np.int32) + 10 * member.rank,
        )
        gathered = np.zeros((4, 2), np.float32)
        gathered[member.rank] = member.rank
        moved = np.full(3, member.rank)
        member.all_reduce(reduced, reduced, "sum", label="")
        member.all_to_all(turned, turned, label="")
        member.all_gather(gathered[member.rank], gathered, label="")
        member.permute(moved, moved, [(r, (r + 1) % 4) for r in range(4)], label="")
        return reduced, turned, gathered, moved

    for rank, (reduced, turned, gathered, moved) in enumerate(local.run(4, body)):
        assert reduced.tolist() == [6] * 5
        assert turned.tolist() == [rank, 10 + rank, 20 + rank, 30 + rank]
        assert gathered[:, 0].tolist() == [0, 1, 2, 3]
        assert moved.tolist() == [(rank - 1) % 4] * 3


def test_groups_are_counted_from_their_own_first_member():
    def body(member):
        rows = member.group((0, 2) if member.rank % 2 == 0 else (3, 1))
        cell = rows.group((1, 0))
        target = np.empty((2, 1), np.int64)
        cell.all_gather(np.array([member.rank]), target, label="")
        return rows.rank, cell.rank, target[:, 0].tolist()

    assert local.run(4, body) == [(0, 1, [2, 0]), (1, 0, [1, 3]), (1, 0, [2, 0]), (0, 1, [1, 3])]


def raising(body, size=3, **options):
    with pytest.raises(CommunicationError) as caught:
        local.run(size, body, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    "other",
    [
        lambda m, x: m.all_reduce(x, x, "max", label="train.py:9"),
        lambda m, x: m.all_reduce(x[:2], x[:2], "sum", label="train.py:9"),
        lambda m, x: m.all_reduce(x.astype("f8"), x.astype("f8"), "sum", label="train.py:9"),
        lambda m, x: m.all_to_all(np.ones((3, 2)), np.ones((3, 2)), label="train.py:9"),
        lambda m, x: m.barrier(label="train.py:9"),
        lambda m, x: m.group((1, 2)).all_reduce(x, x, "sum", label="train.py:9"),
    ],
)
def test_members_that_call_different_things_are_told_both_places(other):
    def body(member):
        x = np.ones(4, np.float32)
        if member.rank == 1:
            other(member, x)
        else:
            member.all_reduce(x, x, "sum", label="train.py:7")

    before = time.monotonic()
    text = raising(body)
    assert "E7020" in text
    assert "all_reduce sum float32[4] (train.py:7)" in text
    assert "train.py:9" in text
    assert time.monotonic() - before < 120


def test_a_member_that_raises_ends_the_others_with_its_error():
    seen = []

    def body(member):
        x = np.ones(2)
        if member.rank == 1:
            raise KeyError("lost")
        try:
            member.all_reduce(x, x, "sum", label="train.py:3")
        except CommunicationError as error:
            seen.append(str(error))
            raise

    with pytest.raises(KeyError, match="lost"):
        local.run(3, body)
    assert len(seen) == 2
    for text in seen:
        assert "E7021: member 1 raised KeyError: 'lost'" in text
        assert "all_reduce sum float64[2] (train.py:3)" in text


def test_a_member_that_returns_early_is_named():
    def body(member):
        if member.rank:
            member.barrier(label="end")

    assert "member 0 has returned, and member" in raising(body)


def test_a_member_that_does_not_come_is_named():
    leave = threading.Event()

    def body(member):
        if member.rank == 2:
            leave.wait(20)
        else:
            try:
                member.barrier(label="train.py:5")
            finally:
                leave.set()

    text = raising(body, limit=0.2)
    assert "E7022: member 2 did not come to barrier of member" in text
    assert "within 0.2 s" in text


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda m, x: m.all_reduce(x, x, "mean", label=""), "one of sum, max, min, prod"),
        (lambda m, x: m.all_gather(x, x, label=""), r"not \[4\] and \[4\]"),
        (lambda m, x: m.reduce_scatter(x, x, "sum", label=""), r"not \[4\] and \[4\]"),
        (lambda m, x: m.all_reduce(x, x.astype("f8"), "sum", label=""), "float32 and float64"),
        (lambda m, x: m.permute(x, x, [(0, 1), (0, 0)], label=""), "sends and receives once"),
        (lambda m, x: m.permute(x, x, [(0, 2)], label=""), "0 to 1"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(call, problem):
    with pytest.raises(CommunicationError, match=problem) as caught:
        local.run(2, lambda member: call(member, np.ones(4, np.float32)))
    assert caught.value.code == "E7023"


def test_messages_are_read_by_their_tags_in_the_order_in_which_they_were_sent():
    local.run(3, lambda member: check_messages(member, "float32", 2))


MESSAGES = {
    "E7021: member 1 has returned, and member 0 cannot go on with receive": lambda m, x: None,
    "send float32[3] (train.py:9)": lambda m, x: m.send(x[:3], 0, tag=1, label="train.py:9"),
    "barrier (train.py:9)": lambda m, x: m.barrier(label="train.py:9"),
    "float32[4] (train.py:9)": lambda m, x: m.receive(x, 0, tag=1, label="train.py:9"),
}


@pytest.mark.parametrize("text", MESSAGES)
def test_a_message_that_does_not_come_ends_its_reader(text):
    def body(member):
        x = np.ones(4, np.float32)
        if member.rank:
            MESSAGES[text](member, x)
        else:
            member.receive(x, 1, tag=1, label="train.py:7")

    found = raising(body, size=2)
    assert text in found, found
    assert "float32[4] (train.py:7)" in found


def test_many_rounds_in_groups_that_cross():
    def body(member):
        row, column = member.rank // 2, member.rank % 2
        rows, columns = member.group((2 * row, 2 * row + 1)), member.group((column, column + 2))
        total = np.array([member.rank + 1.0])
        for _ in range(50):
            rows.all_reduce(total, total, "sum", label="")
            columns.all_reduce(total, total, "max", label="")
            total /= 2
        return total[0]

    assert len(set(local.run(4, body))) == 1
