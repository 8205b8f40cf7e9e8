"""Whole models on an NVIDIA GPU: a training step of Adjoint, beside torch.compile's.

    python -m bench.gpu_models [names] [--peers] [--profile] [--short] [--device GPU] [--write]

Names: gpt2 (124M parameters, 32 x 1024 tokens, bfloat16 by autocast, AdamW, a tied head; the
default), odd (sizes that no kernel was tuned for), resnet50 (256 pictures of 224 x 224), decode
(GPT-2 writes token by token with a cache, batch 1); small, odd-small, resnet-small and decode-small
for any device. Every part is a
process of its own, which may fail or take too long without the others: Adjoint with an empty cache
(first step, median of later ones, memory, profile), Adjoint again with that cache (first step),
torch. `--short` is Adjoint with an empty cache alone. `--losses` compares losses over 200 steps
instead, with torch's and with our CPU's (`gpu_losses.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

BEGUN = time.perf_counter()
MARK = "result: "
RESULTS = Path(__file__).parent / "results" / "gpu_models.md"


# ---- in the process of a part


def adjoint_part(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """First step, later steps, memory, profile: what is found before something fails counts."""
    found: dict[str, Any] = {"import_s": time.perf_counter() - BEGUN}
    training = works()[name](options.device)
    found["made_s"] = time.perf_counter() - BEGUN
    start = time.perf_counter()
    loss = training.step(*training.batch).item()
    found |= {"first_s": time.perf_counter() - start, "loss": loss, "unit": training.unit}
    found["amount"] = training.amount
    say(found)
    call = lambda: training.step(*training.batch)  # noqa: E731
    attempt(found, "step", lambda: found.update(steps_of(call, options)))
    attempt(found, "memory", lambda: found.update(memory_of(options.device)))
    say(found)
    attempt(found, "schedule", lambda: found.update(schedule_of(training)))
    if options.profile:
        attempt(found, "profile", lambda: profile(call, options))
    attempt(found, "last loss", lambda: found.update(last_loss=call().item()))
    return found


def works() -> dict[str, Callable[[str], Any]]:
    """Adjoint's side of every model, by name."""
    from bench import gpu_decoding_works, gpu_model_works, gpu_picture_works

    pictures, text = gpu_picture_works.picture_model, gpu_decoding_works
    small = ((16, 1), (32, 1))
    return {
        **gpu_model_works.MODELS,
        "resnet50": partial(pictures, 256, 224, gpu_picture_works.STAGES),
        "resnet-small": partial(pictures, 4, 32, small),
        **{name: partial(text.decoding, name) for name in text.SIZES},
    }


def attempt(found: dict[str, Any], what: str, work: Callable[[], Any]) -> None:
    """Do it; what goes wrong is printed and kept, and the next thing is done."""
    try:
        work()
    except Exception as error:
        traceback.print_exc()
        found[f"{what} failed"] = f"{type(error).__name__}: {error}"[:300]


