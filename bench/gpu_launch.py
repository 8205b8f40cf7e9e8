"""What a step costs on the host of an NVIDIA GPU, and how fast copies are, beside torch.

    python -m bench.gpu_launch [--peers]

The step is that of a tiny model (2-16-16-1, 100 rows) with Adam. `host` is the time of a call that
waits for nothing; `whole` that of many calls until the GPU is done with the last; `kernels` that of
the GPU alone, by its events around launches that it has in its queue.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from adjoint import Device, Tensor, jit, nn
from adjoint.backends.cuda.gpu import the_gpu
from adjoint.nn.optim import Adam
from adjoint.runtime.memory import memory_of

ROUNDS, CALLS = 20, 200


def microseconds(run: Callable[[], Any], wait: Callable[[], Any]) -> tuple[float, float]:
    """Of a call on the host, and of a call until the GPU is done: the least of many rounds."""
    for _ in range(30):
        run()
    wait()
    host = whole = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            run()
        called = time.perf_counter()
        wait()
        host = min(host, (called - start) / CALLS)
        whole = min(whole, (time.perf_counter() - start) / CALLS)
    return 1e6 * host, 1e6 * whole


def adjoint_step() -> Callable[[], Any]:
    """Ours."""
    Tensor.manual_seed(0)
    model = nn.Sequential(
        *(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
    )
    adam = Adam(model.parameters(), lr=1e-2)
    x, y = Tensor.randn(100, 2).realize(), Tensor.randn(100, 1).realize()

    @jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        adam.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        adam.step()
        return loss

    return lambda: step(x, y)


def torch_step(graphed: bool) -> Callable[[], Any]:
    """Torch's, as a CUDA graph or op by op."""
    import torch

    layers = torch.nn
    model = layers.Sequential(
        *(layers.Linear(2, 16), layers.Tanh(), layers.Linear(16, 16), layers.Tanh()),
        layers.Linear(16, 1),
    ).cuda()
    adam = torch.optim.Adam(model.parameters(), lr=1e-2, capturable=graphed)
    x, y = torch.randn(100, 2, device="cuda"), torch.randn(100, 1, device="cuda")

    def step() -> Any:
        adam.zero_grad(set_to_none=not graphed)
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        adam.step()
        return loss

    if not graphed:
        return step
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(5):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def queued(run: Callable[[], Any], calls: int = 100) -> float:
    """Microseconds of the GPU for a call, when the next is in its queue: the least of several."""
    gpu, found, busy = the_gpu(), float("inf"), Tensor.ones(1 << 28).realize()
    for _ in range(5):
        for _ in range(60):  # half a millisecond each: the host is done before the GPU begins
            (busy + 1).realize()
        start = gpu.event()
        for _ in range(calls):
            run()
        found = min(found, 1e3 * gpu.milliseconds(start, gpu.event()) / calls)
    return found


def copies(mebibytes: int, peers: bool) -> str:
    """GB/s to the GPU and back."""
    array = np.random.default_rng(0).standard_normal(mebibytes << 18).astype(np.float32)
    memory, wait = memory_of("GPU"), the_gpu().synchronise
    block = memory.allocate(array.nbytes)
    rates = [_rate(lambda: memory.write(block.address, array), wait, array.nbytes)]
    rates.append(_rate(lambda: memory.read(block.address, array.nbytes), wait, array.nbytes))
    found = f"adjoint {rates[0]:5.1f} {rates[1]:5.1f}"
    if peers:
        import torch

        wait = torch.cuda.synchronize
        for name, host in (
            ("torch", torch.from_numpy(array)),
            ("torch pinned", torch.from_numpy(array).pin_memory()),
        ):
            there = host.cuda()
            rates = [_rate(partial(host.cuda, non_blocking=True), wait, array.nbytes)]
            back = there.cpu if name == "torch" else partial(host.copy_, there)
            rates.append(_rate(back, wait, array.nbytes))
            found += f"   {name} {rates[0]:5.1f} {rates[1]:5.1f}"
    return found


def _rate(run: Callable[[], Any], wait: Callable[[], Any], nbytes: int) -> float:
    best = float("inf")
    for _ in range(6):
        start = time.perf_counter()
        run()
        wait()
        best = min(best, time.perf_counter() - start)
    return nbytes / best / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peers", action="store_true", help="torch too")
    options = parser.parse_args()
    Device.DEFAULT = "GPU"
    wait, x = the_gpu().synchronise, Tensor.ones(1000).realize()
    one, kept = jit(lambda x: x * 2 + 1), adjoint_step()
    works = {"a kernel": (lambda: one(x), wait), "a step": (kept, wait)}
    if options.peers:
        import torch

        given = torch.ones(1000, device="cuda")
        works["torch, a kernel"] = (lambda: given * 2, torch.cuda.synchronize)
        works["torch, a step as a graph"] = (torch_step(True), torch.cuda.synchronize)
        works["torch, a step"] = (torch_step(False), torch.cuda.synchronize)
    for name, (run, until) in works.items():
        host, whole = microseconds(run, until)
        print(f"{name:26} host {host:7.1f} us   whole {whole:7.1f} us", flush=True)
    print(f"a step, kernels alone      {queued(kept):7.1f} us", flush=True)
    read, _ = microseconds(lambda: one(x)[0].item(), wait)
    print(f"a kernel, and its number   {read:7.1f} us", flush=True)
    before = memory_of("GPU").counted()
    for _ in range(10_000):
        kept()
    print("memory before 10,000 steps and after:", before, memory_of("GPU").counted())
    for mebibytes in (1, 16, 64, 256, 1024):
        print(f"{mebibytes:5} MiB to the GPU and back, GB/s: {copies(mebibytes, options.peers)}")


if __name__ == "__main__":
    main()
