"""Members that are GPUs: calls of NCCL, over a fake of it and of GPUs; one real GPU alone."""

import ctypes

import numpy as np
import pytest

from adjoint.errors import CommunicationError
from adjoint.runtime.comm import local, nccl
from adjoint.runtime.comm.joins import join
from adjoint.runtime.comm.nccl import DeviceArray
from adjoint.runtime.cuda import Driver, problem
from tests.runtime.comm.values import dtype_of, tree, values
from tests.support.fake_gpu import FakeGpu
from tests.support.fake_nccl import FakeNccl, Wires


def host_join(kind, dtype, first, second, out, count):
    """What a kernel would do: memory of a fake GPU is the host's."""
    arrays = [_seen(address, count, dtype) for address in (first, second, out)]
    join(kind, *arrays)


def _seen(address, count, dtype):
    kind = dtype_of(dtype)
    return np.frombuffer((ctypes.c_char * (count * kind.itemsize)).from_address(address), kind)


class Memory:
    """Arrays on a GPU."""

    def __init__(self, gpu):
        self.gpu, self.taken = gpu, []

    def put(self, array):
        address = self.gpu.allocate(max(array.nbytes, 1))
        self.taken.append(address)
        self.gpu.write(address, array.ctypes.data, array.nbytes)
        return DeviceArray(address, array.shape, array.dtype)

    def get(self, placed):
        array = np.empty(placed.shape, placed.dtype)
        self.gpu.read(array.ctypes.data, placed.address, placed.nbytes)
        return array

    def free(self):
        for address in self.taken:
            self.gpu.free(address)


def members(size, body, join=host_join):
    wires = Wires()

    def one(host):
        gpu = FakeGpu()
        fake, memory = FakeNccl(wires), Memory(gpu)
        found = body(nccl.connect(host, gpu, join=join, nccl=fake), memory, fake)
        memory.free()
        assert gpu.used == 0  # what a collective takes it gives back
        return found

    return local.run(size, one, limit=20)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int16", "complex64"])
def test_reductions_have_the_order_of_ranks(size, dtype):
    def body(member, memory, fake):
        source = memory.put(values(member.rank, (size, 7), dtype))
        whole, part = memory.put(np.empty((size, 7), source.dtype)), None
        part = memory.put(np.empty((7,), source.dtype))
        member.all_reduce(source, whole, "sum", label="")
        member.reduce_scatter(source, part, "prod", label="")
        member.all_reduce(source, source, "sum", label="")
        assert "ncclAllReduce" not in fake.calls
        return memory.get(whole), memory.get(part), memory.get(source)

    parts = [values(rank, (size, 7), dtype) for rank in range(size)]
    total, product = tree("sum", parts), tree("prod", parts)
    for rank, (whole, part, again) in enumerate(members(size, body)):
        assert whole.tobytes() == total.tobytes() == again.tobytes()
        assert part.tobytes() == product[rank].tobytes()


def test_without_a_join_sums_are_the_librarys():
    def body(member, memory, fake):
        source = memory.put(np.full(5, member.rank + 1, np.float32))
        member.all_reduce(source, source, "sum", label="")
        assert fake.calls[-1] == "ncclAllReduce"
        return memory.get(source).tolist()

    assert members(3, body, join=None) == [[6.0] * 5] * 3


def test_without_a_join_a_dtype_that_nccl_lacks_is_refused():
    def body(member, memory, fake):
        source = memory.put(np.ones(5, np.int16))
        member.all_reduce(source, source, "sum", label="")

    with pytest.raises(CommunicationError, match=r"E7023.*NCCL has no sum of int16"):
        members(2, body, join=None)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_moves(size):
    pairs = [(r, r + 1) for r in range(size - 1)]

    def body(member, memory, fake):
        one, many = values(member.rank, (2, 3)), values(member.rank, (size, 3))
        gathered, turned = memory.put(np.empty((size, 2, 3), np.float32)), memory.put(many)
        moved = memory.put(one)
        member.all_gather(memory.put(one), gathered, label="")
        member.all_to_all(turned, turned, label="")
        member.permute(moved, moved, pairs, label="")
        member.barrier(label="")
        return memory.get(gathered), memory.get(turned), memory.get(moved)

    for rank, (gathered, turned, moved) in enumerate(members(size, body)):
        for r in range(size):
            assert gathered[r].tobytes() == values(r, (2, 3)).tobytes()
            assert turned[r].tobytes() == values(r, (size, 3))[rank].tobytes()
        expected = values(rank - 1, (2, 3)) if rank else np.zeros((2, 3), np.float32)
        assert moved.tobytes() == expected.tobytes()


def test_groups_have_wires_of_their_own():
    def body(member, memory, fake):
        pair = member.group((member.rank // 2 * 2, member.rank // 2 * 2 + 1))
        x = memory.put(np.array([member.rank]))
        pair.all_reduce(x, x, "sum", label="")
        return int(memory.get(x)[0])

    assert members(4, body) == [1, 1, 5, 5]


def test_members_that_call_different_things_are_told_before_a_stream_is_used():
    def body(member, memory, fake):
        x = memory.put(np.ones(2 + member.rank))
        try:
            member.all_reduce(x, x, "sum", label=f"train.py:{member.rank}")
        finally:
            assert not {"ncclAllReduce", "ncclSend"} & set(fake.calls)

    with pytest.raises(CommunicationError, match="E7020") as caught:
        members(2, body)
    assert "train.py:0" in str(caught.value)
    assert "train.py:1" in str(caught.value)


def test_without_the_library_there_is_help():
    class Missing:
        loaded = None

    with pytest.raises(CommunicationError, match="pip install nvidia-nccl-cu13"):
        nccl.connect(local.connect(1)[0], FakeGpu(), nccl=Missing())


@pytest.mark.gpu
@pytest.mark.skipif(bool(problem()), reason=problem() or "there is a GPU")
def test_one_member_on_one_gpu():
    memory = Memory(Driver())
    member = nccl.connect(local.connect(1)[0], memory.gpu)
    source, target = memory.put(np.arange(6, dtype=np.float32)), memory.put(np.zeros(6, np.float32))
    row = memory.put(np.zeros((1, 6), np.float32))
    member.all_reduce(source, target, "sum", label="")
    member.all_gather(source, row, label="")
    member.barrier(label="")
    assert memory.get(target).tolist() == [0, 1, 2, 3, 4, 5]
    assert memory.get(row).tolist() == [[0, 1, 2, 3, 4, 5]]
    member.permute(source, target, [(0, 0)], label="")
    member.permute(source, source, [], label="")
    assert memory.get(target).tolist() == [0, 1, 2, 3, 4, 5]
    assert memory.get(source).tolist() == [0.0] * 6
    memory.free()
