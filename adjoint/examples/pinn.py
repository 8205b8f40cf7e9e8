"""A differential equation solved by a network: a swing that comes to rest, u'' + u'/2 + 4 u = 0.

The network never sees the solution. Its derivatives by time come from jvp, and the loss is how far
they are from what the equation says: a physics-informed neural network.
"""

import numpy as np

import adjoint
from adjoint import Tensor, nn, training

STEPS, POINTS, END = 1500, 64, 4.0


class Swing(nn.Module):
    """u(t) with u(0) = 1 and u'(0) = 0 by construction."""

    def __init__(self, size: int = 32):
        self.layers = nn.Sequential(
            nn.Linear(1, size), nn.Tanh(), nn.Linear(size, size), nn.Tanh(), nn.Linear(size, 1)
        )

    def forward(self, t: Tensor) -> Tensor:
        """Where the swing is at the times t."""
        free = self.layers(2 * t.unsqueeze(1) / END - 1).squeeze(1)
        return 1 + (1 - (-t).exp()) ** 2 * free  # the factor and its slope are 0 at the start


def derivatives(u: Swing, t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """u, u' and u'' at the times t: a tangent of a tangent."""

    def first(t: Tensor) -> tuple[Tensor, Tensor]:
        return adjoint.jvp(u, (t,), (t.ones_like(),))

    (position, speed), (_, acceleration) = adjoint.jvp(first, (t,), (t.ones_like(),))
    return position, speed, acceleration


def exact(t: np.ndarray) -> np.ndarray:
    """The solution, from the textbook."""
    rate, turns = 0.25, np.sqrt(4 - 0.25**2)
    return np.exp(-rate * t) * (np.cos(turns * t) + rate / turns * np.sin(turns * t))


def main() -> None:
    """Train on the equation alone, and compare with its solution."""
    training.seed(0)
    model = Swing()
    optimizer = nn.optim.Adam(model.parameters(), lr=1e-2)
    schedule = nn.optim.CosineAnnealingLR(optimizer, STEPS)

    @adjoint.jit
    def step() -> Tensor:
        """How well the equation holds at random times, and a network for which it holds better."""
        optimizer.zero_grad()
        position, speed, acceleration = derivatives(model, END * Tensor.rand(POINTS))
        loss = ((acceleration + speed / 2 + 4 * position) ** 2).mean()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss

    loop = training.Loop(STEPS, model=model, optimizer=optimizer, schedule=schedule, label="pinn")
    for _ in loop:
        loop.report(loss=step())

    times = np.linspace(0, END, 200, dtype=np.float32)
    error = np.abs(model(Tensor(times)).numpy() - exact(times)).max()
    print(f"the largest error of the solution is {error:.5f}")
    assert error < 0.01


if __name__ == "__main__":
    training.run(main)
