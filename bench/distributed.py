"""Many processes: bytes against the least there can be, all_reduce against MPI's own, scaling.

    python -m bench.distributed  # 1 and 2 processes
    python -m bench.distributed --processes 8  # 1, 2, 4 and 8, on as many cores

A step's bytes are those that a member sends by the algorithms used: 2 (n - 1) / n of a vector for
an all_reduce, (n - 1) / n for a reduce_scatter or an all_to_all, n - 1 of a part for an all_gather.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from functools import partial

import numpy as np

import adjoint
from adjoint import Mesh, P, Tensor, distributed, grad, jit, nn
from adjoint.engine import sharded
from adjoint.examples import gpt
from adjoint.nn import parallel
from adjoint.runtime.comm.courier import Courier

SHAPES = (1 << 10, 1 << 16, 1 << 20, 16 << 20)  # bytes
CHARACTERS, BATCH, LENGTH, STEPS = 64, 16, 32, 30
STRATEGIES = {
    "data parallel": ("", {"dp": 2}),
    "ZeRO-2": ("zero2", {"dp": 2}),
    "ZeRO-3": ("", {"fsdp": 2}),
    "tensor parallel": ("", {"tp": 2}),
    "sequence parallel": ("sequence", {"tp": 2}),
    "stages, 1F1B": ("", {"pp": 2}),
    "stages, GPipe": ("gpipe", {"pp": 2}),
    "experts": ("experts", {"ep": 2}),
}
EXPERTS = 4
SENT = {"all_reduce": 2.0, "reduce_scatter": 1.0, "all_to_all": 1.0}


def best(work, count=20):
    """The least seconds of some runs that all members begin together."""
    member, least = distributed.member(), float("inf")
    for _ in range(count):
        member.barrier(label="bench")
        begin = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - begin)
    return least


def all_reduces():
    """Rows of all_reduce against MPI's own, in the same processes."""
    member = distributed.member()
    for nbytes in SHAPES:
        source = np.ones(nbytes // 4, np.float32)
        target = np.empty_like(source)
        ours = best(partial(member.all_reduce, source, target, "sum", label="bench"))
        raw = best(partial(member._comm.Allreduce, source, target))
        yield nbytes, ours, raw


class Trained:
    """A step of the example's GPT on a mesh."""

    def __init__(self, strategy="", sizes=None, batch=BATCH):
        Tensor.manual_seed(0)
        schedule = {"schedule": "gpipe"} if strategy == "gpipe" else {}
        self.mesh = Mesh(sizes, **schedule) if sizes else None
        self.strategy, self.batch = strategy, batch
        self.model = gpt.GPT(CHARACTERS, EXPERTS if strategy == "experts" else 0)
        if self.mesh is not None:
            parallel.shard_model(self.model, self.mesh, sequence=strategy == "sequence")
        self.optimizer = nn.optim.AdamW(self.model.parameters(), lr=1e-3)
        if strategy == "zero2":
            parallel.shard_optimizer(self.optimizer, self.mesh)
        self.step = adjoint.jit(self._step)

    def _step(self, x, y):
        self.optimizer.zero_grad()
        loss = gpt.loss_of(self.model, x, y)
        loss.backward()
        if self.strategy == "zero2":
            parallel.shard_gradients(self.optimizer, self.mesh)
        self.optimizer.step()
        return loss

    def data(self):
        x, y = np.random.default_rng(0).integers(0, CHARACTERS, (2, self.batch, LENGTH))
        if self.mesh is None:
            return Tensor(x), Tensor(y)
        return parallel.shard_batch(self.mesh, x, y)

    @property
    def parameter_bytes(self):
        return sum(p.size * p.dtype.itemsize for p in self.model.parameters())


def sent(graph, size):
    """Bytes that a member sends for a local graph, by collective."""
    found = {}
    for node in graph.collectives:
        operand, name = node.src[0], node.op.name
        nbytes = operand.size * operand.dtype.itemsize
        part = (size - 1) / size * SENT[name] if name in SENT else size - 1  # of what it has
        found[name] = found.get(name, 0) + nbytes * part
    return found


def sent_by_stages(program):
    """The same for the stage that sends most."""
    most = max(program.report().stages, key=lambda s: s.sent + s.collective_bytes)
    return {"send": most.sent, "collectives": most.collective_bytes}


def graph_of(run):
    """The local graph of a step."""
    made = []
    original = sharded.sharded_program
    sharded.sharded_program = lambda *a, **k: made.append(original(*a, **k)) or made[-1]
    try:
        run.step(*run.data()).realize()
    finally:
        sharded.sharded_program = original
    return max((program.graph for program in made), key=talk)


def talk(graph):
    """How much members of a graph have to say."""
    return len(graph.lines() if hasattr(graph, "lines") else graph.collectives)


def _expert_weights(layer):
    return layer.weight1, layer.bias1, layer.weight2, layer.bias2


def least(run, name, size):
    """The fewest bytes that a member must send: gradients for data parallelism, activations for
    tensor parallelism."""
    share = (size - 1) / size
    weights, block = run.parameter_bytes, BATCH * LENGTH * gpt.WIDTH * 4
    if name in ("data parallel", "ZeRO-2"):
        return 2 * share * weights
    if name.startswith("stages"):
        return block  # what enters the second stage, or the gradient of that
    if name == "experts":
        experts = [m for layer in run.model.layers for m in _expert_weights(layer.feed_forward)]
        whole = weights - sum(p.size * p.dtype.itemsize for p in experts)
        layer = run.model.layers[0].feed_forward
        slots = BATCH // size * EXPERTS * layer.capacity(LENGTH) * gpt.WIDTH * 4
        return 2 * share * whole + share * 4 * gpt.LAYERS * slots  # two exchanges each way
    if name == "ZeRO-3":
        return 2 * share * weights  # gathered once and kept for the backward pass, scattered once
    return 2 * share * 4 * gpt.LAYERS * block  # two sums each way in every layer


def strategies():
    """Rows of bytes for each strategy, on simulated devices."""
    for name, (strategy, sizes) in STRATEGIES.items():
        run = Trained(strategy, sizes)
        graph = graph_of(run)
        found = sent_by_stages(graph) if run.mesh.stages else sent(graph, 2)
        yield name, sum(found.values()), least(run, name, 2), found
        if run.mesh.stages:
            print(f"    {graph.report()}".replace("\n", "\n    "))


def seconds_of_a_step(batch, processes, axis="dp"):
    run = Trained("", {axis: processes} if processes > 1 else None, batch)
    pair = run.data()
    for _ in range(3):
        run.step(*pair).item()
    return best(lambda: run.step(*pair).item(), STEPS)


def layers(weights, x):
    """A loss whose gradients are sums of 1 MB each."""
    for w in weights:
        x = (x @ w).tanh()
    return (x**2).mean()


def overlapped(rows=512, width=512, depth=6):
    """Seconds of a data-parallel step whose gradients are summed beside the backward pass, and of
    the same step when each sum is waited for where it begins; runs of both in turn."""
    mesh, begin = Mesh(distributed.size(), "d"), Courier.begin
    random = np.random.default_rng(0)
    draw = lambda *shape: Tensor(random.standard_normal(shape).astype(np.float32))  # noqa: E731
    weights = [(draw(width, width) * 0.04).shard(mesh, P()).realize() for _ in range(depth)]
    x = draw(rows, width).shard(mesh, P("d")).realize()

    @jit
    def step(weights, x):
        slopes = grad(layers)(weights, x)
        return [w - 0.1 * g for w, g in zip(weights, slopes, strict=True)]

    def waiting(self, work):
        job = begin(self, work)
        with job.done:
            return job

    times = {begin: [], waiting: []}
    for _ in range(STEPS):
        for way, found in times.items():
            Courier.begin = way
            found.append(best(lambda: Tensor.realize(*step(weights, x)), 2))
    Courier.begin = begin
    return [sorted(found)[len(found) // 2] for found in times.values()]


def in_processes():
    """What `adjoint launch` runs."""
    size = distributed.size()
    rows = list(all_reduces()) if size > 1 else []
    beside = overlapped() if size > 1 else []
    times = {"strong": seconds_of_a_step(64, size), "weak": seconds_of_a_step(32 * size, size)}
    if gpt.LAYERS % size == 0 or size == 1:
        times["stages"] = seconds_of_a_step(64, size, "pp")
    if distributed.is_main():
        print("BENCH " + json.dumps({"all_reduce": rows, "beside": beside, **times}), flush=True)


def launched(count):
    words = [sys.executable, "-m", "adjoint", "launch", "-n", str(count), "--threads", "1"]
    done = subprocess.run(
        [*words, __file__, "--inside"], capture_output=True, text=True, timeout=170
    )
    line = next((row for row in done.stdout.splitlines() if row.startswith("BENCH ")), None)
    if line is None:
        raise SystemExit(done.stdout + done.stderr)
    return json.loads(line[6:])


def print_bytes():
    print("bytes that a member of 2 sends in a step of the example's GPT")
    for name, bytes_, fewest, found in strategies():
        parts = ", ".join(f"{n} {b / 1e3:.0f}" for n, b in found.items())
        print(
            f"  {name:<18} {bytes_ / 1e3:8.0f} kB  {bytes_ / fewest:5.2f} of the least   ({parts})"
        )


def print_sums(count, found):
    print(f"all_reduce of {count} processes, float32")
    for nbytes, ours, raw in found["all_reduce"]:
        speed = f"{ours * 1e6:8.0f} µs  {nbytes / ours / 1e9:6.2f} GB/s"
        print(f"  {nbytes:>10} B  {speed}  {raw / ours:5.2f} of MPI's own")
    beside, waiting = found["beside"]
    print(
        f"a data-parallel step of 6 layers of 512 x 512, {count} processes, 1 thread each, median"
    )
    print(f"  sums beside kernels {beside * 1e3:.1f} ms, waited for {waiting * 1e3:.1f} ms")


def print_scaling(one, count, many):
    """Strong: as much work for all; weak: as much for each; the ideal is the number of processes
    for both, and what stages leave of it for them."""
    rows = ("strong", "batch 64", 1), ("weak", "batch 32 each", count), ("stages", "batch 64", 1)
    for kind, what, factor in rows:
        if kind in many:
            pair = f"{one[kind] * 1e3:.1f} ms, {many[kind] * 1e3:.1f} ms"
            name = f"{kind} scaling" if kind != "stages" else kind
            print(f"  {name}, {what}: {pair}: {factor * one[kind] / many[kind]:.2f}×")


def main(most):
    print_bytes()
    counts = [1 << power for power in range(1, most.bit_length())]
    one = launched(1)
    found = {count: launched(count) for count in counts}
    for count in dict.fromkeys((2, counts[-1])):
        print_sums(count, found[count])
    for count in counts:
        print(f"a step of the GPT, 1 thread a process: 1 process, {count} processes")
        print_scaling(one, count, found[count])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=2, help="the most, a power of 2")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    in_processes() if options.inside else main(max(options.processes, 2))
