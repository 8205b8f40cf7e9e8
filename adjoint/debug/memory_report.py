"""`memory`: the values that are alive, their sizes, and the line that made each."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from adjoint.display import Displayed
from adjoint.engine.live_values import live_values, size
from adjoint.ir.uop import UOp
from adjoint.ir.values import is_known, storage
from adjoint.runtime.allocator import CPU
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.memory import counted_memories
from adjoint.tensor import Tensor
from adjoint.tensor.live_tensors import living

SHOWN = 10


@dataclass(frozen=True, slots=True)
class HeldValue:
    """One value in memory: its type, its size, the line that made it, how many tensors show it."""

    bytes: int
    shape: tuple[int, ...]
    dtype: str
    device: str
    line: str
    tensors: int


@dataclass(frozen=True, slots=True, repr=False)
class MemoryReport(Displayed):
    """The values that are alive now. Sizes are bytes.

    `devices`: values that tensors or their histories hold, by device (a mapped file counts with its
    size). `allocated` is the memory that Adjoint has taken from its own allocator for them and for
    the arenas of programs, `peak` its maximum, `cached` freed memory kept for reuse; data that came
    from NumPy is in `devices` only. `kept` has the same for each device with a memory of its own:
    bytes in use, and bytes kept for reuse.
    """

    devices: dict[str, int]
    allocated: int
    peak: int
    cached: int
    tensors: int
    lazy: int  # of those tensors, how many have no value yet
    largest: tuple[HeldValue, ...] = field(default=())
    kept: dict[str, dict[str, int]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self)

    def reset_peak(self) -> None:
        """Count the peak from what is allocated now on."""
        memory.reset_peak()

    def __repr__(self) -> str:
        places = ", ".join(f"{size(n)} on {name}" for name, n in self.devices.items())
        lines = [
            f"{self.tensors} tensors ({self.lazy} not computed): {places or 'nothing in memory'}",
            f"allocated {size(self.allocated)}, peak {size(self.peak)}, "
            f"kept for later {size(self.cached)}",
        ]
        for name, counted in self.kept.items():
            parts = ", ".join(f"{about} {size(count)}" for about, count in counted.items())
            lines.append(f"{name}: {parts}")
        return "\n".join([*lines, *map(_line, self.largest)])


def _line(held: HeldValue) -> str:
    kind = f"{held.dtype}{list(held.shape)}"
    owner = f"{held.tensors} tensors" if held.tensors > 1 else ""
    owner = owner if held.tensors else "in a history"
    return f"  {size(held.bytes):>10}  {kind:<20} {held.line or '?'}  {owner}".rstrip()


class _Memory:
    """`memory()` makes a report; `memory.reset_peak()` restarts the peak."""

    def __call__(self, largest: int = SHOWN) -> MemoryReport:
        """The values that are alive now, with the `largest` ones."""
        tensors = living()
        holders = _holders(tensors)
        values = _values(holders)
        devices: dict[str, int] = {}
        for held in values:
            devices[held.device] = devices.get(held.device, 0) + held.bytes
        counted = CPU.statistics()
        return MemoryReport(
            dict(sorted(devices.items())),
            counted.in_use,
            counted.peak,
            counted.cached,
            len(tensors),
            sum(1 for t in tensors if not is_known(t.uop)),
            tuple(values[:largest]),
            counted_memories(),
        )

    def reset_peak(self) -> None:
        """Count the peak from what is allocated now on."""
        CPU.peak = CPU.in_use


def _holders(tensors: list[Tensor]) -> dict[int, int]:
    """How many tensors show each buffer, by the identity of the buffer."""
    counts: dict[int, int] = {}
    for tensor in tensors:
        if is_known(tensor.uop):
            key = id(storage(tensor.uop))
            counts[key] = counts.get(key, 0) + 1
    return counts


def _values(holders: dict[int, int]) -> list[HeldValue]:
    """Every buffer once, the largest first."""
    found = live_values().items()
    held = [_held(buffer, node, holders.get(key, 0)) for key, (buffer, node) in found]
    return sorted(held, key=lambda h: (-h.bytes, h.line, h.shape))


def _held(buffer: Buffer, node: UOp, tensors: int) -> HeldValue:
    origin = node.origin
    line = ""
    if origin is not None:
        method = f"{origin.method}, backward" if origin.backward else origin.method
        line = f"{origin.file}:{origin.line} ({method})"
    device = buffer.device if isinstance(buffer.device, str) else ", ".join(buffer.device)
    return HeldValue(buffer.nbytes, buffer.shape, buffer.dtype.short, device, line, tensors)


memory = _Memory()
