"""A program of many processes: every collective, against what one process computes."""

import sys

import numpy as np

from adjoint import distributed
from tests.runtime.comm.values import tree, values

DTYPES = [
    "bool",
    "int8",
    "uint16",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
]
LONG = 300_001  # elements: several blocks, and one that is not full


def check_reductions(member, dtype, kind, rows):
    shape = (member.size, rows)
    source = values(member.rank, shape, dtype)
    whole, part = np.empty_like(source), np.empty((rows,), source.dtype)
    member.all_reduce(source, whole, kind, label="check")
    member.reduce_scatter(source, part, kind, label="check")
    expected = tree(kind, [values(rank, shape, dtype) for rank in range(member.size)])
    assert whole.tobytes() == expected.tobytes(), (dtype, kind, rows)
    assert part.tobytes() == expected[member.rank].tobytes(), (dtype, kind, rows)
    member.all_reduce(source, source, kind, label="check")
    assert source.tobytes() == expected.tobytes(), (dtype, kind, rows)


def check_moves(member, dtype, rows):
    size, me = member.size, member.rank
    one, many = values(me, (rows, 2), dtype), values(me, (size, rows), dtype)
    gathered, turned = np.empty((size, rows, 2), one.dtype), np.empty_like(many)
    moved, ring = np.ones_like(one), [(r, r + 1) for r in range(size - 1)]
    member.all_gather(one, gathered, label="check")
    member.all_to_all(many, turned, label="check")
    member.permute(one, moved, ring, label="check")
    for rank in range(size):
        assert gathered[rank].tobytes() == values(rank, (rows, 2), dtype).tobytes()
        assert turned[rank].tobytes() == values(rank, (size, rows), dtype)[me].tobytes()
    sent = values(me - 1, (rows, 2), dtype) if me else np.zeros_like(one)
    assert moved.tobytes() == sent.tobytes()
    member.all_to_all(many, many, label="check")
    assert many.tobytes() == turned.tobytes()


def check_messages(member, dtype, rows):
    """Around a ring, two messages under each of two tags, read in another order than sent."""
    size, me = member.size, member.rank
    to, source = (me + 1) % size, (me - 1) % size
    for number in range(4):
        sent = values(me, (rows, number + 1), dtype)
        member.send(sent, to, tag=number % 2, label="check")
        sent[...] = 0  # a message is its own from then on
    for number in (1, 3, 0, 2):
        came = np.empty((rows, number + 1), sent.dtype)
        member.receive(came, source, tag=number % 2, label="check")
        assert came.tobytes() == values(source, (rows, number + 1), dtype).tobytes()
    member.flush(label="check")


def check_groups(member):
    me, size = member.rank, member.size
    pairs = member.group((me // 2 * 2, me // 2 * 2 + 1)) if size % 2 == 0 else member
    back = member.group(tuple(reversed(range(size))))
    got = np.empty((size, 1), np.int64)
    back.all_gather(np.array([me]), got, label="check")
    assert got[:, 0].tolist() == list(reversed(range(size)))
    total = np.array([me])
    pairs.all_reduce(total, total, "max", label="check")
    assert total[0] == (me // 2 * 2 + 1 if size % 2 == 0 else size - 1)
    assert member.group(tuple(reversed(range(size)))) is back


class Counted:
    """MPI's communicator, and what was asked of it."""

    def __init__(self, comm):
        self.comm, self.asked = comm, []

    def __getattr__(self, name):
        self.asked.append(name)
        return getattr(self.comm, name)


def check_short_vectors(member):
    """Up to 2 KB of few members travel with the word by which these meet: in one message."""
    counted = member._comm = Counted(member._comm)
    for elements, messages in ((1, 1), (512, 1), (513, 2)):
        source = values(member.rank, (elements,), "float32")
        total, every = np.empty_like(source), np.empty((member.size, elements), np.float32)
        counted.asked.clear()
        member.all_reduce(source, total, "sum", label="check")
        member.all_gather(source, every, label="check")
        assert counted.asked == ["Iallgather"] * 2 * messages, counted.asked
        parts = [values(rank, (elements,), "float32") for rank in range(member.size)]
        assert total.tobytes() == tree("sum", parts).tobytes()
        assert every.tobytes() == np.stack(parts).tobytes()
    member._comm = counted.comm


def main():
    member = distributed.member()
    for dtype in DTYPES:
        kinds = {"bool": ["max", "min"], "complex64": ["sum", "prod"]}
        for kind in kinds.get(dtype, ["sum", "max", "min", "prod"]):
            for rows in (0, 1, 7):
                check_reductions(member, dtype, kind, rows)
        check_moves(member, dtype, 5)
    for dtype in ("float32", "bfloat16", "int8"):
        check_reductions(member, dtype, "sum", LONG)
    check_moves(member, "float8_e4m3fn", 3)
    check_moves(member, "float32", LONG)
    check_moves(member, "float32", 0)
    check_short_vectors(member)
    check_groups(member)
    for dtype, rows in (("float32", 5), ("bfloat16", 0), ("int8", LONG), ("float32", LONG)):
        check_messages(member, dtype, rows)
    scalar = np.array(1.5)
    member.all_reduce(scalar, scalar, "sum", label="check")
    assert scalar == 1.5 * member.size
    member.barrier(label="check")
    print(f"rank {member.rank} of {member.size} is through", flush=True)


if __name__ == "__main__":
    sys.exit(main())
