"""One library's side of bench/models.py: trains an example's model from the file of its start.

Reads lines `{"export": name, "file": path}` (Adjoint's alone), `{"prepare": name, "file": path}`
and `{"runs": n}`. Preparing gives the losses of the first steps without dropout, and leaves a
model as it is trained, after a few steps; a library that cannot answers why.
"""

import importlib
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from time import perf_counter
from typing import Any

from models_workloads import BY_NAME, CHECKED, Batch, Start
from serving import serve


class Worker:
    def __init__(self, library: Any):
        self.library = library
        self.step: Callable[[Batch], float] = lambda batch: 0.0
        self.batches: Iterator[Batch] = iter(())

    def prepare(self, name: str, path: str) -> dict[str, Any]:
        """Check, then build and run a few times; the answer has the seconds of the first step."""
        workload, start = BY_NAME[name], Start.load(path)
        begin = perf_counter()
        checked = self.library.program(workload, start, training=False)
        batches = start.forever()
        losses = [checked(next(batches))]
        first = perf_counter() - begin
        losses += [checked(batch) for batch in islice(batches, CHECKED - 1)]
        self.step = self.library.program(workload, start, training=True)
        self.batches = start.forever()
        return {"losses": losses, "first": first, "seconds": self.time(CHECKED)[-1]}

    def time(self, runs: int) -> list[float]:
        step, times = self.step, []
        for batch in islice(self.batches, runs):
            start = perf_counter()
            step(batch)
            times.append(perf_counter() - start)
        return times

    def answer(self, request: dict[str, Any]) -> Any:
        if "export" in request:
            self.library.export(BY_NAME[request["export"]], request["file"])
            return {}
        if "prepare" in request:
            return self.prepare(request["prepare"], request["file"])
        return {"times": self.time(request["runs"])}


def main(library: str, *mode: str) -> None:
    worker = Worker(importlib.import_module(f"models_{library}").Library(*mode))
    serve(worker.library.version, worker.answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