def steps_of(call: Callable[[], Any], options: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds of a step: by the host's clock over runs in a row, and what the host needs to
    launch one."""
    for _ in range(3):
        call().item()
    rounds, launches = [], []
    for _ in range(options.rounds):
        start = time.perf_counter()
        for _ in range(options.steps):
            loss = call()
        launched = time.perf_counter()
        loss.item()
        rounds.append((time.perf_counter() - start) / options.steps * 1e3)
        launches.append((launched - start) / options.steps * 1e3)
    return {"ms": statistics.median(rounds), "least_ms": min(rounds), "launch_ms": min(launches)}


def memory_of(device: str) -> dict[str, Any]:
    from adjoint.engine.graph_key import backend_name
    from adjoint.engine.program_cache import load_backend

    if device == "CPU":
        return {}
    blocks = load_backend(backend_name(device)).memory._blocks  # type: ignore[attr-defined]
    return {"peak_gb": blocks.peak / 1e9, "in_use_gb": blocks.in_use / 1e9}


def schedule_of(training: Any) -> dict[str, Any]:
    """What the program is, without running it."""
    from adjoint import lower
    from bench.gpu_profile import by_kind, row_of

    jitted, *given = training.program or (training.step, *training.batch)
    plan = lower(jitted)(*given).plan
    rows = [row_of(step, plan, 0.0) for step in plan.steps]
    print(by_kind(rows), flush=True)
    return {"arena_gb": plan.arena / 1e9, "steps": len(plan.steps)}


def profile(call: Callable[[], Any], options: argparse.Namespace) -> None:
    from bench.gpu_profile import by_kind, slowest, timed

    rows = timed(call)
    print(by_kind(rows), slowest(rows, options.rows), sep="\n\n", flush=True)


def torch_part(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """The same of torch.compile."""
    import torch

    from bench.gpu_model_peers import MODELS

    torch.cuda.reset_peak_memory_stats()
    step, amount, unit = MODELS[name]()
    start = time.perf_counter()
    found: dict[str, Any] = {"loss": step().item(), "first_s": time.perf_counter() - start}
    found["amount"], found["unit"] = amount, unit
    say(found)
    attempt(found, "step", lambda: found.update(steps_of(step, options)))
    found["peak_gb"] = torch.cuda.max_memory_allocated() / 1e9
    if options.profile:
        attempt(found, "profile", lambda: torch_profile(step, options))
    return found


def torch_profile(step: Callable[[], Any], options: argparse.Namespace) -> None:
    import torch

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        step()
        torch.cuda.synchronize()
    print(seen.key_averages().table(sort_by="cuda_time_total", row_limit=options.rows), flush=True)


PARTS = {"cold": adjoint_part, "warm": adjoint_part, "torch": torch_part}


def say(found: dict[str, Any]) -> None:
    """What is known so far: the last such line counts."""
    print(MARK + json.dumps(found), flush=True)


def run_part(part: str, name: str, options: argparse.Namespace) -> None:
    """This process is for one part."""
    try:
        say(PARTS[part](name, options))
    except Exception as error:
        traceback.print_exc()
        say({"failed": f"{type(error).__name__}: {error}"[:300]})


# ---- the process that asks


def asked(part: str, name: str, cache: str, given: list[str], limit: float) -> dict[str, Any]:
    """The results of a part, from a process of its own; its other lines go through."""
    command = [sys.executable, "-m", "bench.gpu_models", name, "--part", part, *given]
    environment = os.environ | {"ADJOINT_CACHE_DIR": cache, "PYTHONUNBUFFERED": "1"}
    print(f"--- {name}, {part}", flush=True)
    found: dict[str, Any] = {}
    until = time.monotonic() + limit
    with subprocess.Popen(
        ["timeout", "-s", "INT", "-k", "5", str(int(limit)), *command],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(MARK):
                found |= json.loads(line.removeprefix(MARK))
            else:
                print(line, end="", flush=True)
    if process.returncode:
        late = time.monotonic() >= until
        found["failed"] = "too late" if late else f"exit status {process.returncode}"
    print(f"{name}, {part}: {shown(found)}", flush=True)
    return found


def shown(found: dict[str, Any]) -> str:
    """One line for people."""
    parts = []
    if "ms" in found:
        rate = found["amount"] / found["ms"] * 1e3
        parts.append(f"{found['ms']:.2f} ms a step ({rate:,.0f} {found['unit']}/s)")
    parts += [f"{k} {v:.3g}" for k, v in found.items() if k not in ("ms", "amount", "unit")
              and isinstance(v, (int, float))]  # fmt: skip
    parts += [f"{k}: {v}" for k, v in found.items() if "failed" in k]
    return ", ".join(parts)


def measured(name: str, options: argparse.Namespace, given: list[str]) -> dict[str, Any]:
    """All parts of one model."""
    found = {}
    with tempfile.TemporaryDirectory() as cache:
        found["cold"] = asked("cold", name, cache, given, options.limit)
        if not options.short:
            again = ["--device", options.device, "--steps", "1", "--rounds", "1"]
            found["warm"] = asked("warm", name, cache, again, options.limit)
        if options.peers:
            found["torch"] = asked("torch", name, cache, given, options.limit)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=["gpt2"])
    parser.add_argument("--peers", action="store_true", help="torch.compile too")
    parser.add_argument("--profile", action="store_true", help="where the time goes")
    parser.add_argument("--short", action="store_true", help="Adjoint with an empty cache alone")
    parser.add_argument("--device", default="GPU")
    parser.add_argument("--steps", type=int, default=10, help="in a row, in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=25, help="of the slowest kernels")
    parser.add_argument("--limit", type=float, default=150, help="seconds for a part")
    parser.add_argument("--part", choices=[*PARTS], help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help="write results/gpu_models.md")
    parser.add_argument("--losses", action="store_true", help="losses beside torch's, no times")
    parser.add_argument("--seeds", type=int, default=5, help="of torch, with --losses")
    parser.add_argument("--loss-steps", type=int, default=200, help="with --losses")
    parser.add_argument("--small", default="small", help="the model that runs in float32, too")
    options = parser.parse_args()
    if options.losses:
        from bench.gpu_losses import report

        sys.exit(0 if report(options.names, options) else 1)
    if options.part:
        run_part(options.part, options.names[0], options)
        return
    given = ["--device", options.device, "--rows", str(options.rows)]
    given += ["--steps", str(options.steps), "--rounds", str(options.rounds)]
    given += ["--profile"] if options.profile else []
    found = {name: measured(name, options, given) for name in options.names}
    for name, parts in found.items():
        for part, result in parts.items():
            print(f"{name:10} {part:6} {shown(result)}", flush=True)
    if options.write:
        RESULTS.write_text(_report(found), encoding="utf-8")


def _report(found: dict[str, Any]) -> str:
    title = "# Models on an NVIDIA GPU\n\nMade by `python -m bench.gpu_models --peers --write`.\n"
    head = "| model | who | step, ms | a second | first step, s | peak, GB |\n" + 6 * "|---" + "|"
    rows = [
        f"| {name} | {part} | {r['ms']:.2f} | {r['amount'] / r['ms'] * 1e3:,.0f} {r['unit']}"
        f" | {r['first_s']:.1f} | {r.get('peak_gb', 0):.1f} |"
        for name, parts in found.items()
        for part, r in parts.items()
        if "ms" in r
    ]
    return "\n".join([title, head, *rows, ""])


if __name__ == "__main__":
    main()
