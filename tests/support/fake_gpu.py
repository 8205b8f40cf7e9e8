"""A GPU without a GPU: memory of the host, and launches that the CPU's code of a kernel runs.

A loop program means the same on every device: what a launch on a GPU would compute, the CPU's code
of the same program computes, bit for bit. So everything but the rendering for the GPU and the
driver is run by tests on any machine.
"""

from __future__ import annotations

import ctypes
import threading
from contextlib import contextmanager
from functools import cache, partial

from adjoint.backends import cuda
from adjoint.backends.c.backend import _function
from adjoint.backends.cuda.backend import CudaBackend
from adjoint.backends.cuda.control_flow import ACCESS_BYTES
from adjoint.backends.cuda.kernels import Kernels
from adjoint.codegen.c.render import LANGUAGES
from adjoint.codegen.c.render import render as as_c
from adjoint.codegen.llvm.render import render
from adjoint.codegen.nvptx.joint import NO_BLOCK, rows_of
from adjoint.codegen.nvptx.matrix.attention_frame import LANGUAGE
from adjoint.codegen.nvptx.threads import arguments_of
from adjoint.engine.program_cache import PROGRAMS, load_backend
from adjoint.ir.kernel_kind import ATOMIC
from adjoint.runtime.compiler import compile_source
from adjoint.runtime.cuda import DriverError, no_such_gpu
from adjoint.runtime.launch import Cells
from adjoint.runtime.memory import _memories, register_memory
from adjoint.runtime.processor import processor
from tests.support import hopper

