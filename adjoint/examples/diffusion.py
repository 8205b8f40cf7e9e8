"""A diffusion model in the plane: noise becomes two moons, a little at a time."""

from typing import Any

import numpy as np

import adjoint
from adjoint import Tensor, data, nn, training

STEPS, BATCH, TIMES = 2000, 256, 50
BETAS = np.linspace(0.02, 0.55, TIMES, dtype=np.float32) ** 2  # how much noise each time adds
KEPT = np.cumprod(1 - BETAS)  # how much is left of a point, squared, by then


class Denoiser(nn.Module):
    """Given a noisy point and the time: which noise is in it?"""

    def __init__(self, size: int = 128):
        self.time = nn.Embedding(TIMES, size)
        self.first = nn.Linear(2, size)
        middle = [part for _ in range(2) for part in (nn.SiLU(), nn.Linear(size, size))]
        self.rest = nn.Sequential(*middle, nn.SiLU(), nn.Linear(size, 2))

    def forward(self, points: Tensor, time: Tensor) -> Tensor:
        """[n, 2] points, [n] times; [n, 2] noise."""
        return self.rest(self.first(points) + self.time(time))


def loss_of(model: Denoiser, points: Tensor) -> Tensor:
    """Hide points in noise, of a time for each, and let the model find the noise."""
    time = Tensor.randint(len(points), low=0, high=TIMES)
    kept, noise = Tensor(KEPT)[time].unsqueeze(1), Tensor.randn(*points.shape)
    noisy = kept.sqrt() * points + (1 - kept).sqrt() * noise
    return nn.loss.mse_loss(model(noisy, time), noise)


@adjoint.jit
def denoised(model: Denoiser, points: Tensor, time: Tensor, beta: Tensor, kept: Tensor) -> Tensor:
    """Points with the noise of one time less."""
    noise = model(points, time.expand(len(points)))
    mean = (points - beta / (1 - kept).sqrt() * noise) / (1 - beta).sqrt()
    return mean + (time > 0) * beta.sqrt() * Tensor.randn(*points.shape)


def main() -> None:
    """Train by functions alone: parameters in, parameters out. Then let noise become points."""
    seed = training.seed(0)
    x = data.standardise(data.two_moons(2000, noise=0.05, seed=seed)).x
    adam = nn.optim.adam(lr=lambda done: 0.01 * (1 - done / STEPS))
    model = Denoiser()
    run: dict[str, Any] = {"model": model, "adam": adam.init(model)}

    @adjoint.jit
    def step(model: Denoiser, state: Any, points: Tensor) -> Any:
        """The loss, and the parameters and the state after one step."""
        loss, gradient = adjoint.value_and_grad(loss_of)(model, points)
        return loss, adam.update(gradient, state, model)

    loader = data.Loader(x, BATCH, shuffle=True, seed=seed, drop_last=True)
    loop = training.Loop(STEPS, run=run, loader=loader, label="diffusion")
    for _, points in zip(loop, loader.forever(), strict=False):
        loss, (run["model"], run["adam"]) = step(run["model"], run["adam"], points)
        loop.report(loss=loss)

    new = Tensor.randn(400, 2)
    for t in reversed(range(TIMES)):
        new = denoised(run["model"], new, Tensor(t), Tensor(BETAS[t]), Tensor(KEPT[t]))
    distance = np.linalg.norm(new.numpy()[:, None] - x[None], axis=2)
    on, covered = (distance.min(1) < 0.1).mean(), (distance.min(0) < 0.2).mean()
    print(f"{on:.0%} of the new points are on the moons; {covered:.0%} of the moons are covered")
    assert on > 0.85
    assert covered > 0.95


if __name__ == "__main__":
    training.run(main)
