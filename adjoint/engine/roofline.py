"""The roofline of this machine: arithmetic of a large product, and memory bandwidth.

Measured once per processor and number of threads, and kept beside compiled code. A step that does
`flops` on `bytes` takes no less than the longer of the two times. What may live here: these
numbers.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from adjoint.engine.pipeline import build
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.runtime import cache
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.cores import thread_count

if TYPE_CHECKING:
    from adjoint.backends.protocol import Backend

_SECONDS = 0.1  # for each measurement
_FEWEST = 4  # runs


@dataclass(frozen=True, slots=True)
class Roofline:
    """Operations and bytes a second, of all threads together; `float16` of 16-bit floats."""

    float16: float
    float32: float
    float64: float
    bytes: float

    def seconds(self, flops: int, nbytes: int, itemsize: int) -> float:
        """The least time for so much work on floats of that many bytes."""
        return max(flops / self.peak(itemsize), nbytes / self.bytes)

    def bound(self, flops: int, nbytes: int, itemsize: int) -> str:
        """Which of the two it is."""
        return "arithmetic" if flops / self.peak(itemsize) > nbytes / self.bytes else "memory"

    def peak(self, itemsize: int) -> float:
        return {2: self.float16, 8: self.float64}.get(itemsize, self.float32)


_found: dict[Backend, Roofline] = {}  # in this process


def roofline(backend: Backend) -> Roofline:
    """The machine's, from the disk if it has been measured before."""
    if backend not in _found:
        kept = cache.read(_name(backend))
        if kept is None:
            return measured_again(backend)
        _found[backend] = Roofline(**json.loads(kept))
    return _found[backend]


def measured_again(backend: Backend) -> Roofline:
    """The machine's roofline, measured now, which replaces the stored one."""
    _keep(backend, _measured(backend))
    return _found[backend]


def _keep(backend: Backend, found: Roofline) -> None:
    _found[backend] = found
    cache.write(_name(backend), json.dumps(asdict(found)).encode())


def raised(backend: Backend, done: Sequence[tuple[int, float, int]]) -> Roofline:
    """The same, raised where something was faster than the stored value: (flops, seconds, bytes of
    a number).

    This corrects a measurement that was made while the machine was busy.
    """
    known = roofline(backend)
    best = {2: known.float16, 4: known.float32, 8: known.float64}
    for flops, seconds, itemsize in done:
        size = itemsize if itemsize in best else 4
        best[size] = max(best[size], flops / seconds if seconds else 0.0)
    found = replace(known, float16=best[2], float32=best[4], float64=best[8])
    if found != known:
        _keep(backend, found)
    return found


def _name(backend: Backend) -> str:
    """All that the numbers depend on, as a name in the cache."""
    facts = [backend.target.name, platform.node(), backend.about()]
    text = json.dumps(["roofline", 2, *facts, thread_count()])
    return hashlib.sha256(text.encode()).hexdigest()


def _measured(backend: Backend) -> Roofline:
    target, low = backend.target, "bfloat16"
    double, single = (_flops(backend, kind) for kind in ("float64", "float32"))
    has_low = any(low in library.dtypes for library in target.libraries)
    half = _flops(backend, low) if has_low else single  # else computed as float32
    x = OPS["input"]("x", (target.probe_numbers,), "float32", target.name)
    written = 8.0 * target.probe_numbers / _least(backend, x + 1.0, [x])
    read = 4.0 * target.probe_numbers / _least(backend, x.max(), [x])
    return Roofline(half, single, double, max(written, read))


def _flops(backend: Backend, kind: str) -> float:
    """Operations a second of a product of large matrices."""
    side = backend.target.probe_side
    a, b = (OPS["input"](name, (side, side), kind, backend.target.name) for name in "ab")
    return 2.0 * side**3 / _least(backend, a @ b, [a, b])


def _least(backend: Backend, root: UOp, inputs: Sequence[UOp]) -> float:
    """Seconds of the fastest of some runs."""
    program = build([root], inputs, backend).program
    arrays = [np.ones([int(n) for n in node.shape], node.dtype.np) for node in inputs]
    given = [Buffer(a, backend.target.name) for a in arrays]
    program.run(given)
    best, runs, until = float("inf"), 0, perf_counter() + _SECONDS
    while runs < _FEWEST or perf_counter() < until:
        _, seconds = backend.timed(lambda: program.run(given))
        best, runs = min(best, seconds), runs + 1
    return best
