"""Training with privacy: a gradient per sample, each of bounded size, and noise (DP-SGD).

vmap(grad(loss)) gives the gradient of every sample at once. Since no sample can change the sum by
more than CLIP, noise of a known size hides whether any one of them was there.
"""

from math import log, sqrt
from typing import Any

import adjoint
from adjoint import Tensor, data, nn, training, tree_map

STEPS, CLIP, NOISE, DELTA = 100, 1.0, 20.0, 1e-5


def loss_of(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Of one sample."""
    return nn.loss.cross_entropy(model(x.unsqueeze(0)), y.unsqueeze(0))


def clipped(gradient: Any) -> Any:
    """Of one sample, at most CLIP long; and how long it was."""
    length = nn.optim.global_norm(gradient)
    return nn.optim.clip_by_global_norm(gradient, CLIP), length


def private_gradient(model: nn.Module, x: Tensor, y: Tensor) -> tuple[Any, Tensor]:
    """The mean of the clipped gradients of all samples, with noise."""
    each = adjoint.vmap(adjoint.grad(loss_of), in_axes=(None, 0, 0))(model, x, y)
    bounded, lengths = adjoint.vmap(clipped)(each)

    def mean(g: Tensor) -> Tensor:
        return (g.sum(0) + NOISE * CLIP * Tensor.randn(*g.shape[1:])) / len(x)

    return tree_map(mean, bounded), (lengths > CLIP).mean()


def epsilon() -> float:
    """What an observer of all steps may learn: Gaussian mechanisms, composed (zCDP)."""
    rho = STEPS / (2 * NOISE**2)
    return rho + 2 * sqrt(rho * log(1 / DELTA))


def main() -> None:
    """Learn to read digits without learning whose digits they are."""
    train, test = data.standardise(*data.digits().split(0.8, training.seed(0), by="y"))
    x, y = Tensor(train.x), Tensor(train.y)
    sgd = nn.optim.sgd(lr=1.0, momentum=0.8)
    model = nn.Linear(64, 10)
    run: dict[str, Any] = {"model": model, "sgd": sgd.init(model)}

    @adjoint.jit
    def step(model: nn.Module, state: Any) -> tuple[Any, Any, Tensor]:
        """The model after one step, and how many gradients had to be clipped."""
        gradient, share = private_gradient(model, x, y)
        new, state = sgd.update(gradient, state, model)
        return new, state, share

    loop = training.Loop(STEPS, run=run, label="per_sample_gradients")
    for _ in loop:
        run["model"], run["sgd"], share = step(run["model"], run["sgd"])
        loop.report(clipped=share)

    accuracy = (run["model"](Tensor(test.x)).argmax(1) == Tensor(test.y)).mean().item()
    print(f"accuracy {accuracy:.1%} with epsilon {epsilon():.2f}, delta {DELTA}")
    assert accuracy >= 0.85
    assert epsilon() < 3


if __name__ == "__main__":
    training.run(main)
