"""A small GPT trained for a few steps on a mesh: a function for tests, a program for processes.

parallel_training.py STRATEGY MESH STEPS [CHECKPOINT [RESUME]]
"""

import os
import signal
import sys
from functools import partial

import numpy as np

import adjoint
from adjoint import Mesh, Tensor, distributed, nn
from adjoint.examples import gpt
from adjoint.nn import parallel

CHARACTERS, BATCH, LENGTH = 32, 16, 16


def mesh_of(text):
    """`dp=2,tp=2`; nothing: no mesh."""
    return Mesh({n: int(s) for n, s in (p.split("=") for p in text.split(","))}) if text else None


def batches(steps, first=0):
    for number in range(first, steps):
        rng = np.random.default_rng(number)
        yield rng.integers(0, CHARACTERS, (2, BATCH, LENGTH))


def deep(characters):
    """The example's GPT with four layers."""
    layers, gpt.LAYERS = gpt.LAYERS, 4
    try:
        return gpt.GPT(characters)
    finally:
        gpt.LAYERS = layers


MODELS = {"deep": deep, "experts": partial(gpt.GPT, experts=4)}


class Run:
    """A model, its optimiser and its step on a mesh."""

    def __init__(self, strategy="", mesh=None):
        Tensor.manual_seed(0)
        self.mesh, self.strategy = mesh, strategy
        self.model = MODELS.get(strategy, gpt.GPT)(CHARACTERS)
        if mesh is not None:
            parallel.shard_model(self.model, mesh, sequence=strategy == "sequence")
        self.optimizer = nn.optim.AdamW(self.model.parameters(), lr=4e-3)
        if strategy in ("zero1", "zero2"):
            parallel.shard_optimizer(self.optimizer, mesh)
        self.step = adjoint.jit(self._step)

    def _step(self, x, y):
        self.optimizer.zero_grad()
        loss = gpt.loss_of(self.model, x, y)
        loss.backward()
        if self.strategy == "zero2":
            parallel.shard_gradients(self.optimizer, self.mesh)
        nn.optim.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss

    def losses(self, steps, first=0):
        return [self.step(*self._placed(*pair)).item() for pair in batches(steps, first)]

    def _placed(self, x, y):
        """What this process loads of a batch."""
        if self.mesh is None:
            return Tensor(x), Tensor(y)
        part = parallel.loader_place(self.mesh)
        rows = slice(*(BATCH * (part["rank"] + i) // part["size"] for i in (0, 1)))
        return parallel.shard_batch(self.mesh, x[rows], y[rows], local=True)

    def save(self, path, step):
        nn.state.save_checkpoint(path, step=step, model=self.model, optimizer=self.optimizer)

    def resume(self, path):
        """The step that it goes on with."""
        found = nn.state.load_checkpoint(path, model=self.model, optimizer=self.optimizer)
        return found.step


def kept(run, steps, checkpoint, fault):
    """Losses of a run that is saved after every step."""
    first = run.resume(checkpoint) if os.path.exists(checkpoint) else 0
    losses = []
    for step in range(first, steps):
        if step == fault and distributed.rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        losses += run.losses(step + 1, step)
        run.save(checkpoint, step + 1)
    return losses


def main(strategy, mesh, steps, checkpoint=None, fault=-1):
    run = Run(strategy, mesh_of(mesh))
    if checkpoint is None:
        losses = run.losses(int(steps) - 1)
        before = getattr(distributed.member(), "bytes_sent", 0)
        losses += run.losses(int(steps), int(steps) - 1)
        after = getattr(distributed.member(), "bytes_sent", 0)
        print("sent", after - before, flush=True)
    else:
        losses = kept(run, int(steps), checkpoint, int(fault))
    if distributed.is_main():
        print("losses", *(loss.hex() for loss in losses), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
