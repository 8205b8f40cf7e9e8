"""NVIDIA's driver, by its C interface: nothing but the driver itself has to be installed.

A table of the functions that are called, and `Driver` with a method for each thing that a backend
asks: memory, copies, modules, launches. All work goes to one stream, in order. What may live here:
calls of libcuda. What may not: what is computed, or when.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import lru_cache
from typing import Any

from adjoint.errors import DeviceError, InternalError

_LIBRARIES = ("libcuda.so.1", "nvcuda.dll", "libcuda.dylib")
_OLDEST = 12000  # a driver of CUDA 12.0: 12000
_OUT_OF_MEMORY = 2
_H = POINTER(c_void_p)  # where a handle goes
_N = POINTER(c_int)
_ADDRESS, _SIZE = c_uint64, c_size_t
_CALLS: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (_N,),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
    "cuDeviceGetCount": (_N,),
    "cuDeviceGet": (_N, c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceGetAttribute": (_N, c_int, c_int),
    "cuDeviceTotalMem_v2": (POINTER(_SIZE), c_int),
    "cuDevicePrimaryCtxRetain": (_H, c_int),
    "cuCtxSetCurrent": (c_void_p,),
    "cuStreamCreate": (_H, c_uint),
    "cuStreamSynchronize": (c_void_p,),
    "cuDeviceGetDefaultMemPool": (_H, c_int),
    "cuMemPoolSetAttribute": (c_void_p, c_int, c_void_p),
    "cuMemPoolGetAttribute": (c_void_p, c_int, c_void_p),
    "cuMemPoolTrimTo": (c_void_p, _SIZE),
    "cuMemAllocAsync": (POINTER(_ADDRESS), _SIZE, c_void_p),
    "cuMemFreeAsync": (_ADDRESS, c_void_p),
    "cuMemcpyHtoDAsync_v2": (_ADDRESS, c_void_p, _SIZE, c_void_p),
    "cuMemcpyDtoHAsync_v2": (c_void_p, _ADDRESS, _SIZE, c_void_p),
    "cuMemcpyDtoDAsync_v2": (_ADDRESS, _ADDRESS, _SIZE, c_void_p),
    "cuMemsetD8Async": (_ADDRESS, ctypes.c_ubyte, _SIZE, c_void_p),
    "cuMemAllocHost_v2": (_H, _SIZE),
    "cuMemFreeHost": (c_void_p,),
    "cuLinkCreate_v2": (c_uint, c_void_p, c_void_p, _H),
    "cuLinkAddData_v2": (
        *(c_void_p, c_int, c_void_p, _SIZE, c_char_p),
        *(c_uint, c_void_p, c_void_p),
    ),
    "cuLinkComplete": (c_void_p, _H, POINTER(_SIZE)),
    "cuLinkDestroy": (c_void_p,),
    "cuModuleLoadData": (_H, c_void_p),
    "cuModuleUnload": (c_void_p,),
    "cuModuleGetFunction": (_H, c_void_p, c_char_p),
    "cuFuncSetAttribute": (c_void_p, c_int, c_int),
    "cuFuncGetAttribute": (_N, c_int, c_void_p),
    "cuLaunchKernel": (c_void_p, *([c_uint] * 7), c_void_p, c_void_p, c_void_p),
    "cuEventCreate": (_H, c_uint),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventSynchronize": (c_void_p,),
    "cuEventElapsedTime": (POINTER(c_float), c_void_p, c_void_p),
}
_CAPABILITY = (75, 76)  # attributes of a device: major and minor
_PROCESSORS, _SHARED_BYTES = 16, 97
_POOL_KEEPS, _POOL_RESERVED, _POOL_USED = 4, 5, 7  # attributes of a pool of memory
_PTX, _DYNAMIC_SHARED = 1, 8  # a kind of code to link; an attribute of a function
_LOG = 8192  # bytes of what the assembler says


class DriverError(Exception):
    """A call of the driver failed."""

    def __init__(self, call: str, code: int, about: str):
        self.call, self.code = call, code
        super().__init__(f"{call}: {about} (error {code})")

    @property
    def is_out_of_memory(self) -> bool:
        return self.code == _OUT_OF_MEMORY


class _Library:
    """The functions of the table, each of which raises what its result says."""

    def __init__(self, library: Any):
        self._library = library
        for name, types in _CALLS.items():
            setattr(self, name, self._checked(name, types))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def _checked(self, name: str, types: tuple[Any, ...]) -> Any:
        function = getattr(self._library, name)
        function.argtypes, function.restype = types, c_int

        def call(*arguments: Any) -> None:
            code = function(*arguments)
            if code:
                raise DriverError(name, code, self._text(code))

        return call

    def _text(self, code: int) -> str:
        found = c_char_p()
        self._library.cuGetErrorString(code, byref(found))
        return (found.value or b"unknown error").decode()


@lru_cache(maxsize=1)
def _library() -> _Library | str:
    """The driver of this machine, or why there is none."""
    for name in _LIBRARIES:
        try:
            found = _Library(ctypes.CDLL(name))
        except OSError:
            continue
        except AttributeError as error:
            return f"the NVIDIA driver is too old: it lacks {error}"
        try:
            found.cuInit(0)
        except DriverError as error:
            return f"the NVIDIA driver does not start: {error}"
        return found
    return "there is no NVIDIA driver (libcuda)"


def device_count() -> int:
    """How many GPUs there are; 0 where there is no driver."""
    library, count = _library(), c_int()
    if isinstance(library, str):
        return 0
    library.cuDeviceGetCount(byref(count))
    return count.value


def problem() -> str:
    """What keeps kernels from running on a GPU here; nothing, if nothing does."""
    library = _library()
    if isinstance(library, str):
        return library
    if not device_count():
        return "the NVIDIA driver finds no GPU"
    version = c_int()
    library.cuDriverGetVersion(byref(version))
    if version.value < _OLDEST:
        found, wanted = (f"{v // 1000}.{v % 1000 // 10}" for v in (version.value, _OLDEST))
        return f"the NVIDIA driver is of CUDA {found}; {wanted} or newer is needed"
    return ""


class Driver:
    """One GPU. The context is the one that other libraries of the process use too."""

    def __init__(self, ordinal: int = 0):
        found = problem()
        library = _library()
        if found or isinstance(library, str):
            fix = "install NVIDIA's driver (nvidia-smi tells its version), or use device='CPU'"
            raise DeviceError("E6002", found, op="device", help=fix)
        self._call, self._current = library, threading.local()
        self._lost = False
        os.register_at_fork(after_in_child=self._lose)
        device, context = c_int(), c_void_p()
        library.cuDeviceGet(byref(device), ordinal)
        self.device = device.value
        library.cuDevicePrimaryCtxRetain(byref(context), device)
        self._context = context
        self.enter()
        self.stream = self._handle("cuStreamCreate", 0)
        self._pool = self._handle("cuDeviceGetDefaultMemPool", self.device)
        keeps = c_uint64(2**64 - 1)  # what is freed stays for the next allocation
        self._call.cuMemPoolSetAttribute(self._pool, _POOL_KEEPS, byref(keeps))
        major, minor = map(self.attribute, _CAPABILITY)
        self.capability = 10 * major + minor
        self.shared_bytes = self.attribute(_SHARED_BYTES)
        self.processors = self.attribute(_PROCESSORS)

    def _lose(self) -> None:
        self._lost = True

    def enter(self) -> None:
        """Every thread says once which GPU it means."""
        if self._lost:
            problem_ = "a GPU cannot be used in a process that was forked from one that used it"
            fix = "start processes with the method 'spawn'"
            raise DeviceError("E6002", problem_, op="device", help=fix)
        if not hasattr(self._current, "entered"):
            self._call.cuCtxSetCurrent(self._context)
            self._current.entered = True

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

    # ---- memory

    def allocate(self, nbytes: int) -> int:
        """The address of memory, in the order of the stream."""
        self.enter()
        found = c_uint64()
        self._call.cuMemAllocAsync(byref(found), nbytes, self.stream)
        return found.value

    def free(self, address: int) -> None:
        """Give memory back when all that was launched before is done."""
        if not self._lost:
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

    def write(self, address: int, source: int, nbytes: int) -> None:
        """A copy from the host, whose memory may change once this returns."""
        self.enter()
        self._call.cuMemcpyHtoDAsync_v2(address, source, nbytes, self.stream)

    def read(self, target: int, address: int, nbytes: int) -> None:
        """A copy to the host, done when this returns."""
        self.enter()
        self._call.cuMemcpyDtoHAsync_v2(target, address, nbytes, self.stream)
        self._call.cuStreamSynchronize(self.stream)

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """A copy on the device."""
        self.enter()
        self._call.cuMemcpyDtoDAsync_v2(target, source, nbytes, self.stream)

    def clear(self, address: int, nbytes: int) -> None:
        """Zeros."""
        self.enter()
        self._call.cuMemsetD8Async(address, 0, nbytes, self.stream)

    def synchronise(self) -> None:
        """Wait for all that was launched."""
        self.enter()
        self._call.cuStreamSynchronize(self.stream)

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

    def unload(self, module: Any) -> None:
        """Give a module up."""
        if not self._lost:
            self.enter()
            self._call.cuModuleUnload(module)

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
        memory, and an array of the places of its arguments."""
        blocks, threads, shared = geometry
        sizes = map(c_uint, (blocks, 1, 1, threads, 1, 1, shared))
        arguments = (function, *sizes, self.stream, parameters, None)
        call, enter = self._call.cuLaunchKernel, self.enter

        def launch() -> None:
            enter()
            call(*arguments)

        return launch

    # ---- time

    def event(self) -> Any:
        """A moment in the order of the stream."""
        self.enter()
        found = self._handle("cuEventCreate", 0)
        self._call.cuEventRecord(found, self.stream)
        return found

    def milliseconds(self, start: Any, end: Any) -> float:
        """Between two moments; waits for the second."""
        self.enter()
        found = c_float()
        self._call.cuEventSynchronize(end)
        self._call.cuEventElapsedTime(byref(found), start, end)
        return found.value
