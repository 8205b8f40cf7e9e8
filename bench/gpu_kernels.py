"""Generated kernels on an NVIDIA GPU, beside torch and JAX where they are installed.

    python -m bench.gpu_kernels [--peers] [--write] [names]

The works are in `gpu_works.py`. What must move is counted once: operands read, results written.
Times are of runs in a row, by events of the GPU or until all is done; the median of several rounds.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from adjoint import Tensor, deterministic, jit, profile
from adjoint.backends.cuda.gpu import the_gpu
from bench.gpu import TorchEvents
from bench.gpu_works import WORKS, Work

RESULTS = Path(__file__).parent / "results" / "gpu_kernels.md"
ROUNDS, ENOUGH_MS, MOST = 7, 4.0, 20


def measured(run: Callable[[], Any], clock: Any) -> float:
    """Milliseconds of one run: the median of some rounds, each some runs in a row."""
    for _ in range(3):
        run()
    once = clock.milliseconds(clock.event(), _after(run, clock))
    times = max(1, min(MOST, int(ENOUGH_MS / max(once, 1e-3))))
    found = []
    for _ in range(ROUNDS):
        start = clock.event()
        for _ in range(times):
            run()
        found.append(clock.milliseconds(start, clock.event()) / times)
    return statistics.median(found)


def _after(run: Callable[[], Any], clock: Any) -> Any:
    run()
    return clock.event()


# ---- operands


@lru_cache(2)
def _array(shape: tuple[int, ...], kind: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if kind[0] == "<":
        return rng.integers(0, int(kind[1:]), shape).astype(np.int32)
    part = rng.standard_normal(min(int(np.prod(shape)), 1 << 22), dtype=np.float32)
    return np.resize(part, shape)


def ours(work: Work) -> float:
    """Of Adjoint."""
    fn, operands = jit(work.adjoint), []
    for seed, (shape, kind) in enumerate(work.operands):
        made = Tensor(_array(shape, kind, seed), device="GPU")
        operands.append((made if kind[0] == "<" else made.cast(kind) * 1).realize())
    with deterministic(work.order != "any"):
        found = measured(lambda: fn(*operands), the_gpu())
        STEPS[:] = _steps(lambda: fn(*operands))
    return found


STEPS: list[str] = []  # of the work that was measured last, if it has several


def _steps(run: Callable[[], Any]) -> list[str]:
    """The kernels of a work, each with its median time when it runs apart."""
    taken: list[list[float]] = []
    for _ in range(ROUNDS):
        with profile() as seen:
            run()
        kernels = [s for s in seen.spans if s.kind in ("kernel", "library", "host", "control")]
        taken.append([(s.end - s.start) / 1e3 for s in kernels])
    medians = [statistics.median(times) for times in zip(*taken, strict=True)]
    shown = [f"{s.name} {us:.0f}" for s, us in zip(kernels, medians, strict=True)]
    return shown if len(shown) > 1 else []


def torchs(work: Work) -> float:
    """Of torch, one op after another."""
    import torch

    torch.cuda.empty_cache()
    fn, operands = work.torch, []
    assert fn is not None
    for seed, (shape, kind) in enumerate(work.operands):
        made = torch.from_numpy(_array(shape, kind, seed)).cuda()
        operands.append(made if kind[0] == "<" else made.to(getattr(torch, kind)))
    torch.use_deterministic_algorithms(work.order == "one")
    try:
        return measured(lambda: fn(*operands), TorchEvents())
    finally:
        torch.use_deterministic_algorithms(False)


class JaxClock:
    """The host's clock, when all that was begun is done."""

    last: Any = None

    def event(self) -> float:
        import jax

        jax.block_until_ready(self.last)
        return time.perf_counter()

    def milliseconds(self, start: float, end: float) -> float:
        return (end - start) * 1e3


def jaxs(work: Work) -> float:
    """Of JAX, compiled."""
    import jax

    assert work.jax is not None
    clock, fn, operands = JaxClock(), jax.jit(work.jax), []
    for seed, (shape, kind) in enumerate(work.operands):
        made = jax.numpy.asarray(_array(shape, kind, seed))
        operands.append(made if kind[0] == "<" else made.astype(kind))

    def run() -> None:
        clock.last = fn(*operands)

    return measured(run, clock)


WHO = {"adjoint": ours, "torch": torchs, "jax": jaxs}


def row(name: str, who: list[str]) -> dict[str, Any]:
    """Times and rates of a work."""
    work = WORKS[name]
    found: dict[str, Any] = {"work": name}
    for library in [w for w in who if getattr(work, w) is not None]:
        try:
            ms = WHO[library](work)
            found[library] = {"ms": ms, "TB/s": work.gigabytes / ms}
        except Exception as error:
            found[library] = {"error": f"{type(error).__name__}: {error}"[:160]}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--peers", action="store_true", help="torch and JAX too")
    parser.add_argument("--who", default="", help="some of adjoint, torch and jax, with commas")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no row later")
    parser.add_argument("--write", action="store_true", help="write results/gpu_kernels.md")
    options = parser.parse_args()
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    who = list(WHO) if options.peers else (options.who or "adjoint").split(",")
    rows, begun = [], time.monotonic()
    for name in options.names or WORKS:
        if time.monotonic() - begun > options.seconds:
            break
        rows.append(row(name, who))
        shown = [f"{library} {_shown(rows[-1][library])}" for library in WHO if library in rows[-1]]
        print(f"{name:34} {'   '.join(shown)}", flush=True)
        if "adjoint" in rows[-1] and STEPS:
            print(f"{'':6}us apart: {', '.join(STEPS)}", flush=True)
    if options.write:
        RESULTS.write_text("\n".join([*_head(), *map(_line, rows), ""]), encoding="utf-8")


def _head() -> list[str]:
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    about = f"{date}, {the_gpu().name}, Python {platform.python_version()}."
    made = "Made by `python -m bench.gpu_kernels --peers --write`."
    note = (
        "One run; torch, one op after another, and JAX, compiled, follow on a GPU that is warm by"
    )
    note += " then. What must move is counted once; layer norm both ways counts 5 passes, which one"
    note += " kernel does in 4."
    title = "# Generated kernels on an NVIDIA GPU"
    head = ["| work | Adjoint | torch | JAX |", "|---|---|---|---|"]
    return [title, "", about, made, "", note, "", *head]


def _line(found: dict[str, Any]) -> str:
    cells = [_shown(found[who]).strip() if who in found else "" for who in WHO]
    return f"| {found['work']} | {' | '.join(cells)} |"


def _shown(found: dict[str, Any]) -> str:
    if "error" in found:
        return str(found["error"])
    return f"{found['ms']:8.3f} ms {found['TB/s']:5.2f} TB/s"


if __name__ == "__main__":
    main()
