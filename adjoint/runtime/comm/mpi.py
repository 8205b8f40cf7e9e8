"""Members as MPI processes: MPI's messages carry the bytes, Adjoint fixes the order of joins.

What may live here: collectives over MPI's messages, and waiting for them. What may not: starting
processes (`cli/launch.py`), heartbeats (`watch.py`), the end of a process (`process.py`).

Before data move, the members agree that they make the same call (`meet`). Few values travel with
that word, so a short vector takes one message. The members wait by polling, never inside MPI, so
they notice a lost process meanwhile. An `all_reduce` is a reduction of one part per member, each
joined by its owner, and a gather of the parts: the fewest bytes possible. Long vectors travel in
blocks, so that one is joined while others are in flight.
"""

from __future__ import annotations

import ast
import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np

from adjoint import config
from adjoint.errors import CommunicationError
from adjoint.runtime.comm import protocol
from adjoint.runtime.comm.joins import Array, join_all
from adjoint.runtime.comm.local import gone, silent
from adjoint.runtime.comm.protocol import Call, Pairs
from adjoint.runtime.comm.watch import Watch

Requests = list[Any]  # of MPI

SMALL = 1 << 16  # bytes, over all members, below which each joins everything by itself
FEW = 1 << 14  # bytes, over all members, that have a place in the message by which they meet
BLOCK = 1 << 22  # bytes of a vector that are on their way at once
ROOM = 1 << 25  # bytes of memory that is kept for what comes
FAREWELL = Call("the end of the program")
_HASTE = 0.002  # seconds of polling without a pause
_LAST_WORDS = 0.3  # seconds in which what a lost member has sent may still come
_WORD = 16  # bytes of a digest
_MAIL = 20_000  # the first tag of messages; groups are made with those below
_HEADER = 512  # bytes that say what a message is
_PATIENCE = 0.5  # seconds of waiting after which the watch is told of it