_libc = ctypes.CDLL(None)
_libc.aligned_alloc.restype = ctypes.c_void_p
_libc.aligned_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
_libc.free.restype, _libc.free.argtypes = None, [ctypes.c_void_p]
LENT: set[int] = set()  # addresses of other libraries' arrays, which tests add
_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class FakeGpu:
    """What `Driver` does, by the host; `calls` are the names of what was asked for, in order.

    What a graph records it runs with the addresses that it had then, as the driver does.
    """

    capability, shared_bytes, processors, name = 90, 227 << 10, 132, "fake"
    is_lost = False

    def __init__(self, total_bytes=1 << 34, ordinal=0):
        self.total_bytes, self.used, self.calls, self._sizes = total_bytes, 0, [], {}
        self.lock, self.ordinal = threading.RLock(), ordinal
        self.stream, self.context = ctypes.c_void_p(0x5EED), ctypes.c_void_p(2)
        self._nodes = None

    @property
    def recording(self):
        return self._nodes is not None

    def _do(self, name, work, *values):
        """Now, or when the graph that is recorded is launched."""
        if self._nodes is None:
            self.calls.append(name)
            work(*values)
        else:
            self._nodes.append((name, work, values))

    def enter(self):
        """It is the one."""

    def allocate(self, nbytes):
        assert not self.recording, "an allocation cannot be recorded"
        self.calls.append("allocate")
        if self.used + nbytes > self.total_bytes:
            raise DriverError("cuMemAllocAsync", 2, "out of memory")
        address = self._taken(nbytes)
        self.used += nbytes
        return address

    def _taken(self, nbytes):
        address = _libc.aligned_alloc(256, -(-nbytes // 256) * 256)
        self._sizes[address] = nbytes
        return address

    def free(self, address):
        self.used -= self._sizes.pop(address)
        _libc.free(address)

    def trim(self):
        self.calls.append("trim")

    def pool_bytes(self):
        return self.used, self.used

    def pinned(self, nbytes):
        self.calls.append("pin")
        return self._taken(nbytes)

    def free_pinned(self, address):
        self._sizes.pop(address)
        _libc.free(address)

    def write(self, address, source, nbytes):
        assert not self.recording, "the host's memory may change"
        self._do("write", ctypes.memmove, address, source, nbytes)

    def read(self, target, address, nbytes):
        assert not self.recording, "the host would not wait"
        self._do("read", ctypes.memmove, target, address, nbytes)

    def copy(self, target, source, nbytes):
        self._do("copy", ctypes.memmove, target, source, nbytes)

    def copy_from(self, other, target, source, nbytes):
        self._do("copy from another", ctypes.memmove, target, source, nbytes)

    def clear(self, address, nbytes):
        self._do("clear", ctypes.memset, address, 0, nbytes)

    def synchronise(self):
        self.wait_for(self.mark())

    def event(self):
        return object()

    def mark(self):
        return object()

    def hold(self, thing):
        """Nothing is under way."""

    def wait_for(self, event):
        assert not self.recording, "what is recorded never ends"
        self.calls.append("wait")

    def is_done(self, event):
        return True

    def milliseconds(self, start, end):
        return 1.0

    def behind(self, stream):
        self.calls.append(f"behind {stream}")

    def ahead(self, stream):
        self.calls.append(f"ahead {stream}")

    def wait_for_all(self):
        self.calls.append("wait for all")

    def extent(self, address):
        held = [(a, n) for a, n in self._sizes.items() if a <= address < a + n]
        return held[0] if held else (address, 1 << 20)

    def holds(self, address):
        """Whether an address is in memory that it gave out, or that another library has shared."""
        own = any(a <= address <= a + n for a, n in self._sizes.copy().items())
        return own or any(a <= address < a + (1 << 20) for a in LENT)

    def number_of(self, address):
        return 0

    def assemble(self, ptx):
        return ptx.encode()

    def load(self, image):
        return image

    def function(self, module, name, shared):
        assert f".entry {name}(".encode() in module
        return FakeFunction(name, self)

    def resident(self, function, threads, shared):
        return 32, 2048 // threads

    def node(self, function, geometry, parameters):
        return partial(function.run, geometry[0]), partial(function.read, parameters)

    def launcher(self, function, geometry, parameters):
        name, run = f"launch {function.name}", partial(function.run, geometry[0])
        return lambda: self._do(name, run, function.read(parameters))

    def record(self, calls):
        assert not self.recording, "one graph at a time"
        self._nodes = nodes = []
        ends = []
        try:
            for call in calls:
                call()
                ends.append(len(nodes) - 1)
        finally:
            self._nodes = None
        assert len({-1, *ends}) > len(ends), "a step launched nothing"
        self.calls.append("record")
        return FakeGraph(self, nodes, ends)


def read_cells(places):
    """The arguments of a kernel, as the driver reads them."""
    return [ctypes.c_int64.from_address(place).value for place in places]


class FakeGraph:
    """Launches with the arguments that they were recorded with."""

    def __init__(self, gpu, nodes, ends):
        self.gpu, self._launches, self.nodes = gpu, nodes, ends

    def launch(self):
        self.gpu.calls.append("graph")
        for _, work, values in self._launches:
            work(*values)

    def set_kernel(self, number, node):
        self.gpu.calls.append("set")
        run, read = node
        name, _, _ = self._launches[self.nodes[number]]
        self._launches[self.nodes[number]] = name, run, (read(),)


class FakeFunction:
    """A kernel, with the code of the CPU that computes the same."""

    def __init__(self, name, gpu):
        self.name, self.code, self.buffers, self.source = name, None, 0, None
        self.gpu = gpu
        self.row = 0  # numbers of a row, where a launch has a table of them
        self.backwards = False

    def read(self, parameters):
        """The arguments of a launch, as the driver copies them."""
        if not self.row:
            return read_cells(parameters)
        count = self.row * rows_of(self.row - 2)
        return list((ctypes.c_int64 * count).from_address(parameters[0]))

    def run(self, blocks, values):
        if not self.row:
            self.run_one(blocks, values)
            return
        rows = [values[i : i + self.row] for i in range(0, len(values), self.row)]
        rows = [row for row in rows if row[-1] < NO_BLOCK]
        ends = [row[-1] for row in rows[1:]] + [blocks]
        parts = list(zip(rows, ends, strict=True))
        self.backwards = not self.backwards  # a GPU runs them in any order
        for row, end in reversed(parts) if self.backwards else parts:
            assert 0 <= row[-1] < end <= blocks, f"{self.name}: no blocks of its own"
            self.run_one(end - row[-1], row[:-1])

    def run_one(self, blocks, values):
        if self.source is not None:
            hopper.run(self.source, blocks, values, hopper.HostMemory())
            return
        inside = [v for v in values[: self.buffers] if v % ACCESS_BYTES]
        assert not inside, f"{self.name}: misaligned address"
        outside = [v for v in values[: self.buffers] if v and not self.gpu.holds(v)]
        assert not outside, f"{self.name}: illegal memory access at {outside[0]:#x}"
        arguments = Cells(values[:-1] or [0])
        self.code(arguments.address, 0, values[-1])


class FakeKernels(Kernels):
    """Kernels on tiles are run as they are written, by NumPy."""

    def kernel(self, source):
        made = super().kernel(source)
        if source.language == LANGUAGE:
            made.function.source = source
        return made


class FakeBackend(CudaBackend):
    """The GPU's backend over a fake GPU."""

    def __init__(self, number, gpus):
        super().__init__(number, gpus.__getitem__)
        self.gpu = gpus[number]
        self._kernels = FakeKernels(lambda: self.gpu)

    def compile(self, sources):
        made = super().compile(sources)
        for program, kernel in made.items():
            if kernel.function.code is None and program.body is not None:
                kernel.function.code = _code(program)
                kernel.function.buffers = len(program.buffers)
                kernel.function.row = arguments_of(program) + 2 if program.joint else 0
        return made


def _code(program):
    """A function of the CPU; lanes of many threads are loops in C, no vectors, and so are those of
    threads that join values in memory."""
    if program.threads > 1 or any(node.op.kernel is ATOMIC for node in program.body):
        return _function(as_c(program, LANGUAGES["c"]))
    code = compile_source(render(program, processor()))
    found = _KERNEL(code.address)
    found.kept = code
    return found


class FakeGpus(list):
    """Several fake ones; one that is not there is E6002, as with the driver."""

    def __getitem__(self, number):
        if number >= len(self):
            raise no_such_gpu(number, len(self))
        return super().__getitem__(number)


@contextmanager
def fake_gpus(count, **options):
    """Tensors on GPU, GPU:1 and so on are computed by fake ones."""
    before = cuda.BACKEND, cuda.numbered
    gpus = FakeGpus(FakeGpu(ordinal=number, **options) for number in range(count))
    cuda.BACKEND, cuda.numbered = FakeBackend(0, gpus), cache(partial(_numbered, gpus))
    register_memory("GPU", cuda.BACKEND.memory)
    load_backend.cache_clear()
    PROGRAMS.clear()  # those of another GPU
    try:
        yield gpus
    finally:
        PROGRAMS.clear()
        cuda.BACKEND, cuda.numbered = before
        load_backend.cache_clear()
        register_memory("GPU", cuda.BACKEND.memory)
        for number in range(1, count):
            _memories.pop(f"GPU:{number}", None)


def _numbered(gpus, number):
    made = FakeBackend(number, gpus)
    register_memory(made.device, made.memory)
    return made


@contextmanager
def fake_gpu(**options):
    """Tensors on GPU are computed by a fake one."""
    with fake_gpus(1, **options) as (found,):
        yield found


def launched(name, work, *values):
    """What a fake library launches: now, or when the graph that is recorded is launched."""
    cuda.BACKEND.gpu._do(name, work, *values)
