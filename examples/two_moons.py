"""Two moons: a small network learns to tell them apart, then prints the program of its gradient."""

import sys
from math import pi

import adjoint
from adjoint import Tensor

POINTS, STEPS = 400, 150


def moons(n: int) -> tuple[Tensor, Tensor]:
    """`n` noisy points on two interleaved half circles, and which of the two each is on."""
    angle = Tensor.rand(n // 2) * pi
    upper = Tensor.stack(angle.cos(), angle.sin(), dim=1)
    lower = Tensor.stack(1 - angle.cos(), 0.5 - angle.sin(), dim=1)
    points = upper.cat(lower) + 0.1 * Tensor.randn(n, 2)
    return points.realize(), Tensor.zeros(n // 2).cat(Tensor.ones(n // 2)).realize()


def layer(inputs: int, outputs: int) -> tuple[Tensor, Tensor]:
    """A weight and a bias."""
    weight = Tensor.normal(inputs, outputs, std=inputs**-0.5, requires_grad=True)
    return weight, Tensor.zeros(outputs, requires_grad=True)


def logits(x: Tensor, layers: list[tuple[Tensor, Tensor]]) -> Tensor:
    """tanh between the layers, one number per point at the end."""
    for weight, bias in layers[:-1]:
        x = (x @ weight + bias).tanh()
    weight, bias = layers[-1]
    return (x @ weight + bias).reshape(-1)


def adam(parameters: list[Tensor], moments: list[tuple[Tensor, Tensor]], step: int) -> None:
    """One step for every parameter, all computed together."""
    for p, (m, v) in zip(parameters, moments, strict=True):
        m.assign(0.9 * m + 0.1 * p.grad)
        v.assign(0.99 * v + 0.01 * p.grad * p.grad)
        change = (m / (1 - 0.9**step)) / ((v / (1 - 0.99**step)).sqrt() + 1e-8)
        p.assign(p - 0.03 * change)
        p.grad = None
    Tensor.realize(*parameters, *(t for pair in moments for t in pair))


def progress(step: int, loss: float) -> None:
    """A bar that redraws itself on a terminal, and a line now and then elsewhere."""
    done = "█" * (30 * step // STEPS)
    line = f"step {step:3d}/{STEPS} {done:░<30} loss {loss:.4f}"
    if sys.stdout.isatty():
        print(f"\r{line}", end="\n" if step == STEPS else "", flush=True)
    elif step % 30 == 0:
        print(line)


def main() -> None:
    """Train, check the accuracy, print the gradient of the loss by the first weight."""
    Tensor.manual_seed(1)
    x, y = moons(POINTS)
    layers = [layer(2, 16), layer(16, 16), layer(16, 1)]
    parameters = [p for pair in layers for p in pair]
    moments = [(p.zeros_like(), p.zeros_like()) for p in parameters]
    for step in range(1, STEPS + 1):
        loss = logits(x, layers).binary_crossentropy_logits(y)
        loss.backward()
        adam(parameters, moments, step)
        progress(step, loss.item())
    accuracy = ((logits(x, layers) > 0) == (y > 0.5)).mean().item()
    print(f"accuracy {accuracy:.3f}")
    assert accuracy >= 0.95
    logits(x, layers).binary_crossentropy_logits(y).backward()
    print(f"\nthe gradient of the loss by the first weight:\n{adjoint.show(parameters[0].grad)}")


if __name__ == "__main__":
    main()