@dataclass(slots=True)
class Traffic:
    """Bytes of values that a process has sent, in all of its groups, and memory for what comes:
    new memory would be found page by page each time. One collective at a time uses it."""

    sent: int = 0
    room: Array = field(default_factory=lambda: np.empty(0, np.uint8))

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Memory for an array, until the next is asked for."""
        nbytes = int(np.prod(shape)) * dtype.itemsize
        if nbytes > ROOM:
            return np.empty(shape, dtype)
        if nbytes > self.room.size:
            self.room = np.empty(nbytes, np.uint8)
        return self.room[:nbytes].view(dtype).reshape(shape)


class MpiMember:
    """One process's view of its group; a `Communicator`."""

    def __init__(
        self,
        mpi: ModuleType,
        comm: Any,
        watch: Watch,
        members: tuple[int, ...],
        traffic: Traffic | None = None,
    ):
        self._traffic = traffic or Traffic()
        self._mpi, self._comm, self._watch, self._members = mpi, comm, watch, members
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self._groups: dict[tuple[int, ...], MpiMember] = {}
        self._few = min(FEW // self.size, FEW >> 3) // _WORD * _WORD  # bytes beside a digest
        self._calls = 0
        self._leaving: list[tuple[Call, Any, Array]] = []  # messages that MPI may still read
        # one thread after another may call MPI, or only the one that started it
        self.one_thread = mpi.Query_thread() < mpi.THREAD_SERIALIZED

    @property
    def bytes_sent(self) -> int:
        """Bytes of values that this process has sent so far, in all groups."""
        return self._traffic.sent

    def group(self, members: tuple[int, ...]) -> MpiMember:
        if members not in self._groups:
            self._groups[members] = self._make_group(members)
        return self._groups[members]

    def all_reduce(self, source: Array, target: Array, kind: str, *, label: str) -> None:
        call = protocol.all_reduce_call(source, target, kind, label)
        rows = self._meet_with(call, source)
        if rows is not None:
            join_all(kind, rows, target)
            return
        if config.ALL_REDUCE.value() == "any" and self._reduce_anyhow(call, source, target):
            return
        if source.nbytes * self.size <= SMALL or self.size == 1:
            parts = self._traffic.take((self.size, *source.shape), source.dtype)
            self._gather(call, source, parts)
            join_all(kind, list(parts), target)
        else:
            self._reduce_in_blocks(call, source.reshape(-1), target.reshape(-1))

    def all_gather(self, source: Array, target: Array, *, label: str) -> None:
        call = protocol.all_gather_call(source, target, self.size, label)
        rows = self._meet_with(call, source)
        if rows is None:
            self._gather(call, _apart(source, target), target)
        for member, row in enumerate(rows or ()):
            target[member] = row

    def reduce_scatter(self, source: Array, target: Array, kind: str, *, label: str) -> None:
        call = protocol.reduce_scatter_call(source, target, kind, self.size, label)
        self.meet(call)
        parts = self._traffic.take(source.shape, source.dtype)
        self._exchange(call, source, parts)
        join_all(kind, list(parts), target)

    def all_to_all(self, source: Array, target: Array, *, label: str) -> None:
        call = self.meet(protocol.all_to_all_call(source, target, self.size, label))
        self._exchange(call, _apart(source, target), target)

    def permute(self, source: Array, target: Array, pairs: Pairs, *, label: str) -> None:
        call = self.meet(protocol.permute_call(source, target, pairs, self.size, label))
        source = _apart(source, target)
        to = [b for a, b in call.pairs if a == self.rank]
        come = [a for a, b in call.pairs if b == self.rank]
        self._traffic.sent += source.nbytes * len([member for member in to if member != self.rank])
        if not come:
            target[...] = 0
        receives = [self._comm.Irecv(_bytes(target), member, 1) for member in come]
        self._finish(call, [*receives, *(self._comm.Isend(_bytes(source), m, 1) for m in to)])

    def send(self, source: Array, to: int, *, tag: int, label: str) -> None:
        """What is sent is kept until MPI has it: a header that says what it is, and the values."""
        call = protocol.message_call("send", source, label)
        self._tidy()
        head, body = _header(call), source.copy()
        self._traffic.sent += source.nbytes
        for array in (head, _bytes(body)):
            self._leaving.append((call, self._comm.Isend(array, to, _MAIL + tag), array))

    def receive(self, target: Array, source: int, *, tag: int, label: str) -> None:
        call = protocol.message_call("receive", target, label)
        self._calls += 1
        head = np.empty(_HEADER, np.uint8)
        self._finish(call, [self._comm.Irecv(head, source, _MAIL + tag)], meeting=True)
        sent = _read_call(head.tobytes())
        protocol.check_message(call, sent, self._members[self.rank], self._members[source])
        self._finish(call, [self._comm.Irecv(_bytes(target), source, _MAIL + tag)])

    def flush(self, *, label: str) -> None:
        left, self._leaving = self._leaving, []
        for call, request, _ in left:
            self._finish(call, [request])

    def _tidy(self) -> None:
        """Forget what MPI has taken over."""
        self._leaving = [row for row in self._leaving if not row[1].Test()]

    def barrier(self, *, label: str) -> None:
        self.meet(Call("barrier", label))

    def farewell(self, comm: Any) -> None:
        """Wait until all members end; those that have said so are not lost. No collective of
        members that have not come so far meets it: it has messages of its own, of `comm`."""
        done = comm.Ibarrier()
        while not done.Test():
            for member, how in list(self._watch.lost.items()):
                if how != "has ended":
                    raise gone(self._members[self.rank], FAREWELL, member, how)
            time.sleep(0.002)

    def meet(self, call: Call) -> Call:
        """Wait until all members have come with the same call."""
        self._words(call, None)
        return call

    def _meet_with(self, call: Call, values: Array) -> list[Array] | None:
        """The values of all members, met with the same call; None: met, and they are too many."""
        if values.nbytes > self._few:
            self._words(call, None)
            return None
        words = self._words(call, values)[:, _WORD : _WORD + values.nbytes]
        self._traffic.sent += values.nbytes * (self.size - 1)
        return [word.view(values.dtype).reshape(values.shape) for word in words]

    def _words(self, call: Call, values: Array | None) -> Array:
        """What each member says first: what it calls, and few values. Whatever is called, a word
        is of one length: so members that call different things can read one another's."""
        self._calls += 1
        mine = np.zeros(_WORD + self._few, np.uint8)
        mine[:_WORD] = np.frombuffer(_digest(call), np.uint8)
        if values is not None:
            mine[_WORD : _WORD + values.nbytes] = _bytes(values)
        words = np.empty((self.size, mine.size), np.uint8)
        self._finish(call, [self._comm.Iallgather(mine, words)], meeting=True)
        if (words[:, :_WORD] != mine[:_WORD]).any():
            self._tell_apart(call)
        return words

    def _tell_apart(self, call: Call) -> None:
        text = repr((call.collective, call.label, call.kind, call.dtype, call.shape, call.pairs))
        mine, all_ = np.zeros(4096, np.uint8), np.empty((self.size, 4096), np.uint8)
        raw = text.encode()[:4096]
        mine[: len(raw)] = np.frombuffer(raw, np.uint8)
        self._finish(call, [self._comm.Iallgather(mine, all_)])
        calls = [_read_call(row.tobytes()) for row in all_]
        error = protocol.tell_apart(calls, self._members)
        assert error is not None
        raise error

    def _gather(self, call: Call, source: Array, parts: Array) -> None:
        self._traffic.sent += source.nbytes * (self.size - 1)
        self._finish(call, [self._comm.Iallgather(_bytes(source), _bytes(parts))])

    def _exchange(self, call: Call, source: Array, parts: Array) -> None:
        """`parts[s]` = `source[rank]` of s."""
        rows = (self.size, source.size // self.size)
        self._finish(call, self._swap(list(source.reshape(rows)), list(parts.reshape(rows))))
        parts[self.rank] = source[self.rank]

    def _swap(self, gives: Sequence[Array], takes: Sequence[Array]) -> Requests:
        """Requests that send `gives[r]` to each other member r and receive `takes[r]` from it."""
        others = [(self.rank + step) % self.size for step in range(1, self.size)]
        self._traffic.sent += sum(gives[r].nbytes for r in others)
        receives = [self._comm.Irecv(_bytes(takes[r]), r, 2) for r in reversed(others)]
        return receives + [self._comm.Isend(_bytes(gives[r]), r, 2) for r in others]

    def _reduce_in_blocks(self, call: Call, source: Array, target: Array) -> None:
        """Each member joins one part of every block; the next blocks travel meanwhile."""
        length = max(BLOCK // source.itemsize // self.size, 1) * self.size
        blocks = [slice(at, at + length) for at in range(0, source.size, length)]
        rows = min(length, -(-source.size // self.size) * self.size) // self.size
        came = list(self._traffic.take((2, self.size, rows), source.dtype))
        coming = self._send_block(source[blocks[0]], came[0])
        leaving: Requests = []
        for number, block in enumerate(blocks):
            now, here = coming, came[number % 2]
            if number + 1 < len(blocks):
                coming = self._send_block(source[blocks[number + 1]], came[1 - number % 2])
            self._finish(call, now)
            leaving = self._share_block(call, source[block], here, target[block], leaving)
        self._finish(call, leaving)

    def _send_block(self, block: Array, came: Array) -> Requests:
        bounds = self._bounds(block.size)
        gives = [block[a:b] for a, b in bounds]
        begin, end = bounds[self.rank]
        return self._swap(gives, [came[r, : end - begin] for r in range(self.size)])

    def _share_block(
        self, call: Call, block: Array, came: Array, target: Array, leaving: Requests
    ) -> Requests:
        """Join this member's part of a block in place, and send it to the others."""
        bounds = self._bounds(block.size)
        begin, end = bounds[self.rank]
        parts = [came[r, : end - begin] for r in range(self.size)]
        parts[self.rank] = block[begin:end]
        join_all(call.kind, parts, target[begin:end])
        self._finish(call, leaving)
        takes = [target[a:b] for a, b in bounds]
        return self._swap([target[begin:end]] * self.size, takes)

    def _bounds(self, length: int) -> list[tuple[int, int]]:
        cuts = [length * part // self.size for part in range(self.size + 1)]
        return list(pairwise(cuts))

    def _reduce_anyhow(self, call: Call, source: Array, target: Array) -> bool:
        """By MPI itself, in an order of its own, if it knows the dtype."""
        if source.dtype.char not in "bhilqBHILQfd":
            return False
        source = _apart(source, target)
        self._finish(
            call, [self._comm.Iallreduce(source, target, getattr(self._mpi, call.kind.upper()))]
        )
        return True

    def _finish(self, call: Call, requests: Requests, *, meeting: bool = False) -> None:
        """Wait for requests, or raise if a member that they need is lost."""
        begin, left, lost = time.monotonic(), requests, 0.0
        try:
            while left := [request for request in left if not request.Test()]:
                now = time.monotonic()
                lost = lost or (now if self._lost() else 0)
                if lost and now - lost > _LAST_WORDS:
                    raise self._gone(call)
                self._look(call, now - begin, meeting)
                _pause(now - begin)
        except self._mpi.Exception as error:
            raise self._broken(call, str(error)) from None
        finally:
            self._watch.doing = None

    def _broken(self, call: Call, why: str) -> CommunicationError:
        """The error for what MPI reports: who is lost, if the watch comes to know it."""
        until = time.monotonic() + 3
        while time.monotonic() < until and not self._lost():
            time.sleep(0.02)
        if self._lost():
            return self._gone(call)
        return gone(self._members[self.rank], call, self._members[self.rank], f"heard: {why}")

    def _lost(self) -> list[int]:
        """Other members that will never come."""
        lost, me = self._watch.lost, self._members[self.rank]
        return [member for member in self._members if member in lost and member != me]

    def _gone(self, call: Call) -> CommunicationError:
        """The first of those that was lost is the reason why others were."""
        found = next(member for member in self._watch.lost if member in self._lost())
        return gone(self._members[self.rank], call, found, self._watch.lost[found])

    def _look(self, call: Call, waited: float, meeting: bool) -> None:
        """Raise if there is no use in waiting any longer."""
        watch, me = self._watch, self._members[self.rank]
        if not meeting or waited < _PATIENCE:
            return
        watch.doing = (hash((self._members, self._calls)), f"{call} of {list(self._members)}")
        if watch.stuck:
            raise _stuck(me, watch.stuck)
        if waited > config.COLLECTIVE_LIMIT.value():
            others = [member for member in self._members if member != me]
            raise silent(me, call, others, config.COLLECTIVE_LIMIT.value())

    def _make_group(self, members: tuple[int, ...]) -> MpiMember:
        """Members meet before MPI, which would wait without an end, is asked for the group."""
        call = Call("group", f"members {list(members)}")
        tag = 3 + int.from_bytes(_digest(call)[:2], "little") // 4
        word, came = np.zeros(1, np.uint8), np.zeros((len(members), 1), np.uint8)
        others = [member for member in members if member != self.rank]
        receives = [self._comm.Irecv(came[i], m, tag) for i, m in enumerate(others)]
        sends = [self._comm.Isend(word, member, tag) for member in others]
        self._finish(call, [*receives, *sends], meeting=True)
        comm = self._comm.Create_group(self._comm.Get_group().Incl(list(members)), tag)
        chosen = tuple(self._members[member] for member in members)
        return MpiMember(self._mpi, comm, self._watch, chosen, self._traffic)


def _stuck(me: int, waits: dict[int, str]) -> CommunicationError:
    mine = waits.get(me, "")
    other = next((m for m, text in waits.items() if text != mine and m != me), me)
    return CommunicationError(
        "E7020",
        f"members {me} and {other} wait in different collectives, and so do all others",
        operands=protocol.Places([(f"member {m}", waits.get(m, "")) for m in (me, other)]),
        help="every member runs the same program: look for a condition on the rank",
    )


def _pause(waited: float) -> None:
    if waited < _HASTE:
        os.sched_yield()
    else:
        time.sleep(min(waited / 20, 0.005))


def _digest(call: Call) -> bytes:
    return _digest_of(call.collective, call.kind, call.dtype, call.shape, call.pairs)


@lru_cache(maxsize=1024)
def _digest_of(collective: str, kind: str, dtype: str, shape: Any, pairs: Any) -> bytes:
    signature = Call(collective, "", kind, dtype, shape, pairs).signature
    return hashlib.blake2b(signature.encode(), digest_size=_WORD).digest()


def _header(call: Call) -> Array:
    """What a message is, for its reader: bytes of a fixed number."""
    text = repr((call.collective, call.label[:200], call.kind, call.dtype, call.shape, call.pairs))
    head = np.zeros(_HEADER, np.uint8)
    raw = text.encode()[:_HEADER]
    head[: len(raw)] = np.frombuffer(raw, np.uint8)
    return head


def _read_call(row: bytes) -> Call:
    """A call as another member wrote it, if all of it came through."""
    text = row.rstrip(b"\0").decode(errors="replace")
    parts: Any = _literal(text)
    return Call(*parts) if parts is not None else Call(text)


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return None


def _bytes(array: Array) -> Any:
    """The memory of an array, as MPI takes it whatever its dtype."""
    return array.reshape(-1).view(np.uint8)


def _apart(source: Array, target: Array) -> Array:
    """The source, or a copy of it if writing the target would change it."""
    return source.copy() if np.may_share_memory(source, target) else source
