"""A data-parallel training step whose gradients are summed beside the backward pass, run by
`adjoint launch`: to its end, or until the last process goes wrong in the way that is named."""

import os
import signal
import sys

import numpy as np

from adjoint import Mesh, P, Tensor, distributed, grad, jit
from adjoint.runtime.comm.courier import Courier

how = sys.argv[1]
mesh, rank, size = Mesh(distributed.size(), "d"), distributed.rank(), distributed.size()
print(f"pid {os.getpid()}", flush=True)
random = np.random.default_rng(0)
begun = []
begin = Courier.begin


def counted(self, work):
    begun.append(work)
    return begin(self, work)


Courier.begin = counted


def drawn(*shape):
    return Tensor(random.standard_normal(shape).astype(np.float32) * 0.06)


def loss(weights, x):
    for w in weights:
        x = (x @ w).tanh()
    return (x**2).mean()


@jit
def step(weights, x):
    slopes = grad(loss)(weights, x)
    return [w - 0.1 * g for w, g in zip(weights, slopes, strict=True)]


weights = [drawn(256, 256).shard(mesh, P()).realize() for _ in range(3)]
x = drawn(16, 256).shard(mesh, P("d")).realize()
for number in range(6):
    if number == 3 and rank == size - 1:
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        if how == "raises":
            raise ValueError("no more")
        if how == "other":
            (x.sum(0) * 2).exp().realize()
    weights = step(weights, x)
total = float(np.float64(sum(w.numpy().astype(np.float64).sum() for w in weights)))
print(f"rank {rank} began {len(begun)}: {total.hex()}", flush=True)
