"""Two moons, by hand: a network and its optimiser from tensors alone, and its gradient as text."""

import adjoint
from adjoint import Tensor, data, training

STEPS = 150
Layers = list[tuple[Tensor, Tensor]]


def layer(inputs: int, outputs: int) -> tuple[Tensor, Tensor]:
    """A weight and a bias."""
    weight = Tensor.normal(inputs, outputs, std=inputs**-0.5, requires_grad=True)
    return weight, Tensor.zeros(outputs, requires_grad=True)


def logits(x: Tensor, layers: Layers) -> Tensor:
    """tanh between the layers, one number per point at the end."""
    for weight, bias in layers[:-1]:
        x = (x @ weight + bias).tanh()
    weight, bias = layers[-1]
    return (x @ weight + bias).reshape(-1)


def adam(parameters: list[Tensor], moments: Layers, step: int) -> None:
    """One step for every parameter, all computed together."""
    for p, (m, v) in zip(parameters, moments, strict=True):
        assert p.grad is not None
        m.assign(0.9 * m + 0.1 * p.grad)
        v.assign(0.99 * v + 0.01 * p.grad * p.grad)
        change = (m / (1 - 0.9**step)) / ((v / (1 - 0.99**step)).sqrt() + 1e-8)
        p.assign(p - 0.03 * change)
        p.grad = None
    Tensor.realize(*parameters, *(t for pair in moments for t in pair))


def main() -> None:
    """Train, check the accuracy, print the gradient of the loss by the first weight."""
    seed = training.seed(1)
    moons = data.two_moons(400, noise=0.1, seed=seed)
    x, y = Tensor(moons.x), Tensor(moons.y).float()
    layers = [layer(2, 16), layer(16, 16), layer(16, 1)]
    parameters = [p for pair in layers for p in pair]
    moments = [(p.zeros_like(), p.zeros_like()) for p in parameters]
    loop = training.Loop(STEPS, layers=layers, moments=moments, label="two_moons")
    for step in loop:
        loss = logits(x, layers).binary_crossentropy_logits(y)
        loss.backward()
        adam(parameters, moments, step + 1)
        loop.report(loss=loss)

    accuracy = ((logits(x, layers) > 0) == (y > 0.5)).mean().item()
    print(f"accuracy {accuracy:.3f}")
    assert accuracy >= 0.95
    logits(x, layers).binary_crossentropy_logits(y).backward()
    print(f"\nthe gradient of the loss by the first weight:\n{adjoint.show(parameters[0].grad)}")


if __name__ == "__main__":
    training.run(main)
