"""NVIDIA's driver, by its C interface: only the driver itself has to be installed.

What may live here: the table of the functions that are called, and finding them. What may not: what
they are called for (`cuda.py`).
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import lru_cache
from typing import Any

_LIBRARIES = ("libcuda.so.1", "nvcuda.dll", "libcuda.dylib")
_OLDEST = 12000  # a driver of CUDA 12.0: 12000
_OUT_OF_MEMORY = 2
_CAPABILITY = (75, 76)  # attributes of a device: major and minor
_NO_DRIVER = "there is no NVIDIA driver (libcuda)"
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
    "cuMemGetInfo_v2": (POINTER(_SIZE), POINTER(_SIZE)),
    "cuDevicePrimaryCtxRetain": (_H, c_int),
    "cuCtxSetCurrent": (c_void_p,),
    "cuStreamCreate": (_H, c_uint),
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
    "cuModuleGetFunction": (_H, c_void_p, c_char_p),
    "cuFuncSetAttribute": (c_void_p, c_int, c_int),
    "cuFuncGetAttribute": (_N, c_int, c_void_p),
    "cuLaunchKernel": (c_void_p, *([c_uint] * 7), c_void_p, c_void_p, c_void_p),
    "cuEventCreate": (_H, c_uint),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventSynchronize": (c_void_p,),
    "cuEventElapsedTime": (POINTER(c_float), c_void_p, c_void_p),
    "cuEventQuery": (c_void_p,),
    "cuStreamBeginCapture_v2": (c_void_p, c_int),
    "cuStreamEndCapture": (c_void_p, _H),
    "cuStreamGetCaptureInfo_v2": (c_void_p, _N, *([c_void_p] * 4)),
    "cuGraphInstantiateWithFlags": (_H, c_void_p, c_uint64),
    "cuGraphLaunch": (c_void_p, c_void_p),
    "cuGraphExecKernelNodeSetParams_v2": (c_void_p, c_void_p, c_void_p),
    "cuGraphExecDestroy": (c_void_p,),
    "cuGraphDestroy": (c_void_p,),
    "cuMemcpyPeerAsync": (_ADDRESS, c_void_p, _ADDRESS, c_void_p, _SIZE, c_void_p),
    "cuStreamWaitEvent": (c_void_p, c_void_p, c_uint),
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": (_N, c_void_p, c_int, _SIZE),
    "cuCtxSynchronize": (),
    "cuMemGetAddressRange_v2": (POINTER(_ADDRESS), POINTER(_SIZE), _ADDRESS),
    "cuPointerGetAttribute": (c_void_p, c_int, _ADDRESS),
}


class DriverError(Exception):
    """A call of the driver failed."""

    def __init__(self, call: str, code: int, about: str):
        self.call, self.code = call, code
        super().__init__(f"{call}: {about} (error {code})")

    @property
    def is_out_of_memory(self) -> bool:
        return self.code == _OUT_OF_MEMORY


class Library:
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
                raise self.error(name, code)

        return call

    def raw(self, name: str) -> Any:
        """A function of the table that returns its code, for those who look at it themselves."""
        return getattr(self._library, name)

    def error(self, name: str, code: int) -> DriverError:
        """What a code says."""
        return DriverError(name, code, self._text(code))

    def _text(self, code: int) -> str:
        found = c_char_p()
        self._library.cuGetErrorString(code, byref(found))
        return (found.value or b"unknown error").decode()


@lru_cache(maxsize=1)
def driver_library() -> Library | str:
    """The driver of this machine, or why there is none."""
    for name in _LIBRARIES:
        try:
            found = Library(ctypes.CDLL(name))
        except OSError:
            continue
        except AttributeError as error:
            return f"the NVIDIA driver is too old: it lacks {error}"
        try:
            found.cuInit(0)
        except DriverError as error:
            return f"the NVIDIA driver does not start: {error}"
        return found
    return _NO_DRIVER


def device_count() -> int:
    """How many GPUs there are; 0 where there is no driver."""
    library, count = driver_library(), c_int()
    if isinstance(library, str):
        return 0
    library.cuDeviceGetCount(byref(count))
    return count.value


def problem() -> str:
    """What keeps kernels from running on a GPU here; nothing, if nothing does."""
    library = driver_library()
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


def described(number: int) -> tuple[str, int, str]:
    """The name of a GPU, the bytes of its memory, and its compute capability."""
    library, device, size = driver_library(), c_int(), c_size_t()
    assert not isinstance(library, str)
    library.cuDeviceGet(byref(device), number)
    library.cuDeviceTotalMem_v2(byref(size), device)
    text, found = ctypes.create_string_buffer(128), []
    library.cuDeviceGetName(text, len(text), device)
    for attribute in _CAPABILITY:
        value = c_int()
        library.cuDeviceGetAttribute(byref(value), attribute, device)
        found.append(str(value.value))
    return text.value.decode(), size.value, ".".join(found)


def has_driver() -> bool:
    """Whether NVIDIA's driver is installed, of whatever version and in whatever state."""
    return driver_library() != _NO_DRIVER


def remedy() -> str:
    """What to do about the problem."""
    library = driver_library()
    if library == _NO_DRIVER:
        fix = "install NVIDIA's driver (nvidia-smi tells its version)"
    elif not isinstance(library, str) and not device_count():
        fix = "look whether nvidia-smi lists a GPU, and what CUDA_VISIBLE_DEVICES says"
    else:
        fix = "update NVIDIA's driver (nvidia-smi tells its version)"
    return f"{fix}, or use device='CPU'"
