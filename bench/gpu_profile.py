"""Where the time of a jitted step goes on a GPU: by kind of kernel, and the slowest kernels.

    rows = timed(call)
    print(by_kind(rows), slowest(rows, 25), sep="\n\n")

Every step of the program is between two events of the GPU's stream, all of them recorded while the
GPU is still busy with runs before, so that no launch is waited for; where the host was held up all
the same, the median of several runs does not show it. The floor of a step is the longer of two
times: its bytes at the memory's speed, its products at the tensor cores'.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any, NamedTuple

from adjoint import counters
from adjoint.engine import timed_steps
from adjoint.engine.step_costs import costs_of
from adjoint.engine.step_facts import lines_of, titles
from adjoint.runtime import spans
from adjoint.stages import Attention, Convolution, Gemm, KernelStep, LibraryStep, Schedule, Step

BYTES, PRODUCTS = 4.2e12, {2: 790e12, 4: 50e12, 8: 55e12}  # a second, on an H200
AHEAD = 2  # runs that keep the GPU busy while launches of the timed run are queued
RUNS = 5


class Row(NamedTuple):
    """A step of the program."""

    kind: str
    name: str
    line: str
    shapes: str
    milliseconds: float
    bytes: int
    flops: int
    floor: float  # milliseconds


class _Recorder:
    """Schedules of the programs that run, as they are run step by step."""

    inside_loops = False

    def add(self, *span: Any) -> None:
        """Times are read later."""

    def sample(self, *numbers: Any) -> None:
        """Nothing is sampled."""


def timed(call: Callable[[], Any]) -> list[Row]:
    """A row for each step of the programs that one call runs."""
    moments: list[tuple[Step, Schedule, Any, Any]] = []
    made = timed_steps.TimedLaunch.__init__

    def noted(launch: Any, inner: Any, step: Step, schedule: Schedule, owner: Any) -> None:
        made(launch, inner, step, schedule, owner)
        launch._backend = _Moments(step, schedule, owner, moments)

    recorder: Any = _Recorder()
    timed_steps.TimedLaunch.__init__ = noted  # type: ignore[method-assign]
    try:
        _recorded(call, recorder)  # its launches are made
        runs = [_run(call, recorder, moments) for _ in range(RUNS)]
    finally:
        timed_steps.TimedLaunch.__init__ = made  # type: ignore[method-assign]
    return [row_of(step, schedule, median(times)) for (step, schedule, times) in _by_step(runs)]


def _run(call: Callable[[], Any], recorder: Any, moments: list[Any]) -> list[Any]:
    """The steps of a run, each with its milliseconds."""
    moments.clear()
    for _ in range(AHEAD):
        call()
    _recorded(call, recorder)
    return [(step, schedule, gpu.milliseconds(*ends)) for step, schedule, gpu, ends in moments]


def _by_step(runs: list[list[Any]]) -> list[tuple[Step, Schedule, list[float]]]:
    return [(*row[0][:2], [ms for _, _, ms in row]) for row in zip(*runs, strict=True)]


def _recorded(call: Callable[[], Any], recorder: Any) -> None:
    with counters():
        spans.recorders.append(recorder)
        try:
            call()
        finally:
            spans.recorders.remove(recorder)


class _Moments:
    """In the place of a backend for a timed launch: two events, which nobody waits for yet."""

    def __init__(self, step: Step, schedule: Schedule, backend: Any, moments: list[Any]):
        self._step, self._schedule = step, schedule
        self._backend, self._moments = backend, moments

    def timed(self, run: Callable[[], Any]) -> tuple[Any, float]:
        gpu = self._backend._gpu()
        start, found = gpu.event(), run()
        self._moments.append((self._step, self._schedule, gpu, (start, gpu.event())))
        return found, 0.0


# ---- what is said of a step


def kind_of(step: Step) -> str:
    """What sort of work it is."""
    call = step.call if isinstance(step, LibraryStep) else None
    match call:
        case Gemm():
            return "products"
        case Attention():
            return "attention"
        case Convolution():
            return "convolutions"
    return _kernel_kind(step) if isinstance(step, KernelStep) else "the rest"


def _kernel_kind(step: KernelStep) -> str:
    """By its name, which is that of its last op or two, and by the call that it is of."""
    name = step.program.name
    if any(line.startswith("step at") for line in lines_of(step)):
        return "optimiser"
    if name == "cast" and len(step.slots) == 2:
        return "casts"
    return next((kind for word, kind in _KINDS.items() if word in name), "elements and rows")


_KINDS = {
    "sort": "embeddings",
    "scatter": "embeddings",
    "gather": "embeddings",
    "rsqrt": "norms",
    "log": "loss",
    "reduce": "sums",
}


def floor_of(flops: int, nbytes: int, itemsize: int, is_product: bool) -> float:
    """The least milliseconds."""
    arithmetic = flops / PRODUCTS.get(itemsize, 50e12) if is_product else 0.0
    return 1e3 * max(arithmetic, nbytes / BYTES)


def row_of(step: Step, schedule: Schedule, milliseconds: float) -> Row:
    """What is known of a step."""
    (cost,) = costs_of(replace(schedule, steps=(step,)))
    name, _ = titles(step)
    kind, lines = kind_of(step), lines_of(step)
    product = kind in ("products", "attention", "convolutions")
    itemsize = step.call.dtype.itemsize if product else cost.itemsize
    floor = floor_of(cost.flops, cost.bytes, itemsize, product)
    shapes = timed_steps.details_of(step, schedule)["shapes"]
    return Row(
        kind, name, "; ".join(lines[-2:]), shapes, milliseconds, cost.bytes, cost.flops, floor
    )


# ---- tables


def by_kind(rows: list[Row]) -> str:
    """Milliseconds, number of steps and floor of each kind."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.kind].append(row)
    groups["all"] = rows
    lines = [f"{'kind':18} {'steps':>5} {'ms':>9} {'floor':>8} {'GB':>8} {'TFLOP':>7}"]
    for kind, found in sorted(groups.items(), key=lambda g: -sum(r.milliseconds for r in g[1])):
        ms, floor = sum(r.milliseconds for r in found), sum(r.floor for r in found)
        moved, done = sum(r.bytes for r in found) / 1e9, sum(r.flops for r in found) / 1e12
        lines.append(f"{kind:18} {len(found):5} {ms:9.3f} {floor:8.3f} {moved:8.2f} {done:7.2f}")
    return "\n".join(lines)


def slowest(rows: list[Row], count: int) -> str:
    """Steps of the same name and shapes together, those first that lose most time."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.name, row.shapes].append(row)
    ordered = sorted(groups.values(), key=lambda g: -sum(r.milliseconds for r in g))
    lines = [f"{'ms':>8} {'times':>5} {'floor':>7} {'share':>6} {'TB/s':>5} {'TFLOP/s':>7}  step"]
    for found in ordered[:count]:
        ms, floor = sum(r.milliseconds for r in found), sum(r.floor for r in found)
        moved, done = (sum(getattr(r, of) for r in found) for of in ("bytes", "flops"))
        some = max(ms, 1e-6)
        rate = f"{100 * floor / some:5.0f}% {moved / some / 1e9:5.2f} {done / some / 1e9:7.1f}"
        first = found[0]
        lines.append(f"{ms:8.3f} {len(found):5} {floor:7.3f} {rate}  {first.name}")
        lines.append(f"{'':43}{first.shapes[:150]}")
        lines.append(f"{'':43}{first.line[:150]}")
    return "\n".join(lines)
