"""Members as threads of one process, which see one another's memory.

What may live here: rendezvous of threads, and the collectives over them. What may not: starting
programs or devices; an engine hands each of its threads a member of `connect`.

A member that raises ends the others: each that waits for it, or comes to a collective with it, gets
an error that names it and the collective. If all members wait and no rendezvous is complete, they
call different collectives, and each gets an error at once.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from adjoint.errors import CommunicationError
from adjoint.runtime.comm import protocol
from adjoint.runtime.comm.joins import Array, join_all
from adjoint.runtime.comm.protocol import Call, Pairs

Result = TypeVar("Result")
Letter = tuple[int, int, int]  # who sends to whom, and which of their messages
LIMIT = 300.0  # seconds that a member waits for the others


def connect(size: int, *, limit: float = LIMIT) -> list[LocalMember]:
    """Members 0 to size - 1 of a new group, one for each thread."""
    world = _World(size, limit)
    return [LocalMember(world, world.meeting(tuple(range(size))), rank) for rank in range(size)]


def run(
    size: int, function: Callable[[LocalMember], Result], *, limit: float = LIMIT
) -> list[Result]:
    """What `function` returns for each member, run in threads; the first error of a member is
    raised here."""
    members = connect(size, limit=limit)
    results: list[Any] = [None] * size
    failed: list[BaseException] = []

    def body(member: LocalMember) -> None:
        try:
            results[member.rank] = function(member)
            member.end("has returned")
        except BaseException as error:
            failed.append(error)
            member.end(f"raised {type(error).__name__}: {error}")

    threads = [threading.Thread(target=body, args=(member,), daemon=True) for member in members]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:
        for member in members:
            member.end("was interrupted")
        raise
    if failed:
        raise failed[0]
    return results


class _World:
    """All members, who of them waits where, and who has ended."""

    def __init__(self, size: int, limit: float):
        self.size, self.limit = size, limit
        self.changed = threading.Condition()
        self.meetings: dict[tuple[int, ...], _Meeting] = {}
        self.ended: dict[int, str] = {}
        self.waiting: dict[int, Call] = {}
        self.mail: dict[Letter, deque[tuple[Call, Array]]] = {}
        self.expected: dict[int, Letter] = {}  # what members wait for that receive

    def meeting(self, members: tuple[int, ...]) -> _Meeting:
        with self.changed:
            return self.meetings.setdefault(members, _Meeting(self, members))

    def end(self, member: int, how: str) -> None:
        with self.changed:
            self.ended.setdefault(member, how)
            self.changed.notify_all()

    def post(self, letter: Letter, call: Call, array: Array) -> None:
        """Put a message where its reader finds it, who does not wait any more then."""
        with self.changed:
            self.mail.setdefault(letter, deque()).append((call, array))
            if self.expected.get(letter[1]) == letter:
                del self.expected[letter[1]]
                self.waiting.pop(letter[1], None)
            self.changed.notify_all()

    def take(self, letter: Letter, call: Call) -> tuple[Call, Array]:
        """The next such message, once it is there."""
        source, me, _ = letter
        deadline = time.monotonic() + self.limit
        with self.changed:
            while not self.mail.get(letter):
                self.waiting[me], self.expected[me] = call, letter
                if self.all_wait():
                    self.changed.notify_all()
                error = self._hopeless(source, me, call, time.monotonic() >= deadline)
                if error is not None:
                    raise error  # it stays among those who wait: the others see what it called
                self.changed.wait(max(deadline - time.monotonic(), 0))
            return self.mail[letter].popleft()

    def _hopeless(self, source: int, me: int, call: Call, late: bool) -> CommunicationError | None:
        if source in self.ended:
            return gone(me, call, source, self.ended[source])
        if source in self.waiting and self.all_wait():
            return protocol.tell_apart([call, _elsewhere(self.waiting[source], call)], [me, source])
        return silent(me, call, [source], self.limit) if late else None

    def all_wait(self) -> bool:
        return len(self.waiting) + len(self.ended) >= self.size


class _Meeting:
    """Where the members of a group put what they bring, and see what all brought."""

    def __init__(self, world: _World, members: tuple[int, ...]):
        self.world, self.members = world, members
        self.brought: dict[int, tuple[Call, Any]] = {}
        self.met: list[tuple[Call, Any]] = []
        self.round = 0

    def meet(self, rank: int, call: Call, item: Any) -> list[Any]:
        """What every member brought to this round; all called the same."""
        with self.world.changed:
            self.brought[rank] = call, item
            if len(self.brought) == len(self.members):
                self._complete()
            else:
                self._wait(self.members[rank], call)
            met = self.met
        error = protocol.tell_apart([call for call, _ in met], self.members)
        if error is not None:
            raise error
        return [item for _, item in met]

    def _complete(self) -> None:
        self.met = [self.brought[rank] for rank in range(len(self.members))]
        self.brought, self.round = {}, self.round + 1
        for member in self.members:
            self.world.waiting.pop(member, None)
        self.world.changed.notify_all()

    def _wait(self, me: int, call: Call) -> None:
        world, mine, deadline = self.world, self.round, time.monotonic() + self.world.limit
        world.waiting[me] = call
        if world.all_wait():
            world.changed.notify_all()
        while self.round == mine:
            error = self._hopeless(me, call, time.monotonic() >= deadline)
            if error is not None:
                raise error  # it stays among those who wait: the others see what it called
            world.changed.wait(max(deadline - time.monotonic(), 0))

    def _missing(self) -> list[int]:
        return [m for rank, m in enumerate(self.members) if rank not in self.brought]

    def _hopeless(self, me: int, call: Call, late: bool) -> CommunicationError | None:
        world, missing = self.world, self._missing()
        for member in missing:
            if member in world.ended:
                return gone(me, call, member, world.ended[member])
        others = [m for m in missing if m in world.waiting]
        if others and world.all_wait():
            return protocol.tell_apart(
                [call, _elsewhere(world.waiting[others[0]], call)], [me, others[0]]
            )
        return silent(me, call, missing, world.limit) if late else None


def _elsewhere(other: Call, call: Call) -> Call:
    """Another member's call, told apart from one of the same signature in another group."""
    if other.signature != call.signature:
        return other
    return Call(f"{other.collective} of another group:", other.label, other.signature)


