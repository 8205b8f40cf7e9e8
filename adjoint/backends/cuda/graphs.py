"""Consecutive steps as one CUDA graph, which one call launches.

A graph contains addresses, so it is kept by the addresses with which it was recorded: a program in
steady state alternates between the same few sets. Once there are several graphs, a new set is
written into one of them, which takes a fifth of a launch per kernel; if steps other than kernels
are affected, steps are launched one by one. So is the first run, since most programs run once. What
may live here: when a graph is recorded, kept and evicted.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.runtime.cuda import Driver
from adjoint.runtime.launch import Cells

Call = Callable[[], None]
LONGEST = 1 << 14  # launches of one graph
KEPT = 8  # graphs of one row of steps, for so many sets of addresses
FEW = 3  # launches below which a graph is no sooner
_PATIENCE = 64  # runs without a graph after which an old one is given up for another


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Entry:
    """A step that is bound: what launches it, the slots it uses, and so many launches it is."""

    call: Call
    slots: Sequence[int]
    launches: int = 1  # 0: the host waits for something in it, or it cannot be recorded
    node: Any = None  # as a kernel of a graph; None for what is no single kernel
    keep: Any = None  # what the driver reads when it is launched
    ready: Call | None = None  # what is to be done before the driver reads the node's arguments


def in_graphs(entries: Sequence[Entry | None], cells: Cells, gpu: Driver) -> list[Call]:
    """What runs the entries: rows of them as graphs, those in between by themselves."""
    calls, row, length = list[Call](), list[Entry](), 0
    for entry in entries:
        if entry is None:
            continue
        if row and (not entry.launches or length + entry.launches > LONGEST):
            calls += _as_calls(row, cells, gpu)
            row, length = [], 0
        if 0 < entry.launches <= LONGEST:
            row.append(entry)
            length += entry.launches
        else:
            calls.append(entry.call)
    return calls + (_as_calls(row, cells, gpu) if row else [])


def _as_calls(row: list[Entry], cells: Cells, gpu: Driver) -> list[Call]:
    if sum(entry.launches for entry in row) < FEW:
        return [entry.call for entry in row]
    return [GraphRow(row, cells, gpu).run]


class _Known:
    """A graph and the addresses that it has inside."""

    __slots__ = ("graph", "values")

    def __init__(self, graph: Any, values: array[int]):
        self.graph, self.values = graph, values


class GraphRow:
    """Entries one after another, as a graph from their second run on."""

    def __init__(self, entries: Sequence[Entry], cells: Cells, gpu: Driver):
        self._entries, self._values, self._gpu = entries, cells.values, gpu
        self._calls = [entry.call for entry in entries]
        self._graphs: dict[bytes, _Known] = {}  # the least recently used first
        self._ran = False
        self._missed, self._patience = 0, _PATIENCE
        users: dict[int, list[int]] = {}
        for number, entry in enumerate(entries):
            for slot in dict.fromkeys(entry.slots):
                users.setdefault(slot, []).append(number)
        self._users = users

    def run(self) -> None:
        """Launch all of them. The caller has the lock."""
        key = self._values.tobytes()
        known = self._graphs.get(key)
        if known is None:
            self._run_new(key)
            return
        known.graph.launch()
        if len(self._graphs) == KEPT:  # which one is given up matters then
            self._graphs[key] = self._graphs.pop(key)

    def _run_new(self, key: bytes) -> None:
        """The same with addresses that no graph has."""
        if self._gpu.recording or not self._ran:  # kernels are loaded when they first run
            self._ran = self._ran or not self._gpu.recording
            self._launch()
        elif self._is_set(key) if len(self._graphs) >= KEPT else self._is_recorded(key):
            self._graphs[key].graph.launch()
        else:
            self._launch()

    def _launch(self) -> None:
        for call in self._calls:
            call()

    def _is_set(self, key: bytes) -> bool:
        """Whether the addresses could be written into the least recently used graph; if not, that
        graph is replaced now and then by a newly recorded one.
        """
        old, known = next(iter(self._graphs.items()))
        changed = self._changed(known.values)
        if changed is None:
            self._missed += 1
            if self._missed < self._patience:
                return False
            self._missed, self._patience = 0, 2 * self._patience
            del self._graphs[old]
            return self._is_recorded(key)
        for number in changed:
            entry = self._entries[number]
            if entry.ready is not None:
                entry.ready()
            known.graph.set_kernel(number, entry.node)
        known.values = self._values[:]
        del self._graphs[old]
        self._graphs[key] = known
        return True

    def _changed(self, values: array[int]) -> list[int] | None:
        """The kernels whose addresses have changed; None if other steps are affected, too."""
        found: dict[int, None] = {}
        for slot, (old, new) in enumerate(zip(values, self._values, strict=True)):
            if old != new:
                found.update(dict.fromkeys(self._users.get(slot, ())))
        kernels = all(self._entries[number].node is not None for number in found)
        return list(found) if kernels else None

    def _is_recorded(self, key: bytes) -> bool:
        """Whether a graph of these addresses could be recorded."""
        try:
            graph = self._gpu.record(self._calls)
        except Exception:  # a library that does something else, too: launched as it is
            self._graphs, self._run_new = {}, self._run_plain  # type: ignore[method-assign]
            return False
        self._graphs[key] = _Known(graph, self._values[:])
        return True

    def _run_plain(self, key: bytes) -> None:
        self._launch()
