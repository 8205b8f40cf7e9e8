"""Does a language model learn as it does in torch, and as on our CPU? A mode of `gpu_models.py`:

    python -m bench.gpu_models gpt2 --losses [--device GPU] [--seeds 5] [--loss-steps 200] [--write]

The model reads the standard library's docstrings. Both libraries begin with the same weights and
see the same batches, seed by seed, in bfloat16 by autocast with AdamW. The first table has our
losses beside those of torch with several seeds: ours should be no farther from torch's mean than
its seeds are from one another. The second has a small model on the device in bfloat16 beside our
CPU in float32: they should differ by no more than bfloat16 rounds. Every run is a process of its
own; that of torch is this interpreter if it has torch, else the one that `peers.py` makes.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.gpu_model_sizes import SIZES, Sizes, batches, first_weights
from bench.peers import HERE, interpreter, markdown, processor

MARK = "losses: "
RESULTS = HERE / "results" / "gpu_losses.md"
PIECES, LETTERS, RATE = 512, 400_000, 1e-3
ROWS = 10  # of each table
LARGEST_ERROR = 2.0**-8  # of a rounding to bfloat16, which has 8 bits
SPREADS = 3.0  # standard deviations of torch's seeds

Array = np.ndarray[Any, Any]


# ---- in the process of a run


def adjoint_losses(s: Sizes, seed: int, about: argparse.Namespace, tokens: Array) -> list[float]:
    """The loss of every step."""
    import adjoint
    from adjoint import Device, Tensor, autocast, nn
    from bench.gpu_model_works import GPT

    Device.DEFAULT = about.device
    model = GPT(s)
    shapes = {name: tuple(map(int, p.shape)) for name, p in model.named_parameters()}
    known = dict(model.named_parameters())
    for name, value in first_weights(shapes, seed).items():
        known[name].assign(Tensor(value, device=about.device)).realize()
    optimizer = nn.optim.AdamW(model.parameters(), lr=RATE)

    @adjoint.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        with autocast("bfloat16", enabled=about.dtype == "bfloat16"):
            loss = model(x, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    rows = batches(tokens, s, seed, about.steps)
    found = [step(*(Tensor(a.astype(np.int32), device=about.device) for a in row)) for row in rows]
    return [loss.item() for loss in found]


def torch_losses(s: Sizes, seed: int, about: argparse.Namespace, tokens: Array) -> list[float]:
    """The same of torch, compiled where there is a GPU."""
    import torch

    from bench.gpu_model_peers import GPT

    place = "cpu" if about.device == "CPU" else "cuda"
    torch.backends.cuda.matmul.allow_tf32 = True
    model = GPT(s).to(place)
    shapes = {name: tuple(p.shape) for name, p in model.named_parameters()}
    known = dict(model.named_parameters())
    with torch.no_grad():
        for name, value in first_weights(shapes, seed).items():
            known[name].copy_(torch.from_numpy(value))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, fused=place == "cuda")
    compiled = torch.compile(model) if place == "cuda" else model
    low, found = about.dtype != "float32", []
    for row in batches(tokens, s, seed, about.steps):
        x, y = (torch.from_numpy(a.astype(np.int64)).to(place) for a in row)
        with torch.autocast(place, dtype=torch.bfloat16, enabled=low):
            loss = compiled(x, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        found.append(loss.detach())
    return [float(loss) for loss in found]


LIBRARIES = {"adjoint": adjoint_losses, "torch": torch_losses}


def run_part() -> None:
    """This process is for one run, or for one library's runs with several seeds."""
    parser = argparse.ArgumentParser()
    for name in ("library", "size", "device", "dtype", "tokens"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seeds", type=int, nargs="+")
    about = parser.parse_args()
    tokens = np.load(about.tokens)
    for seed in about.seeds:
        found = LIBRARIES[about.library](SIZES[about.size], seed, about, tokens)
        print(MARK + json.dumps(found), flush=True)


# ---- the process that asks


def asked(
    library: str, size: str, device: str, dtype: str, seeds: list[int], given: argparse.Namespace
) -> Array:
    """The losses of one library, a row for each seed."""
    print(f"--- {size}, {library} on {device} in {dtype}, seeds {seeds}", flush=True)
    python = sys.executable
    if library == "torch" and importlib.util.find_spec("torch") is None:
        python = interpreter("torch", [])
    words = ["--library", library, "--size", size, "--device", device, "--dtype", dtype]
    words += ["--tokens", str(given.tokens), "--steps", str(given.loss_steps)]
    command = [python, "-m", "bench.gpu_losses", *words, "--seeds", *map(str, seeds)]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    return np.array([json.loads(line.removeprefix(MARK)) for line in lines])


def in_windows(losses: Array) -> Array:
    """Means of as many steps in a row as make so many windows."""
    rows = min(ROWS, losses.shape[-1])
    parts = np.array_split(losses, rows, axis=-1)
    return np.stack([part.mean(-1) for part in parts], -1)


def ends(count: int) -> list[int]:
    """The last steps of these windows."""
    parts = np.array_split(np.arange(1, count + 1), min(ROWS, count))
    return [int(part[-1]) for part in parts]


def beside_torch(size: str, given: argparse.Namespace) -> tuple[str, bool]:
    """Our losses, and torch's with several seeds."""
    seeds = list(range(given.seeds))
    ours = in_windows(asked("adjoint", size, given.device, "bfloat16", seeds[:1], given))[0]
    theirs = in_windows(asked("torch", size, given.device, "bfloat16", seeds, given))
    mean, spread = theirs.mean(0), theirs.std(0, ddof=1)
    away = np.abs(ours - mean) / spread
    head = ["steps to", "ours, seed 0", "torch, seed 0", "torch, all seeds", "spreads away"]
    rows = [
        [str(end), f"{a:.4f}", f"{b:.4f}", f"{low:.4f} to {high:.4f}", f"{far:.1f}"]
        for end, a, b, low, high, far in zip(
            ends(given.loss_steps), ours, theirs[0], theirs.min(0), theirs.max(0), away, strict=True
        )
    ]
    same = float(np.abs(ours - theirs[0]).max())
    within = bool((away <= SPREADS).all())
    verdict = (
        f"{size}: {'' if within else 'NOT '}within {SPREADS:g} standard deviations of torch's "
        f"{given.seeds} seeds (at most {away.max():.1f}); from torch with the same seed at most "
        f"{same:.4f}, of a standard deviation of {spread.mean():.4f}."
    )
    return f"{markdown([head, *rows])}\n\n{verdict}\n", within


def beside_float32(size: str, given: argparse.Namespace) -> tuple[str, bool]:
    """A small model in bfloat16 on the device, and in float32 on our CPU."""
    low = asked("adjoint", size, given.device, "bfloat16", [0], given)[0]
    full = asked("adjoint", size, "CPU", "float32", [0], given)[0]
    away = np.abs(in_windows(low) - in_windows(full)) / in_windows(full)
    head = ["steps to", f"bfloat16, {given.device}", "float32, CPU", "difference"]
    rows = [
        [str(end), f"{a:.4f}", f"{b:.4f}", f"{far:.1e}"]
        for end, a, b, far in zip(
            ends(given.loss_steps), in_windows(low), in_windows(full), away, strict=True
        )
    ]
    within = bool(away.max() <= LARGEST_ERROR)
    step = (np.abs(low - full) / full).max()
    verdict = (
        f"{size}: {'' if within else 'NOT '}equal to bfloat16's accuracy, {LARGEST_ERROR:.1e} "
        f"(at most {away.max():.1e} in a window, {step:.1e} in a step)."
    )
    return f"{markdown([head, *rows])}\n\n{verdict}\n", within


def text_tokens() -> Array:
    """The docstrings as numbers of byte pairs."""
    from adjoint import data

    text = data.docstrings(LETTERS)
    return np.asarray(data.BytePairs.learn(text, PIECES).encode(text), np.int64)


def report(sizes: list[str], given: argparse.Namespace) -> bool:
    """Both tables of every model that is asked for; whether all hold."""
    with tempfile.TemporaryDirectory() as folder:
        given.tokens = Path(folder) / "tokens.npy"
        np.save(given.tokens, text_tokens())
        parts = [beside_torch(size, given) for size in sizes]
        parts.append(beside_float32(given.small, given))
    place = f"{given.device}, {processor()}"
    title = f"# Losses over {given.loss_steps} steps\n\n{place}. Means of windows.\n"
    text = "\n".join([title, *(part for part, _ in parts)])
    print(text, flush=True)
    if given.write:
        RESULTS.write_text(text, encoding="utf-8")
    return all(holds for _, holds in parts)


if __name__ == "__main__":
    run_part()
