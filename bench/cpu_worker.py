"""One library's side of bench/cpu.py: prepares a workload, checks its values, times it.

Reads lines `{"prepare": name}`, `{"runs": n}`, `{"drop": true}`. The first answer to a workload is
how far its values are from NumPy's; a workload that the library cannot run answers why.
"""

import gc
import importlib
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

from cpu_own_workloads import OWN
from cpu_reference import error
from cpu_workloads import WORKLOADS, make
from serving import serve

BY_NAME = {w.name: w for w in (*WORKLOADS, *OWN)}


class Worker:
    def __init__(self, library: Any):
        self.library = library
        self.step: Callable[[], None] = lambda: None

    def prepare(self, name: str) -> dict[str, Any]:
        """Build and run once; the answer has the seconds of that and of one more run."""
        workload = BY_NAME[name]
        start = perf_counter()
        self.step, results = self.library.program(workload)
        self.step()
        first = perf_counter() - start
        distance = error(workload, results(), *make(workload))
        del results
        return {"error": distance, "first": first, "seconds": self.time(1)[0]}

    def time(self, runs: int) -> list[float]:
        step, times = self.step, []
        for _ in range(runs):
            start = perf_counter()
            step()
            times.append(perf_counter() - start)
        return times

    def drop(self) -> bool:
        self.step = lambda: None
        gc.collect()
        return True

    def answer(self, request: dict[str, Any]) -> Any:
        if "prepare" in request:
            return self.prepare(request["prepare"])
        return self.time(request["runs"]) if "runs" in request else self.drop()


def main(library: str, *mode: str) -> None:
    worker = Worker(importlib.import_module(f"cpu_{library}").Library(*mode))
    serve(worker.library.version, worker.answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
