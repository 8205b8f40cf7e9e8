"""What NVIDIA's libraries compute on a GPU, beside torch where it is installed.

    python -m bench.gpu_libraries [--batch 256] [--write]

Convolutions are those of ResNet-50, each as often as it has them: forward, the gradient by the
picture and the one by the weights, bfloat16 with channels last; torch tries all engines first. A
bottleneck with batch norms is a whole program, forward and backward. Times are medians of rounds of
runs in a row, by the events of the GPU.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from adjoint import Tensor, jit, value_and_grad
from adjoint.backends.cuda.gpu import the_gpu
from adjoint.ir.values import storage
from adjoint.runtime.cudnn import Convolver, Form

RESULTS = Path(__file__).parent / "results" / "gpu_libraries.md"
ROUNDS, IN_A_ROW = 5, 5
# Channels in and out, size, taps, stride, padding, and how often ResNet-50 has it.
RESNET = (
    *((3, 64, 224, 7, 2, 3, 1), (64, 64, 56, 1, 1, 0, 1), (64, 64, 56, 3, 1, 1, 3)),
    *((64, 256, 56, 1, 1, 0, 4), (256, 64, 56, 1, 1, 0, 2), (256, 128, 56, 1, 1, 0, 1)),
    *((128, 128, 56, 3, 2, 1, 1), (128, 512, 28, 1, 1, 0, 4), (256, 512, 56, 1, 2, 0, 1)),
    *((512, 128, 28, 1, 1, 0, 3), (128, 128, 28, 3, 1, 1, 3), (512, 256, 28, 1, 1, 0, 1)),
    *((256, 256, 28, 3, 2, 1, 1), (256, 1024, 14, 1, 1, 0, 6), (512, 1024, 28, 1, 2, 0, 1)),
    *((1024, 256, 14, 1, 1, 0, 5), (256, 256, 14, 3, 1, 1, 5), (1024, 512, 14, 1, 1, 0, 1)),
    *((512, 512, 14, 3, 2, 1, 1), (512, 2048, 7, 1, 1, 0, 3), (1024, 2048, 14, 1, 2, 0, 1)),
    *((2048, 512, 7, 1, 1, 0, 2), (512, 512, 7, 3, 1, 1, 2)),
)
KINDS = ("forward", "picture", "weights")


def measured(run: Callable[[], Any], event: Callable[[], Any], between: Any) -> float:
    """Milliseconds of one run."""
    for _ in range(4):
        kept = run()
    found = []
    for _ in range(ROUNDS):
        start = event()
        for _ in range(IN_A_ROW):
            kept = run()
        found.append(between(start, event()) / IN_A_ROW)
    del kept
    return statistics.median(found)


def _ours(run: Callable[[], Any]) -> float:
    gpu = the_gpu()
    return measured(run, gpu.event, gpu.milliseconds)


def _torch(run: Callable[[], Any]) -> float:
    import torch

    def event() -> Any:
        found = torch.cuda.Event(enable_timing=True)
        found.record()
        return found

    def between(a: Any, b: Any) -> float:
        b.synchronize()
        return float(a.elapsed_time(b))

    return measured(run, event, between)


def _random(shape: tuple[int, ...], seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def _on_gpu(shape: tuple[int, ...]) -> Tensor:
    return Tensor.randn(*shape, device="GPU").cast("bfloat16").realize()


def _convolutions(batch: int, peers: bool) -> list[tuple[str, float, float]]:
    """Milliseconds of all convolutions of a kind, ours and torch's."""
    total = {kind: [0.0, 0.0] for kind in KINDS}
    memory = [_on_gpu((batch << 20,)) for _ in range(3)]  # for any picture or weights
    for channels, results, size, taps, stride, padding, times in RESNET:
        out = (size + 2 * padding - taps) // stride + 1
        shapes = ((batch, channels, size, size), (results, channels, taps, taps))
        shapes = (*shapes, (batch, results, out, out))
        for kind in KINDS:
            rows = ((stride,) * 2, (padding,) * 2, (1, 1))
            form = Form("bfloat16", kind, *shapes, *rows, 1, True)
            total[kind][0] += times * _convolution(form, memory)
            total[kind][1] += times * (_torch_convolution(kind, shapes, rows) if peers else 0)
    return [(f"ResNet-50, {kind}", *both) for kind, both in total.items()]


def _convolution(form: Form, memory: list[Tensor]) -> float:
    gpu, convolver = the_gpu(), Convolver(form)
    room = Tensor.zeros(1 << 28, device="GPU").realize()
    addresses = [storage(t.uop).address for t in (*memory, room)]
    launch = convolver.launcher(addresses.pop(), gpu.stream)
    return _ours(lambda: launch(*addresses))


def _torch_convolution(kind: str, shapes: Any, rows: Any) -> float:
    import torch

    torch.backends.cudnn.benchmark = True
    like = {"device": "cuda", "dtype": torch.bfloat16}
    x, w, y = (torch.randn(s, **like).to(memory_format=torch.channels_last) for s in shapes)
    stride, padding, dilation = map(list, rows)
    if kind == "forward":
        return _torch(partial(torch.nn.functional.conv2d, x, w, None, stride, padding))
    mask = [kind == "picture", kind == "weights", False]
    rest = (None, stride, padding, dilation, False, [0, 0], 1, mask)
    return _torch(partial(torch.ops.aten.convolution_backward, y, x, w, *rest))