def gone(me: int, call: Call, member: int, how: str) -> CommunicationError:
    """The error of a member that waits for one that has ended."""
    return CommunicationError(
        "E7021",
        f"member {member} {how}, and member {me} cannot go on with {call.collective}",
        operands=protocol.Places([(f"member {me}", str(call))]),
    )


def silent(me: int, call: Call, missing: Sequence[int], limit: float) -> CommunicationError:
    """The error of a member that has waited too long."""
    who = f"member{'s' * (len(missing) > 1)} {', '.join(map(str, missing))}"
    return CommunicationError(
        "E7022",
        f"{who} did not come to {call.collective} of member {me} within {limit:g} s",
        operands=protocol.Places([(f"member {me}", str(call))]),
    )


class LocalMember:
    """One thread's view of its group; a `Communicator`."""

    def __init__(self, world: _World, meeting: _Meeting, rank: int):
        self._world, self._meeting = world, meeting
        self.rank, self.size = rank, len(meeting.members)

    def end(self, how: str = "has ended") -> None:
        """This member calls nothing any more: who waits for it gets an error."""
        self._world.end(self._meeting.members[self.rank], how)

    def group(self, members: tuple[int, ...]) -> LocalMember:
        chosen = tuple(self._meeting.members[member] for member in members)
        meeting = self._world.meeting(chosen)
        return LocalMember(self._world, meeting, members.index(self.rank))

    def all_reduce(self, source: Array, target: Array, kind: str, *, label: str) -> None:
        call = protocol.all_reduce_call(source, target, kind, label)
        sources = self._meet(call, source.reshape(-1))
        begin, end = (source.size * part // self.size for part in (self.rank, self.rank + 1))
        joined = np.empty(end - begin, source.dtype)
        join_all(kind, [flat[begin:end] for flat in sources], joined)
        np.concatenate(self._meet(call, joined), out=target.reshape(-1))

    def all_gather(self, source: Array, target: Array, *, label: str) -> None:
        call = protocol.all_gather_call(source, target, self.size, label)
        for member, given in enumerate(self._meet(call, _apart(source, target))):
            target[member] = given
        self._meet(call, None)

    def reduce_scatter(self, source: Array, target: Array, kind: str, *, label: str) -> None:
        call = protocol.reduce_scatter_call(source, target, kind, self.size, label)
        sources = self._meet(call, _apart(source, target))
        join_all(kind, [given[self.rank] for given in sources], target)
        self._meet(call, None)

    def all_to_all(self, source: Array, target: Array, *, label: str) -> None:
        call = protocol.all_to_all_call(source, target, self.size, label)
        for member, given in enumerate(self._meet(call, _apart(source, target))):
            target[member] = given[self.rank]
        self._meet(call, None)

    def permute(self, source: Array, target: Array, pairs: Pairs, *, label: str) -> None:
        call = protocol.permute_call(source, target, pairs, self.size, label)
        sources = self._meet(call, _apart(source, target))
        giver = next((a for a, b in call.pairs if b == self.rank), None)
        target[...] = 0 if giver is None else sources[giver]
        self._meet(call, None)

    def send(self, source: Array, to: int, *, tag: int, label: str) -> None:
        call = protocol.message_call("send", source, label)
        members = self._meeting.members
        self._world.post((members[self.rank], members[to], tag), call, source.copy())

    def receive(self, target: Array, source: int, *, tag: int, label: str) -> None:
        call = protocol.message_call("receive", target, label)
        members = self._meeting.members
        sent, array = self._world.take((members[source], members[self.rank], tag), call)
        protocol.check_message(call, sent, members[self.rank], members[source])
        target[...] = array

    def flush(self, *, label: str) -> None:
        """Nothing: what was sent lies where its reader finds it."""

    def barrier(self, *, label: str) -> None:
        self.meet(Call("barrier", label))

    def meet(self, call: Call) -> None:
        """Wait until all members have come with the same call."""
        self._meet(call, None)

    def _meet(self, call: Call, item: Any) -> list[Any]:
        return self._meeting.meet(self.rank, call, item)


def _apart(source: Array, target: Array) -> Array:
    """The source, or a copy of it if writing the target would change it."""
    return source.copy() if np.may_share_memory(source, target) else source
