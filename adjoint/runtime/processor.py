"""The processor for which this process compiles: its own, or the one that `ADJOINT_CPU` names.

`ADJOINT_CPU` is read once, when the first kernel is compiled. Elsewhere: what a processor is
(`target`).
"""

from __future__ import annotations

import ctypes
import importlib
import os
import platform
import sys
from functools import lru_cache
from typing import Any

from adjoint import config
from adjoint.target import Processor, known_processor, native_processor

_ARCH_PRCTL, _REQUEST_STATE, _TILE_DATA = 158, 0x1023, 18  # Linux on x86-64: call, what, which
_MACHINES = {"AMD64": "x86_64", "arm64": "aarch64"}
_SPELLINGS = {  # LLVM's → Linux's, where they differ by more than a sign
    "bmi": "bmi1",
    "lzcnt": "abm",
    "sahf": "lahf_lm",
    "sse3": "pni",
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
}


@lru_cache(maxsize=1)
def processor() -> Processor:
    """What kernels of this process are compiled for."""
    name, kind = config.CPU.value(), machine_kind()
    if name == "native":
        return native_processor(kind, features(), "GenuineIntel" in description())
    return known_processor(name, kind, features())


def machine_kind() -> str:
    """`x86_64`, `aarch64`: one name for each, whatever the system calls it."""
    return _MACHINES.get(platform.machine(), platform.machine())


@lru_cache(maxsize=1)
def features() -> frozenset[str]:
    """The features of the processor; from the system's kernel if it reports them, else from
    LLVM.
    """
    words = description().split()
    found = frozenset(words) if words else _features_by_llvm()
    return found if "amx_tile" not in found or _may_use_matrices() else found - {"amx_tile"}


def _may_use_matrices() -> bool:
    """Whether the system lets this process use the AMX registers; it asks once."""
    asked = (_ARCH_PRCTL, _REQUEST_STATE, _TILE_DATA)
    return sys.platform == "linux" and ctypes.CDLL(None).syscall(*asked) == 0


@lru_cache(maxsize=1)
def description() -> str:
    """Name and features of the processor as Linux describes them; empty on other systems."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            text = file.read(8192).partition("\n\n")[0]
    except OSError:
        return ""
    wanted = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU")
    return "\n".join(line for line in text.split("\n") if line.startswith(wanted))


def model_name() -> str:
    """The name of the processor, or its kind."""
    rows = [line.partition(":") for line in description().split("\n")]
    names = [value.strip() for key, _, value in rows if key.strip() == "model name"]
    return names[0] if names else platform.machine()


def memory_bytes() -> int:
    """Of this machine; 0 where the system does not say."""
    if not hasattr(os, "sysconf"):
        return 0
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _features_by_llvm() -> frozenset[str]:
    llvm: Any = importlib.import_module("llvmlite.binding")
    found = [name for name, has in llvm.get_host_cpu_features().items() if has]
    return frozenset(_SPELLINGS.get(name, name) for name in found)
