"""The devices of this process: which is the default, which can run."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Any

from adjoint import config
from adjoint.errors import DeviceError
from adjoint.ir.mesh import Sharding, over_devices
from adjoint.runtime.processor import memory_bytes, model_name
from adjoint.target import TARGETS, Target, canonical_device, targets_of


def has_tools(target: Target) -> bool:
    """Whether the system has a program, or a driver and a GPU, that the target's backend needs."""
    if target.gpu:
        from adjoint.runtime.cuda import problem  # a driver, which may not be there

        return not problem()
    return not target.tools or any(map(shutil.which, target.tools))


def _names(target: Target) -> list[str]:
    """The devices of a present target."""
    if not target.gpu:
        return [target.name]
    from adjoint.runtime.cuda import device_count  # a driver, which may not be there

    return [canonical_device(f"{target.name}:{number}") for number in range(device_count())]


def runnable(name: str) -> str:
    """The canonical name of a device; E6002 if nothing can run there, with what is missing."""
    device = canonical_device(name)
    (target,) = targets_of(device)
    if has_tools(target):
        _check_number(target, device)
        return device
    found, fix = _missing(target)
    raise DeviceError("E6002", f"nothing can run on {device}: {found}", op="device", help=fix)


def _check_number(target: Target, device: str) -> None:
    if target.gpu and device not in _names(target):
        from adjoint.runtime.cuda import device_count, no_such_gpu

        raise no_such_gpu(int(device.partition(":")[2]), device_count())


def _missing(target: Target) -> tuple[str, str]:
    """What a target lacks here, and how to fix it."""
    if not target.gpu:
        return f"none of {', '.join(target.tools)} is installed", "install one, or use device='CPU'"
    from adjoint.runtime.cuda import problem, remedy

    return problem(), remedy()


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """Facts about a device: `memory` in bytes, `capability` of a GPU."""

    device: str
    name: str
    memory: int
    capability: str = ""


class _Devices:
    """`Device.DEFAULT` is the default device of tensors."""

    def __init__(self) -> None:
        self._default: str | None = None  # what ADJOINT_DEVICE says, once it is asked for

    @property
    def DEFAULT(self) -> str:
        if self._default is None:
            self._default = canonical_device(config.DEVICE.value())
        return self._default

    @DEFAULT.setter
    def DEFAULT(self, name: str) -> None:
        self._default = canonical_device(name)

    @staticmethod
    def canonicalize(name: Any) -> Any:
        """The device string in its one spelling; None is the default; of several, a sharding that
        is whole on each."""
        if isinstance(name, Sharding):
            return name
        if isinstance(name, (tuple, list)):
            return over_devices(tuple(map(canonical_device, name)))
        return Device.DEFAULT if name is None else canonical_device(name)

    @staticmethod
    def available() -> list[str]:
        """The devices that can run here."""
        found = [target for target in TARGETS.values() if target.runs and has_tools(target)]
        return [name for target in found for name in _names(target)]

    @staticmethod
    def facts(name: str | None = None) -> DeviceFacts:
        """What a device that can run here is called, and what it has; E6002 for another."""
        device = runnable(Device.DEFAULT if name is None else name)
        if targets_of(device)[0].gpu:
            from adjoint.runtime.cuda_calls import described  # a driver, which may not be there

            return DeviceFacts(device, *described(int(device.partition(":")[2] or 0)))
        return DeviceFacts(device, model_name(), memory_bytes())

    @staticmethod
    def is_host(name: str | tuple[str, ...]) -> bool:
        """Whether the host can address the memory of the device, or of all of several."""
        return all(target.host_memory for target in targets_of(name))


Device = _Devices()