# ---- whole programs


def _norm(h: Any, scale: Any, shift: Any) -> Any:
    wide = h.cast("float32")
    away = wide - wide.mean((0, 2, 3), keepdim=True)
    spread = (away * away).mean((0, 2, 3), keepdim=True)
    scaled = away * (spread + 1e-5).rsqrt() * scale.reshape(1, -1, 1, 1)
    return (scaled + shift.reshape(1, -1, 1, 1)).cast(h.dtype)


def _bottleneck(p: list[Any], x: Any) -> Any:
    h = _norm(x.conv2d(p[0]), p[3], p[4]).relu()
    h = _norm(h.conv2d(p[1], padding=1), p[5], p[6]).relu()
    h = (_norm(h.conv2d(p[2]), p[7], p[8]) + x).relu()
    return h.mean((2, 3)).cast("float32").sum()


def _block(wide: int = 256, narrow: int = 64, size: int = 56, batch: int = 64) -> float:
    shapes = ((narrow, wide, 1, 1), (narrow, narrow, 3, 3), (wide, narrow, 1, 1))
    p = [_on_gpu(shape) for shape in shapes]
    p += [Tensor.ones(n, device="GPU").realize() for n in (narrow,) * 4 + (wide,) * 2]
    step = jit(lambda p, x: value_and_grad(_bottleneck, argnums=(0, 1))(p, x))
    x = _on_gpu((batch, wide, size, size))
    return _ours(lambda: step(p, x))


def _torch_block(wide: int = 256, narrow: int = 64, size: int = 56, batch: int = 64) -> float:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            sizes = ((wide, narrow, 1), (narrow, narrow, 3), (narrow, wide, 1))
            self.c = nn.ModuleList([nn.Conv2d(*s, padding=s[2] // 2, bias=False) for s in sizes])
            self.b = nn.ModuleList([nn.BatchNorm2d(s[1]) for s in sizes])

        def forward(self, x: Any) -> Any:
            h = self.b[0](self.c[0](x)).relu()
            h = self.b[1](self.c[1](h)).relu()
            return (self.b[2](self.c[2](h)) + x).relu().mean((2, 3)).float().sum()

    block = Block().cuda().to(memory_format=torch.channels_last)
    block.c.to(torch.bfloat16)
    x = torch.randn(batch, wide, size, size, device="cuda", dtype=torch.bfloat16)
    x = x.to(memory_format=torch.channels_last).requires_grad_()
    return _torch(lambda: torch.autograd.grad(block(x), [x, *block.parameters()]))


def _functions() -> dict[str, tuple[Callable[..., Any], str, np.ndarray[Any, Any]]]:
    """By name: ours, torch's by its name, and the operand."""
    signal = (_random((256, 65536)) + 1j).astype(np.complex64)
    square = _random((1024, 1024))
    definite = square @ square.T + 1024 * np.eye(1024, dtype=np.float32)
    return {
        "fft 256 x 65,536": (lambda x: x.fft(), "fft.fft", signal),
        "rfft 256 x 65,536": (lambda x: x.rfft(), "fft.rfft", signal.real.copy()),
        "fft2 64 x 512 x 512": (lambda x: x.fft2(), "fft.fft2", signal.reshape(64, 512, 512)),
        "cholesky 1024": (lambda x: x.cholesky(), "linalg.cholesky", definite),
        "inv 1024": (lambda x: x.inv(), "linalg.inv", square),
        "qr 1024": (lambda x: x.qr(), "linalg.qr", square),
        "eigh 1024": (lambda x: x.eigh(), "linalg.eigh", definite),
        "svd values 512": (lambda x: x.svdvals(), "linalg.svdvals", square[:512, :512].copy()),
    }


def _function(name: str, peers: bool) -> tuple[str, float, float]:
    ours, theirs, operand = _functions()[name]
    run, x = jit(ours), Tensor(operand, device="GPU").realize()
    mine = _ours(lambda: run(x))
    if not peers:
        return name, mine, 0.0
    import torch

    fn: Any = torch
    for part in theirs.split("."):
        fn = getattr(fn, part)
    other = torch.tensor(operand, device="cuda")
    return name, mine, _torch(lambda: fn(other))


def _has_torch() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def main() -> None:
    """Measure, print and perhaps write down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--write", action="store_true")
    options, peers = parser.parse_args(), _has_torch()
    rows = _convolutions(options.batch, peers)
    rows.append(("bottleneck, both ways", _block(), _torch_block() if peers else 0.0))
    rows += [_function(name, peers) for name in _functions()]
    lines = [f"| {name} | {ours:.3f} | {torch:.3f} |" for name, ours, torch in rows]
    text = "\n".join(["| what | ms | torch |", "|---|---|---|", *lines])
    print(text)
    if options.write:
        gpu = the_gpu().name
        head = (
            f"# What libraries compute on a GPU\n\n{gpu}; convolutions of batch {options.batch}.\n"
        )
        RESULTS.write_text(f"{head}\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
