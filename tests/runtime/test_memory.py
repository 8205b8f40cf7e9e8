"""Buffers and the allocator: reuse, alignment, statistics, what happens when memory is short."""

import gc
import itertools
import sys

import numpy as np
import pytest

from adjoint.errors import DeviceError
from adjoint.ir.dtype import dtypes
from adjoint.runtime import allocator, libc
from adjoint.runtime.allocator import Allocator
from adjoint.runtime.buffer import Buffer, FileBuffer
from tests.support.processes import printed
from tests.support.threads import in_threads

SIZES = [0, 1, 63, 64, 65, 1000, 1024, 1025, 32767, 32768, 32769, 100_000, 2 << 20, (2 << 20) + 1]


@pytest.mark.parametrize("size", SIZES)
def test_a_block_is_large_enough_and_aligned(size):
    block = Allocator().allocate(size)
    assert block.size >= size
    assert block.size <= max(64, size * 1.25 + libc.PAGE)
    assert block.address % 64 == 0
    np.asarray(block)[:] = 7


@pytest.mark.parametrize("size", [10, 5000, 10**6, 5 * 10**6])
def test_a_freed_block_is_used_again(size):
    memory = Allocator()
    block = memory.allocate(size)
    address = block.address
    del block
    assert memory.allocate(size).address == address


@pytest.mark.parametrize("size", [48, 700, 20_000, 40_000])
def test_blocks_do_not_overlap(size):
    memory = Allocator()
    blocks = [memory.allocate(size) for _ in range(300)]
    starts = sorted(block.address for block in blocks)
    assert all(b - a >= size for a, b in itertools.pairwise(starts))


def test_statistics_count_what_is_in_use_kept_and_the_most():
    memory = Allocator()
    block = memory.allocate(1 << 20)
    assert memory.statistics() == allocator.MemoryStatistics(1 << 20, 0, 1 << 20)
    other = memory.allocate(1 << 20)
    del block
    assert memory.statistics() == allocator.MemoryStatistics(1 << 20, 1 << 20, 2 << 20)
    memory.trim()
    assert memory.statistics() == allocator.MemoryStatistics(1 << 20, 0, 2 << 20)
    del other


def test_what_is_kept_is_bounded():
    memory = Allocator(limit=4 << 20)
    blocks = [memory.allocate(1 << 20) for _ in range(16)]
    blocks.clear()
    assert memory.statistics().cached <= 4 << 20


def test_threads_share_it():
    memory = Allocator()
    wrong = []

    def work(number: int) -> None:
        for i in range(500):
            array = np.asarray(memory.allocate(64 + 1000 * (i % 50)))
            array[:] = number
            wrong.append(bool((array != number).any()))

    in_threads(8, work)
    assert len(wrong) == 4000
    assert not any(wrong)
    assert memory.statistics().in_use == 0


def test_an_array_of_a_buffer_outlives_the_buffer():
    gc.collect()  # what earlier tests left
    before = allocator.CPU.in_use
    buffer = Buffer.empty(dtypes.float32, (1000, 100), "CPU")
    array = buffer.array()
    del buffer
    assert allocator.CPU.in_use - before >= 400_000
    assert array.shape == (1000, 100)
    del array
    gc.collect()
    assert allocator.CPU.in_use == before


@pytest.mark.parametrize("dtype", [dtypes.bool_, dtypes.bfloat16, dtypes.float64, dtypes.complex64])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 5), (2, 3, 4)])
def test_an_empty_buffer_looks_like_any_other(dtype, shape):
    buffer = Buffer.empty(dtype, shape, "CPU")
    array = buffer.array()
    assert (array.shape, array.dtype) == (shape, dtype.np)
    assert not array.flags.writeable
    assert array.flags.c_contiguous
    assert buffer.nbytes == array.nbytes
    assert buffer.address == array.__array_interface__["data"][0] or array.size == 0
    assert (buffer.dtype, buffer.device) == (dtype, "CPU")


def test_a_buffer_of_an_array_has_its_address():
    array = np.arange(6.0).reshape(2, 3)
    assert Buffer(array, "CPU").address == array.ctypes.data


def test_the_address_of_an_array_with_strides_is_that_of_a_row_major_copy():
    array = np.arange(6.0).reshape(2, 3).T
    buffer = Buffer(array, "CPU")
    whole = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_double * 6).from_address(buffer.address))
    assert whole.tolist() == [0, 3, 1, 4, 2, 5]
    assert buffer.array().tolist() == array.tolist()


def test_a_file_has_an_address(tmp_path):
    (tmp_path / "data").write_bytes(bytes(range(16)))
    buffer = FileBuffer(tmp_path / "data", dtypes.uint8)
    assert buffer.address
    assert buffer.array().tolist() == list(range(16))


def test_memory_that_is_not_there_names_bytes_and_the_kept_is_given_up_first(monkeypatch):
    memory = Allocator()
    held, kept = memory.allocate(1 << 20), memory.allocate(1 << 20)
    del kept
    real, asked = libc.map_pages, []

    def short(size: int) -> int:
        asked.append((size, memory.statistics().cached))
        if size > 4 << 20:
            raise MemoryError
        return real(size)

    monkeypatch.setattr(libc, "map_pages", short)
    with pytest.raises(DeviceError, match=r"E6004.* 8388608 bytes \(1048576 bytes are in use\)"):
        memory.allocate(8 << 20)
    assert asked == [(8 << 20, 1 << 20), (8 << 20, 0)]
    assert memory.allocate(1 << 20).size == 1 << 20
    del held


LIMITED = """
import resource
import numpy as np
from adjoint.errors import DeviceError
from adjoint.ir.dtype import dtypes
from adjoint.runtime.allocator import CPU
from adjoint.runtime.buffer import Buffer

used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + (512 << 20), resource.RLIM_INFINITY))
kept = [Buffer.empty(dtypes.uint8, (100 << 20,), "CPU") for _ in range(3)]
try:
    Buffer.empty(dtypes.uint8, (400 << 20,), "CPU")
    raise SystemExit("there was enough memory")
except DeviceError as error:
    assert error.code == "E6004" and str(400 << 20) in str(error) and str(CPU.in_use) in str(error)
Buffer.empty(dtypes.uint8, (50 << 20,), "CPU").array()
kept.clear()  # stays mapped, as kept blocks of another size
Buffer.empty(dtypes.uint8, (400 << 20,), "CPU").array()
print("fine")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are Linux's")
def test_after_memory_ran_out_the_next_allocation_works():
    assert printed("-c", LIMITED, OPENBLAS_NUM_THREADS="1").strip() == "fine"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ten_thousand_different_shapes_leave_memory_flat():
    def sweep() -> int:
        for size in range(1, 10_001):
            buffer = Buffer.empty(dtypes.float32, (size, 7), "CPU")
            np.asarray(buffer._block)[-1] = 1
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * libc.PAGE

    first = sweep()
    assert sweep() - first < 2 << 20
