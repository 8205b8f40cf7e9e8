"""Members as GPUs, one for each process: NCCL carries the bytes, on the GPU's stream.

What may live here: calls of NCCL, and collectives over them. What may not: heartbeats, or who the
processes are. Another communicator (MPI's) knows that, connects the processes, and detects that
they call different collectives before anything is put on a stream.

If a `join` of two values on the GPU is given, the order of joins is that of `joins.py`: parts are
sent as they are, and joined by their owner. Without one, sums are the library's own, in its order.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char, c_int, c_size_t, c_void_p
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from adjoint.errors import CommunicationError
from adjoint.runtime.comm import protocol
from adjoint.runtime.comm.protocol import Call, Pairs
from adjoint.runtime.nvidia import NvidiaLibrary

_NAMES = "int8 uint8 int32 uint32 int64 uint64 float16 float32 float64 bfloat16"
_TYPES = {"bool": 1} | {name: number for number, name in enumerate(_NAMES.split())}
_BYTE = _TYPES["uint8"]
_OPERATORS = {"sum": 0, "prod": 1, "max": 2, "min": 3}

# kind, dtype, addresses of the lower ranks' values, of the higher ranks' and of the result, count
Join = Callable[[str, str, int, int, int, int], None]


class UniqueId(ctypes.Structure):
    """What members of a new group must all know."""

    _fields_ = (("data", c_char * 128),)


class DeviceArray(NamedTuple):
    """Memory of a GPU, seen as an array."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize


_MOVE = (c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p)
_CALLS: dict[str, tuple[Any, ...]] = {
    "ncclGetUniqueId": (POINTER(UniqueId),),
    "ncclCommInitRank": (POINTER(c_void_p), c_int, UniqueId, c_int),
    "ncclAllReduce": (c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p),
    "ncclReduceScatter": (c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p),
    "ncclAllGather": (c_void_p, c_void_p, c_size_t, c_int, c_void_p, c_void_p),
    "ncclSend": _MOVE,
    "ncclRecv": _MOVE,
    "ncclGroupStart": (),
    "ncclGroupEnd": (),
}


@cache
def library() -> NvidiaLibrary:
    """NCCL, of the package `nvidia-nccl-cu13` or of the system."""
    return NvidiaLibrary("NCCL", ("libnccl.so.2",), _CALLS)


def connect(host: Any, gpu: Any, *, join: Join | None = None, nccl: Any = None) -> NcclMember:
    """The members of a group of processes with a GPU each; all of them call it."""
    nccl = nccl or library()
    if nccl.loaded is None:
        fix = "pip install nvidia-nccl-cu13"
        raise CommunicationError("E7024", "NCCL is not installed", op="nccl", help=fix)
    return NcclMember(host, gpu, join, nccl)


