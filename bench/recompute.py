"""What a memory limit costs: `python -m bench.recompute`.

Training steps of an MLP of 50 layers, a small GPT with dropout and a ResNet-18 for small pictures,
without a limit and with `jit(step, memory_limit=)` that leaves smaller and smaller shares of what
values on the way take. `measured` is the most that `adjoint.memory()` saw during a call, `again`
the steps that come again, `time` that of a call beside the same without a limit, the least of some
rounds in turns. Losses and parameters after some steps have the same bits, or the run ends.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import adjoint
from adjoint import Tensor, nn
from adjoint.debug.memory_report import memory
from adjoint.engine.live_values import size
from adjoint.errors import DeviceError
from adjoint.schedule.footprint import Footprint
from adjoint.transforms.lower import Lowered, lower
from bench.peers import processor

RESULTS = Path(__file__).parent / "results" / "recompute.md"
SHARES = (0.7, 0.5, 0.35, 0.25, 0.15)
STEPS, ROUNDS = 3, 5


@dataclass(frozen=True)
class Training:
    """A step with the tensors that it changes."""

    step: Callable[..., Tensor]
    batch: tuple[Tensor, ...]
    parameters: list[Tensor]


def _numbers(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


def _training(model: Any, optimizer: Any, loss_of: Any, *batch: Tensor) -> Training:
    def step(*given: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss: Tensor = loss_of(*given)
        loss.backward()
        optimizer.step()
        return loss

    return Training(step, batch, list(model.parameters()))


def mlp(width: int = 256, rows: int = 1024) -> Training:
    """50 layers of one width."""
    layers = [part for _ in range(50) for part in (nn.Linear(width, width), nn.Tanh())]
    model = nn.Sequential(*layers)
    optimizer = nn.optim.SGD(model.parameters(), lr=1e-3)
    return _training(model, optimizer, lambda x: model(x).square().mean(), _numbers(rows, width))


class Writer(nn.Module):
    """Embeddings, layers of causal attention with dropout, logits."""

    def __init__(self, words: int, width: int, layers: int):
        options: dict[str, Any] = {"batch_first": True, "norm_first": True}
        self.embedding = nn.Embedding(words, width)
        self.layers = [
            nn.TransformerEncoderLayer(width, 4, 4 * width, 0.1, "gelu", **options)
            for _ in range(layers)
        ]
        self.out = nn.Linear(width, words)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of the next token."""
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, is_causal=True)
        return self.out(x)


def gpt(batch: int = 16, length: int = 128, width: int = 128, layers: int = 6) -> Training:
    """A small GPT, by AdamW, with dropout."""
    model = Writer(512, width, layers).train()
    optimizer = nn.optim.AdamW(model.parameters(), lr=1e-3)
    numbers = np.random.default_rng(0).integers(0, 512, (batch, length))
    loss_of = lambda t: nn.loss.cross_entropy(model(t).transpose(1, 2), t)  # noqa: E731
    return _training(model, optimizer, loss_of, Tensor(numbers))


class Block(nn.Module):
    """Two convolutions beside a short cut."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        same = stride == 1 and inputs == outputs
        self.short = None if same else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """x, or what becomes of it at half the size, and what the convolutions add."""
        added = self.norm2(self.conv2(self.norm1(self.conv1(x)).relu()))
        return (added + (x if self.short is None else self.short(x))).relu()


def resnet18(batch: int = 32, side: int = 32, width: int = 16) -> Training:
    """Eight blocks of two convolutions, for pictures of 32 × 32."""
    plan = [(width, width, 1), (width, width, 1)]
    for level in (1, 2, 3):
        wide = width << level
        plan += [(wide // 2, wide, 2), (wide, wide, 1)]
    head = [nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    tail = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * width, 10)]
    model = nn.Sequential(*head, *(Block(*row) for row in plan), *tail).train()
    optimizer = nn.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    labels = Tensor(np.arange(batch) % 10)
    loss_of = lambda x, y: nn.loss.cross_entropy(model(x), y)  # noqa: E731
    return _training(model, optimizer, loss_of, _numbers(batch, 3, side, side), labels)


MODELS: dict[str, Callable[[], Training]] = {
    "MLP of 50 layers": mlp,
    "GPT, 6 layers": gpt,
    "ResNet-18": resnet18,
}


@dataclass(frozen=True)
class Run:
    """A jitted step after some calls: the bits of its results, and what was seen."""

    call: Callable[[], Any]
    bits: bytes
    measured: int
    lowered: Lowered
    compiling: float


def run(make: Callable[[], Training], limit: int | str) -> Run:
    """Train anew for some steps."""
    gc.collect()
    adjoint.manual_seed(0)
    before = memory().allocated
    work = make()
    step = adjoint.jit(work.step, memory_limit=limit)
    began = time.perf_counter()
    bits = [step(*work.batch).numpy().tobytes()]
    compiling = time.perf_counter() - began
    memory.reset_peak()
    bits += [step(*work.batch).numpy().tobytes() for _ in range(STEPS - 1)]
    seen = memory().peak - before
    bits += [p.numpy().tobytes() for p in work.parameters]
    return Run(
        lambda: step(*work.batch).numpy(), b"".join(bits), seen, lower(step)(*work.batch), compiling
    )


def least_seconds(calls: list[Callable[[], Any]]) -> list[float]:
    """The least time of each, in turns."""
    times = [[_seconds(call) for call in calls] for _ in range(ROUNDS)]
    return [min(column) for column in zip(*times, strict=True)]


def _seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def rows(name: str, make: Callable[[], Training]) -> Iterator[str]:
    """The table of one model."""
    plain = run(make, "1TB")
    full = plain.lowered.footprint
    yield _row(name, "none", plain, full, 0, 1.0)
    for share in SHARES:
        limit = full.total - full.arena + int(share * full.arena)
        try:
            found = run(make, limit)
        except DeviceError as error:
            yield f"| {name} | {size(limit)} | {error.problem.partition(':')[2].strip()} | | | | |"
            return
        if found.bits != plain.bits:
            raise SystemExit(f"{name} within {limit} bytes has other bits")
        ours, theirs = least_seconds([found.call, plain.call])
        more = len(found.lowered.plan.steps) - len(plain.lowered.plan.steps)
        yield _row(name, size(limit), found, found.lowered.footprint, more, ours / theirs)


def _row(name: str, limit: str, found: Run, of: Footprint, more: int, ratio: float) -> str:
    steps = len(found.lowered.plan.steps) - more
    return (
        f"| {name} | {limit} | {size(of.total)} | {size(found.measured)} | {size(of.arena)} "
        f"| {more} of {steps} | {ratio:.2f} | {found.compiling:.1f} s |"
    )


HEAD = """| model | limit | planned | measured | arena | again | time | first call |
|---|---|---|---|---|---|---|---|"""


def main() -> None:
    """All models."""
    lines = [HEAD]
    print(HEAD)
    for name, make in MODELS.items():
        for line in rows(name, make):
            print(line, flush=True)
            lines.append(line)
    made = f"{processor()}. Made by `python -m bench.recompute`."
    RESULTS.write_text("\n".join(["# What a memory limit costs", "", made, "", *lines, ""]))


if __name__ == "__main__":
    main()
