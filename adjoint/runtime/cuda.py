"""A GPU through NVIDIA's driver: one method for each request of a backend.

Memory, copies, modules, launches, graphs of launches. All work goes to one stream, in order; a
thread that puts work there holds the `lock`, since recording a graph sends launches elsewhere. What
may live here: calls of libcuda. What may not: what is computed, or when.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Sequence
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

from adjoint.errors import DeviceError, InternalError
from adjoint.runtime.cuda_calls import DriverError, device_count, driver_library, problem, remedy
from adjoint.runtime.cuda_graphs import Graph, KernelNode, last_node

__all__ = ["Driver", "DriverError", "Event", "device_count", "no_such_gpu", "problem", "remedy"]

_CAPABILITY = (75, 76)  # attributes of a device: major and minor
_PROCESSORS, _SHARED_BYTES = 16, 97
_POOL_KEEPS, _POOL_RESERVED, _POOL_USED = 4, 5, 7  # attributes of a pool of memory
_PTX, _DYNAMIC_SHARED = 1, 8  # a kind of code to link; an attribute of a function
_REGISTERS = 4  # an attribute of a function
_NON_BLOCKING, _RELAXED = 1, 2  # a kind of stream; what others may do while one is recorded
_NOT_READY = 600
_ORDINAL = 9  # an attribute of a pointer: the number of its device
_SPIN, _LONGEST_NAP = 0.002, 0.005  # seconds of asking without a pause; of a pause
_LOG = 8192  # bytes of what the assembler says


_thread = threading.local()  # which GPU a thread has said that it means


class Event:
    """A moment in the order of the stream."""

    __slots__ = ("_as_parameter_", "_gpu", "over")

    def __init__(self, gpu: Driver, handle: c_void_p):
        self._gpu, self._as_parameter_ = gpu, handle
        self.over: list[tuple[str, Any]] = []  # what is given up then

    def __del__(self) -> None:
        self._gpu.events.append(self._as_parameter_)


def no_such_gpu(number: int, count: int) -> DeviceError:
    """E6002 for a number that no GPU has."""
    names = ", ".join(["GPU", *(f"GPU:{i}" for i in range(1, count))])
    fix = f"use one of {names}" if count > 1 else "use device='GPU'"
    fix += "; CUDA_VISIBLE_DEVICES says which GPUs a process sees"
    about = f"there is no GPU:{number}: the process sees {count} GPU{'s' * (count > 1)}"
    return DeviceError("E6002", about, op="device", help=fix)


class Driver:
    """One GPU. The context is the one that other libraries of the process use too."""

    def __init__(self, ordinal: int = 0):
        found = problem()
        library = driver_library()
        if found or isinstance(library, str):
            raise DeviceError("E6002", found, op="device", help=remedy())
        count = device_count()
        if ordinal >= count:
            raise no_such_gpu(ordinal, count)
        self._call, self._alone, self._lost = library, count == 1, False
        self.lock, self.recording = threading.RLock(), False
        self._later: list[tuple[str, Any]] = []
        self.events: list[c_void_p] = []  # that no one holds, to be used again
        os.register_at_fork(after_in_child=self._lose)
        device, context = c_int(), c_void_p()
        library.cuDeviceGet(byref(device), ordinal)
        self.ordinal, self.device = ordinal, device.value
        library.cuDevicePrimaryCtxRetain(byref(context), device)
        self.context = context
        self.enter()
        self.stream = self._handle("cuStreamCreate", 0)
        self._recorder = self._handle("cuStreamCreate", _NON_BLOCKING)
        self._pool = self._handle("cuDeviceGetDefaultMemPool", self.device)
        keeps = c_uint64(2**64 - 1)  # what is freed stays for the next allocation
        self._call.cuMemPoolSetAttribute(self._pool, _POOL_KEEPS, byref(keeps))
        self._query = library.raw("cuEventQuery")
        major, minor = map(self.attribute, _CAPABILITY)
        self.capability = 10 * major + minor
        self.shared_bytes = self.attribute(_SHARED_BYTES)
        self.processors = self.attribute(_PROCESSORS)

    def _lose(self) -> None:
        self._lost = True

    @property
    def is_lost(self) -> bool:
        """Whether this process was forked from the one that uses the GPU."""
        return self._lost

    def enter(self) -> None:
        """A thread says which GPU it means; other libraries may mean another."""
        if self._lost:
            problem_ = "a GPU cannot be used in a process that was forked from one that used it"
            fix = "start processes with the method 'spawn'"
            raise DeviceError("E6002", problem_, op="device", help=fix)
        if getattr(_thread, "gpu", None) is not self or not self._alone:
            self._call.cuCtxSetCurrent(self.context)
            _thread.gpu = self

    def _handle(self, call: str, *arguments: Any) -> c_void_p:
        found = c_void_p()
        getattr(self._call, call)(byref(found), *arguments)
        return found

    # ---- what the GPU is

    def attribute(self, number: int) -> int:
        """A number of the device."""
        found = c_int()
        self._call.cuDeviceGetAttribute(byref(found), number, self.device)
        return found.value

    @property
    def name(self) -> str:
        text = ctypes.create_string_buffer(128)
        self._call.cuDeviceGetName(text, len(text), self.device)
        return text.value.decode()

    @property
    def total_bytes(self) -> int:
        found = c_size_t()
        self._call.cuDeviceTotalMem_v2(byref(found), self.device)
        return found.value

    def free_bytes(self) -> int:
        """Memory that no process has."""
        self.enter()
        free, total = c_size_t(), c_size_t()
        self._call.cuMemGetInfo_v2(byref(free), byref(total))
        return free.value

    # ---- memory

    def allocate(self, nbytes: int) -> int:
        """The address of memory, in the order of the stream."""
        found = c_uint64()
        with self.lock:
            self.enter()
            self._call.cuMemAllocAsync(byref(found), nbytes, self.stream)
        return found.value

    def free(self, address: int) -> None:
        """Give memory back when all that was launched before is done."""
        if not self._lost:
            with self.lock:
                self.enter()
                self._call.cuMemFreeAsync(address, self.stream)

    def trim(self) -> None:
        """Give what is kept for later allocations back to the system."""
        self.synchronise()
        self._call.cuMemPoolTrimTo(self._pool, 0)

    def pool_bytes(self) -> tuple[int, int]:
        """Bytes of allocations, and bytes taken from the system."""
        self.enter()
        found = []
        for number in (_POOL_USED, _POOL_RESERVED):
            value = c_uint64()
            self._call.cuMemPoolGetAttribute(self._pool, number, byref(value))
            found.append(value.value)
        return found[0], found[1]

    def pinned(self, nbytes: int) -> int:
        """The address of memory of the host that the GPU reads and writes where it lies."""
        self.enter()
        return self._handle("cuMemAllocHost_v2", nbytes).value or 0

    def free_pinned(self, address: int) -> None:
        """Give such memory back."""
        if not self._lost:
            self.enter()
            self._call.cuMemFreeHost(address)

    def write(self, address: int, source: int, nbytes: int) -> None:
        """A copy from the host, whose memory may change once this returns; if that is pinned, once
        the GPU has done it."""
        with self.lock:
            self.enter()
            self._call.cuMemcpyHtoDAsync_v2(address, source, nbytes, self.stream)

    def read(self, target: int, address: int, nbytes: int) -> None:
        """A copy to the host, into pinned memory; done when the GPU has done it."""
        with self.lock:
            self.enter()
            self._call.cuMemcpyDtoHAsync_v2(target, address, nbytes, self.stream)

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """A copy on the device."""
        with self.lock:
            self.enter()
            self._call.cuMemcpyDtoDAsync_v2(target, source, nbytes, self.stream)

    def copy_from(self, other: Driver, target: int, source: int, nbytes: int) -> None:
        """A copy from another GPU, after all that was launched there."""
        ready = other.event()
        with self.lock:
            self.enter()
            self._call.cuStreamWaitEvent(self.stream, ready, 0)
            places = (target, self.context, source, other.context, nbytes)
            self._call.cuMemcpyPeerAsync(*places, self.stream)
            done = self.event()
        with other.lock:  # what is freed there may be used again behind this
            other.enter()
            other._call.cuStreamWaitEvent(other.stream, done, 0)

    def clear(self, address: int, nbytes: int) -> None:
        """Zeros."""
        with self.lock:
            self.enter()
            self._call.cuMemsetD8Async(address, 0, nbytes, self.stream)

    # ---- waiting

    def synchronise(self) -> None:
        """Wait for all that was launched."""
        self.wait_for(self.mark())

    def mark(self) -> Event:
        """The moment when all that was launched is done, and what was dropped is given up."""
        with self.lock:
            found = self.event()
            found.over, self._later = self._later, []
        return found

    def wait_for(self, event: Event) -> None:
        """Wait until all before a moment is done. Ctrl-C gets through: the driver is asked again
        and again, never waited for."""
        self.enter()
        try:
            self._ask(event)
        except BaseException:
            self._later += event.over
            raise
        for call, handle in event.over:
            if call:
                getattr(self._call, call)(handle)

    def _ask(self, event: Event) -> None:
        started = time.perf_counter()
        while (code := self._query(event)) == _NOT_READY:
            waited = time.perf_counter() - started
            if waited > _SPIN:
                time.sleep(min(waited / 16, _LONGEST_NAP))
        if code:
            raise self._call.error("cuEventQuery", code)

    def is_done(self, event: Event) -> bool:
        """Whether all before a moment is done."""
        self.enter()
        code: int = self._query(event)
        if code not in (0, _NOT_READY):
            raise self._call.error("cuEventQuery", code)
        return code == 0

    def drop(self, call: str, handle: c_void_p) -> None:
        """Give something up that launches may still use: at the next wait."""
        if handle:
            self._later.append((call, handle))

    def hold(self, thing: Any) -> None:
        """Keep something that a copy may still use: until the next wait."""
        self._later.append(("", thing))

    # ---- code

    def assemble(self, ptx: str) -> bytes:
        """PTX as code for this GPU, by the assembler of the driver."""
        self.enter()
        log = ctypes.create_string_buffer(_LOG)
        options = (c_int * 2)(5, 6)  # where errors go, and how many bytes of them
        values = (c_void_p * 2)(ctypes.cast(log, c_void_p), c_void_p(_LOG))
        linker = c_void_p()
        self._call.cuLinkCreate_v2(2, options, values, byref(linker))
        text, image, size = ptx.encode() + b"\0", c_void_p(), c_size_t()
        try:
            data = ctypes.cast(c_char_p(text), c_void_p)
            self._call.cuLinkAddData_v2(linker, _PTX, data, len(text), b"kernel", 0, None, None)
            self._call.cuLinkComplete(linker, byref(image), byref(size))
            return ctypes.string_at(image.value or 0, size.value)
        except DriverError as error:
            said = log.value.decode(errors="replace")
            raise InternalError(f"the driver refuses the code: {error} {said}") from None
        finally:
            self._call.cuLinkDestroy(linker)

    def load(self, image: bytes) -> Any:
        """A module in the memory of the device."""
        self.enter()
        return self._handle("cuModuleLoadData", ctypes.cast(c_char_p(image), c_void_p))

    def function(self, module: Any, name: str, shared: int) -> Any:
        """A kernel of a module that uses so many bytes of shared memory."""
        self.enter()
        found = self._handle("cuModuleGetFunction", module, name.encode())
        if shared > 0:
            self._call.cuFuncSetAttribute(found, _DYNAMIC_SHARED, shared)
        return found

    def launcher(
        self, function: Any, geometry: Sequence[int], parameters: Any
    ) -> Callable[[], None]:
        """What launches a kernel, again and again: so many blocks, threads of each, bytes of shared
        memory, and an array of the places of its arguments. Who launches it has the lock, and has
        entered."""
        blocks, threads, shared = geometry
        sizes = map(c_uint, (blocks, 1, 1, threads, 1, 1, shared))
        arguments = (function, *sizes, self.stream, parameters, None)
        call, failed = self._call.raw("cuLaunchKernel"), self._call.error

        def launch() -> None:
            code = call(*arguments)
            if code:
                raise failed("cuLaunchKernel", code)

        return launch

    def resident(self, function: Any, threads: int, shared: int) -> tuple[int, int]:
        """The registers of a thread, and how many blocks a processor has at a time."""
        self.enter()
        registers, blocks = c_int(), c_int()
        self._call.cuFuncGetAttribute(byref(registers), _REGISTERS, function)
        call = self._call.cuOccupancyMaxActiveBlocksPerMultiprocessor
        call(byref(blocks), function, threads, shared)
        return registers.value, blocks.value

    # ---- graphs

    def node(self, function: Any, geometry: Sequence[int], parameters: Any) -> KernelNode:
        """A launch as a graph has it; see `launcher`."""
        return KernelNode.of(function, geometry, parameters)

    def record(self, calls: Sequence[Callable[[], None]]) -> Graph:
        """What these calls launch, as a graph. The caller has the lock."""
        self.enter()
        own, recorder = self.stream.value, self._recorder
        nodes, graph = list[int](), c_void_p()
        try:
            self._call.cuStreamBeginCapture_v2(recorder, _RELAXED)
            self.stream.value, self.recording = recorder.value, True
            for call in calls:
                call()
                nodes.append(last_node(self._call, recorder))
        finally:  # also where Ctrl-C came between
            self.stream.value, self.recording = own, False
            code = self._call.raw("cuStreamEndCapture")(recorder, byref(graph))
        if code:
            raise self._call.error("cuStreamEndCapture", code)
        return Graph(self, self._call, graph, nodes)

    # ---- time

    def event(self) -> Event:
        """The moment when all that was launched is done."""
        return self._moment(self.stream)

    def _moment(self, stream: c_void_p) -> Event:
        with self.lock:
            self.enter()
            found = self.events.pop() if self.events else self._handle("cuEventCreate", 0)
            self._call.cuEventRecord(found, stream)
        return Event(self, found)

    def milliseconds(self, start: Any, end: Any) -> float:
        """Between two moments; waits for the second."""
        self.enter()
        found = c_float()
        self._call.cuEventSynchronize(end)
        self._call.cuEventElapsedTime(byref(found), start, end)
        return found.value

    # ---- streams and memory of others

    def behind(self, stream: int) -> None:
        """What is launched from now on waits for what another stream has to do."""
        with self.lock:
            self._call.cuStreamWaitEvent(self.stream, self._moment(c_void_p(stream)), 0)

    def ahead(self, stream: int) -> None:
        """What another stream is given from now on waits for what was launched."""
        with self.lock:
            self._call.cuStreamWaitEvent(c_void_p(stream), self.event(), 0)

    def wait_for_all(self) -> None:
        """Wait for the work of every stream of the GPU."""
        self.enter()
        self._call.cuCtxSynchronize()

    def extent(self, address: int) -> tuple[int, int]:
        """Where the allocation begins that an address lies in, and how many bytes it has."""
        self.enter()
        start, size = c_uint64(), c_size_t()
        self._call.cuMemGetAddressRange_v2(byref(start), byref(size), address)
        return start.value, size.value

    def number_of(self, address: int) -> int:
        """The number of the GPU that an address belongs to."""
        self.enter()
        found = c_int()
        try:
            self._call.cuPointerGetAttribute(byref(found), _ORDINAL, address)
        except DriverError as error:
            problem_ = f"no GPU has memory at {address:#x}"
            fix = "give memory of a GPU, or copy from the host: Tensor(array)"
            raise DeviceError("E6002", problem_, op="device", help=fix) from error
        return found.value