class NcclMember:
    """One GPU's view of its group; a `Communicator` over `DeviceArray`s."""

    def __init__(self, host: Any, gpu: Any, join: Join | None, nccl: Any, comm: Any = None):
        self._host, self._gpu, self._join, self._nccl = host, gpu, join, nccl
        self.rank, self.size = host.rank, host.size
        self._groups: dict[tuple[int, ...], NcclMember] = {}
        gpu.enter()
        self._comm = comm or nccl.made("ncclCommInitRank", self.size, self._unique_id(), self.rank)

    def with_host(self, host: Any) -> NcclMember:
        """The same group of GPUs, whose processes or threads meet at another communicator."""
        if host is self._host:
            return self
        return NcclMember(host, self._gpu, self._join, self._nccl, self._comm)

    def _unique_id(self) -> UniqueId:
        """The first member's, which the host's communicator brings to the others."""
        mine, all_ = np.zeros(128, np.uint8), np.empty((self.size, 128), np.uint8)
        if self.rank == 0:
            made = UniqueId()
            self._nccl.call("ncclGetUniqueId", byref(made))
            mine[:] = np.frombuffer(bytes(made), np.uint8)
        self._host.all_gather(mine, all_, label="a new group of GPUs")
        return UniqueId.from_buffer_copy(all_[0].tobytes())

    def group(self, members: tuple[int, ...]) -> NcclMember:
        if members not in self._groups:
            host = self._host.group(members)
            self._groups[members] = NcclMember(host, self._gpu, self._join, self._nccl)
        return self._groups[members]

    def all_reduce(
        self, source: DeviceArray, target: DeviceArray, kind: str, *, label: str
    ) -> None:
        call = protocol.all_reduce_call(source, target, kind, label)
        join = self._prepare(call)
        with self._ordered():
            if join is None:
                self._reduce("ncclAllReduce", source, target, source.size, kind)
            else:
                self._reduce_by_parts(join, kind, source, target)

    def reduce_scatter(
        self, source: DeviceArray, target: DeviceArray, kind: str, *, label: str
    ) -> None:
        call = protocol.reduce_scatter_call(source, target, kind, self.size, label)
        join = self._prepare(call)
        with self._ordered():
            if join is None:
                self._reduce("ncclReduceScatter", source, target, target.size, kind)
                return
            with self._scratch(source.nbytes) as parts:
                self._swap([_row(source, r, self.size) for r in range(self.size)], parts)
                self._join_all(join, kind, source.dtype, parts, target.size, target.address)

    def all_gather(self, source: DeviceArray, target: DeviceArray, *, label: str) -> None:
        self._prepare(protocol.all_gather_call(source, target, self.size, label))
        with self._ordered():
            move = (source.address, target.address, source.nbytes, _BYTE)
            self._call("ncclAllGather", *move, self._comm, self._gpu.stream)

    def all_to_all(self, source: DeviceArray, target: DeviceArray, *, label: str) -> None:
        self._prepare(protocol.all_to_all_call(source, target, self.size, label))
        with self._ordered(), self._apart(source, target) as source:
            self._swap([_row(source, r, self.size) for r in range(self.size)], target.address)

    def permute(
        self, source: DeviceArray, target: DeviceArray, pairs: Pairs, *, label: str
    ) -> None:
        call = protocol.permute_call(source, target, pairs, self.size, label)
        self._prepare(call)
        with self._ordered(), self._apart(source, target) as source:
            if all(to != self.rank for _, to in call.pairs):
                self._gpu.clear(target.address, target.nbytes)
            sends = [(to, source.address, source.nbytes) for a, to in call.pairs if a == self.rank]
            takes = [(a, target.address, target.nbytes) for a, to in call.pairs if to == self.rank]
            self._exchange(sends, takes)

    def barrier(self, *, label: str) -> None:
        """When every member has called it, and its GPU has done what was asked of it."""
        self._gpu.synchronise()
        self._host.barrier(label=label)

    # ---- parts

    def _prepare(self, call: Call) -> Join | None:
        """Members agree on the host; how values are joined."""
        if call.kind and self._join is None and call.dtype not in _TYPES:
            protocol.refuse(call, f"NCCL has no {call.kind} of {call.dtype}")
        self._host.meet(call)
        return self._join

    @contextmanager
    def _ordered(self) -> Iterator[None]:
        """Alone on the stream."""
        with self._gpu.lock:
            self._gpu.enter()
            yield

    @contextmanager
    def _scratch(self, nbytes: int) -> Iterator[int]:
        """Memory that is given back in the order of the stream."""
        address = self._gpu.allocate(max(nbytes, 1))
        try:
            yield address
        finally:
            self._gpu.free(address)

    @contextmanager
    def _apart(self, source: DeviceArray, target: DeviceArray) -> Iterator[DeviceArray]:
        """The source, or a copy of it if writing the target would change it."""
        if source.address + source.nbytes <= target.address or (
            target.address + target.nbytes <= source.address
        ):
            yield source
            return
        with self._scratch(source.nbytes) as copy:
            self._gpu.copy(copy, source.address, source.nbytes)
            yield source._replace(address=copy)

    def _call(self, name: str, *arguments: Any) -> None:
        self._nccl.call(name, *arguments)

    def _reduce(
        self, name: str, source: DeviceArray, target: DeviceArray, count: int, kind: str
    ) -> None:
        number = _TYPES[str(source.dtype)]
        pair = (source.address, target.address, count, number, _OPERATORS[kind])
        self._call(name, *pair, self._comm, self._gpu.stream)

    def _exchange(
        self, sends: Sequence[tuple[int, int, int]], takes: Sequence[tuple[int, int, int]]
    ) -> None:
        """Bytes to and from members, at once: (member, address, bytes)."""
        self._call("ncclGroupStart")
        for member, address, nbytes in sends:
            self._call("ncclSend", address, nbytes, _BYTE, member, self._comm, self._gpu.stream)
        for member, address, nbytes in takes:
            self._call("ncclRecv", address, nbytes, _BYTE, member, self._comm, self._gpu.stream)
        self._call("ncclGroupEnd")

    def _swap(self, gives: Sequence[tuple[int, int]], target: int) -> None:
        """`gives[r]` (address, bytes) to each member r; what all give to this one, in a row."""
        own = gives[self.rank][1]
        sends = [(r, address, nbytes) for r, (address, nbytes) in enumerate(gives)]
        self._exchange(sends, [(r, target + r * own, own) for r in range(self.size)])

    def _reduce_by_parts(
        self, join: Join, kind: str, source: DeviceArray, target: DeviceArray
    ) -> None:
        """Each member joins one part of the vector, and sends it to all."""
        cuts = [source.size * part // self.size for part in range(self.size + 1)]
        width = source.dtype.itemsize
        spans = [(a * width, (b - a) * width) for a, b in pairwise(cuts)]
        begin, nbytes = spans[self.rank]
        with self._scratch(nbytes * self.size) as parts:
            self._swap([(source.address + at, length) for at, length in spans], parts)
            here = target.address + begin
            self._join_all(join, kind, source.dtype, parts, nbytes // width, here)
        others = [r for r in range(self.size) if r != self.rank]
        sends = [(r, here, nbytes) for r in others]
        self._exchange(sends, [(r, target.address + spans[r][0], spans[r][1]) for r in others])

    def _join_all(
        self, join: Join, kind: str, dtype: np.dtype[Any], parts: int, count: int, target: int
    ) -> None:
        """The tree of `joins.py` over parts that lie in a row and may be changed."""
        nbytes = count * dtype.itemsize
        level = [parts + r * nbytes for r in range(self.size)]
        while len(level) > 1 and count:
            last = len(level) == 2
            for first, second in zip(level[::2], level[1::2], strict=False):
                join(kind, str(dtype), first, second, target if last else first, count)
            level = [target] if last else level[::2]
        if level[0] != target:
            self._gpu.copy(target, level[0], nbytes)


def _row(array: DeviceArray, row: int, rows: int) -> tuple[int, int]:
    nbytes = array.nbytes // rows
    return array.address + row * nbytes, nbytes
