"""Reports indices out of range without waiting: kernels set flags in memory that the host can read.

A flag is in pinned memory and is 0 unless a kernel meets a bad index. The host reads it when the
program runs again and whenever it has waited, which it does before it reads any value; the error
says where the op was built. Results of programs behind set flags cannot be read.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

from adjoint.errors import BoundsError
from adjoint.ir.uop import UOp
from adjoint.ops.indexing import RangeError
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.cuda import Driver

_PAGE, _APART = 4096, 16  # bytes; kernels may count on values that begin at multiples of 16
_INDEX_BITS = 56  # of a flag's code, below the axis: see `kernel/algorithms/scatter.py`
_WATCHED = 4096  # outputs of runs that no one has waited for, the last ones


class IndexFlag:
    """A number of the host that a kernel sets, and the node whose index it is."""

    __slots__ = ("_home", "_number", "address", "node")

    def __init__(self, home: list[int], address: int, node: UOp):
        self._home, self.address, self.node = home, address, node
        self._number = ctypes.c_int64.from_address(address)
        self._number.value = 0

    def taken(self) -> int:
        """Its code; resets it to 0."""
        found: int = self._number.value
        if found:
            self._number.value = 0
        return found

    def __del__(self) -> None:
        self._home.append(self.address)


@dataclass(slots=True, eq=False, repr=False)
class Watched:
    """Flags of runs that are under way, and what these runs make."""

    flags: dict[IndexFlag, None] = field(default_factory=dict)
    outputs: deque[ref[Buffer]] = field(default_factory=lambda: deque(maxlen=_WATCHED))


class Flags:
    """The flags of one GPU."""

    def __init__(self, gpu: Callable[[], Driver]):
        self._gpu, self._watched = gpu, Watched()
        self._free: list[int] = []

    def flag(self, node: UOp) -> IndexFlag:
        """One for a kernel that is bound."""
        if not self._free:
            page = self._gpu().pinned(_PAGE)
            self._free += range(page, page + _PAGE, _APART)
        return IndexFlag(self._free, self._free.pop(), node)

    def watch(self, flags: Iterable[IndexFlag]) -> None:
        """Begin a run that may set these; errors that they hold from before are raised now."""
        self.keep(flags)
        for flag in flags:
            if code := flag.taken():
                self._tell(flag.node, code, self._watched.outputs)

    def keep(self, flags: Iterable[IndexFlag]) -> None:
        """Check them when the host waits next."""
        self._watched.flags.update(dict.fromkeys(flags))

    def made(self, outputs: Sequence[Buffer]) -> None:
        """What such a run makes."""
        self._watched.outputs.extend(map(ref, outputs))

    def take(self) -> Watched:
        """All watched flags, for a caller that waits."""
        found, self._watched = self._watched, Watched()
        return found

    def put_back(self, watched: Watched) -> None:
        """Restore them after a wait that failed."""
        self._watched.flags.update(watched.flags)
        self._watched.outputs.extendleft(reversed(watched.outputs))

    def check(self, watched: Watched) -> None:
        """The runs are done: the first bad index is an error."""
        found = [(flag.node, code) for flag in watched.flags if (code := flag.taken())]
        if found:
            self._tell(*found[0], watched.outputs)

    def _tell(self, node: UOp, code: int, outputs: Iterable[ref[Buffer]]) -> None:
        error = _error(node, code)
        for reference in outputs:
            buffer = reference()
            if buffer is not None:
                buffer.fail(error)
        raise error


def _error(node: UOp, code: int) -> BoundsError:
    """The error that a flag stands for, as the interpreter would raise it."""
    axis, index = (code >> _INDEX_BITS) - 1, code % (1 << _INDEX_BITS) - (1 << _INDEX_BITS - 1)
    size, axes = _size(node, axis), tuple(getattr(node.arg, "axes", ()))
    if axis in axes and size is not None and not 0 <= index < size:
        problem = RangeError(axes.index(axis), index, axis, size, []).as_given(node).problem
    else:  # of another node of the same kernel
        problem = f"index {index} is out of range for axis {axis}"
    operands: list[tuple[str, Any]] = [(f"operand {i}", s) for i, s in enumerate(node.src)]
    place = f" (built by {node.origin})" if node.origin is not None else ""
    return BoundsError("E6001", problem + place, op=node.op.name, operands=operands)


def _size(node: UOp, axis: int) -> int | None:
    shape = node.src[0].shape if node.src and not isinstance(node.dtype, tuple) else ()
    return int(shape[axis]) if axis < len(shape) else None
