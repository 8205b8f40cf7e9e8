"""What `adjoint doctor` says of NVIDIA GPUs: the driver, each GPU, libraries, and a computation.

What may live here: looking, and words on what to do. Nothing here is a fault where no GPU is asked
for: most machines have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from adjoint.cli.findings import Finding
from adjoint.runtime import cublaslt, cuda, cudnn, cufft, cusolver
from adjoint.runtime.cuda_calls import has_driver
from adjoint.runtime.device import Device
from adjoint.training.progress_text import size

_INSTALL = "pip install 'adjoint[cuda]'"
# A library, whether it is there, and what is done without it. Only the first is missed much.
_LIBRARIES: dict[str, tuple[Callable[[], Any], str]] = {
    "cuBLASLt": (cublaslt.library, "products of matrices are loops without it, many times slower"),
    "cuDNN": (lambda: cudnn.CUDNN.loaded, "convolutions are kernels without it"),
    "cuFFT": (lambda: cufft.CUFFT.loaded, "the host computes Fourier transforms"),
    "cuSOLVER": (lambda: cusolver.CUSOLVER.loaded, "the host factorises large matrices"),
}


def gpu_findings(gradient: Callable[[str], np.ndarray[Any, Any]]) -> Iterator[Finding]:
    """All of it; `gradient` computes something on a device."""
    problem = cuda.problem()
    if problem:
        yield _missing(problem)
        return
    yield from _gpus()
    yield from map(_library, _LIBRARIES)
    yield _computes(gradient)


def _missing(problem: str) -> Finding:
    """No GPU: a fault where the default device is one, and something to look at beside a driver."""
    text = f"GPU: not available ({problem})"
    if Device.DEFAULT.partition(":")[0] == "GPU":
        return Finding("device", "fail", f"{text}, and it is the default", cuda.remedy())
    if has_driver():
        return Finding("device", "warn", text, cuda.remedy())
    return Finding("device", "ok", f"{text}; nothing needs it")


def _gpus() -> Iterator[Finding]:
    for device in (name for name in Device.available() if name.partition(":")[0] == "GPU"):
        gpu = Device.facts(device)
        default = ", the default" if device == Device.DEFAULT else ""
        facts = f"compute capability {gpu.capability}, {size(gpu.memory)} of memory"
        yield Finding("device", "ok", f"{device}: {gpu.name}, {facts}{default}")


def _library(name: str) -> Finding:
    found, without = _LIBRARIES[name]
    if found() is not None:
        return Finding("gpu", "ok", f"{name} is installed")
    text = f"{name} is not installed: {without}"
    if name == "cuBLASLt":
        return Finding("gpu", "warn", text, _INSTALL)
    return Finding("gpu", "ok", f"{text}; {_INSTALL}")


def _computes(gradient: Callable[[str], np.ndarray[Any, Any]]) -> Finding:
    """The same as on the CPU, to within what another order of additions makes of products."""
    error = float(np.abs(gradient("GPU") - gradient("CPU")).max())
    text = f"compiled a gradient for the GPU; differs from the CPU by {error:.1e}"
    if error < 1e-5:
        return Finding("gpu", "ok", text)
    return Finding(
        "gpu", "fail", text, "adjoint cache clear, then try again; else please report it"
    )
