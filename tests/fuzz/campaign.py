"""Many chunks over many processes; a process that dies or hangs is a find as well.

What may live here: processes, the order of chunks, the report at the end.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tests.fuzz.chunk import CHUNK, Find, Report, from_data
from tests.fuzz.smaller import shrunk, signature
from tests.fuzz.source import Whole, script

PATIENCE = 120.0  # seconds without a word from a process that has something to do
PROGRESS = 60.0  # seconds between two lines on how far it is

ENVIRONMENT = {"ADJOINT_CACHE": "0", "ADJOINT_THREADS": "1", "ADJOINT_AT_ONCE": "0"}


class Worker:
    """A process that runs chunks, and what it said last."""

    def __init__(self, options: Sequence[str]):
        self.options = list(options)
        self.lines: queue.Queue[str | None] = queue.Queue()
        self.last: dict[str, Any] = {}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", *self.options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | ENVIRONMENT,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.put(line)
        self.lines.put(None)

    def run(self, chunk: int, first: int, last: int) -> Report:
        """A chunk's report; a process that ends on the way is a find."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{chunk} {first} {last}\n")
            self.process.stdin.flush()
        except OSError:
            return Report()
        while True:
            try:
                line = self.lines.get(timeout=PATIENCE)
            except queue.Empty:
                self.stop()
                return self._lost("hangs")
            if line is None:
                return self._lost(f"ends the process ({self.process.wait()})")
            said = json.loads(line)
            if "programs" in said:
                return report_of(said)
            self.last = said

    def _lost(self, how: str) -> Report:
        if not self.last:
            return Report(finds=[Find(-1, "start", f"a worker {how}", "", f"start: {how}")])
        program, mode = from_data(self.last["program"]), self.last["mode"]
        small, words = shrunk(program, lambda p: alone(p, mode), seconds=60.0)
        words = words or how
        found = Find(self.last["index"], mode, words, script(small), signature(small, mode, words))
        return Report(programs=1, finds=[found])

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def alone(program: Whole, mode: str) -> str:
    """How a process of its own ends with this program; empty if it ends well."""
    text = json.dumps({"program": asdict(program), "mode": mode})
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.worker", "--alone"],
            input=text,
            text=True,
            capture_output=True,
            timeout=PATIENCE / 4,
            check=False,
            env=os.environ | ENVIRONMENT,
        )
    except subprocess.TimeoutExpired:
        return "hangs"
    return "" if done.returncode in (0, 1) else f"ends the process ({done.returncode})"


def report_of(said: dict[str, Any]) -> Report:
    """A report as a worker wrote it."""
    return Report(
        said["programs"],
        [Find(**f) for f in said["finds"]],
        Counter(said["alike"]),
        Counter(said["refusals"]),
        said["examples"],
        set(said["words"]),
        said["kept"],
    )


class Campaign:
    """Programs `first` to `last` of a seed, over some processes, for some time at most."""

    def __init__(self, options: Sequence[str], jobs: int, first: int, last: int, seconds: float):
        self.options, self.jobs, self.seconds = options, jobs, seconds
        self.first, self.last = first, last
        self.todo = iter(range(first // CHUNK, (last + CHUNK - 1) // CHUNK))
        self.report, self.lock = Report(), threading.Lock()
        self.classes: dict[str, Find] = {}
        self.counts: dict[str, int] = {}
        self.began = self.told = time.monotonic()

    def run(self) -> Report:
        threads = [threading.Thread(target=self._work) for _ in range(self.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.report

    def _next(self) -> int | None:
        with self.lock:
            if time.monotonic() - self.began > self.seconds:
                return None
            return next(self.todo, None)

    def _work(self) -> None:
        worker = Worker(self.options)
        while (chunk := self._next()) is not None:
            at, end = max(self.first, chunk * CHUNK), min(self.last, (chunk + 1) * CHUNK)
            while at < end:
                report = worker.run(chunk, at, end)
                self._joined(report)
                if worker.process.poll() is None:
                    break
                at = worker.last.get("index", end) + 1
                worker = Worker(self.options)
        worker.stop()

    def _joined(self, report: Report) -> None:
        with self.lock:
            self.report.join(report)
            for find in report.finds:
                self.counts[find.signature] = self.counts.get(find.signature, 0) + 1
                if find.signature not in self.classes:
                    self.classes[find.signature] = find
                    self._show(find)
            if time.monotonic() - self.told > PROGRESS:
                self.told = time.monotonic()
                print(f"{self.report.programs} programs", file=sys.stderr, flush=True)

    def _show(self, find: Find) -> None:
        spent = time.monotonic() - self.began
        head = f"program {find.index}, {find.mode}, after {spent:.0f} s"
        print(f"==== {head}\n{find.words}\n     [{find.signature}]\n{find.program}", flush=True)
