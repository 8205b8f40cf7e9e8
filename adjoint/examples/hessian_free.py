"""Hessian-free optimisation: Newton steps from products with the curvature, never the matrix.

Each step solves (G + damping) d = -gradient by conjugate gradients. G is the Gauss-Newton matrix of
a network with 354 parameters; it is only ever multiplied with a vector, by one jvp and one vjp.
"""

from collections.abc import Callable
from math import prod

import adjoint
from adjoint import Tensor, data, nn, training

STEPS, SOLVER_STEPS = 30, 40
SHAPES = [(2, 16), (16,), (16, 16), (16,), (16, 2), (2,)]
SIZES = [prod(shape) for shape in SHAPES]


def network(theta: Tensor, x: Tensor) -> Tensor:
    """Two hidden layers; all their parameters are one vector."""
    parts = [p.reshape(s) for p, s in zip(theta.split(SIZES), SHAPES, strict=True)]
    for weight, bias in zip(parts[:-2:2], parts[1:-2:2], strict=True):
        x = (x @ weight + bias).tanh()
    return x @ parts[-2] + parts[-1]


def solve(product: Callable[[Tensor], Tensor], b: Tensor) -> Tensor:
    """Conjugate gradients: x with product(x) = b, from products alone."""

    def body(_: Tensor, carry: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        x, rest, along = carry
        bent = product(along)
        step = (rest @ rest) / (along @ bent + 1e-30)
        left = rest - step * bent
        return x + step * along, left, left + (left @ left) / (rest @ rest + 1e-30) * along

    x, _, _ = adjoint.fori_loop(0, SOLVER_STEPS, body, (b.zeros_like(), b, b))
    return x


def main() -> None:
    """Tell two spirals apart in thirty steps; plain descent would need thousands."""
    points = data.spirals(200, classes=2, noise=0.05, turns=0.6, seed=training.seed(0))
    x, y = Tensor(points.x), Tensor(points.y)

    def loss_of_logits(logits: Tensor) -> Tensor:
        return nn.loss.cross_entropy(logits, y)

    def loss_of(theta: Tensor) -> Tensor:
        return loss_of_logits(network(theta, x)) + 1e-4 * (theta @ theta)

    @adjoint.jit
    def step(theta: Tensor, damping: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The loss, and better parameters; the damping falls while the steps are good."""
        loss, gradient = adjoint.value_and_grad(loss_of)(theta)
        logits, back = adjoint.vjp(lambda t: network(t, x), theta)

        def product(v: Tensor) -> Tensor:
            _, change = adjoint.jvp(lambda t: network(t, x), (theta,), (v,))
            _, bent = adjoint.jvp(adjoint.grad(loss_of_logits), (logits,), (change,))
            return back(bent)[0] + (2e-4 + damping) * v

        new = theta + solve(product, -gradient)
        good = loss_of(new) < loss
        return loss, good.where(new, theta), good.where(damping / 2, damping * 4)

    run = {"theta": Tensor.randn(sum(SIZES)) * 0.4}
    run["damping"] = Tensor(1.0)
    loop = training.Loop(STEPS, run=run, label="hessian_free")
    for _ in loop:
        loss, run["theta"], run["damping"] = step(run["theta"], run["damping"])
        loop.report(loss=loss)

    right = (network(run["theta"], x).argmax(1) == y).mean().item()
    print(f"{right:.1%} of the points are on the right spiral after {STEPS} steps")
    assert right >= 0.99


if __name__ == "__main__":
    training.run(main)
