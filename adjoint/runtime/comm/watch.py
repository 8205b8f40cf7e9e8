"""Detects dead processes: each sends a heartbeat over TCP, beside the library that carries data.

What may live here: connections, heartbeats, and reports of lost processes. What may not: values of
programs, or any collective.

MPI does not report that a process is gone; it waits. So every process holds a connection to the
first one and sends a heartbeat each second. A killed process closes its connection; one that is
stopped, or whose machine is unreachable, falls silent; one that raises says so. The first process
tells the others. If all processes wait in collectives and none has moved on between two heartbeats,
they wait for one another, and each is told what the others call.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any

BEAT = 1.0  # seconds between two words
Message = dict[str, Any]


@dataclass(eq=False)
class Line:
    """One end of a connection: whole messages in and out."""

    sock: socket.socket
    rank: int = -1  # whose end the other one is; unknown before it has said so
    heard: float = field(default_factory=time.monotonic)
    rest: bytes = b""
    guard: threading.Lock = field(default_factory=threading.Lock)

    def send(self, message: Message) -> None:
        """Send it if the other end is there; that it is not, `receive` finds out."""
        try:
            with self.guard:
                self.sock.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            return

    def receive(self) -> list[Message] | None:
        """The messages that have come; None if the other end is closed."""
        try:
            came = self.sock.recv(1 << 16)
        except OSError:
            return None
        if not came:
            return None
        *lines, self.rest = (self.rest + came).split(b"\n")
        self.heard = time.monotonic()
        try:
            return [json.loads(line) for line in lines]
        except ValueError:  # none of ours
            return None


class Watch:
    """What this process knows of the others; a thread keeps it true."""

    def __init__(self, rank: int, size: int, silence: float):
        self.rank, self.size, self.silence = rank, size, silence
        self.lost: dict[int, str] = {}  # members that will never come, and how they were lost
        self.stuck: dict[int, str] = {}  # what each member waits in, when all wait for one another
        self.doing: tuple[int, str] | None = None  # the number and text of the call that waits
        self.lines: list[Line] = []
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._run, daemon=True, name="adjoint-watch")
        self._closed = False

    def start(self) -> None:
        self._thread.start()

    def add(self, line: Line) -> None:
        line.sock.settimeout(self.silence)
        self.lines.append(line)
        self._selector.register(line.sock, selectors.EVENT_READ, line)

    def tell(self, message: Message) -> None:
        for line in list(self.lines):
            line.send(message)

    def leave(self, how: str, *, failed: bool) -> None:
        """Say that this process calls nothing any more, and why."""
        self.tell({"lost" if failed else "bye": [self.rank, how]})

    def close(self) -> None:
        self._closed = True

    def _run(self) -> None:
        before = time.monotonic()
        while not self._closed:
            for key, _ in self._selector.select(BEAT / 4):
                self._hear(key.data)
            now = time.monotonic()
            if now - before > BEAT:
                self._beat(now, asleep=now - before > 3 * BEAT)
                before = now

    def _hear(self, line: Line) -> None:
        messages = line.receive()
        if messages is None:
            self._drop(line)
            self._lose(line.rank, "was killed, or its connection broke")
        for message in messages or ():
            self._take(line, message)

    def _drop(self, line: Line) -> None:
        if line in self.lines:
            self.lines.remove(line)
            self._selector.unregister(line.sock)

    def _beat(self, now: float, asleep: bool) -> None:
        """Send a word, and look for who sends none; after a sleep of our own all get new time."""
        for line in list(self.lines):
            if asleep:
                line.heard = now
            elif now - line.heard > self.silence:
                self._drop(line)
                self._lose(line.rank, f"has been silent for {self.silence:g} s (is it stopped?)")
        self._say()

    def _say(self) -> None:
        self.tell({"waits": [self.rank, self.doing]})

    def _take(self, line: Line, message: Message) -> None:
        """News from the first process."""
        if "lost" in message or "bye" in message:
            rank, how = message.get("lost") or message["bye"]
            self.lost.setdefault(rank, how)
        if "stuck" in message:
            self.stuck = {int(rank): text for rank, text in message["stuck"].items()}

    def _lose(self, rank: int, how: str) -> None:
        self.lost.setdefault(rank, how)


class FirstWatch(Watch):
    """The watch of the first process, which hears of all and tells all."""

    def __init__(self, size: int, silence: float, secret: str):
        super().__init__(0, size, silence)
        self.secret = secret
        self._pids: dict[int, int] = {}  # of processes on this machine
        self._waits: dict[int, tuple[int, str] | None] = {}  # as told since the last look
        self._looks: list[dict[int, tuple[int, str] | None]] = []

    def listen(self, host: str) -> tuple[str, int]:
        """Open the door; where it is."""
        server = socket.create_server((host, 0), backlog=self.size)
        self._door = server
        self._selector.register(server, selectors.EVENT_READ, None)
        return server.getsockname()[:2]

    def _hear(self, line: Line | None) -> None:
        if line is None:
            return self.add(Line(self._door.accept()[0]))
        return super()._hear(line)

    def _take(self, line: Line, message: Message) -> None:
        if "hello" in message and message["secret"] == self.secret:
            line.rank = message["hello"]
            if message["host"] == socket.gethostname():
                self._pids[line.rank] = message["pid"]
            for rank, how in list(self.lost.items()):
                line.send({"lost": [rank, how]})
        elif line.rank < 0:
            self._drop(line)
        elif "waits" in message:
            _, wait = message["waits"]
            self._waits[line.rank] = wait and (wait[0], wait[1])
        elif "lost" in message or "bye" in message:
            self._lose(*(message.get("lost") or message["bye"]))

    def _lose(self, rank: int, how: str) -> None:
        if rank < 0 or rank in self.lost:
            return
        super()._lose(rank, how)
        self.tell({"lost": [rank, how]})
        if "silent" in how and rank in self._pids:
            _kill(self._pids[rank])

    def leave(self, how: str, *, failed: bool) -> None:
        self._lose(self.rank, how)

    def _say(self) -> None:
        """A word to all. Who has told the same at three looks has waited all through the second;
        if those are all, none of them can go on."""
        looked, self._waits = {**self._waits, 0: self.doing}, {}
        self._looks = [*self._looks[-2:], looked]
        whole = len(looked) == self.size and None not in looked.values() and not self.lost
        if whole and self._looks.count(looked) == 3:
            self.stuck = {rank: wait[1] for rank, wait in looked.items() if wait is not None}
            self.tell({"stuck": self.stuck})
        self.tell({})


def connect(rank: int, size: int, silence: float, door: tuple[str, int], secret: str) -> Watch:
    """The watch of another process than the first."""
    watch = Watch(rank, size, silence)
    line = Line(socket.create_connection(door, timeout=silence), rank=0)
    hello = {"hello": rank, "secret": secret, "pid": os.getpid(), "host": socket.gethostname()}
    line.send(hello)
    watch.add(line)
    return watch


def _kill(pid: int) -> None:
    """End a process that does not answer: stopped, it would outlive the program."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
