"""What a device is called and what it can do. Data only: nothing here touches a device.

A device string is `BACKEND` or `BACKEND:INDEX`; index 0 is written without it, so that `"GPU:0"`
and `"GPU"` are one device. A file is a device too: `DISK:<path>`.
"""

from __future__ import annotations

from dataclasses import dataclass

from adjoint import config
from adjoint.errors import DeviceError, did_you_mean


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of device: its name, what runs there, whether the host can address its memory."""

    name: str
    doc: str
    host_memory: bool
    runs: bool  # whether this version can compute there


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("REF", "NumPy interpreter of the graph, the semantics of record", True, True),
        Target("CPU", "the processor of this machine", True, True),
        Target("GPU", "an NVIDIA GPU", False, False),
        Target("DISK", "a memory-mapped file", True, True),
    )
}
ALIASES = {"CUDA": "GPU", "NV": "GPU", "NUMPY": "REF", "PYTHON": "REF"}


def canonical_device(name: str) -> str:
    """`"gpu:0"` → `"GPU"`, `"cuda:1"` → `"GPU:1"`; an unknown backend is an error."""
    if not isinstance(name, str):
        raise DeviceError("E6008", f"a device is named by a string, not {name!r}", op="device")
    backend, _, index = name.partition(":")
    backend = ALIASES.get(backend.upper(), backend.upper())
    if backend not in TARGETS:
        near = did_you_mean(backend, [*TARGETS, *ALIASES])
        known = f"known devices: {', '.join(TARGETS)}"
        raise DeviceError("E6002", f"unknown device {name!r}", op="device", help=near or known)
    if backend == "DISK" or not index:
        return f"{backend}:{index}" if index else backend
    if not index.isdigit():
        raise DeviceError("E6002", f"device index {index!r} is not a number", op="device")
    number = int(index)
    limit = config.CPU_DEVICES.value() if backend == "CPU" and number else None
    if limit is not None and number >= limit:
        fix = f"set {config.CPU_DEVICES.variable} to {number + 1} or more"
        raise DeviceError("E6002", f"there are {limit} CPU devices", op="device", help=fix)
    return backend if number == 0 else f"{backend}:{number}"


def targets_of(device: str | tuple[str, ...]) -> tuple[Target, ...]:
    """The targets of a canonical device string, or of several."""
    names = (device,) if isinstance(device, str) else device
    return tuple(TARGETS[name.partition(":")[0]] for name in names)
