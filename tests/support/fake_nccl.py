"""NCCL without GPUs: threads are the members, memory is the host's, messages are queues."""

from __future__ import annotations

import ctypes
from collections import defaultdict
from queue import Queue
from threading import Lock
from typing import NamedTuple

import numpy as np

from adjoint.runtime.comm.nccl import _OPERATORS, _TYPES

_KINDS = {number: kind for kind, number in _OPERATORS.items()}
_NAMES = {number: name for name, number in _TYPES.items() if name != "bool"}


class Comm(NamedTuple):
    name: bytes
    rank: int
    size: int


class FakeNccl:
    """The calls of one member; all share `Wires`."""

    loaded = True

    def __init__(self, wires):
        self._wires, self._sends, self._takes = wires, [], []
        self.calls = []

    def made(self, name, size, unique, rank):
        assert name == "ncclCommInitRank"
        return Comm(bytes(unique), rank, size)

    def call(self, name, *arguments):
        self.calls.append(name)
        getattr(self, name)(*arguments)

    def ncclGetUniqueId(self, place):
        with self._wires.lock:
            self._wires.groups += 1
            number = self._wires.groups
        ctypes.memmove(ctypes.addressof(place._obj), b"%09d" % number, 9)

    def ncclGroupStart(self):
        assert not self._sends
        assert not self._takes

    def ncclSend(self, address, nbytes, kind, member, comm, stream):
        self._sends.append((address, nbytes, member, comm))

    def ncclRecv(self, address, nbytes, kind, member, comm, stream):
        self._takes.append((address, nbytes, member, comm))

    def ncclGroupEnd(self):
        for address, nbytes, member, comm in self._sends:
            self._wires.queue(comm, comm.rank, member).put(ctypes.string_at(address, nbytes))
        for address, nbytes, member, comm in self._takes:
            came = self._wires.queue(comm, member, comm.rank).get(timeout=300)
            assert len(came) == nbytes
            ctypes.memmove(address, came, nbytes)
        self._sends, self._takes = [], []

    def ncclAllGather(self, source, target, count, kind, comm, stream):
        self._everywhere(source, count, comm)
        for member, came in enumerate(self._from_all(comm)):
            ctypes.memmove(target + member * count, came, count)

    def ncclAllReduce(self, source, target, count, kind, operator, comm, stream):
        dtype = np.dtype(_NAMES[kind])
        self._everywhere(source, count * dtype.itemsize, comm)
        parts = [np.frombuffer(came, dtype) for came in self._from_all(comm)]
        join = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}
        total = join[_KINDS[operator]].reduce(np.stack(parts), axis=0, dtype=dtype)
        ctypes.memmove(target, total.tobytes(), total.nbytes)

    def _everywhere(self, source, nbytes, comm):
        for member in range(comm.size):
            self._wires.queue(comm, comm.rank, member).put(ctypes.string_at(source, nbytes))

    def _from_all(self, comm):
        queues = [self._wires.queue(comm, member, comm.rank) for member in range(comm.size)]
        return [queue.get(timeout=300) for queue in queues]


class Wires:
    """Messages on their way, by group, sender and receiver."""

    def __init__(self):
        self.lock, self.groups, self._queues = Lock(), 0, defaultdict(Queue)

    def queue(self, comm, sender, receiver):
        with self.lock:
            return self._queues[comm.name, comm.size, sender, receiver]
