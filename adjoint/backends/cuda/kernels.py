"""Sources → kernels on the GPU: found in memory or on disk by the hash of what they depend on, or
assembled.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adjoint.codegen.nvptx.geometry import Geometry, kernel_name, read_geometry
from adjoint.errors import InternalError
from adjoint.runtime import cache
from adjoint.runtime.cuda import Driver, DriverError
from adjoint.runtime.interrupt import interruptible
from adjoint.runtime.llvm import version
from adjoint.runtime.ptx import is_for_one, ptx_of
from adjoint.runtime.spans import span
from adjoint.stages import Source

FORMAT = 1  # of what is kept on disk
_COMMENT = re.compile(r"^;.*\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True, eq=False)
class CudaKernel:
    """A function of the GPU, and the mapping of its pieces to threads."""

    function: Any
    geometry: Geometry
    module: Any

    def resident(self, gpu: Driver) -> tuple[int, int]:
        """The registers of a thread, and how many blocks of it a processor has at a time."""
        return gpu.resident(self.function, self.geometry.threads, self.geometry.shared)


class Kernels:
    """The kernels of one GPU, by the hash of their source."""

    def __init__(self, gpu: Callable[[], Driver]):
        self._gpu = gpu
        self._made: dict[str, CudaKernel] = {}

    def kernel(self, source: Source) -> CudaKernel:
        """The kernel of a source; equal sources are assembled once."""
        key = self._key(source)
        found = self._made.get(key)
        if found is None:
            with span(f"code {source.name}", "compile", cache="disk") as timed:
                found = self._load(source, key, timed.details)
                timed.details |= self._facts(source, found)
                self._made[key] = found
        return found

    def _facts(self, source: Source, kernel: CudaKernel) -> dict[str, int]:
        """For profiles: the registers of a thread, the resident blocks of a multiprocessor. None is
        a defect of the renderer, which the driver would report at the first launch.
        """
        registers, blocks = kernel.resident(self._gpu())
        if not blocks:
            about = f"{registers} registers and {kernel.geometry.threads} threads"
            raise InternalError(f"kernel {source.name} fits no processor: {about}")
        return {"registers": registers, "blocks": blocks}

    def _key(self, source: Source) -> str:
        digest = hashlib.sha256(f"cuda {FORMAT} {self._gpu().capability}\0".encode() + version())
        digest.update(_COMMENT.sub("", source.text).encode())
        return digest.hexdigest()

    def _load(self, source: Source, key: str, details: dict[str, Any]) -> CudaKernel:
        image = cache.read(key)
        if image is not None:
            try:
                return self._placed(source, image)
            except DriverError:
                cache.discard(key)
        details["cache"] = "miss"
        image = interruptible(lambda: self._assembled(source))
        kernel = self._placed(source, image)
        cache.write(key, image)  # only what could be loaded
        return kernel

    def _assembled(self, source: Source) -> bytes:
        """Code of the GPU. The driver's linker compiles as if other code were to be linked, and
        then ignores register transfers between warpgroups; so tiled kernels stay PTX, and the
        driver compiles and caches them when it loads them.
        """
        gpu = self._gpu()
        with span(f"llvm {source.name}", "compile"):
            text = ptx_of(source, gpu.capability)
        if is_for_one(source):
            return text.encode() + b"\0"
        with span(f"ptx {source.name}", "compile"):
            return gpu.assemble(text)

    def _placed(self, source: Source, image: bytes) -> CudaKernel:
        gpu, geometry = self._gpu(), read_geometry(source)
        if geometry.shared > gpu.shared_bytes:
            about = f"{geometry.shared} bytes of shared memory"
            raise InternalError(f"kernel {source.name} asks for {about}")
        module = gpu.load(image)
        function = gpu.function(module, kernel_name(source.name), geometry.shared)
        return CudaKernel(function, geometry, module)
