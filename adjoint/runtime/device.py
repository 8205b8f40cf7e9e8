"""The devices of this process: which is the default, which can run.

What may live here: names and availability. What may not: execution.
"""

from __future__ import annotations

from adjoint import config
from adjoint.target import TARGETS, canonical_device, target_of


class _Devices:
    """`Device.DEFAULT` is where tensors go unless told otherwise."""

    def __init__(self) -> None:
        self._default = canonical_device(config.DEVICE.value())

    @property
    def DEFAULT(self) -> str:
        return self._default

    @DEFAULT.setter
    def DEFAULT(self, name: str) -> None:
        self._default = canonical_device(name)

    @staticmethod
    def canonicalize(name: str | None) -> str:
        """The device string in its one spelling; None is the default device."""
        return Device.DEFAULT if name is None else canonical_device(name)

    @staticmethod
    def available() -> list[str]:
        """The devices that can run here."""
        return [name for name, target in TARGETS.items() if target.runs]

    @staticmethod
    def is_host(name: str) -> bool:
        """Whether the host can address the device's memory."""
        return target_of(name).host_memory


Device = _Devices()
