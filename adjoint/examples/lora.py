"""LoRA: a trained network learns a new task through small matrices beside its frozen weights."""

from collections.abc import Callable

import numpy as np

import adjoint
from adjoint import Tensor, data, nn, training

STEPS, BATCH, RANK = 400, 64, 4


class Adapted(nn.Module):
    """A frozen layer plus a product of two thin matrices, which is 0 at first."""

    def __init__(self, base: nn.Linear, rank: int):
        outputs, inputs = base.weight.shape
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(Tensor.randn(rank, inputs) / inputs**0.5)
        self.up = nn.Parameter(Tensor.zeros(outputs, rank))

    def forward(self, x: Tensor) -> Tensor:
        """What the layer says, and what has been learnt since."""
        return self.base(x) + x @ self.down.T @ self.up.T


def train(model: nn.Module, dataset: data.Dataset, seed: int, label: str) -> None:
    """Teach a model the classes of a dataset."""
    optimizer = nn.optim.Adam(model.parameters(), lr=5e-3)

    @adjoint.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        """One batch."""
        optimizer.zero_grad()
        loss = nn.loss.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    loader = data.Loader(dataset, BATCH, shuffle=True, seed=seed, drop_last=True)
    loop = training.Loop(STEPS, model=model, optimizer=optimizer, loader=loader, label=label)
    for _, (x, y) in zip(loop, loader.forever(), strict=False):
        loop.report(loss=step(x, y))


def accuracy(model: Callable[[Tensor], Tensor], test: data.Dataset) -> float:
    """How often the largest output is the right one."""
    return float((model(Tensor(test.x)).argmax(1) == Tensor(test.y)).mean().item())


def main() -> None:
    """Learn digits; then, with a fifth of the parameters, digits whose pixels are shuffled."""
    seed = training.seed(0)
    digits = data.standardise(*data.digits().split(0.8, seed, by="y"))
    pixels = np.random.default_rng(seed).permutation(64)
    shuffled = [part.with_fields(x=part.x[:, pixels]) for part in digits]

    first, last = nn.Linear(64, 128), nn.Linear(128, 10)
    train(nn.Sequential(first, nn.ReLU(), last), digits[0], seed, "base")
    before = [p.numpy() for layer in (first, last) for p in layer.state_dict().values()]

    adapted = nn.Sequential(Adapted(first, 2 * RANK), nn.ReLU(), Adapted(last, RANK))
    start = accuracy(adapted, shuffled[1])
    train(adapted, shuffled[0], seed, "adapters")
    end = accuracy(adapted, shuffled[1])

    small, whole = (
        sum(p.numel() for p in m) for m in (adapted.parameters(), adapted.state_dict().values())
    )
    print(f"shuffled digits: {start:.1%} → {end:.1%}, by {small} of {whole} parameters")
    after = [p.numpy() for layer in (first, last) for p in layer.state_dict().values()]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert end > 0.8 > 0.5 > start


if __name__ == "__main__":
    training.run(main)
